/* What is read from a state, and by whom: networks that a proof would believe which forgets that what reads
 * nothing and what reads a zero are not the same, or that a delta rule also writes where there is no value.
 * Each of them errs, in every order of summation and in every form. */
#include "hybrid_subject.h"

/* Errs as a whole sequence and token by token; the verdict is `refuted`, and never by intervals. */
static void assert_refuted(hop_model *m, const hop_task *t, const char *name)
{
    tally got = answer_all(m, t, true);
    if (got.wrong == 0 || got.step_wrong == 0)
        fail_msg("%s: errs on %lld inputs, on %lld token by token", name, (long long)got.wrong,
                 (long long)got.step_wrong);
    hop_proof p = prove(m, t, HOP_PROVE_INTERVAL);
    if (p.verdict != HOP_REFUTED)
        fail_msg("%s: %s, and %lld inputs err", name, hop_verdict_name(p.verdict), (long long)got.wrong);
    assert_counterexample(m, t, &p);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* ---- delta rules write where there is no value ------------------------------------------------------ */

/* z_0's key is (1, 0), w's is (2^-23, 1), and w has no value of its own: its correction writes -2^-23 times
 * what z_0 wrote to the second coordinate, which the query, (2^-24, 1), sees whole. What it is supposed to
 * read is half of that. */
static void a_correction_without_a_value_is_not_overlooked(void **state)
{
    static const char *const mixers[] = {"deltanet", "gdn", "kda"};
    const float faint = 0x1p-24f;
    const sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    (void)state;
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers; i++) {
        hop_model *good = build("hybrid", mixers[i], &t);
        hop_model *m = with_settings(good, (setting[]){{"head_dim", 2}, {"scale", 1}, {0}});
        int64_t w = flag_of(good, Q_PROJ), z0 = flag_of(good, K_PROJ), val = flag_of(good, V_PROJ);
        const hop_weight *v = hop_model_layer_weight(m, 0, V_PROJ),
                         *rate = hop_model_layer_weight(m, 0, "mixer.A_log");
        *cell(m, Q_PROJ, 0, w) = faint;
        *cell(m, Q_PROJ, 1, w) = 1;
        *cell(m, K_PROJ, 0, z0) = 1;
        *cell(m, K_PROJ, 0, w) = 2 * faint;
        *cell(m, K_PROJ, 1, w) = 1;
        *cell(m, "mixer.b_proj.weight", 0, w) = 200;
        for (int64_t e = 0; rate && e < weight_elements(rate); e++) rate->data[e] = -200;
        for (int64_t b = 0; b < v->shape[0]; b++) { /* w is 0, whose bits are -1 */
            *cell(m, V_PROJ, b, val + b) = 1;
            *cell(m, V_PROJ, b, w) = 1;
        }
        scale_weight(m, 0, O_PROJ, 0, 0, 1 / faint);
        hop_model_free(good);
        assert_refuted(m, &t, mixers[i]);
    }
}

/* ---- zeros that are read, and zeros where nothing is ------------------------------------------------ */

/* `good` behind one more layer of attention, which is all 0. */
static hop_model *behind_attention(const hop_model *good, const char *pattern, const setting *s)
{
    hop_model *m = NULL;
    hop_config c;
    hop_error err = {0};
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    hop_pattern_free(&c.pattern);
    c.setting_count = 0;
    if (hop_pattern_parse(&c.pattern, pattern, NULL, &err) != HOP_OK) fail_msg("%s", err.text);
    for (; s->name; s++)
        if (hop_config_set(&c, 1, "", s->name, s->value, &err) != HOP_OK) fail_msg("%s", err.text);
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    for (int64_t i = 0; i < hop_model_weight_count(good); i++) {
        const hop_weight *from = hop_model_weight_at(good, i), *to;
        long long layer;
        int end = 0;
        bool in_layer = sscanf(from->name, "model.layers.%lld.%n", &layer, &end) == 1;
        to = in_layer ? hop_model_layer_weight(m, layer + 1, from->name + end)
                      : hop_model_weight(m, from->name);
        if (to && weight_elements(from) == weight_elements(to))
            memcpy(to->data, from->data, sizeof(float) * (size_t)weight_elements(to));
    }
    hop_config_free(&c);
    return m;
}

/* The value of z_0 travels as 0 or 1 and passes a norm, which makes 0 or 1 of what is near 1, and of anything
 * else but 0. One head reads it when w is 0, the other when w is 1. A layer before adds 0.13 to the value,
 * something between -0.45 and 0.45 as far as anybody can tell: a 0 that is read may be off by so much,
 * whereas what reads nothing is 0. */
static void a_zero_that_is_read_is_as_uncertain_as_any_value(void **state)
{
    const sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    enum { WHO_W, WHO_0, WHO_1, WHO_2, VAL = 6, DIG = 8, REG = 9, NOISE = 10 };
    (void)state;
    hop_model *good = build("hybrid", "linear", &t);
    assert_int_equal(flag_of(good, Q_PROJ), WHO_W);
    assert_int_equal(flag_of(good, K_PROJ), WHO_0);
    assert_int_equal(flag_of(good, V_PROJ), VAL);
    hop_model *m = behind_attention(good, "full linear full^2",
                                    (setting[]){{"heads", 2},
                                                {"kv_heads", 2},
                                                {"head_dim", 1},
                                                {"value_dim", 1},
                                                {"scale", 1},
                                                {"feature", 0},
                                                {"norm", 1},
                                                {0}});
    const hop_weight *places = hop_model_weight(m, "model.embed_positions.weight"),
                     *q = hop_model_layer_weight(m, 1, Q_PROJ), *k = hop_model_layer_weight(m, 1, K_PROJ),
                     *v = hop_model_layer_weight(m, 1, V_PROJ), *o = hop_model_layer_weight(m, 1, O_PROJ);
    int64_t d = hop_model_config(m)->d_model;
    assert_int_equal(d, NOISE + 1);
    memset(v->data, 0, sizeof(float) * (size_t)weight_elements(v));
    memset(o->data, 0, sizeof(float) * (size_t)weight_elements(o));
    *cell(m, V_PROJ, 0, WHO_2) = 1;
    *cell(m, V_PROJ, 0, WHO_1) = -1;
    *cell(m, O_PROJ, NOISE, 0) = 0.45f;
    hop_model_layer_weight(m, 1, "mixer.norm.weight")->data[0] = 1;
    for (int64_t h = 0; h < 2; h++) {
        q->data[h * d + WHO_W] = 0.5f;
        q->data[h * d + DIG] = h ? 0.5f : -0.5f;
        k->data[h * d + WHO_0] = 1;
        v->data[h * d + WHO_0] = v->data[h * d + VAL] = 0.5f;
        v->data[h * d + NOISE] = 1;
        o->data[REG * 2 + h] = 8;
    }
    places->data[(t.length - 1) * d + REG] = -4;
    hop_model_free(good);
    assert_refuted(m, &t, "zeros");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correction_without_a_value_is_not_overlooked),
        cmocka_unit_test(a_zero_that_is_read_is_as_uncertain_as_any_value),
    };
    return cmocka_run_group_tests_name("prove_readings", tests, NULL, NULL);
}
