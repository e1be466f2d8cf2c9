/* Every recurrence in the shape that weigh.c bounds: keys times their gates, decays as factors from 0 to 1,
 * corrections as how far they turn a state; channels of Mamba and of the RG-LRU are heads of their own. */
#include "weigh.h"

#include <string.h>

/* ---- every recurrence in that shape -------------------------------------------------------------- */

static void exp_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    (void)arg, (void)block;
    /* The real exponential: what the kernels' one loses is in scan_error. */
    *y = (ival){x[0].lo == 0 ? 1 : fmax(0, exp(x[0].lo) * (1 - 1e-14)),
                x[0].hi == 0 ? 1 : exp(x[0].hi) * (1 + 1e-14)};
    if (x[0].hi <= 0 && y->hi > 1) y->hi = 1;
    if (!(x[0].hi <= 0)) *y = (ival){-INFINITY, INFINITY}; /* a state that grows is not covered */
}

static hop__set *decays(hop__memory *m, const hop__set *g)
{
    return hop__set_map(m, g, (hop__blocks){.count = g->width, .in = 1, .out = 1, .fn = exp_block});
}

static double largest(const hop__facts *f, hop__set *const *x)
{
    double most = 0;
    for (int a = 0; a < f->classes; a++)
        for (int64_t c = 0; c < x[a]->width; c++) most = ival_most(most, x[a]->mag[c]);
    return most;
}

/* Groups of columns of one buffer, each `times` times, and another's beside it, group by group. */
static hop__set *grouped(hop__memory *m, const hop__set *x, int64_t groups, int64_t dim, int64_t times,
                         const hop__set *more, int64_t more_dim)
{
    const hop__set *both[2] = {x, more};
    int64_t total = groups * times, each = dim + (more ? more_dim : 0),
            *column = hop__take(m, total * each, sizeof *column);
    const hop__set *all = more ? hop__set_beside(m, both, 2) : x;
    for (int64_t g = 0; column && g < total; g++)
        for (int64_t c = 0; c < each; c++)
            column[g * each + c] = c < dim ? g / times * dim + c : x->width + g * more_dim + c - dim;
    return m->status == HOP_OK ? hop__set_gather(m, all, column, total * each) : NULL;
}

/* Columns from, from + step, .. in runs of `dim`. */
static hop__set *every(hop__memory *m, const hop__set *x, int64_t from, int64_t step, int64_t dim,
                       int64_t count)
{
    int64_t *column = hop__take(m, count * dim, sizeof *column);
    for (int64_t i = 0; column && i < count * dim; i++) column[i] = from + i / dim * step + i % dim;
    return column ? hop__set_gather(m, x, column, count * dim) : NULL;
}

/* [k, beta] -> [beta k, beta |k|²] */
static void delta_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    int64_t dim = *(const int64_t *)arg;
    double square = 0;
    (void)block;
    for (int64_t c = 0; c < dim; c++) {
        y[c] = hop__times(x[c], x[dim]);
        square += ival_mag(x[c]) * ival_mag(x[c]);
    }
    double turn = square * ival_mag(x[dim]) * (1 + 1e-9);
    y[dim] = (ival){turn, turn};
}

/* [a, b] of dplr -> |b aᵀ| */
static void dplr_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    int64_t dim = *(const int64_t *)arg;
    double a = 0, b = 0;
    (void)block;
    for (int64_t c = 0; c < dim; c++) a += ival_mag(x[c]), b += ival_mag(x[dim + c]);
    *y = (ival){a * b * (1 + 1e-9), a * b * (1 + 1e-9)};
}

/* [k, i] of mlstm -> e^i k */
static void input_gate_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    int64_t dim = *(const int64_t *)arg;
    (void)block;
    ival gate = hop__exp_bounds(x[dim]);
    for (int64_t c = 0; c < dim; c++) y[c] = hop__times(x[c], gate);
}

/* [values, one] of mlstm's reading -> h = C / (max(|n|, 1) + 1e-6 e^m), 0 <= e^m <= arg */
static void mlstm_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const double *arg2 = arg; /* value_dim, largest e^m */
    int64_t dim = (int64_t)arg2[0];
    (void)block;
    double lo = x[dim].lo > 0 ? x[dim].lo : x[dim].hi < 0 ? -x[dim].hi : 0, hi = ival_mag(x[dim]);
    ival d = {ival_down(fmax(lo, 1) * (1 - 0x1p-20)),
              ival_up((fmax(hi, 1) + 1e-6 * arg2[1]) * (1 + 0x1p-20))};
    for (int64_t c = 0; c < dim; c++) y[c] = hop__times(x[c], (ival){ival_down(1 / d.hi), ival_up(1 / d.lo)});
}

