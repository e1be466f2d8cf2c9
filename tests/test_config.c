/* config: patterns and config.json. */
#include "test.h"

#include <hopbound/config.h>

static void parses_to(const char *text, const char *printed, int64_t layers)
{
    hop_pattern p, again;
    hop_error err = {0};
    hop_text out = {0};
    if (hop_pattern_parse(&p, text, "deltanet", &err) != HOP_OK) fail_msg("%s: %s", text, err.text);
    assert_int_equal(p.layers, layers);
    hop_pattern_print(&p, &out);
    assert_string_equal(out.s, printed);
    assert_int_equal(hop_pattern_parse(&again, out.s, "deltanet", &err), HOP_OK);
    assert_int_equal(again.run_count, p.run_count);
    assert_memory_equal(again.runs, p.runs, sizeof(hop_run) * (size_t)p.run_count);
    hop_text_free(&out);
    hop_pattern_free(&p);
    hop_pattern_free(&again);
}

static void patterns_parse_and_print_in_their_shortest_form(void **state)
{
    (void)state;
    parses_to("F^3", "full^3", 3);
    parses_to("LFFF", "deltanet full^3", 4);
    parses_to("  L^8 ", "deltanet^8", 8);
    parses_to("(LLLF)^12", "(deltanet^3 full)^12", 48);
    parses_to("(gdn^3 full)^12", "(gdn^3 full)^12", 48);
    parses_to("L^4096 F L^4096", "deltanet^4096 full deltanet^4096", 8193);
    parses_to("W S F", "window sparse full", 3);
    parses_to("((F)^2)^3", "full^6", 6);
    parses_to("(F L F)^2", "full deltanet full^2 deltanet full", 6);
    parses_to("L^134217728 F", "deltanet^134217728 full", 134217729);
    parses_to("rwkv7\tF\nmamba-2", "rwkv7 full mamba-2", 3);
}

static void refused(const char *text, const char *why)
{
    hop_pattern p;
    hop_error err = {0};
    if (hop_pattern_parse(&p, text, "deltanet", &err) == HOP_OK) fail_msg("\"%s\" was accepted", text);
    if (!strstr(err.text, why)) fail_msg("\"%s\": \"%s\" does not say \"%s\"", text, err.text, why);
    assert_null(p.runs);
}

static void patterns_that_mean_nothing_are_refused_with_the_column(void **state)
{
    (void)state;
    refused("", "column 1: a layer is missing");
    refused("   ", "column 4");
    refused("F^0", "at least 1");
    refused("F^", "number must follow");
    refused("F^-1", "number must follow");
    refused("(F", "a ) is missing");
    refused("F)", "a ( is missing");
    refused("()", "expected a layer");
    refused("X", "expected a layer");
    refused("F^1000000000000", "more than");
    refused("F^99999999999999999999999999", "more than");
    refused("(F^1000000)^1000000", "more than");
    refused("F^4294967296 F", "more than");
    refused("((L F)^1000000)^2", "too many changes");
    refused("^3", "expected a layer");
    refused("F^2^2", "expected a layer");
    refused("abcdefghijklmnopqrstuvwxyz", "too long");
    char deep[300];
    memset(deep, '(', 200);
    deep[200] = 0;
    refused(deep, "nested too deeply");
    hop_pattern p;
    hop_error err = {0};
    assert_int_equal(hop_pattern_parse(&p, "L", NULL, &err), HOP_EFORMAT);
    assert_int_equal(hop_pattern_parse(&p, "L", "", &err), HOP_EFORMAT);
}

static void a_layer_is_found_by_its_number(void **state)
{
    (void)state;
    hop_pattern p;
    assert_int_equal(hop_pattern_parse(&p, "(L^3 F)^2", "gdn", NULL), HOP_OK);
    assert_string_equal(hop_pattern_mixer(&p, 0), "gdn");
    assert_string_equal(hop_pattern_mixer(&p, 3), "full");
    assert_string_equal(hop_pattern_mixer(&p, 7), "full");
    assert_null(hop_pattern_mixer(&p, 8));
    hop_pattern_free(&p);
}

static hop_status read_config(hop_config *c, const char *text, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_parse(&doc, text, strlen(text), err);
    if (s == HOP_OK) s = hop_config_read(c, doc.root, err);
    hop_json_free(&doc);
    return s;
}

