/* Every recurrence in the shape that weigh.c bounds: keys times their gates, decays as factors from 0 to 1,
 * corrections as how far they turn a state; channels of Mamba and of the RG-LRU are heads of their own. */
#include "weigh.h"

#include <string.h>

/* ---- every recurrence in that shape -------------------------------------------------------------- */

static void exp_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    (void)arg, (void)block;
    /* The real exponential: what the kernels' one loses is charged by their programs. */
    *y = (ival){x[0].lo == 0 ? 1 : ival_most(0, exp(x[0].lo) * HOP__TRUE_BELOW),
                x[0].hi == 0 ? 1 : exp(x[0].hi) * HOP__TRUE_ABOVE};
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
    double turn = square * ival_mag(x[dim]) * HOP__ABOVE;
    y[dim] = (ival){turn, turn};
}

/* [a, b] of dplr -> |b aᵀ| */
static void dplr_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    int64_t dim = *(const int64_t *)arg;
    double a = 0, b = 0;
    (void)block;
    for (int64_t c = 0; c < dim; c++) a += ival_mag(x[c]), b += ival_mag(x[dim + c]);
    *y = (ival){a * b * HOP__ABOVE, a * b * HOP__ABOVE};
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
    ival d = {ival_down(ival_most(lo, 1) * (1 - 0x1p-20)),
              ival_up((ival_most(hi, 1) + 1e-6 * arg2[1]) * (1 + 0x1p-20))};
    for (int64_t c = 0; c < dim; c++) y[c] = hop__times(x[c], (ival){ival_down(1 / d.hi), ival_up(1 / d.lo)});
}

/* A token's steps write one after the other and are read together: so many more heads, whose readings are
 * added up. A token turns what earlier ones wrote by all its steps, what its own step wrote by those that
 * follow. */
static void many_steps(hop__analysis *w, hop__reading_shape *s, int64_t steps, hop__set **turn, hop__set **y)
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
                later *= (1 + hop__set_range(turn[a], i * heads + h).hi) * HOP__ABOVE;
            }
            bool none = true;
            for (int64_t i = 0; i < steps; i++) none = none && hop__set_range(turn[a], i * heads + h).hi == 0;
            for (int64_t i = 0; i < steps; i++) {
                all->mid[i * heads + h] = none ? 0 : later - 1;
                if (none) own[i * heads + h] = 0;
            }
        }
        hop__set_canonical(m, all);
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

/* ---- what is computed, and from what -------------------------------------------------------------- */

/* All numbers of all tokens. */
static hop__num numbers_of(hop__analysis *w, hop__set *const *x)
{
    ival all = {INFINITY, -INFINITY}, *range = hop__take(w->m, x[0]->width, sizeof *range);
    int grid = HOP__ANY_GRID;
    for (int a = 0; range && a < w->facts.classes; a++) {
        hop__set_ranges(x[a], range);
        for (int64_t c = 0; c < x[a]->width; c++) {
            all = ival_hull(all, range[c]);
            grid = x[a]->grid[c] < grid ? x[a]->grid[c] : grid;
        }
    }
    return hop__num_given(all, grid);
}

static hop__num weights_of(const float *x, int64_t n)
{
    ival all = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < n; i++) all = ival_hull(all, ival_point(x[i]));
    return hop__num_given(all, HOP__NO_GRID);
}

static void give(hop__recurrence *r, const char *name, hop__num num)
{
    r->given[r->count++] = (hop__given){name, num};
}

