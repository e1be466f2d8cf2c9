/* state_reference.h - rwkv7, mamba and rglru as plain double-precision layers, and which layer has which
 * reference. */
#ifndef HOPBOUND_STATE_REFERENCE_H
#define HOPBOUND_STATE_REFERENCE_H

#include "delta_reference.h"

/* x moved towards the row before it. */
static double *shifted(const layer *l, const double *x, int64_t T, const char *mu)
{
    int64_t d = l->c.d_model;
    double *y = rows(T * d);
    for (int64_t i = 0; i < T * d; i++) y[i] = x[i] + weight(l, mu)[i % d] * ((i < d ? 0 : x[i - d]) - x[i]);
    return y;
}

static double *lora(const layer *l, double *x, int64_t T, const char *letter, double (*act)(double),
                    int64_t out)
{
    char down[40], up[40], bias[40];
    int64_t rank = option(l, HOP_OPTION_rank) * (letter[0] == 'g' ? 2 : 1);
    snprintf(down, sizeof down, "%s_lora.lora.0.weight", letter);
    snprintf(up, sizeof up, "%s_lora.lora.2.weight", letter);
    snprintf(bias, sizeof bias, "%s_lora.lora.2.bias", letter);
    double *low = linear(x, T, l->c.d_model, weight(l, down), NULL, rank);
    for (int64_t i = 0; act && i < T * rank; i++) low[i] = act(low[i]);
    return linear(low, T, rank, weight(l, up), weight(l, bias), out);
}

/* One head of the recurrence. p: r, w, k, v, kk, eta, all of token 0 and this head; strides kw and vw. */
static void rwkv7_head(double *o, double *const p[6], int64_t T, const int64_t K_V_kw_vw[4])
{
    int64_t K = K_V_kw_vw[0], V = K_V_kw_vw[1], kw = K_V_kw_vw[2], vw = K_V_kw_vw[3];
    double *S = rows(K * V), *held = rows(V);
    for (int64_t t = 0; t < T; t++) {
        const double *r = p[0] + t * kw, *w = p[1] + t * kw, *k = p[2] + t * kw, *v = p[3] + t * vw;
        const double *kk = p[4] + t * kw, *eta = p[5] + t * kw;
        for (int64_t e = 0; e < V; e++) held[e] = 0;
        for (int64_t i = 0; i < K * V; i++) held[i % V] -= kk[i / V] * S[i];
        for (int64_t i = 0; i < K * V; i++) {
            int64_t a = i / V, e = i % V;
            S[i] = exp(w[a]) * S[i] + kk[a] * eta[a] * held[e] + k[a] * v[e];
            o[t * vw + e] += r[a] * S[i];
        }
    }
}

static double *reference_rwkv7(const layer *l, const double *x, int64_t T)
{
    const hop_mixer_config *c = &l->c;
    int64_t H = c->heads, K = c->head_dim, V = option(l, HOP_OPTION_value_dim), kw = H * K, vw = H * V,
            d = c->d_model;
    double *r = linear(shifted(l, x, T, "x_r"), T, d, weight(l, "r_proj.weight"), NULL, kw);
    double *k = linear(shifted(l, x, T, "x_k"), T, d, weight(l, "k_proj.weight"), NULL, kw);
    double *v = linear(shifted(l, x, T, "x_v"), T, d, weight(l, "v_proj.weight"), NULL, vw);
    double *w = lora(l, shifted(l, x, T, "x_w"), T, "w", tanh, kw), *kk = rows(T * kw), *o = rows(T * vw);
    double *eta = lora(l, shifted(l, x, T, "x_a"), T, "a", NULL, kw);
    for (int64_t i = 0; i < T * kw; i++) {
        w[i] = -exp(-0.5) * sigmoid(w[i]);
        eta[i] = sigmoid(eta[i]);
        kk[i] = k[i] * weight(l, "k_k")[i % kw];
        k[i] *= 1 + (eta[i] - 1) * weight(l, "k_a")[i % kw];
    }
    unit_length(kk, T * H, K);
    for (int64_t h = 0; h < H; h++) {
        double *p[6] = {r + h * K, w + h * K, k + h * K, v + h * V, kk + h * K, eta + h * K};
        rwkv7_head(o + h * V, p, T, (const int64_t[4]){K, V, kw, vw});
    }
    const float *norm = weight(l, "g_norm.weight"), *bias = weight(l, "g_norm.bias");
    for (int64_t i = 0; i < T * H; i++) {
        double *row = o + i * V, mean = 0, var = 0, bonus = 0;
        for (int64_t e = 0; e < V; e++) mean += row[e] / (double)V;
        for (int64_t e = 0; e < V; e++) var += (row[e] - mean) * (row[e] - mean) / (double)V;
        for (int64_t e = 0; e < K; e++)
            bonus += r[i * K + e] * k[i * K + e] * weight(l, "r_k")[i % H * K + e];
        for (int64_t e = 0; e < V; e++) {
            int64_t at = i % H * V + e;
            if (norm) row[e] = (row[e] - mean) / sqrt(var + 1e-5 * (double)K) * norm[at] + bias[at];
            row[e] += bonus * v[i * V + e];
        }
    }
    if (weight(l, "x_g")) {
        double *g = lora(l, shifted(l, x, T, "x_g"), T, "g", sigmoid, vw);
        for (int64_t i = 0; i < T * vw; i++) o[i] *= g[i];
    }
    return linear(o, T, vw, weight(l, "o_proj.weight"), NULL, d);
}

