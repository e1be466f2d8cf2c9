/* The weights of a layer whose columns have other gauges, and the whole of it: scale_layer. */
#ifndef HOPBOUND_SCALE_LAYER_H
#define HOPBOUND_SCALE_LAYER_H

#include "gauges.h"

/* ---- weights as the gauges say -------------------------------------------------------------------- */

static inline double gauge_in(const gauges *z, const hop_op *op, int i, int64_t col)
{
    double g = *gauge_of(z, op, i, col);
    return isnan(g) ? 0 : g;
}

static inline void gauges_times(float *x, double g)
{
    if (g != 0) *x = (float)(*x * exp2(g));
}

static inline void gauges_give_linear(const gauges *z, const hop_op *op)
{
    int64_t out = op->width / (op->groups > 1 ? op->groups : 1);
    float *w = z->par[op->par[0]] + op->first_row * op->row + op->first_column,
          *bias = op->par[1] >= 0 ? z->par[op->par[1]] : NULL;
    for (int64_t r = 0; r < out; r++) {
        double g = gauge_out(z, op, r), open = z->open[op->y][r];
        for (int64_t c = 0; c < op->dim; c++) {
            float *x = &w[r * op->row + c];
            if (*x > 0) *x = (float)(*x * open);
            gauges_times(x, g - gauge_in(z, op, 0, c));
        }
        if (bias) bias[r] = (float)((bias[r] + z->turn[op->y][r]) * exp2(g));
    }
}

static inline void gauges_give_blocks(const gauges *z, const hop_op *op)
{
    float *w = z->par[op->par[0]], *bias = op->par[1] >= 0 ? z->par[op->par[1]] : NULL;
    for (int64_t i = 0; i < op->groups * op->dim; i++) {
        int64_t first = i / op->dim * op->dim;
        for (int64_t c = 0; c < op->dim; c++)
            gauges_times(&w[i * op->dim + c], gauge_out(z, op, first + c) - gauge_in(z, op, 0, i));
        if (bias) gauges_times(&bias[i], gauge_out(z, op, i));
    }
}

static inline void gauges_give_conv(const gauges *z, const hop_op *op)
{
    float *w = z->par[op->par[0]], *bias = op->par[1] >= 0 ? z->par[op->par[1]] : NULL;
    for (int64_t e = 0; e < op->width; e++) {
        double g = gauge_out(z, op, e), y = z->hi[op->y][e];
        if (op->silu && g != 0) {
            double x = gauges_inverse(HOP_ACT_SILU, y, 0, 0x1p120),
                   there = gauges_inverse(HOP_ACT_SILU, y * exp2(g), x * 0x1p-140, x * 0x1p140);
            g = y > 0 && x > 0 && there > 0 ? log2(there / x) : 0;
        }
        for (int64_t j = 0; j < op->taps; j++) gauges_times(&w[e * op->taps + j], g - gauge_in(z, op, 0, e));
        if (bias) gauges_times(&bias[e], g);
    }
}

static inline void gauges_give_norm(const gauges *z, const hop_op *op)
{
    float *w = op->par[0] >= 0 ? z->par[op->par[0]] : NULL;
    float *bias = op->par[1] >= 0 ? z->par[op->par[1]] : NULL;
    int64_t n = op->kind == HOP_OP_RMS ? op->dim : op->width;
    for (int64_t e = 0; w && e < n; e++) {
        gauges_times(&w[e], gauge_out(z, op, e));
        if (bias) gauges_times(&bias[e], gauge_out(z, op, e));
    }
}

static inline void gauges_give_bonus(const gauges *z, const hop_op *op)
{
    int64_t values = op->width / op->groups;
    for (int64_t e = 0; e < op->groups * op->dim; e++) {
        int64_t v = e / op->dim * values;
        gauges_times(&z->par[op->par[0]][e], gauge_in(z, op, 0, v) - gauge_in(z, op, 3, v) -
                                                 gauge_in(z, op, 1, e) - gauge_in(z, op, 2, e));
    }
}

