/* A layer whose numbers are all other ones and whose function is the same: every column of every buffer of
 * its list may be 2^g times what it was, if the weights before and behind it take that back. A column's
 * exponent g is its gauge. From the end of the list to its beginning each operation shares its result's
 * gauge out among its inputs (a product's factors get g and -g, a query and its key too); then, from the
 * beginning on, weights are multiplied as the gauges say. Where a function is not homogeneous (SiLU,
 * softplus, sigmoid, a norm's eps) the numbers that the buffer had decide by how much its argument must
 * change. In real numbers nothing is different; in float32 whatever a kernel forms on its way goes up to
 * the edge of the range, or below it. */
#ifndef HOPBOUND_GAUGES_H
#define HOPBOUND_GAUGES_H

#include "against_truth.h"

#include <math.h>

typedef struct gauges {
    const hop_model *m;
    int64_t layer;
    hop_rng *rng;
    double most;   /* exponents are drawn up to this .. */
    double budget; /* .. and those above 0 up to this together, so that their product does not overflow */
    double less;   /* what the configuration's scale was multiplied by, an exponent: queries take it back */
    hop_mixer_config c;
    hop_list list;
    float *par[HOP_MIXER_MAX_PARAMS];
    double *g[HOP_LIST_BUFFERS];    /* [width]: gauges; NAN: nobody has asked yet */
    double *turn[HOP_LIST_BUFFERS]; /* [width]: what an affine map's columns are to be: x + turn .. */
    double *open[HOP_LIST_BUFFERS]; /* .. or, without a bias, its weights above 0 times this */
    double *lo[HOP_LIST_BUFFERS], *hi[HOP_LIST_BUFFERS]; /* [width]: what the buffers had */
} gauges;

/* ---- what buffers hold ----------------------------------------------------------------------------- */

static inline void gauges_see(void *ctx, int64_t layer, int op, const float *rows, int64_t first,
                              int64_t count)
{
    gauges *z = ctx;
    (void)first;
    if (layer != z->layer) return;
    int y = z->list.op[op].y;
    int64_t width = z->list.width[y];
    for (int64_t i = 0; i < count * width; i++) {
        int64_t e = i % width;
        z->lo[y][e] = fmin(z->lo[y][e], rows[i]), z->hi[y][e] = fmax(z->hi[y][e], rows[i]);
    }
}

static inline void gauges_measure(gauges *z, const hop_task *t)
{
    const hop_list_watch buffers = {gauges_see, z};
    const hop_watch watch = {.buffers = &buffers};
    hop_forward *f = NULL;
    int32_t *tokens = calloc((size_t)t->length, sizeof *tokens);
    float *logits = malloc(sizeof *logits * (size_t)(t->length * t->vocab));
    const hop_forward_options o = {.watch = &watch};
    if (!tokens || !logits || hop_forward_new(&f, z->m, &o, NULL) != HOP_OK) abort();
    for (int i = 0; i < 6; i++) {
        hop_task_sample(t, z->rng, tokens);
        if (hop_forward_all(f, tokens, t->length, logits, NULL) != HOP_OK) abort();
    }
    hop_forward_free(f);
    free(tokens), free(logits);
}

static inline double *gauges_room(int64_t n, double x)
{
    double *p = malloc(sizeof *p * (size_t)(n > 0 ? n : 1));
    if (!p) abort();
    for (int64_t i = 0; i < n; i++) p[i] = x;
    return p;
}

static inline void gauges_open(gauges *z, const hop_model *m, int64_t layer, const hop_task *t, hop_rng *rng)
{
    hop_param list[HOP_MIXER_MAX_PARAMS] = {{0}};
    *z = (gauges){.m = m, .layer = layer, .rng = rng, .c = hop_model_mixer_config(m, layer)};
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&hop_model_config(m)->pattern, layer));
    int count = ops->params(&z->c, list);
    hop_mixer_list(&z->list, ops, &z->c);
    for (int i = 0; i < count; i++) {
        char name[96];
        snprintf(name, sizeof name, "mixer.%s", list[i].name);
        const hop_weight *w = hop_model_layer_weight(m, layer, name);
        z->par[i] = w ? w->data : NULL;
    }
    for (int b = 0; b < z->list.buffer_count; b++) {
        int64_t n = z->list.width[b];
        z->g[b] = gauges_room(n, NAN), z->turn[b] = gauges_room(n, 0), z->open[b] = gauges_room(n, 1);
        z->lo[b] = gauges_room(n, INFINITY), z->hi[b] = gauges_room(n, -INFINITY);
    }
    gauges_measure(z, t);
}

