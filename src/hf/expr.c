/* Expressions of families: sums and comparisons over the keys of a file.
 *
 *     linear_num_key_heads:16      the size that the file gives, else 16, which is noted as assumed
 *     attn_cfg.num_heads!          the file has to give it        a|b?   0 where neither is given
 *     if has(d_inner) then d_inner! else times(expand:2, hidden)
 *
 * `and`, `or` and `if` leave alone what does not count, so that no key is asked for that does not matter. */
#include "room.h"

#include <math.h>
#include <string.h>

#define MOST_DEPTH 40

static int64_t expression(hop__eval *e);

static bool live(const hop__eval *e)
{
    return !e->r->checking && !e->skip && !e->wrong && e->r->status == HOP_OK;
}

static int64_t wrong(hop__eval *e, const char *why)
{
    if (!e->wrong) e->wrong = why;
    return 0;
}

/* ---- letters to tokens --------------------------------------------------------------------------- */

static char next(hop__eval *e)
{
    while (e->in.at < e->in.end && strchr(" \t\r", *e->in.at)) e->in.at++;
    return e->in.at < e->in.end ? *e->in.at : 0;
}

static bool is_name(char c)
{
    return c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.|", c);
}

/* Takes `text` off: a sign, or a word that ends there. */
static bool take(hop__eval *e, const char *text)
{
    size_t n = strlen(text);
    next(e);
    if ((size_t)(e->in.end - e->in.at) < n || memcmp(e->in.at, text, n) != 0) return false;
    if (is_name(*text) && e->in.at + n < e->in.end && is_name(e->in.at[n])) return false;
    e->in.at += n;
    return true;
}

static void expect(hop__eval *e, const char *sign)
{
    if (!take(e, sign)) wrong(e, strcmp(sign, ")") == 0 ? "a ) is missing" : "something is missing");
}

static hop__span name_token(hop__eval *e)
{
    next(e);
    hop__span name = {e->in.at, e->in.at};
    while (name.end < e->in.end && is_name(*name.end)) name.end++;
    e->in.at = name.end;
    return name;
}

/* Takes digits off; returns how many. */
static int digits(hop__span *s, double *number)
{
    const char *start = s->at;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) *number = *number * 10 + (*s->at - '0');
    return (int)(s->at - start);
}

/* Digits, a fraction, an exponent: mantissa and power of ten are exact, so the quotient is rounded once. */
double hop__span_real(hop__span s)
{
    double mantissa = 0, power = 0;
    int whole = digits(&s, &mantissa), places = hop__span_sign(&s, '.') ? digits(&s, &mantissa) : 0;
    bool good = whole + places > 0;
    if (hop__span_sign(&s, 'e')) {
        bool minus = hop__span_sign(&s, '-');
        good = digits(&s, &power) > 0 && good;
        if (minus) power = -power;
    }
    power -= places;
    if (!good || s.at < s.end || mantissa > 9e15 || fabs(power) > 22) return NAN;
    return power < 0 ? mantissa / pow(10, -power) : mantissa * pow(10, power);
}

/* ---- keys of the file ------------------------------------------------------------------------------ */

/* A key and what holds without it. */
typedef struct reference {
    char keys[HOP__HF_MAX_KEYS];
    int64_t assumed; /* 0: the file has to give it; -1: then it is 0 */
    double real;
} reference;

static void copy_keys(hop__eval *e, char *keys)
{
    hop__span name = name_token(e);
    bool fits = name.at < name.end && name.end - name.at < HOP__HF_MAX_KEYS;
    if (!fits) wrong(e, "a key is missing, or too long");
    hop__span_copy(keys, HOP__HF_MAX_KEYS, name);
}

static int64_t primary(hop__eval *e);

static void read_default(hop__eval *e, reference *k)
{
    hop__span number = e->in;
    while (number.at < e->in.end && is_name(*e->in.at)) e->in.at++;
    number.end = e->in.at;
    k->real = hop__span_real(number);
    if (k->real >= 0) {
        k->assumed = k->real < 1e15 ? (int64_t)k->real : 0;
        return;
    }
    e->in.at = number.at;
    k->assumed = primary(e);
    if (k->assumed < 0) k->assumed = 0;
}

static reference read_reference(hop__eval *e)
{
    reference k = {.assumed = 0, .real = NAN};
    copy_keys(e, k.keys);
    if (take(e, "?"))
        k.assumed = -1;
    else if (take(e, ":"))
        read_default(e, &k);
    else if (!take(e, "!"))
        wrong(e, "behind a key stands its default after a ':', or ! or ?");
    return k;
}

/* Within bounds of its own; what is assumed is noted. */
static int64_t in_range(hop__eval *e, const reference *k, int64_t lo, int64_t hi)
{
    if (!live(e)) return 0;
    return hop__hf_has(e->r, k->keys) ? hop__hf_range(e->r, k->keys, lo, hi, 0)
                                      : hop__hf_size(e->r, k->keys, k->assumed);
}

