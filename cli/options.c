/* Reads a command line by a verb's option tables. */
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static opt_value *value_of(const opt_group *g, const opt *o, const void *args)
{
    return (opt_value *)((char *)(uintptr_t)args + g->base + o->at);
}

/* ---- values -------------------------------------------------------------------------------- */

/* What a suffix multiplies by: k, M, G count tokens as the field does, in powers of 1024; "e6" is six zeros.
 * 0: no suffix that is known. */
static int64_t suffix_scale(const char *s)
{
    static const struct {
        const char *name;
        int64_t scale;
    } known[] = {{"", 1}, {"k", 1 << 10}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(s, known[i].name) == 0) return known[i].scale;
    size_t digits = strspn(s + 1, "0123456789");
    if ((*s != 'e' && *s != 'E') || digits == 0 || digits > 2 || s[1 + digits]) return 0;
    int zeros = atoi(s + 1);
    int64_t scale = 1;
    for (int i = 0; i < zeros && zeros <= 18; i++) scale *= 10;
    return zeros <= 18 ? scale : INT64_MAX; /* beyond every option's range, whatever it multiplies */
}

/* A whole number: "4096", "-3", "32k", "1.5M", "1e6". False: it is none. *large: it does not fit. */
static bool whole_number(const char *text, int64_t *out, bool *large)
{
    bool below = *text == '-', fraction = false;
    int64_t value = 0, below_point = 1; /* 10^digits after the point */
    const char *p = text + below;
    *large = false;
    if (*p < '0' || *p > '9') return false;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !fraction); p++) {
        if (*p == '.') {
            fraction = true;
            if (p[1] < '0' || p[1] > '9') return false;
            continue;
        }
        *large = *large || __builtin_mul_overflow(value, 10, &value) ||
                 __builtin_add_overflow(value, *p - '0', &value) ||
                 (fraction && __builtin_mul_overflow(below_point, 10, &below_point));
    }
    int64_t scale = suffix_scale(p);
    if (!scale || (fraction && scale == 1)) return false;
    while (!*large && below_point % 10 == 0 && scale % 10 == 0) below_point /= 10, scale /= 10;
    while (!*large && below_point > 1 && value % 10 == 0) below_point /= 10, value /= 10;
    *large = *large || (value && __builtin_mul_overflow(value, scale, &value));
    if (!*large && value % below_point) return false;
    *out = *large ? INT64_MAX : value / below_point;
    if (below) *out = -*out;
    return true;
}

static bool read_int(const char *text, const opt *o, int64_t *out, hop_error *err)
{
    int64_t v;
    bool large;
    if (!whole_number(text, &v, &large))
        return hop_fail(err, HOP_EFORMAT, "\"%.60s\" is not an integer", text) == HOP_OK;
    if (large || v < o->min || v > o->max) {
        bool below = v < 0 || v < o->min;
        if (o->max == INT64_MAX)
            hop_fail(err, HOP_ERANGE, "%.60s is %s %lld", text, below ? "below" : "above",
                     (long long)(below ? o->min : o->max));
        else
            hop_fail(err, HOP_ERANGE, "%.60s is outside %lld..%lld", text, (long long)o->min,
                     (long long)o->max);
        return false;
    }
    *out = v;
    return true;
}

static bool read_real(const char *text, const opt *o, double *out, hop_error *err)
{
    char *end = NULL;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return hop_fail(err, HOP_EFORMAT, "\"%.60s\" is not a number", text) == HOP_OK;
    if (o->min != o->max && (v < (double)o->min || v > (double)o->max))
        return hop_fail(err, HOP_ERANGE, "%.60s is outside %lld..%lld", text, (long long)o->min,
                        (long long)o->max) == HOP_OK;
    *out = v;
    return true;
}

