/* Sets, their terms, and what is changed in place. */
#include "set_inside.h"

#include <string.h>

hop__set *hop__set_new(hop__memory *m, int64_t width)
{
    hop__set *s = hop__take(m, 1, sizeof *s);
    if (!s) return NULL;
    s->width = width;
    s->mid = hop__take(m, width, sizeof(double));
    s->rad = hop__take(m, width, sizeof(double));
    s->rel = hop__take(m, width, sizeof(double));
    s->mag = hop__take(m, width, sizeof(double));
    s->grid = hop__take(m, width, sizeof(int));
    s->least = hop__take(m, width, sizeof(double));
    s->most = hop__take(m, width, sizeof(double));
    hop__set_unbound(s);
    return m->status == HOP_OK ? s : NULL;
}

void hop__set_unbound(hop__set *s)
{
    for (int64_t c = 0; s->least && s->most && c < s->width; c++)
        s->least[c] = -INFINITY, s->most[c] = INFINITY;
}

bool hop__set_reserve(hop__memory *m, hop__set *s, int terms)
{
    if (terms > HOP__MOST_TERMS && m->status == HOP_OK) m->status = HOP_EDOMAIN;
    if (m->status != HOP_OK) return false;
    if (terms <= s->room) return true;
    int room = terms < 4 ? 4 : 2 * terms;
    hop__term *t = hop__take(m, room, sizeof *t);
    if (!t) return false;
    if (s->terms) memcpy(t, s->term, sizeof *t * (size_t)s->terms);
    s->term = t, s->room = room;
    return true;
}

hop__term *hop__set_term_over(hop__memory *m, hop__set *s, const hop__term *like, int64_t first,
                              int64_t count)
{
    if (!hop__set_reserve(m, s, s->terms + 1)) return NULL;
    hop__term t = *like;
    t.rows = hop__term_product(&t);
    t.first = first, t.count = count;
    t.cell = hop__take(m, t.rows * count, sizeof(double));
    if (!t.cell) return NULL;
    s->term[s->terms] = t;
    return &s->term[s->terms++];
}

hop__term *hop__set_term_like(hop__memory *m, hop__set *s, const hop__term *like)
{
    return hop__set_term_over(m, s, like, like->first, like->count);
}

hop__term *hop__set_add_term(hop__memory *m, hop__set *s, int var, int64_t values, const int32_t *of,
                             int64_t classes)
{
    if (m->status != HOP_OK) return NULL;
    if (!of) {
        int32_t *own = hop__take(m, values, sizeof *own);
        for (int64_t i = 0; own && i < values; i++) own[i] = (int32_t)i;
        of = own;
        classes = values;
    }
    hop__term t = {.vars = 1, .var = {var}, .values = {values}, .classes = {classes}, .of = {of}};
    return m->status == HOP_OK ? hop__set_term_over(m, s, &t, 0, s->width) : NULL;
}

int64_t hop__term_class(const hop__term *t, int k, int64_t row)
{
    for (int i = t->vars - 1; i > k; i--) row /= t->classes[i];
    return row % t->classes[k];
}

void hop__term_copy_slice(double *to, const hop__term *t, int k, int64_t c)
{
    int64_t run = hop__term_step(t, k) * t->count;
    for (int64_t i = 0; i < hop__term_runs(t, k); i++)
        memcpy(to + i * run, hop__term_run(t, k, c, i), sizeof(double) * (size_t)run);
}

void hop__term_forget(hop__term *t, int k)
{
    t->vars--;
    for (int i = k; i < t->vars; i++) {
        t->var[i] = t->var[i + 1];
        t->values[i] = t->values[i + 1];
        t->classes[i] = t->classes[i + 1];
        t->of[i] = t->of[i + 1];
    }
}

void hop__set_remove_term(hop__set *s, int t)
{
    s->terms--;
    for (int i = t; i < s->terms; i++) s->term[i] = s->term[i + 1];
}

/* mid[c] += x, what is lost goes to the box. */
void hop__set_add_mid(hop__set *s, int64_t c, double x)
{
    double sum = s->mid[c] + x;
    if (!(sum - s->mid[c] == x && sum - x == s->mid[c])) s->rad[c] = ival_up(s->rad[c] + 0x1p-52 * fabs(sum));
    s->mid[c] = sum;
}

void hop__set_settle(hop__set *s, int64_t c)
{
    if (s->rel[c] == 0) return;
    s->rad[c] = ival_up(s->rad[c] + ival_up(s->rel[c] * s->mag[c]));
    s->rel[c] = 0;
}

hop__set *hop__set_folded(hop__memory *m, hop__set *x)
{
    bool any = false;
    for (int64_t c = 0; x && c < x->width; c++) any = any || x->rel[c] != 0;
    hop__set *y = any ? hop__set_copy(m, x) : x;
    for (int64_t c = 0; any && y && c < y->width; c++) hop__set_settle(y, c);
    if (any) hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}

void hop__set_drop_term(hop__set *s, int t)
{
    for (int64_t c = 0; c < s->width; c++) {
        hop__set_settle(s, c);
        ival range = hop__set_term_range(s, t, c);
        hop__set_add_mid(s, c, ival_is_point(range) ? range.lo : ival_mid(range));
        if (ival_is_point(range)) continue;
        s->rad[c] = ival_up(s->rad[c] + ival_rad(range));
        s->grid[c] = HOP__NO_GRID;
    }
    hop__set_remove_term(s, t);
}

void hop__set_fix(hop__memory *m, hop__set *s, int var, int64_t value)
{
    for (int t = 0; m->status == HOP_OK && t < s->terms; t++)
        for (int k = s->term[t].vars - 1; k >= 0; k--) {
            hop__term *u = &s->term[t], old = *u;
            if (u->var[k] != var) continue;
            int64_t c = old.of[k][value], rest = old.rows / old.classes[k];
            u->rows = rest, u->cell = hop__take(m, rest * u->count, sizeof(double));
            if (!u->cell) return;
            hop__term_copy_slice(u->cell, &old, k, c);
            hop__term_forget(u, k);
        }
    hop__set_canonical(m, s);
}

void hop__set_own(hop__memory *m, hop__set *s)
{
    for (int t = 0; t < s->terms; t++)
        for (int k = 0; k < s->term[t].vars; k++) {
            int32_t *of = hop__take(m, s->term[t].values[k], sizeof *of);
            if (!of) return;
            memcpy(of, s->term[t].of[k], sizeof *of * (size_t)s->term[t].values[k]);
            s->term[t].of[k] = of;
        }
}
