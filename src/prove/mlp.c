/* x + mlp(norm(x)).
 *
 * With ReLUs the stream and the MLP share what they work on: clip(y) = y + relu(-y-1) - relu(y-1) forgets y's
 * error only if both are looked at together. So a ReLU is replaced by a straight line, 0 or its argument,
 * whichever is nearer over the range that the argument has, and what is between them goes into the box. Then
 * each coordinate of the result is one linear function of the stream, whose terms and box pass through its
 * coefficients as a whole. Which line is taken may depend on the row of one term, the one that moves the
 * arguments most: that is how the bits of a code are told apart. */
#include "elements.h"
#include "analysis.h"

#include <string.h>

#define MOST_WORK 4e10 /* beyond this, units are taken as boxes */
#define PATTERNS  16

typedef struct mlp {
    hop__analysis *w;
    int class;
    const hop__set *in;    /* what it is given: the stream or its norm */
    const hop__set *x, *z; /* the stream, and what the ReLUs are given: the same terms, row for row */
    const double *lost;    /* [hidden]: z's rounding */
    const float *up, *down, *bias;
    int64_t d, hidden;
} mlp;

/* A coordinate of the result: the units that write it, and the coordinates of the stream that these look at.
 */
typedef struct column {
    int64_t c, units, support;
    int64_t *unit, *from, *place; /* [hidden]; [d]; [d]: a coordinate's place in `from`, -1: not there */
    double *gain;                 /* [units] */
    ival *rest;                   /* [units]: the argument without the deciding term */
    bool *on;                     /* [units] */
    double *middle;               /* [units]: how far above its line a ReLU is, on average */
    double *coef, *least, *most;  /* [support]: of one row, and over all rows */
    double box;                   /* the most that box and lines may be off, over all rows */
    uint64_t seen[PATTERNS];      /* patterns of units that are on, already counted */
    int patterns;
} column;

static bool column_room(hop__memory *m, column *k, int64_t d, int64_t hidden)
{
    *k = (column){.unit = hop__take(m, hidden, sizeof(int64_t)), .from = hop__take(m, d, sizeof(int64_t))};
    k->place = hop__take(m, d, sizeof(int64_t));
    k->gain = hop__take(m, hidden, sizeof(double));
    k->rest = hop__take(m, hidden, sizeof(ival));
    k->on = hop__take(m, hidden, sizeof(bool));
    k->middle = hop__take(m, hidden, sizeof(double));
    k->coef = hop__take(m, d, sizeof(double));
    k->least = hop__take(m, d, sizeof(double));
    k->most = hop__take(m, d, sizeof(double));
    for (int64_t i = 0; k->place && i < d; i++) k->place[i] = -1;
    return m->status == HOP_OK;
}

static void column_start(column *k, const mlp *p, int64_t c)
{
    for (int64_t i = 0; i < k->support; i++) k->place[k->from[i]] = -1;
    k->c = c, k->units = k->support = k->patterns = 0, k->box = 0;
    k->place[c] = k->support, k->from[k->support++] = c;
    for (int64_t j = 0; j < p->hidden; j++) {
        double g = p->down[c * p->hidden + j];
        if (g == 0) continue;
        k->unit[k->units] = j, k->gain[k->units++] = g;
        for (int64_t i = 0; i < p->d; i++)
            if (p->up[j * p->d + i] != 0 && k->place[i] < 0)
                k->place[i] = k->support, k->from[k->support++] = i;
    }
    for (int64_t i = 0; i < k->support; i++) k->least[i] = INFINITY, k->most[i] = -INFINITY;
}

static void rest_ranges(const mlp *p, column *k, int deciding)
{
    for (int64_t u = 0; u < k->units; u++) {
        int64_t j = k->unit[u];
        ival r = ival_point(p->z->mid[j]);
        for (int t = 0; t < p->z->terms; t++)
            if (t != deciding) r = ival_add(r, hop__set_term_range(p->z, t, j));
        k->rest[u] = ival_widen(r, p->z->rad[j]);
    }
}

/* A straight line for every unit, given row r of the deciding term: how far they may be off together. *clip:
 * how far the nearest argument is from changing sides. */
