/* The refuter: it finds nothing where there is nothing, and what it finds is so. */
#include "funccomp_subject.h"

#include <hopbound/refute.h>

static hop_refutation refute(const hop_model *m, const hop_task *t, hop_refute_options o)
{
    hop_refutation r;
    hop_error err = {0};
    if (hop_refute(&r, m, t, &o, &err) != HOP_OK) fail_msg("%s", err.text);
    return r;
}

/* A network with random weights. */
static hop_model *random_network(const char *pattern, const hop_task *t, int64_t d_model, int64_t head_dim)
{
    hop_config c;
    hop_model *m = NULL;
    hop_error err = {0};
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "deltanet", NULL), HOP_OK);
    c.vocab = t->vocab, c.max_positions = t->length, c.d_model = d_model, c.heads = c.kv_heads = 1;
    c.head_dim = head_dim, c.mlp_hidden = 2 * d_model;
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_model_init_weights(m, 1, NULL);
    hop_config_free(&c);
    return m;
}

/* What every witness must be: right answers are the solver's, the network's are `run`'s, and the kind is what
 * the numbers say. */
static void assert_witness(const hop_witness *w, const hop_model *m, const hop_task *t)
{
    int64_t starts[HOP_MAX_HOPS + 2], cuts = 0;
    for (int l = t->funccomp.hops; w->arithmetic.message_bits && l >= 0; l--)
        starts[cuts++] = t->funccomp.start[l];
    starts[cuts++] = w->arithmetic.message_bits ? t->length - 1 : 0;
    const hop_cuts at = {starts, cuts, w->arithmetic.message_bits ? w->arithmetic.message_bits : 32,
                         w->arithmetic.state_bits};
    bool cut = w->arithmetic.message_bits || w->arithmetic.state_bits;
    hop_eval_options o = {
        .bits = w->arithmetic.significant_bits, .cuts = cut ? &at : NULL, .cut_tokens = t->length};
    hop_eval *e;
    hop_instance *x;
    assert_int_equal(hop_eval_open(&e, m, &o, NULL), HOP_OK);
    assert_int_equal(hop_instances_new(&x, 2, t->length, NULL), HOP_OK);
    assert_true(w->prompts == 1 || w->prompts == 2);
    for (int i = 0; i < w->prompts; i++) {
        const hop_witness_prompt *p = &w->prompt[i];
        assert_int_equal(hop_task_check(t, p->tokens, t->length, NULL), HOP_OK);
        memcpy(x[i].tokens, p->tokens, sizeof *p->tokens * (size_t)t->length);
        x[i].asked = hop_task_solve(t, x[i].tokens, x[i].targets);
        assert_int_equal(x[i].targets[p->position], p->right);
    }
    assert_int_equal(hop_eval_run(e, x, w->prompts, NULL), HOP_OK);
    for (int i = 0; i < w->prompts; i++)
        assert_int_equal(x[i].answers[w->prompt[i].position], w->prompt[i].answer);
    if (w->prompts == 2) {
        assert_true(w->prompt[0].right != w->prompt[1].right && w->prefix > 0 && w->trace_count > 0);
        for (int64_t p = w->prefix; p < t->length; p++)
            assert_int_equal(w->prompt[0].tokens[p], w->prompt[1].tokens[p]);
    }
    if (w->kind == HOP_WITNESS_INPUT)
        assert_true(w->prompt[0].answer != w->prompt[0].right);
    else
        assert_true(w->prompts == 2 && w->prompt[0].answer == w->prompt[1].answer);
    hop_instances_free(x, 2);
    hop_eval_close(e);
}

/* ---- nothing where there is nothing ----------------------------------------------------------- */

static void exact_networks_are_right_on_every_input_of_small_sizes(void **state)
{
    (void)state;
    const sizes all[] = {{1, 2, {0}}, {1, 3, {0}}, {1, 4, {0}}, {2, 2, {2}}};
    const struct {
        const char *kind, *mixer;
    } kinds[] = {{"full", NULL}, {"hybrid", "deltanet"}, {"linear", NULL}, {"cot", NULL}, {"encoder", NULL}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            hop_task t = task_of(&all[i]);
            hop_model *m = build(kinds[k].kind, kinds[k].mixer, &t);
            hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 100});
            assert_int_equal(r.verdict, HOP_REFUTE_NONE);
            assert_int_equal(r.tried, hop_task_inputs(&t));
            assert_int_equal(r.witness.prompts, 0);
            hop_refutation_free(&r);
            hop_model_free(m);
        }
}

