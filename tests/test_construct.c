/* construct: the networks that are written down, and the proofs that they are right. */
#include "test.h"

#include <hopbound/construct.h>

#include "interval.h"
#include "rows.h"

typedef struct sizes {
    int hops;
    int64_t m, fan[8];
} sizes;

static hop_task task_of(const sizes *s)
{
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    hop_error err = {0};
    if (hop_funccomp_init(&t.funccomp, s->hops, s->m, s->fan, &err) != HOP_OK) fail_msg("%s", err.text);
    if (hop_task_ready(&t, &err) != HOP_OK) fail_msg("%s", err.text);
    return t;
}

static hop_model *build(const char *kind, const char *mixer, const hop_task *t)
{
    hop_model *m = NULL;
    hop_error err = {0};
    if (hop_construct(&m, kind, t, &(hop_construct_options){.mixer = mixer}, &err) != HOP_OK)
        fail_msg("%s", err.text);
    return m;
}

static hop_model *full_network(const hop_task *t)
{
    return build("full", NULL, t);
}

static int64_t answer_of(hop_forward *f, const hop_task *t, const int32_t *tokens, float *logits)
{
    hop_error err = {0};
    if (hop_forward_logits(f, tokens, t->length, logits, &err) != HOP_OK) fail_msg("%s", err.text);
    return hop_argmax(logits, t->vocab);
}

/* Runs every input as a whole sequence and counts the wrong ones. Shares nothing with hop_prove's
 * enumeration. */
static int64_t wrong_inputs(const hop_model *m, const hop_task *t, int64_t *count)
{
    int32_t tokens[64] = {0};
    float logits[64];
    assert_true(t->length <= 64 && t->vocab <= 64);
    hop_forward *f;
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
    int64_t wrong = 0, p = 0;
    *count = 0;
    while (p >= 0) {
        ++*count;
        wrong += answer_of(f, t, tokens, logits) != hop_funccomp_solve(&t->funccomp, tokens, NULL);
        for (p = t->length - 1; p >= 0 && ++tokens[p] == hop_task_values(t, p); p--) tokens[p] = 0;
    }
    hop_forward_free(f);
    return wrong;
}

/* ---- the construction ----------------------------------------------------------------------- */

static void the_constructed_network_is_right_on_every_small_input(void **state)
{
    (void)state;
    const sizes all[] = {{1, 2, {0}}, {1, 3, {0}}, {1, 4, {0}}, {1, 5, {0}}, {2, 2, {2}}};
    const int64_t counts[] = {8, 81, 1024, 15625, 4096};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        hop_model *m = full_network(&t);
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
        hop_model *m = full_network(&t);
        int32_t *tokens = malloc(sizeof *tokens * (size_t)t.length);
        float *logits = malloc(sizeof *logits * (size_t)t.vocab);
        for (int bits = 0; bits <= 8; bits += 8) {
            hop_forward *f;
            assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.bits = bits}, NULL), HOP_OK);
            for (uint64_t k = 0; k < 20; k++) {
                hop_rng rng;
                hop_rng_init(&rng, 9, k);
                hop_task_sample(&t, &rng, tokens);
                assert_int_equal(answer_of(f, &t, tokens, logits),
                                 hop_funccomp_solve(&t.funccomp, tokens, NULL));
            }
            hop_forward_free(f);
        }
        free(tokens);
        free(logits);
        hop_model_free(m);
    }
}