static void a_config_reads_what_it_wrote(void **state)
{
    (void)state;
    const char *text = "{\"model_type\": \"hopbound\", \"pattern\": \"(L F)^2\", \"linear_mixer\": \"gla\", "
                       "\"vocab_size\": 10,"
                       "\"hidden_size\": 12, \"num_attention_heads\": 3.0, \"max_position_embeddings\": 99, "
                       "\"norm\": \"layer\","
                       "\"position_embedding\": \"learned\", \"mlp\": \"gelu\", \"rope_theta\": 1e4, "
                       "\"tie_word_embeddings\": true,"
                       "\"intermediate_size\": null, \"task\": {\"name\": \"funccomp\", \"hops\": 1, \"m\": "
                       "5, \"fan\": []}}";
    hop_config c, d;
    hop_error err = {0};
    if (read_config(&c, text, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_int_equal(c.head_dim, 4);
    assert_int_equal(c.kv_heads, 3);
    assert_int_equal(c.mlp_hidden, 48);
    assert_int_equal(c.norm, HOP_NORM_LAYER);
    assert_true(c.tied && c.position_table);
    hop_json_writer w = {0};
    hop_config_write(&c, &w);
    if (read_config(&d, w.text.s, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_string_equal(c.task_json, d.task_json);
    assert_int_equal(d.pattern.layers, 4);
    assert_true(d.rope_theta == 1e4 && d.mlp == HOP_MLP_GELU && d.d_model == 12 && d.heads == 3);
    hop_text_free(&w.text);
    hop_config_free(&c);
    hop_config_free(&d);
}

static void configs_that_cannot_be_built_are_refused_by_name(void **state)
{
    (void)state;
    const struct {
        const char *more, *why;
    } cases[] = {
        {"\"vocab_size\": 0", "vocab_size"},
        {"\"vocab_size\": \"many\"", "vocab_size"},
        {"\"vocab_size\": 2.5", "vocab_size"},
        {"\"vocab_size\": 4", "hidden_size"},
        {"\"vocab_size\": 4, \"hidden_size\": 5, \"num_attention_heads\": 2", "do not divide"},
        {"\"vocab_size\": 4, \"hidden_size\": 6, \"num_attention_heads\": 3, \"num_key_value_heads\": 2",
         "num_key_value_heads"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"norm\": \"batch\"", "norm"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"mlp\": 3", "mlp"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"norm_eps\": -1", "norm_eps"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"rope_theta\": -1", "rope_theta"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"rope_theta\": NaN", "rope_theta"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"attention_scale\": Infinity", "attention_scale"},
        {"\"vocab_size\": 2000000000, \"hidden_size\": 1000000", "2^36"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"num_hidden_layers\": 3", "num_hidden_layers"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"task\": 5", "task"},
        {"\"vocab_size\": 4, \"hidden_size\": 4, \"position_embedding\": \"sine\"", "position_embedding"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        hop_config c;
        hop_error err = {0};
        snprintf(text, sizeof text, "{\"model_type\": \"hopbound\", \"pattern\": \"F\", %s}", cases[i].more);
        if (read_config(&c, text, &err) == HOP_OK) fail_msg("accepted: %s", cases[i].more);
        if (!strstr(err.text, cases[i].why)) fail_msg("%s: \"%s\"", cases[i].more, err.text);
    }
    hop_config c;
    hop_error err = {0};
    assert_int_equal(read_config(&c, "[]", &err), HOP_EFORMAT);
    assert_int_equal(read_config(&c, "{\"model_type\": \"llama\"}", &err), HOP_EFORMAT);
    assert_int_equal(read_config(&c, "{\"model_type\": \"hopbound\"}", &err), HOP_EFORMAT);
}

static void settings_and_seeds_read_back_as_they_were_written(void **state)
{
    (void)state;
    const char *text = "{\"model_type\": \"hopbound\", \"pattern\": \"gdn full gdn\", \"vocab_size\": 10, "
                       "\"hidden_size\": 12,"
                       "\"mixer_options\": {\"gdn\": {\"conv\": 0, \"gate\": false, \"scale\": 0.25}},"
                       "\"layer_options\": {\"2\": {\"head_dim\": 3}}, \"bidirectional\": true,"
                       "\"weights\": {\"kind\": \"seeded\", \"seed\": 5, \"tie\": 64}}";
    hop_config c, d;
    hop_error err = {0};
    if (read_config(&c, text, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_int_equal(c.setting_count, 4);
    assert_true(c.seeded && c.seed == 5 && c.tie == 64 && c.bidirectional);
    hop_json_writer w = {0};
    hop_config_write(&c, &w);
    if (read_config(&d, w.text.s, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_int_equal(d.setting_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(c.settings[i].layer, d.settings[i].layer);
        assert_string_equal(c.settings[i].mixer, d.settings[i].mixer);
        assert_string_equal(c.settings[i].name, d.settings[i].name);
        assert_true(c.settings[i].value == d.settings[i].value);
    }
    hop_text_free(&w.text);
    hop_config_free(&c);
    hop_config_free(&d);
    const char *const wrong[] = {
        "\"layer_options\": {\"3\": {\"conv\": 1}}", "\"layer_options\": {\"x\": {}}",
        "\"mixer_options\": {\"gdn\": 4}",           "\"mixer_options\": {\"gdn\": {\"conv\": \"four\"}}",
        "\"weights\": {\"kind\": \"grown\"}",        "\"weights\": {\"seed\": -1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bad[300];
        snprintf(
            bad, sizeof bad,
            "{\"model_type\": \"hopbound\", \"pattern\": \"F^3\", \"vocab_size\": 4, \"hidden_size\": 4, %s}",
            wrong[i]);
        if (read_config(&c, bad, &err) == HOP_OK) fail_msg("accepted: %s", wrong[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_parse_and_print_in_their_shortest_form),
        cmocka_unit_test(patterns_that_mean_nothing_are_refused_with_the_column),
        cmocka_unit_test(a_layer_is_found_by_its_number),
        cmocka_unit_test(a_config_reads_what_it_wrote),
        cmocka_unit_test(settings_and_seeds_read_back_as_they_were_written),
        cmocka_unit_test(configs_that_cannot_be_built_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
