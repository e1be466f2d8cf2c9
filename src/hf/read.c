/* From a Hugging Face config.json to a plan: find the language model in the file, its family, its layers;
 * then what depends on which letters occur. */
#include <hopbound/gguf.h>
#include "room.h"

#include <stdlib.h>
#include <string.h>
#include <stdio.h>

/* ---- which part of the file, which family -------------------------------------------------- */

/* Models that also see or hear keep the language model's keys one or two levels down. */
const hop_json *hop__hf_language_model(const hop__hf *r, const hop_json *root)
{
    char key[64];
    for (int level = 0; level < 3; level++) {
        const hop_json *next = NULL;
        for (int k = 0; !next && hop__hf_word(r, "inside", k, key); k++) {
            next = hop_json_get(root, key);
            if (next && next->type != HOP_JSON_OBJECT) next = NULL;
        }
        if (!next) break;
        root = next;
    }
    return root;
}

/* The row of its model_type; else the first one that is found by its keys. */
static void find_family(hop__hf *r)
{
    const char *type = r->plan->model_type;
    hop__span text = r->built_in, body, name, rest;
    r->named = *type && *type != '?' && !strchr(type, ' ') &&
               hop__hf_row(r, "family", (hop__span){type, type + strlen(type)}, NULL, &r->row);
    if (r->named && r->row.added) hop__hf_assume(r, "rules of %.40s: those of the families file", type);
    for (hop__row row; !r->named && !r->row.names.at && hop__row_next(&text, &row);)
        for (body = row.body; hop__statement_next(&body, &name, &rest);)
            if (hop__span_is(row.kind, "family") && hop__span_is(name, "found") && hop__hf_value(r, rest, 0))
                r->row = row;
}

/* ---- how many layers ----------------------------------------------------------------------- */

/* What a list of layers says where no number does; 0: there is none. */
static int64_t entries(hop__hf *r)
{
    char key[64];
    for (int k = 0; hop__hf_word(r, "layer_lists", k, key); k++) {
        const hop_json *v = hop__hf_find(r, key);
        if (!v || (v->type != HOP_JSON_ARRAY && v->type != HOP_JSON_STRING) || v->count == 0) continue;
        if (v->count > HOP_HF_MAX_LAYERS)
            hop__hf_fail(r, HOP_EDOMAIN, "%s: %zu entries are more than %d layers", key, v->count,
                         HOP_HF_MAX_LAYERS);
        hop__hf_assume(r, "num_hidden_layers = entries of %s = %zu", key, v->count);
        return (int64_t)v->count;
    }
    return 0;
}

/* `layers EXPRESSION, what is to be said of it`, where there is no num_hidden_layers. */
static int64_t own_count(hop__hf *r, hop__span text)
{
    hop__eval e = {.r = r, .in = text};
    int64_t n = hop__evaluate(&e);
    char said[80];
    hop__span_sign(&e.in, ',');
    hop__span_copy(said, sizeof said, hop__span_until(&e.in, '\n'));
    hop__hf_assume(r, "%s", said);
    return n < 1 || n > HOP_HF_MAX_LAYERS ? 0 : n;
}

static int64_t layer_count(hop__hf *r)
{
    char keys[HOP__HF_MAX_KEYS];
    hop__span own;
    int64_t n;
    if (!hop__hf_has(r, "num_hidden_layers") && hop__hf_fact(r, "layers", &own)) return own_count(r, own);
    hop__hf_keys(r, "layers", keys);
    if (hop__hf_has(r, keys)) return hop__hf_range(r, keys, 1, HOP_HF_MAX_LAYERS, 0);
    if ((n = entries(r)) > 0) return n;
    if (hop__hf_class(r, "layers")) return hop__hf_size(r, "num_hidden_layers", hop__hf_class(r, "layers"));
    hop__hf_fail(
        r, HOP_EUNKNOWN,
        "unknown family: model_type \"%s\", and no layer count: none of num_hidden_layers, "
        "num_blocks, n_layer, n_layers, num_layers, layer_types, layers_block_type, hybrid_override_pattern",
        r->plan->model_type);
    return 0;
}

/* ---- what follows from the letters --------------------------------------------------------- */

/* What a family means by a letter, whatever the file says: `means H=F`. */
static void translate(hop__hf *r, hop__span map)
{
    for (int64_t i = 0; i < r->plan->count; i++) {
        const char word[2] = {r->plan->layers[i].letter, 0};
        char letter = hop__hf_letter_of(map, word);
        if (letter) hop__hf_letter(r, i, letter);
    }
}

