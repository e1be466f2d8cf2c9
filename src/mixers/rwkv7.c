/* RWKV-7 "Goose" (Peng et al. 2025; layer as in flash-linear-attention's RWKV7Attention).
 *
 *     x_* = x + mu_* ⊙ (x_prev - x) for r, w, k, v, a, g;   r, k, v = W x_*
 *     w = -e^(-1/2) sigmoid(lora_w), η = sigmoid(lora_a), g = W2 sigmoid(W1 x_g)
 *     κ̂ = L2(k ⊙ k_k) per head, k <- k (1 + (η - 1) k_a)
 *     S = diag(e^w) S + b (aᵀS) + k vᵀ with a = -κ̂, b = κ̂ ⊙ η on the UN-decayed S;  o = scale rᵀS
 *     y = Wo ((GroupNorm(o) + (Σ r ⊙ k ⊙ r_k) v) ⊙ g)
 *
 * lora_w = W2 tanh(W1 x) + bias, lora_a = W2 W1 x + bias. The values of the first layer that later layers of
 * the original mix in (v_lora) cross layers, which a mixer here does not see: left out.
 *
 * Options: value_dim (head_dim), rank of w's and a's maps (32 round(2.5 sqrt(d_model) head_dim / 2048), at
 * least 32; the gate's has twice that), norm 1, gate 1. scale defaults to 1. kv_heads is not used.
 *
 * State: [heads, K, V] and the last x, d_model. */
#include "build.h"
#include "registry.h"

#include <math.h>

static const struct hop_option_default rwkv7_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rank, HOP_OPTION_UNSET},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static hop_status rwkv7_ready(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    double rank = 32.0 * rint(2.5 * sqrt((double)c->d_model) * (double)c->head_dim / 64.0 / 32.0);
    hop__option_default(c, HOP_OPTION_value_dim, c->head_dim);
    hop__option_default(c, HOP_OPTION_rank, rank > 32 ? (int64_t)rank : 32);
    return HOP_OK;
}

static const char *const shifts[] = {"x_r", "x_w", "x_k", "x_v", "x_a", "x_g"};

static int rwkv7_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t d = c->d_model, kw = hop__key_width(c), vw = hop__value_width(c), rank = HOP__OPT(c, rank);
    int n = 0;
    for (int i = 0; i < (HOP__OPT(c, gate) ? 6 : 5); i++) hop__param(out, &n, shifts[i], d, 0);
    hop__param(out, &n, "k_k", kw, 0);
    hop__param(out, &n, "k_a", kw, 0);
    hop__param(out, &n, "r_k", c->heads, c->head_dim);
    hop__param(out, &n, "r_proj.weight", kw, d);
    hop__param(out, &n, "k_proj.weight", kw, d);
    hop__param(out, &n, "v_proj.weight", vw, d);
    hop__param(out, &n, "o_proj.weight", d, vw);
    hop__param(out, &n, "w_lora.lora.0.weight", rank, d);
    hop__param(out, &n, "w_lora.lora.2.weight", kw, rank);
    hop__param(out, &n, "w_lora.lora.2.bias", kw, 0);
    hop__param(out, &n, "a_lora.lora.0.weight", rank, d);
    hop__param(out, &n, "a_lora.lora.2.weight", kw, rank);
    hop__param(out, &n, "a_lora.lora.2.bias", kw, 0);
    if (HOP__OPT(c, gate)) {
        hop__param(out, &n, "g_lora.lora.0.weight", 2 * rank, d);
        hop__param(out, &n, "g_lora.lora.2.weight", vw, 2 * rank);
    }
    if (HOP__OPT(c, norm)) {
        hop__param(out, &n, "g_norm.weight", vw, 0);
        hop__param(out, &n, "g_norm.bias", vw, 0);
    }
    return n;
}

/* Down maps 0, up maps orthogonal with gain 0.1: here normal with the same variance. */
static void init_lora(const hop_mixer_weights *w, const char *down, const char *up, int64_t rank)
{
    hop__fill(w, down, 0);
    hop__fill_normal(w, up, 0.1 / sqrt((double)rank));
}

/* As flash-linear-attention (from RWKV-LM), but for two things: where it has orthogonal matrices these are
 * normal with the same variance, and o_proj is not 0, so that the layer does something before it is trained.
 */
