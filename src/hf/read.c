/* From a Hugging Face config.json to a plan: find the language model in the file, its family, its layers;
 * then what depends on which letters occur. */
#include "room.h"

#include <stdlib.h>
#include <string.h>
#include <stdio.h>

/* ---- which part of the file, which family -------------------------------------------------- */

/* Models that also see or hear keep the language model's keys one or two levels down. */
const hop_json *hop__hf_language_model(const hop_json *root)
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

static void plan_unknown(hop__hf *r)
{
    hop__hf_fail(r, HOP_EUNKNOWN,
                 "unknown family: model_type \"%s\", and none of layer_types, layers_block_type, "
                 "hybrid_override_pattern, linear_attn_config, ssm_cfg says what its layers are",
                 r->plan->model_type);
}

static const hop__hf_family unknown_family = {.names = " ", .plan = plan_unknown};
static const hop__hf_family kimi_family = {
    .names = " ", .plan = hop__hf_plan_kimi, .linear = hop__hf_linear_kda};
static const hop__hf_family mamba_ssm_family = {.names = " ",
                                                .plan = hop__hf_plan_mamba_ssm,
                                                .linear = hop__hf_linear_mamba_ssm,
                                                .attention = hop__hf_attention_mamba_ssm};

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

/* A class that the file names must be one that predicts the next token, where nothing else is known. */
static void refuse_foreign_class(hop__hf *r)
{
    static const char *const causal[] = {"CausalLM", "ConditionalGeneration", "LMHead", "LMModel"};
    const hop_json *list = hop_json_get(r->root, "architectures"), *v = list ? list->child : NULL;
    if (!v || v->type != HOP_JSON_STRING) return;
    for (size_t i = 0; i < sizeof causal / sizeof *causal; i++)
        if (strstr(v->string, causal[i])) return;
    hop__hf_fail(r, HOP_EUNKNOWN, "unknown family: model_type \"%s\", and %.60s is not known to be a decoder",
                 r->plan->model_type, v->string);
}

/* ---- how many layers ----------------------------------------------------------------------- */

static int64_t layer_count(hop__hf *r)
{
    static const char *const lists[] = {
        "layer_types",    "layers_block_type",    "hybrid_override_pattern",
        "attn_type_list", "hybrid_layer_pattern", "sparse_attention_config.sparse_attention_freq"};
    const char *keys = "num_hidden_layers|num_blocks|n_layer|n_layers|num_layers";
    if (hop__hf_named(r->family->names, "longcat_flash") && !hop__hf_has(r, "num_hidden_layers")) {
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
        "unknown family: model_type \"%s\", and no layer count: none of num_hidden_layers, "
        "num_blocks, n_layer, n_layers, num_layers, layer_types, layers_block_type, hybrid_override_pattern",
        r->plan->model_type);
    return 0;
}

/* ---- what follows from the letters --------------------------------------------------------- */

/* A "hybrid" layer of these has no recurrence beside its attention. */
static void attend_only(hop_hf_plan *p)
{
    for (int64_t i = 0; i < p->count; i++) {
        char *letter = &p->layers[i].letter;
        *letter = *letter == 'H' ? 'F' : *letter == 'h' ? 'S' : *letter;
    }
}

/* Rules of some families that hold whatever the lists say. */
static void overrule(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    bool local = hop__hf_named(r->family->names, "recurrent_gemma");
    p->index_topk = hop__hf_range(r, "index_topk|indexer_budget", 1, INT64_MAX / 2, p->index_topk);
    bool picks = p->index_topk && r->family->attention != hop__hf_attention_deepseek_v4;
    if (r->family->attention == hop__hf_attention_inkling) attend_only(p);
    if (picks && hop__hf_any(p, "HC")) hop__hf_unknown_rule(r, "index_topk");
    for (int64_t i = 0; i < p->count; i++) {
        if (p->layers[i].letter != 'F' || !(local || picks)) continue;
        p->layers[i].letter = 'S';
        p->layers[i].sparse = picks;
    }
    if (hop__hf_named(r->family->names, "gemma4_text")) p->layers[p->count - 1].letter = 'F';
}

