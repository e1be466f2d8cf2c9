/* Proofs under the arithmetic of the game: what crosses between players is rounded to numbers of P bits. */
#include "funccomp_subject.h"

static hop_proof prove_with(const hop_model *m, const hop_task *t, hop_prove_method method, int bits)
{
    hop_proof p;
    hop_error err = {0};
    const hop_prove_options o = {.method = method, .message_bits = bits};
    if (hop_prove(&p, m, t, &o, &err) != HOP_OK) fail_msg("%s", err.text);
    return p;
}

static void networks_are_proved_with_sixteen_bit_messages(void **state)
{
    (void)state;
    const sizes all[] = {{1, 35, {0}}, {2, 40, {6}}, {3, 4, {3, 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int k = -1; k < LINEAR_MIXER_COUNT; k++) {
            hop_task t = task_of(&all[i]);
            hop_model *m = k < 0 ? build("full", NULL, &t) : build("hybrid", LINEAR_MIXERS[k], &t);
            hop_proof p = prove_with(m, &t, HOP_PROVE_INTERVAL, 16);
            if (p.verdict != HOP_PROVED) fail_msg("%s: %s", k < 0 ? "full" : LINEAR_MIXERS[k], p.why);
            hop_proof_free(&p);
            hop_model_free(m);
        }
}

/* Every input is run with rounded messages; weights are spoilt so that some networks err at few bits only. */
static void what_is_proved_is_right_on_every_input_with_those_messages(void **state)
{
    (void)state;
    const sizes s = {1, 3, {0}};
    const int bits[] = {10, 11, 12, 16, 24, 32};
    hop_task t = task_of(&s);
    int proved = 0, wrong = 0;
    for (int k = -1; k < LINEAR_MIXER_COUNT; k++)
        for (uint64_t trial = 0; trial < 12; trial++) {
            hop_model *m = k < 0 ? build("full", NULL, &t) : build("hybrid", LINEAR_MIXERS[k], &t);
            hop_rng rng;
            hop_rng_init(&rng, 5 + trial, (uint64_t)(k + 1));
            for (uint64_t i = 0; i < trial % 4; i++) {
                const hop_weight *w =
                    hop_model_weight_at(m, (int64_t)hop_rng_below(&rng, (uint64_t)hop_model_weight_count(m)));
                float *x = w->data + hop_rng_below(&rng, (uint64_t)weight_elements(w));
                *x = hop_rng_below(&rng, 2) ? *x * (float)exp(2 * hop_rng_normal(&rng))
                                            : *x + (float)hop_rng_normal(&rng);
            }
            for (size_t b = 0; b < sizeof bits / sizeof *bits; b++) {
                hop_proof p = prove_with(m, &t, HOP_PROVE_INTERVAL, bits[b]);
                hop_proof all = prove_with(m, &t, HOP_PROVE_ENUMERATE, bits[b]);
                if (p.verdict == HOP_PROVED && all.verdict != HOP_PROVED)
                    fail_msg("%s, trial %d, %d bits: proved, but %s", k < 0 ? "full" : LINEAR_MIXERS[k],
                             (int)trial, bits[b], all.why);
                proved += p.verdict == HOP_PROVED;
                wrong += all.verdict == HOP_REFUTED;
                hop_proof_free(&p);
                hop_proof_free(&all);
            }
            hop_model_free(m);
        }
    assert_true(proved > 100 && wrong > 100);
}

static void what_has_no_players_has_no_messages(void **state)
{
    (void)state;
    const sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    const hop_prove_options sets = {.message_bits = 16, .method = HOP_PROVE_INTERVAL};
    const char *const kinds[] = {"encoder", "cot"};
    for (int i = 0; i < 2; i++) {
        hop_model *m = build(kinds[i], NULL, &t);
        hop_proof p;
        assert_int_equal(hop_prove(&p, m, &t, &(hop_prove_options){.message_bits = 16}, NULL), HOP_EDOMAIN);
        assert_int_equal(hop_prove(&p, m, &t, &sets, NULL), HOP_EDOMAIN); /* without running anything, too */
        hop_model_free(m);
    }
    hop_model *m = build("full", NULL, &t);
    hop_proof p;
    assert_int_equal(hop_prove(&p, m, &t, &(hop_prove_options){.message_bits = 9}, NULL), HOP_ERANGE);
    hop_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_are_proved_with_sixteen_bit_messages),
        cmocka_unit_test(what_is_proved_is_right_on_every_input_with_those_messages),
        cmocka_unit_test(what_has_no_players_has_no_messages),
    };
    return cmocka_run_group_tests_name("prove_messages", tests, NULL, NULL);
}
