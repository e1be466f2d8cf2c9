/* The JSON reader: recursive descent over a text in memory, RFC 8259 plus bare NaN, Infinity and -Infinity.
 *
 * Recursion is bounded by HOP_JSON_MAX_DEPTH. Nodes and strings come from chunks that grow to a megabyte, so
 * that a document of millions of values costs hundreds of allocations and one walk to free. Line and column
 * are not kept while reading; an error counts them from the start. Duplicate keys are found by comparing with
 * the few keys before, and by a hash set once an object is large. */
#include <hopbound/json.h>

#include "json_string.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CHUNK ((size_t)4096)
#define LAST_CHUNK  ((size_t)1 << 20)
#define FEW_KEYS    8 /* up to here comparing is cheaper than hashing */

typedef struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(hop_json) char bytes[];
} chunk;

typedef struct parser {
    const char *start, *at, *end;
    chunk *memory;
    int depth;
    hop_error *err;
} parser;

static hop_status parse_value(parser *p, hop_json *v);

/* ---- errors and memory --------------------------------------------------------------------- */

/* Columns count characters, not bytes, as editors do. */
static HOP_PRINTF(3, 4) hop_status refuse(const parser *p, const char *where, const char *fmt, ...)
{
    size_t line = 1, column = 1;
    for (const char *s = p->start; s < where; s++) {
        if (*s == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)*s & 0xC0) != 0x80) {
            column++;
        }
    }
    char why[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    return hop_fail(p->err, HOP_EFORMAT, "line %zu, column %zu: %s", line, column, why);
}

static hop_status out_of_memory(const parser *p)
{
    return hop_fail(p->err, HOP_ENOMEM, "out of memory for a JSON text of %zu bytes",
                    (size_t)(p->end - p->start));
}

/* Zeroed memory that lives as long as the document; NULL when there is none. `align` is a power of two. */
static void *take(parser *p, size_t bytes, size_t align)
{
    chunk *c = p->memory;
    size_t from = c ? (c->used + align - 1) & ~(align - 1) : 0;
    if (!c || from > c->size || bytes > c->size - from) {
        size_t size = !c ? FIRST_CHUNK : c->size < LAST_CHUNK ? 2 * c->size : LAST_CHUNK;
        bool large = bytes > size / 4; /* gets a chunk of its own, and the current one goes on being filled */
        if (large) size = bytes;
        chunk *fresh = size <= SIZE_MAX - sizeof *fresh ? hop_alloc(sizeof *fresh + size) : NULL;
        if (!fresh) return NULL;
        fresh->size = size;
        chunk **link = large && c ? &c->next : &p->memory;
        fresh->next = *link;
        *link = fresh;
        c = fresh;
        from = 0;
    }
    c->used = from + bytes;
    return c->bytes + from;
}

/* ---- small steps --------------------------------------------------------------------------- */

static bool next_is(const parser *p, char c)
{
    return p->at < p->end && *p->at == c;
}

static bool accept(parser *p, char c)
{
    bool yes = next_is(p, c);
    p->at += yes;
    return yes;
}

static bool accept_word(parser *p, const char *word)
{
    size_t n = strlen(word);
    bool yes = (size_t)(p->end - p->at) >= n && memcmp(p->at, word, n) == 0;
    if (yes) p->at += n;
    return yes;
}

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t')) p->at++;
}

