/* Transfer functions of what is done to a token alone: for each operation, the interval that its float32
 * result lies in when its arguments lie in given intervals. Constants of the activations' errors: the
 * exponential is within HOP_EXP_ERROR (kernels.h); what is made from it loses a few roundings more
 * (mixers/acts.c), for which there is ample room in 2^-18. */
#include "elements.h"
#include "analysis.h"

#include <string.h>

#define ACT_ERROR 0x1p-18
#define FAINT     0x1p-118 /* exponentials below 2^-120 may be 0 */

/* ---- activations --------------------------------------------------------------------------- */

ival hop__exp_bounds(ival x)
{
    if (x.lo == 0 && x.hi == 0) return x.lo == 0 ? (ival){1, 1} : x;
    ival y = {exp(x.lo) * (1 - 1.01 * HOP_EXP_ERROR) - FAINT, exp(x.hi) * (1 + 1.01 * HOP_EXP_ERROR) + FAINT};
    if (y.lo < 0) y.lo = 0;
    if (x.hi <= 0 && y.hi > 1) y.hi = 1; /* 1 plus something negative is not rounded above 1 */
    return y;
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

static double elu1(double x)
{
    return x > 0 ? x + 1 : exp(x);
}

static double gelu(double x)
{
    return 0.5 * x * erfc(-x * M_SQRT1_2);
}

/* A function that falls down to `bottom` at `turn` and then rises. */
static ival valley(double (*f)(double), ival x, double turn, double bottom)
{
    double a = f(x.lo), b = f(x.hi);
    if (x.lo >= turn) return (ival){a, b};
    if (x.hi <= turn) return (ival){b, a};
    return (ival){bottom, ival_most(a, b)};
}

static ival rising(double (*f)(double), ival x)
{
    return (ival){f(x.lo), f(x.hi)};
}

ival hop__about(ival x, double relative)
{
    if (!(x.lo <= x.hi)) return (ival){-INFINITY, INFINITY};
    return (ival){ival_down(x.lo - fabs(x.lo) * relative - FAINT),
                  ival_up(x.hi + fabs(x.hi) * relative + FAINT)};
}

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

static ival between(ival x, double lo, double hi)
{
    return (ival){clamp(x.lo, lo, hi), clamp(x.hi, lo, hi)};
}

ival hop__function_bounds(hop_prim f, ival x)
{
    if (!(x.lo > -HOP__LARGEST && x.hi < HOP__LARGEST)) return (ival){-INFINITY, INFINITY};
    switch (f) {
    case HOP_PRIM_EXP: return hop__exp_bounds(x);
    case HOP_PRIM_SIGMOID: return between(hop__about(rising(sigmoid, x), ACT_ERROR), 0, 1);
    case HOP_PRIM_SILU:
        if (x.lo == 0 && x.hi == 0) return x; /* 0 over 1 + 1 */
        /* e^x may be 0 below 2^-120, and it is multiplied by x: |x| e^x is at most 2^-113 there. */
        return ival_widen(hop__about(valley(silu, x, -1.2784645427610738, -0.27846454276107380), ACT_ERROR),
                          0x1p-113);
    case HOP_PRIM_TANH: return between(hop__about(rising(tanh, x), ACT_ERROR), -1, 1);
    case HOP_PRIM_SOFTPLUS: return between(hop__about(rising(softplus, x), ACT_ERROR), 0, INFINITY);
    case HOP_PRIM_ELU1: return between(hop__about(rising(elu1, x), ACT_ERROR), 0, INFINITY);
    case HOP_PRIM_RELU: return (ival){ival_most(x.lo, 0), ival_most(x.hi, 0)};
    case HOP_PRIM_GELU: return hop__about(valley(gelu, x, -0.7517915246935645, -0.1699712074799037), 0x1p-14);
    default: return (ival){-INFINITY, INFINITY};
    }
}

static void act_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    hop__elements *program = (hop__elements *)(uintptr_t)arg; /* whose room is written */
    (void)block;
    hop__elements_give(program, "a", x);
    *y = *hop__elements_run(program);
}

