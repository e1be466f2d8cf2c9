/* Numbers as float32 has them: their lowest bits, and rounding. */
#include "set.h"

#include <hopbound/kernels.h>

#include <string.h>

int hop__low_bit(double x)
{
    uint64_t bits;
    if (x == 0) return HOP__ANY_GRID;
    if (!isfinite(x)) return HOP__NO_GRID;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction =
        bits & ((1ull << 52) - 1); /* x = fraction 2^(exponent - 1075), but for the hidden bit */
    if (exponent == 0) return __builtin_ctzll(fraction) - 1074;
    return exponent - 1075 + __builtin_ctzll(fraction | 1ull << 52);
}

bool hop__exact_sum(int grid, double mag)
{
    return grid != HOP__NO_GRID &&
           (grid == HOP__ANY_GRID || (grid > -140 && grid < 100 && mag < ldexp(1.0, 24 + grid)));
}

ival hop__float(ival x)
{
    if (!(x.lo > -HOP__LARGEST && x.hi < HOP__LARGEST)) return (ival){-INFINITY, INFINITY};
    if (ival_is_point(x) && hop__rounded(x.lo) == x.lo) return x;
    return ival_widen(x, HOP_UNIT_ROUNDOFF * ival_mag(x) + 0x1p-149);
}

/* Rounding does not change a sign. What may be beyond float32's numbers has none: infinity times 0 is none. */
ival hop__times(ival a, ival b)
{
    if (b.lo == b.hi && fabs(b.lo) == 1) return ival_scale(a, b.lo);
    ival r = hop__float(ival_mul(a, b));
    if (!(r.lo > -HOP__LARGEST && r.hi < HOP__LARGEST)) return r;
    if (((a.lo >= 0 && b.hi <= 0) || (a.hi <= 0 && b.lo >= 0)) && r.hi > 0) r.hi = 0;
    if (((a.lo >= 0 && b.lo >= 0) || (a.hi <= 0 && b.hi <= 0)) && r.lo < 0) r.lo = 0;
    return r;
}
