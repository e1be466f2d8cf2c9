/* back_rows.c - the way back through the operations that look at one row at a time: sums, products, copies.
 */
#include "back_rows.h"

#include <math.h>
#include <string.h>

/* The gradient of input i is `expression` of element e, of the row's a, b, c (its inputs; those not there are
 * not read), w (its parameter) and d (the result's gradient). */
#define PUT(i, expression)                                                 \
    do {                                                                   \
        float *to_ = hop__rows_din(r, i, t);                               \
        if (r->add[i])                                                     \
            for (int64_t e = 0; e < r->width; e++) to_[e] += (expression); \
        else                                                               \
            for (int64_t e = 0; e < r->width; e++) to_[e] = (expression);  \
    } while (0)

typedef struct row {
    const float *a, *b, *c, *d;
} row;

static row row_at(const hop__rows *r, int64_t t)
{
    row x = {r->in[0] ? hop__rows_in(r, 0, t) : NULL, r->in[1] ? hop__rows_in(r, 1, t) : NULL,
             r->in[2] ? hop__rows_in(r, 2, t) : NULL, r->dy + t * r->width};
    return x;
}

static void mul(const hop__rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        if (dim == 1) {
            PUT(0, x.d[e] * x.b[e]);
            PUT(1, x.d[e] * x.a[e]);
            continue;
        }
        float *da = hop__rows_din(r, 0, t), *db = hop__rows_din(r, 1, t);
        for (int64_t g = 0; g * dim < r->width; g++) {
            float sum = 0.0f;
            for (int64_t e = g * dim; e < (g + 1) * dim; e++) {
                sum += x.d[e] * x.a[e];
                da[e] = x.d[e] * x.b[g] + (r->add[0] ? da[e] : 0.0f);
            }
            db[g] = sum + (r->add[1] ? db[g] : 0.0f);
        }
    }
}

static void sub(const hop__rows *r)
{
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        PUT(0, x.d[e]);
        PUT(1, -x.d[e]);
    }
}

static void clamp(const hop__rows *r)
{
    const float lo = (float)r->op->lo, hi = (float)r->op->hi;
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        PUT(0, x.a[e] < lo || x.a[e] > hi ? 0.0f : x.d[e]);
    }
}

static void lerp(const hop__rows *r)
{
    const float *w = r->par + r->op->first_row * r->width;
    float *dw = r->dpar + r->op->first_row * r->width;
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        PUT(0, x.d[e]);
        if (x.c) {
            PUT(1, x.d[e] * (x.c[e] + w[e]));
            PUT(2, x.d[e] * x.b[e]);
        } else {
            PUT(1, x.d[e] * w[e]);
        }
        for (int64_t e = 0; e < r->width; e++) dw[e] += x.d[e] * x.b[e];
    }
}

static void weigh(const hop__rows *r)
{
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        PUT(0, x.d[e] * r->par[e]);
        for (int64_t e = 0; e < r->width; e++) r->dpar[e] += x.d[e] * x.a[e];
    }
}

static void skip(const hop__rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        float *db = hop__rows_din(r, 1, t);
        PUT(0, x.d[e]);
        for (int64_t g = 0; g * dim < r->width; g++) {
            float sum = 0.0f;
            for (int64_t e = g * dim; e < (g + 1) * dim; e++) {
                sum += x.d[e] * x.b[e];
                db[e] = x.d[e] * r->par[g] + (r->add[1] ? db[e] : 0.0f);
            }
            r->dpar[g] += sum;
        }
    }
}

static void blend(const hop__rows *r)
{
    const float *w = r->par;
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        PUT(0, x.d[e] * (1.0f + (x.b[e] - 1.0f) * w[e]));
        PUT(1, x.d[e] * x.a[e] * w[e]);
        for (int64_t e = 0; e < r->width; e++) r->dpar[e] += x.d[e] * x.a[e] * (x.b[e] - 1.0f);
    }
}

