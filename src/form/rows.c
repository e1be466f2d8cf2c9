/* An answer's list as a table of other programs: CSV, Markdown. */
#include <hopbound/form.h>

#include <math.h>
#include <string.h>

static void add_texts(hop_text *out, const hop_texts *list)
{
    for (int64_t i = 0; list->at && i < list->count; i++)
        hop_text_printf(out, "%s%s", i ? " " : "", list->at[i] ? list->at[i] : "");
}

static void add_real(hop_text *out, double v)
{
    if (isfinite(v)) hop_text_printf(out, fabs(v) < 1e15 && v == floor(v) ? "%.0f" : "%.6g", v);
}

void hop_field_cell(hop_text *out, const hop_field *f, const void *data)
{
    const void *at = (const char *)data + f->at;
    const hop_counts *counts = at;
    const hop_reals *reals = at;
    switch (f->type) {
    case HOP_TYPE_flag: hop_text_add(out, *(const bool *)at ? "true" : "false"); break;
    case HOP_TYPE_maybe: {
        signed char v = *(const signed char *)at;
        hop_text_add(out, v < 0 ? "" : v ? "true" : "false");
        break;
    }
    case HOP_TYPE_count:
        if (*(const int64_t *)at != HOP_NO_COUNT)
            hop_text_printf(out, "%lld", (long long)*(const int64_t *)at);
        break;
    case HOP_TYPE_real: add_real(out, *(const double *)at); break;
    case HOP_TYPE_text:
    case HOP_TYPE_digits:
    case HOP_TYPE_json:
        if (*(const char *const *)at) hop_text_add(out, *(const char *const *)at);
        break;
    case HOP_TYPE_counts:
        for (int64_t i = 0; counts->at && i < counts->count; i++)
            hop_text_printf(out, "%s%lld", i ? " " : "", (long long)counts->at[i]);
        break;
    case HOP_TYPE_reals:
        for (int64_t i = 0; reals->at && i < reals->count; i++) {
            hop_text_add(out, i ? " " : "");
            add_real(out, reals->at[i]);
        }
        break;
    case HOP_TYPE_texts:
    case HOP_TYPE_digit_list: add_texts(out, at); break;
    case HOP_TYPE_word: hop_text_add(out, f->words[*(const int *)at]); break;
    case HOP_TYPE_one:
    case HOP_TYPE_many: break;
    }
}

static bool shown(const hop_field *f, hop_format format)
{
    if (format == HOP_FORMAT_MARKDOWN) return f->head[0] != 0;
    return f->type != HOP_TYPE_one && f->type != HOP_TYPE_many;
}

/* In quotes, which are doubled, where a comma, a quote or a line's end would end the field. */
static void add_csv(hop_text *out, const char *cell)
{
    if (!strpbrk(cell, ",\"\r\n")) {
        hop_text_add(out, cell);
        return;
    }
    hop_text_add(out, "\"");
    for (; *cell; cell++) hop_text_printf(out, *cell == '"' ? "\"%c" : "%c", *cell);
    hop_text_add(out, "\"");
}

static void add_markdown(hop_text *out, const char *cell)
{
    for (; *cell; cell++) hop_text_printf(out, strchr("|`*<[\\", *cell) ? "\\%c" : "%c", *cell);
}

static bool is_number(const hop_field *f)
{
    return f->type == HOP_TYPE_count || f->type == HOP_TYPE_real || f->type == HOP_TYPE_digits;
}

static void add_heads(hop_text *out, const hop_record *r, hop_format format)
{
    const char *between = "";
    for (const hop_field *f = r->fields; f->name; f++) {
        if (!shown(f, format)) continue;
        if (format == HOP_FORMAT_CSV)
            hop_text_printf(out, "%s%s", between, f->name), between = ",";
        else
            hop_text_printf(out, "| %s ", f->head);
    }
    hop_text_add(out, format == HOP_FORMAT_CSV ? "\n" : "|\n");
    for (const hop_field *f = r->fields; format == HOP_FORMAT_MARKDOWN && f->name; f++)
        if (shown(f, format)) hop_text_add(out, is_number(f) ? "|---:" : "|---");
    if (format == HOP_FORMAT_MARKDOWN) hop_text_add(out, "|\n");
}

