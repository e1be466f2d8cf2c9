/* Networks that are right in exact arithmetic and wrong as `run` computes them, or right in one form of a
 * recurrence and wrong in another: what would fool a proof that reasons about the wrong arithmetic. Each is a
 * constructed network with some weights or sizes of its linear layers changed; none of them may be proved,
 * and where an input that errs is at hand, the verdict must be "refuted".
 *
 * That a network really errs depends on the order in which kernels sum, so it is asserted only where no order
 * is right: sums that overflow, or that cancel whatever comes first. */
#include "hybrid_subject.h"

/* One coordinate of the position table is multiplied by 2^30, and divided again wherever it is looked at. */
static void enlarge_coordinate(const hop_model *m, int64_t c)
{
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    for (int64_t p = 0; p < positions->shape[0]; p++) positions->data[p * positions->shape[1] + c] *= 0x1p30f;
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        bool reads = strstr(w->name, "q_proj") || strstr(w->name, "k_proj") || strstr(w->name, "v_proj") ||
                     strstr(w->name, "up_proj.weight") || strstr(w->name, "lm_head");
        for (int64_t r = 0; reads && r < w->shape[0]; r++) w->data[r * w->shape[1] + c] *= 0x1p-30f;
    }
}

/* ---- what is asserted --------------------------------------------------------------------------- */

/* Not proved by intervals, by layer 0's fault, and by `auto` only if it is right; frees the network. Returns
 * how many inputs err. */
static int64_t assert_not_proved(hop_model *m, const hop_task *t, const char *name)
{
    tally got = answer_all(m, t, true);
    hop_proof p = prove(m, t, HOP_PROVE_INTERVAL);
    if (p.verdict == HOP_PROVED) fail_msg("%s: proved, and %lld inputs err", name, (long long)got.wrong);
    if (p.verdict == HOP_REFUTED) assert_counterexample(m, t, &p);
    if (!strstr(p.why, "layer 0")) fail_msg("%s: %s", name, p.why);
    hop_proof_free(&p);
    p = prove(m, t, HOP_PROVE_AUTO);
    assert_int_equal(p.verdict, got.wrong ? HOP_REFUTED : HOP_PROVED);
    assert_false(p.by_interval);
    hop_proof_free(&p);
    hop_model_free(m);
    return got.wrong;
}

/* ---- forms that differ --------------------------------------------------------------------------- */

static void keys_that_cancel_are_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "retnet", "gla"};
    const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}};
    int64_t wrong = 0;
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++)
        for (int order = 0; order < CANCELLING_ORDERS; order++)
            for (size_t z = 0; z < sizeof all / sizeof *all; z++) {
                hop_task t = task_of(&all[z]);
                wrong += assert_not_proved(cancelling_hybrid(&t, mixers[i], order), &t, mixers[i]);
            }
    assert_true(wrong > 0);
}

/* The chunked form multiplies q and k first, the step form does not: a scale of 1e20 overflows in one of them
 * only. */
static void a_scale_that_overflows_in_one_form_is_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "retnet", "gla"};
    sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        hop_model *good = build("hybrid", mixers[i], &t);
        hop_model *m = with_settings(good, (setting[]){{"scale", 1e20}, {0}});
        scale_weight(m, 0, Q_PROJ, 0, 0, 9e11f);
        scale_weight(m, 0, K_PROJ, 0, 0, 9e11f);
        scale_weight(m, 0, V_PROJ, 0, 0, 1e-30f);
        scale_weight(m, 0, O_PROJ, 0, 0, 1.2e-14f);
        hop_model_free(good);
        assert_true(assert_not_proved(m, &t, mixers[i]) > 0);
    }
}

/* The same without a scale: flags of 2^30 and weights of 2^39 make queries and keys of 2^69, whose product is
 * infinite. */
static void queries_and_keys_that_overflow_in_one_form_are_not_proved(void **state)
{
    (void)state;
    const char *const mixers[] = {"linear", "retnet", "gla"};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        hop_model *m = build("hybrid", mixers[i], &t);
        enlarge_coordinate(m, flag_of(m, Q_PROJ));
        enlarge_coordinate(m, flag_of(m, K_PROJ));
        scale_weight(m, 0, Q_PROJ, 0, 0, 0x1p69f);
        scale_weight(m, 0, K_PROJ, 0, 0, 0x1p69f);
        scale_weight(m, 0, V_PROJ, 0, 0, 0x1p-69f);
        scale_weight(m, 0, O_PROJ, 0, 0, 0x1p-69f);
        assert_true(assert_not_proved(m, &t, mixers[i]) > 0);
    }
}

/* ---- based ---------------------------------------------------------------------------------------- */

/* The first head finds z_0, and the values are the second's, which looks everywhere alike. */
static void a_second_head_of_based_is_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "based", &t);
    hop_model *m = with_settings(good, (setting[]){{"heads", 2}, {"kv_heads", 2}, {0}});
    const hop_weight *v = hop_model_layer_weight(good, 0, V_PROJ),
                     *o = hop_model_layer_weight(good, 0, O_PROJ);
    int64_t bits = v->shape[0], d = v->shape[1];
    *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = *cell(good, Q_PROJ, 0, flag_of(good, Q_PROJ));
    *cell(m, K_PROJ, 0, flag_of(good, K_PROJ)) = *cell(good, K_PROJ, 0, flag_of(good, K_PROJ));
    for (int64_t b = 0; b < bits; b++)
        for (int64_t c = 0; c < d; c++) {
            *cell(m, V_PROJ, bits + b, c) = v->data[b * d + c];
            *cell(m, O_PROJ, c, bits + b) = o->data[c * bits + b];
        }
    hop_model_free(good);
    assert_true(assert_not_proved(m, &t, "two heads") > 0);
}

