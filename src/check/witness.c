/* The witness file, docs/FORMATS.md: every key is required, none may be there that is not listed, and all
 * that can be seen without the network is checked while reading. */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>

#define SEAL "\"seal\""

static hop_status bad(hop_error *err, const char *what, const char *why)
{
    return hop_fail(err, HOP_EFORMAT, "%s: %s", what, why);
}

/* An object with exactly these keys, which end with NULL. */
static hop_status has_keys(const hop_json *v, const char *what, const char *const *keys, hop_error *err)
{
    if (!v || v->type != HOP_JSON_OBJECT) return bad(err, what, "not an object");
    for (const hop_json *m = v->child; m; m = m->next) {
        const char *const *k = keys;
        while (*k && strcmp(*k, m->key) != 0) k++;
        if (!*k) return hop_fail(err, HOP_EFORMAT, "%s: unknown key \"%.40s\"", what, m->key);
    }
    for (const char *const *k = keys; *k; k++) {
        const hop_json *m = v->child;
        while (m && strcmp(m->key, *k) != 0) m = m->next;
        if (!m) return hop_fail(err, HOP_EFORMAT, "%s: %s: absent", what, *k);
    }
    return HOP_OK;
}

static hop_status whole(const hop_json *v, const char *key, int64_t lo, int64_t hi, int64_t *out,
                        hop_error *err)
{
    if (hop_json_int(hop_json_get(v, key), lo, hi, out)) return HOP_OK;
    return hop_fail(err, HOP_EFORMAT, "%s: not a whole number from %lld to %lld", key, (long long)lo,
                    (long long)hi);
}

/* A list of numbers in lo .. hi; increasing ones, if so said. */
static hop_status numbers(const hop_json *v, const char *key, int64_t lo, int64_t hi, int64_t **out,
                          int64_t *count, hop_error *err)
{
    const hop_json *list = hop_json_get(v, key);
    *out = NULL, *count = 0;
    if (!list || list->type != HOP_JSON_ARRAY) return bad(err, key, "not a list");
    *out = malloc(sizeof **out * (list->count + 1));
    if (!*out) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", key);
    for (const hop_json *n = list->child; n; n = n->next) {
        if (!hop_json_int(n, lo, hi, *out + *count)) return bad(err, key, "not whole numbers in their range");
        ++*count;
    }
    return HOP_OK;
}

static hop_status increasing(const int64_t *list, int64_t count, const char *key, hop_error *err)
{
    for (int64_t i = 1; i < count; i++)
        if (list[i] <= list[i - 1]) return bad(err, key, "not increasing");
    return HOP_OK;
}

/* Sixteen hexadecimal digits. */
static hop_status hash_of(const hop_json *v, const char *key, uint64_t *out, hop_error *err)
{
    const hop_json *text = hop_json_get(v, key);
    if (!text || text->type != HOP_JSON_STRING || text->count != 16 ||
        strspn(text->string, "0123456789abcdef") != 16)
        return bad(err, key, "not 16 hexadecimal digits");
    *out = strtoull(text->string, NULL, 16);
    return HOP_OK;
}

/* ---- members ------------------------------------------------------------------------------------- */

static hop_status read_network(hop__claim *w, const hop_json *v, hop_error *err)
{
    hop_status s = has_keys(v, "network", (const char *const[]){"config_hash", "weights_hash", NULL}, err);
    if (s == HOP_OK) s = hash_of(v, "config_hash", &w->config_hash, err);
    return s == HOP_OK ? hash_of(v, "weights_hash", &w->weights_hash, err) : s;
}

