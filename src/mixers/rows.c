/* rows.c - the operations that look at one row at a time. An input may lie where the result goes: each number
 * is read before it is written. */
#include "exec.h"

#include <hopbound/arith_trace.h>

#include <math.h>
#include <string.h>

/* Some rows of an operation: the result is packed, inputs are `stride` apart. */
typedef struct rows {
    const hop__exec *w;
    const hop_op *op;
    int64_t first, count, width;
    float *y;
    const float *in[4];
    int64_t stride[4];
    const float *par, *par2;
} rows;

/* All inputs packed: the rows are one long one. */
static bool packed(const rows *r)
{
    for (int i = 0; i < 4; i++)
        if (r->in[i] && r->stride[i] != r->width) return false;
    return true;
}

static void copy_to(float *y, const float *x, int64_t n)
{
    if (y != x) memcpy(y, x, sizeof(float) * (size_t)n);
}

/* y = a, which may be elsewhere. */
static void bring(const rows *r)
{
    if (packed(r)) {
        copy_to(r->y, r->in[0], r->count * r->width);
        return;
    }
    for (int64_t t = 0; t < r->count; t++)
        copy_to(r->y + t * r->width, r->in[0] + t * r->stride[0], r->width);
}

static void multiply(float *x, int64_t n, float by)
{
    for (int64_t i = 0; by != 1.0f && i < n; i++) x[i] *= by;
}

static void act(const rows *r)
{
    int64_t n = r->count * r->width;
    bring(r);
    TRACE_TOKEN(0);
    multiply(r->y, n, (float)r->op->before);
    TRACE("x", r->y, ALONG(T, n, 1));
    hop__activate(r->op->act, r->y, n);
    TRACE("f", r->y, ALONG(T, n, 1));
    multiply(r->y, n, (float)r->op->scale);
    TRACE("y", r->y, ALONG(T, n, 1));
}

/* exp(A_log) is kept finite, so that a step size of exactly 0 holds the state whatever A_log is. */
static void rate(const rows *r)
{
    int64_t dim = r->op->dim;
    TRACE_TOKEN(0);
    for (int64_t g = 0; g < r->op->groups; g++) {
        float e_w = expf(r->par[g]), by = -fminf(e_w, 1e30f);
        TRACE("e", &e_w, AT(T, g * dim));
        TRACE("by", &by, AT(T, g * dim));
        TRACE("r", &by, AT(T, g * dim), .negated = true);
        for (int64_t t = 0; t < r->count; t++)
            for (int64_t e = g * dim; e < (g + 1) * dim; e++)
                r->y[t * r->width + e] =
                    TOLD("y", r->in[0][t * r->stride[0] + e] * by, AT(T, t * r->width + e));
    }
}

/* Four sums, so that additions need not wait for each other. */
static void l2(const rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < r->op->groups; g++) {
            const float *x = r->in[0] + t * r->stride[0] + g * dim;
            float *y = r->y + t * r->width + g * dim;
            double s[4] = {0};
            for (int64_t i = 0; i < dim; i++) s[i & 3] += (double)x[i] * x[i];
            float inverse = (float)(1.0 / sqrt(s[0] + s[1] + s[2] + s[3] + 1e-6));
            TRACE_TOKEN(t * r->op->groups + g);
            TRACE_WIDE("sum", s[0] + s[1] + s[2] + s[3]);
            TRACE_WIDE("whole", s[0] + s[1] + s[2] + s[3] + 1e-6);
            TRACE("by", &inverse, AT(T, 0));
            for (int64_t i = 0; i < dim; i++) y[i] = TOLD("y", x[i] * inverse, AT(K, i));
        }
}

