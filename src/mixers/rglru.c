/* RG-LRU (Griffin, De et al. 2024; block as in RecurrentGemma).
 *
 *     x = conv(Wx u + bx) + bias (no SiLU);  r = sigmoid(BDa x + ba), i = sigmoid(BDx x + bi), block-diagonal
 *     log a = -8 r softplus(Λ);  h = a ⊙ h + sqrt(1 - a²) ⊙ i ⊙ x;  y = Wo (h ⊙ gelu(Wy u + by)) + bo
 *
 * The gates have c->heads blocks, stored [heads · block, block] with rows for inputs, as RecurrentGemma has
 * them.
 *
 * Options: inner (the width; heads · head_dim, a multiple of heads), conv 4, gate 1 (the gelu branch).
 *
 * State: [inner] and (conv - 1) inputs of the convolution, inner each. */
#include "parts.h"
#include "registry.h"

#include <math.h>

enum {
    LINEAR_Y,
    BIAS_Y,
    LINEAR_X,
    BIAS_X,
    CONV,
    CONV_BIAS,
    IN_GATE,
    IN_BIAS,
    A_GATE,
    A_BIAS,
    LAMBDA,
    OUT,
    OUT_BIAS,
    PARAMS
};
enum { B_RAW, B_X, B_R, B_I, B_RATE, B_O, B_Z, BUFFERS };

static const struct hop_option_default rglru_options[] = {
    {HOP_OPTION_inner, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_COUNT, 0},
};

static hop_status rglru_ready(hop_mixer_config *c, hop_error *err)
{
    hop__option_default(c, HOP_OPTION_inner, c->heads * c->head_dim);
    if (HOP__OPT(c, inner) % c->heads)
        return hop_fail(err, HOP_EDOMAIN, "rglru: inner width %lld is no multiple of %lld heads",
                        (long long)HOP__OPT(c, inner), (long long)c->heads);
    return HOP_OK;
}

static int rglru_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    int64_t width = HOP__OPT(c, inner), block = width / c->heads;
    if (HOP__OPT(c, gate)) {
        out[LINEAR_Y] = (hop_param){"linear_y.weight", {width, c->d_model}};
        out[BIAS_Y] = (hop_param){"linear_y.bias", {width, 0}};
    }
    out[LINEAR_X] = (hop_param){"linear_x.weight", {width, c->d_model}};
    out[BIAS_X] = (hop_param){"linear_x.bias", {width, 0}};
    if (HOP__OPT(c, conv) > 0) {
        out[CONV] = (hop_param){"conv_1d.weight", {width, HOP__OPT(c, conv)}};
        out[CONV_BIAS] = (hop_param){"conv_1d.bias", {width, 0}};
    }
    out[IN_GATE] = (hop_param){"rg_lru.input_gate_weight", {width, block}};
    out[IN_BIAS] = (hop_param){"rg_lru.input_gate_bias", {width, 0}};
    out[A_GATE] = (hop_param){"rg_lru.recurrent_gate_weight", {width, block}};
    out[A_BIAS] = (hop_param){"rg_lru.recurrent_gate_bias", {width, 0}};
    out[LAMBDA] = (hop_param){"rg_lru.recurrent_param", {width, 0}};
    out[OUT] = (hop_param){"linear_out.weight", {c->d_model, width}};
    out[OUT_BIAS] = (hop_param){"linear_out.bias", {c->d_model, 0}};
    return PARAMS;
}

/* Biases 0; a² uniform in [0.9², 0.999²] when r = 1/8; variances 0.01 / taps and 2 / (layers width):
 * RecurrentGemma. */
static void rglru_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    int64_t width = HOP__OPT(c, inner), taps = HOP__OPT(c, conv);
    double layers = c->layers > 0 ? (double)c->layers : 1.0;
    const int zero[] = {BIAS_Y, BIAS_X, CONV_BIAS, IN_BIAS, A_BIAS};
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) hop__fill(w[zero[i]], width, 0);
    hop__fill(w[OUT_BIAS], c->d_model, 0);
    if (taps > 0) hop__fill_normal(w[CONV], width * taps, sqrt(0.01 / (double)taps), rng);
    hop__fill_normal(w[OUT], c->d_model * width, sqrt(2.0 / (layers * (double)width)), rng);
    for (int64_t i = 0; i < width; i++) {
        double log_a = 0.5 * log(0.81 + (0.998001 - 0.81) * hop_rng_uniform(rng) + 1e-8);
        w[LAMBDA][i] = (float)log(expm1(-log_a));
    }
}

