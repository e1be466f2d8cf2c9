/* Climbs down the margin: how far the right answer's logit is above the best wrong one's. Each climb starts
 * from the narrowest of a few samples, changes entries that matter (the one that is asked for, its neighbours
 * in the chain, swaps) and keeps what narrows the margin, until it is below zero. Climbs do not know of each
 * other, so that threads share them and the first that ends in a wrong answer is the same for any number of
 * threads. */
#include "room.h"
#include "slope.h"

#include <math.h>
#include <string.h>

#define MOST_LOGITS  0x1p28 /* floats, of all threads */
#define STARTS       8      /* samples of which the narrowest is the start */
#define STEPS        64     /* of a climb; later turns go further */
#define MOST_CLIMBS  4096   /* in a turn, and so many tokens in all: */
#define MOST_TOKENS  ((int64_t)1 << 22)
#define SLOPE_EVERY  4    /* steps of which one follows the gradient, which costs about three .. */
#define SLOPE_TOKENS 4096 /* .. and memory for every activation */

typedef struct lane {
    hop_forward *forward;
    float *logits;
    int32_t *trial, *targets;
    hop__slope *slope; /* NULL: there is no gradient */
} lane;

typedef struct climb {
    int32_t *tokens;
    double margin; /* below zero, or NaN: it is answered wrongly */
    int64_t runs;
    hop_status status;
    hop_error err;
} climb;

typedef struct climbing {
    hop__hunt *h;
    lane *lanes;
    climb *climbs;
    int64_t count, first; /* first: number of climbs[0] */
    int64_t steps;
} climbing;

static int64_t logit_rows(const hop__hunt *h)
{
    return hop_task_asks_everywhere(h->task) ? h->task->length : 1;
}

/* Of the narrowest of its answers; the first of equal logits is the answer, as hop_argmax has it. */
static double margin_at(const float *logits, int64_t vocab, int64_t right)
{
    double margin = INFINITY;
    for (int64_t v = 0; v < vocab; v++) {
        double gap = (double)logits[right] - (double)logits[v];
        if (isnan(gap)) return NAN;
        if (v == right) continue;
        if (gap == 0) gap = v < right ? -0x1p-140 : 0x1p-140;
        if (gap < margin) margin = gap;
    }
    return margin;
}

static hop_status measure(const climbing *c, climb *x, lane *l, const int32_t *tokens, double *margin)
{
    const hop_task *t = c->h->task;
    int64_t vocab = hop_model_config(c->h->model)->vocab, rows = logit_rows(c->h);
    hop_task_solve(t, tokens, l->targets);
    x->runs++;
    hop_status s = rows > 1 ? hop_forward_all(l->forward, tokens, t->length, l->logits, &x->err)
                            : hop_forward_logits(l->forward, tokens, t->length, l->logits, &x->err);
    *margin = INFINITY;
    for (int64_t p = t->length - rows; s == HOP_OK && p < t->length; p++) {
        if (l->targets[p] < 0) continue;
        double m = margin_at(l->logits + (p - (t->length - rows)) * vocab, vocab, l->targets[p]);
        if (!(m >= *margin)) *margin = m;
        if (isnan(m)) break;
    }
    return s;
}

/* ---- moves ---------------------------------------------------------------------------------------- */

static void set_random(const hop_task *t, hop_rng *rng, int32_t *z, int64_t p)
{
    z[p] = (int32_t)hop_rng_below(rng, (uint64_t)hop_task_values(t, p));
}

/* The entry that a random hop reads, often the last one's. */
static int64_t chain_entry(const hop_funccomp *t, hop_rng *rng, const int32_t *z)
{
    int64_t chain[HOP_MAX_HOPS + 1];
    hop_funccomp_solve(t, z, chain);
    int l = hop_rng_below(rng, 2) ? t->hops : 1 + (int)hop_rng_below(rng, (uint64_t)t->hops);
    return hop__entry(t, l, z[t->length - 1], chain[l - 1]);
}

static void swap_entries(const hop_funccomp *t, hop_rng *rng, int32_t *z)
{
    int64_t p = chain_entry(t, rng, z);
    int l = hop_funccomp_player(t, p, NULL);
    int64_t q = t->start[l] + (int64_t)hop_rng_below(rng, (uint64_t)t->size[l - 1]);
    int32_t kept = z[p];
    z[p] = z[q];
    z[q] = kept;
}

