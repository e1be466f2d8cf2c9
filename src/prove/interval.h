/* Intervals of real numbers, [lo, hi], with outward rounding: the exact result of every operation lies
 * inside.
 *
 * A double operation rounded to nearest errs by at most 2^-53 of its result (plus a denormal), so widening
 * both ends by 2^-52 of themselves and a tiny constant is enough, in any rounding mode and on any IEEE
 * machine; no switching of rounding modes, which compilers do not respect. Infinities and NaN spread, and
 * every test that a proof relies on is written so that NaN fails it. */
#ifndef HOP_PROVE_INTERVAL_H
#define HOP_PROVE_INTERVAL_H

#include <math.h>
#include <stdbool.h>

typedef struct ival {
    double lo, hi;
} ival;

/* Smaller and larger of two bounds; unlike fmin and fmax, NaN wins, so that a bound that is none stays
 * visible. */
static inline double ival_least(double a, double b)
{
    return a < b || a != a ? a : b;
}

static inline double ival_most(double a, double b)
{
    return a > b || a != a ? a : b;
}

/* Rounded to float32, as kernels have what configurations say. GCC 12 forgets (double)(float)x where it stores two such
 * numbers beside each other (-O2): hence volatile. */
static inline double hop__rounded(double x)
{
    volatile float y = (float)x;
    return y;
}

/* The one safety factor: sums and products of some hundred thousand doubles that are not below 0, and libm's functions,
 * are within it. */
#define HOP__ABOVE (1 + 0x1p-30)
#define HOP__BELOW (1 - 0x1p-30)
/* The same of one function of libm alone, where more would cost proofs. */
#define HOP__TRUE_ABOVE (1 + 0x1p-46)
#define HOP__TRUE_BELOW (1 - 0x1p-46)

static inline double ival_down(double x)
{
    return x - (fabs(x) * 0x1p-52 + 0x1p-1000);
}

static inline double ival_up(double x)
{
    return x + (fabs(x) * 0x1p-52 + 0x1p-1000);
}

static inline ival ival_point(double x)
{
    return (ival){x, x};
}

static inline bool ival_is_point(ival a)
{
    return a.lo == a.hi;
}

static inline ival ival_add(ival a, ival b)
{
    /* Adding exact zeros happens most of the time and must not widen. */
    if (b.lo == 0 && b.hi == 0) return a;
    if (a.lo == 0 && a.hi == 0) return b;
    double s = a.lo + b.lo;
    if (ival_is_point(a) && ival_is_point(b) && s - a.lo == b.lo && s - b.lo == a.lo)
        return ival_point(s); /* exact */
    return (ival){ival_down(a.lo + b.lo), ival_up(a.hi + b.hi)};
}

static inline ival ival_scale(ival a, double s)
{
    if (s == 1) return a;
    if (s == -1) return (ival){-a.hi, -a.lo};
    double x = a.lo * s, y = a.hi * s;
    if (ival_is_point(a) && fma(a.lo, s, -x) == 0 && (x == 0) == (a.lo == 0 || s == 0))
        return ival_point(x); /* exact */
    return (ival){ival_down(ival_least(x, y)), ival_up(ival_most(x, y))};
}

static inline ival ival_mul(ival a, ival b)
{
    if (b.lo == b.hi) return ival_scale(a, b.lo);
    if (a.lo == a.hi) return ival_scale(b, a.lo);
    double p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;
    return (ival){ival_down(ival_least(ival_least(p, q), ival_least(r, s))),
                  ival_up(ival_most(ival_most(p, q), ival_most(r, s)))};
}

static inline ival ival_square(ival x)
{
    double a = x.lo * x.lo, b = x.hi * x.hi;
    return (ival){x.lo <= 0 && x.hi >= 0 ? 0 : ival_down(ival_least(a, b)), ival_up(ival_most(a, b))};
}

/* [-r, r] around it; r >= 0. */
static inline ival ival_widen(ival a, double r)
{
    return r == 0 ? a : (ival){ival_down(a.lo - r), ival_up(a.hi + r)};
}

static inline ival ival_hull(ival a, ival b)
{
    return (ival){a.lo < b.lo || a.lo != a.lo ? a.lo : b.lo, a.hi > b.hi || a.hi != a.hi ? a.hi : b.hi};
}

static inline double ival_mag(ival a)
{
    return ival_most(fabs(a.lo), fabs(a.hi));
}

static inline double ival_mid(ival a)
{
    return 0.5 * (a.lo + a.hi);
}

/* What rounding to numbers of a few bits makes of one up to mag, relative rounding that is `round` where these are normal:
 * below 2^-126 a unit stays what it is. */
static inline double hop__crossing(double round, double mag)
{
    return round > 0 ? round * (mag + 0x1p-126) : 0;
}

/* Half the width, rounded up, so that [mid - rad, mid + rad] contains the interval. */
static inline double ival_rad(ival a)
{
    return a.lo == a.hi ? 0 : ival_up(ival_up(0.5 * (a.hi - a.lo)) + 0x1p-51 * ival_mag(a));
}

#endif