/* s is what it was, but the squares of a key of 2^65 and more, and of a query of 2^-65, are not numbers of
 * float32. */
static void keys_of_based_that_overflow_are_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("hybrid", "based", &t);
    enlarge_coordinate(m, flag_of(m, K_PROJ));
    scale_weight(m, 0, K_PROJ, 0, 0, 0x1p65f);
    scale_weight(m, 0, Q_PROJ, 0, 0, 0x1p-65f);
    assert_true(assert_not_proved(m, &t, "keys that overflow") > 0);
}

/* Nobody asks for the second number of a key; but its square is infinite at the tokens of z_L, and 0 times
 * infinity is no number. */
static void features_of_based_that_overflow_are_not_proved(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 2; hops++) {
        sizes s = {hops, 2, {2}};
        hop_task t = task_of(&s);
        hop_model *good = build("hybrid", "based", &t);
        int64_t z0 = flag_of(good, K_PROJ);
        float root = *cell(good, K_PROJ, 0, z0);
        hop_model *m = hybrid_of(&t, "based", 2, (float[]){root, 0}, (float[]){root, 0});
        enlarge_coordinate(m, z0 + hops);
        *cell(m, K_PROJ, 1, z0 + hops) = 9e11f;
        hop_model_free(good);
        assert_true(assert_not_proved(m, &t, "features that overflow") > 0);
    }
}

/* Keys at right angles to the query: s = 401·409 - 409·401 = 0 and the weight is 1; but s²/2 is a sum of
 * three features of 10^10, of which float32 drops hundreds. z_0 outweighs all others a hundred times, and yet
 * does not. */
static void features_of_based_that_cancel_are_not_proved(void **state)
{
    (void)state;
    const float pairs[][2] = {{401, 409}, {397, 419}, {331, 499}};
    int64_t wrong = 0;
    for (int i = 0; i < 6; i++) {
        sizes s = {1 + i % 2, 2, {2}};
        hop_task t = task_of(&s);
        hop_model *good = build("hybrid", "based", &t);
        int64_t z0 = flag_of(good, K_PROJ);
        float own = sqrtf(200.0f * (float)t.length), x = pairs[i / 2][0], y = pairs[i / 2][1];
        hop_model *m = hybrid_of(&t, "based", 2, (float[]){x, -y}, (float[]){own / x, 0});
        for (int e = -1; e <= s.hops; e++) { /* every token but z_0's, w's too */
            if (e == 0) continue;
            *cell(m, K_PROJ, 0, z0 + e) = y;
            *cell(m, K_PROJ, 1, z0 + e) = x;
        }
        hop_model_free(good);
        wrong += assert_not_proved(m, &t, "features that cancel");
    }
    assert_true(wrong > 0);
}

/* ---- linear stacks --------------------------------------------------------------------------------- */

/* z_0's feature is 2^30 + 1 - 2^30 of a key (1, 1, 1): 1, but for float32 0. */
static void features_of_a_linear_stack_that_cancel_are_not_proved(void **state)
{
    (void)state;
    const float orders[][3] = {{0x1p30f, 1, -0x1p30f}, {1, 0x1p30f, -0x1p30f}, {0x1p30f, -0x1p30f, 1}};
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    int64_t wrong = 0;
    for (int i = 0; i < 3; i++) {
        hop_model *good = build("linear", NULL, &t);
        hop_model *m = with_settings(good, (setting[]){{"head_dim", 3}, {0}});
        int64_t z0 = flag_of(good, K_PROJ);
        *cell(m, Q_PROJ, 0, flag_of(good, Q_PROJ)) = 1;
        *cell(m, "mixer.feature_map_q.layer1.weight", 0, 0) = 1;
        hop_model_layer_weight(m, 0, "mixer.feature_map_q.layer2.bias")->data[0] = 1;
        hop_model_layer_weight(m, 0, "mixer.feature_map_k.layer2.bias")->data[0] = 1;
        for (int r = 0; r < 3; r++) {
            *cell(m, K_PROJ, r, z0) = 1;
            *cell(m, "mixer.feature_map_k.layer1.weight", 0, r) = orders[i][r];
        }
        hop_model_free(good);
        wrong += assert_not_proved(m, &t, "features of a stack");
    }
    assert_true(wrong > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_cancel_are_not_proved),
        cmocka_unit_test(a_scale_that_overflows_in_one_form_is_not_proved),
        cmocka_unit_test(queries_and_keys_that_overflow_in_one_form_are_not_proved),
        cmocka_unit_test(a_second_head_of_based_is_not_proved),
        cmocka_unit_test(keys_of_based_that_overflow_are_not_proved),
        cmocka_unit_test(features_of_based_that_overflow_are_not_proved),
        cmocka_unit_test(features_of_based_that_cancel_are_not_proved),
        cmocka_unit_test(features_of_a_linear_stack_that_cancel_are_not_proved),
    };
    return cmocka_run_group_tests_name("false_proofs", tests, NULL, NULL);
}
