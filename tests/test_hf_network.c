/* hf: what a file says of a rotation or of a size that its class does not read, or reads otherwise, is no network. */
#include "test.h"

#include <hopbound/hf_network.h>
#include <hopbound/layers.h>

#include <math.h>

#define SIZES                                                             \
    "\"vocab_size\": 20, \"hidden_size\": 64, \"num_hidden_layers\": 2, " \
    "\"max_position_embeddings\": 4096"
#define HEADS  ", \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 32"
#define LLAMA3 "\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0"

/* Of the class that the keys name, else llama. */
static hop_status read(hop_hf_network *n, const char *keys, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_text text = {0};
    const char *class =
        strstr(keys, "\"model_type\"") ? "" : "\"model_type\": \"llama\", \"intermediate_size\": 32, ";
    hop_text_printf(&text, "{%s" SIZES "%s}", class, keys);
    if (hop_json_parse(&doc, text.s, text.len, err) != HOP_OK) fail_msg("%s: %s", text.s, err->text);
    hop_status s = hop_hf_network_read(n, doc.root, err);
    hop_json_free(&doc);
    hop_text_free(&text);
    return s;
}

static hop_hf_network opened(const char *keys)
{
    hop_hf_network n;
    hop_error err = {0};
    if (read(&n, keys, &err) != HOP_OK) fail_msg("%s: %s", keys, err.text);
    return n;
}

static void expect_refused(const char *keys, const char *why)
{
    hop_hf_network n;
    hop_error err = {0};
    if (read(&n, keys, &err) == HOP_OK || !strstr(err.text, why)) fail_msg("%s: %s", keys, err.text);
}

static void one_rotation_is_told_once(void **state)
{
    (void)state;
    static const char *const twice[][2] = {
        {"\"rope_parameters\": {\"rope_theta\": 1e4}, \"rope_scaling\": {\"rope_type\": \"linear\", "
         "\"factor\": 3}",
         "there are rope_parameters, too"},
        {"\"rope_parameters\": {\"rope_theta\": 1e4}, \"rope_theta\": 500",
         "rope_theta: there is another one"},
        {"\"rope_scaling\": {" LLAMA3 ", \"high_freq_factor\": 4, \"original_max_position_embeddings\": 64}, "
         "\"rope_theta\": 1e4, \"original_max_position_embeddings\": 16",
         "original_max_position_embeddings: there is another one"},
    };
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        hop_text keys = {0};
        hop_text_printf(&keys, HEADS ", %s", twice[i][0]);
        expect_refused(keys.s, twice[i][1]);
        hop_text_free(&keys);
    }
    hop_hf_network n = opened(HEADS ", \"rope_parameters\": {\"rope_theta\": 1e4}, \"rope_theta\": 10000");
    hop_hf_network_free(&n);
}

/* The class turns whole heads, whatever is said. */
static void what_a_class_does_not_turn_is_refused(void **state)
{
    (void)state;
    static const char *const part[] = {
        HEADS ", \"rope_theta\": 1e4, \"partial_rotary_factor\": 0.5",
        HEADS ", \"rope_parameters\": {\"rope_theta\": 1e4, \"partial_rotary_factor\": 0.5}",
        HEADS
        ", \"rope_theta\": 1e4, \"rope_scaling\": {\"type\": \"default\", \"partial_rotary_factor\": 0.5}"};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        expect_refused(part[i], "where the class turns 32");
    hop_hf_network n = opened(HEADS ", \"rope_theta\": 1e4, \"partial_rotary_factor\": 1.0");
    hop_hf_network_free(&n);
}

static void another_name_of_a_size_is_no_size(void **state)
{
    (void)state;
    expect_refused(", \"rope_theta\": 1e4, \"n_head\": 4", "n_head: a key that is not understood");
    expect_refused(HEADS ", \"rope_theta\": 1e4, \"n_head\": 8", "n_head: a key that is not understood");
    expect_refused(HEADS ", \"rope_theta\": 1e4, \"n_layer\": 3", "n_layer: a key that is not understood");
    hop_hf_network n = opened(HEADS ", \"rope_theta\": 1e4, \"n_head\": 4, \"d_model\": 64");
    hop_hf_network_free(&n);
}

