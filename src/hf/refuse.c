/* What cannot be read, or is of no use here, is refused loudly: networks that look ahead, layers that differ
 * one by one, values of a wrong type, and keys of attention whose rule is not known. */
#include "room.h"

#include <stdio.h>
#include <string.h>

bool hop__hf_named(const char *names, const char *name)
{
    char padded[80];
    snprintf(padded, sizeof padded, " %.70s ", name);
    return !strchr(name, ' ') && strstr(names, padded) != NULL;
}

static bool is_off(const hop_json *v)
{
    return v->type == HOP_JSON_NULL || (v->type == HOP_JSON_BOOL && !v->boolean);
}

/* ---- no decoders --------------------------------------------------------------------------- */

/* The theorems are about networks that read from left to right. Encoders, and what has one: of text, of
 * images, of sound, of time series; and decoders that look ahead in their prompt. Those with "bert" in their
 * name are known by it. */
static const char NO_DECODERS[] =
    " electra big_bird longformer canine luke mpnet ernie esm esmc funnel fnet yoso nystromformer mra "
    "perceiver deberta deberta-v2 xlm xlnet xmod lilt bros layoutlm layoutlmv2 layoutlmv3 layoutxlm "
    "markuplm tapas splinter dpr roformer data2vec-text openai_privacy_filter jina_embeddings_v3 t5 "
    "mt5 umt5 longt5 switch_transformers t5gemma t5gemma2 bart mbart plbart mvp pegasus pegasus_x "
    "bigbird_pegasus prophetnet xlm-prophetnet blenderbot blenderbot-small marian m2m_100 nllb-moe "
    "fsmt led encoder-decoder vision-encoder-decoder speech-encoder-decoder rag gptsan "
    "gptsan-japanese paligemma colpali pi0 cpmant diffusion_gemma diffusion_gemma_text llada Dream "
    "vit vit_mae vit_msn vit_hybrid vitdet vitmatte vitpose vitpose_backbone vivit deit beit swin "
    "swinv2 swin2sr donut-swin dinov2 dinov2_with_registers dinov3_vit dinat nat ijepa vjepa2 clip "
    "clipseg chinese_clip altclip align siglip siglip2 groupvit owlvit owlv2 flava lxmert vilt "
    "bridgetower segformer seggpt sam sam2 sam3 detr conditional_detr deformable_detr yolos levit "
    "mobilevit mobilevitv2 cvt pvt pvt_v2 hiera videomae timesformer dpt glpn mask2former maskformer "
    "oneformer table-transformer timm_wrapper timm_backbone tvp resnet convnext convnextv2 regnet "
    "efficientnet mobilenet_v1 mobilenet_v2 focalnet poolformer florence2 pix2struct udop nougat "
    "whisper wav2vec2 wav2vec2-conformer hubert wavlm unispeech unispeech-sat sew sew-d "
    "data2vec-audio data2vec-vision speecht5 speech_to_text seamless_m4t seamless_m4t_v2 clap "
    "musicgen musicgen_melody encodec mimi dac vits audio-spectrogram-transformer moonshine informer "
    "autoformer time_series_transformer patchtst patchtsmixer ";

static bool is_no_decoder(const char *type)
{
    return hop__hf_named(NO_DECODERS, type) || (strstr(type, "bert") && !strstr(type, "decoder")) ||
           hop__hf_ends_with(type, "_encoder") || hop__hf_ends_with(type, "_vision_model");
}

/* What the class is called tells what it does. */
static bool class_is_no_decoder(const hop__hf *r)
{
    static const char *const words[] = {
        "MaskedLM",       "Bidirectional", "BiModel", "Encoder", "Diffusion", "ImageClassification",
        "ForPreTraining", "Draft",         "Eagle",   "Medusa"};
    const hop_json *list = hop_json_get(r->root, "architectures");
    for (const hop_json *v = list && list->type == HOP_JSON_ARRAY ? list->child : NULL; v; v = v->next)
        for (size_t i = 0; i < sizeof words / sizeof *words && v->type == HOP_JSON_STRING; i++)
            if (strstr(v->string, words[i])) return true;
    return false;
}

