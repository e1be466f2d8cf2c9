/* ref_back.c - the truth of the gradients of activations, norms, the short convolution and the elementwise
 * recurrence: plain loops in double. */
#include "room.h"

#include <math.h>
#include <string.h>

void hop__ref_relu_back(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float v = x[i];
        dx[i] = v > 0.0f ? dy[i] : 0.0f * dy[i];
        if (y) y[i] = v < 0.0f ? 0.0f : v;
    }
}

void hop__ref_gelu_keep(float *y, float *slope, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double v = x[i], below = 0.5 * erfc(-v * sqrt(0.5)), density = exp(-0.5 * v * v) * 0.3989422804014327;
        y[i] = (float)(v * below);
        slope[i] = (float)(below + v * density);
    }
}

void hop__ref_gelu_back(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float value, slope;
        hop__ref_gelu_keep(&value, &slope, x + i, 1);
        dx[i] = dy[i] * slope;
        if (y) y[i] = value;
    }
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double silu_slope(double x)
{
    return sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)));
}

void hop__ref_silu_back(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double v = x[i];
        dx[i] = (float)(dy[i] * silu_slope(v));
        if (y) y[i] = (float)(v * sigmoid(v));
    }
}

void hop__ref_swiglu_back(const hop_swiglu_grad *g, const float *gate, const float *up, const float *dy,
                          int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double v = gate[i], u = up[i], d = dy[i], s = v * sigmoid(v);
        g->dgate[i] = (float)(d * u * silu_slope(v));
        g->dup[i] = (float)(d * s);
        if (g->y) g->y[i] = (float)(s * u);
    }
}

static void norm_back(const hop_norm_grad *g, const float *x, const hop__norm *c, bool centred)
{
    const int64_t n = c->dim;
    for (int64_t t = 0; t < c->rows; t++, x += n) {
        const float *dy = g->dy + t * n;
        double mean = 0.0, var = 0.0, about = 0.0, along = 0.0;
        for (int64_t i = 0; centred && i < n; i++) mean += x[i] / (double)n;
        for (int64_t i = 0; i < n; i++) var += (x[i] - mean) * (x[i] - mean) / (double)n;
        const double s = 1.0 / sqrt(var + c->eps);
        for (int64_t i = 0; i < n; i++) {
            double e = (double)c->weight[i] * dy[i];
            if (centred) about += e / (double)n;
            along += e * (x[i] - mean) * s / (double)n;
        }
        for (int64_t i = 0; i < n; i++) {
            double z = (x[i] - mean) * s, d = s * ((double)c->weight[i] * dy[i] - about - z * along);
            g->dx[t * n + i] = (float)(d + (g->add ? g->dx[t * n + i] : 0.0f));
        }
    }
    x -= c->rows * n;
    for (int64_t i = 0; i < n; i++) { /* sums over rows, each in double */
        double dweight = g->dweight ? g->dweight[i] : 0.0, dbias = g->dbias ? g->dbias[i] : 0.0;
        for (int64_t t = 0; t < c->rows; t++) {
            double mean = 0.0, var = 0.0;
            for (int64_t j = 0; centred && j < n; j++) mean += x[t * n + j] / (double)n;
            for (int64_t j = 0; j < n; j++) var += (x[t * n + j] - mean) * (x[t * n + j] - mean) / (double)n;
            dweight += g->dy[t * n + i] * (x[t * n + i] - mean) / sqrt(var + c->eps);
            dbias += g->dy[t * n + i];
        }
        if (g->dweight) g->dweight[i] = (float)dweight;
        if (g->dbias) g->dbias[i] = (float)dbias;
    }
}

void hop__ref_rmsnorm_back(const hop_norm_grad *g, const float *x, const hop__norm *c)
{
    norm_back(g, x, c, false);
}

void hop__ref_layernorm_back(const hop_norm_grad *g, const float *x, const hop__norm *c)
{
    norm_back(g, x, c, true);
}

/* Input `from` of channel i; what was before the first token is behind -1. */
static double input(const float *past, const float *x, const hop_conv *c, int64_t from, int64_t i)
{
    if (from >= 0) return x[from * c->x_stride + i];
    return past ? past[(from + c->size - 1) * c->past_stride + i] : 0.0;
}

void hop__ref_conv_back(const hop_conv_grad *g, const float *past, const float *x, const float *w,
                        const float *bias, const hop_conv *c)
{
    const int64_t S = c->size, T = c->tokens;
    for (int64_t i = 0; i < c->width; i++) {
        double dw[HOP_CONV_MOST] = {0}, db = 0.0, seen[HOP_CONV_MOST] = {0};
        for (int64_t t = T - 1; t > -S; t--) {
            memmove(seen + 1, seen, sizeof(double) * (size_t)(S - 1));
            seen[0] = t >= 0 ? g->dy[t * c->y_stride + i] : 0.0;
            double z = bias ? bias[i] : 0.0, sum = 0.0;
            for (int64_t j = 0; t >= 0 && j < S; j++) z += w[i * S + j] * input(past, x, c, t - S + 1 + j, i);
            if (t >= 0 && c->silu) seen[0] *= silu_slope(z);
            for (int64_t j = 0; t >= 0 && j < S; j++) dw[j] += seen[0] * input(past, x, c, t - S + 1 + j, i);
            db += seen[0];
            for (int64_t j = 0; j < S; j++) sum += w[i * S + S - 1 - j] * seen[j];
            if (t < 0) {
                if (g->dpast) g->dpast[(t + S - 1) * c->past_stride + i] = (float)sum;
                continue;
            }
            float *dx = g->dx + t * c->x_stride + i;
            *dx = (float)(sum + (g->add ? *dx : 0.0f));
        }
        for (int64_t j = 0; j < S; j++) g->dw[i * S + j] = (float)(g->dw[i * S + j] + dw[j]);
        if (g->dbias) g->dbias[i] = (float)(g->dbias[i] + db);
    }
}

void hop__ref_diagonal_back(const hop_diagonal_grad *g, const float *start, const float *a, const float *h,
                            const hop__diagonal *c)
{
    for (int64_t i = 0; i < c->width; i++) {
        double d = 0.0;
        for (int64_t t = c->tokens - 1; t >= 0; t--) {
            const int64_t at = t * c->stride + i;
            d += g->dh[at];
            g->da[at] = (float)(d * (t > 0 ? h[at - c->stride] : start ? start[i] : 0.0f));
            g->db[at] = (float)d;
            d *= a[at];
        }
        if (g->d_state) g->d_state[i] = (float)d;
    }
}