static bool at_digit(const parser *p)
{
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static bool skip_digits(parser *p)
{
    const char *from = p->at;
    while (at_digit(p)) p->at++;
    return p->at > from;
}

/* ---- strings ------------------------------------------------------------------------------- */

/* Where the string that opens at p->at closes, or where it breaks off: at a control character or the end. */
static const char *string_close(const parser *p)
{
    const char *s = p->at + 1;
    for (; s < p->end && *s != '"' && (unsigned char)*s >= 0x20; s++)
        if (*s == '\\' && s + 1 < p->end) s++;
    return s;
}

static hop_status parse_string(parser *p, const char **out, size_t *count)
{
    const char *close = string_close(p), *why;
    if (close == p->end) return refuse(p, p->end, "the text ends inside a string");
    if (*close != '"') return refuse(p, close, "control character in a string (is a quote missing?)");
    char *string = take(p, (size_t)(close - p->at), 1); /* the opening quote's byte is for the NUL */
    if (!string) return out_of_memory(p);
    p->at++;
    char *end = hop__json_unescape(string, &p->at, close, &why);
    if (!end) return refuse(p, p->at, "%s", why);
    p->at++;
    *end = 0;
    *out = string;
    *count = (size_t)(end - string);
    return HOP_OK;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool read_integer(const char *s, const char *end, int64_t *out)
{
    bool negative = *s == '-';
    uint64_t u = 0, limit = (uint64_t)INT64_MAX + negative;
    for (s += negative; s < end; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (u > (limit - digit) / 10) return false;
        u = 10 * u + digit;
    }
    *out = negative ? (int64_t)(0 - u) : (int64_t)u;
    return true;
}

/* strtod rounds correctly but wants a terminated text and the locale's decimal point. */
static hop_status read_real(parser *p, const char *from, double *out)
{
    const char *point = localeconv()->decimal_point;
    size_t n = (size_t)(p->at - from), room = n + strlen(point) + 1, k = 0;
    char few[128], *copy = room <= sizeof few ? few : hop_alloc(room);
    if (!copy) return out_of_memory(p);
    for (size_t i = 0; i < n; i++) {
        bool dot = from[i] == '.';
        size_t width = dot ? strlen(point) : 1;
        memcpy(copy + k, dot ? point : from + i, width);
        k += width;
    }
    copy[k] = 0;
    *out = strtod(copy, NULL);
    if (copy != few) hop_free(copy);
    if (isinf(*out)) return refuse(p, from, "the number is too large for double precision");
    return HOP_OK;
}

static hop_status parse_number(parser *p, hop_json *v)
{
    const char *from = p->at;
    bool integral = true;
    v->type = HOP_JSON_REAL;
    if (accept(p, '-') && accept_word(p, "Infinity")) {
        v->real = -INFINITY;
        return HOP_OK;
    }
    if (accept(p, '0')) {
        if (at_digit(p)) return refuse(p, from, "a number with a leading zero");
    } else if (!skip_digits(p)) {
        return refuse(p, p->at, "expected a digit after '-'");
    }
    if (accept(p, '.')) {
        integral = false;
        if (!skip_digits(p)) return refuse(p, p->at, "expected a digit after the decimal point");
    }
    if (accept(p, 'e') || accept(p, 'E')) {
        integral = false;
        if (!accept(p, '-')) accept(p, '+');
        if (!skip_digits(p)) return refuse(p, p->at, "expected a digit in the exponent");
    }
    int64_t integer;
    if (!integral || !read_integer(from, p->at, &integer)) return read_real(p, from, &v->real);
    v->type = HOP_JSON_INT;
    v->integer = integer;
    return HOP_OK;
}

/* ---- arrays and objects -------------------------------------------------------------------- */

typedef struct key_slot {
    uint64_t hash;
    const char *key; /* NULL: free */
} key_slot;

/* Open addressing, at most half full. The hash beside the key spares a look at keys that are elsewhere in
 * memory. */
typedef struct key_set {
    key_slot *slots; /* NULL while there are few keys */
    size_t size;     /* a power of two */
} key_set;

/* FNV-1a, stirred. The seed is an address, which differs from run to run, so that no file can be made to
 * collide everywhere; only speed depends on it. */
static uint64_t key_hash(const key_set *set, const char *key)
{
    uint64_t h = (uint64_t)(uintptr_t)set * 0x9E3779B97F4A7C15u;
    for (; *key; key++) h = (h ^ (unsigned char)*key) * 0x100000001B3u;
    h = (h ^ h >> 32) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 32;
}

/* Where the key is, or the free slot where it belongs. */
static key_slot *key_find(const key_set *set, uint64_t hash, const char *key)
{
    size_t i = (size_t)hash & (set->size - 1);
    for (; set->slots[i].key; i = (i + 1) & (set->size - 1))
        if (set->slots[i].hash == hash && strcmp(set->slots[i].key, key) == 0) break;
    return &set->slots[i];
}

/* Doubles the set and fills it afresh from the object, whose keys lie in memory in this order. */
static bool key_set_grow(key_set *set, const hop_json *object)
{
    size_t size = set->size ? 2 * set->size : 4 * FEW_KEYS;
    key_slot *slots = size <= SIZE_MAX / sizeof *slots ? hop_alloc(size * sizeof *slots) : NULL;
    if (!slots) return false;
    hop_free(set->slots);
    *set = (key_set){.slots = slots, .size = size};
    for (const hop_json *v = object->child; v; v = v->next) {
        uint64_t hash = key_hash(set, v->key);
        *key_find(set, hash, v->key) = (key_slot){.hash = hash, .key = v->key};
    }
    return true;
}

/* Takes note of `key`, which is to join the object. */
static hop_status add_key(parser *p, key_set *set, const hop_json *object, const char *key, const char *where)
{
    bool twice = false;
    if (object->count < FEW_KEYS) {
        for (const hop_json *v = object->child; v && !twice; v = v->next) twice = strcmp(v->key, key) == 0;
    } else {
        if (2 * object->count >= set->size && !key_set_grow(set, object)) return out_of_memory(p);
        uint64_t hash = key_hash(set, key);
        key_slot *slot = key_find(set, hash, key);
        twice = slot->key != NULL;
        *slot = (key_slot){.hash = hash, .key = key};
    }
    return twice ? refuse(p, where, "the key \"%.100s\" occurs twice", key) : HOP_OK;
}

/* "key": of a member. */
static hop_status parse_key(parser *p, key_set *set, const hop_json *object, const char **key)
{
    const char *where = p->at;
    size_t length;
    if (!next_is(p, '"')) return refuse(p, where, "expected a key in quotes");
    hop_status s = parse_string(p, key, &length);
    if (s == HOP_OK) s = add_key(p, set, object, *key, where);
    if (s != HOP_OK) return s;
    skip_space(p);
    if (!accept(p, ':')) return refuse(p, p->at, "expected ':' after a key");
    skip_space(p);
    return HOP_OK;
}

/* The members after the opening bracket, the closing one included. */
static hop_status parse_members(parser *p, hop_json *v, key_set *set)
{
    bool object = v->type == HOP_JSON_OBJECT;
    char close = object ? '}' : ']';
    const hop_json **link = &v->child;
    skip_space(p);
    if (accept(p, close)) return HOP_OK;
    for (;;) {
        const char *key = NULL;
        hop_status s = object ? parse_key(p, set, v, &key) : HOP_OK;
        if (s != HOP_OK) return s;
        hop_json *member = take(p, sizeof *member, _Alignof(hop_json));
        if (!member) return out_of_memory(p);
        member->key = key;
        s = parse_value(p, member);
        if (s != HOP_OK) return s;
        *link = member;
        link = &member->next;
        v->count++;
        skip_space(p);
        if (accept(p, close)) return HOP_OK;
        if (!accept(p, ',')) return refuse(p, p->at, "expected ',' or '%c'", close);
        skip_space(p);
    }
}

static hop_status parse_container(parser *p, hop_json *v)
{
    if (p->depth == HOP_JSON_MAX_DEPTH) return refuse(p, p->at, "nested deeper than %d", HOP_JSON_MAX_DEPTH);
    v->type = *p->at++ == '{' ? HOP_JSON_OBJECT : HOP_JSON_ARRAY;
    key_set set = {0};
    p->depth++;
    hop_status s = parse_members(p, v, &set);
    p->depth--;
    hop_free(set.slots);
    return s;
}

/* Fills `v`, which is zeroed but for its key. */
static hop_status parse_value(parser *p, hop_json *v)
{
    if (p->at == p->end) return refuse(p, p->at, "expected a value, but the text ends");
    char c = *p->at;
    if (c == '{' || c == '[') return parse_container(p, v);
    if (c == '-' || at_digit(p)) return parse_number(p, v);
    if (c == '"') {
        v->type = HOP_JSON_STRING;
        return parse_string(p, &v->string, &v->count);
    }
    if (accept_word(p, "null")) {
        v->type = HOP_JSON_NULL;
    } else if (accept_word(p, "NaN") || accept_word(p, "Infinity")) {
        v->type = HOP_JSON_REAL;
        v->real = c == 'N' ? NAN : INFINITY;
    } else if (accept_word(p, "true") || accept_word(p, "false")) {
        v->type = HOP_JSON_BOOL;
        v->boolean = c == 't';
    } else {
        return refuse(p, p->at, "expected a value");
    }
    return HOP_OK;
}

/* ---- documents ----------------------------------------------------------------------------- */

hop_status hop_json_parse(hop_json_doc *doc, const char *text, size_t size, hop_error *err)
{
    if (size == 0) text = ""; /* NULL is what an empty file maps to */
    parser p = {.start = text, .at = text, .end = text + size, .err = err};
    hop_json *root = take(&p, sizeof *root, _Alignof(hop_json));
    hop_status s = root ? HOP_OK : out_of_memory(&p);
    if (s == HOP_OK) {
        accept_word(&p, "\xEF\xBB\xBF"); /* a byte order mark, which some editors put */
        skip_space(&p);
        s = parse_value(&p, root);
        skip_space(&p);
    }
    if (s == HOP_OK && p.at < p.end) s = refuse(&p, p.at, "something follows the value");
    *doc = (hop_json_doc){.root = root, .memory = p.memory};
    if (s != HOP_OK) hop_json_free(doc);
    return s;
}

/* Parses and frees what was read. */
static hop_status parse_file(hop_json_doc *doc, hop_file *file, const char *path, hop_error *err)
{
    hop_status s = hop_json_parse(doc, (const char *)file->data, file->size, err);
    hop_file_free(file);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

hop_status hop_json_load(hop_json_doc *doc, const char *path, hop_error *err)
{
    hop_file file;
    *doc = (hop_json_doc){0};
    hop_status s = hop_file_load(&file, path, HOP_JSON_MOST, err);
    return s == HOP_OK ? parse_file(doc, &file, path, err) : s;
}

hop_status hop_json_read(hop_json_doc *doc, const char *path, hop_error *err)
{
    hop_file file;
    *doc = (hop_json_doc){0};
    hop_status s = hop_file_read(&file, path, HOP_JSON_MOST, err);
    return s == HOP_OK ? parse_file(doc, &file, path, err) : s;
}

void hop_json_free(hop_json_doc *doc)
{
    for (chunk *c = doc->memory, *next; c; c = next) {
        next = c->next;
        hop_free(c);
    }
    *doc = (hop_json_doc){0};
}
