/* charged.h - for test_prove_charges.c and test_prove_charged_scans.c: draws. */
#ifndef HOP_TESTS_CHARGED_H
#define HOP_TESTS_CHARGED_H

#include <hopbound/base.h>

static inline int below(hop_rng *rng, int n)
{
    return (int)hop_rng_below(rng, (uint64_t)n);
}

/* A decay as it is held: hi and lo, float32 both. */
typedef struct split {
    float hi, lo;
} split;

static inline split split_of(double e)
{
    split s = {.hi = (float)e};
    s.lo = (float)(e - s.hi);
    return s;
}

#endif
