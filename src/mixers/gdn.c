/* Gated DeltaNet (Yang, Kautz, Hatamizadeh 2024; layer as in flash-linear-attention and Qwen3-Next).
 *
 *     q, k, v = ShortConv(W x), q and k of length 1, beta = sigmoid(Wb x) (twice that with `negative`)
 *     g = -exp(A_log) softplus(Wa x + dt_bias), one number a value head
 *     S = e^g S, then S += beta k (v - Sᵀk)ᵀ on the decayed S,  o = scale qᵀS
 *     y = Wo (RMSNorm(o) per head ⊙ swish(Wg x))
 *
 * c->heads are the value heads, c->kv_heads the key heads; a key head serves consecutive value heads.
 *
 * Options: value_dim (2 head_dim), conv 4, gate 1, norm 1, negative 0. With conv 0 there is neither
 * convolution nor SiLU.
 *
 * State: [heads, K, V] and (conv - 1) inputs of the convolutions of q, k, v. */
#include "delta.h"
#include "registry.h"

static const struct hop_option_default gdn_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_negative, 0},
    {HOP_OPTION_COUNT, 0},
};

static hop__delta delta_of(const hop_mixer_config *c)
{
    return (hop__delta){.key_heads = c->kv_heads, .beta_heads = c->heads, .steps = 1};
}

static int gdn_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    int n = hop__delta_params(out, c, &d);
    hop__delta_decay_params(out, &n, c);
    return n;
}

static void gdn_list(hop_builder *b)
{
    hop__delta d = delta_of(b->c);
    hop__scan s;
    hop__delta_inputs(b, &d, &s);
    hop__delta_decay(b, &s);
    hop__delta_output(b, hop__delta_read(b, &s));
}

static hop_mixer_table gdn_table(const hop_mixer_config *c)
{
    hop__delta d = delta_of(c);
    return hop__delta_table(c, &d);
}

const hop_mixer_ops hop__mixer_gdn = {
    .name = "gdn",
    .equation = "S = e^g S, then S += beta k (v - S^T k)^T, o = scale q^T S; g one number a head",
    .kind = HOP_MIXER_RECURRENT,
    .options = gdn_options,
    .foreign = HOP__TAKES(norm_eps),
    .ready = hop__ready_wide,
    .params = gdn_params,
    .init = hop__delta_decay_init,
    .list = gdn_list,
    .table = gdn_table,
};
