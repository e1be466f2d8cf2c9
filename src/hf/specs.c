/* fla's attn: null, or which layers attend and with which heads; an object, or a list of objects, each for
 * layers of its own. */
#include "room.h"

#include <stdio.h>
#include <string.h>

#define MOST_SPECS 64

/* The path of the k-th member; false: there is none. */
static bool spec(hop__hf *r, int k, char path[16])
{
    const hop_json *attn = hop__hf_find(r, "attn");
    if (!attn || r->status != HOP_OK) return false;
    bool one = attn->type == HOP_JSON_OBJECT;
    if (!one && (attn->type != HOP_JSON_ARRAY || attn->count > MOST_SPECS))
        hop__hf_fail(r, HOP_EFORMAT, "attn: neither an object nor a list of up to %d", MOST_SPECS);
    snprintf(path, 16, one ? "attn" : "attn.%d", k);
    return r->status == HOP_OK && (size_t)k < (one ? 1 : attn->count);
}

static int64_t spec_size(hop__hf *r, const char *path, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "%s.%s", path, name);
    return hop__hf_size(r, key, -1);
}

/* The layers of one specification, which attend, all of them or in one window. */
static void read_spec(hop__hf *r, const char *path)
{
    char key[64];
    snprintf(key, sizeof key, "%s.layers", path);
    if (!hop__hf_has(r, key)) hop__hf_fail(r, HOP_EFORMAT, "%s: absent: which layers attend?", key);
    bool marked[HOP_HF_MAX_LAYERS] = {false};
    hop__hf_indices(r, hop__hf_list(r, key), 0, marked);
    int64_t window = spec_size(r, path, "window_size");
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        if (!marked[i]) continue;
        if (r->plan->layers[i].letter != 'L')
            hop__hf_fail(r, HOP_EDOMAIN, "attn: layer %lld stands in two of its members", (long long)i);
        hop__hf_letter(r, i, window ? 'S' : 'F');
        r->plan->layers[i].window = window;
    }
    if (window > r->plan->window) r->plan->window = window;
    hop__hf_source(r, "attn.layers");
}

bool hop__hf_specs(hop__hf *r, const char *key, hop__span map)
{
    char path[16];
    (void)key, (void)map;
    hop__hf_all(r, 'L', "model_type");
    for (int k = 0; spec(r, k, path); k++) read_spec(r, path);
    return true;
}

/* Heads of the layers with a window, and of those without. */
static void read_heads(hop__hf *r, const char *path, hop_hf_attention *full, hop_hf_attention *slides)
{
    hop_hf_attention new;
    int64_t heads = spec_size(r, path, "num_heads"), kv = spec_size(r, path, "num_kv_heads");
    hop_hf_attention *a = spec_size(r, path, "window_size") ? slides : full;
    if (!heads) hop__hf_fail(r, HOP_EFORMAT, "%s.num_heads: absent", path);
    hop__hf_grouped(r, &new, heads, kv ? kv : heads, hop__hf_hidden(r) / (heads ? heads : 1));
    if (a->kind[0] && (a->heads != new.heads || a->kv_heads != new.kv_heads))
        hop__hf_fail(r, HOP_EUNKNOWN, "%s.num_heads: heads that differ are not read", path);
    *a = new;
}

void hop__hf_attention_specs(hop__hf *r)
{
    hop_hf_attention *full = &r->plan->attention, *slides = &r->plan->sliding;
    char path[16];
    for (int k = 0; spec(r, k, path); k++) read_heads(r, path, full, slides);
    if (!full->kind[0] && slides->kind[0]) {
        *full = *slides;
        *slides = (hop_hf_attention){0};
    } else if (!full->kind[0]) { /* samba's class has an attn of its own */
        int64_t heads = hop__hf_heads(r);
        hop__hf_grouped(r, full, heads, heads, hop__hf_hidden(r) / heads);
    }
    if (slides->heads == full->heads && slides->kv_heads == full->kv_heads) *slides = (hop_hf_attention){0};
}
