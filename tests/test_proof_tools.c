/* The tools of the proofs: intervals, and the search among rows. */
#include "test.h"

#include <hopbound/base.h>

#include "interval.h"
#include "rows.h"

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

static void the_row_search_finds_what_looking_at_all_rows_finds(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 6, 6);
    for (int trial = 0; trial < 200; trial++) {
        int64_t count = 1 + (int64_t)hop_rng_below(&rng, 400), width = 1 + (int64_t)hop_rng_below(&rng, 9);
        hop__rows r;
        double q[16], best = -INFINITY, mass = 0;
        int index[16];
        assert_int_equal(hop__rows_new(&r, count, width, NULL), HOP_OK);
        for (int64_t i = 0; i < count * width; i++)
            r.row[i] = trial % 2 ? hop_rng_normal(&rng) : (double)(i / width >> i % width & 1) * 2 - 1;
        for (int64_t k = 0; k < width; k++) q[k] = hop_rng_below(&rng, 4) ? hop_rng_normal(&rng) : 0;
        hop__rows_ready(&r);
        int64_t right = (int64_t)hop_rng_below(&rng, (uint64_t)count);
        double own = 0, scale = 0.7, slack = 0.01;
        for (int64_t k = 0; k < width; k++) own += q[k] * r.row[right * width + k];
        for (int64_t j = 0; j < count; j++) {
            double s = 0;
            for (int64_t k = 0; k < width; k++) s += q[k] * r.row[j * width + k];
            if (j == right) continue;
            if (s > best) best = s;
            mass += exp(scale * (s - own) + slack);
        }
        hop__lead lead = hop__rows_lead(&r, q, right, scale, slack, index);
        if (count > 1) assert_true(fabs(lead.gap - (scale * (own - best) - slack)) < 1e-9);
        assert_true(lead.mass >= mass * (1 - 1e-12)); /* an upper bound */
        hop__rows_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_operations_contain_the_exact_results),
        cmocka_unit_test(the_row_search_finds_what_looking_at_all_rows_finds),
    };
    return cmocka_run_group_tests_name("proof_tools", tests, NULL, NULL);
}
