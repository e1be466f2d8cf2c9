/* What a linear map makes of a set: tables row by row, and in the box what its sums lose in any order. */
#include "set_inside.h"

#include <hopbound/config.h>
#include <hopbound/kernels.h>

#define MOST_RELATIVE 0.25 /* beyond this a box says as much */

/* The weights of one row that meet anything but zeros. */
typedef struct sparse_row {
    int64_t count;
    int64_t *col;
    double *w;
    double mag, rad; /* rad: without rel */
    bool relative;   /* some column has rel */
    int grid;
    double later; /* the matrix's */
} sparse_row;

/* A sum over the row, of numbers that are not below 0, is at most so many times what double makes of it. */
static double rounded_up(const sparse_row *r)
{
    return 1 + ival_most(0x1p-40, (double)(r->count + 8) * 0x1p-52);
}

static void take_row(sparse_row *r, const hop__set *x, const hop__matrix *w, int64_t i)
{
    double bias = w->bias ? w->bias[i] : 0;
    r->count = 0, r->mag = fabs(bias), r->rad = 0, r->relative = false, r->grid = hop__low_bit(bias);
    for (int64_t j = 0; j < w->in; j++) {
        double v = w->w[i * w->row_step + j * w->col_step];
        if (!isfinite(v)) r->mag = INFINITY;
        if (v == 0 || x->mag[j] == 0) continue;
        r->col[r->count] = j, r->w[r->count++] = v;
        r->mag += fabs(v) * x->mag[j];
        r->rad += fabs(v) * x->rad[j];
        r->relative = r->relative || x->rel[j] > 0;
        int low = hop__low_bit(v);
        if (x->grid[j] == HOP__NO_GRID)
            r->grid = HOP__NO_GRID;
        else if (r->grid != HOP__NO_GRID && low + x->grid[j] < r->grid)
            r->grid = low + x->grid[j];
    }
    r->mag *= rounded_up(r), r->rad *= rounded_up(r);
}

/* Several tables, looked at together: which row of each goes with which row of the table that they would be
 * as one. */
typedef struct together {
    int64_t rows;           /* 0: not looked at together */
    const int32_t **row_of; /* [terms][rows] */
    int *first;             /* [width]: the first term that fills a column, -1: none */
    double *part;           /* [2 rows of any term] */
    double *sum, *value;    /* [rows] */
} together;

#define MOST_TOGETHER 4e9 /* sums */

static together look_together(hop__memory *m, const hop__set *x, int64_t results)
{
    together none = {.rows = 0}, j = {.row_of = hop__take(m, x->terms, sizeof *j.row_of)};
    hop__term all = x->term[0], next;
    int64_t most = 1;
    j.first = hop__take(m, x->width, sizeof *j.first);
    for (int64_t c = 0; j.first && c < x->width; c++) j.first[c] = -1;
    for (int t = 0; m->status == HOP_OK && t < x->terms; t++) {
        const hop__term *u = &x->term[t];
        if (u->mixture || !hop__term_cases(m, &next, &all, u)) return none;
        all = next;
        for (int64_t c = u->first; c < u->first + u->count; c++)
            if (j.first[c] < 0) j.first[c] = t;
        most = u->rows > most ? u->rows : most;
    }
    if (!((double)all.rows * (double)x->terms * (double)results <= MOST_TOGETHER)) return none;
    for (int t = 0; m->status == HOP_OK && t < x->terms; t++)
        j.row_of[t] = hop__term_rows_within(m, &all, &x->term[t]);
    j.rows = all.rows;
    j.part = hop__take(m, 2 * most, sizeof *j.part), j.sum = hop__take(m, j.rows, sizeof *j.sum);
    j.value = hop__take(m, j.rows, sizeof *j.value);
    return m->status == HOP_OK ? j : none;
}

/* Which of the weights, from .. to - 1, meet columns that a term fills. */
static void met_by(const sparse_row *r, const hop__term *t, int64_t *from, int64_t *to)
{
    *from = 0, *to = r->count;
    while (*from < *to && r->col[*from] < t->first) ++*from;
    while (*from < *to && r->col[*to - 1] >= t->first + t->count) --*to;
}

/* What a result is off for what is relative to rows: for rel, and for rounding, which is `each` of every
 * product. At the most, and relative to the result itself, in the row where that is most; infinity: not known,
 * or more than the result is. */
typedef struct relative {
    double most, ratio;
} relative;

static void add_case(relative *to, double off, double value)
{
    /* What a value summed up here in double may be off: its products, fewer than 2^16, are at most off / 2^-24 together. */
    double least = fabs(value) - 0x1p-13 * off;
    to->most = ival_most(to->most, off);
    if (off > 0) to->ratio = ival_most(to->ratio, least > 0 ? off / least : INFINITY);
}

static relative rounded_relative(const sparse_row *r, relative x)
{
    return (relative){x.most * rounded_up(r), x.ratio * rounded_up(r)};
}

/* A product of a number that is off by `rel` of itself, and rounded by `each`: the rounding is of what is there. */
static double product_error(double rel, double each)
{
    return rel + each * (1 + rel);
}

