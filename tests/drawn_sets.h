/* drawn_sets.h - sets that are drawn, and members of them: for tests of what is made of a set, beside what is made of the
 * numbers in it. Everything is a small multiple of the drawing's size, so that members are numbers of float32 exactly. */
#ifndef HOPBOUND_DRAWN_SETS_H
#define HOPBOUND_DRAWN_SETS_H

#include "test.h"

#include <hopbound/base.h>

#include "set_inside.h"

enum { DRAWN_VARS = 4, DRAWN_VALUES = 16 }; /* variables of a drawing; numbers that variables have */

/* What a token's set may depend on: table k is over variable var[k], which has so many values. */
typedef struct drawing {
    hop__memory *m;
    hop_rng *rng;
    double size;
    int vars, var[DRAWN_VARS];
    int64_t values[DRAWN_VARS];
    const float *push; /* boxes are at the ends that these numbers' signs say; NULL: at any */
} drawing;

static inline int drawn_below(hop_rng *rng, int n)
{
    return (int)hop_rng_below(rng, (uint64_t)n);
}

/* Sums of a few of these are numbers of float32, and so are halves of such sums. */
static inline double drawn_step(const drawing *d)
{
    return drawn_below(d->rng, 3) ? (drawn_below(d->rng, 65) - 32) * 0x1p-4 * d->size : 0;
}

/* A table over all variables k with 1 << k in `which`, filled with steps. */
static inline hop__term *drawn_table(const drawing *d, hop__set *x, unsigned which)
{
    hop__term like = {.mixture = false};
    for (int k = 0; k < d->vars; k++) {
        if (!(which >> k & 1)) continue;
        int32_t *of = hop__take(d->m, d->values[k], sizeof *of);
        for (int64_t i = 0; of && i < d->values[k]; i++) of[i] = (int32_t)i;
        like.var[like.vars] = d->var[k], like.of[like.vars] = of;
        like.values[like.vars] = like.classes[like.vars] = d->values[k], like.vars++;
    }
    hop__term *u = hop__set_term_over(d->m, x, &like, 0, x->width);
    assert_non_null(u);
    for (int64_t i = 0; i < u->rows * u->count; i++) u->cell[i] = drawn_step(d);
    return u;
}

static inline int64_t drawn_row(const hop__term *u, const int64_t value[DRAWN_VALUES])
{
    int64_t row = 0;
    for (int k = 0; k < u->vars; k++) row = row * u->classes[k] + u->of[k][value[u->var[k]]];
    return row;
}

/* What column c is when the variables have these values; mixtures: any of their rows. */
static inline ival drawn_said(const hop__set *s, const int64_t value[DRAWN_VALUES], int64_t c)
{
    ival x = ival_point(s->mid[c]);
    for (int k = 0; k < s->terms; k++)
        x = ival_add(x, s->term[k].mixture
                            ? hop__set_term_range(s, k, c)
                            : ival_point(hop__term_at(&s->term[k], drawn_row(&s->term[k], value), c)));
    if (s->rel[c] > 0) x = ival_widen(x, s->rel[c] * ival_mag(x));
    return hop__set_within(s, c, ival_widen(x, s->rad[c]));
}

static inline int drawn_end(const drawing *d, int64_t c)
{
    if (!d->push) return drawn_below(d->rng, 3) - 1;
    return (d->push[c] > 0) - (d->push[c] < 0);
}

/* A member of x: a mixture is the mean of two of its rows, and boxes are at an end or in the middle. */
static inline void drawn_member(const drawing *d, const hop__set *x, const int64_t value[DRAWN_VALUES],
                                float *to)
{
    int64_t rows[HOP__MOST_TERMS][2];
    for (int k = 0; k < x->terms; k++)
        for (int i = 0; i < 2; i++)
            rows[k][i] = x->term[k].mixture ? drawn_below(d->rng, (int)x->term[k].rows)
                                            : drawn_row(&x->term[k], value);
    for (int64_t c = 0; c < x->width; c++) {
        double v = x->mid[c];
        for (int k = 0; k < x->terms; k++)
            v += 0.5 * (hop__term_at(&x->term[k], rows[k][0], c) + hop__term_at(&x->term[k], rows[k][1], c));
        v += drawn_end(d, c) * x->rel[c] * v;
        v += drawn_end(d, c) * x->rad[c];
        to[c] = (float)v;
        assert_true((double)to[c] == v);
    }
}

/* `y` has to hold what is made of a member. */
static inline void drawn_expect(const hop__set *y, const int64_t value[DRAWN_VALUES], int64_t c, double made,
                                const char *what)
{
    ival is = drawn_said(y, value, c);
    if (!(is.lo <= made && made <= is.hi && fabs(made) <= y->mag[c]))
        fail_msg("%s: number %d is %.9g, not in [%.17g, %.17g]", what, (int)c, made, is.lo, is.hi);
}

/* n terms added up in float32, in any order, products rounded or not. */
static inline float drawn_sum(hop_rng *rng, double *term, int n)
{
    float sum = 0;
    const bool fused = drawn_below(rng, 2);
    for (int i = n - 1; i > 0; i--) {
        const int j = drawn_below(rng, i + 1);
        double t = term[i];
        term[i] = term[j], term[j] = t;
    }
    for (int i = 0; i < n; i++) sum = fused ? (float)((double)sum + term[i]) : sum + (float)term[i];
    return sum;
}

#endif
