/* P8, P9 and P4': values, and protocols that exist. */
#include "count_ask.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static int64_t bits_of(int64_t values)
{
    return (int64_t)ceil(log2((double)values));
}

/* ---- values ------------------------------------------------------------------------------------------- */

typedef struct begin_case {
    const char *id;
    int hops;
    int64_t heads, dim, state[3], most; /* n */
} begin_case;

static void each_begins_where_it_is_said_to(void **state)
{
    (void)state;
    static const begin_case cases[] = {
        {"P4'", 2, 1, 8, {1152, 1152}, 18755},
        {"P4'", 2, 1, 17, {208, 208}, 6642},
        {"P4'", 2, 8, 64, {532480, 532480}, 80324402},
        {"P8", 3, 1, 8, {1152, 1152, 1152}, 9166097730},
        {"P8", 3, 1, 17, {208, 208, 208}, 15265653797},
        {"P9", 3, 1, 8, {0}, 227810},
        {"P9", 3, 1, 17, {0}, 1170452},
        {"P9", 3, 1, 8, {0, 1152, 0}, 63280322},
        {"P9", 3, 1, 17, {0, 208, 0}, 436156499},
        {"P9", 3, 1, 8, {0, 0, 1152}, 33683037},
        {"P9", 3, 1, 17, {0, 0, 208}, 39074882},
        {"P9", 3, 1, 8, {0, 1152, 1152}, 157842690},
        {"P9", 3, 1, 17, {0, 208, 208}, 552088782},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const begin_case *k = &cases[i];
        hop_arch_layer layers[5];
        int full = k->hops - 1;
        for (int e = 0; e <= full; e++) {
            if (e) layers[2 * e - 1] = (hop_arch_layer)FULL(1, k->heads, k->dim, 16);
            layers[2 * e] = (hop_arch_layer)LINEAR(1, k->state[e]);
        }
        hop_arch a = {.layers = layers, .count = 2 * full + 1};
        hop_bounds *b = ask_at(&a, k->hops, 0);
        const hop_bound *r = result(b, k->id);
        assert_int_equal(r->answer, HOP_ANSWER_IMPOSSIBLE);
        int64_t n = strtoll(r->speaks_from, NULL, 10), sizes[3];
        if (n > k->most || n < k->most * 9 / 10) fail_msg("case %zu: %s", i, r->speaks_from);
        assert_true(answer_is_certified(r));
        for (int l = 0; l < k->hops; l++) sizes[l] = strtoll(r->sizes[l], NULL, 10);
        hop_bounds *here = ask(&(hop_question){.arch = &a, .hops = k->hops, .m = sizes[0], .fan = sizes + 1});
        if (result(here, k->id)->answer != HOP_ANSWER_IMPOSSIBLE) fail_msg("case %zu: not at its sizes", i);
        hop_bounds_free(here);
        hop_bounds_free(b);
    }
}

/* ---- what is possible ------------------------------------------------------------------------------------
 */

/* Three hops that two full layers do, with a linear one first that brings z_0: tokens of z_2 read rows of
 * z_3; or the last token reads z_2(w_1, .) whole, or coarsely and then all that it may mean. Without one, z_1
 * has to be read whole, too. */
static void three_hops_are_silent_where_a_protocol_is_known(void **state)
{
    (void)state;
    uint64_t seed = 17;
    for (int i = 0; i < 9; i++) {
        int64_t m = 2 + random_below(&seed, 40),
                fan[2] = {2 + random_below(&seed, 20), 2 + random_below(&seed, 40)};
        int64_t N1 = m * fan[0], N2 = N1 * fan[1], k = 1 + random_below(&seed, (int)N1);
        int64_t row = fan[1] * bits_of(N2), read = m * bits_of(N1), coarse = m * bits_of((N1 + k - 1) / k);
        double M = i % 3 == 0   ? (double)row
                   : i % 3 == 1 ? (double)read
                                : larger((double)coarse, (double)(k * bits_of(N2)));
        M = larger(larger(M, (double)bits_of(N2)), 3);
        ARCH(first, LINEAR(1, bits_of(m) + random_below(&seed, 40)), FULL(1, 1, (int64_t)M - 2, 1),
             LINEAR(1, random_below(&seed, 10)), FULL(1, 1, 1, 1), LINEAR(1, random_below(&seed, 10)));
        hop_bounds *b = ask(&(hop_question){.arch = &first, .hops = 3, .m = m, .fan = fan});
        assert_int_equal(result(b, "P8")->answer, HOP_ANSWER_SILENT);
        hop_bounds_free(b);
        M = larger(M, (double)(m * bits_of(m))) + (i % 3 ? (double)(m * bits_of(m)) : 0);
        ARCH(none, FULL(2, 1, (int64_t)M - 2, 1));
        b = ask(&(hop_question){.arch = &none, .hops = 3, .m = m, .fan = fan});
        assert_int_equal(result(b, "P8")->answer, HOP_ANSWER_SILENT);
        assert_int_equal(result(b, "P9")->answer, HOP_ANSWER_SILENT);
        hop_bounds_free(b);
    }
}

