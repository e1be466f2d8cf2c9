/* test_trace_attention.c - what attention forms on its way is what its programs (hopbound/arith.h) say: whole, a row alone,
 * partial softmaxes, their folding and what they are where they cross, rounded to fewer bits, and the scores of blocks of keys. A unit is a block of keys as
 * one query sees it; what was rounded, and which score is the largest, is given as the kernel has it, and looked at. */
#include "attention_case.h"
#include "trace_bound.h"
#include "trace_seen.h"
#include "exec.h"

#include <stdio.h>

#define HOP_TRACE
#include <hopbound/arith_trace.h>

extern const hop__kernels hop__kernels_traced;
void hop_partial_fold_traced(float *partials, const float *others, int64_t count, int64_t dim);
void hop_partial_round_traced(float *partials, int64_t count, int64_t dim, int bits);
void hop_partial_close_traced(float *o, const float *partials, int64_t count, int64_t dim);
void hop__sparse_choices_traced(int64_t *chosen, const hop__sparse *in, int64_t head, int64_t from,
                                int64_t rows, float *work);

enum { SLOTS = 512, FORMS = 5 };

typedef struct slot {
    hop_arith p;
    bounded b;
    double *room, *off;
    int which; /* hop_arith_attend */
    int64_t first;
} slot;

static struct {
    const attention *a; /* one head */
    slot slots[SLOTS];
    int64_t token, seen[FORMS][HOP_ARITH_LINES], compared, wrong, loose;
    const char *falsified;
    bool quiet, met;
    double worst, cut;
} tracer;

static void slot_open(slot *s, int which, const int64_t size[HOP_AXES])
{
    hop_free(s->room), hop_free(s->off);
    s->which = which;
    hop_arith_open(&s->p, hop_attention_program((hop_arith_attend)which));
    s->b.r = (hop_arith_run){.p = &s->p};
    memcpy(s->b.r.size, size, sizeof s->b.r.size);
    const size_t bytes = sizeof(double) * hop_arith_room(&s->p, size);
    s->room = hop_alloc(bytes), s->off = hop_alloc(bytes);
    assert_true(s->room && s->off);
    hop_arith_place(&s->b.r, s->room);
    for (int i = 0; i < s->p.count; i++) s->b.off[i] = s->off + (s->b.r.value[i] - s->room);
}

/* Number i of an input lies at from[i / n * stride + i % n * apart]. */
static void slot_give(slot *s, const char *name, const float *from, int64_t n, int64_t stride, int64_t apart)
{
    const int line = hop_arith_find(&s->p, name);
    if (line < 0 || s->p.line[line]->prim != HOP_PRIM_INPUT) return;
    const bool changed = tracer.falsified && strcmp(name, tracer.falsified) == 0;
    tracer.met = tracer.met || changed;
    for (int64_t i = 0; i < hop_arith_count(&s->b.r, line); i++)
        s->b.r.value[line][i] = from[i / n * stride + i % n * apart] * (changed ? 1 + 0x1p-5 : 1);
}

static void slot_run(slot *s)
{
    hop_arith_evaluate(&s->b.r);
    for (int i = 0; i < s->p.count; i++) bound_line(&s->b, i, NULL, 0);
}

static void slots_close(void)
{
    for (int i = 0; i < SLOTS; i++) hop_free(tracer.slots[i].room), hop_free(tracer.slots[i].off);
    memset(tracer.slots, 0, sizeof tracer.slots);
}

