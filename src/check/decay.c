/* The layers of the decay core: linear, retnet, lightning, gla, hgrn2, mamba2, mlstm, based (rwkv6 is in
 * rwkv.c). */
#include "room.h"

/* o times act(W x), with the option `gate`. */
static double *gated(hop__pass *p, double *o, const double *x, const char *name, int64_t width,
                     hop__function *act)
{
    if (!p->layer->option[HOP__gate]) return o;
    double *z = hop__apply(p, hop__project(p, x, name, width), p->tokens * width, act);
    return hop__multiply(p, o, z, p->tokens * width);
}

/* W o, [d] from `width`. */
static double *output(hop__pass *p, const double *o, const char *name, int64_t width)
{
    const double *w = hop__mixer_tensor(p, name, p->net->d, width);
    return hop__affine(p, o, p->tokens, width, w, width, NULL, p->net->d);
}

/* A row of `heads` numbers, the same for every token. */
static double *constant_gates(hop__pass *p, int64_t heads, double (*f)(const hop__pass *, int64_t))
{
    double *g = hop__rows(p, p->tokens * heads);
    for (int64_t i = 0; g && i < p->tokens * heads; i++) g[i] = hop__keep(p, f(p, i % heads));
    return g;
}

/* 1 appended to every group of dim numbers: its column of the state is Σk. */
static double *append_ones(hop__pass *p, const double *x, int64_t groups, int64_t dim)
{
    int64_t n = p->tokens * groups;
    double *y = hop__rows(p, n * (dim + 1));
    for (int64_t i = 0; y && i < n * (dim + 1); i++)
        y[i] = i % (dim + 1) == dim ? 1 : x[i / (dim + 1) * dim + i % (dim + 1)];
    return hop__done(p, y, n * (dim + 1));
}

/* Every group of dim numbers divided by the one behind it. */
static double *divide_by_last(hop__pass *p, const double *x, int64_t groups, int64_t dim, double eps)
{
    int64_t n = p->tokens * groups;
    double *y = hop__rows(p, n * dim);
    for (int64_t i = 0; y && i < n * dim; i++) {
        const double *from = x + i / dim * (dim + 1);
        y[i] = hop__keep(p, from[i % dim] / hop__keep(p, from[dim] + eps));
    }
    return hop__done(p, y, n * dim);
}

/* ---- linear -------------------------------------------------------------------------------------- */

static double elu_plus_one(double x)
{
    return x > 0 ? x + 1 : exp(x);
}

static double *feature(hop__pass *p, double *x, bool of_q)
{
    static const char *const names[2][4] = {{"feature_map_k.layer1.weight", "feature_map_k.layer1.bias",
                                             "feature_map_k.layer2.weight", "feature_map_k.layer2.bias"},
                                            {"feature_map_q.layer1.weight", "feature_map_q.layer1.bias",
                                             "feature_map_q.layer2.weight", "feature_map_q.layer2.bias"}};
    const hop__truth_layer *l = p->layer;
    int64_t K = l->head_dim, rows = p->tokens * l->heads;
    double *part[2];
    switch (l->option[HOP__feature]) {
    case 0: return x;
    case 1: return hop__apply(p, x, rows * K, elu_plus_one);
    case 2: return hop__apply(p, x, rows * K, hop__relu);
    default: break;
    }
    for (int i = 0; i < 2; i++) {
        const double *w = hop__mixer_tensor(p, names[of_q][2 * i], K, K),
                     *b = hop__mixer_tensor(p, names[of_q][2 * i + 1], K, 0);
        part[i] = hop__affine(p, x, rows, K, w, K, b, K);
    }
    return hop__multiply(p, part[0], part[1], rows * K);
}

const double *hop__mix_linear(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim];
    bool normalise = l->option[HOP__normalise];
    double *q = feature(p, hop__project(p, x, "q_proj.weight", H * K), true);
    double *k = feature(p, hop__project(p, x, "k_proj.weight", H * K), false);
    double *v = hop__project(p, x, "v_proj.weight", H * V);
    if (normalise) v = append_ones(p, v, H, V);
    double *o = hop__recur(p, &(hop__recurrence){.q = q,
                                                 .k = k,
                                                 .v = v,
                                                 .heads = H,
                                                 .key_heads = H,
                                                 .K = K,
                                                 .V = V + normalise,
                                                 .steps = 1,
                                                 .scale = hop__layer_scale(p, 1 / sqrt((double)K))});
    if (normalise) o = divide_by_last(p, o, H, V, 1e-10);
    return output(p, hop__rms_heads(p, o, H, V, "norm.weight"), "o_proj.weight", H * V);
}

