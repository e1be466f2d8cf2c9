/* Any task: the registry, and what all tasks do alike. */
#include "room.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- funccomp, behind the same table ------------------------------------------------------- */

static hop_status funccomp_ready(hop_task *t, hop_error *err)
{
    if (t->funccomp.length == 0) return hop_fail(err, HOP_EDOMAIN, "funccomp: its sizes were not set up");
    t->length = t->funccomp.length;
    t->vocab = t->funccomp.vocab;
    return HOP_OK;
}

static int64_t funccomp_values(const hop_task *t, int64_t position)
{
    return hop_funccomp_values(&t->funccomp, position);
}

static void funccomp_sample(const hop_task *t, hop_rng *rng, int32_t *tokens)
{
    hop_funccomp_sample(&t->funccomp, rng, tokens);
}

static int64_t funccomp_solve(const hop_task *t, const int32_t *tokens, int32_t *targets)
{
    for (int64_t p = 0; p < t->length - 1; p++) targets[p] = -1;
    targets[t->length - 1] = (int32_t)hop_funccomp_solve(&t->funccomp, tokens, NULL);
    return 1;
}

static double funccomp_log10_inputs(const hop_task *t)
{
    return hop_funccomp_log10_inputs(&t->funccomp);
}

static int64_t funccomp_inputs(const hop_task *t)
{
    return hop_funccomp_inputs(&t->funccomp);
}

static const hop__task_ops FUNCCOMP_OPS = {
    .ready = funccomp_ready,
    .values = funccomp_values,
    .sample = funccomp_sample,
    .solve = funccomp_solve,
    .log10_inputs = funccomp_log10_inputs,
    .inputs = funccomp_inputs,
};

/* ---- the registry --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const hop__task_ops *ops;
} TASKS[] = {
#define TASK_NAME(id, text) [HOP_TASK_##id].name = text,
    HOP_TASK_LIST(TASK_NAME)
#undef TASK_NAME
        [HOP_TASK_FUNCCOMP]
            .ops = &FUNCCOMP_OPS,
    [HOP_TASK_TWOSUM].ops = &hop__twosum_ops,
    [HOP_TASK_RECALL].ops = &hop__recall_ops,
    [HOP_TASK_KHOP].ops = &hop__khop_ops,
};
#define TASK_COUNT (sizeof TASKS / sizeof TASKS[0])

static const hop__task_ops *ops_of(const hop_task *t)
{
    assert((size_t)t->kind < TASK_COUNT);
    return TASKS[t->kind].ops;
}

const char *hop_task_name(hop_task_kind kind)
{
    return (size_t)kind < TASK_COUNT ? TASKS[kind].name : "unknown";
}

bool hop_task_from_name(const char *name, hop_task_kind *out)
{
    for (size_t i = 0; i < TASK_COUNT; i++)
        if (strcmp(name, TASKS[i].name) == 0) {
            *out = (hop_task_kind)i;
            return true;
        }
    return false;
}

/* ---- sizes ---------------------------------------------------------------------------------- */

const hop_task_size *hop_task_sizes(hop_task_kind kind)
{
    return TASKS[kind].ops->sizes;
}

int64_t hop_task_size_get(const hop_task *t, const hop_task_size *z)
{
    return *(const int64_t *)(const void *)((const char *)t + z->at);
}

void hop_task_size_set(hop_task *t, const hop_task_size *z, int64_t value)
{
    *(int64_t *)(void *)((char *)t + z->at) = value;
}

hop_status hop_task_ready(hop_task *t, hop_error *err)
{
    if ((size_t)t->kind >= TASK_COUNT) return hop_fail(err, HOP_EUNKNOWN, "unknown task");
    const hop__task_ops *ops = ops_of(t);
    for (const hop_task_size *z = ops->sizes; z && z->name; z++) {
        int64_t value = hop_task_size_get(t, z);
        if (value < z->min || value > z->max)
            return hop_fail(err, HOP_EDOMAIN, "%s: %lld is outside %lld..%lld", z->name, (long long)value,
                            (long long)z->min, (long long)z->max);
    }
    return ops->ready(t, err);
}

