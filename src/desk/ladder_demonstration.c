/* One small instance for the page: drawn from the seed, solved, and answered by a network of its sizes. */
#include "ladder.h"

#include <stdlib.h>
#include <string.h>

#define MOST_HOPS         2
#define DEMONSTRATION_M   6
#define DEMONSTRATION_FAN 4

static hop_status make_task(hop_task *t, int hops, hop_error *err)
{
    const int64_t fan[] = {DEMONSTRATION_FAN};
    *t = (hop_task){.kind = HOP_TASK_FUNCCOMP};
    hop_status s = hop_funccomp_init(&t->funccomp, hops, DEMONSTRATION_M, fan, err);
    return s == HOP_OK ? hop_task_ready(t, err) : s;
}

/* The chain and where each of its links is read. */
static void fill_steps(ladder_demonstration *k, const hop_funccomp *t)
{
    int64_t chain[MOST_HOPS + 1], w = k->tokens[t->length - 1];
    hop_funccomp_solve(t, k->tokens, chain);
    for (int l = 0; l <= t->hops; l++) {
        hop_demonstration_step *s = &k->steps[l];
        *s = (hop_demonstration_step){.digit = -1, .before = -1, .found = chain[l], .position = t->start[l]};
        if (l > 0) s->before = chain[l - 1], s->position += chain[l - 1];
        if (l > 1) s->digit = hop_funccomp_digit(t, w, l - 1), s->position += s->digit * t->size[l - 2];
    }
}

/* Which theorem says of this rung that the plan below cannot be, at its sizes. */
static void find_theorem(hop_demonstration *out, const ladder *l, const char *pattern)
{
    for (int64_t i = 0; i < l->other_count; i++) {
        const hop_ladder_row *r = &l->others[i];
        if (r->built || r->hops != out->hops || strcmp(r->pattern, pattern) != 0) continue;
        if (r->verdict != HOP_LADDER_IMPOSSIBLE) continue;
        snprintf(out->theorem, sizeof out->theorem, "%s", r->theorem);
        out->lower_tokens = r->n;
    }
}

hop_status hop__ladder_demonstration_make(ladder *l, hop_error *err)
{
    ladder_demonstration *k = &l->demonstration;
    hop_demonstration *out = &k->page;
    hop_task t;
    hop_ladder_row row = {0};
    hop_rng rng;
    int hops = l->rung_count < MOST_HOPS ? (int)l->rung_count : MOST_HOPS;
    const ladder_job job = {.kind = "full", .name = "play", .count = 1};
    hop_status s = make_task(&t, hops, err);
    if (s == HOP_OK) s = hop__ladder_row(l, &row, &t, &job, err);
    if (s != HOP_OK) return s;
    int64_t n = t.length;
    k->tokens = calloc((size_t)n, sizeof *k->tokens);
    k->players = calloc((size_t)n, sizeof *k->players);
    k->indices = calloc((size_t)n, sizeof *k->indices);
    if (!k->tokens || !k->players || !k->indices) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_rng_init(&rng, (uint64_t)l->args->ask.seed.integer, 0); /* the first that `run` would take */
    hop_funccomp_sample(&t.funccomp, &rng, k->tokens);
    for (int64_t p = 0; p < n; p++) k->players[p] = hop_funccomp_player(&t.funccomp, p, &k->indices[p]);
    fill_steps(k, &t.funccomp);
    *out = (hop_demonstration){.hops = hops,
                               .m = DEMONSTRATION_M,
                               .fan = DEMONSTRATION_FAN,
                               .tokens = k->tokens,
                               .players = k->players,
                               .indices = k->indices,
                               .length = n,
                               .steps = k->steps,
                               .log10_inputs = row.log10_inputs,
                               .right = row.correct == 1};
    snprintf(out->upper, sizeof out->upper, "F^%d", hops + 1);
    snprintf(out->lower, sizeof out->lower, hops == 1 ? "F" : "L F L");
    out->verdict = row.verdict;
    snprintf(out->dir, sizeof out->dir, "%s-%d", job.name, hops);
    find_theorem(out, l, out->lower);
    return HOP_OK;
}

void hop__ladder_demonstration_free(ladder *l)
{
    free(l->demonstration.tokens);
    free(l->demonstration.players);
    free(l->demonstration.indices);
}
