/* The layers of the delta core: deltanet, gdn, kda, deltaproduct (rwkv7 is in rwkv.c). */
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
    const hop__truth_layer *l = p->layer;
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
    const hop__truth_layer *l = p->layer;
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
