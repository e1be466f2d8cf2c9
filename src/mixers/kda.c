/* Kimi Delta Attention (Kimi Linear 2025; layer as in flash-linear-attention's KimiDeltaAttention): gdn with
 * a decay for every element of the key.
 *
 *     g = -exp(A_log) softplus(Wf2 Wf1 x + dt_bias), K numbers a head
 *     S = diag(e^g) S, then S += beta k (v - Sᵀk)ᵀ,  o = scale qᵀS
 *     y = Wo (RMSNorm(o) per head ⊙ sigmoid(Wg2 Wg1 x + bg))
 *
 * c->heads are the value heads, c->kv_heads the key heads. g and beta belong to key heads, and value heads
 * share them as they share k: that is what the library does when value heads outnumber key heads.
 *
 * Options: value_dim (head_dim), rank of both low-rank maps (value_dim), conv 4, gate 1, norm 1, negative 0.
 * With conv 0 there is neither convolution nor SiLU.
 *
 * State: [heads, K, V] and (conv - 1) inputs of the convolutions of q, k, v. */
#include "delta_parts.h"
#include "registry.h"

#include <math.h>
#include <string.h>

enum { F_DOWN = HOP__D_OWN, F_UP, A_LOG, DT_BIAS, G_DOWN, G_UP, G_BIAS, PARAMS };
enum { B_LOW = HOP__DB_OWN, BUFFERS };

static const struct hop_option_default kda_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rank, HOP_OPTION_UNSET},
    {HOP_OPTION_conv, 4},
    {HOP_OPTION_gate, 1},
    {HOP_OPTION_norm, 1},
    {HOP_OPTION_negative, 0},
    {HOP_OPTION_COUNT, 0},
};

static hop_status kda_ready(hop_mixer_config *c, hop_error *err)
{
    (void)err;
    hop__option_default(c, HOP_OPTION_value_dim, c->head_dim);
    hop__option_default(c, HOP_OPTION_rank, HOP__OPT(c, value_dim));
    return HOP_OK;
}

static hop__delta delta_of(const hop_mixer_config *c)
{
    return (hop__delta){.key_heads = c->kv_heads,
                        .beta_heads = c->kv_heads,
                        .steps = 1,
                        .low_rank_gate = true,
                        .gate = HOP_GATE_KEY};
}

static int kda_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    int64_t rank = HOP__OPT(c, rank), kw = hop__delta_key_width(c, &d), vw = hop__delta_value_width(c);
    hop__delta_params(out, c, &d);
    out[F_DOWN] = (hop_param){"f_proj.0.weight", {rank, c->d_model}};
    out[F_UP] = (hop_param){"f_proj.1.weight", {kw, rank}};
    out[A_LOG] = (hop_param){"A_log", {c->kv_heads, 0}};
    out[DT_BIAS] = (hop_param){"dt_bias", {kw, 0}};
    if (HOP__OPT(c, gate)) {
        out[G_DOWN] = (hop_param){"g_proj.0.weight", {rank, c->d_model}};
        out[G_UP] = (hop_param){"g_proj.1.weight", {vw, rank}};
        out[G_BIAS] = (hop_param){"g_proj.1.bias", {vw, 0}};
    }
    return PARAMS;
}

/* A uniform in [1, 16), biases 0: flash-linear-attention. */
static void kda_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    hop__delta d = delta_of(c);
    hop__delta_init(w, c, &d, rng);
    for (int64_t h = 0; h < c->kv_heads; h++) w[A_LOG][h] = (float)log(1.0 + 15.0 * hop_rng_uniform(rng));
    hop__fill(w[DT_BIAS], hop__delta_key_width(c, &d), 0);
    hop__fill(w[G_BIAS], hop__delta_value_width(c), 0);
}

static int64_t kda_state(const hop_mixer_config *c)
{
    hop__delta d = delta_of(c);
    return hop__delta_state(c, &d);
}

static int kda_buffers(const hop_mixer_config *c, int64_t tokens, int threads, int64_t floats[HOP__BUFFERS])
{
    hop__delta d = delta_of(c);
    hop__delta_buffers(floats, c, &d, tokens, threads);
    floats[B_LOW] = tokens * HOP__OPT(c, rank);
    return BUFFERS;
}

/* [rows, key heads, dim] becomes [rows, heads, dim] in place: from the end, so that nothing is overwritten
 * unread. */
static void share(float *x, const hop_mixer_config *c, int64_t rows, int64_t dim)
{
    int64_t group = c->heads / c->kv_heads;
    if (group == 1) return;
    for (int64_t i = rows * c->heads - 1; i >= 0; i--)
        memmove(x + i * dim, x + i / group * dim, sizeof(float) * (size_t)dim);
}

static void kda_mix(const hop__mix *m)
{
    const hop_mixer_config *c = m->c;
    hop__delta d = delta_of(c);
    int64_t rank = HOP__OPT(c, rank), kw = hop__delta_key_width(c, &d), vw = hop__delta_value_width(c);
    float *g = m->b[HOP__DB_G], *low = m->b[B_LOW];
    hop__delta_inputs(m, &d);
    share(m->b[HOP__DB_BETA], c, m->tokens, 1);
    hop__project(m, low, m->w[F_DOWN], NULL, rank);
    hop__linear(m, g, low, m->w[F_UP], m->w[DT_BIAS], (hop__shape){m->tokens, kw, rank});
    hop__delta_decay(m, g, m->w[A_LOG], m->tokens, c->kv_heads, c->head_dim);
    share(g, c, m->tokens, c->head_dim);
    hop__delta_scan(m, &d);
    if (HOP__OPT(c, gate)) {
        hop__project_rows(m, low, m->w[G_DOWN], NULL, rank);
        hop__linear(m, m->b[HOP__DB_Z], low, m->w[G_UP], m->w[G_BIAS], (hop__shape){hop__rows(m), vw, rank});
    }
    hop__delta_output(m, &d, HOP__SIGMOID);
}

static const hop__rule kda_rule = {
    .params = kda_params,
    .init = kda_init,
    .state = kda_state,
    .buffers = kda_buffers,
    .mix = kda_mix,
};

HOP__RECURRENT(kda, "S = diag(e^g) S, then S += beta k (v - S^T k)^T, o = scale q^T S; g a vector over K",
               kda_ready);
