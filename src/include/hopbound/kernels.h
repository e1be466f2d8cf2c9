/* hopbound/kernels.h - the arithmetic. Kernels cannot fail: shapes are asserted, scratch comes from the
 * caller, the output is the first argument, inputs are const.
 *
 * Every kernel exists as `ref` (plain loops that sum in double: what the others are tested against), as
 * portable C, and as the same C compiled for wider registers. Which table of kernels is used is decided once,
 * at run time, by what the CPU supports and the user allows.
 *
 * The contract that proofs rely on (construct/prove; tests/test_kernels.c checks it for every table), with
 * u = 2^-24, in the absence of overflow:
 *   - a dot product of k terms, summed in any order, with or without fused multiply-add, is within
 *     HOP_DOT_ERROR(k) * sum |a_i b_i| of the exact one;
 *   - exp(x) for x <= 0 has a relative error of at most HOP_EXP_ERROR, or it and the exact value are both
 * below 2^-120; for |x| <= HOP_EXP_ONE it is exactly 1;
 *   - attention equals sum_j w_j v_j / sum_j w_j with every w_j and the quotient within HOP_ATTN_ERROR(T)
 *     relative of exp(s_j - s_max) formed from the scores as computed by dot products, or both w_j and that
 *     below 2^-120; the scale is one more factor of the dot product (HOP_DOT_ERROR(key_dim + 1)).
 */
#ifndef HOPBOUND_KERNELS_H
#define HOPBOUND_KERNELS_H

#include <hopbound/base.h>
#include <hopbound/isa.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_UNIT_ROUNDOFF 5.9604644775390625e-08                 /* 2^-24 */
#define HOP_DOT_ERROR(k)  (1.01 * ((k) + 1) * HOP_UNIT_ROUNDOFF) /* gamma_k, valid while k < 10^5 */
#define HOP_EXP_ERROR     4.76837158203125e-07                   /* 2^-21 */
#define HOP_EXP_ONE       9.31322574615478515625e-10             /* 2^-30 */
/* T additions; at most one rescaling (an exp and a product) for every HOP_ATTN_BLOCK keys; and the rounding
 * of s_j - s_max, a number of at least -88, which costs a weight up to 88 u of itself. */
#define HOP_ATTN_BLOCK 64
#define HOP_ATTN_ERROR(T)                      \
    (1.1 * (((T) + 88.0) * HOP_UNIT_ROUNDOFF + \
            ((T) / HOP_ATTN_BLOCK + 4.0) * (HOP_EXP_ERROR + 2 * HOP_UNIT_ROUNDOFF)))

/* ---- products ------------------------------------------------------------------------------ */

/* A matrix inside memory: element (i, j) is p[i*rs + j*cs]. */
typedef struct hop_mat {
    const float *p;
    int64_t rs, cs;
} hop_mat;

/* c[m, n] (rows `ldc` apart) = a[m, k] · b[k, n], plus the old c if `accumulate`. Any strides. The work is
 * shared out over `pool` (may be NULL); every element is summed in the same order for any number of threads.
 */
void hop_gemm(float *c, int64_t ldc, hop_mat a, hop_mat b, int64_t m, int64_t n, int64_t k, bool accumulate,
              hop_pool *pool);

/* Rows `stride` apart, 0: the same one for all; p NULL: none. */
typedef struct hop_rows {
    const float *p;
    int64_t stride;
} hop_rows;

/* A product, and what is done to it while it is in registers:
 *     c[m, n] = (a[m, k] · b[k, n] + from + plus) ⊙ times;   sum[n] += what c's columns come to, row after
 * row. `from` may be c itself, plus and times may not. hop_gemm is this with `from` only. With a `sum` the
 * pool must be NULL. */
typedef struct hop_product {
    float *c;
    int64_t ldc;
    hop_mat a, b;
    const float *panels; /* b as hop_panels laid it out; NULL: it did not */
    int64_t m, n, k;
    hop_rows from, plus, times;
    float *sum;
} hop_product;
void hop_multiply(const hop_product *p, hop_pool *pool);

/* b[k, n] as products read it, for one that many are made with: k · n floats. Only the kernels that are
 * selected now can read it, and only a matrix that hop_panels_fit can be laid out. */
