/* hf: the layer plans of model families, one small file each, in the manner of the real ones. The fixtures of
 * whole models are compared in tests/cli/cases_audit.py. */
#include "test.h"

#include <hopbound/hf.h>

static hop_status read_plan(hop_hf_plan *p, const char *text, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_parse(&doc, text, strlen(text), err);
    if (s != HOP_OK) fail_msg("%s: %s", text, err->text);
    s = hop_hf_read(p, doc.root, err);
    hop_json_free(&doc);
    return s;
}

/* What a file must be read as; what is 0 or NULL is not looked at. */
typedef struct expectation {
    const char *text, *pattern, *source;
    const char *attention; /* kind */
    int64_t heads, kv_heads, qk_dim, v_dim, cache;
    const char *linear; /* kind */
    int64_t recurrent, conv, window;
} expectation;

static void same(const char *text, const char *what, int64_t got, int64_t wanted)
{
    if (wanted && got != wanted)
        fail_msg("%s\n%s: %lld, wanted %lld", text, what, (long long)got, (long long)wanted);
}

static void check_plan(const expectation *e)
{
    hop_hf_plan p;
    hop_error err = {0};
    if (read_plan(&p, e->text, &err) != HOP_OK) fail_msg("%s\n%s", e->text, err.text);
    if (strcmp(p.pattern, e->pattern) != 0) fail_msg("%s\n%s, wanted %s", e->text, p.pattern, e->pattern);
    if (e->source && strcmp(p.source, e->source) != 0) fail_msg("%s\n%s", e->text, p.source);
    assert_string_equal(p.attention.kind, e->attention ? e->attention : "");
    assert_string_equal(p.linear.kind, e->linear ? e->linear : "");
    same(e->text, "heads", p.attention.heads, e->heads);
    same(e->text, "key heads", p.attention.kv_heads, e->kv_heads);
    same(e->text, "key dimension", p.attention.qk_dim, e->qk_dim);
    same(e->text, "value dimension", p.attention.v_dim, e->v_dim);
    same(e->text, "cache", p.attention.cache_elems, e->cache);
    same(e->text, "recurrent", p.linear.recurrent_elems, e->recurrent);
    same(e->text, "conv", p.linear.conv_elems, e->conv);
    same(e->text, "window", p.window, e->window);
    hop_hf_free(&p);
}

static void check_plans(const expectation *list, size_t count)
{
    for (size_t i = 0; i < count; i++) check_plan(&list[i]);
}
#define CHECK(list) check_plans(list, sizeof list / sizeof *list)

static void refused(const char *text, hop_status status, const char *why)
{
    hop_hf_plan p;
    hop_error err = {0};
    hop_status s = read_plan(&p, text, &err);
    if (s != status || !strstr(err.text, why))
        fail_msg("%s\n%d %s, wanted %d %s", text, s, err.text, status, why);
    if (p.layers || p.pattern || p.count) fail_msg("%s: the plan is not empty", text);
}

/* clang-format off */
static void plain_decoders_attend_to_everything(void **state)
{
    (void)state;
    static const expectation list[] = {
        {"{\"model_type\":\"gpt2\",\"n_layer\":3,\"n_head\":12,\"n_embd\":768,\"n_positions\":1024}",
         "FFF", "no hybrid key", "mha", 12, 12, 64, 64, 1536, NULL, 0, 0, 0},
        {"{\"model_type\":\"falcon\",\"num_hidden_layers\":2,\"hidden_size\":4544,\"num_attention_heads\":71,\"multi_query\":true}",
         "FF", NULL, "gqa", 71, 1, 64, 64, 128, NULL, 0, 0, 0},
        {"{\"model_type\":\"falcon\",\"num_hidden_layers\":2,\"hidden_size\":8192,\"num_attention_heads\":128,"
         "\"num_kv_heads\":8,\"new_decoder_architecture\":true}",
         "FF", NULL, "gqa", 128, 8, 64, 64, 1024, NULL, 0, 0, 0},
        {"{\"model_type\":\"seed_oss\",\"num_hidden_layers\":1,\"hidden_size\":5120}", "F", "no hybrid key", "gqa", 80, 8, 128, 128, 2048,
         NULL, 0, 0, 0},
        {"{\"model_type\":\"ernie4_5\",\"num_hidden_layers\":1,\"hidden_size\":128,\"num_attention_heads\":4,\"num_key_value_heads\":null,"
         "\"head_dim\":null}", "F", "no hybrid key", "mha", 4, 4, 32, 32, 256, NULL, 0, 0, 0},
        {"{\"model_type\":\"mixtral\",\"num_hidden_layers\":1,\"hidden_size\":4096,\"num_key_value_heads\":null}", "F", "no hybrid key",
         "mha", 32, 32, 128, 128, 8192, NULL, 0, 0, 0},
        {"{\"model_type\":\"dbrx\",\"n_layers\":1,\"n_heads\":16,\"d_model\":2048}", "F", "no hybrid key", "gqa", 16, 1, 128, 128, 256,
         NULL, 0, 0, 0},
        {"{\"model_type\":\"dbrx\",\"n_layers\":2,\"n_heads\":48,\"d_model\":6144,\"attn_config\":{\"kv_n_heads\":8}}",
         "FF", NULL, "gqa", 48, 8, 128, 128, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"bloom\",\"n_layer\":2,\"num_attention_heads\":112,\"n_embed\":14336}",
         "FF", NULL, "mha", 112, 112, 128, 128, 28672, NULL, 0, 0, 0},
        {"{\"model_type\":\"gpt_bigcode\",\"n_layer\":2,\"n_head\":48,\"n_embd\":6144,\"multi_query\":true}",
         "FF", NULL, "gqa", 48, 1, 128, 128, 256, NULL, 0, 0, 0},
        {"{\"model_type\":\"chatglm\",\"num_layers\":2,\"num_attention_heads\":32,\"hidden_size\":4096,\"kv_channels\":128,"
         "\"multi_query_attention\":true,\"multi_query_group_num\":2}",
         "FF", NULL, "gqa", 32, 2, 128, 128, 512, NULL, 0, 0, 0},
        {"{\"model_type\":\"deepseek_v3\",\"num_hidden_layers\":2,\"hidden_size\":7168,\"num_attention_heads\":128,"
         "\"kv_lora_rank\":512,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128}",
         "FF", "no hybrid key", "mla", 128, 0, 192, 128, 576, NULL, 0, 0, 0},
        /* the second half of the file's sizes is left to the class */
        {"{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"llama\",\"num_hidden_layers\":2},"
         "\"vision_config\":{\"num_hidden_layers\":24,\"hidden_size\":1024}}",
         "FF", NULL, "mha", 32, 32, 128, 128, 8192, NULL, 0, 0, 0},
        {"{\"model_type\":\"longcat_flash\",\"num_layers\":2,\"hidden_size\":6144,\"num_attention_heads\":64,\"kv_lora_rank\":512}",
         "FFFF", NULL, "mla", 64, 0, 192, 128, 576, NULL, 0, 0, 0},
        {"{\"model_type\":\"olmo2\",\"num_hidden_layers\":2.0,\"hidden_size\":64,\"num_attention_heads\":8,"
         "\"sliding_window\":null,\"rope_scaling\":{\"type\":\"linear\"},\"factor\":NaN}",
         "FF", "no hybrid key", "mha", 8, 8, 8, 8, 128, NULL, 0, 0, 0},
        {"{\"model_type\":\"xglm\",\"num_layers\":2,\"attention_heads\":16,\"d_model\":1024}",
         "FF", "no hybrid key", "mha", 16, 16, 64, 64, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"glm4_moe_lite\",\"num_hidden_layers\":2,\"hidden_size\":2048,\"num_attention_heads\":20,"
         "\"kv_lora_rank\":512,\"qk_nope_head_dim\":192,\"qk_rope_head_dim\":64,\"v_head_dim\":256}",
         "FF", "no hybrid key", "mla", 20, 0, 256, 256, 576, NULL, 0, 0, 0},
        {"{\"model_type\":\"deepseek_v3\",\"num_hidden_layers\":1,\"num_attention_heads\":128}", /* the class's sizes */
         "F", "no hybrid key", "mla", 128, 0, 192, 128, 576, NULL, 0, 0, 0},
        {"{\"model_type\":\"deepseek_v2\",\"num_hidden_layers\":1,\"hidden_size\":1280,\"num_attention_heads\":10,"
         "\"use_mla\":false,\"kv_lora_rank\":null}",
         "F", "no hybrid key", "mha", 10, 10, 128, 128, 2560, NULL, 0, 0, 0},
        /* keys that only look like those of another mixer */
        {"{\"model_type\":\"olmoe\",\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":8,\"num_local_experts\":8,"
         "\"use_attn_bias\":true,\"sliding_window\":null,\"max_window_layers\":1,\"mlp_layer_types\":[\"dense\",\"sparse\"],"
         "\"compression_config\":{},\"global_step\":7,\"decoder_sparse_step\":1,\"hidden_act\":\"silu\"}",
         "FF", "no hybrid key", "mha", 8, 8, 8, 8, 128, NULL, 0, 0, 0},
    };
    CHECK(list);
}

