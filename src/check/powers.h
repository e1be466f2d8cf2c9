/* Products of powers, compared: 2^X · Π a^k < Π b^l, for integers of any size. The algorithm of proofs/Pow.v,
 * which is proved sound there: a value is enclosed by x·2^e with x of 128 bits, rounded down or up after every
 * product, so that an exponent of any size costs as many steps as it has bits. */
#ifndef HOP_CHECK_POWERS_H
#define HOP_CHECK_POWERS_H

#include <stdbool.h>

#include <flint/fmpz.h>

typedef struct hop__power {
    const fmpz *base, *exponent;
} hop__power;

/* False whenever the enclosures do not decide. */
bool hop__products_less(const fmpz *shift, const hop__power *left, int lefts, const hop__power *right,
                        int rights);

#endif