static void widths_grow_like_hops_plus_log_n_with_one_head(void **state)
{
    (void)state;
    for (int hops = 1; hops <= 6; hops++) {
        sizes s = {hops, 8, {4, 4, 4, 4, 4, 4}};
        hop_task t = task_of(&s);
        hop_model *m = full_network(&t);
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

static hop_proof prove(const hop_model *m, const hop_task *t, hop_prove_method method)
{
    hop_proof p;
    hop_error err = {0};
    if (hop_prove(&p, m, t, &(hop_prove_options){.method = method}, &err) != HOP_OK) fail_msg("%s", err.text);
    return p;
}

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
        hop_model *m = full_network(&t);
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

static void enumeration_and_intervals_agree_on_small_networks(void **state)
{
    (void)state;
    sizes s = {1, 6, {0}};
    hop_task t = task_of(&s);
    hop_model *m = full_network(&t);
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
    m = full_network(&t);
    p = prove(m, &t, HOP_PROVE_AUTO);
    assert_true(p.by_enumeration && p.by_interval && p.enumerated == 81);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* Changes one random weight in one of several ways. */
static void damage(hop_model *m, hop_rng *rng)
{
    const hop_weight *w =
        hop_model_weight_at(m, (int64_t)hop_rng_below(rng, (uint64_t)hop_model_weight_count(m)));
    float *x = &w->data[hop_rng_below(rng, (uint64_t)(w->shape[0] * (w->rank == 2 ? w->shape[1] : 1)))];
    switch (hop_rng_below(rng, 5)) {
    case 0: *x = *x == 0 ? 1 : 0; break;
    case 1: *x = -*x + (*x == 0); break;
    case 2: *x += (float)hop_rng_normal(rng); break;
    case 3: *x += 100 * (float)hop_rng_normal(rng); break;
    default: *x *= (float)hop_rng_uniform(rng); break;
    }
}

/* The prover against the truth, where the truth can be had: whatever one weight is changed to, "proved" is
 * only ever said of a network that answers every input rightly, and "refuted" only with an input that it
 * really gets wrong. */
static void try_damage(const sizes *s, int trials, int *proved, int *refuted, int *undecided)
{
    hop_task t = task_of(s);
    for (int k = 0; k < trials; k++) {
        hop_rng rng;
        hop_rng_init(&rng, 77, (uint64_t)k);
        hop_model *m = full_network(&t);
        damage(m, &rng);
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        int64_t count, wrong = wrong_inputs(m, &t, &count);
        if (p.verdict == HOP_PROVED && wrong)
            fail_msg("trial %d: proved, but %lld inputs are wrong", k, (long long)wrong);
        if (p.verdict == HOP_REFUTED) {
            float logits[64];
            hop_forward *f;
            assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
            assert_int_equal(answer_of(f, &t, p.counterexample, logits), p.got);
            assert_int_equal(hop_funccomp_solve(&t.funccomp, p.counterexample, NULL), p.expected);
            assert_int_not_equal(p.got, p.expected);
            assert_true(wrong > 0);
            hop_forward_free(f);
        }
        *proved += p.verdict == HOP_PROVED;
        *refuted += p.verdict == HOP_REFUTED;
        *undecided += p.verdict == HOP_UNDECIDED && wrong > 0;
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

static void a_damaged_network_is_never_proved_if_it_errs(void **state)
{
    (void)state;
    int proved = 0, refuted = 0, undecided = 0;
    sizes one = {1, 3, {0}}, two = {2, 2, {2}};
    try_damage(&one, 600, &proved, &refuted, &undecided);
    try_damage(&two, 150, &proved, &refuted, &undecided);
    /* The test is worth something only if all of it happens: harmless damage is still proved, harm is found.
     */
    assert_true(proved > 50);
    assert_true(refuted > 50);
    assert_true(undecided < refuted / 4);
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
            hop_model *m = full_network(&t);
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
            snprintf(name, sizeof name, "layer %d:", layer);
            if (part < 2 && !strstr(p.why, name))
                fail_msg("%s of layer %d: \"%s\"", parts[part], layer, p.why);
            hop_proof_free(&p);
            hop_model_free(m);
        }
}

static void scale_weight(const hop_model *m, int64_t layer, const char *part, int64_t rows, int64_t cols,
                         float by)
{
    const hop_weight *w = layer < 0 ? hop_model_weight(m, part) : hop_model_layer_weight(m, layer, part);
    for (int64_t r = 0; r < (rows ? rows : w->shape[0]); r++)
        for (int64_t c = 0; c < (cols ? cols : w->shape[1] ? w->shape[1] : 1); c++)
            w->data[r * (w->shape[1] ? w->shape[1] : 1) + c] *= by;
}

/* Right in real arithmetic, but scores of 10^39 are infinite in float32. */
static void a_network_that_overflows_is_not_proved(void **state)
{
    (void)state;
    sizes s = {2, 2, {2}};
    hop_task t = task_of(&s);
    hop_model *m = full_network(&t);
    int64_t who = t.funccomp.hops + 2, count;
    scale_weight(m, -1, "model.embed_positions.weight", 0, who, 1e8f);
    for (int e = 0; e <= t.funccomp.hops; e++) {
        scale_weight(m, e, "mixer.q_proj.weight", who, who, e ? 1e-8f : 4e10f);
        scale_weight(m, e, "mixer.k_proj.weight", who, who, e ? 1e-8f : 9e11f);
    }
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    assert_non_null(strstr(p.why, "range of float32"));
    assert_true(wrong_inputs(m, &t, &count) > 0);
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
    hop_model *m = full_network(&t);
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
    hop_model *m = full_network(&t);
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
    assert_true(wrong_inputs(m, &t, &count) > 0);
    hop_proof_free(&p);
    hop_model_free(m);
}

/* A network that is right token by token and wrong as a whole sequence: 1e8 + v - 1e8 depends on the order of
 * the sum. */
static void enumeration_alone_runs_what_run_runs(void **state)
{
    (void)state;
    sizes s = {1, 4, {0}};
    hop_task t = task_of(&s);
    hop_model *m = full_network(&t);
    /* Two coordinates of the last token that cancel, through both layers' values. */
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    int64_t d = positions->shape[1], count;
    for (int64_t p = 0; p < t.length; p++)
        positions->data[p * d] += 1; /* who = -1 at every token: a constant */
    for (int e = 0; e < 2; e++) {
        const hop_weight *v = hop_model_layer_weight(m, e, "mixer.v_proj.weight");
        for (int64_t r = 3; r < v->shape[0]; r++) {
            v->data[r * d + 0] = 1e8f;
            v->data[r * d + d - 1] = 0;
        }
    }
    hop_proof p = prove(m, &t, HOP_PROVE_ENUMERATE);
    int64_t wrong = wrong_inputs(m, &t, &count);
    assert_true((p.verdict == HOP_PROVED) == (wrong == 0));
    hop_proof_free(&p);
    hop_model_free(m);
}

/* ---- other constructions ------------------------------------------------------------------------- */

static const char *const LINEAR_MIXERS[] = {
    "linear", "retnet", "lightning",    "gla",   "hgrn2", "mamba", "mamba2", "deltanet",
    "gdn",    "kda",    "deltaproduct", "rwkv6", "rwkv7", "mlstm", "rglru",  "based"};

static void every_linear_mixer_makes_a_hybrid_that_is_proved(void **state)
{
    (void)state;
    int listed = 0;
    for (int i = 0; hop_mixer_at(i); i++) listed += hop_mixer_at(i)->recurrent;
    assert_int_equal(listed, sizeof LINEAR_MIXERS / sizeof *LINEAR_MIXERS); /* a new one needs its line */
    const sizes all[] = {{1, 16, {0}}, {2, 16, {4}}, {3, 6, {5, 3}}, {4, 16, {4, 4, 4}}};
    for (size_t k = 0; k < sizeof LINEAR_MIXERS / sizeof *LINEAR_MIXERS; k++)
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

static void hybrids_chains_and_linear_stacks_are_right_on_every_small_input(void **state)
{
    (void)state;
    const sizes all[] = {{1, 3, {0}}, {2, 2, {2}}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_task t = task_of(&all[i]);
        for (size_t k = 0; k < sizeof LINEAR_MIXERS / sizeof *LINEAR_MIXERS + 2; k++) {
            size_t mixers = sizeof LINEAR_MIXERS / sizeof *LINEAR_MIXERS;
            const char *kind = k < mixers ? "hybrid" : k == mixers ? "linear" : "cot";
            hop_model *m = build(kind, k < mixers ? LINEAR_MIXERS[k] : NULL, &t);
            hop_proof p = prove(m, &t, HOP_PROVE_ENUMERATE);
            if (p.verdict != HOP_PROVED)
                fail_msg("%s %s: %s", kind, k < mixers ? LINEAR_MIXERS[k] : "", p.why);
            hop_proof_free(&p);
            p = prove(m, &t, HOP_PROVE_AUTO); /* intervals, and the decoder beside them */
            if (!p.by_interval || !p.by_enumeration)
                fail_msg("%s %s: %s", kind, k < mixers ? LINEAR_MIXERS[k] : "", p.why);
            hop_proof_free(&p);
            hop_model_free(m);
        }
    }
}

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
        assert_int_equal(p.margin_count, t.funccomp.hops + 1);
        hop_proof_free(&p);
        hop_model_free(m);
    }
}

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
            floats += hop_mixer_find("linear")->state_floats(&c, 1);
        }
        double n = (double)t.vocab;
        assert_true(32.0 * (double)floats >= n * log2(n)); /* theorem P2 */
        hop_model_free(m);
    }
}

