#include "delta_parts.h"

#include <math.h>

int64_t hop__delta_key_width(const hop_mixer_config *c, const hop__delta *d)
{
    return d->key_heads * c->head_dim;
}

int64_t hop__delta_value_width(const hop_mixer_config *c)
{
    return c->heads * HOP__OPT(c, value_dim);
}

void hop__delta_params(hop_param *out, const hop_mixer_config *c, const hop__delta *d)
{
    int64_t kw = hop__delta_key_width(c, d), vw = hop__delta_value_width(c), n = d->steps;
    int64_t taps = HOP__OPT(c, conv);
    out[HOP__D_Q] = (hop_param){"q_proj.weight", {kw, c->d_model}};
    out[HOP__D_K] = (hop_param){"k_proj.weight", {n * kw, c->d_model}};
    out[HOP__D_V] = (hop_param){"v_proj.weight", {n * vw, c->d_model}};
    out[HOP__D_BETA] = (hop_param){"b_proj.weight", {n * d->beta_heads, c->d_model}};
    if (taps > 0) {
        out[HOP__D_Q_CONV] = (hop_param){"q_conv1d.weight", {kw, taps}};
        out[HOP__D_K_CONV] = (hop_param){"k_conv1d.weight", {n * kw, taps}};
        out[HOP__D_V_CONV] = (hop_param){"v_conv1d.weight", {n * vw, taps}};
    }
    if (HOP__OPT(c, gate) && !d->low_rank_gate)
        out[HOP__D_GATE] = (hop_param){"g_proj.weight", {vw, c->d_model}};
    if (HOP__OPT(c, norm)) out[HOP__D_NORM] = (hop_param){"o_norm.weight", {HOP__OPT(c, value_dim), 0}};
    out[HOP__D_OUT] = (hop_param){"o_proj.weight", {c->d_model, vw}};
}

void hop__delta_init(float *const *w, const hop_mixer_config *c, const hop__delta *d, hop_rng *rng)
{
    int64_t kw = hop__delta_key_width(c, d), vw = hop__delta_value_width(c), taps = HOP__OPT(c, conv);
    hop__fill_conv(w[HOP__D_Q_CONV], kw, taps, rng);
    hop__fill_conv(w[HOP__D_K_CONV], d->steps * kw, taps, rng);
    hop__fill_conv(w[HOP__D_V_CONV], d->steps * vw, taps, rng);
}

static int64_t matrices(const hop_mixer_config *c)
{
    return c->heads * c->head_dim * HOP__OPT(c, value_dim);
}

int64_t hop__delta_state(const hop_mixer_config *c, const hop__delta *d)
{
    int64_t kw = hop__delta_key_width(c, d), vw = hop__delta_value_width(c);
    return matrices(c) + hop__past_floats(c, kw) + hop__past_floats(c, d->steps * kw) +
           hop__past_floats(c, d->steps * vw);
}

static hop_scan scan_of(const hop_mixer_config *c, const hop__delta *d, int64_t tokens)
{
    hop_scan s = hop__scan(c, tokens * d->steps, c->head_dim, HOP__OPT(c, value_dim), d->gate);
    s.key_heads = d->key_heads;
    s.q_stride = s.k_stride = hop__delta_key_width(c, d);
    s.scale = hop__scale(c, 1.0 / sqrt((double)c->head_dim));
    return s;
}

void hop__delta_buffers(int64_t *floats, const hop_mixer_config *c, const hop__delta *d, int64_t tokens,
                        int threads)
{
    int64_t kw = hop__delta_key_width(c, d), vw = hop__delta_value_width(c), n = tokens * d->steps;
    hop_scan s = scan_of(c, d, tokens);
    floats[HOP__DB_RAW] = HOP__OPT(c, conv) > 0 ? n * (kw > vw ? kw : vw) : 0;
    floats[HOP__DB_Q] = floats[HOP__DB_K] = n * kw;
    floats[HOP__DB_V] = floats[HOP__DB_O] = n * vw;
    floats[HOP__DB_BETA] = n * c->heads;
    floats[HOP__DB_G] = d->gate == HOP_GATE_NONE ? 0 : n * s.gate_stride;
    floats[HOP__DB_Z] = HOP__OPT(c, gate) ? tokens * vw : 0;
    floats[HOP__DB_WORK] = hop__scan_work(&s, threads);
}

