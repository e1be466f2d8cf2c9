/* Full softmax attention: H heads, grouped key-value heads, optional RoPE.
 *
 *     q = Wq x, k = Wk x, v = Wv x;   y_t = Wo [ sum_{j<=t} softmax_j(scale q_t·k_j) v_j ]
 *
 * Options: value_dim (head_dim); rope_dim (0: all), the first numbers of a head, which alone RoPE turns;
 * qk_norm (0), RMS norms of q and k per head before RoPE, as Qwen3 has them; gate (0), the heads' output ⊙
 * σ(Wg x), as Qwen3-Next; latent (0), k and v from RMSNorm(Wa x) of so many numbers: multi-head latent
 * attention without its shared, rotated part of the key.
 *
 * The state is the key-value cache, one row [k | v] per token: it grows, which is what "full" costs. */
#include "build.h"
#include "registry.h"

static const struct hop_option_default full_options[] = {
    {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rope_dim, 0},
    {HOP_OPTION_qk_norm, 0},
    {HOP_OPTION_gate, 0},
    {HOP_OPTION_latent, 0},
    {HOP_OPTION_COUNT, 0},
};

static hop_status full_ready(hop_mixer_config *c, hop_error *err)
{
    return hop__ready_attention(c, "full", err);
}

static void full_list(hop_builder *b)
{
    hop_op *op = hop__attention(b, HOP_OP_ATTEND);
    op->bidirectional = b->c->bidirectional;
    hop__attention_end(b, op);
}

const hop_mixer_ops hop__mixer_full = {
    .name = "full",
    .equation = "y_t = Wo sum_{j<=t} softmax_j(scale q_t.k_j) v_j",
    .kind = HOP_MIXER_FULL,
    .options = full_options,
    .foreign = HOP__FOREIGN_ATTENTION,
    .ready = full_ready,
    .params = hop__attention_params,
    .list = full_list,
};