/* ---- retnet and gla ------------------------------------------------------------------------------ */

static double *shorted(hop__pass *p, const double *x, const char *w, const char *conv, int64_t width)
{
    return hop__convolve(p, hop__project(p, x, w, width), width, conv, NULL, true);
}

/* From q, k, v on; g [T, H, gates]. */
static const double *decay_and_gate(hop__pass *p, const double *x, const double *q, const double *k,
                                    const double *g, int64_t gates)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim];
    const double *v = shorted(p, x, "v_proj.weight", "v_conv1d.weight", H * V);
    double *o = hop__recur(p, &(hop__recurrence){.q = q,
                                                 .k = k,
                                                 .v = v,
                                                 .g = g,
                                                 .heads = H,
                                                 .key_heads = H,
                                                 .K = K,
                                                 .V = V,
                                                 .gates = gates,
                                                 .steps = 1,
                                                 .scale = hop__layer_scale(p, 1 / sqrt((double)K))});
    o = hop__rms_heads(p, o, H, V, "g_norm.weight");
    return output(p, gated(p, o, x, "g_proj.weight", H * V, hop__silu), "o_proj.weight", H * V);
}

static double retnet_gate(const hop__pass *p, int64_t h)
{
    (void)p;
    return log1p(-exp2(-5.0 - (double)h));
}

const double *hop__mix_retnet(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim;
    double theta = l->theta > 0 ? l->theta : 10000;
    double *q = shorted(p, x, "q_proj.weight", "q_conv1d.weight", H * K);
    double *k = shorted(p, x, "k_proj.weight", "k_conv1d.weight", H * K);
    if (l->option[HOP__rope]) q = hop__rotate(p, q, H, K, K, theta), k = hop__rotate(p, k, H, K, K, theta);
    return decay_and_gate(p, x, q, k, constant_gates(p, H, retnet_gate), 1);
}

static double logsigmoid_over_16(double x)
{
    return hop__logsigmoid(x) / 16;
}

const double *hop__mix_gla(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t kw = l->heads * l->head_dim, rank = l->option[HOP__rank];
    const double *q = shorted(p, x, "q_proj.weight", "q_conv1d.weight", kw);
    const double *k = shorted(p, x, "k_proj.weight", "k_conv1d.weight", kw);
    const double *low = hop__project(p, x, "gk_proj.0.weight", rank);
    const double *w = hop__mixer_tensor(p, "gk_proj.1.weight", kw, rank),
                 *b = hop__mixer_tensor(p, "gk_proj.1.bias", kw, 0);
    double *g = hop__affine(p, low, p->tokens, rank, w, rank, b, kw);
    g = hop__apply(p, g, p->tokens * kw, logsigmoid_over_16);
    return decay_and_gate(p, x, q, k, g, l->head_dim);
}

/* ---- lightning and hgrn2 ------------------------------------------------------------------------- */

static double lightning_gate(const hop__pass *p, int64_t h)
{
    double depth = 1 - (double)p->layer->number / ((double)p->net->layer_count - 1 + 1e-5) + 1e-5;
    return -exp2(-8.0 * (double)(h + 1) / (double)p->layer->heads) * depth;
}

const double *hop__mix_lightning(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], T = p->tokens;
    const double *q = hop__apply(p, hop__project(p, x, "q_proj.weight", H * K), T * H * K, hop__silu);
    const double *k = hop__apply(p, hop__project(p, x, "k_proj.weight", H * K), T * H * K, hop__silu);
    const double *v = hop__apply(p, hop__project(p, x, "v_proj.weight", H * V), T * H * V, hop__silu);
    const double *g = constant_gates(p, H, lightning_gate);
    double *o = hop__recur(p, &(hop__recurrence){.q = q,
                                                 .k = k,
                                                 .v = v,
                                                 .g = g,
                                                 .heads = H,
                                                 .key_heads = H,
                                                 .K = K,
                                                 .V = V,
                                                 .gates = 1,
                                                 .steps = 1,
                                                 .scale = hop__layer_scale(p, 1)});
    o = hop__rms_heads(p, o, 1, H * V, "norm.weight");
    return output(p, gated(p, o, x, "output_gate.weight", H * V, hop__sigmoid), "out_proj.weight", H * V);
}

static double one_minus_sigmoid(double x)
{
    return hop__sigmoid(-x);
}

