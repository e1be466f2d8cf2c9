/* ref.c - the truth: every kernel in plain loops, sums and functions in double. Slow on purpose: it is what
 * the other tables are tested against, so it shares no line with them. Scratch is not used; scores are
 * computed again where they are needed. */
#include "room.h"

#include <math.h>

static float element(hop_rows r, int64_t i, int64_t j)
{
    return r.p[i * r.stride + j];
}

static void gemm(const hop_product *g)
{
    const hop_mat a = g->a, b = g->b;
    for (int64_t i = 0; i < g->m; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            double sum = g->from.p ? element(g->from, i, j) : 0.0;
            for (int64_t p = 0; p < g->k; p++)
                sum += (double)a.p[i * a.rs + p * a.cs] * b.p[p * b.rs + j * b.cs];
            float *c = &g->c[i * g->ldc + j];
            *c = (float)sum;
            if (g->plus.p) *c += element(g->plus, i, j);
            if (g->times.p) *c *= element(g->times, i, j);
            if (g->sum) g->sum[j] += *c;
        }
    }
}

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * b[i];
    return sum;
}

static void matvec(float *y, const float *x, const float *w, const float *bias, int64_t out, int64_t in)
{
    for (int64_t o = 0; o < out; o++) y[o] = (float)(dot(w + o * in, x, in) + (bias ? bias[o] : 0.0f));
}

/* To `bits` significant bits, ties to even. 0: as float. */
static double round_one(double x, int bits)
{
    if (bits == 0 || !isfinite(x) || x == 0.0) return x;
    int e;
    double m = frexp((float)x, &e); /* what is rounded is a float */
    return (float)ldexp(rint(ldexp(m, bits)), e - bits);
}

/* ---- attention ----------------------------------------------------------------------------- */

typedef struct row_view {
    const float *q, *k, *v; /* q of the row; k, v of key 0 of its key head */
    int64_t lo, hi;
} row_view;

static row_view row_of(const hop_attn *c, const float *q, const float *k, const float *v, int64_t head,
                       int64_t row)
{
    int64_t kv = head / (c->heads / c->kv_heads);
    row_view w = {q + row * c->q_stride + head * c->key_dim, k + kv * c->key_dim, v + kv * c->value_dim, 0,
                  0};
    hop__attn_range(c, c->first + row, &w.lo, &w.hi);
    return w;
}

static double score(const hop_attn *c, const row_view *w, int64_t j, int bits)
{
    return round_one(c->scale * dot(w->q, w->k + j * c->k_stride, c->key_dim), bits);
}

static void forward_row(const hop__attn_task *t, int64_t row)
{
    const hop_attn *c = t->c;
    const int bits = c->bits < 24 ? c->bits : 0;
    row_view w = row_of(c, t->q, t->k, t->v, t->head, row);
    double top = -INFINITY, sum = 0.0;
    for (int64_t j = w.lo; j < w.hi; j++) top = fmax(top, score(c, &w, j, bits));
    for (int64_t j = w.lo; j < w.hi; j++) sum += round_one(exp(score(c, &w, j, bits) - top), bits);
    float *o = t->o + row * c->o_stride + t->head * c->value_dim;
    enum { chunk = 64 }; /* dimensions summed at once */
    for (int64_t e0 = 0; e0 < c->value_dim; e0 += chunk) {
        double acc[chunk] = {0};
        int64_t n = hop__min(chunk, c->value_dim - e0);
        for (int64_t j = w.lo; j < w.hi; j++) {
            double p = round_one(round_one(exp(score(c, &w, j, bits) - top), bits) / sum, bits);
            for (int64_t e = 0; e < n; e++) acc[e] += p * w.v[j * c->v_stride + e0 + e];
        }
        for (int64_t e = 0; e < n; e++) o[e0 + e] = (float)round_one(acc[e], bits);
    }
    if (t->lse) t->lse[t->head * c->queries + row] = (float)(top + log(sum));
}

