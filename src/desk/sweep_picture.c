/* The picture of a sweep: runs that differ in their seed alone are a row, rows that differ in the task's
 * sizes a curve. What else tells two plans of the same layers apart, a learning rate or a width, stands in
 * their names. */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which runs belong together -------------------------------------------------------------------- */

typedef struct entry {
    uint64_t plan, sizes, seed, recipe; /* plan, sizes: hashes of all that makes them */
    int64_t run;                        /* its place in the list */
} entry;

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_recipe(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int c = compare(x->recipe, y->recipe);
    return c ? c : compare((uint64_t)x->run, (uint64_t)y->run);
}

static int by_row(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int c = compare(x->plan, y->plan);
    if (!c) c = compare(x->sizes, y->sizes);
    if (!c) c = compare(x->seed, y->seed);
    return c ? c : compare((uint64_t)x->run, (uint64_t)y->run);
}

static uint64_t hash_text(hop_text *t)
{
    hop_hash h;
    hop_hash_init(&h);
    if (t->s) hop_hash_add(&h, t->s, t->len);
    uint64_t hash = hop_hash_end(&h);
    hop_text_free(t);
    return hash;
}

/* The recipe without seed and task; a mixer that no layer takes does not count. */
static bool identify(entry *e, const hop_recipe *r, const hop_recipe *first)
{
    hop_recipe plain = *r;
    hop_json_writer w = {0};
    hop_text sizes = {0};
    plain.seed = 0;
    plain.task = first->task;
    if (!strchr(plain.pattern, 'L')) snprintf(plain.mixer, sizeof plain.mixer, "%s", first->mixer);
    hop_recipe_write(&plain, &w);
    hop_sizes_say(&sizes, &r->task);
    bool fits = !w.text.failed && !sizes.failed;
    e->plan = hash_text(&w.text);
    e->sizes = hash_text(&sizes);
    e->seed = r->seed;
    return fits;
}

/* ---- names ----------------------------------------------------------------------------------------- */

typedef enum key_kind { KEY_TEXT, KEY_INT, KEY_REAL, KEY_WORD } key_kind;

typedef struct key {
    const char *name;
    key_kind kind;
    size_t at;
} key;

#define KEY_ROW(kind, member, name, metavar, initial, least, most, help) \
    {name, KEY_##kind, offsetof(hop_recipe, member)},
static const key KEYS[] = {HOP_RECIPE_LIST(KEY_ROW)};

static bool same_value(const key *k, const hop_recipe *a, const hop_recipe *b)
{
    const char *x = (const char *)a + k->at, *y = (const char *)b + k->at;
    switch (k->kind) {
    case KEY_TEXT: return strcmp(x, y) == 0;
    case KEY_INT: return memcmp(x, y, sizeof(int64_t)) == 0;
    case KEY_REAL: return memcmp(x, y, sizeof(double)) == 0;
    case KEY_WORD: return memcmp(x, y, sizeof(int)) == 0;
    }
    return true;
}

static void add_value(hop_text *out, const key *k, const hop_recipe *r)
{
    const void *x = (const char *)r + k->at;
    hop_text_printf(out, "%s%s ", out->len ? ", " : "", k->name);
    switch (k->kind) {
    case KEY_TEXT: hop_text_add(out, x); break;
    case KEY_INT: hop_text_printf(out, "%lld", (long long)*(const int64_t *)x); break;
    case KEY_REAL: hop_text_printf(out, "%g", *(const double *)x); break;
    case KEY_WORD: hop_text_add(out, hop_recipe_words(k->name)[*(const int *)x]); break;
    }
}

/* The keys by which a plan differs from some other of the same layers. `of`: a recipe of each row. */
static hop_status tell_apart(hop_learnt *rows, const hop_recipe *const *of, int64_t count, int64_t row,
                             hop_error *err)
{
    enum { COUNT = sizeof KEYS / sizeof *KEYS };
    bool differs[COUNT] = {false};
    hop_learnt *r = &rows[row];
    hop_text more = {0};
    for (int64_t i = 0; i < count; i++) {
        if (rows[i].curve == r->curve || strcmp(rows[i].pattern, r->pattern) != 0 ||
            strcmp(rows[i].mixer, r->mixer) != 0)
            continue;
        for (int k = 0; k < COUNT; k++) differs[k] = differs[k] || !same_value(&KEYS[k], of[i], of[row]);
    }
    for (int k = 0; k < COUNT; k++) /* "mixer": where no layer takes it, it is in no name */
        if (differs[k] && strcmp(KEYS[k].name, "mixer") != 0) add_value(&more, &KEYS[k], of[row]);
    snprintf(r->more, sizeof r->more, "%s", more.s ? more.s : "");
    hop_status s = more.failed ? hop_fail(err, HOP_ENOMEM, "out of memory") : HOP_OK;
    hop_text_free(&more);
    return s;
}

/* ---- rows ------------------------------------------------------------------------------------------ */

typedef struct group {
    int64_t from, to; /* of the entries in order of rows */
    int64_t first;    /* run */
    int curve;
} group;

static int by_first_run(const void *a, const void *b)
{
    const group *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static void count_runs(sweep_rows *out, entry *e, const hop_sweep_outcome *outcomes, int64_t count)
{
    qsort(e, (size_t)count, sizeof *e, by_recipe);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && e[i].recipe == e[i - 1].recipe) continue;
        out->runs++;
        out->done += outcomes[e[i].run].done;
        out->failed += outcomes[e[i].run].failed;
    }
}

