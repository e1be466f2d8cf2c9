/* Chains of thought: one layer, and L+1 generated tokens. */
#include "funccomp_subject.h"

static void chains_of_thought_are_proved_for_1_to_6_hops(void **state)
{
    (void)state;
    const sizes all[] = {{1, 5, {0}},       {2, 6, {5}},          {3, 4, {3, 2}},
                         {4, 3, {2, 3, 2}}, {5, 2, {2, 3, 2, 2}}, {6, 2, {2, 2, 2, 2, 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("cot", NULL, &t);
        assert_int_equal(hop_model_config(m)->pattern.layers, 1);
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        if (p.verdict != HOP_PROVED) fail_msg("%d hops: %s", t.funccomp.hops, p.why);
        assert_int_equal(p.margin_count, 1);
        assert_int_equal(p.margins[0].player, t.funccomp.hops); /* of the last token that it generates */
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

static void they_are_right_on_every_small_input(void **state)
{
    (void)state;
    assert_right_on_small_inputs("cot");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_thought_are_proved_for_1_to_6_hops),
        cmocka_unit_test(they_are_right_on_every_small_input),
    };
    return cmocka_run_group_tests_name("cot", tests, NULL, NULL);
}
