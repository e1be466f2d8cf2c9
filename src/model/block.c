/* What a block does to each token alone: norms, the MLP, residual sums; and the tables at both ends. */
#include "network.h"

#include <string.h>

static void cut(float *x, int64_t n, int bits)
{
    if (bits > 0) hop_cut(x, n, bits);
}

const float *hop__norm(const hop_model *m, float *y, const float *x, const float *weight, const float *bias,
                       int64_t rows, int bits)
{
    const hop_config *c = &m->config;
    if (c->norm == HOP_NORM_NONE) return x;
    if (c->norm == HOP_NORM_RMS) hop_rmsnorm(y, x, weight, rows, c->d_model, (float)c->norm_eps);
    if (c->norm == HOP_NORM_LAYER) hop_layernorm(y, x, weight, bias, rows, c->d_model, (float)c->norm_eps);
    cut(y, rows * c->d_model, bits);
    return y;
}

size_t hop__finish_floats(const hop_model *m, int64_t rows)
{
    const hop_config *c = &m->config;
    return (size_t)(rows * (2 * c->d_model + 2 * c->mlp_hidden));
}

void hop__finish(const hop_model *m, const hop__layer *l, float *x, const float *y, int64_t rows, int bits,
                 float *scratch)
{
    const hop_config *c = &m->config;
    int64_t d = c->d_model, hidden = c->mlp_hidden;
    hop_add(x, x, y, rows * d);
    cut(x, rows * d, bits);
    if (c->mlp == HOP_MLP_NONE) return;

    float *normed = scratch, *out = normed + rows * d, *h = out + rows * d, *g = h + rows * hidden;
    const float *in = hop__norm(m, normed, x, l->norm2, l->norm2_bias, rows, bits);
    hop_linear(h, in, l->up, l->up_bias, rows, hidden, d, NULL);
    cut(h, rows * hidden, bits);
    switch (c->mlp) {
    case HOP_MLP_RELU: hop_relu(h, h, rows * hidden); break;
    case HOP_MLP_GELU: hop_gelu(h, h, rows * hidden); break;
    case HOP_MLP_SWIGLU:
        hop_linear(g, in, l->gate, NULL, rows, hidden, d, NULL);
        cut(g, rows * hidden, bits);
        hop_swiglu(h, g, h, rows * hidden);
        break;
    case HOP_MLP_NONE: break;
    }
    cut(h, rows * hidden, bits);
    hop_linear(out, h, l->down, l->down_bias, rows, d, hidden, NULL);
    cut(out, rows * d, bits);
    hop_add(x, x, out, rows * d);
    cut(x, rows * d, bits);
}

void hop__embed(const hop_model *m, float *x, int32_t token, int64_t position, int bits, float *work)
{
    int64_t d = m->config.d_model;
    memcpy(x, m->tokens + (int64_t)token * d, sizeof(float) * (size_t)d);
    cut(x, d, bits);
    if (!m->positions) return;
    memcpy(work, m->positions + position * d, sizeof(float) * (size_t)d);
    cut(work, d, bits);
    hop_add(x, x, work, d);
    cut(x, d, bits);
}

void hop__read_out(const hop_model *m, float *logits, const float *x, int64_t rows, int bits, float *work,
                   hop_pool *pool)
{
    const float *in = hop__norm(m, work, x, m->norm, m->norm_bias, rows, bits);
    hop_linear(logits, in, m->head, NULL, rows, m->config.vocab, m->config.d_model, pool);
    cut(logits, rows * m->config.vocab, bits);
}

hop_status hop__check_token(const hop_model *m, int32_t token, int64_t position, hop_error *err)
{
    if (token < 0 || token >= m->config.vocab)
        return hop_fail(err, HOP_ERANGE, "token %d at position %lld is outside the vocabulary of %lld", token,
                        (long long)position, (long long)m->config.vocab);
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
