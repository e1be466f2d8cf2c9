/* Many models side by side: one row each, at a common length. Rows are plain numbers first (hop_model_row,
 * which the report draws, too); how they are written down is below. */
#include "audit.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMMON_N      32768
#define MOST_ROWS     4096
#define MOST_SEARCHED 7
#define SEARCHED      5 /* full layers up to which P6 is searched for, in the time of a table; one model: 7 */

typedef struct table {
    const audit_args *a;
    char **paths;
    bool *named; /* by the user, not found in a directory */
    int count;
    hop_model_row *rows;
} table;

/* ---- which files ------------------------------------------------------------------------------- */

static hop_status add_path(table *t, const char *path, bool named, hop_error *err)
{
    if (t->count == MOST_ROWS) return hop_fail(err, HOP_ERANGE, "more than %d models", MOST_ROWS);
    char **paths = realloc(t->paths, sizeof *paths * (size_t)(t->count + 1));
    if (paths) t->paths = paths;
    bool *by_name = paths ? realloc(t->named, sizeof *by_name * (size_t)(t->count + 1)) : NULL;
    if (by_name) t->named = by_name;
    char *copy = by_name ? strdup(path) : NULL;
    if (!copy) return hop_fail(err, HOP_ENOMEM, "out of memory");
    t->named[t->count] = named;
    t->paths[t->count++] = copy;
    return HOP_OK;
}

bool audit_holds_config(const char *dir)
{
    char path[4096];
    return hop_path_join(path, sizeof path, dir, "config.json", NULL) == HOP_OK && hop_is_there(path);
}

/* Hidden ones and what is no model by its name are left out. */
static bool may_be_model(const char *dir, const char *name, char *path, size_t size)
{
    size_t n = strlen(name);
    if (name[0] == '.' || hop_path_join(path, size, dir, name, NULL) != HOP_OK) return false;
    if (hop_is_dir(path)) return audit_holds_config(path);
    return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static hop_status add_directory(table *t, const char *dir, hop_error *err)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, NULL, alphasort);
    hop_status s = HOP_OK;
    if (count < 0)
        return hop_fail(err, errno == ENOMEM ? HOP_ENOMEM : HOP_EIO, "%.200s: %s", dir, strerror(errno));
    for (int i = 0; i < count; i++) {
        char path[4096];
        if (s == HOP_OK && may_be_model(dir, names[i]->d_name, path, sizeof path))
            s = add_path(t, path, false, err);
        free(names[i]);
    }
    free(names);
    return s;
}

/* ---- a row --------------------------------------------------------------------------------------- */

/* The file's name without its end; of a config.json, its directory's. */
static void set_name(hop_model_row *r, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    if (n > 12 && memcmp(path + n - 12, "/config.json", 12) == 0) n -= 12;
    size_t start = n;
    while (start > 0 && path[start - 1] != '/') start--;
    if (n - start > 5 && memcmp(path + n - 5, ".json", 5) == 0) n -= 5;
    snprintf(r->name, sizeof r->name, "%.*s", (int)(n - start), path + start);
    hop_plain(r->name);
}

static hop_status set_row(hop_model_row *r, const audit *u, const audit_hops *h, hop_error *err)
{
    hop_text plan = {0};
    audit_say_pattern(&plan, u->plan.pattern);
    snprintf(r->plan, sizeof r->plan, "%s", plan.s ? plan.s : "");
    if (plan.len >= sizeof r->plan) memcpy(r->plan + sizeof r->plan - 4, "...", 4);
    bool short_of_memory = plan.failed;
    hop_text_free(&plan);
    if (short_of_memory) return hop_fail(err, HOP_ENOMEM, "out of memory");
    snprintf(r->model_type, sizeof r->model_type, "%s", u->plan.model_type);
    hop_plain(r->model_type);
    r->layers = u->plan.count;
    r->full = h->full;
    r->linear = h->linear;
    r->context = u->plan.context;
    int64_t total = audit_total_bytes(u, u->n);
    r->state_bytes = audit_all_states(u);
    r->kv_bytes = total < 0 ? -1 : total - r->state_bytes;
    r->able = h->by_states ? h->by_states : h->able;
    const char *uncovered = audit_uncovered(u, h);
    snprintf(r->uncovered, sizeof r->uncovered, "%s", uncovered ? uncovered : "");
    r->held = h->held;
    if (u->own.known && u->own.answer == HOP_ANSWER_POSSIBLE) r->own_able = u->own.task.funccomp.hops;
    const hop_bound *first = audit_first(h, &r->unable);
    r->unable_log10 = first ? first->log10_n : INFINITY;
    snprintf(r->unable_from, sizeof r->unable_from, "%s", first ? first->speaks_from : "");
    snprintf(r->unable_by, sizeof r->unable_by, "%s", first ? first->id : "");
    r->vocabulary = u->plan.vocabulary;
    r->unable_beyond = first && audit_beyond(u, audit_ids(first, r->unable));
    if (!first) r->unable = 0;
    hop_status s = hop_tables_outgrow(&h->arch, r->outgrown, &r->outgrown_log10, err);
    r->outgrown_beyond = r->outgrown[0] && audit_beyond(u, pow(10, r->outgrown_log10) - 2);
    return s;
}

