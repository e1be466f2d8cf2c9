/* Terms that become one: a table over the variables of both. */
#include "set_inside.h"

#include <string.h>

/* Cells of a table that is small enough to be joined without asking what for. */
#define SMALL_CELLS (1 << 16)

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

bool hop__term_pays(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b)
{
    int64_t least = a->rows > b->rows ? a->rows : b->rows;
    if (!hop__term_same_vars(a, b)) return false;
    if (overlap(a, b)) return hop__term_joint(m, out, a, b);
    span(out, a, b);
    return least * out->count <= SMALL_CELLS && hop__term_joint(m, out, a, b) &&
           out->rows * out->count <= SMALL_CELLS;
}

bool hop__term_continues(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b)
{
    int64_t least = a->rows > b->rows ? a->rows : b->rows, cells = a->rows * a->count + b->rows * b->count;
    if (!hop__term_same_vars(a, b)) return false;
    span(out, a, b);
    return least * out->count <= 2 * cells && hop__term_joint(m, out, a, b) && out->rows == least;
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

/* z += y, row by row; the most that is lost in a column where both have numbers goes to `lost`, and then to
 * the box. */
static void add_term(hop__memory *m, hop__set *s, const hop__term *z, const hop__term *y, double *lost)
{
    const int32_t *row_of = hop__term_rows_within(m, z, y);
    if (!row_of) return;
    for (int64_t i = 0; i < y->count; i++) lost[i] = 0;
    for (int64_t r = 0; r < z->rows; r++) {
        double *to = hop__term_row(z, r) + (y->first - z->first);
        const double *from = hop__term_row(y, row_of[r]);
        for (int64_t i = 0; i < y->count; i++) {
            double x = to[i];
            to[i] = x + from[i];
            if (x != 0 && from[i] != 0 && !(to[i] - x == from[i] && to[i] - from[i] == x))
                lost[i] = ival_most(lost[i], 0x1p-52 * fabs(to[i]));
        }
    }
    for (int64_t i = 0; i < y->count; i++)
        if (lost[i] > 0) s->rad[y->first + i] = ival_up(s->rad[y->first + i] + lost[i]);
}

bool hop__set_join_two(hop__memory *m, hop__set *s, int a, int b)
{
    hop__term t;
    if (s->term[a].mixture || s->term[b].mixture || !hop__term_joint(m, &t, &s->term[a], &s->term[b]))
        return false;
    t.cell = hop__take(m, t.rows * t.count, sizeof(double));
    double *lost = hop__take(m, s->width, sizeof *lost);
    if (m->status != HOP_OK) return false;
    add_term(m, s, &t, &s->term[a], lost);
    add_term(m, s, &t, &s->term[b], lost);
    s->term[a] = t;
    hop__set_remove_term(s, b);
    return m->status == HOP_OK;
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

/* All terms over the variables of term a become one in its place; false, and nothing done, where that is too
 * large. What it has is found before any of it is made: to join one after the other would make it all anew
 * each time. */
static bool join_all(hop__memory *m, hop__set *s, int a)
{
    hop__term t = s->term[a], next;
    for (int b = s->terms - 1; b > a; b--) {
        if (!hop__term_same_vars(&s->term[a], &s->term[b])) continue;
        if (!hop__term_cases(m, &next, &t, &s->term[b])) return false;
        t = next;
    }
    if ((double)t.rows * (double)t.count > (double)HOP__MOST_CELLS) return false;
    t.cell = hop__take(m, t.rows * t.count, sizeof(double));
    double *lost = hop__take(m, s->width, sizeof *lost);
    if (m->status != HOP_OK) return false;
    add_term(m, s, &t, &s->term[a], lost);
    for (int b = s->terms - 1; m->status == HOP_OK && b > a; b--) {
        if (!hop__term_same_vars(&t, &s->term[b])) continue;
        add_term(m, s, &t, &s->term[b], lost);
        hop__set_remove_term(s, b);
    }
    s->term[a] = t;
    return true;
}

static int alike(const hop__set *s, int a)
{
    int count = 1;
    for (int b = a + 1; b < s->terms; b++) count += hop__term_same_vars(&s->term[a], &s->term[b]);
    return count;
}

void hop__set_join_alike(hop__memory *m, hop__set *s)
{
    for (int a = 0; m->status == HOP_OK && s && a < s->terms; a++) {
        if (alike(s, a) < 2 || join_all(m, s, a)) continue;
        for (int b = s->terms - 1; b > a; b--)
            if (hop__term_same_vars(&s->term[a], &s->term[b])) hop__set_join_two(m, s, a, b);
    }
}
