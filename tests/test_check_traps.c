/* Networks made so that float32 arithmetic answers otherwise than the equations do. The program is right on
 * the prompt; a witness says what the equations say. It may hang on rounding, it must not be confirmed. */
#include "test.h"

#include <hopbound/check.h>
#include <hopbound/eval.h>
#include <hopbound/refute.h>

enum { LENGTH = 5, VOCAB = 3 };

typedef struct trap {
    const char *pattern;
    int64_t d, hidden;
    hop_norm norm;
    hop_mlp mlp;
    const char *construction; /* NULL: none */
    double scale;             /* 0: attention's own */
} trap;

static hop_model *network(const trap *z)
{
    hop_config c;
    hop_model *m = NULL;
    hop_error err = {0};
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, z->pattern, "", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = z->d, c.max_positions = LENGTH + 1, c.head_dim = 1;
    c.norm = z->norm, c.mlp = z->mlp, c.mlp_hidden = z->hidden, c.attention_scale = z->scale;
    if (z->construction) {
        c.construction_json = malloc(strlen(z->construction) + 1);
        strcpy(c.construction_json, z->construction);
    }
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    hop_config_free(&c);
    return m; /* all zeros: a row of the table goes straight to the read-out */
}

static float *weights(const hop_model *m, const char *name)
{
    const hop_weight *w = hop_model_weight(m, name);
    if (!w) fail_msg("%s", name);
    return w->data;
}

static void fill(float *x, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++) x[i] = value;
}

static int32_t answer_of(const hop_model *m, const int32_t *tokens)
{
    hop_eval *e = NULL;
    hop_instance *x = NULL;
    hop_eval_options o = {0};
    assert_int_equal(hop_eval_open(&e, m, &o, NULL), HOP_OK);
    assert_int_equal(hop_instances_new(&x, 1, LENGTH, NULL), HOP_OK);
    memcpy(x->tokens, tokens, sizeof *tokens * LENGTH);
    x->count = LENGTH;
    assert_int_equal(hop_eval_run(e, x, 1, NULL), HOP_OK);
    int32_t got = x->answers[LENGTH - 1];
    hop_instances_free(x, 1);
    hop_eval_close(e);
    return got;
}

/* A witness that the network answers `said` where the program's own answer is right. */
static hop_check judged(const hop_model *m, int32_t said, int32_t right)
{
    char dir[512], path[600];
    hop_task task = {.kind = HOP_TASK_FUNCCOMP};
    hop_error err = {0};
    hop_check c;
    int32_t tokens[LENGTH] = {right, right, right, 0, 0};
    hop_witness w = {.kind = HOP_WITNESS_INPUT, .prompts = 1, .length = LENGTH, .by = "guided"};
    w.prompt[0] = (hop_witness_prompt){tokens, LENGTH - 1, right, said};
    assert_int_equal(hop_funccomp_init(&task.funccomp, 1, VOCAB, NULL, NULL), HOP_OK);
    assert_int_equal(hop_task_ready(&task, NULL), HOP_OK);
    test_path(dir, sizeof dir, "trap-net");
    snprintf(path, sizeof path, "%s/w.json", dir);
    assert_int_equal(hop_model_save(m, dir, NULL), HOP_OK);
    assert_int_equal(hop_witness_save(&w, dir, &task, path, NULL), HOP_OK);
    if (hop_check_witness(&c, path, dir, NULL, &err) != HOP_OK) fail_msg("%s", err.text);
    return c;
}

/* The program answers 0 or 1; the witness says the other. Returns whether it hangs on rounding. */
static bool not_confirmed(const hop_model *m)
{
    int32_t got = answer_of(m, (const int32_t[]){0, 0, 0, 0, 0});
    if (got != answer_of(m, (const int32_t[]){1, 1, 1, 0, 0})) fail_msg("it looks at its tables");
    assert_in_range(got, 0, 1);
    hop_check c = judged(m, 1 - got, got);
    if (c.valid) fail_msg("the program answers %d: %s", (int)got, c.why);
    return c.rounding;
}

/* ---- sums ---------------------------------------------------------------------------------------- */

/* Two rows of the read-out with the same numbers in another order: equal sums, which float32 breaks. */
static void sums_of_equal_numbers_in_another_order_are_not_the_same_operation(void **state)
{
    (void)state;
    hop_model *m = network(&(trap){.pattern = "full", .d = 6});
    hop_rng rng;
    int hanging = 0;
    hop_rng_init(&rng, 3, 0);
    fill(weights(m, "model.embed_tokens.weight"), 6, 1);
    for (int n = 0; n < 24; n++) {
        float *head = weights(m, "lm_head.weight");
        for (int i = 0; i < 6; i++)
            head[i] = head[11 - i] = ldexpf((float)hop_rng_uniform(&rng), -6 * (i % 3));
        hanging += not_confirmed(m);
    }
    assert_true(hanging > 0);
    hop_model_free(m);
}

