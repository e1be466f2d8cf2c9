/* rwkv6 and rwkv7, whose tokens look at the row before them as well. */
#include "room.h"

/* x + delta ⊙ (weights + more); more [T, d], or NULL. */
static double *moved(hop__pass *p, const double *x, const double *delta, const double *more,
                     const double *weights)
{
    int64_t d = p->net->d, n = p->tokens * d;
    double *y = hop__rows(p, n);
    for (int64_t i = 0; p->failed == HOP_OK && i < n; i++) {
        double by = more ? hop__keep(p, more[i] + weights[i % d]) : weights[i % d];
        y[i] = hop__keep(p, x[i] + hop__keep(p, delta[i] * by));
    }
    return hop__done(p, y, n);
}

/* The row before minus this one. */
static double *to_the_row_before(hop__pass *p, const double *x)
{
    int64_t d = p->net->d, n = p->tokens * d;
    double *y = hop__rows(p, n);
    for (int64_t i = 0; y && i < n; i++)
        y[i] = hop__keep(p, (i < d ? 0 : hop__remembered(p, x[i - d], i / d - 1, i / d)) - x[i]);
    if (y) hop__past_collect(p, x, d, 1);
    return hop__done(p, y, n);
}

/* ---- rwkv6 --------------------------------------------------------------------------------------- */

static double minus_exp(double x)
{
    return -fmin(exp(x), 1000); /* e^-1000 is 0 as e^-inf is */
}

const double *hop__mix_rwkv6(hop__pass *p, const double *x)
{
    enum { R, W, K_, V_, G, LERPS };
    static const char *const norm[] = {"g_norm.weight", "g_norm.bias"};
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], T = p->tokens, d = p->net->d;
    int64_t rank = l->option[HOP__rank], half = (rank + 1) / 2, kw = H * K, vw = H * V;
    const double *mu = hop__mixer_tensor(p, "x_proj.0.mu", d, 0),
                 *bias = hop__mixer_tensor(p, "x_bias", LERPS, d);
    const double *up = hop__mixer_tensor(p, "x_proj.2.weight", d, LERPS * half), *lerped[LERPS] = {0};
    const double *delta = to_the_row_before(p, x), *low = moved(p, x, delta, NULL, mu);
    low = hop__apply(p, hop__project(p, low, "x_proj.0.linear.weight", LERPS * half), T * LERPS * half, tanh);
    if (p->failed != HOP_OK) return NULL;
    for (int i = 0; i < (l->option[HOP__gate] ? LERPS : G); i++) {
        const double *mine = hop__columns(p, low, LERPS * half, i * half, half);
        const double *by = hop__affine(p, mine, T, half, up + i * half, LERPS * half, NULL, d);
        lerped[i] = moved(p, x, delta, by, bias + i * d);
    }
    const double *w =
        hop__apply(p, hop__project(p, lerped[W], "w_proj.linear.lora.0.weight", rank), T * rank, tanh);
    const double *w2 = hop__mixer_tensor(p, "w_proj.linear.lora.2.weight", kw, rank);
    w = hop__affine(p, w, T, rank, w2, rank, hop__mixer_tensor(p, "w_proj.linear.lora.2.bias", kw, 0), kw);
    w = hop__apply(p, w, T * kw, minus_exp);
    double *o = hop__recur(p, &(hop__recurrence){.q = hop__project(p, lerped[R], "r_proj.linear.weight", kw),
                                                 .k = hop__project(p, lerped[K_], "k_proj.linear.weight", kw),
                                                 .v = hop__project(p, lerped[V_], "v_proj.linear.weight", vw),
                                                 .g = w,
                                                 .u = hop__mixer_tensor(p, "bonus", H, K),
                                                 .heads = H,
                                                 .key_heads = H,
                                                 .K = K,
                                                 .V = V,
                                                 .gates = K,
                                                 .steps = 1,
                                                 .scale = hop__layer_scale(p, 1)});
    if (l->option[HOP__norm]) {
        const hop__norm_shape z = {.rows = T, .groups = H, .dim = V, .eps = 1e-5, .centred = true};
        const double *weight = hop__mixer_tensor(p, norm[0], vw, 0),
                     *shift = hop__mixer_tensor(p, norm[1], vw, 0);
        o = hop__normalise_rows(p, o, weight, shift, &z);
    }
    if (l->option[HOP__gate])
        o = hop__multiply(
            p, o, hop__apply(p, hop__project(p, lerped[G], "g_proj.linear.weight", vw), T * vw, hop__silu),
            T * vw);
    const double *w_o = hop__mixer_tensor(p, "o_proj.weight", d, vw);
    return hop__affine(p, o, T, vw, w_o, vw, NULL, d);
}

/* ---- rwkv7 --------------------------------------------------------------------------------------- */

static double decay_of(double x)
{
    return -0.6065306597126334 * hop__sigmoid(x); /* e^(-1/2) */
}

static double negative(double x)
{
    return -x;
}

