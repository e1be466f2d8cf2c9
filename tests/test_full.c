/* The full network: L+1 look-ups by full attention, and the proof that it is right on every input. */
#include "funccomp_subject.h"

/* ---- the construction ----------------------------------------------------------------------- */

static void the_constructed_network_is_right_on_every_small_input(void **state)
{
    (void)state;
    const sizes all[] = {{1, 2, {0}}, {1, 3, {0}}, {1, 4, {0}}, {1, 5, {0}}, {2, 2, {2}}};
    const int64_t counts[] = {8, 81, 1024, 15625, 4096};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("full", NULL, &t);
        int64_t count;
        assert_int_equal(wrong_inputs(m, &t, &count), 0);
        assert_int_equal(count, counts[i]);
        assert_int_equal(count, hop_task_inputs(&t));
        hop_model_free(m);
    }
}

static void it_is_right_on_random_inputs_in_float32_and_with_8_bits(void **state)
{
    (void)state;
    const sizes all[] = {{3, 16, {8, 8}}, {5, 3, {2, 5, 2, 3}}, {2, 6, {5}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("full", NULL, &t);
        assert_right_on_random_inputs(m, &t);
        hop_model_free(m);
    }
}

static void widths_grow_like_hops_plus_log_n_with_one_head(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 6; hops++) {
        sizes s = {hops, 8, {4, 4, 4, 4, 4, 4}};
        hop_task t = task_of(&s);
        hop_model *m = build("full", NULL, &t);
        const hop_config *c = hop_model_config(m);
        int64_t bits = 3 + 2 * (hops - 1); /* log2 N_{L-1} */
        assert_int_equal(c->heads, 1);
        assert_int_equal(c->pattern.layers, hops + 1);
        assert_int_equal(c->head_dim, hops + 2 + bits);
        assert_int_equal(c->d_model, hops + 2 + 3 * bits + (bits - 3));
        assert_int_equal(c->mlp_hidden, 2 * bits);
        hop_model_free(m);
    }
}

static void the_residual_stream_clips_exactly(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 2, 2);
    for (int i = 0; i < 200000; i++) {
        float y = (float)(1 + 5 * hop_rng_uniform(&rng)) * (i % 2 ? 1 : -1);
        float up = y - 1 > 0 ? y - 1 : 0, down = -y - 1 > 0 ? -y - 1 : 0;
        float clipped = y + (down - up);
        assert_true(clipped == (y > 0 ? 1.0f : -1.0f));
    }
}

/* ---- proofs --------------------------------------------------------------------------------- */