/* Every other entry of a function gets one value. */
static void flatten(const hop_funccomp *t, hop_rng *rng, int32_t *z)
{
    int64_t p = chain_entry(t, rng, z), first = t->start[hop_funccomp_player(t, p, NULL)];
    int64_t size = t->size[hop_funccomp_player(t, p, NULL) - 1];
    int32_t value = (int32_t)hop_rng_below(rng, (uint64_t)hop_funccomp_values(t, p));
    for (int64_t q = first; q < first + size; q++)
        if (q != p) z[q] = value;
}

static void move_funccomp(const hop_task *task, hop_rng *rng, int32_t *z)
{
    const hop_funccomp *t = &task->funccomp;
    switch (hop_rng_below(rng, 6)) {
    case 0:
    case 1: set_random(task, rng, z, chain_entry(t, rng, z)); break;
    case 2: swap_entries(t, rng, z); break;
    case 3: set_random(task, rng, z, (int64_t)hop_rng_below(rng, (uint64_t)t->length)); break;
    case 4: set_random(task, rng, z, t->length - 1 - (int64_t)hop_rng_below(rng, 2)); break;
    default: flatten(t, rng, z); break;
    }
}

/* Any task: a token, or two that change places; what is no input any more is sampled anew. */
static void move(const hop_task *t, hop_rng *rng, int32_t *z)
{
    if (t->kind == HOP_TASK_FUNCCOMP) {
        move_funccomp(t, rng, z);
        return;
    }
    int64_t p = (int64_t)hop_rng_below(rng, (uint64_t)t->length),
            q = (int64_t)hop_rng_below(rng, (uint64_t)t->length);
    int32_t kept = z[p];
    if (hop_rng_below(rng, 2)) {
        z[p] = z[q];
        z[q] = kept;
    } else {
        set_random(t, rng, z, p);
    }
    if (hop_task_check(t, z, t->length, NULL) != HOP_OK) hop_task_sample(t, rng, z);
}

/* ---- climbs --------------------------------------------------------------------------------------- */

static void one_climb(void *ctx, int64_t number, int worker)
{
    const climbing *c = ctx;
    const hop_task *t = c->h->task;
    climb *x = (climb *)&c->climbs[number];
    lane *l = &c->lanes[worker];
    size_t bytes = sizeof *x->tokens * (size_t)t->length;
    hop_rng rng;
    hop_rng_init(&rng, c->h->o->seed ^ UINT64_C(0x9d1de), (uint64_t)(c->first + number));
    x->margin = INFINITY;
    for (int64_t k = 0; k < STARTS + c->steps && x->margin > 0; k++) {
        double margin;
        if (k < STARTS) {
            hop_task_sample(t, &rng, l->trial);
        } else {
            memcpy(l->trial, x->tokens, bytes);
            bool steep = l->slope && k % SLOPE_EVERY == 0;
            hop_task_solve(t, l->trial, l->targets);
            if (!steep || !hop__slope_move(l->slope, t, l->targets[t->length - 1], &rng, l->trial))
                move(t, &rng, l->trial);
        }
        x->status = measure(c, x, l, l->trial, &margin);
        if (x->status == HOP_OK &&
            !hop_progress_tick(&c->h->progress, "guided search", (double)(c->first + number), 0))
            x->status = HOP_ESTOPPED;
        if (x->status != HOP_OK) return;
        if (!(margin >= x->margin) || k == 0) {
            memcpy(x->tokens, l->trial, bytes);
            x->margin = margin;
        }
    }
}

/* In float32, read at the last token only. */
static bool has_slope(const hop__hunt *h)
{
    return !h->cuts.starts && !h->o->arithmetic.significant_bits && logit_rows(h) == 1 &&
           h->task->length <= SLOPE_TOKENS && h->task->kind == HOP_TASK_FUNCCOMP;
}

