/* Blocks that stand beside the one before: both read the same normed stream, and both are added to it. */
#include "against_truth.h"

#include <hopbound/grad.h>

enum { TOKENS = 70, VOCAB = 23, WIDTH = 12 };

/* `beside`: this layer stands beside the one before; -1: none does. */
static hop_status model_of(hop_model **out, const char *pattern, int beside, hop_norm norm, hop_error *err)
{
    hop_config c;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = WIDTH, c.heads = 3, c.max_positions = TOKENS;
    c.norm = norm, c.mlp = HOP_MLP_NONE;
    if (beside >= 0) assert_int_equal(hop_config_set(&c, beside, "", "beside", 1, NULL), HOP_OK);
    hop_status s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    return s;
}

static hop_model *drawn(const char *pattern, int beside, hop_norm norm)
{
    hop_model *m;
    hop_error err = {0};
    if (model_of(&m, pattern, beside, norm, &err) != HOP_OK) fail_msg("%s: %s", pattern, err.text);
    hop_model_init_weights(m, 42, NULL);
    const hop_weight *w = hop_model_weight(m, "model.embed_tokens.weight");
    for (int64_t i = 0; i < w->shape[0] * w->shape[1]; i++) w->data[i] *= 50;
    return m;
}

static void fill_tokens(int32_t tokens[TOKENS])
{
    for (int i = 0; i < TOKENS; i++) tokens[i] = (i * i + 3 * i) % VOCAB;
}

static float *hidden(const hop_model *m)
{
    int32_t tokens[TOKENS];
    float *x = hop_alloc(sizeof(float) * TOKENS * WIDTH);
    hop_forward *f;
    fill_tokens(tokens);
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
    assert_int_equal(hop_forward_hidden(f, tokens, TOKENS, x, NULL), HOP_OK);
    hop_forward_free(f);
    return x;
}

/* Layer `from` of m alone, behind the norm of layer 0. */
static hop_model *layer_alone(const hop_model *m, const char *mixer, int from, hop_norm norm)
{
    hop_model *one = drawn(mixer, -1, norm);
    for (int64_t i = 0; i < hop_model_weight_count(one); i++) {
        const hop_weight *w = hop_model_weight_at(one, i);
        const bool of_mixer = strncmp(w->name, "model.layers.0.mixer.", 21) == 0;
        const hop_weight *theirs =
            of_mixer ? hop_model_layer_weight(m, from, w->name + 15) : hop_model_weight(m, w->name);
        assert_non_null(theirs);
        memcpy(w->data, theirs->data,
               sizeof(float) * (size_t)(w->shape[0] * (w->rank == 2 ? w->shape[1] : 1)));
    }
    return one;
}

static void both_blocks_read_what_the_first_has_normed(void **state)
{
    static const char *const pairs[][2] = {{"full", "mamba2"}, {"mamba2", "full"}, {"gdn", "window"}};
    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (int norm = HOP_NORM_RMS; norm <= HOP_NORM_LAYER; norm++) {
            char pattern[40];
            snprintf(pattern, sizeof pattern, "%s %s", pairs[k][0], pairs[k][1]);
            hop_model *m = drawn(pattern, 1, (hop_norm)norm), *alone[2];
            assert_null(hop_model_layer_weight(m, 1, "input_layernorm.weight"));
            const float *table = hop_model_weight(m, "model.embed_tokens.weight")->data;
            float *both = hidden(m), *each[2];
            int32_t tokens[TOKENS];
            double size = 0, off = 0;
            fill_tokens(tokens);
            for (int i = 0; i < 2; i++)
                alone[i] = layer_alone(m, pairs[k][i], i, (hop_norm)norm), each[i] = hidden(alone[i]);
            for (int t = 0; t < TOKENS; t++)
                for (int e = 0; e < WIDTH; e++) {
                    const int at = t * WIDTH + e;
                    const double want = (double)each[0][at] + each[1][at] - table[tokens[t] * WIDTH + e];
                    size = fmax(size, fabs(want)), off = fmax(off, fabs(want - both[at]));
                }
            /* Sums in another order. */
            if (!(off <= 1e-6 * size)) fail_msg("%s: off by %g of %g", pattern, off, size);
            hop_free(both);
            for (int i = 0; i < 2; i++) hop_free(each[i]), hop_model_free(alone[i]);
            hop_model_free(m);
        }
}

