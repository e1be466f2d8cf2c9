/* DeltaNet (Schlag et al. 2021; Yang et al. 2024; layer as in flash-linear-attention's DeltaNet).
 *
 *     q, k, v = ShortConv(W x), q and k of length 1, beta = sigmoid(Wb x) (twice that with `negative`)
 *     S += beta k (v - Sᵀk)ᵀ,  o = scale qᵀS,  y = Wo RMSNorm(o) per head, times swish(Wg x) with `gate`
 *
 * Options: value_dim (head_dim), conv 4, gate 0, norm 1, negative 0. With conv 0 there is neither convolution
 * nor SiLU. kv_heads is not used.
 *
 * State: [heads, K, V] and (conv - 1) inputs of the convolutions of q, k, v. */
#include "delta_parts.h"
#include "registry.h"

static const struct hop_option_default deltanet_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},
    {HOP_OPTION_gate, 0},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_negative, 0},
    {HOP_OPTION_COUNT, 0},
};

static hop_status deltanet_ready(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    hop__option_default(c, HOP_OPTION_value_dim, c->head_dim);
    return HOP_OK;
}

static hop__delta delta_of(const hop_mixer_config *c)
{
    return (hop__delta){.key_heads = c->heads, .beta_heads = c->heads, .steps = 1, .gate = HOP_GATE_NONE};
}

static int deltanet_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    hop__delta_params(out, c, &d);
    return HOP__D_OWN;
}

/* The library's initialisation is the model's; only the convolutions have their own (nn.Conv1d). */
static void deltanet_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    hop__delta d = delta_of(c);
    hop__delta_init(w, c, &d, rng);
}

static int64_t deltanet_state(const hop_mixer_config *c)
{
    hop__delta d = delta_of(c);
    return hop__delta_state(c, &d);
}

static int deltanet_buffers(const hop_mixer_config *c, int64_t tokens, int threads,
                            int64_t floats[HOP__BUFFERS])
{
    hop__delta d = delta_of(c);
    hop__delta_buffers(floats, c, &d, tokens, threads);
    return HOP__DB_OWN;
}

static void deltanet_mix(const hop__mix *m)
{
    hop__delta d = delta_of(m->c);
    hop__delta_inputs(m, &d);
    hop__delta_scan(m, &d);
    hop__delta_output(m, &d, HOP__SILU);
}

static const hop__rule deltanet_rule = {
    .params = deltanet_params,
    .init = deltanet_init,
    .state = deltanet_state,
    .buffers = deltanet_buffers,
    .mix = deltanet_mix,
};

HOP__RECURRENT(deltanet, "S += beta k (v - S^T k)^T, o = scale q^T S, q and k of length 1", deltanet_ready);
