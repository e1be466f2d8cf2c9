/* LFM2's gated short convolution (Lfm2ShortConv in Transformers).
 *
 *     B, C, u = Wi x + bi;   y = Wo (C ⊙ conv(B ⊙ u)) + bo,   a causal convolution along each channel, without SiLU
 *
 * Options: conv 3. Other people's: conv_bias, biases of both products and of the convolution.
 *
 * State: (conv - 1) inputs of the convolution, d_model each. */
#include "build.h"
#include "registry.h"

static const struct hop_option_default shortconv_options[] = {
    {HOP_OPTION_conv, 3},
    {HOP_OPTION_COUNT, 0},
};

static int shortconv_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    const int64_t d = c->d_model;
    const bool biased = HOP__FOREIGN(c, conv_bias) != 0;
    int n = 0;
    hop__param(out, &n, "in_proj.weight", 3 * d, d);
    if (biased) hop__param(out, &n, "in_proj.bias", 3 * d, 0);
    if (HOP__OPT(c, conv) > 0) hop__param(out, &n, "conv.weight", d, HOP__OPT(c, conv));
    if (HOP__OPT(c, conv) > 0 && biased) hop__param(out, &n, "conv.bias", d, 0);
    hop__param(out, &n, "out_proj.weight", d, d);
    if (biased) hop__param(out, &n, "out_proj.bias", d, 0);
    return n;
}

static void shortconv_init(const hop_mixer_weights *w)
{
    hop__fill_conv(w, "conv.weight");
    hop__fill(w, "in_proj.bias", 0);
    hop__fill(w, "conv.bias", 0);
    hop__fill(w, "out_proj.bias", 0);
}

static void shortconv_list(hop_builder *b)
{
    const int64_t d = b->c->d_model;
    hop__val in = hop__linear(b, hop__x(b), "in_proj.weight", "in_proj.bias");
    hop__val u = hop__mul(b, hop__slice(in, 0, d), hop__slice(in, 2 * d, d));
    u = hop__conv(b, u, "conv.weight", "conv.bias", false);
    hop__output(b, hop__mul(b, hop__slice(in, d, d), u), "out_proj.weight", "out_proj.bias");
}

const hop_mixer_ops hop__mixer_shortconv = {
    .name = "shortconv",
    .equation = "y = Wo (C * conv(B * u)), B, C, u = Wi x",
    .kind = HOP_MIXER_RECURRENT,
    .forgets = true,
    .options = shortconv_options,
    .foreign = HOP__TAKES(conv_bias),
    .params = shortconv_params,
    .init = shortconv_init,
    .list = shortconv_list,
};
