/* Blocks whose norms stand behind them, or whose stream goes on from the norms: beside their equations in plain loops, and
 * token by token. */
#include "test.h"

#include <hopbound/grad.h>
#include <hopbound/model.h>

enum { TOKENS = 40, VOCAB = 23, WIDTH = 12, HIDDEN = 9 };

static hop_model *drawn(const char *pattern, hop_norms norms, hop_mlp mlp)
{
    hop_config c;
    hop_model *m;
    hop_error err = {0};
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, pattern, "", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = WIDTH, c.heads = 3, c.max_positions = TOKENS, c.mlp = mlp,
    c.mlp_hidden = HIDDEN;
    for (int64_t i = 0; i < c.pattern.layers; i++)
        assert_int_equal(hop_config_set(&c, i, "", "norms", norms, NULL), HOP_OK);
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s: %s", pattern, err.text);
    hop_config_free(&c);
    hop_model_init_weights(m, 42, NULL);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) { /* norms' weights that are not 1 */
        const hop_weight *w = hop_model_weight_at(m, i);
        for (int64_t k = 0; strstr(w->name, "norm") && k < w->shape[0]; k++)
            w->data[k] += 0.1F * (float)(k % 5);
    }
    const hop_weight *w = hop_model_weight(m, "model.embed_tokens.weight");
    for (int64_t i = 0; i < w->shape[0] * w->shape[1]; i++) w->data[i] *= 50;
    return m;
}

static void fill_tokens(int32_t tokens[TOKENS])
{
    for (int i = 0; i < TOKENS; i++) tokens[i] = (i * i + 3 * i) % VOCAB;
}

static void norm(const hop_model *m, float *y, const float *x, int64_t layer, const char *part)
{
    const float *w = hop_model_layer_weight(m, layer, part)->data;
    for (int t = 0; t < TOKENS; t++) {
        double sum = 0;
        for (int e = 0; e < WIDTH; e++) sum += (double)x[t * WIDTH + e] * x[t * WIDTH + e] / WIDTH;
        for (int e = 0; e < WIDTH; e++)
            y[t * WIDTH + e] = (float)(x[t * WIDTH + e] / sqrt(sum + hop_model_config(m)->norm_eps) * w[e]);
    }
}

static void mixer(const hop_model *m, float *y, const float *x, int64_t layer)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&hop_model_config(m)->pattern, layer));
    const hop_mixer_config c = hop_model_mixer_config(m, layer);
    hop_param param[HOP_MIXER_MAX_PARAMS];
    const float *w[HOP_MIXER_MAX_PARAMS];
    hop_arena scratch = {0};
    hop_list list;
    int count = ops->params(&c, param);
    hop_mixer_list(&list, ops, &c);
    for (int i = 0; i < count; i++) {
        char name[80];
        snprintf(name, sizeof name, "mixer.%s", param[i].name);
        w[i] = hop_model_layer_weight(m, layer, name)->data;
    }
    assert_int_equal(hop_arena_reserve(&scratch, hop_list_scratch(&list, 1, TOKENS, 1), NULL), HOP_OK);
    hop_list_forward(&list, &c, w, &(hop_mixer_io){.y = y, .x = x, .tokens = TOKENS, .scratch = &scratch});
    hop_arena_free(&scratch);
}

static void mlp(const hop_model *m, float *y, const float *x, int64_t layer)
{
    const float *gate = hop_model_layer_weight(m, layer, "mlp.gate_proj.weight")->data,
                *up = hop_model_layer_weight(m, layer, "mlp.up_proj.weight")->data,
                *down = hop_model_layer_weight(m, layer, "mlp.down_proj.weight")->data;
    for (int t = 0; t < TOKENS; t++) {
        double out[WIDTH] = {0};
        for (int h = 0; h < HIDDEN; h++) {
            double g = 0, u = 0;
            for (int e = 0; e < WIDTH; e++)
                g += (double)gate[h * WIDTH + e] * x[t * WIDTH + e],
                    u += (double)up[h * WIDTH + e] * x[t * WIDTH + e];
            for (int e = 0; e < WIDTH; e++) out[e] += g / (1 + exp(-g)) * u * down[e * HIDDEN + h];
        }
        for (int e = 0; e < WIDTH; e++) y[t * WIDTH + e] = (float)out[e];
    }
}

/* x + f(x), with norms where they stand. */
static void part(const hop_model *m, hop_norms norms, float *x, int64_t layer, const char *weight,
                 void (*f)(const hop_model *, float *, const float *, int64_t))
{
    float in[TOKENS * WIDTH], out[TOKENS * WIDTH];
    norm(m, in, x, layer, weight);
    f(m, out, norms == HOP_NORMS_BEHIND ? x : in, layer);
    if (norms == HOP_NORMS_BEHIND) norm(m, out, out, layer, weight);
    for (int i = 0; i < TOKENS * WIDTH; i++) x[i] = (norms == HOP_NORMS_KEPT ? in[i] : x[i]) + out[i];
}

