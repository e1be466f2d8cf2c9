/* Looking into a JSON document: members by name, and typed reading with defaults for configurations. */
#include <hopbound/json.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

const hop_json *hop_json_get(const hop_json *object, const char *key)
{
    if (!object || object->type != HOP_JSON_OBJECT) return NULL;
    for (const hop_json *v = object->child; v; v = v->next)
        if (strcmp(v->key, key) == 0) return v->type == HOP_JSON_NULL ? NULL : v;
    return NULL;
}

const hop_json *hop_json_at(const hop_json *array, size_t index)
{
    if (!array || array->type != HOP_JSON_ARRAY || index >= array->count) return NULL;
    const hop_json *v = array->child;
    while (index-- > 0) v = v->next;
    return v;
}

bool hop_json_int(const hop_json *v, int64_t lo, int64_t hi, int64_t *out)
{
    int64_t i;
    if (!v) return false;
    if (v->type == HOP_JSON_INT) {
        i = v->integer;
    } else {
        /* 4.0 is 4. From 2^53 on a real may stand for a neighbour, and integers must be exact. */
        if (v->type != HOP_JSON_REAL || !(fabs(v->real) < 0x1p53) || v->real != trunc(v->real)) return false;
        i = (int64_t)v->real;
    }
    if (i < lo || i > hi) return false;
    *out = i;
    return true;
}

hop_status hop_json_read_int(const hop_json *object, const char *key, int64_t lo, int64_t hi, int64_t *out,
                             hop_error *err)
{
    const hop_json *v = hop_json_get(object, key);
    if (!v || hop_json_int(v, lo, hi, out)) return HOP_OK;
    int64_t any;
    if (!hop_json_int(v, INT64_MIN, INT64_MAX, &any))
        return hop_fail(err, HOP_EFORMAT, "%s: not an integer", key);
    return hop_fail(err, HOP_EFORMAT, "%s: %" PRId64 " is not in [%" PRId64 ", %" PRId64 "]", key, any, lo,
                    hi);
}

hop_status hop_json_read_real(const hop_json *object, const char *key, double *out, hop_error *err)
{
    const hop_json *v = hop_json_get(object, key);
    if (!v) return HOP_OK;
    if (v->type == HOP_JSON_INT)
        *out = (double)v->integer;
    else if (v->type == HOP_JSON_REAL)
        *out = v->real;
    else
        return hop_fail(err, HOP_EFORMAT, "%s: not a number", key);
    return HOP_OK;
}

hop_status hop_json_read_bool(const hop_json *object, const char *key, bool *out, hop_error *err)
{
    const hop_json *v = hop_json_get(object, key);
    if (!v) return HOP_OK;
    if (v->type != HOP_JSON_BOOL) return hop_fail(err, HOP_EFORMAT, "%s: not true or false", key);
    *out = v->boolean;
    return HOP_OK;
}

hop_status hop_json_read_string(const hop_json *object, const char *key, const char **out, hop_error *err)
{
    const hop_json *v = hop_json_get(object, key);
    if (!v) return HOP_OK;
    if (v->type != HOP_JSON_STRING) return hop_fail(err, HOP_EFORMAT, "%s: not a string", key);
    *out = v->string;
    return HOP_OK;
}
