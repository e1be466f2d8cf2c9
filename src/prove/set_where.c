/* A set in some cases, and 0 in all others: what a head returns that holds some entries of a table, and is
 * asked for any. Which case it is depends on variables, as everything does: the result is a table over these
 * and its own. */
#include "set_inside.h"

#include <string.h>

/* The cases as a table of their own, cases that are alike taken together: a set of one column, 1 or 0. */
static const hop__set *cases(hop__memory *m, const hop__term *by, const bool *where)
{
    hop__set *s = hop__set_new(m, 1);
    hop__term *t = s ? hop__set_term_over(m, s, by, 0, 1) : NULL;
    for (int64_t r = 0; t && r < t->rows; r++) *hop__term_cell(t, r, 0) = where[r];
    hop__set_canonical(m, s);
    return m->status == HOP_OK ? s : NULL;
}

/* y gets a term more: that of x's, or mid where `of` is NULL, in the marked cases. */
static bool add_where(hop__memory *m, hop__set *y, const hop__set *x, const hop__term *of,
                      const hop__set *mark)
{
    hop__term by = mark->term[0], joint = by;
    by.first = of ? of->first : 0, by.count = of ? of->count : x->width; /* columns of x, not of mark */
    if (of && !hop__term_joint(m, &joint, &by, of)) return false;
    joint.mixture = false;
    hop__term *t = hop__set_term_over(m, y, &joint, by.first, by.count);
    const int32_t *case_of = t ? hop__term_rows_within(m, t, &by) : NULL,
                  *row_of = t && of ? hop__term_rows_within(m, t, of) : NULL;
    for (int64_t r = 0; m->status == HOP_OK && r < t->rows; r++)
        if (mark->mid[0] + hop__term_at(&mark->term[0], case_of[r], 0) != 0)
            memcpy(hop__term_row(t, r), of ? hop__term_row(of, row_of[r]) : x->mid,
                   sizeof(double) * (size_t)t->count);
    return m->status == HOP_OK;
}

hop__set *hop__set_where(hop__memory *m, hop__set *x, const hop__term *by, const bool *where)
{
    const hop__set *mark = cases(m, by, where);
    x = hop__set_folded(m, x);
    if (!x) return NULL;
    if (!mark || mark->terms == 0) return mark && mark->mid[0] == 0 ? hop__set_new(m, x->width) : x;
    for (int t = x->terms - 1; t >= 0; t--)
        if (x->term[t].mixture) hop__set_drop_term(x, t);
    hop__set *y = hop__set_new(m, x->width);
    for (int64_t c = 0; y && c < x->width; c++) y->rad[c] = x->rad[c];
    if (!y || !add_where(m, y, x, NULL, mark)) return NULL;
    for (int t = 0; m->status == HOP_OK && t < x->terms; t++) {
        if (add_where(m, y, x, &x->term[t], mark)) continue;
        for (int64_t c = 0; m->status == HOP_OK && c < x->width;
             c++) { /* too large: anything it may be, or 0 */
            ival range = hop__set_term_range(x, t, c);
            y->rad[c] = ival_up(y->rad[c] + ival_mag(range));
        }
    }
    hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}
