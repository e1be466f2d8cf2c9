/* Full softmax attention: H heads, grouped key-value heads, optional RoPE.
 *
 *     q = Wq x, k = Wk x, v = Wv x;   y_t = Wo [ sum_{j<=t} softmax_j(scale q_t·k_j) v_j ]
 *
 * The state is the key-value cache, one row [k | v] per token: it grows, which is what "full" costs. */
#include "registry.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { WQ, WK, WV, WO, PARAMS };

static int64_t q_width(const hop_mixer_config *c)
{
    return c->heads * c->head_dim;
}

static int64_t kv_width(const hop_mixer_config *c)
{
    return c->kv_heads * c->head_dim;
}

static int full_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    out[WQ] = (hop_param){"q_proj.weight", {q_width(c), c->d_model}};
    out[WK] = (hop_param){"k_proj.weight", {kv_width(c), c->d_model}};
    out[WV] = (hop_param){"v_proj.weight", {kv_width(c), c->d_model}};
    out[WO] = (hop_param){"o_proj.weight", {c->d_model, q_width(c)}};
    return PARAMS;
}

static void fill_normal(float *w, int64_t count, double std, hop_rng *rng)
{
    for (int64_t i = 0; i < count; i++) w[i] = (float)(std * hop_rng_normal(rng));
}

/* Variance 1/fan-in, the usual choice for attention without a depth correction. */
static void full_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    double in = 1.0 / sqrt((double)c->d_model), out = 1.0 / sqrt((double)q_width(c));
    fill_normal(w[WQ], q_width(c) * c->d_model, in, rng);
    fill_normal(w[WK], kv_width(c) * c->d_model, in, rng);
    fill_normal(w[WV], kv_width(c) * c->d_model, in, rng);
    fill_normal(w[WO], c->d_model * q_width(c), out, rng);
}

static int64_t full_state_floats(const hop_mixer_config *c, int64_t t)
{
    return t * 2 * kv_width(c);
}

static hop_attn attention(const hop_mixer_config *c, int64_t tokens, int64_t first, int64_t kv_stride,
                          int bits)
{
    return (hop_attn){
        .tokens = tokens,
        .queries = tokens - first,
        .first = first,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .key_dim = c->head_dim,
        .value_dim = c->head_dim,
        .q_stride = q_width(c),
        .k_stride = kv_stride,
        .v_stride = kv_stride,
        .o_stride = q_width(c),
        .scale = (float)(c->scale != 0 ? c->scale : 1.0 / sqrt((double)c->head_dim)),
        .bits = bits,
    };
}

static size_t scratch_for(const hop_mixer_config *c, int64_t tokens, int64_t first, int threads)
{
    /* Cutting needs a row of weights, not cutting needs tiles: whichever is more. */
    hop_attn plain = attention(c, tokens, first, kv_width(c), 0),
             cut = attention(c, tokens, first, kv_width(c), 8);
    size_t a = hop_attn_scratch(&plain, threads), b = hop_attn_scratch(&cut, threads);
    size_t rows = (size_t)(tokens - first), all = (size_t)tokens;
    return 2 * hop_arena_floats_size(rows * (size_t)q_width(c)) +
           2 * hop_arena_floats_size(all * (size_t)kv_width(c)) + hop_arena_floats_size(a > b ? a : b);
}

static size_t full_scratch(const hop_mixer_config *c, int64_t tokens, int threads)
{
    return scratch_for(c, tokens, 0, threads);
}

static void cut_to(float *x, int64_t n, int bits)
{
    if (bits > 0) hop_cut(x, n, bits);
}

static void full_forward(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io)
{
    int64_t rows = io->tokens - io->first, qw = q_width(c), kw = kv_width(c);
    hop_attn a = attention(c, io->tokens, io->first, kw, io->bits);
    float *q = hop_arena_floats(io->scratch, (size_t)(rows * qw)),
          *o = hop_arena_floats(io->scratch, (size_t)(rows * qw));
    float *k = hop_arena_floats(io->scratch, (size_t)(io->tokens * kw));
    float *v = hop_arena_floats(io->scratch, (size_t)(io->tokens * kw));
    float *work = hop_arena_floats(io->scratch, hop_attn_scratch(&a, hop_pool_threads(io->pool)));

    hop_linear(q, io->x + io->first * c->d_model, w[WQ], NULL, rows, qw, c->d_model, io->pool);
    hop_linear(k, io->x, w[WK], NULL, io->tokens, kw, c->d_model, io->pool);
    hop_linear(v, io->x, w[WV], NULL, io->tokens, kw, c->d_model, io->pool);
    if (c->rope_theta > 0) {
        hop_rope(q, rows, qw, c->heads, c->head_dim, io->first, c->rope_theta);
        hop_rope(k, io->tokens, kw, c->kv_heads, c->head_dim, 0, c->rope_theta);
    }
    cut_to(q, rows * qw, io->bits);
    cut_to(k, io->tokens * kw, io->bits);
    cut_to(v, io->tokens * kw, io->bits);
    hop_attn_forward(o, NULL, q, k, v, &a, work, io->pool);
    hop_linear(io->y, o, w[WO], NULL, rows, c->d_model, qw, io->pool);
    cut_to(io->y, rows * c->d_model, io->bits);
}

static size_t full_step_scratch(const hop_mixer_config *c, int64_t t)
{
    return scratch_for(c, t + 1, t, 1);
}

static void full_step(const hop_mixer_config *c, const float *const *w, float *state, int64_t t,
                      const hop_mixer_io *io)
{
    int64_t qw = q_width(c), kw = kv_width(c);
    hop_attn a = attention(c, t + 1, t, 2 * kw, io->bits);
    float *q = hop_arena_floats(io->scratch, (size_t)qw), *o = hop_arena_floats(io->scratch, (size_t)qw);
    float *work = hop_arena_floats(io->scratch, hop_attn_scratch(&a, 1));
    float *k = state + t * 2 * kw, *v = k + kw;

    hop_linear(q, io->x, w[WQ], NULL, 1, qw, c->d_model, NULL);
    hop_linear(k, io->x, w[WK], NULL, 1, kw, c->d_model, NULL);
    hop_linear(v, io->x, w[WV], NULL, 1, kw, c->d_model, NULL);
    if (c->rope_theta > 0) {
        hop_rope(q, 1, qw, c->heads, c->head_dim, t, c->rope_theta);
        hop_rope(k, 1, kw, c->kv_heads, c->head_dim, t, c->rope_theta);
    }
    cut_to(q, qw, io->bits);
    cut_to(k, 2 * kw, io->bits);
    hop_attn_forward(o, NULL, q, state, state + kw, &a, work, NULL);
    hop_linear(io->y, o, w[WO], NULL, 1, c->d_model, qw, NULL);
    cut_to(io->y, c->d_model, io->bits);
}

const hop_mixer_ops hop__mixer_full = {
    .name = "full",
    .equation = "y_t = Wo sum_{j<=t} softmax_j(scale q_t.k_j) v_j",
    .recurrent = false,
    .params = full_params,
    .init = full_init,
    .state_floats = full_state_floats,
    .scratch = full_scratch,
    .forward = full_forward,
    .step_scratch = full_step_scratch,
    .step = full_step,
};
