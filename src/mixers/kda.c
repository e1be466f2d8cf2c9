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
#include "delta.h"
#include "registry.h"

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
    return (hop__delta){
        .key_heads = c->kv_heads, .beta_heads = c->kv_heads, .steps = 1, .low_rank_gate = true};
}

static int kda_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    hop__delta d = delta_of(c);
    int64_t rank = HOP__OPT(c, rank), kw = c->kv_heads * c->head_dim, vw = hop__value_width(c);
    int n = hop__delta_params(out, c, &d);
    hop__param(out, &n, "f_proj.0.weight", rank, c->d_model);
    hop__param(out, &n, "f_proj.1.weight", kw, rank);
    hop__param(out, &n, "A_log", c->kv_heads, 0);
    hop__param(out, &n, "dt_bias", kw, 0);
    if (HOP__OPT(c, gate)) {
        hop__param(out, &n, "g_proj.0.weight", rank, c->d_model);
        hop__param(out, &n, "g_proj.1.weight", vw, rank);
        hop__param(out, &n, "g_proj.1.bias", vw, 0);
    }
    return n;
}

/* A uniform in [1, 16), biases 0: flash-linear-attention. */
static void kda_init(const hop_mixer_weights *w)
{
    hop__fill_convs(w);
    hop__fill_log_uniform(w, "A_log", 1.0, 16.0);
    hop__fill(w, "dt_bias", 0);
    hop__fill(w, "g_proj.1.bias", 0);
}

static void kda_list(hop_builder *b)
{
    const hop_mixer_config *c = b->c;
    hop__delta d = delta_of(c);
    hop__scan s;
    hop__delta_inputs(b, &d, &s);
    hop__val g = hop__linear(b, hop__x(b), "f_proj.0.weight", NULL);
    g = hop__act(b, hop__linear(b, g, "f_proj.1.weight", "dt_bias"), HOP_ACT_SOFTPLUS);
    g = hop__grouped(b, HOP_OP_RATE, g, c->kv_heads, "A_log");
    s.gate = HOP_GATE_KEY;
    s.in[HOP_SCAN_G] = hop__repeat(b, g, c->heads, c->heads / c->kv_heads);
    hop__val o = hop__delta_read(b, &s);
    if (HOP__OPT(c, gate)) {
        hop__val low = hop__linear(b, hop__x(b), "g_proj.0.weight", NULL);
        hop__val z = hop__linear(b, low, "g_proj.1.weight", "g_proj.1.bias");
        o = hop__mul(b, o, hop__act(b, z, HOP_ACT_SIGMOID));
    }
    hop__delta_output(b, o);
}

static hop_mixer_table kda_table(const hop_mixer_config *c)
{
    hop__delta d = delta_of(c);
    return hop__delta_table(c, &d);
}

const hop_mixer_ops hop__mixer_kda = {
    .name = "kda",
    .equation = "S = diag(e^g) S, then S += beta k (v - S^T k)^T, o = scale q^T S; g a vector over K",
    .kind = HOP_MIXER_RECURRENT,
    .options = kda_options,
    .ready = kda_ready,
    .params = kda_params,
    .init = kda_init,
    .list = kda_list,
    .table = kda_table,
};
