/* hf: what files of model families are read as, or why they are refused. Files, in the manner of the real
 * ones, and what must come of them stand in tests/data/plans.json; fixtures of whole models are compared in
 * tests/cli/cases_audit.py. */
#include "test.h"

#include <hopbound/hf.h>

static hop_status read_plan(hop_hf_plan *p, const char *text, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_parse(&doc, text, strlen(text), err);
    if (s != HOP_OK) fail_msg("%s: %s", text, err->text);
    s = hop_hf_read(p, doc.root, NULL, err);
    hop_json_free(&doc);
    return s;
}

static void refused(const char *text, hop_status status, const char *why)
{
    hop_hf_plan p;
    hop_error err = {0};
    hop_status s = read_plan(&p, text, &err);
    if (s != status || !strstr(err.text, why))
        fail_msg("%s\n%d %s, wanted %d %s", text, s, err.text, status, why);
    if (p.layers || p.pattern || p.count) fail_msg("%s: the plan is not empty", text);
}

/* ---- tests/data/plans.json ---------------------------------------------------------------------------- */

/* clang-format off */
#define NUMBERS(X)                                                                          \
    X(heads, attention.heads) X(kv_heads, attention.kv_heads) X(qk_dim, attention.qk_dim)   \
    X(v_dim, attention.v_dim) X(cache, attention.cache_elems) X(reply, attention.reply_dim) \
    X(conv_before, attention.conv_before) X(conv_after, attention.conv_after)               \
    X(sliding_heads, sliding.heads) X(sliding_conv_before, sliding.conv_before)             \
    X(recurrent, linear.recurrent_elems) X(conv, linear.conv_elems) X(window, window)       \
    X(layers, count) X(loops, loops) X(tied, tied) X(hidden, hidden) X(context, context)    \
    X(context_assumed, context_assumed) X(ids, vocabulary) X(topk, index_topk)
#define TEXTS(X)                                                                              \
    X(pattern, pattern) X(source, source) X(attention, attention.kind) X(linear, linear.kind) \
    X(dtype, dtype) X(state_dtype, linear.state_dtype) X(declared_by, linear.declared_by)
#define LAYERS(X)                                                                      \
    X(windows, window) X(sparse, sparse) X(chunked, chunked) X(borrows, borrows_cache)
/* clang-format on */