void hop__delta_inputs(const hop__mix *m, const hop__delta *d)
{
    const hop_mixer_config *c = m->c;
    int64_t kw = hop__delta_key_width(c, d), vw = hop__delta_value_width(c), n = d->steps;
    int64_t betas = m->tokens * n * d->beta_heads;
    float *past = m->state + matrices(c), *raw = m->b[HOP__DB_RAW], *beta = m->b[HOP__DB_BETA];
    float *q = m->b[HOP__DB_Q], *k = m->b[HOP__DB_K], *v = m->b[HOP__DB_V];
    const float *const *w = m->w;
    hop__project_conv(m, q, raw, &past, w[HOP__D_Q], (hop__short){.w = w[HOP__D_Q_CONV], .width = kw});
    hop__project_conv(m, k, raw, &past, w[HOP__D_K], (hop__short){.w = w[HOP__D_K_CONV], .width = n * kw});
    hop__project_conv(m, v, raw, &past, w[HOP__D_V], (hop__short){.w = w[HOP__D_V_CONV], .width = n * vw});
    hop__l2(q, m->tokens * d->key_heads, c->head_dim);
    hop__l2(k, m->tokens * n * d->key_heads, c->head_dim);
    hop__cut(m, q, m->tokens * kw);
    hop__cut(m, k, m->tokens * n * kw);
    hop__project(m, beta, w[HOP__D_BETA], NULL, n * d->beta_heads);
    hop__sigmoid(beta, betas);
    for (int64_t i = 0; HOP__OPT(c, negative) && i < betas; i++) beta[i] *= 2.0f;
    hop__cut(m, beta, betas);
}

/* exp(A_log) is kept finite, so that a step size of exactly 0 holds the state whatever A_log is. */
void hop__delta_decay(const hop__mix *m, float *g, const float *a_log, int64_t rows, int64_t heads,
                      int64_t dim)
{
    hop__softplus(g, rows * heads * dim);
    for (int64_t h = 0; h < heads; h++) {
        float rate = -fminf(expf(a_log[h]), 1e30f);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t e = 0; e < dim; e++) g[(r * heads + h) * dim + e] *= rate;
    }
    hop__cut(m, g, rows * heads * dim);
}

void hop__delta_scan(const hop__mix *m, const hop__delta *d)
{
    hop_scan s = scan_of(m->c, d, m->tokens);
    hop_scan_in in = {.q = m->b[HOP__DB_Q], .k = m->b[HOP__DB_K], .v = m->b[HOP__DB_V]};
    in.beta = m->b[HOP__DB_BETA];
    in.g = m->b[HOP__DB_G];
    s.form = m->form;
    hop_delta_forward(m->b[HOP__DB_O], m->state, &in, &s, m->b[HOP__DB_WORK], m->pool);
    hop__cut(m, m->b[HOP__DB_O], s.tokens * s.o_stride);
}

void hop__delta_output(const hop__mix *m, const hop__delta *d, hop__act act)
{
    const hop_mixer_config *c = m->c;
    int64_t vw = hop__delta_value_width(c);
    float *o = m->b[HOP__DB_O], *z = m->b[HOP__DB_Z];
    hop__rms(m, o, m->w[HOP__D_NORM], c->heads, HOP__OPT(c, value_dim));
    if (z && !d->low_rank_gate) hop__project_rows(m, z, m->w[HOP__D_GATE], NULL, vw);
    if (z) hop__gate(m, o, z, vw, act);
    hop__output(m, o, m->w[HOP__D_OUT], vw);
}
