/* GGUF headers: one that is read is a configuration or a line that says why not, and nothing is left behind. */
#include "fuzz.h"

#include <hopbound/gguf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_gguf g;
    hop_json_doc doc = {0};
    hop_hf_plan p = {0};
    hop_error err = {0};
    hop_status s = hop_gguf_parse(&g, data, size, &err);
    must(s == HOP_OK ? g.architecture[0] && g.count >= 0 && g.layers <= HOP_HF_MAX_LAYERS && g.splits >= 1
                     : (s == HOP_EFORMAT && err.text[0] && !g.values && !g.layer_has));
    if (s != HOP_OK) return 0;
    must(g.parameters >= 0 && g.weight_bytes >= -1);
    s = hop_gguf_config(&doc, &g, &err);
    must(s == HOP_OK || ((s == HOP_EFORMAT || s == HOP_EUNKNOWN || s == HOP_EDOMAIN) && err.text[0]));
    if (s == HOP_OK) s = hop_hf_read(&p, doc.root, NULL, &err);
    if (s == HOP_OK) hop_gguf_check(&g, &p, &err);
    hop_hf_free(&p);
    hop_json_free(&doc);
    hop_gguf_free(&g);
    return 0;
}
