/* hf: what a model's file becomes as a network of ours: each fact of a family's class that no key says, and
 * each key that overrules it. The sources are in docs/ARCHITECTURE.md. */
#include "test.h"

#include <hopbound/hf.h>
#include <hopbound/layers.h>

static hop_status shape(hop_config *c, hop_text *notes, const char *text, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_parse(&doc, text, strlen(text), err);
    if (s != HOP_OK) fail_msg("%s: %s", text, err->text);
    s = hop_hf_shape(c, notes, doc.root, NULL, 0, err);
    hop_json_free(&doc);
    return s;
}

#define SMALL "\"num_hidden_layers\":4,\"hidden_size\":64,\"num_attention_heads\":4,\"num_key_value_heads\":2"

/* What attention of layer `layer` must be told; -1: not looked at. */
typedef struct expectation {
    const char *text;
    double theta, eps;
    int64_t layer, rope_dim, qk_norm, gate;
    int tied;
    const char *note; /* one of the lines; NULL: not looked at */
} expectation;

static void check_shape(const expectation *e)
{
    hop_config c;
    hop_text notes = {0};
    hop_error err = {0};
    hop_mixer_config m;
    if (shape(&c, &notes, e->text, &err) != HOP_OK) fail_msg("%s\n%s", e->text, err.text);
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c.pattern, e->layer));
    assert_non_null(ops);
    if (hop_config_mixer(&c, ops, e->layer, &m, &err) != HOP_OK) fail_msg("%s\n%s", e->text, err.text);
    const int64_t is[] = {m.option[HOP_OPTION_rope_dim], m.option[HOP_OPTION_qk_norm],
                          m.option[HOP_OPTION_gate], c.tied};
    const int64_t wanted[] = {e->rope_dim, e->qk_norm, e->gate, e->tied};
    for (int i = 0; i < 4; i++)
        if (wanted[i] >= 0 && is[i] != wanted[i])
            fail_msg("%s\nfact %d: %lld, wanted %lld", e->text, i, (long long)is[i], (long long)wanted[i]);
    if (m.rope_theta != e->theta || c.norm_eps != e->eps)
        fail_msg("%s\ntheta %g, eps %g", e->text, m.rope_theta, c.norm_eps);
    if (e->note && (!notes.s || !strstr(notes.s, e->note))) fail_msg("%s\n%s", e->text, notes.s);
    hop_text_free(&notes);
    hop_config_free(&c);
}

