/* Layer plans that a file writes out, layer by layer. Loaders refuse a list whose length is not the number of
 * layers, but for entries at its end that belong to extra prediction layers. */
#include "room.h"

#include <stdio.h>
#include <string.h>

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

/* The first of the alternatives, as the source of a plan. */
static void name_list(hop__hf *r, const char *keys)
{
    char first[HOP__HF_MAX_KEYS];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(keys, "|"), keys);
    hop__hf_source(r, first);
}

/* ---- names --------------------------------------------------------------------------------- */

char hop__hf_letter_of(hop__span map, const char *word)
{
    hop__span pair;
    while (hop__span_next(&map, &pair)) {
        if (pair.end - pair.at < 3 || pair.end[-2] != '=') continue;
        hop__span pattern = {pair.at, pair.end - 2};
        if (hop__glob(pattern, word)) return pair.end[-1];
    }
    return 0;
}

/* The kinds that a list may name, for whoever has named another. */
static void unknown_kind(hop__hf *r, const char *key, const char *word, hop__span map)
{
    hop__span pair;
    hop_text known = {0};
    for (const char *before = ""; hop__span_next(&map, &pair); before = ", ")
        hop_text_printf(&known, "%s%.*s", before, (int)(pair.end - pair.at - 2), pair.at);
    hop__hf_fail(r, HOP_EUNKNOWN, "%s: \"%.60s\" is not a known kind of layer; known: %s", key, word,
                 known.s ? known.s : "none");
    hop_text_free(&known);
}

/* The family's words, then those of all. */
static void put_name(hop__hf *r, const char *key, const hop_json *v, int64_t layer, hop__span map)
{
    hop__span words = {key, key};
    hop__hf_common(r, "words", &words);
    if (v->type != HOP_JSON_STRING) {
        hop__hf_fail(r, HOP_EFORMAT, "%s: a member is not a string", key);
        return;
    }
    char letter = hop__hf_letter_of(map, v->string);
    if (!letter) letter = hop__hf_letter_of(words, v->string);
    if (letter)
        hop__hf_letter(r, layer, letter);
    else
        unknown_kind(r, key, v->string, map.at < map.end ? map : words);
}

static bool from_names(hop__hf *r, const char *key, hop__span map)
{
    const hop_json *list = hop__hf_list(r, key);
    if (!list || !length_fits(r, key, list->count)) return list != NULL;
    const hop_json *v = list->child;
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++, v = v->next)
        put_name(r, key, v, i, map);
    name_list(r, key);
    return true;
}

/* ---- letters ------------------------------------------------------------------------------- */

/* The letters of a text have no patterns: a '*' is one of them. */
static char letter_for(hop__span map, char sign)
{
    hop__span pair;
    while (hop__span_next(&map, &pair))
        if (pair.end - pair.at == 3 && *pair.at == sign) return pair.at[2];
    return 0;
}

static void put_sign(hop__hf *r, const char *key, char sign, int64_t layer, hop__span map)
{
    char letter = letter_for(map, sign);
    if (letter)
        hop__hf_letter(r, layer, letter);
    else
        hop__hf_fail(r, HOP_EUNKNOWN, "%s: '%c' is not one of its letters", key, sign);
}

static bool from_letters(hop__hf *r, const char *key, hop__span map)
{
    const char *text = hop__hf_string(r, key);
    if (!text || !*text || !length_fits(r, key, strlen(text))) return text && *text;
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) put_sign(r, key, text[i], i, map);
    hop__hf_source(r, key);
    return true;
}

/* Names or letters again and again; `last=F`: whatever they say. */
static bool from_cycle(hop__hf *r, const char *key, hop__span map)
{
    const hop_json *all = hop__hf_find(r, key), *v = NULL;
    bool text = all && all->type == HOP_JSON_STRING;
    if (!all || (!text && all->type != HOP_JSON_ARRAY) || all->count == 0) return false;
    if (text)
        hop__hf_string(r, key);
    else
        hop__hf_list(r, key);
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        v = v && v->next ? v->next : all->child;
        if (text)
            put_sign(r, key, all->string[(size_t)i % all->count], i, map);
        else
            put_name(r, key, v, i, map);
    }
    char last = hop__hf_letter_of(map, "last");
    if (last) hop__hf_letter(r, r->plan->count - 1, last);
    name_list(r, key);
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* "0=L 1=F"; '+' is every larger number. */
static bool from_numbers(hop__hf *r, const char *key, hop__span map)
{
    const hop_json *list = hop__hf_list(r, key);
    if (!list || !length_fits(r, key, list->count)) return list != NULL;
    bool open = letter_for(map, '+') != 0;
    int64_t value, most = open ? HOP__HF_MAX_SIZE : 0;
    for (char c = '1'; !open && c <= '9' && letter_for(map, c); c++) most = c - '0';
    const hop_json *v = list->child;
    for (int64_t i = 0; i < r->plan->count; i++, v = v->next) {
        if (!hop_json_int(v, 0, most, &value)) {
            hop__hf_fail(r, HOP_EFORMAT, "%s: entry %lld is not a number from 0 to %lld", key, (long long)i,
                         (long long)most);
            return true;
        }
        char letter = value < 10 ? letter_for(map, (char)('0' + value)) : 0;
        hop__hf_letter(r, i, letter ? letter : letter_for(map, '+'));
    }
    name_list(r, key);
    return true;
}

