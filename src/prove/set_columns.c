/* Columns of sets: taken, put in another order, beside each other, and added up. */
#include "set_inside.h"

#include <hopbound/kernels.h>

#include <string.h>

/* What is known of columns from .. of x, tables aside, becomes that of columns `at` .. of y. */
static void put_ranges(hop__set *y, int64_t at, const hop__set *x, int64_t from, int64_t width)
{
    memcpy(y->mid + at, x->mid + from, sizeof(double) * (size_t)width);
    memcpy(y->rad + at, x->rad + from, sizeof(double) * (size_t)width);
    memcpy(y->rel + at, x->rel + from, sizeof(double) * (size_t)width);
    memcpy(y->least + at, x->least + from, sizeof(double) * (size_t)width);
    memcpy(y->most + at, x->most + from, sizeof(double) * (size_t)width);
}

/* Columns from .. from + width - 1 of a term's rows become those from `at` on of a term v's, row for row. */
static void put_rows(hop__term *v, int64_t at, const hop__term *u, int64_t from, int64_t width)
{
    int64_t lo = from > u->first ? from : u->first,
            hi = from + width < u->first + u->count ? from + width : u->first + u->count;
    for (int64_t r = 0; lo < hi && r < u->rows; r++)
        memcpy(hop__term_cell(v, r, lo - from + at), hop__term_row(u, r) + (lo - u->first),
               sizeof(double) * (size_t)(hi - lo));
}

/* Has the term numbers other than 0 there? */
static bool any_in(const hop__term *u, int64_t lo, int64_t hi)
{
    for (int64_t r = 0; r < u->rows; r++)
        for (int64_t c = lo; c < hi; c++)
            if (hop__term_row(u, r)[c - u->first] != 0) return true;
    return false;
}

/* Columns from .. of x are added to y's, or become them; terms over the same variables are one. */
static void put_columns(hop__memory *m, hop__set *y, const hop__set *x, int64_t from, int64_t width)
{
    put_ranges(y, 0, x, from, width);
    for (int t = 0; t < x->terms; t++) {
        const hop__term *u = &x->term[t];
        int64_t lo = from > u->first ? from : u->first,
                hi = from + width < u->first + u->count ? from + width : u->first + u->count;
        hop__term *v = any_in(u, lo, hi) ? hop__set_term_over(m, y, u, lo - from, hi - lo) : NULL;
        if (!v) continue;
        put_rows(v, v->first, u, lo, hi - lo);
        for (int i = y->terms - 2; i >= 0; i--)
            if (hop__term_same_vars(&y->term[i], v) && hop__set_join_two(m, y, i, y->terms - 1)) break;
    }
}

hop__set *hop__set_gather(hop__memory *m, const hop__set *x, const int64_t *column, int64_t width)
{
    hop__set *y = hop__set_new(m, width);
    for (int t = 0; y && t < x->terms; t++) {
        const hop__term *u = &x->term[t];
        int64_t lo = 0, hi = width;
        while (lo < hi && !hop__term_fills(u, column[lo])) lo++;
        while (lo < hi && !hop__term_fills(u, column[hi - 1])) hi--;
        hop__term *v = lo < hi ? hop__set_term_over(m, y, u, lo, hi - lo) : NULL;
        for (int64_t r = 0; v && r < u->rows; r++)
            for (int64_t c = lo; c < hi; c++) hop__term_row(v, r)[c - lo] = hop__term_at(u, r, column[c]);
    }
    for (int64_t c = 0; y && c < width; c++) {
        y->mid[c] = x->mid[column[c]], y->rad[c] = x->rad[column[c]], y->rel[c] = x->rel[column[c]];
        y->least[c] = x->least[column[c]], y->most[c] = x->most[column[c]];
    }
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}

hop__set *hop__set_copy(hop__memory *m, const hop__set *x)
{
    hop__set *y = hop__set_new(m, x->width);
    if (!y) return NULL;
    put_ranges(y, 0, x, 0, x->width);
    for (int t = 0; t < x->terms; t++) {
        hop__term *v = hop__set_term_like(m, y, &x->term[t]);
        if (v) put_rows(v, v->first, &x->term[t], v->first, v->count);
    }
    if (m->status == HOP_OK) hop__set_measure(m, y);
    return m->status == HOP_OK ? y : NULL;
}

hop__set *hop__set_from(hop__memory *m, const hop__set *x, hop__memory *own)
{
    m->overflow = m->overflow || own->overflow;
    if (m->status == HOP_OK) m->status = own->status;
    hop__set *y = m->status == HOP_OK ? hop__set_copy(m, x) : NULL;
    if (y) hop__set_own(m, y);
    hop__memory_clear(own);
    return y;
}