/* Rules that hold whatever the lists say: layers that pick their tokens are not full. */
static void overrule(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    hop__span rest;
    p->index_topk = hop__hf_fact_value(r, "topk", 0, 0);
    bool picks = p->index_topk && !hop__hf_fact(r, "topk_where_listed", &rest);
    p->topk_tokens = p->index_topk && hop__hf_fact(r, "topk_tokens", &rest);
    if (hop__hf_fact(r, "means", &rest)) translate(r, rest);
    if (hop__hf_fact(r, "last", &rest) && rest.at < rest.end) hop__hf_letter(r, p->count - 1, *rest.at);
    if (picks && hop__hf_any(p, "HC")) hop__hf_unknown_rule(r, "index_topk");
    for (int64_t i = 0; i < p->count && picks; i++)
        if (p->layers[i].letter == 'F') hop__hf_letter(r, i, 'P');
}

/* Layers at the end that read the cache of an earlier one, and groups of neighbours that share one. */
static void share_caches(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    int64_t i, last = hop__hf_fact_value(r, "shared", 0, 0);
    for (i = last < p->count ? p->count - last : 0; i < p->count; i++) p->layers[i].borrows_cache = true;
    const hop_json *groups = hop__hf_list(r, "kv_reuse_group");
    for (const hop_json *g = groups ? groups->child : NULL; g; g = g->next)
        for (const hop_json *v = g->type == HOP_JSON_ARRAY ? g->child : NULL; v; v = v->next)
            if (v != g->child && hop_json_int(v, 0, p->count - 1, &i)) p->layers[i].borrows_cache = true;
    for (i = 0; i < p->count; i++)
        if (p->layers[i].letter == 'C') p->layers[i].borrows_cache = true;
}

static int64_t window_length(hop__hf *r, const char *keys)
{
    char first[64];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(keys, "|"), keys);
    if (hop__hf_is_null(r, first) && !hop__hf_has(r, keys))
        hop__hf_fail(r, HOP_EDOMAIN, "%s: null, but there are layers that need one", first);
    int64_t w = hop__hf_range(r, keys, 1, INT64_MAX / 2, hop__hf_class(r, "window"));
    if (w == 0)
        hop__hf_assume(r, "the window's length is not given");
    else if (!hop__hf_has(r, keys))
        hop__hf_assume(r, "%s = %lld", first, (long long)w);
    return w;
}

static bool has_window(const hop_hf_layer *l)
{
    return l->letter == 'h' || (l->letter == 'S' && !l->sparse);
}

/* The family's own length, layer by layer. */
static void own_windows(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    hop__span text;
    bool own = hop__hf_fact(r, "window", &text);
    for (int64_t i = 0; own && i < p->count && r->status == HOP_OK; i++) {
        hop_hf_layer *l = &p->layers[i];
        if (!has_window(l)) continue;
        l->window = hop__hf_value(r, text, i);
        if (l->window > p->window) p->window = l->window;
        if (l->window < 1 && r->status == HOP_OK)
            hop__hf_fail(r, HOP_EDOMAIN, "layer %lld: a window without a length", (long long)i);
    }
}

/* Windows and chunks, each with its own length. Where a file has a length of chunks alone, it is that. */
static void set_windows(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    char windows[HOP__HF_MAX_KEYS], chunk_key[HOP__HF_MAX_KEYS];
    hop__hf_keys(r, "windows", windows);
    hop__hf_keys(r, "chunks", chunk_key);
    bool chunks_alone = !p->window && !hop__hf_has(r, windows) && hop__hf_has(r, chunk_key);
    bool slides = false, chunks = false;
    own_windows(r);
    for (int64_t i = 0; i < p->count; i++) {
        hop_hf_layer *l = &p->layers[i];
        l->chunked = has_window(l) && (l->chunked || chunks_alone);
        slides = slides || (has_window(l) && !l->chunked);
        chunks = chunks || l->chunked;
    }
    int64_t chunk = chunks ? window_length(r, chunk_key) : 0;
    if (slides && !hop__hf_fact_value(r, "slides", 0, 1))
        hop__hf_fail(r, HOP_EDOMAIN, "use_sliding_window: not true, but there are layers with a window");
    if (slides && p->window == 0) p->window = window_length(r, windows);
    if (!slides && chunks) p->window = chunk;
    for (int64_t i = 0; i < p->count; i++) {
        hop_hf_layer *l = &p->layers[i];
        if (l->window == 0) l->window = !has_window(l) ? 0 : l->chunked ? chunk : p->window;
    }
}

