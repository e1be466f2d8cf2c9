/* Files of instances: what is read is well formed and reads back the same, what is refused is one line that
 * names file and line. */
#include "fuzz.h"

#include <hopbound/eval.h>

static void must_name_the_line(const hop_jsonl *in, const hop_error *err)
{
    char where[64];
    snprintf(where, sizeof where, "x:%lld: ", (long long)in->number);
    must(strncmp(err->text, where, strlen(where)) == 0 && !strchr(err->text, '\n'));
}

static void must_read_back(const hop_instance *x)
{
    hop_json_writer w = {0};
    hop_json_doc doc = {0};
    hop_instance again = {0};
    int64_t asked = 0;
    for (int64_t t = 0; t < x->count; t++) {
        must(x->tokens[t] >= 0 && x->targets[t] >= -1);
        asked += x->targets[t] >= 0;
    }
    must(x->count >= 1 && asked == x->asked);
    hop_json_begin_object(&w);
    hop_answers_write(&w, "tokens", x->tokens, x->count);
    hop_answers_write(&w, "targets", x->targets, x->count);
    hop_json_end_object(&w);
    must(hop_json_parse(&doc, w.text.s, w.text.len, NULL) == HOP_OK);
    must(hop_instance_read(&again, doc.root, NULL) == HOP_OK);
    must(again.count == x->count && again.asked == x->asked);
    must(memcmp(again.tokens, x->tokens, sizeof *x->tokens * (size_t)x->count) == 0);
    must(memcmp(again.targets, x->targets, sizeof *x->targets * (size_t)x->count) == 0);
    hop_instance_free(&again);
    hop_json_free(&doc);
    hop_text_free(&w.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0; /* fmemopen wants a byte */
    hop_jsonl in = {.file = fmemopen((void *)data, size, "rb"), .name = "x"};
    hop_instance one = {0};
    hop_error err = {0};
    must(in.file != NULL);
    for (;;) {
        hop_json_doc doc;
        int64_t before = in.number;
        hop_status s = hop_jsonl_next(&in, &doc, &err);
        if (s != HOP_OK) must_name_the_line(&in, &err);
        if (s != HOP_OK || !doc.root) break;
        must(in.number > before && doc.root->type == HOP_JSON_OBJECT);
        s = hop_instance_read(&one, doc.root, &err);
        if (s == HOP_OK)
            must_read_back(&one);
        else
            must(s == HOP_EFORMAT && err.text[0] && !strchr(err.text, '\n'));
        hop_json_free(&doc);
    }
    hop_instance_free(&one);
    hop_jsonl_close(&in);
    return 0;
}
