/* How many different values x draws have at least, on average (docs/BOUNDS.md, section 8, lemma 3). */
#ifndef HOP_BOUNDS_DRAWS_H
#define HOP_BOUNDS_DRAWS_H

#include "numbers.h"

/* ---- the search for lines: draws.c ------------------------------------------------------------ */

/* Lines below 1 - e^-v: 1 - e^-v >= A·v - b·v·ln v - C for all v >= 0, which touch at v_0 < 1 < v_1. */
#define HOP__LINES 1024
typedef struct hop__lines {
    struct {
        double v0, a, b, c;
    } at[HOP__LINES]; /* four numbers a line: what is searched stays in the nearest cache */
    struct {
        double v1, more0, more1; /* times 1/x: by how much 1 - (1 - v/x)^x is larger at v_0, v_1 */
    } besides[HOP__LINES];
} hop__lines;

void hop__lines_init(hop__lines *t);
/* About Φ, a little above: x draws from a law on q values with an entropy of at least log2 q - δ have q·Φ
 * different ones. */
double hop__lines_phi(const hop__lines *t, double draws, double q, double delta);
/* Where the best line touches. */
void hop__lines_touch(const hop__lines *t, double lambda, double delta, double *v0, double *v1);

#endif