/* A token's steps write one after the other and are read together: so many more heads, whose readings are
 * added up. A token turns what earlier ones wrote by all its steps, what its own step wrote by those that
 * follow. */
static void many_steps(hop__walk *w, hop__shape *s, int64_t steps, hop__set **turn, hop__set **y)
{
    hop__memory *m = w->m;
    hop__sets q = {0}, f = {0}, o = {0};
    int64_t heads = s->heads;
    for (int a = 0; m->status == HOP_OK && a < w->facts.classes; a++) {
        q[a] = grouped(m, s->q[a], 1, s->q[a]->width, steps, NULL, 0);
        if (s->f) f[a] = grouped(m, s->f[a], 1, s->f[a]->width, steps, NULL, 0);
        double *own = hop__take(m, steps * heads, sizeof *own);
        hop__set *all = hop__set_new(m, steps * heads);
        if (m->status != HOP_OK) return;
        for (int64_t h = 0; h < heads; h++) {
            double later = 1;
            for (int64_t i = steps - 1; i >= 0; i--) {
                own[i * heads + h] = later - 1;
                later *= (1 + hop__set_range(turn[a], i * heads + h).hi) * (1 + 1e-15);
            }
            bool none = true;
            for (int64_t i = 0; i < steps; i++) none = none && hop__set_range(turn[a], i * heads + h).hi == 0;
            for (int64_t i = 0; i < steps; i++) {
                all->mid[i * heads + h] = none ? 0 : later - 1;
                if (none) own[i * heads + h] = 0;
            }
        }
        hop__set_tidy(m, all);
        turn[a] = all;
        s->own[a] = own;
    }
    s->heads *= steps, s->q_heads *= steps, s->q = q;
    if (s->f) s->f = f;
    hop__weigh(s, o);
    for (int a = 0; m->status == HOP_OK && a < w->facts.classes; a++) {
        int64_t width = heads * s->values;
        y[a] = hop__set_columns(m, o[a], 0, width);
        for (int64_t i = 1; y[a] && i < steps; i++) {
            hop__set *part = hop__set_columns(m, o[a], i * width, width);
            y[a] = part ? hop__set_add(m, y[a], part) : NULL;
        }
    }
}