static inline void gauges_close(gauges *z)
{
    for (int b = 0; b < z->list.buffer_count; b++)
        free(z->g[b]), free(z->turn[b]), free(z->open[b]), free(z->lo[b]), free(z->hi[b]);
}

/* ---- functions that are not homogeneous -------------------------------------------------------------- */

static inline double gauges_act(hop_act act, double x)
{
    double e = exp(-fabs(x)), s = x < 0 ? e / (1 + e) : 1 / (1 + e);
    switch (act) {
    case HOP_ACT_SILU: return x * s;
    case HOP_ACT_SIGMOID: return s;
    case HOP_ACT_SOFTPLUS: return (x > 0 ? x : 0) + log1p(e);
    case HOP_ACT_GELU: return 0.5 * x * erfc(-x * M_SQRT1_2);
    case HOP_ACT_ELU1: return x > 0 ? x + 1 : exp(x);
    case HOP_ACT_TANH: return tanh(x);
    default: return x;
    }
}

/* x of act(x) = y, between two numbers where act rises; NAN: not there. */
static inline double gauges_inverse(hop_act act, double y, double lo, double hi)
{
    if (!(gauges_act(act, lo) <= y && y <= gauges_act(act, hi))) return NAN;
    for (int i = 0; i < 400; i++) {
        double half = lo > 0 ? sqrt(lo) * sqrt(hi) : (lo + hi) / 2; /* over all sizes, or around 0 */
        *(gauges_act(act, half) < y ? &lo : &hi) = half;
    }
    return hi;
}

/* ---- asking: from the end of the list to its beginning ------------------------------------------------- */

static inline double *gauge_of(const gauges *z, const hop_op *op, int i, int64_t col)
{
    return &z->g[op->in[i].buffer][op->in[i].column + col];
}

static inline const hop_op *gauges_writer(const gauges *z, int buffer)
{
    for (int i = 0; i < z->list.op_count; i++)
        if (z->list.op[i].y == buffer) return &z->list.op[i];
    return NULL;
}

/* Which way a buffer's numbers can go: 0 not at all, -1 down, 1 both. */
static inline int gauges_way(const gauges *z, int buffer)
{
    const hop_op *op = gauges_writer(z, buffer);
    if (!op) return 0;
    switch (op->kind) {
    case HOP_OP_L2:
    case HOP_OP_CONSTANT:
    case HOP_OP_RATE:
    case HOP_OP_SUB:
    case HOP_OP_LRU_RATE:
    case HOP_OP_LERP: return 0;
    case HOP_OP_TAYLOR: return 0;
    case HOP_OP_ACT:
        if (op->act == HOP_ACT_COPY || op->act == HOP_ACT_RELU) return gauges_way(z, op->in[0].buffer);
        return op->act == HOP_ACT_SILU || op->act == HOP_ACT_SOFTPLUS || op->act == HOP_ACT_ELU1 ||
                       op->act == HOP_ACT_GELU
                   ? 1
               : op->act == HOP_ACT_SIGMOID ? -1
                                            : 0;
    case HOP_OP_ROPE:
    case HOP_OP_SHIFT:
    case HOP_OP_REPEAT:
    case HOP_OP_SKIP:
    case HOP_OP_BLEND:
    case HOP_OP_APPEND_ONE: return gauges_way(z, op->in[0].buffer);
    case HOP_OP_MUL: return gauges_way(z, op->in[0].buffer) > 0 || gauges_way(z, op->in[1].buffer) > 0;
    default: return 1;
    }
}

/* Mostly down: what is small may vanish where two factors meet, and a large third one brings it back in exact
 * arithmetic only. */
static inline double gauges_draw(gauges *z)
{
    static const double size[] = {10, 20, 40, 60, 70, 80, 90, 100, 110, 120, 126};
    if (z->most == 0) return 0;
    double g = size[below(z->rng, 11)] + (double)below(z->rng, 5) - 2;
    if (g > z->most) g = z->most;
    if (below(z->rng, 3)) return -g;
    if (below(z->rng, 8) && g > z->budget) g = z->budget;
    z->budget -= g;
    return g;
}

