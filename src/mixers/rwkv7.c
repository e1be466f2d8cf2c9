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
#include "parts.h"
#include "registry.h"

#include <math.h>

enum {
    MU_R,
    MU_W,
    MU_K,
    MU_V,
    MU_A,
    MU_G,
    KEY_K,
    KEY_A,
    BONUS,
    R,
    K,
    V,
    OUT,
    W_DOWN,
    W_UP,
    W_BIAS,
    A_DOWN,
    A_UP,
    A_BIAS,
    G_DOWN,
    G_UP,
    NORM,
    NORM_BIAS,
    PARAMS
};
enum { B_PREV, B_MIXED, B_LOW, B_R, B_W, B_K, B_V, B_A, B_B, B_O, B_G, WORK, BUFFERS };

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

static int64_t key_width(const hop_mixer_config *c)
{
    return c->heads * c->head_dim;
}

static int64_t value_width(const hop_mixer_config *c)
{
    return c->heads * HOP__OPT(c, value_dim);
}

static int rwkv7_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    static const char *const shifts[] = {"x_r", "x_w", "x_k", "x_v", "x_a", "x_g"};
    int64_t d = c->d_model, kw = key_width(c), vw = value_width(c), rank = HOP__OPT(c, rank);
    for (int i = MU_R; i <= MU_A; i++) out[i] = (hop_param){shifts[i], {d, 0}};
    out[KEY_K] = (hop_param){"k_k", {kw, 0}};
    out[KEY_A] = (hop_param){"k_a", {kw, 0}};
    out[BONUS] = (hop_param){"r_k", {c->heads, c->head_dim}};
    out[R] = (hop_param){"r_proj.weight", {kw, d}};
    out[K] = (hop_param){"k_proj.weight", {kw, d}};
    out[V] = (hop_param){"v_proj.weight", {vw, d}};
    out[OUT] = (hop_param){"o_proj.weight", {d, vw}};
    out[W_DOWN] = (hop_param){"w_lora.lora.0.weight", {rank, d}};
    out[W_UP] = (hop_param){"w_lora.lora.2.weight", {kw, rank}};
    out[W_BIAS] = (hop_param){"w_lora.lora.2.bias", {kw, 0}};
    out[A_DOWN] = (hop_param){"a_lora.lora.0.weight", {rank, d}};
    out[A_UP] = (hop_param){"a_lora.lora.2.weight", {kw, rank}};
    out[A_BIAS] = (hop_param){"a_lora.lora.2.bias", {kw, 0}};
    if (HOP__OPT(c, gate)) {
        out[MU_G] = (hop_param){shifts[MU_G], {d, 0}};
        out[G_DOWN] = (hop_param){"g_lora.lora.0.weight", {2 * rank, d}};
        out[G_UP] = (hop_param){"g_lora.lora.2.weight", {vw, 2 * rank}};
    }
    if (HOP__OPT(c, norm)) {
        out[NORM] = (hop_param){"g_norm.weight", {vw, 0}};
        out[NORM_BIAS] = (hop_param){"g_norm.bias", {vw, 0}};
    }
    return PARAMS;
}

/* Down maps 0, up maps orthogonal with gain 0.1: here normal with the same variance. */
static void init_lora(float *down, float *up, int64_t d, int64_t rank, int64_t width, hop_rng *rng)
{
    hop__fill(down, rank * d, 0);
    hop__fill_normal(up, width * rank, 0.1 / sqrt((double)rank), rng);
}

/* As flash-linear-attention (from RWKV-LM), but for two things: where it has orthogonal matrices these are
 * normal with the same variance, and o_proj is not 0, so that the layer does something before it is trained.
 */