static void scan_sets(hop__walk *w, const hop__inputs *x, hop__set **y)
{
    const hop_op *op = x->op;
    hop__memory *m = w->m;
    int64_t heads = op->heads, keys = op->key_dim, values = op->value_dim, share = heads / op->kv_heads;
    int64_t steps = op->steps > 1 ? op->steps : 1;
    hop__sets k = {0}, v = {0}, f = {0}, turn = {0}, plain = {0}, o = {0};
    hop__shape s = {.w = w, .heads = heads, .keys = keys, .values = values, .q_heads = op->kv_heads};
    s.steps = (double)steps, s.raw = largest(&w->facts, x->in[HOP_SCAN_K]);
    if (op->core == HOP_CORE_DELTA) s.raw *= fmax(1, s.raw); /* keys meet keys */
    if (op->core == HOP_CORE_DPLR)
        s.raw = fmax(1, s.raw) * fmax(1, largest(&w->facts, x->in[HOP_SCAN_A])) *
                fmax(1, largest(&w->facts, x->in[HOP_SCAN_B]));
    s.scale = (float)op->scale;
    s.q = x->in[HOP_SCAN_Q], s.k = k, s.v = v;
    s.bonus = x->par[0];
    double gate = 0; /* mlstm: the largest e^m */
    for (int a = 0; m->status == HOP_OK && a < w->facts.classes; a++) {
        const hop__set *raw = x->in[HOP_SCAN_K][a];
        v[a] = x->in[HOP_SCAN_V][a];
        if (op->core == HOP_CORE_DELTA) {
            hop__set *both = grouped(m, raw, steps * op->kv_heads, keys, share, x->in[HOP_SCAN_BETA][a], 1);
            if (!both) return;
            hop__blocks each = {steps * heads, keys + 1, keys + 1, delta_block, &keys};
            both = hop__set_map_relative(m, both, each);
            if (!both) return;
            k[a] = every(m, both, 0, keys + 1, keys, steps * heads);
            if (steps == 1) {
                plain[a] = grouped(m, raw, op->kv_heads, keys, share, NULL, 0);
                s.plain = plain, s.most_beta = largest(&w->facts, x->in[HOP_SCAN_BETA]);
            }
            turn[a] = every(m, both, keys, keys + 1, 1, steps * heads);
            s.turn = turn;
        } else if (op->core == HOP_CORE_MLSTM) {
            hop__set *both = grouped(m, raw, op->kv_heads, keys, share, x->in[HOP_SCAN_I][a], 1);
            if (!both) return;
            k[a] = hop__set_map(m, both, (hop__blocks){heads, keys + 1, keys, input_gate_block, &keys});
            hop__set *g = hop__set_act(m, x->in[HOP_SCAN_F][a], HOP_ACT_LOGSIGMOID, 1, 1);
            if (g) f[a] = decays(m, g);
            for (int64_t h = 0; g && h < heads; h++) s.log_decay = ival_most(s.log_decay, g->mag[h]);
            for (int64_t h = 0; h < heads; h++) {
                double i = fmax(0, hop__set_range(x->in[HOP_SCAN_I][a], h).hi);
                i += hop__cut_error(w->bits, i) + w->message * i; /* m is a part of the state: rounded up */
                gate = ival_most(gate, exp(i) * 1.001);
                s.stabiliser = ival_most(s.stabiliser, fmax(i, (double)w->facts.length * s.log_decay));
            }
            hop__set *one = hop__set_new(m, 1);
            if (!one || !f[a]) return;
            one->mid[0] = 1;
            hop__set_tidy(m, one);
            hop__set *ones = grouped(m, one, 1, 1, heads, NULL, 0);
            if (ones) v[a] = grouped(m, x->in[HOP_SCAN_V][a], heads, values, 1, ones, 1);
            s.f_keys = 1, s.exps = true, s.values = values + 1;
        } else {
            k[a] = grouped(m, raw, op->kv_heads, keys, share, NULL, 0);
            if (op->core == HOP_CORE_DPLR) {
                hop__set *both = grouped(m, x->in[HOP_SCAN_A][a], heads, keys, 1, x->in[HOP_SCAN_B][a], keys);
                if (!both) return;
                turn[a] = hop__set_map(m, both, (hop__blocks){heads, 2 * keys, 1, dplr_block, &keys});
                s.turn = turn;
            }
        }
        if (m->status == HOP_OK && op->gate != HOP_GATE_NONE && op->core != HOP_CORE_MLSTM) {
            f[a] = decays(m, x->in[HOP_SCAN_G][a]);
            s.f_keys = op->gate == HOP_GATE_KEY ? keys : 1;
        }
    }
    if (m->status != HOP_OK) return;
    if (s.f_keys) s.f = f;
    if (op->gate != HOP_GATE_NONE) s.log_decay = largest(&w->facts, x->in[HOP_SCAN_G]);
    if (steps > 1) {
        many_steps(w, &s, steps, turn, y);
        return;
    }
    if (op->core != HOP_CORE_MLSTM && s.f_keys) s.swing = x->swings;
    hop__weigh(&s, op->core == HOP_CORE_MLSTM ? o : y);
    double limits[2] = {(double)values, gate};
    for (int a = 0; op->core == HOP_CORE_MLSTM && m->status == HOP_OK && a < w->facts.classes; a++)
        y[a] = hop__set_map(m, o[a], (hop__blocks){heads, values + 1, values, mlstm_block, limits});
}

/* ---- channel by channel ---------------------------------------------------------------------------- */

typedef struct selective_arg {
    const float *a_log, *d;
    int64_t states;
} selective_arg;

/* A = -exp(min(A_log, 69)), as computed. */
static ival rate(double a_log)
{
    ival e = hop__exp_bounds(ival_point(fmin(a_log, 69.0)));
    return (ival){-e.hi, -e.lo};
}

/* [delta, B] of channel `block` -> [delta B, e^(delta A)] */
static void selective_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const selective_arg *s = arg;
    for (int64_t n = 0; n < s->states; n++) {
        y[n] = hop__times(x[0], x[1 + n]);
        ival g = hop__times(x[0], rate(s->a_log[block * s->states + n]));
        exp_block(NULL, 0, &g, &y[s->states + n]);
    }
}