/* As above for the full network: one weight of a hybrid, a chain or a linear stack is changed at random. */
static void damaged_hybrids_chains_and_linear_stacks_are_never_proved_if_they_err(void **state)
{
    (void)state;
    sizes s = {1, 3, {0}};
    hop_task t = task_of(&s);
    int refuted = 0, proved = 0;
    for (int k = 0; k < 400; k++) {
        hop_rng rng;
        hop_rng_init(&rng, 78, (uint64_t)k);
        size_t mixers = sizeof LINEAR_MIXERS / sizeof *LINEAR_MIXERS, which = (size_t)k % (mixers + 4);
        const char *kind = which < mixers ? "hybrid" : which < mixers + 2 ? "linear" : "cot";
        hop_model *m = build(kind, which < mixers ? LINEAR_MIXERS[which] : NULL, &t);
        damage(m, &rng);
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL), truth = prove(m, &t, HOP_PROVE_ENUMERATE);
        if (p.verdict == HOP_PROVED && truth.verdict != HOP_PROVED)
            fail_msg("trial %d, %s %s: proved, but %s", k, kind, which < mixers ? LINEAR_MIXERS[which] : "",
                     truth.why);
        refuted += p.verdict == HOP_REFUTED;
        proved += p.verdict == HOP_PROVED;
        hop_proof_free(&p);
        hop_proof_free(&truth);
        hop_model_free(m);
    }
    assert_true(refuted > 50 && proved > 50);
}

