/* Gated linear attention (Yang et al. 2023, arXiv:2312.06635; layer as in flash-linear-attention).
 *
 *     S = diag(e^g) S + k vᵀ,  g = logσ(W2 W1 x + b) / 16,   o = scale qᵀS
 *     y = Wo (RMSNorm_head(o) ⊙ swish(Wg x))
 *
 * Options: value_dim (head_dim; the paper's models have 2 head_dim); rank (16), of W2 W1; conv (0: none), a
 * short convolution of q, k and v; norm (1); gate (1). scale: head_dim^(-1/2).
 *
 * State: per head [K, V], then the inputs of the convolutions of q, k, v. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { Q, K, V, Q_CONV, K_CONV, V_CONV, DOWN, UP, UP_BIAS, GATE, NORM, OUT, PARAMS };
enum { B_Q, B_K, B_V, B_O, B_Z, B_RAW, B_LOW, B_DECAY, WORK, BUFFERS };

static const struct hop_option_default gla_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rank, 16},
    {HOP_OPTION_conv, 0},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static int64_t key_width(const hop_mixer_config *c)
{
    return c->heads * c->head_dim;
}

static int64_t value_width(const hop_mixer_config *c)
{
    return c->heads * HOP__OPT(c, value_dim);
}

static int gla_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = key_width(c), vw = value_width(c), taps = HOP__OPT(c, conv);
    out[Q] = (hop_param){"q_proj.weight", {kw, d}};
    out[K] = (hop_param){"k_proj.weight", {kw, d}};
    out[V] = (hop_param){"v_proj.weight", {vw, d}};
    if (taps > 0) {
        out[Q_CONV] = (hop_param){"q_conv1d.weight", {kw, taps}};
        out[K_CONV] = (hop_param){"k_conv1d.weight", {kw, taps}};
        out[V_CONV] = (hop_param){"v_conv1d.weight", {vw, taps}};
    }
    out[DOWN] = (hop_param){"gk_proj.0.weight", {HOP__OPT(c, rank), d}};
    out[UP] = (hop_param){"gk_proj.1.weight", {kw, HOP__OPT(c, rank)}};
    out[UP_BIAS] = (hop_param){"gk_proj.1.bias", {kw, 0}};
    if (HOP__OPT(c, gate)) out[GATE] = (hop_param){"g_proj.weight", {vw, d}};
    if (HOP__OPT(c, norm)) out[NORM] = (hop_param){"g_norm.weight", {HOP__OPT(c, value_dim), 0}};
    out[OUT] = (hop_param){"o_proj.weight", {d, vw}};
    return PARAMS;
}

static void gla_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    hop__fill_conv(w[Q_CONV], key_width(c), HOP__OPT(c, conv), rng);
    hop__fill_conv(w[K_CONV], key_width(c), HOP__OPT(c, conv), rng);
    hop__fill_conv(w[V_CONV], value_width(c), HOP__OPT(c, conv), rng);
    hop__fill(w[UP_BIAS], key_width(c), 0.0);
}

static int64_t gla_state(const hop_mixer_config *c)
{
    return key_width(c) * HOP__OPT(c, value_dim) + hop__past_floats(c, 2 * key_width(c) + value_width(c));
}

static int gla_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t kw = key_width(c), vw = value_width(c);
    hop_scan s = hop__scan(c, tokens, c->head_dim, HOP__OPT(c, value_dim), HOP_GATE_KEY);
    n[B_Q] = n[B_K] = tokens * kw;
    n[B_V] = n[B_O] = tokens * vw;
    if (HOP__OPT(c, gate)) n[B_Z] = tokens * vw;
    if (HOP__OPT(c, conv) > 0) n[B_RAW] = tokens * (kw > vw ? kw : vw);
    n[B_LOW] = tokens * HOP__OPT(c, rank);
    n[B_DECAY] = tokens * kw;
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

static void log_decay(const hop__mix *m)
{
    int64_t kw = key_width(m->c), rank = HOP__OPT(m->c, rank), n = m->tokens * kw;
    float *g = m->b[B_DECAY];
    hop__project(m, m->b[B_LOW], m->w[DOWN], NULL, rank);
    hop__linear(m, g, m->b[B_LOW], m->w[UP], m->w[UP_BIAS], (hop__shape){m->tokens, kw, rank});
    hop__logsigmoid(g, n);
    for (int64_t i = 0; i < n; i++) g[i] *= 1.0f / 16.0f;
    hop__cut(m, g, n);
}

static void gla_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t kw = key_width(c), vw = value_width(c), v = HOP__OPT(c, value_dim);
    float *past = m->state + kw * v, *raw = m->b[B_RAW];
    hop__project_conv(m, m->b[B_Q], raw, &past, m->w[Q], (hop__short){.w = m->w[Q_CONV], .width = kw});
    hop__project_conv(m, m->b[B_K], raw, &past, m->w[K], (hop__short){.w = m->w[K_CONV], .width = kw});
    hop__project_conv(m, m->b[B_V], raw, &past, m->w[V], (hop__short){.w = m->w[V_CONV], .width = vw});
    log_decay(m);
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, v, HOP_GATE_KEY);
    s.form = m->form, s.scale = hop__scale(c, 1.0 / sqrt((double)c->head_dim));
    hop_scan_in in = {.q = m->b[B_Q], .k = m->b[B_K], .v = m->b[B_V], .g = m->b[B_DECAY]};
    hop_decay_forward(m->b[B_O], m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, m->b[B_O], m->tokens * vw);
    hop__rms(m, m->b[B_O], m->w[NORM], c->heads, v);
    if (m->w[GATE]) {
        hop__project_rows(m, m->b[B_Z], m->w[GATE], NULL, vw);
        hop__gate(m, m->b[B_O], m->b[B_Z], vw, HOP__SILU);
    }
    hop__output(m, m->b[B_O], m->w[OUT], vw);
}

static const hop__rule gla_rule = {gla_params, gla_init, gla_state, gla_buffers, gla_mix};
HOP__RECURRENT(gla, "S = diag(e^g) S + k v^T, g = logsigmoid(W2 W1 x + b)/16, o = scale q^T S",
               hop__ready_value_dim);
