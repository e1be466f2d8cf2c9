/* attention_case.h - an attention problem with its arrays, and its solution in double precision, which shares
 * nothing with src/kernels. */
#ifndef HOP_TESTS_ATTENTION_CASE_H
#define HOP_TESTS_ATTENTION_CASE_H

#include "kernel_tables.h"

typedef struct attention {
    hop_attn c;
    float *q, *k, *v, *o, *lse, *scratch;
    int64_t nq, nk, nv, no; /* floats of each */
} attention;

/* Rows are 3 floats longer than needed, so that strides matter. */
static inline attention attention_new(hop_attn c, double size)
{
    attention a = {.c = c};
    if (a.c.queries == 0) a.c.queries = c.tokens;
    if (a.c.scale == 0.0f) a.c.scale = (float)(1.0 / sqrt((double)c.key_dim));
    a.c.q_stride = c.heads * c.key_dim + 3;
    a.c.k_stride = c.kv_heads * c.key_dim + 3;
    a.c.v_stride = c.kv_heads * c.value_dim + 3;
    a.c.o_stride = c.heads * c.value_dim + 3;
    a.nq = a.c.queries * a.c.q_stride, a.nk = c.tokens * a.c.k_stride;
    a.nv = c.tokens * a.c.v_stride, a.no = a.c.queries * a.c.o_stride;
    a.q = random_new(a.nq, 21, size), a.k = random_new(a.nk, 22, size), a.v = random_new(a.nv, 23, 1.0);
    a.o = floats_new(a.no), a.lse = floats_new(c.heads * a.c.queries);
    a.scratch = floats_new((int64_t)hop_attn_backward_scratch(&a.c, 3));
    return a;
}

static inline void attention_free(attention *a)
{
    hop_free(a->q), hop_free(a->k), hop_free(a->v), hop_free(a->o), hop_free(a->lse), hop_free(a->scratch);
}

static inline void forward(attention *a, hop_pool *pool)
{
    poison(a->o, a->no);
    poison(a->lse, a->c.heads * a->c.queries);
    int64_t size = (int64_t)hop_attn_scratch(&a->c, 3);
    float *scratch = floats_new(size); /* not a float more, for the address sanitizer */
    poison(scratch, size);
    hop_attn_forward(a->o, a->lse, a->q, a->k, a->v, &a->c, scratch, pool);
    hop_free(scratch);
}

/* One output in double, with sum w|v| / sum w and the largest sum |q_i k_i| of a score, for the bounds. */
typedef struct truth {
    double o, size, lse, reach;
} truth;

static inline double score_of(const attention *a, int64_t row, int64_t h, int64_t j, double *reach)
{
    const hop_attn *c = &a->c;
    const float *q = a->q + row * c->q_stride + h * c->key_dim;
    const float *k = a->k + j * c->k_stride + h / (c->heads / c->kv_heads) * c->key_dim;
    double s = 0.0, r = 0.0;
    for (int64_t e = 0; e < c->key_dim; e++) {
        s += (double)q[e] * k[e];
        r += fabs((double)q[e] * k[e]);
    }
    if (reach && c->scale * r > *reach) *reach = c->scale * r;
    return c->scale * s;
}

static inline truth truth_of(const attention *a, int64_t row, int64_t h, int64_t e)
{
    const hop_attn *c = &a->c;
    int64_t pos = c->first + row, lo = 0, hi = c->bidirectional ? c->tokens : pos + 1;
    if (!c->bidirectional && c->window > 0 && hi > c->window) lo = hi - c->window;
    double top = -INFINITY, sum = 0.0, o = 0.0, size = 0.0, reach = 0.0;
    for (int64_t j = lo; j < hi; j++) top = fmax(top, score_of(a, row, h, j, &reach));
    for (int64_t j = lo; j < hi; j++) {
        double w = exp(score_of(a, row, h, j, NULL) - top);
        double v = a->v[j * c->v_stride + h / (c->heads / c->kv_heads) * c->value_dim + e];
        sum += w, o += w * v, size += w * fabs(v);
    }
    return (truth){o / sum, size / sum, top + log(sum), reach};
}

#define SHAPE(T, H, G, D, V, ...)                                                         \
    {                                                                                     \
        .tokens = T, .heads = H, .kv_heads = G, .key_dim = D, .value_dim = V, __VA_ARGS__ \
    }

static const hop_attn shapes[] = {
    SHAPE(1, 1, 1, 1, 1, .window = 0),
    SHAPE(2, 2, 1, 3, 3, .window = 0),
    SHAPE(3, 1, 1, 64, 64, .window = 0),
    SHAPE(5, 3, 3, 15, 41, .window = 0),
    SHAPE(17, 2, 2, 12, 12, .window = 0),
    SHAPE(33, 4, 2, 7, 100, .window = 5),
    SHAPE(64, 1, 1, 16, 16, .window = 1),
    SHAPE(97, 2, 1, 41, 15, .bidirectional = true),
    SHAPE(130, 6, 2, 24, 33, .window = 0),
    SHAPE(200, 1, 1, 300, 300, .window = 0),
    SHAPE(200, 1, 1, 1, 1, .window = 97),
    SHAPE(260, 2, 2, 64, 64, .window = 100),
    SHAPE(300, 2, 1, 8, 8, .queries = 1, .first = 299),
    SHAPE(300, 2, 1, 41, 100, .queries = 2, .first = 200),
    SHAPE(300, 2, 2, 100, 41, .queries = 3, .first = 297, .window = 150),
    SHAPE(300, 2, 1, 33, 17, .queries = 40, .first = 111),
    SHAPE(150, 2, 1, 33, 17, .queries = 70, .first = 3, .bidirectional = true),
    SHAPE(1000, 1, 1, 10, 10, .window = 0),
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

#endif
