/* What functions other than linear maps make of a set: block by block of columns, and of the table that a
 * block depends on row by row. */
#include "set_inside.h"

#include <string.h>

/* ---- fewer bits ---------------------------------------------------------------------------- */

double hop__cut_error(int bits, double mag)
{
    return bits > 0 && mag != 0 ? ldexp(mag, -bits) * HOP__ABOVE + 0x1p-148 : 0;
}

bool hop__cut_exact(int bits, int grid, double mag)
{
    return bits <= 0 || grid == HOP__ANY_GRID || mag == 0 ||
           (hop__exact_sum(grid, mag) && mag <= ldexp(1, grid + bits));
}

hop__set *hop__set_rounded(hop__memory *m, hop__set *x, int bits)
{
    if (bits <= 0 || !x) return x;
    hop__set *y = hop__set_copy(m, x);
    for (int64_t c = 0; y && c < y->width; c++)
        if (!hop__cut_exact(bits, x->grid[c], x->mag[c])) {
            y->rad[c] = ival_up(y->rad[c] + hop__cut_error(bits, x->mag[c]));
            y->least[c] = -INFINITY, y->most[c] = INFINITY;
        }
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}

hop__set *hop__set_crossed(hop__memory *m, hop__set *x, double round)
{
    if (round <= 0 || !x) return x;
    hop__set *y = hop__set_copy(m, x);
    for (int64_t c = 0; y && c < y->width; c++)
        if (x->mag[c] != 0) {
            y->rad[c] = ival_up(y->rad[c] + hop__crossing(round, x->mag[c]) * HOP__ABOVE);
            y->least[c] = -INFINITY, y->most[c] = INFINITY;
        }
    hop__set_canonical(m, y);
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

/* Rows that have the same numbers in a block have the same results: the rows met last, by their numbers. */
enum { REMEMBERED = 1024 };

/* A row before r that has row r's numbers in columns lo .. hi - 1, or -1: none is remembered, but r is now.
 */
static int64_t same_row(const hop__term *t, int64_t r, int64_t lo, int64_t hi, int32_t *last)
{
    const double *x = hop__term_row(t, r) + (lo - t->first);
    int32_t *slot = &last[hop__hash_numbers(HOP__HASH, x, hi - lo) % REMEMBERED];
    int64_t before = *slot - 1;
    *slot = (int32_t)(r + 1);
    if (before < 0) return -1;
    return memcmp(hop__term_row(t, before) + (lo - t->first), x, sizeof *x * (size_t)(hi - lo)) == 0 ? before
                                                                                                     : -1;
}

/* What the rows of a column may be off, as rad, or, where numbers that are next to nothing are known far
 * better than the others, as rad of these and rel of the others: unless that would be much more for the largest one, as
 * where all are off by the same and one of them is small. */
typedef struct spread {
    double rad, faint, rel, largest;
} spread;

#define NOTHING 0x1p-80

static void add_spread(spread *s, double value, double off)
{
    s->rad = ival_most(s->rad, off), s->largest = ival_most(s->largest, fabs(value));
    if (!(fabs(value) > NOTHING))
        s->faint = ival_most(s->faint, off);
    else
        s->rel = ival_most(s->rel, off / fabs(value) * HOP__ABOVE);
}

static void set_spread(hop__set *y, int64_t c, spread s, bool relative)
{
    bool tell = relative && s.faint < 0x1p-20 * s.rad && s.rel < 0.5 && s.rel * s.largest < 4 * s.rad;
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
    int64_t first; /* number of the first block, as fn is told it */
    ival *in, *out;
    spread *off;
    int32_t *last; /* [REMEMBERED] */
} mapping;

static void map_block(const hop__set *s, const hop__blocks *b, int64_t i, const hop__term *t, int64_t row,
                      mapping *room)
{
    for (int64_t e = 0; e < b->in; e++) {
        int64_t c = i * b->in + e;
        ival v = ival_point(s->mid[c]);
        if (t) v = ival_add(v, ival_point(hop__term_at(t, row, c)));
        if (s->rel[c] > 0) v = ival_widen(v, ival_up(s->rel[c] * ival_mag(v)));
        room->in[e] = hop__set_within(s, c, ival_widen(v, s->rad[c]));
    }
    b->fn(b->arg, room->first + i, room->in, room->out);
}

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
        map_block(s, b, i, u, r, room);
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

/* `first`: the number of its first block, where x is a piece. */
static hop__set *map_whole(hop__memory *m, const hop__set *x, hop__blocks b, int64_t first, bool relative)
{
    int *block = hop__take(m, b.count, sizeof *block);
    mapping room = {.in = hop__take(m, b.in, sizeof(ival)), .out = hop__take(m, b.out, sizeof(ival))};
    room.first = first, room.off = hop__take(m, b.out, sizeof *room.off);
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
            map_block(s, &b, i, NULL, 0, &room);
        } else {
            for (int64_t e = 0; e < b.in; e++) room.in[e] = hop__set_range(s, i * b.in + e);
            b.fn(b.arg, first + i, room.in, room.out);
        }
        for (int64_t e = 0; e < b.out; e++) put_box(y, i * b.out + e, room.out[e]);
    }
    hop__set_canonical(m, y); /* which tells what is no number */
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
        of.count = b->count - p * each < each ? b->count - p * each : each;
        hop__set *in = hop__set_columns(&own, x, p * each * b->in, of.count * b->in),
                 *out = in ? map_whole(&own, in, of, p * each, relative) : NULL;
        part[p] = hop__set_from(m, out, &own);
    }
    hop__memory_free(&own);
    return m->status == HOP_OK ? hop__set_beside(m, (const hop__set *const *)part, (int)pieces) : NULL;
}

static hop__set *map(hop__memory *m, const hop__set *x, const hop__blocks *b, bool relative)
{
    bool large = x->width > PIECE && b->count > 1 && joint_cells(x) > HOP__LARGE_CELLS;
    return large ? map_pieces(m, x, b, relative) : map_whole(m, x, *b, 0, relative);
}

hop__set *hop__set_map(hop__memory *m, const hop__set *x, hop__blocks b)
{
    return map(m, x, &b, false);
}

hop__set *hop__set_map_relative(hop__memory *m, const hop__set *x, hop__blocks b)
{
    return map(m, x, &b, true);
}
