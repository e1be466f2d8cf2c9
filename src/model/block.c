/* What a block does to each token alone: norms, the MLP, residual sums; and the tables at both ends. */
#include "network.h"

#include <string.h>

static void round_to(float *x, int64_t n, int bits)
{
    if (bits > 0) hop_round_significand(x, n, bits);
}

/* hop_linear sums a few rows in another order than many; a product that begins with the bias does not. */
static void linear(float *y, const float *x, const float *w, const float *bias, const int64_t rows_out_in[3],
                   bool steady, hop_pool *pool)
{
    int64_t rows = rows_out_in[0], out = rows_out_in[1], in = rows_out_in[2];
    if (!steady) {
        hop_linear(y, x, w, bias, rows, out, in, pool);
        return;
    }
    const hop_product p = {.c = y,
                           .ldc = out,
                           .a = {x, in, 1},
                           .b = {w, 1, in},
                           .m = rows,
                           .n = out,
                           .k = in,
                           .from = {bias, 0}};
    hop_multiply(&p, pool);
}

typedef struct norm_job {
    const hop_config *c;
    float *y;
    const float *x, *weight, *bias;
    int bits;
} norm_job;

static void norm_rows(void *ctx, int64_t first, int64_t rows)
{
    const norm_job *j = ctx;
    int64_t d = j->c->d_model;
    float *y = j->y + first * d, eps = (float)j->c->norm_eps;
    const float *x = j->x + first * d;
    if (j->c->norm == HOP_NORM_RMS) hop_rmsnorm(y, x, j->weight, rows, d, eps);
    if (j->c->norm == HOP_NORM_LAYER) hop_layernorm(y, x, j->weight, j->bias, rows, d, eps);
    round_to(y, rows * d, j->bits);
}

const float *hop__norm(const hop_model *m, float *y, const float *x, const float *weight, const float *bias,
                       int64_t rows, int bits, hop_pool *pool)
{
    norm_job j = {&m->layout->config, y, x, weight, bias, bits};
    if (m->layout->config.norm == HOP_NORM_NONE) return x;
    if (!weight) return y;
    hop_pool_rows(pool, rows, m->layout->config.d_model, norm_rows, &j);
    return y;
}

const float *hop__enter(const hop_model *m, const hop__block *l, float *normed, float *x, int64_t rows,
                        int bits, hop_pool *pool)
{
    if (l->norms == HOP_NORMS_BEHIND) return x;
    const float *in = hop__norm(m, normed, x, l->norm1, l->norm1_bias, rows, bits, pool);
    if (l->norms == HOP_NORMS_KEPT && in != x)
        memcpy(x, in, sizeof *x * (size_t)(rows * m->layout->config.d_model));
    return in;
}

/* The same of the MLP: what it is given, and what of its result is added. */
static const float *enter_mlp(const hop_model *m, const hop__block *l, float *normed, float *x, int64_t rows,
                              int bits)
{
    if (l->norms == HOP_NORMS_BEHIND) return x;
    const float *in = hop__norm(m, normed, x, l->norm2, l->norm2_bias, rows, bits, NULL);
    if (l->norms == HOP_NORMS_KEPT && in != x)
        memcpy(x, in, sizeof *x * (size_t)(rows * m->layout->config.d_model));
    return in;
}

/* x += y, or its norm. */
static void add_to_stream(const hop_model *m, const hop__block *l, float *x, const float *y, bool mlp,
                          const int64_t rows_bits[2], float *normed)
{
    const int64_t n = rows_bits[0] * m->layout->config.d_model;
    if (l->norms == HOP_NORMS_BEHIND)
        y = hop__norm(m, normed, y, mlp ? l->norm2 : l->norm1, mlp ? l->norm2_bias : l->norm1_bias,
                      rows_bits[0], (int)rows_bits[1], NULL);
    hop_add(x, x, y, n);
    round_to(x, n, (int)rows_bits[1]);
}

size_t hop__finish_floats(const hop_model *m, int64_t rows)
{
    const hop_config *c = &m->layout->config;
    return (size_t)(rows * (2 * c->d_model + 2 * c->mlp_hidden));
}

void hop__finish(const hop_model *m, const hop__block *l, float *x, const float *y, int64_t rows,
                 hop__arith how, float *scratch)
{
    const int bits = how.bits;
    const hop_config *c = &m->layout->config;
    int64_t d = c->d_model, hidden = c->mlp_hidden;
    const int64_t up[3] = {rows, hidden, d}, down[3] = {rows, d, hidden}, all[2] = {rows, bits};
    float *normed = scratch, *out = normed + rows * d, *h = out + rows * d, *g = h + rows * hidden;
    add_to_stream(m, l, x, y, false, all, normed);
    if (c->mlp == HOP_MLP_NONE) return;

    const float *in = enter_mlp(m, l, normed, x, rows, bits);
    linear(h, in, l->up, l->up_bias, up, how.steady, NULL);
    round_to(h, rows * hidden, bits);
    switch (c->mlp) {
    case HOP_MLP_RELU: hop_relu(h, h, rows * hidden); break;
    case HOP_MLP_GELU: hop_gelu(h, h, rows * hidden); break;
    case HOP_MLP_SWIGLU:
        linear(g, in, l->gate, NULL, up, how.steady, NULL);
        round_to(g, rows * hidden, bits);
        hop_swiglu(h, g, h, rows * hidden);
        break;
    case HOP_MLP_NONE: break;
    }
    round_to(h, rows * hidden, bits);
    linear(out, h, l->down, l->down_bias, down, how.steady, NULL);
    round_to(out, rows * d, bits);
    add_to_stream(m, l, x, out, true, all, normed);
}

void hop__embed(const hop_model *m, float *x, int32_t token, int64_t position, int bits, float *work)
{
    int64_t d = m->layout->config.d_model;
    memcpy(x, m->tokens + (int64_t)token * d, sizeof(float) * (size_t)d);
    round_to(x, d, bits);
    if (!m->positions) return;
    memcpy(work, m->positions + position * d, sizeof(float) * (size_t)d);
    round_to(work, d, bits);
    hop_add(x, x, work, d);
    round_to(x, d, bits);
}

void hop__read_out(const hop_model *m, float *logits, const float *x, int64_t rows, hop__arith how,
                   float *work, hop_pool *pool)
{
    const int64_t shape[3] = {rows, m->layout->config.vocab, m->layout->config.d_model};
    const float *in = hop__norm(m, work, x, m->norm, m->norm_bias, rows, how.bits, pool);
    linear(logits, in, m->head, NULL, shape, how.steady, pool);
    round_to(logits, rows * m->layout->config.vocab, how.bits);
}

hop_status hop__check_token(const hop_model *m, int32_t token, int64_t position, hop_error *err)
{
    if (token < 0 || token >= m->layout->config.vocab)
        return hop_fail(err, HOP_ERANGE, "token %d at position %lld is outside the vocabulary of %lld", token,
                        (long long)position, (long long)m->layout->config.vocab);
    return HOP_OK;
}

int64_t hop_argmax(const float *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (x[i] != x[i]) return -1;
        if (x[i] > x[best]) best = i;
    }
    return best;
}
