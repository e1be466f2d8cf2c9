/* Options: their values from texts, and looking them up. */
#include <hopbound/form.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool read_int(const char *text, const hop_opt *o, int64_t *out, hop_error *err)
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

static bool read_real(const char *text, const hop_opt *o, double *out, hop_error *err)
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

static bool read_choice(const char *text, const hop_opt *o, int *out, hop_error *err)
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
static bool read_list(const char *text, const hop_opt *o, hop_opt_value *v, hop_error *err)
{
    v->count = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        char item[32];
        if (length >= sizeof item || length == 0)
            return hop_fail(err, HOP_EFORMAT, "\"%.40s\" is not a list of integers", text) == HOP_OK;
        if (v->count == HOP_OPT_LIST_MAX)
            return hop_fail(err, HOP_ERANGE, "more than %d numbers", HOP_OPT_LIST_MAX) == HOP_OK;
        memcpy(item, text, length);
        item[length] = 0;
        if (!read_int(item, o, &v->list[v->count], err)) return false;
        v->count++;
        text += length;
        if (*text == ',' && !*++text) return hop_fail(err, HOP_EFORMAT, "a comma at the end") == HOP_OK;
    }
    return true;
}

static bool read_flag(const char *text, bool *out, hop_error *err)
{
    *out = !text || strcmp(text, "true") == 0;
    if (*out || strcmp(text, "false") == 0) return true;
    return hop_fail(err, HOP_EFORMAT, "takes no value") == HOP_OK;
}

bool hop_opt_read(const hop_opt *o, const char *text, hop_opt_value *v, hop_error *err)
{
    switch (o->kind) {
    case HOP_OPT_FLAG: return read_flag(text, &v->flag, err);
    case HOP_OPT_INT: return read_int(text, o, &v->integer, err);
    case HOP_OPT_REAL: return read_real(text, o, &v->real, err);
    case HOP_OPT_CHOICE: return read_choice(text, o, &v->choice, err);
    case HOP_OPT_LIST: return read_list(text, o, v, err);
    case HOP_OPT_TEXT:
    case HOP_OPT_JSON:
        if (!*text) return hop_fail(err, HOP_EFORMAT, "empty") == HOP_OK;
        v->text = text;
        return true;
    }
    return false;
}

/* ---- looking up ---------------------------------------------------------------------------- */

hop_opt_value *hop_opt_at(const hop_opt_group *g, const hop_opt *o, const void *args)
{
    return (hop_opt_value *)((char *)(uintptr_t)args + g->base + o->at);
}

bool hop_opts_init(const hop_opt_group *groups, void *args, hop_error *err)
{
    for (const hop_opt_group *g = groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name; o++)
            if (o->initial && !hop_opt_read(o, o->initial, hop_opt_at(g, o, args), err)) return false;
    return true;
}

/* A dash and an underscore are the same. */
static bool same_name(const char *name, const char *given, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (name[i] != given[i] && !(name[i] == '-' && given[i] == '_')) return false;
    return name[length] == 0;
}

const hop_opt *hop_opt_find(const hop_opt_group *groups, const char *name, size_t length,
                            const hop_opt_group **group)
{
    for (const hop_opt_group *g = groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name; o++)
            if (same_name(o->name, name, length)) {
                *group = g;
                return o;
            }
    return NULL;
}

const hop_opt *hop_opt_missing(const hop_opt_group *groups, const void *args)
{
    for (const hop_opt_group *g = groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name; o++)
            if (o->required && !hop_opt_at(g, o, args)->given) return o;
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

const char *hop_closest_name(const char *given, const char *const *names, size_t count)
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

/* ---- a command line ------------------------------------------------------------------------- */

static void add_value(hop_text *out, const hop_opt *o, const hop_opt_value *v)
{
    switch (o->kind) {
    case HOP_OPT_FLAG: break;
    case HOP_OPT_INT: hop_text_printf(out, " %lld", (long long)v->integer); break;
    case HOP_OPT_REAL: hop_text_printf(out, " %.17g", v->real); break;
    case HOP_OPT_CHOICE: hop_text_printf(out, " %s", o->choices[v->choice]); break;
    case HOP_OPT_TEXT:
    case HOP_OPT_JSON: hop_text_printf(out, " %s", v->text); break;
    case HOP_OPT_LIST:
        for (int i = 0; i < v->count; i++) hop_text_printf(out, i ? ",%lld" : " %lld", (long long)v->list[i]);
        break;
    }
}

void hop_opts_command(hop_text *out, const hop_opt_group *groups, const void *args, const char *const *but)
{
    for (const hop_opt_group *g = groups; g->opts; g++)
        for (const hop_opt *o = g->opts; o->name; o++) {
            const hop_opt_value *v = hop_opt_at(g, o, args);
            const char *const *left_out = but;
            while (*left_out && strcmp(*left_out, o->name) != 0) left_out++;
            if (!v->given || *left_out || (o->kind == HOP_OPT_FLAG && !v->flag)) continue;
            hop_text_printf(out, " --%s", o->name);
            add_value(out, o, v);
        }
}