/* A key that says so by being on, or, the last two, by being off; NULL: none. */
static const char *key_of_no_decoder(const hop__hf *r)
{
    static const char *const on[] = {"is_encoder_decoder",      "bidirectional",
                                     "is_bidirectional",        "prefix_lm",
                                     "attn_config.prefix_lm",   "position_encoding_2d",
                                     "block_position_encoding", "use_bidirectional_attention",
                                     "num_target_layers",       "draft_vocab_size",
                                     "dflash_config",           "eagle_config"};
    static const char *const off[] = {"is_causal", "causal"};
    const hop__hf parts[] = {*r, {.text = r->root}};
    for (int p = 0; p < 2; p++) {
        for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
            const hop_json *v = hop__hf_find(&parts[p], on[i]);
            bool vision =
                v && v->type == HOP_JSON_STRING && strcmp(v->string, "vision") == 0; /* images only */
            if (v && !is_off(v) && !vision) return on[i];
        }
        for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
            const hop_json *v = hop__hf_find(&parts[p], off[i]);
            if (v && is_off(v)) return off[i];
        }
    }
    return NULL;
}

#define NO_DECODER                                                                                           \
    "\"%.60s\" is no decoder: it is an encoder, has one, looks ahead, or reads another model's states; the " \
    "theorems are about causal decoders"

void hop__hf_refuse(hop__hf *r)
{
    static const char *const differ[] = {"per_layer_config",
                                         "block_configs",
                                         "num_attention_heads_per_layer",
                                         "num_key_value_heads_per_layer",
                                         "num_query_heads",
                                         "block_overrides"};
    static const char *const flags[] = {"use_cla", "dual_chunk_attention_config.sparse_attention_enabled"};
    const char *type = r->plan->model_type, *outer = NULL, *key = key_of_no_decoder(r);
    if (r->text != r->root) hop_json_read_string(r->root, "model_type", &outer, NULL);
    if (is_no_decoder(type) || (outer && is_no_decoder(outer)) || class_is_no_decoder(r))
        hop__hf_fail(r, HOP_EUNKNOWN, NO_DECODER, outer && is_no_decoder(outer) ? outer : type);
    else if (key)
        hop__hf_fail(r, HOP_EUNKNOWN, "%s: " NO_DECODER, key, type);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (hop__hf_flag(r, flags[i], false)) hop__hf_unknown_rule(r, flags[i]);
    for (size_t i = 0; i < sizeof differ / sizeof *differ; i++)
        if (hop__hf_has(r, differ[i]))
            hop__hf_fail(r, HOP_EUNKNOWN,
                         "%s: layers of different sizes are not read, and without them the plan "
                         "would be wrong",
                         differ[i]);
}

/* ---- types --------------------------------------------------------------------------------- */

/* Keys that rules read, by the type that they have in every family. Where a family does not need a key, a
 * wrong value of it still tells that the file is not what it seems. */
static const struct {
    const char *what, *keys;
    unsigned types; /* bits of hop_json_type */
} key_types[] = {
#define BIT(type) (1u << HOP_JSON_##type)
    {"an integer",
     " num_hidden_layers num_blocks n_layer n_layers num_layers hidden_size d_model n_embd n_embed "
     "embedding_dim num_attention_heads n_head n_heads num_heads attention_heads num_key_value_heads "
     "num_kv_heads n_head_kv num_attention_groups head_dim attention_head_dim kv_channels window_size "
     "sliding_window_size attention_window_size attention_chunk_size max_window_layers "
     "full_attention_interval global_attn_every_n_layers layer_group_size attn_layer_period "
     "attn_layer_offset no_rope_layer_interval first_k_dense_replace "
     "prefix_dense_sliding_window_pattern dense_attention_every_n_layers index_topk kv_lora_rank "
     "qk_rope_head_dim qk_nope_head_dim v_head_dim total_ut_steps num_kv_shared_layers "
     "num_nextn_predict_layers num_mtp_layers mb_per_layer linear_num_key_heads "
     "linear_num_value_heads linear_key_head_dim linear_value_head_dim linear_conv_kernel_dim "
     "mamba_n_heads mamba_d_state mamba_n_groups mamba_d_conv mamba_num_heads mamba_head_dim "
     "ssm_state_size state_size conv_kernel conv_L_cache lru_width conv1d_width n_groups head_size "
     "max_position_embeddings n_positions multi_query_group_num swa_num_attention_heads "
     "swa_num_key_value_heads swa_head_dim global_head_dim ",
     BIT(INT) | BIT(REAL)},
    {"true or false",
     " use_sliding_window multi_query new_decoder_architecture multi_query_attention attention_k_eq_v "
     "use_short_conv use_mla is_encoder_decoder ",
     BIT(BOOL) | BIT(INT)},
    {"a list",
     " layer_types layers_block_type attn_type_list hybrid_layer_pattern compress_ratios "
     "attn_layer_indices full_attn_idxs global_attn_idx hybrid_layer_ids no_rope_layers "
     "attention_layers attention_types block_types _block_types attn_layer_idx kv_reuse_group "
     "architectures ",
     BIT(ARRAY)},
    {"an object",
     " text_config llm_config language_config thinker_config linear_attn_config "
     "sparse_attention_config ssm_cfg attn_cfg attn_config ",
     BIT(OBJECT)},
    {"an object or a list", " attn ", BIT(OBJECT) | BIT(ARRAY)},
    {"a string", " model_type hybrid_override_pattern dtype torch_dtype mamba_ssm_dtype ", BIT(STRING)},
    {"a number or letters", " sliding_window_pattern _sliding_window_pattern ",
     BIT(INT) | BIT(REAL) | BIT(STRING)},
    {"a number or a list", " sliding_window ", BIT(INT) | BIT(REAL) | BIT(ARRAY)},
#undef BIT
};