/* y = a + s v, s = sum b c w. */
static void bonus(const hop__rows *r)
{
    int64_t groups = r->op->groups, dim = r->op->dim, values = r->width / groups;
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        float *db = hop__rows_din(r, 1, t), *dc = hop__rows_din(r, 2, t), *dv = hop__rows_din(r, 3, t);
        const float *v = hop__rows_in(r, 3, t);
        PUT(0, x.d[e]);
        for (int64_t g = 0; g < groups; g++) {
            float s = 0.0f, ds = 0.0f;
            for (int64_t e = g * values; e < (g + 1) * values; e++) ds += x.d[e] * v[e];
            for (int64_t e = g * dim; e < (g + 1) * dim; e++) {
                float b = x.b[e], c = x.c[e], w = r->par[e];
                s += b * c * w;
                db[e] = ds * c * w + (r->add[1] ? db[e] : 0.0f);
                dc[e] = ds * b * w + (r->add[2] ? dc[e] : 0.0f);
                r->dpar[e] += ds * b * c;
            }
            for (int64_t e = g * values; e < (g + 1) * values; e++)
                dv[e] = s * x.d[e] + (r->add[3] ? dv[e] : 0.0f);
        }
    }
}

/* y = -min(exp(w), 1e30) a; where the bound holds, w has no say. */
static void rate(const hop__rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t g = 0; g < r->op->groups; g++) {
        float size = expf(r->par[g]), by = -fminf(size, 1e30f);
        double sum = 0.0;
        for (int64_t t = 0; t < r->count; t++) {
            const float *d = r->dy + t * r->width, *y = r->y + t * r->width;
            float *da = hop__rows_din(r, 0, t);
            for (int64_t e = g * dim; e < (g + 1) * dim; e++) {
                sum += (double)d[e] * y[e];
                da[e] = d[e] * by + (r->add[0] ? da[e] : 0.0f);
            }
        }
        if (size < 1e30f) r->dpar[g] += (float)sum;
    }
}

/* y = -8 a min(softplus(w), 1e30). */
static void lru_rate(const hop__rows *r)
{
    float *by = r->work, *slope = by + r->width;
    memcpy(by, r->par, sizeof(float) * (size_t)r->width);
    memcpy(slope, r->par, sizeof(float) * (size_t)r->width);
    hop__activate(HOP_ACT_SOFTPLUS, by, r->width);
    hop__activate(HOP_ACT_SIGMOID, slope, r->width);
    for (int64_t e = 0; e < r->width; e++) {
        slope[e] = by[e] < 1e30f ? -8.0f * slope[e] : 0.0f;
        by[e] = -8.0f * fminf(by[e], 1e30f);
    }
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        PUT(0, x.d[e] * by[e]);
        for (int64_t e = 0; e < r->width; e++) r->dpar[e] += x.d[e] * x.a[e] * slope[e];
    }
}

/* y = m b c, m = sqrt(1 - e^(2a)); dm/da = -e^(2a) / m grows without bound where nothing decays, and is held
 * where RecurrentGemma holds the slope of its root, at m = 1/2000. */
static void lru_input(const hop__rows *r)
{
    float *m = r->work, *slope = m + r->width;
    for (int64_t t = 0; t < r->count; t++) {
        row x = row_at(r, t);
        for (int64_t e = 0; e < r->width; e++) {
            float lost = -expm1f(2.0f * x.a[e]);
            m[e] = sqrtf(lost);
            slope[e] = -(1.0f - lost) / fmaxf(m[e], 0.0005f);
        }
        PUT(0, x.d[e] * slope[e] * (x.b[e] * x.c[e]));
        PUT(1, x.d[e] * m[e] * x.c[e]);
        PUT(2, x.d[e] * m[e] * x.b[e]);
    }
}

/* Where a row's gradient is gathered from several numbers: it begins with zeros, if it is not added to. */
static float *gathered(const hop__rows *r, int64_t t, int64_t width)
{
    float *da = hop__rows_din(r, 0, t);
    if (!r->add[0]) memset(da, 0, sizeof(float) * (size_t)width);
    return da;
}