/* W1 of x moved towards the row before it, then act. */
static double *shifted(hop__pass *p, const double *x, const double *delta, const char *mu, const char *name,
                       int64_t out, hop__function *act)
{
    double *y = hop__project(p, moved(p, x, delta, NULL, hop__mixer_tensor(p, mu, p->net->d, 0)), name, out);
    return act ? hop__apply(p, y, p->tokens * out, act) : y;
}

static double *up(hop__pass *p, const double *low, const char *name, const char *bias, int64_t rank,
                  int64_t out)
{
    const double *w = hop__mixer_tensor(p, name, out, rank),
                 *b = bias ? hop__mixer_tensor(p, bias, out, 0) : NULL;
    return hop__affine(p, low, p->tokens, rank, w, rank, b, out);
}

/* GroupNorm(o) + (Σ r ⊙ k ⊙ r_k) v of every head. */
static double *rwkv7_read(hop__pass *p, double *o, const double *r, const double *k, const double *v)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], T = p->tokens, vw = H * V;
    if (l->option[HOP__norm]) {
        const hop__norm_shape z = {
            .rows = T, .groups = H, .dim = V, .eps = 1e-5 * (double)K, .centred = true};
        const double *w = hop__mixer_tensor(p, "g_norm.weight", vw, 0),
                     *b = hop__mixer_tensor(p, "g_norm.bias", vw, 0);
        o = hop__normalise_rows(p, o, w, b, &z);
    }
    const double *r_k = hop__mixer_tensor(p, "r_k", H, K);
    double *y = hop__rows(p, T * vw), *rk = hop__rows(p, K);
    for (int64_t i = 0; p->failed == HOP_OK && i < T * H; i++) {
        for (int64_t e = 0; e < K; e++) rk[e] = hop__keep(p, r[i * K + e] * k[i * K + e]);
        double bonus = hop__dot(p, rk, 1, r_k + i % H * K, 1, K, 0);
        for (int64_t e = 0; e < V; e++)
            y[i * V + e] = hop__keep(p, o[i * V + e] + hop__keep(p, bonus * v[i * V + e]));
    }
    return hop__done(p, y, T * vw);
}

const double *hop__mix_rwkv7(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], rank = l->option[HOP__rank];
    int64_t T = p->tokens, d = p->net->d, kw = H * K, vw = H * V;
    const double *delta = to_the_row_before(p, x);
    const double *r = shifted(p, x, delta, "x_r", "r_proj.weight", kw, NULL);
    double *k = shifted(p, x, delta, "x_k", "k_proj.weight", kw, NULL);
    const double *v = shifted(p, x, delta, "x_v", "v_proj.weight", vw, NULL);
    double *w = shifted(p, x, delta, "x_w", "w_lora.lora.0.weight", rank, tanh);
    w = hop__apply(p, up(p, w, "w_lora.lora.2.weight", "w_lora.lora.2.bias", rank, kw), T * kw, decay_of);
    double *eta = shifted(p, x, delta, "x_a", "a_lora.lora.0.weight", rank, NULL);
    eta = hop__apply(p, up(p, eta, "a_lora.lora.2.weight", "a_lora.lora.2.bias", rank, kw), T * kw,
                     hop__sigmoid);
    const double *k_k = hop__mixer_tensor(p, "k_k", kw, 0), *k_a = hop__mixer_tensor(p, "k_a", kw, 0);
    double *kappa = hop__rows(p, T * kw), *blended = hop__rows(p, T * kw);
    for (int64_t i = 0; p->failed == HOP_OK && i < T * kw; i++) {
        kappa[i] = hop__keep(p, k[i] * k_k[i % kw]);
        double by = hop__keep(p, 1 + hop__keep(p, hop__keep(p, eta[i] - 1) * k_a[i % kw]));
        blended[i] = hop__keep(p, k[i] * by);
    }
    kappa = hop__unit(p, hop__done(p, kappa, T * kw), H, K);
    k = hop__done(p, blended, T * kw);
    double *o = hop__recur(p, &(hop__recurrence){.q = r,
                                                 .k = k,
                                                 .v = v,
                                                 .g = w,
                                                 .a = hop__apply(p, kappa, T * kw, negative),
                                                 .b = hop__multiply(p, eta, kappa, T * kw),
                                                 .heads = H,
                                                 .key_heads = H,
                                                 .K = K,
                                                 .V = V,
                                                 .gates = K,
                                                 .steps = 1,
                                                 .scale = hop__layer_scale(p, 1)});
    o = rwkv7_read(p, o, r, k, v);
    if (l->option[HOP__gate]) {
        double *z = shifted(p, x, delta, "x_g", "g_lora.lora.0.weight", 2 * rank, hop__sigmoid);
        o = hop__multiply(p, o, up(p, z, "g_lora.lora.2.weight", NULL, 2 * rank, vw), T * vw);
    }
    const double *w_o = hop__mixer_tensor(p, "o_proj.weight", d, vw);
    return hop__affine(p, o, T, vw, w_o, vw, NULL, d);
}
