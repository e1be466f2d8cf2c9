/* The residual stream of the networks that make one look-up a layer, and the weights of a look-up.
 *
 *     who   L+2 numbers, one-hot: the token's player (position table)
 *     at    B numbers ±1: the token's place in its function (position table)
 *     val   B numbers ±1: the token's value (token table)
 *     dig   ±1: the token's value read as w's digits (token table)
 *     reg   B numbers: what the last token has found so far, 0 at first
 */
#ifndef HOP_CONSTRUCT_FIELDS_H
#define HOP_CONSTRUCT_FIELDS_H

#include "code.h"
#include "construct.h"

#define HOP__WRITE_GAIN 4.0f

typedef struct hop__fields {
    hop__code code;
    int hops, bits, digit_bits; /* digit_bits: w's digits, l = 1 .. L-1 */
    int who, at, val, dig, reg; /* where each field begins */
    int d_model, head_dim;
} hop__fields;

void hop__fields_init(hop__fields *f, const hop_funccomp *task);
int hop__fields_digit(const hop__fields *f, int l);    /* where w_l's code begins */
int hop__fields_who(const hop__fields *f, int player); /* players -1, 0, .., L */
/* Weight of one unit of score: a wrong token's score is at least 2 beta below the right one's, so all of them
 * together weigh at most n·exp(-2 beta) = 1/(16 e^2 n). The theory needs half of this beta; the rest pays for
 * 8-bit scores. */
double hop__fields_beta(int64_t tokens);

/* Tables and read-out. */
void hop__fill_tables(hop_model *m, const hop__fields *f, const hop_funccomp *task);
/* Layer `layer` lets the last token ask for player e at the address (w_{e-1}, reg) and adds 4 × the answer's
 * code to reg. */
void hop__fill_look_up(hop_model *m, const hop__fields *f, int64_t layer, int e, float beta);
/* The MLP of `layer` clips reg to ±1. It needs two hidden units a bit, because the residual stream does half
 * of the work: y + [relu(-y-1) - relu(y-1)] = clip(y, -1, 1). With the old content between -1 and 1 and the
 * answer's weight at least 3/4, |y| >= 4·(1/2) - 1 = 1. For |y| >= 1 every step of it is exact in binary
 * floating point of any precision (y - 1 is a multiple of y's last place and no larger), so reg is exactly ±1
 * again. */
void hop__fill_clip(hop_model *m, const hop__fields *f, int64_t layer);

#endif
