/* Norms of rows: x / sqrt(mean x² + eps) and its like.
 *
 * Where one table alone decides what a row holds, the norm is an interval function of each of its rows. Where
 * several do, the row is not known as a whole; but if it has a large constant part, its length hardly varies,
 * and the norm is a product with one factor that lies between narrow bounds: tables pass through as they are,
 * and what the factor may be off goes into the box. */
#include "walk.h"

#include <string.h>

#define L2_EPS 1e-6
#define NARROW \
    0x1p-7 /* relative width of a factor up to which tables are worth more than their rows' lengths */

/* ---- row by row ---------------------------------------------------------------------------- */

/* x / sqrt((x² + o) · by + eps) for x, o and eps in intervals, o and eps >= 0: rises with x; farther from 0
 * the smaller o and eps are. */
static ival over_root(ival x, ival o, double by, ival eps, double error)
{
    double at[2] = {x.lo, x.hi}, r[2];
    for (int i = 0; i < 2; i++) {
        bool far = i == 0 ? x.lo < 0 : x.hi >= 0;
        double root = sqrt((at[i] * at[i] + (far ? o.lo : o.hi)) * by + (far ? eps.lo : eps.hi));
        r[i] = at[i] == 0 ? 0 : at[i] / root;
    }
    if (x.lo == 0 && x.hi == 0) return x;
    return hop__about((ival){r[0], r[1]}, error);
}

static ival squares(const ival *x, int64_t dim)
{
    ival o = {0, 0};
    for (int64_t j = 0; j < dim; j++) o = ival_add(o, ival_square(x[j]));
    return o;
}

#define SLIGHT 0x1p-20 /* of the largest square: what counts for less is no rounding but a loss */

/* What a norm loses, relative to its result: the sum of squares in any order, as many roundings as there are
 * numbers that count, and three times the squares that do not: adding one to a sum moves it by no more than
 * twice the square (docs/THEORY.md section 6.5). Of this half is left in the root's inverse. x [dim], before
 * weights; ratio: squares may be so many times larger or smaller beside each other. */
static double norm_error(const ival *x, int64_t dim, double ratio)
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
    double lost = largest > 0 ? 3 * ratio * slight / largest * (1 + 1e-9) : 0;
    return fmin((count + 32) * 2 * HOP_UNIT_ROUNDOFF + lost, ((double)dim + 32) * 2 * HOP_UNIT_ROUNDOFF);
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
    const hop__swing *swing; /* of what is normed; NULL: it does not */
    bool centred, each;      /* each: every block has its own weights */
    ival *room;              /* [3 dim] */
} norm_arg;

/* f x / sqrt(mean (f x)² + eps) = x / sqrt(mean x² + eps / f²): what swings as a whole swings no more behind
 * a norm, whose eps seems to instead. This is eps / f² for the factor of column c's head. */
static ival eps_of(const norm_arg *a, int64_t c)
{
    double by = a->swing ? a->swing->by[c / a->swing->dim] : 0;
    if (by == 0) return ival_point(a->eps);
    return (ival){a->eps / ((1 + by) * (1 + by)) * (1 - 0x1p-40),
                  a->eps / ((1 - by) * (1 - by)) * (1 + 0x1p-40)};
}

/* The same with the squares of other heads, which have factors of their own: out [dim] gets (g/f)² of those
 * of a head with the factor g. `column`: of x[0]; room [dim]. */
static void other_heads_squares(ival *out, const ival *x, const norm_arg *a, int64_t column, ival *room)
{
    const hop__swing *s = a->swing;
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
            more = ival_add(more, (ival){ival_down(room[k].lo * least * least * (1 - 0x1p-40)),
                                         ival_up(room[k].hi * most * most * (1 + 0x1p-40))});
        }
        other_squares(out + from, x + from, end - from);
        for (int64_t i = from; i < end; i++) out[i] = ival_add(out[i], more);
        from = end;
    }
}

