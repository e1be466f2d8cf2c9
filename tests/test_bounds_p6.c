/* P6: its verifier against the example that is known and against broken ones, and its search against the
 * verifier. */
#include "bounds_ask.h"

#include "p6.h"

static void read_numbers(fmpz *to, const char *const *texts, int count)
{
    for (int i = 0; i < count; i++) fmpz_set_str(&to[i], texts[i], 10);
}

static void example_init(hop__p6_numbers *p, const fmpz *states, const fmpz *reply)
{
    static const char *const sizes[] = {"2904612768", "2208440188", "321"};
    static const char *const x[] = {"1574", "187268", "24"};
    static const char *const s[] = {"178926992", "2554863908092637945"};
    hop__p6_init(p, 3, false, states, reply);
    read_numbers(p->sizes, sizes, 3);
    read_numbers(p->x, x, 3);
    read_numbers(p->s + 1, s, 2);
}

static void the_verifier_takes_the_example_and_refuses_it_broken(void **state)
{
    (void)state;
    const fmpz states[3] = {1152, 1152, 1152}, reply = 160;
    hop__p6_numbers p;
    char why[32];
    example_init(&p, states, &reply);
    assert_true(hop__p6_verify(&p, why));
    assert_string_equal(why, "");
    const struct {
        fmpz *number;
        double by; /* log2 */
        const char *why;
    } breaks[] = {
        {&p.sizes[0], -0.02, "image 1"}, {&p.sizes[0], 0.2, "end"},  {&p.sizes[1], -0.01, "image 2"},
        {&p.sizes[1], 0.2, "end"},       {&p.sizes[2], -0.1, "end"}, {&p.sizes[2], 0.2, "image 2"},
        {&p.x[0], -0.02, "image 1"},     {&p.x[0], 0.1, "image 2"},  {&p.x[1], -0.01, "image 1"},
        {&p.x[1], 0.1, "image 2"},       {&p.x[2], -0.1, "image 2"}, {&p.x[2], 0.2, "end"},
        {&p.s[1], -0.05, "image 2"},     {&p.s[1], 0.01, "image 1"}, {&p.s[2], -0.1, "end"},
        {&p.s[2], 0.1, "image 2"},       {&p.x[0], 40, "sizes"},     {&p.s[2], 40, "image 2"},
    };
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        fmpz_t kept;
        fmpz_init_set(kept, breaks[i].number);
        hop__scaled(breaks[i].number, kept, breaks[i].by);
        bool taken = hop__p6_verify(&p, why);
        if (taken || strcmp(why, breaks[i].why) != 0) print_message("break %zu: %d %s\n", i, taken, why);
        assert_false(taken);
        assert_string_equal(why, breaks[i].why);
        fmpz_set(breaks[i].number, kept);
        fmpz_clear(kept);
    }
    fmpz_zero(&p.x[1]);
    assert_false(hop__p6_verify(&p, NULL));
    hop__p6_clear(&p);
}

static void a_larger_machine_breaks_the_example(void **state)
{
    (void)state;
    const fmpz states[3] = {1152, 1152, 1152}, more[3] = {8000, 1152, 1152}, reply = 160, larger = 170;
    hop__p6_numbers p;
    example_init(&p, states, &reply);
    p.reply = &larger;
    assert_false(hop__p6_verify(&p, NULL));
    p.reply = &reply;
    p.state = more;
    assert_false(hop__p6_verify(&p, NULL));
    hop__p6_clear(&p);
}