static double foreign(const hop_hf_network *n, int64_t layer, hop_foreign which)
{
    hop_mixer_config c;
    hop_error err = {0};
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&n->config.pattern, layer));
    if (hop_config_mixer(&n->config, ops, layer, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    return c.foreign[which];
}

/* Where two frequencies are mixed by a difference, what libraries make of it differs by what that leaves. */
static void frequencies_that_hang_on_the_last_bit_are_far_from_others(void **state)
{
    (void)state;
    static const struct {
        const char *rope;
        double least, most;
    } all[] = {
        {"\"rope_theta\": 1e4", 0, 0},
        {"\"rope_theta\": 1e4, \"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 3}", 0x1p-21,
         0x1p-18},
        {"\"rope_theta\": 1e4, \"rope_scaling\": {" LLAMA3 ", \"high_freq_factor\": 4, "
         "\"original_max_position_embeddings\": 64}",
         0x1p-21, 0x1p-17},
        /* The wavelength of pair 7 is between 7 and 7.0000035: its last bits decide between f and f / 8. */
        {"\"rope_theta\": 1.2800923053743025, \"rope_scaling\": {" LLAMA3
         ", \"high_freq_factor\": 1.0000005, "
         "\"original_max_position_embeddings\": 7}",
         0.01, 8},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        hop_text keys = {0};
        hop_text_printf(&keys, HEADS ", %s", all[i].rope);
        hop_hf_network n = opened(keys.s);
        for (int64_t layer = 0; layer < 2; layer++) {
            double spread = foreign(&n, layer, HOP_FOREIGN_rope_spread);
            if (!(spread >= all[i].least && spread <= all[i].most)) fail_msg("%s: %g", all[i].rope, spread);
        }
        hop_hf_network_free(&n);
        hop_text_free(&keys);
    }
}

/* The factor follows from two lengths, of which the first layer's reading leaves one. */
static void all_layers_have_one_factor(void **state)
{
    (void)state;
    hop_text keys = {0};
    hop_text_printf(&keys, HEADS ", \"rope_theta\": 1e4, \"rope_scaling\": {\"rope_type\": \"longrope\", "
                                 "\"original_max_position_embeddings\": 1024, \"short_factor\": [1");
    for (int i = 1; i < 16; i++) hop_text_printf(&keys, ", 1.5");
    hop_text_printf(&keys, "], \"long_factor\": [1]}");
    hop_hf_network n = opened(keys.s);
    const double wanted = sqrt(1 + log(4) / log(1024));
    for (int64_t layer = 0; layer < 2; layer++)
        assert_true(fabs(foreign(&n, layer, HOP_FOREIGN_rope_scale) - wanted) < 1e-12);
    assert_int_equal(n.config.max_positions, 1024);
    hop_hf_network_free(&n);
    hop_text_free(&keys);
}

#define GRANITE                                                                                        \
    ", \"model_type\": \"granitemoehybrid\", \"num_attention_heads\": 4, \"num_key_value_heads\": 2, " \
    "\"num_local_experts\": 0, \"mamba_n_heads\": 4, \"mamba_d_state\": 8, \"shared_intermediate_size\": 32"
#define LAYERS ", \"layer_types\": [\"mamba\", \"attention\"]"
#define MAMBA2 ", \"model_type\": \"mamba2\", \"num_heads\": 4, \"head_dim\": 32, \"n_groups\": 1"
#define NEMOTRON                                                                                       \
    ", \"model_type\": \"nemotron_h\", \"mamba_num_heads\": 4, \"mamba_head_dim\": 32, \"n_groups\": " \
    "2" HEADS

/* What is 0 with us, or below, is what there is without it. */
static void a_zero_of_theirs_is_no_default_of_ours(void **state)
{
    (void)state;
    static const char *const zero[][2] = {
        {GRANITE LAYERS ", \"attention_multiplier\": 0", "scale: 0 cannot be run"},
        {GRANITE LAYERS ", \"attention_multiplier\": -0.25", "scale: -0.25 cannot be run"},
        {GRANITE LAYERS ", \"rms_norm_eps\": 0", "norm_eps: 0 cannot be run"},
        {MAMBA2 ", \"time_step_limit\": [0.0, 0.0]", "dt_max: 0 cannot be run"},
        {NEMOTRON ", \"hybrid_override_pattern\": \"ME\", \"routed_scaling_factor\": 0",
         "router_scale: 0 cannot be run"},
        {GRANITE LAYERS ", \"embedding_multiplier\": 1e39", "beyond the normal numbers of float32"},
        {GRANITE LAYERS ", \"logits_scaling\": 1e-39", "beyond the normal numbers of float32"},
    };
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) expect_refused(zero[i][0], zero[i][1]);
    hop_hf_network n = opened(GRANITE LAYERS ", \"attention_multiplier\": 0.25");
    hop_hf_network_free(&n);
    n = opened(MAMBA2 ", \"time_step_limit\": [0.0, 0.5]");
    assert_true(foreign(&n, 0, HOP_FOREIGN_dt_max) == 0.5);
    hop_hf_network_free(&n);
    n = opened(MAMBA2);
    assert_true(foreign(&n, 0, HOP_FOREIGN_dt_max) == 0);
    hop_hf_network_free(&n);
}