static void token_by_token_is_the_whole_sequence(void **state)
{
    (void)state;
    hop_model *m = drawn("full mamba2 gdn full", 1, HOP_NORM_RMS);
    int32_t tokens[TOKENS];
    float *all = hop_alloc(sizeof(float) * TOKENS * VOCAB), one[VOCAB];
    double size = 0, off = 0;
    hop_forward *f;
    hop_decoder *d;
    fill_tokens(tokens);
    assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
    assert_int_equal(hop_decoder_new(&d, m, 0, false, NULL), HOP_OK);
    assert_int_equal(hop_forward_all(f, tokens, TOKENS, all, NULL), HOP_OK);
    for (int t = 0; t < TOKENS; t++) {
        assert_int_equal(hop_decoder_step(d, tokens[t], one, NULL), HOP_OK);
        for (int i = 0; i < VOCAB; i++) {
            size = fmax(size, fabs((double)one[i]));
            off = fmax(off, fabs((double)one[i] - (double)all[t * VOCAB + i]));
        }
    }
    if (!(off <= 4e-5 * size)) fail_msg("off by %g of %g", off, size); /* the mixers' law, four layers */
    hop_free(all);
    hop_forward_free(f);
    hop_decoder_free(d);
    hop_model_free(m);
}

static void what_stands_beside_nothing_is_refused(void **state)
{
    (void)state;
    hop_error err = {0};
    hop_model *m = NULL;
    hop_grad *g = NULL;
    assert_int_equal(model_of(&m, "full gdn", 0, HOP_NORM_RMS, &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "no block before the first"));
    assert_int_equal(model_of(&m, "full gdn", 1, HOP_NORM_NONE, &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "no norm"));
    m = drawn("full gdn", 1, HOP_NORM_RMS);
    assert_int_equal(hop_grad_new(&g, m, 1, 8, &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "gdn layers beside the one before cannot be trained"));
    hop_model_free(m);
}

/* A block beside another that adds nothing changes nothing; one that adds something is not followed. */
static void proofs_follow_blocks_beside_others_only_where_they_say_nothing(void **state)
{
    (void)state;
    static const sizes size = {1, 4, {0}};
    hop_task task = composition(&size);
    hop_config c;
    hop_model *m = NULL;
    hop_proof p;
    hop_error err = {0};
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, "full mamba2 full mamba2", "", NULL), HOP_OK);
    c.head_dim = 16, c.rope_theta = 100;
    hop_config_set(&c, -1, "mamba2", "beside", 1, NULL);
    if (hop_construct(&m, "rotary", &task, &(hop_construct_options){.shape = &c}, &err) != HOP_OK)
        fail_msg("%s", err.text);
    hop_config_free(&c);
    const hop_prove_options by_bounds = {.method = HOP_PROVE_INTERVAL};
    assert_int_equal(hop_prove(&p, m, &task, &by_bounds, NULL), HOP_OK);
    if (p.verdict != HOP_PROVED) fail_msg("%s", p.why);
    hop_proof_free(&p);
    hop_model_layer_weight(m, 1, "mixer.out_proj.weight")->data[3] = 1e-3f;
    assert_int_equal(hop_prove(&p, m, &task, &by_bounds, NULL), HOP_OK);
    assert_int_equal(p.verdict, HOP_UNDECIDED);
    if (!strstr(p.why, "layer 1: a block beside the one before is not followed")) fail_msg("%s", p.why);
    hop_proof_free(&p);
    /* Nothing is added, but for what becomes infinite on the way: 0 times infinity is no number. */
    hop_model_layer_weight(m, 1, "mixer.out_proj.weight")->data[3] = 0;
    const hop_weight *in = hop_model_layer_weight(m, 1, "mixer.in_proj.weight");
    for (int64_t i = 0; i < in->shape[0] * in->shape[1]; i++) in->data[i] = 3e38f;
    assert_int_equal(hop_prove(&p, m, &task, &by_bounds, NULL), HOP_OK);
    assert_int_not_equal(p.verdict, HOP_PROVED);
    hop_proof_free(&p);
    hop_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_blocks_read_what_the_first_has_normed),
        cmocka_unit_test(token_by_token_is_the_whole_sequence),
        cmocka_unit_test(what_stands_beside_nothing_is_refused),
        cmocka_unit_test(proofs_follow_blocks_beside_others_only_where_they_say_nothing),
    };
    return cmocka_run_group_tests_name("beside", tests, NULL, NULL);
}
