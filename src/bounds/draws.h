/* How many different values x draws have at least, on average (docs/BOUNDS.md, section 8, lemma 3). */
#ifndef HOP_BOUNDS_DRAWS_H
#define HOP_BOUNDS_DRAWS_H

#include "numbers.h"

#include <flint/fmpq.h>

/* A line below 1 - e^-v: 1 - e^-v >= A·v - b·v·ln v - C for all v >= 0, C from two points. Doubles are exact
 * rationals, and what they prove is found out in balls. b = 0 stands for the closed form: b = 1/e, the
 * tangent at x/q. */
typedef struct hop__line {
    double a, b, v0, v1;
} hop__line;

/* Φ(x/q, δ), from below: x draws from a law on q values with an entropy of at least log2 q - δ have q·Φ
 * different ones. False when the line proves nothing. draws_verify.c. */
bool hop__draws_phi(arb_t phi, const hop__line *line, const fmpz_t x, const fmpz_t q, const fmpq_t delta,
                    slong prec);

/* ---- the search for lines: draws.c ------------------------------------------------------------ */

#define HOP__LINES 1024
typedef struct hop__lines {
    struct {
        double v0, a, b, c;
    } at[HOP__LINES];
} hop__lines;

void hop__lines_init(hop__lines *t);
/* About Φ, by the best of the lines. */
double hop__lines_phi(const hop__lines *t, double lambda, double delta);
/* The best line, for hop__draws_phi. */
hop__line hop__lines_best(const hop__lines *t, double lambda, double delta);

#endif