static void l2_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    int64_t dim = ((const norm_arg *)arg)->dim;
    ival *others = ((const norm_arg *)arg)->room;
    double error = 0x1p-21; /* sums are double, their root's inverse is a float, denormal for huge ones */
    (void)block;
    for (int64_t i = 0; i < dim; i++) error += 0x1p-147 * ival_mag(x[i]);
    other_squares(others, x, dim);
    for (int64_t i = 0; i < dim; i++) y[i] = over_root(x[i], others[i], 1, ival_point(L2_EPS), error);
}

static void norm_block(const void *arg, int64_t block, const ival *x, ival *y)
{
    const norm_arg *a = arg;
    const float *w = a->w + (a->each ? block * a->dim : 0),
                *b = a->bias ? a->bias + (a->each ? block * a->dim : 0) : NULL;
    double n = (double)a->dim, mag = 0,
           error = a->centred ? (n + 32) * 2 * HOP_UNIT_ROUNDOFF : norm_error(x, a->dim, a->swing ? 9 : 1);
    ival sum = {0, 0};
    for (int64_t i = 0; i < a->dim; i++) mag = ival_most(mag, ival_mag(x[i])), sum = ival_add(sum, x[i]);
    for (int64_t i = 0; i < a->dim; i++) y[i] = x[i];
    for (int64_t i = 0; a->centred && i < a->dim; i++) {
        /* x_i - mean = x_i (1 - 1/n) - (the others) / n */
        ival rest = {ival_down(sum.lo - x[i].lo) - 0x1p-48 * n * mag,
                     ival_up(sum.hi - x[i].hi) + 0x1p-48 * n * mag};
        y[i] = ival_add(ival_scale(x[i], 1 - 1 / n), ival_scale(rest, -1 / n));
        y[i] = ival_widen(y[i], error * mag);
    }
    ival *c = a->room, *others = a->room + a->dim;
    for (int64_t i = 0; i < a->dim; i++) c[i] = y[i];
    /* The sum of squares must neither overflow nor drown in what squares lose below the normal numbers. */
    ival all = squares(c, a->dim);
    if (a->swing)
        other_heads_squares(others, c, a, block * a->dim, a->room + 2 * a->dim);
    else
        other_squares(others, c, a->dim);
    bool fits = all.hi < HOP__LARGEST && all.lo / n + a->eps > 1e-29; /* factors are from 1/2 to 3/2 */
    for (int64_t i = 0; i < a->dim; i++) {
        ival v = over_root(c[i], others[i], 1 / n, eps_of(a, block * a->dim + i), error);
        y[i] = hop__float(ival_scale(v, w[i]));
        if (b && b[i] != 0) y[i] = hop__float(ival_add(y[i], ival_point(b[i])));
        if (!fits) y[i] = (ival){-INFINITY, INFINITY};
    }
}

/* ---- one factor for all rows ------------------------------------------------------------------ */

/* A column of the only head of a group whose numbers are not all 0; -1: there are several such heads; -2:
 * there is none. */
static int64_t only_head(const ival *range, const norm_arg *a, int64_t group)
{
    int64_t of = -2, dim = a->swing->dim;
    for (int64_t i = 0; i < a->dim; i++) {
        if (ival_mag(range[i]) == 0) continue;
        if (of >= 0 && of / dim != (group * a->dim + i) / dim) return -1;
        of = group * a->dim + i;
    }
    return of;
}

/* What a norm multiplies the numbers of a group by, whatever the row: false when that varies widely, or when
 * the sum of squares may leave float32's range. `range` [dim]: of the group's columns. */
static bool common_factor(const ival *range, const norm_arg *a, int64_t group, bool l2, ival *factor)
{
    int64_t of = a->swing ? only_head(range, a, group) : 0;
    if (of == -1) return false;
    ival all = squares(range, a->dim), eps = l2 ? ival_point(L2_EPS) : eps_of(a, of < 0 ? 0 : of);
    double by = l2 ? 1 : 1 / (double)a->dim;
    *factor = (ival){0, 0};
    if (all.hi == 0) return eps.lo > 0; /* zeros stay what they are, unless it is 0 / 0 */
    if (!(all.hi < HOP__LARGEST && all.lo * by + eps.lo > 1e-30)) return false;
    factor->lo = ival_down(1 / ival_up(sqrt(ival_up(ival_up(all.hi * by * (1 + 0x1p-50)) + eps.hi))));
    factor->hi = ival_up(1 / ival_down(sqrt(ival_down(ival_down(all.lo * by * (1 - 0x1p-50)) + eps.lo))));
    return factor->lo > 0 && factor->hi - factor->lo <= NARROW * factor->lo;
}