hop__set *hop__set_act(hop__memory *m, const hop__set *x, hop_act kind, double before, double scale)
{
    const ival by[2] = {ival_point(hop__rounded(before)), ival_point(hop__rounded(scale))};
    hop__elements program;
    if (!hop__elements_open(m, &program, hop_op_program(&(hop_op){.kind = HOP_OP_ACT, .act = kind}, 0), 1, 1))
        return NULL;
    hop__elements_give(&program, "before", by);
    hop__elements_give(&program, "scale", by + 1);
    return hop__set_map(m, x, (hop__blocks){x->width, 1, 1, act_block, &program});
}

/* ---- programs ------------------------------------------------------------------------------ */

/* An operation on rows, whose programs are read block by block. */
typedef struct local {
    const hop_op *op;
    const float *w, *w2;
    const ival *past;          /* CONV: what earlier tokens may have had */
    hop__elements *program[3]; /* TAYLOR has three */
    ival *weight, *row;        /* room for a block's parameters, and for a convolution's inputs */
} local;

/* The parameter that element e is made with. */
static double weight_of(const local *l, int64_t e)
{
    const hop_op *op = l->op;
    switch (op->kind) {
    case HOP_OP_SKIP:
    case HOP_OP_RATE: return l->w[e / op->dim];
    case HOP_OP_LERP: return l->w[op->first_row * op->width + e];
    default: return l->w ? l->w[e] : 0;
    }
}

/* One result from one number of each input. */
static void element_block(const void *arg, int64_t e, const ival *x, ival *y)
{
    const local *l = arg;
    *l->weight = ival_point(weight_of(l, e));
    hop__elements_give(l->program[0], "a", x);
    hop__elements_give(l->program[0], "b", x + 1);
    hop__elements_give(l->program[0], "c", x + 2);
    *y = *hop__elements_run(l->program[0]);
}

/* A token's number and what those before it may be. */
static void conv_block(const void *arg, int64_t e, const ival *x, ival *y)
{
    const local *l = arg;
    int64_t taps = l->op->taps;
    for (int64_t j = 0; j < taps; j++) {
        l->row[j] = j + 1 < taps ? l->past[e] : x[0];
        l->weight[j] = ival_point(l->w[e * taps + j]);
    }
    l->weight[taps] = ival_point(l->w2 ? l->w2[e] : 0);
    hop__elements_give(l->program[0], "bias", l->weight + taps);
    *y = *hop__elements_run(l->program[0]);
}

/* [a.., v.., b.., c..] of a group */
static void bonus_block(const void *arg, int64_t g, const ival *x, ival *y)
{
    const local *l = arg;
    int64_t dim = l->op->dim, values = l->op->width / l->op->groups;
    for (int64_t e = 0; e < dim; e++) l->weight[e] = ival_point(l->w[g * dim + e]);
    hop__elements_give(l->program[0], "a", x);
    hop__elements_give(l->program[0], "v", x + values);
    hop__elements_give(l->program[0], "b", x + 2 * values);
    hop__elements_give(l->program[0], "c", x + 2 * values + dim);
    memcpy(y, hop__elements_run(l->program[0]), sizeof *y * (size_t)values);
}

/* x² times something above 0, formed as y: not below 0, as far as its own rounding goes. */
static ival square_of(ival x, ival y)
{
    if (x.lo < 0 && x.hi > 0) y.lo = 0;
    return y;
}

static void taylor_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const local *l = arg;
    (void)block;
    *y++ = (ival){1, 1};
    for (int64_t i = 0; i < l->op->dim; i++) {
        hop__elements_give(l->program[0], "a", x + i);
        *y++ = *hop__elements_run(l->program[0]);
    }
    for (int64_t i = 0; i < l->op->dim; i++) {
        hop__elements_give(l->program[1], "a", x + i);
        *y++ = square_of(x[i], *hop__elements_run(l->program[1]));
        hop__elements_give(l->program[2], "a", x + i);
        for (int64_t j = i + 1; j < l->op->dim; j++) {
            hop__elements_give(l->program[2], "b", x + j);
            *y++ = *hop__elements_run(l->program[2]);
        }
    }
}

