/* A model's config.json for a network of ours: the same architecture with other sizes, and what else must change. */
#include "network.h"

#include <string.h>

/* Keys of a size: those that the file has get the value; it gets the first one where it has none. */
static const char *const WIDTH[] = {"hidden_size", "d_model", NULL};
static const char *const HIDDEN[] = {"intermediate_size", "block_ff_dim", "shared_intermediate_size", NULL};
static const char *const VOCAB[] = {"vocab_size", NULL};
static const char *const HEAD[] = {"head_dim", NULL};
/* Of the model's own weights, tokens and files. */
static const char *const DROPPED[] = {"quantization_config",
                                      "transformers_version",
                                      "auto_map",
                                      "_name_or_path",
                                      "bos_token_id",
                                      "eos_token_id",
                                      "pad_token_id",
                                      "dtype",
                                      "torch_dtype",
                                      "hopbound",
                                      NULL};

static bool listed(const char *const *list, const char *key)
{
    while (*list && strcmp(*list, key) != 0) list++;
    return *list != NULL;
}

typedef struct edit {
    const char *const *keys;
    int64_t value; /* 0: nothing is changed */
    bool missing;  /* .. but for a file that has none of them */
} edit;

static void write_members(hop_json_writer *w, const hop_json *text, const edit *edits, int count)
{
    bool done[8] = {false};
    for (const hop_json *v = text->child; v; v = v->next) {
        if (listed(DROPPED, v->key)) continue;
        int k = 0;
        while (k < count && !(edits[k].value && listed(edits[k].keys, v->key))) k++;
        if (k < count) done[k] = true;
        if (k < count && !(edits[k].missing && v->type != HOP_JSON_NULL)) {
            hop_json_integer(w, v->key, edits[k].value);
        } else {
            hop_json_key(w, v->key);
            hop_json_put_value(w, v);
        }
    }
    for (int k = 0; k < count; k++)
        if (edits[k].value && !done[k]) hop_json_integer(w, edits[k].keys[0], edits[k].value);
}

static void write_text(hop_json_writer *w, const char *key, const char *json)
{
    hop_json_doc doc = {0};
    if (json && hop_json_parse(&doc, json, strlen(json), NULL) == HOP_OK) {
        hop_json_key(w, key);
        hop_json_put_value(w, doc.root);
    }
    hop_json_free(&doc);
}

hop_status hop_hf_resize(hop_text *out, const hop_json *root, const hop_hf_sizes *z, hop_error *err)
{
    const hop_json *inner = hop_json_get(root, "text_config");
    const hop_json *text =
        inner && inner->type == HOP_JSON_OBJECT && hop_json_get(inner, "model_type") ? inner : root;
    const edit edits[] = {{VOCAB, z->vocab, false},
                          {WIDTH, z->width, false},
                          {HIDDEN, z->hidden, false},
                          {HEAD, z->head_dim, true}};
    hop_json_writer w = {.pretty = true};
    hop_json_begin_object(&w);
    write_members(&w, text, edits, sizeof edits / sizeof *edits);
    static const char *const tokens[] = {"bos_token_id", "eos_token_id", "pad_token_id"};
    for (int i = 0; i < 3; i++) hop_json_null(&w, tokens[i]);
    hop_json_string(&w, "dtype", "float32");
    hop_json_string(&w, "torch_dtype", "float32");
    hop_json_key(&w, "hopbound");
    hop_json_begin_object(&w);
    write_text(&w, "task", z->task_json);
    write_text(&w, "construction", z->construction_json);
    hop_json_end_object(&w);
    hop_json_end_object(&w);
    hop_text_add(&w.text, "\n");
    *out = w.text;
    return out->failed ? hop_fail(err, HOP_ENOMEM, "out of memory") : HOP_OK;
}

static hop_status keep(char **to, const hop_json *object, const char *key, hop_error *err)
{
    const hop_json *v = hop_json_get(object, key);
    hop_json_writer w = {0};
    if (!v) return HOP_OK;
    if (v->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "hopbound.%s: not an object", key);
    hop_json_put_value(&w, v);
    if (w.text.failed) hop_text_free(&w.text);
    if (!w.text.s) return hop_fail(err, HOP_ENOMEM, "out of memory");
    *to = w.text.s;
    return HOP_OK;
}

hop_status hop__net_own(hop_hf_network *n, const hop_json *root, hop_error *err)
{
    const hop_json *own = hop_json_get(root, "hopbound");
    if (!own) return HOP_OK;
    if (own->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "hopbound: not an object");
    hop_status s = keep(&n->config.task_json, own, "task", err);
    return s == HOP_OK ? keep(&n->config.construction_json, own, "construction", err) : s;
}