static hop_status fill_row(table *t, int i, hop_error *err)
{
    hop_model_row *r = &t->rows[i];
    audit u;
    audit_hops h = {0};
    set_name(r, t->paths[i]);
    hop_status s = audit_read(&u, t->a, t->paths[i], err);
    if (s != HOP_OK && s != HOP_ENOMEM && s != HOP_EIO &&
        !t->named[i]) { /* a stray file in a directory is a line, no end */
        snprintf(r->refused, sizeof r->refused, "%s", err->text);
        return HOP_OK;
    }
    if (s != HOP_OK) return s;
    u.n = t->a->n.given ? t->a->n.integer : COMMON_N;
    s = audit_hops_find(&h, &u, t->a, SEARCHED, err);
    if (s == HOP_OK) s = set_row(r, &u, &h, err);
    audit_hops_free(&h);
    audit_free(&u);
    return s;
}

/* ---- how it is written down ------------------------------------------------------------------------ */

static const char *const HEADS[] = {"model",
                                    "plan",
                                    "layers",
                                    "full",
                                    "KV",
                                    "states",
                                    "hops possible",
                                    "impossible from",
                                    "states hold tables up to",
                                    "tables outgrow states at"};
enum { COLUMNS = sizeof HEADS / sizeof *HEADS, NAME_WIDTH = 26, PLAN_WIDTH = 14 };

/* The cells of a row as people read them; freed by the caller. */
static void cells_of(hop_text cell[COLUMNS], const hop_model_row *r)
{
    memset(cell, 0, sizeof *cell * COLUMNS);
    hop_text_add(&cell[0], r->name);
    hop_text_add(&cell[1], r->plan);
    say_count(&cell[2], r->layers);
    say_count(&cell[3], r->full);
    if (r->kv_bytes < 0)
        hop_text_add(&cell[4], "?");
    else
        audit_say_bytes(&cell[4], r->kv_bytes);
    audit_say_bytes(&cell[5], r->state_bytes);
    if (r->uncovered[0])
        hop_text_add(&cell[6], "-");
    else
        say_count(&cell[6], r->able);
    if (r->own_able) hop_text_printf(&cell[6], ", %d*", r->own_able);
    if (r->unable) {
        hop_text_printf(&cell[7], "%d: ", r->unable);
        say_digits(&cell[7], r->unable_from);
        hop_text_printf(&cell[7], " %s%s", r->unable_by, r->unable_beyond ? "^" : "");
    } else {
        hop_text_add(&cell[7], "-");
    }
    if (r->held)
        say_count(&cell[8], r->held);
    else
        hop_text_add(&cell[8], "-");
    say_digits(&cell[9], r->outgrown[0] ? r->outgrown : "-");
    if (r->outgrown_beyond) hop_text_add(&cell[9], "^");
}

static void free_cells(hop_text cell[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) hop_text_free(&cell[c]);
}

static int64_t length_of(const table *t)
{
    return t->a->n.given ? t->a->n.integer : COMMON_N;
}

/* Names and plans to the left, cut where they are too long; numbers to the right. */
static void text_row(hop_text *out, const char *const cell[COLUMNS])
{
    static const int widths[COLUMNS] = {NAME_WIDTH, PLAN_WIDTH, 6, 4, 9, 9, 8, 21, 10, 14};
    for (int c = 0; c < COLUMNS; c++) {
        int length = (int)strlen(cell[c]);
        if (c > 1)
            hop_text_printf(out, " %*s", widths[c], cell[c]);
        else if (length > widths[c])
            hop_text_printf(out, "%s%.*s..", c ? " " : "", widths[c] - 2, cell[c]);
        else
            hop_text_printf(out, "%s%-*s", c ? " " : "", widths[c], cell[c]);
    }
    hop_text_add(out, "\n");
}

