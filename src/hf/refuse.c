/* What cannot be read, or is of no use here, is refused loudly: networks that look ahead, layers that differ
 * one by one, values of a wrong type, and keys of attention whose rule is not known. The words are those of
 * the row `common`. */
#include "room.h"

#include <stdio.h>
#include <string.h>

static bool is_off(const hop_json *v)
{
    return v->type == HOP_JSON_NULL || (v->type == HOP_JSON_BOOL && !v->boolean);
}

/* ---- no decoders --------------------------------------------------------------------------- */

static bool is_no_decoder(const hop__hf *r, const char *type)
{
    return hop__hf_listed(r, "no_decoder", type);
}

/* What the class is called tells what it does. */
static bool class_is_no_decoder(const hop__hf *r)
{
    const hop_json *list = hop_json_get(r->root, "architectures");
    for (const hop_json *v = list && list->type == HOP_JSON_ARRAY ? list->child : NULL; v; v = v->next)
        if (v->type == HOP_JSON_STRING && hop__hf_listed(r, "no_decoder_class", v->string)) return true;
    return false;
}

/* A class that the file names must be one that predicts the next token, where nothing else is known. */
void hop__hf_refuse_class(hop__hf *r)
{
    const hop_json *list = hop_json_get(r->root, "architectures"), *v = list ? list->child : NULL;
    if (!v || v->type != HOP_JSON_STRING || hop__hf_listed(r, "decoder_class", v->string)) return;
    hop__hf_fail(r, HOP_EUNKNOWN, "unknown family: model_type \"%s\", and %.60s is not known to be a decoder",
                 r->plan->model_type, v->string);
}

/* Images may be looked at in both directions where words are not. */
static bool says_so(const hop_json *v, bool off)
{
    bool vision = v && v->type == HOP_JSON_STRING && strcmp(v->string, "vision") == 0;
    return v && (off ? is_off(v) : !is_off(v) && !vision);
}

/* A key that says so by being on, or by being off. */
static bool key_of_no_decoder(const hop__hf *r, char key[64])
{
    static const char *const lists[] = {"looks_ahead_on", "looks_ahead_off"};
    const hop__hf outer = {.text = r->root};
    const hop__hf *const parts[] = {r, &outer};
    for (int p = 0; p < 2; p++)
        for (int off = 0; off < 2; off++)
            for (int k = 0; hop__hf_word(r, lists[off], k, key); k++)
                if (says_so(hop__hf_find(parts[p], key), off)) return true;
    return false;
}

#define NO_DECODER                                                                                           \
    "\"%.60s\" is no decoder: it is an encoder, has one, looks ahead, or reads another model's states; the " \
    "theorems are about causal decoders"

void hop__hf_refuse(hop__hf *r)
{
    const char *type = r->plan->model_type, *outer = NULL;
    char key[64];
    bool by_key = key_of_no_decoder(r, key);
    if (r->text != r->root) hop_json_read_string(r->root, "model_type", &outer, NULL);
    bool outside = outer && is_no_decoder(r, outer);
    if (is_no_decoder(r, type) || outside || class_is_no_decoder(r))
        hop__hf_fail(r, HOP_EUNKNOWN, NO_DECODER, outside ? outer : type);
    else if (by_key)
        hop__hf_fail(r, HOP_EUNKNOWN, "%s: " NO_DECODER, key, type);
    for (int k = 0; hop__hf_word(r, "unknown_on", k, key); k++)
        if (hop__hf_flag(r, key, false)) hop__hf_unknown_rule(r, key);
    for (int k = 0; hop__hf_word(r, "layers_differ", k, key); k++)
        if (hop__hf_has(r, key))
            hop__hf_fail(r, HOP_EUNKNOWN,
                         "%s: layers of different sizes are not read, and without them the plan would be "
                         "wrong",
                         key);
}

/* ---- types --------------------------------------------------------------------------------- */

/* Where a family does not need a key, a wrong value of it still tells that the file is not what it seems. */
static const struct {
    const char *statement, *what;
    unsigned types; /* bits of hop_json_type */
} key_types[] = {
#define BIT(type) (1u << HOP_JSON_##type)
    {"integers", "an integer", BIT(INT) | BIT(REAL)},
    {"flags", "true or false", BIT(BOOL) | BIT(INT)},
    {"lists", "a list", BIT(ARRAY)},
    {"objects", "an object", BIT(OBJECT)},
    {"objects_or_lists", "an object or a list", BIT(OBJECT) | BIT(ARRAY)},
    {"strings", "a string", BIT(STRING)},
    {"numbers_or_letters", "a number or letters", BIT(INT) | BIT(REAL) | BIT(STRING)},
    {"numbers_or_lists", "a number or a list", BIT(INT) | BIT(REAL) | BIT(ARRAY)},
#undef BIT
};

