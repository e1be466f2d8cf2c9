/* Recipes: one table of keys, read from and written to JSON; the network and the tasks that follow from one.
 */
#include "room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

typedef enum kind { TEXT, INT, REAL, WORD } kind;

typedef struct key {
    kind kind;
    const char *name; /* as an option's: with - for _ */
    size_t at;
    const char *initial;
    double least, most; /* of numbers; of a text's length */
} key;

static const key KEYS[] = {
#define KEY(kind, member, name, metavar, initial, least, most, help) \
    {kind, name, offsetof(hop_recipe, member), initial, least, most},
    HOP_RECIPE_LIST(KEY)
#undef KEY
};
#define KEY_COUNT (sizeof KEYS / sizeof KEYS[0])

#define WORD_TEXT(id, text) text,
static const char *const NORMS[] = {HOP_NORM_LIST(WORD_TEXT) NULL};
static const char *const MLPS[] = {HOP_MLP_LIST(WORD_TEXT) NULL};
static const char *const SUPERVISE[] = {HOP_SUPERVISE_LIST(WORD_TEXT) NULL};
static const char *const CURRICULA[] = {HOP_CURRICULUM_LIST(WORD_TEXT) NULL};

const char *const *hop_recipe_words(const char *name)
{
    static const struct {
        const char *key;
        const char *const *words;
    } lists[] = {{"norm", NORMS}, {"mlp", MLPS}, {"supervise", SUPERVISE}, {"curriculum", CURRICULA}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(lists[i].key, name) == 0) return lists[i].words;
    return NULL;
}

/* A key's name in JSON is the option's with _ for -. */
static bool is_called(const key *k, const char *json)
{
    const char *a = k->name;
    while (*a && (*a == *json || (*a == '-' && *json == '_'))) a++, json++;
    return *a == *json;
}

static void json_name(const key *k, char out[64])
{
    snprintf(out, 64, "%s", k->name);
    for (char *p = out; *p; p++)
        if (*p == '-') *p = '_';
}

/* ---- reading --------------------------------------------------------------------------------- */

static hop_status read_word(int *out, const char *name, const char *given, hop_error *err)
{
    const char *const *words = hop_recipe_words(name);
    hop_text known = {0};
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], given) == 0) {
            *out = i;
            hop_text_free(&known);
            return HOP_OK;
        }
        hop_text_printf(&known, "%s%s", i ? ", " : "", words[i]);
    }
    hop_fail(err, HOP_EFORMAT, "%s: unknown name \"%.60s\" (known: %s)", name, given, known.s ? known.s : "");
    hop_text_free(&known);
    return HOP_EFORMAT;
}

static hop_status read_text(char *out, const key *k, const char *given, hop_error *err)
{
    if (k->kind == WORD) return read_word((int *)(void *)out, k->name, given, err);
    size_t length = strlen(given);
    if (length < (size_t)k->least || length > (size_t)k->most)
        return hop_fail(err, HOP_EFORMAT, "%s: %zu letters, not %.0f to %.0f", k->name, length, k->least,
                        k->most);
    snprintf(out, (size_t)k->most + 1, "%s", given);
    return HOP_OK;
}

static hop_status read_key(hop_recipe *r, const key *k, const hop_json *v, hop_error *err)
{
    char *at = (char *)r + k->at;
    switch (k->kind) {
    case TEXT:
    case WORD:
        if (v->type != HOP_JSON_STRING) return hop_fail(err, HOP_EFORMAT, "%s: not a string", v->key);
        return read_text(at, k, v->string, err);
    case INT:
        if (hop_json_int(v, (int64_t)k->least, (int64_t)k->most, (int64_t *)(void *)at)) return HOP_OK;
        return hop_fail(err, HOP_EFORMAT, "%s: not an integer from %.0f to %.0f", v->key, k->least, k->most);
    case REAL: break;
    }
    double x = v->type == HOP_JSON_INT ? (double)v->integer : v->type == HOP_JSON_REAL ? v->real : NAN;
    if (!(x >= k->least && x <= k->most))
        return hop_fail(err, HOP_EFORMAT, "%s: not a number from %g to %g", v->key, k->least, k->most);
    *(double *)(void *)at = x;
    return HOP_OK;
}

/* A task has no members but those that it is written with. */
static hop_status read_task(hop_task *t, const hop_json *v, hop_error *err)
{
    hop_json_writer w = {0};
    hop_json_doc written = {0};
    hop_status s = hop_task_read(t, v, err);
    if (s != HOP_OK) return s;
    hop_task_write(t, &w);
    s = w.text.failed ? hop_fail(err, HOP_ENOMEM, "out of memory")
                      : hop_json_parse(&written, w.text.s, w.text.len, err);
    for (const hop_json *m = v->child; s == HOP_OK && m; m = m->next)
        if (m->type != HOP_JSON_NULL && !hop_json_get(written.root, m->key))
            s = hop_fail(err, HOP_EFORMAT, "%.60s: unknown key", m->key);
    hop_json_free(&written);
    hop_text_free(&w.text);
    return s;
}

