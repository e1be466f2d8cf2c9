/* Cases that are told apart for nothing: the same code, read from one head or from another, whose numbers
 * differ by less than they are uncertain anyway. Left alone, such cases multiply from layer to layer. */
#include "set_inside.h"

#define FINE      0x1p-4 /* of the box: what rows may differ by and count as one */
#define MOST_WORK 1e8

/* Numbers of a run of rows that have one class of variable k. */
static int64_t run_of(const hop__term *t, int k)
{
    return hop__term_step(t, k) * t->count;
}

/* The lesser of two numbers, in absolute values: what a difference is relative to. */
static double lesser(double x, double y)
{
    return ival_least(fabs(x), fabs(y));
}

static bool alike(const hop__set *s, const hop__term *t, int k, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < hop__term_runs(t, k); i++) {
        const double *x = hop__term_run(t, k, a, i), *y = hop__term_run(t, k, b, i);
        for (int64_t n = 0; n < run_of(t, k); n++) {
            int64_t c = t->first + n % t->count;
            if (x[n] == y[n]) continue;
            double box = s->rel[c] > 0 ? s->rel[c] * lesser(x[n], y[n]) : s->rad[c];
            if (!(fabs(x[n] - y[n]) <= FINE * box)) return false;
        }
    }
    return true;
}

/* Class b becomes what class a is; off [width]: what that changes, at the most, relative where s->rel is. */
static void become(const hop__set *s, hop__term *t, int k, int64_t a, int64_t b, double *off)
{
    for (int64_t i = 0; i < hop__term_runs(t, k); i++) {
        const double *x = hop__term_run(t, k, a, i);
        double *y = hop__term_run(t, k, b, i);
        for (int64_t n = 0; n < run_of(t, k); n++) {
            int64_t c = t->first + n % t->count;
            double by = s->rel[c] > 0 ? lesser(x[n], y[n]) : 1;
            if (x[n] != y[n]) off[c] = ival_most(off[c], ival_up(fabs(x[n] - y[n]) / by));
            y[n] = x[n];
        }
    }
}

static bool merge_columns(hop__memory *m, hop__set *s, hop__term *t, int k)
{
    double *off = hop__take(m, s->width, sizeof *off), classes = (double)t->classes[k];
    int64_t *kept = hop__take(m, t->classes[k], sizeof *kept), count = 0;
    bool any = false;
    if (m->status != HOP_OK || classes * classes * (double)t->count > MOST_WORK) return false;
    for (int64_t b = 0; b < t->classes[k]; b++) {
        int64_t n = 0;
        while (n < count && !alike(s, t, k, kept[n], b)) n++;
        if (n == count)
            kept[count++] = b;
        else
            become(s, t, k, kept[n], b, off), any = true;
    }
    for (int64_t c = 0; c < s->width; c++)
        if (off[c] > 0 && s->rel[c] > 0)
            s->rel[c] = ival_up(ival_up((1 + s->rel[c]) * (1 + off[c])) - 1) + 0x1p-50;
        else if (off[c] > 0)
            s->rad[c] = ival_up(s->rad[c] + off[c]);
    return any;
}

hop__set *hop__set_merged(hop__memory *m, hop__set *x)
{
    bool any = false;
    hop__set *y = x->terms ? hop__set_copy(m, x) : x;
    for (int64_t c = 0; y && y->terms && c < y->width; c++) { /* what is relative to a row goes with it .. */
        int t;
        if (y->rel[c] > 0 && (y->mid[c] != 0 || !hop__set_is_alone(y, c, &t)))
            hop__set_settle(y, c); /* .. if the row is all there is */
    }
    for (int t = 0; y && m->status == HOP_OK && t < y->terms; t++)
        for (int k = 0; !y->term[t].mixture && k < y->term[t].vars; k++)
            any = merge_columns(m, y, &y->term[t], k) || any;
    if (any) hop__set_unbound(y), hop__set_canonical(m, y);
    return m->status == HOP_OK ? y : NULL;
}
