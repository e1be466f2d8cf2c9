/* Reading keys of a foreign config.json: alternatives and paths, ranges, and a record of what was there and
 * what was not. Null counts as absent, 4.0 as 4, an empty list as no list: so do the loaders. */
#include "room.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hop__hf_fail(hop__hf *r, hop_status s, const char *fmt, ...)
{
    if (r->status != HOP_OK) return;
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->status = hop_fail(r->err, s, "%s", text);
}

static void note(hop_hf_note *notes, int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(notes[i].text, text) == 0) return;
    if (*count < HOP_HF_MAX_NOTES) strcpy(notes[(*count)++].text, text);
}

void hop__hf_assume(hop__hf *r, const char *fmt, ...)
{
    char text[sizeof r->plan->assumed->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    note(r->plan->assumed, &r->plan->assumed_count, text);
}

/* "key = value", the key as it is called in the file. */
static void declare(hop__hf *r, const char *path, const char *value)
{
    char text[sizeof r->plan->declared->text];
    snprintf(text, sizeof text, "%.44s = %.36s", path, value);
    note(r->plan->declared, &r->plan->declared_count, text);
}

void hop__hf_source(hop__hf *r, const char *source)
{
    snprintf(r->plan->source, sizeof r->plan->source, "%s", source);
}

/* ---- finding ------------------------------------------------------------------------------- */

/* The member at `path`, which is `size` long. */
static const hop_json *descend(const hop_json *from, const char *path, size_t size)
{
    while (from && size > 0) {
        char key[64];
        size_t n = strcspn(path, ".");
        if (n > size) n = size;
        if (n >= sizeof key) return NULL;
        memcpy(key, path, n);
        key[n] = 0;
        from = key[0] >= '0' && key[0] <= '9' ? hop_json_at(from, (size_t)strtoul(key, NULL, 10))
                                              : hop_json_get(from, key);
        size_t step = n < size ? n + 1 : n;
        path += step;
        size -= step;
    }
    return from;
}

/* The first of `keys` that is there; its name goes to `name`. */
static const hop_json *find_named(const hop__hf *r, const char *keys, char name[64])
{
    for (const char *at = keys; *at;) {
        size_t n = strcspn(at, "|");
        snprintf(name, 64, "%.*s", (int)n, at);
        const hop_json *own = hop__hf_of_kind(r, name), *v = own ? own : descend(r->text, at, n);
        if (v) return v;
        at += at[n] ? n + 1 : n;
    }
    snprintf(name, 64, "%.*s", (int)strcspn(keys, "|"), keys);
    return NULL;
}

const hop_json *hop__hf_find(const hop__hf *r, const char *keys)
{
    char name[64];
    return find_named(r, keys, name);
}

bool hop__hf_has(const hop__hf *r, const char *keys)
{
    return hop__hf_find(r, keys) != NULL;
}

bool hop__hf_is_null(const hop__hf *r, const char *key)
{
    char above[HOP__HF_MAX_KEYS];
    const char *dot = strrchr(key, '.');
    snprintf(above, sizeof above, "%.*s", dot ? (int)(dot - key) : 0, key);
    const hop_json *in = dot ? hop__hf_find(r, above) : r->text;
    for (const hop_json *v = in && in->type == HOP_JSON_OBJECT ? in->child : NULL; v; v = v->next)
        if (strcmp(v->key, dot ? dot + 1 : key) == 0) return v->type == HOP_JSON_NULL;
    return false;
}

/* ---- typed --------------------------------------------------------------------------------- */

static int64_t read_int(hop__hf *r, const hop_json *v, const char *name, int64_t lo, int64_t hi)
{
    int64_t value = lo;
    if (!hop_json_int(v, INT64_MIN, INT64_MAX, &value))
        hop__hf_fail(r, HOP_EFORMAT, "%s: not an integer", name);
    else if (value < lo || value > hi)
        hop__hf_fail(r, HOP_EDOMAIN, "%s: %lld is not between %lld and %lld", name, (long long)value,
                     (long long)lo, (long long)hi);
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    declare(r, name, text);
    return r->status == HOP_OK ? value : lo;
}

int64_t hop__hf_range(hop__hf *r, const char *keys, int64_t lo, int64_t hi, int64_t absent)
{
    char name[64];
    const hop_json *v = find_named(r, keys, name);
    return v ? read_int(r, v, name, lo, hi) : absent;
}

int64_t hop__hf_size(hop__hf *r, const char *keys, int64_t assumed)
{
    char name[64];
    const hop_json *v = find_named(r, keys, name);
    if (v) return read_int(r, v, name, 1, HOP__HF_MAX_SIZE);
    if (assumed < 0) return 0;
    if (assumed == 0) {
        hop__hf_fail(r, HOP_EUNKNOWN, "%s: absent, and nothing else gives this size", name);
        return 1;
    }
    hop__hf_assume(r, "%s = %lld", name, (long long)assumed);
    return assumed;
}

double hop__hf_real_to(hop__hf *r, const char *keys, double most, double assumed)
{
    char name[64], text[32];
    const hop_json *v = find_named(r, keys, name);
    if (!v) {
        hop__hf_assume(r, "%s = %g", name, assumed);
        return assumed;
    }
    double value = v->type == HOP_JSON_INT ? (double)v->integer : v->type == HOP_JSON_REAL ? v->real : NAN;
    if (!(value > 0 && value <= most)) {
        hop__hf_fail(r, HOP_EFORMAT, "%s: not a positive number up to %g", name, most);
        return assumed;
    }
    snprintf(text, sizeof text, "%g", value);
    declare(r, name, text);
    return value;
}

double hop__hf_real(hop__hf *r, const char *keys, double assumed)
{
    return hop__hf_real_to(r, keys, (double)HOP__HF_MAX_SIZE, assumed);
}

bool hop__hf_flag(hop__hf *r, const char *keys, bool absent)
{
    char name[64];
    const hop_json *v = find_named(r, keys, name);
    int64_t number;
    if (!v) return absent;
    bool value = v->type == HOP_JSON_BOOL && v->boolean;
    if (v->type != HOP_JSON_BOOL) {
        if (!hop_json_int(v, 0, 1, &number)) hop__hf_fail(r, HOP_EFORMAT, "%s: not true or false", name);
        value = r->status == HOP_OK && number;
    }
    declare(r, name, value ? "true" : "false");
    return value;
}

const char *hop__hf_string(hop__hf *r, const char *keys)
{
    char name[64];
    const hop_json *v = find_named(r, keys, name);
    if (!v) return NULL;
    if (v->type != HOP_JSON_STRING) {
        hop__hf_fail(r, HOP_EFORMAT, "%s: not a string", name);
        return NULL;
    }
    declare(r, name, v->string);
    return v->string;
}

const hop_json *hop__hf_list(hop__hf *r, const char *keys)
{
    char name[64], text[40];
    const hop_json *v = find_named(r, keys, name);
    if (!v) return NULL;
    if (v->type != HOP_JSON_ARRAY) {
        hop__hf_fail(r, HOP_EFORMAT, "%s: not a list", name);
        return NULL;
    }
    if (v->count == 0) return NULL;
    snprintf(text, sizeof text, "a list of %zu", v->count);
    declare(r, name, text);
    return v;
}

void hop__hf_indices(hop__hf *r, const hop_json *list, int64_t base, bool *marked)
{
    for (const hop_json *v = list ? list->child : NULL; v; v = v->next) {
        int64_t i;
        if (!hop_json_int(v, INT64_MIN / 2, INT64_MAX / 2, &i)) {
            hop__hf_fail(r, HOP_EFORMAT, "%s: a member is not an integer", list->key);
            return;
        }
        if (i - base < 0 || i - base >= r->plan->count) {
            hop__hf_fail(r, HOP_EDOMAIN, "%s: there is no layer %lld in %lld layers", list->key, (long long)i,
                         (long long)r->plan->count);
            return;
        }
        marked[i - base] = true;
    }
}
