/* 2-Sum: the proofs that a network is right on every input, and their limits. */
#include "two_sum_subject.h"

/* ---- proofs ------------------------------------------------------------------------------------ */

static hop_proof prove(const hop_model *m, const sizes *s, hop_prove_method method)
{
    hop_proof p;
    hop_error err = {0};
    hop_task t = task_of(s->n, s->mod);
    if (hop_prove(&p, m, &t, &(hop_prove_options){.method = method}, &err) != HOP_OK)
        fail_msg("%s", err.text);
    return p;
}

static void constructed_networks_of_many_sizes_are_proved(void **state)
{
    (void)state;
    const sizes all[] = {{1, 2, 0, 0},      {1, 7, 0, 0},      {2, 3, 0, 0},       {5000, 2, 0, 0},
                         {5000, 100, 0, 0}, {777, 1000, 0, 0}, {60000, 37, 0, 0},  {1, 2, 1, 1},
                         {9, 5, 1, 1},      {5000, 100, 4, 1}, {5000, 33, 7, 3},   {1000, 64, 16, 2},
                         {40, 10, 64, 1},   {40, 10, 4, 500},  {2000000, 50, 5, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = network(&all[i]);
        hop_proof p = prove(m, &all[i], HOP_PROVE_INTERVAL);
        if (p.verdict != HOP_PROVED) fail_msg("case %d: %s", (int)i, p.why);
        assert_true(p.by_interval);
        assert_int_equal(p.margin_count, all[i].block ? 2 : 1);
        assert_int_equal(p.margins[0].player, -1);
        assert_int_equal(p.margins[0].addresses, all[i].mod);
        assert_true(p.margins[0].score_gap > 2 && p.margins[0].wrong_mass < 0.01);
        assert_true(p.margins[0].clip_margin > -0.1); /* distances of 0 sit on the edge */
        assert_true(p.readout_margin > 0.5 && p.readout_margin <= 1);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

static void enumeration_agrees_with_the_intervals(void **state)
{
    (void)state;
    const sizes all[] = {{4, 5, 0, 0}, {5, 3, 1, 1}, {5, 4, 2, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *m = network(&all[i]);
        hop_proof p = prove(m, &all[i], HOP_PROVE_AUTO);
        assert_int_equal(p.verdict, HOP_PROVED);
        assert_true(p.by_interval && p.by_enumeration);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

static void scale(const hop_model *m, const char *name, float by)
{
    const hop_weight *w = strncmp(name, "mixer", 5) == 0 || strncmp(name, "mlp", 3) == 0
                              ? hop_model_layer_weight(m, 0, name)
                              : hop_model_weight(m, name);
    for (int64_t i = 0; i < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); i++) w->data[i] *= by;
}

/* Right in real arithmetic, but scores of 10^39 are infinite in float32, and infinity minus infinity is no
 * number. */
static void a_network_that_overflows_is_not_proved(void **state)
{
    (void)state;
    const sizes all[] = {{4, 4, 0, 0}, {5, 4, 1, 1}};
    for (size_t i = 0; i < 2; i++) {
        hop_model *m = network(&all[i]);
        const hop_weight *t = hop_model_weight(m, "model.embed_tokens.weight");
        for (int64_t x = 0; x < 4; x++)
            for (int64_t c = 0; c < 4; c++) t->data[x * t->shape[1] + c] *= 1e10f; /* both codes */
        scale(m, "mixer.q_proj.weight", 1e10f);
        scale(m, "mixer.k_proj.weight", 1e11f);
        scale(m, "mixer.v_proj.weight", 1e-10f);
        scale(m, "mlp.up_proj.weight", 1e-10f); /* of reg too: restored below */
        const hop_weight *up = hop_model_layer_weight(m, 0, "mlp.up_proj.weight");
        for (int64_t u = 0; u < up->shape[0]; u++)
            for (int64_t c = 4; c < up->shape[1]; c++) up->data[u * up->shape[1] + c] *= 1e10f;
        hop_proof p = prove(m, &all[i], HOP_PROVE_INTERVAL);
        assert_int_not_equal(p.verdict, HOP_PROVED);
        assert_non_null(strstr(p.why, "range of float32"));
        if (hop_kernels_selected() != HOP_ISA_REF) /* which sums in double */
            assert_true(wrong_inputs(m, &all[i]) > 0);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

/* Right in real arithmetic, but what comes back passes through numbers of 10^-46, which float32 rounds to
 * zero. Everything it is compared with is scaled along. */
static void a_network_that_underflows_is_not_proved(void **state)
{
    (void)state;
    const sizes s = {4, 4, 0, 0};
    hop_model *m = network(&s);
    scale(m, "mixer.v_proj.weight", 1e-22f);
    scale(m, "mixer.o_proj.weight", 1e-24f);
    const hop_weight *up = hop_model_layer_weight(m, 0, "mlp.up_proj.weight");
    for (int64_t u = 0; u < up->shape[0]; u++)
        for (int64_t c = 2; c < up->shape[1]; c++) up->data[u * up->shape[1] + c] *= c < 4 ? 1e-34f : 1e12f;
    scale(m, "mlp.down_proj.weight", 1e12f);
    const hop_weight *head = hop_model_weight(m, "lm_head.weight");
    head->data[head->shape[1] + head->shape[1] - 1] *= 1e12f; /* dist */
    for (int64_t c = 0; c < head->shape[1] - 1; c++) head->data[head->shape[1] + c] *= 1e-10f;
    hop_proof p = prove(m, &s, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    assert_true(wrong_inputs(m, &s) > 0);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* ---- what the proof does not cover --------------------------------------------------------------- */

typedef void change_fn(hop_config *c);
static void with_norm(hop_config *c)
{
    c->norm = HOP_NORM_RMS;
}
static void with_positions(hop_config *c)
{
    c->position_table = true;
}
static void with_gelu(hop_config *c)
{
    c->mlp = HOP_MLP_GELU;
}
static void with_rope(hop_config *c)
{
    c->rope_theta = 10000;
}
static void with_negative_scale(hop_config *c)
{
    c->attention_scale = -1;
}
static void with_both_ways(hop_config *c)
{
    c->bidirectional = true;
}

static void networks_of_another_kind_are_not_proved_and_the_reason_is_told(void **state)
{
    (void)state;
    const struct {
        change_fn *change;
        const char *word;
    } all[] = {{with_norm, "layer 0"},           {with_positions, "layer 0"},
               {with_gelu, "layer 0"},           {with_rope, "layer 0"},
               {with_negative_scale, "layer 0"}, {with_both_ways, "what came before"}};
    const sizes s = {4, 5, 0, 0};
    hop_model *good = network(&s);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_config c;
        hop_model *m;
        assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
        all[i].change(&c);
        assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
        hop_model_init_weights(m, 1, NULL);
        hop_proof p = prove(m, &s, HOP_PROVE_INTERVAL);
        assert_int_not_equal(p.verdict, HOP_PROVED);
        if (!strstr(p.why, all[i].word)) fail_msg("\"%s\" does not speak of %s", p.why, all[i].word);
        hop_proof_free(&p);
        hop_model_free(m);
        hop_config_free(&c);
    }
    hop_model_weight(good, "model.embed_tokens.weight")->data[3] = NAN;
    hop_proof p = prove(good, &s, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    hop_model_free(good);
}

static void set_all(const hop_weight *w, float value)
{
    for (int64_t i = 0; i < w->shape[0] * w->shape[1]; i++) w->data[i] = value;
}

static void a_second_layer_that_mixes_is_not_proved(void **state)
{
    (void)state;
    const sizes s = {9, 5, 2, 1};
    hop_model *m = network(&s);
    set_all(hop_model_layer_weight(m, 1, "mixer.v_proj.weight"), 1);
    set_all(hop_model_layer_weight(m, 1, "mixer.o_proj.weight"), 1);
    hop_proof p = prove(m, &s, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    assert_non_null(strstr(p.why, "layer 1"));
    hop_proof_free(&p);
    hop_model_free(m);
}

/* The coordinate that is 1 for every token. */
static int64_t coordinate_of_one(const hop_model *m)
{
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight");
    int64_t c = 0, v = 0;
    for (; v < tokens->shape[0]; v++)
        if (tokens->data[v * tokens->shape[1] + c] != 1) c++, v = -1;
    return c;
}

/* Layer 1's values are 0, so that it moves nothing. But its queries and keys read a number of 10^25 that
 * every token has: scores are infinite, their weights no numbers, and 0 times these is none. */
static void a_second_layer_whose_scores_overflow_is_not_proved(void **state)
{
    (void)state;
    const sizes s = {5, 4, 2, 1};
    hop_model *m = network(&s);
    const hop_weight *tokens = hop_model_weight(m, "model.embed_tokens.weight"),
                     *head = hop_model_weight(m, "lm_head.weight");
    int64_t one = coordinate_of_one(m), d = tokens->shape[1];
    for (int64_t v = 0; v < tokens->shape[0]; v++)
        tokens->data[v * d + one] *= 0x1p80f, head->data[v * d + one] *= 0x1p-80f;
    hop_model_layer_weight(m, 1, "mixer.q_proj.weight")->data[one] = 1;
    hop_model_layer_weight(m, 1, "mixer.k_proj.weight")->data[one] = 1;
    hop_proof p = prove(m, &s, HOP_PROVE_INTERVAL);
    if (p.verdict == HOP_PROVED) fail_msg("proved, and %lld inputs err", (long long)wrong_inputs(m, &s));
    hop_proof_free(&p);
    if (hop_kernels_selected() != HOP_ISA_REF) assert_true(wrong_inputs(m, &s) > 0);
    hop_model_free(m);
}

/* Equal rows of the read-out are the same sum, but nobody says in which order. */
static void a_read_out_with_the_answers_row_twice_is_not_proved(void **state)
{
    (void)state;
    const sizes s = {5, 4, 0, 0};
    for (int answer = 0; answer < 2; answer++) {
        hop_model *m = network(&s);
        const hop_weight *head = hop_model_weight(m, "lm_head.weight");
        memcpy(head->data + 3 * head->shape[1], head->data + answer * head->shape[1],
               sizeof(float) * (size_t)head->shape[1]);
        hop_proof p = prove(m, &s, HOP_PROVE_INTERVAL);
        assert_int_equal(p.verdict, HOP_UNDECIDED);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

/* The network for `s` with one option of its sparse layers changed. */
static hop_model *with_option(const sizes *s, const char *name, int64_t value)
{
    hop_model *first = network(s), *m;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(first), NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, -1, "sparse", name, (double)value, NULL), HOP_OK);
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    for (int64_t k = 0; k < hop_model_weight_count(m); k++) {
        const hop_weight *to = hop_model_weight_at(m, k), *from = hop_model_weight_at(first, k);
        int64_t count = to->shape[0] * (to->rank == 2 ? to->shape[1] : 1);
        memcpy(to->data, from->data, sizeof(float) * (size_t)count);
    }
    hop_model_free(first);
    hop_config_free(&c);
    return m;
}

/* With mean summaries the choice may miss the match, unless every token sees everything. */
static void mean_summaries_are_proved_only_where_nothing_is_chosen(void **state)
{
    (void)state;
    const sizes all[] = {{8, 5, 4, 1}, {9, 5, 4, 1}};
    for (int i = 0; i < 2; i++) {
        hop_model *m = with_option(&all[i], "summary", 0);
        hop_proof p = prove(m, &all[i], HOP_PROVE_INTERVAL);
        assert_int_equal(p.verdict == HOP_PROVED, i == 0);
        if (i == 1) assert_non_null(strstr(p.why, "mean of their keys"));
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

/* Three heads cannot watch four places of a block; four heads can watch three. */
static void a_place_in_the_block_that_no_head_watches_is_not_proved(void **state)
{
    (void)state;
    const sizes three = {9, 5, 3, 1}, four = {9, 5, 4, 1};
    hop_model *m = with_option(&three, "block", 4);
    hop_proof p = prove(m, &three, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    runner r = runner_of(m, &three, 0);
    /* The last token's match is the fourth; the second block's keys are nearer to it elsewhere. */
    assert_int_equal(first_wrong(&r, (const int32_t[]){1, 1, 1, 4, 0, 0, 0, 0, 1}), 8);
    runner_free(&r);
    hop_model_free(m);
    m = with_option(&four, "block", 3);
    p = prove(m, &four, HOP_PROVE_INTERVAL);
    assert_int_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    hop_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constructed_networks_of_many_sizes_are_proved),
        cmocka_unit_test(enumeration_agrees_with_the_intervals),
        cmocka_unit_test(a_network_that_overflows_is_not_proved),
        cmocka_unit_test(a_network_that_underflows_is_not_proved),
        cmocka_unit_test(networks_of_another_kind_are_not_proved_and_the_reason_is_told),
        cmocka_unit_test(a_second_layer_that_mixes_is_not_proved),
        cmocka_unit_test(a_second_layer_whose_scores_overflow_is_not_proved),
        cmocka_unit_test(a_read_out_with_the_answers_row_twice_is_not_proved),
        cmocka_unit_test(mean_summaries_are_proved_only_where_nothing_is_chosen),
        cmocka_unit_test(a_place_in_the_block_that_no_head_watches_is_not_proved),
    };
    return cmocka_run_group_tests_name("prove_two_sum", tests, NULL, NULL);
}