const double *hop__mix_hgrn2(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], n = p->tokens * H * K;
    const double *q = hop__apply(p, hop__project(p, x, "q_proj.weight", H * K), n, hop__silu);
    const double *f = hop__project(p, x, "f_proj.weight", H * K);
    const double *k = hop__apply(p, f, n, one_minus_sigmoid), *g = hop__apply(p, f, n, hop__logsigmoid);
    const double *v = hop__project(p, x, "i_proj.weight", H * V);
    double *o = hop__recur(p, &(hop__recurrence){.q = q,
                                                 .k = k,
                                                 .v = v,
                                                 .g = g,
                                                 .heads = H,
                                                 .key_heads = H,
                                                 .K = K,
                                                 .V = V,
                                                 .gates = K,
                                                 .steps = 1,
                                                 .scale = hop__layer_scale(p, 1 / sqrt((double)K))});
    return output(p, hop__rms_heads(p, o, 1, H * V, "g_norm.weight"), "o_proj.weight", H * V);
}

/* ---- mamba2 -------------------------------------------------------------------------------------- */

/* Rows of in_proj: z (with a gate), then x, B and C of all groups, which are convolved, then dt. */
const double *hop__mix_mamba2(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, P = l->head_dim, N = l->option[HOP__state_dim], G = l->option[HOP__groups],
            T = p->tokens;
    int64_t inner = H * P, wide = inner + 2 * G * N, z = l->option[HOP__gate] ? inner : 0, d = p->net->d;
    const double *in = hop__mixer_tensor(p, "in_proj.weight", z + wide + H, d),
                 *a_log = hop__mixer_tensor(p, "A_log", H, 0);
    const double *bias = hop__mixer_tensor(p, "dt_bias", H, 0), *D = hop__mixer_tensor(p, "D", H, 0);
    if (p->failed != HOP_OK) return NULL;
    double *xbc = hop__affine(p, x, T, d, in + z * d, d, NULL, wide);
    xbc = hop__convolve(p, xbc, wide, "conv1d.weight", "conv1d.bias", true);
    const double *dt = hop__affine(p, x, T, d, in + (z + wide) * d, d, bias, H);
    dt = hop__apply(p, dt, T * H, hop__softplus);
    const double *g = hop__rate(p, dt, H, 1, a_log);
    const double *xs = hop__columns(p, xbc, wide, 0, inner), *B = hop__columns(p, xbc, wide, inner, G * N);
    const double *C = hop__columns(p, xbc, wide, inner + G * N, G * N);
    double *v = hop__rows(p, T * inner);
    for (int64_t i = 0; p->failed == HOP_OK && i < T * inner; i++) v[i] = hop__keep(p, xs[i] * dt[i / P]);
    hop__done(p, v, T * inner);
    double *o = hop__recur(p, &(hop__recurrence){.q = C,
                                                 .k = B,
                                                 .v = v,
                                                 .g = g,
                                                 .heads = H,
                                                 .key_heads = G,
                                                 .K = N,
                                                 .V = P,
                                                 .gates = 1,
                                                 .steps = 1,
                                                 .scale = 1});
    for (int64_t i = 0; p->failed == HOP_OK && i < T * inner; i++)
        o[i] = hop__keep(p, o[i] + hop__keep(p, D[i % inner / P] * xs[i]));
    hop__done(p, o, T * inner);
    if (z) {
        double *gate = hop__apply(p, hop__affine(p, x, T, d, in, d, NULL, inner), T * inner, hop__silu);
        o = hop__multiply(p, o, gate, T * inner);
    }
    int64_t parts = l->option[HOP__norm_groups];
    o = hop__rms_heads(p, o, parts, inner / parts, "norm.weight");
    return output(p, o, "out_proj.weight", inner);
}

/* ---- mlstm --------------------------------------------------------------------------------------- */

/* One head, one token: C [K, V], n [K], m. */
static void mlstm_token(hop__pass *p, double *C, const double *q, const double *k, const double *v, double i,
                        double f, double *o)
{
    int64_t K = p->layer->head_dim, V = p->layer->option[HOP__value_dim];
    double *n = C + K * V, *m = n + K, scale = hop__layer_scale(p, 1 / sqrt((double)K));
    double held = hop__keep(p, *m + hop__keep(p, hop__logsigmoid(f))), now = fmax(held, i);
    double keep = hop__keep(p, exp(hop__keep(p, held - now))),
           take = hop__keep(p, exp(hop__keep(p, i - now)));
    for (int64_t a = 0; a < K; a++) {
        double write = hop__keep(p, take * k[a]);
        n[a] = hop__keep(p, hop__keep(p, keep * n[a]) + write);
        for (int64_t e = 0; e < V; e++) {
            double *cell = C + a * V + e;
            *cell = hop__keep(p, hop__keep(p, keep * *cell) + hop__keep(p, write * v[e]));
        }
    }
    *m = now;
    double by = fmax(fabs(scale * hop__dot(p, q, 1, n, 1, K, 0)), exp(-now)) + 1e-6;
    for (int64_t e = 0; e < V; e++) o[e] = hop__keep(p, scale * hop__dot(p, q, 1, C + e, V, K, 0) / by);
}

