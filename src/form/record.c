/* An answer as JSON, by its tables. */
#include <hopbound/form.h>

#include <stdlib.h>
#include <string.h>

int64_t hop_known(int64_t v, bool is)
{
    return is ? v : HOP_NO_COUNT;
}

/* An integer where it fits one. */
static void put_digits(hop_json_writer *w, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (!length)
        hop_json_put_null(w);
    else if (length <= 18 && strspn(text, "0123456789") == length)
        hop_json_put_int(w, strtoll(text, NULL, 10));
    else
        hop_json_put_string(w, text);
}

static void put_text(hop_json_writer *w, const char *text)
{
    if (text)
        hop_json_put_string(w, text);
    else
        hop_json_put_null(w);
}

static void put_count(hop_json_writer *w, int64_t v)
{
    if (v == HOP_NO_COUNT)
        hop_json_put_null(w);
    else
        hop_json_put_int(w, v);
}

static void put_counts(hop_json_writer *w, const hop_counts *list)
{
    if (!list->at) {
        hop_json_put_null(w);
        return;
    }
    hop_json_begin_array(w);
    for (int64_t i = 0; i < list->count; i++) put_count(w, list->at[i]);
    hop_json_end_array(w);
}

static void put_reals(hop_json_writer *w, const hop_reals *list)
{
    if (!list->at) {
        hop_json_put_null(w);
        return;
    }
    hop_json_begin_array(w);
    for (int64_t i = 0; i < list->count; i++) hop_json_put_real(w, list->at[i]);
    hop_json_end_array(w);
}

static void put_texts(hop_json_writer *w, const hop_texts *list, bool digits)
{
    if (!list->at) {
        hop_json_put_null(w);
        return;
    }
    hop_json_begin_array(w);
    for (int64_t i = 0; i < list->count; i++) (digits ? put_digits : put_text)(w, list->at[i]);
    hop_json_end_array(w);
}

static void put_records(hop_json_writer *w, const hop_record *r, const hop_records *list)
{
    if (!list->at && list->count == 0) {
        hop_json_begin_array(w), hop_json_end_array(w);
        return;
    }
    hop_json_begin_array(w);
    for (int64_t i = 0; i < list->count; i++)
        hop_record_json(w, r, (const char *)list->at + (size_t)i * r->size);
    hop_json_end_array(w);
}

/* JSON that is there as a text, in this writer's manner. */
static void put_json(hop_json_writer *w, const char *text)
{
    hop_json_doc doc = {0};
    hop_status s = text ? hop_json_parse(&doc, text, strlen(text), NULL) : HOP_EFORMAT;
    if (s == HOP_OK)
        hop_json_put_value(w, doc.root);
    else
        hop_json_put_null(w);
    if (s == HOP_ENOMEM) w->text.failed = true; /* a null would say that there is none */
    hop_json_free(&doc);
}

static void put_field(hop_json_writer *w, const hop_field *f, const void *at)
{
    switch (f->type) {
    case HOP_TYPE_flag: hop_json_put_bool(w, *(const bool *)at); break;
    case HOP_TYPE_maybe:
        if (*(const signed char *)at < 0)
            hop_json_put_null(w);
        else
            hop_json_put_bool(w, *(const signed char *)at);
        break;
    case HOP_TYPE_count: put_count(w, *(const int64_t *)at); break;
    case HOP_TYPE_real: hop_json_put_real(w, *(const double *)at); break;
    case HOP_TYPE_text: put_text(w, *(const char *const *)at); break;
    case HOP_TYPE_digits: put_digits(w, *(const char *const *)at); break;
    case HOP_TYPE_json: put_json(w, *(const char *const *)at); break;
    case HOP_TYPE_counts: put_counts(w, at); break;
    case HOP_TYPE_reals: put_reals(w, at); break;
    case HOP_TYPE_texts: put_texts(w, at, false); break;
    case HOP_TYPE_digit_list: put_texts(w, at, true); break;
    case HOP_TYPE_word: put_text(w, f->words[*(const int *)at]); break;
    case HOP_TYPE_one:
        if (*(const void *const *)at)
            hop_record_json(w, f->of, *(const void *const *)at);
        else
            hop_json_put_null(w);
        break;
    case HOP_TYPE_many: put_records(w, f->of, at); break;
    }
}

/* Up to the member `end`; NULL: all. */
static void put_members(hop_json_writer *w, const hop_record *r, const void *data, const hop_field *end)
{
    for (const hop_field *f = r->fields; f != end && f->name; f++) {
        hop_json_key(w, f->name);
        put_field(w, f, (const char *)data + f->at);
    }
}

void hop_record_json(hop_json_writer *w, const hop_record *r, const void *data)
{
    hop_json_begin_object(w);
    put_members(w, r, data, NULL);
    hop_json_end_object(w);
}

void hop_record_json_begin(hop_json_writer *w, const hop_record *r, const void *data)
{
    const hop_field *last = r->fields;
    while (last[1].name) last++;
    hop_json_begin_object(w);
    put_members(w, r, data, last);
    hop_json_key(w, last->name);
    hop_json_begin_array(w);
}

void hop_record_json_end(hop_json_writer *w)
{
    hop_json_end_array(w);
    hop_json_end_object(w);
}
