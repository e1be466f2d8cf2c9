/* Mamba-2 (Dao and Gu 2024, arXiv:2405.21060; layer as in mamba_ssm).
 *
 *     (z, x, B, C, dt) = W_in u;  (x, B, C) = SiLU(conv(x, B, C));  dt = softplus(dt + dt_bias)
 *     S_h = e^(-e^A_log dt) S_h + B (dt x_h)ᵀ,   y_h = S_hᵀ C + D_h x_h,   out = Wo RMSNorm(y ⊙ SiLU(z))
 *
 * The gate comes before the norm, which is over all heads together. Heads are heads [P = head_dim];
 * consecutive heads share the B and C of a group. There is no scale.
 *
 * Options: state_dim (128), N; groups (1), a divisor of heads; conv (4); norm (1); gate (1).
 *
 * State: per head [N, P], then the inputs of the convolution, (heads P + 2 groups N) (conv - 1). */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { IN, CONV, CONV_BIAS, DT_BIAS, A_LOG, SKIP, NORM, OUT, PARAMS };
enum { B_IN, B_XBC, B_DX, B_O, B_Z, B_DT, B_DECAY, WORK, BUFFERS };

static const struct hop_option_default mamba2_options[] = {
    {HOP_OPTION_state_dim, 128}, {HOP_OPTION_groups, 1}, {HOP_OPTION_conv, 4},
    {HOP_OPTION_norm, 1},        {HOP_OPTION_gate, 1},   {HOP_OPTION_COUNT, 0},
};

static hop_status mamba2_ready(hop_mixer_config *c, hop_error *err)
{
    if (c->heads % HOP__OPT(c, groups) == 0) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "mamba2: %lld heads are no multiple of %lld groups",
                    (long long)c->heads, (long long)HOP__OPT(c, groups));
}

/* Columns of W_in's output: z, then what is convolved (x, B, C), then dt. */
typedef struct widths {
    int64_t inner, shared, conv, z, all; /* shared: B or C of all groups */
} widths;

static widths widths_of(const hop_mixer_config *c)
{
    widths w = {.inner = c->heads * c->head_dim, .shared = HOP__OPT(c, groups) * HOP__OPT(c, state_dim)};
    w.conv = w.inner + 2 * w.shared;
    w.z = HOP__OPT(c, gate) ? w.inner : 0;
    w.all = w.z + w.conv + c->heads;
    return w;
}

static int mamba2_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    widths w = widths_of(c);
    out[IN] = (hop_param){"in_proj.weight", {w.all, c->d_model}};
    if (HOP__OPT(c, conv) > 0) {
        out[CONV] = (hop_param){"conv1d.weight", {w.conv, HOP__OPT(c, conv)}};
        out[CONV_BIAS] = (hop_param){"conv1d.bias", {w.conv, 0}};
    }
    out[DT_BIAS] = (hop_param){"dt_bias", {c->heads, 0}};
    out[A_LOG] = (hop_param){"A_log", {c->heads, 0}};
    out[SKIP] = (hop_param){"D", {c->heads, 0}};
    if (HOP__OPT(c, norm)) out[NORM] = (hop_param){"norm.weight", {w.inner, 0}};
    out[OUT] = (hop_param){"out_proj.weight", {c->d_model, w.inner}};
    return PARAMS;
}

/* mamba_ssm's: A uniform in [1, 16], dt log-uniform in [0.001, 0.1], D = 1, the convolution as nn.Conv1d. */
static void mamba2_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    int64_t taps = HOP__OPT(c, conv), wide = widths_of(c).conv;
    hop__fill_conv(w[CONV], wide, taps, rng);
    if (taps > 0) hop__fill_uniform(w[CONV_BIAS], wide, -1 / sqrt((double)taps), 1 / sqrt((double)taps), rng);
    hop__fill_dt_bias(w[DT_BIAS], c->heads, rng);
    for (int64_t h = 0; h < c->heads; h++) w[A_LOG][h] = (float)log(1.0 + 15.0 * hop_rng_uniform(rng));
}