/* What a ^ says. */
static void write_beyond(hop_text *out, const table *t, const char *before)
{
    bool beyond = false;
    for (int i = 0; i < t->count; i++)
        beyond = beyond || t->rows[i].unable_beyond || t->rows[i].outgrown_beyond;
    if (beyond)
        hop_text_printf(out, "%s^: at sizes that take more ids than the model's vocabulary has, so that no such "
                             "prompt can be put to it.\n",
                        before);
}

/* Why there is a dash where hops are counted: a line for each reason. */
static void write_uncovered(hop_text *out, const table *t, const char *before)
{
    for (int i = 0; i < t->count; i++) {
        const char *why = t->rows[i].uncovered, *comma = " ";
        bool said = false;
        for (int k = 0; k < i && !said; k++) said = strcmp(t->rows[k].uncovered, why) == 0;
        if (!*why || said) continue;
        hop_text_printf(out, "%s-: no theorem here says how many, where %s:", before, why);
        for (int k = i; k < t->count; k++) {
            if (strcmp(t->rows[k].uncovered, why) != 0) continue;
            hop_text_printf(out, "%s%s", comma, t->rows[k].name);
            comma = ", ";
        }
        hop_text_add(out, ".\n");
    }
}

static void write_text(hop_text *out, const table *t)
{
    const char *const heads[] = {"model",  "plan",     "layers",          "full",       "KV",
                                 "states", "hops yes", "hops no, from n", "held up to", "outgrown at"};
    hop_text_add(out, "At ");
    say_things(out, length_of(t), "token");
    hop_text_add(out, " (--n changes it):\n\n");
    text_row(out, heads);
    for (int i = 0; i < t->count; i++) {
        hop_text cell[COLUMNS];
        const char *shown[COLUMNS];
        if (t->rows[i].refused[0]) continue;
        cells_of(cell, &t->rows[i]);
        for (int c = 0; c < COLUMNS; c++) shown[c] = hop_text_in(out, &cell[c]);
        text_row(out, shown);
        free_cells(cell);
    }
    hop_text_add(out,
                 "\nhops yes: so many are possible here at these widths (P1, P10). hops no: so many are "
                 "impossible from\n"
                 "that n on, for any weights, and by which theorem. held up to: to that n the states "
                 "are known\n"
                 "to hold the table of a hop (P10; -: not known). outgrown at: from that n on no table of\n"
                 "the prompt's length fits all states together, and a hop over one needs a full layer (P2).\n");
    bool own = false, deep = false;
    for (int i = 0; i < t->count; i++) {
        own = own || t->rows[i].own_able;
        deep = deep || (t->rows[i].full > SEARCHED && t->rows[i].full <= MOST_SEARCHED);
    }
    write_uncovered(out, t, "hops yes ");
    write_beyond(out, t, "");
    say_any_weights(out);
    say_known_weights(out, "hops yes");
    if (own) hop_text_add(out, "*: at the sizes of its own task, a network of this program.\n");
    if (deep)
        hop_text_printf(
            out,
            "For %d or %d full layers `audit` of one model searches for sizes (P6) that a table has "
            "no time for.\n",
            SEARCHED + 1, MOST_SEARCHED);
    for (int i = 0; i < t->count; i++)
        if (t->rows[i].refused[0]) hop_text_printf(out, "not read: %s\n", t->rows[i].refused);
}

static void write_markdown(hop_text *out, const table *t)
{
    for (int c = 0; c < COLUMNS; c++) hop_text_printf(out, "| %s ", HEADS[c]);
    hop_text_add(out, "|\n");
    for (int c = 0; c < COLUMNS; c++) hop_text_add(out, c < 2 ? "|---" : "|---:"); /* numbers to the right */
    hop_text_add(out, "|\n");
    for (int i = 0; i < t->count; i++) {
        hop_text cell[COLUMNS];
        if (t->rows[i].refused[0]) continue;
        cells_of(cell, &t->rows[i]);
        for (int c = 0; c < COLUMNS; c++) {
            hop_text_add(out, "| ");
            for (const char *p = hop_text_in(out, &cell[c]); *p; p++)
                hop_text_printf(out, strchr("|`*<[\\", *p) ? "\\%c" : "%c", *p);
            hop_text_add(out, " ");
        }
        hop_text_add(out, "|\n");
        free_cells(cell);
    }
    hop_text_add(out, "\nAt ");
    say_things(out, length_of(t), "token");
    hop_text_add(out, ".\n");
    write_uncovered(out, t, "\nHops possible ");
    write_beyond(out, t, "\n");
    hop_text_printf(out, "\nImpossible: for any weights of networks that are %s.\n\nPossible: by weights that are "
                         "known, where %s.\n",
                    HOP_BOUNDS_MODEL, HOP_BOUNDS_IDEALISED);
}

