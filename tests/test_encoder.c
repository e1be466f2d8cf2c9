/* The encoder: every token composes, ceil(log2 L)+2 layers; and the proof that it is right. */
#include "funccomp_subject.h"

/* ---- the construction ----------------------------------------------------------------------- */

static void the_encoder_is_right_on_every_small_input(void **state)
{
    (void)state;
    const sizes all[] = {{1, 2, {0}}, {1, 3, {0}}, {1, 4, {0}}, {2, 2, {2}}};
    const int64_t counts[] = {8, 81, 1024, 4096};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("encoder", NULL, &t);
        int64_t count;
        assert_int_equal(wrong_inputs(m, &t, &count), 0);
        assert_int_equal(count, counts[i]);
        hop_model_free(m);
    }
}

static void it_is_right_on_random_inputs_in_float32_and_with_8_bits(void **state)
{
    (void)state;
    const sizes all[] = {
        {1, 5, {0}},       {2, 6, {5}},          {3, 16, {4, 4}},         {3, 6, {5, 3}},
        {4, 3, {2, 3, 2}}, {5, 3, {2, 5, 2, 3}}, {6, 2, {2, 3, 2, 2, 2}}, {7, 2, {2, 2, 2, 2, 2, 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("encoder", NULL, &t);
        assert_right_on_random_inputs(m, &t);
        hop_model_free(m);
    }
}

static void depth_grows_like_log_hops_and_width_like_hops_plus_log_n(void **state)
{
    (void)state;
    const int64_t layers[] = {2, 3, 4, 4, 5, 5};
    for (int hops = 1; hops <= 6; hops++) {
        sizes s = {hops, 8, {4, 4, 4, 4, 4}};
        hop_task t = task_of(&s);
        hop_model *m = build("encoder", NULL, &t);
        const hop_config *c = hop_model_config(m);
        int64_t digits = 2 * (hops - 1), bits = 3 + digits; /* log2 N_{L-1} */
        assert_true(c->bidirectional);
        assert_int_equal(c->heads, 1);
        assert_int_equal(c->pattern.layers, layers[hops - 1]);
        assert_int_equal(c->head_dim, hops + 2 + bits);
        assert_int_equal(c->d_model, hops + 2 + 4 * bits + 2 * digits);
        assert_true(c->mlp_hidden <= 5 * bits + 2 * digits);
        hop_model_free(m);
    }
}

/* ---- proofs --------------------------------------------------------------------------------- */

static void every_hop_count_from_1_to_9_is_proved(void **state)
{
    (void)state;
    const sizes all[] = {{1, 2, {0}},
                         {1, 7, {0}},
                         {2, 2, {2}},
                         {2, 6, {5}},
                         {3, 2, {3, 2}},
                         {3, 6, {3, 3}},
                         {3, 16, {4, 4}},
                         {4, 3, {2, 3, 2}},
                         {4, 5, {3, 3, 3}},
                         {5, 4, {2, 2, 3, 2}},
                         {6, 2, {2, 3, 2, 2, 2}},
                         {6, 3, {2, 2, 2, 2, 2}},
                         {7, 2, {2, 2, 2, 2, 2, 2}},
                         {8, 2, {2, 2, 2, 2, 2, 2, 2}},
                         {9, 2, {2, 2, 2, 2, 2, 2, 2, 2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = build("encoder", NULL, &t);
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        if (p.verdict != HOP_PROVED) fail_msg("hops %d: %s", t.funccomp.hops, p.why);
        assert_true(p.by_interval && !p.by_enumeration);
        assert_int_equal(p.margin_count, hop_model_config(m)->pattern.layers);
        for (int64_t e = 0; e < p.margin_count; e++) {
            const hop_margin *g = &p.margins[e];
            assert_true(g->layer == e && g->addresses >= 1 && g->addresses <= 2 * t.length + 2);
            assert_true(g->score_gap > 7 && g->wrong_mass < 0.01 && g->clip_margin > 0.9 &&
                        g->code_error < 0.01);
        }
        assert_int_equal(p.margins[p.margin_count - 1].addresses, t.funccomp.m); /* w asks z_1 */
        assert_true(p.readout_margin > 1.9);                                     /* 2 in exact arithmetic */
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

static void threads_do_not_change_a_proof(void **state)
{
    (void)state;
    sizes s = {5, 3, {2, 3, 2, 2}};
    hop_task t = task_of(&s);
    hop_model *m = build("encoder", NULL, &t);
    hop_prove_options o = {.method = HOP_PROVE_INTERVAL, .pool = hop_pool_new(3)};
    hop_proof one = prove(m, &t, HOP_PROVE_INTERVAL), many;
    assert_int_equal(hop_prove(&many, m, &t, &o, NULL), HOP_OK);
    assert_int_equal(many.verdict, HOP_PROVED);
    assert_true(one.readout_margin == many.readout_margin && one.margin_count == many.margin_count);
    for (int64_t i = 0; i < one.margin_count; i++)
        assert_memory_equal(&one.margins[i].score_gap, &many.margins[i].score_gap, 4 * sizeof(double));
    hop_proof_free(&one);
    hop_proof_free(&many);
    hop_pool_free(o.pool);
    hop_model_free(m);
}

/* A whole address bit, value bit or gate is gone from one layer. */
static void a_broken_query_key_value_or_gate_is_refuted_with_its_layer(void **state)
{
    (void)state;
    sizes s = {3, 6, {5, 3}};
    hop_task t = task_of(&s);
    const struct {
        int layer;
        const char *part;
        int64_t row;
    } all[] = {{0, "mixer.q_proj.weight", 0}, /* nobody asks for w */
               {1, "mixer.q_proj.weight", 5}, {2, "mixer.q_proj.weight", 6}, {3, "mixer.q_proj.weight", 5},
               {1, "mixer.k_proj.weight", 5}, {2, "mixer.k_proj.weight", 8}, {3, "mixer.k_proj.weight", 7},
               {1, "mixer.v_proj.weight", 0}, {2, "mixer.v_proj.weight", 1}, {3, "mixer.v_proj.weight", 2},
               {0, "mlp.up_proj.weight", 6},  {1, "mlp.up_proj.weight", 36}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = build("encoder", NULL, &t);
        const hop_weight *w = hop_model_layer_weight(m, all[i].layer, all[i].part);
        for (int64_t c = 0; c < w->shape[1]; c++) w->data[all[i].row * w->shape[1] + c] = 0;
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        char name[16];
        snprintf(name, sizeof name, "layer %d:", all[i].layer);
        if (p.verdict != HOP_REFUTED)
            fail_msg("%s row %d of layer %d: %s", all[i].part, (int)all[i].row, all[i].layer,
                     hop_verdict_name(p.verdict));
        if (all[i].part[6] != 'v' && all[i].part[0] != 'm' && !strstr(p.why, name))
            fail_msg("%s: %s", name, p.why);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

/* In round 2 of three hops z_3 has been read already: that its tokens no longer keep what they have does no
 * harm. */
static void damage_to_what_nobody_reads_any_more_does_not_prevent_a_proof(void **state)
{
    (void)state;
    sizes s = {3, 6, {5, 3}};
    hop_task t = task_of(&s);
    hop_model *m = build("encoder", NULL, &t);
    const hop_weight *up = hop_model_layer_weight(m, 1, "mlp.up_proj.weight");
    int64_t unit = 2 * 8; /* after the clip's: lets the first bit of the own place through */
    for (int64_t c = 0; c < up->shape[1]; c++) up->data[unit * up->shape[1] + c] = 0;
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* Right in real arithmetic, but in layer 1 scores of 10^39 are infinite in float32. */
static void an_encoder_that_overflows_is_not_proved(void **state)
{
    (void)state;
    sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    hop_model *m = build("encoder", NULL, &t);
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    const hop_weight *q = hop_model_layer_weight(m, 1, "mixer.q_proj.weight"),
                     *k = hop_model_layer_weight(m, 1, "mixer.k_proj.weight");
    int who = t.funccomp.hops + 2;
    for (int64_t p = 0; p < t.length; p++)
        for (int c = 0; c < who; c++) positions->data[p * positions->shape[1] + c] *= 1e8f;
    for (int r = 0; r < who; r++)
        for (int c = 0; c < who; c++) {
            q->data[r * q->shape[1] + c] *= 1e10f;
            k->data[r * k->shape[1] + c] *= 9e11f;
        }
    for (int layer = 0; layer < 3; layer++) { /* everyone else is told the old numbers */
        const hop_weight *up = hop_model_layer_weight(m, layer, "mlp.up_proj.weight");
        for (int64_t r = 0; r < up->shape[0]; r++)
            for (int c = 0; c < who; c++) up->data[r * up->shape[1] + c] *= 1e-8f;
        if (layer == 1) continue;
        const hop_weight *w = hop_model_layer_weight(m, layer, "mixer.q_proj.weight"),
                         *x = hop_model_layer_weight(m, layer, "mixer.k_proj.weight");
        for (int r = 0; r < who; r++)
            for (int c = 0; c < who; c++) {
                w->data[r * w->shape[1] + c] *= 1e-8f;
                x->data[r * x->shape[1] + c] *= 1e-8f;
            }
    }
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    assert_non_null(strstr(p.why, "range of float32"));
    int64_t count;
    assert_true(wrong_inputs(m, &t, &count) > 0);
    hop_proof_free(&p);
    hop_model_free(m);
}

static void networks_of_another_kind_are_not_proved_and_told_why(void **state)
{
    (void)state;
    sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    hop_model *good = build("encoder", NULL, &t), *m;
    for (int i = 0; i < 3; i++) {
        hop_config c;
        assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
        if (i == 0) c.norm = HOP_NORM_RMS;
        if (i == 1) c.heads = c.kv_heads = 2;
        if (i == 2) c.pattern.layers = c.pattern.runs[0].count = 5;
        assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
        hop_model_init_weights(m, 1, NULL);
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        assert_int_not_equal(p.verdict, HOP_PROVED);
        assert_non_null(strstr(p.why, "layer 0"));
        hop_proof_free(&p);
        hop_model_free(m);
        hop_config_free(&c);
    }
    hop_model_weight(good, "model.embed_tokens.weight")->data[0] = NAN;
    hop_proof p = prove(good, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    hop_model_free(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_encoder_is_right_on_every_small_input),
        cmocka_unit_test(it_is_right_on_random_inputs_in_float32_and_with_8_bits),
        cmocka_unit_test(depth_grows_like_log_hops_and_width_like_hops_plus_log_n),
        cmocka_unit_test(every_hop_count_from_1_to_9_is_proved),
        cmocka_unit_test(threads_do_not_change_a_proof),
        cmocka_unit_test(a_broken_query_key_value_or_gate_is_refuted_with_its_layer),
        cmocka_unit_test(damage_to_what_nobody_reads_any_more_does_not_prevent_a_proof),
        cmocka_unit_test(an_encoder_that_overflows_is_not_proved),
        cmocka_unit_test(networks_of_another_kind_are_not_proved_and_told_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
