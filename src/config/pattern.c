/* Layer patterns: "(L^3 F)^12" as runs of equal layers, so that 2^27 layers in a gap cost one entry.
 *
 *     pattern := item { item }          item := atom [ "^" number ]
 *     atom    := "F" | "L" | "W" | "S" | name | "(" pattern ")"
 */
#include <hopbound/config.h>

#include <stdlib.h>
#include <string.h>

#define MAX_NESTING 64

typedef struct parser {
    const char *text, *at;
    const char *linear;
    int nesting;
    hop_error *err;
} parser;

static hop_status refuse(const parser *p, const char *why)
{
    return hop_fail(p->err, HOP_EFORMAT, "pattern: column %d: %s", (int)(p->at - p->text) + 1, why);
}

static void skip_blanks(parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') p->at++;
}

/* ---- run lists ----------------------------------------------------------------------------- */

/* Adds `count` layers, merging with the run before when it is the same mixer. Capacity is the power of two
 * that holds run_count, so it needs no field of its own. */
static hop_status append(hop_pattern *list, const char *mixer, int64_t count, const parser *p)
{
    if (count > HOP_MAX_LAYERS - list->layers) return refuse(p, "more than 4294967296 layers");
    hop_run *last = list->run_count ? &list->runs[list->run_count - 1] : NULL;
    list->layers += count;
    if (last && strcmp(last->mixer, mixer) == 0) {
        last->count += count;
        return HOP_OK;
    }
    if (list->run_count == HOP_MAX_RUNS) return refuse(p, "too many changes of mixer");
    int64_t n = list->run_count;
    if ((n & (n - 1)) == 0) { /* 0, 1, 2, 4, ..: full */
        hop_run *more = realloc(list->runs, sizeof(hop_run) * (size_t)(n ? 2 * n : 1));
        if (!more) return hop_fail(p->err, HOP_ENOMEM, "pattern: out of memory");
        list->runs = more;
    }
    memset(&list->runs[n], 0,
           sizeof(hop_run)); /* the unused tail of the name too: runs compare with memcmp */
    strcpy(list->runs[n].mixer, mixer);
    list->runs[n].count = count;
    list->run_count++;
    return HOP_OK;
}

/* to += from^power */
static hop_status append_power(hop_pattern *to, const hop_pattern *from, int64_t power, const parser *p)
{
    if (from->layers > HOP_MAX_LAYERS / power) return refuse(p, "more than 4294967296 layers");
    if (from->run_count == 1) return append(to, from->runs[0].mixer, from->layers * power, p);
    for (int64_t k = 0; k < power; k++)
        for (int64_t i = 0; i < from->run_count; i++) {
            hop_status s = append(to, from->runs[i].mixer, from->runs[i].count, p);
            if (s != HOP_OK) return s;
        }
    return HOP_OK;
}

/* ---- grammar ------------------------------------------------------------------------------- */

static hop_status parse_power(parser *p, int64_t *power)
{
    *power = 1;
    skip_blanks(p);
    if (*p->at != '^') return HOP_OK;
    p->at++;
    skip_blanks(p);
    if (*p->at < '0' || *p->at > '9') return refuse(p, "a number must follow ^");
    int64_t n = 0;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        n = 10 * n + (*p->at - '0');
        if (n > HOP_MAX_LAYERS) return refuse(p, "more than 4294967296 layers");
    }
    if (n == 0) return refuse(p, "a power must be at least 1");
    *power = n;
    return HOP_OK;
}