/* A gauge for an input of an operation, often 0. */
static inline double gauges_pick(gauges *z, const hop_op *op, int i)
{
    int way = gauges_way(z, op->in[i].buffer);
    if (way == 0 || below(z->rng, 3) == 0) return 0;
    double g = gauges_draw(z);
    return way < 0 ? -fabs(g) : g;
}

/* Asks for a gauge; returns what the column has, if somebody else has asked before. */
static inline double gauges_ask(const gauges *z, const hop_op *op, int i, int64_t col, double g)
{
    double *at = gauge_of(z, op, i, col);
    if (op->in[i].buffer == HOP_X) return *at;
    if (isnan(*at)) *at = g;
    return *at;
}

static inline double gauge_out(const gauges *z, const hop_op *op, int64_t col)
{
    double *g = &z->g[op->y][col];
    if (isnan(*g)) *g = 0;
    return *g;
}

/* An activation's argument, for its result to be 2^g of what it was at the column's largest. */
static inline void gauges_ask_act(gauges *z, const hop_op *op, int64_t col)
{
    int b = op->in[0].buffer;
    int64_t at = op->in[0].column + col;
    const hop_op *w = gauges_writer(z, b);
    double g = gauge_out(z, op, col), x = z->hi[b][at], y = gauges_act(op->act, x) * exp2(g);
    if (!isnan(z->g[b][at]) || g == 0 || !w || !(x > 0 || op->act != HOP_ACT_SILU)) {
        gauges_ask(z, op, 0, col, 0);
        z->g[op->y][col] = 0;
        return;
    }
    double up = x > 0 ? gauges_inverse(op->act, y, x * 0x1p-140, x * 0x1p140) : NAN,
           there = gauges_inverse(op->act, y, -140, 0x1p120);
    bool affine = w->kind == HOP_OP_LINEAR;
    gauges_ask(z, op, 0, col, 0);
    if (up == up && (op->act != HOP_ACT_SIGMOID || up < 80))
        z->g[b][at] = log2(up / x);
    else if (there == there && affine && w->par[1] >= 0 && there < x)
        z->turn[b][at] = there - x;
    else if (there == there && affine && x != 0)
        z->open[b][at] = there / x;
    else
        z->g[op->y][col] = 0;
}

/* Does a product look at column c of its input? */
static inline bool gauges_reads(const gauges *z, const hop_op *op, int64_t c)
{
    const float *w = z->par[op->par[0]] + op->first_row * op->row + op->first_column;
    for (int64_t r = 0; op->kind == HOP_OP_LINEAR && r < op->width / op->groups; r++)
        if (w[r * op->row + c % op->dim] != 0) return true;
    return op->kind != HOP_OP_LINEAR;
}

/* The input of an operation that has weights of its own may have any gauge; what nobody reads keeps its
 * own. */
static inline void gauges_ask_rows(gauges *z, const hop_op *op, int64_t dim)
{
    double all = gauges_pick(z, op, 0);
    bool each = below(z->rng, 4) == 0, unread = below(z->rng, 4) == 0;
    for (int64_t c = 0; c < dim; c++)
        gauges_ask(z, op, 0, c, !unread && !gauges_reads(z, op, c) ? 0 : each ? gauges_pick(z, op, 0) : all);
}

/* What queries must be smaller by, where the operation multiplies them by the configuration's scale. */
static inline double gauges_less(const gauges *z, const hop_op *op)
{
    hop_mixer_config c = z->c;
    hop_list list;
    c.scale = c.scale * 2;
    hop_mixer_list(&list, hop_mixer_find(hop_pattern_mixer(&hop_model_config(z->m)->pattern, z->layer)), &c);
    return z->less != 0 && list.op[op - z->list.op].scale != op->scale ? z->less : 0;
}

