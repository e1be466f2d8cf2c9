/* What the files that make sets, set_*.c, share: everybody else needs set.h only. */
#ifndef HOP_PROVE_SET_INSIDE_H
#define HOP_PROVE_SET_INSIDE_H

#include "set.h"

static inline int64_t hop__term_product(const hop__term *t)
{
    int64_t rows = 1;
    for (int k = 0; k < t->vars; k++) rows *= t->classes[k];
    return rows;
}

/* Rows between neighbours that differ in variable k only by one. */
static inline int64_t hop__term_step(const hop__term *t, int k)
{
    int64_t step = 1;
    for (int i = t->vars - 1; i > k; i--) step *= t->classes[i];
    return step;
}

/* The i-th of the rows of class c of variable k. */
static inline int64_t hop__term_slice(const hop__term *t, int k, int64_t c, int64_t i)
{
    int64_t step = hop__term_step(t, k);
    return (i / step * t->classes[k] + c) * step + i % step;
}

/* set.c: the k-th variable, which has one class, is none. */
void hop__term_forget(hop__term *t, int k);
void hop__set_remove_term(hop__set *s, int t);
/* mid[c] += x, what is lost goes to the box. */
void hop__set_add_mid(hop__set *s, int64_t c, double x);

/* set_join.c: do both depend on the same variables, and on one row at a time? */
bool hop__term_same_vars(const hop__term *a, const hop__term *b);
/* Puts terms a < b of s in place of a as one; false when that would be too large. */
bool hop__set_join_two(hop__memory *m, hop__set *s, int a, int b);
/* The variables of two terms; where both know one, its classes are told apart as finely as either does;
 * false: too large with rows of `width`. rows_within: for every row of `fine` the row of `coarse`, whose
 * variables are among fine's and no finer. */
bool hop__term_joint(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b, int64_t width);
int32_t *hop__term_rows_within(hop__memory *m, const hop__term *fine, const hop__term *coarse);

/* set_range.c */
/* What is left of x between least and most. */
ival hop__set_within(const hop__set *s, int64_t c, ival x);

/* set_tidy.c */
void hop__set_measure(hop__memory *m, hop__set *s); /* mag and grid */

#endif
