/* Cases that are told apart for nothing: the same code, read from one head or from another, whose numbers
 * differ by less than they are uncertain anyway. Left alone, such cases multiply from layer to layer. */
#include "set.h"

#define FINE      0x1p-4 /* of the box: what rows may differ by and count as one */
#define MOST_WORK 1e8

/* Row i of those in which variable k has class c. */
static int64_t row_at(const hop__term *t, int k, int64_t c, int64_t i)
{
    int64_t step = 1;
    for (int n = t->vars - 1; n > k; n--) step *= t->classes[n];
    return (i / step * t->classes[k] + c) * step + i % step;
}

static bool alike(const hop__set *s, const hop__term *t, int k, int64_t a, int64_t b)
{
    for (int64_t i = 0; i < t->rows / t->classes[k]; i++) {
        const double *x = t->row + row_at(t, k, a, i) * s->width, *y = t->row + row_at(t, k, b, i) * s->width;
        for (int64_t c = 0; c < s->width; c++)
            if (x[c] != y[c] && !(fabs(x[c] - y[c]) <= FINE * s->rad[c])) return false;
    }
    return true;
}

/* Class b becomes what class a is; off [width]: what that changes, at the most. */
static void become(const hop__set *s, hop__term *t, int k, int64_t a, int64_t b, double *off)
{
    for (int64_t i = 0; i < t->rows / t->classes[k]; i++) {
        const double *x = t->row + row_at(t, k, a, i) * s->width;
        double *y = t->row + row_at(t, k, b, i) * s->width;
        for (int64_t c = 0; c < s->width; c++) {
            if (x[c] != y[c]) off[c] = ival_most(off[c], ival_up(fabs(x[c] - y[c])));
            y[c] = x[c];
        }
    }
}

static bool blur(hop__memory *m, hop__set *s, hop__term *t, int k)
{
    double *off = hop__take(m, s->width, sizeof *off);
    int64_t *kept = hop__take(m, t->classes[k], sizeof *kept), count = 0;
    bool any = false;
    if (m->status != HOP_OK || (double)t->classes[k] * (double)t->classes[k] * (double)s->width > MOST_WORK)
        return false;
    for (int64_t b = 0; b < t->classes[k]; b++) {
        int64_t n = 0;
        while (n < count && !alike(s, t, k, kept[n], b)) n++;
        if (n == count)
            kept[count++] = b;
        else
            become(s, t, k, kept[n], b, off), any = true;
    }
    for (int64_t c = 0; c < s->width; c++)
        if (off[c] > 0) s->rad[c] = ival_up(s->rad[c] + off[c]);
    return any;
}

hop__set *hop__set_blurred(hop__memory *m, hop__set *x)
{
    bool any = false;
    x = x->terms ? hop__set_settled(m, x) : x; /* what is relative to a row goes with it */
    hop__set *y = x && x->terms ? hop__set_columns(m, x, 0, x->width) : x;
    for (int t = 0; y && m->status == HOP_OK && t < y->terms; t++)
        for (int k = 0; !y->term[t].mixture && k < y->term[t].vars; k++)
            any = blur(m, y, &y->term[t], k) || any;
    if (any) hop__set_unbound(y), hop__set_tidy(m, y);
    return m->status == HOP_OK ? y : NULL;
}