static inline void gauges_ask_scan(gauges *z, const hop_op *op)
{
    int64_t K = op->key_dim, V = op->value_dim, share = op->heads / op->kv_heads;
    const hop_op *features = gauges_writer(z, op->in[HOP_SCAN_K].buffer);
    bool taylor = features && features->kind == HOP_OP_TAYLOR;
    double less = gauges_less(z, op);
    for (int64_t h = 0; h < op->kv_heads; h++) {
        double k = gauges_pick(z, op, HOP_SCAN_K),
               s = taylor || below(z->rng, 2) ? 0 : gauges_pick(z, op, HOP_SCAN_Q) + k;
        double i = op->core == HOP_CORE_MLSTM && below(z->rng, 2) ? gauges_draw(z) : 0, x[64] = {0};
        if (op->core == HOP_CORE_MLSTM && s != 0) /* it divides by 1 at least */
            s = -8 - (double)below(z->rng, 40);
        if (taylor)
            for (int64_t c = 0; c < 64; c++) x[c] = below(z->rng, 2) ? gauges_draw(z) / 2 : 0;
        for (int64_t c = 0, e = 0, f = 0; c < K; c++) {
            if (taylor) { /* 1, x_i, x_i x_j */
                int64_t d = features->dim;
                k = c == 0 ? 0 : c <= d ? x[c - 1] : x[e] + x[f];
                if (c > d && ++f == d) f = ++e;
            } else if (below(z->rng, 4) == 0) {
                k = gauges_pick(z, op, HOP_SCAN_K);
            }
            double got = gauges_ask(z, op, HOP_SCAN_K, h * K + c, k - i);
            gauges_ask(z, op, HOP_SCAN_Q, h * K + c, s - got - i - less);
        }
        for (int64_t v = h * share; v < (h + 1) * share; v++) {
            double beta = op->in[HOP_SCAN_BETA].buffer >= 0 ? gauges_pick(z, op, HOP_SCAN_BETA) : 0;
            if (op->in[HOP_SCAN_BETA].buffer >= 0) gauges_ask(z, op, HOP_SCAN_BETA, v, beta);
            if (op->core == HOP_CORE_MLSTM)
                z->turn[op->in[HOP_SCAN_I].buffer][op->in[HOP_SCAN_I].column + v] = i * log(2);
            for (int64_t e = 0; e < V; e++)
                gauges_ask(z, op, HOP_SCAN_V, v * V + e, gauge_out(z, op, v * V + e) - s - beta);
        }
    }
}

static inline void gauges_ask_attend(gauges *z, const hop_op *op)
{
    int64_t K = op->key_dim, V = op->value_dim, share = op->heads / op->kv_heads;
    double less = gauges_less(z, op);
    for (int64_t h = 0; h < op->kv_heads; h++) {
        double all = gauges_pick(z, op, 1);
        for (int64_t c = 0; c < K; c++) {
            double k = gauges_ask(z, op, 1, h * K + c, below(z->rng, 4) ? all : gauges_pick(z, op, 1));
            for (int64_t q = h * share; q < (h + 1) * share; q++) gauges_ask(z, op, 0, q * K + c, -k - less);
        }
        for (int64_t e = 0; e < V; e++) gauges_ask(z, op, 2, h * V + e, gauge_out(z, op, h * share * V + e));
    }
}

static inline void gauges_ask_selective(gauges *z, const hop_op *op)
{
    double d = gauges_pick(z, op, HOP_SELECTIVE_DELTA), b = gauges_pick(z, op, HOP_SELECTIVE_B),
           s = gauges_pick(z, op, HOP_SELECTIVE_C);
    if (below(z->rng, 2)) b = -d; /* partners */
    s = below(z->rng, 2) ? 0 : s + b;
    for (int64_t n = 0; n < op->key_dim; n++) {
        double got = gauges_ask(z, op, HOP_SELECTIVE_B, n, b);
        gauges_ask(z, op, HOP_SELECTIVE_C, n, s - got);
    }
    for (int64_t e = 0; e < op->width; e++) {
        double got = gauges_ask(z, op, HOP_SELECTIVE_DELTA, e, d);
        gauges_ask(z, op, HOP_SELECTIVE_X, e, gauge_out(z, op, e) - s - got);
    }
}

