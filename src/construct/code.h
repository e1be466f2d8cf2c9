/* How numbers look inside the constructed networks: vectors of ±1.
 *
 * A number x < N_{L-1} has mixed-radix digits d_0 < m, d_1 < n_1, .., d_{L-1} < n_{L-1} (lowest first), and
 * every digit has a binary code of its own, so sizes need not be powers of two and the address (w_l, i_l) of
 * a table entry is the code of i_l with the code of w_l beside it. docs/THEORY.md section 5. */
#ifndef HOP_CONSTRUCT_CODE_H
#define HOP_CONSTRUCT_CODE_H

#include <hopbound/tasks.h>

typedef struct hop__code {
    int digits;                   /* L */
    int64_t radix[HOP_MAX_HOPS];  /* m, n_1, .., n_{L-1} */
    int width[HOP_MAX_HOPS];      /* bits of a digit's code */
    int offset[HOP_MAX_HOPS + 1]; /* where a digit's code begins; offset[digits] = all bits */
} hop__code;

void hop__code_init(hop__code *c, const hop_funccomp *task);
int hop__code_bits(const hop__code *c);
/* The code of one digit, `width[digit]` numbers ±scale. */
void hop__code_digit(const hop__code *c, int digit, int64_t value, float scale, float *out);
/* The codes of the lowest `count` digits of x; the other places are left alone. */
void hop__code_number(const hop__code *c, int count, int64_t x, float scale, float *out);

#endif
