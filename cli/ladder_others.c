/* The other networks of a rung: hybrids of every linear mixer, a chain, an encoder, a linear stack; and, of L
 * full layers and of the paper's extremal hybrid, what the theorems say and from which length on. */
#include "ladder.h"

#include <math.h>
#include <string.h>

#define FEW 20 /* instances of the networks beside the main one */

static hop_rung *next_other(ladder *l)
{
    return &l->others[l->other_count++];
}

/* A network of these sizes, if its construction reaches them; what it does not reach is no failure. */
static hop_status add_built(ladder *l, const hop_task *t, const char *kind, const char *mixer, int64_t count,
                            hop_error *err)
{
    char name[48];
    hop_rung *r = next_other(l);
    snprintf(name, sizeof name, mixer ? "%s-%s" : "%s", kind, mixer);
    const ladder_job job = {.kind = kind,
                            .mixer = mixer,
                            .name = name,
                            .count = count < l->args->count.integer ? count : l->args->count.integer};
    hop_status s = ladder_row(l, r, t, &job, err);
    if (s == HOP_EDOMAIN) {
        l->other_count--;
        return HOP_OK;
    }
    return s;
}

/* "theorem T1 speaks from n = 10^x on; silent at n = 18" */
static void say_known(hop_rung *r, const char *theorem, double log10_from, int64_t n)
{
    bool speaks = log10((double)n) >= log10_from;
    snprintf(r->verdict, sizeof r->verdict, speaks ? "impossible" : "silent");
    snprintf(r->why, sizeof r->why, "theorem %s: impossible at this width from n = 10^%.1f on; %s n = %lld",
             theorem, log10_from, speaks ? "so at" : "silent at", (long long)n);
}

/* L full layers: theorem T1, H d p <= n^(2^(-4L)). The extremal hybrid: T2, with 2^(-4L-2). p = 32 bits. */
static void add_known(ladder *l, const hop_task *t, const hop_rung *main)
{
    int hops = t->funccomp.hops;
    double width = log10(32.0 * (double)main->head_dim), power = pow(16.0, hops);
    hop_rung *full = next_other(l), *extremal = next_other(l);
    *full = (hop_rung){.hops = hops,
                       .m = main->m,
                       .tokens = main->tokens,
                       .full_layers = hops,
                       .kind = "full, one layer fewer"};
    snprintf(full->pattern, sizeof full->pattern, hops > 1 ? "full^%d" : "full", hops);
    say_known(full, "T1", power * width, t->length);
    *extremal = (hop_rung){.hops = hops,
                           .m = main->m,
                           .tokens = main->tokens,
                           .full_layers = hops - 1,
                           .kind = "extremal hybrid"};
    int gap = 3 * hops * hops; /* 2^(3L^2) linear layers in every gap */
    if (hops == 1)
        snprintf(extremal->pattern, sizeof extremal->pattern, "L^(2^%d)", gap);
    else
        snprintf(extremal->pattern, sizeof extremal->pattern, "(L^(2^%d) F)^%d L^(2^%d)", gap, hops - 1, gap);
    say_known(extremal, "T2", 4 * power * width, t->length);
}

/* What theorem P2 demands of a stack without full layers, beside what this one has. */
static void compare_with_p2(hop_rung *r, const hop_task *t)
{
    double demand = (double)t->vocab * log2((double)t->vocab);
    if (strcmp(r->verdict, "proved") == 0)
        snprintf(r->why, sizeof r->why, "%.0f state bits; theorem P2 demands %.0f: ratio %.2f", r->state_bits,
                 demand, r->state_bits / demand);
}

hop_status ladder_others(ladder *l, const hop_task *t, hop_error *err)
{
    hop_status s = HOP_OK;
    add_known(l, t, &l->rungs[l->rung_count - 1]);
    for (int i = 0; s == HOP_OK && hop_mixer_at(i); i++)
        if (hop_mixer_at(i)->recurrent) s = add_built(l, t, "hybrid", hop_mixer_at(i)->name, FEW, err);
    if (s == HOP_OK) s = add_built(l, t, "cot", NULL, FEW, err);
    if (s == HOP_OK) s = add_built(l, t, "encoder", NULL, FEW, err);
    int64_t before = l->other_count;
    if (s == HOP_OK) s = add_built(l, t, "linear", NULL, 4, err);
    if (s == HOP_OK && l->other_count > before) compare_with_p2(&l->others[before], t);
    return s;
}
