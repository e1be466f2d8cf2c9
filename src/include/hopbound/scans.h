/* hopbound/scans.h - the recurrences behind every linear mixer (room: kernels). Same rules as kernels.h:
 * kernels cannot fail, shapes are asserted, scratch comes from the caller, every table has them, and bits do
 * not depend on the number of threads.
 *
 *     decay      S = diag(e^g) S + k vᵀ                                   o = scale qᵀS
 *     delta      S = diag(e^g) S, then S += beta k (v - Sᵀk)ᵀ             o = scale qᵀS
 *     dplr       S = diag(e^g) S + b (aᵀS) + k vᵀ   (a meets the old S)   o = scale qᵀS
 *     mlstm      decay with input gate, normaliser and stabiliser
 *     selective  h = e^(delta A) h + delta B x                            o = C·h + D x
 *     diagonal   h = a h + b                                              o = h
 *
 * The first four run in two forms that compute the same function: token by token, and in chunks, where most
 * of the work is products of small matrices. A step of generation is the first form with one token.
 *
 * A call is one sequence. Element e of head h of token t is at p[t*stride + h*dim + e]. There may be fewer
 * heads of q and k than of v, g and beta: consecutive value heads then share a key head. */
#ifndef HOPBOUND_SCANS_H
#define HOPBOUND_SCANS_H

#include <hopbound/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hop_form { HOP_FORM_CHUNKED, HOP_FORM_RECURRENT } hop_form;

/* What the log decay g is given for: nothing (there is none), each head [H], each token and head [T,H], each
 * key element too [T,H,K]. It is at most 0 in every mixer here: 0 keeps, very negative values forget, and
 * neither gives a NaN. */
typedef enum hop_gate { HOP_GATE_NONE, HOP_GATE_HEAD, HOP_GATE_TOKEN, HOP_GATE_KEY } hop_gate;

typedef struct hop_scan {
    int64_t tokens;
    int64_t heads, key_heads; /* heads is a multiple of key_heads */
    int64_t key_dim, value_dim;
    int64_t q_stride, k_stride, v_stride, o_stride; /* dplr's a and b lie as k does, and heads = key_heads */
    int64_t gate_stride;                            /* of g (token and key gates), i and f */
    int64_t beta_stride;
    hop_gate gate;
    float scale;
    hop_form form;
} hop_scan;

/* What a recurrence does not use is NULL. */
typedef struct hop_scan_in {
    const float *q, *k, *v;
    const float *g;     /* log decay, as c->gate says; dplr wants HOP_GATE_KEY or NONE */
    const float *beta;  /* delta: [T,H] */
    const float *a, *b; /* dplr: [T,H,K] */
    const float *u; /* decay: [H,K], RWKV-6's bonus: o = scale qᵀ(S_old + diag(u) k vᵀ), then S is updated */
    const float *i, *f; /* mlstm: [T,H], before their activations; strides gate_stride */
} hop_scan_in;

/* Floats of scratch for a pool of `threads`, enough for every recurrence in both forms: what forward needs,
 * whatever the number of tokens; and the larger of what forward and backward need. */
size_t hop_scan_scratch(const hop_scan *c, int threads);
size_t hop_scan_backward_scratch(const hop_scan *c, int threads);

/* `state` [H,K,V] holds the state before the first token and, afterwards, that after the last one. NULL: it
 * starts at zero and is not kept. */
void hop_decay_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                       hop_pool *pool);
void hop_delta_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                       hop_pool *pool);
void hop_dplr_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                      hop_pool *pool);
/* mlstm's state is [H, K*V + K + 1]: for each head the matrix C, the normaliser n, the stabiliser m; it
 * starts at zero, m too. h = scale·qᵀC / (max(|scale·q·n|, e^-m) + 1e-6), m' = max(logsigmoid(f) + m, i), C =
 * e^(logsigmoid(f)+m-m') C + e^(i-m') k vᵀ, n likewise. */
void hop_mlstm_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                       hop_pool *pool);

/* Gradients of sum(o ⊙ d_o); the last state is taken to be unused. Outputs that are NULL are not wanted; the
 * others are overwritten and laid out as the inputs (heads that share a key head are summed). */