/* Layers at the end that read the cache of an earlier one, and groups of neighbours that share one. */
static void share_caches(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    int64_t assumed = hop__hf_named(r->family->names, "gemma3n_text") && p->count > 15 ? 15 : 0;
    int64_t last = hop__hf_range(r, "num_kv_shared_layers", 0, p->count, assumed), i;
    if (last && !hop__hf_has(r, "num_kv_shared_layers"))
        hop__hf_assume(r, "num_kv_shared_layers = %lld", (long long)last);
    for (i = p->count - last; i < p->count; i++) p->layers[i].borrows_cache = true;
    const hop_json *groups = hop__hf_list(r, "kv_reuse_group");
    for (const hop_json *g = groups ? groups->child : NULL; g; g = g->next)
        for (const hop_json *v = g->type == HOP_JSON_ARRAY ? g->child : NULL; v; v = v->next)
            if (v != g->child && hop_json_int(v, 0, p->count - 1, &i)) p->layers[i].borrows_cache = true;
    for (i = 0; i < p->count; i++)
        if (p->layers[i].letter == 'C') p->layers[i].borrows_cache = true;
}

#define WINDOW_KEYS "sliding_window|window_size|sliding_window_size|attention_window_size"
#define CHUNK_KEY   "attention_chunk_size"

static int64_t window_length(hop__hf *r, const char *keys)
{
    char first[32];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(keys, "|"), keys);
    if (hop__hf_is_null(r, first) && !hop__hf_has(r, keys))
        hop__hf_fail(r, HOP_EDOMAIN, "%s: null, but there are layers that need one", first);
    int64_t w = hop__hf_range(r, keys, 1, INT64_MAX / 2, r->family->assume.window);
    if (w == 0)
        hop__hf_assume(r, "the window's length is not given");
    else if (!hop__hf_has(r, keys))
        hop__hf_assume(r, "%.*s = %lld", (int)strcspn(keys, "|"), keys, (long long)w);
    return w;
}

static bool has_window(const hop_hf_layer *l)
{
    return l->letter == 'h' || (l->letter == 'S' && !l->sparse);
}

/* In these families a window is used when use_sliding_window says so, whatever a list says. */
static bool windows_are_off(hop__hf *r)
{
    bool asks = r->family->plan == hop__hf_plan_windows_above ||
                r->family->plan == hop__hf_plan_windows_below ||
                r->family->plan == hop__hf_plan_windows_if_used;
    return !hop__hf_flag(r, "use_sliding_window", !asks);
}

/* Windows and chunks, each with its own length. Where a file has a length of chunks alone, it is that. */
static void set_windows(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    bool chunks_alone = !p->window && !hop__hf_has(r, WINDOW_KEYS) && hop__hf_has(r, CHUNK_KEY);
    bool slides = false, chunks = false;
    for (int64_t i = 0; i < p->count; i++) {
        hop_hf_layer *l = &p->layers[i];
        l->chunked = has_window(l) && (l->chunked || chunks_alone);
        slides = slides || (has_window(l) && !l->chunked);
        chunks = chunks || l->chunked;
    }
    int64_t chunk = chunks ? window_length(r, CHUNK_KEY) : 0;
    if (slides && windows_are_off(r))
        hop__hf_fail(r, HOP_EDOMAIN, "use_sliding_window: not true, but there are layers with a window");
    if (slides && p->window == 0) p->window = window_length(r, WINDOW_KEYS);
    if (!slides && chunks) p->window = chunk;
    for (int64_t i = 0; i < p->count; i++) {
        hop_hf_layer *l = &p->layers[i];
        if (l->window == 0) l->window = !has_window(l) ? 0 : l->chunked ? chunk : p->window;
    }
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
    }
}

