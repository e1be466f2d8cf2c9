/* Families as text: rows, their statements, and patterns of names. Nothing is copied: a row is a part of the
 * text, and what a statement says is read when it is asked for. */
#include "room.h"

#include <stdlib.h>
#include <string.h>

extern const char *const hop__hf_rows[];

hop__span hop__hf_built_in(void)
{
    return (hop__span){hop__hf_rows[1], hop__hf_rows[1] + strlen(hop__hf_rows[1])};
}

/* ---- spans --------------------------------------------------------------------------------- */

bool hop__span_is(hop__span s, const char *text)
{
    size_t n = strlen(text);
    return (size_t)(s.end - s.at) == n && memcmp(s.at, text, n) == 0;
}

bool hop__span_same(hop__span a, hop__span b)
{
    return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static hop__span trimmed(hop__span s)
{
    while (s.at < s.end && is_blank(*s.at)) s.at++;
    while (s.at < s.end && is_blank(s.end[-1])) s.end--;
    return s;
}

hop__span hop__span_word(hop__span *s)
{
    *s = trimmed(*s);
    hop__span word = {s->at, s->at};
    while (word.end < s->end && !is_blank(*word.end)) word.end++;
    s->at = word.end;
    return word;
}

bool hop__span_next(hop__span *s, hop__span *word)
{
    *word = hop__span_word(s);
    return word->at < word->end;
}

bool hop__span_part(hop__span *s, hop__span *part)
{
    *part = hop__span_until(s, ',');
    return part->at < part->end;
}

bool hop__span_sign(hop__span *s, char c)
{
    hop__span rest = trimmed(*s);
    if (rest.at == rest.end || *rest.at != c) return false;
    *s = (hop__span){rest.at + 1, rest.end};
    return true;
}

bool hop__span_skip(hop__span *s, const char *word)
{
    hop__span rest = *s;
    if (!hop__span_is(hop__span_word(&rest), word)) return false;
    *s = rest;
    return true;
}

hop__span hop__span_until(hop__span *s, char stop)
{
    hop__span part = *s;
    const char *at = s->at < s->end ? memchr(s->at, stop, (size_t)(s->end - s->at)) : NULL;
    part.end = at ? at : s->end;
    s->at = at ? at + 1 : s->end;
    return trimmed(part);
}

void hop__span_copy(char *out, size_t size, hop__span s)
{
    size_t n = (size_t)(s.end - s.at);
    if (n >= size) n = size - 1;
    if (n) memcpy(out, s.at, n);
    out[n] = 0;
}

/* ---- rows and statements -------------------------------------------------------------------- */

/* A line without its comment. */
static bool next_line(hop__span *text, hop__span *line)
{
    if (text->at >= text->end) return false;
    const char *end = memchr(text->at, '\n', (size_t)(text->end - text->at));
    *line = (hop__span){text->at, end ? end : text->end};
    text->at = end ? end + 1 : text->end;
    const char *comment = memchr(line->at, '#', (size_t)(line->end - line->at));
    if (comment) line->end = comment;
    return true;
}

static bool begins_row(hop__span line)
{
    return line.at < line.end && !is_blank(*line.at);
}

/* A line that begins a row, up to a ':', behind which statements may stand. */
static void begin_row(hop__row *row, hop__span line)
{
    hop__span rest = line;
    if (!row->names.at) {
        row->kind = hop__span_word(&rest);
        row->names.at = line.at;
    }
    const char *colon = memchr(line.at, ':', (size_t)(line.end - line.at));
    row->names.end = colon ? colon : line.end;
    if (colon) row->body = (hop__span){colon + 1, line.end};
}

/* Lines of names one below the other share what follows. */
bool hop__row_next(hop__span *text, hop__row *row)
{
    hop__span line, after = *text;
    *row = (hop__row){{0}, {0}, {0}, false};
    while (after.at < after.end) {
        const char first = *after.at;
        next_line(&after, &line);
        bool begins = begins_row(line);
        if (begins && row->body.at) break;
        if (begins) begin_row(row, line);
        if (row->names.at && !begins && (first == ' ' || first == '\t')) {
            if (!row->body.at) row->body.at = line.at;
            row->body.end = line.end;
        }
        *text = after;
    }
    if (row->names.at && !row->body.at) row->body = (hop__span){row->names.end, row->names.end};
    return row->names.at != NULL;
}

/* Statements that end with their line, since a text may hold a ';'. */
static bool is_text(hop__span name)
{
    static const char *const texts[] = {"remark", "refuse", "left_out", "unlike"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (hop__span_is(name, texts[i])) return true;
    return false;
}

bool hop__statement_next(hop__span *body, hop__span *name, hop__span *rest)
{
    while (body->at < body->end) {
        hop__span after = *body, line = {0};
        next_line(&after, &line);
        *rest = trimmed(line);
        *name = hop__span_word(rest);
        if (!is_text(*name)) {
            *rest = hop__span_until(&line, ';');
            *name = hop__span_word(rest);
        }
        body->at = line.at < line.end && !is_text(*name) ? line.at : after.at;
        *rest = trimmed(*rest);
        if (name->at < name->end) return true;
    }
    return false;
}

static bool has_name(const hop__row *row, hop__span name)
{
    hop__span names = row->names, line, word;
    while (next_line(&names, &line)) {
        hop__span_word(&line); /* the kind */
        while (hop__span_next(&line, &word))
            if (hop__span_same(word, name)) return true;
    }
    return false;
}

static bool find_in(hop__span text, const char *kind, hop__span name, const hop__row *not_this, hop__row *row)
{
    while (hop__row_next(&text, row))
        if (hop__span_is(row->kind, kind) && has_name(row, name) &&
            !(not_this && not_this->body.at == row->body.at))
            return true;
    return false;
}

static bool assigned_in(hop__span text, hop__span wanted)
{
    hop__row row;
    hop__span name, rest;
    while (hop__row_next(&text, &row))
        while (hop__statement_next(&row.body, &name, &rest)) {
            if (hop__span_is(name, "let")) name = hop__span_word(&rest);
            if (hop__span_same(name, wanted) && hop__span_skip(&rest, "=")) return true;
        }
    return false;
}

bool hop__hf_assigned(const hop__hf *r, hop__span name)
{
    const hop_hf_families *f = r->families;
    bool own = f && assigned_in((hop__span){f->text, f->text + f->size}, name);
    return own || assigned_in(r->built_in, name);
}

bool hop__hf_row(const hop__hf *r, const char *kind, hop__span name, const hop__row *not_this, hop__row *row)
{
    const hop_hf_families *f = r->families;
    bool added = f && find_in((hop__span){f->text, f->text + f->size}, kind, name, not_this, row);
    bool found = added || find_in(r->built_in, kind, name, not_this, row);
    row->added = added;
    if (!found) *row = (hop__row){{0}, {0}, {0}, false};
    return found;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static bool statement(const hop__row *row, const char *name, hop__span *rest)
{
    hop__span body = row->body, word, found;
    while (hop__statement_next(&body, &word, &found)) {
        if (!hop__span_is(word, name)) continue;
        *rest = found;
        return true;
    }
    return false;
}

bool hop__hf_like(const hop__hf *r, hop__row *row)
{
    hop__span name;
    char kind[16];
    const hop__row from = *row;
    hop__span_copy(kind, sizeof kind, from.kind);
    return statement(&from, "like", &name) && hop__hf_row(r, kind, name, &from, row);
}

#define MOST_LIKE 8 /* rows that are like each other; the ninth is not looked at */

bool hop__hf_fact(const hop__hf *r, const char *name, hop__span *rest)
{
    hop__row row = r->row;
    for (int i = 0; i < MOST_LIKE; i++) {
        if (statement(&row, name, rest)) return true;
        if (!hop__hf_like(r, &row)) break;
    }
    return false;
}

bool hop__hf_common(const hop__hf *r, const char *name, hop__span *rest)
{
    int i = 0;
    while (i < r->of_all_count && !hop__span_is(r->of_all[i].name, name)) i++;
    if (i < r->of_all_count) *rest = r->of_all[i].rest;
    return i < r->of_all_count;
}

const char *hop__hf_keys(const hop__hf *r, const char *name, char keys[HOP__HF_MAX_KEYS])
{
    hop__span rest = {keys, keys};
    hop__hf_common(r, name, &rest);
    hop__span_copy(keys, HOP__HF_MAX_KEYS, rest);
    return keys;
}

bool hop__hf_word(const hop__hf *r, const char *name, int k, char out[64])
{
    hop__span rest, word;
    for (int i = 0; i < r->of_all_count; i++) {
        if (!hop__span_is(r->of_all[i].name, name)) continue;
        for (rest = r->of_all[i].rest; hop__span_next(&rest, &word); k--) {
            if (k > 0) continue;
            hop__span_copy(out, 64, word);
            return true;
        }
    }
    return false;
}

double hop__hf_number(const hop__hf *r, const char *name, const char *word)
{
    hop__span all, one;
    if (!hop__hf_fact(r, name, &all)) return 0;
    while (hop__span_part(&all, &one)) {
        if (!hop__span_skip(&one, word)) continue;
        hop__span number = hop__span_word(&one);
        return number.at == number.end ? 1 : hop__span_is(number, "?") ? -1 : hop__span_real(number);
    }
    return 0;
}

int64_t hop__hf_class(const hop__hf *r, const char *word)
{
    return (int64_t)hop__hf_number(r, "class", word);
}

/* ---- patterns of names ------------------------------------------------------------------------- */

bool hop__glob(hop__span pattern, const char *name)
{
    const char *p = pattern.at, *star = NULL, *again = NULL;
    while (*name) {
        if (p < pattern.end && *p == '*') {
            star = ++p;
            again = name;
        } else if (p < pattern.end && *p == *name) {
            p++;
            name++;
        } else if (star) {
            p = star;
            name = ++again;
        } else {
            return false;
        }
    }
    while (p < pattern.end && *p == '*') p++;
    return p == pattern.end;
}

/* -1: no pattern of the list fits; else whether it is listed. */
static int fits(hop__span list, const char *name)
{
    int listed = -1;
    hop__span word;
    while (hop__span_next(&list, &word)) {
        bool back = *word.at == '!';
        word.at += back;
        if ((*word.at == '*' || *word.at == *name) && hop__glob(word, name)) listed = !back;
    }
    return listed;
}

bool hop__hf_listed(const hop__hf *r, const char *name, const char *key)
{
    int listed = 0;
    for (int i = 0; i < r->of_all_count; i++) {
        int here = hop__span_is(r->of_all[i].name, name) ? fits(r->of_all[i].rest, key) : -1;
        if (here >= 0) listed = here;
    }
    return listed;
}

bool hop__hf_known(const hop__hf *r, const char *key)
{
    hop__span rest;
    return hop__hf_fact(r, "known", &rest) && fits(rest, key) > 0;
}