void hop_panels(float *to, hop_mat b, int64_t k, int64_t n);
bool hop_panels_fit(int64_t n);

/* y[rows, out] = x[rows, in] · w[out, in]ᵀ + bias[out] (may be NULL): a layer's projection. Up to three rows
 * are summed in another order than more; hop_gemm with the bias already in c is not. */
void hop_linear(float *y, const float *x, const float *w, const float *bias, int64_t rows, int64_t out,
                int64_t in, hop_pool *pool);
/* The same, plus the rows of `plus` (NULL: nothing); panels: of wᵀ, or NULL. */
typedef struct hop_weights {
    const float *w, *panels, *bias;
    int64_t out, in;
} hop_weights;
void hop_linear_onto(float *y, const float *plus, const float *x, const hop_weights *w, int64_t rows,
                     hop_pool *pool);

/* ---- attention ----------------------------------------------------------------------------- */

/* Causal softmax attention over one sequence. Element e of head h of token t is at p[t*stride + h*dim + e].
 * Query row r stands at position first + r and sees keys 0 .. first + r (only the last `window` of them when
 * window > 0; all `tokens` keys if bidirectional). Query head h uses key head h / (heads / kv_heads). bits in
 * 1..23: scores, weights and outputs are rounded to that many significant bits (hop_round_significand); 0:
 * not.
 */
typedef struct hop_attn {
    int64_t tokens;         /* keys and values */
    int64_t queries, first; /* query rows, and the position of row 0; first + queries <= tokens */
    int64_t heads, kv_heads;
    int64_t key_dim, value_dim;
    int64_t q_stride, k_stride, v_stride, o_stride;
    float scale;
    int64_t window;
    bool bidirectional;
    int bits;
} hop_attn;

/* Floats of scratch that forward needs for a pool of `threads`; and the larger of what forward and backward
 * need. At most linear in tokens, and no less for more tokens. */
size_t hop_attn_scratch(const hop_attn *c, int threads);
size_t hop_attn_backward_scratch(const hop_attn *c, int threads);

/* o = softmax(scale · q kᵀ) v. `lse` (NULL, or [heads, queries]) receives the log-sum-exp of the scores. */
void hop_attn_forward(float *o, float *lse, const float *q, const float *k, const float *v, const hop_attn *c,
                      float *scratch, hop_pool *pool);

/* A partial softmax is the softmax over a part of the keys before its division: for every query row and head
 * the largest score, the sum of e^(score - largest), and the same sum weighted by values. That is value_dim +
 * 2 floats, [queries, heads, value_dim + 2]. Queries that come after all of these keys set `bidirectional`;
 * then a row's bits do not depend on how many rows are computed together. tokens >= 1; bits must be 0;
 * scratch as forward's. */
void hop_attn_partial(float *partials, const float *q, const float *k, const float *v, const hop_attn *c,
                      float *scratch, hop_pool *pool);
/* partials[count, dim + 2] become the partial softmaxes over their own keys and those of `others` .. */
void hop_partial_fold(float *partials, const float *others, int64_t count, int64_t dim);
/* .. and once all keys are in, o[count, dim] = values / sum. */
void hop_partial_close(float *o, const float *partials, int64_t count, int64_t dim);
/* Rounds them to numbers of `bits` bits (hop_round_float). The largest score is rounded first, and sum and
 * values are taken relative to the result, so that only the rounding of the sums costs accuracy. */
void hop_partial_round(float *partials, int64_t count, int64_t dim, int bits);

/* Gradients of sum(o ⊙ d_o); dq, dk, dv are overwritten and laid out as q, k, v. `o`, `lse` as forward gave
 * them. Needs queries == tokens; bits are ignored. */
typedef struct hop_attn_grad {
    float *dq, *dk, *dv;
    const float *d_o; /* laid out as o */
} hop_attn_grad;
void hop_attn_backward(const hop_attn_grad *g, const float *o, const float *lse, const float *q,
                       const float *k, const float *v, const hop_attn *c, float *scratch, hop_pool *pool);

/* ---- elementwise --------------------------------------------------------------------------- */

/* These run in the calling thread. Elements, and rows of the norms and of RoPE, do not depend on each other:
 * who has many of them calls with some at a time (hop_pool_rows), and the bits are the same. y may be an
 * input. */