/* The layer's entry, null is 0; or one number for all. */
static int64_t of_layer(hop__eval *e, const reference *k)
{
    hop__hf *r = e->r;
    int64_t value = 0;
    if (!live(e)) return 0;
    const hop_json *list = hop__hf_find(r, k->keys);
    if (!list || list->type != HOP_JSON_ARRAY) return hop__hf_size(r, k->keys, k->assumed);
    const hop_json *v = hop_json_at(list, (size_t)e->layer);
    if ((int64_t)list->count != r->plan->count)
        hop__hf_fail(r, HOP_EFORMAT, "%s: %zu entries for %lld layers", list->key, list->count,
                     (long long)r->plan->count);
    else if (v && v->type != HOP_JSON_NULL && !hop_json_int(v, 0, HOP__HF_MAX_SIZE, &value))
        hop__hf_fail(r, HOP_EFORMAT, "%s: entry %lld is no size", list->key, (long long)e->layer);
    return value;
}

/* One number, or a list of equal ones. */
static int64_t the_same(hop__eval *e, const reference *k)
{
    int64_t value = 0, first = 0;
    if (!live(e)) return 0;
    const hop_json *list = hop__hf_find(e->r, k->keys);
    if (!list || list->type != HOP_JSON_ARRAY) return hop__hf_size(e->r, k->keys, k->assumed);
    for (const hop_json *v = list->child; v; v = v->next, value = first)
        if (!hop_json_int(v, 1, HOP__HF_MAX_SIZE, &first) || (v != list->child && first != value))
            hop__hf_fail(e->r, HOP_EUNKNOWN, "%s: differs from layer to layer", k->keys);
    return value;
}

static int64_t times(hop__eval *e, const reference *k)
{
    expect(e, ",");
    double factor = live(e) ? hop__hf_real(e->r, k->keys, k->real) : 0;
    double value = factor * (double)expression(e);
    return fabs(value) < 1e15 ? (int64_t)value : 0;
}

static int64_t or_words(hop__eval *e, const reference *k)
{
    const hop_json *v = live(e) ? hop__hf_find(e->r, k->keys) : NULL;
    return !live(e) || (v && v->type == HOP_JSON_STRING) ? 0 : hop__hf_size(e->r, k->keys, k->assumed);
}

static int64_t range(hop__eval *e, const reference *k)
{
    expect(e, ",");
    int64_t lo = expression(e);
    expect(e, ",");
    return in_range(e, k, lo, expression(e));
}

static int64_t or_zero(hop__eval *e, const reference *k)
{
    return in_range(e, k, 0, HOP__HF_MAX_SIZE);
}

/* ---- functions ------------------------------------------------------------------------------------ */

static int64_t has(hop__hf *r, const char *keys)
{
    return hop__hf_has(r, keys);
}

static int64_t is_null(hop__hf *r, const char *keys)
{
    return hop__hf_is_null(r, keys);
}

static int64_t is_list(hop__hf *r, const char *keys)
{
    const hop_json *v = hop__hf_find(r, keys);
    return v && v->type == HOP_JSON_ARRAY && v->count > 0;
}

static int64_t on(hop__hf *r, const char *keys)
{
    return hop__hf_flag(r, keys, false);
}

static int64_t not_off(hop__hf *r, const char *keys)
{
    return hop__hf_flag(r, keys, true);
}

/* Is this layer's number in the list? */
static int64_t is_listed(hop__eval *e, const reference *k)
{
    int64_t number, found = 0;
    const hop_json *list = live(e) ? hop__hf_list(e->r, k->keys) : NULL;
    for (const hop_json *v = list ? list->child : NULL; v; v = v->next)
        found = found || (hop_json_int(v, 0, INT64_MAX, &number) && number == e->layer);
    return found;
}

static const struct {
    const char *name;
    int64_t (*of_keys)(hop__hf *r, const char *keys);
    int64_t (*of_reference)(hop__eval *e, const reference *k);
} functions[] = {
    {"has", has, NULL},          /* there, and not null */
    {"null", is_null, NULL},     /* there, and null */
    {"list", is_list, NULL},     /* a list that is not empty */
    {"on", on, NULL},            /* a flag, false without it */
    {"not_off", not_off, NULL},  /* a flag, true without it */
    {"zero", NULL, or_zero},     /* a size that may be 0 */
    {"range", NULL, range},      /* range(key:4, 0, n) */
    {"auto", NULL, or_words},    /* 0 where words stand in its place */
    {"times", NULL, times},      /* times(key:0.5, x): a fraction of x, as a whole number */
    {"layer", NULL, of_layer},   /* this layer's entry of a list, or the number for all */
    {"listed", NULL, is_listed}, /* listed(key?): this layer's number stands in the list */
    {"same", NULL, the_same},    /* a number, or a list of equal ones */
};