static bool filled_with_zeros(const char *keys)
{
    hop_hf_network n = opened(keys);
    bool filled = false;
    for (int64_t i = 0; i < n.tensor_count; i++)
        if (strcmp(n.tensors[i].ours, "model.layers.0.mixer.conv1d.bias") == 0)
            filled = n.tensors[i].count == 0;
    hop_hf_network_free(&n);
    return filled;
}

/* Which of two keys a class reads, or which beats the other. */
static void a_class_has_its_own_names(void **state)
{
    (void)state;
    expect_refused(GRANITE LAYERS ", \"use_conv_bias\": true", "use_conv_bias: a key that is not understood");
    expect_refused(MAMBA2 ", \"mamba_conv_bias\": true", "mamba_conv_bias: a key that is not understood");
    assert_true(filled_with_zeros(GRANITE LAYERS ", \"mamba_conv_bias\": false"));
    assert_true(filled_with_zeros(MAMBA2 ", \"use_conv_bias\": false"));
    assert_true(!filled_with_zeros(MAMBA2));
#define STEPS NEMOTRON ", \"hybrid_override_pattern\": \"M*\""
    assert_true(!filled_with_zeros(STEPS ", \"use_conv_bias\": false, \"mamba_conv_bias\": true"));
    assert_true(filled_with_zeros(STEPS ", \"use_conv_bias\": true, \"mamba_conv_bias\": false"));
    assert_true(filled_with_zeros(STEPS ", \"use_conv_bias\": false"));
    hop_hf_network n = opened(STEPS ", \"time_step_min\": 0.25, \"mamba_dt_min\": 0.5");
    assert_true(foreign(&n, 0, HOP_FOREIGN_dt_min) == 0.5);
    hop_hf_network_free(&n);
}

static void layers_are_listed_once(void **state)
{
    (void)state;
    expect_refused(GRANITE LAYERS ", \"layers_block_type\": [\"mamba\", \"mamba\"]",
                   "layers_block_type: there is layer_types, too");
    expect_refused(STEPS ", \"layers_block_type\": [\"mamba\", \"attention\"]",
                   "there is layers_block_type, too");
    hop_hf_network n = opened(GRANITE LAYERS ", \"layers_block_type\": [\"mamba\", \"attention\"]");
    hop_hf_network_free(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rotation_is_told_once),
        cmocka_unit_test(what_a_class_does_not_turn_is_refused),
        cmocka_unit_test(another_name_of_a_size_is_no_size),
        cmocka_unit_test(frequencies_that_hang_on_the_last_bit_are_far_from_others),
        cmocka_unit_test(all_layers_have_one_factor),
        cmocka_unit_test(a_zero_of_theirs_is_no_default_of_ours),
        cmocka_unit_test(a_class_has_its_own_names),
        cmocka_unit_test(layers_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
