/* The networks of a rung that are not built, because theorems speak against them: L full layers, and the
 * hybrid with L-1 of them and 2^(3L^2) linear layers in every gap. What is known, and from which length on.
 */
#include "ladder.h"

#include <string.h>

#define NUMBER_BITS 32 /* as this program computes */
#define MOST_GAPS   4  /* hops up to which 2^(3L^2) layers can be counted in a word */

/* Of the theorems that apply, the one that speaks first. */
static const hop_bound *first_to_speak(const hop_bounds *b, const char *only)
{
    const hop_bound *best = NULL;
    for (int i = 0; i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        if (!r->applies || !r->speaks_from || (only && strcmp(r->id, only) != 0)) continue;
        if (r->answer != HOP_ANSWER_POSSIBLE && (!best || r->log10_n < best->log10_n)) best = r;
    }
    return best;
}

/* "theorem T1: impossible at this width from n = 10^x on; silent at n = 18" */
static hop_status say_known(hop_rung *r, const hop_arch *arch, const char *only, int64_t n, hop_error *err)
{
    hop_bounds *b;
    hop_status s = hop_bounds_new(&b, &(hop_question){.arch = arch, .hops = r->hops, .n = n}, err);
    if (s != HOP_OK) return s;
    const hop_bound *first = first_to_speak(b, only);
    bool speaks = first && first->answer == HOP_ANSWER_IMPOSSIBLE;
    snprintf(r->verdict, sizeof r->verdict, "%s", speaks ? "impossible" : "silent");
    if (first)
        snprintf(r->why, sizeof r->why, "theorem %s: impossible at this width from n = %s on; %s n = %lld",
                 first->id, first->speaks_from, speaks ? "so at" : "silent at", (long long)n);
    else
        snprintf(r->why, sizeof r->why, "no theorem speaks at any length");
    hop_bounds_free(b);
    return HOP_OK;
}

static void extremal_pattern(char *out, size_t size, int hops)
{
    int gap = 3 * hops * hops; /* 2^(3L^2) linear layers in every gap */
    if (hops == 1)
        snprintf(out, size, "L^(2^%d)", gap);
    else if (hops == 2)
        snprintf(out, size, "L^(2^%d) F L^(2^%d)", gap, gap);
    else
        snprintf(out, size, "(L^(2^%d) F)^%d L^(2^%d)", gap, hops - 1, gap);
}

hop_status ladder_known(ladder *l, const hop_task *t, hop_error *err)
{
    const hop_rung *main = &l->rungs[l->rung_count - 1];
    int hops = t->funccomp.hops;
    hop_rung base = {.hops = hops, .m = main->m, .tokens = main->tokens};
    hop_rung *full = &l->others[l->other_count++], *extremal = &l->others[l->other_count++];
    int64_t d = main->head_dim;
    hop_arch_layer layers[2 * MOST_RUNGS + 1] = {
        {.kind = HOP_LAYER_FULL, .repeat = hops, .heads = 1, .dim = d, .number_bits = NUMBER_BITS}};

    *full = base;
    full->full_layers = hops;
    snprintf(full->kind, sizeof full->kind, "full, one layer fewer");
    snprintf(full->pattern, sizeof full->pattern, hops > 1 ? "full^%d" : "full", hops);
    hop_status s = say_known(full, &(hop_arch){.layers = layers, .count = 1}, NULL, t->length, err);

    /* The paper's linear attention: a matrix and a normaliser. T2 alone where the layers of a gap cannot be
     * counted: it asks no more of them than that they are at most so many. */
    *extremal = base;
    extremal->full_layers = hops - 1;
    snprintf(extremal->kind, sizeof extremal->kind, "extremal hybrid");
    extremal_pattern(extremal->pattern, sizeof extremal->pattern, hops);
    bool counted = hops <= MOST_GAPS;
    for (int i = 0; i < 2 * hops - 1; i++) {
        layers[i] = (hop_arch_layer){.kind = i % 2 ? HOP_LAYER_FULL : HOP_LAYER_LINEAR, .heads = 1, .dim = d};
        layers[i].repeat = i % 2 ? 1 : counted ? (int64_t)1 << 3 * hops * hops : INT32_MAX;
        layers[i].number_bits = NUMBER_BITS;
        layers[i].state_bits = i % 2 ? 0 : (d * d + d) * NUMBER_BITS;
    }
    if (s == HOP_OK)
        s = say_known(extremal, &(hop_arch){.layers = layers, .count = 2 * hops - 1}, counted ? NULL : "T2",
                      t->length, err);
    return s;
}