static void compare(const slot *s, const char *name, const int64_t at[HOP_AXES], double got, double cut)
{
    const int line = hop_arith_find(&s->p, name);
    if (line < 0) fail_msg("no quantity %s", name);
    if (s->p.line[line]->prim == HOP_PRIM_INPUT) return;
    const int64_t i = bound_index(&s->b, line, at);
    const double want = s->b.r.value[line][i],
                 off = s->b.off[line][i] + cut * (fabs(want) + s->b.off[line][i]);
    const double far = fabs(got - want);
    if (!(off < INFINITY)) return;
    tracer.seen[s->which][line]++, tracer.compared++;
    tracer.loose += off > 0.05 * fabs(want) && off > 1e-3;
    if (far <= off) {
        if (off > 0) tracer.worst = fmax(tracer.worst, far / off);
        return;
    }
    tracer.wrong++;
    if (!tracer.quiet)
        fail_msg("%s: %s of query %d at %d, %d, %d: got %.9g, want %.9g, off by %.3g > %.3g",
                 hop_attention_program((hop_arith_attend)s->which)->form, name, (int)tracer.token, (int)at[1],
                 (int)at[2], (int)at[3], got, want, far, off);
}

void hop__trace_unit(const hop__trace_start *u)
{
    const attention *a = tracer.a;
    const hop_attn *c = &a->c;
    slot *s = &tracer.slots[u->head];
    const bool rounded = strcmp(u->form, "rounded") == 0;
    assert_true(u->head >= 0 && u->head < SLOTS);
    tracer.token = u->head;
    slot_open(s, rounded ? HOP_ARITH_ROUNDED : HOP_ARITH_ATTEND,
              (const int64_t[]){1, u->n, c->key_dim, c->value_dim});
    s->first = u->first;
    slot_give(s, "q", a->q + u->head * c->q_stride, c->key_dim, 0, 1);
    slot_give(s, "k", a->k + u->first * c->k_stride, c->key_dim, c->k_stride, 1);
    slot_give(s, "v", a->v + u->first * c->v_stride, c->value_dim, c->v_stride, 1);
    slot_give(s, "scale", &c->scale, 1, 0, 0);
    slot_give(s, "m0", &u->m, 1, 0, 0), slot_give(s, "z0", &u->z, 1, 0, 0);
    slot_give(s, "y0", u->state, c->value_dim, 0, u->ld);
    slot_run(s);
}

#include "trace_none.h"

/* The largest of the scores as they were formed and of that before. */
static void check_largest(const slot *s, float m)
{
    const int t = hop_arith_find(&s->p, "t"), m0 = hop_arith_find(&s->p, "m0");
    double most = m0 < 0 ? -INFINITY : *s->b.r.value[m0];
    for (int64_t j = 0; j < s->b.r.size[HOP_AXIS_J]; j++) most = fmax(most, s->b.r.value[t][j]);
    if (!tracer.falsified && most != (double)m)
        fail_msg("the largest score is %.9g, not %.9g", most, (double)m);
}

/* What a kernel makes of a quantity is given to the lines behind it. */
static const char *given_as(const char *name)
{
    static const char *const pairs[][2] = {{"s", "t"}, {"m", "m"}, {"wr", "wr"}, {"pr", "pr"}, {"m1", "m1"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i][0], name) == 0) return pairs[i][1];
    return NULL;
}

static void trace_unit_number(const hop__traced *v)
{
    slot *s = &tracer.slots[tracer.token];
    const char *name = strcmp(v->name, "wr") == 0 ? "w" : strcmp(v->name, "pr") == 0 ? "p" : v->name;
    const double cut =
        s->which == HOP_ARITH_ROUNDED && strcmp(name, "z") != 0 && strcmp(name, "qs") != 0 ? tracer.cut : 0;
    const int64_t nk = v->step[2] ? v->count[2] : 1, nj = v->step[1] ? v->count[1] : 1,
                  nv = v->step[3] ? v->count[3] : 1;
    if (s->which == HOP_ARITH_FOLD || strcmp(name, "m") != 0)
        for (int64_t j = 0; j < nj; j++)
            for (int64_t k = 0; k < nk; k++)
                for (int64_t e = 0; e < nv; e++)
                    compare(s, name, (const int64_t[]){0, j, k, e},
                            v->x[j * v->step[1] + k * v->step[2] + e * v->step[3]], cut);
    if (s->which == HOP_ARITH_FOLD || !given_as(v->name)) return;
    if (strcmp(name, "m") == 0) check_largest(s, *v->x);
    slot_give(s, given_as(v->name), v->x, nj, 0, v->step[1]);
    slot_run(s);
}

