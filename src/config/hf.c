/* From a Hugging Face config.json to a plan: find the language model in the file, its family, its layers;
 * then what depends on which letters occur. */
#include "hf.h"

#include <stdlib.h>
#include <string.h>
#include <stdio.h>

/* ---- which part of the file, which family -------------------------------------------------- */

/* Models that also see or hear keep the language model's keys one or two levels down. */
static const hop_json *language_model(const hop_json *root)
{
    static const char *const inside[] = {"text_config", "llm_config", "language_config", "thinker_config",
                                         "decoder"};
    for (int level = 0; level < 3; level++) {
        const hop_json *next = NULL;
        for (size_t i = 0; i < sizeof inside / sizeof *inside && !next; i++) {
            next = hop_json_get(root, inside[i]);
            if (next && next->type != HOP_JSON_OBJECT) next = NULL;
        }
        if (!next) break;
        root = next;
    }
    return root;
}

static bool in_list(const char *names, const char *name)
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
    return in_list(ENCODERS, r->plan->model_type);
}

/* What cannot be read, or is of no use here, is refused loudly. */
static void refuse(hop__hf *r)
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

static const char *telltale(const hop__hf *r)
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

static const hop__hf_family unknown_family = {.names = " "};
static const hop__hf_family kimi_family = {" ", hop__hf_plan_kimi, hop__hf_linear_kda, NULL, {0}};
static const hop__hf_family mamba_ssm_family = {
    " ", hop__hf_plan_mamba_ssm, hop__hf_linear_mamba_ssm, hop__hf_attention_mamba_ssm, {0}};

static const hop__hf_family *find_family(const hop__hf *r)
{
    const hop__hf_family *f = hop__hf_family_find(r->plan->model_type);
    if (f) return f;
    if (hop__hf_has(r, "linear_attn_config.kda_layers|linear_attn_config.full_attn_layers"))
        return &kimi_family;
    if (!r->plan->model_type[0] && hop__hf_has(r, "d_model") && hop__hf_has(r, "n_layer") &&
        hop__hf_has(r, "ssm_cfg"))
        return &mamba_ssm_family;
    return &unknown_family;
}

/* A model_type that is not known, and no list: full attention if all keys are those of full attention. */
static void plan_unknown(hop__hf *r)
{
    const char *key = telltale(r), *type = r->plan->model_type;
    if (!hop__hf_has(r, "num_attention_heads|n_head|n_heads"))
        hop__hf_fail(r, HOP_EUNKNOWN,
                     "unknown architecture: model_type \"%s\", and none of layer_types, layers_block_type, "
                     "hybrid_override_pattern, attn_type_list, hybrid_layer_pattern, compress_ratios, "
                     "linear_attn_config, ssm_cfg, num_attention_heads",
                     type);
    else if (key)
        hop__hf_fail(
            r, HOP_EUNKNOWN,
            "unknown architecture: model_type \"%s\" has %.40s, whose rule is not known, and none of "
            "layer_types, layers_block_type, hybrid_override_pattern, attn_type_list, linear_attn_config",
            type, key);
    hop__hf_assume(r, "all layers attend to everything: no key of another mixer");
    hop__hf_plan_full(r);
}

/* ---- how many layers ----------------------------------------------------------------------- */

static int64_t layer_count(hop__hf *r)
{
    static const char *const lists[] = {
        "layer_types",    "layers_block_type",    "hybrid_override_pattern",
        "attn_type_list", "hybrid_layer_pattern", "sparse_attention_config.sparse_attention_freq"};
    const char *keys = "num_hidden_layers|num_blocks|n_layer|n_layers|num_layers";
    if (in_list(r->family->names, "longcat_flash") && !hop__hf_has(r, "num_hidden_layers")) {
        hop__hf_assume(r, "two attention blocks in each of num_layers");
        return 2 * hop__hf_range(r, "num_layers", 1, HOP_HF_MAX_LAYERS / 2, 28);
    }
    if (hop__hf_has(r, keys)) return hop__hf_range(r, keys, 1, HOP_HF_MAX_LAYERS, 0);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const hop_json *v = hop__hf_find(r, lists[i]);
        if (!v || (v->type != HOP_JSON_ARRAY && v->type != HOP_JSON_STRING) || v->count == 0) continue;
        if (v->count > HOP_HF_MAX_LAYERS)
            hop__hf_fail(r, HOP_EDOMAIN, "%s: %zu entries are more than %d layers", lists[i], v->count,
                         HOP_HF_MAX_LAYERS);
        hop__hf_assume(r, "num_hidden_layers = entries of %s = %zu", lists[i], v->count);
        return (int64_t)v->count;
    }
    if (r->family->assume.layers) return hop__hf_size(r, "num_hidden_layers", r->family->assume.layers);
    hop__hf_fail(
        r, HOP_EUNKNOWN,
        "unknown architecture: model_type \"%s\", and no layer count: none of num_hidden_layers, "
        "num_blocks, n_layer, n_layers, num_layers, layer_types, layers_block_type, hybrid_override_pattern",
        r->plan->model_type);
    return 0;
}