void hop__hf_refuse_types(hop__hf *r)
{
    for (const hop_json *v = r->text->child; v; v = v->next)
        for (size_t i = 0; i < sizeof key_types / sizeof *key_types; i++) {
            int64_t whole;
            bool real = v->type == HOP_JSON_REAL && !hop_json_int(v, INT64_MIN, INT64_MAX, &whole);
            if (v->type == HOP_JSON_NULL || !hop__hf_named(key_types[i].keys, v->key)) continue;
            if (real || !(key_types[i].types >> v->type & 1))
                hop__hf_fail(r, HOP_EFORMAT, "%s: not %s", v->key, key_types[i].what);
        }
}

/* ---- keys of other mixers ------------------------------------------------------------------ */

void hop__hf_unknown_rule(hop__hf *r, const char *key)
{
    hop__hf_fail(r, HOP_EUNKNOWN,
                 "unknown architecture: model_type \"%s\" has %.40s, whose rule is not known",
                 r->plan->model_type, key);
}

/* Keys that a family's rule needs not look at, whatever they say. */
static const struct {
    const char *family, *key;
} explained[] = {{"phi3small", "blocksparse_"},
                 {"llama4_text", "attention_chunk_size"},
                 {"minimax_m3", "index_"},                      /* of the layers that are listed as sparse */
                 {"qwen4_exp", "full_attention_interval"}}; /* what the list says, too */

/* A rule has used the key, or a member of it. */
static bool was_read(const hop__hf *r, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < sizeof explained / sizeof *explained; i++)
        if (hop__hf_named(r->family->names, explained[i].family) &&
            strncmp(key, explained[i].key, strlen(explained[i].key)) == 0)
            return true;
    for (int i = 0; i < r->plan->declared_count; i++) {
        const char *text = r->plan->declared[i].text;
        if (strncmp(text, key, n) == 0 && (text[n] == ' ' || text[n] == '.')) return true;
    }
    return false;
}

/* Keys that say that a layer does something else than attend to everything, and keys that say that one does
 * attend to everything. */
static const char *const OTHERS[] = {
    "mamba",        "ssm",        "rwkv",       "conv",       "state_size", "recurrent",  "hybrid",
    "delta",        "retention",  "lru_",       "kda",        "linear_att", "linear_num", "linear_key",
    "linear_layer", "full_att",   "global_att", "local_att",  "attn_layer", "attn_type",  "attention_types",
    "block_type",   "sparse_att", "index_topk", "compress_r", "lightning",  "chunked",    "attention_chunk",
    "cross_att",    "expand_k",   "expand_v",   "mixer",      NULL};
static const char *const ATTENTION[] = {"attn_layer",  "attn_idx", "attn_every", "attn_period", "attn_cfg",
                                        "attention_l", "full_att", "full_layer", "global_att",  "global_lay",
                                        "dense_att",   "hybrid",   NULL};

/* The first key that is on, holds one of the words, and that no rule has used; NULL: none. How many layers
 * would have a window says nothing. */
static const char *telltale(const hop__hf *r, const char *const *words)
{
    for (const hop_json *v = r->text->child; v; v = v->next) {
        bool empty = (v->type == HOP_JSON_ARRAY || v->type == HOP_JSON_OBJECT) && v->count == 0;
        if (is_off(v) || empty || strcmp(v->key, "max_window_layers") == 0) continue;
        for (size_t i = 0; words[i]; i++)
            if (strstr(v->key, words[i]) && !was_read(r, v->key)) return v->key;
    }
    return NULL;
}

const char *hop__hf_telltale(const hop__hf *r)
{
    return telltale(r, OTHERS);
}

/* A window that nobody looked at; its length says nothing where windows are not used. */
static const char *unread_window(const hop__hf *r)
{
    static const char *const window[] = {"window", NULL};
    const hop_json *use = hop_json_get(r->text, "use_sliding_window");
    return use && is_off(use) ? NULL : telltale(r, window);
}

/* A family that is known without these is not known with them. The words are a key, or begin it before a
 * '_', also after "use_". Those of the second list say nothing where a list names every layer's kind. */