/* The programs of a SCAN, and the numbers that its inputs may be. */
static hop__recurrence how_made(hop__analysis *w, const hop__inputs *x)
{
    static const char *const names[HOP_OP_INPUTS] = {
        [HOP_SCAN_Q] = "q", [HOP_SCAN_K] = "k",       [HOP_SCAN_V] = "v",
        [HOP_SCAN_G] = "g", [HOP_SCAN_BETA] = "beta", [HOP_SCAN_A] = "a",
        [HOP_SCAN_B] = "b", [HOP_SCAN_I] = "i",       [HOP_SCAN_F] = "f"};
    static const hop_arith_scan scans[] = {[HOP_CORE_DECAY] = HOP_ARITH_DECAY,
                                           [HOP_CORE_DELTA] = HOP_ARITH_DELTA,
                                           [HOP_CORE_DPLR] = HOP_ARITH_DPLR,
                                           [HOP_CORE_MLSTM] = HOP_ARITH_MLSTM};
    const hop_op *op = x->op;
    hop__recurrence r = {.keys = (double)op->key_dim, .values = (double)op->value_dim};
    hop__recurrence_open(w->m, &r, hop_scan_programs(scans[op->core], op->gate, x->par[0] != NULL));
    for (int i = 0; w->m->status == HOP_OK && i < HOP_OP_INPUTS; i++) {
        if (!x->in[i]) continue;
        hop__num num = numbers_of(w, x->in[i]);
        bool one = i == HOP_SCAN_V && op->core == HOP_CORE_MLSTM, none = op->steps > 1;
        if (one) num = hop__num_given(ival_hull(num.range, ival_point(1)), num.grid); /* the normaliser's */
        if (none)
            num = hop__num_given(ival_hull(num.range, ival_point(0)), num.grid); /* of the other steps */
        give(&r, names[i], num);
    }
    const double scale = hop__rounded(op->scale);
    give(&r, "scale", hop__num_given(ival_point(scale), hop__low_bit(scale)));
    if (x->par[0]) give(&r, "u", weights_of(x->par[0], op->heads * op->key_dim));
    return r;
}

/* ---- the shapes of the cores ------------------------------------------------------------------------ */

/* A SCAN on its way to that shape. */
typedef struct scan {
    hop__analysis *w;
    const hop__inputs *x;
    const hop_op *op;
    int64_t share, steps; /* value heads of a key head; steps of a token */
    hop__sets k, v, f, turn, plain;
    hop__reading_shape s;
    double gate; /* mlstm: the largest e^m */
} scan;

static bool delta_class(scan *c, int a)
{
    hop__memory *m = c->w->m;
    int64_t keys = c->op->key_dim, heads = c->op->heads, steps = c->steps;
    const hop__set *raw = c->x->in[HOP_SCAN_K][a];
    hop__set *both = grouped(m, raw, steps * c->op->kv_heads, keys, c->share, c->x->in[HOP_SCAN_BETA][a], 1);
    hop__blocks each = {steps * heads, keys + 1, keys + 1, delta_block, &keys};
    both = both ? hop__set_map_relative(m, both, each) : NULL;
    if (!both) return false;
    c->k[a] = every(m, both, 0, keys + 1, keys, steps * heads);
    c->turn[a] = every(m, both, keys, keys + 1, 1, steps * heads);
    c->s.turn = c->turn;
    if (steps > 1) return true;
    c->plain[a] = grouped(m, raw, c->op->kv_heads, keys, c->share, NULL, 0);
    c->s.plain = c->plain, c->s.most_beta = largest(&c->w->facts, c->x->in[HOP_SCAN_BETA]);
    return true;
}

