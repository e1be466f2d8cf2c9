/* What a number is: how it is kept between operations, and how a declared arithmetic rounds it. */
#include "room.h"

#include <float.h>
#include <stdlib.h>

/* ---- float32, or something near it --------------------------------------------------------------- */

uint64_t hop__mark(uint64_t mark, double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    u = (u ^ mark) * 0xff51afd7ed558ccdu;
    return u ^ u >> 29;
}

/* In (-1, 1), a function of the number, of what it was made from, and of the seed. */
static double noise(uint64_t seed, double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    u = (u ^ seed) * 0x9e3779b97f4a7c15u;
    u = (u ^ u >> 32) * 0xd6e8feb86659fd93u;
    u ^= u >> 32;
    return (double)(int64_t)u * 0x1p-63;
}

static double in_range(double x)
{
    return x > FLT_MAX ? INFINITY : x < -FLT_MAX ? -INFINITY : x;
}

/* Exponentials below e^-87, and what others divide by e^87, are 0 in programs that have no smaller numbers.
 */
#define NOTHING 0x1p-110

double hop__keep(const hop__pass *p, double x)
{
    if (p->how == HOP__DOUBLE) return x;
    float near = (float)x;
    if (p->how == HOP__FLOAT || (double)near == x || x != x) return near;
    if (fabs(x) < NOTHING) return 0;
    return (float)(x + x * 0x1p-22 * noise(p->seed, x)); /* up to four units: exp is no better */
}

/* Is every partial sum of these products a float32 number, in whatever order? So it is when all are multiples
 * of a unit that goes into the sum of their sizes less than 2^24 times. Adding and subtracting 1.5·2^52 units
 * rounds to whole ones. */
static bool never_rounds(const double *a, int64_t sa, const double *b, int64_t sb, int64_t n, double size)
{
    int e;
    frexp(size, &e); /* size < 2^e */
    double grid = ldexp(1.5, 52 + e - 24);
    if (!isfinite(grid) || e - 24 < -149) return false;
    for (int64_t i = 0; i < n; i++) {
        double x = a[i * sa] * b[i * sb];
        if ((x + grid) - grid != x) return false;
    }
    return true;
}

double hop__dot(const hop__pass *p, const double *a, int64_t sa, const double *b, int64_t sb, int64_t n,
                double start)
{
    double sum = start, size = fabs(start);
    if (p->how != HOP__SHAKEN) {
        for (int64_t i = 0; i < n; i++) sum += a[i * sa] * b[i * sb];
        return hop__keep(p, sum);
    }
    uint64_t mark = hop__mark(0, start);
    for (int64_t i = 0; i < n; i++) {
        double x = a[i * sa] * b[i * sb];
        sum += x, size += fabs(x), mark = hop__mark(mark, x);
    }
    const double one = 1;
    if (size == 0 || !(size <= FLT_MAX)) return size == 0 ? 0 : NAN; /* it may overflow on the way, or not */
    if (never_rounds(a, sa, b, sb, n, size) && never_rounds(&start, 1, &one, 1, 1, size)) return sum;
    return hop__keep_sum(p, sum, size, n + 1, mark);
}

double hop__keep_sum(const hop__pass *p, double sum, double size, int64_t terms, uint64_t mark)
{
    if (p->how != HOP__SHAKEN || terms < 2) return hop__keep(p, sum);
    if (!(size <= FLT_MAX)) return NAN;
    return (float)(sum + (4 + (double)terms) * 0x1p-24 * size * noise(p->seed ^ mark, sum));
}

/* ---- declared roundings -------------------------------------------------------------------------- */

double hop__to_significant(double x, int64_t bits)
{
    int e;
    if (bits == 0 || x == 0 || !isfinite(x)) return x;
    double m = frexp(x, &e);
    return in_range(ldexp(rint(ldexp(m, (int)bits)), e - (int)bits));
}

/* The exponent of the last place comes from the number, or is that of the smallest numbers. */
double hop__to_float_bits(double x, int64_t bits)
{
    const int exponent = bits == 8 ? 5 : 8, fraction = (int)bits - 1 - exponent,
              bias = (1 << (exponent - 1)) - 1;
    int e;
    if (bits == 0 || x == 0 || !isfinite(x)) return x;
    frexp(x, &e); /* |x| is in [2^(e-1), 2^e) */
    int last = (e - 1 > 1 - bias ? e - 1 : 1 - bias) - fraction;
    double y = ldexp(rint(ldexp(x, -last)), last);
    return fabs(y) < ldexp(1, bias + 1) ? y : copysign(INFINITY, x);
}

double *hop__done(const hop__pass *p, double *x, int64_t n)
{
    int64_t bits = p->arith->significant_bits;
    for (int64_t i = 0; x && bits && i < n; i++) x[i] = hop__to_significant(x[i], bits);
    return x;
}

/* ---- what crosses from token to token ------------------------------------------------------------ */

int64_t hop__segment_start(const hop__pass *p, int64_t t)
{
    int64_t start = 0;
    for (int64_t i = 0; p->arith->message_bits && i < p->arith->cut_count && p->arith->cuts[i] <= t; i++)
        start = p->arith->cuts[i];
    return start;
}

double hop__remembered(const hop__pass *p, double x, int64_t from, int64_t t)
{
    const hop_rounding *a = p->arith;
    x = hop__to_significant(x, a->significant_bits);
    x = hop__to_float_bits(x, a->state_bits);
    return from < hop__segment_start(p, t) ? hop__to_float_bits(x, a->message_bits) : x;
}

static void collect(hop__pass *p, double x)
{
    if (p->state_count == p->state_room) {
        int64_t room = p->state_room ? 2 * p->state_room : 256;
        double *more = realloc(p->states, sizeof *more * (size_t)room);
        if (!more) {
            p->failed = hop_fail(&p->err, HOP_ENOMEM, "states: out of memory");
            return;
        }
        p->states = more, p->state_room = room;
    }
    p->states[p->state_count++] = x;
}

void hop__state_after(hop__pass *p, double *state, int64_t n, int64_t t)
{
    const hop_rounding *a = p->arith;
    if (a->significant_bits || a->state_bits || hop__segment_start(p, t + 1) == t + 1)
        for (int64_t i = 0; i < n; i++) state[i] = hop__remembered(p, state[i], t, t + 1);
    for (int64_t i = 0; t + 1 == p->watch && i < n && p->failed == HOP_OK; i++) collect(p, state[i]);
}

void hop__past_collect(hop__pass *p, const double *x, int64_t width, int64_t depth)
{
    for (int64_t t = p->watch - depth; t < p->watch; t++)
        for (int64_t e = 0; t >= 0 && e < width && p->failed == HOP_OK; e++)
            collect(p, hop__remembered(p, x[t * width + e], t, p->watch));
}
