/* back_norms.c - the way back through activations, rotations and norms. */
#include "back_rows.h"

#include <math.h>
#include <string.h>

/* ---- activations ------------------------------------------------------------------------------ */

/* d = dy times the slope of act, as the result y / scale shows it. */
static void slope_by_result(hop_act act, float *d, const float *y, const float *dy, int64_t n, float inverse)
{
    switch (act) {
    case HOP_ACT_EXP:
        for (int64_t i = 0; i < n; i++) d[i] = dy[i] * (y[i] * inverse);
        break;
    case HOP_ACT_EXP1000:
        for (int64_t i = 0; i < n; i++) {
            float v = y[i] * inverse;
            d[i] = v < 1000.0f ? dy[i] * v : 0.0f;
        }
        break;
    case HOP_ACT_SIGMOID:
        for (int64_t i = 0; i < n; i++) {
            float v = y[i] * inverse;
            d[i] = dy[i] * (v * (1.0f - v));
        }
        break;
    case HOP_ACT_TANH:
        for (int64_t i = 0; i < n; i++) {
            float v = y[i] * inverse;
            d[i] = dy[i] * (1.0f - v * v);
        }
        break;
    case HOP_ACT_ELU1:
        for (int64_t i = 0; i < n; i++) {
            float v = y[i] * inverse;
            d[i] = dy[i] * (v > 1.0f ? 1.0f : v);
        }
        break;
    case HOP_ACT_RELU:
        for (int64_t i = 0; i < n; i++) d[i] = y[i] * inverse > 0.0f ? dy[i] : 0.0f;
        break;
    default: memcpy(d, dy, sizeof(float) * (size_t)n);
    }
}

/* The same from z, which was activated and is lost. */
static void slope_by_input(hop_act act, float *d, float *z, const float *dy, int64_t n)
{
    if (act == HOP_ACT_SILU) {
        hop_silu_backward(d, NULL, z, dy, n);
    } else if (act == HOP_ACT_GELU) {
        hop_gelu_backward(d, NULL, z, dy, n);
    } else if (act == HOP_ACT_RELU2) {
        for (int64_t i = 0; i < n; i++) d[i] = z[i] > 0.0f ? dy[i] * (2.0f * z[i]) : 0.0f;
    } else { /* softplus' = sigmoid, logsigmoid' (z) = sigmoid(-z) */
        for (int64_t i = 0; act == HOP_ACT_LOGSIGMOID && i < n; i++) z[i] = -z[i];
        hop__activate(HOP_ACT_SIGMOID, z, n);
        for (int64_t i = 0; i < n; i++) d[i] = dy[i] * z[i];
    }
}

void hop__back_act(const hop__rows *r)
{
    const hop_op *op = r->op;
    int64_t n = r->count * r->width;
    float *d = r->work, *z = d + n, before = (float)op->before, scale = (float)op->scale;
    if (hop__act_by_result(op->act)) {
        slope_by_result(op->act, d, r->y, r->dy, n, 1.0f / scale);
    } else {
        for (int64_t t = 0; t < r->count; t++) {
            const float *a = hop__rows_in(r, 0, t);
            for (int64_t e = 0; e < r->width; e++) z[t * r->width + e] = a[e] * before;
        }
        slope_by_input(op->act, d, z, r->dy, n);
    }
    for (int64_t t = 0; t < r->count; t++) hop__rows_put(r, 0, t, d + t * r->width, r->width, before * scale);
}

/* ---- rotations -------------------------------------------------------------------------------- */

void hop__back_rope(const hop__rows *r)
{
    const hop_op *op = r->op;
    float *d = r->work;
    memcpy(d, r->dy, sizeof(float) * (size_t)(r->count * r->width));
    for (int64_t t = 0, n; t < r->count; t += n) {
        int64_t at = (r->first + t) % r->tokens;
        n = r->tokens - at < r->count - t ? r->tokens - at : r->count - t;
        hop_rope_part_by(d + t * r->width, n, r->width, op->groups, op->dim, op->rotary, r->angles, at, true);
    }
    for (int64_t t = 0; t < r->count; t++) hop__rows_put(r, 0, t, d + t * r->width, r->width, 1.0f);
}

/* ---- norms ------------------------------------------------------------------------------------ */

static void rms(const hop__rows *r, const float *weight, float *dweight, float eps)
{
    bool packed = r->stride[0] == r->width;
    for (int64_t t = 0; t < (packed ? 1 : r->count); t++) {
        const hop_norm_grad g = {
            .dy = r->dy + t * r->width, .dx = hop__rows_din(r, 0, t), .dweight = dweight, .add = r->add[0]};
        hop_rmsnorm_backward(&g, hop__rows_in(r, 0, t), weight, (packed ? r->count : 1) * r->op->groups,
                             r->op->dim, eps);
    }
}

void hop__back_rms(const hop__rows *r)
{
    rms(r, r->par, r->dpar, (float)r->op->eps);
}

/* a / sqrt(sum a² + 1e-6) is an RMS norm: a / sqrt(mean a² + 1e-6/n) n^(-1/2). */
void hop__back_l2(const hop__rows *r)
{
    int64_t n = r->op->dim;
    for (int64_t i = 0; i < n; i++) r->work[i] = (float)(1.0 / sqrt((double)n));
    rms(r, r->work, NULL, (float)(1e-6 / (double)n));
}

void hop__back_groupnorm(const hop__rows *r)
{
    const hop_op *op = r->op;
    int64_t dim = op->dim;
    for (int64_t t = 0; t < r->count; t++)
        for (int64_t at = 0; at < op->groups * dim; at += dim) {
            const hop_norm_grad g = {.dy = r->dy + t * r->width + at,
                                     .dx = hop__rows_din(r, 0, t) + at,
                                     .dweight = r->dpar + at,
                                     .dbias = r->dpar2 ? r->dpar2 + at : NULL,
                                     .add = r->add[0]};
            hop_layernorm_backward(&g, hop__rows_in(r, 0, t) + at, r->par + at, 1, dim, (float)op->eps);
        }
}