static void windows_follow_each_familys_rule(void **state)
{
    (void)state;
#define SIZES "\"hidden_size\":4096,\"num_attention_heads\":32,\"num_key_value_heads\":8"
    static const expectation list[] = {
        {"{\"model_type\":\"qwen2\",\"num_hidden_layers\":4," SIZES ",\"sliding_window\":4096,\"use_sliding_window\":false}",
         "FFFF", "no hybrid key", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"qwen2\",\"num_hidden_layers\":4," SIZES ",\"sliding_window\":4096,\"use_sliding_window\":true,"
         "\"max_window_layers\":3}",
         "FFFS", NULL, "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"mistral\",\"num_hidden_layers\":2," SIZES ",\"sliding_window\":null}",
         "FF", NULL, "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"mistral\",\"num_hidden_layers\":2," SIZES "}", /* the class slides */
         "SS", "default rule", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"mixtral\",\"num_hidden_layers\":2," SIZES "}", /* this one does not */
         "FF", "no hybrid key", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"qwen2_moe\",\"num_hidden_layers\":6," SIZES ",\"use_sliding_window\":true,\"max_window_layers\":4}",
         "SFSFFF", NULL, "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"cohere2_moe\",\"num_hidden_layers\":7," SIZES ",\"first_k_dense_replace\":2,\"sliding_window_pattern\":3}",
         "FFSSFSS", "first_k_dense_replace, sliding_window_pattern", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"smollm3\",\"num_hidden_layers\":4," SIZES ",\"use_sliding_window\":true,\"sliding_window\":64}",
         "FFFS", "no_rope_layer_interval default 4", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 64},
        {"{\"model_type\":\"exaone4\",\"num_hidden_layers\":4," SIZES "}",
         "SSSF", "default rule", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"cwm\",\"num_hidden_layers\":5," SIZES "}",
         "FSSSF", "default rule", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 8192},
        {"{\"model_type\":\"olmo3\",\"num_hidden_layers\":5," SIZES ",\"sliding_window\":4096}",
         "SSSFS", "default rule", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"cohere2\",\"num_hidden_layers\":4," SIZES ",\"sliding_window\":4096,\"sliding_window_pattern\":2}",
         "SFSF", "sliding_window_pattern", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"exaone4\",\"num_hidden_layers\":6," SIZES ",\"sliding_window\":4096,\"sliding_window_pattern\":\"LLLG\"}",
         "SSSFSF", "sliding_window_pattern", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 4096},
        {"{\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,\"num_hidden_layers\":8,"
         "\"sliding_window\":1024}}",
         "SSSSSFSS", "default rule", "gqa", 8, 4, 256, 256, 2048, NULL, 0, 0, 1024},
        {"{\"model_type\":\"gemma4_text\",\"num_hidden_layers\":8,\"hidden_size\":2048,\"num_key_value_heads\":2}",
         "SSSSSFSF", NULL, "gqa", 8, 2, 512, 512, 2048, NULL, 0, 0, 512},
        {"{\"model_type\":\"gemma4_text\",\"num_hidden_layers\":2,\"hidden_size\":2048,\"layer_types\":[\"sliding_attention\","
         "\"sliding_attention\"],\"num_key_value_heads\":2}",
         "SF", "layer_types", "gqa", 8, 2, 512, 512, 2048, NULL, 0, 0, 512},
        {"{\"model_type\":\"llama4_text\",\"num_hidden_layers\":4," SIZES ",\"no_rope_layers\":[]}",
         "SSSF", "no_rope_layer_interval default 4", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 8192},
        {"{\"model_type\":\"llama4_text\",\"num_hidden_layers\":4," SIZES ",\"no_rope_layers\":[1,0,1,0]}",
         "SFSF", "no_rope_layers", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 8192},
        {"{\"model_type\":\"smollm3\",\"num_hidden_layers\":4," SIZES ",\"no_rope_layers\":[1,1,1,0]}",
         "FFFF", "no hybrid key", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"gpt_neo\",\"num_layers\":4,\"num_heads\":12,\"hidden_size\":768,"
         "\"attention_types\":[[[\"global\",\"local\"],2]],\"window_size\":256}",
         "FSFS", "attention_types", "mha", 12, 12, 64, 0, 1536, NULL, 0, 0, 256},
        {"{\"model_type\":\"gpt_neo\",\"num_layers\":3,\"num_heads\":12,\"hidden_size\":768}",
         "FSF", "default rule", "mha", 12, 12, 64, 0, 1536, NULL, 0, 0, 256},
        {"{\"model_type\":\"gpt_neo\",\"num_layers\":5,\"num_heads\":12,\"hidden_size\":768,"
         "\"attention_types\":[[[\"local\"],1],[[\"global\",\"local\"],2]]}",
         "SFSFS", "attention_types", "mha", 12, 12, 64, 0, 1536, NULL, 0, 0, 256},
        {"{\"model_type\":\"glm_moe_dsa\",\"num_hidden_layers\":2,\"hidden_size\":6144,\"num_attention_heads\":64,"
         "\"kv_lora_rank\":512,\"qk_nope_head_dim\":192,\"qk_rope_head_dim\":64,\"v_head_dim\":256,\"index_topk\":2048}",
         "SS", "model_type", "mla", 64, 0, 256, 256, 576, NULL, 0, 0, 0},
        {"{\"model_type\":\"minimax_m3_vl\",\"text_config\":{\"model_type\":\"minimax_m2\",\"num_hidden_layers\":3," SIZES
         ",\"layer_types\":[\"full_attention\",\"minimax_m3_sparse\",\"deepseek_sparse_attention\"]}}",
         "FSS", "layer_types", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"deepseek_v4\",\"num_hidden_layers\":3,\"layer_types\":[\"sliding_attention\","
         "\"compressed_sparse_attention\",\"heavily_compressed_attention\"],\"sliding_window\":128}",
         "SSS", "layer_types", "gqa", 64, 1, 512, 512, 0, NULL, 0, 0, 128},
        {"{\"model_type\":\"deepseek_v4\",\"num_hidden_layers\":2}",
         "SS", "default rule", "gqa", 64, 1, 512, 512, 0, NULL, 0, 0, 0},
        {"{\"model_type\":\"llama4_text\",\"num_hidden_layers\":2," SIZES ",\"layer_types\":[\"chunked_attention\",\"full_attention\"]}",
         "SF", "layer_types", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 8192},
        {"{\"model_type\":\"step3p5\",\"num_hidden_layers\":2," SIZES ",\"sliding_window\":512,\"num_nextn_predict_layers\":1,"
         "\"layer_types\":[\"full_attention\",\"sliding_attention\",\"sliding_attention\"]}",
         "FS", "layer_types", "gqa", 32, 8, 128, 0, 2048, NULL, 0, 0, 512},
    };
    CHECK(list);
}

