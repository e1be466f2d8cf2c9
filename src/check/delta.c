/* The layers of the delta core: deltanet, gdn, kda, deltaproduct; and rwkv7. */
#include "room.h"

#include <stdio.h>

static double twice_sigmoid(double x)
{
    return 2 * hop__sigmoid(x);
}

/* `times` consecutive heads share one of x [T, heads / times, dim]. */
static double *shared(hop__pass *p, double *x, int64_t heads, int64_t dim, int64_t times)
{
    int64_t n = p->tokens * heads * dim;
    double *y = times == 1 ? x : hop__rows(p, n);
    for (int64_t i = 0; times > 1 && p->failed == HOP_OK && i < n; i++)
        y[i] = x[i / dim / times * dim + i % dim];
    return y;
}

/* W2 W1 x + bias. */
static double *low_rank(hop__pass *p, const double *x, const char *down, const char *up, const char *bias,
                        int64_t rank, int64_t out)
{
    const double *low = hop__project(p, x, down, rank), *w = hop__mixer_tensor(p, up, out, rank);
    const double *b = bias ? hop__mixer_tensor(p, bias, out, 0) : NULL;
    return hop__affine(p, low, p->tokens, rank, w, rank, b, out);
}

/* The log decays [T, heads, gates]: a number a head, or, for kda, one for every element of the key. */
static const double *log_decay(hop__pass *p, const double *x, bool kda)
{
    const hop__layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, G = l->kv_heads, d = p->net->d, T = p->tokens;
    if (kda) {
        double *g =
            low_rank(p, x, "f_proj.0.weight", "f_proj.1.weight", "dt_bias", l->option[HOP__rank], G * K);
        g = hop__apply(p, g, T * G * K, hop__softplus);
        return shared(p, hop__rate(p, g, G, K, hop__mixer_tensor(p, "A_log", G, 0)), H, K, H / G);
    }
    const double *w = hop__mixer_tensor(p, "a_proj.weight", H, d), *b = hop__mixer_tensor(p, "dt_bias", H, 0);
    const double *g = hop__apply(p, hop__affine(p, x, T, d, w, d, b, H), T * H, hop__softplus);
    return hop__rate(p, g, H, 1, hop__mixer_tensor(p, "A_log", H, 0));
}

static double *short_conv(hop__pass *p, const double *x, char letter, int64_t width)
{
    char w[32], conv[32];
    snprintf(w, sizeof w, "%c_proj.weight", letter);
    snprintf(conv, sizeof conv, "%c_conv1d.weight", letter);
    return hop__convolve(p, hop__project(p, x, w, width), width, conv, NULL, true);
}

const double *hop__mix_delta(hop__pass *p, const double *x)
{
    const hop__layer *l = p->layer;
    const char *name = l->mixer->name;
    bool kda = strcmp(name, "kda") == 0, grouped = kda || strcmp(name, "gdn") == 0;
    bool product = strcmp(name, "deltaproduct") == 0, decays = grouped || product;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], T = p->tokens;
    int64_t n = product ? l->option[HOP__steps] : 1, G = grouped ? l->kv_heads : H, betas = kda ? G : H;
    hop__recurrence r = {.heads = H, .key_heads = G, .K = K, .V = V, .steps = n};
    r.q = hop__unit(p, short_conv(p, x, 'q', G * K), G, K);
    r.k = hop__unit(p, short_conv(p, x, 'k', n * G * K), n * G, K);
    r.v = short_conv(p, x, 'v', n * H * V);
    double *beta = hop__project(p, x, "b_proj.weight", n * betas);
    beta = hop__apply(p, beta, T * n * betas, l->option[HOP__negative] ? twice_sigmoid : hop__sigmoid);
    r.beta = shared(p, beta, n * H, 1, H / betas);
    if (decays) r.g = log_decay(p, x, kda), r.gates = kda ? K : 1;
    r.scale = hop__layer_scale(p, 1 / sqrt((double)K));
    double *o = hop__rms_heads(p, hop__recur(p, &r), H, V, "o_norm.weight");
    if (l->option[HOP__gate]) {
        double *z = kda ? low_rank(p, x, "g_proj.0.weight", "g_proj.1.weight", "g_proj.1.bias",
                                   l->option[HOP__rank], H * V)
                        : hop__project(p, x, "g_proj.weight", H * V);
        o = hop__multiply(p, o, hop__apply(p, z, T * H * V, kda ? hop__sigmoid : hop__silu), T * H * V);
    }
    const double *w = hop__mixer_tensor(p, "o_proj.weight", p->net->d, H * V);
    return hop__affine(p, o, T, H * V, w, H * V, NULL, p->net->d);
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
    int64_t d = p->net->d, n = p->tokens * d;
    const double *by = hop__mixer_tensor(p, mu, d, 0);
    double *y = hop__rows(p, n);
    for (int64_t i = 0; p->failed == HOP_OK && i < n; i++)
        y[i] = hop__keep(p, x[i] + hop__keep(p, delta[i] * by[i % d]));
    y = hop__project(p, hop__done(p, y, n), name, out);
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
    const hop__layer *l = p->layer;
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
    const hop__layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], rank = l->option[HOP__rank];
    int64_t T = p->tokens, d = p->net->d, kw = H * K, vw = H * V;
    double *delta = hop__rows(p, T * d);
    for (int64_t i = 0; delta && i < T * d; i++)
        delta[i] = hop__keep(p, (i < d ? 0 : hop__remembered(p, x[i - d], i / d - 1, i / d)) - x[i]);
    if (delta) hop__past_collect(p, x, d, 1);
    hop__done(p, delta, T * d);
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
