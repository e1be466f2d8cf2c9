/* Gated DeltaProduct (Siems et al. 2025; layer as in flash-linear-attention's GatedDeltaProduct).
 *
 *     n steps a token with their own k_i, v_i = ShortConv(W x), beta_i = 2 sigmoid(Wb x); q = ShortConv(Wq x)
 *     g = -exp(A_log) softplus(Wa x + dt_bias), one number a head; q and k_i of length 1
 *     S = e^g S, then for i = 1 .. n: S += beta_i k_i (v_i - Sᵀk_i)ᵀ,  o = scale qᵀS after the last
 *     y = Wo (RMSNorm(o) per head ⊙ swish(Wg x))
 *
 * A token is n tokens of gdn: the first has the decay, the last the query.
 *
 * Options: steps n (2; at least 2), value_dim (2 head_dim), conv 4, gate 1, norm 1, negative 1 (0: beta is
 * sigmoid, not twice that). With conv 0 there is neither convolution nor SiLU. kv_heads is not used.
 *
 * State: [heads, K, V] and (conv - 1) inputs of the convolutions of q, all k and all v. */
#include "delta.h"
#include "registry.h"

static const struct hop_option_default deltaproduct_options[] = {
    {HOP_OPTION_steps, 2}, {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},  {HOP_OPTION_gate, 1},
    {HOP_OPTION_norm, 1},  {HOP_OPTION_negative, 1},
    {HOP_OPTION_COUNT, 0},
};

static hop_status deltaproduct_ready(hop_mixer_config *c, hop_error *err)
{
    hop__option_default(c, HOP_OPTION_value_dim, 2 * c->head_dim);
    if (HOP__OPT(c, steps) < 2)
        return hop_fail(err, HOP_EDOMAIN, "deltaproduct: needs at least 2 steps (one step is gdn)");
    return HOP_OK;
}

static hop__delta delta_of(const hop_mixer_config *c)
{
    return (hop__delta){.key_heads = c->heads, .beta_heads = c->heads, .steps = HOP__OPT(c, steps)};
}

static int deltaproduct_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    int n = hop__delta_params(out, c, &d);
    hop__delta_decay_params(out, &n, c);
    return n;
}

static void deltaproduct_list(hop_builder *b)
{
    hop__delta d = delta_of(b->c);
    hop__scan s;
    hop__delta_inputs(b, &d, &s);
    hop__delta_decay(b, &s);
    hop__delta_output(b, hop__delta_read(b, &s));
}

const hop_mixer_ops hop__mixer_deltaproduct = {
    .name = "deltaproduct",
    .equation = "S = e^g S, then n times S += beta k (v - S^T k)^T, o = scale q^T S after the last",
    .kind = HOP_MIXER_RECURRENT,
    .options = deltaproduct_options,
    .ready = deltaproduct_ready,
    .params = deltaproduct_params,
    .init = hop__delta_decay_init,
    .list = deltaproduct_list,
};