static inline void gauges_give_selective(const gauges *z, const hop_op *op)
{
    for (int64_t e = 0; e < op->width; e++) {
        double d = gauge_in(z, op, HOP_SELECTIVE_DELTA, e);
        for (int64_t n = 0; n < op->key_dim; n++)
            z->par[op->par[0]][e * op->key_dim + n] -= (float)(d * log(2));
        if (op->par[1] >= 0)
            gauges_times(&z->par[op->par[1]][e], gauge_out(z, op, e) - gauge_in(z, op, HOP_SELECTIVE_X, e));
    }
}

static inline void gauges_give(const gauges *z)
{
    for (int i = 0; i < z->list.op_count; i++) {
        const hop_op *op = &z->list.op[i];
        float *w = op->par[0] >= 0 ? z->par[op->par[0]] : NULL;
        switch (op->kind) {
        case HOP_OP_LINEAR: gauges_give_linear(z, op); break;
        case HOP_OP_BLOCKS: gauges_give_blocks(z, op); break;
        case HOP_OP_CONV: gauges_give_conv(z, op); break;
        case HOP_OP_RMS:
        case HOP_OP_GROUPNORM: gauges_give_norm(z, op); break;
        case HOP_OP_BONUS: gauges_give_bonus(z, op); break;
        case HOP_OP_SELECTIVE: gauges_give_selective(z, op); break;
        case HOP_OP_RATE:
            for (int64_t g = 0; g < op->groups; g++)
                w[g] -= (float)(gauge_in(z, op, 0, g * op->dim) * log(2));
            break;
        case HOP_OP_WEIGH:
            for (int64_t e = 0; e < op->width; e++)
                gauges_times(&w[e], gauge_out(z, op, e) - gauge_in(z, op, 0, e));
            break;
        case HOP_OP_SKIP:
            for (int64_t h = 0; h < op->width / op->dim; h++)
                gauges_times(&w[h], gauge_in(z, op, 0, h * op->dim) - gauge_in(z, op, 1, h * op->dim));
            break;
        default: break;
        }
    }
}

/* The same weights under another configuration, whose shapes are the same. */
static inline hop_model *with_config(const hop_model *m, const hop_config *c)
{
    hop_model *y = NULL;
    if (hop_model_new(&y, c, NULL) != HOP_OK) return NULL;
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *from = hop_model_weight_at(m, i), *to = hop_model_weight_at(y, i);
        memcpy(to->data, from->data, sizeof(float) * (size_t)(rows_of(from) * columns_of(from)));
    }
    return y;
}

/* The network with layer's scale 2^e times what it is; the weights stay. NULL: the layer takes none. */
static inline hop_model *with_scale(const hop_model *m, int64_t layer, int e)
{
    hop_config c;
    hop_model *y = NULL;
    hop_mixer_config mixer = hop_model_mixer_config(m, layer);
    hop_list l;
    double scale = 0;
    hop_mixer_list(&l, hop_mixer_find(hop_pattern_mixer(&hop_model_config(m)->pattern, layer)), &mixer);
    for (int i = 0; i < l.op_count; i++) {
        const hop_op *op = &l.op[i];
        if (op->kind == HOP_OP_SCAN || op->kind == HOP_OP_ATTEND || op->scaled) scale = op->scale;
    }
    if (mixer.scale != 0) scale = mixer.scale;
    if (scale == 0 || hop_config_copy(&c, hop_model_config(m), NULL) != HOP_OK) return NULL;
    bool ok = hop_config_set(&c, layer, "", "scale", ldexp(scale, e), NULL) == HOP_OK;
    if (ok) y = with_config(m, &c);
    hop_config_free(&c);
    return y;
}

/* How a layer is to be: exponents up to `most`; its scale was multiplied by 2^less; what its input and
 * output have, [d_model]. */
typedef struct scaling {
    double most, less;
    const double *stream;
} scaling;

/* The layer with other numbers inside. */
static inline void scale_layer(const hop_model *m, int64_t layer, const hop_task *t, scaling how,
                               hop_rng *rng)
{
    gauges z;
    gauges_open(&z, m, layer, t, rng);
    z.most = how.most, z.less = how.less, z.budget = 118;
    for (int64_t e = 0; e < hop_model_config(m)->d_model; e++) {
        z.g[HOP_X][e] = hop_model_config(m)->norm == HOP_NORM_NONE ? how.stream[e] : 0;
        z.g[HOP_Y][e] = how.stream[e];
    }
    gauges_ask_all(&z);
    gauges_give(&z);
    gauges_close(&z);
}

#endif
