/* Today's models on the map: their config.json, as it stands in the program, read by `audit` and judged by
 * the theorems at the model's own widths, states and context. */
#include <hopbound/audit.h>
#include "ladder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_BITS 32  /* of the accumulator, as `audit` has it */
#define FARTHEST    100 /* log10 of a length that is still told */

extern const char *const hop__ladder_configs[]; /* file name and text, by tools/embed.c */

/* As their makers write them, in the order of the table. */
static const struct known {
    const char *file, *name;
} known[] = {
    {"llama-3.1-8b.json", "Llama 3.1 8B"},
    {"gemma-3-27b-it.json", "Gemma 3 27B"},
    {"minimax-text-01.json", "MiniMax-Text-01"},
    {"qwen3-next-80b-a3b.json", "Qwen3-Next 80B-A3B"},
    {"qwen3.5-27b.json", "Qwen3.5 27B"},
    {"kimi-linear-48b-a3b.json", "Kimi Linear 48B-A3B"},
    {"nemotron-nano-9b-v2.json", "Nemotron Nano 9B v2"},
    {"granite-4.0-h-tiny.json", "Granite 4.0 H Tiny"},
    {"jamba-v0.1.json", "Jamba v0.1"},
    {"falcon-h1-7b.json", "Falcon-H1 7B"},
    {"olmo-hybrid-7b.json", "OLMo Hybrid 7B"},
    {"phi-4-mini-flash-reasoning.json", "Phi-4-mini-flash"},
    {"lfm2-2.6b.json", "LFM2 2.6B"},
    {"recurrentgemma-2b-it.json", "RecurrentGemma 2B"},
    {"mamba-codestral-7b.json", "Mamba Codestral 7B"},
    {"rwkv7-0.4b-world.json", "RWKV-7 0.4B"},
    {"xlstm-7b.json", "xLSTM 7B"},
};
enum { KNOWN = sizeof known / sizeof *known };
_Static_assert(KNOWN <= MOST_MODELS, "more models than there is room for");

static const char *config_of(const char *file)
{
    const char *const *c = hop__ladder_configs;
    while (*c && strcmp(*c, file) != 0) c += 2;
    return *c ? c[1] : NULL;
}

/* What the theorems say of so many hops: at the model's context, or, if it has none, at any length. P1 gives
 * each layer weights of its own, so it says nothing where layers share them. */
static hop_status judge(hop_ladder_known *out, hop_keep *k, const hop_arch *arch, bool tied, int64_t context,
                        hop_error *err)
{
    hop_bounds *b;
    hop_status s =
        hop_bounds_new(&b, &(hop_question){.arch = arch, .hops = (int)out->hops, .n = context}, err);
    if (s != HOP_OK) return s;
    const hop_bound *able = context && !tied ? hop_bounds_first(b, HOP_FIRST_POSSIBLE) : NULL,
                    *first = hop_bounds_first(b, HOP_FIRST_SPEAKS);
    if (first && first->log10_n >= FARTHEST) first = NULL;
    bool fails = first && context && first->answer == HOP_ANSWER_IMPOSSIBLE, told = first && !able;
    out->speaks_from_n = hop_keep_said(k, told ? first->speaks_from : "");
    out->log10_n = hop__length_log10(out->speaks_from_n);
    out->machine_checked = told ? first->certificate != NULL : HOP_NO_FLAG;
    out->theorem = hop_keep_said(k, able ? able->id : first ? first->id : "");
    out->verdict = able    ? HOP_LADDER_POSSIBLE
                   : fails ? HOP_LADDER_IMPOSSIBLE
                   : first ? HOP_LADDER_FROM_N
                           : HOP_LADDER_SILENT;
    hop_bounds_free(b);
    return HOP_OK;
}

static hop_status place(hop_ladder_model *out, hop_keep *k, const hop_audit *u, const hop_audit_options *o,
                        hop_error *err)
{
    hop_audit_seen h;
    hop_text plan = {0};
    hop_ladder_known *hops = hop_keep_bytes(k, HOP_MAP_HOPS, sizeof *hops);
    if (!hops) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_status s = hop_audit_see(&h, u, o, err);
    if (s != HOP_OK) return s;
    out->context = hop_known(u->n, u->n > 0), out->layers = u->plan.count;
    out->full_layers = h.full, out->linear_layers = h.linear;
    for (int64_t i = 0; i < h.arch.count; i++) out->state_bits += (double)h.arch.layers[i].state_bits;
    hop_hf_short(u->plan.pattern, &plan);
    out->plan = hop_keep_grown(k, &plan);
    out->hops.at = hops;
    for (; out->hops.count < HOP_MAP_HOPS && s == HOP_OK; out->hops.count++) {
        hops[out->hops.count].hops = out->hops.count + 1;
        s = judge(&hops[out->hops.count], k, &h.arch, u->plan.tied, u->n, err);
    }
    hop_audit_seen_free(&h);
    return s;
}

hop_status hop__ladder_models(ladder *l, hop_error *err)
{
    const hop_audit_options as = {.bits = NUMBER_BITS};
    hop_status s = HOP_OK;
    for (int i = 0; i < KNOWN && s == HOP_OK; i++) {
        const char *text = config_of(known[i].file);
        hop_json_doc doc = {0};
        hop_audit u;
        if (!text) return hop_fail(err, HOP_EUNKNOWN, "%s: not in the program", known[i].file);
        s = hop_json_parse(&doc, text, strlen(text), err);
        if (s == HOP_OK) s = hop_audit_of(&u, doc.root, &as, err);
        if (s == HOP_OK) {
            hop_ladder_model *m = &l->map.models[l->map.page.model_count++];
            m->name = known[i].name;
            s = place(m, &l->out->memory, &u, &as, err);
            hop_audit_free(&u);
        }
        hop_json_free(&doc);
        if (s != HOP_OK) hop_fail_in(err, s, known[i].file);
    }
    return s == HOP_OK ? hop_response_end(l->out, err) : s;
}
