/* Norms of rows: x / sqrt(mean x² + eps) and its like.
 *
 * Where one table alone decides what a row holds, the norm is an interval function of each of its rows. Where
 * several do, the row is not known as a whole; but if it has a large constant part, its length hardly varies,
 * and the norm is a product with one factor that lies between narrow bounds: tables pass through as they are,
 * and what the factor may be off goes into the box. */
#include "charge.h"
#include "analysis.h"

#include <string.h>

#define L2_EPS 1e-6
#define NARROW \
    0x1p-7 /* relative width of a factor up to which tables are worth more than their rows' lengths */

/* ---- row by row ---------------------------------------------------------------------------- */

/* x / sqrt((x² + o) · by + eps) for x, o and eps in intervals, o and eps >= 0: rises with x; farther from 0
 * the smaller o and eps are. */
static ival over_root(ival x, ival o, double by, ival eps)
{
    double at[2] = {x.lo, x.hi}, r[2];
    for (int i = 0; i < 2; i++) {
        bool far = i == 0 ? x.lo < 0 : x.hi >= 0;
        double root = sqrt((at[i] * at[i] + (far ? o.lo : o.hi)) * by + (far ? eps.lo : eps.hi));
        r[i] = at[i] == 0 ? 0 : at[i] / root;
    }
    if (x.lo == 0 && x.hi == 0) return x;
    return (ival){r[0] - 0x1p-44 * fabs(r[0]), r[1] + 0x1p-44 * fabs(r[1])};
}

static ival squares(const ival *x, int64_t dim)
{
    ival o = {0, 0};
    for (int64_t j = 0; j < dim; j++) o = ival_add(o, ival_square(x[j]));
    return o;
}

#define SLIGHT 0x1p-20 /* of the largest square: what counts for less is no rounding but a loss */

/* What rounding makes of a sum of squares in any order, relative to it: of each its own; as many more as there are
 * numbers that count; and three times the squares that do not, for adding one to a sum moves it by no more
 * than twice the square (docs/THEORY.md section 6.5). What falls below the normal numbers is not among it. x [dim];
 * ratio: squares may be so many times larger or smaller beside each other. */
static double sum_error(const ival *x, int64_t dim, double ratio)
{
    double largest = 0, slight = 0, count = 0;
    for (int64_t i = 0; i < dim; i++) largest = ival_most(largest, ival_square(x[i]).lo);
    for (int64_t i = 0; i < dim; i++) {
        double square = ival_square(x[i]).hi;
        if (square <= SLIGHT * largest)
            slight += square;
        else
            count++;
    }
    double lost = largest > 0 ? 3 * ratio * slight / largest * HOP__ABOVE : 0;
    return count < HOP__MOST_SUM ? HOP_DOT_ERROR(count + 1) + lost : INFINITY;
}

/* out [dim]: the sum of all squares but one: those before it and those behind it. */
static void other_squares(ival *out, const ival *x, int64_t dim)
{
    ival sum = {0, 0};
    for (int64_t i = 0; i < dim; i++) out[i] = sum, sum = ival_add(sum, ival_square(x[i]));
    sum = (ival){0, 0};
    for (int64_t i = dim - 1; i >= 0; i--)
        out[i] = ival_add(out[i], sum), sum = ival_add(sum, ival_square(x[i]));
}

typedef struct norm_arg {
    const float *w, *bias; /* [dim] for each block, or the same for all */
    int64_t dim;
    double eps;
    const hop__head_gain *head_gain; /* of what is normed; NULL: it does not */
    bool l2, centred, each;          /* each: every block has its own weights */
    ival *room;                      /* [3 dim] */
    hop_arith *centre, *norm;        /* programs: the mean is taken off (NULL: it is not); what follows */
} norm_arg;

/* ---- what the arithmetic loses ----------------------------------------------------------------- */

static hop__num within(ival x)
{
    return hop__num_given(x, HOP__NO_GRID);
}

static void give(hop__reading *r, const char *name, hop__num x)
{
    int i = hop_arith_find(r->p, name);
    if (i >= 0) r->v[i] = x;
}

/* A program over one row; x: all its numbers. */
static hop__reading read_row(const hop_arith *p, const norm_arg *a, ival x)
{
    hop__reading r = {.p = p, .tokens = 1, .terms = 1};
    r.size[HOP_AXIS_T] = r.size[HOP_AXIS_J] = r.size[HOP_AXIS_V] = 1, r.size[HOP_AXIS_K] = (double)a->dim;
    give(&r, "x", within(x)), give(&r, "n", within(ival_point((double)a->dim)));
    give(&r, "eps", within(ival_point(a->eps)));
    return r;
}

