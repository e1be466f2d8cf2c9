/* Sizes that a file gives layer by layer: `per_layer_config`, {"05": {"head_dim": 512}}, and lists called
 * KEY_per_layer. A plan has two sizes of attention, that of layers with a window and that of all others, so all
 * layers of one kind must be given the same; while one kind is read, keys are looked up among its own first. */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the file says of layer i alone; NULL: nothing. */
static const hop_json *own_of(const hop__hf *r, int64_t i)
{
    const hop_json *all = hop_json_get(r->text, "per_layer_config");
    for (const hop_json *v = all && all->type == HOP_JSON_OBJECT ? all->child : NULL; v; v = v->next) {
        char *end = NULL;
        if (strtoll(v->key, &end, 10) == i && *end == 0 && v->type == HOP_JSON_OBJECT) return v;
    }
    return NULL;
}

static const hop_json *listed_for(const hop__hf *r, const char *key, int64_t i)
{
    char name[80];
    snprintf(name, sizeof name, "%s_per_layer", key);
    const hop_json *list = hop__hf_listed(r, "layered", key) ? hop_json_get(r->text, name) : NULL;
    return list && list->type == HOP_JSON_ARRAY ? hop_json_at(list, (size_t)i) : NULL;
}

static const hop_json *value_for(const hop__hf *r, const char *key, int64_t i)
{
    const hop_json *own = own_of(r, i), *v = own ? hop_json_get(own, key) : NULL;
    return v ? v : listed_for(r, key, i);
}

const hop_json *hop__hf_of_kind(const hop__hf *r, const char *key)
{
    return r->kind_read ? value_for(r, key, r->kind_layer) : NULL;
}

/* An object for each layer, of keys whose rule is known. */
static void check_config(hop__hf *r)
{
    const hop_json *all = hop_json_get(r->text, "per_layer_config");
    if (all && all->type != HOP_JSON_OBJECT && all->type != HOP_JSON_NULL)
        hop__hf_fail(r, HOP_EFORMAT, "per_layer_config: not an object");
    for (const hop_json *v = all && all->type == HOP_JSON_OBJECT ? all->child : NULL; v; v = v->next) {
        char *end = NULL;
        int64_t i = strtoll(v->key, &end, 10);
        if (v->type != HOP_JSON_OBJECT || end == v->key || *end || i < 0 || i >= r->plan->count)
            hop__hf_fail(r, HOP_EFORMAT, "per_layer_config: \"%.20s\" is no layer with an object", v->key);
        for (const hop_json *own = v->type == HOP_JSON_OBJECT ? v->child : NULL; own; own = own->next)
            if (!hop__hf_listed(r, "layered", own->key))
                hop__hf_fail(r, HOP_EUNKNOWN,
                             "per_layer_config: %.40s differs from layer to layer, whose rule is not known",
                             own->key);
    }
}

/* A list KEY_per_layer has an entry a layer. */
static void check_lists(hop__hf *r)
{
    char key[64], name[80];
    for (int w = 0; hop__hf_word(r, "layered", w, key); w++) {
        snprintf(name, sizeof name, "%s_per_layer", key);
        const hop_json *list = hop_json_get(r->text, name);
        bool fits = list && list->type == HOP_JSON_ARRAY && (int64_t)list->count == r->plan->count;
        if (list && list->type != HOP_JSON_NULL && !fits)
            hop__hf_fail(r, HOP_EFORMAT, "%s: not a list of %lld sizes", name, (long long)r->plan->count);
    }
}

void hop__hf_check_layered(hop__hf *r)
{
    check_config(r);
    check_lists(r);
}

static bool same_number(const hop_json *a, const hop_json *b)
{
    int64_t x = -1, y = -1;
    bool known = (!a || hop_json_int(a, 0, INT64_MAX, &x)) && (!b || hop_json_int(b, 0, INT64_MAX, &y));
    return known && x == y;
}

/* Layers i and k, which are of one kind, must have equal sizes. */
static void check_alike(hop__hf *r, int64_t i, int64_t k)
{
    char key[64];
    for (int w = 0; hop__hf_word(r, "layered", w, key); w++)
        if (!strchr(key, '*') && !same_number(value_for(r, key, i), value_for(r, key, k)))
            hop__hf_fail(
                r, HOP_EUNKNOWN,
                "%.40s: layers %lld and %lld attend alike and have different sizes, which are not read", key,
                (long long)i, (long long)k);
}

bool hop__hf_is_layered(const hop__hf *r)
{
    char key[64], name[80];
    const hop_json *all = hop_json_get(r->text, "per_layer_config");
    if (all && all->type == HOP_JSON_OBJECT && all->count > 0) return true;
    for (int w = 0; hop__hf_word(r, "layered", w, key); w++) {
        snprintf(name, sizeof name, "%s_per_layer", key);
        if (hop__hf_has(r, name)) return true;
    }
    return false;
}

bool hop__hf_kind(hop__hf *r, const char *letters)
{
    r->kind_read = false;
    if (!letters || !hop__hf_is_layered(r)) return false;
    for (int64_t i = 0; i < r->plan->count; i++) {
        if (!strchr(letters, r->plan->layers[i].letter)) continue;
        if (r->kind_read) check_alike(r, r->kind_layer, i);
        if (!r->kind_read) r->kind_layer = i, r->kind_read = true;
    }
    return r->kind_read;
}
