/* hopbound/kernels.h - the arithmetic. Kernels cannot fail: shapes are asserted, scratch comes from the
 * caller, the output is the first argument, inputs are const.
 *
 * Every kernel exists as `ref` (plain loops, sums in double: the truth the others are tested against), as
 * portable C, and as the same body compiled for wider registers. Which table is used is decided once, at
 * run time, from what the CPU has and what the user allows.
 *
 * The contract that proofs rely on (construct/prove; tests/test_kernels.c checks it for every table), with
 * u = 2^-24, in the absence of overflow:
 *   - a dot product of k terms, in whatever order and with or without fused multiply-add, is within
 *     HOP_DOT_ERROR(k) * sum |a_i b_i| of the exact one;
 *   - exp(x) for x <= 0 is within HOP_EXP_ERROR relative, or both it and the truth are below 2^-120;
 *   - attention equals sum_j w_j v_j / sum_j w_j with every w_j and the quotient within HOP_ATTN_ERROR(T)
 *     relative of exp(s_j - s_max) formed from the scores as computed by dot products, or both w_j and that
 *     below 2^-120; the scale is one more factor of the dot product (HOP_DOT_ERROR(key_dim + 1)).
 */
#ifndef HOPBOUND_KERNELS_H
#define HOPBOUND_KERNELS_H

#include <hopbound/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_UNIT_ROUNDOFF 5.9604644775390625e-08                 /* 2^-24 */
#define HOP_DOT_ERROR(k)  (1.01 * ((k) + 1) * HOP_UNIT_ROUNDOFF) /* gamma_k, valid while k < 10^5 */
#define HOP_EXP_ERROR     4.76837158203125e-07                   /* 2^-21 */
/* T additions, at most one rescaling (an exp and a product) per key block of HOP_ATTN_BLOCK, and the rounding
 * of s_j - s_max: u relative of a number that is at least -88, so up to 88 u of the (then tiny) weight. */
#define HOP_ATTN_BLOCK 64
#define HOP_ATTN_ERROR(T)                      \
    (1.1 * (((T) + 88.0) * HOP_UNIT_ROUNDOFF + \
            ((T) / HOP_ATTN_BLOCK + 4.0) * (HOP_EXP_ERROR + 2 * HOP_UNIT_ROUNDOFF)))

/* ---- which CPU ----------------------------------------------------------------------------- */

typedef enum hop_isa { HOP_ISA_REF, HOP_ISA_SCALAR, HOP_ISA_AVX2, HOP_ISA_AVX512, HOP_ISA_COUNT } hop_isa;

const char *hop_isa_name(hop_isa isa);                  /* "ref", "scalar", "avx2", "avx512" */
bool hop_isa_from_name(const char *name, hop_isa *out); /* false: no such name */
bool hop_isa_available(hop_isa isa);                    /* compiled in, and the CPU and OS support it */
hop_isa hop_isa_best(void);

/* Chooses the table all kernels use. Call before starting threads. The first kernel call chooses
 * hop_isa_best(), or what the environment variable HOPBOUND_ISA names, if nobody chose before.
 * HOP_EUNKNOWN when `isa` is not available here. */
hop_status hop_kernels_select(hop_isa isa, hop_error *err);
hop_isa hop_kernels_selected(void);

/* ---- products ------------------------------------------------------------------------------ */

/* A matrix inside memory: element (i, j) is p[i*rs + j*cs]. */
typedef struct hop_mat {
    const float *p;
    int64_t rs, cs;
} hop_mat;

/* c[m, n] (rows `ldc` apart) = a[m, k] · b[k, n], plus the old c when `accumulate`. Any strides. Rows are
 * shared out over `pool` (may be NULL); every element is summed in the same order whatever the pool. */
void hop_gemm(float *c, int64_t ldc, hop_mat a, hop_mat b, int64_t m, int64_t n, int64_t k, bool accumulate,
              hop_pool *pool);

/* y[rows, out] = x[rows, in] · w[out, in]ᵀ + bias[out] (may be NULL): a layer's projection. */
void hop_linear(float *y, const float *x, const float *w, const float *bias, int64_t rows, int64_t out,
                int64_t in, hop_pool *pool);

/* ---- attention ----------------------------------------------------------------------------- */

/* Causal softmax attention over one sequence. Element e of head h of token t is at p[t*stride + h*dim + e].
 * Query row r stands at position first + r and sees keys 0 .. first + r (only the last `window` of them when
 * window > 0; all `tokens` keys when not causal). Query heads h share key head h / (heads / kv_heads).
 * bits in 1..23 cuts scores, weights and outputs to that many significant bits (hop_cut); 0 does not. */
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

