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

/* Several tables, looked at together: which row of each goes with which row of the table that they would be
 * as one. */
typedef struct together {
    int64_t rows;           /* 0: not looked at together */
    const int32_t **row_of; /* [terms][rows] */
    int *first;             /* [width]: the first term that fills a column, -1: none */
    double *part;           /* room for the rows of any term */
    double *sum;            /* [rows] */
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
    j.part = hop__take(m, most, sizeof *j.part), j.sum = hop__take(m, j.rows, sizeof *j.sum);
    return m->status == HOP_OK ? j : none;
}

/* Which of the weights, from .. to - 1, meet columns that a term fills. */
static void met_by(const sparse_row *r, const hop__term *t, int64_t *from, int64_t *to)
{
    *from = 0, *to = r->count;
    while (*from < *to && r->col[*from] < t->first) ++*from;
    while (*from < *to && r->col[*to - 1] >= t->first + t->count) --*to;
}

/* What rel adds up to in the row where that is most; where two tables fill a column, their absolute values.
 */
static double relative_together(const sparse_row *r, const hop__set *x, const together *j)
{
    double most = 0, rest = 0;
    for (int64_t n = 0; n < r->count; n++)
        if (j->first[r->col[n]] < 0) rest += fabs(r->w[n]) * x->rel[r->col[n]] * fabs(x->mid[r->col[n]]);
    for (int64_t i = 0; i < j->rows; i++) j->sum[i] = rest;
    for (int t = 0; t < x->terms; t++) {
        const hop__term *u = &x->term[t];
        int64_t from, to;
        met_by(r, u, &from, &to);
        for (int64_t k = 0; from < to && k < u->rows; k++) {
            j->part[k] = 0;
            for (int64_t n = from; n < to; n++) {
                int64_t c = r->col[n];
                double mid = j->first[c] == t ? x->mid[c] : 0;
                j->part[k] += fabs(r->w[n]) * x->rel[c] * fabs(mid + hop__term_at(u, k, c));
            }
        }
        for (int64_t i = 0; from < to && i < j->rows; i++) j->sum[i] += j->part[j->row_of[t][i]];
    }
    for (int64_t i = 0; i < j->rows; i++) most = ival_most(most, j->sum[i]);
    return most * (1 + 0x1p-40);
}

/* What rel adds up to: in the row where that is most, if one table decides, or several that are looked at
 * together; else whatever the rows are. */