static void rwkv7_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    static const double power[] = {0.2, 0.9, 0.7, 0.7, 0.9, 0.2};
    int64_t d = c->d_model, kw = key_width(c), rank = HOP__OPT(c, rank), dim = c->head_dim;
    double layers = c->layers > 1 ? (double)c->layers : 1.0, layer = (double)c->layer;
    double to_one = layers > 1 ? layer / (layers - 1) : 0, to_zero = 1 - layer / layers;
    for (int i = MU_R; i <= MU_G; i++)
        for (int64_t n = 0; w[i] && n < d; n++)
            w[i][n] = (float)(1 - pow((double)n / (double)d, power[i] * to_zero));
    for (int64_t n = 0; n < kw; n++) {
        double at = kw > 1 ? (double)n / (double)(kw - 1) : 0, half = 0.5 * (double)(dim - 1);
        double zigzag = dim > 1 ? ((double)(n % dim) - half) / half : 0;
        zigzag *= fabs(zigzag);
        w[KEY_K][n] = (float)(0.71 - 0.1 * (at - 0.5));
        w[W_BIAS][n] = (float)(-6 + 6 * pow(at, 1 + pow(to_one, 0.3)) + 0.5 + 2.5 * zigzag);
        w[A_BIAS][n] = (float)(-0.19 + 0.3 * zigzag + 0.4 * (at - 0.5));
    }
    hop__fill(w[KEY_A], kw, 1.02);
    hop__fill(w[BONUS], kw, -0.04);
    hop__fill_normal(w[K], kw * d, 0.1 / sqrt((double)d), rng);
    init_lora(w[W_DOWN], w[W_UP], d, rank, kw, rng);
    init_lora(w[A_DOWN], w[A_UP], d, rank, kw, rng);
    init_lora(w[G_DOWN], w[G_UP], d, 2 * rank, value_width(c), rng);
    hop__fill(w[NORM], value_width(c), pow((layer + 1) / layers, 0.7));
    hop__fill(w[NORM_BIAS], value_width(c), 0);
}

static int64_t rwkv7_state(const hop_mixer_config *c)
{
    return key_width(c) * HOP__OPT(c, value_dim) + c->d_model;
}

static int rwkv7_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t floats[HOP__BUFFERS])
{
    hop_scan s = hop__scan(c, tokens, c->head_dim, HOP__OPT(c, value_dim), HOP_GATE_KEY);
    floats[B_PREV] = floats[B_MIXED] = tokens * c->d_model;
    floats[B_LOW] = tokens * 2 * HOP__OPT(c, rank);
    floats[B_R] = floats[B_W] = floats[B_K] = floats[B_A] = floats[B_B] = tokens * key_width(c);
    floats[B_V] = floats[B_O] = tokens * value_width(c);
    floats[B_G] = HOP__OPT(c, gate) ? tokens * value_width(c) : 0;
    floats[WORK] = hop__scan_work(&s, threads);
    return BUFFERS;
}

/* x moved towards the token before it, as `mu` says. */
static const float *shifted(const hop__mix *m, int mu)
{
    int64_t d = m->c->d_model;
    float *y = m->b[B_MIXED];
    for (int64_t t = 0; t < m->tokens; t++)
        for (int64_t i = 0; i < d; i++) {
            float x = m->x[t * d + i];
            y[t * d + i] = x + m->w[mu][i] * (m->b[B_PREV][t * d + i] - x);
        }
    hop__cut(m, y, m->tokens * d);
    return y;
}

static void project(const hop__mix *m, float *y, int mu, int w, int64_t out)
{
    hop__linear(m, y, shifted(m, mu), m->w[w], NULL, (hop__shape){m->tokens, out, m->c->d_model});
}

/* y = sigmoid(W2 act(W1 x) + bias), the three parameters lying one after the other. */
static void sigmoid_lora(const hop__mix *m, float *y, int mu, int down, void (*act)(float *, int64_t))
{
    int64_t kw = key_width(m->c), rank = HOP__OPT(m->c, rank);
    float *low = m->b[B_LOW];
    project(m, low, mu, down, rank);
    if (act) act(low, m->tokens * rank);
    hop__cut(m, low, m->tokens * rank);
    hop__linear(m, y, low, m->w[down + 1], m->w[down + 2], (hop__shape){m->tokens, kw, rank});
    hop__sigmoid(y, m->tokens * kw);
    hop__cut(m, y, m->tokens * kw);
}

