/* decay_layers.h - the layers of the decay core in double precision, written from their equations: every sum
 * is a loop over tokens, and nothing is shared with src/. truth() is the entry. */
#ifndef HOP_TESTS_DECAY_LAYERS_H
#define HOP_TESTS_DECAY_LAYERS_H

#include "mixer_subject.h"

#define POOL 64
static double *pool[POOL]; /* what the layer at hand has allocated */
static int pooled;

static double *numbers(int64_t n)
{
    assert_true(pooled < POOL);
    double *p = calloc((size_t)(n > 0 ? n : 1), sizeof *p);
    assert_non_null(p);
    return pool[pooled++] = p;
}

static void numbers_free(void)
{
    while (pooled > 0) free(pool[--pooled]);
}

static double sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double identity(double x)
{
    return x;
}

/* y [rows, out] = x Wᵀ + b, then act. */
static double *affine(const subject *s, const double *x, int64_t rows, const char *name, const char *bias,
                      double (*act)(double))
{
    int i = find(s, name);
    assert_true(i >= 0);
    int64_t out = s->params[i].shape[0], in = s->params[i].shape[1];
    const float *w = s->w[i], *b = bias ? weight(s, bias) : NULL;
    double *y = numbers(rows * out);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t o = 0; o < out; o++) {
            double sum = b ? (double)b[o] : 0.0;
            for (int64_t e = 0; e < in; e++) sum += w[o * in + e] * x[r * in + e];
            y[r * out + o] = act(sum);
        }
    return y;
}

/* SiLU of the causal convolution, or x itself when there is no such parameter. */
static double *short_conv(const subject *s, double *x, int64_t T, const char *name, const char *bias)
{
    int i = find(s, name);
    if (i < 0) return x;
    int64_t width = s->params[i].shape[0], taps = s->params[i].shape[1];
    const float *b = bias ? weight(s, bias) : NULL;
    double *y = numbers(T * width);
    for (int64_t t = 0; t < T; t++)
        for (int64_t e = 0; e < width; e++) {
            double sum = b ? (double)b[e] : 0.0;
            for (int64_t j = 0; j < taps; j++)
                if (t - j >= 0) sum += s->w[i][e * taps + taps - 1 - j] * x[(t - j) * width + e];
            y[t * width + e] = silu(sum);
        }
    return y;
}

typedef struct dims {
    int64_t T, H, K, V;
    double scale;
} dims;

/* S = diag(e^g) S + k vᵀ, o = scale qᵀS; g [T, H, K]; with u: o = scale qᵀ(S_old + diag(u) k vᵀ). */
static double *decay(dims z, const double *q, const double *k, const double *v, const double *g,
                     const float *u)
{
    double *o = numbers(z.T * z.H * z.V), *S = numbers(z.H * z.K * z.V);
    for (int64_t t = 0; t < z.T; t++)
        for (int64_t h = 0; h < z.H; h++)
            for (int64_t a = 0; a < z.K; a++) {
                int64_t ik = (t * z.H + h) * z.K + a;
                for (int64_t e = 0; e < z.V; e++) {
                    int64_t iv = (t * z.H + h) * z.V + e;
                    double *cell = S + (h * z.K + a) * z.V + e, old = *cell;
                    *cell = exp(g[ik]) * old + k[ik] * v[iv];
                    o[iv] += z.scale * q[ik] * (u ? old + u[h * z.K + a] * k[ik] * v[iv] : *cell);
                }
            }
    return o;
}

/* Every group of dim numbers over its root mean square (about the mean, if centred), times the weight. */
static void norm(const subject *s, double *o, int64_t rows, int64_t groups, int64_t dim, const char *name,
                 double eps, bool centred)
{
    int i = find(s, name);
    if (i < 0) return;
    for (int64_t g = 0; g < rows * groups; g++) {
        double *p = o + g * dim, mean = 0, sum = 0;
        const float *w = s->w[i] + (size_of(&s->params[i]) == dim ? 0 : g % groups * dim);
        for (int64_t e = 0; centred && e < dim; e++) mean += p[e] / (double)dim;
        for (int64_t e = 0; e < dim; e++) sum += (p[e] - mean) * (p[e] - mean);
        for (int64_t e = 0; e < dim; e++) p[e] = (p[e] - mean) / sqrt(sum / (double)dim + eps) * w[e];
    }
}

