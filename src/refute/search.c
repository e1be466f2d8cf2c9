/* An input on which the network errs, where a bound failed: inputs whose chain passes through the suspicious
 * address, with all other entries random or, in every other try, as unlike the right value as can be. */
#include <hopbound/refute.h>

#define WORK         2000000 /* tokens to run at the most, so that the search ends in seconds at any size */
#define MOST_TRIES   4096
#define LEAST_TRIES  16
#define BATCH_TOKENS ((int64_t)1 << 18)

typedef struct hunt {
    const hop_task *task;
    uint64_t seed;
    const hop_hint *hints; /* of funccomp networks */
    int hint_count;
} hunt;

/* Position of the entry that hop l (1-based) reads when the chain stands at i. */
static int64_t entry(const hop_funccomp *t, int l, int64_t w, int64_t i)
{
    return t->start[l] + (l >= 2 ? hop_funccomp_digit(t, w, l - 1) * t->size[l - 2] : 0) + i;
}

/* Makes the chain arrive at i_{player-1} = h.i (for the read-out: at the answer h.i), and w be h.w if it is
 * given. */
static void aim(const hop_funccomp *t, const hop_hint *h, int32_t *z)
{
    int last = h->player - 1; /* the hop whose result must be h.i; 0: z_0 itself */
    if (h->w >= 0) z[t->length - 1] = (int32_t)h->w;
    if (last < 0) return;
    int64_t w = z[t->length - 1];
    if (last == 0) {
        z[t->start[0]] = (int32_t)h->i;
        return;
    }
    int64_t i = z[t->start[0]];
    for (int l = 1; l < last; l++) i = z[entry(t, l, w, i)];
    z[entry(t, last, w, i)] = (int32_t)h->i;
}

/* Every entry of the function asked for, but the right one, gets the value farthest from the right one's. */
static void oppose(const hop_funccomp *t, const hop_hint *h, int32_t *z)
{
    if (h->player < 1 || h->player > t->hops) return;
    int64_t chain[HOP_MAX_HOPS + 1];
    hop_funccomp_solve(t, z, chain);
    int64_t right = entry(t, h->player, z[t->length - 1], chain[h->player - 1]);
    int64_t values = hop_funccomp_values(t, right), first = t->start[h->player];
    for (int64_t p = first; p < first + t->size[h->player - 1]; p++)
        if (p != right) z[p] = (int32_t)(values - 1 - z[right]);
}

/* Input number k of the search, whose tokens have room. */
static void make_input(const hunt *u, int64_t k, hop_instance *x)
{
    hop_rng rng;
    hop_rng_init(&rng, u->seed, (uint64_t)k);
    hop_task_sample(u->task, &rng, x->tokens);
    if (u->task->kind == HOP_TASK_FUNCCOMP && u->hint_count && k % 4 != 3) {
        const hop_hint *h = &u->hints[k / 4 % u->hint_count];
        aim(&u->task->funccomp, h, x->tokens);
        if (k % 2) oppose(&u->task->funccomp, h, x->tokens);
    }
    x->asked = hop_task_solve(u->task, x->tokens, x->targets);
}

static int64_t clamp(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

hop_status hop_search(hop_wrong *found, hop_eval *eval, const hop_task *task, uint64_t seed,
                      const hop_hint *hints, int hint_count, hop_error *err)
{
    hunt u = {.task = task, .seed = seed, .hints = hints, .hint_count = hint_count};
    int64_t tries = clamp(WORK / task->length, LEAST_TRIES, MOST_TRIES),
            most = clamp(BATCH_TOKENS / task->length, 1, HOP_EVAL_BATCH);
    hop_instance *batch;
    *found = (hop_wrong){0};
    hop_eval_start(eval, "search for a counter-example", (double)tries);
    hop_status s = hop_instances_new(&batch, most, task->length, err);
    for (int64_t from = 0; s == HOP_OK && !found->tokens && from < tries; from += most) {
        int64_t count = from + most < tries ? most : tries - from;
        for (int64_t i = 0; i < count; i++) make_input(&u, from + i, &batch[i]);
        s = hop_eval_run(eval, batch, count, err);
        if (s == HOP_OK) s = hop_wrong_find(found, batch, count, from, err);
    }
    hop_instances_free(batch, most);
    return s;
}