/* From k and η (in B_B): a = -κ̂, b = κ̂ η, and the new k. */
static void keys(const hop__mix *m)
{
    int64_t kw = key_width(m->c), n = m->tokens * kw;
    float *k = m->b[B_K], *a = m->b[B_A], *b = m->b[B_B];
    for (int64_t i = 0; i < n; i++) a[i] = k[i] * m->w[KEY_K][i % kw];
    hop__l2(a, m->tokens * m->c->heads, m->c->head_dim);
    hop__cut(m, a, n);
    for (int64_t i = 0; i < n; i++) {
        k[i] *= 1.0f + (b[i] - 1.0f) * m->w[KEY_A][i % kw];
        b[i] *= a[i];
        a[i] = -a[i];
    }
    hop__cut(m, k, n);
    hop__cut(m, b, n);
}

/* o += (Σ r k r_k) v per head, on the wanted rows. */
static void add_bonus(const hop__mix *m)
{
    int64_t heads = m->c->heads, dim = m->c->head_dim, values = HOP__OPT(m->c, value_dim);
    for (int64_t row = m->first * heads; row < m->tokens * heads; row++) {
        const float *r = m->b[B_R] + row * dim, *k = m->b[B_K] + row * dim,
                    *u = m->w[BONUS] + row % heads * dim;
        float sum = 0.0f;
        for (int64_t e = 0; e < dim; e++) sum += r[e] * k[e] * u[e];
        for (int64_t e = 0; e < values; e++) m->b[B_O][row * values + e] += sum * m->b[B_V][row * values + e];
    }
    int64_t vw = value_width(m->c);
    hop__cut(m, m->b[B_O] + m->first * vw, hop__rows(m) * vw);
}

/* o *= W2 sigmoid(W1 x_g), on the wanted rows. */
static void gate(const hop__mix *m)
{
    int64_t d = m->c->d_model, vw = value_width(m->c), rank = 2 * HOP__OPT(m->c, rank), rows = hop__rows(m);
    float *low = m->b[B_LOW], *o = m->b[B_O] + m->first * vw;
    hop__linear(m, low, shifted(m, MU_G) + m->first * d, m->w[G_DOWN], NULL, (hop__shape){rows, rank, d});
    hop__sigmoid(low, rows * rank);
    hop__cut(m, low, rows * rank);
    hop__linear(m, m->b[B_G], low, m->w[G_UP], NULL, (hop__shape){rows, vw, rank});
    hop__mul(o, m->b[B_G], rows * vw);
    hop__cut(m, o, rows * vw);
}

static void rwkv7_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    int64_t kw = key_width(c), vw = value_width(c), values = HOP__OPT(c, value_dim);
    float *w = m->b[B_W], *o = m->b[B_O];
    hop__shift(m, m->b[B_PREV], m->state + kw * values);
    project(m, m->b[B_R], MU_R, R, kw);
    project(m, m->b[B_K], MU_K, K, kw);
    project(m, m->b[B_V], MU_V, V, vw);
    sigmoid_lora(m, w, MU_W, W_DOWN, hop__tanh);
    for (int64_t i = 0; i < m->tokens * kw; i++) w[i] *= -0.6065306597126334f;
    hop__cut(m, w, m->tokens * kw);
    sigmoid_lora(m, m->b[B_B], MU_A, A_DOWN, NULL);
    keys(m);
    hop_scan s = hop__scan(c, m->tokens, c->head_dim, values, HOP_GATE_KEY);
    s.scale = hop__scale(c, 1.0);
    s.form = m->form;
    hop_scan_in in = {.q = m->b[B_R], .k = m->b[B_K], .v = m->b[B_V], .g = w, .a = m->b[B_A], .b = m->b[B_B]};
    hop_dplr_forward(o, m->state, &in, &s, m->b[WORK], m->pool);
    hop__cut(m, o, m->tokens * vw);
    hop__groupnorm(m, o, m->w[NORM], m->w[NORM_BIAS], c->heads, values, (float)c->head_dim * 1e-5f);
    add_bonus(m);
    if (HOP__OPT(c, gate)) gate(m);
    hop__output(m, o, m->w[OUT], vw);
}

static const hop__rule rwkv7_rule = {
    .params = rwkv7_params,
    .init = rwkv7_init,
    .state = rwkv7_state,
    .buffers = rwkv7_buffers,
    .mix = rwkv7_mix,
};

HOP__RECURRENT(rwkv7, "S = diag(e^w) S + b (a^T S) + k v^T, a on the un-decayed S, o = r^T S", rwkv7_ready);