/* y = x · factor · w: products lose their rounding, and the factor its own, which is `error`. */
static hop__set *scaled(hop__memory *m, const hop__set *x, const norm_arg *a, const ival *factor,
                        double error)
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
        double off = fabs(w) * (mid * x->rad[c] + (ival_rad(f) + (error + 0x1p-48) * f.hi) * x->mag[c]);
        y->rad[c] = ival_up(off * (1 + 0x1p-40) + 0x1p-148 * (1 + fabs(w)));
    }
    for (int t = 0; t < x->terms; t++)
        for (int64_t r = 0; r < x->term[t].rows; r++)
            for (int64_t c = x->term[t].first; c < x->term[t].first + x->term[t].count; c++)
                *hop__term_cell(&y->term[t], r, c) = hop__term_at(&x->term[t], r, c) * by[c];
    hop__set_tidy(m, y);
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
static hop__set *with_one_factor(hop__memory *m, const hop__set *x, int64_t groups, const norm_arg *a,
                                 bool l2)
{
    if (a->centred || a->bias || (one_table_a_group(x, a->dim) && row_by_row_work(x, groups, a->dim) < 4e6))
        return NULL;
    ival *range = hop__take(m, x->width, sizeof *range), *factor = hop__take(m, groups, sizeof *factor);
    if (m->status != HOP_OK) return NULL;
    hop__set_ranges(x, range);
    double error = 0;
    for (int64_t g = 0; g < groups; g++) {
        double own = norm_error(range + g * a->dim, a->dim, a->swing ? 9 : 1) + 16 * HOP_UNIT_ROUNDOFF;
        error = ival_most(error, l2 ? 0x1p-20 : own);
        if (!common_factor(range + g * a->dim, a, g, l2, &factor[g])) return NULL;
    }
    x = hop__set_settled(m, (hop__set *)x);
    return x ? scaled(m, x, a, factor, error) : NULL;
}

/* relative: the caller knows of rel. */
static hop__set *normed(hop__memory *m, const hop__set *x, int64_t groups, norm_arg a, bool l2, bool relative)
{
    hop__set *y = with_one_factor(m, x, groups, &a, l2);
    if (y || m->status != HOP_OK) return y;
    a.room = hop__take(m, 3 * a.dim, sizeof *a.room);
    hop__blocks each = {groups, a.dim, a.dim, l2 ? l2_block : norm_block, &a};
    return relative ? hop__set_map_relative(m, x, each) : hop__set_map(m, x, each);
}

hop__set *hop__set_norm(hop__memory *m, const hop__set *x, hop_norm norm, const float *weight,
                        const float *bias, double eps)
{
    if (norm == HOP_NORM_NONE) return hop__set_columns(m, x, 0, x->width);
    norm_arg a = {
        .w = weight, .bias = bias, .dim = x->width, .eps = (float)eps, .centred = norm == HOP_NORM_LAYER};
    return normed(m, x, 1, a, false, false);
}

hop__set *hop__set_norm_op(hop__memory *m, const hop__set *x, const hop_op *op, const float *weight,
                           const float *bias, const hop__swing *swing)
{
    norm_arg a = {.dim = op->dim, .eps = (float)op->eps};
    int64_t groups = op->groups > 1 ? op->groups : 1;
    if (op->kind == HOP_OP_L2) return normed(m, x, groups, a, true, true);
    a.w = weight;
    if (swing && swing->by) a.swing = swing;
    if (op->kind == HOP_OP_GROUPNORM) a.bias = bias, a.centred = a.each = true;
    return normed(m, x, groups, a, false, op->kind == HOP_OP_RMS);
}