static void blocks_are_their_equations(void **state)
{
    (void)state;
    for (int norms = HOP_NORMS_BEFORE; norms <= HOP_NORMS_KEPT; norms++)
        for (int with = 0; with < 2; with++) {
            hop_model *m =
                drawn("gdn full shortconv moe", (hop_norms)norms, with ? HOP_MLP_SWIGLU : HOP_MLP_NONE);
            const float *table = hop_model_weight(m, "model.embed_tokens.weight")->data;
            float got[TOKENS * WIDTH], want[TOKENS * WIDTH];
            int32_t tokens[TOKENS];
            double size = 0, off = 0;
            hop_forward *f;
            fill_tokens(tokens);
            assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
            assert_int_equal(hop_forward_hidden(f, tokens, TOKENS, got, NULL), HOP_OK);
            for (int i = 0; i < TOKENS * WIDTH; i++) want[i] = table[tokens[i / WIDTH] * WIDTH + i % WIDTH];
            for (int64_t l = 0; l < 4; l++) {
                part(m, (hop_norms)norms, want, l, "input_layernorm.weight", mixer);
                if (with) part(m, (hop_norms)norms, want, l, "post_mixer_layernorm.weight", mlp);
            }
            for (int i = 0; i < TOKENS * WIDTH; i++)
                size = fmax(size, fabs((double)want[i])), off = fmax(off, fabs((double)want[i] - got[i]));
            if (!(off <= 2e-5 * size))
                fail_msg("norms %d: off by %g of %g", norms, off, size); /* eight parts */
            hop_forward_free(f);
            hop_model_free(m);
        }
}

static void token_by_token_is_the_whole_sequence(void **state)
{
    (void)state;
    for (int norms = HOP_NORMS_BEHIND; norms <= HOP_NORMS_KEPT; norms++) {
        hop_model *m = drawn("full shortconv gdn moe full", (hop_norms)norms, HOP_MLP_SWIGLU);
        float all[TOKENS * VOCAB], one[VOCAB];
        int32_t tokens[TOKENS];
        double size = 0, off = 0;
        hop_forward *f;
        hop_decoder *d;
        fill_tokens(tokens);
        assert_int_equal(hop_forward_new(&f, m, &(hop_forward_options){0}, NULL), HOP_OK);
        assert_int_equal(hop_decoder_new(&d, m, 0, false, NULL), HOP_OK);
        assert_int_equal(hop_forward_all(f, tokens, TOKENS, all, NULL), HOP_OK);
        for (int t = 0; t < TOKENS; t++) {
            assert_int_equal(hop_decoder_step(d, tokens[t], one, NULL), HOP_OK);
            for (int i = 0; i < VOCAB; i++)
                size = fmax(size, fabs((double)one[i])),
                off = fmax(off, fabs((double)one[i] - all[t * VOCAB + i]));
        }
        if (!(off <= 4e-5 * size)) fail_msg("off by %g of %g", off, size); /* the mixers' law, some layers */
        hop_forward_free(f);
        hop_decoder_free(d);
        hop_model_free(m);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    hop_error err = {0};
    hop_grad *g = NULL;
    hop_model *m = drawn("gdn full", HOP_NORMS_KEPT, HOP_MLP_SWIGLU);
    assert_int_equal(hop_grad_new(&g, m, 1, 8, &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "gdn layers cannot be trained: norms that do not stand before them"));
    hop_model_free(m);
    hop_config c;
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, "full gdn", "", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = WIDTH, c.heads = 3;
    hop_config_set(&c, 0, "", "norms", 3, NULL);
    assert_int_equal(hop_model_new(&m, &c, &err), HOP_ERANGE);
    hop_config_free(&c);
    hop_config_init(&c);
    assert_int_equal(hop_pattern_parse(&c.pattern, "full gdn", "", NULL), HOP_OK);
    c.vocab = VOCAB, c.d_model = WIDTH, c.heads = 3;
    hop_config_set(&c, 0, "", "norms", 1, NULL);
    hop_config_set(&c, 1, "", "beside", 1, NULL);
    assert_int_equal(hop_model_new(&m, &c, &err), HOP_EDOMAIN);
    assert_non_null(strstr(err.text, "beside: "));
    hop_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_their_equations),
        cmocka_unit_test(token_by_token_is_the_whole_sequence),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests_name("norms", tests, NULL, NULL);
}
