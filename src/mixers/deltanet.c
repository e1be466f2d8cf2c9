/* DeltaNet (Schlag et al. 2021; Yang et al. 2024; layer as in flash-linear-attention's DeltaNet).
 *
 *     q, k, v = ShortConv(W x), q and k of length 1, beta = sigmoid(Wb x) (twice that with `negative`)
 *     S += beta k (v - Sᵀk)ᵀ,  o = scale qᵀS,  y = Wo RMSNorm(o) per head, times swish(Wg x) with `gate`
 *
 * Options: value_dim (head_dim), conv 4, gate 0, norm 1, negative 0. With conv 0 there is neither convolution
 * nor SiLU. kv_heads is not used.
 *
 * State: [heads, K, V] and (conv - 1) inputs of the convolutions of q, k, v. */
#include "delta.h"
#include "registry.h"

static const struct hop_option_default deltanet_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},
    {HOP_OPTION_gate, 0},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_negative, 0},
    {HOP_OPTION_COUNT, 0},
};

static hop__delta delta_of(const hop_mixer_config *c)
{
    return (hop__delta){.key_heads = c->heads, .beta_heads = c->heads, .steps = 1};
}

static int deltanet_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    return hop__delta_params(out, c, &d);
}

static void deltanet_list(hop_builder *b)
{
    hop__delta d = delta_of(b->c);
    hop__scan s;
    hop__delta_inputs(b, &d, &s);
    hop__delta_output(b, hop__delta_read(b, &s));
}

static hop_mixer_table deltanet_table(const hop_mixer_config *c)
{
    hop__delta d = delta_of(c);
    return hop__delta_table(c, &d);
}

const hop_mixer_ops hop__mixer_deltanet = {
    .name = "deltanet",
    .equation = "S += beta k (v - S^T k)^T, o = scale q^T S, q and k of length 1",
    .kind = HOP_MIXER_RECURRENT,
    .options = deltanet_options,
    .ready = hop__ready_value_dim,
    .params = deltanet_params,
    .init = hop__fill_convs,
    .list = deltanet_list,
    .table = deltanet_table,
};
