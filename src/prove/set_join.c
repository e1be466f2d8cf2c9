/* Terms that become one: a table over the variables of both. */
#include "set_inside.h"

#include <string.h>

/* Cells of a table that is small enough to be joined without asking what for. */
#ifndef HOP__SMALL_CELLS
#define HOP__SMALL_CELLS (1 << 16)
#endif

bool hop__term_same_vars(const hop__term *a, const hop__term *b)
{
    if (a->vars != b->vars || a->mixture || b->mixture) return false;
    for (int i = 0; i < a->vars; i++) {
        bool found = false;
        for (int j = 0; j < b->vars; j++) found = found || a->var[i] == b->var[j];
        if (!found) return false;
    }
    return true;
}

/* Is there a column that both fill? */
static bool overlap(const hop__term *a, const hop__term *b)
{
    return a->first < b->first + b->count && b->first < a->first + a->count;
}

/* `out` fills what either does. */
static void span(hop__term *out, const hop__term *a, const hop__term *b)
{
    int64_t first = a->first < b->first ? a->first : b->first,
            ends = a->first + a->count > b->first + b->count ? a->first + a->count : b->first + b->count;
    out->first = first, out->count = ends - first;
}

/* ---- classes and rows ---------------------------------------------------------------------- */

/* The classes of values that either of two ways tells apart, into `of`, numbered as values meet them;
 * returns their number. */
static int64_t refine(hop__memory *m, int32_t *of, const int32_t *a, const int32_t *b, int64_t values)
{
    uint64_t size = 16;
    while (size < 2 * (uint64_t)values) size *= 2;
    int32_t *seen = hop__take(m, (int64_t)size, sizeof *seen), *first = hop__take(m, values, sizeof *first);
    int32_t count = 0;
    for (int64_t v = 0; m->status == HOP_OK && v < values; v++) {
        uint64_t at = ((uint64_t)a[v] * 0x9e3779b97f4a7c15u + (uint64_t)b[v]) * 0xd6e8feb86659fd93u;
        at = (at >> 32) & (size - 1);
        while (seen[at] && (a[first[seen[at] - 1]] != a[v] || b[first[seen[at] - 1]] != b[v]))
            at = (at + 1) & (size - 1);
        if (!seen[at]) {
            first[count] = (int32_t)v;
            seen[at] = ++count;
        }
        of[v] = seen[at] - 1;
    }
    return count;
}

bool hop__term_cases(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b)
{
    *out = *a;
    out->cell = NULL;
    for (int k = 0; k < b->vars; k++) {
        int at = 0;
        while (at < out->vars && out->var[at] != b->var[k]) at++;
        if (at == HOP__TERM_VARS) return false;
        if (at == out->vars) {
            out->vars++;
            out->var[at] = b->var[k], out->values[at] = b->values[k];
            out->classes[at] = b->classes[k], out->of[at] = b->of[k];
            continue;
        }
        int64_t values = b->values[k];
        if (out->of[at] == b->of[k] || memcmp(out->of[at], b->of[k], sizeof *b->of[k] * (size_t)values) == 0)
            continue;
        int32_t *of = hop__take(m, values, sizeof *of);
        if (m->status != HOP_OK) return false;
        out->classes[at] = refine(m, of, out->of[at], b->of[k], values);
        out->of[at] = of;
    }
    double rows = 1;
    for (int k = 0; k < out->vars; k++) rows *= (double)out->classes[k];
    span(out, a, b);
    out->rows = rows <= (double)HOP__MOST_ROWS ? (int64_t)rows : 0;
    return m->status == HOP_OK && out->rows > 0;
}

bool hop__term_joint(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b)
{
    return hop__term_cases(m, out, a, b) && (double)out->rows * (double)out->count <= (double)HOP__MOST_CELLS;
}

/* Two terms over the same variables with no column in common: is the joint table, with so many rows, as good
 * as both? Every number that they hold is there as often as its rows are. */
static bool worth(const hop__term *a, const hop__term *b, int64_t rows, int64_t count)
{
    int64_t most = a->rows > b->rows ? a->rows : b->rows, cells = rows * count;
    return cells <= HOP__SMALL_CELLS ||
           (rows <= most && cells <= 4 * (a->rows * a->count + b->rows * b->count));
}

