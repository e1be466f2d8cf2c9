/* body_vec.h - registers of LANES floats, for bodies that are written once.
 *
 * A body is plain C over `vf` (LANES floats) and `vu` (their bits): + - * / work on both, and a float times
 * a vf works too. On GCC and Clang these are vector extensions; with LANES 1 they are float and uint32_t, so
 * the same text compiles on any C11 compiler. This is the only file that sees an intrinsic, and only for the
 * one operation that compilers do not find by themselves (max).
 *
 * An isa_*.c file defines LANES (floats in a register), MR (rows of the register tile) and the name of its
 * table, then includes body_table.h. */
#include "room.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if LANES > 1 && (defined(__SSE2__) || defined(__AVX__) || defined(__AVX512F__))
#include <immintrin.h>
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline, unused))
#define UNROLL _Pragma("GCC unroll 16")
#else
#define INLINE static inline
#define UNROLL
#endif

#define NV 2            /* registers side by side in a panel */
#define NR (NV * LANES) /* columns of a panel */

#if LANES == 1
typedef float vf;
typedef uint32_t vu;
#define V_MASK(cond) ((vu) - (int32_t)(cond))
#else
typedef float vf __attribute__((vector_size(4 * LANES)));
typedef uint32_t vu __attribute__((vector_size(4 * LANES)));
#define V_MASK(cond) ((vu)(cond))
#endif

INLINE vf v_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE void v_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

/* x - 0 is x for every x, -0 included; 0 + x is not. */
INLINE vf v_all(float x)
{
    return x - (vf){0};
}

INLINE vu v_bits(vf v)
{
    vu u;
    memcpy(&u, &v, sizeof u);
    return u;
}

INLINE vf v_from_bits(vu u)
{
    vf v;
    memcpy(&v, &u, sizeof v);
    return v;
}

/* All ones where a < b; NaN compares false. */
INLINE vu v_lt(vf a, vf b)
{
    return V_MASK(a < b);
}

INLINE vf v_select(vu mask, vf yes, vf no)
{
    return v_from_bits((v_bits(yes) & mask) | (v_bits(no) & ~mask));
}

INLINE vf v_abs(vf x)
{
    return v_from_bits(v_bits(x) & 0x7fffffffu);
}

