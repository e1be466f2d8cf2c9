/* What layers are made of: maps of rows, convolutions, norms. Rows are [tokens, width]. Each function is one
 * operation of docs/MIXERS.md, whose result is rounded where activations are (hop__done). */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- memory and tensors -------------------------------------------------------------------------- */

struct hop__block {
    struct hop__block *next;
    double numbers[];
};

double *hop__rows(hop__pass *p, int64_t count)
{
    if (p->failed != HOP_OK) return NULL;
    struct hop__block *b =
        count < INT64_MAX / 16 ? calloc(1, sizeof *b + sizeof(double) * (size_t)count) : NULL;
    if (!b) {
        p->failed = hop_fail(&p->err, HOP_ENOMEM, "%lld numbers: out of memory", (long long)count);
        return NULL;
    }
    b->next = p->blocks;
    p->blocks = b;
    return b->numbers;
}

void hop__rows_free(hop__pass *p)
{
    while (p->blocks) {
        struct hop__block *b = p->blocks;
        p->blocks = b->next;
        free(b);
    }
}

int hop__tensor_order(const void *a, const void *b)
{
    return strcmp(((const hop__tensor *)a)->name, ((const hop__tensor *)b)->name);
}

const double *hop__tensor_find(hop__pass *p, const char *name, int64_t rows, int64_t cols)
{
    const hop_truth *n = p->net;
    const hop__tensor key = {.name = name};
    if (p->failed != HOP_OK) return NULL;
    const hop__tensor *t =
        n->tensor_count ? bsearch(&key, n->tensors, (size_t)n->tensor_count, sizeof key, hop__tensor_order)
                        : NULL;
    if (!t) p->failed = hop_fail(&p->err, HOP_EFORMAT, "tensor \"%s\" is missing", name);
    if (t && (t->rank != (cols ? 2 : 1) || t->shape[0] != rows || (cols && t->shape[1] != cols)))
        p->failed = hop_fail(&p->err, HOP_ESHAPE, "tensor \"%s\" is not [%lld%s%.0lld]", name,
                             (long long)rows, cols ? ", " : "", (long long)cols);
    return p->failed == HOP_OK ? t->v : NULL;
}

const double *hop__mixer_tensor(hop__pass *p, const char *name, int64_t rows, int64_t cols)
{
    char full[160];
    snprintf(full, sizeof full, "model.layers.%lld.mixer.%.100s", (long long)p->layer->number, name);
    return hop__tensor_find(p, full, rows, cols);
}

double hop__layer_scale(const hop__pass *p, double otherwise)
{
    return hop__keep(p, p->layer->scale != 0 ? p->layer->scale : otherwise);
}

/* ---- functions ----------------------------------------------------------------------------------- */

double hop__copy(double x)
{
    return x;
}

double hop__relu(double x)
{
    return x < 0 ? 0 : x;
}

double hop__gelu(double x)
{
    return 0.5 * x * erfc(-x * sqrt(0.5));
}

double hop__sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

double hop__silu(double x)
{
    return x * hop__sigmoid(x);
}

double hop__softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

double hop__logsigmoid(double x)
{
    return -hop__softplus(-x);
}

/* Far out gelu is x e^(-x²/2), whose exponent is rounded: that moves it x² times as much. */
static double shaken_tail(const hop__pass *p, double x, double y)
{
    return hop__keep_sum(p, y, x * x * fabs(hop__gelu(-fabs(x))), 2, hop__mark(0, x));
}

double *hop__apply(hop__pass *p, const double *x, int64_t n, hop__function *f)
{
    double *y = hop__rows(p, n);
    for (int64_t i = 0; y && i < n; i++) {
        y[i] = hop__keep(p, f(x[i]));
        if (f == hop__gelu) y[i] = shaken_tail(p, x[i], y[i]);
    }
    return hop__done(p, y, n);
}

double *hop__multiply(hop__pass *p, const double *x, const double *y, int64_t n)
{
    double *z = hop__rows(p, n);
    for (int64_t i = 0; z && i < n; i++) z[i] = hop__keep(p, x[i] * y[i]);
    return hop__done(p, z, n);
}

/* A copy, which rounds nothing. */
double *hop__columns(hop__pass *p, const double *x, int64_t all, int64_t first, int64_t count)
{
    double *y = hop__rows(p, p->tokens * count);
    for (int64_t i = 0; y && i < p->tokens * count; i++) y[i] = x[i / count * all + first + i % count];
    return y;
}

/* ---- maps of rows -------------------------------------------------------------------------------- */

/* y = x Wᵀ + bias; rows of W are `stride` apart. */
double *hop__affine(hop__pass *p, const double *x, int64_t rows, int64_t in, const double *w, int64_t stride,
                    const double *bias, int64_t out)
{
    double *y = hop__rows(p, rows * out);
    for (int64_t r = 0; y && r < rows; r++)
        for (int64_t o = 0; o < out; o++)
            y[r * out + o] = hop__dot(p, x + r * in, 1, w + o * stride, 1, in, bias ? bias[o] : 0);
    return hop__done(p, y, rows * out);
}

double *hop__project(hop__pass *p, const double *x, const char *name, int64_t out)
{
    int64_t d = p->net->d;
    const double *w = hop__mixer_tensor(p, name, out, d);
    return hop__affine(p, x, p->tokens, d, w, d, NULL, out);
}

