/* A network without a position table: rotary embedding tells where tokens stand (docs/THEORY.md section 5.9).
 *
 * The last token's own place, n - 1, is fixed. So a rotated query meets one constant key at place p with the score
 * beta · sum over pairs of cos f_j (p - p*), which is greatest at p = p*: an address is the vector of e^(i f_j x), a
 * value is written so, and w_l N_{l-1} + i is the product of two such vectors, number by number.
 *
 *     one   the constant
 *     val   the token's number x: cos f_j x, then sin f_j x, for every pair (token table)
 *     dig   the token as w: the same of w_l N_{l-1}, for l = 1 .. L-1 (token table)
 *     reg   what look-up e has brought, e = 0 .. L, 0 at first
 *     adr   dig_{e-1} · reg_{e-1} as complex numbers, for e = 2 .. L; that of look-up 1 is reg_0 */
#ifndef HOP_CONSTRUCT_ROTARY_H
#define HOP_CONSTRUCT_ROTARY_H

#include "construct.h"

#define HOP__MOST_PAIRS 16

typedef struct hop__turns {
    int pairs;
    int64_t pair[HOP__MOST_PAIRS]; /* of a head */
    double speed[HOP__MOST_PAIRS]; /* radians a token */
    double lead;                   /* by which the right place's sum of cosines leads all others' */
} hop__turns;

/* How a head's pairs turn: by the frequencies of a table [turned / 2], else from theta. */
typedef struct hop__rotation {
    double theta;
    const float *table; /* NULL: there is none */
    int64_t turned;     /* numbers of a head that are */
} hop__rotation;

/* The pairs that tell `places` places apart best, `most` of them at the most. HOP_EDOMAIN: none do. */
hop_status hop__turns_init(hop__turns *t, const hop__rotation *r, int64_t places, int most, hop_error *err);

typedef struct hop__circle {
    hop__turns turns;
    const hop_funccomp *task;
    int one, val, dig[HOP_MAX_HOPS], reg[HOP_MAX_HOPS + 1], adr[HOP_MAX_HOPS + 1];
    int width;
    double constant, root; /* what stands in `one`; what a norm divides rows by */
    double gain;           /* of the answer: a tied table's own number stands there already */
} hop__circle;

/* Look-up e by head 0 of attention layer `layer`; reg_e times dig_e into adr_{e+1} by the MLP behind it. */
void hop__circle_look_up(hop_model *m, const hop__circle *s, int64_t layer, int e);
void hop__circle_product(hop_model *m, const hop__circle *s, int64_t layer, int e);

#endif
