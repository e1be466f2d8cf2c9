/* The layers whose state is a vector: mamba (S6) and rglru. */
#include "room.h"

const double *hop__mix_mamba(hop__pass *p, const double *u)
{
    const hop__truth_layer *l = p->layer;
    int64_t D = l->option[HOP__inner], N = l->option[HOP__state_dim], R = l->option[HOP__dt_rank],
            d = p->net->d;
    int64_t T = p->tokens, gated = l->option[HOP__gate];
    const double *in = hop__mixer_tensor(p, "in_proj.weight", (1 + gated) * D, d);
    const double *xp = hop__mixer_tensor(p, "x_proj.weight", R + 2 * N, D),
                 *a_log = hop__mixer_tensor(p, "A_log", D, N);
    const double *dt_w = hop__mixer_tensor(p, "dt_proj.weight", D, R),
                 *dt_b = hop__mixer_tensor(p, "dt_proj.bias", D, 0);
    const double *skip = hop__mixer_tensor(p, "D", D, 0),
                 *out = hop__mixer_tensor(p, "out_proj.weight", d, D);
    if (p->failed != HOP_OK) return NULL;
    double *x =
        hop__convolve(p, hop__affine(p, u, T, d, in, d, NULL, D), D, "conv1d.weight", "conv1d.bias", true);
    const double *low = hop__affine(p, x, T, D, xp, D, NULL, R),
                 *B = hop__affine(p, x, T, D, xp + R * D, D, NULL, N);
    const double *C = hop__affine(p, x, T, D, xp + (R + N) * D, D, NULL, N);
    const double *dt = hop__apply(p, hop__affine(p, low, T, R, dt_w, R, dt_b, D), T * D, hop__softplus);
    double *y = hop__rows(p, T * D), *h = hop__rows(p, D * N);
    if (p->failed != HOP_OK) return NULL;
    for (int64_t t = 0; t < T; t++) {
        for (int64_t i = 0; i < D; i++) {
            double step = dt[t * D + i], *cell = h + i * N;
            for (int64_t n = 0; n < N; n++) {
                double A = hop__keep(p, -exp(fmin(a_log[i * N + n], 69))); /* finite: a step of 0 holds */
                double kept = hop__keep(p, hop__keep(p, exp(hop__keep(p, step * A))) * cell[n]);
                cell[n] = hop__keep(p, kept + hop__keep(p, hop__keep(p, step * x[t * D + i]) * B[t * N + n]));
            }
            y[t * D + i] = hop__dot(p, C + t * N, 1, cell, 1, N, hop__keep(p, skip[i] * x[t * D + i]));
        }
        hop__state_after(p, h, D * N, t);
    }
    hop__done(p, y, T * D);
    if (gated) {
        double *z = hop__affine(p, u, T, d, in + D * d, d, NULL, D);
        y = hop__multiply(p, y, hop__apply(p, z, T * D, hop__silu), T * D);
    }
    return hop__affine(p, y, T, D, out, D, NULL, d);
}

/* sigmoid(block-diagonal(x) + bias); the blocks are [heads · block, block], rows are inputs. */
static double *block_gate(hop__pass *p, const double *x, const char *weight, const char *bias)
{
    const hop__truth_layer *l = p->layer;
    int64_t D = l->option[HOP__inner], block = D / l->heads;
    const double *w = hop__mixer_tensor(p, weight, D, block), *b = hop__mixer_tensor(p, bias, D, 0);
    double *y = hop__rows(p, p->tokens * D);
    for (int64_t i = 0; p->failed == HOP_OK && i < p->tokens * D; i++) {
        int64_t e = i % D, first = e / block * block;
        y[i] = hop__dot(p, x + i - e + first, 1, w + first * block + e % block, block, block, b[e]);
    }
    return hop__apply(p, hop__done(p, y, p->tokens * D), p->tokens * D, hop__sigmoid);
}

const double *hop__mix_rglru(hop__pass *p, const double *u)
{
    const hop__truth_layer *l = p->layer;
    int64_t D = l->option[HOP__inner], d = p->net->d, T = p->tokens, n = T * D;
    const double *wx = hop__mixer_tensor(p, "linear_x.weight", D, d),
                 *bx = hop__mixer_tensor(p, "linear_x.bias", D, 0);
    double *x = hop__affine(p, u, T, d, wx, d, bx, D);
    x = hop__convolve(p, x, D, "conv_1d.weight", "conv_1d.bias", false);
    const double *r = block_gate(p, x, "rg_lru.recurrent_gate_weight", "rg_lru.recurrent_gate_bias");
    const double *i = block_gate(p, x, "rg_lru.input_gate_weight", "rg_lru.input_gate_bias");
    const double *lambda = hop__mixer_tensor(p, "rg_lru.recurrent_param", D, 0);
    double *log_a = hop__rows(p, n), *in = hop__rows(p, n), *o = hop__rows(p, n), *h = hop__rows(p, D);
    if (p->failed != HOP_OK) return NULL;
    for (int64_t e = 0; e < n; e++)
        log_a[e] = hop__keep(p, -8 * r[e] * hop__keep(p, fmin(hop__softplus(lambda[e % D]), 1e30)));
    hop__done(p, log_a, n);
    for (int64_t e = 0; e < n; e++)
        in[e] = hop__keep(p, hop__keep(p, sqrt(-expm1(2 * log_a[e]))) * hop__keep(p, i[e] * x[e]));
    hop__done(p, in, n);
    const double *a = hop__apply(p, log_a, n, exp);
    for (int64_t t = 0; p->failed == HOP_OK && t < T; t++) {
        for (int64_t e = 0; e < D; e++)
            o[t * D + e] = h[e] = hop__keep(p, hop__keep(p, a[t * D + e] * h[e]) + in[t * D + e]);
        hop__state_after(p, h, D, t);
    }
    hop__done(p, o, n);
    if (l->option[HOP__gate]) {
        const double *wy = hop__mixer_tensor(p, "linear_y.weight", D, d),
                     *by = hop__mixer_tensor(p, "linear_y.bias", D, 0);
        o = hop__multiply(p, o, hop__apply(p, hop__affine(p, u, T, d, wy, d, by, D), n, hop__gelu), n);
    }
    const double *w = hop__mixer_tensor(p, "linear_out.weight", d, D),
                 *b = hop__mixer_tensor(p, "linear_out.bias", d, 0);
    return hop__affine(p, o, T, D, w, D, b, d);
}
