/* From GGUF metadata to a config.json, by the rows of gguf.txt: what is then said of the model comes from the same lines as
 * of the file that it was converted from. */
#include <hopbound/gguf.h>
#include "room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char *const hop__gguf_rows[];

#define MOST_USES 4 /* rows within rows */

typedef struct maker {
    const hop_gguf *g;
    bool *read; /* [g->count] */
    int64_t layers, arbitrary;
    hop_json_writer w;
    char inside[64]; /* the object that is open; "": none */
    hop_error *err;
    hop_status status;
} maker;

static hop__span rows(void)
{
    return (hop__span){hop__gguf_rows[1], hop__gguf_rows[1] + strlen(hop__gguf_rows[1])};
}

static bool row_called(hop__span name, const char *kind, hop__row *row)
{
    hop__span text = rows();
    while (hop__row_next(&text, row)) {
        hop__span names = row->names, one = hop__span_word(&names);
        if (!hop__span_same(row->kind, one) || !hop__span_is(one, kind)) continue;
        while (hop__span_next(&names, &one))
            if (hop__span_same(one, name)) return true;
    }
    return false;
}

/* ---- values -------------------------------------------------------------------------------- */

static void missing(maker *m, const char *key, const char *what)
{
    if (m->status == HOP_OK)
        m->status = hop_fail(m->err, HOP_EFORMAT, "%s.%.80s: %s", m->g->architecture, key, what);
}

/* The value of ARCH.key, which is then read; NULL: there is none. */
static const hop_gguf_value *value_of(maker *m, const char *key)
{
    size_t n = strlen(m->g->architecture);
    for (int64_t i = 0; i < m->g->count; i++) {
        const char *k = m->g->values[i].key;
        if (strncmp(k, m->g->architecture, n) != 0 || k[n] != '.' || strcmp(k + n + 1, key) != 0) continue;
        m->read[i] = true;
        return &m->g->values[i];
    }
    return NULL;
}

/* One number: of a list what its entries that are not 0 have in common. -1: there is none. */
static int64_t number_of(maker *m, const char *key)
{
    const hop_gguf_value *v = value_of(m, key);
    int64_t same = 0;
    if (!v) return -1;
    if (!v->is_list) {
        if (!v->whole || v->number < 0) missing(m, key, "is no whole number from 0 on");
        return v->number;
    }
    for (int64_t i = 0; v->list && i < v->number; i++) {
        if (v->list[i] && same && v->list[i] != same) missing(m, key, "differs from layer to layer");
        if (v->list[i]) same = v->list[i];
    }
    if (!v->list || same < 0) missing(m, key, "is no list of whole numbers");
    return same;
}

/* Is there something in that layer? */
static bool there(maker *m, const char *key, int64_t layer)
{
    const hop_gguf_value *v = value_of(m, key);
    if (!v) return false;
    if (!v->is_list) return v->number != 0;
    if (!v->list || v->number < m->layers) missing(m, key, "has fewer entries than there are layers");
    return m->status == HOP_OK && v->list[layer] != 0;
}

/* ---- keys ---------------------------------------------------------------------------------- */

/* "a.b" is b in the object a; those of one object stand one behind the other. */
static const char *open_key(maker *m, const char *key)
{
    const char *dot = strchr(key, '.');
    size_t n = dot ? (size_t)(dot - key) : 0;
    if (m->inside[0] && (!dot || strncmp(m->inside, key, n) != 0 || m->inside[n])) {
        hop_json_end_object(&m->w);
        m->inside[0] = '\0';
    }
    if (dot && !m->inside[0]) {
        snprintf(m->inside, sizeof m->inside, "%.*s", (int)n, key);
        hop_json_key(&m->w, m->inside);
        hop_json_begin_object(&m->w);
    }
    return dot ? dot + 1 : key;
}

static void put(maker *m, const char *key, int64_t v)
{
    key = open_key(m, key);
    hop_json_integer(&m->w, key, v);
}

/* `= x`, `~ x`, `= x / y`, `= x - y` */
static void put_number(maker *m, const char *key, hop__span rest, bool needed)
{
    char x[96], y[96];
    hop__span_copy(x, sizeof x, hop__span_word(&rest));
    hop__span sign = hop__span_word(&rest);
    hop__span_copy(y, sizeof y, hop__span_word(&rest));
    int64_t v = number_of(m, x), other = *y ? number_of(m, y) : 0;
    if (v < 0 || other < 0) {
        if (needed) missing(m, v < 0 ? x : y, "absent");
        return;
    }
    bool divided = hop__span_is(sign, "/");
    if (divided && (other == 0 || v % other)) missing(m, x, "does not divide");
    put(m, key, divided ? v / (other ? other : 1) : v - other);
}