static void partial_row(const hop__attn_task *t, int64_t row)
{
    const hop_attn *c = t->c;
    row_view w = row_of(c, t->q, t->k, t->v, t->head, row);
    float *o = t->o + (row * c->heads + t->head) * (c->value_dim + 2);
    /* Weights are relative to the number that is handed on, so scores are floats, too: half a unit of a large
     * one is more than exp can take. */
    double sum = 0.0;
    o[0] = -INFINITY;
    for (int64_t j = w.lo; j < w.hi; j++) o[0] = fmaxf(o[0], (float)score(c, &w, j, 0));
    for (int64_t j = w.lo; j < w.hi; j++) sum += exp((float)score(c, &w, j, 0) - (double)o[0]);
    o[1] = (float)sum;
    for (int64_t e = 0; e < c->value_dim; e++) {
        double acc = 0.0;
        for (int64_t j = w.lo; j < w.hi; j++)
            acc += exp((float)score(c, &w, j, 0) - (double)o[0]) * w.v[j * c->v_stride + e];
        o[2 + e] = (float)acc;
    }
}

static void attn_forward(const hop__attn_task *t)
{
    for (int64_t r = t->row; r < t->row + t->rows; r++) (t->partial ? partial_row : forward_row)(t, r);
}

/* P and dS of (row, j): p = exp(s - lse), ds = p (do·v - do·o). */
static void back_pair(const hop__attn_back *t, int64_t head, int64_t row, int64_t j, double *p, double *ds)
{
    const hop_attn *c = t->c;
    row_view w = row_of(c, t->q, t->k, t->v, head, row);
    int64_t at = row * c->o_stride + head * c->value_dim;
    *p = *ds = 0.0;
    if (j < w.lo || j >= w.hi) return;
    const float *d_o = t->g->d_o + at;
    *p = exp(score(c, &w, j, 0) - t->lse[head * c->queries + row]);
    *ds = *p * (dot(d_o, w.v + j * c->v_stride, c->value_dim) - dot(d_o, t->o + at, c->value_dim));
}

/* dq of one row. The sums are kept in chunks of dimensions, so that nothing is allocated. */
static void back_query(const hop__attn_back *t, int64_t head, int64_t row)
{
    enum { chunk = 64 };
    const hop_attn *c = t->c;
    row_view w = row_of(c, t->q, t->k, t->v, head, row);
    for (int64_t e0 = 0; e0 < c->key_dim; e0 += chunk) {
        double acc[chunk] = {0}, p, ds;
        int64_t n = hop__min(chunk, c->key_dim - e0);
        for (int64_t j = w.lo; j < w.hi; j++) {
            back_pair(t, head, row, j, &p, &ds);
            for (int64_t e = 0; e < n; e++) acc[e] += c->scale * ds * w.k[j * c->k_stride + e0 + e];
        }
        for (int64_t e = 0; e < n; e++)
            t->g->dq[row * c->q_stride + head * c->key_dim + e0 + e] = (float)acc[e];
    }
}

/* dk and dv of one key. */
static void back_key(const hop__attn_back *t, int64_t j)
{
    enum { chunk = 64 };
    const hop_attn *c = t->c;
    const int64_t group = c->heads / c->kv_heads, dims = hop__max(c->key_dim, c->value_dim);
    for (int64_t e0 = 0; e0 < dims; e0 += chunk) {
        double dk[chunk] = {0}, dv[chunk] = {0}, p, ds;
        int64_t kn = hop__min(chunk, c->key_dim - e0), vn = hop__min(chunk, c->value_dim - e0);
        for (int64_t head = t->kv_head * group; head < (t->kv_head + 1) * group; head++) {
            for (int64_t row = 0; row < c->queries; row++) {
                back_pair(t, head, row, j, &p, &ds);
                const float *q = t->q + row * c->q_stride + head * c->key_dim + e0;
                const float *d_o = t->g->d_o + row * c->o_stride + head * c->value_dim + e0;
                for (int64_t e = 0; e < kn; e++) dk[e] += c->scale * ds * q[e];
                for (int64_t e = 0; e < vn; e++) dv[e] += p * d_o[e];
            }
        }
        for (int64_t e = 0; e < kn; e++)
            t->g->dk[j * c->k_stride + t->kv_head * c->key_dim + e0 + e] = (float)dk[e];
        for (int64_t e = 0; e < vn; e++)
            t->g->dv[j * c->v_stride + t->kv_head * c->value_dim + e0 + e] = (float)dv[e];
    }
}