/* In quotes, which are doubled. */
static void csv_text(hop_text *out, const char *text)
{
    hop_text_add(out, "\"");
    for (; *text; text++) hop_text_printf(out, *text == '"' ? "\"%c" : "%c", *text);
    hop_text_add(out, "\"");
}

static const char *csv_flag(bool known, bool flag)
{
    return !known ? "" : flag ? "1" : "0";
}

static void write_csv(hop_text *out, const table *t)
{
    hop_text_add(
        out, "model,model_type,plan,layers,full_layers,n,kv_bytes,state_bytes,hops_possible,"
             "hops_possible_at_own_sizes,hops_impossible,impossible_from_n,impossible_log10_n,impossible_by,"
             "tables_held_up_to,tables_outgrow_states_at,tables_outgrow_log10_n,hops_not_counted,not_read,"
             "vocabulary,impossible_beyond_vocabulary,tables_outgrow_beyond_vocabulary\n");
    for (int i = 0; i < t->count; i++) {
        const hop_model_row *r = &t->rows[i];
        csv_text(out, r->name);
        if (r->refused[0]) {
            hop_text_add(out, ",,,,,,,,,,,,,,,,,,");
            csv_text(out, r->refused);
            hop_text_add(out, ",,,");
        } else {
            hop_text_add(out, ",");
            csv_text(out, r->model_type);
            hop_text_add(out, ",");
            csv_text(out, r->plan);
            hop_text_printf(out, ",%lld,%lld,%lld,", (long long)r->layers, (long long)r->full,
                            (long long)length_of(t));
            if (r->kv_bytes >= 0) hop_text_printf(out, "%lld", (long long)r->kv_bytes);
            hop_text_printf(out, ",%lld,", (long long)r->state_bytes);
            if (!r->uncovered[0]) hop_text_printf(out, "%d", r->able);
            hop_text_add(out, ",");
            if (r->own_able) hop_text_printf(out, "%d", r->own_able);
            hop_text_add(out, ",");
            if (r->unable) hop_text_printf(out, "%d", r->unable);
            hop_text_printf(out, ",%s,", r->unable_from);
            if (isfinite(r->unable_log10)) hop_text_printf(out, "%.6g", r->unable_log10);
            hop_text_printf(out, ",%s,", r->unable_by);
            if (r->held) hop_text_printf(out, "%lld", (long long)r->held);
            hop_text_printf(out, ",%s,", r->outgrown);
            if (r->outgrown[0]) hop_text_printf(out, "%.6g", r->outgrown_log10);
            hop_text_add(out, ",");
            if (r->uncovered[0]) csv_text(out, r->uncovered);
            hop_text_add(out, ",,");
            if (r->vocabulary) hop_text_printf(out, "%lld", (long long)r->vocabulary);
            hop_text_printf(out, ",%s,%s", csv_flag(r->vocabulary && r->unable, r->unable_beyond),
                            csv_flag(r->vocabulary && r->outgrown[0], r->outgrown_beyond));
        }
        hop_text_add(out, "\n");
    }
}

static void text_or_null(hop_json_writer *w, const char *key, const char *s)
{
    hop_json_string(w, key, *s ? s : NULL);
}