/* `kinds x=WORD .. else=WORD` */
static void put_kinds(maker *m, const char *key, hop__span rest)
{
    hop_json_key(&m->w, open_key(m, key));
    hop_json_begin_array(&m->w);
    for (int64_t i = 0; i < m->layers && m->status == HOP_OK; i++) {
        hop__span all = rest, part;
        bool found = false;
        while (!found && hop__span_next(&all, &part)) {
            char meta[96], word[48];
            hop__span_copy(meta, sizeof meta, hop__span_until(&part, '='));
            hop__span_copy(word, sizeof word, part);
            found = strcmp(meta, "else") == 0 || there(m, meta, i);
            if (found) hop_json_put_string(&m->w, word);
        }
    }
    hop_json_end_array(&m->w);
}

/* `at x`, `at x other` */
static void put_numbers(maker *m, const char *key, hop__span rest)
{
    char meta[96];
    hop__span_copy(meta, sizeof meta, hop__span_word(&rest));
    bool other = hop__span_skip(&rest, "other");
    hop_json_key(&m->w, open_key(m, key));
    hop_json_begin_array(&m->w);
    for (int64_t i = 0; i < m->layers && m->status == HOP_OK; i++)
        if (there(m, meta, i) != other) hop_json_put_int(&m->w, i + 1);
    hop_json_end_array(&m->w);
}

static void put_row(maker *m, hop__span body, int depth);

static void put_statement(maker *m, hop__span name, hop__span rest, int depth)
{
    char key[64], word[96];
    hop__row row;
    hop__span_copy(key, sizeof key, name);
    if (strcmp(key, "as") == 0) {
        hop__span_copy(word, sizeof word, rest);
        hop_json_string(&m->w, "model_type", word);
    } else if (strcmp(key, "use") == 0) {
        if (depth < MOST_USES && row_called(hop__span_word(&rest), "gguf", &row))
            put_row(m, row.body, depth + 1);
    } else if (strcmp(key, "arbitrary") == 0) {
        hop__span_copy(word, sizeof word, rest);
        m->arbitrary = strtoll(word, NULL, 10);
    } else if (strcmp(key, "also") == 0) {
        return;
    } else if (strcmp(key, "known") == 0) {
        for (hop__span one; hop__span_next(&rest, &one);) {
            hop__span_copy(word, sizeof word, one);
            value_of(m, word);
        }
    } else if (hop__span_skip(&rest, "=")) {
        put_number(m, key, rest, true);
    } else if (hop__span_skip(&rest, "~")) {
        put_number(m, key, rest, false);
    } else if (hop__span_skip(&rest, "kinds")) {
        put_kinds(m, key, rest);
    } else if (hop__span_skip(&rest, "at")) {
        put_numbers(m, key, rest);
    }
}

