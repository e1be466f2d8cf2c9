/* What linear maps and other functions make of a set. */
#include "set_inside.h"

#include <hopbound/kernels.h>

#include <string.h>

/* ---- linear maps --------------------------------------------------------------------------- */

/* The weights of one row that meet anything but zeros. */
typedef struct sparse_row {
    int64_t count;
    int64_t *col;
    double *w;
    double mag, rad; /* rad: without rel */
    bool relative;   /* some column has rel */
    int grid;
} sparse_row;

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
    r->mag *= 1 + 0x1p-40, r->rad *= 1 + 0x1p-40;
}

/* What rel adds up to: with one table, in the row where that is most; else whatever the rows are. */
static double relative_part(const sparse_row *r, const hop__set *x)
{
    double most = 0;
    const hop__term *t = x->terms ? &x->term[0] : NULL;
    for (int64_t k = 0; k < (t && x->terms == 1 ? t->rows : 1); k++) {
        double sum = 0;
        for (int64_t n = 0; n < r->count; n++) {
            int64_t j = r->col[n];
            double m = x->terms > 1 ? x->mag[j] : fabs(x->mid[j] + (t ? t->row[k * x->width + j] : 0));
            sum += fabs(r->w[n]) * x->rel[j] * m;
        }
        most = ival_most(most, sum);
    }
    return most * (1 + 0x1p-40);
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

static bool term_meets(const hop__set *x, const hop__term *t, const bool *used)
{
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < x->width; j++)
            if (used[j] && t->row[i * x->width + j] != 0) return true;
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
        if (term_meets(x, &x->term[t], used)) y->term[y->terms++] = x->term[t];
    return y->term && y->terms < x->terms ? y : x;
}

hop__set *hop__set_linear_rows(hop__memory *m, const hop__set *x, hop__matrix w, double *lost)
{
    hop__set *y = hop__set_new(m, w.out);
    sparse_row r = {.col = hop__take(m, w.in, sizeof(int64_t)), .w = hop__take(m, w.in, sizeof(double))};
    for (int t = 0; y && t < x->terms; t++) hop__set_term_like(m, y, &x->term[t]);
    if (m->status != HOP_OK) return NULL;
    for (int64_t i = 0; i < w.out; i++) {
        take_row(&r, x, &w, i);
        if (r.relative) r.rad = (r.rad + relative_part(&r, x)) * (1 + 0x1p-40);
        if (!(r.mag < HOP__LARGEST) || r.count > HOP__MOST_SUM) m->overflow = true;
        double sum = w.bias ? w.bias[i] : 0;
        for (int64_t n = 0; n < r.count; n++) sum += r.w[n] * x->mid[r.col[n]];
        y->mid[i] = sum;
        for (int t = 0; t < x->terms; t++)
            for (int64_t k = 0; r.count && k < x->term[t].rows; k++) {
                const double *from = x->term[t].row + k * x->width;
                double s = 0;
                for (int64_t n = 0; n < r.count; n++) s += r.w[n] * from[r.col[n]];
                y->term[t].row[k * w.out + i] = s;
            }
        /* float32 in any order, the same sums here in double, and products below the normal numbers. */
        double k = (double)r.count + 1, own = 0;
        if (r.mag > 0 && !hop__exact_sum(r.grid, r.mag))
            own = (HOP_DOT_ERROR(k) + (k + 8) * 0x1p-51) * r.mag + (k + 4) * 0x1p-149;
        if (own + r.rad > 0) y->rad[i] = ival_up(r.rad + own);
        if (lost) lost[i] = own;
    }
    hop__set_measure(m, y);
    return y;
}