/* The chunked form multiplies q and k first, the step form does not: a scale of 1e20 overflows in one of them only. */
static void a_hybrid_whose_forms_may_differ_is_not_proved(void **state)
{
    (void)state;
    sizes s = {2, 4, {2}};
    hop_task t = task_of(&s);
    hop_model *good = build("hybrid", "linear", &t), *m = NULL;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    assert_int_equal(hop_config_set(&c, 0, "", "scale", 1e20, NULL), HOP_OK);
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *from = hop_model_weight_at(good, i), *to = hop_model_weight_at(m, i);
        memcpy(to->data, from->data, sizeof(float) * (size_t)(to->shape[0] * (to->rank == 2 ? to->shape[1] : 1)));
    }
    scale_weight(m, 0, "mixer.q_proj.weight", 0, 0, 9e11f);
    scale_weight(m, 0, "mixer.k_proj.weight", 0, 0, 9e11f);
    scale_weight(m, 0, "mixer.v_proj.weight", 0, 0, 1e-30f);
    scale_weight(m, 0, "mixer.o_proj.weight", 0, 0, 1.2e-14f);
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    hop_config_free(&c);
    hop_model_free(m);
    hop_model_free(good);
}

static void networks_of_another_kind_are_undecided_not_wrong(void **state)
{
    (void)state;
    sizes s = {1, 4, {0}};
    hop_task t = task_of(&s);
    hop_model *good = full_network(&t), *m;
    hop_config c;
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    c.norm = HOP_NORM_RMS;
    assert_int_equal(hop_model_new(&m, &c, NULL), HOP_OK);
    hop_model_init_weights(m, 1);
    hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
    assert_int_equal(p.verdict,
                     HOP_REFUTED); /* random weights err; the reason still names what was not covered */
    assert_non_null(strstr(p.why, "norms"));
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

static void sixty_thousand_tokens_are_proved(void **state)
{
    (void)state;
    sizes s = {2, 250, {241}};
    hop_task t = task_of(&s);
    assert_true(t.length >= 60000);
    hop_model *m = full_network(&t);
    hop_proof p;
    hop_prove_options o = {.pool = hop_pool_new(0)};
    assert_int_equal(hop_prove(&p, m, &t, &o, NULL), HOP_OK);
    if (p.verdict != HOP_PROVED) fail_msg("%s", p.why);
    hop_proof_free(&p);
    hop_pool_free(o.pool);
    hop_model_free(m);
}

/* ---- the tools of the proof ------------------------------------------------------------------ */

static void interval_operations_contain_the_exact_results(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 4, 4);
    for (int i = 0; i < 100000; i++) {
        double x = hop_rng_normal(&rng), y = hop_rng_normal(&rng) * exp(20 * hop_rng_normal(&rng));
        ival a = ival_widen(ival_point(x), fabs(hop_rng_normal(&rng))), b = ival_widen(ival_point(y), 0.1);
        ival sum = ival_add(a, b), product = ival_mul(a, b), scaled = ival_scale(a, y);
        /* long double has 11 more bits: exact for products of doubles, near enough for sums. */
        long double s = (long double)x + y, p = (long double)x * y;
        assert_true(sum.lo <= s && s <= sum.hi);
        assert_true(product.lo <= p && p <= product.hi);
        assert_true(scaled.lo <= p && p <= scaled.hi);
        assert_true(ival_mid(a) - ival_rad(a) <= a.lo && a.hi <= ival_mid(a) + ival_rad(a));
        ival tight = ival_add(ival_point(x), ival_point(y));
        assert_true(tight.lo <= s && s <= tight.hi &&
                    tight.hi - tight.lo <= 1e-15 * (fabs(x + y) + 1e-300) * 4);
    }
}

