/* The JSON reader and writer: what parses is written, pretty and compact, and must read back the same. */
#include "fuzz.h"

#include <hopbound/json.h>

#include <math.h>

/* NaN and the infinities have no JSON: the writer makes them null. */
static bool is_null(const hop_json *v)
{
    return v->type == HOP_JSON_NULL || (v->type == HOP_JSON_REAL && !isfinite(v->real));
}

static void must_be_same(const hop_json *a, const hop_json *b)
{
    must(!a->key == !b->key && (!a->key || strcmp(a->key, b->key) == 0));
    if (is_null(a)) {
        must(b->type == HOP_JSON_NULL);
        return;
    }
    must(a->type == b->type && a->count == b->count);
    if (a->type == HOP_JSON_BOOL) must(a->boolean == b->boolean);
    if (a->type == HOP_JSON_INT) must(a->integer == b->integer);
    if (a->type == HOP_JSON_REAL) must(memcmp(&a->real, &b->real, sizeof a->real) == 0);
    if (a->type == HOP_JSON_STRING) must(strlen(a->string) == a->count && strcmp(a->string, b->string) == 0);
    const hop_json *x = a->child, *y = b->child;
    size_t count = 0;
    for (; x && y; x = x->next, y = y->next, count++) must_be_same(x, y);
    must(!x && !y);
    if (a->type == HOP_JSON_ARRAY || a->type == HOP_JSON_OBJECT) must(count == a->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_json_doc doc = {0};
    hop_error err = {0};
    hop_status s = hop_json_parse(&doc, (const char *)data, size, &err);
    if (s != HOP_OK) {
        must(s == HOP_EFORMAT && !doc.root && !doc.memory);
        must(strncmp(err.text, "line ", 5) == 0 && !strchr(err.text, '\n'));
        return 0;
    }
    for (int pretty = 0; pretty < 2; pretty++) {
        hop_json_writer w = {.pretty = pretty};
        hop_json_doc again = {0};
        hop_json_put_value(&w, doc.root);
        must(!w.text.failed);
        must(hop_json_parse(&again, w.text.s, w.text.len, NULL) == HOP_OK);
        must_be_same(doc.root, again.root);
        hop_json_free(&again);
        hop_text_free(&w.text);
    }
    hop_json_free(&doc);
    return 0;
}