/* Every layer's number. */
static bool same_layers(const hop_hf_plan *p, const hop_json *wanted)
{
    const hop_json *v = wanted->child;
    bool same = wanted->count == (size_t)p->count;
    for (int64_t i = 0; same && i < p->count; i++, v = v->next) {
        const hop_hf_layer *l = &p->layers[i];
#define IS(name, member) \
    if (strcmp(wanted->key, #name) == 0) same = v->integer == (int64_t)l->member;
        LAYERS(IS)
#undef IS
    }
    return same;
}

static bool noted(const hop_hf_note *notes, int count, const hop_json *wanted)
{
    int found = 0;
    for (const hop_json *v = wanted->child; v; v = v->next)
        for (int i = 0; i < count; i++) found += strcmp(notes[i].text, v->string) == 0;
    return found == (int)wanted->count;
}

/* One thing that is wanted of a plan; what nobody knows how to ask is none. */
static bool is_so(const hop_hf_plan *p, const hop_json *v)
{
#define IS(name, member) \
    if (strcmp(v->key, #name) == 0) return v->type == HOP_JSON_INT && v->integer == (int64_t)p->member;
    NUMBERS(IS)
#undef IS
#define IS(name, member) \
    if (strcmp(v->key, #name) == 0) return strcmp(p->member, v->string) == 0;
    TEXTS(IS)
#undef IS
#define IS(name, member) \
    if (strcmp(v->key, #name) == 0) return same_layers(p, v);
    LAYERS(IS)
#undef IS
    if (strcmp(v->key, "assumed") == 0) return noted(p->assumed, p->assumed_count, v);
    if (strcmp(v->key, "declared") == 0) return noted(p->declared, p->declared_count, v);
    return strcmp(v->key, "config") == 0;
}

static hop_status status_called(const char *name)
{
#define IS(code, value, text) \
    if (strcmp(name, #code) == 0) return HOP_##code;
    HOP_STATUS_LIST(IS)
#undef IS
    return HOP_OK;
}

static void check_line(const char *group, int number, const hop_json *line)
{
    hop_hf_plan p;
    hop_error err = {0};
    const hop_json *why = hop_json_get(line, "refused");
    hop_status s = hop_hf_read(&p, hop_json_get(line, "config"), NULL, &err);
    if (why) {
        hop_status wanted = status_called(hop_json_get(line, "status")->string);
        if (s != wanted || !strstr(err.text, why->string) || p.layers || p.pattern || p.count)
            fail_msg("%s, %d: %d %s, wanted %d %s", group, number, s, err.text, wanted, why->string);
        return;
    }
    if (s != HOP_OK) fail_msg("%s, %d: %s", group, number, err.text);
    for (const hop_json *v = line->child; v; v = v->next)
        if (!is_so(&p, v))
            fail_msg("%s, %d: %s is not as wanted; %s from %s", group, number, v->key, p.pattern, p.source);
    hop_hf_free(&p);
}

static void every_file_is_read_or_refused_as_its_line_says(void **state)
{
    (void)state;
    char path[4096];
    hop_json_doc doc = {0};
    hop_error err = {0};
    int lines = 0;
    assert_int_equal(hop_json_load(&doc, test_data(path, sizeof path, "plans.json"), &err), HOP_OK);
    for (const hop_json *group = doc.root->child; group; group = group->next) {
        int number = 1;
        for (const hop_json *line = group->child; line; line = line->next)
            check_line(group->key, number++, line);
        lines += number - 1;
    }
    assert_true(lines > 150);
    hop_json_free(&doc);
}

/* ---- many families, many keys ----------------------------------------------------------------------- */

#define PLAIN "\"num_hidden_layers\":4,\"hidden_size\":64,\"num_attention_heads\":8"

static void foreign_model_types_are_never_taken_for_full_attention(void **state)
{
    (void)state;
    static const char types[] =
        "aimv2 aimv2_text_model albert align altclip_text_model autoformer bark bart beit bert- "
        "generation big_bird bigbird_pegasus bit blenderbot blip blip_2_qformer blip_text_model blt "
        "blt_local_encoder bridgetower bros camembert canine chameleon_vqgan chmv2 clap clip_text_model "
        "clip_vision_model clvp cohere_asr colqwen2 convbert convnext cpmant csm cvt dab-detr dac "
        "data2vec-text deberta-v2 decision_transformer deepseek_ocr2_encoder deit depth_pro detr dia "
        "dinat dinov2 distilbert donut-swin dpr dpt edgetam efficientnet electra "
        "emu3_vqgan encodec eomt esm esmfold2 eurobert evolla exaone4_5_vision fastspeech2_conformer "
        "flaubert flava fnet focalnet fsmt funnel gemma3n_audio gemma4_assistant gemma4_vision git "
        "glm4v_vision glm_image_vqmodel glpn granite_speech_encoder groupvit hgnet_v2 hiera hrm_text "
        "hubert ibert idefics idefics2_perceiver ijepa imagegpt informer instructblip "
        "internvl_vision janus_vqgan jina_embeddings_v3 kosmos_2_text_model kyutai_speech_to_text "
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
        "nas openelm mobilellm jet_nemotron arctic dbrx2 molmo llada Dream sdar "
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
    assert_true(count > 240);
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

/* ---- layers that a file calls full and that look at chosen tokens only -------------------------------- */

#define LISTED                                                                                        \
    "\"num_hidden_layers\":2,\"hidden_size\":64,\"num_attention_heads\":4,\"num_key_value_heads\":4," \
    "\"layer_types\":[\"full_attention\",\"full_attention\"]"

/* Two full layers and one key more, of a family and of a class that nobody knows. */
static hop_status with_key(hop_hf_plan *p, const char *family, const char *key, hop_error *err)
{
    char text[500];
    snprintf(text, sizeof text, "{\"model_type\":\"%s\"," LISTED ",%s}", family, key);
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
        "\"num_experts_per_tok\":8",
        "\"norm_topk_prob\":true",
        "\"moe_topk\":2",
        "\"topk_group\":4",
        "\"topk_method\":\"greedy\"",
        "\"moe_router_topk\":2",
        "\"expert_topk\":2",
        "\"top_k\":50",
        "\"num_experts_per_topk\":2",
        "\"norm_top_k_prob\":true",
        "\"image_token_index\":7",
        "\"compression_config\":{\"a\":1}",
        "\"compression_ratio\":1.0",
        "\"index_topk\":null",
        "\"indexer_n_heads\":0",
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_read_or_refused_as_its_line_says),
        cmocka_unit_test(foreign_model_types_are_never_taken_for_full_attention),
        cmocka_unit_test(what_looks_ahead_is_no_decoder_whatever_else_it_says),
        cmocka_unit_test(keys_of_foreign_attention_are_refused_in_every_family),
        cmocka_unit_test(patterns_are_shortened_where_that_is_shorter),
        cmocka_unit_test(a_key_about_picked_tokens_beside_full_layers_is_refused_by_name),
        cmocka_unit_test(keys_of_routers_sampling_and_weights_are_no_such_keys),
        cmocka_unit_test(layers_with_a_budget_of_tokens_are_sparse),
    };
    return cmocka_run_group_tests_name("hf", tests, NULL, NULL);
}
