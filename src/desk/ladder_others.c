/* The other networks of a rung: hybrids of every linear mixer; a chain, an encoder, a linear stack. */
#include "ladder.h"

#include <math.h>
#include <string.h>

#define FEW       20 /* instances of the networks beside the main one */
#define SMALL_M   8
#define SMALL_FAN 4

static hop_ladder_row *next_other(ladder *l)
{
    return &l->others[l->other_count++];
}

/* A network of these sizes, if its construction reaches them; what it does not reach is no failure. */
static hop_status add_built(ladder *l, const hop_task *t, const char *kind, const char *mixer, int64_t count,
                            hop_error *err)
{
    char name[48];
    hop_ladder_row *r = next_other(l);
    snprintf(name, sizeof name, mixer ? "%s-%s" : "%s", kind, mixer);
    const ladder_job job = {.kind = kind,
                            .mixer = mixer,
                            .name = name,
                            .messages = mixer != NULL,
                            .look = mixer && strcmp(mixer, "deltanet") == 0,
                            .count = hop__ladder_count(l, t->length, count)};
    hop_status s = hop__ladder_row(l, r, t, &job, err);
    if (s == HOP_EDOMAIN) {
        l->other_count--;
        return HOP_OK;
    }
    return s;
}

/* What theorem P2 demands of a stack without full layers, beside what this one has. */
static void compare_with_p2(hop_ladder_row *r, hop_keep *k, const hop_task *t)
{
    double demand = (double)t->vocab * log2((double)t->vocab);
    if (r->verdict == HOP_LADDER_PROVED)
        r->why = hop_keep_printf(k, "%.0f state bits; theorem P2 demands %.0f: ratio %.2f", r->state_bits,
                                 demand, r->state_bits / demand);
}

/* The same number of hops at sizes that the wider networks reach. */
static hop_status small_task(hop_task *t, int hops, hop_error *err)
{
    int64_t fan[HOP_MAX_HOPS];
    for (int i = 0; i < hops; i++) fan[i] = SMALL_FAN;
    *t = (hop_task){.kind = HOP_TASK_FUNCCOMP};
    hop_status s = hop_funccomp_init(&t->funccomp, hops, SMALL_M, fan, err);
    return s == HOP_OK ? hop_task_ready(t, err) : s;
}

hop_status hop__ladder_others(ladder *l, const hop_task *t, hop_error *err)
{
    hop_task small;
    hop_status s = small_task(&small, t->funccomp.hops, err);
    for (int i = 0; s == HOP_OK && hop_mixer_at(i); i++)
        if (hop_mixer_at(i)->kind == HOP_MIXER_RECURRENT)
            s = add_built(l, t, "hybrid", hop_mixer_at(i)->name, FEW, err);
    if (t->vocab <= small.vocab) small = *t;
    if (s == HOP_OK) s = add_built(l, &small, "cot", NULL, FEW, err);
    if (s == HOP_OK) s = add_built(l, &small, "encoder", NULL, FEW, err);
    int64_t before = l->other_count;
    if (s == HOP_OK) s = add_built(l, &small, "linear", NULL, 4, err);
    if (s == HOP_OK && l->other_count > before) compare_with_p2(&l->others[before], &l->out->memory, &small);
    return s;
}