void hop__hf_refuse_types(hop__hf *r)
{
    for (const hop_json *v = r->text->child; v; v = v->next)
        for (size_t i = 0; i < sizeof key_types / sizeof *key_types; i++) {
            int64_t whole;
            bool real = v->type == HOP_JSON_REAL && !hop_json_int(v, INT64_MIN, INT64_MAX, &whole);
            bool fits = !real && (key_types[i].types >> v->type & 1);
            if (v->type != HOP_JSON_NULL && !fits && hop__hf_listed(r, key_types[i].statement, v->key))
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

/* A rule has used the key, or a member of it. */
static bool was_read(const hop__hf *r, const char *key)
{
    size_t n = strlen(key);
    if (hop__hf_known(r, key)) return true;
    for (int i = 0; i < r->plan->declared_count; i++) {
        const char *text = r->plan->declared[i].text;
        if (strncmp(text, key, n) == 0 && (text[n] == ' ' || text[n] == '.')) return true;
    }
    return false;
}

/* The first key that is on, listed in a statement, and that no rule has used; NULL: none. */
static const char *telltale(const hop__hf *r, const char *statement)
{
    for (const hop_json *v = r->text->child; v; v = v->next) {
        bool empty = (v->type == HOP_JSON_ARRAY || v->type == HOP_JSON_OBJECT) && v->count == 0;
        if (!is_off(v) && !empty && hop__hf_listed(r, statement, v->key) && !was_read(r, v->key))
            return v->key;
    }
    return NULL;
}

const char *hop__hf_telltale(const hop__hf *r)
{
    return telltale(r, "other_mixers");
}

/* A window that nobody looked at; its length says nothing where windows are not used. */
static const char *unread_window(const hop__hf *r)
{
    const hop_json *use = hop_json_get(r->text, "use_sliding_window");
    return use && is_off(use) ? NULL : telltale(r, "some_window");
}

/* A family that is known without these is not known with them: a key, or how it begins before a '_', also
 * after "use_". */
static bool begins_with_one_of(const hop__hf *r, const char *statement, const char *key)
{
    char start[64];
    if (strncmp(key, "use_", 4) == 0) key += 4;
    for (size_t n = 1; n < sizeof start && key[n - 1]; n++) {
        if (key[n] != 0 && key[n] != '_') continue;
        snprintf(start, sizeof start, "%.*s", (int)n, key);
        if (hop__hf_listed(r, statement, start)) return true;
    }
    return false;
}

/* Layers that run more than once. */
static bool loops(const hop__hf *r, const hop_json *v)
{
    int64_t once;
    return hop__hf_listed(r, "some_loop", v->key) && !hop_json_int(v, 0, 1, &once);
}

/* ---- layers that are called full and look at chosen tokens --------------------------------------- */

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
        if (hop__hf_listed(r, "picks", v->key)) return v->key;
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
        key = telltale(r, "some_attention");
    else if (!hop__hf_any(r->plan, "Sh") && !listed)
        key = unread_window(r);
    if (key) hop__hf_unknown_rule(r, key);
}

void hop__hf_refuse_unread(hop__hf *r)
{
    const hop_json *const parts[] = {r->text, r->root};
    const char *source = r->plan->source;
    bool listed = strcmp(source, "layer_types") == 0 || strcmp(source, "layers_block_type") == 0;
    for (int i = 0; i < 2; i++)
        for (const hop_json *v = parts[i]->child; v; v = v->next) {
            bool foreign = begins_with_one_of(r, "some_sparse", v->key) ||
                           (!listed && begins_with_one_of(r, "some_local", v->key)) || loops(r, v);
            if (foreign && !is_off(v) && !was_read(r, v->key)) hop__hf_unknown_rule(r, v->key);
        }
    const char *pick = hop__hf_any(r->plan, "FHC") ? unread_pick(r, r->text, 0) : NULL;
    if (!pick && r->root != r->text && hop__hf_any(r->plan, "FHC")) pick = unread_pick(r, r->root, 1);
    if (pick) hop__hf_unknown_rule(r, pick);
    refuse_contradictions(r, listed);
}
