/* Full and linear layers in any order: every hop by the next layer, and what the theorems say of it. */
#include "funccomp_subject.h"

#include <hopbound/bounds.h>

#include <stdlib.h>

static hop_model *build_mixed(const char *pattern, const hop_task *t)
{
    hop_model *m = NULL;
    hop_error err = {0};
    hop_status s = hop_construct(&m, "mixed", t, &(hop_construct_options){.pattern = pattern}, &err);
    if (s != HOP_OK) fail_msg("%s: %s", pattern, err.text);
    return m;
}

/* What the theorems say of a network's own layers at its own sizes. */
static hop_answer asked(const hop_model *m, const hop_funccomp *t)
{
    hop_arch arch;
    hop_bounds *b;
    hop_error err = {0};
    const hop_arch_options as = {.number_bits = 32, .declared = true};
    assert_int_equal(hop_arch_new(&arch, hop_model_config(m), &as, &err), HOP_OK);
    const hop_question q = {.arch = &arch, .hops = t->hops, .m = t->m, .fan = t->fan + 1, .searched = 1};
    assert_int_equal(hop_bounds_new(&b, &q, &err), HOP_OK);
    hop_answer answer = HOP_ANSWER_SILENT;
    for (int i = 0; i < b->count; i++) {
        if (b->results[i].answer == HOP_ANSWER_SILENT) continue;
        assert_true(answer == HOP_ANSWER_SILENT || answer == b->results[i].answer); /* never both */
        answer = b->results[i].answer;
    }
    hop_bounds_free(b);
    hop_arch_free(&arch);
    return answer;
}

/* Pattern number `bits` of so many layers. */
static void pattern_of(char *out, int layers, int bits)
{
    for (int i = 0; i < layers; i++) out[i] = bits >> i & 1 ? 'L' : 'F';
    out[layers] = 0;
}

/* The law: what is proved is called possible, at the same sizes and widths. */
static void every_order_of_layers_is_proved_and_called_possible(void **state)
{
    (void)state;
    const sizes all[] = {{1, 9, {0}}, {2, 5, {4}}, {2, 8, {16}}, {3, 4, {3, 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int bits = 0; bits < 2 << all[i].hops; bits++) {
            char pattern[HOP_MAX_HOPS + 2];
            pattern_of(pattern, all[i].hops + 1, bits);
            hop_task t = task_of(&all[i]);
            hop_model *m = build_mixed(pattern, &t);
            hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
            if (p.verdict != HOP_PROVED) fail_msg("%s, %d hops: %s", pattern, t.funccomp.hops, p.why);
            hop_proof_free(&p);
            assert_int_equal(asked(m, &t.funccomp), HOP_ANSWER_POSSIBLE);
            hop_model_free(m);
        }
}

/* The same of `build linear`, which keeps an entry in one number. */
static void linear_stacks_are_called_possible(void **state)
{
    (void)state;
    const sizes all[] = {
        {1, 7, {0}}, {2, 6, {5}}, {3, 4, {3, 2}}, {2, 16, {16}}}; /* proved by test_linear_stack */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("linear", NULL, &t);
        assert_int_equal(asked(m, &t.funccomp), HOP_ANSWER_POSSIBLE);
        hop_model_free(m);
    }
}

static void four_hops_over_a_thousand_tokens_are_proved(void **state)
{
    (void)state;
    sizes s = {4, 12, {4, 4, 4}}; /* 1022 tokens */
    hop_task t = task_of(&s);
    hop_model *m = build_mixed("L L F L L", &t);
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    if (p.verdict != HOP_PROVED) fail_msg("%s", p.why);
    hop_proof_free(&p);
    assert_int_equal(asked(m, &t.funccomp), HOP_ANSWER_POSSIBLE);
    hop_model_free(m);
}

static void patterns_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    sizes s = {2, 4, {2}};
    hop_task t = task_of(&s);
    const char *const bad[] = {"L L", "L F F F", "L gdn L", "L ( F"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hop_model *m = NULL;
        hop_error err = {0};
        assert_true(hop_construct(&m, "mixed", &t, &(hop_construct_options){.pattern = bad[i]}, &err) !=
                    HOP_OK);
        assert_null(m);
    }
}

/* Random architectures: no theorem says possible where another says impossible, and more layers of a kind
 * never make what was possible doubtful. */
static void possible_and_impossible_never_meet(void **state)
{
    (void)state;
    int possible = 0, impossible = 0;
    hop_rng rng;
    hop_rng_init(&rng, 2026, 0);
    for (int k = 0, most = getenv("HOPBOUND_LONG") ? 30000 : 3000; k < most; k++) {
        hop_arch_layer layers[6];
        int count = 1 + (int)hop_rng_below(&rng, 6), hops = 1 + (int)hop_rng_below(&rng, 3);
        for (int i = 0; i < count; i++) {
            bool full = k % 10 == 0 && hop_rng_below(&rng, 3) == 0; /* linear ones alone are quickly judged */
            int64_t rows = (int64_t)1 << hop_rng_below(&rng, 9),
                    numbers = 4 + (int64_t)hop_rng_below(&rng, 20);
            layers[i] = (hop_arch_layer){.kind = full ? HOP_LAYER_FULL : HOP_LAYER_LINEAR,
                                         .repeat = 1 + (int64_t)hop_rng_below(&rng, 2),
                                         .heads = 1,
                                         .dim = 1 + (int64_t)hop_rng_below(&rng, 40),
                                         .number_bits = 32,
                                         .state_bits = full ? 0 : rows * numbers * 32,
                                         .rows = full ? 0 : rows,
                                         .row_numbers = full ? 0 : numbers};
        }
        const hop_arch arch = {.layers = layers, .count = count};
        const int64_t fan[2] = {2 + (int64_t)hop_rng_below(&rng, 6), 2 + (int64_t)hop_rng_below(&rng, 6)};
        const hop_question q = {.arch = &arch,
                                .hops = hops,
                                .m = (int64_t)2 << hop_rng_below(&rng, 14),
                                .fan = fan,
                                .searched = 1};
        hop_bounds *b;
        hop_error err = {0};
        assert_int_equal(hop_bounds_new(&b, &q, &err), HOP_OK);
        bool yes = false, no = false;
        for (int i = 0; i < b->count; i++) {
            yes = yes || b->results[i].answer == HOP_ANSWER_POSSIBLE;
            no = no || b->results[i].answer == HOP_ANSWER_IMPOSSIBLE;
        }
        assert_false(yes && no);
        possible += yes, impossible += no;
        hop_bounds_free(b);
    }
    print_message("%d possible, %d impossible\n", possible, impossible);
    assert_true(possible > 300 && impossible > 300); /* else nothing was tested */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_layers_is_proved_and_called_possible),
        cmocka_unit_test(linear_stacks_are_called_possible),
        cmocka_unit_test(four_hops_over_a_thousand_tokens_are_proved),
        cmocka_unit_test(patterns_that_do_not_fit_are_refused),
        cmocka_unit_test(possible_and_impossible_never_meet),
    };
    return cmocka_run_group_tests_name("mixed", tests, NULL, NULL);
}