static void nothing_is_found_in_an_exact_network_of_a_larger_size(void **state)
{
    (void)state;
    const sizes s = {2, 6, {5}};
    hop_task t = task_of(&s);
    hop_model *m = build("hybrid", "gdn", &t);
    const hop_arithmetic how[] = {{0}, {.message_bits = 16}, {.significant_bits = 8}};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 0.3, .arithmetic = how[i]});
        assert_int_equal(r.verdict, HOP_REFUTE_OPEN);
        assert_true(r.tried > 0 && !r.interrupted && r.witness.prompts == 0);
        hop_refutation_free(&r);
    }
    hop_model_free(m);
}

/* ---- damage ------------------------------------------------------------------------------------ */

static void damage_changes_as_many_weights_as_it_says_and_the_same_for_a_seed(void **state)
{
    (void)state;
    const sizes s = {2, 3, {2}};
    hop_task t = task_of(&s);
    hop_model *good = build("full", NULL, &t), *bad = build("full", NULL, &t);
    hop_change list[20], again[20];
    assert_int_equal(hop_damage(bad, 1, 5, list, 20, NULL), HOP_OK);
    int64_t changed = 0;
    for (int64_t i = 0; i < hop_model_weight_count(good); i++) {
        const hop_weight *a = hop_model_weight_at(good, i), *b = hop_model_weight_at(bad, i);
        for (int64_t k = 0; k < a->shape[0] * (a->rank == 2 ? a->shape[1] : 1); k++) {
            if (a->data[k] == b->data[k]) continue;
            changed++;
            assert_non_null(strstr(a->name, "model.layers.1."));
        }
    }
    assert_int_equal(changed, 20);
    hop_model *other = build("full", NULL, &t);
    assert_int_equal(hop_damage(other, 1, 5, again, 20, NULL), HOP_OK);
    for (int i = 0; i < 20; i++) {
        assert_string_equal(list[i].tensor, again[i].tensor);
        assert_true(list[i].index == again[i].index && list[i].to == again[i].to &&
                    list[i].from != list[i].to);
    }
    assert_int_equal(hop_damage(other, 7, 5, again, 1, NULL), HOP_ERANGE);
    assert_int_equal(hop_damage(other, 0, 5, again, 1000000, NULL), HOP_ERANGE);
    hop_model_free(good);
    hop_model_free(bad);
    hop_model_free(other);
}

/* A proof and a witness never speak of the same network. */
static void damaged_networks_are_witnessed_or_proved_and_never_both(void **state)
{
    (void)state;
    const sizes s = {2, 4, {3}};
    hop_task t = task_of(&s);
    int witnessed = 0, proved = 0;
    for (uint64_t seed = 0; seed < 30; seed++) {
        hop_model *m = build(seed % 2 ? "full" : "hybrid", seed % 2 ? NULL : "mamba2", &t);
        hop_change change;
        assert_int_equal(hop_damage(m, -1, seed, &change, 1, NULL), HOP_OK);
        hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 0.2});
        hop_proof p = prove(m, &t, HOP_PROVE_INTERVAL);
        assert_true(!(p.verdict == HOP_PROVED && r.verdict == HOP_REFUTE_FOUND));
        if (r.verdict == HOP_REFUTE_FOUND) assert_witness(&r.witness, m, &t);
        witnessed += r.verdict == HOP_REFUTE_FOUND;
        proved += p.verdict == HOP_PROVED;
        hop_proof_free(&p);
        hop_refutation_free(&r);
        hop_model_free(m);
    }
    assert_true(witnessed >= 5 && proved >= 5); /* 10 and 20 when this was written */
}

