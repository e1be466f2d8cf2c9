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
#include "delta_parts.h"
#include "registry.h"

#include <math.h>

enum { A = HOP__D_OWN, A_LOG, DT_BIAS, PARAMS };

static const struct hop_option_default gdn_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_negative, 0},
    {HOP_OPTION_COUNT, 0},
};

static hop_status gdn_ready(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    hop__option_default(c, HOP_OPTION_value_dim, 2 * c->head_dim);
    return HOP_OK;
}

static hop__delta delta_of(const hop_mixer_config *c)
{
    return (hop__delta){.key_heads = c->kv_heads, .beta_heads = c->heads, .steps = 1, .gate = HOP_GATE_TOKEN};
}

static int gdn_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    hop__delta_params(out, c, &d);
    out[A] = (hop_param){"a_proj.weight", {c->heads, c->d_model}};
    out[A_LOG] = (hop_param){"A_log", {c->heads, 0}};
    out[DT_BIAS] = (hop_param){"dt_bias", {c->heads, 0}};
    return PARAMS;
}

/* A uniform in (0, 16], step sizes as Mamba-2's: flash-linear-attention. */
static void gdn_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    hop__delta d = delta_of(c);
    hop__delta_init(w, c, &d, rng);
    for (int64_t h = 0; h < c->heads; h++) w[A_LOG][h] = (float)log(16.0 * (1.0 - hop_rng_uniform(rng)));
    hop__fill_dt_bias(w[DT_BIAS], c->heads, rng);
}

static int64_t gdn_state(const hop_mixer_config *c)
{
    hop__delta d = delta_of(c);
    return hop__delta_state(c, &d);
}

static int gdn_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t floats[HOP__BUFFERS])
{
    hop__delta d = delta_of(c);
    hop__delta_buffers(floats, c, &d, tokens, threads);
    return HOP__DB_OWN;
}

static void gdn_mix(const hop__mix *m)
{
    hop__delta d = delta_of(m->c);
    float *g = m->b[HOP__DB_G];
    hop__delta_inputs(m, &d);
    hop__project(m, g, m->w[A], m->w[DT_BIAS], m->c->heads);
    hop__delta_decay(m, g, m->w[A_LOG], m->tokens, m->c->heads, 1);
    hop__delta_scan(m, &d);
    hop__delta_output(m, &d, HOP__SILU);
}

static const hop__rule gdn_rule = {
    .params = gdn_params,
    .init = gdn_init,
    .state = gdn_state,
    .buffers = gdn_buffers,
    .mix = gdn_mix,
};

HOP__RECURRENT(gdn, "S = e^g S, then S += beta k (v - S^T k)^T, o = scale q^T S; g one number a head",
               gdn_ready);
