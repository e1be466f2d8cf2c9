/* Hybrids: one linear layer, whatever its mixer, and L full ones. */
#include "funccomp_subject.h"

static void every_linear_mixer_makes_a_hybrid_that_is_proved(void **state)
{
    (void)state;
    int listed = 0;
    for (int i = 0; hop_mixer_at(i); i++) listed += hop_mixer_at(i)->kind == HOP_MIXER_RECURRENT;
    assert_int_equal(listed, LINEAR_MIXER_COUNT); /* a new one needs its line */
    const sizes all[] = {{1, 16, {0}}, {2, 16, {4}}, {3, 6, {5, 3}}, {4, 16, {4, 4, 4}}};
    for (int k = 0; k < LINEAR_MIXER_COUNT; k++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            hop_task t = task_of(&all[i]);
            hop_model *m = build("hybrid", LINEAR_MIXERS[k], &t);
            hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
            if (p.verdict != HOP_PROVED)
                fail_msg("%s, %d hops: %s", LINEAR_MIXERS[k], t.funccomp.hops, p.why);
            hop_proof_free(&p);
            hop_model_free(m);
        }
}

static void they_are_right_on_every_small_input(void **state)
{
    (void)state;
    const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        for (int k = 0; k < LINEAR_MIXER_COUNT; k++) {
            hop_model *m = build("hybrid", LINEAR_MIXERS[k], &t);
            assert_proved_both_ways(m, &t, LINEAR_MIXERS[k]);
            tally got = answer_all(m, &t, true);
            if (got.wrong || got.step_wrong) fail_msg("%s errs", LINEAR_MIXERS[k]);
            hop_model_free(m);
        }
    }
}

static void hybrids_over_sixty_thousand_tokens_are_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"deltanet", "mamba2", "gdn"};
    sizes s = {2, 250, {241}};
    hop_task t = task_of(&s);
    assert_true(t.length >= 60000);
    hop_prove_options o = {.pool = hop_pool_new(0)};
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        hop_model *m = build("hybrid", mixers[i], &t);
        hop_proof p;
        assert_int_equal(hop_prove(&p, m, &t, &o, NULL), HOP_OK);
        if (p.verdict != HOP_PROVED) fail_msg("%s: %s", mixers[i], p.why);
        assert_true(p.by_interval && p.log10_inputs > 60000);
        hop_proof_free(&p);
        hop_model_free(m);
    }
    hop_pool_free(o.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_linear_mixer_makes_a_hybrid_that_is_proved),
        cmocka_unit_test(they_are_right_on_every_small_input),
        cmocka_unit_test(hybrids_over_sixty_thousand_tokens_are_proved),
    };
    return cmocka_run_group_tests_name("hybrid", tests, NULL, NULL);
}
