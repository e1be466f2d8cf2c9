/* What cannot be read, or is of no use here, is refused loudly: networks that look ahead, layers that differ
 * one by one, and keys of attention whose rule is not known. */
#include "room.h"

#include <stdio.h>
#include <string.h>

bool hop__hf_named(const char *names, const char *name)
{
    char padded[80];
    snprintf(padded, sizeof padded, " %.70s ", name);
    return strstr(names, padded) != NULL;
}

/* The theorems are about networks that read from left to right. */
static const char ENCODERS[] = " bert roberta xlm-roberta distilbert albert electra deberta deberta-v2 "
                               "modernbert eurobert nomic_bert mpnet "
                               "camembert ernie esm vit clip siglip t5 mt5 umt5 bart mbart pegasus whisper "
                               "m2m_100 marian led longformer big_bird ";

/* Attention that looks both ways: by name, by what it was trained for, or by its own key. */
static bool looks_ahead(const hop__hf *r)
{
    const hop_json *both = hop__hf_find(r, "use_bidirectional_attention");
    const hop_json *list = hop_json_get(r->root, "architectures");
    if (both && both->type == HOP_JSON_BOOL && both->boolean) return true;
    if (both && both->type == HOP_JSON_STRING && strcmp(both->string, "all") == 0) return true;
    for (const hop_json *v = list && list->type == HOP_JSON_ARRAY ? list->child : NULL; v; v = v->next)
        if (v->type == HOP_JSON_STRING && strstr(v->string, "MaskedLM")) return true;
    return hop__hf_named(ENCODERS, r->plan->model_type);
}

void hop__hf_refuse(hop__hf *r)
{
    const char *type = r->plan->model_type;
    if (hop__hf_has(r, "per_layer_config"))
        hop__hf_fail(r, HOP_EUNKNOWN,
                     "per_layer_config: layers that override the file's sizes one by one are "
                     "not read, and without them the plan would be wrong");
    if (hop__hf_has(r, "block_configs"))
        hop__hf_fail(r, HOP_EUNKNOWN, "block_configs: layers of different sizes are not read");
    if (looks_ahead(r) || hop__hf_flag(r, "is_encoder_decoder", false))
        hop__hf_fail(r, HOP_EUNKNOWN, "unknown: \"%s\" is no decoder, and the theorems are about decoders",
                     type);
}

/* Keys that say that a layer does something else than attend to everything. */
static const char *const TELLTALES[] = {
    "mamba",        "ssm",        "rwkv",       "conv",       "state_size", "recurrent",  "hybrid",
    "delta",        "retention",  "lru_",       "kda",        "linear_att", "linear_num", "linear_key",
    "linear_layer", "full_att",   "global_att", "local_att",  "attn_layer", "attn_type",  "attention_types",
    "block_type",   "sparse_att", "index_topk", "compress_r", "lightning",  "chunked",    "attention_chunk",
    "cross_att",    "window",     "expand_k",   "expand_v"};

const char *hop__hf_telltale(const hop__hf *r)
{
    const hop_json *use = hop_json_get(r->text, "use_sliding_window");
    bool slides = !(use && use->type == HOP_JSON_BOOL && !use->boolean);
    for (const hop_json *v = r->text->child; v; v = v->next) {
        if (v->type == HOP_JSON_NULL || (v->type == HOP_JSON_BOOL && !v->boolean)) continue;
        for (size_t i = 0; i < sizeof TELLTALES / sizeof *TELLTALES; i++)
            if (strstr(v->key, TELLTALES[i]) && (slides || !strstr(v->key, "window")) &&
                strcmp(v->key, "max_window_layers") != 0) /* says nothing without a window */
                return v->key;
    }
    return NULL;
}

/* ---- attention whose rule is not known ----------------------------------------------------- */

/* A family that is known without these is not known with them. The words are a key, or begin it before a
 * '_', also after "use_". Those of the second list say nothing where a list names every layer's kind. */
static const char SPARSE[] =
    " blocksparse block_sparse dense_attention_every_n_layers sparse_config sparse_attn "
    "sparse_attention native_sparse nsa moba infllm infllmv2 minference attention_mode "
    "attention_topk attn_topk topk_attention topk_attn compressed_attention ";
static const char LOCAL[] = " attention_chunk chunked_attention local_attention local_attn global_attention "
                            "global_attn attention_pattern cross_attention_layers ";

/* Keys that a family's rule needs not look at, whatever they say. */
static const struct {
    const char *family, *key;
} explained[] = {{"phi3small", "blocksparse_"}, {"llama4_text", "attention_chunk_size"}};

static bool begins_with_one_of(const char *words, const char *key)
{
    char start[64];
    if (strncmp(key, "use_", 4) == 0) key += 4;
    for (size_t n = 1; n < sizeof start && key[n - 1]; n++) {
        if (key[n] != 0 && key[n] != '_') continue;
        snprintf(start, sizeof start, "%.*s", (int)n, key);
        if (!strchr(start, ' ') && hop__hf_named(words, start)) return true;
    }
    return false;
}

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

void hop__hf_refuse_unread(hop__hf *r)
{
    const hop_json *const parts[] = {r->text, r->root};
    bool listed = hop__hf_named(" layer_types layers_block_type ", r->plan->source);
    for (int i = 0; i < 2; i++)
        for (const hop_json *v = parts[i]->child; v; v = v->next) {
            bool off = v->type == HOP_JSON_NULL || (v->type == HOP_JSON_BOOL && !v->boolean);
            bool foreign =
                begins_with_one_of(SPARSE, v->key) || (!listed && begins_with_one_of(LOCAL, v->key));
            if (foreign && !off && !was_read(r, v->key))
                hop__hf_fail(r, HOP_EUNKNOWN,
                             "unknown architecture: model_type \"%s\" has %.40s, whose rule is not known",
                             r->plan->model_type, v->key);
        }
}