/* By frequencies of its own, as Hugging Face rotates: angles, cosines and sines are float32. */
static void rope_by_table(const rows *r, float *y, int64_t position)
{
    const hop_op *op = r->op;
    const int64_t half = op->rotary / 2;
    for (int64_t e = 0; e < half; e++) {
        const double angle = (float)position * r->par[e];
        const float co = (float)cos(angle) * (float)op->scale, si = (float)sin(angle) * (float)op->scale;
        for (int64_t g = 0; g < op->groups; g++) {
            float *a = y + g * op->dim + e, *b = a + half;
            const double x = *a, z = *b;
            TRACE_WIDE("angle", angle, AT(T, g * half + e));
            TRACE("co", &co, AT(T, g * half + e));
            TRACE("si", &si, AT(T, g * half + e));
            TRACE_WIDE("ac", x * co, AT(T, g * half + e));
            TRACE_WIDE("bs", z * si, AT(T, g * half + e));
            TRACE_WIDE("as", x * si, AT(T, g * half + e));
            TRACE_WIDE("bc", z * co, AT(T, g * half + e));
            TRACE_WIDE("less", x * co - z * si, AT(T, g * half + e));
            TRACE_WIDE("more", x * si + z * co, AT(T, g * half + e));
            *a = TOLD("first", (float)(x * co - z * si), AT(T, g * half + e));
            *b = TOLD("second", (float)(x * si + z * co), AT(T, g * half + e));
        }
    }
}

/* Rows of several sequences may follow one another. */
static void rope(const rows *r)
{
    int64_t tokens = r->w->tokens;
    bring(r);
    for (int64_t t = 0, n; t < r->count; t += n) {
        int64_t at = (r->first + t) % tokens;
        n = tokens - at < r->count - t ? tokens - at : r->count - t;
        const hop_op *op = r->op;
        float *y = r->y + t * r->width;
        int64_t position = r->w->position + at;
        if (r->par)
            for (int64_t i = 0; i < n; i++) {
                TRACE_TOKEN((t + i) * op->groups * (op->rotary / 2));
                rope_by_table(r, y + i * r->width, position + i);
            }
        else if (r->w->angles)
            hop_rope_part_by(y, n, r->width, op->groups, op->dim, op->rotary, r->w->angles, position, false);
        else
            hop_rope_part(y, n, r->width, op->groups, op->dim, op->rotary, position, op->theta);
    }
}

static void rms(const rows *r)
{
    int64_t groups = r->op->groups, dim = r->op->dim;
    bool together = packed(r);
    for (int64_t t = 0; t < (together ? 1 : r->count); t++) {
        TRACE_TOKEN(t * groups);
        hop_rmsnorm(r->y + t * r->width, r->in[0] + t * r->stride[0], r->par,
                    (together ? r->count : 1) * groups, dim, (float)r->op->eps);
    }
}

static void groupnorm(const rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < r->op->groups; g++) {
            TRACE_TOKEN(t * r->op->groups + g);
            hop_layernorm(r->y + t * r->width + g * dim, r->in[0] + t * r->stride[0] + g * dim,
                          r->par + g * dim, r->par2 ? r->par2 + g * dim : NULL, 1, dim, (float)r->op->eps);
        }
}

static void mul(const rows *r)
{
    int64_t dim = r->op->dim;
    TRACE_TOKEN(0);
    if (dim == 1 && packed(r)) {
        for (int64_t i = 0; i < r->count * r->width; i++)
            r->y[i] = TOLD("y", r->in[0][i] * r->in[1][i], AT(T, i));
        return;
    }
    for (int64_t t = 0; t < r->count; t++) {
        const float *a = r->in[0] + t * r->stride[0], *b = r->in[1] + t * r->stride[1];
        float *y = r->y + t * r->width;
        for (int64_t g = 0; g * dim < r->width; g++)
            for (int64_t e = g * dim; e < (g + 1) * dim; e++)
                y[e] = TOLD("y", b[g] * a[e], AT(T, t * r->width + e));
    }
}

/* The operations that are one expression of an element: a, b, c its inputs, w its parameter's number. */
#define ELEMENTWISE(name, expression)                                      \
    static void name(const rows *r)                                        \
    {                                                                      \
        for (int64_t t = 0; t < r->count; t++) {                           \
            const float *pa = r->in[0] + t * r->stride[0],                 \
                        *pb = r->in[1] ? r->in[1] + t * r->stride[1] : pa; \
            const float *pc = r->in[2] ? r->in[2] + t * r->stride[2] : pa; \
            float *y = r->y + t * r->width;                                \
            for (int64_t e = 0; e < r->width; e++) {                       \
                float a = pa[e], b = pb[e], c = pc[e];                     \
                (void)b, (void)c;                                          \
                TRACE_TOKEN(t * r->width + e);                             \
                y[e] = TOLD("y", expression);                              \
            }                                                              \
        }                                                                  \
    }
