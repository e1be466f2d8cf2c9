/* Based (Arora et al. 2024, arXiv:2402.18668): linear attention by the Taylor expansion of exp to second
 * order.
 *
 *     o_t = Σ_{j<=t} w_tj v_j / (Σ_{j<=t} w_tj + 1e-6),   w = 1 + s + s²/2,   s = scale q_t·k_j,   y = Wo o
 *
 * w = φ(q)·φ(k) with the features 1, x_i, and x_i x_j for i <= j: 1 + d + d(d+1)/2 of them, for d = head_dim.
 * Those of q carry the factors: 1, scale, scale² (scale²/2 where i = j).
 *
 * Options: value_dim (head_dim). scale: head_dim^(-1/2).
 *
 * State: per head [1 + d + d(d+1)/2, V + 1], the last column being the normaliser Σφ(k). */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { Q, K, V, OUT, PARAMS };
enum { B_Q, B_K, B_V, B_O, B_FQ, B_FK, B_FV, B_FO, WORK, BUFFERS };

static const struct hop_option_default based_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_COUNT, 0},
};

static int64_t features(const hop_mixer_config *c)
{
    return 1 + c->head_dim + c->head_dim * (c->head_dim + 1) / 2;
}

static int based_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = c->heads * c->head_dim, vw = c->heads * HOP__OPT(c, value_dim);
    out[Q] = (hop_param){"q_proj.weight", {kw, d}};
    out[K] = (hop_param){"k_proj.weight", {kw, d}};
    out[V] = (hop_param){"v_proj.weight", {vw, d}};
    out[OUT] = (hop_param){"o_proj.weight", {d, vw}};
    return PARAMS;
}

static int64_t based_state(const hop_mixer_config *c)
{
    return c->heads * features(c) * (HOP__OPT(c, value_dim) + 1);
}

static int based_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t rows = tokens * c->heads, v = HOP__OPT(c, value_dim);
    hop_scan s = hop__scan(c, tokens, features(c), v + 1, HOP_GATE_NONE);
    n[B_Q] = n[B_K] = rows * c->head_dim;
    n[B_V] = n[B_O] = rows * v;
    n[B_FQ] = n[B_FK] = rows * features(c);
    n[B_FV] = n[B_FO] = rows * (v + 1);
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

/* y [rows, features] of x [rows, d]; `factor` of the first, second and squared ones. */
static void taylor(float *y, const float *x, int64_t rows, int64_t d, const float factor[3])
{
    for (int64_t r = 0; r < rows; r++, x += d) {
        *y++ = 1.0f;
        for (int64_t i = 0; i < d; i++) *y++ = factor[0] * x[i];
        for (int64_t i = 0; i < d; i++) {
            float square = factor[1] * x[i];
            *y++ = factor[2] * x[i] * x[i];
            for (int64_t j = i + 1; j < d; j++) *y++ = square * x[j];
        }
    }
}

static void based_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t v = HOP__OPT(c, value_dim), rows = m->tokens * c->heads, many = rows * features(c);
    float scale = hop__scale(c, 1.0 / sqrt((double)c->head_dim));
    hop__project(m, m->b[B_Q], m->w[Q], NULL, c->heads * c->head_dim);
    hop__project(m, m->b[B_K], m->w[K], NULL, c->heads * c->head_dim);
    hop__project(m, m->b[B_V], m->w[V], NULL, c->heads * v);
    taylor(m->b[B_FQ], m->b[B_Q], rows, c->head_dim, (float[3]){scale, scale * scale, 0.5f * scale * scale});
    taylor(m->b[B_FK], m->b[B_K], rows, c->head_dim, (float[3]){1.0f, 1.0f, 1.0f});
    hop__cut(m, m->b[B_FQ], many);
    hop__cut(m, m->b[B_FK], many);
    hop__append_one(m->b[B_FV], m->b[B_V], rows, v);
    hop_scan s = hop__scan(c, m->tokens, features(c), v + 1, HOP_GATE_NONE);
    s.form = m->form;
    hop_scan_in in = {.q = m->b[B_FQ], .k = m->b[B_FK], .v = m->b[B_FV]};
    hop_decay_forward(m->b[B_FO], m->state, &in, &s, m->b[WORK], m->pool);
    hop__divide_by_last(m->b[B_O], m->b[B_FO], rows, v, 1e-6f);
    hop__cut(m, m->b[B_O], rows * v);
    hop__output(m, m->b[B_O], m->w[OUT], c->heads * v);
}

static const hop__rule based_rule = {based_params, NULL, based_state, based_buffers, based_mix};
HOP__RECURRENT(based, "o = sum w v / (sum w + 1e-6), w = 1 + s + s^2/2, s = scale q.k", hop__ready_value_dim);