/* Files of these families are known to leave it to their class. */
static int64_t class_context(const hop__hf *r)
{
    static const struct {
        const char *family;
        int64_t context;
    } list[] = {{"gemma2", 8192}, {"gemma3_text", 131072}, {"gemma3n_text", 32768}, {"gpt_oss", 131072}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (hop__hf_named(r->family->names, list[i].family)) return list[i].context;
    return 0;
}

static void read_context(hop__hf *r)
{
    const char *keys =
        "max_position_embeddings|n_positions|max_seq_len|seq_length|max_sequence_length|model_max_length|"
        "context_length|n_ctx";
    hop_hf_plan *p = r->plan;
    p->context = hop__hf_range(r, keys, 1, (int64_t)1 << 40, class_context(r));
    p->context_assumed = p->context && !hop__hf_has(r, keys);
    if (p->context_assumed) hop__hf_assume(r, "max_position_embeddings = %lld", (long long)p->context);
}

/* Embeddings may have more rows than there are words; none of them is out of reach. */
static void read_vocabulary(hop__hf *r)
{
    const int64_t most = (int64_t)1 << 40;
    int64_t words = hop__hf_range(r, "vocab_size|n_vocab", 1, most, 0);
    int64_t padded = hop__hf_range(r, "padded_vocab_size", 1, most, 0);
    int64_t unit = hop__hf_range(r, "pad_vocab_size_multiple", 1, most, 1);
    words = (words + unit - 1) / unit * unit;
    r->plan->vocabulary = words > padded ? words : padded;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void make_plan(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    if (r->family == &mamba_ssm_family || !hop__hf_plan_from_lists(r)) r->family->plan(r);
    if (r->status != HOP_OK) return;
    overrule(r);
    set_windows(r);
    hop__hf_refuse_unread(r);
    if (hop__hf_any(p, "LHh")) (r->family->linear ? r->family->linear : hop__hf_linear_by_keys)(r);
    if (hop__hf_any(p, "FSHhC")) (r->family->attention ? r->family->attention : hop__hf_attention_usual)(r);
    if (!hop__hf_any(p, "Sh")) p->sliding = (hop_hf_attention){0};
    hop__hf_widen_replies(r);
    p->sparse_block = hop__hf_range(r, "sparse_attention_config.sparse_block_size", 1, HOP__HF_MAX_SIZE, 0);
    p->hidden = hop__hf_hidden_if_known(r);
    share_caches(r);
    read_dtypes(r);
    read_context(r);
    read_vocabulary(r);
    if (r->family == &unknown_family || r->family == &kimi_family) refuse_foreign_class(r);
}

/* The stack runs `loops` times, with the same weights and a cache of its own each time. */
static void run_again(hop_hf_plan *p)
{
    for (int64_t i = p->count; i < p->count * p->loops; i++) p->layers[i] = p->layers[i - p->count];
    p->tied = p->tied || p->loops > 1;
    p->count *= p->loops;
    for (int64_t i = 0; i < p->count; i++) p->pattern[i] = p->layers[i].letter;
}

/* Looped models: how often the layers run in one forward pass. */
static int64_t read_loops(hop__hf *r)
{
    const char *key = "total_ut_steps";
    int64_t assumed = hop__hf_named(r->family->names, "ouro") ? 4 : 1;
    int64_t most = HOP_HF_MAX_LAYERS / r->plan->count;
    if (assumed > 1 && !hop__hf_has(r, key)) {
        hop__hf_assume(r, "%s = %lld", key, (long long)assumed);
        if (assumed > most)
            hop__hf_fail(r, HOP_EDOMAIN, "num_hidden_layers: too many to run %lld times", (long long)assumed);
    }
    return hop__hf_range(r, key, 1, most, assumed);
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
    hop__hf r = {.root = root, .text = hop__hf_language_model(root), .plan = p, .err = err, .status = HOP_OK};
    read_type(&r);
    hop__hf_refuse(&r);
    hop__hf_refuse_types(&r);
    r.family = find_family(&r);
    if (r.status == HOP_OK) p->count = layer_count(&r);
    if (r.status == HOP_OK) p->loops = read_loops(&r);
    if (r.status == HOP_OK) {
        p->layers = calloc((size_t)(p->count * p->loops), sizeof *p->layers);
        p->pattern = calloc((size_t)(p->count * p->loops) + 1, 1);
        if (!p->layers || !p->pattern) hop__hf_fail(&r, HOP_ENOMEM, "out of memory");
    }
    if (r.status == HOP_OK) make_plan(&r);
    if (r.status == HOP_OK) run_again(p);
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
    if (s == HOP_OK) s = hop_file_read(&file, path, HOP_HF_MAX_BYTES, err);
    if (s != HOP_OK) return s;
    s = hop_json_parse(doc, (const char *)file.data, file.size, err);
    hop_file_free(&file);
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
