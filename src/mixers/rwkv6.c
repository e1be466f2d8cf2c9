/* RWKV-6 "Finch", time mixing (Peng et al. 2024, arXiv:2404.05892; layer as in flash-linear-attention).
 *
 *     δ = x_{t-1} - x_t;  for z of r, w, k, v, g:  x_z = x + δ ⊙ (b_z + U_z tanh(D_z (x + δ ⊙ μ)))
 *     r, k, v = W_z x_z,   w = -exp(Wu tanh(Wd x_w) + b),   g = W_g x_g
 *     o = rᵀ(S + diag(u) k vᵀ),   S = diag(e^w) S + k vᵀ,   y = Wo (GroupNorm_head(o) ⊙ swish(g))
 *
 * There is no head_dim^(-1/2); a scale that is given is used.
 *
 * Options: value_dim (head_dim); rank (64), of the decay's Wu Wd, the lerps' U D having half of it; norm (1),
 * with bias; gate (1).
 *
 * State: per head [K, V], then the last token's x [d_model]. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum { MU, DOWN, UP, LERP, R, W_DOWN, W_UP, W_BIAS, K, V, G, BONUS, NORM, NORM_BIAS, OUT, PARAMS };
enum { B_DELTA, B_MIX, B_LOW, B_RANK, B_R, B_K, B_V, B_DECAY, B_O, B_Z, WORK, BUFFERS };
enum { LERP_R, LERP_W, LERP_K, LERP_V, LERP_G, LERPS };

static const struct hop_option_default rwkv6_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rank, 64},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static int64_t lerp_rank(const hop_mixer_config *c)
{
    return (HOP__OPT(c, rank) + 1) / 2;
}

static hop_status rwkv6_ready(hop_mixer_config *c, hop_error *err)
{
    return hop__ready_centred(c, "rwkv6", err);
}

static int rwkv6_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = c->heads * c->head_dim, vw = c->heads * HOP__OPT(c, value_dim);
    int64_t low = LERPS * lerp_rank(c), rank = HOP__OPT(c, rank);
    out[MU] = (hop_param){"x_proj.0.mu", {d, 0}};
    out[DOWN] = (hop_param){"x_proj.0.linear.weight", {low, d}};
    out[UP] = (hop_param){"x_proj.2.weight", {d, low}};
    out[LERP] = (hop_param){"x_bias", {LERPS, d}};
    out[R] = (hop_param){"r_proj.linear.weight", {kw, d}};
    out[W_DOWN] = (hop_param){"w_proj.linear.lora.0.weight", {rank, d}};
    out[W_UP] = (hop_param){"w_proj.linear.lora.2.weight", {kw, rank}};
    out[W_BIAS] = (hop_param){"w_proj.linear.lora.2.bias", {kw, 0}};
    out[K] = (hop_param){"k_proj.linear.weight", {kw, d}};
    out[V] = (hop_param){"v_proj.linear.weight", {vw, d}};
    if (HOP__OPT(c, gate)) out[G] = (hop_param){"g_proj.linear.weight", {vw, d}};
    out[BONUS] = (hop_param){"bonus", {c->heads, c->head_dim}};
    if (HOP__OPT(c, norm)) {
        out[NORM] = (hop_param){"g_norm.weight", {vw, 0}};
        out[NORM_BIAS] = (hop_param){"g_norm.bias", {vw, 0}};
    }
    out[OUT] = (hop_param){"o_proj.weight", {d, vw}};
    return PARAMS;
}

/* As in BlinkDL's RWKV-LM (RWKV-v5/src/model.py, RWKV_Tmix_x060). */
static void rwkv6_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    int64_t d = c->d_model, kw = c->heads * c->head_dim, low = LERPS * lerp_rank(c);
    double depth = c->layers > 1 ? (double)c->layer / (double)(c->layers - 1) : 0.0;
    double rest = 1.0 - (double)c->layer / (double)c->layers;
    for (int64_t i = 0; i < d; i++) {
        double at = (double)i / (double)d, p = pow(at, rest), half = pow(at, 0.5 * rest);
        double start[LERPS] = {1.0 - half, 1.0 - p, 1.0 - p, 1.0 - (p + 0.3 * depth), 1.0 - half};
        w[MU][i] = (float)(1.0 - p);
        for (int z = 0; z < LERPS; z++) w[LERP][z * d + i] = (float)start[z];
    }
    hop__fill(w[DOWN], low * d, 0.0);
    hop__fill_uniform(w[UP], d * low, -0.01, 0.01, rng);
    hop__fill(w[W_DOWN], HOP__OPT(c, rank) * d, 0.0);
    hop__fill_uniform(w[W_UP], kw * HOP__OPT(c, rank), -0.01, 0.01, rng);
    for (int64_t i = 0; i < kw; i++) {
        double at = kw > 1 ? (double)i / (double)(kw - 1) : 0.0, zigzag = 0.1 * (double)((i + 1) % 3 - 1);
        w[W_BIAS][i] = (float)(-6.0 + 5.0 * pow(at, 0.7 + 1.3 * depth));
        w[BONUS][i] = (float)(depth * (1.0 - at) + zigzag);
    }
    hop__fill(w[NORM_BIAS], c->heads * HOP__OPT(c, value_dim), 0.0);
}

static int64_t rwkv6_state(const hop_mixer_config *c)
{
    return c->heads * c->head_dim * HOP__OPT(c, value_dim) + c->d_model;
}