/* Depthwise and causal. */
double *hop__convolve(hop__pass *p, double *x, int64_t width, const char *name, const char *bias, bool silu)
{
    int64_t taps = p->layer->option[HOP__conv], T = p->tokens;
    if (taps == 0) return x;
    const double *w = hop__mixer_tensor(p, name, width, taps),
                 *b = bias ? hop__mixer_tensor(p, bias, width, 0) : NULL;
    double *y = hop__rows(p, T * width), *seen = hop__rows(p, taps);
    if (!y || !seen) return NULL;
    for (int64_t t = 0; t < T; t++)
        for (int64_t e = 0; e < width; e++) {
            for (int64_t j = 0; j < taps; j++) { /* tap j is of token t - taps + 1 + j */
                int64_t from = t - taps + 1 + j;
                seen[j] = from < 0 ? 0 : x[from * width + e];
                if (from >= 0 && from < t) seen[j] = hop__remembered(p, seen[j], from, t);
            }
            double sum = hop__dot(p, seen, 1, w + e * taps, 1, taps, b ? b[e] : 0);
            y[t * width + e] = silu ? hop__keep(p, hop__silu(sum)) : sum;
        }
    hop__past_collect(p, x, width, taps - 1);
    return hop__done(p, y, T * width);
}

/* ---- norms --------------------------------------------------------------------------------------- */

double *hop__unit(hop__pass *p, const double *x, int64_t groups, int64_t dim)
{
    int64_t n = p->tokens * groups;
    double *y = hop__rows(p, n * dim);
    for (int64_t g = 0; y && g < n; g++) {
        const double *from = x + g * dim;
        double by = hop__keep(p, 1 / sqrt(hop__dot(p, from, 1, from, 1, dim, 1e-6)));
        for (int64_t e = 0; e < dim; e++) y[g * dim + e] = hop__keep(p, from[e] * by);
    }
    return hop__done(p, y, n * dim);
}

double *hop__normalise_rows(hop__pass *p, const double *x, const double *w, const double *bias,
                            const hop__norm_shape *z)
{
    int64_t n = z->rows * z->groups, dim = z->dim;
    double *y = hop__rows(p, n * dim), *off = hop__rows(p, dim), *ones = hop__rows(p, dim);
    if (!y || !off || !ones) return NULL;
    for (int64_t e = 0; e < dim; e++) ones[e] = 1;
    for (int64_t g = 0; g < n; g++) {
        int64_t at = z->shared ? 0 : g % z->groups * dim;
        double mean =
            z->centred ? hop__keep(p, hop__dot(p, x + g * dim, 1, ones, 1, dim, 0) / (double)dim) : 0;
        for (int64_t e = 0; e < dim; e++) off[e] = hop__keep(p, x[g * dim + e] - mean);
        double by = hop__keep(p, 1 / sqrt(hop__dot(p, off, 1, off, 1, dim, 0) / (double)dim + z->eps));
        for (int64_t e = 0; e < dim; e++)
            y[g * dim + e] = hop__keep(p, hop__keep(p, off[e] * by * w[at + e]) + (bias ? bias[at + e] : 0));
    }
    return hop__done(p, y, n * dim);
}

/* RMSNorm of each group, with one weight for all. */
double *hop__rms_groups(hop__pass *p, const double *x, int64_t groups, int64_t dim, const char *name)
{
    const hop__norm_shape z = {.rows = p->tokens, .groups = groups, .dim = dim, .eps = 1e-5, .shared = true};
    const double *w = hop__mixer_tensor(p, name, dim, 0);
    return hop__normalise_rows(p, x, w, NULL, &z);
}

/* The same; nothing without the option `norm`. */
double *hop__rms_heads(hop__pass *p, double *o, int64_t groups, int64_t dim, const char *name)
{
    return p->layer->option[HOP__norm] ? hop__rms_groups(p, o, groups, dim, name) : o;
}

/* Rotates pairs (e, e + rotary/2) of each group by position · theta^(-2e/rotary). */
double *hop__rotate(hop__pass *p, const double *x, int64_t groups, int64_t dim, int64_t rotary, double theta)
{
    int64_t n = p->tokens * groups, half = rotary / 2;
    double *y = hop__rows(p, n * dim);
    for (int64_t g = 0; y && g < n; g++) {
        for (int64_t e = 2 * half; e < dim; e++) y[g * dim + e] = x[g * dim + e];
        for (int64_t e = 0; e < half; e++) {
            const double *from = x + g * dim + e;
            double *to = y + g * dim + e;
            double angle = (double)(g / groups) * pow(theta, -2.0 * (double)e / (double)rotary);
            const double c = hop__keep(p, cos(angle)), s = hop__keep(p, sin(angle));
            const double turn[2] = {c, -s}, pair[2] = {from[0], from[half]}, other[2] = {s, c};
            to[0] = hop__dot(p, turn, 1, pair, 1, 2, 0);
            to[half] = hop__dot(p, other, 1, pair, 1, 2, 0);
        }
    }
    return hop__done(p, y, n * dim);
}

/* -e^A_log x, a number of A_log for each group. A rate stays finite, so that a step of 0 holds the state. */
double *hop__rate(hop__pass *p, const double *x, int64_t groups, int64_t dim, const double *a_log)
{
    int64_t n = p->tokens * groups * dim;
    double *y = hop__rows(p, n);
    for (int64_t i = 0; y && i < n; i++)
        y[i] = hop__keep(p, -hop__keep(p, fmin(exp(a_log[i / dim % groups]), 1e30)) * x[i]);
    return hop__done(p, y, n);
}
