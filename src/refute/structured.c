/* Inputs with a pattern in them, which samples hardly ever have: constant tables, permutations, one long
 * cycle, repeated values, values at the edges; for every query w as far as there are few, and starts at the
 * edges. */
#include "room.h"

#define MOST_QUERIES 64

/* The value at place i of n, below `values`. */
typedef int64_t pattern_fn(int64_t i, int64_t n, int64_t values);

static int64_t zero(int64_t i, int64_t n, int64_t values)
{
    return (void)i, (void)n, (void)values, 0;
}
static int64_t largest(int64_t i, int64_t n, int64_t values)
{
    return (void)i, (void)n, values - 1;
}
static int64_t middle(int64_t i, int64_t n, int64_t values)
{
    return (void)i, (void)n, values / 2;
}
static int64_t identity(int64_t i, int64_t n, int64_t values)
{
    return (void)n, i % values;
}
static int64_t reversed(int64_t i, int64_t n, int64_t values)
{
    return (n - 1 - i) % values;
}
static int64_t cycle(int64_t i, int64_t n, int64_t values)
{
    return (i + 1) % n % values;
}
static int64_t strides(int64_t i, int64_t n, int64_t values)
{
    return (void)n, (i * (values / 2 + 1)) % values;
}
static int64_t in_twos(int64_t i, int64_t n, int64_t values)
{
    return (void)n, i / 2 % values;
}
static int64_t halves(int64_t i, int64_t n, int64_t values)
{
    return 2 * i < n ? 0 : values - 1;
}
static int64_t alternating(int64_t i, int64_t n, int64_t values)
{
    return (void)n, i % 2 ? values - 1 : 0;
}
static int64_t last_differs(int64_t i, int64_t n, int64_t values)
{
    return i == n - 1 ? values - 1 : 0;
}
static int64_t first_differs(int64_t i, int64_t n, int64_t values)
{
    return (void)n, i == 0 ? values - 1 : 0;
}

static pattern_fn *const PATTERNS[] = {zero,    largest, middle, identity,    reversed,     cycle,
                                       strides, in_twos, halves, alternating, last_differs, first_differs};
#define PATTERN_COUNT ((int64_t)(sizeof PATTERNS / sizeof PATTERNS[0]))

/* Edges of a range: 0, the last, the middle. */
static int64_t edge(int64_t k, int64_t values)
{
    return k == 0 ? 0 : k == 1 ? values - 1 : values / 2;
}

static int64_t queries(const hop_funccomp *t)
{
    return t->queries < MOST_QUERIES ? t->queries : MOST_QUERIES;
}

static int64_t family_size(const hop_task *t)
{
    return PATTERN_COUNT * PATTERN_COUNT * (t->kind == HOP_TASK_FUNCCOMP ? 3 * queries(&t->funccomp) : 1);
}

/* Input number k: one pattern in z_L, another in the tables before it; other tasks alternate between the two.
 */
static void fill(const hop_task *task, int64_t k, int32_t *tokens)
{
    pattern_fn *far = PATTERNS[k % PATTERN_COUNT], *near = PATTERNS[k / PATTERN_COUNT % PATTERN_COUNT];
    k /= PATTERN_COUNT * PATTERN_COUNT;
    if (task->kind != HOP_TASK_FUNCCOMP) {
        for (int64_t p = 0; p < task->length; p++)
            tokens[p] =
                (int32_t)(p % 2 ? near : far)(p / 2, (task->length + 1) / 2, hop_task_values(task, p));
        return;
    }
    const hop_funccomp *t = &task->funccomp;
    for (int64_t p = 0; p < t->length - 2; p++) {
        int64_t i;
        int l = hop_funccomp_player(t, p, &i);
        tokens[p] = (int32_t)(l == t->hops ? far : near)(i, t->size[l - 1], hop_funccomp_values(t, p));
    }
    tokens[t->length - 2] = (int32_t)edge(k % 3, t->m);
    tokens[t->length - 1] = (int32_t)(k / 3 * (t->queries / queries(t)));
}

static hop_status run(hop__hunt *h, hop_instance *batch, int64_t to, hop_error *err)
{
    hop_status s = HOP_OK;
    while (s == HOP_OK && !hop__caught(h) && h->state->next < to) {
        int64_t filled = 0;
        for (; filled < hop__batch(h) && h->state->next < to; h->state->next++) {
            hop_instance *x = &batch[filled];
            fill(h->task, h->state->next, x->tokens);
            if (hop_task_check(h->task, x->tokens, h->task->length, NULL) != HOP_OK) continue;
            x->asked = hop_task_solve(h->task, x->tokens, x->targets);
            filled++;
        }
        s = hop__ask(h, batch, filled, err);
    }
    return s;
}

static hop_status turn(hop__hunt *h, int number, hop_error *err)
{
    int64_t all = family_size(h->task), to = h->state->next + hop__quota(h, number, 1 << 16);
    hop_instance *batch;
    if (to > all) to = all;
    if (h->state->next == to) return HOP_OK;
    hop_eval_start(h->eval, "structured inputs", (double)(to - h->state->next));
    hop_status s = hop_instances_new(&batch, hop__batch(h), h->task->length, err);
    if (s == HOP_OK) s = run(h, batch, to, err);
    hop_instances_free(batch, hop__batch(h));
    return s;
}

static bool always(const hop__hunt *h)
{
    return (void)h, true;
}

const hop__strategy hop__structured = {.name = "structured", .applies = always, .turn = turn};