bool hop__term_pays(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b)
{
    int64_t least = a->rows > b->rows ? a->rows : b->rows;
    if (!hop__term_same_vars(a, b)) return false;
    if (a->vars < 2 || overlap(a, b)) return hop__term_joint(m, out, a, b);
    span(out, a, b);
    return worth(a, b, least, out->count) && hop__term_joint(m, out, a, b) &&
           worth(a, b, out->rows, out->count);
}

int32_t *hop__term_rows_within(hop__memory *m, const hop__term *fine, const hop__term *coarse)
{
    int32_t *row_of = hop__take(m, fine->rows, sizeof *row_of);
    for (int k = 0; row_of && k < coarse->vars; k++) {
        int at = 0;
        while (fine->var[at] != coarse->var[k]) at++;
        int32_t *to = hop__take(m, fine->classes[at], sizeof *to);
        if (!to) return NULL;
        for (int64_t v = 0; v < coarse->values[k]; v++) to[fine->of[at][v]] = coarse->of[k][v];
        int64_t step = hop__term_step(coarse, k), run = hop__term_step(fine, at);
        for (int64_t r = 0, c = 0; r < fine->rows; r += run, c = c + 1 < fine->classes[at] ? c + 1 : 0)
            for (int64_t i = 0; i < run; i++) row_of[r + i] += (int32_t)(to[c] * step);
    }
    return row_of;
}

/* ---- terms --------------------------------------------------------------------------------- */

/* Row r of z is x's plus y's; what is lost where both have numbers goes to `lost`, by column. */
static void add_rows(const hop__term *z, int64_t r, const hop__term *x, const double *a, const hop__term *y,
                     const double *b, double *lost)
{
    double *to = hop__term_row(z, r);
    memcpy(to + (x->first - z->first), a, sizeof *to * (size_t)x->count);
    to += y->first - z->first;
    for (int64_t i = 0; i < y->count; i++) {
        int64_t c = y->first + i;
        double old = hop__term_fills(x, c) ? a[c - x->first] : 0;
        to[i] = old + b[i];
        if (old != 0 && b[i] != 0 && !(to[i] - old == b[i] && to[i] - b[i] == old))
            lost[c] = fmax(lost[c], 0x1p-52 * fabs(to[i]));
    }
}

bool hop__set_join_two(hop__memory *m, hop__set *s, int a, int b)
{
    hop__term t;
    if (s->term[a].mixture || s->term[b].mixture || !hop__term_joint(m, &t, &s->term[a], &s->term[b]))
        return false;
    t.cell = hop__take(m, t.rows * t.count, sizeof(double));
    const int32_t *ra = hop__term_rows_within(m, &t, &s->term[a]),
                  *rb = hop__term_rows_within(m, &t, &s->term[b]);
    double *lost = hop__take(m, s->width, sizeof *lost);
    if (m->status != HOP_OK) return false;
    const hop__term *x = &s->term[a], *y = &s->term[b];
    for (int64_t r = 0; r < t.rows; r++)
        add_rows(&t, r, x, hop__term_row(x, ra[r]), y, hop__term_row(y, rb[r]), lost);
    for (int64_t c = 0; c < s->width; c++)
        if (lost[c] > 0) s->rad[c] = ival_up(s->rad[c] + lost[c]);
    s->term[a] = t;
    hop__set_remove_term(s, b);
    return true;
}

hop__set *hop__set_joined(hop__memory *m, const hop__set *x)
{
    for (int t = 0; t < x->terms; t++)
        if (x->term[t].mixture) return NULL;
    hop__set *s = hop__set_columns(m, x, 0, x->width);
    while (s && m->status == HOP_OK && s->terms > 1)
        if (!hop__set_join_two(m, s, 0, 1)) return NULL;
    return s;
}

void hop__set_join_alike(hop__memory *m, hop__set *s)
{
    for (int a = 0; m->status == HOP_OK && s && a < s->terms; a++)
        for (int b = s->terms - 1; b > a; b--)
            if (hop__term_same_vars(&s->term[a], &s->term[b])) hop__set_join_two(m, s, a, b);
}
