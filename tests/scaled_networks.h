/* Networks that are right in real numbers and full of numbers at the edge of float32: constructed ones of
 * every kind and mixer, with the factors of every product scaled against each other (gauges.h), with heads
 * and layers that say nothing and hold numbers of any size, with gates of other tokens wide open or shut.
 * A network is made from its number alone. */
#ifndef HOPBOUND_SCALED_NETWORKS_H
#define HOPBOUND_SCALED_NETWORKS_H

#include "scale_layer.h"
#include "scaled_bases.h"
#include "scaled_norms.h"

/* ---- numbers where nobody looks ------------------------------------------------------------------------ */

static inline float scaled_big(hop_rng *rng)
{
    static const int e[] = {0,   0,   0,   10,  30,  50,  60,  63,   64,   80,
                            100, 110, 120, 122, 123, -30, -60, -100, -126, -140};
    return ldexpf(below(rng, 2) ? 1.0f : 1.86f, e[below(rng, 20)]) * (below(rng, 8) ? 1.0f : -1.0f);
}

static inline bool scaled_zero(const hop_weight *w, int64_t r)
{
    for (int64_t c = 0; c < columns_of(w); c++)
        if (w->data[r * columns_of(w) + c] != 0) return false;
    return true;
}

/* Rows that are 0 (all: every row) get one number each, in some columns; the numbers of a vector from
 * `old` on. */
static inline void scaled_fill(const hop_model *m, const hop_model *good, int64_t layer, bool all,
                               hop_rng *rng)
{
    const hop_weight *out = scaled_output(m, layer);
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model.layers.%lld.mixer.", (long long)layer);
    /* Any numbers; or one tensor at the edge and all others 1, in the column that some token has. */
    int64_t big = below(rng, 2) ? below(rng, 10) : -1, count = 0;
    int64_t shared = below(rng, hop_model_config(m)->d_model);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i), *old = good ? hop_model_weight(good, w->name) : NULL;
        if (w == out || strncmp(w->name, prefix, strlen(prefix)) != 0) continue;
        if (strstr(w->name, "v_proj") && below(rng, 2)) continue;
        bool gate = strstr(w->name, "_log") || strstr(w->name, "bias") || strstr(w->name, "gate");
        float by = gate ? (float)(below(rng, 3) ? -200 : 200 - below(rng, 400)) : scaled_big(rng);
        if (gate && below(rng, 2)) continue;
        float edge = ldexpf(1.86f, below(rng, 2) ? 122 : (int)below(rng, 122));
        if (!gate && big >= 0) by = count++ == big ? edge : 1;
        int64_t only = below(rng, 3) ? below(rng, columns_of(w)) : -1;
        if (big >= 0) only = columns_of(w) == hop_model_config(m)->d_model ? shared : -1;
        int64_t start = old ? rows_of(old) : rows_of(w);
        for (int64_t r = 0; r < rows_of(w); r++) {
            if (w->rank == 1 && (all || r >= start)) w->data[r] = by;
            if (w->rank == 1 || !(all || scaled_zero(w, r))) continue;
            for (int64_t c = 0; c < columns_of(w); c++)
                if (only < 0 || c == only) w->data[r * columns_of(w) + c] = by;
        }
    }
}

/* ---- families -------------------------------------------------------------------------------------- */

/* The stream's coordinates, and the MLPs' hidden units. */
static inline void scaled_stream(const hop_model *m, double *stream, hop_rng *rng)
{
    const hop_config *c = hop_model_config(m);
    int64_t d = c->d_model;
    if (c->norm != HOP_NORM_NONE || c->tied || below(rng, 3)) return;
    for (int64_t e = 0; e < d; e++)
        if (below(rng, 3) == 0) stream[e] = (double)(below(rng, 2) ? below(rng, 120) : -below(rng, 120));
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        bool tables = strstr(w->name, "embed") != NULL, head = strstr(w->name, "lm_head") != NULL,
             up = strstr(w->name, "up_proj.weight") || strstr(w->name, "mlp.gate_proj"),
             down = strstr(w->name, "mlp.down_proj") != NULL;
        for (int64_t r = 0; r < rows_of(w); r++)
            for (int64_t k = 0; k < columns_of(w); k++)
                gauges_times(&w->data[r * columns_of(w) + k], tables       ? stream[k]
                                                              : head || up ? -stream[k]
                                                              : down       ? stream[r]
                                                                           : 0);
    }
}