static void append_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    int64_t dim = ((const local *)arg)->op->dim;
    (void)block;
    memcpy(y, x, sizeof *y * (size_t)dim);
    y[dim] = (ival){1, 1};
}

static void divide_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const local *l = arg;
    (void)block;
    hop__elements_give(l->program[0], "a", x);
    hop__elements_give(l->program[0], "b", x + l->op->dim);
    memcpy(y, hop__elements_run(l->program[0]), sizeof *y * (size_t)l->op->dim);
}

/* The programs of an operation, with what is the same for all blocks. */
static bool open_programs(hop__memory *m, local *l)
{
    const hop_op *op = l->op;
    int64_t groups = op->groups > 1 ? op->groups : 1, keys = op->kind == HOP_OP_CONV ? op->taps : op->dim;
    int64_t values = op->kind == HOP_OP_DIVIDE ? op->dim : op->width / groups;
    ival *constant = hop__take(m, 5, sizeof *constant);
    l->weight = hop__take(m, keys + 1, sizeof *l->weight), l->row = hop__take(m, keys, sizeof *l->row);
    if (m->status != HOP_OK) return false;
    constant[0] = ival_point(hop__rounded(op->eps));
    constant[1] = ival_point(op->scaled ? hop__rounded(op->scale) : 1);
    constant[2] = ival_point(op->scaled ? 0.5 : 1);
    constant[3] = ival_point(hop__rounded(op->lo)), constant[4] = ival_point(hop__rounded(op->hi));
    for (int i = 0; i < (op->kind == HOP_OP_TAYLOR ? 3 : 1); i++) {
        const hop_program *program = hop_op_program(op, i);
        l->program[i] = hop__take(m, 1, sizeof *l->program[i]);
        if (m->status != HOP_OK || !hop__elements_open(m, l->program[i], program, keys, values)) return false;
        hop__elements_give(l->program[i], "w", l->weight);
        hop__elements_give(l->program[i], "x", l->row);
        hop__elements_give(l->program[i], "eps", constant);
        hop__elements_give(l->program[i], "scale", constant + 1);
        hop__elements_give(l->program[i], "half", constant + 2);
        hop__elements_give(l->program[i], "lo", constant + 3);
        hop__elements_give(l->program[i], "hi", constant + 4);
    }
    return true;
}

/* ---- dispatch ------------------------------------------------------------------------------ */

/* Inputs beside each other, one number (or group) of each after the other. */
static hop__set *interleaved(hop__memory *m, const hop__set *const *in, int count, const int64_t *dim,
                             int64_t groups)
{
    int64_t each = 0, at = 0, from = 0;
    for (int i = 0; i < count; i++) each += dim[i];
    const hop__set *all = count == 1 ? in[0] : hop__set_beside(m, in, count);
    int64_t *column = hop__take(m, groups * each, sizeof *column);
    for (int i = 0; column && i < count; from += in[i]->width, at += dim[i++]) {
        int64_t have = in[i]->width / dim[i]; /* groups that this input has: each serves groups / have */
        for (int64_t g = 0; g < groups; g++)
            for (int64_t c = 0; c < dim[i]; c++)
                column[g * each + at + c] = from + g / (groups / have) * dim[i] + c;
    }
    return m->status == HOP_OK ? hop__set_gather(m, all, column, groups * each) : NULL;
}

/* All that earlier tokens may have had, 0 before the first included. */
static ival *past_of(hop__analysis *w, int a, hop__set *const *x)
{
    ival *past = hop__take(w->m, x[a]->width, sizeof *past);
    for (int64_t c = 0; past && c < x[a]->width; c++)
        for (int p = 0; p < w->facts.classes; p++)
            if (hop__sees(&w->facts, a, p, false)) past[c] = ival_hull(past[c], hop__set_range(x[p], c));
    for (int64_t c = 0; past && c < x[a]->width; c++)
        if (ival_mag(past[c]) != 0)
            past[c] = ival_widen(past[c], hop__crossing(w->message, ival_mag(past[c])));
    return past;
}