/* At m = n_1 = 2 the truth is known for every cell (docs/BOUNDS.md): P4' claims none that has a protocol. */
static void tiny_cells_that_have_a_protocol_are_left_alone(void **state)
{
    (void)state;
    static const char *const truth[] = {"IIIIP", "IIIPP", "IPPPP", "IPPPP", "PPPPP"};
    const int64_t fan = 2;
    int said = 0;
    for (int64_t S = 0; S < 5; S++)
        for (int64_t M = 3; M < 5; M++) { /* a head has (max, sum, value): 3 numbers at least */
            ARCH(a, LINEAR(1, S), FULL(1, 1, M - 2, 1), LINEAR(1, S));
            hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = 2, .m = 2, .fan = &fan});
            bool claimed = result(b, "P4'")->answer == HOP_ANSWER_IMPOSSIBLE;
            assert_false(claimed && truth[S][M] == 'P');
            said += claimed;
            hop_bounds_free(b);
        }
    for (int64_t S = 0; S < 5;
         S++) /* all message sizes, by the checker; P4' needs x·t < 2^x, too many here */
        for (int64_t M = 0; M < 5; M++)
            for (int64_t V = 1; V <= 3; V++) {
                char text[120];
                snprintf(text, sizeof text, "impossible m 2 fan 2 M %d A %d %d by P4 %d", (int)M, (int)S,
                         (int)S, (int)V);
                bool claimed = accepted(text);
                assert_false(claimed && truth[S][M] == 'P');
                said += claimed;
            }
    assert_true(said > 0);
}

static void each_takes_its_own_patterns(void **state)
{
    (void)state;
    const hop_arch_layer F = FULL(1, 1, 8, 16), L = LINEAR(1, 3), B = BOTH(1, 8, 16, 3),
                         O = {.kind = HOP_LAYER_OTHER, .repeat = 1};
    const struct {
        hop_arch_layer layers[5];
        int count, hops;
        bool p4, p8, p9;
    } cases[] = {{{F, F}, 2, 3, false, true, true},          {{L, F, F}, 3, 3, false, true, false},
                 {{F, L, F, L}, 4, 3, false, true, true},    {{B, B}, 2, 4, false, true, true},
                 {{F, F}, 2, 2, false, false, false},        {{L, F, L}, 3, 2, true, false, false},
                 {{F}, 1, 1, false, false, false},           {{F, O, F}, 3, 3, false, false, false},
                 {{F, F, F}, 3, 3, false, false, false},     {{L, L}, 2, 3, false, false, false},
                 {{L, F, L, F, L}, 5, 3, false, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hop_arch a = {.layers = cases[i].layers, .count = cases[i].count};
        hop_bounds *b = ask_at(&a, cases[i].hops, 0);
        assert_int_equal(result(b, "P4'")->applies, cases[i].p4);
        assert_int_equal(result(b, "P8")->applies, cases[i].p8);
        assert_int_equal(result(b, "P9")->applies, cases[i].p9);
        hop_bounds_free(b);
    }
}

/* States and replies that grow make it begin later; so do more hops. */
static void more_begins_later(void **state)
{
    (void)state;
    double last[3] = {0};
    for (int64_t bits = 64; bits <= 1 << 20; bits *= 16) {
        ARCH(one, LINEAR(1, bits), FULL(1, 1, 8, 16), LINEAR(1, bits));
        ARCH(two, LINEAR(1, bits), FULL(1, 1, 8, 16), LINEAR(1, bits), FULL(1, 1, 8, 16), LINEAR(1, bits));
        ARCH(late, FULL(1, 1, 8, 16), LINEAR(1, bits), FULL(1, 1, 8, 16), LINEAR(1, bits));
        const struct {
            const hop_arch *arch;
            int hops;
            const char *id;
        } all[] = {{&one, 2, "P4'"}, {&two, 3, "P8"}, {&late, 3, "P9"}};
        for (int k = 0; k < 3; k++) {
            hop_bounds *b = ask_at(all[k].arch, all[k].hops, 0),
                       *more = ask_at(all[k].arch, all[k].hops + 1, 0);
            double now = result(b, all[k].id)->log10_n;
            assert_true(now > last[k] && now < 100 && result(more, all[k].id)->log10_n > now);
            last[k] = now;
            hop_bounds_free(b), hop_bounds_free(more);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_begins_where_it_is_said_to),
        cmocka_unit_test(three_hops_are_silent_where_a_protocol_is_known),
        cmocka_unit_test(tiny_cells_that_have_a_protocol_are_left_alone),
        cmocka_unit_test(each_takes_its_own_patterns),
        cmocka_unit_test(more_begins_later),
    };
    return cmocka_run_group_tests_name("bounds_p8", tests, NULL, NULL);
}
