/* The JSON writer. Pretty text puts each member of an object on a line of its own, and so each container in
 * an array; plain values in an array share lines, as long ones are token lists and shapes. */
#include <hopbound/json.h>

#include "json_string.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_WIDTH 100 /* where a line of plain values is broken */

static void new_line(hop_json_writer *w)
{
    hop_text_add(&w->text, "\n");
    for (int i = 0; i < w->depth; i++) hop_text_add(&w->text, "  ");
}

static bool line_is_long(const hop_json_writer *w)
{
    if (w->text.len < LINE_WIDTH) return false;
    return !memchr(w->text.s + w->text.len - LINE_WIDTH, '\n', LINE_WIDTH);
}

/* What stands between the value before and this one. */
static void begin_value(hop_json_writer *w, bool container)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    if (w->depth == 0) return; /* the root */
    if (w->comma) hop_text_add(&w->text, ",");
    if (!w->pretty) return;
    if (container || (w->comma && line_is_long(w)))
        new_line(w);
    else if (w->comma)
        hop_text_add(&w->text, " ");
}

static void begin_container(hop_json_writer *w, const char *bracket)
{
    begin_value(w, true);
    hop_text_add(&w->text, bracket);
    w->depth++;
    w->comma = false;
}

/* A bracket closes on a new line if what it closes ended on one of its own. */
static void end_container(hop_json_writer *w, const char *bracket, bool own_line)
{
    w->depth--;
    if (w->pretty && w->comma && own_line) new_line(w);
    hop_text_add(&w->text, bracket);
    w->comma = true;
}

void hop_json_begin_object(hop_json_writer *w)
{
    begin_container(w, "{");
}

void hop_json_end_object(hop_json_writer *w)
{
    end_container(w, "}", true);
}

void hop_json_begin_array(hop_json_writer *w)
{
    begin_container(w, "[");
}

void hop_json_end_array(hop_json_writer *w)
{
    char last = w->text.len ? w->text.s[w->text.len - 1] : 0;
    end_container(w, "]", last == '}' || last == ']');
}

void hop_json_key(hop_json_writer *w, const char *key)
{
    if (w->comma) hop_text_add(&w->text, ",");
    if (w->pretty) new_line(w);
    hop__json_escape(&w->text, key);
    hop_text_add(&w->text, w->pretty ? ": " : ":");
    w->after_key = true;
}

static void put_plain(hop_json_writer *w, const char *text)
{
    begin_value(w, false);
    hop_text_add(&w->text, text);
    w->comma = true;
}

void hop_json_put_string(hop_json_writer *w, const char *s)
{
    if (!s) {
        hop_json_put_null(w);
        return;
    }
    begin_value(w, false);
    hop__json_escape(&w->text, s);
    w->comma = true;
}

void hop_json_put_int(hop_json_writer *w, int64_t v)
{
    begin_value(w, false);
    hop_text_integer(&w->text, v);
    w->comma = true;
}

/* The fewest digits that read back, with a point or an exponent, so that a real stays a real. */
void hop_json_put_real(hop_json_writer *w, double v)
{
    if (!isfinite(v)) {
        hop_json_put_null(w);
        return;
    }
    char number[64], out[64];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, v);
        if (strtod(number, NULL) == v) break;
    }
    size_t n = 0;
    bool integral = true;
    for (const char *c = number; *c; c++) {
        bool point = !strchr("+-0123456789e", *c); /* the locale's, of one byte or more */
        if (point && n && out[n - 1] == '.') continue;
        out[n++] = point ? '.' : *c;
        if (point || *c == 'e') integral = false;
    }
    memcpy(out + n, integral ? ".0" : "", integral ? 3 : 1);
    put_plain(w, out);
}

void hop_json_put_bool(hop_json_writer *w, bool v)
{
    put_plain(w, v ? "true" : "false");
}

void hop_json_put_null(hop_json_writer *w)
{
    put_plain(w, "null");
}

/* Recursion is as deep as the parser let the value be. */
void hop_json_put_value(hop_json_writer *w, const hop_json *v)
{
    bool object = v->type == HOP_JSON_OBJECT;
    switch (v->type) {
    case HOP_JSON_NULL: hop_json_put_null(w); return;
    case HOP_JSON_BOOL: hop_json_put_bool(w, v->boolean); return;
    case HOP_JSON_INT: hop_json_put_int(w, v->integer); return;
    case HOP_JSON_REAL: hop_json_put_real(w, v->real); return;
    case HOP_JSON_STRING: hop_json_put_string(w, v->string); return;
    case HOP_JSON_ARRAY:
    case HOP_JSON_OBJECT: break;
    }
    if (object)
        hop_json_begin_object(w);
    else
        hop_json_begin_array(w);
    for (const hop_json *member = v->child; member; member = member->next) {
        if (object) hop_json_key(w, member->key);
        hop_json_put_value(w, member);
    }
    if (object)
        hop_json_end_object(w);
    else
        hop_json_end_array(w);
}

/* ---- key and value ------------------------------------------------------------------------- */

void hop_json_string(hop_json_writer *w, const char *key, const char *s)
{
    hop_json_key(w, key);
    if (s)
        hop_json_put_string(w, s);
    else
        hop_json_put_null(w);
}

void hop_json_null(hop_json_writer *w, const char *key)
{
    hop_json_string(w, key, NULL);
}

void hop_json_known(hop_json_writer *w, const char *key, int64_t v, bool known)
{
    if (known)
        hop_json_integer(w, key, v);
    else
        hop_json_null(w, key);
}

void hop_json_integers(hop_json_writer *w, const char *key, const int64_t *list, int64_t count)
{
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int64_t i = 0; i < count; i++) hop_json_put_int(w, list[i]);
    hop_json_end_array(w);
}

void hop_json_integer(hop_json_writer *w, const char *key, int64_t v)
{
    hop_json_key(w, key);
    hop_json_put_int(w, v);
}

void hop_json_number(hop_json_writer *w, const char *key, double v)
{
    hop_json_key(w, key);
    hop_json_put_real(w, v);
}

void hop_json_boolean(hop_json_writer *w, const char *key, bool v)
{
    hop_json_key(w, key);
    hop_json_put_bool(w, v);
}