/* ---- summaries of blocks ------------------------------------------------------------------------- */

static struct {
    const hop__sparse *in; /* NULL: none are traced */
    int64_t from;
} blocks;

static slot *block_slot(int64_t t, int64_t b)
{
    const hop__sparse *in = blocks.in;
    const hop_op *op = in->op;
    const float n = (float)op->block;
    slot *s = &tracer.slots[0];
    slot_open(s, HOP_ARITH_SUMMARIES, (const int64_t[]){1, op->block, op->dim, 1});
    slot_give(s, "q", in->q + t * in->q_stride, op->dim, 0, 1);
    slot_give(s, "k", in->k + b * op->block * in->k_stride, op->dim, in->k_stride, 1);
    slot_give(s, "n", &n, 1, 0, 0);
    slot_run(s);
    return s;
}

static void trace_block_number(const hop__traced *v)
{
    if (v->count[HOP_AXIS_K] > 0) {
        const slot *s = block_slot(0, tracer.token);
        for (int64_t k = 0; k < v->count[HOP_AXIS_K]; k++)
            compare(s, v->name, (const int64_t[]){0, 0, k, 0}, v->x[k], 0);
        return;
    }
    for (int64_t t = 0; t < v->count[HOP_AXIS_T]; t++)
        for (int64_t b = 0; b < v->count[HOP_AXIS_J]; b++)
            compare(block_slot(tracer.token + t, b), v->name, (const int64_t[]){0, 0, 0, 0},
                    v->x[t * v->step[0] + b], 0);
}

void hop__trace(const hop__traced *v)
{
    if (blocks.in)
        trace_block_number(v);
    else
        trace_unit_number(v);
}

static void trace_summaries(int64_t summary)
{
    enum { tokens = 61, dim = 7 };
    const hop_op op = {.kind = HOP_OP_SPARSE,
                       .heads = 1,
                       .kv_heads = 1,
                       .dim = dim,
                       .key_dim = dim,
                       .value_dim = dim,
                       .width = dim,
                       .scale = 1,
                       .block = 6,
                       .topk = 2,
                       .summary = summary};
    float *q = random_new(tokens * dim, 1, 1), *k = random_new(tokens * dim, 2, 1);
    const hop__sparse in = {.op = &op,
                            .tokens = tokens,
                            .q = q,
                            .k = k,
                            .v = k,
                            .q_stride = dim,
                            .k_stride = dim,
                            .v_stride = dim};
    float *work = floats_new((int64_t)hop__sparse_choices_work(&op, tokens));
    int64_t chosen[tokens * 2];
    blocks.in = &in;
    hop__sparse_choices_traced(chosen, &in, 0, 0, tokens, work);
    blocks.in = NULL;
    hop_free(q), hop_free(k), hop_free(work);
}

/* ---- running --------------------------------------------------------------------------------------- */

static void tracer_reset(const char *falsified)
{
    tracer.compared = tracer.wrong = tracer.loose = 0, tracer.worst = 0;
    tracer.falsified = falsified, tracer.quiet = falsified, tracer.met = false;
    hop__kernels_use(&hop__kernels_traced);
}

static const hop_attn ways[] = {
    SHAPE(1, 1, 1, 1, 1, .window = 0),
    SHAPE(5, 1, 1, 7, 5, .window = 0),
    SHAPE(130, 1, 1, 9, 19, .window = 0),
    SHAPE(130, 1, 1, 16, 8, .window = 37),
    SHAPE(130, 1, 1, 9, 19, .bidirectional = true),
    SHAPE(230, 1, 1, 5, 70, .first = 229, .queries = 1),
    SHAPE(230, 1, 1, 21, 23, .first = 200, .queries = 30),
    SHAPE(100, 1, 1, 3, 9, .scale = 1),
    SHAPE(130, 1, 1, 9, 19, .bits = 11),
    SHAPE(70, 1, 1, 9, 19, .bits = 5, .window = 20),
};
enum { WAYS = sizeof ways / sizeof *ways };

