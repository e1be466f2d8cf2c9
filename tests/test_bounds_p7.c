/* P7 and the lemmas of docs/BOUNDS.md, section 8: values, verifiers against the inequality written down
 * again, and networks that exist. */
#include "bounds_ask.h"
#include "count_ask.h"

#include <math.h>

/* ---- lemma 3 ------------------------------------------------------------------------------------- */

/* The exact average, for random laws, flat ones, and ones with two levels, against any line. */
static void draws_have_at_least_as_many_values_as_lemma_3_says(void **state)
{
    (void)state;
    static hop__lines lines;
    hop__lines_init(&lines);
    uint64_t seed = 5;
    int sharp = 0;
    for (int i = 0; i < 3000; i++) {
        int q = 2 + random_below(&seed, 200), x = 1 + random_below(&seed, 300),
            kept = 1 + random_below(&seed, q);
        double law[256], sum = 0, entropy = 0, average = 0, heavy = random_part(&seed);
        for (int v = 0; v < q; v++) {
            law[v] = i % 3 == 0   ? pow(random_part(&seed), 4)
                     : i % 3 == 1 ? v < kept
                     : v < kept   ? heavy / kept
                                  : (1 - heavy) / (q - kept);
            sum += law[v];
        }
        for (int v = 0; v < q; v++) {
            double p = law[v] / sum;
            if (p > 0) entropy -= p * log2(p);
            average += -expm1(x * log1p(-p));
        }
        double delta = fmax(0, log2(q) - entropy) + 1e-9, elsewhere = delta * 2 * random_part(&seed) + 1e-6;
        fmpz_t draws, values;
        fmpq_t lost;
        arb_t phi;
        fmpz_init_set_si(draws, x), fmpz_init_set_si(values, q), fmpq_init(lost), arb_init(phi);
        fmpq_set_si(lost, (slong)(delta * 0x1p40) + 1, UINT64_C(1) << 40);
        const hop__line tries[] = {{0},
                                   hop__lines_best(&lines, (double)x / q, delta),
                                   hop__lines_best(&lines, (double)x / q, elsewhere)}; /* any line is valid */
        for (int k = 0; k < 3; k++) {
            assert_true(hop__draws_phi(phi, &tries[k], draws, values, lost, 128));
            double bound = q * arf_get_d(arb_midref(phi), ARF_RND_NEAR);
            if (bound > average + 1e-9 * q) fail_msg("q %d, x %d: %.12g above %.12g", q, x, bound, average);
            if (k == 1) sharp += bound > 0.9 * average;
        }
        double seen = q * hop__lines_phi(&lines, (double)x / q, delta);
        assert_true(seen <= average + 1e-6 * q);
        fmpz_clear(draws), fmpz_clear(values), fmpq_clear(lost), arb_clear(phi);
    }
    assert_true(sharp > 300);
}

static void a_line_that_is_broken_proves_nothing_or_less(void **state)
{
    (void)state;
    static hop__lines lines;
    hop__lines_init(&lines);
    hop__line good = hop__lines_best(&lines, 0.4, 1.5);
    const fmpz draws = 40, values = 100;
    fmpq_t lost;
    arb_t best, phi;
    fmpq_init(lost), arb_init(best), arb_init(phi);
    fmpq_set_si(lost, 3, 2);
    assert_true(good.b != 0 && hop__draws_phi(best, &good, &draws, &values, lost, 128));
    for (int k = 0; k < 4; k++)
        for (double by = 0.5; by < 2; by += 0.0625) {
            hop__line broken = good;
            double *const numbers[] = {&broken.a, &broken.b, &broken.v0, &broken.v1};
            *numbers[k] *= by;
            if (by != 1 && hop__draws_phi(phi, &broken, &draws, &values, lost, 128))
                assert_true(arb_lt(phi, best));
        }
    const hop__line senseless[] = {{NAN, 0.3, 0.5, 2},       {0.5, 0.3, 0, 2},    {0.5, 0.3, -1, 2},
                                   {0.5, 0.3, 2, 2},         {0.5, -0.3, 0.5, 2}, {0.5, 0.3, 0.5, 0.5},
                                   {0.5, 0.3, 0.5, INFINITY}};
    for (size_t i = 0; i < sizeof senseless / sizeof *senseless; i++)
        assert_false(hop__draws_phi(phi, &senseless[i], &draws, &values, lost, 128));
    fmpq_clear(lost), arb_clear(best), arb_clear(phi);
}

/* ---- P7 -------------------------------------------------------------------------------------------- */

static void p7_begins_where_it_is_said_to(void **state)
{
    (void)state;
    const struct {
        int64_t heads, dim, after, end, most; /* n */
    } cases[] = {{1, 8, 0, 0, 223078},
                 {1, 17, 0, 0, 1149185},
                 {8, 64, 0, 0, 8507352702},
                 {1, 8, 0, 1152, 32070029},
                 {1, 17, 0, 208, 38140170}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ARCH(a, FULL(1, cases[i].heads, cases[i].dim, 16), LINEAR(1, cases[i].after), FULL(1, 1, 1, 16),
             LINEAR(1, cases[i].end));
        hop_bounds *b = ask_at(&a, 2, 0);
        const hop_bound *r = result(b, "P7");
        assert_int_equal(r->answer, HOP_ANSWER_IMPOSSIBLE);
        int64_t n = strtoll(r->speaks_from, NULL, 10);
        assert_true(n <= cases[i].most && n > cases[i].most * 9 / 10);
        assert_true(answer_verifies(r, &a, 2, hop__p7_verify));
        assert_int_equal(answer_of(&a, 2, n, "P7"), HOP_ANSWER_IMPOSSIBLE);
        assert_int_equal(answer_of(&a, 2, n - 1, "P7"), HOP_ANSWER_SILENT);
        hop_bounds_free(b);
    }
}