static hop_status read_member(hop_recipe *r, const hop_json *v, bool seen[], hop_error *err)
{
    int64_t seed;
    if (strcmp(v->key, "task") == 0) {
        hop_status s = read_task(&r->task, v, err);
        return s == HOP_OK ? s : hop_fail_in(err, s, "task");
    }
    if (strcmp(v->key, "seed") == 0) {
        if (!hop_json_int(v, 0, INT64_MAX, &seed))
            return hop_fail(err, HOP_EFORMAT, "seed: not an integer from 0 on");
        r->seed = (uint64_t)seed;
        return HOP_OK;
    }
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (!is_called(&KEYS[i], v->key)) continue;
        if (seen[i]) return hop_fail(err, HOP_EFORMAT, "%s: stands twice", v->key); /* with _ and with - */
        seen[i] = true;
        return read_key(r, &KEYS[i], v, err);
    }
    return hop_fail(err, HOP_EFORMAT, "%.60s: unknown key", v->key);
}

hop_status hop_recipe_read(hop_recipe *r, const hop_json *object, hop_error *err)
{
    hop_recipe made = *r;
    bool seen[KEY_COUNT] = {false};
    if (!object || object->type != HOP_JSON_OBJECT)
        return hop_fail(err, HOP_EFORMAT, "a recipe is an object");
    for (const hop_json *v = object->child; v; v = v->next) {
        hop_status s = v->type == HOP_JSON_NULL ? HOP_OK : read_member(&made, v, seen, err);
        if (s != HOP_OK) return s;
    }
    if (made.beta1 >= 1 || made.beta2 >= 1)
        return hop_fail(err, HOP_EFORMAT, "%s: not below 1", made.beta1 >= 1 ? "beta1" : "beta2");
    *r = made;
    return HOP_OK;
}

void hop_recipe_init(hop_recipe *r)
{
    *r = (hop_recipe){0};
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const key *k = &KEYS[i];
        char *at = (char *)r + k->at;
        switch (k->kind) {
        case TEXT:
        case WORD: read_text(at, k, k->initial, NULL); break;
        case INT: *(int64_t *)(void *)at = strtoll(k->initial, NULL, 10); break;
        case REAL: *(double *)(void *)at = strtod(k->initial, NULL); break;
        }
    }
    r->task.kind = HOP_TASK_FUNCCOMP;
    hop_funccomp_init(&r->task.funccomp, 2, 8, (const int64_t[]){4}, NULL);
    hop_task_ready(&r->task, NULL);
}

/* ---- writing --------------------------------------------------------------------------------- */

void hop_recipe_write(const hop_recipe *r, hop_json_writer *w)
{
    hop_json_begin_object(w);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const key *k = &KEYS[i];
        const char *at = (const char *)r + k->at;
        char name[64];
        json_name(k, name);
        switch (k->kind) {
        case TEXT: hop_json_string(w, name, at); break;
        case WORD: hop_json_string(w, name, hop_recipe_words(k->name)[*(const int *)(const void *)at]); break;
        case INT: hop_json_integer(w, name, *(const int64_t *)(const void *)at); break;
        case REAL: hop_json_number(w, name, *(const double *)(const void *)at); break;
        }
    }
    hop_json_integer(w, "seed", (int64_t)r->seed);
    hop_json_key(w, "task");
    hop_task_write(&r->task, w);
    hop_json_end_object(w);
}

char *hop__recipe_text(const hop_recipe *r)
{
    hop_json_writer w = {0};
    hop_recipe_write(r, &w);
    if (w.text.failed) hop_text_free(&w.text);
    return w.text.s;
}

/* ---- the network ----------------------------------------------------------------------------- */

static hop_status configure(hop_config *c, const hop_recipe *r, hop_error *err)
{
    hop_json_writer task = {0}, how = {0};
    if (!hop_mixer_find(r->mixer)) /* also where the pattern has no L */
        return hop_fail(err, HOP_EFORMAT, "mixer: unknown name \"%.60s\"; `hopbound mixers` lists them",
                        r->mixer);
    if (r->curriculum == HOP_CURRICULUM_HOPS && r->task.kind != HOP_TASK_FUNCCOMP &&
        r->task.kind != HOP_TASK_KHOP)
        return hop_fail(err, HOP_EDOMAIN, "curriculum: hops: %s has none; sizes can grow",
                        hop_task_name(r->task.kind));
    hop_status s = hop_pattern_parse(&c->pattern, r->pattern, r->mixer, err);
    if (s != HOP_OK) return s;
    c->vocab = r->task.vocab;
    c->max_positions = r->task.length;
    c->position_table = r->position_std > 0;
    c->d_model = r->d_model;
    c->heads = r->heads;
    c->head_dim = r->head_dim;
    c->norm = (hop_norm)r->norm;
    c->mlp = (hop_mlp)r->mlp;
    c->mlp_hidden = r->mlp_hidden;
    hop_task_write(&r->task, &task);
    hop_json_begin_object(&how);
    hop_json_string(&how, "kind", "trained");
    hop_json_key(&how, "recipe");
    hop_recipe_write(r, &how);
    hop_json_end_object(&how);
    c->task_json = task.text.s;
    c->construction_json = how.text.s;
    if (task.text.failed || how.text.failed) return hop_fail(err, HOP_ENOMEM, "out of memory");
    return hop_config_validate(c, err);
}