static void add_row(hop_text *out, const hop_record *r, const void *data, hop_format format)
{
    const char *between = "";
    for (const hop_field *f = r->fields; f->name; f++) {
        hop_text cell = {0};
        if (!shown(f, format)) continue;
        hop_field_cell(&cell, f, data);
        if (cell.s) hop_plain(cell.s); /* a row stays a line */
        const char *text = hop_text_in(out, &cell);
        hop_text_add(out, format == HOP_FORMAT_CSV ? between : "| ");
        (format == HOP_FORMAT_CSV ? add_csv : add_markdown)(out, text);
        if (format == HOP_FORMAT_MARKDOWN) hop_text_add(out, " ");
        between = ",";
        hop_text_free(&cell);
    }
    hop_text_add(out, format == HOP_FORMAT_CSV ? "\n" : "|\n");
}

/* The list of that name; without one the first list that there is. */
static const hop_field *list_called(const hop_record *r, const char *name)
{
    const hop_field *first = NULL;
    for (const hop_field *f = r->fields; f->name; f++) {
        if (f->type != HOP_TYPE_many) continue;
        if (strcmp(f->name, name) == 0) return f;
        if (!first) first = f;
    }
    return first;
}

bool hop_record_rows(hop_text *out, const hop_record *r, const void *data, const char *name,
                     hop_format format)
{
    const hop_field *f = list_called(r, name);
    if (!f) return false;
    const hop_records *list = (const void *)((const char *)data + f->at);
    add_heads(out, f->of, format);
    for (int64_t i = 0; i < list->count; i++)
        add_row(out, f->of, (const char *)list->at + (size_t)i * f->of->size, format);
    return true;
}

/* ---- what the members are ------------------------------------------------------------------ */

static const char *json_name(hop_type t)
{
    static const char *const names[] = {
#define NAME(name, c, json) json,
        HOP_TYPE_LIST(NAME)
#undef NAME
            "one of these words",
        "an object", "a list of objects"};
    return names[t];
}

static void doc_rows(hop_text *out, const hop_record *r, const char *before)
{
    for (const hop_field *f = r->fields; f->name; f++) {
        hop_text_printf(out, "| `%s%s%s` | %s%s%s | %s", before, f->name,
                        f->type == HOP_TYPE_json ? ".*" : "", json_name(f->type), f->unit[0] ? ", " : "",
                        f->unit, f->doc);
        for (int i = 0; f->words && f->words[i]; i++)
            hop_text_printf(out, "%s`%s`", i ? ", " : ": ", f->words[i]);
        hop_text_add(out, " |\n");
        if (!f->of) continue;
        hop_text inner = {0};
        hop_text_printf(&inner, "%s%s%s.", before, f->name, f->type == HOP_TYPE_many ? "[]" : "");
        doc_rows(out, f->of, hop_text_in(out, &inner));
        hop_text_free(&inner);
    }
}

static void put_words(hop_json_writer *w, const char *const *words)
{
    hop_json_key(w, "words");
    hop_json_begin_array(w);
    for (; *words; words++) hop_json_put_string(w, *words);
    hop_json_end_array(w);
}

void hop_record_schema(hop_json_writer *w, const hop_record *r)
{
    hop_json_begin_array(w);
    for (const hop_field *f = r->fields; f->name; f++) {
        hop_json_begin_object(w);
        hop_json_string(w, "name", f->name);
        hop_json_string(w, "type", json_name(f->type));
        hop_json_string(w, "unit", f->unit[0] ? f->unit : NULL);
        hop_json_string(w, "doc", f->doc);
        if (f->words) put_words(w, f->words);
        if (f->of) {
            hop_json_string(w, "record", f->of->name);
            hop_json_key(w, "members");
            hop_record_schema(w, f->of);
        }
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

void hop_record_doc(hop_text *out, const hop_record *r)
{
    hop_text_add(out, "| member | type | what it is |\n|---|---|---|\n");
    doc_rows(out, r, "");
}