static hop_status open_lanes(climbing *c, hop_error *err)
{
    int64_t n = c->h->task->length, vocab = hop_model_config(c->h->model)->vocab;
    int threads = hop_pool_threads(c->h->o->pool);
    size_t floats;
    hop_status s = HOP_OK;
    c->lanes = hop_alloc(sizeof *c->lanes * (size_t)threads);
    if (!c->lanes || !hop_mul_size((size_t)logit_rows(c->h) * sizeof(float), (size_t)vocab, &floats))
        return hop_fail(err, HOP_ENOMEM, "guided search: out of memory");
    hop_forward_options o = hop__forward_options(c->h, &c->h->progress);
    for (int i = 0; s == HOP_OK && i < threads; i++) {
        lane *l = &c->lanes[i];
        l->logits = hop_alloc_raw(floats);
        l->trial = hop_alloc(sizeof *l->trial * (size_t)n);
        if (has_slope(c->h)) l->slope = hop__slope_new(c->h->model, n);
        l->targets = hop_alloc(sizeof *l->targets * (size_t)n);
        s = l->logits && l->trial && l->targets ? hop_forward_new(&l->forward, c->h->model, &o, err)
                                                : hop_fail(err, HOP_ENOMEM, "guided search: out of memory");
    }
    c->climbs = hop_alloc(sizeof *c->climbs * (size_t)c->count);
    if (!c->climbs) return hop_fail(err, HOP_ENOMEM, "guided search: out of memory");
    for (int64_t i = 0; s == HOP_OK && i < c->count; i++) {
        c->climbs[i].tokens = hop_alloc(sizeof *c->climbs[i].tokens * (size_t)n);
        if (!c->climbs[i].tokens) s = hop_fail(err, HOP_ENOMEM, "guided search: out of memory");
    }
    return s;
}

static void close_lanes(climbing *c)
{
    for (int i = 0; c->lanes && i < hop_pool_threads(c->h->o->pool); i++) {
        hop_forward_free(c->lanes[i].forward);
        hop__slope_free(c->lanes[i].slope);
        hop_free(c->lanes[i].logits);
        hop_free(c->lanes[i].trial);
        hop_free(c->lanes[i].targets);
    }
    hop_free(c->lanes);
    for (int64_t i = 0; c->climbs && i < c->count; i++) hop_free(c->climbs[i].tokens);
    hop_free(c->climbs);
}

/* The first climb that ended below is asked once more, as `run` asks. */
static hop_status look(climbing *c, hop_error *err)
{
    hop_instance one = {0};
    hop_status s = HOP_OK, stopped = HOP_OK;
    for (int64_t i = 0; s == HOP_OK && !hop__caught(c->h) && i < c->count; i++) {
        climb *x = &c->climbs[i];
        c->h->tried += x->runs;
        if (x->status == HOP_ESTOPPED) stopped = HOP_ESTOPPED;
        if (x->status != HOP_OK && x->status != HOP_ESTOPPED) {
            if (err) *err = x->err;
            s = x->status;
        } else if (!(x->margin > 0)) {
            s = hop_instance_reserve(&one, c->h->task->length, err);
            if (s != HOP_OK) break;
            memcpy(one.tokens, x->tokens, sizeof *one.tokens * (size_t)c->h->task->length);
            one.asked = hop_task_solve(c->h->task, one.tokens, one.targets);
            s = hop__ask(c->h, &one, 1, err);
        }
    }
    hop_instance_free(&one);
    return s != HOP_OK || hop__caught(c->h) ? s : stopped;
}

static hop_status turn(hop__hunt *h, int number, hop_error *err)
{
    climbing c = {.h = h, .first = h->state->next};
    c.steps = (int64_t)STEPS << (number < 4 ? number : 4);
    c.count = hop__quota(h, number, 1 << 16) / (c.steps + STARTS) + 4;
    if (c.count > MOST_CLIMBS) c.count = MOST_CLIMBS;
    if (c.count > MOST_TOKENS / h->task->length + 1) c.count = MOST_TOKENS / h->task->length + 1;
    hop_status s = open_lanes(&c, err);
    if (s == HOP_OK) {
        hop_pool_run(h->o->pool, c.count, one_climb, &c);
        h->state->next += c.count;
        s = look(&c, err);
    }
    close_lanes(&c);
    return s;
}

/* Logits of a network that generates say nothing of its answer; and they must have room. */
static bool has_margin(const hop__hunt *h)
{
    double floats = (double)logit_rows(h) * (double)hop_model_config(h->model)->vocab;
    return h->generates == 0 && floats * hop_pool_threads(h->o->pool) <= MOST_LOGITS;
}

const hop__strategy hop__guided = {.name = "guided", .applies = has_margin, .turn = turn};