/* Operations whose columns go with one another, one by one. */
static inline void gauges_ask_columns(gauges *z, const hop_op *op)
{
    double a = gauges_pick(z, op, 0), b = op->in[1].buffer >= 0 ? gauges_pick(z, op, 1) : 0,
           v = op->in[3].buffer >= 0 ? gauges_pick(z, op, 3) : 0;
    int64_t groups = op->groups > 1 ? op->groups : 1;
    bool norm = op->kind == HOP_OP_L2 || op->kind == HOP_OP_RMS || op->kind == HOP_OP_GROUPNORM;
    if (norm) a = fabs(a) * (below(z->rng, 4) ? 1 : -1); /* below, eps counts */
    for (int64_t e = 0; e < op->width; e++) {
        double g = gauge_out(z, op, e);
        switch (op->kind) {
        case HOP_OP_SUB: gauges_ask(z, op, 0, e, g), gauges_ask(z, op, 1, e, g); break;
        case HOP_OP_LERP: gauges_ask(z, op, 0, e, g), gauges_ask(z, op, 1, e, g); break;
        case HOP_OP_SKIP: gauges_ask(z, op, 0, e, g), gauges_ask(z, op, 1, e, b); break;
        case HOP_OP_BLEND: gauges_ask(z, op, 0, e, g), gauges_ask(z, op, 1, e, 0); break;
        case HOP_OP_LRU_INPUT:
            gauges_ask(z, op, 0, e, 0);
            gauges_ask(z, op, 2, e, g - gauges_ask(z, op, 1, e, b));
            break;
        case HOP_OP_DIAGONAL: gauges_ask(z, op, 0, e, 0), gauges_ask(z, op, 1, e, g); break;
        case HOP_OP_REPEAT: gauges_ask(z, op, 0, e / op->dim / op->times * op->dim + e % op->dim, g); break;
        case HOP_OP_MUL: {
            double *at = gauge_of(z, op, 0, e);
            if (!isnan(*at) && op->in[0].buffer != HOP_X) b = g - *at;
            gauges_ask(z, op, 0, e, g - gauges_ask(z, op, 1, op->dim > 1 ? e / op->dim : e, b));
            break;
        }
        case HOP_OP_WEIGH:
        case HOP_OP_RMS:
        case HOP_OP_GROUPNORM:
        case HOP_OP_L2: gauges_ask(z, op, 0, e, a); break;
        case HOP_OP_BONUS: gauges_ask(z, op, 0, e, g), gauges_ask(z, op, 3, e, v); break;
        case HOP_OP_APPEND_ONE:
            if (e % (op->dim + 1) < op->dim)
                gauges_ask(z, op, 0, e / (op->dim + 1) * op->dim + e % (op->dim + 1), g);
            break;
        case HOP_OP_DIVIDE: gauges_ask(z, op, 0, e / op->dim * (op->dim + 1) + e % op->dim, g); break;
        default: gauges_ask(z, op, 0, e, g);
        }
    }
    for (int64_t e = 0; op->kind == HOP_OP_BONUS && e < groups * op->dim; e++)
        gauges_ask(z, op, 1, e, b), gauges_ask(z, op, 2, e, 0);
    for (int64_t i = 0; op->kind == HOP_OP_DIVIDE && i < groups; i++)
        gauges_ask(z, op, 0, i * (op->dim + 1) + op->dim, 0);
}

static inline void gauges_ask_all(gauges *z)
{
    for (int i = z->list.op_count - 1; i >= 0; i--) {
        const hop_op *op = &z->list.op[i];
        int64_t groups = op->groups > 1 ? op->groups : 1;
        switch (op->kind) {
        case HOP_OP_LINEAR:
        case HOP_OP_BLOCKS: gauges_ask_rows(z, op, groups * op->dim); break;
        case HOP_OP_CONV: gauges_ask_rows(z, op, op->width); break;
        case HOP_OP_SCAN: gauges_ask_scan(z, op); break;
        case HOP_OP_SELECTIVE: gauges_ask_selective(z, op); break;
        case HOP_OP_ATTEND:
        case HOP_OP_SPARSE: gauges_ask_attend(z, op); break;
        case HOP_OP_RATE:
        case HOP_OP_LRU_RATE:
            for (int64_t e = 0; e < op->width; e++) gauges_ask(z, op, 0, e, 0);
            break;
        case HOP_OP_TAYLOR:
            for (int64_t c = 0; c < groups * op->dim; c++)
                gauges_ask(z, op, 0, c,
                           gauge_out(z, op, c / op->dim * (op->width / groups) + 1 + c % op->dim) -
                               (op->scaled ? gauges_less(z, op) : 0));
            break;
        case HOP_OP_ACT:
            for (int64_t e = 0; e < op->width; e++)
                if (op->act == HOP_ACT_COPY || op->act == HOP_ACT_RELU)
                    gauges_ask(z, op, 0, e, gauge_out(z, op, e));
                else
                    gauges_ask_act(z, op, e);
            break;
        case HOP_OP_CONSTANT: break;
        default: gauges_ask_columns(z, op);
        }
    }
}

#endif
