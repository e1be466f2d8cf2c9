/* back_sequence.c - the way back through convolution, shift and the recurrences. */
#include "back.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void copy(float *y, const float *x, int64_t n)
{
    memcpy(y, x, sizeof(float) * (size_t)n);
}

static const float *state_of(const hop__back *b, const hop_op *op, int64_t s)
{
    return b->state ? b->state + s * b->v.state_stride + op->state : NULL;
}

static float *dstate_of(const hop__back *b, const hop_op *op, int64_t s)
{
    return b->dstate ? b->dstate + s * b->v.state_stride + op->state : NULL;
}

static void conv(const hop__back *b, const hop_op *op, int64_t s)
{
    const hop__exec *w = &b->v;
    const hop_conv c = {.tokens = w->tokens,
                        .width = op->width,
                        .size = op->taps,
                        .x_stride = hop__stride(w, op, 0),
                        .y_stride = op->width,
                        .silu = op->silu};
    const hop_conv_grad g = {.dy = hop__out(&b->d, op, s, 0),
                             .dx = hop__din(b, op, 0, s, 0),
                             .dw = hop__dpar(b, op, 0),
                             .dbias = hop__dpar(b, op, 1),
                             .dpast = op->taps > 1 ? dstate_of(b, op, s) : NULL,
                             .add = hop__adds(b, op, 0)};
    hop_conv_backward(&g, op->taps > 1 ? state_of(b, op, s) : NULL, hop__in(w, op, 0, s, 0),
                      hop__par(w, op, 0), hop__par(w, op, 1), &c);
}

/* y_t = a_{t-1}: nobody sees the last. */
static void shift(const hop__back *b, const hop_op *op, int64_t s)
{
    const float *dy = hop__out(&b->d, op, s, 0);
    float *da = hop__din(b, op, 0, s, 0), *past = dstate_of(b, op, s);
    int64_t stride = hop__stride(&b->v, op, 0), tokens = b->v.tokens, n = op->width;
    bool add = hop__adds(b, op, 0);
    for (int64_t t = 0; t + 1 < tokens; t++) {
        if (add)
            hop_add(da + t * stride, da + t * stride, dy + (t + 1) * n, n);
        else
            copy(da + t * stride, dy + (t + 1) * n, n);
    }
    if (!add) memset(da + (tokens - 1) * stride, 0, sizeof(float) * (size_t)n);
    if (past) copy(past, dy, n);
}

static void diagonal(const hop__back *b, const hop_op *op, int64_t s)
{
    const hop__exec *w = &b->v;
    hop__targets t = hop__targets_open(b, op, s, b->work);
    const hop_diagonal_grad g = {
        .dh = hop__out(&b->d, op, s, 0), .da = t.p[0], .db = t.p[1], .d_state = dstate_of(b, op, s)};
    assert(hop__stride(w, op, 0) == op->width && hop__stride(w, op, 1) == op->width);
    hop_diagonal_backward(&g, state_of(b, op, s), hop__in(w, op, 0, s, 0), hop__out(w, op, s, 0), w->tokens,
                          op->width, op->width);
    hop__targets_close(&t, b, op, s);
}

/* ---- scans ------------------------------------------------------------------------------------ */

/* A token of several steps is several tokens of the recurrence: see sequence.c. Its query belongs to the last
 * step, its decay to the first, and so do their gradients. */
typedef struct stepped {
    float *q, *g, *d_o, *dq, *dg;
    int64_t kw, gw;
} stepped;

static stepped stepped_take(const hop__back *b, const hop_op *op, float **work)
{
    int64_t rows = b->v.tokens * op->steps;
    stepped x = {.kw = op->kv_heads * op->key_dim, .gw = hop__scan_gate_width(op)};
    x.q = *work, x.dq = x.q + rows * x.kw, x.g = x.dq + rows * x.kw, x.dg = x.g + rows * x.gw;
    x.d_o = x.dg + rows * x.gw;
    *work = x.d_o + rows * op->width;
    return x;
}

static void collect(float *to, int64_t stride, const float *d, int64_t width, const hop_op *op,
                    int64_t tokens, int64_t step)
{
    for (int64_t t = 0; t < tokens; t++) copy(to + t * stride, d + (t * op->steps + step) * width, width);
}