/* Several tables; where two fill a column, their absolute values count. */
static relative relative_together(const sparse_row *r, const hop__set *x, const together *j, double bias,
                                  double each)
{
    relative all = {0, 0};
    double rest = 0, fixed = bias;
    for (int64_t n = 0; n < r->count; n++) {
        int64_t c = r->col[n];
        if (j->first[c] >= 0) continue;
        rest += fabs(r->w[n]) * product_error(x->rel[c], each) * fabs(x->mid[c]),
            fixed += r->w[n] * x->mid[c];
    }
    for (int64_t i = 0; i < j->rows; i++) j->sum[i] = rest, j->value[i] = fixed;
    for (int t = 0; t < x->terms; t++) {
        const hop__term *u = &x->term[t];
        int64_t from, to;
        met_by(r, u, &from, &to);
        for (int64_t k = 0; from < to && k < u->rows; k++) {
            j->part[2 * k] = j->part[2 * k + 1] = 0;
            for (int64_t n = from; n < to; n++) {
                int64_t c = r->col[n];
                double v = (j->first[c] == t ? x->mid[c] : 0) + hop__term_at(u, k, c);
                j->part[2 * k] += fabs(r->w[n]) * product_error(x->rel[c], each) * fabs(v);
                j->part[2 * k + 1] += r->w[n] * v;
            }
        }
        for (int64_t i = 0; from < to && i < j->rows; i++)
            j->sum[i] += j->part[2 * j->row_of[t][i]], j->value[i] += j->part[2 * j->row_of[t][i] + 1];
    }
    for (int64_t i = 0; i < j->rows; i++) add_case(&all, j->sum[i], j->value[i]);
    return rounded_relative(r, all);
}

/* One table decides, or several that are looked at together; else whatever the rows are. */
static relative relative_part(const sparse_row *r, const hop__set *x, const together *j, double bias,
                              double each)
{
    relative all = {0, x->terms > 1 ? INFINITY : 0};
    const hop__term *t = x->terms ? &x->term[0] : NULL;
    if (x->terms > 1 && j->rows) return relative_together(r, x, j, bias, each);
    for (int64_t k = 0; k < (t && x->terms == 1 ? t->rows : 1); k++) {
        double sum = 0, value = bias;
        for (int64_t n = 0; n < r->count; n++) {
            int64_t c = r->col[n];
            double v = x->mid[c] + (t && x->terms == 1 ? hop__term_at(t, k, c) : 0);
            sum += fabs(r->w[n]) * product_error(x->rel[c], each) * (x->terms > 1 ? x->mag[c] : fabs(v));
            value += r->w[n] * v;
        }
        add_case(&all, sum, value);
    }
    return rounded_relative(r, all);
}

/* Columns of x that some weight meets. */
static bool *met(hop__memory *m, const hop__set *x, const hop__matrix *w)
{
    bool *used = hop__take(m, w->in, sizeof *used);
    for (int64_t i = 0; used && i < w->out; i++)
        for (int64_t j = 0; j < w->in; j++)
            if (w->w[i * w->row_step + j * w->col_step] != 0) used[j] = x->mag[j] != 0;
    return used;
}

static bool term_meets(const hop__term *t, const bool *used)
{
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t i = 0; i < t->count; i++)
            if (used[t->first + i] && hop__term_row(t, r)[i] != 0) return true;
    return false;
}

/* x without the terms that no weight meets; x itself if there is none. What is left of x is not changed. */
static const hop__set *without_unmet(hop__memory *m, const hop__set *x, const hop__matrix *w)
{
    const bool *used = x->terms ? met(m, x, w) : NULL;
    hop__set *y = used ? hop__take(m, 1, sizeof *y) : NULL;
    if (!y) return x;
    *y = *x;
    y->term = hop__take(m, x->terms, sizeof *y->term);
    y->terms = 0, y->room = x->terms;
    for (int t = 0; y->term && t < x->terms; t++)
        if (term_meets(&x->term[t], used)) y->term[y->terms++] = x->term[t];
    return y->term && y->terms < x->terms ? y : x;
}

/* Terms of y like those of x, over the results that their columns have weights for; nothing of x that is
 * always 0 has any. */
static void add_results(hop__memory *m, hop__set *y, const hop__set *x, const hop__matrix *w)
{
    int64_t *lo = hop__take(m, x->terms, sizeof *lo), *hi = hop__take(m, x->terms, sizeof *hi);
    for (int t = 0; lo && hi && t < x->terms; t++) lo[t] = w->out;
    for (int64_t i = 0; lo && hi && i < w->out; i++)
        for (int t = 0; t < x->terms; t++) {
            const hop__term *u = &x->term[t];
            bool any = false;
            for (int64_t j = u->first; j < u->first + u->count && !any; j++)
                any = x->mag[j] != 0 && w->w[i * w->row_step + j * w->col_step] != 0;
            if (any) lo[t] = i < lo[t] ? i : lo[t], hi[t] = i + 1;
        }
    for (int t = 0; lo && hi && t < x->terms; t++)
        hop__set_term_over(m, y, &x->term[t], hi[t] ? lo[t] : 0, hi[t] ? hi[t] - lo[t] : 0);
}