static hop_status read_arithmetic(hop__claim *w, const hop_json *v, hop_error *err)
{
    hop_rounding *a = &w->arith;
    int64_t *cuts = NULL;
    hop_status s =
        has_keys(v, "arithmetic",
                 (const char *const[]){"significant_bits", "state_bits", "message_bits", "cuts", NULL}, err);
    if (s == HOP_OK) s = whole(v, "significant_bits", 0, 23, &a->significant_bits, err);
    if (s == HOP_OK) s = whole(v, "state_bits", 0, 32, &a->state_bits, err);
    if (s == HOP_OK) s = whole(v, "message_bits", 0, 32, &a->message_bits, err);
    if (s == HOP_OK) s = numbers(v, "cuts", 0, INT32_MAX, &cuts, &a->cut_count, err);
    a->cuts = cuts;
    if (s == HOP_OK) s = increasing(a->cuts, a->cut_count, "cuts", err);
    if (s != HOP_OK) return s;
    int64_t state = a->state_bits, message = a->message_bits;
    if ((state && state != 8 && state < 10) || (message && message < 10))
        return bad(err, "arithmetic", "no such number of bits");
    if ((a->significant_bits != 0) + (state != 0) + (message != 0) > 1)
        return bad(err, "arithmetic", "more than one rounding");
    if ((message != 0) != (a->cut_count > 0) || (message && a->cuts[0] != 0))
        return bad(err, "cuts", message ? "do not begin at 0" : "nothing is rounded where they are");
    return HOP_OK;
}

static hop_status read_prompt(hop__prompt *p, const hop_json *v, hop_error *err)
{
    int64_t *list = NULL;
    hop_status s =
        has_keys(v, "prompts", (const char *const[]){"tokens", "position", "right", "answer", NULL}, err);
    if (s == HOP_OK) s = numbers(v, "tokens", 0, INT32_MAX, &list, &p->count, err);
    if (s == HOP_OK && p->count < 1) s = bad(err, "tokens", "there are none");
    if (s == HOP_OK) s = whole(v, "position", 0, p->count - 1, &p->position, err);
    if (s == HOP_OK) s = whole(v, "right", 0, INT32_MAX, &p->right, err);
    if (s == HOP_OK) s = whole(v, "answer", -1, INT32_MAX, &p->answer, err);
    if (s == HOP_OK && !(p->tokens = malloc(sizeof *p->tokens * (size_t)p->count)))
        s = hop_fail(err, HOP_ENOMEM, "tokens: out of memory");
    for (int64_t i = 0; s == HOP_OK && i < p->count; i++) p->tokens[i] = (int32_t)list[i];
    free(list);
    return s;
}

/* Both prompts: of one length, asked at one token, different where it is said and nowhere else. */
static hop_status compare(const hop__claim *w, const int64_t *list, int64_t count, hop_error *err)
{
    const hop__prompt *a = &w->prompt[0], *b = &w->prompt[1];
    int64_t found = 0;
    if (w->prompts == 1)
        return count == 0 && w->prefix == 0
                   ? HOP_OK
                   : bad(err, count ? "differences" : "prefix", "one prompt has none");
    if (a->count != b->count || a->position != b->position)
        return bad(err, "prompts", "of different lengths, or asked at different tokens");
    for (int64_t t = 0; t < a->count; t++) {
        if (a->tokens[t] == b->tokens[t]) continue;
        if (found == count || list[found] != t)
            return hop_fail(err, HOP_EFORMAT, "differences: the prompts differ at token %lld", (long long)t);
        if (t >= w->prefix) return bad(err, "prefix", "the prompts differ behind it");
        found++;
    }
    if (found < count || count == 0) return bad(err, "differences", "the prompts do not differ there");
    if (w->prefix > a->count - (w->kind == HOP__COLLISION)) return bad(err, "prefix", "nothing is behind it");
    return HOP_OK;
}

static hop_status read_differences(hop__claim *w, const hop_json *root, hop_error *err)
{
    int64_t *list = NULL, count = 0;
    hop_status s = whole(root, "prefix", 0, INT32_MAX, &w->prefix, err);
    if (s == HOP_OK) s = numbers(root, "differences", 0, INT32_MAX, &list, &count, err);
    if (s == HOP_OK) s = increasing(list, count, "differences", err);
    if (s == HOP_OK) s = compare(w, list, count, err);
    free(list);
    return s;
}