static void block_sparse_layers_are_told_from_dense_ones(void **state)
{
    (void)state;
#define BLOCKS "\"blocksparse_block_size\":64,\"blocksparse_num_local_blocks\":16,\"blocksparse_vert_stride\":8"
    static const expectation list[] = {
        {"{\"model_type\":\"phi3small\",\"num_hidden_layers\":5," SIZES "," BLOCKS ",\"dense_attention_every_n_layers\":2}",
         "SFSFS", "dense_attention_every_n_layers", "gqa", 32, 8, 128, 128, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"phi3small\",\"num_hidden_layers\":4," SIZES "}", /* the class's 2 */
         "SFSF", NULL, "gqa", 32, 8, 128, 128, 2048, NULL, 0, 0, 0},
        {"{\"model_type\":\"phi3small\",\"num_hidden_layers\":2," SIZES ",\"dense_attention_every_n_layers\":null}",
         "SS", NULL, "gqa", 32, 8, 128, 128, 2048, NULL, 0, 0, 0},
    };
    CHECK(list);
    hop_hf_plan p;
    hop_error err = {0};
    assert_int_equal(read_plan(&p, list[0].text, &err), HOP_OK);
    assert_true(p.layers[0].sparse && !p.layers[1].sparse && p.layers[0].window == 0);
    hop_hf_free(&p);
}

static void hybrids_follow_each_familys_rule(void **state)
{
    (void)state;
#define MLA "\"kv_lora_rank\":512,\"qk_nope_head_dim\":128,\"qk_rope_head_dim\":64,\"v_head_dim\":128"
#define KDA "\"head_dim\":128,\"num_heads\":96,\"short_conv_kernel_size\":4"
    static const expectation list[] = {
        {"{\"model_type\":\"qwen3_5_moe\",\"text_config\":{\"model_type\":\"qwen3_5_moe_text\",\"num_hidden_layers\":5}}",
         "LLLFL", "default rule", "gqa", 16, 2, 256, 0, 1024, "gated_deltanet", 524288, 24576, 0},
        {"{\"model_type\":\"kimi_k3\",\"text_config\":{\"model_type\":\"kimi_linear\",\"num_hidden_layers\":4,\"num_attention_heads\":96,"
         MLA ",\"head_dim\":74,\"linear_attn_config\":{\"kda_layers\":[1,2,3],\"full_attn_layers\":[4]," KDA "}}}",
         "LLLF", "linear_attn_config.kda_layers (1-based)", "mla", 96, 0, 192, 128, 576, "kda", 1572864, 110592, 0},
        /* saved again by a library, with the keys renamed */
        {"{\"model_type\":\"kimi_linear\",\"num_hidden_layers\":5,\"linear_num_heads\":16,\"linear_head_dim\":64,"
         "\"linear_conv_kernel_dim\":4,\"qk_rope_head_dim\":0,\"head_dim\":0}",
         "LLLFL", "default rule", "mla", 32, 0, 128, 128, 512, "kda", 65536, 9216, 0},
        /* the same key counted from 0, in a family of another name, without rotary keys and with sparse attention */
        {"{\"model_type\":\"other_kda\",\"num_hidden_layers\":4,\"num_attention_heads\":96,\"kv_lora_rank\":512,\"qk_nope_head_dim\":192,"
         "\"qk_rope_head_dim\":0,\"v_head_dim\":128,\"index_topk\":2048,"
         "\"linear_attn_config\":{\"kda_layers\":[0,1,3],\"full_attn_layers\":[2]," KDA "}}",
         "LLSL", "linear_attn_config.kda_layers (0-based)", "mla", 96, 0, 192, 128, 512, "kda", 1572864, 110592, 0},
        {"{\"model_type\":\"bailing_moe_linear\",\"num_hidden_layers\":8,\"hidden_size\":2048,\"num_attention_heads\":16,"
         "\"num_key_value_heads\":4,\"head_dim\":128,\"layer_group_size\":3}",
         "LLFLLFFF", "layer_group_size", "gqa", 16, 4, 128, 0, 1024, "lightning", 262144, 0, 0},
        {"{\"model_type\":\"bailing_moe\",\"num_hidden_layers\":2,\"hidden_size\":2048,\"num_attention_heads\":16,\"num_key_value_heads\":4}",
         "FF", "no hybrid key", "gqa", 16, 4, 128, 0, 1024, NULL, 0, 0, 0},
        {"{\"model_type\":\"minimax_m1\",\"num_hidden_layers\":3,\"hidden_size\":6144,\"num_attention_heads\":64,"
         "\"num_key_value_heads\":8,\"head_dim\":128,\"attn_type_list\":[0,0,1]}",
         "LLF", "attn_type_list (1=full,0=linear)", "gqa", 64, 8, 128, 0, 2048, "lightning", 1048576, 0, 0},
        {"{\"model_type\":\"minimax\",\"num_hidden_layers\":3,\"hidden_size\":4096,\"num_attention_heads\":32}",
         "FLF", "default rule", "gqa", 32, 8, 128, 0, 2048, "lightning", 524288, 0, 0},
        {"{\"model_type\":\"jamba\",\"num_hidden_layers\":13,\"hidden_size\":4096}",
         "LLLLFLLLLLLLF", NULL, "gqa", 32, 8, 128, 0, 2048, "mamba1", 131072, 24576, 0},
        {"{\"model_type\":\"zamba\",\"num_hidden_layers\":8,\"hidden_size\":3712,\"num_attention_heads\":16}",
         "LLHLLLLH", NULL, "mha", 16, 16, 464, 464, 14848, "mamba1", 118784, 22272, 0},
        {"{\"model_type\":\"zamba2\",\"num_hidden_layers\":4,\"hidden_size\":2560,\"num_attention_heads\":32,\"hybrid_layer_ids\":[1,3]}",
         "LHLH", "hybrid_layer_ids", "mha", 32, 32, 160, 160, 10240, "mamba2", 327680, 15744, 0},
        {"{\"model_type\":\"zamba2\",\"n_mamba_heads\":40,\"layers_block_type\":null}",
         "LLLLLLHLLLLLHLLLLLHLLLLLHLLLLLHLLLLLHLLLLLHLLLLHLLLHLL", "default rule", "mha", 32, 32, 160, 160, 10240, "mamba2",
         327680, 15744, 0},
        {"{\"model_type\":\"granitemoehybrid\",\"num_hidden_layers\":2,\"hidden_size\":2048,\"num_attention_heads\":32,"
         "\"num_key_value_heads\":8,\"layer_types\":[\"attention\",\"attention\"],\"mamba_n_heads\":64}",
         "FF", "layer_types", "gqa", 32, 8, 64, 0, 1024, NULL, 0, 0, 0},
        {"{\"model_type\":\"bamba\",\"num_hidden_layers\":3,\"hidden_size\":4096,\"attn_layer_indices\":[1],\"mamba_d_head\":\"auto\","
         "\"mamba_n_heads\":128,\"mamba_d_state\":128}",
         "LFL", "attn_layer_indices", "gqa", 32, 8, 128, 0, 2048, "mamba2", 1048576, 25344, 0},
        {"{\"model_type\":\"bailing_hybrid\",\"num_hidden_layers\":4,\"hidden_size\":4096,\"num_attention_heads\":32,\"layer_group_size\":4,"
         "\"num_kv_heads_for_linear_attn\":32,\"head_dim\":64,\"kv_lora_rank\":512,\"qk_rope_head_dim\":64,\"qk_nope_head_dim\":128,\"v_head_dim\":128}",
         "LLLF", "layer_group_size", "mla", 32, 0, 192, 128, 576, "lightning", 524288, 0, 0},
        {"{\"model_type\":\"falcon_h1\",\"num_hidden_layers\":2,\"hidden_size\":2048}",
         "HH", "model_type", "gqa", 32, 8, 64, 0, 1024, "mamba2", 262144, 4608, 0},
        {"{\"model_type\":\"falcon_h1\",\"num_hidden_layers\":2,\"hidden_size\":2048,\"mamba_d_ssm\":null}",
         "HH", "model_type", "gqa", 32, 8, 64, 0, 1024, "mamba2", 1048576, 13824, 0},
        {"{\"model_type\":\"kimi_linear\",\"num_hidden_layers\":3,\"layer_types\":[\"kda_attention\",\"full_attention\",\"linear_attention\"],"
         "\"linear_num_key_heads\":16,\"linear_key_head_dim\":64}",
         "LFL", "layer_types", "mla", 32, 0, 192, 128, 576, "kda", 65536, 9216, 0},
        {"{\"model_type\":\"recurrent_gemma\",\"num_hidden_layers\":3,\"hidden_size\":1024,\"num_attention_heads\":8}",
         "LLS", "default rule", "mha", 8, 8, 128, 0, 2048, "rg_lru", 1024, 3072, 2048},
        {"{\"model_type\":\"recurrent_gemma\",\"num_hidden_layers\":4,\"hidden_size\":2560,\"num_attention_heads\":10,"
         "\"layers_block_type\":[\"recurrent\",\"attention\",\"recurrent\",\"attention\"]}",
         "LSLS", "layers_block_type", "mha", 10, 10, 256, 0, 5120, "rg_lru", 2560, 7680, 0},
        {"{\"model_type\":\"lfm2\",\"num_hidden_layers\":3,\"hidden_size\":2048,\"num_attention_heads\":32,\"full_attn_idxs\":[2],"
         "\"conv_L_cache\":3}",
         "LLF", "full_attn_idxs", "gqa", 32, 8, 64, 0, 1024, "short_conv", 0, 4096, 0},
        {"{\"model_type\":\"hymba\",\"num_hidden_layers\":3,\"hidden_size\":1600,\"num_attention_heads\":25,\"num_key_value_heads\":5,"
         "\"global_attn_idx\":[1],\"sliding_window\":1024}",
         "hHh", "global_attn_idx", "gqa", 25, 5, 64, 0, 640, "mamba1", 51200, 9600, 1024},
        {"{\"model_type\":\"phi4flash\",\"num_hidden_layers\":8,\"sliding_window\":[null,512,null,512,null,null,null,null]}",
         "LSLSLFGC", NULL, "gqa", 40, 20, 64, 0, 2560, "mamba1", 81920, 15360, 512},
        {"{\"model_type\":\"unheard_hybrid\",\"layer_types\":[\"linear_attention\",\"full_attention\"],\"hidden_size\":2048,"
         "\"num_attention_heads\":16,\"linear_num_value_heads\":32,\"linear_key_head_dim\":128,\"linear_value_head_dim\":128}",
         "LF", "layer_types", "mha", 16, 16, 128, 0, 4096, "gated_deltanet", 524288, 24576, 0},
    };
    CHECK(list);
}

