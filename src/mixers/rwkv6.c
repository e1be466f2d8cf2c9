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
#include "build.h"
#include "registry.h"

#include <math.h>

static const struct hop_option_default rwkv6_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rank, 64},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

enum { LERP_R, LERP_W, LERP_K, LERP_V, LERP_G, LERPS };

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
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c);
    int64_t low = LERPS * lerp_rank(c), rank = HOP__OPT(c, rank);
    int n = 0;
    hop__param(out, &n, "x_proj.0.mu", d, 0);
    hop__param(out, &n, "x_proj.0.linear.weight", low, d);
    hop__param(out, &n, "x_proj.2.weight", d, low);
    hop__param(out, &n, "x_bias", LERPS, d);
    hop__param(out, &n, "r_proj.linear.weight", kw, d);
    hop__param(out, &n, "w_proj.linear.lora.0.weight", rank, d);
    hop__param(out, &n, "w_proj.linear.lora.2.weight", kw, rank);
    hop__param(out, &n, "w_proj.linear.lora.2.bias", kw, 0);
    hop__param(out, &n, "k_proj.linear.weight", kw, d);
    hop__param(out, &n, "v_proj.linear.weight", vw, d);
    if (HOP__OPT(c, gate)) hop__param(out, &n, "g_proj.linear.weight", vw, d);
    hop__param(out, &n, "bonus", c->heads, c->head_dim);
    if (HOP__OPT(c, norm)) {
        hop__param(out, &n, "g_norm.weight", vw, 0);
        hop__param(out, &n, "g_norm.bias", vw, 0);
    }
    hop__param(out, &n, "o_proj.weight", d, vw);
    return n;
}

/* As in BlinkDL's RWKV-LM (RWKV-v5/src/model.py, RWKV_Tmix_x060). */
static void rwkv6_init(const hop_mixer_weights *w)
{
    const hop_mixer_config *c = w->c;
    int64_t d, kw, all;
    float *mu = hop__weight(w, "x_proj.0.mu", &d), *lerp = hop__weight(w, "x_bias", &all);
    float *bias = hop__weight(w, "w_proj.linear.lora.2.bias", &kw), *bonus = hop__weight(w, "bonus", &all);
    double depth = c->layers > 1 ? (double)c->layer / (double)(c->layers - 1) : 0.0;
    double rest = 1.0 - (double)c->layer / (double)c->layers;
    for (int64_t i = 0; i < d; i++) {
        double at = (double)i / (double)d, p = pow(at, rest), half = pow(at, 0.5 * rest);
        double start[LERPS] = {1.0 - half, 1.0 - p, 1.0 - p, 1.0 - (p + 0.3 * depth), 1.0 - half};
        mu[i] = (float)(1.0 - p);
        for (int z = 0; z < LERPS; z++) lerp[z * d + i] = (float)start[z];
    }
    hop__fill(w, "x_proj.0.linear.weight", 0);
    hop__fill_uniform(w, "x_proj.2.weight", -0.01, 0.01);
    hop__fill(w, "w_proj.linear.lora.0.weight", 0);
    hop__fill_uniform(w, "w_proj.linear.lora.2.weight", -0.01, 0.01);
    for (int64_t i = 0; i < kw; i++) {
        double at = kw > 1 ? (double)i / (double)(kw - 1) : 0.0, zigzag = 0.1 * (double)((i + 1) % 3 - 1);
        bias[i] = (float)(-6.0 + 5.0 * pow(at, 0.7 + 1.3 * depth));
        bonus[i] = (float)(depth * (1.0 - at) + zigzag);
    }
    hop__fill(w, "g_norm.bias", 0);
}

/* x_z, from δ and `low` = tanh(D (x + δ ⊙ μ)) of all lerps. */
static hop__val lerp(hop_builder *b, hop__val delta, hop__val low, int z)
{
    int64_t d = b->c->d_model, rank = lerp_rank(b->c);
    hop__val mine = hop__slice(low, z * rank, rank);
    hop_op up = {.kind = HOP_OP_LINEAR, .width = d, .dim = rank, .row = LERPS * rank};
    up.first_column = z * rank;
    hop__val by = hop__add(b, up, &mine, 1, "x_proj.2.weight", NULL);
    return hop__add(b, (hop_op){.kind = HOP_OP_LERP, .first_row = z},
                    (const hop__val[]){hop__x(b), delta, by}, 3, "x_bias", NULL);
}

static void rwkv6_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__val x = hop__x(b), before = hop__with(b, HOP_OP_SHIFT, &x, 1, NULL);
    hop__val delta = hop__with(b, HOP_OP_SUB, (const hop__val[]){before, x}, 2, NULL);
    hop__val mixed = hop__with(b, HOP_OP_LERP, (const hop__val[]){x, delta}, 2, "x_proj.0.mu");
    hop__val low = hop__act(b, hop__linear(b, mixed, "x_proj.0.linear.weight", NULL), HOP_ACT_TANH);
    hop__scan s = {
        .core = HOP_CORE_DECAY, .gate = HOP_GATE_KEY, .scale = hop__scale_or(c, 1.0), .u = "bonus"};
    s.in[HOP_SCAN_Q] = hop__linear(b, lerp(b, delta, low, LERP_R), "r_proj.linear.weight", NULL);
    s.in[HOP_SCAN_K] = hop__linear(b, lerp(b, delta, low, LERP_K), "k_proj.linear.weight", NULL);
    s.in[HOP_SCAN_V] = hop__linear(b, lerp(b, delta, low, LERP_V), "v_proj.linear.weight", NULL);
    hop__val g = hop__linear(b, lerp(b, delta, low, LERP_W), "w_proj.linear.lora.0.weight", NULL);
    g = hop__linear(b, hop__act(b, g, HOP_ACT_TANH), "w_proj.linear.lora.2.weight",
                    "w_proj.linear.lora.2.bias");
    s.in[HOP_SCAN_G] = hop__act_scaled(b, g, HOP_ACT_EXP1000, 1.0, -1.0);
    hop__val o =
        hop__groupnorm(b, hop__scan_op(b, &s), "g_norm.weight", "g_norm.bias", c->heads, HOP__NORM_EPS);
    if (HOP__OPT(c, gate)) {
        hop__val z = hop__linear(b, lerp(b, delta, low, LERP_G), "g_proj.linear.weight", NULL);
        o = hop__mul(b, o, hop__act(b, z, HOP_ACT_SILU));
    }
    hop__output(b, o, "o_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_rwkv6 = {
    .name = "rwkv6",
    .equation = "o = r^T (S + diag(u) k v^T), S = diag(e^w) S + k v^T, w = -exp(lora(x))",
    .kind = HOP_MIXER_RECURRENT,
    .options = rwkv6_options,
    .ready = rwkv6_ready,
    .params = rwkv6_params,
    .init = rwkv6_init,
    .list = rwkv6_list,
};