static double relative_part(const sparse_row *r, const hop__set *x, const together *j)
{
    double most = 0;
    const hop__term *t = x->terms ? &x->term[0] : NULL;
    if (x->terms > 1 && j->rows) return relative_together(r, x, j);
    for (int64_t k = 0; k < (t && x->terms == 1 ? t->rows : 1); k++) {
        double sum = 0;
        for (int64_t n = 0; n < r->count; n++) {
            int64_t c = r->col[n];
            double m = x->terms > 1 ? x->mag[c] : fabs(x->mid[c] + (t ? hop__term_at(t, k, c) : 0));
            sum += fabs(r->w[n]) * x->rel[c] * m;
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

hop__set *hop__set_linear_rows(hop__memory *m, const hop__set *x, hop__matrix w, double *lost)
{
    hop__set *y = hop__set_new(m, w.out);
    sparse_row r = {.col = hop__take(m, w.in, sizeof(int64_t)), .w = hop__take(m, w.in, sizeof(double))};
    together j = {.rows = 0};
    bool looked = false;
    if (y) add_results(m, y, x, &w);
    if (m->status != HOP_OK) return NULL;
    for (int64_t i = 0; i < w.out; i++) {
        take_row(&r, x, &w, i);
        if (r.relative && x->terms > 1 && !looked) j = look_together(m, x, w.out), looked = true;
        if (r.relative) r.rad = (r.rad + relative_part(&r, x, &j)) * (1 + 0x1p-40);
        if (!(r.mag < HOP__LARGEST) || r.count > HOP__MOST_SUM) m->overflow = true;
        double sum = w.bias ? w.bias[i] : 0;
        for (int64_t n = 0; n < r.count; n++) sum += r.w[n] * x->mid[r.col[n]];
        y->mid[i] = sum;
        for (int t = 0; t < x->terms; t++) map_rows(&r, &x->term[t], &y->term[t], i);
        /* float32 in any order, the same sums here in double, and products below the normal numbers. */
        double k = (double)r.count + 1, own = 0;
        if (r.mag > 0 && !hop__exact_sum(r.grid, r.mag))
            own = (HOP_DOT_ERROR(k) + (k + 8) * 0x1p-51) * r.mag + (k + 4) * 0x1p-149;
        if (own + r.rad > 0) y->rad[i] = ival_up(r.rad + own);
        if (lost) lost[i] = own;
    }
    if (m->status != HOP_OK) return NULL;
    hop__set_measure(m, y);
    return y;
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
        hop__set *out = hop__set_linear_rows(&own, without_unmet(&own, x, &of), of, NULL);
        hop__set_join_alike(&own, out);
        hop__set_tidy(&own, out);
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
    hop__set *y = hop__set_linear_rows(m, without_unmet(m, x, &w), w, NULL);
    hop__set_join_alike(m, y);
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
    hop__set *y = hop__set_copy(m, x);
    for (int64_t c = 0; y && c < y->width; c++)
        if (!hop__cut_exact(bits, x->grid[c], x->mag[c])) {
            y->rad[c] = ival_up(y->rad[c] + hop__cut_error(bits, x->mag[c]));
            y->least[c] = -INFINITY, y->most[c] = INFINITY;
        }
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* ---- other maps ---------------------------------------------------------------------------- */

/* filled[t][c]: is term t's column c, counted from its first, other than 0 anywhere? */
static bool *filled_columns(hop__memory *m, const hop__term *t)
{
    bool *filled = hop__take(m, t->count, sizeof *filled);
    int64_t left = t->count;
    for (int64_t r = 0; filled && left && r < t->rows; r++)
        for (int64_t i = 0; i < t->count; i++)
            if (!filled[i] && hop__term_row(t, r)[i] != 0) filled[i] = true, left--;
    return filled;
}

static bool term_in_block(const hop__term *t, const bool *filled, int64_t from, int64_t count)
{
    for (int64_t c = from; c < from + count; c++)
        if (hop__term_fills(t, c) && filled[c - t->first]) return true;
    return false;
}

/* Terms on which the same block depends are made one where that is affordable; else block[b] is -2 and the
 * block is taken as a box. Otherwise block[b] is its only term, or -1: none. */
static hop__set *one_term_a_block(hop__memory *m, const hop__set *x, const hop__blocks *b, int *block)
{
    hop__set *s = (hop__set *)x; /* a copy only when something is joined */
    int terms = x->terms;
    bool **filled = hop__take(m, terms, sizeof *filled),
         *refused = hop__take(m, terms * terms, sizeof *refused);
    for (int t = 0; filled && t < terms; t++) filled[t] = filled_columns(m, &x->term[t]);
    for (int64_t i = 0; s && m->status == HOP_OK && i < b->count; i++) {
        block[i] = -1;
        for (int t = 0; t < s->terms; t++) {
            if (!term_in_block(&s->term[t], filled[t], i * b->in, b->in)) continue;
            if (s->term[t].mixture || block[i] == -2) {
                block[i] = -2;
            } else if (block[i] < 0) {
                block[i] = t;
            } else if (s == x) {
                s = hop__set_copy(m, x);
                i = -1;
                break;
            } else if (!refused[block[i] * terms + t] && hop__set_join_two(m, s, block[i], t)) {
                memset(refused, 0, sizeof *refused * (size_t)(terms * terms));
                filled[block[i]] = filled_columns(m, &s->term[block[i]]);
                for (int k = t; k < s->terms; k++) filled[k] = filled[k + 1];
                i = -1; /* terms have moved: look again */
                break;
            } else {
                if (m->status != HOP_OK) return NULL;
                refused[block[i] * terms + t] = true;
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
        if (t) v = ival_add(v, ival_point(hop__term_at(t, row, c)));
        if (s->rel[c] > 0) v = ival_widen(v, ival_up(s->rel[c] * ival_mag(v)));
        in[e] = hop__set_within(s, c, ival_widen(v, s->rad[c]));
    }
    b->fn(b->arg, b->first + i, in, out);
}

/* Rows that have the same numbers in a block have the same results: the rows met last, by their numbers. */
enum { REMEMBERED = 1024 };

static uint64_t block_hash(const double *x, int64_t n)
{
    uint64_t h = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        h = (h ^ bits) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

/* A row before r that has row r's numbers in columns lo .. hi - 1, or -1: none is remembered, but r is now.
 */
static int64_t same_row(const hop__term *t, int64_t r, int64_t lo, int64_t hi, int32_t *last)
{
    const double *x = hop__term_row(t, r) + (lo - t->first);
    int32_t *slot = &last[block_hash(x, hi - lo) % REMEMBERED];
    int64_t before = *slot - 1;
    *slot = (int32_t)(r + 1);
    if (before < 0) return -1;
    return memcmp(hop__term_row(t, before) + (lo - t->first), x, sizeof *x * (size_t)(hi - lo)) == 0 ? before
                                                                                                     : -1;
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

static void put_box(hop__set *y, int64_t c, ival x)
{
    y->mid[c] = ival_is_point(x) ? x.lo : ival_mid(x);
    y->rad[c] = ival_rad(x);
    widen_bounds(y, c, x);
}

/* Room for one block. */
typedef struct mapping {
    ival *in, *out;
    spread *off;
    int32_t *last; /* [REMEMBERED] */
} mapping;

/* Every row of term t, on which alone block i depends. */
static void map_table(const hop__set *s, const hop__blocks *b, int64_t i, int t, hop__set *y, mapping *room)
{
    const hop__term *u = &s->term[t];
    hop__term *v = &y->term[t];
    int64_t lo = i * b->in > u->first ? i * b->in : u->first,
            hi = (i + 1) * b->in < u->first + u->count ? (i + 1) * b->in : u->first + u->count;
    memset(room->off, 0, sizeof *room->off * (size_t)b->out);
    memset(room->last, 0, sizeof *room->last * REMEMBERED);
    for (int64_t r = 0; r < u->rows; r++) {
        int64_t before = same_row(u, r, lo, hi, room->last);
        double *to = hop__term_cell(v, r, i * b->out);
        if (before >= 0) {
            memcpy(to, hop__term_cell(v, before, i * b->out), sizeof *to * (size_t)b->out);
            continue;
        }
        map_block(s, b, i, u, r, room->in, room->out);
        for (int64_t e = 0; e < b->out; e++) {
            ival x = room->out[e];
            to[e] = ival_is_point(x) ? x.lo : ival_mid(x);
            add_spread(&room->off[e], to[e], ival_rad(x));
            widen_bounds(y, i * b->out + e, x);
        }
    }
}

/* Terms of y like those of s, over the results of the blocks that depend on them. */
static void add_block_terms(hop__memory *m, hop__set *y, const hop__set *s, const hop__blocks *b,
                            const int *block)
{
    for (int t = 0; t < s->terms; t++) {
        int64_t lo = 0, hi = b->count;
        while (lo < hi && block[lo] != t) lo++;
        while (lo < hi && block[hi - 1] != t) hi--;
        hop__set_term_over(m, y, &s->term[t], lo * b->out, (hi - lo) * b->out);
    }
}

static hop__set *map_whole(hop__memory *m, const hop__set *x, hop__blocks b, bool relative)
{
    int *block = hop__take(m, b.count, sizeof *block);
    mapping room = {.in = hop__take(m, b.in, sizeof(ival)), .out = hop__take(m, b.out, sizeof(ival))};
    room.off = hop__take(m, b.out, sizeof *room.off);
    room.last = hop__take(m, REMEMBERED, sizeof *room.last);
    if (m->status != HOP_OK) return NULL;
    hop__set *s = one_term_a_block(m, x, &b, block), *y = s ? hop__set_new(m, b.count * b.out) : NULL;
    if (y) add_block_terms(m, y, s, &b, block);
    if (m->status != HOP_OK) return NULL;
    for (int64_t c = 0; c < y->width; c++) y->least[c] = INFINITY, y->most[c] = -INFINITY;
    for (int64_t i = 0; i < b.count; i++) {
        if (block[i] >= 0) {
            map_table(s, &b, i, block[i], y, &room);
            for (int64_t e = 0; e < b.out; e++) set_spread(y, i * b.out + e, room.off[e], relative);
            continue;
        }
        if (block[i] == -1) {
            map_block(s, &b, i, NULL, 0, room.in, room.out);
        } else {
            for (int64_t e = 0; e < b.in; e++) room.in[e] = hop__set_range(s, i * b.in + e);
            b.fn(b.arg, b.first + i, room.in, room.out);
        }
        for (int64_t e = 0; e < b.out; e++) put_box(y, i * b.out + e, room.out[e]);
    }
    for (int64_t c = 0; c < y->width; c++)
        if (!isfinite(y->rad[c]) || !isfinite(y->mid[c])) m->overflow = true;
    hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* Columns that are mapped together where tables are large. Few columns tell fewer rows apart than all do: of
 * the queries of a state's heads each head meets its own part. */
enum { PIECE = 64 };

/* Cells of one table over all that x's depend on, at the least. */
static double joint_cells(const hop__set *x)
{
    double rows = 1;
    for (int t = 0; t < x->terms; t++)
        for (int k = 0; k < x->term[t].vars; k++) {
            int64_t most = 1; /* counted at the first term that knows the variable */
            bool known = false;
            for (int u = 0; u < x->terms; u++)
                for (int i = 0; i < x->term[u].vars; i++) {
                    if (x->term[u].var[i] != x->term[t].var[k]) continue;
                    known = known || u < t;
                    most = x->term[u].classes[i] > most ? x->term[u].classes[i] : most;
                }
            if (!known) rows *= (double)most;
        }
    return rows * (double)x->width;
}

/* Piece by piece: what one takes on the way is given back before the next. */
static hop__set *map_pieces(hop__memory *m, const hop__set *x, const hop__blocks *b, bool relative)
{
    int64_t each = b->in < PIECE ? PIECE / b->in : 1, pieces = (b->count + each - 1) / each;
    hop__set **part = hop__take(m, pieces, sizeof *part);
    hop__memory own = {0};
    for (int64_t p = 0; m->status == HOP_OK && p < pieces; p++) {
        hop__blocks of = *b;
        of.first = b->first + p * each;
        of.count = b->count - p * each < each ? b->count - p * each : each;
        hop__set *in = hop__set_columns(&own, x, p * each * b->in, of.count * b->in),
                 *out = in ? map_whole(&own, in, of, relative) : NULL;
        part[p] = hop__set_from(m, out, &own);
    }
    hop__memory_free(&own);
    return m->status == HOP_OK ? hop__set_beside(m, (const hop__set *const *)part, (int)pieces) : NULL;
}

static hop__set *map(hop__memory *m, const hop__set *x, const hop__blocks *b, bool relative)
{
    bool large = x->width > PIECE && b->count > 1 && joint_cells(x) > HOP__LARGE_CELLS;
    return large ? map_pieces(m, x, b, relative) : map_whole(m, x, *b, relative);
}

hop__set *hop__set_map(hop__memory *m, const hop__set *x, hop__blocks b)
{
    return map(m, x, &b, false);
}

hop__set *hop__set_map_relative(hop__memory *m, const hop__set *x, hop__blocks b)
{
    return map(m, x, &b, true);
}