/* A table's numbers to another standard deviation. */
static void widen(const hop_model *m, const char *name, double std)
{
    const hop_weight *w = hop_model_weight(m, name);
    if (!w) return;
    int64_t n = w->shape[0] * w->shape[1];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)w->data[i] * w->data[i];
    double by = sum > 0 ? std / sqrt(sum / (double)n) : 0;
    for (int64_t i = 0; i < n; i++) w->data[i] = (float)(w->data[i] * by);
}

hop_status hop_recipe_model(const hop_recipe *r, hop_model **out, hop_error *err)
{
    hop_config c;
    *out = NULL;
    hop_config_init(&c);
    hop_status s = configure(&c, r, err);
    if (s == HOP_OK) s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;
    hop_model_init_weights(*out, r->seed, NULL);
    widen(*out, "model.embed_tokens.weight", r->token_std);
    widen(*out, "model.embed_positions.weight", r->position_std);
    return HOP_OK;
}

hop_status hop_recipe_layout(const hop_recipe *r, hop_layout **out, hop_error *err)
{
    hop_config c;
    *out = NULL;
    hop_config_init(&c);
    hop_status s = configure(&c, r, err);
    if (s == HOP_OK) s = hop_layout_new(out, &c, err);
    hop_config_free(&c);
    return s;
}

/* ---- easier tasks first ----------------------------------------------------------------------- */

static int64_t shrink(int64_t size, int halvings, int64_t least)
{
    size >>= halvings;
    return size < least ? least : size;
}

static hop_status with_hops(hop_task *t, int64_t hops, hop_error *err)
{
    if (t->kind == HOP_TASK_KHOP) {
        t->khop.hops = hops;
        return hop_task_ready(t, err);
    }
    int64_t fan[HOP_MAX_HOPS];
    memcpy(fan, t->funccomp.fan, sizeof fan);
    hop_status s = hop_funccomp_init(&t->funccomp, (int)hops, t->funccomp.m, fan + 1, err);
    return s == HOP_OK ? hop_task_ready(t, err) : s;
}

static hop_status with_sizes(hop_task *t, int halvings, hop_error *err)
{
    int64_t fan[HOP_MAX_HOPS];
    hop_status s = HOP_OK;
    switch (t->kind) {
    case HOP_TASK_FUNCCOMP:
        memcpy(fan, t->funccomp.fan, sizeof fan);
        s = hop_funccomp_init(&t->funccomp, t->funccomp.hops, shrink(t->funccomp.m, halvings, 2), fan + 1,
                              err);
        break;
    case HOP_TASK_TWOSUM: t->twosum.n = shrink(t->twosum.n, halvings, 1); break;
    case HOP_TASK_RECALL: t->recall.pairs = shrink(t->recall.pairs, halvings, 1); break;
    case HOP_TASK_KHOP: t->khop.n = shrink(t->khop.n, halvings, 2); break;
    }
    return s == HOP_OK ? hop_task_ready(t, err) : s;
}

static int64_t hops_of(const hop_task *t)
{
    return t->kind == HOP_TASK_FUNCCOMP ? t->funccomp.hops : t->kind == HOP_TASK_KHOP ? t->khop.hops : 1;
}

hop_status hop__recipe_task(const hop_recipe *r, int64_t step, hop_task *out, hop_error *err)
{
    int64_t stages = r->curriculum == HOP_CURRICULUM_HOPS    ? hops_of(&r->task)
                     : r->curriculum == HOP_CURRICULUM_SIZES ? 3
                                                             : 1;
    double each = stages > 1 ? (double)r->steps * r->curriculum_part / (double)(stages - 1) : 0;
    int64_t stage = each > 0 ? (int64_t)((double)step / each) : stages - 1;
    *out = r->task;
    if (stage >= stages - 1) return HOP_OK;
    hop_status s = r->curriculum == HOP_CURRICULUM_HOPS ? with_hops(out, stage + 1, err)
                                                        : with_sizes(out, (int)(stages - 1 - stage), err);
    return s == HOP_OK ? s : hop_fail_in(err, s, "curriculum");
}