/* ---- what follows from the letters --------------------------------------------------------- */

static bool any(const hop_hf_plan *p, const char *letters)
{
    for (int64_t i = 0; i < p->count; i++)
        if (strchr(letters, p->layers[i].letter)) return true;
    return false;
}

/* Rules of some families that hold whatever the lists say. */
static void overrule(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    bool local = in_list(r->family->names, "recurrent_gemma");
    p->index_topk = hop__hf_range(r, "index_topk", 1, INT64_MAX / 2, p->index_topk);
    bool picks = p->index_topk && r->family->attention != hop__hf_attention_deepseek_v4;
    for (int64_t i = 0; i < p->count; i++) {
        if (p->layers[i].letter != 'F' || !(local || picks)) continue;
        p->layers[i].letter = 'S';
        p->layers[i].sparse = picks;
    }
    if (in_list(r->family->names, "gemma4_text")) p->layers[p->count - 1].letter = 'F';
}

/* Layers at the end that read the cache of an earlier one, and groups of neighbours that share one. */
static void share_caches(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    int64_t assumed = in_list(r->family->names, "gemma3n_text") && p->count > 15 ? 15 : 0;
    int64_t last = hop__hf_range(r, "num_kv_shared_layers", 0, p->count, assumed), i;
    for (i = p->count - last; i < p->count; i++) p->layers[i].borrows_cache = true;
    const hop_json *groups = hop__hf_list(r, "kv_reuse_group");
    for (const hop_json *g = groups ? groups->child : NULL; g; g = g->next)
        for (const hop_json *v = g->type == HOP_JSON_ARRAY ? g->child : NULL; v; v = v->next)
            if (v != g->child && hop_json_int(v, 0, p->count - 1, &i)) p->layers[i].borrows_cache = true;
    for (i = 0; i < p->count; i++)
        if (p->layers[i].letter == 'C') p->layers[i].borrows_cache = true;
}

static void set_windows(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    bool slides = false;
    for (int64_t i = 0; i < p->count; i++)
        slides = slides || p->layers[i].letter == 'h' || (p->layers[i].letter == 'S' && !p->layers[i].sparse);
    if (slides && p->window == 0) {
        const char *keys =
            "sliding_window|window_size|sliding_window_size|attention_window_size|attention_chunk_size";
        p->window = hop__hf_range(r, keys, 1, INT64_MAX / 2, r->family->assume.window);
        if (p->window == 0)
            hop__hf_assume(r, "the window's length is not given");
        else if (!hop__hf_has(r, keys))
            hop__hf_assume(r, "sliding_window = %lld", (long long)p->window);
    }
    for (int64_t i = 0; i < p->count; i++)
        if (p->layers[i].letter == 'h' || (p->layers[i].letter == 'S' && !p->layers[i].sparse))
            p->layers[i].window = p->window;
}

static void copy_dtype(char out[16], const char *name)
{
    if (strncmp(name, "torch.", 6) == 0) name += 6;
    snprintf(out, 16, "%s", name);
}

static void read_dtypes(hop__hf *r)
{
    hop_hf_linear *l = &r->plan->linear;
    const char *keys = "dtype|torch_dtype",
               *state = "mamba_ssm_dtype|mamba_ssm_cache_dtype|inference_state_dtype";
    const char *name = hop__hf_string(r, keys);
    if (!name) { /* a whole model's may stand outside */
        hop__hf outer = *r;
        outer.text = r->root;
        name = hop__hf_string(&outer, keys);
        r->status = outer.status;
    }
    if (name) copy_dtype(r->plan->dtype, name);
    if (!l->kind[0] || l->recurrent_elems == 0) return;
    strcpy(l->state_dtype, "float32");
    name = hop__hf_string(r, state);
    if (name && hop_hf_dtype_bytes(name)) {
        copy_dtype(l->state_dtype, name);
        snprintf(l->declared_by, sizeof l->declared_by, "%s",
                 hop__hf_has(r, "mamba_ssm_dtype")         ? "mamba_ssm_dtype"
                 : hop__hf_has(r, "mamba_ssm_cache_dtype") ? "mamba_ssm_cache_dtype"
                                                           : "inference_state_dtype");
    } else if (!l->declared_by[0]) {
        hop__hf_assume(r, "state dtype = float32");
    }
    if (l->conv_elems) hop__hf_assume(r, "conv dtype = 16 bits");
}

