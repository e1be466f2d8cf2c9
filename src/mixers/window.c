/* Sliding-window attention: full (same parameters), restricted to the last W positions, the current one
 * included.
 *
 *     y_t = Wo [ sum_{t-W < j <= t} softmax_j(scale q_t·k_j) v_j ]
 *
 * Options: window (W, default 512).
 *
 * State: a key-value cache of at most W rows [k | v]. Token t lies in row t mod W, so the cache grows until
 * it holds W tokens and from then on the newest takes the row of the one that fell out. Keys are rotated by
 * their own position before they are kept, and softmax does not care for the order of rows. The state is
 * bounded, but the layer is attention and not a recurrence in the sense of MIXERS.md: `recurrent` is false.
 */
#include "attention_parts.h"
#include "registry.h"

static const struct hop_option_default window_options[] = {
    {HOP_OPTION_window, 512},
    {HOP_OPTION_COUNT, 0},
};

static hop_status window_ready(hop_mixer_config *c, hop_error *err)
{
    return hop__attention_causal_only(c, "window", err);
}

static int64_t rows_after(const hop_mixer_config *c, int64_t t)
{
    int64_t window = c->option[HOP_OPTION_window];
    return t < window ? t : window;
}

static int64_t window_state_floats(const hop_mixer_config *c, int64_t t)
{
    return rows_after(c, t) * 2 * hop__kv_width(c);
}

static size_t window_scratch(const hop_mixer_config *c, int64_t tokens, int threads)
{
    return hop__attention_scratch(c, tokens, 0, threads);
}

static void window_forward(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io)
{
    hop__attention_forward(c, w, io, c->option[HOP_OPTION_window]);
}

static size_t window_step_scratch(const hop_mixer_config *c, int64_t t)
{
    int64_t rows = rows_after(c, t + 1);
    return hop__attention_scratch(c, rows, rows - 1, 1);
}

static void window_step(const hop_mixer_config *c, const float *const *w, float *state, int64_t t,
                        const hop_mixer_io *io)
{
    int64_t row = t % c->option[HOP_OPTION_window];
    hop__attention_step(c, w, state, (const int64_t[2]){row, rows_after(c, t + 1)}, t, io);
}

const hop_mixer_ops hop__mixer_window = {
    .name = "window",
    .equation = "y_t = Wo sum_{t-W<j<=t} softmax_j(scale q_t.k_j) v_j",
    .recurrent = false,
    .options = window_options,
    .ready = window_ready,
    .params = hop__attention_params,
    .init = hop__attention_init,
    .state_floats = window_state_floats,
    .scratch = window_scratch,
    .forward = window_forward,
    .step_scratch = window_step_scratch,
    .step = window_step,
};