/* How it was found says nothing about whether it holds; only its form is looked at. */
static hop_status read_found(const hop_json *v, hop_error *err)
{
    static const char *const ways[] = {"enumeration", "structured", "sampling",
                                       "guided",      "collision",  "fooling"};
    int64_t number;
    hop_status s = has_keys(v, "found", (const char *const[]){"by", "seed", "tried", NULL}, err);
    if (s == HOP_OK) s = whole(v, "seed", 0, INT64_MAX, &number, err);
    if (s == HOP_OK) s = whole(v, "tried", 0, INT64_MAX, &number, err);
    const hop_json *by = hop_json_get(v, "by");
    for (size_t i = 0; s == HOP_OK && by && by->type == HOP_JSON_STRING && i < sizeof ways / sizeof *ways;
         i++)
        if (strcmp(by->string, ways[i]) == 0) return HOP_OK;
    return s == HOP_OK ? bad(err, "found", "by: unknown") : s;
}

static hop_status read_trace(const hop_json *v, int64_t prompts, hop_error *err)
{
    static const char *const sizes[] = {"last_token", "state", "stream"};
    hop_status s = HOP_OK;
    if (!v || v->type != HOP_JSON_ARRAY) return bad(err, "trace", "not a list");
    if (prompts == 1 && v->count) return bad(err, "trace", "one prompt has none");
    for (const hop_json *row = v->child; s == HOP_OK && row; row = row->next) {
        int64_t layer;
        s = has_keys(row, "trace",
                     (const char *const[]){"layer", "mixer", "last_token", "state", "stream", NULL}, err);
        if (s == HOP_OK) s = whole(row, "layer", 0, INT32_MAX, &layer, err);
        const hop_json *mixer = hop_json_get(row, "mixer");
        if (s == HOP_OK && (!mixer || mixer->type != HOP_JSON_STRING))
            s = bad(err, "trace", "mixer: not a name");
        for (int i = 0; s == HOP_OK && i < 3; i++) {
            double size = 0;
            s = hop_json_read_real(row, sizes[i], &size, err);
            if (s == HOP_OK && !(size >= 0)) s = bad(err, "trace", "a size below 0");
        }
    }
    return s;
}

/* ---- claims -------------------------------------------------------------------------------------- */

/* What the file claims, against the task's definition and itself. */
static hop_status consistent(const hop__claim *w, const char *kind, hop_error *err)
{
    const hop__prompt *p = w->prompt;
    for (int64_t i = 0; i < w->prompts; i++) {
        int64_t right;
        hop_status s = hop__task_answer(w->task, p[i].tokens, p[i].count, p[i].position, &right, err);
        if (s != HOP_OK) return hop_fail_in(err, HOP_EFORMAT, i ? "prompt 1" : "prompt 0");
        if (right != p[i].right)
            return hop_fail(err, HOP_EFORMAT, "prompt %lld: the right answer is %lld, not %lld", (long long)i,
                            (long long)right, (long long)p[i].right);
    }
    if (w->prompts == 2 && p[0].right == p[1].right)
        return bad(err, "prompts", "both have the same right answer");
    if (strcmp(kind, "input") == 0)
        return p[0].answer != p[0].right ? HOP_OK : bad(err, "prompt 0", "its answer is the right one");
    if (w->prompts != 2) return bad(err, "prompts", "this kind has two");
    return p[0].answer == p[1].answer ? HOP_OK
                                      : bad(err, "prompts", "their answers differ, so they are told apart");
}

/* The last member is a hash of all bytes before it: nothing was changed by mistake. */
static hop_status sealed(const char *text, size_t size, const hop_json *root, hop_error *err)
{
    const size_t length = strlen(SEAL);
    uint64_t said = 0;
    hop_hash hash;
    hop_status s = hash_of(root, "seal", &said, err);
    if (s != HOP_OK) return s;
    while (size >= length && memcmp(text + size - length, SEAL, length) != 0) size--;
    hop_hash_init(&hash);
    hop_hash_add(&hash, text, size >= length ? size - length : 0);
    return said == hop_hash_end(&hash) ? HOP_OK : bad(err, "seal", "the file is not as it was written");
}