/* What the answer prints is what the verifier takes. */
static void the_numbers_of_an_answer_verify(void **state)
{
    (void)state;
    const struct {
        int full;
        int64_t heads, dim, most; /* log10 of n, in hundredths */
    } cases[] = {{1, 1, 8, 521}, {2, 1, 8, 2132}, {1, 8, 64, 928}, {2, 8, 64, 4001}, {3, 1, 8, 5765}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t h = cases[i].heads, d = cases[i].dim, bits = h * (d * d + d) * 16;
        int L = cases[i].full + 1;
        hop_arch_layer layers[16];
        fmpz states[HOP__P6_MOST_HOPS], reply = h * (d + 2) * 16;
        for (int e = 0; e < L; e++) {
            layers[2 * e] = (hop_arch_layer)LINEAR(1, bits);
            layers[2 * e + 1] = (hop_arch_layer)FULL(1, h, d, 16);
            states[e] = bits;
        }
        hop_arch a = {.layers = layers, .count = 2 * L - 1};
        hop_bounds *b = ask_at(&a, L, 0);
        const hop_bound *r = result(b, "P6");
        assert_true(r->log10_n < (double)cases[i].most / 100);
        hop__p6_numbers p;
        hop__p6_init(&p, L, false, states, &reply);
        read_numbers(p.sizes, r->sizes, L);
        read_numbers(p.x, r->x, L);
        read_numbers(p.s + 1, r->s, L - 1);
        assert_true(hop__p6_verify(&p, NULL));
        hop__p6_clear(&p);
        hop_bounds_free(b);
    }
}

static void p6_answers_for_sizes_that_are_given(void **state)
{
    (void)state;
    ARCH(a, LINEAR(1, 1152), FULL(1, 1, 8, 16), LINEAR(1, 1152));
    int64_t fan = 2;
    hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = 2, .m = 100000, .fan = &fan});
    assert_int_equal(result(b, "P6")->answer, HOP_ANSWER_IMPOSSIBLE);
    assert_non_null(result(b, "P6")->x);
    hop_bounds_free(b);
    b = ask(&(hop_question){.arch = &a, .hops = 2, .m = 5000, .fan = &fan});
    assert_int_equal(result(b, "P6")->answer, HOP_ANSWER_SILENT);
    assert_non_null(strstr(result(b, "P6")->why, "the search found no x, s at these sizes"));
    hop_bounds_free(b);
}

/* What the free search says of its sizes, the search at fixed sizes finds by itself. */
static void p6_agrees_with_itself_at_the_sizes_that_it_found(void **state)
{
    (void)state;
    static const int64_t cases[][4] = {/* full layers, d, p, state bits */
                                       {1, 8, 8, 5},  {1, 8, 16, 1152}, {1, 2, 4, 20},   {2, 8, 16, 1152},
                                       {2, 2, 4, 20}, {2, 1, 1, 1},     {3, 8, 16, 1152}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int L = (int)cases[i][0] + 1;
        fmpz states[HOP__P6_MOST_HOPS], reply = (cases[i][1] + 2) * cases[i][2];
        for (int e = 0; e < L; e++) states[e] = cases[i][3];
        bool stopped = false;
        hop__p6_numbers free_sizes, fixed;
        hop__p6_init(&free_sizes, L, false, states, &reply);
        hop__p6_init(&fixed, L, false, states, &reply);
        assert_true(hop__p6_search(&free_sizes, NULL, &stopped));
        for (int l = 0; l < L; l++) { /* a hundredth more, since the last integer is luck */
            fmpz_set(&fixed.sizes[l], &free_sizes.sizes[l]);
            if (l == 0 && fmpz_cmp_si(&fixed.sizes[0], 100) > 0)
                hop__scaled(&fixed.sizes[0], &fixed.sizes[0], 0.015);
        }
        if (!hop__p6_search_fixed(&fixed, NULL, &stopped)) print_message("case %zu\n", i);
        assert_true(hop__p6_verify(&fixed, NULL));
        hop__p6_clear(&free_sizes);
        hop__p6_clear(&fixed);
    }
    ARCH(a, LINEAR(1, 5), FULL(1, 1, 8, 8), LINEAR(1, 5));
    const int64_t fan = 3;
    hop_bounds *b = ask(&(hop_question){.arch = &a, .hops = 2, .m = 234, .fan = &fan});
    assert_int_equal(result(b, "P6")->answer, HOP_ANSWER_IMPOSSIBLE); /* the last integer too */
    hop_bounds_free(b);
}