static void times(double *o, const double *z, int64_t n)
{
    for (int64_t i = 0; i < n; i++) o[i] *= z[i];
}

static void gate_by(const subject *s, double *o, const double *x, int64_t T, const char *name,
                    double (*act)(double))
{
    int i = find(s, name);
    if (i >= 0) times(o, affine(s, x, T, name, NULL, act), T * s->params[i].shape[0]);
}

static double *phi(const subject *s, double *x, dims z, const char *side)
{
    int64_t rows = z.T * z.H, n = rows * z.K, feature = opt(s, HOP_OPTION_feature);
    if (feature == 3) {
        char name[4][64];
        for (int i = 0; i < 4; i++)
            snprintf(name[i], sizeof name[i], "feature_map_%s.layer%d.%s", side, i / 2 + 1,
                     i % 2 ? "bias" : "weight");
        double *y = affine(s, x, rows, name[0], name[1], identity);
        times(y, affine(s, x, rows, name[2], name[3], identity), n);
        return y;
    }
    for (int64_t i = 0; i < n; i++) {
        if (feature == 1) x[i] = x[i] > 0 ? x[i] + 1 : exp(x[i]);
        if (feature == 2) x[i] = x[i] > 0 ? x[i] : 0;
    }
    return x;
}

static const double *linear_core(const subject *s, const double *x, dims z)
{
    double *q = phi(s, affine(s, x, z.T, "q_proj.weight", NULL, identity), z, "q");
    double *k = phi(s, affine(s, x, z.T, "k_proj.weight", NULL, identity), z, "k");
    double *v = affine(s, x, z.T, "v_proj.weight", NULL, identity), *g = numbers(z.T * z.H * z.K);
    double *o = decay(z, q, k, v, g, NULL), *ones = numbers(z.T * z.H);
    for (int64_t i = 0; i < z.T * z.H; i++) ones[i] = 1;
    double *total = decay((dims){z.T, z.H, z.K, 1, z.scale}, q, k, ones, g, NULL);
    for (int64_t i = 0; opt(s, HOP_OPTION_normalise) && i < z.T * z.H * z.V; i++)
        o[i] /= total[i / z.V] + 1e-10;
    norm(s, o, z.T, z.H, z.V, "norm.weight", 1e-5, false);
    return affine(s, o, z.T, "o_proj.weight", NULL, identity);
}

static void rotate(double *x, dims z)
{
    for (int64_t i = 0; i < z.T * z.H; i++)
        for (int64_t e = 0; e < z.K / 2; e++) {
            double *p = x + i * z.K + e, a = p[0], b = p[z.K / 2];
            double angle = (double)(i / z.H) * pow(10000.0, -2.0 * (double)e / (double)z.K);
            p[0] = a * cos(angle) - b * sin(angle), p[z.K / 2] = a * sin(angle) + b * cos(angle);
        }
}