static int64_t rglru_state(const hop_mixer_config *c)
{
    int64_t width = HOP__OPT(c, inner);
    return width + hop__past_floats(c, width);
}

static int rglru_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t floats[HOP__BUFFERS])
{
    int64_t n = tokens * HOP__OPT(c, inner);
    (void)threads;
    floats[B_RAW] = HOP__OPT(c, conv) > 0 ? n : 0;
    floats[B_X] = floats[B_R] = floats[B_I] = floats[B_O] = n;
    floats[B_RATE] = HOP__OPT(c, inner);
    floats[B_Z] = HOP__OPT(c, gate) ? n : 0;
    return BUFFERS;
}

/* x = conv(linear_x(u)); there is no activation behind this convolution. */
static void branch(const hop__mix *m)
{
    int64_t width = HOP__OPT(m->c, inner), taps = HOP__OPT(m->c, conv);
    float *x = m->b[B_X];
    hop__project(m, taps > 0 ? m->b[B_RAW] : x, m->w[LINEAR_X], m->w[BIAS_X], width);
    if (taps == 0) return;
    hop_conv conv = {.tokens = m->tokens, .width = width, .size = taps, .x_stride = width, .y_stride = width};
    hop_conv_forward(x, taps > 1 ? m->state + width : NULL, m->b[B_RAW], m->w[CONV], m->w[CONV_BIAS], &conv);
    hop__cut(m, x, m->tokens * width);
}

/* y = sigmoid(block-diagonal(x) + bias). */
static void block_gate(const hop__mix *m, float *y, const float *w, const float *bias)
{
    int64_t width = HOP__OPT(m->c, inner), block = width / m->c->heads;
    for (int64_t h = 0; h < m->c->heads; h++)
        hop_gemm(y + h * block, width, (hop_mat){m->b[B_X] + h * block, width, 1},
                 (hop_mat){w + h * block * block, block, 1}, m->tokens, block, block, false, m->pool);
    for (int64_t t = 0; t < m->tokens; t++) hop_add(y + t * width, y + t * width, bias, width);
    hop__sigmoid(y, m->tokens * width);
    hop__cut(m, y, m->tokens * width);
}

/* r becomes a, and i the input sqrt(1 - a²) i x. 1 - a² comes from the logarithm: a itself is too coarse
 * near 1. */
static void decays(const hop__mix *m)
{
    int64_t width = HOP__OPT(m->c, inner);
    float *rate = m->b[B_RATE], *r = m->b[B_R], *i = m->b[B_I];
    for (int64_t e = 0; e < width; e++) rate[e] = m->w[LAMBDA][e];
    hop__softplus(rate, width);
    for (int64_t t = 0; t < m->tokens; t++)
        for (int64_t e = 0; e < width; e++) {
            int64_t at = t * width + e;
            r[at] = -8.0f * r[at] * fminf(rate[e], 1e30f);
            i[at] = sqrtf(-expm1f(2.0f * r[at])) * (i[at] * m->b[B_X][at]);
        }
    hop__exp(r, m->tokens * width);
    hop__cut(m, r, m->tokens * width);
    hop__cut(m, i, m->tokens * width);
}

static void rglru_mix(const hop__mix *m)
{
    int64_t width = HOP__OPT(m->c, inner), rows = hop__rows(m);
    float *o = m->b[B_O], *z = m->b[B_Z];
    branch(m);
    block_gate(m, m->b[B_R], m->w[A_GATE], m->w[A_BIAS]);
    block_gate(m, m->b[B_I], m->w[IN_GATE], m->w[IN_BIAS]);
    decays(m);
    hop_diagonal_forward(o, m->state, m->b[B_R], m->b[B_I], m->tokens, width, width);
    hop__cut(m, o, m->tokens * width);
    if (z) {
        hop__project_rows(m, z, m->w[LINEAR_Y], m->w[BIAS_Y], width);
        hop_gelu(z, z, rows * width);
        hop__cut(m, z, rows * width);
        hop__mul(o + m->first * width, z, rows * width);
        hop__cut(m, o + m->first * width, rows * width);
    }
    hop__linear(m, m->y, o + m->first * width, m->w[OUT], m->w[OUT_BIAS],
                (hop__shape){rows, m->c->d_model, width});
}

static const hop__rule rglru_rule = {
    .params = rglru_params,
    .init = rglru_init,
    .state = rglru_state,
    .buffers = rglru_buffers,
    .mix = rglru_mix,
};

HOP__RECURRENT(rglru, "h = a h + sqrt(1 - a^2) (i x), log a = -8 r softplus(Lambda), per channel",
               rglru_ready);
