/* hf: layers that a file calls full and that look at chosen tokens only; widths of what a softmax sums up; the
 * vocabulary. */
#include "test.h"

#include <hopbound/hf.h>

#define PLAIN                                                                                                 \
    "\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":4,\"num_key_value_heads\":4,"         \
    "\"layer_types\":[\"full_attention\",\"full_attention\"]"

static hop_status read_plan(hop_hf_plan *p, const char *text, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_parse(&doc, text, strlen(text), err);
    if (s != HOP_OK) fail_msg("%s: %s", text, err->text);
    s = hop_hf_read(p, doc.root, err);
    hop_json_free(&doc);
    return s;
}

/* Two full layers and one key more, of a family and of a class that nobody knows. */
static hop_status with_key(hop_hf_plan *p, const char *family, const char *key, hop_error *err)
{
    char text[500];
    snprintf(text, sizeof text, "{\"model_type\":\"%s\"," PLAIN ",%s}", family, key);
    return read_plan(p, text, err);
}

static const char *const FAMILIES[] = {"llama", "qwen3", "qwen3_next", "gemma3_text", "never_heard_of"};
#define FAMILY_COUNT (sizeof FAMILIES / sizeof *FAMILIES)

static void a_key_about_picked_tokens_beside_full_layers_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const keys[][2] = {
        {"\"index_n_heads\":4", "index_n_heads"},
        {"\"index_topk_blocks\":16", "index_topk_blocks"},
        {"\"indexer_head_dim\":128", "indexer_head_dim"},
        {"\"use_indexer\":true", "use_indexer"},
        {"\"indexer_types\":[\"full\",\"shared\"]", "indexer_types"},
        {"\"block_topk\":16", "block_topk"},
        {"\"sparse_topk_ratio\":0.1", "sparse_topk_ratio"},
        {"\"attention_top_k\":64", "attention_top_k"},
        {"\"kv_compress_ratio\":4", "kv_compress_ratio"},
        {"\"compression_block\":32", "compression_block"},
        {"\"attention_config\":{\"index_budget\":2048}", "index_budget"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t k = 0; k < FAMILY_COUNT; k++) {
            hop_hf_plan p;
            hop_error err = {0};
            if (with_key(&p, FAMILIES[k], keys[i][0], &err) != HOP_EUNKNOWN || !strstr(err.text, keys[i][1]))
                fail_msg("%s %s: %s", FAMILIES[k], keys[i][0], err.text);
        }
}

static void keys_of_routers_sampling_and_weights_are_no_such_keys(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "\"num_experts_per_tok\":8", "\"norm_topk_prob\":true",    "\"moe_topk\":2",
        "\"topk_group\":4",          "\"topk_method\":\"greedy\"", "\"moe_router_topk\":2",
        "\"expert_topk\":2",         "\"top_k\":50",               "\"num_experts_per_topk\":2",
        "\"norm_top_k_prob\":true",  "\"image_token_index\":7",    "\"compression_config\":{\"a\":1}",
        "\"compression_ratio\":1.0", "\"index_topk\":null",        "\"indexer_n_heads\":0",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t k = 0; k < FAMILY_COUNT; k++) {
            hop_hf_plan p;
            hop_error err = {0};
            if (with_key(&p, FAMILIES[k], keys[i], &err) != HOP_OK)
                fail_msg("%s %s: %s", FAMILIES[k], keys[i], err.text);
            assert_string_equal(p.pattern, "FF");
            hop_hf_free(&p);
        }
}

static void layers_with_a_budget_of_tokens_are_sparse(void **state)
{
    (void)state;
    for (size_t k = 0; k < FAMILY_COUNT; k++) {
        hop_hf_plan p;
        hop_error err = {0};
        if (with_key(&p, FAMILIES[k], "\"indexer_budget\":2048,\"indexer_n_heads\":4", &err) != HOP_OK)
            fail_msg("%s: %s", FAMILIES[k], err.text);
        assert_string_equal(p.pattern, "SS");
        assert_true(p.layers[0].sparse && p.layers[1].sparse && p.index_topk == 2048);
        hop_hf_free(&p);
    }
}

static void convolutions_around_attention_are_counted(void **state)
{
    (void)state;
    hop_hf_plan p;
    hop_error err = {0};
    const char *text = "{\"model_type\":\"inkling_text\",\"hidden_size\":64,\"num_attention_heads\":4,"
                       "\"num_key_value_heads\":2,\"head_dim\":16,\"swa_num_key_value_heads\":4,"
                       "\"sliding_window_size\":8,\"conv_kernel_size\":4,"
                       "\"layer_types\":[\"hybrid\",\"hybrid_sliding\"]}";
    if (read_plan(&p, text, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_string_equal(p.pattern, "FS");
    assert_int_equal(p.attention.conv_before, 3 * 2 * 2 * 16);
    assert_int_equal(p.sliding.conv_before, 3 * 2 * 4 * 16);
    assert_int_equal(p.attention.conv_after, 3 * 2 * 64);
    assert_int_equal(p.layers[1].window, 8);
    assert_string_equal(p.linear.kind, "");
    hop_hf_free(&p);
}

static void a_softmax_may_sum_up_more_than_a_heads_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t reply;
    } files[] = {
        {"{\"model_type\":\"llama\"," PLAIN "}", 0},
        {"{\"model_type\":\"llama\"," PLAIN ",\"use_diff_attn\":true}", 32},
        {"{\"model_type\":\"llama\"," PLAIN ",\"use_diff_attn\":false}", 0},
        {"{\"model_type\":\"phi4flash\",\"num_hidden_layers\":4,\"sliding_window\":8}", 128},
        {"{\"model_type\":\"deepseek_v3\",\"num_hidden_layers\":1,\"num_attention_heads\":4}", 512},
        {"{\"model_type\":\"deepseek_v3\",\"num_hidden_layers\":1,\"num_attention_heads\":4,"
         "\"kv_lora_rank\":64}",
         0}, /* values are the larger */
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        hop_hf_plan p;
        hop_error err = {0};
        if (read_plan(&p, files[i].text, &err) != HOP_OK) fail_msg("%s: %s", files[i].text, err.text);
        if (p.attention.reply_dim != files[i].reply)
            fail_msg("%s: %lld", files[i].text, (long long)p.attention.reply_dim);
        bool said = false;
        for (int k = 0; k < p.assumed_count; k++) said = said || strstr(p.assumed[k].text, "M counts");
        assert_int_equal(said, files[i].reply > 0);
        hop_hf_free(&p);
    }
}

static void ids_are_those_of_the_embedding(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        int64_t ids;
    } files[] = {{"\"vocab_size\":32000", 32000},
                 {"\"vocab_size\":50277,\"pad_vocab_size_multiple\":8", 50280},
                 {"\"vocab_size\":65000,\"padded_vocab_size\":65024", 65024},
                 {"\"vocab_size\":null", 0}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        hop_hf_plan p;
        hop_error err = {0};
        if (with_key(&p, "llama", files[i].keys, &err) != HOP_OK) fail_msg("%s", err.text);
        assert_int_equal(p.vocabulary, files[i].ids);
        hop_hf_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_about_picked_tokens_beside_full_layers_is_refused_by_name),
        cmocka_unit_test(keys_of_routers_sampling_and_weights_are_no_such_keys),
        cmocka_unit_test(layers_with_a_budget_of_tokens_are_sparse),
        cmocka_unit_test(convolutions_around_attention_are_counted),
        cmocka_unit_test(a_softmax_may_sum_up_more_than_a_heads_values),
        cmocka_unit_test(ids_are_those_of_the_embedding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