void hop_check_seal(hop_json_writer *w)
{
    char digits[17];
    hop_hash hash;
    hop_json_key(w, "seal");
    size_t size = w->text.len, length = strlen(SEAL);
    while (size >= length && memcmp(w->text.s + size - length, SEAL, length) != 0) size--;
    hop_hash_init(&hash);
    hop_hash_add(&hash, w->text.s, size >= length ? size - length : 0);
    snprintf(digits, sizeof digits, "%016llx", (unsigned long long)hop_hash_end(&hash));
    hop_json_put_string(w, digits);
}

static hop_status read_all(hop__claim *w, const hop_json *root, hop_error *err)
{
    static const char *const kinds[] = {"input", "pair", "collision", NULL};
    static const char *const keys[] = {"format",     "version", "kind",        "network", "task",
                                       "arithmetic", "prompts", "differences", "prefix",  "found",
                                       "trace",      "seal",    NULL};
    const char *format = NULL, *kind = NULL;
    int64_t version;
    hop_status s = has_keys(root, "witness", keys, err);
    if (s == HOP_OK) s = hop_json_read_string(root, "format", &format, err);
    if (s == HOP_OK) s = hop_json_read_string(root, "kind", &kind, err);
    if (s != HOP_OK) return s;
    if (!format || strcmp(format, "hopbound-witness") != 0)
        return bad(err, "format", "not \"hopbound-witness\"");
    if (!hop_json_int(hop_json_get(root, "version"), 1, 1, &version)) return bad(err, "version", "not 1");
    while (kind && w->kind < 3 && strcmp(kinds[w->kind], kind) != 0) w->kind++;
    if (!kind || w->kind == 3) return bad(err, "kind", "unknown");
    w->task = hop_json_get(root, "task"), w->trace = hop_json_get(root, "trace");
    if (!w->task || w->task->type != HOP_JSON_OBJECT) return bad(err, "task", "not an object");
    s = read_network(w, hop_json_get(root, "network"), err);
    if (s == HOP_OK) s = read_arithmetic(w, hop_json_get(root, "arithmetic"), err);
    const hop_json *prompts = hop_json_get(root, "prompts");
    if (s == HOP_OK &&
        (!prompts || prompts->type != HOP_JSON_ARRAY || prompts->count < 1 || prompts->count > 2))
        s = bad(err, "prompts", "not one or two");
    for (const hop_json *v = s == HOP_OK ? prompts->child : NULL; s == HOP_OK && v; v = v->next)
        s = read_prompt(&w->prompt[w->prompts++], v, err);
    if (s == HOP_OK) s = read_differences(w, root, err);
    if (s == HOP_OK) s = read_found(hop_json_get(root, "found"), err);
    if (s == HOP_OK) s = read_trace(w->trace, w->prompts, err);
    if (s == HOP_OK && w->arith.cut_count && w->arith.cuts[w->arith.cut_count - 1] >= w->prompt[0].count)
        s = bad(err, "cuts", "one is behind the last token");
    return s == HOP_OK ? consistent(w, kind, err) : s;
}

hop_status hop__claim_parse(hop__claim *w, const char *text, size_t size, hop_error *err)
{
    *w = (hop__claim){0};
    hop_status s = hop_json_parse(&w->doc, text, size, err);
    if (s == HOP_OK) s = read_all(w, w->doc.root, err);
    if (s == HOP_OK) s = sealed(text, size, w->doc.root, err);
    if (s != HOP_OK) hop__claim_free(w);
    return s;
}

void hop__claim_free(hop__claim *w)
{
    for (int i = 0; i < 2; i++) free(w->prompt[i].tokens);
    free((void *)(uintptr_t)w->arith.cuts);
    hop_json_free(&w->doc);
    *w = (hop__claim){0};
}