/* Four sums, so that additions need not wait for each other. */
static float dot(const float *a, const float *b, int64_t n)
{
    float s[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) s[k] += a[i + k] * b[i + k];
    for (; i < n; i++) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void taylor(const hop__rows *r)
{
    int64_t d = r->op->dim;
    float scale = r->op->scaled ? (float)r->op->scale : 1.0f, half = r->op->scaled ? 0.5f : 1.0f;
    for (int64_t t = 0; t < r->count; t++) {
        const float *dy = r->dy + t * r->width;
        float *da = gathered(r, t, r->op->groups * d);
        for (int64_t g = 0; g < r->op->groups; g++, da += d) {
            const float *x = hop__rows_in(r, 0, t) + g * d;
            dy++; /* of the feature 1 */
            for (int64_t i = 0; i < d; i++) da[i] += scale * *dy++;
            for (int64_t i = 0; i < d; i++) {
                float by = scale * scale * x[i];
                da[i] += 2.0f * half * by * *dy + scale * scale * dot(x + i + 1, dy + 1, d - i - 1);
                for (int64_t j = i + 1; j < d; j++) da[j] += by * dy[j - i];
                dy += d - i;
            }
        }
    }
}

static void append_one(const hop__rows *r)
{
    int64_t dim = r->op->dim, groups = r->op->groups;
    for (int64_t t = 0; t < r->count; t++) {
        float *da = hop__rows_din(r, 0, t);
        for (int64_t g = 0; g < groups; g++)
            for (int64_t e = 0; e < dim; e++)
                da[g * dim + e] =
                    r->dy[t * r->width + g * (dim + 1) + e] + (r->add[0] ? da[g * dim + e] : 0.0f);
    }
}

static void divide(const hop__rows *r)
{
    int64_t dim = r->op->dim;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t g = 0; g < r->op->groups; g++) {
            const float *x = hop__rows_in(r, 0, t) + g * (dim + 1), *dy = r->dy + t * r->width + g * dim;
            float *da = hop__rows_din(r, 0, t) + g * (dim + 1), by = 1.0f / (x[dim] + (float)r->op->eps);
            float last = 0.0f;
            for (int64_t e = 0; e < dim; e++) {
                da[e] = dy[e] * by + (r->add[0] ? da[e] : 0.0f);
                last -= dy[e] * x[e];
            }
            da[dim] = last * by * by + (r->add[0] ? da[dim] : 0.0f);
        }
}

static void repeat(const hop__rows *r)
{
    int64_t dim = r->op->dim, times = r->op->times;
    for (int64_t t = 0; t < r->count; t++) {
        float *da = gathered(r, t, r->op->groups / times * dim);
        for (int64_t g = 0; g < r->op->groups; g++)
            for (int64_t e = 0; e < dim; e++) da[g / times * dim + e] += r->dy[t * r->width + g * dim + e];
    }
}

static void (*const row_ops[HOP_OP_COUNT])(const hop__rows *) = {
    [HOP_OP_ACT] = hop__back_act, [HOP_OP_RATE] = rate,
    [HOP_OP_L2] = hop__back_l2,   [HOP_OP_ROPE] = hop__back_rope,
    [HOP_OP_RMS] = hop__back_rms, [HOP_OP_GROUPNORM] = hop__back_groupnorm,
    [HOP_OP_MUL] = mul,           [HOP_OP_SUB] = sub,
    [HOP_OP_CLAMP] = clamp,       [HOP_OP_LERP] = lerp,
    [HOP_OP_WEIGH] = weigh,       [HOP_OP_SKIP] = skip,
    [HOP_OP_BLEND] = blend,       [HOP_OP_BONUS] = bonus,
    [HOP_OP_LRU_RATE] = lru_rate, [HOP_OP_LRU_INPUT] = lru_input,
    [HOP_OP_TAYLOR] = taylor,     [HOP_OP_APPEND_ONE] = append_one,
    [HOP_OP_DIVIDE] = divide,     [HOP_OP_REPEAT] = repeat,
};

void hop__back_rows(const hop__back *b, const hop_op *op, int64_t s, int64_t from, int64_t count)
{
    hop__rows r = {.op = op, .first = from, .count = count, .width = op->width, .work = b->work};
    r.tokens = b->v.tokens, r.angles = b->v.angles;
    r.y = hop__out(&b->v, op, s, from), r.dy = hop__out(&b->d, op, s, from);
    for (int i = 0; i < 4; i++) {
        r.in[i] = hop__in(&b->v, op, i, s, from);
        r.din[i] = hop__din(b, op, i, s, from);
        r.stride[i] = hop__stride(&b->v, op, i);
        r.add[i] = hop__adds(b, op, i);
    }
    r.par = hop__par(&b->v, op, 0), r.par2 = hop__par(&b->v, op, 1);
    r.dpar = hop__dpar(b, op, 0), r.dpar2 = hop__dpar(b, op, 1);
    row_ops[op->kind](&r);
}