/* Ones, then many numbers that each are lost beside one, and together are not; in whichever of sixteen sums.
 */
static void what_is_lost_term_by_term_is_charged_term_by_term(void **state)
{
    (void)state;
    enum { D = 1 << 16, SUMS = 16 };
    hop_model *m = network(&(trap){.pattern = "full", .d = D});
    float *head = weights(m, "lm_head.weight");
    fill(weights(m, "model.embed_tokens.weight"), D, 1);
    fill(head, D, 0x1p-25f);
    fill(head, SUMS, 1);
    head[D] = SUMS + 0x1p-16f;
    not_confirmed(m);
    hop_model_free(m);
}

/* 3·10^38 twice is infinite, unless something is taken off in between. */
static void sums_that_overflow_on_the_way_are_not_known(void **state)
{
    (void)state;
    static const float terms[] = {3e38f, 3e38f, -3e38f};
    hop_model *m = network(&(trap){.pattern = "full", .d = 3});
    float *head = weights(m, "lm_head.weight");
    fill(weights(m, "model.embed_tokens.weight"), 3, 1);
    head[3] = 3.2e38f;
    for (int n = 0; n < 3; n++) {
        for (int i = 0; i < 3; i++) head[i] = terms[(i + n) % 3];
        not_confirmed(m);
    }
    hop_model_free(m);
}

/* A query times a key is 10^39 before the scale, which a program may put in first. */
static void scores_that_overflow_before_their_scale_may_be_numbers(void **state)
{
    (void)state;
    hop_model *m = network(&(trap){.pattern = "full", .d = 2, .scale = 1e-3});
    float *x = weights(m, "model.embed_tokens.weight"), *head = weights(m, "lm_head.weight");
    for (int i = 0; i < VOCAB; i++) x[2 * i] = 1;
    weights(m, "model.layers.0.mixer.q_proj.weight")[0] = 1e20f;
    weights(m, "model.layers.0.mixer.k_proj.weight")[0] = 1e19f;
    weights(m, "model.layers.0.mixer.v_proj.weight")[0] = 1;
    weights(m, "model.layers.0.mixer.o_proj.weight")[1] = 1;
    head[1] = 1, head[2] = 0.5f;
    assert_int_equal(answer_of(m, (const int32_t[]){0, 0, 0, 0, 0}), 0);
    assert_false(judged(m, -1, 0).valid);
    assert_false(judged(m, 1, 0).valid);
    hop_model_free(m);
}

/* ---- norms and activations ----------------------------------------------------------------------- */

/* The mean of 2^22, 2^22, 2^22 + 1 lies between two float32 numbers; what is off it is as small. */
static void a_mean_is_rounded_before_it_is_taken_off(void **state)
{
    (void)state;
    hop_model *m = network(&(trap){.pattern = "full", .d = 3, .norm = HOP_NORM_LAYER});
    float *x = weights(m, "model.embed_tokens.weight"), *head = weights(m, "lm_head.weight");
    fill(x, 3, 0x1p22f);
    x[2] += 1;
    fill(weights(m, "model.norm.weight"), 3, 1);
    head[2] = 1, head[3] = -1.2f;
    assert_true(not_confirmed(m));
    hop_model_free(m);
}

/* silu(-89) is 2·10^-37; a program that forms e^89 has 0. */
static void what_underflows_on_the_way_may_be_nothing(void **state)
{
    (void)state;
    hop_model *m = network(&(trap){.pattern = "full", .d = 2, .hidden = 1, .mlp = HOP_MLP_SWIGLU});
    float *head = weights(m, "lm_head.weight");
    weights(m, "model.embed_tokens.weight")[0] = 1;
    weights(m, "model.layers.0.mlp.gate_proj.weight")[0] = -89;
    weights(m, "model.layers.0.mlp.up_proj.weight")[0] = -1e37f;
    weights(m, "model.layers.0.mlp.down_proj.weight")[1] = 1;
    head[1] = 1, head[2] = 1;
    assert_true(not_confirmed(m));
    hop_model_free(m);
}

