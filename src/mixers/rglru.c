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
#include "build.h"
#include "registry.h"

#include <math.h>

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
    int n = 0;
    if (HOP__OPT(c, gate)) {
        hop__param(out, &n, "linear_y.weight", width, c->d_model);
        hop__param(out, &n, "linear_y.bias", width, 0);
    }
    hop__param(out, &n, "linear_x.weight", width, c->d_model);
    hop__param(out, &n, "linear_x.bias", width, 0);
    if (HOP__OPT(c, conv) > 0) {
        hop__param(out, &n, "conv_1d.weight", width, HOP__OPT(c, conv));
        hop__param(out, &n, "conv_1d.bias", width, 0);
    }
    hop__param(out, &n, "rg_lru.input_gate_weight", width, block);
    hop__param(out, &n, "rg_lru.input_gate_bias", width, 0);
    hop__param(out, &n, "rg_lru.recurrent_gate_weight", width, block);
    hop__param(out, &n, "rg_lru.recurrent_gate_bias", width, 0);
    hop__param(out, &n, "rg_lru.recurrent_param", width, 0);
    hop__param(out, &n, "linear_out.weight", c->d_model, width);
    hop__param(out, &n, "linear_out.bias", c->d_model, 0);
    return n;
}

/* Biases 0; a² uniform in [0.9², 0.999²] when r = 1/8; variances 0.01 / taps and 2 / (layers width):
 * RecurrentGemma. */
static void rglru_init(const hop_mixer_weights *w)
{
    static const char *const zero[] = {"linear_y.bias",
                                       "linear_x.bias",
                                       "conv_1d.bias",
                                       "rg_lru.input_gate_bias",
                                       "rg_lru.recurrent_gate_bias",
                                       "linear_out.bias"};
    const hop_mixer_config *c = w->c;
    double layers = c->layers > 0 ? (double)c->layers : 1.0;
    int64_t width;
    float *lambda = hop__weight(w, "rg_lru.recurrent_param", &width);
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) hop__fill(w, zero[i], 0);
    hop__fill_normal(w, "conv_1d.weight", sqrt(0.01 / (double)HOP__OPT(c, conv)));
    hop__fill_normal(w, "linear_out.weight", sqrt(2.0 / (layers * (double)width)));
    for (int64_t i = 0; i < width; i++) {
        double log_a = 0.5 * log(0.81 + (0.998001 - 0.81) * hop_rng_uniform(w->rng) + 1e-8);
        lambda[i] = (float)log(expm1(-log_a));
    }
}

/* sigmoid(block-diagonal(x) + bias). */
static hop__val block_gate(hop_builder *b, hop__val x, const char *w, const char *bias)
{
    x = hop__add(b, (hop_op){.kind = HOP_OP_BLOCKS, .groups = b->c->heads}, &x, 1, w, bias);
    return hop__act(b, x, HOP_ACT_SIGMOID);
}

static void rglru_list(hop_builder *b)
{
    hop__val x = hop__linear(b, hop__x(b), "linear_x.weight", "linear_x.bias");
    x = hop__conv(b, x, "conv_1d.weight", "conv_1d.bias", false);
    hop__val r = block_gate(b, x, "rg_lru.recurrent_gate_weight", "rg_lru.recurrent_gate_bias");
    hop__val i = block_gate(b, x, "rg_lru.input_gate_weight", "rg_lru.input_gate_bias");
    hop__val log_a = hop__with(b, HOP_OP_LRU_RATE, &r, 1, "rg_lru.recurrent_param");
    hop__val in = hop__with(b, HOP_OP_LRU_INPUT, (const hop__val[]){log_a, i, x}, 3, NULL);
    hop__val a = hop__act(b, log_a, HOP_ACT_EXP);
    hop__val o = hop__with(b, HOP_OP_DIAGONAL, (const hop__val[]){a, in}, 2, NULL);
    o = hop__gate(b, o, "linear_y.weight", "linear_y.bias", HOP_ACT_GELU);
    hop__output(b, o, "linear_out.weight", "linear_out.bias");
}

const hop_mixer_ops hop__mixer_rglru = {
    .name = "rglru",
    .equation = "h = a h + sqrt(1 - a^2) (i x), log a = -8 r softplus(Lambda), per channel",
    .kind = HOP_MIXER_RECURRENT,
    .spare = 1, /* gates are made from channels */
    .options = rglru_options,
    .ready = rglru_ready,
    .params = rglru_params,
    .init = rglru_init,
    .list = rglru_list,
};