static int print_table_json(const table *t)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "n", length_of(t));
    hop_json_key(&w, "models");
    hop_json_begin_array(&w);
    for (int i = 0; i < t->count; i++) {
        const hop_model_row *r = &t->rows[i];
        if (r->refused[0]) continue;
        hop_json_begin_object(&w);
        hop_json_string(&w, "model", r->name);
        hop_json_string(&w, "path", t->paths[i]);
        hop_json_string(&w, "model_type", r->model_type);
        hop_json_string(&w, "plan", r->plan);
        hop_json_integer(&w, "layers", r->layers);
        hop_json_integer(&w, "full_layers", r->full);
        hop_json_integer(&w, "linear_layers", r->linear);
        hop_json_known(&w, "context", r->context, r->context > 0);
        hop_json_known(&w, "kv_bytes", r->kv_bytes, r->kv_bytes >= 0);
        hop_json_integer(&w, "state_bytes", r->state_bytes);
        hop_json_known(&w, "hops_possible", r->able, !r->uncovered[0]);
        text_or_null(&w, "hops_not_counted", r->uncovered);
        hop_json_known(&w, "hops_possible_at_own_sizes", r->own_able, r->own_able > 0);
        hop_json_known(&w, "hops_impossible", r->unable, r->unable > 0);
        text_or_null(&w, "impossible_from_n", r->unable_from);
        hop_json_number(&w, "impossible_log10_n", r->unable_log10);
        text_or_null(&w, "impossible_by", r->unable_by);
        hop_json_known(&w, "tables_held_up_to", r->held, r->held > 0);
        text_or_null(&w, "tables_outgrow_states_at", r->outgrown);
        hop_json_number(&w, "tables_outgrow_log10_n", r->outgrown[0] ? r->outgrown_log10 : INFINITY);
        hop_json_known(&w, "vocabulary", r->vocabulary, r->vocabulary > 0);
        hop_json_boolean(&w, "impossible_beyond_vocabulary", r->unable_beyond);
        hop_json_boolean(&w, "tables_outgrow_beyond_vocabulary", r->outgrown_beyond);
        hop_json_end_object(&w);
    }
    hop_json_end_array(&w);
    hop_json_key(&w, "refused");
    hop_json_begin_array(&w);
    for (int i = 0; i < t->count; i++) {
        if (!t->rows[i].refused[0]) continue;
        hop_json_begin_object(&w);
        hop_json_string(&w, "path", t->paths[i]);
        hop_json_string(&w, "why", t->rows[i].refused);
        hop_json_end_object(&w);
    }
    hop_json_end_array(&w);
    write_supposed(&w);
    hop_json_end_object(&w);
    return print_json(&t->a->common, &w);
}

static int write_report(const table *t)
{
    hop_text page = {0};
    hop_error err = {0};
    hop_status s = hop_report_models(&page, t->rows, t->count, length_of(t), HOP_BOUNDS_MODEL,
                                     HOP_BOUNDS_IDEALISED);
    if (s != HOP_OK)
        hop_fail(&err, s, "out of memory");
    else
        s = hop_file_write(t->a->report.text, page.s, page.len, &err);
    hop_text_free(&page);
    return s == HOP_OK ? EXIT_DONE : fail_error(&t->a->common, &err);
}

static int print_table(const table *t)
{
    typedef void write_fn(hop_text * out, const table *t);
    static write_fn *const writers[] = {write_text, write_markdown, write_csv};
    int code = t->a->report.text ? write_report(t) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    if (t->a->common.json.flag || t->a->format.choice == 3) return print_table_json(t);
    hop_text out = {0};
    writers[t->a->format.choice](&out, t);
    return print_text(&t->a->common, &out);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static hop_status fill(table *t, hop_error *err)
{
    const common_args *c = &t->a->common;
    hop_status s = HOP_OK;
    for (int i = 0; s == HOP_OK && i < c->operand_count; i++) {
        const char *path = c->operands[i];
        s = hop_is_dir(path) && !audit_holds_config(path) ? add_directory(t, path, err)
                                                          : add_path(t, path, true, err);
    }
    if (s == HOP_OK && t->count == 0)
        s = hop_fail(err, HOP_EIO, "%.200s/config.json: No such file, nor any other *.json there",
                     c->operand);
    if (s == HOP_OK && !(t->rows = calloc((size_t)t->count, sizeof *t->rows)))
        s = hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; s == HOP_OK && i < t->count; i++) {
        s = fill_row(t, i, err);
        if (s == HOP_OK && !hop_progress_tick(&c->progress, "models", i + 1, t->count))
            s = hop_fail(err, HOP_ESTOPPED, "stopped");
    }
    return s;
}

int audit_table(const audit_args *a)
{
    table t = {.a = a};
    hop_error err = {0};
    int code = fill(&t, &err) == HOP_OK ? print_table(&t) : fail_error(&a->common, &err);
    for (int i = 0; i < t.count; i++) free(t.paths[i]);
    free(t.paths);
    free(t.named);
    free(t.rows);
    return code;
}