ELEMENTWISE(sub, a - b)
ELEMENTWISE(add, a + b)
ELEMENTWISE(lerp_by, a + TOLD("bb", b *TOLD("by", c + r->par[e])))
ELEMENTWISE(lerp_fixed, a + TOLD("bw", b * r->par[e]))
ELEMENTWISE(weigh, a * r->par[e])
ELEMENTWISE(blend, a *TOLD("by", 1.0f + TOLD("some", TOLD("more", b - 1.0f) * r->par[e])))
/* 1 - a² from the logarithm: a itself is too coarse near 1. */
ELEMENTWISE(lru_input, TOLD("root", sqrtf(-TOLD("e", expm1f(TOLD("a2", 2.0f * a))))) * TOLD("bc", b *c))
#undef ELEMENTWISE

/* What is no number stays none. */
static void clamp(const rows *r)
{
    const float lo = (float)r->op->lo, hi = (float)r->op->hi;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t e = 0; e < r->width; e++) {
            const float a = r->in[0][t * r->stride[0] + e];
            TRACE_TOKEN(t * r->width + e);
            const float some = TOLD("some", a < lo ? lo : a);
            r->y[t * r->width + e] = TOLD("y", some > hi ? hi : some);
        }
}

static void lerp(const rows *r)
{
    rows line = *r;
    line.par += r->op->first_row * r->width;
    (r->in[2] ? lerp_by : lerp_fixed)(&line);
}

static void skip(const rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++) {
        const float *a = r->in[0] + t * r->stride[0], *b = r->in[1] + t * r->stride[1];
        float *y = r->y + t * r->width;
        for (int64_t g = 0; g * dim < r->width; g++)
            for (int64_t e = g * dim; e < (g + 1) * dim; e++) {
                TRACE_TOKEN(t * r->width + e);
                y[e] = TOLD("y", a[e] + TOLD("wb", r->par[g] * b[e]));
            }
    }
}

static void bonus(const rows *r)
{
    int64_t groups = r->op->groups, dim = r->op->dim, values = r->width / groups;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < groups; g++) {
            const float *b = r->in[1] + t * r->stride[1] + g * dim,
                        *c = r->in[2] + t * r->stride[2] + g * dim;
            const float *a = r->in[0] + t * r->stride[0] + g * values,
                        *v = r->in[3] + t * r->stride[3] + g * values;
            float sum = 0.0f, *y = r->y + t * r->width + g * values;
            TRACE_TOKEN(t * groups + g);
            for (int64_t e = 0; e < dim; e++)
                sum += TOLD("bcw", TOLD("bc", b[e] * c[e], AT(K, e)) * r->par[g * dim + e], AT(K, e));
            TRACE("sum", &sum, AT(T, 0));
            for (int64_t e = 0; e < values; e++)
                y[e] = TOLD("y", a[e] + TOLD("sv", sum * v[e], AT(V, e)), AT(V, e));
        }
}

static void lru_rate(const rows *r)
{
    float by[256];
    for (int64_t at = 0; at < r->width; at += 256) {
        int64_t n = r->width - at < 256 ? r->width - at : 256;
        memcpy(by, r->par + at, sizeof(float) * (size_t)n);
        hop__activate(HOP_ACT_SOFTPLUS, by, n);
        for (int64_t t = 0; t < r->count; t++)
            for (int64_t e = 0; e < n; e++) {
                TRACE_TOKEN(t * r->width + at + e);
                r->y[t * r->width + at + e] =
                    TOLD("y", TOLD("a8", -8.0f * r->in[0][t * r->stride[0] + at + e]) *
                                  TOLD("r", fminf(TOLD("s", by[e]), 1e30f)));
            }
    }
}