static double choose_lines(column *k, const hop__term *z, int64_t r, double *clip)
{
    double error = 0;
    for (int64_t u = 0; u < k->units; u++) {
        ival a = ival_add(k->rest[u], ival_point(z ? hop__term_at(z, r, k->unit[u]) : 0));
        double dead = ival_most(a.hi, 0),
               live = ival_most(-a.lo, 0); /* the ReLU is in [0, dead] and in a + [0, live] */
        k->on[u] = live <= dead;
        k->middle[u] = 0.5 * ival_least(dead, live);
        error += fabs(k->gain[u]) * k->middle[u] * HOP__ABOVE;
        if (a.lo != a.hi)
            *clip = ival_least(*clip, a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : -ival_least(dead, live));
        if (!(a.hi >= a.lo)) error = INFINITY;
    }
    return error;
}

/* How far the lines are off when they may depend on the rows of term t (-1: of none), at the most. */
static double deciding_error(const mlp *p, column *k, int t)
{
    double most = 0, clip = INFINITY;
    rest_ranges(p, k, t);
    for (int64_t r = 0; r < (t < 0 ? 1 : p->z->term[t].rows); r++)
        most = ival_most(most, choose_lines(k, t < 0 ? NULL : &p->z->term[t], r, &clip));
    return most;
}

/* The term whose rows tell the units' sides apart best; -1: none does. A mixture is not one of its rows: it
 * cannot. */
static int deciding_term(const mlp *p, column *k)
{
    int best = -1;
    double least = k->units ? deciding_error(p, k, -1) : 0;
    for (int t = 0; t < p->z->terms && least > 0; t++) {
        bool moves = false;
        for (int64_t u = 0; !p->z->term[t].mixture && u < k->units && !moves; u++) {
            ival range = hop__set_term_range(p->z, t, k->unit[u]);
            moves = range.lo != range.hi;
        }
        double error = moves ? deciding_error(p, k, t) : INFINITY;
        if (error < least) least = error, best = t;
    }
    return best;
}

static bool known_pattern(column *k)
{
    uint64_t bits = 0;
    if (k->units > 64) return false;
    for (int64_t u = 0; u < k->units; u++) bits |= (uint64_t)k->on[u] << u;
    for (int i = 0; i < k->patterns; i++)
        if (k->seen[i] == bits) return true;
    if (k->patterns < PATTERNS) k->seen[k->patterns++] = bits;
    return false;
}

/* The result's coefficients for the lines chosen, and what the box makes of them. */
static double through_box(const mlp *p, column *k)
{
    double box = 0;
    for (int64_t i = 0; i < k->support; i++) k->coef[i] = i == 0; /* the stream itself stands first */
    for (int64_t u = 0; u < k->units; u++)
        for (int64_t i = 0; k->on[u] && i < k->support; i++)
            k->coef[i] += k->gain[u] * p->up[k->unit[u] * p->d + k->from[i]];
    for (int64_t i = 0; i < k->support; i++) {
        k->least[i] = ival_least(k->least[i], k->coef[i]), k->most[i] = ival_most(k->most[i], k->coef[i]);
        box += fabs(k->coef[i]) * p->x->rad[k->from[i]];
    }
    return box;
}

/* Rows of the deciding term (or the one row there is) into y. */
static void deciding_rows(const mlp *p, column *k, int deciding, hop__set *y)
{
    const hop__term *x = deciding >= 0 ? &p->x->term[deciding] : NULL, *z = x ? &p->z->term[deciding] : NULL;
    double widest = 0, clip = INFINITY; /* widest: box of the patterns seen */
    for (int64_t r = 0; r < (x ? x->rows : 1); r++) {
        double error = choose_lines(k, z, r, &clip), sum = x ? hop__term_at(x, r, k->c) : 0;
        for (int64_t u = 0; u < k->units; u++)
            sum += k->gain[u] *
                   (k->middle[u] +
                    (k->on[u] ? p->z->mid[k->unit[u]] + (z ? hop__term_at(z, r, k->unit[u]) : 0) : 0));
        if (!known_pattern(k)) widest = ival_most(widest, through_box(p, k));
        k->box = ival_most(k->box, error);
        if (x)
            *hop__term_cell(&y->term[deciding], r, k->c) = sum;
        else
            y->mid[k->c] = sum;
    }
    k->box += widest;
    if (p->class == p->w->answering) p->w->margin.clip_margin = ival_least(p->w->margin.clip_margin, clip);
}

/* The other terms pass through the mean coefficients; where these vary with the deciding row, that is in the
 * box. */
