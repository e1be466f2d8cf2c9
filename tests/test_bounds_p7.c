/* P7 and the lemmas of docs/BOUNDS.md, section 8: values, the law of lemma 3, and networks that exist. */
#include "count_ask.h"
#include "levels.h"

/* ---- lemma 3 ------------------------------------------------------------------------------------- */

/* The exact average, for random laws, flat ones, and ones with two levels, against any line. */
static void draws_have_at_least_as_many_values_as_lemma_3_says(void **state)
{
    (void)state;
    static hop__lines lines;
    hop__lines_init(&lines);
    uint64_t seed = 5;
    int sharp = 0, found = 0;
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
        double delta = fmax(0, log2(q) - entropy) + 1e-9;
        hop__law worst;
        if (!hop__law_find(&worst, &lines, x, q, delta)) continue;
        double bound = q * worst.phi;
        if (bound > average + 1e-6 * q) fail_msg("q %d, x %d: %.12g above %.12g", q, x, bound, average);
        found++, sharp += bound > 0.9 * average;
    }
    assert_true(found > 2000 && sharp > 300);
}

/* With two levels the law is the worst there is: nothing is given away. */
static void the_worst_law_is_met(void **state)
{
    (void)state;
    static hop__lines lines;
    hop__lines_init(&lines);
    for (int q = 20; q < 3000; q *= 3)
        for (double delta = 0.05; delta < 3; delta *= 2) {
            hop__law law;
            double x = ceil(0.6 * q);
            assert_true(hop__law_find(&law, &lines, x, q, delta));
            double lambda = x / q, share = (lambda - law.v0) / (law.v1 - law.v0);
            double met =
                (1 - share) * -expm1(x * log1p(-law.v0 / x)) + share * -expm1(x * log1p(-law.v1 / x));
            assert_true(fabs(met - law.phi) < 1e-9);
        }
}

/* ---- P7 -------------------------------------------------------------------------------------------- */

static void p7_begins_where_it_is_said_to(void **state)
{
    (void)state;
    const struct {
        int64_t heads, dim, after, end, most; /* n */
    } cases[] = {{1, 8, 0, 0, 222210},
                 {1, 17, 0, 0, 1146686},
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
        assert_true(answer_is_certified(r));
        assert_int_equal(answer_of(&a, 2, n, "P7"), HOP_ANSWER_IMPOSSIBLE);
        assert_int_equal(answer_of(&a, 2, n - 1, "P7"), HOP_ANSWER_SILENT);
        hop_bounds_free(b);
    }
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
        cmocka_unit_test(the_worst_law_is_met),
        cmocka_unit_test(p7_begins_where_it_is_said_to),
        cmocka_unit_test(p7_is_silent_where_a_protocol_is_known),
        cmocka_unit_test(p7_takes_two_full_layers_and_none_before),
        cmocka_unit_test(p7_begins_later_for_more),
    };
    return cmocka_run_group_tests_name("bounds_p7", tests, NULL, NULL);
}
