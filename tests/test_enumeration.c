/* Running every input: beside a proof, and alone. */
#include "hybrid_subject.h"

static void enumeration_and_intervals_agree_on_small_networks(void **state)
{
    (void)state;
    sizes s = {1, 6, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    hop_proof p;
    hop_prove_options o = {.method = HOP_PROVE_ENUMERATE, .pool = hop_pool_new(2)};
    assert_int_equal(hop_prove(&p, m, &t, &o, NULL), HOP_OK);
    assert_int_equal(p.verdict, HOP_PROVED);
    assert_int_equal(p.enumerated, hop_task_inputs(&t)); /* 6^6 · 6 = 279,936 */
    assert_true(p.by_enumeration && !p.by_interval);
    hop_proof_free(&p);
    hop_pool_free(o.pool);
    hop_model_free(m);
    sizes small = {1, 3, {0}};
    t = task_of(&small);
    m = build("full", NULL, &t);
    p = prove(m, &t, HOP_PROVE_AUTO);
    assert_true(p.by_enumeration && p.by_interval && p.enumerated == 81);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* A million inputs of a small network take seconds, 10^8 minutes; a limit that is given is kept. */
static void beside_a_proof_only_what_takes_seconds_is_enumerated(void **state)
{
    (void)state;
    const struct {
        int64_t m, limit;
        bool enumerated;
    } all[] = {{5, 0, true}, {7, 0, false}, {8, 0, false}, {5, 15625, true}, {5, 15624, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sizes s = {1, all[i].m, {0}};
        hop_task t = task_of(&s);
        hop_model *m = build("full", NULL, &t);
        hop_proof p;
        hop_prove_options o = {.enumerate_limit = all[i].limit};
        assert_int_equal(hop_prove(&p, m, &t, &o, NULL), HOP_OK);
        assert_int_equal(p.verdict, HOP_PROVED);
        assert_true(p.by_interval && p.by_enumeration == all[i].enumerated);
        assert_int_equal(p.enumerated, all[i].enumerated ? hop_task_inputs(&t) : 0);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

/* Both forms of linear attention compute q·k·v: the step form k·v first, the chunked form q·k first. Of these
 * two networks one overflows in the chunked form only, the other in the step form only. */
static hop_model *overflowing_hybrid(const hop_task *t, bool in_steps)
{
    hop_model *m = build("hybrid", "linear", t);
    scale_weight(m, 0, Q_PROJ, 0, 0, in_steps ? 1e-20f : 1e20f);
    scale_weight(m, 0, K_PROJ, 0, 0, 1e20f);
    scale_weight(m, 0, V_PROJ, 0, 0, in_steps ? 1e20f : 1e-20f);
    scale_weight(m, 0, O_PROJ, 0, 0, 1e-20f);
    return m;
}

/* The verdict follows whole sequences, which is what `run` runs. Returns the answers; frees the network. */
static tally verdict_is_of_whole_sequences(hop_model *m, const hop_task *t)
{
    tally got = answer_all(m, t, true);
    hop_proof p = prove(m, t, HOP_PROVE_ENUMERATE);
    assert_int_equal(p.verdict, got.wrong ? HOP_REFUTED : HOP_PROVED);
    if (got.wrong) assert_counterexample(m, t, &p);
    hop_proof_free(&p);
    hop_model_free(m);
    return got;
}

static void enumeration_alone_runs_what_run_runs(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "retnet", "gla"};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    tally whole = verdict_is_of_whole_sequences(overflowing_hybrid(&t, false), &t),
          steps = verdict_is_of_whole_sequences(overflowing_hybrid(&t, true), &t);
    assert_true(!sums_in_float32() || (whole.wrong > 0 && whole.step_wrong == 0));
    assert_true(!sums_in_float32() || (steps.wrong == 0 && steps.step_wrong > 0));
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++)
        for (int order = 0; order < CANCELLING_ORDERS; order++)
            verdict_is_of_whole_sequences(cancelling_hybrid(&t, mixers[i], order), &t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(enumeration_and_intervals_agree_on_small_networks),
        cmocka_unit_test(beside_a_proof_only_what_takes_seconds_is_enumerated),
        cmocka_unit_test(enumeration_alone_runs_what_run_runs),
    };
    return cmocka_run_group_tests_name("enumeration", tests, NULL, NULL);
}