static bool read_choice(const char *text, const opt *o, int *out, hop_error *err)
{
    hop_text known = {0};
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(text, o->choices[i]) == 0) {
            *out = i;
            hop_text_free(&known);
            return true;
        }
        hop_text_printf(&known, "%s%s", i ? ", " : "", o->choices[i]);
    }
    hop_fail(err, HOP_EUNKNOWN, "unknown name \"%.60s\" (known: %s)", text, known.s ? known.s : "none");
    hop_text_free(&known);
    return false;
}

/* Numbers with commas between them. An empty text is an empty list: what a script's loop gives for one hop.
 */
static bool read_list(const char *text, const opt *o, opt_value *v, hop_error *err)
{
    v->count = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        char item[32];
        if (length >= sizeof item || length == 0)
            return hop_fail(err, HOP_EFORMAT, "\"%.40s\" is not a list of integers", text) == HOP_OK;
        if (v->count == OPT_LIST_MAX)
            return hop_fail(err, HOP_ERANGE, "more than %d numbers", OPT_LIST_MAX) == HOP_OK;
        memcpy(item, text, length);
        item[length] = 0;
        if (!read_int(item, o, &v->list[v->count], err)) return false;
        v->count++;
        text += length;
        if (*text == ',' && !*++text) return hop_fail(err, HOP_EFORMAT, "a comma at the end") == HOP_OK;
    }
    return true;
}

/* `text` is NULL for a flag. */
static bool read_value(const opt *o, const char *text, opt_value *v, hop_error *err)
{
    switch (o->kind) {
    case OPT_FLAG: v->flag = true; return true;
    case OPT_INT: return read_int(text, o, &v->integer, err);
    case OPT_REAL: return read_real(text, o, &v->real, err);
    case OPT_CHOICE: return read_choice(text, o, &v->choice, err);
    case OPT_LIST: return read_list(text, o, v, err);
    case OPT_TEXT:
        if (!*text) return hop_fail(err, HOP_EFORMAT, "empty") == HOP_OK;
        v->text = text;
        return true;
    }
    return false;
}

/* ---- looking up ---------------------------------------------------------------------------- */

/* The option called `name` (`length` bytes), or whose letter is `letter`; `group` receives its table. */
static const opt *find_option(const verb *v, const char *name, size_t length, char letter,
                              const opt_group **group)
{
    for (const opt_group *g = v->groups; g->opts; g++)
        for (const opt *o = g->opts; o->name; o++)
            if (letter ? o->letter == letter
                       : strlen(o->name) == length && memcmp(o->name, name, length) == 0) {
                *group = g;
                return o;
            }
    return NULL;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance; names are short. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[64], la = strlen(a), lb = strlen(b);
    if (la >= 64 || lb >= 64) return 64;
    for (size_t j = 0; j <= lb; j++) row[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1]));
            corner = above;
        }
    }
    return row[lb];
}

const char *closest_name(const char *given, const char *const *names, size_t count)
{
    const char *best = NULL;
    size_t least = strlen(given) / 3 + 1; /* more edits than that is another word */
    for (size_t i = 0; i < count; i++) {
        size_t d = edit_distance(given, names[i]);
        if (d <= least && (d < least || !best)) {
            least = d;
            best = names[i];
        }
    }
    return best;
}

static bool unknown_option(const verb *v, const char *arg, hop_error *err)
{
    const char *names[96];
    size_t count = 0;
    for (const opt_group *g = v->groups; g->opts; g++)
        for (const opt *o = g->opts; o->name && count < 96; o++) names[count++] = o->name;
    int length = (int)strcspn(arg, "=");
    char bare[64];
    int start = arg[1] == '-' ? 2 : 1;
    size_t n = (size_t)(length > start ? length - start : 0);
    if (n >= sizeof bare) n = sizeof bare - 1;
    memcpy(bare, arg + start, n);
    bare[n] = 0;
    const char *meant = n > 1 ? closest_name(bare, names, count) : NULL;
    hop_fail(err, HOP_EUNKNOWN, "%.*s: unknown option%s%s%s", length < 60 ? length : 60, arg,
             meant ? "; did you mean --" : "", meant ? meant : "", meant ? "?" : "");
    return false;
}