/* Keys and decays without the stabiliser m, and how large that may be. */
static bool mlstm_class(scan *c, int a)
{
    hop__analysis *w = c->w;
    hop__memory *m = w->m;
    int64_t keys = c->op->key_dim, heads = c->op->heads;
    hop__set *both =
        grouped(m, c->x->in[HOP_SCAN_K][a], c->op->kv_heads, keys, c->share, c->x->in[HOP_SCAN_I][a], 1);
    if (!both) return false;
    c->k[a] = hop__set_map(m, both, (hop__blocks){heads, keys + 1, keys, input_gate_block, &keys});
    hop__set *g = hop__set_act(m, c->x->in[HOP_SCAN_F][a], HOP_ACT_LOGSIGMOID, 1, 1),
             *one = hop__set_new(m, 1);
    if (g) c->f[a] = decays(m, g);
    if (m->status != HOP_OK) return false;
    double log_decay = 0;
    for (int64_t h = 0; h < heads; h++) log_decay = ival_most(log_decay, g->mag[h]);
    for (int64_t h = 0; h < heads; h++) {
        double i = ival_most(0, hop__set_range(c->x->in[HOP_SCAN_I][a], h).hi);
        i += hop__cut_error(w->bits, i) +
             hop__crossing(w->message, i); /* m is a part of the state: rounded up */
        c->gate = ival_most(c->gate, exp(i) * 1.001);
        c->s.stabiliser = ival_most(c->s.stabiliser, ival_most(i, (double)w->facts.length * log_decay));
    }
    one->mid[0] = 1;
    hop__set_canonical(m, one);
    hop__set *ones = grouped(m, one, 1, 1, heads, NULL, 0);
    if (ones) c->v[a] = grouped(m, c->x->in[HOP_SCAN_V][a], heads, c->op->value_dim, 1, ones, 1);
    c->s.f_keys = 1, c->s.exps = true, c->s.values = c->op->value_dim + 1;
    return m->status == HOP_OK;
}

static bool dplr_class(scan *c, int a)
{
    hop__memory *m = c->w->m;
    int64_t keys = c->op->key_dim, heads = c->op->heads;
    hop__set *both = grouped(m, c->x->in[HOP_SCAN_A][a], heads, keys, 1, c->x->in[HOP_SCAN_B][a], keys);
    if (!both) return false;
    c->turn[a] = hop__set_map(m, both, (hop__blocks){heads, 2 * keys, 1, dplr_block, &keys});
    c->s.turn = c->turn;
    return c->turn[a] != NULL;
}

static bool scan_class(scan *c, int a)
{
    const hop_op *op = c->op;
    hop__memory *m = c->w->m;
    c->v[a] = c->x->in[HOP_SCAN_V][a];
    if (op->core == HOP_CORE_MLSTM) return mlstm_class(c, a);
    if (op->core == HOP_CORE_DELTA && !delta_class(c, a)) return false;
    if (op->core == HOP_CORE_DPLR && !dplr_class(c, a)) return false;
    if (op->core != HOP_CORE_DELTA)
        c->k[a] = grouped(m, c->x->in[HOP_SCAN_K][a], op->kv_heads, op->key_dim, c->share, NULL, 0);
    if (m->status == HOP_OK && op->gate != HOP_GATE_NONE) {
        c->f[a] = decays(m, c->x->in[HOP_SCAN_G][a]);
        c->s.f_keys = op->gate == HOP_GATE_KEY ? op->key_dim : 1;
    }
    return m->status == HOP_OK;
}

static void scan_sets(hop__analysis *w, const hop__inputs *x, hop__set **y)
{
    const hop_op *op = x->op;
    hop__sets o = {0};
    scan c = {
        .w = w, .x = x, .op = op, .share = op->heads / op->kv_heads, .steps = op->steps > 1 ? op->steps : 1};
    c.s = (hop__reading_shape){
        .w = w, .heads = op->heads, .keys = op->key_dim, .values = op->value_dim, .q_heads = op->kv_heads};
    c.s.scale = hop__rounded(op->scale), c.s.steps = (double)c.steps, c.s.made = how_made(w, x);
    c.s.q = x->in[HOP_SCAN_Q], c.s.k = c.k, c.s.v = c.v, c.s.bonus = x->par[0];
    for (int a = 0; w->m->status == HOP_OK && a < w->facts.classes; a++)
        if (!scan_class(&c, a)) return;
    if (w->m->status != HOP_OK) return;
    if (c.s.f_keys) c.s.f = c.f;
    if (c.steps > 1) {
        many_steps(w, &c.s, c.steps, c.turn, y);
        return;
    }
    bool divides = op->core == HOP_CORE_MLSTM;
    if (!divides && c.s.f_keys) c.s.head_gain = x->head_gains;
    hop__weigh(&c.s, divides ? o : y);
    double limits[2] = {(double)op->value_dim, c.gate};
    hop__blocks quotients = {op->heads, op->value_dim + 1, op->value_dim, mlstm_block, limits};
    for (int a = 0; divides && w->m->status == HOP_OK && a < w->facts.classes; a++)
        y[a] = hop__set_map(w->m, o[a], quotients);
}