static void scan(const hop__back *b, const hop_op *op, int64_t s)
{
    const hop__exec *w = &b->v;
    hop_scan c = hop__scan_shape(w, op);
    hop_scan_in in = hop__scan_inputs(w, op, s);
    hop__targets t = hop__targets_open(b, op, s, b->work);
    float *work = t.work, *du = NULL;
    int64_t units = op->par[0] < 0 ? 0 : op->heads * op->key_dim, n = op->steps;
    stepped x = {0};
    hop_scan_grad g = {.d_o = hop__out(&b->d, op, s, 0),
                       .dq = t.p[HOP_SCAN_Q],
                       .dk = t.p[HOP_SCAN_K],
                       .dv = t.p[HOP_SCAN_V],
                       .dg = t.p[HOP_SCAN_G],
                       .dbeta = t.p[HOP_SCAN_BETA],
                       .da = t.p[HOP_SCAN_A],
                       .db = t.p[HOP_SCAN_B],
                       .di = t.p[HOP_SCAN_I],
                       .df = t.p[HOP_SCAN_F],
                       .d_state = dstate_of(b, op, s)};
    if (units > 0) g.du = du = work, work += (units + 15) / 16 * 16;
    if (n > 1) {
        x = stepped_take(b, op, &work);
        in.q = hop__scan_spread(x.q, in.q, c.q_stride, x.kw, (const int64_t[]){w->tokens, n, n - 1});
        if (x.gw > 0)
            in.g = hop__scan_spread(x.g, in.g, c.gate_stride, x.gw, (const int64_t[]){w->tokens, n, 0});
        g.d_o = hop__scan_spread(x.d_o, g.d_o, op->width, op->width, (const int64_t[]){w->tokens, n, n - 1});
        g.dq = x.dq, c.q_stride = x.kw, c.gate_stride = x.gw;
        if (g.dg) g.dg = x.dg;
    }
    static void (*const cores[])(const hop_scan_grad *, const float *, const hop_scan_in *, const hop_scan *,
                                 float *, hop_pool *) = {[HOP_CORE_DECAY] = hop_decay_backward,
                                                         [HOP_CORE_DELTA] = hop_delta_backward,
                                                         [HOP_CORE_DPLR] = hop_dplr_backward,
                                                         [HOP_CORE_MLSTM] = hop_mlstm_backward};
    cores[op->core](&g, state_of(b, op, s), &in, &c, work, NULL);
    if (n > 1) {
        collect(t.p[HOP_SCAN_Q], hop__stride(w, op, HOP_SCAN_Q), x.dq, x.kw, op, w->tokens, n - 1);
        if (g.dg) collect(t.p[HOP_SCAN_G], hop__stride(w, op, HOP_SCAN_G), x.dg, x.gw, op, w->tokens, 0);
    }
    if (du) hop_add(hop__dpar(b, op, 0), hop__dpar(b, op, 0), du, units);
    hop__targets_close(&t, b, op, s);
}

/* A = -exp(min(w, 69)): dw = A dA below the bound. */
static void selective(const hop__back *b, const hop_op *op, int64_t s)
{
    const hop__exec *w = &b->v;
    int64_t n = op->width * op->key_dim, padded = (n + 15) / 16 * 16;
    const float *a_log = hop__par(w, op, 0);
    float *A = b->work, *dA = A + padded, *dD = dA + padded, *dw = hop__dpar(b, op, 0);
    hop__targets t = hop__targets_open(b, op, s, dD + (op->width + 15) / 16 * 16);
    hop_selective_in in;
    hop_selective c = hop__selective_of(&in, w, op, s, A);
    const hop_selective_grad g = {.d_o = hop__out(&b->d, op, s, 0),
                                  .dx = t.p[HOP_SELECTIVE_X],
                                  .ddelta = t.p[HOP_SELECTIVE_DELTA],
                                  .dB = t.p[HOP_SELECTIVE_B],
                                  .dC = t.p[HOP_SELECTIVE_C],
                                  .dA = dA,
                                  .dD = dD,
                                  .d_state = dstate_of(b, op, s)};
    hop_selective_backward(&g, state_of(b, op, s), &in, &c, t.work, NULL);
    for (int64_t i = 0; i < n; i++) dw[i] += a_log[i] < 69.0f ? dA[i] * A[i] : 0.0f;
    if (op->par[1] >= 0) hop_add(hop__dpar(b, op, 1), hop__dpar(b, op, 1), dD, op->width);
    hop__targets_close(&t, b, op, s);
}

/* ---- all of them ------------------------------------------------------------------------------ */

size_t hop__back_sequence_work(const hop_list *l, const hop_op *op, int64_t tokens)
{
    size_t targets = hop__targets_work(l, op, tokens);
    if (op->kind == HOP_OP_SCAN) {
        hop_scan c = {.tokens = tokens * op->steps, .heads = op->heads, .key_heads = op->kv_heads};
        c.key_dim = op->key_dim, c.value_dim = op->value_dim, c.gate = op->gate;
        int64_t row = 2 * op->kv_heads * op->key_dim + 2 * hop__scan_gate_width(op) + op->width;
        return targets + hop_scan_backward_scratch(&c, 1) + (size_t)(op->heads * op->key_dim + 15) +
               (size_t)(op->steps > 1 ? tokens * op->steps * row : 0);
    }
    if (op->kind == HOP_OP_SELECTIVE) {
        hop_selective c = {.tokens = tokens, .width = op->width, .states = op->key_dim};
        return targets + hop_selective_backward_scratch(&c, 1) +
               (size_t)(2 * (op->width * op->key_dim + 15) + op->width + 15);
    }
    return targets;
}

void hop__back_sequence(const hop__back *b, const hop_op *op, int64_t s)
{
    switch (op->kind) {
    case HOP_OP_CONV: conv(b, op, s); break;
    case HOP_OP_SHIFT: shift(b, op, s); break;
    case HOP_OP_DIAGONAL: diagonal(b, op, s); break;
    case HOP_OP_SELECTIVE: selective(b, op, s); break;
    default: scan(b, op, s);
    }
}
