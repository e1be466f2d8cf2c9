#include "attention_parts.h"

#include <math.h>

int64_t hop__q_width(const hop_mixer_config *c)
{
    return c->heads * c->head_dim;
}

int64_t hop__kv_width(const hop_mixer_config *c)
{
    return c->kv_heads * c->head_dim;
}

double hop__attention_scale(const hop_mixer_config *c)
{
    return c->scale != 0 ? c->scale : 1.0 / sqrt((double)c->head_dim);
}

int hop__attention_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS])
{
    out[HOP__WQ] = (hop_param){"q_proj.weight", {hop__q_width(c), c->d_model}};
    out[HOP__WK] = (hop_param){"k_proj.weight", {hop__kv_width(c), c->d_model}};
    out[HOP__WV] = (hop_param){"v_proj.weight", {hop__kv_width(c), c->d_model}};
    out[HOP__WO] = (hop_param){"o_proj.weight", {c->d_model, hop__q_width(c)}};
    return HOP__ATTENTION_PARAMS;
}

static void fill_normal(float *w, int64_t count, double std, hop_rng *rng)
{
    for (int64_t i = 0; i < count; i++) w[i] = (float)(std * hop_rng_normal(rng));
}

/* Variance 1/fan-in, the usual choice for attention without a depth correction. */
void hop__attention_init(float *const *w, const hop_mixer_config *c, hop_rng *rng)
{
    double in = 1.0 / sqrt((double)c->d_model), out = 1.0 / sqrt((double)hop__q_width(c));
    fill_normal(w[HOP__WQ], hop__q_width(c) * c->d_model, in, rng);
    fill_normal(w[HOP__WK], hop__kv_width(c) * c->d_model, in, rng);
    fill_normal(w[HOP__WV], hop__kv_width(c) * c->d_model, in, rng);
    fill_normal(w[HOP__WO], c->d_model * hop__q_width(c), out, rng);
}

hop_status hop__attention_causal_only(const hop_mixer_config *c, const char *name, hop_error *err)
{
    if (c->bidirectional) return hop_fail(err, HOP_EDOMAIN, "%s: looks back only, not both ways", name);
    return HOP_OK;
}

hop_attn hop__attention_shape(const hop_mixer_config *c, int64_t tokens, int64_t first, int64_t kv_stride,
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
        .q_stride = hop__q_width(c),
        .k_stride = kv_stride,
        .v_stride = kv_stride,
        .o_stride = hop__q_width(c),
        .scale = (float)hop__attention_scale(c),
        .bidirectional = c->bidirectional,
        .bits = bits,
    };
}

size_t hop__attention_work(const hop_mixer_config *c, int64_t tokens, int64_t first, int threads)
{
    /* Cutting needs a row of weights, not cutting needs tiles: whichever is more. */
    hop_attn plain = hop__attention_shape(c, tokens, first, hop__kv_width(c), 0),
             cut = hop__attention_shape(c, tokens, first, hop__kv_width(c), 8);
    size_t a = hop_attn_scratch(&plain, threads), b = hop_attn_scratch(&cut, threads);
    return a > b ? a : b;
}

static void cut_to(float *x, int64_t n, int bits)
{
    if (bits > 0) hop_cut(x, n, bits);
}

/* hop_linear sums a lone row in another order than one of many; hop_gemm does not. */
static void product(float *y, const float *x, const float *w, const int64_t rows_out_in[3], bool steady,
                    hop_pool *pool)
{
    int64_t rows = rows_out_in[0], out = rows_out_in[1], in = rows_out_in[2];
    if (steady)
        hop_gemm(y, out, (hop_mat){x, in, 1}, (hop_mat){w, 1, in}, rows, out, in, false, pool);
    else
        hop_linear(y, x, w, NULL, rows, out, in, pool);
}

void hop__attention_project(const hop__qkv *out, const hop_mixer_config *c, const float *const *w,
                            const hop_mixer_io *io, int64_t position, bool steady)
{
    int64_t rows = io->tokens - io->first, qw = hop__q_width(c), kw = hop__kv_width(c);
    const int64_t q[3] = {rows, qw, c->d_model}, kv[3] = {io->tokens, kw, c->d_model};
    product(out->q, io->x + io->first * c->d_model, w[HOP__WQ], q, steady, io->pool);
    product(out->k, io->x, w[HOP__WK], kv, steady, io->pool);
    product(out->v, io->x, w[HOP__WV], kv, steady, io->pool);
    if (c->rope_theta > 0) {
        hop_rope(out->q, rows, qw, c->heads, c->head_dim, position + io->first, c->rope_theta);
        hop_rope(out->k, io->tokens, kw, c->kv_heads, c->head_dim, position, c->rope_theta);
    }
    cut_to(out->q, rows * qw, io->bits);
    cut_to(out->k, io->tokens * kw, io->bits);
    cut_to(out->v, io->tokens * kw, io->bits);
}

void hop__attention_output(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io,
                           const float *o, bool steady)
{
    int64_t rows = io->tokens - io->first;
    const int64_t shape[3] = {rows, c->d_model, hop__q_width(c)};
    product(io->y, o, w[HOP__WO], shape, steady, io->pool);
    cut_to(io->y, rows * c->d_model, io->bits);
}

/* A step takes less: its keys and values are in the cache. */
size_t hop__attention_scratch(const hop_mixer_config *c, int64_t tokens, int64_t first, int threads)
{
    size_t rows = (size_t)(tokens - first), all = (size_t)tokens;
    return 2 * hop_arena_floats_size(rows * (size_t)hop__q_width(c)) +
           2 * hop_arena_floats_size(all * (size_t)hop__kv_width(c)) +
           hop_arena_floats_size(hop__attention_work(c, tokens, first, threads));
}

void hop__attention_forward(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io,
                            int64_t window)
{
    int64_t rows = io->tokens - io->first, qw = hop__q_width(c), kw = hop__kv_width(c);
    hop_attn a = hop__attention_shape(c, io->tokens, io->first, kw, io->bits);
    a.window = window;
    hop__qkv p;
    p.q = hop_arena_floats(io->scratch, (size_t)(rows * qw));
    p.k = hop_arena_floats(io->scratch, (size_t)(io->tokens * kw));
    p.v = hop_arena_floats(io->scratch, (size_t)(io->tokens * kw));
    float *o = hop_arena_floats(io->scratch, (size_t)(rows * qw));
    float *work = hop_arena_floats(io->scratch, hop_attn_scratch(&a, hop_pool_threads(io->pool)));
    hop__attention_project(&p, c, w, io, 0, false);
    hop_attn_forward(o, NULL, p.q, p.k, p.v, &a, work, io->pool);
    hop__attention_output(c, w, io, o, false);
}

void hop__attention_step(const hop_mixer_config *c, const float *const *w, float *cache,
                         const int64_t row_rows[2], int64_t position, const hop_mixer_io *io)
{
    int64_t row = row_rows[0], rows = row_rows[1], qw = hop__q_width(c), kw = hop__kv_width(c);
    hop_attn a = hop__attention_shape(c, rows, rows - 1, 2 * kw, io->bits);
    float *o = hop_arena_floats(io->scratch, (size_t)qw);
    hop__qkv p = {hop_arena_floats(io->scratch, (size_t)qw), cache + row * 2 * kw, cache + row * 2 * kw + kw};
    float *work = hop_arena_floats(io->scratch, hop_attn_scratch(&a, 1));
    hop__attention_project(&p, c, w, io, position, false);
    hop_attn_forward(o, NULL, p.q, cache, cache + kw, &a, work, NULL);
    hop__attention_output(c, w, io, o, false);
}