static hop__set *shifted(hop__analysis *w, int a, hop__set *const *x)
{
    const ival *past = past_of(w, a, x);
    hop__set *y = past ? hop__set_new(w->m, x[a]->width) : NULL;
    for (int64_t c = 0; y && c < y->width; c++) y->mid[c] = ival_mid(past[c]), y->rad[c] = ival_rad(past[c]);
    hop__set_canonical(w->m, y);
    return y;
}

static hop__set *linear_groups(hop__memory *m, const hop__inputs *x, const hop__set *in)
{
    const hop_op *op = x->op;
    int64_t groups = op->groups > 1 ? op->groups : 1, out = op->width / groups;
    const hop__set **parts = hop__take(m, groups, sizeof *parts);
    bool blocks = op->kind == HOP_OP_BLOCKS;
    for (int64_t g = 0; m->status == HOP_OK && g < groups; g++) {
        hop__matrix w = {.bias = x->par[1], .out = out, .in = op->dim, .row_step = op->row, .col_step = 1};
        w.later = x->config->foreign[HOP_FOREIGN_units];
        if (!blocks) w.w = x->par[0] + op->first_row * op->row + op->first_column;
        if (blocks) w.w = x->par[0] + g * op->dim * op->dim, w.row_step = 1, w.col_step = op->dim;
        if (blocks && w.bias) w.bias = x->par[1] + g * op->dim;
        const hop__set *part = groups == 1 ? in : hop__set_columns(m, in, g * op->dim, op->dim);
        parts[g] = part ? hop__set_linear(m, part, w) : NULL;
    }
    if (m->status != HOP_OK) return NULL;
    return hop__set_beside(m, parts, (int)groups);
}

static hop__set *constant(hop__memory *m, const hop__inputs *x)
{
    hop__set *y = hop__set_new(m, x->op->width);
    for (int64_t i = 0; y && i < y->width; i++) y->mid[i] = hop__rounded(x->op->constant(x->config, i));
    hop__set_canonical(m, y);
    return y;
}

/* A part of 1, or no more than 1, times scale; one expert's part of a softmax is 1: e^0 over itself, over itself. Of the
 * chosen ones one is far from 0, unless they are sigmoids or chosen by a bias: then their sum may be. */
static hop__set *routed(hop__memory *m, const hop_op *op, const hop__set *x)
{
    hop__set *y = hop__set_new(m, op->width);
    const double scale = hop__rounded(op->scale);
    const bool one = op->width == 1 && op->act != HOP_ACT_SIGMOID && op->eps == 0 && op->scaled;
    if (op->scaled && (op->act == HOP_ACT_SIGMOID || op->par[0] >= 0) && !(hop__rounded(op->eps) > 0))
        m->overflow = true;
    for (int64_t e = 0; y && e < y->width; e++) {
        if (!(x->mag[e] < HOP__LARGEST)) m->overflow = true;
        y->mid[e] = one ? scale : scale / 2, y->rad[e] = one ? 0 : ival_up(scale / 2);
    }
    hop__set_canonical(m, y);
    return y;
}

bool hop__skips_nothing(const hop_op *op, const float *d)
{
    for (int64_t h = 0; h < op->width / op->dim; h++)
        if (d[h] != 0) return false;
    return true;
}

/* What head_gains was rounded before its factor was taken off: a product that is exact beside it need not have
 * been, and below the normal numbers the unit may be twice as large. */