static void attn_backward(const hop__attn_back *t)
{
    const int64_t group = t->c->heads / t->c->kv_heads;
    for (int64_t head = t->kv_head * group; head < (t->kv_head + 1) * group; head++)
        for (int64_t row = 0; row < t->c->queries; row++) back_query(t, head, row);
    for (int64_t j = 0; j < t->c->tokens; j++) back_key(t, j);
}

/* ---- elementwise --------------------------------------------------------------------------- */

static void vexp(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)exp(x[i]);
}

static void relu(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

static void gelu(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(0.5 * x[i] * erfc(-x[i] * 0.70710678118654752440));
}

static void swiglu(float *y, const float *gate, const float *up, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)(gate[i] / (1.0 + exp(-(double)gate[i])) * up[i]);
}

static void add(float *y, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

/* x ⊙= by; sums over rows, each in double. */
static void mul_sum(float *x, const float *by, float *sum, int64_t rows, int64_t width)
{
    for (int64_t j = 0; j < width; j++) {
        double all = sum ? sum[j] : 0.0;
        for (int64_t i = j; i < rows * width; i += width) {
            if (by) x[i] *= by[i];
            all += x[i];
        }
        if (sum) sum[j] = (float)all;
    }
}

static void rmsnorm(float *y, const float *x, const hop__norm *c)
{
    for (int64_t r = 0; r < c->rows; r++, x += c->dim, y += c->dim) {
        double s = 1.0 / sqrt(dot(x, x, c->dim) / (double)c->dim + c->eps);
        for (int64_t i = 0; i < c->dim; i++) y[i] = (float)(x[i] * s * c->weight[i]);
    }
}

static void layernorm(float *y, const float *x, const hop__norm *c)
{
    for (int64_t r = 0; r < c->rows; r++, x += c->dim, y += c->dim) {
        double mean = 0.0, var = 0.0;
        for (int64_t i = 0; i < c->dim; i++) mean += x[i] / (double)c->dim;
        for (int64_t i = 0; i < c->dim; i++) var += (x[i] - mean) * (x[i] - mean) / (double)c->dim;
        double s = 1.0 / sqrt(var + c->eps);
        for (int64_t i = 0; i < c->dim; i++)
            y[i] = (float)((x[i] - mean) * s * c->weight[i] + (c->bias ? c->bias[i] : 0.0f));
    }
}

static void round_significand(float *x, int64_t n, int bits)
{
    for (int64_t i = 0; i < n; i++) x[i] = (float)round_one(x[i], bits);
}

/* One chain: what a plain loop reaches. */
static double fma_loop(int64_t rounds)
{
    volatile double half = 0.5;
    double x = half, f = half;
    for (int64_t r = 0; r < rounds; r++) x = x * f + f;
    half = x;
    return 2.0 * (double)rounds;
}

const hop__kernels hop__kernels_ref = {
    .name = "ref",
    .isa = HOP_ISA_REF,
    .gemm = gemm,
    .matvec = matvec,
    .attn_forward = attn_forward,
    .attn_backward = attn_backward,
    .vexp = vexp,
    .relu = relu,
    .gelu = gelu,
    .gelu_keep = hop__ref_gelu_keep,
    .swiglu = swiglu,
    .add = add,
    .mul_sum = mul_sum,
    .rmsnorm = rmsnorm,
    .layernorm = layernorm,
    .round_significand = round_significand,
    .scan_forward = hop__ref_scan_forward,
    .scan_backward = hop__ref_scan_backward,
    .select_forward = hop__ref_select_forward,
    .select_backward = hop__ref_select_backward,
    .diagonal = hop__ref_diagonal,
    .conv = hop__ref_conv,
    .relu_back = hop__ref_relu_back,
    .gelu_back = hop__ref_gelu_back,
    .silu_back = hop__ref_silu_back,
    .swiglu_back = hop__ref_swiglu_back,
    .rmsnorm_back = hop__ref_rmsnorm_back,
    .layernorm_back = hop__ref_layernorm_back,
    .diagonal_back = hop__ref_diagonal_back,
    .conv_back = hop__ref_conv_back,
    .fma_loop = fma_loop,
};
