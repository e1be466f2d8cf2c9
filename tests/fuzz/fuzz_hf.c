/* Foreign config.json files: a plan that is read hangs together, and a failure leaves nothing behind. */
#include "fuzz.h"

#include <hopbound/hf.h>

static void must_make_sense(const hop_hf_plan *p)
{
    must(p->count >= 1 && p->count <= HOP_HF_MAX_LAYERS && strlen(p->pattern) == (size_t)p->count);
    must(p->loops >= 1 && p->count % p->loops == 0 && (p->loops == 1 || p->tied));
    must(p->source[0] && p->context >= 0 && p->hidden >= 0 && p->window >= 0 && p->index_topk >= 0);
    for (int64_t i = 0; i < p->count; i++) {
        char letter = p->layers[i].letter;
        must(hop_hf_letter_means(letter) && letter == p->pattern[i] && p->layers[i].window >= 0);
        must(!p->layers[i].chunked || (strchr("Sh", letter) && !p->layers[i].sparse));
        if (strchr("FSHhC", letter)) must(p->attention.kind[0]);
        if (strchr("LHh", letter)) must(p->linear.kind[0]);
    }
    const hop_hf_attention *const both[] = {&p->attention, &p->sliding};
    for (int i = 0; i < 2; i++)
        if (both[i]->kind[0]) must(both[i]->heads >= 1 && both[i]->v_dim >= 1 && both[i]->cache_elems >= 0);
    must(p->linear.recurrent_elems >= 0 && p->linear.conv_elems >= 0);
    hop_text text = {0};
    hop_hf_short(p->pattern, &text);
    must(!text.failed && text.len <= (size_t)p->count);
    hop_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_json_doc doc = {0};
    hop_hf_plan p;
    hop_error err = {0};
    if (hop_json_parse(&doc, (const char *)data, size, &err) != HOP_OK) return 0;
    hop_status s = hop_hf_read(&p, doc.root, NULL, &err);
    hop_json_free(&doc);
    if (s == HOP_OK)
        must_make_sense(&p);
    else
        must((s == HOP_EFORMAT || s == HOP_EDOMAIN || s == HOP_EUNKNOWN) && err.text[0] && !p.layers &&
             !p.pattern);
    hop_hf_free(&p);
    return 0;
}