/* Floats of scratch that forward needs for a pool of `threads`, and what forward or backward need, whichever
 * is more. Linear in tokens at most, and no less for more tokens. */
size_t hop_attn_scratch(const hop_attn *c, int threads);
size_t hop_attn_backward_scratch(const hop_attn *c, int threads);

/* o = softmax(scale · q kᵀ) v. `lse` (NULL, or [heads, queries]) receives log sum exp of the scores. */
void hop_attn_forward(float *o, float *lse, const float *q, const float *k, const float *v, const hop_attn *c,
                      float *scratch, hop_pool *pool);

/* The softmax over a part of the keys, not yet divided: for every query row and head the triple (largest
 * score, sum of e^(score - largest), the same sum of values), value_dim + 2 floats, [queries, heads,
 * value_dim + 2]. Queries that stand after all these keys set `bidirectional`, and then a row's bits do not
 * depend on how many rows are computed together. tokens >= 1; bits must be 0; scratch as forward's. */
void hop_attn_partial(float *triples, const float *q, const float *k, const float *v, const hop_attn *c,
                      float *scratch, hop_pool *pool);
/* triples[count, dim + 2], folded: those over some keys with those over others give those over both .. */
void hop_triple_fold(float *triples, const float *others, int64_t count, int64_t dim);
/* .. at the end of which o[count, dim] = vector / sum. */
void hop_triple_close(float *o, const float *triples, int64_t count, int64_t dim);
/* Makes them fit numbers of `bits` bits (hop_narrow). The maximum is rounded first and sum and vector are
 * taken relative to what became of it, so that rounding it costs no accuracy: only the rounding of sums does.
 */
void hop_triple_narrow(float *triples, int64_t count, int64_t dim, int bits);

/* Gradients of sum(o ⊙ d_o); dq, dk, dv are overwritten and laid out as q, k, v. `o`, `lse` as forward gave
 * them. Needs queries == tokens; bits are ignored. */
typedef struct hop_attn_grad {
    float *dq, *dk, *dv;
    const float *d_o; /* laid out as o */
} hop_attn_grad;
void hop_attn_backward(const hop_attn_grad *g, const float *o, const float *lse, const float *q,
                       const float *k, const float *v, const hop_attn *c, float *scratch, hop_pool *pool);

/* ---- elementwise --------------------------------------------------------------------------- */

/* In this thread. Numbers, and rows of the norms and of RoPE, do not depend on each other: whoever has many
 * of them calls with some at a time (hop_pool_rows), and the bits are the same. */
void hop_vexp(float *y, const float *x, int64_t n);
void hop_relu(float *y, const float *x, int64_t n);
void hop_gelu(float *y, const float *x, int64_t n);                       /* x·Φ(x), exact form (erf) */
void hop_swiglu(float *y, const float *gate, const float *up, int64_t n); /* silu(gate) ⊙ up */
void hop_add(float *y, const float *a, const float *b, int64_t n);
/* rows of x[rows, dim] normalised, times weight[dim] (plus bias[dim] for layer norm; NULL: none). */
void hop_rmsnorm(float *y, const float *x, const float *weight, int64_t rows, int64_t dim, float eps);
void hop_layernorm(float *y, const float *x, const float *weight, const float *bias, int64_t rows,
                   int64_t dim, float eps);
/* Rotates pairs (e, e + dim/2) of every head by position·theta^(-2e/dim), in place. Row r stands at first +
 * r. An odd last element is left alone. */
void hop_rope(float *x, int64_t rows, int64_t stride, int64_t heads, int64_t dim, int64_t first,
              double theta);
/* Rounds every number to `bits` significant bits (leading one included; ties to even): 24 changes nothing,
 * 8 is bfloat16's precision with float32's range. Infinities and NaN stay. */
void hop_cut(float *x, int64_t n, int bits);

/* Rounds to numbers of `bits` bits in all, 10 to 32: float32's sign, its 8 bits of exponent, bits - 9 of
 * fraction (16: bfloat16; 32 changes nothing). Ties to even; infinities and NaN stay what they are. */
void hop_narrow(float *x, int64_t n, int bits);

/* This machine's fused multiply-add peak in GFLOP/s, measured now on `threads` threads (0.1 s). */
double hop_peak_gflops(hop_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