static void what_is_found_does_not_depend_on_threads_or_time(void **state)
{
    (void)state;
    const sizes s = {2, 6, {5}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    hop_change changes[4];
    assert_int_equal(hop_damage(m, 2, 3, changes, 4, NULL), HOP_OK);
    hop_refutation first = refute(m, &t, (hop_refute_options){.budget = 60});
    assert_int_equal(first.verdict, HOP_REFUTE_FOUND);
    for (int threads = 1; threads <= 3; threads++) {
        hop_pool *pool = hop_pool_new(threads);
        hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 30 * threads, .pool = pool});
        assert_int_equal(r.verdict, HOP_REFUTE_FOUND);
        assert_string_equal(r.witness.by, first.witness.by);
        assert_int_equal(r.witness.kind, first.witness.kind);
        for (int i = 0; i < 2; i++)
            assert_memory_equal(r.witness.prompt[i].tokens, first.witness.prompt[i].tokens,
                                sizeof(int32_t) * (size_t)t.length);
        hop_refutation_free(&r);
        hop_pool_free(pool);
    }
    hop_refutation_free(&first);
    hop_model_free(m);
}

/* One value of 36 is read as another: hardly a sample asks for it, and no structure does. */
static void guided_search_finds_what_is_rare(void **state)
{
    (void)state;
    const sizes s = {1, 36, {0}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    const hop_weight *head = hop_model_weight(m, "lm_head.weight");
    for (int64_t i = 0; i < head->shape[1]; i++) head->data[17 * head->shape[1] + i] *= 0.45f;
    hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 60, .only = "guided"});
    assert_int_equal(r.verdict, HOP_REFUTE_FOUND);
    assert_string_equal(r.witness.by, "guided");
    assert_int_equal(r.witness.prompt[0].right, 17);
    assert_witness(&r.witness, m, &t);
    hop_refutation_free(&r);
    hop_model_free(m);
}

static bool stop_at_once(void *ctx, const char *what, double done, double total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return false;
}

static void a_search_that_is_stopped_says_so(void **state)
{
    (void)state;
    const sizes s = {2, 6, {5}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    const hop_progress stop = {.tick = stop_at_once};
    hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 100, .progress = &stop});
    assert_true(r.verdict == HOP_REFUTE_OPEN && r.interrupted);
    hop_refutation_free(&r);
    hop_error err = {0};
    hop_refute_options bad = {.budget = 1, .arithmetic = {.significant_bits = 8, .state_bits = 8}};
    assert_int_equal(hop_refute(&r, m, &t, &bad, &err), HOP_EDOMAIN);
    bad.arithmetic = (hop_arithmetic){.state_bits = 9};
    assert_int_equal(hop_refute(&r, m, &t, &bad, &err), HOP_ERANGE);
    bad = (hop_refute_options){.budget = 1, .only = "collision"}; /* there are full layers */
    assert_int_equal(hop_refute(&r, m, &t, &bad, &err), HOP_EDOMAIN);
    hop_model_free(m);
}

/* ---- as the proofs tell it ------------------------------------------------------------------------ */

typedef struct states {
    float at[4096];
    int64_t count;
} states;

static void add_state(void *ctx, int64_t layer, const float *state, int64_t floats)
{
    states *s = ctx;
    (void)layer;
    assert_true(s->count + floats <= 4096);
    memcpy(s->at + s->count, state, sizeof *state * (size_t)floats);
    s->count += floats;
}

/* The states that the token behind the prefix finds. */
static states states_of(const hop_model *m, const hop_task *t, const hop_witness *w, int which)
{
    states s = {.count = 0};
    const hop_watch watch = {.state = add_state, .at = w->prefix, .ctx = &s};
    const hop_cuts cuts = {(const int64_t[]){0}, 1, 32, w->arithmetic.state_bits};
    hop_forward *f;
    float logits[64];
    assert_true(t->vocab <= 64);
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){.cuts = &cuts, .watch = &watch}, NULL),
                     HOP_OK);
    assert_int_equal(hop_forward_logits(f, w->prompt[which].tokens, t->length, logits, NULL), HOP_OK);
    hop_forward_free(f);
    return s;
}

