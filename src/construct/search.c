/* An input on which the network errs, where a bound failed: inputs whose chain passes through the suspicious
 * address, with all other entries random or, in every other try, as unlike the right value as can be. */
#include "prove.h"

#include <stdlib.h>

#define WORK        20000000 /* tokens to run at the most, so that the search ends in seconds at any size */
#define MOST_TRIES  4096
#define LEAST_TRIES 16

typedef struct hunt {
    const hop_task *task;
    const hop_prove_options *options;
    const hop__hint *hints; /* of funccomp networks */
    int hint_count;
    hop__asker asker;
    int32_t *tokens;
} hunt;

/* Position of the entry that hop l (1-based) reads when the chain stands at i. */
static int64_t entry(const hop_funccomp *t, int l, int64_t w, int64_t i)
{
    return t->start[l] + (l >= 2 ? hop_funccomp_digit(t, w, l - 1) * t->size[l - 2] : 0) + i;
}

/* Makes the chain arrive at i_{player-1} = h.i (for the read-out: at the answer h.i), and w be h.w if it is
 * given. */
static void aim(const hunt *u, const hop__hint *h)
{
    const hop_funccomp *t = &u->task->funccomp;
    int32_t *z = u->tokens;
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
static void oppose(const hunt *u, const hop__hint *h)
{
    const hop_funccomp *t = &u->task->funccomp;
    if (h->player < 1 || h->player > t->hops) return;
    int64_t chain[HOP_MAX_HOPS + 1];
    hop_funccomp_solve(t, u->tokens, chain);
    int64_t right = entry(t, h->player, u->tokens[t->length - 1], chain[h->player - 1]);
    int64_t values = hop_funccomp_values(t, right), first = t->start[h->player];
    for (int64_t p = first; p < first + t->size[h->player - 1]; p++)
        if (p != right) u->tokens[p] = (int32_t)(values - 1 - u->tokens[right]);
}

static hop_status try_one(hunt *u, int64_t number, hop__found *found, hop_error *err)
{
    hop_rng rng;
    hop_rng_init(&rng, u->options->seed, (uint64_t)number);
    hop_task_sample(u->task, &rng, u->tokens);
    if (u->task->kind == HOP_TASK_FUNCCOMP && u->hint_count && number % 4 != 3) {
        const hop__hint *h = &u->hints[number / 4 % u->hint_count];
        aim(u, h);
        if (number % 2) oppose(u, h);
    }
    found->number = number;
    hop_status s = hop__ask(&u->asker, u->tokens, &found->reply, err);
    found->confirmed = s == HOP_OK && !found->reply.right;
    return s;
}

static hop_status try_all(hunt *u, hop__found *found, hop_error *err)
{
    int64_t tries = WORK / u->task->length;
    tries = tries < LEAST_TRIES ? LEAST_TRIES : tries > MOST_TRIES ? MOST_TRIES : tries;
    for (int64_t k = 0; k < tries; k++) {
        hop_status s = try_one(u, k, found, err);
        if (s != HOP_OK) return s;
        if (found->confirmed) {
            found->tokens = u->tokens;
            u->tokens = NULL;
            return HOP_OK;
        }
        if (!hop_progress_tick(u->options->progress, "search for a counter-example", (double)(k + 1),
                               (double)tries))
            return hop_fail(err, HOP_ESTOPPED, "stopped on request");
    }
    return HOP_OK;
}

hop_status hop__search(hop__found *found, const hop_model *m, const hop_task *task,
                       const hop_prove_options *o, const hop__hint *hints, int hint_count, hop_error *err)
{
    hunt u = {.task = task, .options = o, .hints = hints, .hint_count = hint_count};
    *found = (hop__found){0};
    u.tokens = hop_alloc(sizeof(int32_t) * (size_t)task->length);
    hop_status s = u.tokens ? hop__asker_open(&u.asker, m, task, o->pool, err)
                            : hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) s = try_all(&u, found, err);
    hop__asker_close(&u.asker);
    hop_free(u.tokens);
    return s;
}
