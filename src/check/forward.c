/* A pass: tables, blocks, read-out. A block is x += mixer(norm(x)), then x += mlp(norm(x)). */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>

/* Rows x [rows, d] normed by the tensors `name`.weight and .bias, or x itself. */
static const double *normed(hop__pass *p, const double *x, int64_t rows, const char *name)
{
    const hop_truth *n = p->net;
    char weight[160], bias[160];
    if (n->norm == HOP__NORM_NONE) return x;
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const hop__norm_shape z = {.rows = rows,
                               .groups = 1,
                               .dim = n->d,
                               .eps = n->eps,
                               .centred = n->norm == HOP__NORM_LAYER,
                               .shared = true};
    const double *w = hop__tensor_find(p, weight, n->d, 0);
    return hop__normalise_rows(p, x, w, z.centred ? hop__tensor_find(p, bias, n->d, 0) : NULL, &z);
}

/* x += y. */
static void add(hop__pass *p, double *x, const double *y, int64_t count)
{
    for (int64_t i = 0; p->failed == HOP_OK && i < count; i++) x[i] = hop__keep(p, x[i] + y[i]);
    hop__done(p, x, count);
}

static void mlp(hop__pass *p, double *x, int64_t rows)
{
    const hop_truth *n = p->net;
    const int64_t d = n->d, h = n->hidden;
    const bool gated = n->mlp == HOP__MLP_SWIGLU;
    char prefix[64], name[5][160];
    if (n->mlp == HOP__MLP_NONE) return;
    snprintf(prefix, sizeof prefix, "model.layers.%lld.", (long long)p->layer->number);
    static const char *const parts[] = {"mlp.up_proj.weight", "mlp.up_proj.bias", "mlp.down_proj.weight",
                                        "mlp.down_proj.bias", "mlp.gate_proj.weight"};
    for (int i = 0; i < 5; i++) snprintf(name[i], sizeof name[i], "%s%s", prefix, parts[i]);
    char norm[160];
    snprintf(norm, sizeof norm, "%spost_mixer_layernorm", prefix);
    const double *in = normed(p, x, rows, norm), *up = hop__tensor_find(p, name[0], h, d);
    const double *up_bias = gated ? NULL : hop__tensor_find(p, name[1], h, 0);
    const double *down = hop__tensor_find(p, name[2], d, h);
    const double *down_bias = gated ? NULL : hop__tensor_find(p, name[3], d, 0);
    double *y = hop__affine(p, in, rows, d, up, d, up_bias, h);
    if (gated) {
        double *g = hop__affine(p, in, rows, d, hop__tensor_find(p, name[4], h, d), d, NULL, h);
        for (int64_t i = 0; p->failed == HOP_OK && i < rows * h; i++)
            y[i] = hop__keep(p, hop__keep(p, hop__silu(g[i])) * y[i]);
        hop__done(p, y, rows * h);
    } else {
        y = hop__apply(p, y, rows * h, n->mlp == HOP__MLP_RELU ? hop__relu : hop__gelu);
    }
    add(p, x, hop__affine(p, y, rows, h, down, h, down_bias, d), rows * d);
}

static void embed(hop__pass *p, double *x, const int32_t *tokens, int64_t count)
{
    const hop_truth *n = p->net;
    const double *table = hop__tensor_find(p, "model.embed_tokens.weight", n->vocab, n->d);
    const double *places =
        n->learned ? hop__tensor_find(p, "model.embed_positions.weight", n->positions, n->d) : NULL;
    const int64_t bits = p->arith->significant_bits;
    for (int64_t i = 0; p->failed == HOP_OK && i < count * n->d; i++) {
        x[i] = hop__to_significant(table[tokens[i / n->d] * n->d + i % n->d], bits);
        if (places) x[i] = hop__keep(p, x[i] + hop__to_significant(places[i], bits));
    }
    hop__done(p, x, count * n->d);
}

static hop_status accept(const hop_truth *n, const int32_t *tokens, int64_t count, int64_t position,
                         hop_error *err)
{
    if (count < 1 || count > n->positions)
        return hop_fail(err, HOP_ERANGE, "%lld tokens: the network takes 1 to %lld", (long long)count,
                        (long long)n->positions);
    if (position < 0 || position >= count)
        return hop_fail(err, HOP_ERANGE, "there is no token %lld", (long long)position);
    for (int64_t t = 0; t < count; t++)
        if (tokens[t] < 0 || tokens[t] >= n->vocab)
            return hop_fail(err, HOP_ERANGE, "token %ld at position %lld is outside the vocabulary of %lld",
                            (long)tokens[t], (long long)t, (long long)n->vocab);
    return HOP_OK;
}

/* Through all layers; at the end row `position` is at x. Unless all streams are wanted, it alone is computed
 * in the last. */
static void run(hop__pass *p, double *x, int64_t count, int64_t position)
{
    const hop_truth *n = p->net;
    for (int64_t i = 0; p->failed == HOP_OK && i < n->layer_count; i++) {
        const bool last = i + 1 == n->layer_count && !p->traces;
        char norm[64];
        p->layer = &n->layers[i];
        p->only = last ? position : -1;
        snprintf(norm, sizeof norm, "model.layers.%lld.input_layernorm", (long long)i);
        const double *in = normed(p, x, count, norm);
        const double *y = p->failed == HOP_OK ? p->layer->mixer->mix(p, in) : NULL;
        if (p->failed != HOP_OK) return;
        if (last) memmove(x, x + position * n->d, sizeof *x * (size_t)n->d);
        add(p, x, last ? y + position * n->d : y, (last ? 1 : count) * n->d);
        mlp(p, x, last ? 1 : count);
        hop__rows_free(p);
        if (!p->traces) continue;
        memcpy(p->streams + i * count * n->d, x, sizeof *x * (size_t)(count * n->d));
        p->state_ends[i] = p->state_count;
    }
    if (p->traces) memmove(x, x + position * n->d, sizeof *x * (size_t)n->d);
}

hop_status hop__pass_run(hop__pass *p, const int32_t *tokens, int64_t count, int64_t position, double *logits)
{
    const hop_truth *n = p->net;
    p->failed = accept(n, tokens, count, position, &p->err);
    if (p->failed != HOP_OK) return p->failed;
    double *x = malloc(sizeof *x * (size_t)(count * n->d));
    if (!x) return p->failed = hop_fail(&p->err, HOP_ENOMEM, "%lld tokens: out of memory", (long long)count);
    p->tokens = count;
    embed(p, x, tokens, count);
    run(p, x, count, position);
    const double *in = normed(p, x, 1, "model.norm");
    const double *head =
        hop__tensor_find(p, n->tied ? "model.embed_tokens.weight" : "lm_head.weight", n->vocab, n->d);
    const double *y = hop__affine(p, in, 1, n->d, head, n->d, NULL, n->vocab);
    if (p->failed == HOP_OK) memcpy(logits, y, sizeof *logits * (size_t)n->vocab);
    hop__rows_free(p);
    free(x);
    return p->failed;
}

void hop__pass_close(hop__pass *p)
{
    hop__rows_free(p);
    free(p->states);
    free(p->streams);
    free(p->state_ends);
}

hop_status hop_truth_logits(const hop_truth *t, const hop_rounding *arith, const int32_t *tokens,
                            int64_t count, int64_t position, double *logits, hop_error *err)
{
    const hop_rounding plain = {0};
    hop__pass p = {.net = t, .arith = arith ? arith : &plain, .watch = -1};
    hop_status s = hop__pass_run(&p, tokens, count, position, logits);
    if (s != HOP_OK && err) *err = p.err;
    hop__pass_close(&p);
    return s;
}