static void every_hop_count_from_1_to_8_is_proved(void **state)
{
    (void)state;
    const sizes all[] = {{1, 2, {0}},
                         {1, 7, {0}},
                         {2, 6, {5}},
                         {3, 6, {5, 3}},
                         {4, 3, {2, 3, 2}},
                         {5, 2, {2, 2, 2, 2}},
                         {6, 2, {2, 3, 2, 2, 2}},
                         {7, 2, {2, 2, 2, 2, 2, 2}},
                         {8, 2, {2, 2, 2, 2, 2, 2, 2}},
                         {3, 16, {8, 8}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("full", NULL, &t);
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        if (p.verdict != HOP_PROVED) fail_msg("hops %d: %s", t.funccomp.hops, p.why);
        assert_true(p.by_interval && !p.by_enumeration);
        assert_int_equal(p.margin_count, t.funccomp.hops + 1);
        for (int64_t e = 0; e < p.margin_count; e++) {
            int64_t addresses = e == 0 ? 1 : t.funccomp.size[e - 1]; /* N_{e-1}, not N^N */
            assert_int_equal(p.margins[e].addresses, addresses);
            assert_true(p.margins[e].score_gap > 1 && p.margins[e].wrong_mass < 0.1 &&
                        p.margins[e].clip_margin > 1);
        }
        assert_true(p.readout_margin > 1.9); /* 2 in exact arithmetic */
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

static void sixty_thousand_tokens_are_proved(void **state)
{
    (void)state;
    sizes s = {2, 250, {241}};
    hop_task t = task_of(&s);
    assert_true(t.length >= 60000);
    hop_model *m = build("full", NULL, &t);
    hop_proof p;
    hop_prove_options o = {.pool = hop_pool_new(0)};
    assert_int_equal(hop_prove(&p, m, &t, &o, NULL), HOP_OK);
    if (p.verdict != HOP_PROVED) fail_msg("%s", p.why);
    hop_proof_free(&p);
    hop_pool_free(o.pool);
    hop_model_free(m);
}

static void a_damaged_network_is_never_proved_if_it_errs(void **state)
{
    (void)state;
    sizes one = {1, 3, {0}}, two = {2, 2, {2}};
    hop_task small = task_of(&one), large = task_of(&two);
    verdicts a = try_damage("full", NULL, &small, &(trials){77, 0, 1, 600}),
             b = try_damage("full", NULL, &large, &(trials){77, 0, 1, 150});
    /* The test is worth something only if all of it happens: harmless damage is still proved, harm is found.
     */
    assert_true(a.proved + b.proved > 50);
    assert_true(a.refuted + b.refuted > 50);
    assert_true(a.missed + b.missed < (a.refuted + b.refuted) / 4);
}

static void a_broken_query_key_value_or_clip_is_refuted_with_its_layer(void **state)
{
    (void)state;
    const char *const parts[] = {"mixer.q_proj.weight", "mixer.k_proj.weight", "mixer.v_proj.weight",
                                 "mixer.o_proj.weight", "mlp.up_proj.weight"};
    sizes s = {3, 6, {5, 3}};
    hop_task t = task_of(&s);
    for (int part = 0; part < 5; part++)
        for (int layer = 1; layer <= 3; layer++) {
            hop_model *m = build("full", NULL, &t);
            const hop_weight *w = hop_model_layer_weight(m, layer, parts[part]);
            /* The first address bit: row hops+2 of the projections, unit 0 of the clip. */
            int64_t row = part == 4   ? 0
                          : part == 3 ? w->shape[0] - hop_model_config(m)->mlp_hidden / 2
                                      : t.funccomp.hops + 2;
            for (int64_t c = 0; c < w->shape[1]; c++) w->data[row * w->shape[1] + c] = 0;
            if (part == 4) /* without its unit the clip leaves the register too large: hurts only if the sign
                              is lost too */
                hop_model_layer_weight(m, layer, "mlp.up_proj.bias")->data[0] = 100;
            hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
            if (p.verdict != HOP_REFUTED)
                fail_msg("%s of layer %d: %s", parts[part], layer, hop_verdict_name(p.verdict));
            char name[16];
            snprintf(name, sizeof name, "layer %d", layer);
            if (part < 2 && !strstr(p.why, name))
                fail_msg("%s of layer %d: \"%s\"", parts[part], layer, p.why);
            hop_proof_free(&p);
            hop_model_free(m);
        }
}

/* Right in real arithmetic, but scores of 10^39 are infinite in float32. */
static void a_network_that_overflows_is_not_proved(void **state)
{
    (void)state;
    sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    int64_t who = t.funccomp.hops + 2, count;
    scale_weight(m, -1, "model.embed_positions.weight", 0, who, 1e8f);
    for (int e = 0; e <= t.funccomp.hops; e++) {
        scale_weight(m, e, "mixer.q_proj.weight", who, who, e ? 1e-8f : 4e10f);
        scale_weight(m, e, "mixer.k_proj.weight", who, who, e ? 1e-8f : 9e11f);
    }
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    assert_non_null(strstr(p.why, "range of float32"));
    assert_true(wrong_inputs(m, &t, &count) > 0 || !sums_in_float32());
    hop_proof_free(&p);
    hop_model_free(m);
}

/* Right in real arithmetic, but its register passes through numbers of 10^-46, which float32 rounds to zero.
 */
static void a_network_that_underflows_is_not_proved(void **state)
{
    (void)state;
    sizes s = {1, 2, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    int64_t count;
    scale_weight(m, 0, "mixer.v_proj.weight", 0, 0, 1e-16f);
    scale_weight(m, 0, "mixer.o_proj.weight", 0, 0, 2.5e-31f);
    scale_weight(m, 0, "mlp.up_proj.bias", 0, 0, 0);
    scale_weight(m, 0, "mlp.up_proj.weight", 0, 0, 9e11f);
    scale_weight(m, 0, "mlp.down_proj.weight", 0, 0, -9e11f);
    const hop_weight *q = hop_model_layer_weight(m, 1, "mixer.q_proj.weight"),
                     *k = hop_model_layer_weight(m, 1, "mixer.k_proj.weight");
    for (int64_t c = 0; c < q->shape[1]; c++) {
        q->data[3 * q->shape[1] + c] *= 4e10f;
        k->data[3 * k->shape[1] + c] *= 4e11f;
    }
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    assert_true(wrong_inputs(m, &t, &count) > 0);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* Scores of tokens other than the last one overflow: their NaN reaches every later key through 0 · NaN. */
static void other_tokens_scores_count_too(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    int64_t count;
    /* Tokens of z_1 (who = 1 is coordinate 2) ask with 1e11 · 1e11 · 1e11 · 1e11. */
    const hop_weight *q = hop_model_layer_weight(m, 0, "mixer.q_proj.weight"),
                     *k = hop_model_layer_weight(m, 0, "mixer.k_proj.weight");
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    for (int64_t p = 0; p < 3; p++) positions->data[p * positions->shape[1] + 2] = 1e11f;
    q->data[2 * q->shape[1] + 2] = 1e11f;
    k->data[2 * k->shape[1] + 2] = 1e11f;
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    assert_true(wrong_inputs(m, &t, &count) > 0 || !sums_in_float32());
    hop_proof_free(&p);
    hop_model_free(m);
}

static void networks_of_another_kind_are_undecided_not_wrong(void **state)
{
    (void)state;
    sizes s = {1, 4, {0}};
    hop_task t = task_of(&s);
    hop_model *good = build("full", NULL, &t), *m;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    c.norm = HOP_NORM_RMS;
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    hop_model_init_weights(m, 1, NULL);
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_equal(p.verdict,
                     HOP_REFUTED); /* random weights err; the reason still names what could not be followed */
    assert_non_null(strstr(p.why, "layer 0"));
    hop_proof_free(&p);
    hop_model_free(m);
    c.vocab = 3;
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    assert_int_equal(hop_prove(&p, m, &t, &(hop_prove_options){0}, NULL), HOP_EDOMAIN);
    hop_model_free(m);
    hop_config_free(&c);
    const hop_weight *w = hop_model_weight(good, "model.embed_tokens.weight");
    w->data[0] = NAN;
    p = prove(good, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    hop_model_free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_constructed_network_is_right_on_every_small_input),
        cmocka_unit_test(it_is_right_on_random_inputs_in_float32_and_with_8_bits),
        cmocka_unit_test(widths_grow_like_hops_plus_log_n_with_one_head),
        cmocka_unit_test(the_residual_stream_clips_exactly),
        cmocka_unit_test(every_hop_count_from_1_to_8_is_proved),
        cmocka_unit_test(sixty_thousand_tokens_are_proved),
        cmocka_unit_test(a_damaged_network_is_never_proved_if_it_errs),
        cmocka_unit_test(a_broken_query_key_value_or_clip_is_refuted_with_its_layer),
        cmocka_unit_test(a_network_that_overflows_is_not_proved),
        cmocka_unit_test(a_network_that_underflows_is_not_proved),
        cmocka_unit_test(other_tokens_scores_count_too),
        cmocka_unit_test(networks_of_another_kind_are_undecided_not_wrong),
    };
    return cmocka_run_group_tests_name("full", tests, NULL, NULL);
}
