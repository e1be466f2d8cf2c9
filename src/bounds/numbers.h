/* Integers of any size, balls, and how they are printed. Claims rest on these and on nothing else: a sign is
 * decided when a ball excludes zero, at whatever precision that takes. */
#ifndef HOP_BOUNDS_NUMBERS_H
#define HOP_BOUNDS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <hopbound/base.h>

#include <flint/fmpz.h>
#ifdef HOP_ARB_IN_FLINT
#include <flint/arb.h>
#else
#include <arb.h>
#endif

#define HOP__EXACT_DIGITS 18 /* an n with more decimal digits is printed as a power of ten */

/* ---- signs --------------------------------------------------------------------------------- */

/* A real number that can be had to any precision. */
typedef void hop__real_fn(arb_t out, const void *ctx, slong prec);

/* +1, -1, or 0 when the precision that is worth trying leaves it open: then it is zero, or as good as. */
int hop__sign(hop__real_fn *f, const void *ctx);
/* ceil of the number, which must not be an integer; false when that stays open. */
bool hop__ceiling(fmpz_t out, hop__real_fn *f, const void *ctx);

/* ---- pieces -------------------------------------------------------------------------------- */

void hop__log2(arb_t out, const fmpz_t x, slong prec); /* x >= 1 */
/* Is N·log2 N > bits? Exactly. */
bool hop__table_exceeds(const fmpz_t table, const fmpz_t bits);
/* The least N >= 2 with N·log2 N > bits. */
void hop__least_table(fmpz_t out, const fmpz_t bits);
double hop__log10(const fmpz_t x);                  /* for printing; x >= 1 */
void hop__from_log2(fmpz_t out, double log2_of_it); /* about 2^it, at least 1 */
double hop__to_log2(const fmpz_t x);                /* -infinity for 0 */
/* About x·2^by, rounded down, at least 1. */
void hop__scaled(fmpz_t out, const fmpz_t x, double by);

/* ---- words --------------------------------------------------------------------------------- */

/* "38215", or as a power of ten when it is long. */
void hop__print_integer(hop_text *out, const fmpz_t x);
/* "10^2157.8"; "10^(3.6e+10)" when the exponent is long itself. */
void hop__print_power(hop_text *out, double log10_of_it);

#endif