/* How far x - mean may be off. */
static double centring(const norm_arg *a, ival x, bool *fits)
{
    hop__reading r = read_row(a->centre, a, x);
    hop__reading_run(&r);
    const hop__num *y = &r.v[r.p->reads];
    *fits = *fits && r.fits;
    return (y->rel * y->mag + y->abs) * HOP__ABOVE;
}

static ival hull_of(const ival *x, int64_t n)
{
    ival all = x[0];
    for (int64_t i = 1; i < n; i++) all = ival_hull(all, x[i]);
    return all;
}

/* What a norm of numbers x [dim] loses, each in its own interval: relative to its result, and below that. What
 * head_gains is from half to one and a half times as large. */
static hop__charge row_charge(const norm_arg *a, const ival *x, const float *w)
{
    double most = 0;
    ival all = hull_of(x, a->dim), sum = squares(x, a->dim);
    if (a->head_gain) {
        all = (ival){-1.5 * ival_mag(all), 1.5 * ival_mag(all)};
        sum = (ival){0.25 * sum.lo, 2.25 * sum.hi};
    }
    hop__reading r = read_row(a->norm, a, all);
    for (int64_t i = 0; w && i < a->dim; i++) most = ival_most(most, fabs((double)w[i]));
    give(&r, "w", within(w ? (ival){-most, most} : ival_point(1)));
    sum = (ival){sum.lo * HOP__BELOW, sum.hi * HOP__ABOVE};
    hop__reading_know(&r, "sum", sum, sum_error(x, a->dim, a->head_gain ? 9 : 1));
    hop__reading_run(&r);
    const hop__num *y = &r.v[r.p->reads];
    return (hop__charge){.rel = y->rel, .abs = y->abs, .fits = r.fits};
}

/* ---- row by row ---------------------------------------------------------------------------- */

/* f x / sqrt(mean (f x)² + eps) = x / sqrt(mean x² + eps / f²): what head_gains as a whole head_gains no more behind
 * a norm, whose eps seems to instead. This is eps / f² for the factor of column c's head. */
static ival eps_of(const norm_arg *a, int64_t c)
{
    double by = a->head_gain ? a->head_gain->by[c / a->head_gain->dim] : 0;
    if (by == 0) return ival_point(a->eps);
    return (ival){a->eps / ((1 + by) * (1 + by)) * HOP__BELOW, a->eps / ((1 - by) * (1 - by)) * HOP__ABOVE};
}

/* The same with the squares of other heads, which have factors of their own: out [dim] gets (g/f)² of those
 * of a head with the factor g. `column`: of x[0]; room [dim]. */
static void other_heads_squares(ival *out, const ival *x, const norm_arg *a, int64_t column, ival *room)
{
    const hop__head_gain *s = a->head_gain;
    int64_t first = column / s->dim, heads = (column + a->dim - 1) / s->dim - first + 1; /* at most dim */
    for (int64_t h = 0; h < heads; h++) room[h] = (ival){0, 0};
    for (int64_t i = 0; i < a->dim; i++) {
        ival *of = &room[(column + i) / s->dim - first];
        *of = ival_add(*of, ival_square(x[i]));
    }
    for (int64_t h = 0, from = 0; h < heads; h++) {
        int64_t end = (first + h + 1) * s->dim - column < a->dim ? (first + h + 1) * s->dim - column : a->dim;
        double f = s->by[first + h];
        ival more = {0, 0};
        for (int64_t k = 0; k < heads; k++) {
            if (k == h || room[k].hi == 0) continue;
            double g = s->by[first + k], least = (1 - g) / (1 + f), most = (1 + g) / (1 - f);
            more = ival_add(more, (ival){ival_down(room[k].lo * least * least * HOP__BELOW),
                                         ival_up(room[k].hi * most * most * HOP__ABOVE)});
        }
        other_squares(out + from, x + from, end - from);
        for (int64_t i = from; i < end; i++) out[i] = ival_add(out[i], more);
        from = end;
    }
}

/* Give or take so much of itself, and so much. */
static ival off_by(ival y, const hop__charge *lost)
{
    return (ival){ival_down(y.lo - (fabs(y.lo) * lost->rel + lost->abs) * HOP__ABOVE),
                  ival_up(y.hi + (fabs(y.hi) * lost->rel + lost->abs) * HOP__ABOVE)};
}