static void times(float *x, int64_t n, double by)
{
    for (int64_t i = 0; i < n; i++) x[i] = (float)(x[i] * by);
}

/* Queries, keys and values times these. */
static void trace_way(const hop_attn *c, double q, double k, double v, bool partial)
{
    attention a = attention_new(*c, 2.0);
    times(a.q, a.nq, q), times(a.k, a.nk, k), times(a.v, a.nv, v);
    tracer.a = &a, tracer.cut = c->bits > 0 ? ldexp(1, -c->bits) : 0;
    if (partial) {
        float *t = floats_new(a.c.queries * (c->value_dim + 2));
        hop_attn_partial(t, a.q, a.k, a.v, &a.c, a.scratch, NULL);
        hop_free(t);
    } else {
        hop_attn_forward(a.o, NULL, a.q, a.k, a.v, &a.c, a.scratch, NULL);
    }
    tracer.a = NULL;
    attention_free(&a);
    slots_close();
}

static void trace_fold(double size)
{
    enum { count = 40, dim = 9, width = dim + 2 };
    float *a = random_new(count * width, 1, size), *b = random_new(count * width, 2, size);
    for (int64_t i = 0; i < count; i++) {
        a[i * width] *= 30, b[i * width] *= 30;
        slot *s = &tracer.slots[i];
        slot_open(s, HOP_ARITH_FOLD, (const int64_t[]){1, 1, 1, dim + 1});
        slot_give(s, "ma", a + i * width, 1, 0, 0), slot_give(s, "mb", b + i * width, 1, 0, 0);
        slot_give(s, "a", a + i * width + 1, dim + 1, 0, 1),
            slot_give(s, "b", b + i * width + 1, dim + 1, 0, 1);
        slot_run(s);
    }
    hop_partial_fold_traced(a, b, count, dim);
    hop_free(a), hop_free(b);
    slots_close();
}

/* Partial softmaxes on their way to another player, in numbers of so many bits, and what they are there. */
static void trace_crossing(double size, double score, int bits)
{
    enum { count = 40, dim = 9, width = dim + 2 };
    float *a = random_new(count * width, 3, size), *o = floats_new(count * dim), m[count];
    tracer.cut = ldexp(1, 8 - bits);
    for (int64_t i = 0; i < count; i++) {
        slot *s = &tracer.slots[i];
        a[i * width] *= (float)(score / size), a[i * width + 1] = 1 + fabsf(a[i * width + 1]);
        m[i] = a[i * width];
        slot_open(s, HOP_ARITH_CROSS, (const int64_t[]){1, 1, 1, dim});
        s->b.cross = tracer.cut;
        slot_give(s, "m", m + i, 1, 0, 0), slot_give(s, "z", a + i * width + 1, 1, 0, 0);
        slot_give(s, "y", a + i * width + 2, dim, 0, 1);
    }
    hop_partial_round_traced(a, count, dim, bits);
    for (int64_t i = 0; i < count; i++) /* as far as the prover says it is moved */
        assert_true(fabs((double)a[i * width] - m[i]) <= tracer.cut * (fabs((double)m[i]) + 0x1p-126));
    hop_partial_close_traced(o, a, count, dim);
    hop_free(a), hop_free(o);
    slots_close();
}