const double *hop__mix_mlstm(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], T = p->tokens, d = p->net->d;
    int64_t size = K * V + K + 1, vw = H * V;
    const double *q = hop__project(p, x, "q_proj.weight", H * K),
                 *k = hop__project(p, x, "k_proj.weight", H * K);
    const double *v = hop__project(p, x, "v_proj.weight", vw);
    const double *wi = hop__mixer_tensor(p, "igate_preact.weight", H, d),
                 *bi = hop__mixer_tensor(p, "igate_preact.bias", H, 0);
    const double *wf = hop__mixer_tensor(p, "fgate_preact.weight", H, d),
                 *bf = hop__mixer_tensor(p, "fgate_preact.bias", H, 0);
    const double *i = hop__affine(p, x, T, d, wi, d, bi, H), *f = hop__affine(p, x, T, d, wf, d, bf, H);
    double *o = hop__rows(p, T * vw), *state = hop__rows(p, H * size);
    if (p->failed != HOP_OK) return NULL;
    for (int64_t t = 0; t < T; t++) {
        for (int64_t h = 0, at = t * H; h < H; h++, at++)
            mlstm_token(p, state + h * size, q + at * K, k + at * K, v + at * V, i[at], f[at], o + at * V);
        hop__state_after(p, state, H * size, t);
    }
    hop__done(p, o, T * vw);
    if (l->option[HOP__norm]) {
        const hop__norm_shape z = {.rows = T, .groups = H, .dim = V, .eps = 1e-6, .centred = true};
        o = hop__normalise_rows(p, o, hop__mixer_tensor(p, "multihead_norm.weight", vw, 0), NULL, &z);
    }
    return output(p, gated(p, o, x, "ogate_preact.weight", vw, hop__sigmoid), "out_proj.weight", vw);
}

/* ---- based --------------------------------------------------------------------------------------- */

static double product(const hop__pass *p, const double *x, int n)
{
    double y = x[0];
    for (int i = 1; i < n; i++) y = hop__keep(p, y * x[i]);
    return y;
}

/* 1, x_i, x_i x_j (i <= j) of every head, those of q times 1, s, s² (s²/2 where i = j): the product of two
 * such rows is 1 + s q·k + (s q·k)²/2. */
static double *taylor(hop__pass *p, const double *x, double s, double half)
{
    int64_t K = p->layer->head_dim, F = 1 + K + K * (K + 1) / 2, n = p->tokens * p->layer->heads;
    double *y = hop__rows(p, n * F), *to = y;
    for (int64_t r = 0; p->failed == HOP_OK && r < n; r++, x += K) {
        *to++ = 1;
        for (int64_t i = 0; i < K; i++) *to++ = hop__keep(p, s * x[i]);
        for (int64_t i = 0; i < K; i++)
            for (int64_t j = i; j < K; j++)
                *to++ = product(p, (const double[]){i == j ? half : 1, s, s, x[i], x[j]}, 5);
    }
    return hop__done(p, y, n * F);
}

const double *hop__mix_based(hop__pass *p, const double *x)
{
    const hop__truth_layer *l = p->layer;
    int64_t H = l->heads, K = l->head_dim, V = l->option[HOP__value_dim], F = 1 + K + K * (K + 1) / 2;
    const double *q =
        taylor(p, hop__project(p, x, "q_proj.weight", H * K), hop__layer_scale(p, 1 / sqrt((double)K)), 0.5);
    const double *k = taylor(p, hop__project(p, x, "k_proj.weight", H * K), 1, 1);
    const double *v = append_ones(p, hop__project(p, x, "v_proj.weight", H * V), H, V);
    double *o = hop__recur(
        p,
        &(hop__recurrence){
            .q = q, .k = k, .v = v, .heads = H, .key_heads = H, .K = F, .V = V + 1, .steps = 1, .scale = 1});
    return output(p, divide_by_last(p, o, H, V, 1e-6), "o_proj.weight", H * V);
}