static inline void scaled_mlp(const hop_model *m, int64_t layer, hop_rng *rng)
{
    const hop_weight *up = hop_model_layer_weight(m, layer, "mlp.up_proj.weight"),
                     *bias = hop_model_layer_weight(m, layer, "mlp.up_proj.bias"),
                     *down = hop_model_layer_weight(m, layer, "mlp.down_proj.weight");
    if (!up || !down || below(rng, 3)) return;
    for (int64_t h = 0; h < rows_of(up); h++) {
        double g = (double)(below(rng, 2) ? below(rng, 126) : -below(rng, 126));
        for (int64_t c = 0; c < columns_of(up); c++) gauges_times(&up->data[h * columns_of(up) + c], g);
        if (bias) gauges_times(&bias->data[h], g);
        for (int64_t r = 0; r < rows_of(down); r++) gauges_times(&down->data[r * columns_of(down) + h], -g);
    }
}

/* Takes m. */
static inline hop_model *scaled_gauges(hop_model *m, const subject *s, hop_rng *rng)
{
    static const double most[] = {20, 60, 100, 126, 126};
    int64_t layers = hop_model_config(m)->pattern.layers, only = below(rng, 4) ? below(rng, layers) : -1;
    double *stream = gauges_room(hop_model_config(m)->d_model, 0);
    if (below(rng, 2) && s->mixer) only = 0;
    for (int64_t l = 0; l < layers; l++) {
        int less = below(rng, 3) ? 0 : (int)(below(rng, 3) ? -below(rng, 110) : below(rng, 80));
        if (only >= 0 && l != only) continue;
        hop_model *other = less ? with_scale(m, l, less) : NULL;
        if (other) hop_model_free(m), m = other;
        scale_layer(m, l, &s->task, (scaling){most[below(rng, 5)], other ? less : 0, stream}, rng);
        scaled_mlp(m, l, rng);
    }
    scaled_stream(m, stream, rng);
    for (int64_t l = 0; l < layers; l++) scale_layer(m, l, &s->task, (scaling){.stream = stream}, rng);
    free(stream);
    return below(rng, 3) ? scaled_norms(m, rng) : m;
}

/* Is it a matrix whose result is an activation's argument, or a gate of a recurrence? */
static inline bool scaled_gates(const hop_list *l, const hop_op *op)
{
    for (int i = 0; op->kind == HOP_OP_LINEAR && i < l->op_count; i++)
        for (int k = 0; k < HOP_OP_INPUTS; k++) {
            const hop_op *r = &l->op[i];
            if (r->in[k].buffer != op->y) continue;
            if (r->kind == HOP_OP_ACT || (r->kind == HOP_OP_SCAN && k >= HOP_SCAN_G)) return true;
        }
    return false;
}

/* A number of a gate, or of anything but the output, as a token has it that has some coordinate. */
static inline void scaled_gate(const hop_model *m, hop_rng *rng)
{
    static const float to[] = {-200, -110, -100, -87, -60, -30, 3,   6,     9,
                               11,   12,   60,   80,  88,  100, 200, 1e10f, 1e30f};
    int64_t layer = below(rng, 2) ? 0 : below(rng, hop_model_config(m)->pattern.layers);
    hop_list l;
    hop_mixer_config c = hop_model_mixer_config(m, layer);
    hop_param list[HOP_MIXER_MAX_PARAMS] = {{0}};
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&hop_model_config(m)->pattern, layer));
    ops->params(&c, list);
    hop_mixer_list(&l, ops, &c);
    bool any = below(rng, 4) == 0;
    for (int tries = 0; tries < 100; tries++) {
        const hop_op *op = &l.op[below(rng, l.op_count)];
        char name[96];
        if (op->kind != HOP_OP_LINEAR || op->y == HOP_Y || !(any || scaled_gates(&l, op))) continue;
        snprintf(name, sizeof name, "mixer.%s", list[op->par[0]].name);
        const hop_weight *w = hop_model_layer_weight(m, layer, name);
        int64_t row = op->first_row + below(rng, op->width / (op->groups > 1 ? op->groups : 1));
        w->data[row * columns_of(w) + op->first_column + below(rng, op->dim)] = to[below(rng, 18)];
        return;
    }
}

