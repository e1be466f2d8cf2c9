/* Full softmax attention: H heads, grouped key-value heads, optional RoPE.
 *
 *     q = Wq x, k = Wk x, v = Wv x;   y_t = Wo [ sum_{j<=t} softmax_j(scale q_t·k_j) v_j ]
 *
 * The state is the key-value cache, one row [k | v] per token: it grows, which is what "full" costs. */
#include "build.h"
#include "registry.h"

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
    .params = hop__attention_params,
    .list = full_list,
};