/* x_i - mean = x_i (1 - 1/n) - (the others) / n; false: a sum may leave float32's range. */
static bool centred_row(const norm_arg *a, const ival *x, ival *y)
{
    double n = (double)a->dim, mag = 0;
    bool fits = true;
    ival sum = {0, 0};
    double off = centring(a, hull_of(x, a->dim), &fits);
    for (int64_t i = 0; i < a->dim; i++) mag = ival_most(mag, ival_mag(x[i])), sum = ival_add(sum, x[i]);
    for (int64_t i = 0; i < a->dim; i++) {
        ival rest = {ival_down(sum.lo - x[i].lo) - 0x1p-48 * n * mag,
                     ival_up(sum.hi - x[i].hi) + 0x1p-48 * n * mag};
        y[i] = ival_widen(ival_add(ival_scale(x[i], 1 - 1 / n), ival_scale(rest, -1 / n)), off);
    }
    return fits;
}

static void norm_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const norm_arg *a = arg;
    const float *w = a->w ? a->w + (a->each ? block * a->dim : 0) : NULL,
                *b = a->bias ? a->bias + (a->each ? block * a->dim : 0) : NULL;
    ival *c = a->room, *others = a->room + a->dim;
    bool fits = true;
    if (a->centred)
        fits = centred_row(a, x, c);
    else
        memcpy(c, x, sizeof *c * (size_t)a->dim);
    hop__charge lost = row_charge(a, c, w);
    if (a->head_gain)
        other_heads_squares(others, c, a, block * a->dim, a->room + 2 * a->dim);
    else
        other_squares(others, c, a->dim);
    for (int64_t i = 0; i < a->dim; i++) {
        ival v = over_root(c[i], others[i], a->l2 ? 1 : 1 / (double)a->dim, eps_of(a, block * a->dim + i));
        y[i] = w ? ival_scale(v, w[i]) : v;
        if (y[i].lo != 0 || y[i].hi != 0) y[i] = off_by(y[i], &lost);
        if (b && b[i] != 0) y[i] = hop__float(ival_add(y[i], ival_point(b[i])));
        if (!(fits && lost.fits)) y[i] = (ival){-INFINITY, INFINITY};
    }
}

/* ---- one factor for all rows ------------------------------------------------------------------ */

/* A column of the only head of a group whose numbers are not all 0; -1: there are several such heads; -2:
 * there is none. */
static int64_t only_head(const ival *range, const norm_arg *a, int64_t group)
{
    int64_t of = -2, dim = a->head_gain->dim;
    for (int64_t i = 0; i < a->dim; i++) {
        if (ival_mag(range[i]) == 0) continue;
        if (of >= 0 && of / dim != (group * a->dim + i) / dim) return -1;
        of = group * a->dim + i;
    }
    return of;
}

/* What a norm multiplies the numbers of a group by, whatever the row: false when that varies widely, or when
 * the sum of squares may leave float32's range. `range` [dim]: of the group's columns. */
static bool common_factor(const ival *range, const norm_arg *a, int64_t group, ival *factor,
                          hop__charge *lost)
{
    int64_t of = a->head_gain ? only_head(range, a, group) : 0;
    if (of == -1) return false;
    ival all = squares(range, a->dim), eps = eps_of(a, of < 0 ? 0 : of);
    double by = a->l2 ? 1 : 1 / (double)a->dim;
    *factor = (ival){0, 0};
    if (all.hi == 0) return eps.lo > 0; /* zeros stay what they are, unless it is 0 / 0 */
    hop__charge own = row_charge(a, range, a->w);
    lost->rel = ival_most(lost->rel, own.rel), lost->abs = ival_most(lost->abs, own.abs);
    if (!own.fits) return false;
    factor->lo = ival_down(1 / ival_up(sqrt(ival_up(ival_up(all.hi * by * HOP__ABOVE) + eps.hi))));
    factor->hi = ival_up(1 / ival_down(sqrt(ival_down(ival_down(all.lo * by * HOP__BELOW) + eps.lo))));
    return factor->lo > 0 && factor->hi - factor->lo <= NARROW * factor->lo;
}

