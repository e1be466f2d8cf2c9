/* config.json: what reads is written, and must read back equal. */
#include "fuzz.h"

#include <hopbound/config.h>

/* -0 and 0 mean the same to a network. */
static bool same_real(double a, double b)
{
    return a == b;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static void must_be_same(const hop_config *a, const hop_config *b)
{
    must(a->pattern.run_count == b->pattern.run_count && a->pattern.layers == b->pattern.layers);
    for (int64_t i = 0; i < a->pattern.run_count; i++) {
        must(a->pattern.runs[i].count == b->pattern.runs[i].count);
        must(strcmp(a->pattern.runs[i].mixer, b->pattern.runs[i].mixer) == 0);
    }
    must(a->vocab == b->vocab && a->d_model == b->d_model && a->max_positions == b->max_positions);
    must(a->position_table == b->position_table && a->tied == b->tied);
    must(a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim);
    must(same_real(a->rope_theta, b->rope_theta) && same_real(a->attention_scale, b->attention_scale));
    must(a->norm == b->norm && same_real(a->norm_eps, b->norm_eps));
    must(a->mlp == b->mlp && a->mlp_hidden == b->mlp_hidden);
    must(same_text(a->task_json, b->task_json) && same_text(a->construction_json, b->construction_json));
}

static hop_status read_text(hop_config *c, const char *text, size_t size, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_parse(&doc, text, size, err);
    if (s == HOP_OK) s = hop_config_read(c, doc.root, err);
    hop_json_free(&doc);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_config a = {0}, b = {0};
    hop_error err = {0};
    hop_status s = read_text(&a, (const char *)data, size, &err);
    if (s != HOP_OK) {
        must(s == HOP_EFORMAT || s == HOP_EDOMAIN);
        must(err.text[0] && !strchr(err.text, '\n') && !a.pattern.runs && !a.task_json);
        return 0;
    }
    hop_json_writer w = {.pretty = true};
    hop_config_write(&a, &w);
    must(!w.text.failed);
    must(read_text(&b, w.text.s, w.text.len, &err) == HOP_OK);
    must_be_same(&a, &b);
    hop_text_free(&w.text);
    hop_config_free(&a);
    hop_config_free(&b);
    return 0;
}