static void the_row_search_finds_what_looking_at_all_rows_finds(void **state)
{
    (void)state;
    hop_rng rng;
    hop_rng_init(&rng, 6, 6);
    for (int trial = 0; trial < 200; trial++) {
        int64_t count = 1 + (int64_t)hop_rng_below(&rng, 400), width = 1 + (int64_t)hop_rng_below(&rng, 9);
        hop__rows r;
        double q[16], best = -INFINITY, mass = 0;
        int index[16];
        assert_int_equal(hop__rows_new(&r, count, width, NULL), HOP_OK);
        for (int64_t i = 0; i < count * width; i++)
            r.row[i] = trial % 2 ? hop_rng_normal(&rng) : (double)(i / width >> i % width & 1) * 2 - 1;
        for (int64_t k = 0; k < width; k++) q[k] = hop_rng_below(&rng, 4) ? hop_rng_normal(&rng) : 0;
        hop__rows_ready(&r);
        int64_t right = (int64_t)hop_rng_below(&rng, (uint64_t)count);
        double own = 0, scale = 0.7, slack = 0.01;
        for (int64_t k = 0; k < width; k++) own += q[k] * r.row[right * width + k];
        for (int64_t j = 0; j < count; j++) {
            double s = 0;
            for (int64_t k = 0; k < width; k++) s += q[k] * r.row[j * width + k];
            if (j == right) continue;
            if (s > best) best = s;
            mass += exp(scale * (s - own) + slack);
        }
        hop__lead lead = hop__rows_lead(&r, q, right, scale, slack, index);
        if (count > 1) assert_true(fabs(lead.gap - (scale * (own - best) - slack)) < 1e-9);
        assert_true(lead.mass >= mass * (1 - 1e-12)); /* an upper bound */
        hop__rows_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_constructed_network_is_right_on_every_small_input),
        cmocka_unit_test(it_is_right_on_random_inputs_in_float32_and_with_8_bits),
        cmocka_unit_test(widths_grow_like_hops_plus_log_n_with_one_head),
        cmocka_unit_test(the_residual_stream_clips_exactly),
        cmocka_unit_test(every_hop_count_from_1_to_8_is_proved),
        cmocka_unit_test(enumeration_and_intervals_agree_on_small_networks),
        cmocka_unit_test(a_damaged_network_is_never_proved_if_it_errs),
        cmocka_unit_test(a_broken_query_key_value_or_clip_is_refuted_with_its_layer),
        cmocka_unit_test(a_network_that_overflows_is_not_proved),
        cmocka_unit_test(a_network_that_underflows_is_not_proved),
        cmocka_unit_test(other_tokens_scores_count_too),
        cmocka_unit_test(enumeration_alone_runs_what_run_runs),
        cmocka_unit_test(every_linear_mixer_makes_a_hybrid_that_is_proved),
        cmocka_unit_test(hybrids_chains_and_linear_stacks_are_right_on_every_small_input),
        cmocka_unit_test(chains_of_thought_are_proved_for_1_to_6_hops),
        cmocka_unit_test(linear_stacks_are_proved_and_cost_the_state_that_p2_demands),
        cmocka_unit_test(damaged_hybrids_chains_and_linear_stacks_are_never_proved_if_they_err),
        cmocka_unit_test(a_hybrid_whose_forms_may_differ_is_not_proved),
        cmocka_unit_test(networks_of_another_kind_are_undecided_not_wrong),
        cmocka_unit_test(sixty_thousand_tokens_are_proved),
        cmocka_unit_test(interval_operations_contain_the_exact_results),
        cmocka_unit_test(the_row_search_finds_what_looking_at_all_rows_finds),
    };
    return cmocka_run_group_tests_name("construct", tests, NULL, NULL);
}