static bool name_start(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool name_part(char c)
{
    return name_start(c) || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* Characters of the name that `s` begins with; 0: none. */
static size_t name_length(const char *s)
{
    size_t n = 0;
    if (name_start(*s))
        while (name_part(s[n])) n++;
    return n;
}

static hop_status parse_name(parser *p, char name[HOP_MIXER_NAME_SIZE])
{
    const char *known = NULL;
    switch (*p->at) {
    case 'F': known = "full"; break;
    case 'W': known = "window"; break;
    case 'S': known = "sparse"; break;
    case 'L': known = p->linear; break;
    default: break;
    }
    if (known) {
        size_t n = strlen(known);
        if (n == 0 || n >= HOP_MIXER_NAME_SIZE || name_length(known) != n)
            return refuse(p, "L stands for a linear mixer whose name is empty, too long or no name");
        memcpy(name, known, n + 1);
        p->at++;
        return HOP_OK;
    }
    if (*p->at == 'L') return refuse(p, "L needs a linear mixer to be named");
    size_t n = name_length(p->at);
    if (n == 0)
        return refuse(p, *p->at ? "expected a layer: F, L, W, S, a mixer's name or (" : "a layer is missing");
    if (n >= HOP_MIXER_NAME_SIZE) return refuse(p, "a mixer's name is too long");
    memcpy(name, p->at, n);
    name[n] = 0;
    p->at += n;
    return HOP_OK;
}

static hop_status parse_items(parser *p, hop_pattern *out);

static hop_status parse_atom(parser *p, hop_pattern *atom)
{
    if (*p->at != '(') {
        char name[HOP_MIXER_NAME_SIZE];
        hop_status s = parse_name(p, name);
        return s == HOP_OK ? append(atom, name, 1, p) : s;
    }
    if (p->nesting == MAX_NESTING) return refuse(p, "parentheses nested too deeply");
    p->nesting++;
    p->at++;
    hop_status s = parse_items(p, atom);
    if (s != HOP_OK) return s;
    if (*p->at != ')') return refuse(p, "a ) is missing");
    p->at++;
    p->nesting--;
    return HOP_OK;
}

static hop_status parse_items(parser *p, hop_pattern *out)
{
    hop_status s = HOP_OK;
    skip_blanks(p);
    do {
        hop_pattern atom = {0};
        int64_t power = 1;
        s = parse_atom(p, &atom);
        if (s == HOP_OK) s = parse_power(p, &power);
        if (s == HOP_OK) s = append_power(out, &atom, power, p);
        hop_pattern_free(&atom);
        skip_blanks(p);
    } while (s == HOP_OK && *p->at && *p->at != ')');
    return s;
}

hop_status hop_pattern_parse(hop_pattern *out, const char *text, const char *linear, hop_error *err)
{
    parser p = {.text = text, .at = text, .linear = linear, .err = err};
    *out = (hop_pattern){0};
    hop_status s = parse_items(&p, out);
    if (s == HOP_OK && *p.at) s = refuse(&p, "a ( is missing");
    if (s != HOP_OK) hop_pattern_free(out);
    return s;
}

/* ---- printing and asking ------------------------------------------------------------------- */

/* The shortest prefix of the runs whose repetition is the whole list. */
static int64_t period(const hop_pattern *p)
{
    for (int64_t d = 1; d <= p->run_count / 2; d++) {
        if (p->run_count % d) continue;
        int64_t i = d;
        while (i < p->run_count && memcmp(&p->runs[i], &p->runs[i - d], sizeof(hop_run)) == 0) i++;
        if (i == p->run_count) return d;
    }
    return p->run_count;
}

void hop_pattern_print(const hop_pattern *p, hop_text *out)
{
    int64_t d = period(p), times = d ? p->run_count / d : 0;
    if (times > 1) hop_text_add(out, "(");
    for (int64_t i = 0; i < d; i++) {
        if (i) hop_text_add(out, " ");
        hop_text_add(out, p->runs[i].mixer);
        if (p->runs[i].count > 1) hop_text_printf(out, "^%lld", (long long)p->runs[i].count);
    }
    if (times > 1) hop_text_printf(out, ")^%lld", (long long)times);
}

const char *hop_pattern_mixer(const hop_pattern *p, int64_t layer)
{
    for (int64_t i = 0; i < p->run_count; i++) {
        if (layer < p->runs[i].count) return p->runs[i].mixer;
        layer -= p->runs[i].count;
    }
    return NULL;
}

void hop_pattern_free(hop_pattern *p)
{
    free(p->runs);
    *p = (hop_pattern){0};
}
