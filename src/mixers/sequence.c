/* sequence.c - the operations that look along a sequence: convolution, shift, scans, attention. */
#include "exec.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Below this many numbers waking the pool costs more than it gains. */
static const int64_t worth_sharing = 1 << 16;

/* Where sequence s has what this operation remembers; NULL: nothing is kept. */
static float *state_of(const hop__exec *w, const hop_op *op, int64_t s)
{
    return w->state && op->state >= 0 ? w->state + s * w->state_stride + op->state : NULL;
}

static void copy(float *y, const float *x, int64_t n)
{
    memcpy(y, x, sizeof(float) * (size_t)n);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- by channels ----------------------------------------------------------------------------- */

enum { CHANNELS = 64 }; /* of a task, where they are shared out */

typedef struct channel_job {
    const hop__exec *w;
    const hop_op *op;
    int64_t s, channels; /* of a task */
} channel_job;

static void some_channels(void *ctx, int64_t task, int worker)
{
    const channel_job *j = ctx;
    const hop__exec *w = j->w;
    const hop_op *op = j->op;
    int64_t at = task * j->channels, n = least(j->channels, op->width - at);
    float *y = hop__out(w, op, j->s, 0) + at, *state = state_of(w, op, j->s);
    const float *x = hop__in(w, op, 0, j->s, 0) + at, *bias = hop__par(w, op, 1);
    (void)worker;
    if (op->kind == HOP_OP_DIAGONAL) {
        hop_diagonal_forward(y, state + at, x, hop__in(w, op, 1, j->s, 0) + at, w->tokens, n, op->width);
        return;
    }
    const hop_conv c = {.tokens = w->tokens,
                        .width = n,
                        .size = op->taps,
                        .x_stride = hop__stride(w, op, 0),
                        .y_stride = op->width,
                        .silu = op->silu,
                        .past_stride = op->width};
    hop_conv_forward(y, state ? state + at : NULL, x, hop__par(w, op, 0) + at * op->taps,
                     bias ? bias + at : NULL, &c);
}

static void by_channels(const hop__exec *w, const hop_op *op, int64_t s, hop_pool *pool)
{
    bool share = hop_pool_threads(pool) > 1 && w->tokens * op->width >= worth_sharing;
    channel_job j = {w, op, s, share ? CHANNELS : op->width};
    hop_pool_run(pool, (op->width + j.channels - 1) / j.channels, some_channels, &j);
}

static void shift(const hop__exec *w, const hop_op *op, int64_t s)
{
    float *past = state_of(w, op, s), *y = hop__out(w, op, s, 0);
    int64_t stride = hop__stride(w, op, 0);
    const float *x = hop__in(w, op, 0, s, 0);
    copy(y, past, op->width);
    for (int64_t t = 1; t < w->tokens; t++) copy(y + t * op->width, x + (t - 1) * stride, op->width);
    copy(past, x + (w->tokens - 1) * stride, op->width);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static hop_scan scan_sizes(const hop_op *op, int64_t tokens)
{
    hop_scan s = {.tokens = tokens * op->steps, .heads = op->heads, .key_heads = op->kv_heads};
    s.key_dim = op->key_dim, s.value_dim = op->value_dim, s.gate = op->gate, s.scale = (float)op->scale;
    return s;
}

int64_t hop__scan_gate_width(const hop_op *op)
{
    return op->gate == HOP_GATE_KEY ? op->heads * op->key_dim : op->gate == HOP_GATE_TOKEN ? op->heads : 0;
}

const float *hop__scan_spread(float *y, const float *x, int64_t stride, int64_t width,
                              const int64_t rows_n_at[3])
{
    int64_t rows = rows_n_at[0], n = rows_n_at[1], at = rows_n_at[2];
    memset(y, 0, sizeof(float) * (size_t)(rows * n * width));
    for (int64_t t = 0; t < rows; t++) copy(y + (t * n + at) * width, x + t * stride, width);
    return y;
}

hop_scan hop__scan_shape(const hop__exec *w, const hop_op *op)
{
    hop_scan c = scan_sizes(op, w->tokens);
    int64_t n = op->steps;
    for (int i = HOP_SCAN_A; i <= HOP_SCAN_B; i++) /* the kernels have one stride for all three */
        assert(op->in[i].buffer < 0 || hop__stride(w, op, i) == hop__stride(w, op, HOP_SCAN_K));
    assert(n == 1 || hop__stride(w, op, HOP_SCAN_K) == n * op->kv_heads * op->key_dim);
    c.form = w->form, c.o_stride = op->width;
    c.q_stride = hop__stride(w, op, HOP_SCAN_Q);
    c.k_stride = hop__stride(w, op, HOP_SCAN_K) / n;
    c.v_stride = hop__stride(w, op, HOP_SCAN_V) / n;
    c.beta_stride = hop__stride(w, op, HOP_SCAN_BETA) / n;
    c.gate_stride = hop__stride(w, op, op->core == HOP_CORE_MLSTM ? HOP_SCAN_I : HOP_SCAN_G);
    return c;
}

hop_scan_in hop__scan_inputs(const hop__exec *w, const hop_op *op, int64_t s)
{
    const float *in[HOP_OP_INPUTS];
    for (int i = 0; i < HOP_OP_INPUTS; i++) in[i] = hop__in(w, op, i, s, 0);
    if (op->gate == HOP_GATE_HEAD) in[HOP_SCAN_G] = hop__in(w, op, HOP_SCAN_G, 0, 0); /* one row for all */
    return (hop_scan_in){.q = in[HOP_SCAN_Q],
                         .k = in[HOP_SCAN_K],
                         .v = in[HOP_SCAN_V],
                         .g = in[HOP_SCAN_G],
                         .beta = in[HOP_SCAN_BETA],
                         .a = in[HOP_SCAN_A],
                         .b = in[HOP_SCAN_B],
                         .u = hop__par(w, op, 0),
                         .i = in[HOP_SCAN_I],
                         .f = in[HOP_SCAN_F]};
}

static void scan(const hop__exec *w, const hop_op *op, int64_t s, float *work, hop_pool *pool)
{
    hop_scan c = hop__scan_shape(w, op);
    hop_scan_in in = hop__scan_inputs(w, op, s);
    int64_t n = op->steps, kw = op->kv_heads * op->key_dim, gw = hop__scan_gate_width(op);
    float *o = hop__out(w, op, s, 0), *whole = o;
    if (n > 1) {
        float *q = work, *g = q + w->tokens * n * kw;
        whole = g + w->tokens * n * gw;
        work = whole + w->tokens * n * op->width;
        in.q = hop__scan_spread(q, in.q, c.q_stride, kw, (const int64_t[]){w->tokens, n, n - 1});
        if (gw > 0) in.g = hop__scan_spread(g, in.g, c.gate_stride, gw, (const int64_t[]){w->tokens, n, 0});
        c.q_stride = kw, c.gate_stride = gw;
    }
    static void (*const cores[])(float *, float *, const hop_scan_in *, const hop_scan *, float *,
                                 hop_pool *) = {[HOP_CORE_DECAY] = hop_decay_forward,
                                                [HOP_CORE_DELTA] = hop_delta_forward,
                                                [HOP_CORE_DPLR] = hop_dplr_forward,
                                                [HOP_CORE_MLSTM] = hop_mlstm_forward};
    cores[op->core](whole, state_of(w, op, s), &in, &c, work, pool);
    for (int64_t t = 0; n > 1 && t < w->tokens; t++)
        copy(o + t * op->width, whole + (t * n + n - 1) * op->width, op->width);
}

/* A = -exp(A_log), kept finite: a step size of exactly 0 then holds whatever A_log is. */
hop_selective hop__selective_of(hop_selective_in *in, const hop__exec *w, const hop_op *op, int64_t s,
                                float *A)
{
    int64_t n = op->width * op->key_dim;
    const float *a_log = hop__par(w, op, 0);
    for (int64_t i = 0; i < n; i++) A[i] = fminf(a_log[i], 69.0f);
    hop_vexp(A, A, n);
    for (int64_t i = 0; i < n; i++) A[i] = -A[i];
    hop_selective c = {.tokens = w->tokens, .width = op->width, .states = op->key_dim, .o_stride = op->width};
    c.x_stride = hop__stride(w, op, HOP_SELECTIVE_X),
    c.delta_stride = hop__stride(w, op, HOP_SELECTIVE_DELTA);
    c.b_stride = hop__stride(w, op, HOP_SELECTIVE_B), c.c_stride = hop__stride(w, op, HOP_SELECTIVE_C);
    *in = (hop_selective_in){.x = hop__in(w, op, HOP_SELECTIVE_X, s, 0),
                             .delta = hop__in(w, op, HOP_SELECTIVE_DELTA, s, 0),
                             .A = A,
                             .B = hop__in(w, op, HOP_SELECTIVE_B, s, 0),
                             .C = hop__in(w, op, HOP_SELECTIVE_C, s, 0),
                             .D = hop__par(w, op, 1)};
    return c;
}

static void selective(const hop__exec *w, const hop_op *op, int64_t s, float *work, hop_pool *pool)
{
    hop_selective_in in;
    hop_selective c = hop__selective_of(&in, w, op, s, work);
    hop_selective_forward(hop__out(w, op, s, 0), state_of(w, op, s), &in, &c,
                          work + (op->width * op->key_dim + 15) / 16 * 16, pool);
}

/* ---- attention ------------------------------------------------------------------------------- */

/* strides: of q, k, v. */
hop_attn hop__attend_shape(const hop_op *op, int64_t tokens, int64_t first, const int64_t strides[3])
{
    return (hop_attn){.tokens = tokens,
                      .queries = tokens - first,
                      .first = first,
                      .heads = op->heads,
                      .kv_heads = op->kv_heads,
                      .key_dim = op->key_dim,
                      .value_dim = op->value_dim,
                      .q_stride = strides[0],
                      .k_stride = strides[1],
                      .v_stride = strides[2],
                      .o_stride = op->width,
                      .scale = (float)op->scale,
                      .window = op->window,
                      .bidirectional = op->bidirectional};
}

/* Over whole sequences, or, when stepping, the one token at w->position: its key and value go to the cache,
 * whose rows are [k | v]. A window's cache holds as many rows as it sees, the newest in the place of the one
 * that fell out: keys were rotated before they came here, and softmax does not care for their order. */
static void attend(const hop__exec *w, const hop_op *op, int64_t s, float *work, hop_pool *pool)
{
    int64_t kw = op->kv_heads * op->key_dim, vw = op->kv_heads * op->value_dim, tokens = w->tokens;
    int64_t first = w->first;
    int64_t strides[3] = {hop__stride(w, op, 0), hop__stride(w, op, 1), hop__stride(w, op, 2)};
    const float *q = hop__in(w, op, 0, s, first), *k = hop__in(w, op, 1, s, 0), *v = hop__in(w, op, 2, s, 0);
    float *cache = w->stepping ? state_of(w, op, s) : NULL, *o = hop__out(w, op, s, first);
    if (cache) {
        int64_t row = op->window > 0 ? w->position % op->window : w->position;
        copy(cache + row * (kw + vw), k, kw);
        copy(cache + row * (kw + vw) + kw, v, vw);
        tokens = op->window > 0 ? least(w->position + 1, op->window) : w->position + 1, first = tokens - 1;
        k = cache, v = cache + kw, strides[1] = strides[2] = kw + vw;
    }
    if (op->kind == HOP_OP_ATTEND) {
        hop_attn a = hop__attend_shape(op, tokens, first, strides);
        a.bits = w->bits;
        a.window = cache ? 0 : op->window;
        hop_attn_forward(o, hop__lse(w, op, s), q, k, v, &a, work, pool);
        return;
    }
    const hop__sparse sparse = {.op = op,
                                .tokens = tokens,
                                .first = first,
                                .q = q,
                                .k = k,
                                .v = v,
                                .o = o,
                                .lse = hop__lse(w, op, s),
                                .q_stride = strides[0],
                                .k_stride = strides[1],
                                .v_stride = strides[2],
                                .bits = w->bits};
    hop__sparse_run(&sparse, work, pool);
}

/* Cutting needs a row of weights, not cutting needs tiles: whichever is more. */
size_t hop__attend_work(const hop_op *op, int64_t tokens, int64_t first, int threads)
{
    const int64_t strides[3] = {op->heads * op->key_dim, op->kv_heads * op->key_dim,
                                op->kv_heads * op->value_dim};
    hop_attn plain = hop__attend_shape(op, tokens, first, strides), cut = plain;
    plain.window = cut.window = 0;
    cut.bits = 8;
    size_t a = hop_attn_scratch(&plain, threads), b = hop_attn_scratch(&cut, threads);
    return a > b ? a : b;
}

/* ---- all of them ----------------------------------------------------------------------------- */

size_t hop__sequence_work(const hop_op *op, int64_t tokens, int64_t first, int threads)
{
    switch (op->kind) {
    case HOP_OP_SCAN: {
        hop_scan s = scan_sizes(op, tokens);
        int64_t spread_row = op->kv_heads * op->key_dim + hop__scan_gate_width(op) + op->width;
        return hop_scan_scratch(&s, threads) + (size_t)(op->steps > 1 ? tokens * op->steps * spread_row : 0);
    }
    case HOP_OP_SELECTIVE: {
        hop_selective s = {.tokens = tokens, .width = op->width, .states = op->key_dim};
        return hop_selective_scratch(&s, threads) + (size_t)(op->width * op->key_dim + 15);
    }
    case HOP_OP_ATTEND: return hop__attend_work(op, tokens, first, threads);
    case HOP_OP_SPARSE: return hop__sparse_work(op, tokens, first, threads);
    default: return 0;
    }
}

void hop__sequence_op(const hop__exec *w, const hop_op *op, int64_t s, float *work, hop_pool *pool)
{
    int64_t from = op->kind == HOP_OP_ATTEND || op->kind == HOP_OP_SPARSE ? w->first : 0;
    switch (op->kind) {
    case HOP_OP_CONV:
    case HOP_OP_DIAGONAL: by_channels(w, op, s, pool); break;
    case HOP_OP_SHIFT: shift(w, op, s); break;
    case HOP_OP_SCAN: scan(w, op, s, work, pool); break;
    case HOP_OP_SELECTIVE: selective(w, op, s, work, pool); break;
    default: attend(w, op, s, work, pool);
    }
    hop__cut_rows(w, hop__out(w, op, s, from), (w->tokens - from) * op->width);
}
