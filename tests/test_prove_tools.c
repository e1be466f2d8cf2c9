/* The tools of the proofs: intervals, and sets of what tokens may hold. */
#include "test.h"

#include <hopbound/base.h>

#include "analysis.h"

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

/* A point's activation, as the kernels compute it, is in the set that the transfer function makes of it:
 * e^a beyond 1000, too, where the bounds of e^a are both above what it is cut to. */
static void activations_are_inside_their_bounds(void **state)
{
    (void)state;
    for (int i = -3000; i <= 3000; i++) {
        const float x = 0.0303f * (float)i;
        float y[3];
        hop_vexp(&y[0], &x, 1);
        y[1] = fminf(y[0], 1000);
        hop_gelu(&y[2], &x, 1);
        const hop_act acts[] = {HOP_ACT_EXP, HOP_ACT_EXP1000, HOP_ACT_GELU};
        for (int k = 0; k < 3; k++) {
            hop__memory m = {0};
            hop__set *s = hop__set_new(&m, 1);
            assert_non_null(s);
            s->mid[0] = x;
            hop__set_canonical(&m, s);
            hop__set *made = hop__set_act(&m, s, acts[k], 1, 1);
            assert_non_null(made);
            ival range = hop__set_range(made, 0);
            if (!m.overflow && !(range.lo <= y[k] && y[k] <= range.hi))
                fail_msg("%d of %g is %g, not in [%g, %g]", (int)acts[k], x, y[k], range.lo, range.hi);
            assert_true(x > 80 || !m.overflow);
            hop__memory_free(&m);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_operations_contain_the_exact_results),
        cmocka_unit_test(activations_are_inside_their_bounds),
    };
    return cmocka_run_group_tests_name("prove_tools", tests, NULL, NULL);
}
