/* acts.c - activations that stay exact where constructions count on it, and initial values. Declared in
 * parts.h. */
#include "parts.h"

#include <math.h>

/* ---- activations --------------------------------------------------------------------------- */

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

void hop__exp(float *x, int64_t n)
{
    hop_vexp(x, x, n);
}

void hop__sigmoid(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++) x[at + i] = (x[at + i] < 0 ? e[i] : 1.0f) / (1.0f + e[i]);
    }
}

void hop__silu(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++)
            x[at + i] = x[at + i] * ((x[at + i] < 0 ? e[i] : 1.0f) / (1.0f + e[i]));
    }
}

void hop__softplus(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++) x[at + i] = (x[at + i] > 0 ? x[at + i] : 0.0f) + log1p_of(e[i]);
    }
}

/* log sigmoid(x) = -softplus(-x). */
void hop__logsigmoid(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] = -x[i];
    hop__softplus(x, n);
    for (int64_t i = 0; i < n; i++) x[i] = -x[i];
}

/* (1 - e)/(1 + e) with e = exp(-2|x|), and below 0.625, where 1 - e would cancel, Cephes' polynomial
 * (tanhf.c). */
void hop__tanh(float *x, int64_t n)
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

void hop__elu_plus_one(float *x, int64_t n)
{
    float e[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        exp_of_minus_abs(e, x + at, count);
        for (int64_t i = 0; i < count; i++) x[at + i] = x[at + i] > 0 ? x[at + i] + 1.0f : e[i];
    }
}

void hop__mul(float *x, const float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] *= y[i];
}

/* ---- initialisation ------------------------------------------------------------------------ */

void hop__fill(float *w, int64_t count, double value)
{
    for (int64_t i = 0; w && i < count; i++) w[i] = (float)value;
}

void hop__fill_normal(float *w, int64_t count, double std, hop_rng *rng)
{
    for (int64_t i = 0; w && i < count; i++) w[i] = (float)(std * hop_rng_normal(rng));
}

void hop__fill_uniform(float *w, int64_t count, double lo, double hi, hop_rng *rng)
{
    for (int64_t i = 0; w && i < count; i++) w[i] = (float)(lo + (hi - lo) * hop_rng_uniform(rng));
}

void hop__fill_conv(float *w, int64_t width, int64_t taps, hop_rng *rng)
{
    double bound = 1.0 / sqrt((double)taps);
    if (taps > 0) hop__fill_uniform(w, width * taps, -bound, bound, rng);
}

void hop__fill_dt_bias(float *w, int64_t count, hop_rng *rng)
{
    for (int64_t i = 0; w && i < count; i++) {
        double dt = fmax(exp(log(0.001) + hop_rng_uniform(rng) * (log(0.1) - log(0.001))), 1e-4);
        w[i] = (float)(dt + log(-expm1(-dt))); /* the inverse of softplus */
    }
}