/* a > b ? a : b, thus b if either is NaN. */
INLINE vf v_max(vf a, vf b)
{
#if LANES == 16 && defined(__AVX512F__)
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif LANES == 8 && defined(__AVX__)
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif LANES == 4 && defined(__SSE2__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return v_select(v_lt(b, a), a, b);
#endif
}

#if defined(__GNUC__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
#endif
#endif

/* Sum and maximum of the lanes, halving: the order is fixed. In registers where the compiler can, since a sum
 * that goes through memory waits for its own stores. */
INLINE float v_sum(vf v)
{
#if defined(HAVE_SHUFFLE) && LANES >= 4
#if LANES == 16
    v8 half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
              __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#elif LANES == 8
    vf half = v;
#endif
#if LANES >= 8
    v4 four =
        __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
#else
    vf four = v;
#endif
    four += __builtin_shufflevector(four, four, 2, 3, 0, 1);
    return four[0] + four[1];
#else
    float s[LANES];
    v_store(s, v);
    for (int h = LANES / 2; h > 0; h /= 2)
        for (int i = 0; i < h; i++) s[i] += s[i + h];
    return s[0];
#endif
}

/* Lane i: v_sum(v[i]), bit for bit. Each step halves the registers: what two of them hold in their halves of
 * 2h lanes is added over h lanes, both results side by side. */
#if defined(HAVE_SHUFFLE) && LANES == 16
#define V_FOLD(a, b, lo, hi) (__builtin_shufflevector(a, b, V_##lo) + __builtin_shufflevector(a, b, V_##hi))
#define V_LO8                0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23
#define V_HI8                8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31
#define V_LO4                0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27
#define V_HI4                4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31
#define V_LO2                0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define V_HI2                2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#define V_LO1                0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30
#define V_HI1                1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31
#elif defined(HAVE_SHUFFLE) && LANES == 8
#define V_FOLD(a, b, lo, hi) (__builtin_shufflevector(a, b, V_##lo) + __builtin_shufflevector(a, b, V_##hi))
#define V_LO4                0, 1, 2, 3, 8, 9, 10, 11
#define V_HI4                4, 5, 6, 7, 12, 13, 14, 15
#define V_LO2                0, 1, 8, 9, 4, 5, 12, 13
#define V_HI2                2, 3, 10, 11, 6, 7, 14, 15
#define V_LO1                0, 8, 2, 10, 4, 12, 6, 14
#define V_HI1                1, 9, 3, 11, 5, 13, 7, 15
#endif

INLINE vf v_sums(vf v[LANES])
{
#ifdef V_FOLD
#if LANES == 16
    UNROLL for (int i = 0; i < 8; i++) v[i] = V_FOLD(v[i], v[i + 8], LO8, HI8);
#endif
    UNROLL for (int i = 0; i < 4; i++) v[i] = V_FOLD(v[i], v[i + 4], LO4, HI4);
    UNROLL for (int i = 0; i < 2; i++) v[i] = V_FOLD(v[i], v[i + 2], LO2, HI2);
    return V_FOLD(v[0], v[1], LO1, HI1);
#else
    float sum[LANES];
    for (int i = 0; i < LANES; i++) sum[i] = v_sum(v[i]);
    return v_load(sum);
#endif
}

INLINE float v_max_lane(vf v)
{
    float s[LANES];
    v_store(s, v);
    for (int h = LANES / 2; h > 0; h /= 2)
        for (int i = 0; i < h; i++) s[i] = s[i] > s[i + h] ? s[i] : s[i + h];
    return s[0];
}

/* The first n < LANES floats at p; zeros behind. */
INLINE vf v_load_part(const float *p, int64_t n)
{
    float s[LANES] = {0};
    for (int64_t i = 0; i < n; i++) s[i] = p[i];
    return v_load(s);
}

/* p[i ..]: a register, or what is left of n > i floats. */
INLINE vf v_load_to(const float *p, int64_t i, int64_t n)
{
    return i + LANES <= n ? v_load(p + i) : v_load_part(p + i, n - i);
}

INLINE void v_store_part(float *p, vf v, int64_t n)
{
    float s[LANES];
    v_store(s, v);
    for (int64_t i = 0; i < n; i++) p[i] = s[i];
}

/* v to p: a register, or its first n floats. */
INLINE void v_store_to(float *p, vf v, int64_t n)
{
    if (n >= LANES)
        v_store(p, v);
    else
        v_store_part(p, v, n);
}

/* Whether every lane of a mask is set. */
INLINE bool v_every(vu mask)
{
    uint32_t s[LANES], all = ~0u;
    memcpy(s, &mask, sizeof s);
    for (int i = 0; i < LANES; i++) all &= s[i];
    return all != 0;
}

/* 0, 1, .., LANES - 1. */
INLINE vf v_iota(void)
{
    float s[LANES];
    for (int i = 0; i < LANES; i++) s[i] = (float)i;
    return v_load(s);
}

/* ---- exp ----------------------------------------------------------------------------------- */

/* exp(x) = 2^n e^r = 2^n (1 + r p(r)) with n = round(x / ln 2), |r| <= ln 2 / 2. n is found by
 * adding 1.5·2^23 (+ 127, so that the low bits of the sum are the exponent field of 2^n); ln 2 is split so
 * that n·hi is exact even without fused multiply-add (Cody-Waite). The polynomial 1 + r p is minimax of
 * degree 6 in relative error (tools: Remez; 2^-28), so rounding dominates: measured over all floats, see
 * tests. */
typedef struct exp_parts {
    vf r, p;
    vu two; /* the bits of 2^n */
} exp_parts;

INLINE exp_parts exp_split(vf x)
{
    const float magic = 12582912.0f + 127.0f;
    vf z = x * 1.44269504f + magic;
    vf n = z - magic;
    vf r = x - n * 0.693145751953125f;
    r = r - n * 1.42860682030941723e-6f;
    vf p = r * 0.00138366385f + 0.00837498065f;
    p = p * r + 0.0416682363f;
    p = p * r + 0.166664183f;
    p = p * r + 0.499999911f;
    p = p * r + 1.0f;
    return (exp_parts){r, p, v_bits(z) << 23};
}

INLINE vf exp_poly(exp_parts e)
{
    return e.p * e.r + 1.0f;
}

/* For x <= 88: the softmax's. Exactly 0 below -87 (so never a denormal); NaN gives NaN. */
INLINE vf v_exp_low(vf x)
{
    exp_parts e = exp_split(x);
    vf y = exp_poly(e) * v_from_bits(e.two); /* a product, not an addition of exponents: keeps NaN */
    return v_from_bits(v_bits(y) & ~v_lt(x, v_all(-87.0f)));
}

/* For all x: infinity from 88.7228 on. Where 2^n alone would overflow, half of it is taken, twice. */
INLINE vf v_exp(vf x)
{
    x = v_select(v_lt(v_all(89.0f), x), v_all(89.0f), x);
    exp_parts e = exp_split(x);
    vu high = v_lt(v_all(88.0f), x);
    vf p = exp_poly(e) * v_from_bits(e.two - (high & 0x800000u));
    p = p * v_from_bits(0x3f800000u + (high & 0x800000u));
    return v_from_bits(v_bits(p) & ~v_lt(x, v_all(-87.0f)));
}

/* log(x) for normal x > 0, within 2 units: Cephes' logf. Infinity and NaN give NaN. */
INLINE vf v_log(vf x)
{
    vu half = v_bits(x) - 0x3f3504f3u; /* of sqrt(1/2): m in sqrt(1/2) .. sqrt(2) */
    vf m = v_from_bits((half & 0x7fffffu) + 0x3f3504f3u) - 1.0f, z = m * m;
    vf e = v_from_bits((((half >> 23) + 0x80u) & 0x1ffu) | 0x4b000000u) - 8388736.0f; /* 2^23 + 128 */
    vf p = m * 7.0376836292e-2f - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    vf y = p * m * z - e * 2.12194440e-4f - z * 0.5f;
    return m + y + e * 0.693359375f + (x - x);
}

/* ---- rounding to `bits` significant bits --------------------------------------------------- */

typedef struct rounding {
    uint32_t half, odd, keep; /* just below half a unit; 1 if the kept last bit is always 1; kept bits */
    int drop;
} rounding;

INLINE rounding rounding_to(int bits)
{
    int drop = 24 - bits;
    return (rounding){(1u << (drop - 1)) - 1u, drop == 23, ~((1u << drop) - 1u), drop};
}

/* Rounding on the bits is rounding of the number, ties to even, and a carry goes into the exponent as it
 * should. Denormals lack a leading one, so they are shifted up first (exactly) and down again after. */
INLINE vf v_round(vf x, rounding c)
{
    vu low = v_lt(v_abs(x), v_all(FLT_MIN));
    vf y = v_select(low, x * 16777216.0f, x);
    vu u = v_bits(y);
    u = (u + c.half + (((u >> c.drop) & 1u) | c.odd)) & c.keep;
    y = v_from_bits(u);
    y = v_select(low, y * 5.9604644775390625e-08f, y);
    return v_select(v_lt(v_abs(x), v_all(INFINITY)), y, x); /* infinities and NaN stay */
}

/* The same for a number that is 0, normal or NaN, as weights are: x - x is 0, or keeps the NaN. */
INLINE vf v_round_normal(vf x, rounding c)
{
    vu u = v_bits(x);
    u = (u + c.half + (((u >> c.drop) & 1u) | c.odd)) & c.keep;
    return v_from_bits(u) + (x - x);
}