static const char SPARSE[] =
    " blocksparse block_sparse dense_attention_every_n_layers sparse_config sparse_attn "
    "sparse_attention native_sparse nsa moba infllm infllmv2 minference attention_mode attention_topk "
    "attn_topk topk_attention topk_attn compressed_attention ";
static const char LOCAL[] = " attention_chunk chunked_attention local_attention local_attn global_attention "
                            "global_attn attention_pattern cross_attention_layers ";
/* Layers that run more than once. */
static const char *const LOOPS[] = {"ut_steps", "loop", "recurrence", "recursion", "_cycles", "share_layer"};

static bool begins_with_one_of(const char *words, const char *key)
{
    char start[64];
    if (strncmp(key, "use_", 4) == 0) key += 4;
    for (size_t n = 1; n < sizeof start && key[n - 1]; n++) {
        if (key[n] != 0 && key[n] != '_') continue;
        snprintf(start, sizeof start, "%.*s", (int)n, key);
        if (hop__hf_named(words, start)) return true;
    }
    return false;
}

static bool loops(const hop_json *v)
{
    int64_t once;
    for (size_t i = 0; i < sizeof LOOPS / sizeof *LOOPS; i++)
        if (strstr(v->key, LOOPS[i])) return !hop_json_int(v, 0, 1, &once);
    return false;
}

/* ---- layers that are called full and look at chosen tokens --------------------------------------- */

static bool holds_one_of(const char *key, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strstr(key, words[i])) return true;
    return false;
}

/* Does the key speak of an index over tokens, of picking or of compressing them? Routers of experts pick,
 * too; a bare top_k is about sampling, and compression_config about weights. */
static bool picks_tokens(const char *key)
{
    static const char *const experts[] = {"moe",  "router", "expert", "route", "gate", "norm_top", "topk_group",
                                          "topk_method", NULL};
    static const char *const attention[] = {"att", "index", "kv", "block", "token", "sparse", NULL};
    if (strncmp(key, "index", 5) == 0 || strstr(key, "indexer")) return true;
    if (strstr(key, "compress")) return strcmp(key, "compression_config") != 0;
    if (strstr(key, "topk")) return !holds_one_of(key, experts);
    return strstr(key, "top_k") && holds_one_of(key, attention) && !holds_one_of(key, experts);
}

/* 0, or to compress by 1. */
static bool is_nothing(const hop_json *v)
{
    int64_t number;
    bool empty = (v->type == HOP_JSON_ARRAY || v->type == HOP_JSON_OBJECT) && v->count == 0;
    return is_off(v) || empty || hop_json_int(v, 0, strstr(v->key, "compress") != NULL, &number);
}

/* The first such key that no rule has used, also among attention's own settings; NULL: none. */
static const char *unread_pick(const hop__hf *r, const hop_json *part, int depth)
{
    for (const hop_json *v = part->child; v; v = v->next) {
        if (is_nothing(v) || was_read(r, v->key)) continue;
        if (picks_tokens(v->key)) return v->key;
        const char *inside = v->type == HOP_JSON_OBJECT && depth == 0 && strstr(v->key, "att")
                                 ? unread_pick(r, v, depth + 1)
                                 : NULL;
        if (inside) return inside;
    }
    return NULL;
}

/* The worst errors: to call a layer with a window full, and to overlook the full ones. */
static void refuse_contradictions(hop__hf *r, bool listed)
{
    const char *key = NULL;
    if (!hop__hf_any(r->plan, "FHC"))
        key = telltale(r, ATTENTION);
    else if (!hop__hf_any(r->plan, "Sh") && !listed)
        key = unread_window(r);
    if (key) hop__hf_unknown_rule(r, key);
}

void hop__hf_refuse_unread(hop__hf *r)
{
    const hop_json *const parts[] = {r->text, r->root};
    bool listed = hop__hf_named(" layer_types layers_block_type ", r->plan->source);
    for (int i = 0; i < 2; i++)
        for (const hop_json *v = parts[i]->child; v; v = v->next) {
            bool foreign = begins_with_one_of(SPARSE, v->key) ||
                           (!listed && begins_with_one_of(LOCAL, v->key)) || loops(v);
            if (foreign && !is_off(v) && !was_read(r, v->key)) hop__hf_unknown_rule(r, v->key);
        }
    const char *pick = hop__hf_any(r->plan, "FHC") ? unread_pick(r, r->text, 0) : NULL;
    if (!pick && r->root != r->text && hop__hf_any(r->plan, "FHC")) pick = unread_pick(r, r->root, 1);
    if (pick) hop__hf_unknown_rule(r, pick);
    refuse_contradictions(r, listed);
}
