/* The tools of the proofs: intervals, and sets of what tokens may hold. */
#include "test.h"

#include <hopbound/base.h>

#include "interval.h"

static void interval_operations_contain_the_exact_results(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 4, 4);
    for (int i = 0; i < 100000; i++) {
        double x = hop_rng_normal(&rng), y = hop_rng_normal(&rng) * exp(20 * hop_rng_normal(&rng));
        ival a = ival_widen(ival_point(x), fabs(hop_rng_normal(&rng))), b = ival_widen(ival_point(y), 0.1);
        ival sum = ival_add(a, b), product = ival_mul(a, b), scaled = ival_scale(a, y);
        /* long double has 11 more bits: exact for products of doubles, near enough for sums. */
        long double s = (long double)x + y, p = (long double)x * y;
        assert_true(sum.lo <= s && s <= sum.hi);
        assert_true(product.lo <= p && p <= product.hi);
        assert_true(scaled.lo <= p && p <= scaled.hi);
        assert_true(ival_mid(a) - ival_rad(a) <= a.lo && a.hi <= ival_mid(a) + ival_rad(a));
        ival tight = ival_add(ival_point(x), ival_point(y));
        assert_true(tight.lo <= s && s <= tight.hi &&
                    tight.hi - tight.lo <= 1e-15 * (fabs(x + y) + 1e-300) * 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_operations_contain_the_exact_results),
    };
    return cmocka_run_group_tests_name("proof_tools", tests, NULL, NULL);
}