/* y = x · factor · w, and what all that loses. */
static hop__set *scaled(hop__memory *m, const hop__set *x, const norm_arg *a, const ival *factor,
                        const hop__charge *lost)
{
    hop__set *y = hop__set_new(m, x->width);
    double *by = hop__take(m, x->width, sizeof *by);
    for (int t = 0; y && t < x->terms; t++) hop__set_term_like(m, y, &x->term[t]);
    if (m->status != HOP_OK) return NULL;
    for (int64_t c = 0; c < x->width; c++) {
        ival f = factor[c / a->dim];
        double w = a->w ? a->w[c % a->dim] : 1, mid = ival_mid(f);
        by[c] = mid * w;
        y->mid[c] = x->mid[c] * by[c];
        if (x->mag[c] == 0 || w == 0) continue;
        double off = fabs(w) * (mid * x->rad[c] + (ival_rad(f) + (lost->rel + 0x1p-48) * f.hi) * x->mag[c]);
        y->rad[c] = ival_up((off + lost->abs) * HOP__ABOVE);
    }
    for (int t = 0; t < x->terms; t++)
        for (int64_t r = 0; r < x->term[t].rows; r++)
            for (int64_t c = x->term[t].first; c < x->term[t].first + x->term[t].count; c++)
                *hop__term_cell(&y->term[t], r, c) = hop__term_at(&x->term[t], r, c) * by[c];
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* Does no group of columns depend on two tables? */
static bool one_table_a_group(const hop__set *x, int64_t dim)
{
    for (int t = 1; t < x->terms; t++)
        for (int i = 0; i < t; i++) {
            const hop__term *a = &x->term[i], *b = &x->term[t];
            if (a->first / dim <= (b->first + b->count - 1) / dim &&
                b->first / dim <= (a->first + a->count - 1) / dim)
                return false;
        }
    return true;
}

static double row_by_row_work(const hop__set *x, int64_t groups, int64_t dim)
{
    double work = 0;
    if (x->terms < 2)
        return (double)groups * (double)dim * (double)dim * (double)(x->terms ? x->term[0].rows : 1);
    for (int t = 0; t < x->terms; t++)
        work += (double)x->term[t].rows * (double)x->term[t].count * (double)dim;
    return work;
}

/* NULL, and no status: row by row is better. */
static hop__set *with_one_factor(hop__memory *m, const hop__set *x, int64_t groups, const norm_arg *a)
{
    hop__charge lost = {.fits = true};
    if (a->centred || a->bias || (one_table_a_group(x, a->dim) && row_by_row_work(x, groups, a->dim) < 4e6))
        return NULL;
    ival *range = hop__take(m, x->width, sizeof *range), *factor = hop__take(m, groups, sizeof *factor);
    if (m->status != HOP_OK) return NULL;
    hop__set_ranges(x, range);
    for (int64_t g = 0; g < groups; g++)
        if (!common_factor(range + g * a->dim, a, g, &factor[g], &lost)) return NULL;
    x = hop__set_folded(m, (hop__set *)x);
    return x ? scaled(m, x, a, factor, &lost) : NULL;
}

static hop_arith *opened(hop__memory *m, hop_op_kind kind, int part)
{
    hop_arith *p = hop__take(m, 1, sizeof *p);
    if (p) hop_arith_open(p, hop_op_program(&(hop_op){.kind = kind}, part));
    return p;
}

/* relative: the caller knows of rel. */
static hop__set *normed(hop__memory *m, const hop__set *x, int64_t groups, norm_arg a, bool relative)
{
    a.norm = opened(m, a.l2 ? HOP_OP_L2 : HOP_OP_RMS, 0);
    if (a.centred) a.centre = opened(m, HOP_OP_GROUPNORM, 0);
    if (m->status != HOP_OK) return NULL;
    hop__set *y = with_one_factor(m, x, groups, &a);
    if (y || m->status != HOP_OK) return y;
    a.room = hop__take(m, 3 * a.dim, sizeof *a.room);
    hop__blocks each = {groups, a.dim, a.dim, norm_block, &a};
    return relative ? hop__set_map_relative(m, x, each) : hop__set_map(m, x, each);
}

hop__set *hop__set_norm(hop__memory *m, const hop__set *x, hop_norm norm, const float *weight,
                        const float *bias, double eps)
{
    if (norm == HOP_NORM_NONE) return hop__set_columns(m, x, 0, x->width);
    norm_arg a = {.w = weight,
                  .bias = bias,
                  .dim = x->width,
                  .eps = hop__rounded(eps),
                  .centred = norm == HOP_NORM_LAYER};
    return normed(m, x, 1, a, false);
}

hop__set *hop__set_norm_op(hop__memory *m, const hop__set *x, const hop_op *op, const float *weight,
                           const float *bias, const hop__head_gain *head_gain)
{
    norm_arg a = {.dim = op->dim, .eps = hop__rounded(op->eps)};
    int64_t groups = op->groups > 1 ? op->groups : 1;
    if (op->kind == HOP_OP_L2) {
        a.l2 = true, a.eps = L2_EPS;
        return normed(m, x, groups, a, true);
    }
    a.w = weight;
    if (head_gain && head_gain->by) a.head_gain = head_gain;
    if (op->kind == HOP_OP_GROUPNORM) a.bias = bias, a.centred = a.each = true;
    return normed(m, x, groups, a, op->kind == HOP_OP_RMS);
}