hop__set *hop__set_linear(hop__memory *m, const hop__set *x, hop__matrix w)
{
    hop__set *y = hop__set_linear_rows(m, without_unmet(m, x, &w), w, NULL);
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* ---- fewer bits ---------------------------------------------------------------------------- */

double hop__cut_error(int bits, double mag)
{
    return bits > 0 && mag != 0 ? ldexp(mag, -bits) * (1 + 1e-9) + 0x1p-148 : 0;
}

bool hop__cut_exact(int bits, int grid, double mag)
{
    return bits <= 0 || grid == HOP__ANY_GRID || mag == 0 ||
           (hop__exact_sum(grid, mag) && mag <= ldexp(1, grid + bits));
}

hop__set *hop__set_cut(hop__memory *m, hop__set *x, int bits)
{
    if (bits <= 0 || !x) return x;
    hop__set *y = hop__set_columns(m, x, 0, x->width);
    for (int64_t c = 0; y && c < y->width; c++)
        if (!hop__cut_exact(bits, x->grid[c], x->mag[c])) {
            y->rad[c] = ival_up(y->rad[c] + hop__cut_error(bits, x->mag[c]));
            y->least[c] = -INFINITY, y->most[c] = INFINITY;
        }
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* ---- other maps ---------------------------------------------------------------------------- */

static bool term_in_block(const hop__set *x, int t, int64_t from, int64_t count)
{
    const hop__term *u = &x->term[t];
    for (int64_t r = 0; r < u->rows; r++)
        for (int64_t c = from; c < from + count; c++)
            if (u->row[r * x->width + c] != 0) return true;
    return false;
}

/* Terms on which the same block depends are made one where that is affordable; else block[b] is -2 and the
 * block is taken as a box. Otherwise block[b] is its only term, or -1: none. */
static hop__set *one_term_a_block(hop__memory *m, const hop__set *x, const hop__blocks *b, int *block)
{
    hop__set *s = (hop__set *)x; /* a copy only when something is joined */
    bool refused[HOP__MOST_TERMS][HOP__MOST_TERMS] = {{0}};
    for (int64_t i = 0; s && m->status == HOP_OK && i < b->count; i++) {
        block[i] = -1;
        for (int t = 0; t < s->terms; t++) {
            if (!term_in_block(s, t, i * b->in, b->in)) continue;
            if (s->term[t].mixture || block[i] == -2) {
                block[i] = -2;
            } else if (block[i] < 0) {
                block[i] = t;
            } else if (s == x) {
                s = hop__set_columns(m, x, 0, x->width);
                i = -1;
                break;
            } else if (!refused[block[i]][t] && hop__set_join_two(m, s, block[i], t)) {
                memset(refused, 0, sizeof refused);
                i = -1; /* terms have moved: look again */
                break;
            } else {
                if (m->status != HOP_OK) return NULL;
                refused[block[i]][t] = true;
                block[i] = -2;
            }
        }
    }
    return m->status == HOP_OK ? s : NULL;
}

static void map_block(const hop__set *s, const hop__blocks *b, int64_t i, const hop__term *t, int64_t row,
                      ival *in, ival *out)
{
    for (int64_t e = 0; e < b->in; e++) {
        int64_t c = i * b->in + e;
        ival v = ival_point(s->mid[c]);
        if (t) v = ival_add(v, ival_point(t->row[row * s->width + c]));
        if (s->rel[c] > 0) v = ival_widen(v, ival_up(s->rel[c] * ival_mag(v)));
        in[e] = hop__set_within(s, c, ival_widen(v, s->rad[c]));
    }
    b->fn(b->arg, i, in, out);
}

/* What the rows of a column may be off, as rad, or, where numbers that are next to nothing are known far
 * better than the others, as rad of these and rel of the others. */
typedef struct spread {
    double rad, faint, rel;
} spread;

#define NOTHING 0x1p-80

static void add_spread(spread *s, double value, double off)
{
    s->rad = ival_most(s->rad, off);
    if (!(fabs(value) > NOTHING))
        s->faint = ival_most(s->faint, off);
    else
        s->rel = ival_most(s->rel, off / fabs(value) * (1 + 0x1p-40));
}

static void set_spread(hop__set *y, int64_t c, spread s, bool relative)
{
    bool tell = relative && s.faint < 0x1p-20 * s.rad && s.rel < 0.5;
    y->rad[c] = tell ? s.faint : s.rad;
    y->rel[c] = tell ? s.rel : 0;
}

static void widen_bounds(hop__set *y, int64_t c, ival x)
{
    y->least[c] = ival_least(y->least[c], x.lo), y->most[c] = ival_most(y->most[c], x.hi);
}

static hop__set *map(hop__memory *m, const hop__set *x, hop__blocks b, bool relative)
{
    int *block = hop__take(m, b.count, sizeof *block);
    ival *in = hop__take(m, b.in, sizeof *in), *out = hop__take(m, b.out, sizeof *out);
    spread *off = hop__take(m, b.out, sizeof *off);
    if (m->status != HOP_OK) return NULL;
    hop__set *s = one_term_a_block(m, x, &b, block), *y = s ? hop__set_new(m, b.count * b.out) : NULL;
    for (int t = 0; y && t < s->terms; t++) hop__set_term_like(m, y, &s->term[t]);
    if (m->status != HOP_OK) return NULL;
    for (int64_t c = 0; c < y->width; c++) y->least[c] = INFINITY, y->most[c] = -INFINITY;
    for (int64_t i = 0; i < b.count; i++) {
        if (block[i] == -2) {
            for (int64_t e = 0; e < b.in; e++) in[e] = hop__set_range(s, i * b.in + e);
            b.fn(b.arg, i, in, out);
        } else if (block[i] == -1) {
            map_block(s, &b, i, NULL, 0, in, out);
        }
        for (int64_t e = 0; block[i] < 0 && e < b.out; e++) {
            y->mid[i * b.out + e] = ival_is_point(out[e]) ? out[e].lo : ival_mid(out[e]);
            y->rad[i * b.out + e] = ival_rad(out[e]);
            widen_bounds(y, i * b.out + e, out[e]);
        }
        memset(off, 0, sizeof *off * (size_t)b.out);
        for (int64_t r = 0; block[i] >= 0 && r < s->term[block[i]].rows; r++) {
            map_block(s, &b, i, &s->term[block[i]], r, in, out);
            for (int64_t e = 0; e < b.out; e++) {
                int64_t c = i * b.out + e;
                double value = ival_is_point(out[e]) ? out[e].lo : ival_mid(out[e]);
                y->term[block[i]].row[r * y->width + c] = value;
                add_spread(&off[e], value, ival_rad(out[e]));
                widen_bounds(y, c, out[e]);
            }
        }
        for (int64_t e = 0; block[i] >= 0 && e < b.out; e++) set_spread(y, i * b.out + e, off[e], relative);
    }
    for (int64_t c = 0; c < y->width; c++)
        if (!isfinite(y->rad[c]) || !isfinite(y->mid[c])) m->overflow = true;
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

hop__set *hop__set_map(hop__memory *m, const hop__set *x, hop__blocks b)
{
    return map(m, x, b, false);
}

hop__set *hop__set_map_relative(hop__memory *m, const hop__set *x, hop__blocks b)
{
    return map(m, x, b, true);
}