/* deltanet, d = 2: 22 numbers of 8 bits are 176, and 64 log2 64 = 384 would be needed (P2). */
static void a_linear_network_below_p2_has_two_tables_that_leave_the_same_states(void **state)
{
    (void)state;
    const sizes s = {1, 64, {0}};
    hop_task t = task_of(&s);
    hop_model *m = random_network("L", &t, 8, 2);
    const int bits[] = {8, 10, 16};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        hop_refutation r =
            refute(m, &t, (hop_refute_options){.budget = 120, .arithmetic = {.state_bits = bits[i]}});
        const hop_witness *w = &r.witness;
        assert_int_equal(r.verdict, HOP_REFUTE_FOUND);
        assert_int_equal(w->kind, HOP_WITNESS_COLLISION);
        assert_int_equal(w->prefix, 64);
        assert_witness(w, m, &t);
        states a = states_of(m, &t, w, 0), b = states_of(m, &t, w, 1);
        assert_true(a.count > 0 && a.count == b.count);
        assert_memory_equal(a.at, b.at, sizeof *a.at * (size_t)a.count);
        for (int64_t k = 0; bits[i] == 8 && k < a.count;
             k++) { /* three significant bits, from 2^-16 to 57344 */
            float x = fabsf(a.at[k]);
            assert_true(x == 0 || (x >= 0x1p-16f && x <= 57344));
            assert_true(x == ldexpf(roundf(ldexpf(x, -ilogbf(x) + 2)), ilogbf(x) - 2));
        }
        for (int64_t k = 0; k < w->trace_count; k++)
            assert_true(w->trace[k].state == 0 && w->trace[k].stream == 0);
        hop_refutation_free(&r);
    }
    hop_model_free(m);
}

/* d = 2, messages of 10 bits: M = 40, states of 60 bits, and P4 speaks at m = 39, n_1 = 11. */
static void a_hybrid_below_p4_has_a_pair_that_differs_in_the_asked_entry_only(void **state)
{
    (void)state;
    const sizes s = {2, 39, {11}};
    hop_task t = task_of(&s);
    hop_model *m = random_network("linear F linear", &t, 8, 2);
    hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 120, .arithmetic = {.message_bits = 10}});
    const hop_witness *w = &r.witness;
    int64_t chain[3], differ = -1;
    assert_int_equal(r.verdict, HOP_REFUTE_FOUND);
    assert_string_equal(w->by, "fooling");
    assert_int_equal(hop_witness_differences(w), 1);
    hop_funccomp_solve(&t.funccomp, w->prompt[0].tokens, chain);
    for (int64_t p = 0; p < t.length; p++)
        if (w->prompt[0].tokens[p] != w->prompt[1].tokens[p]) differ = p;
    assert_int_equal(differ, w->prompt[0].tokens[t.length - 1] * 39 + chain[1]);
    assert_witness(w, m, &t);
    for (int64_t k = 0; k < w->trace_count; k++) {
        assert_true(w->trace[k].last_token == 0 && w->trace[k].stream == 0);
        assert_true(isnan(w->trace[k].state) || w->trace[k].state == 0);
    }
    hop_refutation_free(&r);
    hop_model_free(m);
}

/* Two full layers of three, and an idle linear one behind: the answer is what the look-ups that are left have
 * found. */
static void what_is_left_of_a_network_answers_with_the_look_ups_that_it_has(void **state)
{
    (void)state;
    const sizes s = {2, 6, {5}};
    hop_task t = task_of(&s);
    const struct {
        const char *kind, *pattern;
        int looked_up; /* hops that are left */
    } all[] = {{"full", "F^2", 1},
               {"full", "F", 0},
               {"hybrid", "L F L", 1},
               {"hybrid", "L^3", 0},
               {"hybrid", "L F F", 2}};
    int32_t *tokens = malloc(sizeof *tokens * (size_t)t.length);
    float *logits = malloc(sizeof *logits * (size_t)t.vocab);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_model *whole = build(all[i].kind, "deltanet", &t), *m;
        hop_forward *f;
        assert_int_equal(hop_construct_part(&m, whole, all[i].pattern, "deltanet", NULL), HOP_OK);
        assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
        for (uint64_t k = 0; k < 20; k++) {
            int64_t chain[3];
            hop_rng rng;
            hop_rng_init(&rng, 3, k);
            hop_task_sample(&t, &rng, tokens);
            hop_funccomp_solve(&t.funccomp, tokens, chain);
            assert_int_equal(answer_of(f, &t, tokens, logits), chain[all[i].looked_up]);
        }
        hop_refutation r = refute(m, &t, (hop_refute_options){.budget = all[i].looked_up < 2 ? 60 : 0.1});
        assert_int_equal(r.verdict, all[i].looked_up < 2 ? HOP_REFUTE_FOUND : HOP_REFUTE_OPEN);
        if (r.verdict ==
            HOP_REFUTE_FOUND) { /* in the whole network the difference arrives at the last token */
            hop_witness_layer *trace;
            int64_t count;
            assert_witness(&r.witness, m, &t);
            assert_int_equal(hop_witness_trace(&trace, &count, &r.witness, whole, &t, NULL, NULL), HOP_OK);
            assert_true(count == 3 && trace[2].last_token > 1 && trace[0].own > 0 &&
                        trace[1].last_token == 0);
            hop_free(trace);
        }
        hop_refutation_free(&r);
        hop_forward_free(f);
        hop_model_free(m);
        hop_model_free(whole);
    }
    free(tokens);
    free(logits);
}