static void what_no_key_says_is_what_the_class_has(void **state)
{
    (void)state;
    /* clang-format off */
    const expectation all[] = {
        {"{\"model_type\":\"llama\"," SMALL "}", 10000, 1e-6, 0, 0, 0, 0, 0, "rms_norm_eps = 1e-06 assumed"},
        {"{\"model_type\":\"mixtral\"," SMALL "}", 1000000, 1e-5, 0, 0, 0, 0, 0, "rope_theta = 1e+06 assumed"},
        {"{\"model_type\":\"qwen3\"," SMALL "}", 10000, 1e-6, 0, 0, 1, 0, 0, NULL},
        {"{\"model_type\":\"qwen3_next\"," SMALL ",\"head_dim\":32}", 10000, 1e-6, 3, 8, 1, 1, 0, NULL},
        {"{\"model_type\":\"bamba\"," SMALL ",\"mamba_n_heads\":4,\"attn_layer_indices\":[1]}", 10000, 1e-5, 1, 8, 0, 0, 0,
         "partial_rotary_factor = 0.5 assumed"},
        {"{\"model_type\":\"granitemoehybrid\"," SMALL ",\"layer_types\":[\"attention\",\"attention\",\"attention\",\"attention\"]}",
         0, 1e-6, 0, 0, 0, 0, 0, "attention_multiplier = 1 assumed"},
        {"{\"model_type\":\"smollm3\"," SMALL "}", 2000000, 1e-6, 0, 0, 0, 0, 1, NULL},
        {"{\"model_type\":\"smollm3\"," SMALL "}", 0, 1e-6, 3, 0, 0, 0, 1, NULL},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_shape(&all[i]);
}

static void keys_beat_the_class(void **state)
{
    (void)state;
    /* clang-format off */
    const expectation all[] = {
        {"{\"model_type\":\"llama\"," SMALL ",\"rope_theta\":500000.0,\"rms_norm_eps\":1e-05,\"tie_word_embeddings\":true}",
         500000, 1e-5, 0, 0, 0, 0, 1, NULL},
        {"{\"model_type\":\"llama\"," SMALL ",\"attention_bias\":true}", 10000, 1e-6, 0, 0, 0, 0, 0, "its biases (attention_bias): 0"},
        {"{\"model_type\":\"qwen3_5\",\"tie_word_embeddings\":true,\"text_config\":{\"model_type\":\"qwen3_5_text\"," SMALL
         ",\"head_dim\":32,\"attn_output_gate\":false,\"rope_parameters\":{\"rope_theta\":10000000,\"partial_rotary_factor\":0.5}}}",
         10000000, 1e-6, 3, 16, 1, 0, 1, NULL},
        {"{\"model_type\":\"granitemoehybrid\"," SMALL ",\"layer_types\":[\"attention\",\"attention\",\"attention\",\"attention\"],"
         "\"position_embedding_type\":\"rope\",\"rope_theta\":5000,\"attention_multiplier\":0.125}", 5000, 1e-6, 0, 0, 0, 0, 0, NULL},
        {"{\"model_type\":\"smollm3\"," SMALL ",\"no_rope_layers\":[1,0,1,1]}", 0, 1e-6, 1, 0, 0, 0, 1, NULL},
        {"{\"model_type\":\"smollm3\"," SMALL ",\"no_rope_layers\":[1,0,1,1]}", 2000000, 1e-6, 3, 0, 0, 0, 1, NULL},
        {"{\"model_type\":\"kimi_linear\"," SMALL ",\"layer_types\":[\"kda_attention\",\"full_attention\",\"linear_attention\","
         "\"full_attention\"],\"linear_num_key_heads\":2,\"linear_key_head_dim\":16,\"mla_use_output_gate\":true}",
         0, 1e-5, 1, 0, 0, 1, 0, "all heads share"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_shape(&all[i]);
}

/* One option of a recurrent layer. */
static int64_t linear_option(const char *text, const char *mixer, hop_option o)
{
    hop_config c;
    hop_text notes = {0};
    hop_error err = {0};
    hop_mixer_config m;
    if (shape(&c, &notes, text, &err) != HOP_OK) fail_msg("%s\n%s", text, err.text);
    assert_string_equal(hop_pattern_mixer(&c.pattern, 0), mixer);
    assert_int_equal(hop_config_mixer(&c, hop_mixer_find(mixer), 0, &m, &err), HOP_OK);
    hop_text_free(&notes);
    hop_config_free(&c);
    return m.option[o];
}

static void recurrent_layers_have_the_models_convolutions_groups_and_channels(void **state)
{
    (void)state;
    const char *nemotron = "{\"model_type\":\"nemotron_h\"," SMALL ",\"hybrid_override_pattern\":\"M*-M\","
                           "\"mamba_num_heads\":8,\"mamba_head_dim\":16,\"conv_kernel\":3}";
    const char *granite =
        "{\"model_type\":\"granitemoehybrid\"," SMALL ",\"mamba_n_heads\":4,\"mamba_n_groups\":2,"
        "\"layer_types\":[\"mamba\",\"attention\",\"mamba\",\"mamba\"]}";
    const char *jamba = "{\"model_type\":\"jamba\"," SMALL
                        ",\"attn_layer_period\":2,\"attn_layer_offset\":1,\"mamba_expand\":3}";
    assert_int_equal(linear_option(nemotron, "mamba2", HOP_OPTION_conv), 3);
    assert_int_equal(linear_option(nemotron, "mamba2", HOP_OPTION_groups), 8);
    assert_int_equal(linear_option(nemotron, "mamba2", HOP_OPTION_norm_groups), 8);
    assert_int_equal(linear_option(granite, "mamba2", HOP_OPTION_groups), 2);
    assert_int_equal(linear_option(granite, "mamba2", HOP_OPTION_norm_groups), 1);
    assert_int_equal(linear_option(jamba, "mamba", HOP_OPTION_inner), 192);
}

static void what_our_blocks_cannot_be_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } all[] = {
        {"{\"model_type\":\"phimoe\"," SMALL "}", "norms take the mean off"},
        {"{\"model_type\":\"vaultgemma\"," SMALL "}", "pass a tanh"},
        {"{\"model_type\":\"olmo3\"," SMALL "}", "norms behind mixers and MLPs; ours"},
        {"{\"model_type\":\"minimax\"," SMALL "}", "what the norms give"},
        {"{\"model_type\":\"deepseek_v3\"," SMALL "}", "queries come from a latent vector"},
        {"{\"model_type\":\"kimi_linear\"," SMALL ",\"attn_res_block_size\":4}",
         "residual sums are attention"},
        {"{\"model_type\":\"kimi_linear\"," SMALL
         ",\"linear_attn_config\":{\"full_attn_layers\":[4],\"kda_layers\":[1,2,3],"
         "\"head_dim\":8,\"num_heads\":4,\"gate_lower_bound\":-5.0}}",
         "gates of another kind"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_config c;
        hop_text notes = {0};
        hop_error err = {0};
        if (shape(&c, &notes, all[i].text, &err) != HOP_EDOMAIN || !strstr(err.text, all[i].why))
            fail_msg("%s\n%s", all[i].text, err.text);
        hop_text_free(&notes);
    }
}

static void a_list_of_another_length_is_refused(void **state)
{
    (void)state;
    hop_config c;
    hop_text notes = {0};
    hop_error err = {0};
    const char *text = "{\"model_type\":\"smollm3\"," SMALL ",\"no_rope_layers\":[1,0,1]}";
    assert_int_equal(shape(&c, &notes, text, &err), HOP_EFORMAT);
    assert_non_null(strstr(err.text, "no_rope_layers: 3 entries for 4 layers"));
    hop_text_free(&notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_key_says_is_what_the_class_has),
        cmocka_unit_test(keys_beat_the_class),
        cmocka_unit_test(recurrent_layers_have_the_models_convolutions_groups_and_channels),
        cmocka_unit_test(what_our_blocks_cannot_be_is_refused),
        cmocka_unit_test(a_list_of_another_length_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
