/* What the files that make sets, set_*.c, share: everybody else needs set.h only. */
#ifndef HOP_PROVE_SET_INSIDE_H
#define HOP_PROVE_SET_INSIDE_H

#include "set.h"

#include <string.h>

/* Rows are told apart by the bits of their numbers: FNV-1a over words, begun with HOP__HASH. Whoever finds
 * two hashes equal compares the rows. */
#define HOP__HASH 1469598103934665603u
static inline uint64_t hop__hash_numbers(uint64_t h, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        h = (h ^ bits) * 1099511628211u;
        h ^= h >> 29;
    }
    return h;
}

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

/* Rows of class c of variable k lie in runs of hop__term_step rows: this many .. */
static inline int64_t hop__term_runs(const hop__term *t, int k)
{
    return t->rows / (t->classes[k] * hop__term_step(t, k));
}

/* .. of which this is the i-th. */
static inline double *hop__term_run(const hop__term *t, int k, int64_t c, int64_t i)
{
    return hop__term_row(t, (i * t->classes[k] + c) * hop__term_step(t, k));
}

/* Tables beyond this are worth some thought before they are made. */
#define HOP__LARGE_CELLS (1 << 20)

/* set.c: all these rows, in order. */
void hop__term_copy_slice(double *to, const hop__term *t, int k, int64_t c);
/* The k-th variable, which has one class, is none. */
void hop__term_forget(hop__term *t, int k);
void hop__set_remove_term(hop__set *s, int t);
/* Column c's rel goes into its rad; mag has to be right. */
void hop__set_settle(hop__set *s, int64_t c);
/* mid[c] += x, what is lost goes to the box. */
void hop__set_add_mid(hop__set *s, int64_t c, double x);

/* set_join.c: do both depend on the same variables, and on one row at a time? */
bool hop__term_same_vars(const hop__term *a, const hop__term *b);
/* Puts terms a < b of s in place of a as one; false when that would be too large. */
bool hop__set_join_two(hop__memory *m, hop__set *s, int a, int b);
/* The variables of two terms; where both know one, its classes are told apart as finely as either does;
 * false: too many rows. Without cells. joint: false also if these would be too many. rows_within: for every
 * row of `fine` the row of `coarse`, whose variables are among fine's and no finer. */
bool hop__term_cases(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b);
bool hop__term_joint(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b);
/* Are two terms over the same variables better one, namely this one? See hop__set_canonical. */
bool hop__term_pays(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b);
/* The same of terms of sets that are put beside each other: also where rows are the same, and lie close. */
bool hop__term_continues(hop__memory *m, hop__term *out, const hop__term *a, const hop__term *b);
int32_t *hop__term_rows_within(hop__memory *m, const hop__term *fine, const hop__term *coarse);

/* set_columns.c: x, which lies in memory `own`, as a copy in m; what went wrong there has gone wrong here.
 * Clears `own`. */
hop__set *hop__set_from(hop__memory *m, const hop__set *x, hop__memory *own);

/* set_range.c */
/* What is left of x between least and most. */
ival hop__set_within(const hop__set *s, int64_t c, ival x);

/* set_relative.c: does one table at most fill column c, and is it no mixture? *t: which, -1: none. */
bool hop__set_is_alone(const hop__set *s, int64_t c, int *t);

/* set_canonical.c */
void hop__set_measure(hop__memory *m, hop__set *s); /* mag and grid */

#endif