static void read_context(hop__hf *r)
{
    const char *keys =
        "max_position_embeddings|n_positions|max_seq_len|seq_length|max_sequence_length|model_max_length|"
        "context_length|n_ctx";
    r->plan->context = hop__hf_range(r, keys, 1, (int64_t)1 << 40, 0);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void make_plan(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    if (r->family == &mamba_ssm_family || !hop__hf_plan_from_lists(r)) {
        if (r->family == &unknown_family)
            plan_unknown(r);
        else
            r->family->plan(r);
    }
    if (r->status != HOP_OK) return;
    overrule(r);
    set_windows(r);
    if (any(p, "LHh")) (r->family->linear ? r->family->linear : hop__hf_linear_by_keys)(r);
    if (any(p, "FSHhC")) (r->family->attention ? r->family->attention : hop__hf_attention_usual)(r);
    if (!any(p, "Sh")) p->sliding = (hop_hf_attention){0};
    p->sparse_block = hop__hf_range(r, "sparse_attention_config.sparse_block_size", 1, HOP__HF_MAX_SIZE, 0);
    share_caches(r);
    read_dtypes(r);
    read_context(r);
    for (int64_t i = 0; i < p->count; i++) p->pattern[i] = p->layers[i].letter;
}

static void read_type(hop__hf *r)
{
    const char *type = hop__hf_string(r, "model_type");
    if (!type && r->text != r->root) hop_json_read_string(r->root, "model_type", &type, NULL);
    if (type && strlen(type) >= sizeof r->plan->model_type)
        hop__hf_fail(r, HOP_EUNKNOWN, "unknown architecture: model_type is %zu letters long", strlen(type));
    else if (type)
        strcpy(r->plan->model_type, type);
}

hop_status hop_hf_read(hop_hf_plan *p, const hop_json *root, hop_error *err)
{
    *p = (hop_hf_plan){0};
    if (!root || root->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "not a JSON object");
    hop__hf r = {.root = root, .text = language_model(root), .plan = p, .err = err, .status = HOP_OK};
    read_type(&r);
    refuse(&r);
    r.family = find_family(&r);
    if (r.status == HOP_OK) p->count = layer_count(&r);
    if (r.status == HOP_OK) {
        p->layers = calloc((size_t)p->count, sizeof *p->layers);
        p->pattern = calloc((size_t)p->count + 1, 1);
        if (!p->layers || !p->pattern) hop__hf_fail(&r, HOP_ENOMEM, "out of memory");
    }
    if (r.status == HOP_OK) make_plan(&r);
    if (r.status != HOP_OK) hop_hf_free(p);
    return r.status;
}

hop_status hop_hf_open(hop_json_doc *doc, const char *path, hop_error *err)
{
    char inside[4096];
    hop_file file = {0};
    hop_status s = HOP_OK;
    *doc = (hop_json_doc){0};
    if (hop_is_dir(path)) {
        s = hop_path_join(inside, sizeof inside, path, "config.json", err);
        path = inside;
    }
    if (s == HOP_OK) s = hop_file_map(&file, path, err);
    if (s != HOP_OK) return s;
    if (file.size > HOP_HF_MAX_BYTES)
        s = hop_fail(err, HOP_EFORMAT, "%zu bytes are more than a config.json has (%d)", file.size,
                     HOP_HF_MAX_BYTES);
    else
        s = hop_json_parse(doc, (const char *)file.data, file.size, err);
    hop_file_unmap(&file);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

hop_status hop_hf_load(hop_hf_plan *p, const char *path, hop_error *err)
{
    hop_json_doc doc;
    *p = (hop_hf_plan){0};
    hop_status s = hop_hf_open(&doc, path, err);
    if (s != HOP_OK) return s;
    s = hop_hf_read(p, doc.root, err);
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

void hop_hf_free(hop_hf_plan *p)
{
    free(p->layers);
    free(p->pattern);
    *p = (hop_hf_plan){0};
}