/* Far out on the left gelu is an exponential of a large number, whose last bits count. */
static void the_tail_of_gelu_is_known_less_well_than_its_middle(void **state)
{
    (void)state;
    hop_model *m = network(&(trap){.pattern = "full", .d = 2, .hidden = 1, .mlp = HOP_MLP_GELU});
    float *head = weights(m, "lm_head.weight");
    weights(m, "model.embed_tokens.weight")[0] = 1;
    weights(m, "model.layers.0.mlp.down_proj.weight")[1] = 1;
    for (int n = 0; n < 40; n++) {
        double x = -(double)(float)(6 + 0.17 * n), y = 0.5 * x * erfc(-x * sqrt(0.5));
        weights(m, "model.layers.0.mlp.up_proj.weight")[0] = (float)x;
        for (int side = -1; side <= 1; side += 2) {
            head[1] = (float)(1 / y), head[2] = (float)(1 + side * 1.5e-6);
            not_confirmed(m);
        }
    }
    hop_model_free(m);
}

/* ---- what is asked ------------------------------------------------------------------------------- */

/* Which token is generated first hangs on rounding, and what follows does not. */
static void a_thin_margin_on_the_way_is_a_thin_margin(void **state)
{
    (void)state;
    hop_model *m = network(&(trap){.pattern = "linear", .d = 8, .construction = "{\"generate\":2}"});
    float *x = weights(m, "model.embed_tokens.weight"), *head = weights(m, "lm_head.weight");
    hop_rng rng;
    hop_rng_init(&rng, 5, 0);
    fill(x, 6, 1); /* token 0 asks, */
    x[8 + 6] = 1;  /* 1 says 0 */
    x[16 + 7] = 1; /* and 2 says 1 */
    head[6] = head[8 + 7] = 9;
    fill(head, 6, -9);
    for (int n = 0; n < 64; n++) {
        for (int i = 0; i < 6; i++) head[8 + i] = head[16 + 5 - i] = (float)hop_rng_uniform(&rng);
        not_confirmed(m);
    }
    hop_model_free(m);
}

/* What opening the network says when its config has one more member. */
static hop_error refused(const char *member)
{
    char dir[512], path[600], text[4000] = "";
    hop_truth *t = NULL;
    hop_error err = {0};
    hop_model *m = network(&(trap){.pattern = "full", .d = 2});
    test_path(dir, sizeof dir, "trap-net");
    snprintf(path, sizeof path, "%s/config.json", dir);
    assert_int_equal(hop_model_save(m, dir, NULL), HOP_OK);
    hop_model_free(m);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    size_t size = fread(text, 1, sizeof text - 1, f);
    while (size && text[size - 1] != '}') size--;
    fseek(f, (long)size - 1, SEEK_SET);
    fprintf(f, ", %s}", member);
    fclose(f);
    assert_int_equal(hop_truth_open(&t, dir, &err), HOP_EFORMAT);
    return err;
}

/* "00" is layer 0 to a reader of numbers; an option that a mixer has not here may be one elsewhere. */
static void options_that_the_checker_would_pass_over_are_refused(void **state)
{
    (void)state;
    assert_non_null(strstr(refused("\"layer_options\": {\"00\": {\"scale\": 2}}").text, "00"));
    assert_non_null(strstr(refused("\"mixer_options\": {\"fool\": {\"scale\": 2}}").text, "fool"));
    assert_non_null(strstr(refused("\"mixer_options\": {\"full\": {\"steps\": 2}}").text, "steps"));
    assert_non_null(
        strstr(refused("\"mixer_options\": {\"full\": {\"rope_dim\": 1000}}").text, "do not fit"));
    assert_non_null(strstr(refused("\"layer_options\": {\"0\": {\"norm\": 1}}").text, "norm"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_equal_numbers_in_another_order_are_not_the_same_operation),
        cmocka_unit_test(what_is_lost_term_by_term_is_charged_term_by_term),
        cmocka_unit_test(sums_that_overflow_on_the_way_are_not_known),
        cmocka_unit_test(scores_that_overflow_before_their_scale_may_be_numbers),
        cmocka_unit_test(a_mean_is_rounded_before_it_is_taken_off),
        cmocka_unit_test(what_underflows_on_the_way_may_be_nothing),
        cmocka_unit_test(the_tail_of_gelu_is_known_less_well_than_its_middle),
        cmocka_unit_test(a_thin_margin_on_the_way_is_a_thin_margin),
        cmocka_unit_test(options_that_the_checker_would_pass_over_are_refused),
    };
    return cmocka_run_group_tests_name("check_traps", tests, NULL, NULL);
}