static void rwkv7_init(const hop_mixer_weights *w)
{
    static const double power[] = {0.2, 0.9, 0.7, 0.7, 0.9, 0.2};
    const hop_mixer_config *c = w->c;
    int64_t d = c->d_model, rank = HOP__OPT(c, rank), dim = c->head_dim, kw;
    float *key_k = hop__weight(w, "k_k", &kw), *w_bias = hop__weight(w, "w_lora.lora.2.bias", &kw),
          *a_bias = hop__weight(w, "a_lora.lora.2.bias", &kw);
    double layers = c->layers > 1 ? (double)c->layers : 1.0, layer = (double)c->layer;
    double to_one = layers > 1 ? layer / (layers - 1) : 0, to_zero = 1 - layer / layers;
    for (int i = 0; i < 6; i++) {
        int64_t count;
        float *mu = hop__weight(w, shifts[i], &count);
        for (int64_t n = 0; n < count; n++)
            mu[n] = (float)(1 - pow((double)n / (double)d, power[i] * to_zero));
    }
    for (int64_t n = 0; n < kw; n++) {
        double at = kw > 1 ? (double)n / (double)(kw - 1) : 0, half = 0.5 * (double)(dim - 1);
        double zigzag = dim > 1 ? ((double)(n % dim) - half) / half : 0;
        zigzag *= fabs(zigzag);
        key_k[n] = (float)(0.71 - 0.1 * (at - 0.5));
        w_bias[n] = (float)(-6 + 6 * pow(at, 1 + pow(to_one, 0.3)) + 0.5 + 2.5 * zigzag);
        a_bias[n] = (float)(-0.19 + 0.3 * zigzag + 0.4 * (at - 0.5));
    }
    hop__fill(w, "k_a", 1.02);
    hop__fill(w, "r_k", -0.04);
    hop__fill_normal(w, "k_proj.weight", 0.1 / sqrt((double)d));
    init_lora(w, "w_lora.lora.0.weight", "w_lora.lora.2.weight", rank);
    init_lora(w, "a_lora.lora.0.weight", "a_lora.lora.2.weight", rank);
    init_lora(w, "g_lora.lora.0.weight", "g_lora.lora.2.weight", 2 * rank);
    hop__fill(w, "g_norm.weight", pow((layer + 1) / layers, 0.7));
    hop__fill(w, "g_norm.bias", 0);
}

/* W (x moved towards the token before it, as `mu` says). */
static hop__val moved(hop_builder *b, hop__val delta, const char *mu, const char *w)
{
    hop__val x = hop__with(b, HOP_OP_LERP, (const hop__val[]){hop__x(b), delta}, 2, mu);
    return hop__linear(b, x, w, NULL);
}

static void rwkv7_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__val x = hop__x(b), before = hop__with(b, HOP_OP_SHIFT, &x, 1, NULL);
    hop__val delta = hop__with(b, HOP_OP_SUB, (const hop__val[]){before, x}, 2, NULL);
    hop__val r = moved(b, delta, "x_r", "r_proj.weight");
    hop__val k = moved(b, delta, "x_k", "k_proj.weight");
    hop__val v = moved(b, delta, "x_v", "v_proj.weight");
    hop__val g = hop__act(b, moved(b, delta, "x_w", "w_lora.lora.0.weight"), HOP_ACT_TANH);
    g = hop__linear(b, g, "w_lora.lora.2.weight", "w_lora.lora.2.bias");
    g = hop__act_scaled(b, g, HOP_ACT_SIGMOID, 1.0, -0.6065306597126334);
    hop__val eta = moved(b, delta, "x_a", "a_lora.lora.0.weight");
    eta = hop__act(b, hop__linear(b, eta, "a_lora.lora.2.weight", "a_lora.lora.2.bias"), HOP_ACT_SIGMOID);
    hop__val kappa = hop__grouped(b, HOP_OP_L2, hop__with(b, HOP_OP_WEIGH, &k, 1, "k_k"), c->heads, NULL);
    k = hop__with(b, HOP_OP_BLEND, (const hop__val[]){k, eta}, 2, "k_a");
    hop__scan s = {.core = HOP_CORE_DPLR, .gate = HOP_GATE_KEY, .scale = hop__scale_or(c, 1.0)};
    s.in[HOP_SCAN_Q] = r, s.in[HOP_SCAN_K] = k, s.in[HOP_SCAN_V] = v, s.in[HOP_SCAN_G] = g;
    s.in[HOP_SCAN_B] = hop__mul(b, eta, kappa);
    s.in[HOP_SCAN_A] = hop__act_scaled(b, kappa, HOP_ACT_COPY, 1.0, -1.0);
    hop__val o = hop__groupnorm(b, hop__scan_op(b, &s), "g_norm.weight", "g_norm.bias", c->heads,
                                (double)c->head_dim * HOP__NORM_EPS);
    hop_op bonus = {.kind = HOP_OP_BONUS, .groups = c->heads, .dim = c->head_dim};
    o = hop__add(b, bonus, (const hop__val[]){o, r, k, v}, 4, "r_k", NULL);
    if (HOP__OPT(c, gate)) {
        hop__val z = hop__act(b, moved(b, delta, "x_g", "g_lora.lora.0.weight"), HOP_ACT_SIGMOID);
        o = hop__mul(b, o, hop__linear(b, z, "g_lora.lora.2.weight", NULL));
    }
    hop__output(b, o, "o_proj.weight", NULL);
}

const hop_mixer_ops hop__mixer_rwkv7 = {
    .name = "rwkv7",
    .equation = "S = diag(e^w) S + b (a^T S) + k v^T, a on the un-decayed S, o = r^T S",
    .kind = HOP_MIXER_RECURRENT,
    .options = rwkv7_options,
    .ready = rwkv7_ready,
    .params = rwkv7_params,
    .init = rwkv7_init,
    .list = rwkv7_list,
};