/* P7G's search against its verifier, and the verifier against broken numbers. */
static void p7g_is_verified_and_refused_when_broken(void **state)
{
    (void)state;
    const fmpz none[5] = {0}, late[5] = {0, 0, 1152, 1152, 1152}, first[5] = {1}, reply = 160, wider = 200;
    for (int L = 2; L <= 4; L++) {
        bool stopped = false;
        hop__p6_numbers p;
        char why[32];
        hop__p6_init(&p, L, true, L % 2 ? none : late, &reply);
        assert_true(hop__p6_search(&p, NULL, &stopped));
        assert_true(hop__p7g_verify(&p, why));
        assert_string_equal(why, "");
        fmpz *const numbers[] = {&p.sizes[0], &p.sizes[1],     &p.x[0],     &p.x[1],
                                 &p.s[1],     &p.sizes[L - 1], &p.x[L - 1], &p.s[L - 1]};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            fmpz_t kept;
            fmpz_init_set(kept, numbers[i]);
            bool broke = false;
            for (int k = 0; k < 2; k++) { /* one way or the other it no longer holds */
                hop__scaled(numbers[i], kept, k ? 0.7 : -0.7);
                broke = broke || !hop__p7g_verify(&p, why);
            }
            if (!broke) fail_msg("L %d, number %zu", L, i);
            fmpz_zero(numbers[i]);
            assert_false(hop__p7g_verify(&p, why));
            fmpz_set(numbers[i], kept);
            fmpz_clear(kept);
        }
        fmpz_t kept;
        fmpz_init_set(kept, &p.s[1]);
        fmpz_add_ui(&p.s[1], &p.sizes[0], 1); /* beyond N_0 the binomial is 0 and would prove anything */
        assert_false(hop__p7g_verify(&p, NULL));
        fmpz_set(&p.s[1], kept);
        fmpz_clear(kept);
        p.reply = &wider;
        assert_false(hop__p7g_verify(&p, NULL));
        p.reply = &reply, p.state = first; /* a state before the first full layer */
        assert_false(hop__p7g_verify(&p, NULL));
        hop__p6_clear(&p);
    }
}

/* One linear layer before the first or second full one makes L hops possible: never impossible where P1
 * builds. */
static void p7g_and_p1_never_both(void **state)
{
    (void)state;
    ARCH(plain, FULL(3, 1, 40, 32));
    ARCH(before, LINEAR(1, 2000), FULL(3, 1, 40, 32));
    ARCH(between, FULL(1, 1, 40, 32), LINEAR(1, 2000), FULL(2, 1, 40, 32));
    ARCH(more, FULL(4, 1, 40, 32));
    const hop_arch *all[] = {&plain, &before, &between, &more};
    for (size_t i = 0; i < 4; i++) {
        hop_bounds *b = ask_at(all[i], 3, 0);
        assert_int_equal(result(b, "P7G")->applies, all[i] == &plain || all[i] == &between);
        hop_bounds_free(b);
        for (int power = 2; power <= 17; power += 3) {
            int64_t n = (int64_t)pow(10, power);
            b = ask_at(all[i], 3, n);
            bool possible = result(b, "P1")->answer == HOP_ANSWER_POSSIBLE, impossible = false;
            for (int k = 0; k < b->count; k++)
                impossible = impossible || b->results[k].answer == HOP_ANSWER_IMPOSSIBLE;
            assert_false(possible && impossible);
            hop_bounds_free(b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verifier_takes_the_example_and_refuses_it_broken),
        cmocka_unit_test(a_larger_machine_breaks_the_example),
        cmocka_unit_test(the_numbers_of_an_answer_verify),
        cmocka_unit_test(p6_answers_for_sizes_that_are_given),
        cmocka_unit_test(p6_agrees_with_itself_at_the_sizes_that_it_found),
        cmocka_unit_test(p7g_is_verified_and_refused_when_broken),
        cmocka_unit_test(p7g_and_p1_never_both),
    };
    return cmocka_run_group_tests_name("bounds_p6", tests, NULL, NULL);
}