static double *reference_mamba(const layer *l, const double *u, int64_t T)
{
    const hop_mixer_config *c = &l->c;
    int64_t D = option(l, HOP_OPTION_inner), N = option(l, HOP_OPTION_state_dim),
            R = option(l, HOP_OPTION_dt_rank);
    int64_t taps = option(l, HOP_OPTION_conv);
    const float *in = weight(l, "in_proj.weight"), *xp = weight(l, "x_proj.weight");
    double *x = linear(u, T, c->d_model, in, NULL, D), *y = rows(T * D), *h = rows(D * N);
    if (taps) x = convolve(x, T, D, weight(l, "conv1d.weight"), weight(l, "conv1d.bias"), taps);
    for (int64_t i = 0; taps && i < T * D; i++) x[i] = silu(x[i]);
    double *B = linear(x, T, D, xp + R * D, NULL, N), *C = linear(x, T, D, xp + (R + N) * D, NULL, N);
    double *dt =
        linear(linear(x, T, D, xp, NULL, R), T, R, weight(l, "dt_proj.weight"), weight(l, "dt_proj.bias"), D);
    double *z = option(l, HOP_OPTION_gate) ? linear(u, T, c->d_model, in + D * c->d_model, NULL, D) : NULL;
    for (int64_t t = 0; t < T; t++)
        for (int64_t i = 0; i < D; i++) {
            double step = softplus(dt[t * D + i]), *at = y + t * D + i;
            *at = weight(l, "D")[i] * x[t * D + i];
            for (int64_t n = 0; n < N; n++) {
                double A = -exp(weight(l, "A_log")[i * N + n]);
                h[i * N + n] = exp(step * A) * h[i * N + n] + step * B[t * N + n] * x[t * D + i];
                *at += C[t * N + n] * h[i * N + n];
            }
            if (z) *at *= silu(z[t * D + i]);
        }
    return linear(y, T, D, weight(l, "out_proj.weight"), NULL, c->d_model);
}

static double *reference_rglru(const layer *l, const double *u, int64_t T)
{
    const hop_mixer_config *c = &l->c;
    int64_t D = option(l, HOP_OPTION_inner), block = D / c->heads, taps = option(l, HOP_OPTION_conv);
    double *x = linear(u, T, c->d_model, weight(l, "linear_x.weight"), weight(l, "linear_x.bias"), D);
    double *o = rows(T * D), *h = rows(D);
    if (taps) x = convolve(x, T, D, weight(l, "conv_1d.weight"), weight(l, "conv_1d.bias"), taps);
    double *y = option(l, HOP_OPTION_gate)
                    ? linear(u, T, c->d_model, weight(l, "linear_y.weight"), weight(l, "linear_y.bias"), D)
                    : NULL;
    const float *wr = weight(l, "rg_lru.recurrent_gate_weight"), *wi = weight(l, "rg_lru.input_gate_weight");
    for (int64_t t = 0; t < T; t++)
        for (int64_t i = 0; i < D; i++) {
            double r = weight(l, "rg_lru.recurrent_gate_bias")[i],
                   in = weight(l, "rg_lru.input_gate_bias")[i];
            for (int64_t j = 0; j < block; j++) {
                int64_t from = i / block * block + j;
                r += x[t * D + from] * wr[from * block + i % block];
                in += x[t * D + from] * wi[from * block + i % block];
            }
            double log_a = -8 * sigmoid(r) * softplus(weight(l, "rg_lru.recurrent_param")[i]), a = exp(log_a);
            h[i] = a * h[i] + sqrt(-expm1(2 * log_a)) * sigmoid(in) * x[t * D + i];
            o[t * D + i] = h[i] * (y ? 0.5 * y[t * D + i] * erfc(-y[t * D + i] * sqrt(0.5)) : 1);
        }
    return linear(o, T, D, weight(l, "linear_out.weight"), weight(l, "linear_out.bias"), c->d_model);
}

static double *reference(const layer *l, const double *x, int64_t T)
{
    const char *name = l->ops->name;
    if (strcmp(name, "window") == 0 || strcmp(name, "sparse") == 0) return reference_attention(l, x, T);
    if (strcmp(name, "rwkv7") == 0) return reference_rwkv7(l, x, T);
    if (strcmp(name, "mamba") == 0) return reference_mamba(l, x, T);
    if (strcmp(name, "rglru") == 0) return reference_rglru(l, x, T);
    return reference_delta(l, x, T);
}

#endif
