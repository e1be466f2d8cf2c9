/* Sliding-window attention: full (same parameters), restricted to the last W positions, the current one
 * included.
 *
 *     y_t = Wo [ sum_{t-W < j <= t} softmax_j(scale q_t·k_j) v_j ]
 *
 * Options: window (W, default 512), and those of full but latent.
 *
 * State: a key-value cache of at most W rows [k | v]. The state is bounded, but the layer is attention and
 * not a recurrence in the sense of MIXERS.md. */
#include "build.h"
#include "registry.h"

static const struct hop_option_default window_options[] = {
    {HOP_OPTION_window, 512}, {HOP_OPTION_value_dim, HOP_OPTION_UNSET},
    {HOP_OPTION_rope_dim, 0}, {HOP_OPTION_qk_norm, 0},
    {HOP_OPTION_gate, 0},     {HOP_OPTION_COUNT, 0},
};

static hop_status window_ready(hop_mixer_config *c, hop_error *err)
{
    hop_status s = hop__ready_causal(c, "window", err);
    return s == HOP_OK ? hop__ready_attention(c, "window", err) : s;
}

static void window_list(hop_builder *b)
{
    hop_op *op = hop__attention(b, HOP_OP_ATTEND);
    op->window = HOP__OPT(b->c, window);
    hop__attention_end(b, op);
}

const hop_mixer_ops hop__mixer_window = {
    .name = "window",
    .equation = "y_t = Wo sum_{t-W<j<=t} softmax_j(scale q_t.k_j) v_j",
    .kind = HOP_MIXER_WINDOW,
    .options = window_options,
    .foreign = HOP__FOREIGN_ATTENTION,
    .ready = window_ready,
    .params = hop__attention_params,
    .list = window_list,
};