/* ---- the file ------------------------------------------------------------------------------------- */

static void the_file_holds_the_witness(void **state)
{
    (void)state;
    const sizes s = {2, 6, {5}};
    hop_task t = task_of(&s);
    hop_model *m = build("full", NULL, &t);
    hop_change changes[4];
    char dir[512], path[600];
    assert_int_equal(hop_damage(m, 2, 3, changes, 4, NULL), HOP_OK);
    test_path(dir, sizeof dir, "refute-net");
    snprintf(path, sizeof path, "%s/witness.json", dir);
    assert_int_equal(hop_model_save(m, dir, NULL), HOP_OK);
    hop_refutation r = refute(m, &t, (hop_refute_options){.budget = 60, .seed = 4});
    assert_int_equal(r.verdict, HOP_REFUTE_FOUND);
    assert_int_equal(hop_witness_save(&r.witness, dir, &t, path, NULL), HOP_OK);
    hop_json_doc doc = {0};
    hop_error err = {0};
    if (hop_json_load(&doc, path, &err) != HOP_OK) fail_msg("%s", err.text);
    const hop_json *prompts = hop_json_get(doc.root, "prompts"), *network = hop_json_get(doc.root, "network");
    char config[17], weights[17];
    assert_int_equal(hop_network_hashes(dir, config, weights, NULL), HOP_OK);
    assert_string_equal(hop_json_get(network, "config_hash")->string, config);
    assert_string_equal(hop_json_get(network, "weights_hash")->string, weights);
    assert_int_equal(prompts->count, r.witness.prompts);
    assert_int_equal(hop_json_get(doc.root, "differences")->count, hop_witness_differences(&r.witness));
    for (size_t i = 0; i < prompts->count; i++) {
        const hop_json *tokens = hop_json_get(hop_json_at(prompts, i), "tokens"), *v = tokens->child;
        assert_int_equal(tokens->count, t.length);
        for (int64_t p = 0; p < t.length; p++, v = v->next)
            assert_int_equal(v->integer, r.witness.prompt[i].tokens[p]);
    }
    assert_int_equal(hop_json_get(doc.root, "trace")->count, 3);
    hop_json_free(&doc);
    hop_refutation_free(&r);
    hop_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_networks_are_right_on_every_input_of_small_sizes),
        cmocka_unit_test(nothing_is_found_in_an_exact_network_of_a_larger_size),
        cmocka_unit_test(damage_changes_as_many_weights_as_it_says_and_the_same_for_a_seed),
        cmocka_unit_test(damaged_networks_are_witnessed_or_proved_and_never_both),
        cmocka_unit_test(what_is_found_does_not_depend_on_threads_or_time),
        cmocka_unit_test(guided_search_finds_what_is_rare),
        cmocka_unit_test(a_search_that_is_stopped_says_so),
        cmocka_unit_test(a_linear_network_below_p2_has_two_tables_that_leave_the_same_states),
        cmocka_unit_test(a_hybrid_below_p4_has_a_pair_that_differs_in_the_asked_entry_only),
        cmocka_unit_test(what_is_left_of_a_network_answers_with_the_look_ups_that_it_has),
        cmocka_unit_test(the_file_holds_the_witness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
