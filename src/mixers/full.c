/* Full softmax attention: H heads, grouped key-value heads, optional RoPE.
 *
 *     q = Wq x, k = Wk x, v = Wv x;   y_t = Wo [ sum_{j<=t} softmax_j(scale q_t·k_j) v_j ]
 *
 * The state is the key-value cache, one row [k | v] per token: it grows, which is what "full" costs. */
#include "attention_parts.h"
#include "registry.h"

static int64_t full_state_floats(const hop_mixer_config *c, int64_t t)
{
    return t * 2 * hop__kv_width(c);
}

static size_t full_scratch(const hop_mixer_config *c, int64_t tokens, int threads)
{
    return hop__attention_scratch(c, tokens, 0, threads);
}

static void full_forward(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io)
{
    hop__attention_forward(c, w, io, 0);
}

static size_t full_step_scratch(const hop_mixer_config *c, int64_t t)
{
    return hop__attention_scratch(c, t + 1, t, 1);
}

static void full_step(const hop_mixer_config *c, const float *const *w, float *state, int64_t t,
                      const hop_mixer_io *io)
{
    hop__attention_step(c, w, state, (const int64_t[2]){t, t + 1}, t, io);
}

const hop_mixer_ops hop__mixer_full = {
    .name = "full",
    .equation = "y_t = Wo sum_{j<=t} softmax_j(scale q_t.k_j) v_j",
    .recurrent = false,
    .params = hop__attention_params,
    .init = hop__attention_init,
    .state_floats = full_state_floats,
    .scratch = full_scratch,
    .forward = full_forward,
    .step_scratch = full_step_scratch,
    .step = full_step,
};
