/* Certificates of bounds: one line each (proofs/CERTIFICATE.md), read strictly, and judged by the theorem that
 * it names. What is accepted is accepted by `check` of proofs/Check.v, which is proved sound: `check_sound`. */
#include "certificate.h"

#include <hopbound/check.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES  ((size_t)1 << 26) /* of a file */
#define MOST_DIGITS 12000             /* of a number: the longest that is searched for has 9865 */
#define MOST_WORD   16                /* letters of one that is no number */

/* ---- a line as words ------------------------------------------------------------------------------- */

typedef struct reader {
    const char *at, *end;
    fmpz *numbers; /* all of the line, in their order */
    long count, room;
    const char *wrong; /* what is malformed; NULL: nothing yet */
} reader;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next word, without moving on; its length, 0 at the end. */
static size_t peek(reader *r)
{
    while (r->at < r->end && is_blank(*r->at)) r->at++;
    const char *to = r->at;
    while (to < r->end && !is_blank(*to)) to++;
    return (size_t)(to - r->at);
}

static bool take_word(reader *r, const char *word)
{
    size_t n = peek(r);
    if (n != strlen(word) || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

static bool take_number(reader *r)
{
    size_t n = peek(r);
    if (n == 0 || !is_digit(*r->at)) return false;
    char digits[MOST_DIGITS + 1];
    bool good = n <= MOST_DIGITS;
    for (size_t i = 0; good && i < n; i++) good = is_digit(r->at[i]);
    if (!good) {
        r->wrong = n > MOST_DIGITS ? "a number of more than 12000 digits" : "a number that is none";
        return false;
    }
    memcpy(digits, r->at, n);
    digits[n] = 0;
    r->at += n;
    fmpz_set_str(&r->numbers[r->count++], digits, 10); /* a line has room for all its words */
    return true;
}

static hop__integers take_numbers(reader *r)
{
    long from = r->count;
    while (take_number(r)) continue;
    return (hop__integers){r->numbers + from, r->count - from};
}

/* ---- the claim ---------------------------------------------------------------------------------------- */

static bool malformed(reader *r, const char *what)
{
    if (!r->wrong) r->wrong = what;
    return false;
}

static bool read_claim(reader *r, hop__bound_claim *c)
{
    hop__integers one;
    if (!take_word(r, "impossible")) return malformed(r, "it does not begin with `impossible`");
    if (!take_word(r, "m") || (one = take_numbers(r)).count != 1) return malformed(r, "no m");
    c->m = one.of;
    if (!take_word(r, "fan")) return malformed(r, "no fan");
    c->fan = take_numbers(r);
    if (c->fan.count > HOP_MAX_HOPS - 1) return malformed(r, "more than 64 hops");
    if (!take_word(r, "M") || (one = take_numbers(r)).count != 1) return malformed(r, "no M");
    c->reply = one.of;
    if (!take_word(r, "A") || (c->state = take_numbers(r)).count < 1) return malformed(r, "no A");
    return take_word(r, "by") || malformed(r, "no theorem");
}

/* The way, where the theorem takes one: the last that stands in the line. */
static bool read_way(reader *r, hop__way *w)
{
    w->climbs = take_word(r, "climb");
    if (!w->climbs && !take_word(r, "lines")) return malformed(r, "no `lines` and no `climb`");
    hop__integers all = take_numbers(r);
    long first = w->climbs ? 0 : 5;
    if (all.count < first || (all.count - first) % 3 != 0) return malformed(r, "steps that are no triples");
    w->first = (hop__integers){all.of, first};
    w->steps = (hop__integers){all.of + first, all.count - first};
    return true;
}

static bool read_rest(reader *r, hop__bound_claim *c, const hop__bound_rule **rule)
{
    char by[MOST_WORD + 1] = "";
    size_t n = peek(r);
    if (n <= MOST_WORD) memcpy(by, r->at, n);
    *rule = hop__rule_called(by);
    if (!*rule) return malformed(r, "a theorem that has no checker");
    r->at += n;
    c->given = take_numbers(r);
    if (r->wrong) return false;
    bool right = (*rule)->given < 0 ? c->given.count % 2 == 1 : c->given.count == (*rule)->given;
    if (!right) return malformed(r, "the theorem takes another number of integers");
    if ((*rule)->way && !read_way(r, &c->way)) return false;
    return !r->wrong && (peek(r) == 0 || malformed(r, "more words than there should be"));
}

/* ---- the verdict --------------------------------------------------------------------------------------- */

/* Does the theorem speak of claims like this one? NULL, or why not. */
static const char *does_not_fit(const hop__bound_rule *rule, const hop__bound_claim *c)
{
    long hops = rule->hops ? rule->hops : rule->given < 0 ? c->given.count / 2 + 1 : c->fan.count + 1;
    long full = rule->full >= 0 ? rule->full : rule->nothing_first ? hops : hops - 1;
    if (c->fan.count < hops - 1) return "the theorem is about more hops";
    if (c->state.count != full + 1) return "the theorem is about another number of full layers";
    if (rule->nothing_first && !fmpz_is_zero(c->state.of)) return "the theorem takes A_0 = 0";
    for (long l = hops - 1; l < c->fan.count; l++)
        if (fmpz_is_zero(&c->fan.of[l])) return "a fan of 0";
    return NULL;
}

/* "7421"; of more than 18 digits "10^22.1042..". */
static void say_side(char out[40], double *value, const fmpz *whole, const fmpz *base)
{
    double log10_of = (base ? log(fmpz_dlog(base) / log(2)) : 0) / log(10) + fmpz_dlog(whole) / log(10);
    *value = fmpz_get_d(whole) * (base ? fmpz_dlog(base) / log(2) : 1);
    if (log10_of >= 18)
        snprintf(out, 40, "10^%.12g", log10_of);
    else if (base)
        snprintf(out, 40, "%.*f", log10_of < 11 ? 4 : 0, *value);
    else
        snprintf(out, 40, "%lld", (long long)fmpz_get_si(whole));
}

static void say_sides(hop_check *out, const hop__sides *s)
{
    if (fmpz_is_zero(&s->bits)) /* it has no logarithm */
        strcpy(out->has, "0");
    else
        say_side(out->has, &out->has_bits, &s->bits, NULL);
    char needs[40];
    say_side(needs, &out->needs_bits, &s->times, &s->base);
    snprintf(out->needs, sizeof out->needs, "%s%s", strcmp(needs, out->has) == 0 ? "more than " : "", needs);
}

static void judge(hop_check *out, const hop__bound_rule *rule, const hop__bound_claim *c)
{
    const char *unfit = does_not_fit(rule, c);
    hop__sides sides = {0};
    hop__bound_claim asked = *c;
    asked.sides = &sides;
    snprintf(out->by, sizeof out->by, "%s", rule->by);
    out->valid = !unfit && rule->holds(&asked);
    if (out->valid) say_sides(out, &sides);
    fmpz_clear(&sides.bits), fmpz_clear(&sides.base), fmpz_clear(&sides.times);
    if (out->valid)
        snprintf(out->why, sizeof out->why,
                 "no network of these widths does %ld hop%s at these sizes: what it can tell is %s bits, the "
                 "answers take %s; "
                 "theorem %s of proofs/%s, by the checker that proofs/Check.v proves sound",
                 c->fan.count + 1, c->fan.count ? "s" : "", out->has, out->needs, rule->theorem, rule->file);
    else
        snprintf(out->why, sizeof out->why, "rejected: %s",
                 unfit ? unfit : "the integers do not satisfy the theorem's conditions");
}

hop_status hop_check_certificate(hop_check *out, const char *line, size_t length, hop_error *err)
{
    *out = (hop_check){.kind = "bound", .margin = NAN, .spread = NAN};
    reader r = {.at = line, .end = line + length, .room = (long)(length / 2) + 1};
    r.numbers = calloc((size_t)r.room, sizeof *r.numbers); /* an fmpz of zero bits is 0 */
    if (!r.numbers) return hop_fail(err, HOP_ENOMEM, "check: out of memory");
    hop__bound_claim c = {0};
    const hop__bound_rule *rule = NULL;
    if (read_claim(&r, &c) && read_rest(&r, &c, &rule))
        judge(out, rule, &c);
    else
        snprintf(out->why, sizeof out->why, "malformed: %s", r.wrong);
    for (long i = 0; i < r.count; i++) fmpz_clear(&r.numbers[i]);
    free(r.numbers);
    return HOP_OK;
}

/* ---- a file --------------------------------------------------------------------------------------------- */

static bool says_nothing(const char *line, size_t length)
{
    size_t i = 0;
    while (i < length && is_blank(line[i])) i++;
    return i == length || line[i] == '#';
}

/* Takes a line's verdict into the file's. */
static void add_verdict(hop_check *all, const hop_check *one, int64_t line)
{
    bool first = all->passes++ == 0;
    if (!first && !all->valid) return;
    int64_t passes = all->passes;
    *all = *one;
    all->passes = passes;
    if (!one->valid) snprintf(all->why, sizeof all->why, "line %lld: %.360s", (long long)line, one->why);
}

static hop_status check_lines(hop_check *out, const hop_file *f, const hop_check_options *o, hop_error *err)
{
    const char *text = (const char *)f->data, *end = text + f->size;
    *out = (hop_check){.kind = "bound", .why = "no certificate in it", .margin = NAN, .spread = NAN};
    int64_t number = 1;
    for (const char *at = text; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        if (!says_nothing(at, length)) {
            hop_check one;
            hop_status s = hop_check_certificate(&one, at, length, err);
            if (s != HOP_OK) return s;
            add_verdict(out, &one, number);
            if (o && o->each) o->each(o->ctx, number, &one);
        }
        if (o && !hop_progress_tick(o->progress, "certificates", (double)(at - text), (double)f->size))
            return hop_fail(err, HOP_ESTOPPED, "stopped");
        at += length + 1;
    }
    return HOP_OK;
}

hop_status hop_check_certificates(hop_check *out, const char *path, const hop_check_options *o,
                                  hop_error *err)
{
    hop_file f = {0};
    hop_status s = hop_file_read(&f, path, MOST_BYTES, err);
    if (s != HOP_OK) return s;
    s = check_lines(out, &f, o, err);
    hop_file_free(&f);
    return s;
}