static void other_rows(const mlp *p, column *k, int deciding, hop__set *y)
{
    for (int t = 0; t < p->x->terms; t++) {
        const hop__term *x = &p->x->term[t];
        for (int64_t i = 0; t != deciding && i < k->support; i++) {
            if (!hop__term_fills(x, k->from[i])) continue;
            double mean = 0.5 * (k->most[i] + k->least[i]), half = k->most[i] - mean, most = 0;
            for (int64_t r = 0; r < x->rows; r++) {
                double v = hop__term_at(x, r, k->from[i]);
                *hop__term_cell(&y->term[t], r, k->c) += mean * v;
                most = ival_most(most, fabs(v));
            }
            k->box += (half + 0x1p-50 * fabs(mean)) * most * (half > 0);
        }
    }
}

/* ---- functions of one number ---------------------------------------------------------------- */

/* The only coordinate that a result depends on, all others being constant; -1: there are several. Its largest
 * and smallest value over an interval can be had without straight lines: they are at the ends or where a unit
 * changes sides. */
static int64_t only_input(const mlp *p, const column *k)
{
    int64_t found = -1;
    if (k->units == 0 || k->units > 32) return -1;
    for (int64_t n = 0; n < k->support; n++) {
        int64_t i = k->from[n];
        ival range = hop__set_range(p->x, i);
        if (ival_is_point(range) && p->x->rad[i] == 0) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

/* The result when coordinate `input` is v; *mag: of all that is added up. */
static double result_at(const mlp *p, const column *k, int64_t input, double v, double *mag)
{
    double sum = k->c == input ? v : p->x->mid[k->c];
    *mag = fabs(sum);
    for (int64_t u = 0; u < k->units; u++) {
        int64_t j = k->unit[u];
        double w = p->up[j * p->d + input], z = p->z->mid[j] + w * (v - p->x->mid[input]);
        *mag +=
            fabs(k->gain[u]) * (fabs(z) + fabs(p->z->mid[j]) + fabs(w) * (fabs(v) + fabs(p->x->mid[input])));
        if (z > 0) sum += k->gain[u] * z;
    }
    return sum;
}

static ival result_over(const mlp *p, const column *k, int64_t input, ival v)
{
    ival y = {INFINITY, -INFINITY};
    double slack = 0;
    for (int64_t u = -2; u < k->units; u++) {
        double at = u == -2 ? v.lo : v.hi, mag;
        if (u >= 0) {
            double w = p->up[k->unit[u] * p->d + input];
            if (w == 0) continue;
            at = p->x->mid[input] - p->z->mid[k->unit[u]] / w;
            if (!(at > v.lo && at < v.hi)) continue;
        }
        y = ival_hull(y, ival_point(result_at(p, k, input, at, &mag)));
        slack = ival_most(slack, mag * (double)(k->units + 4) * 0x1p-50);
    }
    bool exact = ival_is_point(v) && p->x->grid[input] != HOP__NO_GRID && ival_is_point(y);
    return exact ? y : ival_widen(y, slack);
}

/* How far the nearest unit is from changing sides. */
static double clip_over(const mlp *p, const column *k, int64_t input, ival v)
{
    double least = INFINITY;
    for (int64_t u = 0; u < k->units; u++) {
        double w = p->up[k->unit[u] * p->d + input],
               a = p->z->mid[k->unit[u]] + w * (v.lo - p->x->mid[input]),
               b = p->z->mid[k->unit[u]] + w * (v.hi - p->x->mid[input]), lo = ival_least(a, b),
               hi = ival_most(a, b);
        if (lo != hi) least = ival_least(least, lo > 0 ? lo : hi < 0 ? -hi : -ival_least(hi, -lo));
    }
    return least;
}

/* All values of the result, row by row of the term that moves its input most. */
static void one_input(const mlp *p, column *k, int64_t input, hop__set *y)
{
    const hop__set *x = p->x;
    int deciding = -1;
    double widest = 0;
    ival rest = ival_point(x->mid[input]);
    for (int t = 0; t < x->terms; t++) {
        ival r = hop__set_term_range(x, t, input);
        if (!x->term[t].mixture && r.hi - r.lo > widest) widest = r.hi - r.lo, deciding = t;
    }
    for (int t = 0; t < x->terms; t++)
        if (t != deciding) rest = ival_add(rest, hop__set_term_range(x, t, input));
    rest = ival_widen(rest, x->rad[input]);
    const hop__term *d = deciding >= 0 ? &x->term[deciding] : NULL;
    for (int64_t r = 0; r < (d ? d->rows : 1); r++) {
        ival v = d ? ival_add(rest, ival_point(hop__term_at(d, r, input))) : rest,
             all = result_over(p, k, input, v);
        double mid = ival_is_point(all) ? all.lo : ival_mid(all);
        k->box = ival_most(k->box, ival_rad(all));
        if (d)
            *hop__term_cell(&y->term[deciding], r, k->c) = mid;
        else
            y->mid[k->c] = mid;
        if (!(all.hi >= all.lo)) k->box = INFINITY;
        if (p->class == p->w->answering)
            p->w->margin.clip_margin = ival_least(p->w->margin.clip_margin, clip_over(p, k, input, v));
    }
}

/* What float32 loses: in the arguments, in the sum over units, in the sum with the stream; and what is lost
 * here. */
static double rounding(const mlp *p, const column *k)
{
    const hop__set *x = p->x, *z = p->z;
    double bias = p->bias ? p->bias[k->c] : 0, mag = x->mag[k->c] + fabs(bias), sum = 0, own = mag;
    int grid = x->grid[k->c], low = hop__low_bit(bias);
    if (low < grid) grid = low;
    if (!k->units && bias == 0) return 0;
    for (int64_t u = 0; u < k->units; u++) {
        int64_t j = k->unit[u];
        mag += fabs(k->gain[u]) * z->mag[j];
        sum += fabs(k->gain[u]) * p->lost[j];
        low = hop__low_bit(k->gain[u]);
        if (z->grid[j] == HOP__NO_GRID)
            grid = HOP__NO_GRID;
        else if (z->grid[j] != HOP__ANY_GRID && grid != HOP__NO_GRID && low + z->grid[j] < grid)
            grid = low + z->grid[j];
        for (int64_t i = 0; i < p->d; i++) own += fabs(k->gain[u] * p->up[j * p->d + i]) * x->mag[i];
    }
    if (!(mag < HOP__LARGEST) || k->units > HOP__MOST_SUM) p->w->m->overflow = true;
    if (k->box == 0 && sum == 0 && hop__exact_sum(grid, mag) && hop__cut_exact(p->w->bits, grid, mag))
        return 0;
    double terms = (double)k->units + 2;
    sum +=
        2 * hop__cut_error(p->w->bits, mag * (1 + 0x1p-8) + sum); /* the sum over units, and the stream's */
    return sum + (HOP_DOT_ERROR(terms) + 2 * HOP_UNIT_ROUNDOFF) * mag + (own + mag) * terms * 0x1p-50 +
           (terms + 4) * 0x1p-149;
}

/* Arguments are cut; what a ReLU makes of one is as far off as that, and has no more bits. */
static void cut_arguments(hop__set *z, double *lost, int bits)
{
    for (int64_t j = 0; bits > 0 && j < z->width; j++) {
        if (hop__cut_exact(bits, z->grid[j], z->mag[j])) continue;
        double error = hop__cut_error(bits, z->mag[j]);
        lost[j] = ival_up(lost[j] + error), z->mag[j] = ival_up(z->mag[j] + error);
    }
}

static hop__set *relu_mlp(const mlp *p)
{
    hop__memory *m = p->w->m;
    column k = {0};
    hop__set *raw = hop__set_new(m, p->d);
    if (!raw || !column_room(m, &k, p->d, p->hidden) || !hop__set_reserve(m, raw, p->x->terms)) return NULL;
    /* The same terms as x's, row for row. */
    for (int t = 0; t < p->x->terms; t++) hop__set_term_over(m, raw, &p->x->term[t], 0, p->d);
    for (int64_t c = 0; m->status == HOP_OK && c < p->d; c++) {
        column_start(&k, p, c);
        int64_t input = only_input(p, &k);
        double bias = p->bias ? p->bias[c] : 0;
        if (input >= 0) {
            one_input(p, &k, input, raw);
            raw->mid[c] += bias;
        } else {
            int deciding = deciding_term(p, &k);
            rest_ranges(p, &k, deciding);
            deciding_rows(p, &k, deciding, raw);
            other_rows(p, &k, deciding, raw);
            raw->mid[c] += p->x->mid[c] + bias;
        }
        double more = rounding(p, &k);
        if (!(k.box + more <= 0)) raw->rad[c] = ival_up((k.box + more) * HOP__ABOVE);
    }
    hop__set_canonical(m, raw);
    return m->status == HOP_OK ? raw : NULL;
}

/* ---- other MLPs ---------------------------------------------------------------------------- */

/* [gate, up] */
static void swiglu_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    hop__elements *program = (hop__elements *)(uintptr_t)arg; /* whose room is written */
    (void)block;
    hop__elements_give(program, "gate", x);
    hop__elements_give(program, "up", x + 1);
    *y = *hop__elements_run(program);
}

static hop__matrix dense(const hop__analysis *a, const float *w, const float *bias, int64_t out, int64_t in)
{
    return (hop__matrix){.w = w,
                         .bias = bias,
                         .out = out,
                         .in = in,
                         .row_step = in,
                         .col_step = 1,
                         .later = hop__others_units(a)};
}

static const float *layer_weight(const hop__analysis *w, const char *part)
{
    const hop_weight *x = hop_model_layer_weight(w->model, w->layer, part);
    return x ? x->data : NULL;
}

static double relu_work(const mlp *p)
{
    double rows = 1, nonzero = 0;
    for (int t = 0; t < p->x->terms; t++) rows += (double)p->x->term[t].rows;
    for (int64_t i = 0; i < p->d * p->hidden; i++) nonzero += p->down[i] != 0;
    return (rows + (double)p->d) * (nonzero + (double)p->d);
}

static hop__set *boxed_mlp(hop__memory *m, const mlp *p, hop_mlp kind, const hop__set *z,
                           const hop__set *gate)
{
    hop__set *h;
    if (kind == HOP_MLP_SWIGLU) {
        const hop__set *both[2] = {gate, z};
        int64_t *order = hop__take(m, 2 * p->hidden, sizeof *order);
        hop__set *all = hop__set_beside(m, both, 2);
        for (int64_t i = 0; order && i < 2 * p->hidden; i++) order[i] = i / 2 + i % 2 * p->hidden;
        all = all && order ? hop__set_gather(m, all, order, 2 * p->hidden) : NULL;
        hop__elements program;
        if (!hop__elements_open(m, &program, hop_swiglu_program(), 1, 1)) return NULL;
        h = all ? hop__set_map(m, all, (hop__blocks){p->hidden, 2, 1, swiglu_block, &program}) : NULL;
    } else {
        h = hop__set_act(m, z, kind == HOP_MLP_GELU ? HOP_ACT_GELU : HOP_ACT_RELU, 1, 1);
    }
    h = hop__set_rounded(m, h, p->w->bits);
    hop__set *y = h ? hop__set_linear(m, h, dense(p->w, p->down, p->bias, p->d, p->hidden)) : NULL;
    y = hop__set_rounded(m, y, p->w->bits);
    const hop_norms norms = hop__layer_norms(p->w);
    if (y && norms == HOP_NORMS_BEHIND) y = hop__block_norm(p->w, y, true, "post_mixer_layernorm");
    return y ? hop__set_rounded(m, hop__set_add(m, norms == HOP_NORMS_KEPT ? p->in : p->x, y), p->w->bits)
             : NULL;
}

hop__set *hop__set_mlp(hop__analysis *w, int class, const hop__set *x)
{
    const hop_config *c = hop_model_config(w->model);
    hop__memory *m = w->m;
    if (c->mlp == HOP_MLP_NONE) return hop__set_columns(m, x, 0, x->width);
    mlp p = {.w = w, .class = class, .x = x, .d = c->d_model, .hidden = c->mlp_hidden};
    p.up = layer_weight(w, "mlp.up_proj.weight"), p.down = layer_weight(w, "mlp.down_proj.weight");
    p.bias = layer_weight(w, "mlp.down_proj.bias");
    const float *up_bias = layer_weight(w, "mlp.up_proj.bias"),
                *gate = layer_weight(w, "mlp.gate_proj.weight");
    bool shared = c->norm == HOP_NORM_NONE && c->mlp == HOP_MLP_RELU && relu_work(&p) < MOST_WORK;
    double *lost = hop__take(m, p.hidden, sizeof *lost);
    const bool before = hop__layer_norms(w) != HOP_NORMS_BEHIND;
    const hop__set *in = p.in = hop__block_norm(w, x, before, "post_mixer_layernorm");
    if (!in || !lost) return NULL;
    hop__set *z = hop__set_linear_rows(m, shared ? x : in, dense(w, p.up, up_bias, p.hidden, p.d), lost);
    if (!z) return NULL;
    p.z = z, p.lost = lost;
    if (shared) {
        cut_arguments(z, lost, w->bits);
        return relu_mlp(&p);
    }
    hop__set_canonical(m, z);
    z = hop__set_rounded(m, z, w->bits);
    hop__set *g = gate ? hop__set_linear(m, in, dense(w, gate, NULL, p.hidden, p.d)) : NULL;
    g = hop__set_rounded(m, g, w->bits);
    return m->status == HOP_OK ? boxed_mlp(m, &p, c->mlp, z, g) : NULL;
}
