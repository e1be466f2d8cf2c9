/* Terms that become one: a table over the variables of both. */
#include "set_inside.h"

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

bool hop__term_joint(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b, int64_t width)
{
    *out = *a;
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
        int64_t values = b->values[k], pairs = out->classes[at] * b->classes[k];
        if (pairs > HOP__MOST_CELLS) return false;
        int32_t *seen = hop__take(m, pairs, sizeof *seen), *of = hop__take(m, values, sizeof *of);
        if (m->status != HOP_OK) return false;
        int32_t count = 0;
        for (int64_t v = 0; v < values; v++) {
            int64_t pair = out->of[at][v] * b->classes[k] + b->of[k][v];
            if (!seen[pair]) seen[pair] = ++count;
            of[v] = seen[pair] - 1;
        }
        out->classes[at] = count;
        out->of[at] = of;
    }
    double rows = 1;
    for (int k = 0; k < out->vars; k++) rows *= (double)out->classes[k];
    return rows <= (double)HOP__MOST_ROWS && rows * (double)width <= (double)HOP__MOST_CELLS;
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
        int64_t step = hop__term_step(coarse, k);
        for (int64_t r = 0; r < fine->rows; r++)
            row_of[r] += (int32_t)(to[hop__term_class(fine, at, r)] * step);
    }
    return row_of;
}

/* Puts terms a < b of s in place of a as one; false when that would be too large. */
bool hop__set_join_two(hop__memory *m, hop__set *s, int a, int b)
{
    hop__term t;
    if (s->term[a].mixture || s->term[b].mixture ||
        !hop__term_joint(m, &t, &s->term[a], &s->term[b], s->width))
        return false;
    t.rows = hop__term_product(&t);
    t.row = hop__take(m, t.rows * s->width, sizeof(double));
    const int32_t *ra = hop__term_rows_within(m, &t, &s->term[a]),
                  *rb = hop__term_rows_within(m, &t, &s->term[b]);
    if (m->status != HOP_OK) return false;
    double *lost = hop__take(m, s->width, sizeof *lost);
    for (int64_t r = 0; lost && r < t.rows; r++) {
        const double *x = s->term[a].row + ra[r] * s->width, *y = s->term[b].row + rb[r] * s->width;
        double *z = t.row + r * s->width;
        for (int64_t c = 0; c < s->width; c++) {
            z[c] = x[c] + y[c];
            if (x[c] != 0 && y[c] != 0 && !(z[c] - x[c] == y[c] && z[c] - y[c] == x[c]))
                lost[c] = fmax(lost[c], 0x1p-52 * fabs(z[c]));
        }
    }
    for (int64_t c = 0; lost && c < s->width; c++)
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