/* retnet and gla */
static const double *gated_core(const subject *s, const double *x, dims z)
{
    bool gla = strcmp(s->ops->name, "gla") == 0;
    double *q =
        short_conv(s, affine(s, x, z.T, "q_proj.weight", NULL, identity), z.T, "q_conv1d.weight", NULL);
    double *k =
        short_conv(s, affine(s, x, z.T, "k_proj.weight", NULL, identity), z.T, "k_conv1d.weight", NULL);
    double *v =
        short_conv(s, affine(s, x, z.T, "v_proj.weight", NULL, identity), z.T, "v_conv1d.weight", NULL);
    int64_t n = z.T * z.H * z.K;
    double *g = numbers(n);
    if (gla) {
        const double *low = affine(s, x, z.T, "gk_proj.0.weight", NULL, identity);
        const double *up = affine(s, low, z.T, "gk_proj.1.weight", "gk_proj.1.bias", identity);
        for (int64_t i = 0; i < n; i++) g[i] = -softplus(-up[i]) / 16;
    } else {
        for (int64_t i = 0; i < n; i++) g[i] = log(1 - pow(2, -5.0 - (double)(i / z.K % z.H)));
        if (opt(s, HOP_OPTION_rope)) rotate(q, z), rotate(k, z);
    }
    double *o = decay(z, q, k, v, g, NULL);
    norm(s, o, z.T, z.H, z.V, "g_norm.weight", 1e-5, false);
    gate_by(s, o, x, z.T, "g_proj.weight", silu);
    return affine(s, o, z.T, "o_proj.weight", NULL, identity);
}

static const double *lightning_core(const subject *s, const double *x, dims z)
{
    double *g = numbers(z.T * z.H * z.K);
    for (int64_t i = 0; i < z.T * z.H * z.K; i++)
        g[i] = -pow(2, -8.0 * (double)(i / z.K % z.H + 1) / (double)z.H) *
               (1 - (double)s->c.layer / ((double)s->c.layers - 1 + 1e-5) + 1e-5);
    double *o = decay(z, affine(s, x, z.T, "q_proj.weight", NULL, silu),
                      affine(s, x, z.T, "k_proj.weight", NULL, silu),
                      affine(s, x, z.T, "v_proj.weight", NULL, silu), g, NULL);
    norm(s, o, z.T, 1, z.H * z.V, "norm.weight", 1e-5, false);
    gate_by(s, o, x, z.T, "output_gate.weight", sigmoid);
    return affine(s, o, z.T, "out_proj.weight", NULL, identity);
}

static const double *hgrn2_core(const subject *s, const double *x, dims z)
{
    int64_t n = z.T * z.H * z.K;
    double *f = affine(s, x, z.T, "f_proj.weight", NULL, identity), *k = numbers(n);
    for (int64_t i = 0; i < n; i++) k[i] = sigmoid(-f[i]), f[i] = -softplus(-f[i]);
    double *o = decay(z, affine(s, x, z.T, "q_proj.weight", NULL, silu), k,
                      affine(s, x, z.T, "i_proj.weight", NULL, identity), f, NULL);
    norm(s, o, z.T, 1, z.H * z.V, "g_norm.weight", 1e-5, false);
    return affine(s, o, z.T, "o_proj.weight", NULL, identity);
}

static const double *mamba2_core(const subject *s, const double *x, dims z)
{
    int64_t N = z.K, P = z.V, groups = opt(s, HOP_OPTION_groups), inner = z.H * P,
            wide = inner + 2 * groups * N;
    int64_t gated = opt(s, HOP_OPTION_gate) ? inner : 0, all = gated + wide + z.H;
    const double *in = affine(s, x, z.T, "in_proj.weight", NULL, identity);
    double *xbc = numbers(z.T * wide), *q = numbers(z.T * z.H * N), *k = numbers(z.T * z.H * N);
    double *g = numbers(z.T * z.H * N), *v = numbers(z.T * inner);
    for (int64_t i = 0; i < z.T * wide; i++) xbc[i] = in[i / wide * all + gated + i % wide];
    xbc = short_conv(s, xbc, z.T, "conv1d.weight", "conv1d.bias");
    for (int64_t i = 0; i < z.T * z.H; i++) {
        int64_t t = i / z.H, h = i % z.H, group = h / (z.H / groups);
        double dt = softplus(in[t * all + gated + wide + h] + weight(s, "dt_bias")[h]);
        for (int64_t e = 0; e < N; e++) {
            k[i * N + e] = xbc[t * wide + inner + group * N + e];
            q[i * N + e] = xbc[t * wide + inner + (groups + group) * N + e];
            g[i * N + e] = -exp(weight(s, "A_log")[h]) * dt;
        }
        for (int64_t e = 0; e < P; e++) v[i * P + e] = dt * xbc[t * wide + h * P + e];
    }
    z.scale = 1;
    double *o = decay(z, q, k, v, g, NULL);
    for (int64_t i = 0; i < z.T * inner; i++) {
        o[i] += weight(s, "D")[i % inner / P] * xbc[i / inner * wide + i % inner];
        if (gated) o[i] *= silu(in[i / inner * all + i % inner]);
    }
    norm(s, o, z.T, 1, inner, "norm.weight", 1e-5, false);
    return affine(s, o, z.T, "out_proj.weight", NULL, identity);
}