/* ---- channel by channel ---------------------------------------------------------------------------- */

typedef struct selective_arg {
    const float *a_log, *d;
    int64_t states;
} selective_arg;

/* A = -exp(min(A_log, 69)), as computed. */
static ival rate(double a_log)
{
    ival e = hop__exp_bounds(ival_point(ival_least(a_log, 69.0)));
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

static hop__recurrence selective_made(hop__analysis *w, const hop__inputs *x)
{
    hop__recurrence r = {.keys = (double)x->op->key_dim, .values = 1};
    hop__recurrence_open(w->m, &r, hop_scan_programs(HOP_ARITH_SELECTIVE, HOP_GATE_KEY, false));
    ival rates = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < x->op->width * x->op->key_dim; i++) rates = ival_hull(rates, rate(x->par[0][i]));
    give(&r, "x", numbers_of(w, x->in[HOP_SELECTIVE_X]));
    give(&r, "delta", numbers_of(w, x->in[HOP_SELECTIVE_DELTA]));
    give(&r, "A", hop__num_given(rates, HOP__NO_GRID));
    give(&r, "B", numbers_of(w, x->in[HOP_SELECTIVE_B]));
    give(&r, "C", numbers_of(w, x->in[HOP_SELECTIVE_C]));
    give(&r, "D",
         x->par[1] ? weights_of(x->par[1], x->op->width) : hop__num_given(ival_point(0), HOP__ANY_GRID));
    return r;
}

static void selective_sets(hop__analysis *w, const hop__inputs *x, hop__set **y)
{
    const hop_op *op = x->op;
    hop__memory *m = w->m;
    int64_t width = op->width, states = op->key_dim;
    selective_arg arg = {.a_log = x->par[0], .d = x->par[1], .states = states};
    hop__sets k = {0}, f = {0}, o = {0};
    hop__reading_shape s = {.w = w,
                            .heads = width,
                            .keys = states,
                            .values = 1,
                            .q_heads = 1,
                            .scale = 1,
                            .f_keys = states,
                            .steps = 1};
    s.made = selective_made(w, x);
    s.q = x->in[HOP_SELECTIVE_C], s.k = k, s.f = f, s.v = x->in[HOP_SELECTIVE_X];
    s.exps = true;
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

static void diagonal_sets(hop__analysis *w, const hop__inputs *x, hop__set **y)
{
    hop__memory *m = w->m;
    hop__sets f = {0};
    hop__reading_shape s = {.w = w,
                            .heads = x->op->width,
                            .keys = 1,
                            .values = 1,
                            .q_heads = 1,
                            .scale = 1,
                            .f_keys = 1,
                            .steps = 1};
    s.f = f, s.v = x->in[1];
    s.made = (hop__recurrence){.keys = 1, .values = 1};
    hop__recurrence_open(m, &s.made, hop_scan_programs(HOP_ARITH_DIAGONAL, HOP_GATE_KEY, false));
    give(&s.made, "a", numbers_of(w, x->in[0])), give(&s.made, "b", numbers_of(w, x->in[1]));
    for (int a = 0; m->status == HOP_OK && a < w->facts.classes; a++)
        f[a] = hop__set_map(m, x->in[0][a], (hop__blocks){x->op->width, 1, 1, unit_block, NULL});
    if (m->status == HOP_OK) hop__weigh(&s, y);
}

void hop__scan(hop__analysis *w, const hop__inputs *x, hop__set **y)
{
    switch (x->op->kind) {
    case HOP_OP_SELECTIVE: selective_sets(w, x, y); break;
    case HOP_OP_DIAGONAL: diagonal_sets(w, x, y); break;
    default: scan_sets(w, x, y);
    }
}