static void recurrences_have_the_state_of_their_definition(void **state)
{
    (void)state;
    static const expectation list[] = {
        {"{\"model_type\":\"mamba\",\"num_hidden_layers\":2,\"d_model\":768,\"hidden_size\":768,\"intermediate_size\":1536,"
         "\"state_size\":16,\"n_layer\":2,\"ssm_cfg\":{}}",
         "LL", "model_type", NULL, 0, 0, 0, 0, 0, "mamba1", 24576, 4608, 0},
        {"{\"model_type\":\"falcon_mamba\",\"num_hidden_layers\":2,\"hidden_size\":4096,\"intermediate_size\":8192,\"expand\":16,"
         "\"state_size\":16}",
         "LL", "model_type", NULL, 0, 0, 0, 0, 0, "mamba1", 131072, 24576, 0},
        {"{\"d_model\":2560,\"n_layer\":3,\"ssm_cfg\":{\"layer\":\"Mamba2\"},\"attn_layer_idx\":[1],"
         "\"attn_cfg\":{\"num_heads\":30,\"head_dim\":128}}",
         "LFL", "attn_layer_idx", "mha", 30, 30, 128, 128, 7680, "mamba2", 655360, 16128, 0},
        {"{\"model_type\":\"gla\",\"num_hidden_layers\":2,\"hidden_size\":2048,\"num_heads\":4,\"attn\":null}",
         "LL", "model_type", NULL, 0, 0, 0, 0, 0, "gla", 524288, 0, 0},
        {"{\"model_type\":\"retnet\",\"num_hidden_layers\":1,\"hidden_size\":2048,\"num_heads\":8}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "retnet", 1048576, 0, 0},
        {"{\"model_type\":\"delta_net\",\"num_hidden_layers\":3,\"hidden_size\":2048,\"num_heads\":16,"
         "\"attn\":{\"layers\":[1],\"num_heads\":16,\"num_kv_heads\":8,\"window_size\":2048}}",
         "LSL", "attn.layers", "gqa", 16, 8, 128, 0, 2048, "deltanet", 262144, 18432, 2048},
        {"{\"model_type\":\"gated_deltanet\",\"num_hidden_layers\":2,\"hidden_size\":2048,\"num_heads\":6,\"head_dim\":256,"
         "\"attn\":{\"layers\":[1],\"num_heads\":16,\"window_size\":null}}",
         "LF", "attn.layers", "mha", 16, 16, 128, 0, 4096, "gated_deltanet", 786432, 18432, 0},
        {"{\"model_type\":\"kda\",\"num_hidden_layers\":1,\"hidden_size\":2048}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "kda", 262144, 18432, 0},
        {"{\"model_type\":\"hgrn2\",\"num_hidden_layers\":1,\"hidden_size\":2048,\"num_heads\":4}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "hgrn2", 262144, 0, 0},
        {"{\"model_type\":\"hgrn2\",\"num_hidden_layers\":1,\"hidden_size\":2048,\"num_heads\":4,\"expand_ratio\":null}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "hgrn2", 1048576, 0, 0},
        {"{\"model_type\":\"rwkv7_fla\",\"num_hidden_layers\":1,\"hidden_size\":2048,\"head_dim\":64}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "rwkv7", 131072, 4096, 0},
        {"{\"model_type\":\"hgrn2\",\"num_hidden_layers\":1,\"hidden_size\":2048,\"expand_ratio\":64}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "hgrn2", 131072, 0, 0},
        {"{\"model_type\":\"samba\",\"num_hidden_layers\":4,\"hidden_size\":2304}",
         "LSLS", "default rule", "mha", 18, 18, 128, 0, 4608, "mamba1", 73728, 13824, 2048},
        {"{\"model_type\":\"rwkv6\",\"num_hidden_layers\":1,\"hidden_size\":2048,\"head_size\":64}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "rwkv6", 131072, 4096, 0},
        {"{\"model_type\":\"rwkv\",\"num_hidden_layers\":1,\"hidden_size\":1024}",
         "L", "model_type", NULL, 0, 0, 0, 0, 0, "rwkv4", 3072, 2048, 0},
    };
    CHECK(list);
}
/* clang-format on */

static void attention_layers_between_recurrences_are_one_object_or_a_list(void **state)
{
    (void)state;
#define GLA "\"model_type\":\"gla\",\"num_hidden_layers\":4,\"hidden_size\":256,\"num_heads\":2"
    static const expectation list[] = {
        {"{" GLA ",\"attn\":[]}", .pattern = "LLLL", .linear = "gla"},
        {"{" GLA ",\"attn\":[{\"layers\":[1,3],\"num_heads\":4,\"window_size\":null}]}", .pattern = "LFLF",
         .attention = "mha", .heads = 4, .linear = "gla"},
        {"{" GLA ",\"attn\":{\"layers\":[1,3],\"num_heads\":4}}", .pattern = "LFLF", .attention = "mha",
         .heads = 4, .linear = "gla"},
    };
    CHECK(list);
    hop_hf_plan p;
    hop_error err = {0};
    const char *text =
        "{" GLA ",\"attn\":[{\"layers\":[0],\"num_heads\":4,\"window_size\":16},{\"layers\":[2],"
        "\"num_heads\":8,\"num_kv_heads\":2},{\"layers\":[3],\"num_heads\":4,\"window_size\":8}]}";
    assert_int_equal(read_plan(&p, text, &err), HOP_OK);
    assert_string_equal(p.pattern, "SLFS");
    assert_true(p.layers[0].window == 16 && p.layers[2].window == 0 && p.layers[3].window == 8);
    assert_int_equal(p.window, 16);
    assert_true(p.attention.heads == 8 && p.attention.kv_heads == 2 && p.sliding.heads == 4);
    hop_hf_free(&p);
    refused("{" GLA ",\"attn\":[{\"layers\":[1],\"num_heads\":4},{\"layers\":[1],\"num_heads\":4}]}",
            HOP_EDOMAIN, "layer 1 stands in two");
    refused("{" GLA ",\"attn\":[{\"layers\":[1],\"num_heads\":4},{\"layers\":[2],\"num_heads\":8}]}",
            HOP_EUNKNOWN, "heads that differ");
    refused("{" GLA ",\"attn\":[{\"layers\":[4],\"num_heads\":4}]}", HOP_EDOMAIN, "no layer 4");
    refused("{" GLA ",\"attn\":[{\"num_heads\":4}]}", HOP_EFORMAT, "attn.0.layers: absent");
    refused("{" GLA ",\"attn\":[{\"layers\":1,\"num_heads\":4}]}", HOP_EFORMAT, "attn.0.layers: not a list");
    refused("{" GLA ",\"attn\":[{\"layers\":[1]}]}", HOP_EFORMAT, "attn.0.num_heads: absent");
    refused("{" GLA ",\"attn\":[7]}", HOP_EFORMAT, "attn.0.layers: absent");
    refused("{" GLA ",\"attn\":[{\"layers\":[1],\"num_heads\":4,\"window_size\":0}]}", HOP_EDOMAIN,
            "window_size: 0");
}

static void layers_that_run_several_times_are_in_the_plan_as_often(void **state)
{
    (void)state;
    hop_hf_plan p;
    hop_error err = {0};
    const char *text = "{\"model_type\":\"ouro\",\"num_hidden_layers\":3," SIZES ",\"total_ut_steps\":2,"
                       "\"layer_types\":[\"full_attention\",\"sliding_attention\",\"full_attention\"],"
                       "\"sliding_window\":16,\"use_sliding_window\":true}";
    assert_int_equal(read_plan(&p, text, &err), HOP_OK);
    assert_string_equal(p.pattern, "FSFFSF");
    assert_true(p.count == 6 && p.loops == 2 && p.tied && p.layers[4].window == 16);
    hop_hf_free(&p);
    assert_int_equal(read_plan(&p, "{\"model_type\":\"ouro\",\"num_hidden_layers\":1," SIZES "}", &err),
                     HOP_OK);
    assert_true(p.count == 4 && p.loops == 4); /* the class's */
    hop_hf_free(&p);
    assert_int_equal(read_plan(&p, "{\"model_type\":\"llama\",\"num_hidden_layers\":1," SIZES "}", &err),
                     HOP_OK);
    assert_true(p.loops == 1 && !p.tied);
    hop_hf_free(&p);
    refused("{\"model_type\":\"ouro\",\"num_hidden_layers\":2," SIZES ",\"total_ut_steps\":0}", HOP_EDOMAIN,
            "total_ut_steps: 0");
    refused("{\"model_type\":\"ouro\",\"num_hidden_layers\":10000," SIZES ",\"total_ut_steps\":10000}",
            HOP_EDOMAIN, "total_ut_steps: 10000");
    refused("{\"model_type\":\"ouro\",\"num_hidden_layers\":10000," SIZES "}", HOP_EDOMAIN,
            "num_hidden_layers");
    refused("{\"model_type\":\"llama\",\"num_hidden_layers\":2," SIZES ",\"num_loops\":3}", HOP_EUNKNOWN,
            "num_loops");
}

static void borrowed_caches_and_sparse_layers_are_marked(void **state)
{
    (void)state;
    hop_hf_plan p;
    hop_error err = {0};
    assert_int_equal(
        read_plan(&p,
                  "{\"model_type\":\"deepseek_v4\",\"num_hidden_layers\":3,\"compress_ratios\":[0,4,128,0],"
                  "\"num_nextn_predict_layers\":1}",
                  &err),
        HOP_OK);
    assert_string_equal(p.pattern, "SSS");
    assert_false(p.layers[0].sparse);
    assert_int_equal(p.layers[0].window, 128);
    assert_true(p.layers[1].sparse && p.layers[2].sparse && p.layers[1].window == 0);
    hop_hf_free(&p);
    assert_int_equal(
        read_plan(&p, "{\"model_type\":\"gemma3n_text\",\"num_hidden_layers\":5,\"num_kv_shared_layers\":2}",
                  &err),
        HOP_OK);
    assert_false(p.layers[2].borrows_cache);
    assert_true(p.layers[3].borrows_cache && p.layers[4].borrows_cache);
    hop_hf_free(&p);
}

static void chunks_are_told_from_windows(void **state)
{
    (void)state;
    hop_hf_plan p;
    hop_error err = {0};
    assert_int_equal(
        read_plan(&p, "{\"model_type\":\"llama4_text\",\"num_hidden_layers\":4," SIZES "}", &err), HOP_OK);
    assert_string_equal(p.pattern, "SSSF");
    assert_true(p.layers[0].chunked && p.layers[0].window == 8192);
    assert_true(!p.layers[3].chunked && p.layers[3].window == 0);
    assert_int_equal(p.hidden, 4096);
    hop_hf_free(&p);
    assert_int_equal(read_plan(&p,
                               "{\"model_type\":\"new\"," SIZES ",\"layer_types\":[\"chunked_attention\","
                               "\"sliding_attention\"],\"attention_chunk_size\":64,\"sliding_window\":16}",
                               &err),
                     HOP_OK);
    assert_true(p.layers[0].chunked && p.layers[0].window == 64);
    assert_true(!p.layers[1].chunked && p.layers[1].window == 16);
    hop_hf_free(&p);
}

static bool assumes(const hop_hf_plan *p, const char *text)
{
    for (int i = 0; i < p->assumed_count; i++)
        if (strcmp(p->assumed[i].text, text) == 0) return true;
    return false;
}

static void lengths_left_to_the_class_are_assumed(void **state)
{
    (void)state;
    hop_hf_plan p;
    hop_error err = {0};
    /* as gemma-3-4b-it */
    const char *text =
        "{\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\",\"hidden_size\":2560,"
        "\"num_hidden_layers\":34,\"sliding_window\":1024}}";
    assert_int_equal(read_plan(&p, text, &err), HOP_OK);
    assert_int_equal(p.context, 131072);
    assert_true(p.context_assumed && assumes(&p, "max_position_embeddings = 131072"));
    hop_hf_free(&p);
    assert_int_equal(read_plan(&p, "{\"model_type\":\"gemma3n_text\"}", &err), HOP_OK);
    assert_int_equal(p.context, 32768);
    assert_true(assumes(&p, "num_kv_shared_layers = 15"));
    assert_true(!p.layers[19].borrows_cache && p.layers[20].borrows_cache);
    hop_hf_free(&p);
    text = "{\"model_type\":\"gemma3_text\",\"max_position_embeddings\":32768}";
    assert_int_equal(read_plan(&p, text, &err), HOP_OK);
    assert_true(p.context == 32768 && !p.context_assumed);
    hop_hf_free(&p);
}

static void what_is_assumed_is_told_from_what_is_declared(void **state)
{
    (void)state;
    hop_hf_plan p;
    hop_error err = {0};
    const char *text =
        "{\"model_type\":\"jamba\",\"num_hidden_layers\":8,\"hidden_size\":64,\"num_attention_heads\":8,"
        "\"mamba_d_state\":8,\"dtype\":\"float16\",\"torch_dtype\":\"bfloat16\"}";
    assert_int_equal(read_plan(&p, text, &err), HOP_OK);
    assert_string_equal(p.dtype, "float16");
    bool declared = false, assumed = false, wrong = false;
    for (int i = 0; i < p.declared_count; i++) {
        declared = declared || strcmp(p.declared[i].text, "mamba_d_state = 8") == 0;
        wrong = wrong || strncmp(p.declared[i].text, "mamba_d_conv", 12) == 0;
    }
    for (int i = 0; i < p.assumed_count; i++)
        assumed = assumed || strcmp(p.assumed[i].text, "mamba_d_conv = 4") == 0;
    assert_true(declared && assumed && !wrong);
    assert_string_equal(p.linear.declared_by, "");
    hop_hf_free(&p);
    text = "{\"model_type\":\"qwen3_next\",\"num_hidden_layers\":4,\"mamba_ssm_dtype\":\"bfloat16\"}";
    assert_int_equal(read_plan(&p, text, &err), HOP_OK);
    assert_string_equal(p.linear.declared_by, "mamba_ssm_dtype");
    assert_string_equal(p.linear.state_dtype, "bfloat16");
    hop_hf_free(&p);
}

static void what_is_not_known_is_refused_with_the_keys_looked_for(void **state)
{
    (void)state;
#define PLAIN "\"num_hidden_layers\":4,\"hidden_size\":64,\"num_attention_heads\":8"
    refused("{}", HOP_EUNKNOWN, "none of num_hidden_layers");
    refused("{\"model_type\":\"resnet\",\"num_hidden_layers\":4}", HOP_EUNKNOWN, "no decoder");
    refused("{\"model_type\":\"new\"," PLAIN "}", HOP_EUNKNOWN, "unknown family: model_type \"new\"");
    refused("{\"model_type\":\"gemma2 vaultgemma\"," PLAIN "}", HOP_EUNKNOWN, "unknown family");
    refused("{" PLAIN "}", HOP_EUNKNOWN, "unknown family: model_type \"\"");
    refused("{\"model_type\":\"new\"," PLAIN ",\"layer_types\":[]}", HOP_EUNKNOWN, "unknown family");
    refused("{\"model_type\":\"new\"," PLAIN ",\"linear_attn_config\":{\"kda_layers\":[]}}", HOP_EUNKNOWN,
            "unknown layer plan");
    refused("{\"model_type\":\"new\"," PLAIN ",\"attn_type_list\":[1,1,1,0]}", HOP_EUNKNOWN,
            "has attn_type_list");
    refused("{\"model_type\":\"new\"," PLAIN ",\"sparse_attention_config\":{\"use_sparse_attention\":false}}",
            HOP_EUNKNOWN, "sparse_attention_config");
    refused("{\"model_type\":\"llama\"," PLAIN ",\"mamba_step\":2}", HOP_EUNKNOWN, "has mamba_step");
    refused("{\"model_type\":\"llama\"," PLAIN ",\"sliding_window\":2}", HOP_EUNKNOWN, "has sliding_window");
    refused("{\"model_type\":\"llama\"," PLAIN ",\"max_window_layers\":1,\"sliding_window\":2}", HOP_EUNKNOWN,
            "has sliding_window");
    refused("{\"model_type\":\"llama\"," PLAIN ",\"use_sliding_window\":true}", HOP_EUNKNOWN,
            "has use_sliding_window");
    refused("{\"model_type\":\"new\"," PLAIN ",\"layer_types\":[\"full_attention\",\"jet\",\"jet\",\"jet\"]}",
            HOP_EUNKNOWN, "\"jet\"");
    refused(
        "{\"model_type\":\"new\"," PLAIN
        ",\"layer_types\":[\"linear_attention\",\"full_attention\",\"full_attention\",\"full_attention\"]}",
        HOP_EUNKNOWN, "linear_num_value_heads");
    refused("{\"model_type\":\"bert\"," PLAIN "}", HOP_EUNKNOWN, "no decoder");
    refused("{\"model_type\":\"new\",\"architectures\":[\"NewForMaskedLM\"]," PLAIN "}", HOP_EUNKNOWN,
            "no decoder");
    refused("{\"model_type\":\"gemma3_text\"," PLAIN ",\"use_bidirectional_attention\":true}", HOP_EUNKNOWN,
            "no decoder");
    refused("{\"model_type\":\"llama\"," PLAIN ",\"cross_attention_layers\":[3]}", HOP_EUNKNOWN,
            "has cross_attention_layers");
    refused("{\"model_type\":\"llama\"," PLAIN ",\"per_layer_config\":{\"0\":{}}}", HOP_EUNKNOWN,
            "per_layer_config");
    refused("{\"model_type\":\"minimax_m1\"," PLAIN "}", HOP_EUNKNOWN, "attn_type_list");
    refused("{\"model_type\":\"lfm2_moe\"," PLAIN "}", HOP_EUNKNOWN, "layer_types");
    /* what the class would say is not the share of the width, or not known */
    refused("{\"model_type\":\"new_vl\",\"text_config\":{\"model_type\":\"new\",\"hidden_size\":64,\"num_"
            "attention_heads\":8,"
            "\"num_key_value_heads\":8,\"layer_types\":[\"full_attention\"]}}",
            HOP_EUNKNOWN, "head_dim: absent");
    refused("{\"model_type\":\"glm4\"," PLAIN ",\"head_dim\":8}", HOP_EUNKNOWN,
            "num_key_value_heads: absent");
    refused("{\"model_type\":\"helium\"," PLAIN ",\"num_key_value_heads\":8}", HOP_EUNKNOWN,
            "head_dim: absent");
    refused("[]", HOP_EFORMAT, "not a JSON object");
}

/* Encoders, parts of other models, and decoders whose attention has no rule here: with the keys of a plain
 * decoder none of them becomes one. */
static void foreign_model_types_are_never_taken_for_full_attention(void **state)
{
    (void)state;
    static const char types[] =
        "aimv2 aimv2_text_model albert align altclip_text_model autoformer axk1 bark bart beit bert- "
        "generation big_bird bigbird_pegasus bit blenderbot blip blip_2_qformer blip_text_model blt "
        "blt_local_encoder bridgetower bros camembert canine chameleon_vqgan chmv2 clap clip_text_model "
        "clip_vision_model clvp cohere_asr colqwen2 convbert convnext cpmant csm cvt dab-detr dac "
        "data2vec-text deberta-v2 decision_transformer deepseek_ocr2_encoder deit depth_pro detr dia "
        "diffllama dinat dinov2 distilbert doge donut-swin dpr dpt edgetam efficientnet electra "
        "emu3_vqgan encodec eomt esm esmfold2 eurobert evolla exaone4_5_vision fastspeech2_conformer "
        "flaubert flava fnet focalnet fsmt funnel gemma3n_audio gemma4_assistant gemma4_vision git "
        "glm4v_vision glm_image_vqmodel glpn granite_speech_encoder groupvit hgnet_v2 hiera hrm_text "
        "hubert ibert idefics idefics2_perceiver ijepa imagegpt informer instructblip "
        "internvl_vision janus_vqgan jetmoe jina_embeddings_v3 kosmos_2_text_model kyutai_speech_to_text "
        "lasr_encoder layoutlm layoutlmv3 led levit lightglue lilt longformer longt5 luke lw_detr lxmert "
        "m2m_100 marian markuplm mask2former mbart megatron-bert metaclip_2 mgp-str mimi "
        "mlcd_vision_model mllama_text_model mobilebert mobilevit modernbert moonshine moshi mpnet mra "
        "mt5 musicgen_decoder mvp nllb-moe nomic_bert nougat nystromformer omdet-turbo oneformer "
        "openai_privacy_filter owlvit paligemma parakeet_encoder patchtst pe_audio_encoder pegasus "
        "perceiver pi0 pix2struct pixtral plbart poolformer pop2piano pp_ocrv5_server_rec prophetnet pvt "
        "qwen2_audio_encoder qwen3_asr_encoder rag reformer regnet rembert resnet rf_detr roberta "
        "roberta-prelayernorm roc_bert roformer rt_detr sam sam2_vision_model sam3_detr_decoder "
        "seamless_m4t segformer seggpt sew siglip_text_model siglip_vision_model speech_to_text speecht5 "
        "splinter squeezebert superglue swiftformer swin swinv2 switch_transformers t5 t5gemma "
        "t5gemma2_decoder tapas textnet timesfm timesformer trocr tvp udop umt5 unispeech univnet upernet "
        "videomae vilt visual_bert vit vit_mae vit_msn vitdet vits vivit vjepa2 wav2vec2 wav2vec2-bert "
        "wavlm whisper xclip xlm xlm-roberta xlm-roberta-xl xlnet xmod yolos yoso zoedepth deci nemotron- "
        "nas openelm mobilellm plamo2 jet_nemotron arctic dbrx2 molmo llada Dream sdar minicpm_sala "
        "longllama grok-1 abc bitnet2 cat deltaformer lightnet log_linear_mamba2 mesa_net mla moba mom "
        "nsa path_attn rodimus ";
    int count = 0;
    for (const char *at = types; *at; at += strcspn(at, " ") + 1, count++) {
        char text[300];
        snprintf(text, sizeof text, "{\"model_type\":\"%.*s\"," PLAIN ",\"num_layers\":4,\"num_heads\":8}",
                 (int)strcspn(at, " "), at);
        hop_hf_plan p;
        hop_error err = {0};
        if (read_plan(&p, text, &err) != HOP_EUNKNOWN)
            fail_msg("%s\n%s", text, p.pattern ? p.pattern : err.text);
        if (!strstr(err.text, "unknown family") && !strstr(err.text, "no decoder"))
            fail_msg("%s\n%s", text, err.text);
    }
    assert_true(count > 250);
}

static void what_looks_ahead_is_no_decoder_whatever_else_it_says(void **state)
{
    (void)state;
    static const char *const types[] = {
        "bert",    "megatron-bert",       "xlm-roberta",         "vit_mae",   "t5",
        "whisper", "siglip_vision_model", "qwen2_audio_encoder", "paligemma", "clip"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "{\"model_type\":\"%s\"," PLAIN ",\"layer_types\":[\"full_attention\","
                 "\"full_attention\",\"full_attention\",\"full_attention\"]}",
                 types[i]);
        refused(text, HOP_EUNKNOWN, "no decoder");
    }
    static const char *const keys[] = {"\"is_encoder_decoder\":true",
                                       "\"is_causal\":false",
                                       "\"bidirectional\":true",
                                       "\"prefix_lm\":true",
                                       "\"use_bidirectional_attention\":\"all\"",
                                       "\"architectures\":[\"LlamaBidirectionalModel\"]",
                                       "\"architectures\":[\"LlamaForCausalLMEagle3\"]",
                                       "\"architectures\":[\"DFlashDraftModel\"]",
                                       "\"num_target_layers\":32"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char text[300];
        snprintf(text, sizeof text, "{\"model_type\":\"llama\"," PLAIN ",%s}", keys[i]);
        refused(text, HOP_EUNKNOWN, "no decoder");
        snprintf(text, sizeof text,
                 "{\"model_type\":\"x\",%s,\"text_config\":{\"model_type\":\"llama\"," PLAIN "}}", keys[i]);
        refused(text, HOP_EUNKNOWN, "no decoder");
    }
    static const expectation images = {"{\"model_type\":\"gemma4_text\",\"num_hidden_layers\":1,"
                                       "\"use_bidirectional_attention\":\"vision\"}",
                                       .pattern = "F", .attention = "gqa"};
    check_plan(&images);
}

static void keys_of_foreign_attention_are_refused_in_every_family(void **state)
{
    (void)state;
    static const char *const keys[][2] = {
        {"\"moba_chunk_size\":512", "moba_chunk_size"},
        {"\"moba_topk\":8", "moba_topk"},
        {"\"nsa_block_size\":64", "nsa_block_size"},
        {"\"use_nsa\":true", "use_nsa"},
        {"\"sparse_config\":{\"kernel_size\":32,\"topk\":64}", "sparse_config"},
        {"\"blocksparse_block_size\":64", "blocksparse_block_size"},
        {"\"dense_attention_every_n_layers\":2", "dense_attention_every_n_layers"},
        {"\"block_sparse_attention\":{}", "block_sparse_attention"},
        {"\"attention_mode\":\"strided\"", "attention_mode"},
        {"\"sparse_attention\":true", "sparse_attention"},
        {"\"sparse_attention_config\":{\"sparse_block_size\":64}", "sparse_attention_config"},
        {"\"attention_chunk_size\":512", "attention_chunk_size"},
    };
    static const char *const families[] = {"llama", "minicpm", "qwen3", "phi3", "deepseek_v3", "gemma3_text"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
            char text[400];
            snprintf(text, sizeof text, "{\"model_type\":\"%s\"," PLAIN ",\"kv_lora_rank\":8,%s}",
                     families[k], keys[i][0]);
            bool slides = strcmp(families[k], "gemma3_text") == 0;
            if (slides && i == 11) continue; /* there it is the length of the layers S */
            refused(text, HOP_EUNKNOWN, keys[i][1]);
        }
    refused("{\"model_type\":\"llama\"," PLAIN ",\"layer_types\":[\"full_attention\",\"full_attention\","
            "\"full_attention\",\"full_attention\"],\"moba_topk\":8}",
            HOP_EUNKNOWN, "moba_topk");
    static const expectation off = {"{\"model_type\":\"llama\"," PLAIN
                                    ",\"moba_topk\":null,\"use_nsa\":false}",
                                    .pattern = "FFFF", .attention = "mha"};
    check_plan(&off);
}

/* A full layer that is overlooked, or a window that is: both would make a verdict wrong. */
static void keys_that_no_rule_reads_refuse_the_plans_that_they_contradict(void **state)
{
    (void)state;
#define SMALL_MAMBA "\"num_hidden_layers\":4,\"hidden_size\":64"
    static const char *const files[][2] = {
        {"{\"model_type\":\"mamba2\"," SMALL_MAMBA ",\"attn_layer_idx\":[1,3]}", "attn_layer_idx"},
        {"{\"model_type\":\"mamba\"," SMALL_MAMBA ",\"hybrid_layers\":[1]}", "hybrid_layers"},
        {"{\"model_type\":\"gla\"," SMALL_MAMBA ",\"full_attention_layers\":[1]}", "full_attention_layers"},
        {"{\"model_type\":\"rwkv7\"," SMALL_MAMBA ",\"attn_every_n\":2}", "attn_every_n"},
        {"{\"model_type\":\"granitemoehybrid\"," PLAIN ",\"attn_layer_indices\":[1]}", "attn_layer_indices"},
        {"{\"model_type\":\"mistral\"," PLAIN ",\"global_attn_every_n_layers\":2}",
         "global_attn_every_n_layers"},
        {"{\"model_type\":\"jamba\"," PLAIN
         ",\"num_key_value_heads\":8,\"attn_layer_offset\":1,\"sliding_window\":16}",
         "sliding_window"},
        {"{\"model_type\":\"minimax\"," PLAIN ",\"num_key_value_heads\":8,\"sliding_window\":16}",
         "sliding_window"},
        {"{\"model_type\":\"mpt\",\"n_layers\":2,\"n_heads\":4,\"d_model\":64,\"attn_config\":{\"sliding_"
         "window_size\":8}}",
         "sliding_window_size"},
        {"{\"model_type\":\"minicpm\"," PLAIN ",\"mixer_types\":[\"a\",\"b\"]}", "mixer_types"},
        {"{\"model_type\":\"mpt\",\"n_layers\":2,\"n_heads\":4,\"d_model\":64,\"block_overrides\":{\"order\":"
         "[]}}",
         "block_overrides"},
        {"{\"model_type\":\"qwen2\"," PLAIN
         ",\"dual_chunk_attention_config\":{\"chunk_size\":64,\"sparse_attention_enabled\":true}}",
         "dual_chunk_attention_config"},
        {"{\"model_type\":\"hunyuan_v1_moe\"," PLAIN ",\"use_cla\":true}", "use_cla"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) refused(files[i][0], HOP_EUNKNOWN, files[i][1]);
    refused("{\"model_type\":\"qwen3\"," PLAIN ",\"layer_types\":[\"sliding_attention\",\"full_attention\","
            "\"full_attention\",\"full_attention\"],\"sliding_window\":16}",
            HOP_EDOMAIN, "use_sliding_window");
    refused("{\"model_type\":\"olmo3\"," PLAIN ",\"use_sliding_window\":false}", HOP_EDOMAIN,
            "use_sliding_window");
    static const expectation fine[] = {
        {"{\"model_type\":\"hunyuan_v1_moe\"," PLAIN
         ",\"num_key_value_heads\":8,\"use_cla\":false,\"cla_share_factor\":2}",
         .pattern = "FFFF", .attention = "mha"},
        {"{\"model_type\":\"mamba2\",\"num_hidden_layers\":1,\"hidden_size\":64,\"attn_layer_idx\":[],\"attn_"
         "cfg\":{}}",
         .pattern = "L", .linear = "mamba2"},
    };
    CHECK(fine);
}

static void files_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
#define HEADS "\"hidden_size\":64,\"num_attention_heads\":8"
    refused("{\"model_type\":\"llama\",\"num_hidden_layers\":0," HEADS "}", HOP_EDOMAIN,
            "num_hidden_layers: 0");
    refused("{\"model_type\":\"llama\",\"num_hidden_layers\":-1," HEADS "}", HOP_EDOMAIN,
            "num_hidden_layers: -1");
    refused("{\"model_type\":\"llama\",\"num_hidden_layers\":2.5," HEADS "}", HOP_EFORMAT, "not an integer");
    refused("{\"model_type\":\"llama\",\"num_hidden_layers\":1e12," HEADS "}", HOP_EDOMAIN, "1000000000000");
    refused("{\"model_type\":\"llama\",\"num_hidden_layers\":NaN," HEADS "}", HOP_EFORMAT, "not an integer");
    refused("{\"model_type\":\"llama\",\"num_hidden_layers\":\"4\"," HEADS "}", HOP_EFORMAT,
            "not an integer");
    refused("{\"model_type\":\"gpt_oss\",\"num_hidden_layers\":3," HEADS
            ",\"layer_types\":[\"full_attention\"]}",
            HOP_EFORMAT, "1 entries for 3 layers");
    refused("{\"model_type\":\"nemotron_h\",\"num_hidden_layers\":3," HEADS
            ",\"hybrid_override_pattern\":\"M*\"}",
            HOP_EFORMAT, "2 entries for 3 layers");
    refused("{\"model_type\":\"nemotron_h\"," HEADS ",\"hybrid_override_pattern\":\"MQ\"}", HOP_EUNKNOWN,
            "'Q'");
    refused("{\"model_type\":\"bamba\"," PLAIN ",\"attn_layer_indices\":[4]}", HOP_EDOMAIN, "no layer 4");
    refused("{\"model_type\":\"bamba\"," PLAIN ",\"attn_layer_indices\":7}", HOP_EFORMAT, "not a list");
    refused("{\"model_type\":\"llama\"," PLAIN ",\"num_key_value_heads\":3}", HOP_EDOMAIN, "does not divide");
    refused("{\"model_type\":\"kimi_linear\"," PLAIN
            ",\"kv_lora_rank\":8,\"linear_attn_config\":{\"kda_layers\":[0,4]}}",
            HOP_EDOMAIN, "neither from 0 nor from 1");
    refused("{\"model_type\":\"kimi_linear\"," PLAIN
            ",\"kv_lora_rank\":8,\"linear_attn_config\":{\"kda_layers\":[1,2],"
            "\"full_attn_layers\":[2,4]}}",
            HOP_EDOMAIN, "do not agree on layer 2");
    refused("{\"model_type\":\"mamba2\",\"num_hidden_layers\":1,\"hidden_size\":64,\"num_heads\":1048576,"
            "\"head_dim\":1048576,"
            "\"state_size\":1048576}",
            HOP_EDOMAIN, "more than a layer can hold");
    refused("{\"model_type\":\"bailing_hybrid\",\"num_hidden_layers\":4,\"hidden_size\":64,\"num_attention_heads\":8,"
            "\"layer_group_size\":4,\"num_kv_heads_for_linear_attn\":4}",
            HOP_EUNKNOWN, "how they share is not known");
    refused("{\"model_type\":\"delta_net\",\"num_hidden_layers\":1,\"hidden_size\":64}", HOP_EUNKNOWN,
            "num_heads: absent");
    refused("{\"model_type\":7}", HOP_EFORMAT, "model_type: not a string");
}

static void patterns_are_shortened_where_that_is_shorter(void **state)
{
    (void)state;
    static const char *const list[][2] = {{"LLLFLLLFLLLFLLF", "(LLLF)x3LLF"},
                                          {"LLFLLF", "LLFLLF"},
                                          {"FFF", "FFF"},
                                          {"FFFFFFFFFFFF", "(F)x12"},
                                          {"", ""},
                                          {"L", "L"}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        hop_text out = {0};
        hop_hf_short(list[i][0], &out);
        assert_string_equal(out.s ? out.s : "", list[i][1]);
        hop_text_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_decoders_attend_to_everything),
        cmocka_unit_test(windows_follow_each_familys_rule),
        cmocka_unit_test(block_sparse_layers_are_told_from_dense_ones),
        cmocka_unit_test(hybrids_follow_each_familys_rule),
        cmocka_unit_test(recurrences_have_the_state_of_their_definition),
        cmocka_unit_test(attention_layers_between_recurrences_are_one_object_or_a_list),
        cmocka_unit_test(layers_that_run_several_times_are_in_the_plan_as_often),
        cmocka_unit_test(foreign_model_types_are_never_taken_for_full_attention),
        cmocka_unit_test(what_looks_ahead_is_no_decoder_whatever_else_it_says),
        cmocka_unit_test(borrowed_caches_and_sparse_layers_are_marked),
        cmocka_unit_test(chunks_are_told_from_windows),
        cmocka_unit_test(lengths_left_to_the_class_are_assumed),
        cmocka_unit_test(what_is_assumed_is_told_from_what_is_declared),
        cmocka_unit_test(what_is_not_known_is_refused_with_the_keys_looked_for),
        cmocka_unit_test(keys_of_foreign_attention_are_refused_in_every_family),
        cmocka_unit_test(keys_that_no_rule_reads_refuse_the_plans_that_they_contradict),
        cmocka_unit_test(files_that_contradict_themselves_are_refused),
        cmocka_unit_test(patterns_are_shortened_where_that_is_shorter),
    };
    return cmocka_run_group_tests_name("hf", tests, NULL, NULL);
}