/* Numbers of layers, from 0: "listed=F other=L". */
static bool from_indices(hop__hf *r, const char *key, hop__span map)
{
    bool marked[HOP_HF_MAX_LAYERS] = {false};
    const hop_json *list = hop__hf_list(r, key);
    if (!list) return false;
    hop__hf_indices(r, list, 0, marked);
    for (int64_t i = 0; i < r->plan->count; i++)
        hop__hf_letter(r, i, hop__hf_letter_of(map, marked[i] ? "listed" : "other"));
    name_list(r, key);
    return true;
}

/* Groups of names, each with how often it comes: [[["global", "local"], 12], ..]. */
static bool from_groups(hop__hf *r, const char *key, hop__span map)
{
    const hop_json *groups = hop__hf_list(r, key);
    int64_t n = r->plan->count, done = 0, times;
    for (const hop_json *g = groups ? groups->child : NULL; g && r->status == HOP_OK; g = g->next) {
        const hop_json *names = hop_json_at(g, 0), *count = hop_json_at(g, 1), *v = NULL;
        bool whole = names && names->type == HOP_JSON_ARRAY && names->count && count &&
                     hop_json_int(count, 0, HOP_HF_MAX_LAYERS, &times) && names->count <= HOP_HF_MAX_LAYERS &&
                     (int64_t)names->count * times <= n - done;
        if (!whole)
            hop__hf_fail(r, HOP_EFORMAT, "%s: not groups of names for %lld layers", key, (long long)n);
        for (int64_t end = done + (whole ? (int64_t)names->count * times : 0); done < end; done++) {
            v = v && v->next ? v->next : names->child;
            put_name(r, key, v, done, map);
        }
    }
    if (groups && done != n)
        hop__hf_fail(r, HOP_EFORMAT, "%s: %lld entries for %lld layers", key, (long long)done, (long long)n);
    name_list(r, key);
    return groups != NULL;
}

/* ---- numbers that are counted from 0 or from 1 --------------------------------------------------- */

/* The smallest and the largest number of a list join *lo and *hi. */
static void span(const hop_json *list, int64_t *lo, int64_t *hi)
{
    for (const hop_json *v = list ? list->child : NULL; v; v = v->next) {
        int64_t i;
        if (!hop_json_int(v, INT64_MIN / 2, INT64_MAX / 2, &i)) continue; /* refused when it is read */
        if (i < *lo) *lo = i;
        if (i > *hi) *hi = i;
    }
}

/* The lists' ends tell which. */
static int64_t first_number(hop__hf *r, const char *key, const hop_json *one, const hop_json *other)
{
    int64_t lo = INT64_MAX, hi = INT64_MIN, n = r->plan->count;
    span(one, &lo, &hi);
    span(other, &lo, &hi);
    if (lo == 0 && hi < n) return 0;
    if (hi == n && lo >= 1) return 1;
    hop__hf_fail(r, HOP_EDOMAIN,
                 "%s: its layers go from %lld to %lld, so %lld layers are counted neither from 0 nor from 1",
                 key, (long long)lo, (long long)hi, (long long)n);
    return 0;
}

/* Lists of two kinds of layers, of which one may be absent: "kda_layers=L full_attn_layers=F". */
static bool from_counted(hop__hf *r, const char *key, hop__span map)
{
    hop__span pairs[2] = {hop__span_word(&map), hop__span_word(&map)};
    const hop_json *lists[2];
    char keys[2][HOP__HF_MAX_KEYS], letters[2], name[40], source[96];
    bool marked[2][HOP_HF_MAX_LAYERS] = {{false}};
    for (int k = 0; k < 2; k++) {
        if (pairs[k].end - pairs[k].at < 3) return false;
        hop__span_copy(name, sizeof name, (hop__span){pairs[k].at, pairs[k].end - 2});
        snprintf(keys[k], sizeof keys[k], "%.60s.%s", key, name);
        letters[k] = pairs[k].end[-1];
        lists[k] = hop__hf_list(r, keys[k]);
    }
    if (!lists[0] && !lists[1]) return false;
    int64_t base = first_number(r, key, lists[0], lists[1]);
    for (int k = 0; k < 2 && r->status == HOP_OK; k++) hop__hf_indices(r, lists[k], base, marked[k]);
    for (int64_t i = 0; i < r->plan->count && r->status == HOP_OK; i++) {
        bool first = lists[0] ? marked[0][i] : !marked[1][i];
        hop__hf_letter(r, i, letters[!first]);
        if (lists[1] && marked[1][i] == first)
            hop__hf_fail(r, HOP_EDOMAIN, "%s: its lists do not agree on layer %lld", key,
                         (long long)(i + base));
    }
    snprintf(source, sizeof source, "%.80s (%lld-based)", keys[!lists[0]], (long long)base);
    hop__hf_source(r, source);
    return true;
}

/* ---- the forms ----------------------------------------------------------------------------------- */

hop__hf_form *hop__hf_form_find(hop__span word)
{
    static const struct {
        const char *name;
        hop__hf_form *form;
    } forms[] = {{"names", from_names},     {"letters", from_letters}, {"cycle", from_cycle},
                 {"numbers", from_numbers}, {"indices", from_indices}, {"groups", from_groups},
                 {"counted", from_counted}, {"specs", hop__hf_specs}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (hop__span_is(word, forms[i].name)) return forms[i].form;
    return NULL;
}
