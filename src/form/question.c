/* A question from JSON: every member is written as a person would write it for the option of its name, so that one
 * reader serves both. */
#include <hopbound/form.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* JSON as it is. */
static bool say_object(hop_text *out, const hop_json *v)
{
    hop_json_writer w = {.text = *out};
    hop_json_put_value(&w, v);
    *out = w.text;
    return true;
}

/* A number, a text, true or false; a list with commas between. False: it is none of these. */
static bool say(hop_text *out, const hop_json *v)
{
    switch (v->type) {
    case HOP_JSON_BOOL: hop_text_add(out, v->boolean ? "true" : "false"); return true;
    case HOP_JSON_INT: hop_text_printf(out, "%lld", (long long)v->integer); return true;
    case HOP_JSON_REAL: hop_text_printf(out, "%.17g", v->real); return true;
    case HOP_JSON_STRING: hop_text_add(out, v->string); return true;
    case HOP_JSON_ARRAY: break;
    default: return false;
    }
    for (const hop_json *e = v->child; e; e = e->next) {
        if (e->type == HOP_JSON_ARRAY || !say(out, e)) return false;
        if (e->next) hop_text_add(out, ",");
    }
    return true;
}

static hop_status unknown(const hop_opt_group *groups, const char *key, hop_error *err)
{
    const char *names[128];
    size_t count = 0;
    for (const hop_opt_group *g = groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name && count < 128; o++) names[count++] = o->name;
    const char *meant = hop_closest_name(key, names, count);
    return hop_fail(err, HOP_EUSAGE, "%.60s: unknown option%s%s%s", key, meant ? "; did you mean " : "",
                    meant ? meant : "", meant ? "?" : "");
}

static hop_status take(const hop_opt_group *g, const hop_opt *o, const hop_json *v, void *args, hop_keep *k,
                       hop_error *err)
{
    hop_text text = {0};
    hop_opt_value *value = hop_opt_at(g, o, args);
    if (!(o->kind == HOP_OPT_JSON && v->type == HOP_JSON_OBJECT ? say_object : say)(&text, v)) {
        hop_text_free(&text);
        return hop_fail(err, HOP_EUSAGE, "%s: neither a number nor a text nor a list of them", o->name);
    }
    const char *kept = hop_keep_grown(k, &text);
    if (k->failed) return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (!hop_opt_read(o, kept ? kept : "", value, err)) {
        hop_fail_in(err, HOP_EUSAGE, o->name);
        return HOP_EUSAGE;
    }
    value->given = o->kind != HOP_OPT_FLAG || value->flag;
    return HOP_OK;
}

/* "DIR", "PATH..", "[NAME]": is `key` that word in lower letters, or "operands"? */
static bool is_operand(const char *operand, const char *key)
{
    if (!operand) return false;
    if (strcmp(key, "operands") == 0) return true;
    while (*operand && !isupper((unsigned char)*operand)) operand++;
    for (; isupper((unsigned char)*operand); operand++, key++)
        if (tolower((unsigned char)*operand) != *key) return false;
    return *key == 0;
}

static hop_status take_operands(const hop_json *v, hop_texts *out, hop_keep *k, hop_error *err)
{
    const hop_json *first = v->type == HOP_JSON_ARRAY ? v->child : v;
    size_t count = v->type == HOP_JSON_ARRAY ? v->count : 1;
    const char **list = hop_keep_bytes(k, count + 1, sizeof *list);
    if (!list) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++, first = first->next) {
        if (first->type != HOP_JSON_STRING || !*first->string)
            return hop_fail(err, HOP_EUSAGE, "%s: not a text, nor a list of texts", v->key);
        list[i] = hop_keep_text(k, first->string);
        if (!list[i]) return hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    *out = (hop_texts){list, (int64_t)count};
    return HOP_OK;
}

hop_status hop_opts_json(const hop_opt_group *groups, const char *operand, const hop_json *object, void *args,
                         hop_texts *operands, hop_keep *k, hop_error *err)
{
    if (object->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EUSAGE, "the question is no JSON object");
    if (!hop_opts_init(groups, args, err)) return err ? err->status : HOP_EFORMAT;
    for (const hop_json *v = object->child; v; v = v->next) {
        const hop_opt_group *g = NULL;
        hop_status s;
        if (v->type == HOP_JSON_NULL) continue;
        const hop_opt *o = hop_opt_find(groups, v->key, strlen(v->key), &g);
        if (o)
            s = take(g, o, v, args, k, err);
        else if (is_operand(operand, v->key))
            s = take_operands(v, operands, k, err);
        else
            s = unknown(groups, v->key, err);
        if (s != HOP_OK) return s;
    }
    return HOP_OK;
}