static const double *rwkv6_core(const subject *s, const double *x, dims z)
{
    int64_t d = s->c.d_model, rank = (opt(s, HOP_OPTION_rank) + 1) / 2;
    const float *up = weight(s, "x_proj.2.weight"), *bias = weight(s, "x_bias");
    double *delta = numbers(z.T * d), *mixed = numbers(z.T * d), *lerped[5];
    for (int64_t i = 0; i < z.T * d; i++) {
        delta[i] = (i >= d ? x[i - d] : 0) - x[i];
        mixed[i] = x[i] + delta[i] * weight(s, "x_proj.0.mu")[i % d];
    }
    const double *low = affine(s, mixed, z.T, "x_proj.0.linear.weight", NULL, tanh);
    for (int n = 0; n < 5; n++) {
        lerped[n] = numbers(z.T * d);
        for (int64_t i = 0; i < z.T * d; i++) {
            double m = bias[n * d + i % d];
            for (int64_t r = 0; r < rank; r++)
                m += up[i % d * 5 * rank + n * rank + r] * low[i / d * 5 * rank + n * rank + r];
            lerped[n][i] = x[i] + delta[i] * m;
        }
    }
    double *w = affine(s, lerped[1], z.T, "w_proj.linear.lora.0.weight", NULL, tanh);
    w = affine(s, w, z.T, "w_proj.linear.lora.2.weight", "w_proj.linear.lora.2.bias", exp);
    for (int64_t i = 0; i < z.T * z.H * z.K; i++) w[i] = -w[i];
    double *o =
        decay(z, affine(s, lerped[0], z.T, "r_proj.linear.weight", NULL, identity),
              affine(s, lerped[2], z.T, "k_proj.linear.weight", NULL, identity),
              affine(s, lerped[3], z.T, "v_proj.linear.weight", NULL, identity), w, weight(s, "bonus"));
    norm(s, o, z.T, z.H, z.V, "g_norm.weight", 1e-5, true);
    for (int64_t i = 0; weight(s, "g_norm.bias") && i < z.T * z.H * z.V; i++)
        o[i] += weight(s, "g_norm.bias")[i % (z.H * z.V)];
    gate_by(s, o, lerped[4], z.T, "g_proj.linear.weight", silu);
    return affine(s, o, z.T, "o_proj.weight", NULL, identity);
}