/* Entries in order of rows into groups of one plan and size, in the order of the list. Returns how many. */
static int64_t find_groups(group *g, const entry *e, int64_t count)
{
    int64_t groups = 0;
    int curve = -1;
    for (int64_t i = 0; i < count; i++) {
        bool plan = i == 0 || e[i].plan != e[i - 1].plan, row = plan || e[i].sizes != e[i - 1].sizes;
        curve += plan;
        if (row) g[groups++] = (group){.from = i, .first = e[i].run, .curve = curve};
        g[groups - 1].to = i + 1;
        if (e[i].run < g[groups - 1].first) g[groups - 1].first = e[i].run;
    }
    qsort(g, (size_t)groups, sizeof *g, by_first_run);
    return groups;
}

/* A row of the group's runs that were measured; none: no row. Entries of one seed are the same training. */
static hop_status add_row(sweep_rows *out, const group *g, const entry *e, const hop_recipe *list,
                          const hop_sweep_outcome *outcomes, hop_error *err)
{
    hop_learnt *row = &out->rows[out->count];
    int64_t before = -1;
    for (int64_t i = g->from; i < g->to; i++) {
        const hop_sweep_outcome *o = &outcomes[e[i].run];
        if (!o->measured || (before >= 0 && e[before].seed == e[i].seed)) continue;
        hop_status s = before < 0 ? hop_learnt_describe(row, &list[e[i].run], g->curve, err) : HOP_OK;
        if (s != HOP_OK) return s;
        hop_learnt_add(row, &o->last);
        before = i;
    }
    out->count += before >= 0;
    return HOP_OK;
}

static hop_status add_rows(sweep_rows *out, const entry *e, int64_t count, const hop_recipe *list,
                           const hop_sweep_outcome *outcomes, hop_error *err)
{
    group *g = calloc((size_t)count + 1, sizeof *g);
    int64_t groups = g ? find_groups(g, e, count) : 0;
    out->rows = calloc((size_t)groups + 1, sizeof *out->rows);
    const hop_recipe **of = calloc((size_t)groups + 1, sizeof *of);
    hop_status s = g && out->rows && of ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; s == HOP_OK && i < groups; i++) {
        of[out->count] = &list[g[i].first];
        s = add_row(out, &g[i], e, list, outcomes, err);
    }
    for (int64_t i = 0; s == HOP_OK && i < out->count; i++) s = tell_apart(out->rows, of, out->count, i, err);
    free((void *)of);
    free(g);
    return s;
}

hop_status hop__sweep_rows(sweep_rows *out, const hop_recipe *list, const hop_sweep_outcome *outcomes,
                           int64_t count, hop_error *err)
{
    *out = (sweep_rows){0};
    entry *e = calloc((size_t)count + 1, sizeof *e);
    bool fits = e != NULL;
    for (int64_t i = 0; fits && i < count; i++) {
        e[i] = (entry){.recipe = outcomes[i].recipe, .run = i};
        fits = identify(&e[i], &list[i], &list[0]);
    }
    hop_status s = fits ? HOP_OK : hop_fail(err, HOP_ENOMEM, "%lld runs: out of memory", (long long)count);
    if (s == HOP_OK) {
        count_runs(out, e, outcomes, count);
        qsort(e, (size_t)count, sizeof *e, by_row);
        s = add_rows(out, e, count, list, outcomes, err);
    }
    free(e);
    if (s != HOP_OK) hop__sweep_rows_free(out);
    return s;
}

void hop__sweep_rows_free(sweep_rows *r)
{
    free(r->rows);
    *r = (sweep_rows){0};
}

/* ---- the file --------------------------------------------------------------------------------------- */

hop_status hop__sweep_picture(const sweep_rows *r, const char *path, hop_error *err)
{
    hop_text out = {0}, note = {0};
    hop_text_printf(&note, "%lld runs", (long long)r->runs);
    if (r->done < r->runs) hop_text_printf(&note, ", %lld done", (long long)r->done);
    if (r->failed) hop_text_printf(&note, ", %lld failed", (long long)r->failed);
    hop_text_add(&note, ".");
    const char *words = hop_text_in(&out, &note);
    hop_status s = hop_report_learnt_svg(&out, r->rows, r->count, words);
    s = s == HOP_OK ? hop_file_write(path, out.s, out.len, err) : hop_fail(err, s, "%s: out of memory", path);
    hop_text_free(&note);
    hop_text_free(&out);
    return s;
}
