/* acts.c - activations that stay exact where constructions count on it. */
#include "exec.h"

#include <math.h>

/* y = exp(-|x|): never overflows, and 0 far out. */
static void exp_of_minus_abs(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = -fabsf(x[i]);
    hop_vexp(y, y, n);
}

/* log(1 + e) for 0 <= e <= 1, as 2 artanh(e / (2 + e)): the series stops where the next term is below 2^-26
 * of the first, and keeps the relative precision of a small e. */
static float log1p_of(float e)
{
    float s = e / (2.0f + e), q = s * s, p = 1.0f / 15.0f;
    p = p * q + 1.0f / 13.0f;
    p = p * q + 1.0f / 11.0f;
    p = p * q + 1.0f / 9.0f;
    p = p * q + 1.0f / 7.0f;
    p = p * q + 1.0f / 5.0f;
    p = p * q + 1.0f / 3.0f;
    p = p * q + 1.0f;
    return 2.0f * s * p;
}

enum { BLOCK = 256 };

static void sigmoid_of(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++) x[at + i] = (x[at + i] < 0 ? e[i] : 1.0f) / (1.0f + e[i]);
    }
}

static void silu_of(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++)
            x[at + i] = x[at + i] * ((x[at + i] < 0 ? e[i] : 1.0f) / (1.0f + e[i]));
    }
}

static void softplus_of(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++) x[at + i] = (x[at + i] > 0 ? x[at + i] : 0.0f) + log1p_of(e[i]);
    }
}

/* log sigmoid(x) = -softplus(-x). */
static void logsigmoid_of(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] = -x[i];
    softplus_of(x, n);
    for (int64_t i = 0; i < n; i++) x[i] = -x[i];
}

/* (1 - e)/(1 + e) with e = exp(-2|x|), and below 0.625, where 1 - e would cancel, Cephes' polynomial
 * (tanhf.c). */
static void tanh_of(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        for (int64_t i = 0; i < count; i++) e[i] = 2.0f * x[at + i];
        exp_of_minus_abs(e, e, count);
        for (int64_t i = 0; i < count; i++) {
            float v = x[at + i], z = v * v, p = -5.70498872745e-3f * z + 2.06390887954e-2f;
            p = p * z - 5.37397155531e-2f;
            p = p * z + 1.33314422036e-1f;
            p = p * z - 3.33332819422e-1f;
            float far = copysignf((1.0f - e[i]) / (1.0f + e[i]), v);
            x[at + i] = fabsf(v) < 0.625f ? v + v * z * p : far;
        }
    }
}

static void elu_plus_one_of(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++) x[at + i] = x[at + i] > 0 ? x[at + i] + 1.0f : e[i];
    }
}

/* A decay e^-1000 is 0 as e^-inf is, but differences of sums of infinities would be no numbers. */
static void exp1000_of(float *x, int64_t n)
{
    hop_vexp(x, x, n);
    for (int64_t i = 0; i < n; i++) x[i] = x[i] < 1000.0f ? x[i] : 1000.0f;
}

static void relu2_of(float *x, int64_t n)
{
    hop_relu(x, x, n);
    for (int64_t i = 0; i < n; i++) x[i] *= x[i];
}

void hop__activate(hop_act act, float *x, int64_t n)
{
    switch (act) {
    case HOP_ACT_COPY: break;
    case HOP_ACT_EXP: hop_vexp(x, x, n); break;
    case HOP_ACT_EXP1000: exp1000_of(x, n); break;
    case HOP_ACT_SIGMOID: sigmoid_of(x, n); break;
    case HOP_ACT_SILU: silu_of(x, n); break;
    case HOP_ACT_TANH: tanh_of(x, n); break;
    case HOP_ACT_SOFTPLUS: softplus_of(x, n); break;
    case HOP_ACT_LOGSIGMOID: logsigmoid_of(x, n); break;
    case HOP_ACT_ELU1: elu_plus_one_of(x, n); break;
    case HOP_ACT_RELU: hop_relu(x, x, n); break;
    case HOP_ACT_GELU: hop_gelu(x, x, n); break;
    case HOP_ACT_RELU2: relu2_of(x, n); break;
    }
}