static void put_row(maker *m, hop__span body, int depth)
{
    hop__span name, rest;
    while (m->status == HOP_OK && hop__statement_next(&body, &name, &rest))
        put_statement(m, name, rest, depth);
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Of every architecture. Layers that only predict further tokens are none of a pass. */
static void put_common(maker *m)
{
    int64_t all = number_of(m, "block_count"), further = number_of(m, "nextn_predict_layers");
    int64_t width = number_of(m, "embedding_length"), vocabulary = number_of(m, "vocab_size");
    const hop_gguf_value *causal = value_of(m, "attention.causal");
    m->layers = all - (further > 0 ? further : 0);
    if (all < 0) missing(m, "block_count", "absent");
    if (m->layers < 1 || m->layers > HOP_HF_MAX_LAYERS) missing(m, "block_count", "is outside 1..16384");
    if (causal && !causal->number) missing(m, "attention.causal", "false: the theorems are about decoders");
    if (m->status != HOP_OK) return;
    put(m, "num_hidden_layers", m->layers);
    if (width > 0) put(m, "hidden_size", width);
    for (int64_t i = 0; vocabulary < 0 && i < m->g->count; i++)
        if (strcmp(m->g->values[i].key, "tokenizer.ggml.tokens") == 0) vocabulary = m->g->values[i].number;
    if (vocabulary > 0) put(m, "vocab_size", vocabulary);
}

/* A type of weights, where all are of one. */
static void put_type(maker *m)
{
    static const struct {
        int64_t type;
        const char *name;
    } types[] = {{0, "float32"}, {1, "float16"}, {32, "bfloat16"}};
    for (int64_t i = 0; i < m->g->count; i++)
        for (int k = 0; k < 3 && strcmp(m->g->values[i].key, "general.file_type") == 0; k++)
            if (m->g->values[i].number == types[k].type) {
                open_key(m, "");
                hop_json_string(&m->w, "torch_dtype", types[k].name);
            }
}

/* A key that says that a layer does something else, and that no statement has read. */
static void refuse_unread(maker *m)
{
    static const char name[] = "all";
    hop__row row;
    hop__span body, word, rest, pattern;
    size_t n = strlen(m->g->architecture);
    if (!row_called((hop__span){name, name + 3}, "common", &row)) return;
    for (int64_t i = 0; i < m->g->count && m->status == HOP_OK; i++) {
        const hop_gguf_value *v = &m->g->values[i];
        if (m->read[i] || strncmp(v->key, m->g->architecture, n) != 0 || v->key[n] != '.') continue;
        if (!v->is_list && v->whole && v->number == 0) continue;
        for (body = row.body; hop__statement_next(&body, &word, &rest);)
            while (hop__span_is(word, "telltale") && hop__span_next(&rest, &pattern))
                if (hop__glob(pattern, v->key + n + 1) && m->status == HOP_OK)
                    m->status =
                        hop_fail(m->err, HOP_EUNKNOWN, "%.90s: what it makes of layers is not known", v->key);
    }
}

/* Those that are known, for who has another. */
static void unknown(maker *m)
{
    hop_text list = {0};
    hop__span text = rows(), name, rest;
    for (hop__row row; hop__row_next(&text, &row);) {
        hop__span body = row.body, names = row.names, one;
        hop__span_word(&names); /* the kind of row */
        one = hop__span_word(&names);
        if (!hop__span_is(row.kind, "gguf") || !hop__statement_next(&body, &name, &rest) ||
            !hop__span_is(name, "as"))
            continue;
        hop_text_printf(&list, "%s%.*s", list.len ? ", " : "", (int)(one.end - one.at), one.at);
    }
    m->status = hop_fail(m->err, HOP_EUNKNOWN, "GGUF of an unknown architecture \"%.60s\" (known: %s)",
                         m->g->architecture, hop_text_in(&list, &list));
    hop_text_free(&list);
}

hop_status hop_gguf_config(hop_json_doc *doc, const hop_gguf *g, hop_error *err)
{
    maker m = {.g = g, .err = err, .read = calloc((size_t)g->count + 1, sizeof *m.read)};
    hop__row row;
    hop__span own = {g->architecture, g->architecture + strlen(g->architecture)}, name, rest;
    *doc = (hop_json_doc){0};
    if (!m.read) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_json_begin_object(&m.w);
    bool known = row_called(own, "gguf", &row);
    hop__span body = row.body; /* pieces that rows use have no model_type */
    known = known && hop__statement_next(&body, &name, &rest) && hop__span_is(name, "as");
    if (known) put_common(&m);
    if (known && m.status == HOP_OK) put_row(&m, row.body, 0);
    int64_t context = known ? number_of(&m, "context_length") : -1;
    if (!known) unknown(&m);
    if (m.status == HOP_OK && context > 0 && context != m.arbitrary)
        put(&m, "max_position_embeddings", context);
    if (m.status == HOP_OK) put_type(&m);
    open_key(&m, "");
    hop_json_end_object(&m.w);
    if (m.status == HOP_OK) refuse_unread(&m);
    if (m.status == HOP_OK && m.w.text.failed) m.status = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (m.status == HOP_OK) m.status = hop_json_parse(doc, m.w.text.s, m.w.text.len, err);
    hop_text_free(&m.w.text);
    free(m.read);
    return m.status;
}

bool hop_gguf_knows(const char *model_type, bool *windows)
{
    hop__span text = rows(), name, rest, word;
    for (hop__row row; hop__row_next(&text, &row);) {
        bool named = false;
        *windows = false;
        for (hop__span body = row.body; hop__statement_next(&body, &name, &rest);) {
            bool names = hop__span_is(name, "as") || hop__span_is(name, "also");
            while (names && hop__span_next(&rest, &word)) named = named || hop__span_is(word, model_type);
            *windows = *windows || hop__span_is(name, "sliding_window");
        }
        if (named) return true;
    }
    return false;
}

/* Of layers whose tensors are in this file. */
hop_status hop_gguf_check(const hop_gguf *g, const hop_hf_plan *p, hop_error *err)
{
    for (int64_t i = 0; i < g->layers && i < p->count && p->loops == 1; i++) {
        char letter = p->layers[i].letter;
        bool attends = g->layer_has[i] & HOP_GGUF_ATTENDS, recurs = g->layer_has[i] & HOP_GGUF_RECURS;
        bool should_recur = strchr("LHh", letter) != NULL, should_not_attend = strchr("LE-G", letter) != NULL;
        if (!g->layer_has[i] || (recurs == should_recur && !(attends && should_not_attend))) continue;
        return hop_fail(err, HOP_EFORMAT, "GGUF: layer %lld is %c by its metadata, but its tensors are %s",
                        (long long)i, letter,
                        recurs && attends ? "of attention and a recurrence"
                        : recurs          ? "of a recurrence"
                        : attends         ? "of attention"
                                          : "of neither");
    }
    return HOP_OK;
}
