/* Layer plans that a file writes out, layer by layer. They beat every rule. Loaders refuse a list whose
 * length is not the number of layers, but for entries at its end that belong to extra prediction layers. */
#include "room.h"

#include <string.h>

void hop__hf_letter(hop__hf *r, int64_t layer, char letter)
{
    r->plan->layers[layer].letter = letter;
}

bool hop__hf_any(const hop_hf_plan *p, const char *letters)
{
    for (int64_t i = 0; i < p->count; i++)
        if (strchr(letters, p->layers[i].letter)) return true;
    return false;
}

static bool length_fits(hop__hf *r, const char *name, size_t length)
{
    int64_t n = r->plan->count;
    int64_t extra = hop__hf_range(r, "num_nextn_predict_layers|num_mtp_layers", 0, 64, 0);
    if ((int64_t)length == n) return true;
    if ((int64_t)length == n + extra) {
        hop__hf_assume(r, "the last %lld of %s are prediction layers, left out", (long long)extra, name);
        return true;
    }
    hop__hf_fail(r, HOP_EFORMAT, "%s: %zu entries for %lld layers", name, length, (long long)n);
    return false;
}

/* ---- names --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    char letter;
} type_names[] = {
    {"full_attention", 'F'},
    {"attention", 'F'},
    {"sliding_attention", 'S'},
    {"window_attention", 'S'},
    {"chunked_attention", 'S'},
    {"linear_attention", 'L'},
    {"kda_attention", 'L'},
    {"mamba", 'L'},
    {"recurrent", 'L'},
    {"conv", 'L'},
    {"hybrid", 'H'},
    {"hybrid_sliding", 'h'},
    {"moe", 'E'},
    {"mlp", '-'},
};

bool hop__hf_ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool is_sparse_name(const char *s)
{
    return hop__hf_ends_with(s, "_sparse_attention") || hop__hf_ends_with(s, "_sparse") ||
           strncmp(s, "compressed_", 11) == 0 || strncmp(s, "heavily_compressed_", 19) == 0;
}

static void read_name(hop__hf *r, const char *key, const hop_json *v, hop_hf_layer *layer)
{
    if (v->type != HOP_JSON_STRING) {
        hop__hf_fail(r, HOP_EFORMAT, "%s: a member is not a string", key);
        return;
    }
    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++)
        if (strcmp(v->string, type_names[i].name) == 0) {
            layer->letter = type_names[i].letter;
            layer->chunked = strcmp(v->string, "chunked_attention") == 0;
            return;
        }
    layer->sparse = is_sparse_name(v->string);
    layer->letter = 'S';
    if (!layer->sparse)
        hop__hf_fail(r, HOP_EUNKNOWN, "%s: \"%.60s\" is not a known kind of layer", key, v->string);
}

static bool from_names(hop__hf *r, const char *key)
{
    const hop_json *list = hop__hf_list(r, key);
    if (!list || !length_fits(r, key, list->count)) return list != NULL;
    const hop_json *v = list->child;
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++, v = v->next)
        read_name(r, key, v, &r->plan->layers[i]);
    hop__hf_source(r, key);
    return true;
}

/* ---- letters ------------------------------------------------------------------------------- */

static bool from_letters(hop__hf *r)
{
    static const char ours[] = "M*-E", letters[] = "LF-E";
    const char *key = "hybrid_override_pattern", *text = hop__hf_string(r, key);
    if (!text || !*text || !length_fits(r, key, strlen(text))) return text && *text;
    for (int64_t i = 0; i < r->plan->count; i++) {
        const char *at = strchr(ours, text[i]);
        if (!at) {
            hop__hf_fail(r, HOP_EUNKNOWN, "%s: '%c' is not one of %s", key, text[i], ours);
            return true;
        }
        hop__hf_letter(r, i, letters[at - ours]);
    }
    hop__hf_source(r, key);
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* What a number means is the family's. */
static const struct number_list {
    const char *families, *key, *source;
    int64_t most;
    char zero, more; /* the letters of 0 and of what is above */
    bool sparse;     /* those above 0 pick or compress */
} number_lists[] = {
    {" minimax_text_01 minimax_m1 minimax minimax_m2 ", "attn_type_list", "attn_type_list (1=full,0=linear)",
     1, 'L', 'F', false},
    {" mimo_v2 mimo_v2_flash ", "hybrid_layer_pattern", "hybrid_layer_pattern (0=full,1=sliding)", 1, 'F',
     'S', false},
    {" deepseek_v4 ", "compress_ratios", "compress_ratios", 1 << 20, 'S', 'S', true},
    {" minimax_m2 minimax_m3 minimax_m3_text minimax_m3_vl_text ",
     "sparse_attention_config.sparse_attention_freq", "sparse_attention_config.sparse_attention_freq", 1, 'F',
     'S', true},
};

static bool from_numbers(hop__hf *r, const struct number_list *l)
{
    const hop_json *list = hop__hf_list(r, l->key);
    if (list && !hop__hf_named(l->families, r->plan->model_type)) hop__hf_unknown_rule(r, l->key);
    if (!list || !length_fits(r, l->key, list->count)) return list != NULL;
    const hop_json *v = list->child;
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++, v = v->next) {
        int64_t value;
        if (!hop_json_int(v, 0, l->most, &value)) {
            hop__hf_fail(r, HOP_EFORMAT, "%s: entry %lld is not a number from 0 to %lld", l->key,
                         (long long)i, (long long)l->most);
            return true;
        }
        r->plan->layers[i].letter = value ? l->more : l->zero;
        r->plan->layers[i].sparse = value && l->sparse;
    }
    hop__hf_source(r, l->source);
    return true;
}

bool hop__hf_plan_from_lists(hop__hf *r)
{
    const char *sparse = "sparse_attention_config.use_sparse_attention";
    const size_t count = sizeof number_lists / sizeof *number_lists;
    if (from_names(r, "layer_types") || from_names(r, "layers_block_type") || from_letters(r)) return true;
    if (!hop__hf_flag(r, sparse, true) &&
        hop__hf_named(number_lists[count - 1].families, r->plan->model_type)) {
        hop__hf_all(r, 'F', sparse);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (from_numbers(r, &number_lists[i])) return true;
    if (hop__hf_has(r, "sparse_attention_config"))
        hop__hf_fail(
            r, HOP_EUNKNOWN,
            "sparse_attention_config: which layers are sparse is not said: no sparse_attention_freq");
    return false;
}