/* Rows of one tensor times 2^e, rows or columns of another of the layer over it. */
static inline void scaled_part(const hop_weight *w, double g, hop_rng *rng)
{
    int64_t rows = rows_of(w), cols = columns_of(w), how = below(rng, 4),
            one = below(rng, how == 2 ? cols : rows);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            if (how == 0 || how == 3 || (how == 1 && r == one) || (how == 2 && c == one))
                gauges_times(&w->data[r * cols + c], g);
}

static inline void scaled_pair(const hop_model *m, hop_rng *rng)
{
    static const double size[] = {20, 60, 90, 100, 110, 120, 126};
    int64_t layer = below(rng, hop_model_config(m)->pattern.layers), count = 0;
    const hop_weight *parts[64];
    char prefix[64];
    snprintf(prefix, sizeof prefix, "model.layers.%lld.", (long long)layer);
    for (int64_t i = 0; i < hop_model_weight_count(m) && count < 64; i++)
        if (strncmp(hop_model_weight_at(m, i)->name, prefix, strlen(prefix)) == 0)
            parts[count++] = hop_model_weight_at(m, i);
    double g = size[below(rng, 7)] * (below(rng, 2) ? 1 : -1);
    bool three = below(rng, 3) == 0;
    scaled_part(parts[below(rng, count)], g, rng);
    scaled_part(parts[below(rng, count)], three ? -g / 2 : -g, rng);
    if (three) scaled_part(parts[below(rng, count)], -g / 2, rng);
}

static inline bool scaled_finite(const hop_model *m)
{
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        for (int64_t k = 0; k < rows_of(w) * columns_of(w); k++)
            if (!isfinite(w->data[k])) return false;
    }
    return true;
}

static inline hop_model *scaled_once(int64_t number, int attempt, subject *s)
{
    hop_rng rng;
    hop_rng_init(&rng, 20261118 + (uint64_t)attempt, (uint64_t)number);
    int family = scaled_family(number);
    hop_model *m = scaled_base(number, s, &rng), *good = m;
    bool dead = family == SCALED_dead || family == SCALED_dead_gauges, gates = family == SCALED_gates;
    bool roomy = dead || (gates && below(&rng, 2));
    bool gauged = family == SCALED_gauges || family == SCALED_dead_gauges || (gates && below(&rng, 2));
    if (!m) return NULL;
    if (roomy) m = scaled_room(good, &rng);
    if (m && dead) scaled_fill(m, good, 0, false, &rng);
    if (m && family == SCALED_silent) {
        int64_t layers = hop_model_config(m)->pattern.layers;
        for (int64_t l = 0; l < layers; l++) {
            const hop_weight *out = scaled_output(m, l);
            bool idle = true;
            for (int64_t r = 0; r < rows_of(out); r++) idle = idle && scaled_zero(out, r);
            if (idle) scaled_fill(m, NULL, l, below(&rng, 2), &rng);
        }
    }
    if (m && gates)
        for (int64_t i = 1 + below(&rng, 3); i > 0; i--) scaled_gate(m, &rng);
    if (m && family == SCALED_pairs) scaled_pair(m, &rng);
    if (m && gauged) m = scaled_gauges(m, s, &rng);
    if (roomy) hop_model_free(good);
    return m;
}

/* Weights that are not finite are nobody's business: another one then. */
static inline hop_model *scaled_network(int64_t number, subject *s)
{
    for (int attempt = 0; attempt < 8; attempt++) {
        hop_model *m = scaled_once(number, attempt, s);
        if (m && scaled_finite(m)) return m;
        hop_model_free(m);
    }
    return NULL;
}

#endif