/* e·t·q·2^-δ·(γ·log2 N_1 - A_2) - M·(σtq + m + eγ(t+1)) - A_1, over the larger side; below -1: out of range.
 */
static double p7_margin(const int64_t *sizes, const int64_t *z, int64_t M, const int64_t *A)
{
    double m = (double)sizes[0], n1 = (double)sizes[1], t = (double)z[0], sigma = (double)z[1],
           q = (double)z[2], gamma = (double)z[3], e = floor(n1 / gamma);
    if (sigma * t > m || t * q > m || e < 1 || A[0]) return -2;
    double gain = gamma * log2(m * n1) - (double)A[2];
    if (gain <= 0) return -2;
    double left = e * t * q * exp2(-gamma * (double)M / (sigma * t) - (double)A[1]) * gain;
    double right = (double)M * (sigma * t * q + m + e * gamma * (t + 1)) + (double)A[1];
    return (left - right) / fmax(left, right);
}

static void the_verifier_agrees_with_the_inequality_written_down_again(void **state)
{
    (void)state;
    static const count_example examples[] = {
        {{434, 513}, {14, 17, 31, 1}, 160, {0, 0, 0}, {0, 0, 0, 0}},
        {{1071, 1072}, {21, 21, 51, 1}, 304, {0, 0, 0}, {0, 0, 0, 0}},
        {{29667, 1080}, {899, 33, 33, 135}, 160, {0, 0, 1152}, {0, 0, 0, 0}},
        {{159558, 159893}, {21, 21, 7598, 1}, 304, {0, 8, 0}, {0, 0, 0, 0}},
    };
    damage_is_seen(examples, sizeof examples / sizeof *examples, 2, 4, hop__p7_verify, p7_margin);
}

/* Two hops that two full layers do: the last token reads z_1 whole, or z_1's tokens read whole rows of z_2,
 * or z_1 coarsely and then all that it may mean. */
static void p7_is_silent_where_a_protocol_is_known(void **state)
{
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < 24; i++) {
        int64_t m = 2 + random_below(&seed, 60), fan = 2 + random_below(&seed, 60),
                k = 1 + random_below(&seed, (int)m);
        int64_t entry = (int64_t)ceil(log2((double)(m * fan))), start = (int64_t)ceil(log2((double)m));
        int64_t coarse = m * (int64_t)ceil(log2(ceil((double)m / (double)k)));
        int64_t M = i % 3 == 0           ? m * start > entry ? m * start : entry
                    : i % 3 == 1         ? fan * entry > start ? fan * entry : start
                    : coarse > k * entry ? coarse
                                         : k * entry;
        if (M < entry) M = entry;
        ARCH(a, FULL(2, 1, M < 3 ? 1 : M - 2, 1));
        hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = 2, .m = m, .fan = &fan});
        assert_int_equal(result(b, "P7")->answer, HOP_ANSWER_SILENT);
        hop_bounds_free(b);
    }
}

static void p7_takes_two_full_layers_and_none_before(void **state)
{
    (void)state;
    const hop_arch_layer F = FULL(1, 1, 8, 16), L = LINEAR(1, 3), B = BOTH(1, 8, 16, 3),
                         O = {.kind = HOP_LAYER_OTHER, .repeat = 1};
    const struct {
        hop_arch_layer layers[4];
        int count;
        bool applies;
    } cases[] = {{{F, F}, 2, true},     {{L, F, F}, 3, false},          {{F, L, F, L}, 4, true},
                 {{B, B}, 2, true},     {{F, F, F}, 3, false},          {{F}, 1, false},
                 {{F, O, F}, 3, false}, {{LINEAR(1, 0), F, F}, 3, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_arch a = {.layers = cases[i].layers, .count = cases[i].count};
        hop_bounds *b = ask_at(&a, 2, 0);
        assert_int_equal(result(b, "P7")->applies, cases[i].applies);
        hop_bounds_free(b);
    }
}

/* A larger machine, and more hops, are impossible only later. */
static void p7_begins_later_for_more(void **state)
{
    (void)state;
    double last = 0;
    for (int64_t d = 2; d <= 40; d += 9) {
        ARCH(a, FULL(2, 1, d, 16));
        hop_bounds *two = ask_at(&a, 2, 0), *three = ask_at(&a, 3, 0);
        double now = result(two, "P7")->log10_n;
        assert_true(now > last && result(three, "P7")->log10_n > now);
        assert_string_equal(result(three, "P7")->sizes[2], "2");
        last = now;
        hop_bounds_free(two), hop_bounds_free(three);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_have_at_least_as_many_values_as_lemma_3_says),
        cmocka_unit_test(a_line_that_is_broken_proves_nothing_or_less),
        cmocka_unit_test(p7_begins_where_it_is_said_to),
        cmocka_unit_test(the_verifier_agrees_with_the_inequality_written_down_again),
        cmocka_unit_test(p7_is_silent_where_a_protocol_is_known),
        cmocka_unit_test(p7_takes_two_full_layers_and_none_before),
        cmocka_unit_test(p7_begins_later_for_more),
    };
    return cmocka_run_group_tests_name("bounds_p7", tests, NULL, NULL);
}