/* [o, x] -> o + D x, to which the states are added one by one */
static void skip_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const selective_arg *s = arg;
    ival t = s->d ? ival_scale(x[1], s->d[block]) : (ival){0, 0};
    double each = HOP_UNIT_ROUNDOFF * (ival_mag(x[0]) + ival_mag(t)) + 0x1p-149;
    *y = t.lo == 0 && t.hi == 0 ? x[0]
                                : hop__float(ival_widen(ival_add(x[0], t), (double)(s->states + 2) * each));
}

static void selective_sets(hop__walk *w, const hop__inputs *x, hop__set **y)
{
    const hop_op *op = x->op;
    hop__memory *m = w->m;
    int64_t width = op->width, states = op->key_dim;
    selective_arg arg = {.a_log = x->par[0], .d = x->par[1], .states = states};
    hop__sets k = {0}, f = {0}, o = {0};
    hop__shape s = {.w = w,
                    .heads = width,
                    .keys = states,
                    .values = 1,
                    .q_heads = 1,
                    .scale = 1,
                    .f_keys = states,
                    .steps = 1};
    s.raw = largest(&w->facts, x->in[HOP_SELECTIVE_DELTA]);
    s.q = x->in[HOP_SELECTIVE_C], s.k = k, s.f = f, s.v = x->in[HOP_SELECTIVE_X];
    s.exps = true;
    double rates = 0;
    for (int64_t i = 0; i < width * states; i++) rates = ival_most(rates, -rate(arg.a_log[i]).lo);
    s.log_decay = rates * largest(&w->facts, x->in[HOP_SELECTIVE_DELTA]);
    for (int a = 0; m->status == HOP_OK && a < w->facts.classes; a++) {
        const hop__set *in[2] = {x->in[HOP_SELECTIVE_DELTA][a], x->in[HOP_SELECTIVE_B][a]};
        hop__set *all = hop__set_beside(m, in, 2);
        int64_t *column = hop__take(m, width * (1 + states), sizeof *column);
        for (int64_t i = 0; column && i < width * (1 + states); i++)
            column[i] = i % (1 + states) ? width + i % (1 + states) - 1 : i / (1 + states);
        hop__set *both = m->status == HOP_OK ? hop__set_gather(m, all, column, width * (1 + states)) : NULL;
        if (both)
            both = hop__set_map(m, both, (hop__blocks){width, 1 + states, 2 * states, selective_block, &arg});
        if (!both) return;
        k[a] = every(m, both, 0, 2 * states, states, width);
        f[a] = every(m, both, states, 2 * states, states, width);
    }
    if (m->status == HOP_OK) hop__weigh(&s, o);
    for (int a = 0; m->status == HOP_OK && a < w->facts.classes; a++) {
        hop__set *both = grouped(m, o[a], width, 1, 1, x->in[HOP_SELECTIVE_X][a], 1);
        y[a] = both ? hop__set_map(m, both, (hop__blocks){width, 2, 1, skip_block, &arg}) : NULL;
    }
}

static void unit_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    (void)arg, (void)block;
    *y = x[0];
    if (!(x[0].lo >= 0 && x[0].hi <= 1)) *y = (ival){-INFINITY, INFINITY}; /* as above */
}

static void diagonal_sets(hop__walk *w, const hop__inputs *x, hop__set **y)
{
    hop__memory *m = w->m;
    hop__sets f = {0};
    hop__shape s = {.w = w,
                    .heads = x->op->width,
                    .keys = 1,
                    .values = 1,
                    .q_heads = 1,
                    .scale = 1,
                    .f_keys = 1,
                    .steps = 1};
    s.f = f, s.v = x->in[1];
    for (int a = 0; m->status == HOP_OK && a < w->facts.classes; a++)
        f[a] = hop__set_map(m, x->in[0][a], (hop__blocks){x->op->width, 1, 1, unit_block, NULL});
    if (m->status == HOP_OK) hop__weigh(&s, y);
}

void hop__scan(hop__walk *w, const hop__inputs *x, hop__set **y)
{
    switch (x->op->kind) {
    case HOP_OP_SELECTIVE: selective_sets(w, x, y); break;
    case HOP_OP_DIAGONAL: diagonal_sets(w, x, y); break;
    default: scan_sets(w, x, y);
    }
}
