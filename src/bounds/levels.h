/* Lemma 3 in integers: what a certificate says of x draws (proofs/CERTIFICATE.md, `lines`). */
#ifndef HOP_BOUNDS_LEVELS_H
#define HOP_BOUNDS_LEVELS_H

#include "draws.h"

/* The line A·v - b·v·ln v - C below 1 - (1 - v/x)^x that is best for laws on q values with an entropy of
 * log2 q - δ; it touches at v_0 and v_1, of which the worst law consists. */
typedef struct hop__law {
    double phi; /* different values, of q, that x draws have at least */
    double a, b, c, v0, v1;
} hop__law;

/* By Newton's method from the line for Poisson draws. False: it does not converge, or there are no two atoms. */
bool hop__law_find(hop__law *law, const hop__lines *lines, double draws, double q, double delta);

/* In parts of q, by how much the line of a certificate stands below the best: it is made of 20 to 60 chords. */
#define HOP__LEVELS_LOSS 6e-7

#define HOP__MOST_LEVELS 400
typedef struct hop__levels {
    fmpz first[5]; /* s, kap, E, D, G */
    int count;
    fmpz of[3 * HOP__MOST_LEVELS]; /* (a, u, w): the line u + w·p up to p = a/G */
} hop__levels;

void hop__levels_clear(hop__levels *l);
/* Lines for x draws from classes of at least q^t/2^A functions on t places, and the number Y of values that
 * they show. Nothing is claimed: a checker decides. False: nothing is shown. */
bool hop__levels_find(hop__levels *l, fmpz_t Y, const hop__law *law, const fmpz *A, const fmpz *t,
                      const fmpz *q, const fmpz *x);

#endif