hop__set *hop__set_columns(hop__memory *m, const hop__set *x, int64_t from, int64_t width)
{
    hop__set *y = hop__set_new(m, width);
    if (!y) return NULL;
    put_columns(m, y, x, from, width);
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* ---- beside each other --------------------------------------------------------------------- */

/* So many terms may stand apart. */
#define MOST_APART (HOP__MOST_TERMS / 2)

/* Terms over the same variables, one of each set at the most, as one term of y where that is better: its
 * classes are found before its rows are made, since to join one after the other would make them all anew each
 * time. `done` [count, HOP__MOST_TERMS]. at [count]: where each set's columns begin. */
static void put_alike(hop__memory *m, hop__set *y, const hop__set *const *sets, int count, int from, int term,
                      const int64_t *at, bool (*done)[HOP__MOST_TERMS])
{
    hop__term all = sets[from]->term[term];
    int *with = hop__take(m, count, sizeof *with);
    all.first += at[from];
    for (int i = from; with && i < count; i++) {
        with[i] = i == from ? term : -1;
        for (int t = 0; i > from && with[i] < 0 && t < sets[i]->terms; t++) {
            hop__term next, moved = sets[i]->term[t];
            moved.first += at[i];
            if (done[i][t] || !hop__term_same_vars(&all, &moved)) continue;
            if (hop__term_pays(m, &next, &all, &moved) || hop__term_continues(m, &next, &all, &moved) ||
                (y->terms >= MOST_APART && hop__term_joint(m, &next, &all, &moved)))
                all = next, with[i] = t;
        }
        if (with[i] >= 0) done[i][with[i]] = true;
    }
    hop__term *v = m->status == HOP_OK ? hop__set_term_like(m, y, &all) : NULL;
    for (int i = from; v && i < count; i++) {
        if (with[i] < 0) continue;
        const hop__term *u = &sets[i]->term[with[i]];
        const int32_t *row_of = hop__term_rows_within(m, v, u);
        for (int64_t r = 0; row_of && r < v->rows; r++)
            memcpy(hop__term_cell(v, r, at[i] + u->first), hop__term_row(u, row_of[r]),
                   sizeof(double) * (size_t)u->count);
    }
}

hop__set *hop__set_beside(hop__memory *m, const hop__set *const *sets, int count)
{
    int64_t width = 0, *at = hop__take(m, count, sizeof *at);
    for (int i = 0; at && i < count; width += sets[i++]->width) at[i] = width;
    hop__set *y = hop__set_new(m, width);
    bool(*done)[HOP__MOST_TERMS] = hop__take(m, count, sizeof *done);
    for (int i = 0; m->status == HOP_OK && i < count; i++) {
        put_ranges(y, at[i], sets[i], 0, sets[i]->width);
        for (int t = 0; t < sets[i]->terms; t++)
            if (!done[i][t]) put_alike(m, y, sets, count, i, t, at, done);
    }
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}

/* ---- sums ---------------------------------------------------------------------------------- */

hop__set *hop__set_add(hop__memory *m, const hop__set *x, const hop__set *y)
{
    hop__set *s = hop__set_new(m, x->width);
    double *rad = hop__take(m, x->width, sizeof *rad); /* of x, and what joining its rows has lost */
    x = hop__set_folded(m, (hop__set *)x), y = hop__set_folded(m, (hop__set *)y);
    if (!s || !x || !y || !rad) return NULL;
    put_columns(m, s, x, 0, x->width);
    memcpy(rad, s->rad, sizeof *rad * (size_t)x->width);
    put_columns(m, s, y, 0, x->width); /* mid and rad are y's now, and what joining its rows has lost */
    hop__set_unbound(s);
    for (int64_t c = 0; m->status == HOP_OK && c < x->width; c++) {
        int grid = x->grid[c] < y->grid[c] ? x->grid[c] : y->grid[c];
        double mag = x->mag[c] + y->mag[c];
        bool one = x->mag[c] == 0 || y->mag[c] == 0;
        bool both = rad[c] != 0 && s->rad[c] != 0;
        s->rad[c] += rad[c];
        if (both) s->rad[c] = ival_up(s->rad[c]);
        if (!one && !hop__exact_sum(grid, mag))
            s->rad[c] = ival_up(s->rad[c] + HOP_UNIT_ROUNDOFF * mag + 0x1p-149);
        hop__set_add_mid(s, c, x->mid[c]);
        if (!(mag < HOP__LARGEST)) m->overflow = true;
    }
    hop__set_canonical(m, s);
    return m->status == HOP_OK ? s : NULL;
}
