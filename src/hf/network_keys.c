/* Keys that nobody reads are refused by name: what a file says and we do not understand could be anything. */
#include "network.h"

#include <stdio.h>
#include <string.h>

static bool is_letter(char c)
{
    return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", c);
}

/* Does the text have the word? */
static bool names(hop__span text, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = text.at; at + size <= text.end; at++)
        if (*at == *word && memcmp(at, word, size) == 0 && (at == text.at || !is_letter(at[-1])) &&
            (at + size == text.end || !is_letter(at[size])))
            return true;
    return false;
}

/* Do rows of networks name it? */
static bool is_read(const hop__net *w, const char *key)
{
    for (int i = 0; i < w->read_count; i++)
        if (names(w->read[i], key)) return true;
    return false;
}

/* Does what the plan reads name it? */
static bool is_planned(const hop__net *w, const char *key)
{
    for (hop__row row = w->r.row; row.body.at;)
        if (names(row.body, key))
            return true;
        else if (!hop__hf_like(&w->r, &row))
            break;
    return false;
}

/* The keys that sizes go by: of each, classes read the first, whatever others are called. */
static const char *const SIZES[] = {"layers",   "hidden",  "heads",  "kv_heads",
                                    "head_dim", "windows", "context"};

/* Is it a size by its first name, or by another one that says the same? *other: it is another one. */
static bool says_size(const hop__net *w, const hop_json *v, bool *other)
{
    hop__span rest;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        char first[HOP__HF_MAX_KEYS];
        if (!hop__hf_common(&w->r, SIZES[i], &rest) || !names(rest, v->key)) continue;
        hop__span_copy(first, sizeof first, hop__span_until(&rest, '|'));
        *other = strcmp(first, v->key) != 0;
        const hop_json *said = hop__hf_find(&w->r, first);
        return !*other ||
               (said && said->type == HOP_JSON_INT && v->type == HOP_JSON_INT && said->integer == v->integer);
    }
    return false;
}

static bool is_known(const hop__net *w, const hop_json *v)
{
    bool other = false;
    return is_read(w, v->key) || says_size(w, v, &other) || (!other && is_planned(w, v->key));
}

static void check(hop__net *w, const hop_json *object, const char *inside)
{
    for (const hop_json *v = object->child; v && w->r.status == HOP_OK; v = v->next) {
        if (v->type == HOP_JSON_NULL || strcmp(v->key, "hopbound") == 0)
            continue; /* ours, of a network we wrote */
        if (!is_known(w, v))
            hop__hf_fail(&w->r, HOP_EUNKNOWN, "%s%s%s: a key that is not understood", inside,
                         *inside ? "." : "", v->key);
        else if (v->type == HOP_JSON_OBJECT && v != w->r.text)
            check(w, v, v->key);
    }
}

/* Lists of words that are the same. */
static bool same_list(const hop_json *a, const hop_json *b)
{
    if (a->type != HOP_JSON_ARRAY || b->type != HOP_JSON_ARRAY || a->count != b->count) return false;
    const hop_json *y = b->child;
    for (const hop_json *x = a->child; x; x = x->next, y = y->next)
        if (x->type != HOP_JSON_STRING || y->type != HOP_JSON_STRING || strcmp(x->string, y->string) != 0)
            return false;
    return true;
}

/* Of lists of layers that stand beside each other one counts, and which one is the class's. */
static void check_lists(hop__net *w)
{
    char key[HOP__HF_MAX_KEYS], first[HOP__HF_MAX_KEYS];
    const hop_json *seen = NULL;
    for (int k = 0; hop__hf_word(&w->r, "layer_lists", k, key); k++) {
        const hop_json *v = hop__hf_find(&w->r, key);
        if (v && v->type == HOP_JSON_NULL) v = NULL;
        if (v && seen && !same_list(v, seen))
            hop__hf_fail(&w->r, HOP_EDOMAIN, "%s: there is %s, too", key, first);
        if (v && !seen) seen = v, snprintf(first, sizeof first, "%s", key);
    }
}

void hop__net_check_keys(hop__net *w)
{
    check(w, w->r.text, "");
    check_lists(w);
}

static void print(char out[64], const hop_json *v)
{
    switch (v->type) {
    case HOP_JSON_STRING: snprintf(out, 64, "%s", v->string); break;
    case HOP_JSON_BOOL: snprintf(out, 64, "%s", v->boolean ? "true" : "false"); break;
    case HOP_JSON_INT: snprintf(out, 64, "%lld", (long long)v->integer); break;
    case HOP_JSON_REAL: snprintf(out, 64, "%.17g", v->real); break;
    default: snprintf(out, 64, "a list or an object");
    }
}

void hop__net_must(hop__net *w, hop__span rest)
{
    char key[HOP__HF_MAX_KEYS], value[64];
    hop__span word, words;
    hop__span_copy(key, sizeof key, hop__span_word(&rest));
    const hop_json *v = hop__hf_find(&w->r, key);
    if (!v) return;
    print(value, v);
    for (words = rest; hop__span_next(&words, &word);)
        if (hop__span_is(word, value)) return;
    hop__hf_fail(&w->r, HOP_EDOMAIN, "%s: \"%s\" cannot be run", key, value);
}