static const double *mlstm_core(const subject *s, const double *x, dims z)
{
    const double *q = affine(s, x, z.T, "q_proj.weight", NULL, identity),
                 *k = affine(s, x, z.T, "k_proj.weight", NULL, identity),
                 *v = affine(s, x, z.T, "v_proj.weight", NULL, identity),
                 *i = affine(s, x, z.T, "igate_preact.weight", "igate_preact.bias", identity),
                 *f = affine(s, x, z.T, "fgate_preact.weight", "fgate_preact.bias", identity);
    double *o = numbers(z.T * z.H * z.V), *C = numbers(z.K * z.V), *n = numbers(z.K);
    for (int64_t h = 0; h < z.H; h++) {
        double m = 0;
        for (int64_t a = 0; a < z.K * z.V; a++) C[a] = n[a / z.V] = 0;
        for (int64_t t = 0; t < z.T; t++) {
            int64_t at = t * z.H + h;
            double held = m - softplus(-f[at]), now = held > i[at] ? held : i[at], dot = 0;
            double keep = exp(held - now), take = exp(i[at] - now);
            for (int64_t a = 0; a < z.K; a++) {
                n[a] = keep * n[a] + take * k[at * z.K + a];
                dot += z.scale * q[at * z.K + a] * n[a];
                for (int64_t e = 0; e < z.V; e++) {
                    C[a * z.V + e] = keep * C[a * z.V + e] + take * k[at * z.K + a] * v[at * z.V + e];
                    o[at * z.V + e] += z.scale * q[at * z.K + a] * C[a * z.V + e];
                }
            }
            for (int64_t e = 0; e < z.V; e++) o[at * z.V + e] /= fmax(fabs(dot), exp(-now)) + 1e-6;
            m = now;
        }
    }
    norm(s, o, z.T, z.H, z.V, "multihead_norm.weight", 1e-6, true);
    gate_by(s, o, x, z.T, "ogate_preact.weight", sigmoid);
    return affine(s, o, z.T, "out_proj.weight", NULL, identity);
}

/* No features and no state: all pairs of tokens. */
static const double *based_core(const subject *s, const double *x, dims z)
{
    const double *q = affine(s, x, z.T, "q_proj.weight", NULL, identity),
                 *k = affine(s, x, z.T, "k_proj.weight", NULL, identity),
                 *v = affine(s, x, z.T, "v_proj.weight", NULL, identity);
    double *o = numbers(z.T * z.H * z.V);
    for (int64_t i = 0; i < z.T * z.H; i++) {
        double total = 0;
        for (int64_t j = i % z.H; j <= i; j += z.H) {
            double dot = 0;
            for (int64_t a = 0; a < z.K; a++) dot += z.scale * q[i * z.K + a] * k[j * z.K + a];
            total += 1 + dot + dot * dot / 2;
            for (int64_t e = 0; e < z.V; e++) o[i * z.V + e] += (1 + dot + dot * dot / 2) * v[j * z.V + e];
        }
        for (int64_t e = 0; e < z.V; e++) o[i * z.V + e] /= total + 1e-6;
    }
    return affine(s, o, z.T, "o_proj.weight", NULL, identity);
}

static const struct layer {
    const char *mixer;
    const double *(*run)(const subject *s, const double *x, dims z);
    bool unscaled;
} LAYERS[] = {
    {"linear", linear_core, false}, {"retnet", gated_core, false}, {"lightning", lightning_core, true},
    {"gla", gated_core, false},     {"hgrn2", hgrn2_core, false},  {"mamba2", mamba2_core, true},
    {"rwkv6", rwkv6_core, true},    {"mlstm", mlstm_core, false},  {"based", based_core, false},
};

static const double *truth(const subject *s, const float *x, int64_t T)
{
    double *wide = numbers(T * s->c.d_model);
    for (int64_t i = 0; i < T * s->c.d_model; i++) wide[i] = x[i];
    bool mamba2 = strcmp(s->ops->name, "mamba2") == 0;
    dims z = {T, s->c.heads, mamba2 ? opt(s, HOP_OPTION_state_dim) : s->c.head_dim,
              mamba2 ? s->c.head_dim : opt(s, HOP_OPTION_value_dim), s->c.scale};
    for (size_t i = 0; i < sizeof LAYERS / sizeof *LAYERS; i++) {
        if (strcmp(LAYERS[i].mixer, s->ops->name) != 0) continue;
        if (z.scale == 0) z.scale = LAYERS[i].unscaled ? 1.0 : 1.0 / sqrt((double)z.K);
        return LAYERS[i].run(s, wide, z);
    }
    fail_msg("no reference for %s", s->ops->name);
    return NULL;
}

#endif
