/* Families' files of users: what is taken is used on files of some known families, which then are read or
 * refused, within bounds of time and memory. */
#include "fuzz.h"

#include <hopbound/hf.h>

static const char *const configs[] = {
    "{\"model_type\":\"new\",\"num_hidden_layers\":6,\"hidden_size\":64,\"num_attention_heads\":4,"
    "\"list\":[0,1,2,0,1,2],\"names\":[\"a\",\"b\",\"c\",\"a\",\"b\",\"c\"],\"text\":\"abcabc\",\"period\":3,"
    "\"size\":16,\"on\":true}",
    "{\"model_type\":\"qwen3_next\",\"num_hidden_layers\":5,\"hidden_size\":64}",
    "{\"model_type\":\"llama\",\"num_hidden_layers\":2,\"sliding_window\":8}",
    "{\"model_type\":\"zamba2\",\"n_mamba_heads\":40}",
};

static void use(const hop_hf_families *f, const char *text)
{
    hop_json_doc doc = {0};
    hop_hf_plan p;
    hop_config c;
    hop_text notes = {0};
    hop_error err = {0};
    must(hop_json_parse(&doc, text, strlen(text), &err) == HOP_OK);
    if (hop_hf_read(&p, doc.root, f, &err) == HOP_OK) {
        must(p.count >= 1 && p.count <= HOP_HF_MAX_LAYERS && strlen(p.pattern) == (size_t)p.count);
        for (int64_t i = 0; i < p.count; i++)
            must(hop_hf_letter_means(p.pattern[i]) && p.layers[i].window >= 0);
        must(p.linear.recurrent_elems >= 0 && p.linear.conv_elems >= 0 && p.attention.cache_elems >= 0);
    } else {
        must(err.text[0] && !p.layers && !p.pattern);
    }
    hop_hf_free(&p);
    if (hop_hf_shape(&c, &notes, doc.root, f, 32, &err) == HOP_OK) hop_config_free(&c);
    hop_text_free(&notes);
    hop_json_free(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_hf_families *f = NULL;
    hop_error err = {0};
    if (hop_hf_families_parse(&f, (const char *)data, size, &err) != HOP_OK) {
        must(!f && err.text[0]);
        return 0;
    }
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) use(f, configs[i]);
    hop_hf_families_free(f);
    return 0;
}