/* ---- the command line ---------------------------------------------------------------------- */

typedef struct reader {
    const verb *verb;
    void *args;
    int argc, next;
    char **argv;
} reader;

/* Stores an option's value: the text after '=' or the letter when there is one, else the next argument. */
static bool take(reader *r, const opt_group *g, const opt *o, const char *attached, hop_error *err)
{
    opt_value *v = value_of(g, o, r->args);
    const char *text = attached;
    bool ok;
    if (o->kind == OPT_FLAG) {
        ok = !attached || hop_fail(err, HOP_EFORMAT, "takes no value") == HOP_OK;
    } else {
        if (!text && r->next < r->argc) text = r->argv[r->next++];
        ok = text || hop_fail(err, HOP_EFORMAT, "needs a value, %s", o->metavar) == HOP_OK;
    }
    ok = ok && read_value(o, text, v, err);
    v->given = ok;
    if (!ok) {
        char name[64];
        snprintf(name, sizeof name, "--%s", o->name);
        hop_fail_in(err, err->status, name);
    }
    return ok;
}

static bool take_long(reader *r, const char *arg, hop_error *err)
{
    size_t length = strcspn(arg + 2, "=");
    const opt_group *g = NULL;
    const opt *o = find_option(r->verb, arg + 2, length, 0, &g);
    if (!o) return unknown_option(r->verb, arg, err);
    return take(r, g, o, arg[2 + length] ? arg + 3 + length : NULL, err);
}

/* -qn5: letters of flags may stand together, and the last may have its value attached. */
static bool take_letters(reader *r, const char *arg, hop_error *err)
{
    for (const char *p = arg + 1; *p; p++) {
        const opt_group *g = NULL;
        const opt *o = find_option(r->verb, NULL, 0, *p, &g);
        if (!o) return unknown_option(r->verb, arg, err);
        bool flag = o->kind == OPT_FLAG;
        if (!take(r, g, o, flag || !p[1] ? NULL : p + 1, err)) return false;
        if (!flag) break;
    }
    return true;
}

static bool set_initial(const verb *v, void *args, hop_error *err)
{
    for (const opt_group *g = v->groups; g->opts; g++)
        for (const opt *o = g->opts; o->name; o++)
            if (o->initial && !read_value(o, o->initial, value_of(g, o, args), err)) return false;
    return true;
}

bool options_parse(const verb *v, void *args, int argc, char **argv, int *operands, hop_error *err)
{
    reader r = {.verb = v, .args = args, .argc = argc, .argv = argv};
    size_t length = v->operand ? strlen(v->operand) : 0;
    bool only_operands = false, many = length > 2 && strcmp(v->operand + length - 2, "..") == 0;
    int most = many ? argc : v->second ? 2 : v->operand ? 1 : 0;
    *operands = 0;
    if (!set_initial(v, args, err)) return false;
    while (r.next < argc) {
        char *arg = argv[r.next++];
        if (only_operands || arg[0] != '-' || !arg[1]) {
            if (*operands == most)
                return hop_fail(err, HOP_EFORMAT, "%.200s: %s", arg,
                                v->second    ? "two operands are enough"
                                : v->operand ? "one operand is enough"
                                             : "takes no operand") == HOP_OK;
            argv[(*operands)++] = arg; /* its place was read already */
        } else if (strcmp(arg, "--") == 0) {
            only_operands = true;
        } else if (!(arg[1] == '-' ? take_long(&r, arg, err) : take_letters(&r, arg, err))) {
            return false;
        }
    }
    return true;
}

const opt *options_missing(const verb *v, const void *args)
{
    for (const opt_group *g = v->groups; g->opts; g++)
        for (const opt *o = g->opts; o->name; o++)
            if (o->required && !value_of(g, o, args)->given) return o;
    return NULL;
}
