/* Transfer functions of what is done to a token alone: for each operation, the interval that its float32
 * result lies in when its arguments lie in given intervals. Constants of the activations' errors: the
 * exponential is within HOP_EXP_ERROR (kernels.h); what is made from it loses a few roundings more
 * (mixers/acts.c), for which there is ample room in 2^-18. */
#include "walk.h"

#include <string.h>

#define ACT_ERROR 0x1p-18
#define FAINT     0x1p-118 /* exponentials below 2^-120 may be 0 */

typedef struct local {
    const hop_op *op;
    const hop_mixer_config *config;
    const float *w, *w2;
    const ival *past; /* CONV: what earlier tokens may have had */
} local;

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

/* min(x, 1e30) of a number that is not below 0: what keeps rates finite. */
static ival kept_finite(ival x)
{
    return (ival){ival_least(x.lo < 0 ? 0 : x.lo, 1e30 * (1 - 0x1p-20)), ival_least(x.hi, 1e30 * (1 + 0x1p-20))};
}

static ival act(hop_act kind, ival x)
{
    if (!(x.lo > -HOP__LARGEST && x.hi < HOP__LARGEST)) return (ival){-INFINITY, INFINITY};
    switch (kind) {
    case HOP_ACT_COPY: return x;
    case HOP_ACT_EXP: return hop__exp_bounds(x);
    case HOP_ACT_EXP1000: return between(hop__exp_bounds(x), 0, 1000);
    case HOP_ACT_SIGMOID: return between(hop__about(rising(sigmoid, x), ACT_ERROR), 0, 1);
    case HOP_ACT_SILU:
        if (x.lo == 0 && x.hi == 0) return x; /* 0 over 1 + 1 */
        return hop__about(valley(silu, x, -1.2784645427610738, -0.27846454276107380), ACT_ERROR);
    case HOP_ACT_TANH: return between(hop__about(rising(tanh, x), ACT_ERROR), -1, 1);
    case HOP_ACT_SOFTPLUS: return between(hop__about(rising(softplus, x), ACT_ERROR), 0, INFINITY);
    case HOP_ACT_LOGSIGMOID: {
        ival y = act(HOP_ACT_SOFTPLUS, (ival){-x.hi, -x.lo});
        return (ival){-y.hi, -y.lo};
    }
    case HOP_ACT_ELU1: return between(hop__about(rising(elu1, x), ACT_ERROR), 0, INFINITY);
    case HOP_ACT_RELU: return (ival){ival_most(x.lo, 0), ival_most(x.hi, 0)};
    case HOP_ACT_GELU: return hop__about(valley(gelu, x, -0.7517915246935645, -0.1699712074799037), 0x1p-14);
    }
    return (ival){-INFINITY, INFINITY};
}

typedef struct act_arg {
    hop_act act;
    double before, scale;
} act_arg;

static void act_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const act_arg *a = arg;
    (void)block;
    ival v = act(a->act, hop__times(x[0], ival_point((float)a->before)));
    *y = hop__times(v, ival_point((float)a->scale));
}

hop__set *hop__set_act(hop__memory *m, const hop__set *x, hop_act kind, double before, double scale)
{
    act_arg a = {kind, before, scale};
    return hop__set_map(m, x, (hop__blocks){x->width, 1, 1, act_block, &a});
}

/* ---- elementwise with parameters -------------------------------------------------------------- */

static ival plus(ival a, ival b)
{
    if (b.lo == 0 && b.hi == 0) return a;
    if (a.lo == 0 && a.hi == 0) return b;
    return hop__float(ival_add(a, b));
}

static ival minus(ival a)
{
    return (ival){-a.hi, -a.lo};
}