static void taylor(const rows *r)
{
    int64_t d = r->op->dim;
    float scale = r->op->scaled ? (float)r->op->scale : 1.0f, half = r->op->scaled ? 0.5f : 1.0f;
    float *y = r->y;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < r->op->groups; g++) {
            const float *x = r->in[0] + t * r->stride[0] + g * d;
            *y++ = 1.0f;
            for (int64_t i = 0; i < d; i++) {
                TRACE_TOKEN(((t * r->op->groups + g) * d + i) * d + i);
                *y++ = TOLD("one", scale * x[i]);
            }
            for (int64_t i = 0; i < d; i++) {
                TRACE_TOKEN(((t * r->op->groups + g) * d + i) * d + i);
                float square = TOLD("sa", TOLD("ss", scale * scale) * x[i]);
                *y++ = TOLD("square", TOLD("ha", TOLD("hs", TOLD("h", half * scale) * scale) * x[i]) * x[i]);
                for (int64_t j = i + 1; j < d; j++) *y++ = TOLD("product", square * x[j], AT(T, j - i));
            }
        }
}

static void append_one(const rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < r->op->groups; g++) {
            float *y = r->y + t * r->width + g * (dim + 1);
            memcpy(y, r->in[0] + t * r->stride[0] + g * dim, sizeof(float) * (size_t)dim);
            y[dim] = 1.0f;
        }
}

static void divide(const rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < r->op->groups; g++) {
            const float *x = r->in[0] + t * r->stride[0] + g * (dim + 1);
            TRACE_TOKEN(t * r->op->groups + g);
            for (int64_t e = 0; e < dim; e++)
                r->y[t * r->width + g * dim + e] =
                    TOLD("y", x[e] / TOLD("by", x[dim] + (float)r->op->eps), AT(V, e));
        }
}

static void repeat(const rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < r->op->groups; g++)
            memcpy(r->y + t * r->width + g * dim, r->in[0] + t * r->stride[0] + g / r->op->times * dim,
                   sizeof(float) * (size_t)dim);
}

static void route(const rows *r)
{
    for (int64_t t = 0; t < r->count; t++)
        hop__route_row(r->y + t * r->width, r->in[0] + t * r->stride[0], r->par, r->op);
}

static void (*const row_ops[HOP_OP_COUNT])(const rows *) = {
    [HOP_OP_ACT] = act,
    [HOP_OP_RATE] = rate,
    [HOP_OP_L2] = l2,
    [HOP_OP_ROPE] = rope,
    [HOP_OP_RMS] = rms,
    [HOP_OP_GROUPNORM] = groupnorm,
    [HOP_OP_MUL] = mul,
    [HOP_OP_SUB] = sub,
    [HOP_OP_CLAMP] = clamp,
    [HOP_OP_ADD] = add,
    [HOP_OP_ROUTE] = route,
    [HOP_OP_LERP] = lerp,
    [HOP_OP_WEIGH] = weigh,
    [HOP_OP_SKIP] = skip,
    [HOP_OP_BLEND] = blend,
    [HOP_OP_BONUS] = bonus,
    [HOP_OP_LRU_RATE] = lru_rate,
    [HOP_OP_LRU_INPUT] = lru_input,
    [HOP_OP_TAYLOR] = taylor,
    [HOP_OP_APPEND_ONE] = append_one,
    [HOP_OP_DIVIDE] = divide,
    [HOP_OP_REPEAT] = repeat,
};

void hop__row_op(const hop__exec *w, const hop_op *op, int64_t s, int64_t from, int64_t count)
{
    rows r = {.w = w, .op = op, .first = from, .count = count, .width = op->width};
    r.y = hop__out(w, op, s, from);
    for (int i = 0; i < 4; i++) {
        r.in[i] = hop__in(w, op, i, s, from);
        r.stride[i] = hop__stride(w, op, i);
    }
    r.par = hop__par(w, op, 0), r.par2 = hop__par(w, op, 1);
    row_ops[op->kind](&r);
    hop__cut_rows(w, r.y, count * op->width);
}
