/* kernel_tables.h - for tests of the kernels: every table that can run here, also the two that only tests
 * link (16 lanes on AVX2, so that the AVX-512 logic is executed everywhere; one lane, what a plain C11
 * compiler gets), and random arrays. */
#ifndef HOP_TESTS_KERNEL_TABLES_H
#define HOP_TESTS_KERNEL_TABLES_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <hopbound/kernels.h>
#include "room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const hop__kernels hop__kernels_single;
#ifdef HOP__HAVE_X86
extern const hop__kernels hop__kernels_wide;
#endif

enum { MAX_TABLES = 8 };

/* The fast tables that this machine can run; ref is not among them. */
static inline int fast_tables(const hop__kernels *out[MAX_TABLES])
{
    int n = 0;
    out[n++] = &hop__kernels_single;
    for (int isa = HOP_ISA_SCALAR; isa < HOP_ISA_COUNT; isa++) {
        if (!hop_isa_available((hop_isa)isa)) continue;
        if (hop_kernels_select((hop_isa)isa, NULL) == HOP_OK) out[n++] = hop__kernels_get();
    }
#ifdef HOP__HAVE_X86
    if (hop_isa_available(HOP_ISA_AVX2)) out[n++] = &hop__kernels_wide;
#endif
    return n;
}

#define FOR_EACH_TABLE(t)                    \
    const hop__kernels *tables_[MAX_TABLES]; \
    int count_ = fast_tables(tables_);       \
    for (int i_ = 0; i_ < count_ && (t = tables_[i_], hop__kernels_use(t), 1); i_++)

static inline float *floats_new(int64_t n)
{
    float *p = hop_alloc(sizeof(float) * (size_t)(n > 0 ? n : 1));
    assert_non_null(p);
    return p;
}

static inline float *random_new(int64_t n, uint64_t seed, double size)
{
    float *p = floats_new(n);
    hop_rng rng;
    hop_rng_init(&rng, seed, 1);
    for (int64_t i = 0; i < n; i++) p[i] = (float)(size * (2.0 * hop_rng_uniform(&rng) - 1.0));
    return p;
}

static inline float from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* What is not written stays NaN, and NaN passes no comparison below. */
static inline void poison(float *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++) p[i] = NAN;
}

#define assert_near(got, want, tolerance)                                                                 \
    do {                                                                                                  \
        double got_ = (got), want_ = (want), tol_ = (tolerance);                                          \
        if (!(fabs(got_ - want_) <= tol_))                                                                \
            fail_msg("table %s: got %.9g, want %.9g, off by %.3g > %.3g", hop__kernels_get()->name, got_, \
                     want_, fabs(got_ - want_), tol_);                                                    \
    } while (0)

#endif
