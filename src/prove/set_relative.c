/* Sums that keep what is relative: where one of two numbers is 0 in every case, which is how layers that share
 * a table write to one register, what each is off stays relative to itself. As boxes these errors would add up
 * from layer to layer, though all layers but one add 0. */
#include "set_inside.h"

#include <hopbound/kernels.h>

#define MOST_RELATIVE 0.25 /* beyond this a box says as much */

bool hop__set_is_alone(const hop__set *s, int64_t c, int *t)
{
    *t = -1;
    for (int i = 0; i < s->terms; i++) {
        if (!hop__term_fills(&s->term[i], c)) continue;
        if (*t >= 0 || s->term[i].mixture) return false;
        *t = i;
    }
    return true;
}

/* Two tables, looked at together: which rows of both are the case at once. */
typedef struct pair {
    int x, y;               /* terms, -1: none */
    int64_t rows;           /* 0: too many */
    const int32_t *rx, *ry; /* [rows]; NULL: it has none */
} pair;

static bool look_at_pair(hop__memory *m, pair *p, const hop__set *x, const hop__set *y, int tx, int ty)
{
    if (p->rows && p->x == tx && p->y == ty) return true;
    *p = (pair){.x = tx, .y = ty, .rows = 1};
    const hop__term *a = tx >= 0 ? &x->term[tx] : NULL, *b = ty >= 0 ? &y->term[ty] : NULL;
    hop__term both = a ? *a : b ? *b : (hop__term){0};
    if (a && b && !hop__term_cases(m, &both, a, b)) p->rows = 0;
    if (!p->rows || m->status != HOP_OK) return false;
    if (a || b) p->rows = both.rows;
    p->rx = a ? hop__term_rows_within(m, &both, a) : NULL;
    p->ry = b ? hop__term_rows_within(m, &both, b) : NULL;
    return m->status == HOP_OK;
}

static double value_at(const hop__set *s, int t, const int32_t *row_of, int64_t r, int64_t c)
{
    return s->mid[c] + (t >= 0 ? hop__term_at(&s->term[t], row_of[r], c) : 0);
}

/* What column c of x + y is off relative to itself, in the case where that is most, with the rounding of the
 * sum; infinity: more than can be told. */
static double relative_sum(hop__memory *m, pair *p, const hop__set *x, const hop__set *y, int64_t c)
{
    int tx, ty;
    double most = 0;
    if (!hop__set_is_alone(x, c, &tx) || !hop__set_is_alone(y, c, &ty)) return INFINITY;
    if (!look_at_pair(m, p, x, y, tx, ty)) return INFINITY;
    for (int64_t r = 0; r < p->rows; r++) {
        double a = value_at(x, tx, p->rx, r, c), b = value_at(y, ty, p->ry, r, c);
        double off = x->rel[c] * fabs(a) + y->rel[c] * fabs(b), mag = fabs(a) + fabs(b);
        if (off == 0) continue;
        double sum = fabs(a + b) - 0x1p-50 * mag;
        if (!(sum > 0)) return INFINITY;
        most = ival_most(most, off / sum);
    }
    return most * (1 + 0x1p-20) + 2 * HOP_UNIT_ROUNDOFF;
}

static bool any_relative(const hop__set *s)
{
    for (int64_t c = 0; c < s->width; c++)
        if (s->rel[c] > 0) return true;
    return false;
}

hop__set *hop__set_add_relative(hop__memory *m, const hop__set *x, const hop__set *y)
{
    if (!any_relative(x) && !any_relative(y)) return hop__set_add(m, x, y);
    hop__set *a = hop__set_copy(m, x), *b = hop__set_copy(m, y);
    double *kept = hop__take(m, x->width, sizeof *kept);
    pair p = {0};
    if (m->status != HOP_OK) return NULL;
    for (int64_t c = 0; c < x->width; c++) {
        if (x->rel[c] == 0 && y->rel[c] == 0) continue;
        double rel = relative_sum(m, &p, x, y, c);
        if (m->status != HOP_OK) return NULL;
        if (!(rel < MOST_RELATIVE)) continue; /* hop__set_add makes boxes of it */
        kept[c] = rel, a->rel[c] = b->rel[c] = 0;
    }
    hop__set_measure(m, a), hop__set_measure(m, b);
    hop__set *s = hop__set_add(m, a, b);
    for (int64_t c = 0; s && c < s->width; c++) s->rel[c] = kept[c];
    if (s) hop__set_measure(m, s);
    return m->status == HOP_OK ? s : NULL;
}