void hop_vexp(float *y, const float *x, int64_t n);
void hop_relu(float *y, const float *x, int64_t n);
void hop_gelu(float *y, const float *x, int64_t n);                       /* x·Φ(x), exact form (erf) */
void hop_swiglu(float *y, const float *gate, const float *up, int64_t n); /* silu(gate) ⊙ up */
void hop_add(float *y, const float *a, const float *b, int64_t n);
/* Every row of x[rows, dim] normalised, times weight[dim], plus bias[dim] (layer norm; NULL: none). */
void hop_rmsnorm(float *y, const float *x, const float *weight, int64_t rows, int64_t dim, float eps);
void hop_layernorm(float *y, const float *x, const float *weight, const float *bias, int64_t rows,
                   int64_t dim, float eps);
/* Rotates the pairs (e, e + dim/2) of every head by position·theta^(-2e/dim), in place. Row r is at position
 * first + r. With odd dim the last element stays. */
void hop_rope(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, int64_t first,
              double theta);
/* The same with the first `rotary` numbers of every head, as if it had no others. */
void hop_rope_part(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, int64_t rotary,
                   int64_t first, double theta);

/* gelu, and its slope for who goes back through it; either may lie where x does. */
void hop_gelu_keep(float *y, float *slope, const float *x, int64_t n);
/* x[rows, width] ⊙= by (NULL: stays); what its columns come to is added to sum[width] (NULL: not wanted), row
 * after row. */
void hop_mul_sum(float *x, const float *by, float *sum, int64_t rows, int64_t width);

/* Gradients. dx = dy ⊙ f'(x), which may lie where dy does, and y = f(x) once more (NULL: not wanted). relu's
 * slope at 0 is 0. */
void hop_relu_backward(float *dx, float *y, const float *x, const float *dy, int64_t n);
void hop_gelu_backward(float *dx, float *y, const float *x, const float *dy, int64_t n);
void hop_silu_backward(float *dx, float *y, const float *x, const float *dy, int64_t n);
/* Each of the outputs may lie where one of the inputs does; y may be NULL. */
typedef struct hop_swiglu_grad {
    float *dgate, *dup, *y;
} hop_swiglu_grad;
void hop_swiglu_backward(const hop_swiglu_grad *g, const float *gate, const float *up, const float *dy,
                         int64_t n);
/* Of the norms: dx [rows, dim] is overwritten or, if `add`, added to; dweight and dbias [dim], each of which
 * may be NULL, are added to, row after row. */
typedef struct hop_norm_grad {
    const float *dy;
    float *dx, *dweight, *dbias;
    bool add;
} hop_norm_grad;
void hop_rmsnorm_backward(const hop_norm_grad *g, const float *x, const float *weight, int64_t rows,
                          int64_t dim, float eps);
void hop_layernorm_backward(const hop_norm_grad *g, const float *x, const float *weight, int64_t rows,
                            int64_t dim, float eps);
/* hop_rope for who rotates the same positions often: cosines and sines of positions 0 .. rows-1, [rows,
 * dim/2, 2], and the rotation by them, row r by the table's row first + r; `back` turns the other way, which
 * is the gradient. The bits are hop_rope's. */
void hop_rope_table(double *table, int64_t rows, int64_t dim, double theta);
void hop_rope_by(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, const double *table,
                 int64_t first, bool back);
/* The same with the first `rotary` numbers of every head; the table is hop_rope_table's of `rotary`. */
void hop_rope_part_by(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, int64_t rotary,
                      const double *table, int64_t first, bool back);

/* Two roundings, both to nearest, ties to even; infinities and NaN stay what they are. */

/* To `bits` significant bits, 1 to 24, the leading one counted, and any exponent, denormals' too: 24 changes
 * nothing, 8 is bfloat16's precision. */
void hop_round_significand(float *x, int64_t n, int bits);
/* To floating-point numbers of `bits` bits in all, 10 to 32: float32's sign and 8 bits of exponent, bits - 9
 * of fraction. 32 changes nothing, 16 is bfloat16. Denormals lose bits as float32's do. */
void hop_round_float(float *x, int64_t n, int bits);

/* This machine's fused multiply-add peak in GFLOP/s, measured now on `threads` threads (0.1 s). */
double hop_peak_gflops(hop_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