static int rwkv6_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t n[HOP__BUFFERS])
{
    int64_t kn = tokens * c->heads * c->head_dim, vn = tokens * c->heads * HOP__OPT(c, value_dim);
    hop_scan s = hop__scan(c, tokens, c->head_dim, HOP__OPT(c, value_dim), HOP_GATE_KEY);
    n[B_DELTA] = n[B_MIX] = tokens * c->d_model;
    n[B_LOW] = tokens * LERPS * lerp_rank(c);
    n[B_RANK] = tokens * HOP__OPT(c, rank);
    n[B_R] = n[B_K] = n[B_DECAY] = kn;
    n[B_V] = n[B_O] = vn;
    if (HOP__OPT(c, gate)) n[B_Z] = vn;
    n[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

/* δ, and tanh(D (x + δ ⊙ μ)) for the five lerps. */
static void prepare(const hop__mix *m)
{
    int64_t d = m->c->d_model, low = LERPS * lerp_rank(m->c), n = m->tokens * d;
    float *delta = m->b[B_DELTA], *mixed = m->b[B_MIX];
    hop__shift(m, delta, m->state + rwkv6_state(m->c) - d);
    for (int64_t i = 0; i < n; i++) {
        delta[i] -= m->x[i];
        mixed[i] = m->x[i] + delta[i] * m->w[MU][i % d];
    }
    hop__cut(m, delta, n);
    hop__cut(m, mixed, n);
    hop__linear(m, m->b[B_LOW], mixed, m->w[DOWN], NULL, (hop__shape){m->tokens, low, d});
    hop__tanh(m->b[B_LOW], m->tokens * low);
    hop__cut(m, m->b[B_LOW], m->tokens * low);
}

/* x_z into the buffer B_MIX, which is returned. */
static const float *lerp(const hop__mix *m, int z)
{
    int64_t d = m->c->d_model, rank = lerp_rank(m->c), low = LERPS * rank, n = m->tokens * d;
    float *mixed = m->b[B_MIX];
    hop_gemm(mixed, d, (hop_mat){m->b[B_LOW] + z * rank, low, 1}, (hop_mat){m->w[UP] + z * rank, 1, low},
             m->tokens, d, rank, false, m->pool);
    for (int64_t i = 0; i < n; i++)
        mixed[i] = m->x[i] + m->b[B_DELTA][i] * (mixed[i] + m->w[LERP][z * d + i % d]);
    hop__cut(m, mixed, n);
    return mixed;
}

/* A decay e^-1000 is 0 as e^-inf is, but differences of sums of infinities would be no numbers. */
static void log_decay(const hop__mix *m)
{
    int64_t kw = m->c->heads * m->c->head_dim, rank = HOP__OPT(m->c, rank), n = m->tokens * kw;
    float *low = m->b[B_RANK], *g = m->b[B_DECAY];
    hop__linear(m, low, lerp(m, LERP_W), m->w[W_DOWN], NULL, (hop__shape){m->tokens, rank, m->c->d_model});
    hop__tanh(low, m->tokens * rank);
    hop__cut(m, low, m->tokens * rank);
    hop__linear(m, g, low, m->w[W_UP], m->w[W_BIAS], (hop__shape){m->tokens, kw, rank});
    hop__exp(g, n);
    for (int64_t i = 0; i < n; i++) g[i] = g[i] < 1000.0f ? -g[i] : -1000.0f;
    hop__cut(m, g, n);
}

static void rwkv6_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t d = c->d_model, v = HOP__OPT(c, value_dim), kw = c->heads * c->head_dim, vw = c->heads * v;
    prepare(m);
    hop__linear(m, m->b[B_R], lerp(m, LERP_R), m->w[R], NULL, (hop__shape){m->tokens, kw, d});
    hop__linear(m, m->b[B_K], lerp(m, LERP_K), m->w[K], NULL, (hop__shape){m->tokens, kw, d});
    hop__linear(m, m->b[B_V], lerp(m, LERP_V), m->w[V], NULL, (hop__shape){m->tokens, vw, d});
    log_decay(m);
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, v, HOP_GATE_KEY);
    s.form = m->form, s.scale = hop__scale(c, 1.0);
    hop_scan_in in = {.q = m->b[B_R], .k = m->b[B_K], .v = m->b[B_V], .g = m->b[B_DECAY], .u = m->w[BONUS]};
    hop_decay_forward(m->b[B_O], m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, m->b[B_O], m->tokens * vw);
    hop__groupnorm(m, m->b[B_O], m->w[NORM], m->w[NORM_BIAS], c->heads, v, HOP__NORM_EPS);
    if (m->w[G]) {
        const float *x = lerp(m, LERP_G) + m->first * d;
        hop__linear(m, m->b[B_Z], x, m->w[G], NULL, (hop__shape){hop__rows(m), vw, d});
        hop__gate(m, m->b[B_O], m->b[B_Z], vw, HOP__SILU);
    }
    hop__output(m, m->b[B_O], m->w[OUT], vw);
}

static const hop__rule rwkv6_rule = {rwkv6_params, rwkv6_init, rwkv6_state, rwkv6_buffers, rwkv6_mix};
HOP__RECURRENT(rwkv6, "o = r^T (S + diag(u) k v^T), S = diag(e^w) S + k v^T, w = -exp(lora(x))", rwkv6_ready);
