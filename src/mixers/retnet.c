/* RetNet's multi-scale retention (Sun et al. 2023, arXiv:2307.08621; layer as in flash-linear-attention).
 *
 *     S = γ_h S + k vᵀ,  γ_h = 1 - 2^(-5-h),   o = scale qᵀS,   y = Wo (RMSNorm_head(o) ⊙ swish(Wg x))
 *
 * Options: value_dim (2 head_dim); rope (1), with rope_theta (10000); conv (0: none), a short convolution of
 * q, k and v; norm (1); gate (1). scale: head_dim^(-1/2).
 *
 * State: per head [K, V], then the inputs of the convolutions of q, k, v. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { Q, K, V, Q_CONV, K_CONV, V_CONV, GATE, NORM, OUT, PARAMS };
enum { B_Q, B_K, B_V, B_O, B_Z, B_RAW, B_DECAY, WORK, BUFFERS };

static const struct hop_option_default retnet_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rope, 1},
    {HOP_OPTION_conv, 0},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static hop_status retnet_ready(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    hop__option_default(c, HOP_OPTION_value_dim, 2 * c->head_dim);
    return HOP_OK;
}

static int64_t key_width(const hop_mixer_config *c)
{
    return c->heads * c->head_dim;
}

static int64_t value_width(const hop_mixer_config *c)
{
    return c->heads * HOP__OPT(c, value_dim);
}

static int retnet_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
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
    if (HOP__OPT(c, gate)) out[GATE] = (hop_param){"g_proj.weight", {vw, d}};
    if (HOP__OPT(c, norm)) out[NORM] = (hop_param){"g_norm.weight", {HOP__OPT(c, value_dim), 0}};
    out[OUT] = (hop_param){"o_proj.weight", {d, vw}};
    return PARAMS;
}

static void retnet_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    hop__fill_conv(w[Q_CONV], key_width(c), HOP__OPT(c, conv), rng);
    hop__fill_conv(w[K_CONV], key_width(c), HOP__OPT(c, conv), rng);
    hop__fill_conv(w[V_CONV], value_width(c), HOP__OPT(c, conv), rng);
}

static int64_t retnet_state(const hop_mixer_config *c)
{
    return key_width(c) * HOP__OPT(c, value_dim) + hop__past_floats(c, 2 * key_width(c) + value_width(c));
}

static int retnet_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t kw = key_width(c), vw = value_width(c);
    hop_scan s = hop__scan(c, tokens, c->head_dim, HOP__OPT(c, value_dim), HOP_GATE_HEAD);
    n[B_Q] = n[B_K] = tokens * kw;
    n[B_V] = n[B_O] = tokens * vw;
    if (HOP__OPT(c, gate)) n[B_Z] = tokens * vw;
    if (HOP__OPT(c, conv) > 0) n[B_RAW] = tokens * (kw > vw ? kw : vw);
    n[B_DECAY] = c->heads;
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

static void retnet_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t kw = key_width(c), vw = value_width(c), v = HOP__OPT(c, value_dim);
    float *past = m->state + kw * v, *raw = m->b[B_RAW], *decay = m->b[B_DECAY];
    hop__project_conv(m, m->b[B_Q], raw, &past, m->w[Q], (hop__short){.w = m->w[Q_CONV], .width = kw});
    hop__project_conv(m, m->b[B_K], raw, &past, m->w[K], (hop__short){.w = m->w[K_CONV], .width = kw});
    hop__project_conv(m, m->b[B_V], raw, &past, m->w[V], (hop__short){.w = m->w[V_CONV], .width = vw});
    if (HOP__OPT(c, rope)) {
        hop__rope(m, m->b[B_Q], c->heads, c->head_dim);
        hop__rope(m, m->b[B_K], c->heads, c->head_dim);
    }
    for (int64_t h = 0; h < c->heads; h++) decay[h] = (float)log1p(-exp2(-5.0 - (double)h));
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, v, HOP_GATE_HEAD);
    s.form = m->form, s.scale = hop__scale(c, 1.0 / sqrt((double)c->head_dim));
    hop_scan_in in = {.q = m->b[B_Q], .k = m->b[B_K], .v = m->b[B_V], .g = decay};
    hop_decay_forward(m->b[B_O], m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, m->b[B_O], m->tokens * vw);
    hop__rms(m, m->b[B_O], m->w[NORM], c->heads, v);
    if (m->w[GATE]) {
        hop__project_rows(m, m->b[B_Z], m->w[GATE], NULL, vw);
        hop__gate(m, m->b[B_O], m->b[B_Z], vw, HOP__SILU);
    }
    hop__output(m, m->b[B_O], m->w[OUT], vw);
}

static const hop__rule retnet_rule = {retnet_params, retnet_init, retnet_state, retnet_buffers, retnet_mix};
HOP__RECURRENT(retnet, "S = (1 - 2^(-5-h)) S + k v^T, q and k rotated, o = scale q^T S", retnet_ready);
