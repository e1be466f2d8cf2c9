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
#include "delta_parts.h"
#include "registry.h"

#include <math.h>
#include <string.h>

enum { A = HOP__D_OWN, A_LOG, DT_BIAS, PARAMS };

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
    return (hop__delta){
        .key_heads = c->heads, .beta_heads = c->heads, .steps = HOP__OPT(c, steps), .gate = HOP_GATE_TOKEN};
}

static int deltaproduct_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    hop__delta_params(out, c, &d);
    out[A] = (hop_param){"a_proj.weight", {c->heads, c->d_model}};
    out[A_LOG] = (hop_param){"A_log", {c->heads, 0}};
    out[DT_BIAS] = (hop_param){"dt_bias", {c->heads, 0}};
    return PARAMS;
}

/* As gdn: flash-linear-attention. */
static void deltaproduct_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    hop__delta d = delta_of(c);
    hop__delta_init(w, c, &d, rng);
    for (int64_t h = 0; h < c->heads; h++) w[A_LOG][h] = (float)log(16.0 * (1.0 - hop_rng_uniform(rng)));
    hop__fill_dt_bias(w[DT_BIAS], c->heads, rng);
}

static int64_t deltaproduct_state(const hop_mixer_config *c)
{
    hop__delta d = delta_of(c);
    return hop__delta_state(c, &d);
}

static int deltaproduct_buffers(const hop_mixer_config *c, int64_t tokens, int threads,
                                int64_t floats[HOP__BUFFERS])
{
    hop__delta d = delta_of(c);
    hop__delta_buffers(floats, c, &d, tokens, threads);
    return HOP__DB_OWN;
}

/* Rows of x [rows, width] become rows i·n + at of [rows·n, width], in place and from the end; zeros between.
 */
static void spread(float *x, int64_t rows, int64_t width, int64_t n, int64_t at)
{
    size_t bytes = sizeof(float) * (size_t)width;
    for (int64_t i = rows - 1; i >= 0; i--) {
        memmove(x + (i * n + at) * width, x + i * width, bytes);
        for (int64_t j = 0; j < n; j++)
            if (j != at) memset(x + (i * n + j) * width, 0, bytes);
    }
}

/* Rows n-1, 2n-1, .. of x move to the front. */
static void gather_last(float *x, int64_t rows, int64_t width, int64_t n)
{
    for (int64_t i = 0; i < rows; i++)
        memmove(x + i * width, x + (i * n + n - 1) * width, sizeof(float) * (size_t)width);
}

static void deltaproduct_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    hop__delta d = delta_of(c);
    float *g = m->b[HOP__DB_G];
    hop__delta_inputs(m, &d);
    hop__project(m, g, m->w[A], m->w[DT_BIAS], c->heads);
    hop__delta_decay(m, g, m->w[A_LOG], m->tokens, c->heads, 1);
    spread(g, m->tokens, c->heads, d.steps, 0);
    spread(m->b[HOP__DB_Q], m->tokens, hop__delta_key_width(c, &d), d.steps, d.steps - 1);
    hop__delta_scan(m, &d);
    gather_last(m->b[HOP__DB_O], m->tokens, hop__delta_value_width(c), d.steps);
    hop__delta_output(m, &d, HOP__SILU);
}

static const hop__rule deltaproduct_rule = {
    .params = deltaproduct_params,
    .init = deltaproduct_init,
    .state = deltaproduct_state,
    .buffers = deltaproduct_buffers,
    .mix = deltaproduct_mix,
};

HOP__RECURRENT(deltaproduct,
               "S = e^g S, then n times S += beta k (v - S^T k)^T, o = scale q^T S after the last",
               deltaproduct_ready);