static hop__set *finely_rounded(hop__memory *m, hop__set *y)
{
    for (int64_t c = 0; c < y->width; c++) {
        if (y->mag[c] == 0) continue;
        y->rad[c] = ival_up(y->rad[c] + 0x1p-149);
        y->rel[c] = ival_up(y->rel[c] + 0x1p-22);
        y->least[c] = -INFINITY, y->most[c] = INFINITY;
    }
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* Block by block of the inputs, in[count], as the operation's programs say. */
static hop__set *by_programs(hop__memory *m, const local *l, const hop__set *const *in, int count)
{
    const hop_op *op = l->op;
    const int64_t ones[3] = {1, 1, 1}, groups = op->groups > 1 ? op->groups : 1, values = op->width / groups;
    if (op->kind == HOP_OP_TAYLOR) {
        int64_t out = 1 + op->dim + op->dim * (op->dim + 1) / 2;
        return hop__set_map(m, in[0], (hop__blocks){groups, op->dim, out, taylor_block, l});
    }
    if (op->kind == HOP_OP_DIVIDE)
        return hop__set_map(m, in[0], (hop__blocks){groups, op->dim + 1, op->dim, divide_block, l});
    if (op->kind == HOP_OP_BONUS) {
        const hop__set *order[4] = {in[0], in[3], in[1], in[2]};
        const int64_t dim[4] = {values, values, op->dim, op->dim};
        hop__set *all = interleaved(m, order, 4, dim, groups);
        hop__blocks each = {groups, 2 * (values + op->dim), values, bonus_block, l};
        return all ? hop__set_map(m, all, each) : NULL;
    }
    hop__set *all = interleaved(m, in, count, ones, op->width);
    hop__blocks each = {op->width, count, 1, op->kind == HOP_OP_CONV ? conv_block : element_block, l};
    bool relative = op->kind == HOP_OP_CONV || op->kind == HOP_OP_MUL;
    return !all ? NULL : relative ? hop__set_map_relative(m, all, each) : hop__set_map(m, all, each);
}

static hop__set *one_class(hop__analysis *w, const hop__inputs *x, int a)
{
    const hop_op *op = x->op;
    hop__memory *m = w->m;
    local l = {.op = op, .w = x->par[0], .w2 = x->par[1]};
    const hop__set *in[HOP_OP_INPUTS] = {0};
    int count = 0;
    for (int i = 0; i < HOP_OP_INPUTS; i++)
        if (x->in[i]) in[i] = x->in[i][a], count = i + 1;
    switch (op->kind) {
    case HOP_OP_LINEAR:
    case HOP_OP_BLOCKS: return linear_groups(m, x, in[0]);
    case HOP_OP_ACT: return hop__set_act(m, in[0], op->act, op->before, op->scale);
    case HOP_OP_L2:
    case HOP_OP_RMS:
    case HOP_OP_GROUPNORM:
        return hop__set_norm_op(m, in[0], op, l.w, l.w2, x->head_gain ? &x->head_gain[a] : NULL);
    case HOP_OP_ROPE: return hop__set_rope(w, op, x->par[0], a, in[0]);
    case HOP_OP_ADD: return hop__set_add(m, in[0], in[1]);
    case HOP_OP_ROUTE: return routed(m, op, in[0]);
    case HOP_OP_CONSTANT: return constant(m, x);
    case HOP_OP_SHIFT: return shifted(w, a, x->in[0]);
    case HOP_OP_REPEAT: return interleaved(m, in, 1, &op->dim, op->groups);
    case HOP_OP_APPEND_ONE: {
        int64_t groups = op->groups > 1 ? op->groups : 1;
        return hop__set_map(m, in[0], (hop__blocks){groups, op->dim, op->dim + 1, append_block, &l});
    }
    case HOP_OP_SKIP:
        if (hop__skips_nothing(op, l.w)) return hop__set_copy(m, in[0]);
        break;
    case HOP_OP_CONV: l.past = past_of(w, a, x->in[0]); break;
    default: break;
    }
    hop__set *y = m->status == HOP_OK && open_programs(m, &l) ? by_programs(m, &l, in, count) : NULL;
    return y && x->head_gain && x->head_gain[a].by ? finely_rounded(m, y) : y;
}

void hop__local_op(hop__analysis *w, const hop__inputs *x, hop__set **y)
{
    for (int a = 0; w->m->status == HOP_OK && a < w->facts.classes; a++) y[a] = one_class(w, x, a);
}