/* is(key, word): a string. */
static int64_t is_word(hop__eval *e)
{
    char keys[HOP__HF_MAX_KEYS];
    copy_keys(e, keys);
    expect(e, ",");
    hop__span word = name_token(e);
    const char *text = live(e) ? hop__hf_string(e->r, keys) : NULL;
    return text && hop__span_is(word, text);
}

/* layer_is(key, word): this layer's entry of a list of words, or its letter in a text. */
static int64_t layer_is_word(hop__eval *e)
{
    char keys[HOP__HF_MAX_KEYS];
    copy_keys(e, keys);
    expect(e, ",");
    hop__span word = name_token(e);
    const hop_json *v = live(e) ? hop__hf_find(e->r, keys) : NULL;
    if (v && v->type == HOP_JSON_ARRAY) {
        const hop_json *entry = hop_json_at(v, (size_t)e->layer);
        return entry && entry->type == HOP_JSON_STRING && hop__span_is(word, entry->string);
    }
    return v && v->type == HOP_JSON_STRING && (size_t)e->layer < v->count && word.end - word.at == 1 &&
           v->string[e->layer] == *word.at;
}

static int64_t call(hop__eval *e, hop__span name)
{
    char keys[HOP__HF_MAX_KEYS];
    int64_t value = 0;
    size_t f = 0, count = sizeof functions / sizeof *functions;
    while (f < count && !hop__span_is(name, functions[f].name)) f++;
    if (hop__span_is(name, "is")) {
        value = is_word(e);
    } else if (hop__span_is(name, "layer_is")) {
        value = layer_is_word(e);
    } else if (hop__span_is(name, "max")) {
        int64_t a = expression(e);
        expect(e, ",");
        int64_t b = expression(e);
        value = a > b ? a : b;
    } else if (f == count) {
        return wrong(e, "there is no such function");
    } else if (functions[f].of_keys) {
        copy_keys(e, keys);
        value = live(e) ? functions[f].of_keys(e->r, keys) : 0;
    } else {
        reference k = read_reference(e);
        value = functions[f].of_reference(e, &k);
    }
    expect(e, ")");
    return value;
}

/* ---- names ------------------------------------------------------------------------------------------ */

const hop__var *hop__hf_var(const hop__hf *r, hop__span name)
{
    for (int i = r->var_count; i-- > 0;)
        if (hop__span_same(r->vars[i].name, name)) return &r->vars[i];
    return NULL;
}

int64_t hop__hf_out(const hop__hf *r, const char *name, int64_t absent)
{
    const hop__var *v = hop__hf_var(r, (hop__span){name, name + strlen(name)});
    return v ? v->value : absent;
}

void hop__hf_assign(hop__hf *r, hop__span name, int64_t value)
{
    if (r->var_count == HOP__HF_MAX_VARS)
        hop__hf_fail(r, HOP_EFORMAT, "families: more than %d names in use", HOP__HF_MAX_VARS);
    else
        r->vars[r->var_count++] = (hop__var){name, value};
}

static int64_t layer_count(hop__hf *r)
{
    return r->plan->count;
}

static int64_t most_loops(hop__hf *r)
{
    return r->plan->count ? HOP_HF_MAX_LAYERS / r->plan->count : HOP_HF_MAX_LAYERS;
}

static const struct {
    const char *name;
    int64_t (*value)(hop__hf *r); /* NULL: i, the layer */
} builtins[] = {
    {"i", NULL},
    {"n", layer_count},
    {"most", most_loops},
    {"hidden", hop__hf_hidden},
    {"heads", hop__hf_heads},
    {"kv_heads", hop__hf_kv_heads},
    {"head_dim", hop__hf_head_dim},
};

static size_t find_builtin(hop__span name)
{
    size_t b = 0;
    while (b < sizeof builtins / sizeof *builtins && !hop__span_is(name, builtins[b].name)) b++;
    return b;
}

static int64_t named(hop__eval *e, hop__span name)
{
    size_t b = find_builtin(name);
    bool builtin = b < sizeof builtins / sizeof *builtins;
    const hop__var *v = hop__hf_var(e->r, name);
    bool known = builtin || v || (e->r->checking ? hop__hf_assigned(e->r, name) : e->skip > 0);
    if (!known) return wrong(e, "a name in it has no value");
    if (!live(e)) return 0;
    if (v) return v->value;
    return builtins[b].value ? builtins[b].value(e->r) : e->layer;
}