/* What layers that pick tokens keep beside keys and values, to pick by. */
static void set_indexers(hop__hf *r)
{
    hop_hf_plan *p = r->plan;
    for (int64_t i = 0; i < p->count && r->status == HOP_OK; i++)
        if (p->layers[i].sparse) p->layers[i].index = hop__hf_fact_value(r, "index", i, 0);
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

static void read_context(hop__hf *r)
{
    char keys[HOP__HF_MAX_KEYS];
    hop_hf_plan *p = r->plan;
    hop__hf_keys(r, "context", keys);
    p->context = hop__hf_range(r, keys, 1, (int64_t)1 << 40, hop__hf_class(r, "context"));
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
    hop__span rest;
    hop__hf_plan(r);
    if (r->status != HOP_OK) return;
    if (hop__hf_fact(r, "remark", &rest)) hop__span_copy(p->remark, sizeof p->remark, rest);
    if (hop__hf_fact(r, "kept_apart", &rest)) hop__span_copy(p->kept_apart, sizeof p->kept_apart, rest);
    overrule(r);
    set_windows(r);
    set_indexers(r);
    hop__hf_refuse_unread(r);
    if (hop__hf_any(p, "LHh")) hop__hf_linear(r);
    if (hop__hf_any(p, "FSHhC")) hop__hf_attention(r);
    p->sparse_block = hop__hf_range(r, "sparse_attention_config.sparse_block_size", 1, HOP__HF_MAX_SIZE, 0);
    p->hidden = hop__hf_hidden_if_known(r);
    share_caches(r);
    read_dtypes(r);
    read_context(r);
    read_vocabulary(r);
    bool known = r->named || hop__hf_fact(r, "decoder", &rest);
    if (!known) hop__hf_refuse_class(r);
    if (r->status == HOP_OK) hop__hf_weights(r);
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
    int64_t loops = hop__hf_fact_value(r, "loops", 0, 1);
    if (loops > HOP_HF_MAX_LAYERS / r->plan->count)
        hop__hf_fail(r, HOP_EDOMAIN, "num_hidden_layers: too many to run %lld times", (long long)loops);
    return loops > 1 ? loops : 1;
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

void hop__hf_begin(hop__hf *r, hop_hf_plan *p, const hop_json *root, const hop_hf_families *f, hop_error *err)
{
    static const char all[] = "all";
    *r = (hop__hf){
        .root = root, .plan = p, .families = f, .built_in = hop__hf_built_in(), .err = err, .status = HOP_OK};
    hop__hf_row(r, "common", (hop__span){all, all + 3}, NULL, &r->common);
    hop__span body = r->common.body;
    hop__statement s;
    while (r->of_all_count < HOP__HF_MAX_COMMON && hop__statement_next(&body, &s.name, &s.rest))
        r->of_all[r->of_all_count++] = s;
    r->text = hop__hf_language_model(r, root);
    if (p->model_type[0]) find_family(r);
}

hop_status hop_hf_read(hop_hf_plan *p, const hop_json *root, const hop_hf_families *f, hop_error *err)
{
    hop__hf r;
    *p = (hop_hf_plan){0};
    if (!root || root->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "not a JSON object");
    hop__hf_begin(&r, p, root, f, err);
    read_type(&r);
    hop__hf_refuse(&r);
    hop__hf_refuse_types(&r);
    find_family(&r);
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

static hop_status open_gguf(hop_json_doc *doc, const char *path, hop_error *err)
{
    hop_gguf g;
    hop_status s = hop_gguf_open(&g, path, err);
    if (s == HOP_OK) s = hop_gguf_config(doc, &g, err);
    hop_gguf_free(&g);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

hop_status hop_hf_open(hop_json_doc *doc, const char *path, hop_error *err)
{
    char inside[4096];
    hop_file file = {0};
    hop_status s = HOP_OK;
    *doc = (hop_json_doc){0};
    if (hop_gguf_is(path)) return open_gguf(doc, path, err);
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

hop_status hop_hf_load(hop_hf_plan *p, const char *path, const hop_hf_families *f, hop_error *err)
{
    hop_json_doc doc;
    *p = (hop_hf_plan){0};
    hop_status s = hop_hf_open(&doc, path, err);
    if (s != HOP_OK) return s;
    s = hop_hf_read(p, doc.root, f, err);
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

void hop_hf_free(hop_hf_plan *p)
{
    free(p->layers);
    free(p->pattern);
    *p = (hop_hf_plan){0};
}