static int64_t mamba2_state(const hop_mixer_config *c)
{
    widths w = widths_of(c);
    return w.inner * HOP__OPT(c, state_dim) + hop__past_floats(c, w.conv);
}

static hop_scan scan_of(const hop_mixer_config *c, int64_t tokens)
{
    hop_scan s = hop__scan(c, tokens, HOP__OPT(c, state_dim), c->head_dim, HOP_GATE_TOKEN);
    s.key_heads = HOP__OPT(c, groups);
    s.q_stride = s.k_stride = widths_of(c).conv;
    return s;
}

static int mamba2_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    widths w = widths_of(c);
    hop_scan s = scan_of(c, tokens);
    n[B_IN] = tokens * w.all;
    n[B_XBC] = tokens * w.conv;
    n[B_DX] = n[B_O] = tokens * w.inner;
    n[B_Z] = tokens * w.z;
    n[B_DT] = n[B_DECAY] = tokens * c->heads;
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

/* dt, the log decay, and dt x. */
static void discretise(const hop__mix *m, widths w)
{
    int64_t heads = m->c->heads, p = m->c->head_dim, n = m->tokens * heads;
    float *dt = m->b[B_DT], *g = m->b[B_DECAY], *dx = m->b[B_DX];
    for (int64_t i = 0; i < n; i++)
        dt[i] = m->b[B_IN][i / heads * w.all + w.z + w.conv + i % heads] + m->w[DT_BIAS][i % heads];
    hop__softplus(dt, n);
    hop__cut(m, dt, n);
    for (int64_t i = 0; i < n; i++) {
        const float *x = m->b[B_XBC] + i / heads * w.conv + i % heads * p;
        g[i] = -expf(m->w[A_LOG][i % heads]) * dt[i];
        for (int64_t e = 0; e < p; e++) dx[i * p + e] = dt[i] * x[e];
    }
    hop__cut(m, g, n);
    hop__cut(m, dx, n * p);
}

/* o += D x, then times SiLU(z), on the wanted rows. */
static void skip_and_gate(const hop__mix *m, widths w)
{
    int64_t p = m->c->head_dim, rows = hop__rows(m);
    float *o = m->b[B_O] + m->first * w.inner, *z = m->b[B_Z];
    for (int64_t r = 0; r < rows; r++) {
        const float *x = m->b[B_XBC] + (m->first + r) * w.conv, *in = m->b[B_IN] + (m->first + r) * w.all;
        for (int64_t e = 0; e < w.inner; e++) o[r * w.inner + e] += m->w[SKIP][e / p] * x[e];
        for (int64_t e = 0; e < w.z; e++) z[r * w.z + e] = in[e];
    }
    hop__cut(m, o, rows * w.inner);
    if (w.z) hop__gate(m, m->b[B_O], z, w.inner, HOP__SILU);
}

static void mamba2_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    widths w = widths_of(c);
    float *past = m->state + w.inner * HOP__OPT(c, state_dim), *xbc = m->b[B_XBC];
    hop__project(m, m->b[B_IN], m->w[IN], NULL, w.all);
    hop__conv(m, xbc, m->b[B_IN] + w.z, &past,
              (hop__short){.w = m->w[CONV], .bias = m->w[CONV_BIAS], .width = w.conv, .x_stride = w.all});
    discretise(m, w);
    hop_scan s = scan_of(c, m->tokens);
    s.form = m->form;
    hop_scan_in in = {.v = m->b[B_DX], .g = m->b[B_DECAY]};
    in.k = xbc + w.inner, in.q = in.k + w.shared;
    hop_decay_forward(m->b[B_O], m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, m->b[B_O], m->tokens * w.inner);
    skip_and_gate(m, w);
    hop__rms(m, m->b[B_O], m->w[NORM], 1, w.inner);
    hop__output(m, m->b[B_O], m->w[OUT], w.inner);
}

static const hop__rule mamba2_rule = {mamba2_params, mamba2_init, mamba2_state, mamba2_buffers, mamba2_mix};
HOP__RECURRENT(mamba2, "S = e^(-e^A_log dt) S + B (dt x)^T, dt = softplus(.), y = S^T C + D x", mamba2_ready);