static int64_t primary(hop__eval *e)
{
    int64_t value;
    if (e->wrong) return 0;
    if (++e->r->work > HOP__HF_MAX_WORK) return wrong(e, "it takes too long");
    if (take(e, "(")) {
        value = expression(e);
        expect(e, ")");
        return value;
    }
    hop__span start = e->in, name = name_token(e);
    if (name.at == name.end) return wrong(e, "a value is missing");
    double number = hop__span_real(name);
    if (number >= 0 && number < 1e15 && number == floor(number)) return (int64_t)number;
    if (*name.at >= '0' && *name.at <= '9') return wrong(e, "a whole number is needed");
    char behind = e->in.at < e->in.end ? *e->in.at : 0;
    bool unequal = behind == '!' && e->in.at + 1 < e->in.end && e->in.at[1] == '=';
    if (hop__span_sign(&e->in, '(')) return call(e, name);
    if (!behind || !strchr(":!?", behind) || unequal) return named(e, name);
    e->in = start;
    reference k = read_reference(e);
    return live(e) ? hop__hf_size(e->r, k.keys, k.assumed) : 0;
}

/* ---- signs -------------------------------------------------------------------------------------------- */

static int64_t divided(hop__eval *e, int64_t a, int64_t b, bool rest)
{
    if (!live(e)) return 0;
    if (b <= 0 || a < 0) return wrong(e, "it divides by 0, or negative numbers");
    return rest ? a % b : a / b;
}

static int64_t product(hop__eval *e)
{
    int64_t a = primary(e);
    for (;;) {
        if (take(e, "*")) {
            int64_t b = primary(e);
            a = live(e) ? hop__hf_mul(e->r, a, b) : 0;
        } else if (take(e, "/")) {
            a = divided(e, a, primary(e), false);
        } else if (take(e, "%")) {
            a = divided(e, a, primary(e), true);
        } else {
            return a;
        }
    }
}

static int64_t sum(hop__eval *e)
{
    int64_t a = product(e);
    for (;;) {
        bool plus = take(e, "+");
        if (!plus && !take(e, "-")) return a;
        int64_t b = product(e);
        bool lost = plus ? __builtin_add_overflow(a, b, &a) : __builtin_sub_overflow(a, b, &a);
        if (lost) return wrong(e, "it overflows");
    }
}

static int64_t comparison(hop__eval *e)
{
    int64_t a = sum(e);
    if (take(e, "==")) return a == sum(e);
    if (take(e, "!=")) return a != sum(e);
    if (take(e, "<=")) return a <= sum(e);
    if (take(e, ">=")) return a >= sum(e);
    if (take(e, "<")) return a < sum(e);
    if (take(e, ">")) return a > sum(e);
    return a;
}

static int64_t negation(hop__eval *e)
{
    bool negated = false;
    while (take(e, "not")) negated = !negated;
    int64_t a = comparison(e);
    return negated ? a == 0 : a;
}

static int64_t unless(hop__eval *e, bool skipped, int64_t (*part)(hop__eval *e))
{
    e->skip += skipped;
    int64_t value = part(e);
    e->skip -= skipped;
    return value;
}

static int64_t conjunction(hop__eval *e)
{
    int64_t a = negation(e);
    while (take(e, "and")) {
        int64_t b = unless(e, a == 0, negation);
        a = a && b;
    }
    return a;
}

static int64_t disjunction(hop__eval *e)
{
    int64_t a = conjunction(e);
    while (take(e, "or")) {
        int64_t b = unless(e, a != 0, conjunction);
        a = a || b;
    }
    return a;
}

static int64_t choice(hop__eval *e)
{
    bool yes = expression(e) != 0;
    expect(e, "then");
    int64_t a = unless(e, !yes, expression);
    expect(e, "else");
    int64_t b = unless(e, yes, expression);
    return yes ? a : b;
}

static int64_t expression(hop__eval *e)
{
    if (++e->depth > MOST_DEPTH) wrong(e, "it is nested too deep");
    int64_t value = e->wrong ? 0 : take(e, "if") ? choice(e) : disjunction(e);
    e->depth--;
    return value;
}

int64_t hop__evaluate(hop__eval *e)
{
    const hop__span text = e->in;
    int64_t value = expression(e);
    if (e->r->checking || !e->wrong) return value;
    char start[64];
    hop__span_copy(start, sizeof start, text);
    hop__hf_fail(e->r, HOP_EFORMAT, "families: %s: \"%s\": %s", e->r->plan->model_type, start, e->wrong);
    return 0;
}

int64_t hop__hf_value(hop__hf *r, hop__span text, int64_t layer)
{
    hop__eval e = {.r = r, .in = text, .layer = layer};
    return hop__evaluate(&e);
}

int64_t hop__hf_fact_value(hop__hf *r, const char *name, int64_t layer, int64_t absent)
{
    hop__span text;
    if (!hop__hf_fact(r, name, &text) && !hop__hf_common(r, name, &text)) return absent;
    return hop__hf_value(r, text, layer);
}