/* Result i of every row of a term. */
static void map_rows(const sparse_row *r, const hop__term *x, hop__term *y, int64_t i)
{
    int64_t from, to;
    met_by(r, x, &from, &to);
    for (int64_t k = 0; from < to && k < x->rows; k++) {
        const double *row = hop__term_row(x, k);
        double s = 0;
        for (int64_t n = from; n < to; n++) s += r->w[n] * row[r->col[n] - x->first];
        *hop__term_cell(y, k, i) = s;
    }
}

/* What result i of y, whose row of weights is r, is off: to rad or, if it `tells`, to rel. Returns the part that
 * is rounding: of all products or, where some are relative, of those of one row at a time. */
static double put_errors(hop__set *y, int64_t i, const sparse_row *r, const hop__set *x, const together *j,
                         double bias, bool tells)
{
    /* float32 in any order, the same sums here in double, and products below the normal numbers. */
    double k = (double)r->count + 1, each = HOP_DOT_ERROR(k + r->later) + (k + 8) * 0x1p-51,
           faint = (k + 4) * 0x1p-149 * (r->later > 0 ? HOP_FOREIGN_MULTIPLE : 1),
           own = r->mag > 0 && (r->later > 0 || !hop__exact_sum(r->grid, r->mag)) ? each * r->mag + faint : 0;
    if (!r->relative) {
        if (own + r->rad > 0) y->rad[i] = ival_up(r->rad + own);
        return own;
    }
    relative off = relative_part(r, x, j, bias, each);
    own = each * (fabs(bias) + r->rad) + faint;
    if (tells && off.ratio < MOST_RELATIVE) y->rel[i] = off.ratio, off.most = 0;
    y->rad[i] = ival_up((r->rad + off.most + own) * HOP__ABOVE);
    return own + off.most;
}

static hop__set *linear_rows(hop__memory *m, const hop__set *x, const hop__matrix *w, double *lost,
                             bool tells)
{
    hop__set *y = hop__set_new(m, w->out);
    sparse_row r = {.col = hop__take(m, w->in, sizeof(int64_t)), .w = hop__take(m, w->in, sizeof(double))};
    const double largest = HOP__LARGEST / (w->later > 0 ? HOP_FOREIGN_MULTIPLE : 1);
    r.later = w->later;
    together j = {.rows = 0};
    bool looked = false;
    if (y) add_results(m, y, x, w);
    if (m->status != HOP_OK) return NULL;
    for (int64_t i = 0; i < w->out; i++) {
        double bias = w->bias ? w->bias[i] : 0, sum = bias;
        take_row(&r, x, w, i);
        if (r.relative && x->terms > 1 && !looked) j = look_together(m, x, w->out), looked = true;
        if (!(r.mag < largest) || r.count > HOP__MOST_SUM) m->overflow = true;
        for (int64_t n = 0; n < r.count; n++) sum += r.w[n] * x->mid[r.col[n]];
        y->mid[i] = sum;
        for (int t = 0; t < x->terms; t++) map_rows(&r, &x->term[t], &y->term[t], i);
        double own = put_errors(y, i, &r, x, &j, bias, tells);
        if (lost) lost[i] = own;
    }
    if (m->status != HOP_OK) return NULL;
    hop__set_measure(m, y);
    return y;
}

hop__set *hop__set_linear_rows(hop__memory *m, const hop__set *x, hop__matrix w, double *lost)
{
    return linear_rows(m, x, &w, lost, false);
}

/* Results that are made together where tables are large: terms fill what is between their first and their
 * last column, and what heads are given lies far apart. */
enum { RESULTS = 64 };

static hop__set *linear_pieces(hop__memory *m, const hop__set *x, const hop__matrix *w)
{
    int64_t pieces = (w->out + RESULTS - 1) / RESULTS;
    hop__set **part = hop__take(m, pieces, sizeof *part);
    hop__memory own = {0};
    for (int64_t p = 0; m->status == HOP_OK && p < pieces; p++) {
        hop__matrix of = *w;
        of.w = w->w + p * RESULTS * w->row_step, of.bias = w->bias ? w->bias + p * RESULTS : NULL;
        of.out = w->out - p * RESULTS < RESULTS ? w->out - p * RESULTS : RESULTS;
        hop__set *out = linear_rows(&own, without_unmet(&own, x, &of), &of, NULL, true);
        hop__set_join_alike(&own, out);
        hop__set_canonical(&own, out);
        part[p] = hop__set_from(m, out, &own);
    }
    hop__memory_free(&own);
    return m->status == HOP_OK ? hop__set_beside(m, (const hop__set *const *)part, (int)pieces) : NULL;
}

hop__set *hop__set_linear(hop__memory *m, const hop__set *x, hop__matrix w)
{
    double rows = 0;
    for (int t = 0; t < x->terms; t++) rows += (double)x->term[t].rows;
    if (w.out > RESULTS && rows * (double)w.out > HOP__LARGE_CELLS) return linear_pieces(m, x, &w);
    hop__set *y = linear_rows(m, without_unmet(m, x, &w), &w, NULL, true);
    hop__set_join_alike(m, y);
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}
