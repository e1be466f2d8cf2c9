/* delta_reference.h - window, sparse, the delta family, mamba and rglru as plain double-precision layers,
 * straight from the equations of MIXERS.md. Slow, token by token, and without a line in common with what they
 * judge.
 *
 * Rows are [T, width]. Everything lives until scrap(). */
#ifndef HOPBOUND_DELTA_REFERENCE_H
#define HOPBOUND_DELTA_REFERENCE_H

#include "layer_case.h"

static void *heap[4096];
static int heap_used;

static double *rows(int64_t n)
{
    assert_true(heap_used < 4096);
    return heap[heap_used++] = calloc((size_t)n, sizeof(double));
}

static void scrap(void)
{
    while (heap_used) free(heap[--heap_used]);
}

static double *linear(const double *x, int64_t T, int64_t in, const float *w, const float *bias, int64_t out)
{
    double *y = rows(T * out);
    for (int64_t t = 0; t < T; t++)
        for (int64_t o = 0; o < out; o++) {
            y[t * out + o] = bias ? bias[o] : 0;
            for (int64_t i = 0; i < in; i++) y[t * out + o] += x[t * in + i] * w[o * in + i];
        }
    return y;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    return x > 30 ? x : log1p(exp(x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double *convolve(const double *x, int64_t T, int64_t width, const float *w, const float *bias,
                        int64_t taps)
{
    double *y = rows(T * width);
    for (int64_t t = 0; t < T; t++)
        for (int64_t c = 0; c < width; c++) {
            y[t * width + c] = bias ? bias[c] : 0;
            for (int64_t j = 0; j < taps; j++)
                if (t - taps + 1 + j >= 0)
                    y[t * width + c] += w[c * taps + j] * x[(t - taps + 1 + j) * width + c];
        }
    return y;
}

/* The layer's projection `proj`.weight of x, and its ShortConv if there is one. */
static double *short_conv(const layer *l, const double *x, int64_t T, const char *letter, int64_t width)
{
    char name[32];
    snprintf(name, sizeof name, "%s_proj.weight", letter);
    double *y = linear(x, T, l->c.d_model, weight(l, name), NULL, width);
    int64_t taps = option(l, HOP_OPTION_conv);
    if (taps == 0) return y;
    snprintf(name, sizeof name, "%s_conv1d.weight", letter);
    y = convolve(y, T, width, weight(l, name), NULL, taps);
    for (int64_t i = 0; i < T * width; i++) y[i] = silu(y[i]);
    return y;
}

static void unit_length(double *x, int64_t count, int64_t dim)
{
    for (int64_t r = 0; r < count; r++, x += dim) {
        double s = 1e-6;
        for (int64_t i = 0; i < dim; i++) s += x[i] * x[i];
        for (int64_t i = 0; i < dim; i++) x[i] /= sqrt(s);
    }
}

/* ---- attention ----------------------------------------------------------------------------- */

static void rotate(double *x, int64_t T, int64_t heads, int64_t dim, double theta)
{
    for (int64_t i = 0; theta > 0 && i < T * heads; i++)
        for (int64_t e = 0; e < dim / 2; e++) {
            double *p = x + i * dim + e,
                   at = (double)(i / heads) * pow(theta, -2.0 * (double)e / (double)dim);
            double a = p[0], b = p[dim / 2];
            p[0] = a * cos(at) - b * sin(at);
            p[dim / 2] = a * sin(at) + b * cos(at);
        }
}

/* What head `head`'s query thinks of block i: scale q·summary. */
static double liking(const layer *l, const double *q, const double *k, int64_t stride, int64_t head,
                     int64_t i)
{
    int64_t B = option(l, HOP_OPTION_block);
    double s = 0;
    for (int64_t j = 0; j < B; j++) {
        double share = option(l, HOP_OPTION_summary) ? j == head % B : 1.0 / (double)B;
        for (int64_t e = 0; e < l->c.head_dim; e++) s += share * q[e] * k[(i * B + j) * stride + e];
    }
    return l->c.scale < 0 ? -s : s;
}

static bool seen(const layer *l, const double *q, const double *k, int64_t stride, int64_t head, int64_t t,
                 int64_t j)
{
    if (strcmp(l->ops->name, "window") == 0) return j > t - option(l, HOP_OPTION_window);
    int64_t B = option(l, HOP_OPTION_block), better = 0;
    if (j / B == t / B) return true;
    double mine = liking(l, q, k, stride, head, j / B);
    for (int64_t i = 0; i < t / B; i++) {
        double s = liking(l, q, k, stride, head, i);
        better += s > mine || (s == mine && i < j / B);
    }
    return better < option(l, HOP_OPTION_topk);
}

static double *reference_attention(const layer *l, const double *x, int64_t T)
{
    const hop_mixer_config *c = &l->c;
    int64_t H = c->heads, d = c->head_dim, kw = c->kv_heads * d;
    double scale = c->scale != 0 ? c->scale : 1 / sqrt((double)d);
    double *q = linear(x, T, c->d_model, weight(l, "q_proj.weight"), NULL, H * d);
    double *k = linear(x, T, c->d_model, weight(l, "k_proj.weight"), NULL, kw);
    double *v = linear(x, T, c->d_model, weight(l, "v_proj.weight"), NULL, kw), *o = rows(T * H * d);
    rotate(q, T, H, d, c->rope_theta);
    rotate(k, T, c->kv_heads, d, c->rope_theta);
    for (int64_t i = 0; i < T * H; i++) {
        int64_t t = i / H, lane = i % H / (H / c->kv_heads) * d;
        double sum = 0;
        for (int64_t j = 0; j <= t; j++) {
            double s = 0;
            if (!seen(l, q + i * d, k + lane, kw, i % H, t, j)) continue;
            for (int64_t e = 0; e < d; e++) s += scale * q[i * d + e] * k[j * kw + lane + e];
            sum += exp(s);
            for (int64_t e = 0; e < d; e++) o[i * d + e] += exp(s) * v[j * kw + lane + e];
        }
        for (int64_t e = 0; e < d; e++) o[i * d + e] /= sum;
    }
    return linear(o, T, H * d, weight(l, "o_proj.weight"), NULL, c->d_model);
}

/* ---- delta family -------------------------------------------------------------------------- */

/* g of token t, value head h, key element e. */
static double *log_decay(const layer *l, const double *x, int64_t T, int64_t key_heads)
{
    const hop_mixer_config *c = &l->c;
    int64_t H = c->heads, K = c->head_dim;
    double *g = rows(T * H * K), *raw;
    const float *a_log = weight(l, "A_log"), *bias = weight(l, "dt_bias");
    if (!a_log) return g;
    bool vector = weight(l, "f_proj.0.weight") != NULL;
    if (vector) {
        int64_t rank = option(l, HOP_OPTION_rank);
        double *low = linear(x, T, c->d_model, weight(l, "f_proj.0.weight"), NULL, rank);
        raw = linear(low, T, rank, weight(l, "f_proj.1.weight"), bias, key_heads * K);
    } else {
        raw = linear(x, T, c->d_model, weight(l, "a_proj.weight"), bias, H);
    }
    for (int64_t i = 0; i < T * H * K; i++) {
        int64_t t = i / (H * K), h = i / K % H, kh = h / (H / key_heads);
        double r = vector ? raw[(t * key_heads + kh) * K + i % K] : raw[t * H + h];
        g[i] = -exp(a_log[vector ? kh : h]) * softplus(r);
    }
    return g;
}

/* y = Wo (RMSNorm(o) · act(gate)), o [T, H, V]. */
static double *gated_out(const layer *l, const double *x, double *o, int64_t T)
{
    const hop_mixer_config *c = &l->c;
    int64_t V = option(l, HOP_OPTION_value_dim), vw = c->heads * V, rank = option(l, HOP_OPTION_rank);
    const float *norm = weight(l, "o_norm.weight"), *low = weight(l, "g_proj.0.weight");
    for (int64_t r = 0; norm && r < T * c->heads; r++) {
        double s = 0;
        for (int64_t e = 0; e < V; e++) s += o[r * V + e] * o[r * V + e] / (double)V;
        for (int64_t e = 0; e < V; e++) o[r * V + e] *= norm[e] / sqrt(s + 1e-5);
    }
    double *z = NULL;
    if (low)
        z = linear(linear(x, T, c->d_model, low, NULL, rank), T, rank, weight(l, "g_proj.1.weight"),
                   weight(l, "g_proj.1.bias"), vw);
    else if (weight(l, "g_proj.weight"))
        z = linear(x, T, c->d_model, weight(l, "g_proj.weight"), NULL, vw);
    for (int64_t i = 0; z && i < T * vw; i++) o[i] *= low ? sigmoid(z[i]) : silu(z[i]);
    return linear(o, T, vw, weight(l, "o_proj.weight"), NULL, c->d_model);
}

static double *reference_delta(const layer *l, const double *x, int64_t T)
{
    const hop_mixer_config *c = &l->c;
    const char *name = l->ops->name;
    bool kda = strcmp(name, "kda") == 0, shared = kda || strcmp(name, "gdn") == 0;
    int64_t H = c->heads, K = c->head_dim, V = option(l, HOP_OPTION_value_dim), kh = shared ? c->kv_heads : H;
    int64_t n = strcmp(name, "deltaproduct") == 0 ? option(l, HOP_OPTION_steps) : 1, betas = kda ? kh : H;
    double scale = c->scale != 0 ? c->scale : 1 / sqrt((double)K),
           most = option(l, HOP_OPTION_negative) ? 2 : 1;
    double *q = short_conv(l, x, T, "q", kh * K), *k = short_conv(l, x, T, "k", n * kh * K);
    double *v = short_conv(l, x, T, "v", n * H * V), *g = log_decay(l, x, T, kh), *o = rows(T * H * V);
    double *beta = linear(x, T, c->d_model, weight(l, "b_proj.weight"), NULL, n * betas);
    unit_length(q, T * kh, K);
    unit_length(k, T * n * kh, K);
    for (int64_t h = 0; h < H; h++) {
        double *S = rows(K * V);
        int64_t key = h / (H / kh);
        for (int64_t t = 0; t < T; t++) {
            for (int64_t i = 0; i < K * V; i++) S[i] *= exp(g[(t * H + h) * K + i / V]);
            for (int64_t s = 0; s < n; s++) {
                const double *kt = k + ((t * n + s) * kh + key) * K, *vt = v + ((t * n + s) * H + h) * V;
                double b = most * sigmoid(beta[(t * n + s) * betas + h / (H / betas)]);
                for (int64_t e = 0; e < V; e++) {
                    double held = 0;
                    for (int64_t i = 0; i < K; i++) held += S[i * V + e] * kt[i];
                    for (int64_t i = 0; i < K; i++) S[i * V + e] += b * kt[i] * (vt[e] - held);
                }
            }
            for (int64_t i = 0; i < K * V; i++)
                o[(t * H + h) * V + i % V] += scale * q[(t * kh + key) * K + i / V] * S[i];
        }
    }
    return gated_out(l, x, o, T);
}

#endif