/* One result from one number of each input, in[0], in[1], in[2]. */
static void element(const void *arg, int64_t e, const ival *x, ival *y)
{
    const local *l = arg;
    const hop_op *op = l->op;
    int64_t width = op->width;
    switch (op->kind) {
    case HOP_OP_MUL: *y = hop__times(x[0], x[1]); break;
    case HOP_OP_SUB: *y = plus(x[0], minus(x[1])); break;
    case HOP_OP_WEIGH: *y = hop__times(x[0], ival_point(l->w[e])); break;
    case HOP_OP_SKIP: *y = plus(x[0], hop__times(x[1], ival_point(l->w[e / op->dim]))); break;
    case HOP_OP_BLEND:
        *y = hop__times(x[0],
                        plus(ival_point(1), hop__times(plus(x[1], ival_point(-1)), ival_point(l->w[e]))));
        break;
    case HOP_OP_LERP: {
        ival w = ival_point(l->w[op->first_row * width + e]);
        *y = plus(x[0], hop__times(x[1], op->in[2].buffer >= 0 ? plus(x[2], w) : w));
        break;
    }
    case HOP_OP_RATE: {
        ival r = hop__about(ival_point(exp((double)l->w[e / op->dim])), 0x1p-20);
        *y = hop__times(x[0], minus(kept_finite(r)));
        break;
    }
    case HOP_OP_LRU_RATE: {
        ival r = act(HOP_ACT_SOFTPLUS, ival_point(l->w[e]));
        *y = hop__times(hop__times(x[0], ival_point(-8)), kept_finite(r));
        break;
    }
    case HOP_OP_LRU_INPUT: {
        ival a = x[0], s = {sqrt(-expm1(2 * ival_least(a.hi, 0))), sqrt(-expm1(2 * ival_least(a.lo, 0)))};
        *y = a.hi <= 0 ? hop__times(between(hop__about(s, 0x1p-20), 0, 2), hop__times(x[1], x[2]))
                       : (ival){-INFINITY, INFINITY};
        if (a.lo == 0 && a.hi == 0) *y = hop__times((ival){0, 0}, hop__times(x[1], x[2]));
        break;
    }
    case HOP_OP_CONV: {
        const float *w = l->w + e * op->taps;
        ival sum = ival_scale(x[0], w[op->taps - 1]);
        double mag = ival_mag(sum), bias = l->w2 ? l->w2[e] : 0;
        int64_t terms = 2;
        for (int64_t j = 0; j + 1 < op->taps; j++) {
            if (w[j] == 0) continue;
            ival old = ival_scale(l->past[e], w[j]);
            mag += ival_mag(old), sum = ival_add(sum, old), terms++;
        }
        if (bias != 0) mag += fabs(bias), sum = ival_add(sum, ival_point(bias));
        if (!(mag < HOP__LARGEST)) sum = (ival){-INFINITY, INFINITY};
        if (!(terms == 2 && bias == 0 && (w[op->taps - 1] == 1 || mag == 0)))
            sum = ival_widen(sum, HOP_DOT_ERROR((double)terms) * mag + (double)terms * 0x1p-149);
        *y = op->silu ? act(HOP_ACT_SILU, sum) : sum;
        break;
    }
    default: *y = (ival){-INFINITY, INFINITY};
    }
}

/* [a.., v.., b.., c..] of a group -> a + (sum b c w) v */
static void bonus_block(const void *arg, int64_t g, const ival *x, ival *y)
{
    const local *l = arg;
    int64_t dim = l->op->dim, values = l->op->width / l->op->groups;
    const ival *a = x, *v = x + values, *b = v + values, *c = b + dim;
    ival s = {0, 0};
    double mag = 0;
    for (int64_t e = 0; e < dim; e++) {
        ival p = ival_scale(ival_mul(b[e], c[e]), l->w[g * dim + e]);
        s = ival_add(s, p), mag += ival_mag(p);
    }
    double most = 1; /* what falls below the normal numbers is multiplied by the rest */
    for (int64_t e = 0; e < dim; e++)
        most = ival_most(most, ival_most(1, ival_mag(b[e])) * ival_most(1, ival_mag(c[e])) *
                                   ival_most(1, fabs((double)l->w[g * dim + e])));
    if (!(most < HOP__LARGEST)) s = (ival){-INFINITY, INFINITY};
    if (mag != 0)
        s = ival_widen(s, (double)(dim + 4) * 4 * HOP_UNIT_ROUNDOFF * mag + (double)dim * 0x1p-146 * most);
    for (int64_t e = 0; e < values; e++) y[e] = plus(a[e], hop__times(s, v[e]));
}

