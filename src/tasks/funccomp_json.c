/* The sizes of a function composition task as JSON: what config.json, instances and reports carry. */
#include "room.h"

#include <string.h>

/* Reads "fan" into `fan`; it may be absent when there is one hop. */
static hop_status read_fan(int64_t *fan, const hop_json *v, int64_t hops, hop_error *err)
{
    const hop_json *list = hop_json_get(v, "fan");
    if (!list && hops == 1) return HOP_OK;
    if (!list || list->type != HOP_JSON_ARRAY)
        return hop_fail(err, HOP_EFORMAT, "fan: not a list of numbers");
    if (list->count != (size_t)(hops - 1))
        return hop_fail(err, HOP_EFORMAT, "fan: %zu numbers where %lld hops need %lld", list->count,
                        (long long)hops, (long long)(hops - 1));
    int64_t *out = fan;
    for (const hop_json *e = list->child; e; e = e->next)
        if (!hop_json_int(e, 2, (int64_t)1 << 31, out++))
            return hop_fail(err, HOP_EFORMAT, "fan: each must be an integer from 2 to 2^31");
    return HOP_OK;
}

hop_status hop_funccomp_read(hop_funccomp *t, const hop_json *v, hop_error *err)
{
    *t = (hop_funccomp){0};
    if (!v || v->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "a task is an object");
    const char *name = "funccomp";
    int64_t hops = 0, m = 0, fan[HOP_MAX_HOPS] = {0};
    hop_status s = hop_json_read_string(v, "name", &name, err);
    if (s == HOP_OK && strcmp(name, "funccomp") != 0)
        s = hop_fail(err, HOP_EUNKNOWN, "name: unknown task \"%.40s\"", name);
    if (s == HOP_OK) s = hop_json_read_int(v, "hops", 1, HOP_MAX_HOPS, &hops, err);
    if (s == HOP_OK) s = hop_json_read_int(v, "m", 2, (int64_t)1 << 31, &m, err);
    if (s != HOP_OK) return s;
    if (hops == 0) return hop_fail(err, HOP_EFORMAT, "hops: missing");
    if (m == 0) return hop_fail(err, HOP_EFORMAT, "m: missing");
    s = read_fan(fan, v, hops, err);
    return s == HOP_OK ? hop_funccomp_init(t, (int)hops, m, fan, err) : s;
}

void hop__funccomp_write_members(const hop_funccomp *t, hop_json_writer *w)
{
    hop_json_string(w, "name", "funccomp");
    hop_json_integer(w, "hops", t->hops);
    hop_json_integer(w, "m", t->m);
    hop_json_integers(w, "fan", t->fan + 1, t->hops - 1);
}

void hop_funccomp_write(const hop_funccomp *t, hop_json_writer *w)
{
    hop_json_begin_object(w);
    hop__funccomp_write_members(t, w);
    hop_json_end_object(w);
}
