/* Networks of linear layers only: every table is kept in a state. */
#include "funccomp_subject.h"

static void linear_stacks_are_proved_and_cost_the_state_that_p2_demands(void **state)
{
    (void)state;
    const sizes all[] = {{1, 7, {0}}, {2, 6, {5}}, {3, 4, {3, 2}}, {2, 16, {16}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("linear", NULL, &t);
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        if (p.verdict != HOP_PROVED) fail_msg("%d hops: %s", t.funccomp.hops, p.why);
        hop_proof_free(&p);
        int64_t floats = 0;
        for (int64_t l = 0; l < hop_model_config(m)->pattern.layers; l++) {
            hop_mixer_config c = hop_model_mixer_config(m, l);
            floats += hop_mixer_state_floats(hop_mixer_find("linear"), &c, 1);
        }
        double n = (double)t.vocab;
        assert_true(32.0 * (double)floats >= n * log2(n)); /* theorem P2 */
        hop_model_free(m);
    }
}

static void they_are_right_on_every_small_input(void **state)
{
    (void)state;
    assert_right_on_small_inputs("linear");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_stacks_are_proved_and_cost_the_state_that_p2_demands),
        cmocka_unit_test(they_are_right_on_every_small_input),
    };
    return cmocka_run_group_tests_name("linear_stack", tests, NULL, NULL);
}