static void taylor_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const hop_op *op = ((const local *)arg)->op;
    double s = op->scaled ? (float)op->scale : 1, ss = op->scaled ? (float)s * (float)s : 1,
           half = op->scaled ? 0.5 * ss : 1;
    (void)block;
    *y++ = (ival){1, 1};
    for (int64_t i = 0; i < op->dim; i++) *y++ = hop__times(x[i], ival_point(s));
    for (int64_t i = 0; i < op->dim; i++) {
        ival sq = ival_square(x[i]);
        if (ival_is_point(x[i])) sq = ival_mul(x[i], x[i]);
        double most = ival_most(1, sq.hi) * ival_most(1, half); /* the same: half of s² may be below them */
        *y++ = sq.lo == 0 && sq.hi == 0
                   ? sq
                   : ival_widen(hop__about(ival_scale(sq, half), 0x1p-21), 0x1p-146 * most);
        if (!(most < HOP__LARGEST)) y[-1] = (ival){-INFINITY, INFINITY};
        for (int64_t j = i + 1; j < op->dim; j++) {
            ival p = ival_mul(x[i], x[j]);
            most = ival_most(1, ival_mag(x[i])) * ival_most(1, ival_mag(x[j])) * ival_most(1, ss);
            *y++ = p.lo == 0 && p.hi == 0
                       ? p
                       : ival_widen(hop__about(ival_scale(p, ss), 0x1p-21), 0x1p-146 * most);
            if (!(most < HOP__LARGEST)) y[-1] = (ival){-INFINITY, INFINITY};
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
    const hop_op *op = ((const local *)arg)->op;
    ival d = plus(x[op->dim], ival_point((float)op->eps));
    (void)block;
    bool apart = d.lo > 0 || d.hi < 0;
    ival inverse = {ival_down(1 / d.hi), ival_up(1 / d.lo)};
    for (int64_t e = 0; e < op->dim; e++) {
        y[e] = apart ? hop__float(ival_mul(x[e], inverse)) : (ival){-INFINITY, INFINITY};
        if (apart && x[e].lo == 0 && x[e].hi == 0) y[e] = x[e];
    }
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
static ival *past_of(hop__walk *w, int a, hop__set *const *x)
{
    ival *past = hop__take(w->m, x[a]->width, sizeof *past);
    for (int64_t c = 0; past && c < x[a]->width; c++)
        for (int p = 0; p < w->facts.classes; p++)
            if (hop__sees(&w->facts, a, p, false)) past[c] = ival_hull(past[c], hop__set_range(x[p], c));
    for (int64_t c = 0; past && w->message > 0 && c < x[a]->width; c++)
        if (ival_mag(past[c]) != 0) /* below the normal numbers a unit stays what it is */
            past[c] = ival_widen(past[c], w->message * (ival_mag(past[c]) + 0x1p-126));
    return past;
}

static hop__set *shifted(hop__walk *w, int a, hop__set *const *x)
{
    const ival *past = past_of(w, a, x);
    hop__set *y = past ? hop__set_new(w->m, x[a]->width) : NULL;
    for (int64_t c = 0; y && c < y->width; c++) y->mid[c] = ival_mid(past[c]), y->rad[c] = ival_rad(past[c]);
    hop__set_tidy(w->m, y);
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
    for (int64_t i = 0; y && i < y->width; i++) y->mid[i] = (float)x->op->constant(x->config, i);
    hop__set_tidy(m, y);
    return y;
}

bool hop__skips_nothing(const hop_op *op, const float *d)
{
    for (int64_t h = 0; h < op->width / op->dim; h++)
        if (d[h] != 0) return false;
    return true;
}

/* What swings was rounded before its factor was taken off: a product that is exact beside it need not have
 * been, and below the normal numbers the unit may be twice as large. */
static hop__set *finely_rounded(hop__memory *m, hop__set *y)
{
    for (int64_t c = 0; c < y->width; c++) {
        if (y->mag[c] == 0) continue;
        y->rad[c] = ival_up(y->rad[c] + 0x1p-149);
        y->rel[c] = ival_up(y->rel[c] + 0x1p-22);
        y->least[c] = -INFINITY, y->most[c] = INFINITY;
    }
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

static hop__set *one_class(hop__walk *w, const hop__inputs *x, int a)
{
    const hop_op *op = x->op;
    hop__memory *m = w->m;
    local l = {.op = op, .config = x->config, .w = x->par[0], .w2 = x->par[1]};
    const hop__set *in[HOP_OP_INPUTS] = {0};
    int64_t ones[3] = {1, 1, 1}, groups = op->groups > 1 ? op->groups : 1;
    int count = 0;
    for (int i = 0; i < HOP_OP_INPUTS; i++)
        if (x->in[i]) in[i] = x->in[i][a], count = i + 1;
    switch (op->kind) {
    case HOP_OP_LINEAR:
    case HOP_OP_BLOCKS: return linear_groups(m, x, in[0]);
    case HOP_OP_ACT: return hop__set_act(m, in[0], op->act, op->before, op->scale);
    case HOP_OP_L2:
    case HOP_OP_RMS:
    case HOP_OP_GROUPNORM: return hop__set_norm_op(m, in[0], op, l.w, l.w2, x->swing ? &x->swing[a] : NULL);
    case HOP_OP_ROPE: return hop__set_rope(w, op, a, in[0]);
    case HOP_OP_CONSTANT: return constant(m, x);
    case HOP_OP_SHIFT: return shifted(w, a, x->in[0]);
    case HOP_OP_REPEAT: {
        const int64_t dim[1] = {op->dim};
        return interleaved(m, in, 1, dim, op->groups);
    }
    case HOP_OP_TAYLOR: {
        int64_t out = 1 + op->dim + op->dim * (op->dim + 1) / 2;
        return hop__set_map(m, in[0], (hop__blocks){groups, op->dim, out, taylor_block, &l});
    }
    case HOP_OP_APPEND_ONE:
        return hop__set_map(m, in[0], (hop__blocks){groups, op->dim, op->dim + 1, append_block, &l});
    case HOP_OP_DIVIDE:
        return hop__set_map(m, in[0], (hop__blocks){groups, op->dim + 1, op->dim, divide_block, &l});
    case HOP_OP_BONUS: {
        const hop__set *order[4] = {in[0], in[3], in[1], in[2]};
        const int64_t values = op->width / groups, dim[4] = {values, values, op->dim, op->dim};
        hop__set *all = interleaved(m, order, 4, dim, groups);
        return all ? hop__set_map(m, all,
                                  (hop__blocks){groups, 2 * (values + op->dim), values, bonus_block, &l})
                   : NULL;
    }
    case HOP_OP_CONV: l.past = past_of(w, a, x->in[0]); break;
    case HOP_OP_SKIP:
        if (hop__skips_nothing(op, l.w)) return hop__set_copy(m, in[0]);
        break;
    default: break;
    }
    if (m->status != HOP_OK || count > 3) return NULL;
    hop__set *all = interleaved(m, in, count, ones, op->width);
    hop__blocks each = {op->width, count, 1, element, &l};
    if (!all) return NULL;
    bool relative = op->kind == HOP_OP_CONV || op->kind == HOP_OP_MUL;
    hop__set *y = relative ? hop__set_map_relative(m, all, each) : hop__set_map(m, all, each);
    return y && x->swing && x->swing[a].by ? finely_rounded(m, y) : y;
}

void hop__local_op(hop__walk *w, const hop__inputs *x, hop__set **y)
{
    for (int a = 0; w->m->status == HOP_OK && a < w->facts.classes; a++) y[a] = one_class(w, x, a);
}