static hop_status read_sizes(hop_task *t, const hop_json *v, hop_error *err)
{
    for (const hop_task_size *z = ops_of(t)->sizes; z->name; z++) {
        int64_t value = INT64_MIN;
        hop_status s = hop_json_read_int(v, z->name, z->min, z->max, &value, err);
        if (s != HOP_OK) return s;
        if (value == INT64_MIN) return hop_fail(err, HOP_EFORMAT, "%s: missing", z->name);
        hop_task_size_set(t, z, value);
    }
    return HOP_OK;
}

hop_status hop_task_read(hop_task *t, const hop_json *v, hop_error *err)
{
    *t = (hop_task){0};
    if (!v || v->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "a task is an object");
    hop_task made = {0};
    const char *name = hop_task_name(HOP_TASK_FUNCCOMP); /* the first task's objects may leave it out */
    hop_status s = hop_json_read_string(v, "name", &name, err);
    if (s == HOP_OK && !hop_task_from_name(name, &made.kind))
        s = hop_fail(err, HOP_EUNKNOWN, "name: unknown task \"%.40s\"", name);
    if (s == HOP_OK)
        s = ops_of(&made)->sizes ? read_sizes(&made, v, err) : hop_funccomp_read(&made.funccomp, v, err);
    if (s == HOP_OK) s = hop_task_ready(&made, err);
    if (s == HOP_OK) *t = made;
    return s;
}

void hop_task_write_members(const hop_task *t, hop_json_writer *w)
{
    const hop_task_size *z = ops_of(t)->sizes;
    if (!z) {
        hop__funccomp_write_members(&t->funccomp, w);
        return;
    }
    hop_json_string(w, "name", hop_task_name(t->kind));
    for (; z->name; z++) hop_json_integer(w, z->name, hop_task_size_get(t, z));
}

void hop_task_write(const hop_task *t, hop_json_writer *w)
{
    hop_json_begin_object(w);
    hop_task_write_members(t, w);
    hop_json_end_object(w);
}

/* ---- inputs --------------------------------------------------------------------------------- */

int64_t hop_task_values(const hop_task *t, int64_t position)
{
    assert(position >= 0 && position < t->length);
    const hop__task_ops *ops = ops_of(t);
    return ops->tokens ? ops->tokens(t) : ops->values(t, position);
}

void hop_task_sample(const hop_task *t, hop_rng *rng, int32_t *tokens)
{
    const hop__task_ops *ops = ops_of(t);
    const uint64_t any = ops->tokens ? (uint64_t)ops->tokens(t) : 0;
    for (int64_t i = 0; any && i < t->length; i++) tokens[i] = (int32_t)hop_rng_below(rng, any);
    if (!any) ops->sample(t, rng, tokens);
}

bool hop_task_asks_everywhere(const hop_task *t)
{
    return ops_of(t)->everywhere;
}

int64_t hop_task_solve(const hop_task *t, const int32_t *tokens, int32_t *targets)
{
    return ops_of(t)->solve(t, tokens, targets);
}

hop_status hop_task_check(const hop_task *t, const int32_t *tokens, int64_t count, hop_error *err)
{
    const hop__task_ops *ops = ops_of(t);
    if (count != t->length)
        return hop_fail(err, HOP_ERANGE, "%lld tokens where the sizes ask for %lld", (long long)count,
                        (long long)t->length);
    for (int64_t p = 0; p < count; p++) {
        int64_t values = hop_task_values(t, p);
        if (tokens[p] < 0 || tokens[p] >= values)
            return hop_fail(err, HOP_ERANGE, "token %lld is %ld, outside 0..%lld", (long long)p,
                            (long)tokens[p], (long long)(values - 1));
    }
    return ops->check ? ops->check(t, tokens, err) : HOP_OK;
}

double hop_task_log10_inputs(const hop_task *t)
{
    const hop__task_ops *ops = ops_of(t);
    return ops->tokens ? (double)t->length * log10((double)ops->tokens(t)) : ops->log10_inputs(t);
}

int64_t hop_task_inputs(const hop_task *t)
{
    const hop__task_ops *ops = ops_of(t);
    int64_t product = 1;
    if (!ops->tokens) return ops->inputs(t);
    hop__count_power(&product, ops->tokens(t), t->length);
    return product;
}

bool hop__count_power(int64_t *product, int64_t base, int64_t exponent)
{
    for (int64_t i = 0; i < exponent && base > 1; i++) { /* at most 62 rounds */
        if (*product > HOP__MAX_INPUTS / base) {
            *product = -1;
            return false;
        }
        *product *= base;
    }
    return true;
}