typedef struct hop_scan_grad {
    const float *d_o;
    float *dq, *dk, *dv, *dg, *dbeta, *da, *db, *du, *di, *df;
    float *d_state; /* of the initial state */
} hop_scan_grad;
void hop_decay_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                        float *scratch, hop_pool *pool);
void hop_delta_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                        float *scratch, hop_pool *pool);
void hop_dplr_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                       float *scratch, hop_pool *pool);
void hop_mlstm_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                        float *scratch, hop_pool *pool);

/* ---- selective scan (Mamba) ---------------------------------------------------------------- */

typedef struct hop_selective {
    int64_t tokens, width, states; /* T, D channels, N states of each */
    int64_t x_stride, delta_stride, b_stride, c_stride, o_stride;
} hop_selective;

typedef struct hop_selective_in {
    const float *x, *delta; /* [T,D] */
    const float *A;         /* [D,N] */
    const float *B, *C;     /* [T,N] */
    const float *D;         /* [D], or NULL: no skip */
} hop_selective_in;

typedef struct hop_selective_grad {
    const float *d_o;
    float *dx, *ddelta, *dA, *dB, *dC, *dD;
    float *d_state; /* of the initial state */
} hop_selective_grad;

/* As hop_scan_scratch and hop_scan_backward_scratch. */
size_t hop_selective_scratch(const hop_selective *c, int threads);
size_t hop_selective_backward_scratch(const hop_selective *c, int threads);
/* state [D,N], as above. */
void hop_selective_forward(float *o, float *state, const hop_selective_in *in, const hop_selective *c,
                           float *scratch, hop_pool *pool);
void hop_selective_backward(const hop_selective_grad *g, const float *state, const hop_selective_in *in,
                            const hop_selective *c, float *scratch, hop_pool *pool);

/* ---- elementwise recurrence and short convolution ------------------------------------------- */

/* These run in the calling thread. Channels do not depend on each other, nor do blocks of tokens of a
 * convolution, given the inputs before them as their past: a caller may share out either, and the bits are
 * the same. */

/* h_t = a_t h_{t-1} + b_t; a, b, h: [T, width], rows `stride` apart; state [width] as above. h may be b. */
void hop_diagonal_forward(float *h, float *state, const float *a, const float *b, int64_t tokens,
                          int64_t width, int64_t stride);
/* Gradients of sum(h ⊙ dh), overwritten and laid out as a, b; h as forward gave it, state before the first
 * token. d_state [width] may be NULL. */
typedef struct hop_diagonal_grad {
    const float *dh;
    float *da, *db, *d_state;
} hop_diagonal_grad;
void hop_diagonal_backward(const hop_diagonal_grad *g, const float *state, const float *a, const float *h,
                           int64_t tokens, int64_t width, int64_t stride);

/* Depthwise causal convolution: y_t[c] = bias[c] + sum_{j<size} w[c, j] x_{t-size+1+j}[c], then SiLU if
 * `silu`. `past` [size - 1, width] holds the inputs before token 0, oldest first, and afterwards the last
 * ones of these; NULL: zeros, not kept. bias may be NULL. */
typedef struct hop_conv {
    int64_t tokens, width, size;
    int64_t x_stride, y_stride;
    bool silu;
    int64_t past_stride; /* 0: width. Channels can so be shared out */
} hop_conv;
void hop_conv_forward(float *y, float *past, const float *x, const float *w, const float *bias,
                      const hop_conv *c);
/* Gradients of sum(y ⊙ dy), size <= HOP_CONV_MOST; `past` as it was before forward. dx, laid out as x, is
 * overwritten or, if `add`, added to; dw and dbias (may be NULL) are added to; dpast (may be NULL) is
 * overwritten, and laid out as past. */
#define HOP_CONV_MOST 64
typedef struct hop_conv_grad {
    const float *dy; /* laid out as y */
    float *dx, *dw, *dbias, *dpast;
    bool add;
} hop_conv_grad;
void hop_conv_backward(const hop_conv_grad *g, const float *past, const float *x, const float *w,
                       const float *bias, const hop_conv *c);

#ifdef __cplusplus
}
#endif
#endif