static void what_attention_forms_is_what_its_program_says(void **state)
{
    static const double sizes[][3] = {
        {1, 1, 1}, {0x1p-70, 0x1p70, 1}, {0x1p70, 0x1p-70, 0x1p-130}, {4, 4, 0x1p100}, {0x1p-74, 0x1p74, 1}};
    (void)state;
    tracer_reset(NULL);
    for (int i = 0; i < WAYS; i++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            trace_way(&ways[i], sizes[n][0], sizes[n][1], sizes[n][2], false);
            if (ways[i].bits == 0) trace_way(&ways[i], sizes[n][0], sizes[n][1], sizes[n][2], true);
        }
    for (int n = 0; n < 3; n++) trace_fold(ldexp(1, -60 * n));
    for (int summary = 0; summary < 2; summary++) trace_summaries(summary);
    for (int bits = 10; bits < 32; bits += 3)
        for (int n = 0; n < 4; n++) trace_crossing(ldexp(1, 20 - 40 * n), ldexp(3, 8 * n - 8), bits);
    slots_close();
    assert_int_equal(tracer.wrong, 0);
    assert_true(tracer.compared > 1000000);
    assert_true(tracer.loose * 20 < tracer.compared); /* weights of scores of many hundreds are any number */
    printf("%lld comparisons, %.3f of the bound at the most, %lld loose\n", (long long)tracer.compared,
           tracer.worst, (long long)tracer.loose);
}

/* Each input, changed by 2^-5 for the programs alone. */
static void a_program_of_attention_that_says_something_else_is_found(void **state)
{
    static const char *const names[] = {"q",  "k", "v", "scale", "m",  "t", "m0", "z0", "y0", "wr",
                                        "pr", "a", "b", "ma",    "mb", "n", "z",  "y",  "m1"};
    int tried = 0;
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (int way = 0; way < 7; way++) {
            static const int of[] = {2, 5, 8, 2};
            tracer_reset(names[n]);
            if (way < 4) trace_way(&ways[of[way]], 1, 1, 1, way == 3);
            if (way == 4) trace_fold(1);
            if (way == 5) trace_summaries(0);
            if (way == 6) trace_crossing(1, 3, 24);
            /* Of one query far from all others m0 is next to nothing beside m; -FLT_MAX stays that. */
            if (!tracer.met) continue;
            if (tracer.wrong == 0) fail_msg("%s of way %d: not found", names[n], way);
            tried++;
        }
    slots_close();
    assert_true(tried > 30);
}

/* What no kernel puts down, beyond terms of sums and copies, and why. */
static const struct {
    const char *form, *name, *why;
} unseen[] = {
    {"block", "under", "an argument of exp, to `w`"},
    {"block", "rise", "an argument of exp, to `shrink`"},
    {"block", "z_less", "a term of `z`, multiplied and added at once"},
    {"block", "y_less", "a term of `y`, multiplied and added at once"},
    {"block", "s0", "`ref` alone, which multiplies by the scale last"},
    {"block", "s1", "likewise"},
    {"rounded", "under", "an argument of exp, to `w`"},
    {"rounded", "s0", "`ref` alone"},
    {"rounded", "s1", "likewise"},
    {"fold", "aw", "a term of `y`, multiplied and added at once"},
    {"fold", "bw", "likewise"},
};
enum { UNSEEN = sizeof unseen / sizeof *unseen };

static void every_name_of_attention_is_traced_or_listed(void **state)
{
    bool needed[UNSEEN] = {false};
    (void)state;
    for (int n = 0; n < FORMS; n++) {
        const hop_program *program = hop_attention_program((hop_arith_attend)n);
        hop_arith p;
        hop_arith_open(&p, program);
        for (int i = 0; i < p.count; i++) {
            bool known = tracer.seen[n][i] || is_copy(p.line[i]->prim) || is_term(&p, i);
            for (int u = 0; u < UNSEEN; u++) {
                if (strcmp(unseen[u].name, p.line[i]->name) != 0 ||
                    strcmp(unseen[u].form, program->form) != 0)
                    continue;
                needed[u] = needed[u] || !tracer.seen[n][i], known = true;
            }
            if (!known) fail_msg("%s: %s is not traced", program->form, p.line[i]->name);
        }
    }
    for (int u = 0; u < UNSEEN; u++)
        if (!needed[u]) fail_msg("%s is listed as unseen, and is seen", unseen[u].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_of_attention_that_says_something_else_is_found),
        cmocka_unit_test(what_attention_forms_is_what_its_program_says),
        cmocka_unit_test(every_name_of_attention_is_traced_or_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
