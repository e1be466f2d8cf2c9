/* What the tests of 2-Sum share: networks, and their answers beside those of a plain search. */
#ifndef HOPBOUND_TWO_SUM_SUBJECT_H
#define HOPBOUND_TWO_SUM_SUBJECT_H

#include "test.h"

#include <hopbound/construct.h>
#include <hopbound/layers.h>
#include <hopbound/verdict.h>

typedef struct sizes {
    int64_t n, mod, block, topk; /* block 0: full attention */
} sizes;

static inline hop_task task_of(int64_t n, int64_t mod)
{
    hop_task t = {.kind = HOP_TASK_TWOSUM, .twosum = {.n = n, .mod = mod}};
    hop_error err = {0};
    if (hop_task_ready(&t, &err) != HOP_OK) fail_msg("%s", err.text);
    return t;
}

/* Blocks divide what a network is built for, not what it is given: the last one may end early. */
static inline hop_model *network(const sizes *s)
{
    int64_t rest = s->block ? s->n % s->block : 0;
    hop_task t = task_of(rest ? s->n + s->block - rest : s->n, s->mod);
    hop_construct_options o = {.block = s->block, .topk = s->topk};
    hop_model *m = NULL;
    hop_error err = {0};
    if (hop_construct(&m, s->block ? "two-sum-sparse" : "two-sum-full", &t, &o, &err) != HOP_OK)
        fail_msg("%s", err.text);
    return m;
}

/* By looking at all pairs: shares nothing with hop_task_solve. */
static inline int answer_at(const int32_t *x, int64_t i, int64_t mod)
{
    for (int64_t j = 0; j <= i; j++)
        if ((x[i] + x[j]) % mod == 0) return 1;
    return 0;
}

typedef struct runner {
    const sizes *s;
    hop_forward *forward;
    float *logits;
} runner;

static inline runner runner_of(const hop_model *m, const sizes *s, int bits)
{
    runner r = {.s = s, .logits = malloc(sizeof(float) * (size_t)(s->n * s->mod))};
    assert_non_null(r.logits);
    assert_int_equal(hop_forward_new(&r.forward, m, &(hop_forward_options){.bits = bits}, NULL), HOP_OK);
    return r;
}

static inline void runner_free(runner *r)
{
    hop_forward_free(r->forward);
    free(r->logits);
}

/* The first position that is answered wrongly, -1 if none is. */
static inline int64_t first_wrong(runner *r, const int32_t *x)
{
    assert_int_equal(hop_forward_all(r->forward, x, r->s->n, r->logits, NULL), HOP_OK);
    for (int64_t i = 0; i < r->s->n; i++)
        if (hop_argmax(r->logits + i * r->s->mod, r->s->mod) != answer_at(x, i, r->s->mod)) return i;
    return -1;
}

static inline int64_t wrong_inputs(const hop_model *m, const sizes *s)
{
    int32_t x[64] = {0};
    assert_true(s->n <= 64);
    runner r = runner_of(m, s, 0);
    int64_t wrong = 0, p = 0;
    while (p >= 0) {
        wrong += first_wrong(&r, x) >= 0;
        for (p = s->n - 1; p >= 0 && ++x[p] == s->mod; p--) x[p] = 0;
    }
    runner_free(&r);
    return wrong;
}

/* Tokens of which few have matches: most lie in the lower half, above 0. */
static inline void sample(int32_t *x, const sizes *s, hop_rng *rng, uint64_t one_in)
{
    int64_t low = (s->mod - 1) / 2;
    for (int64_t i = 0; i < s->n; i++)
        x[i] = low == 0 || hop_rng_below(rng, one_in) == 0 ? (int32_t)hop_rng_below(rng, (uint64_t)s->mod)
                                                           : 1 + (int32_t)hop_rng_below(rng, (uint64_t)low);
}

#endif
