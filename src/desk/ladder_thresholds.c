/* Tiny sizes for the page, decided by `exact`'s solver: one hop against P2 and P5, two hops against P2 and
 * P4. */
#include "ladder.h"

#include <stdlib.h>
#include <string.h>

/* Sizes whose every cell takes a blink. */
static const struct stairway {
    int hops;
    int64_t m, fan;
    int most_message, most_after;
} stairways[THRESHOLD_TABLES] = {{1, 3, 1, 5, 5}, {2, 2, 2, 4, 0}};

static void name_theorems(hop_stair *out, const hop_exact_cell *c)
{
    const struct {
        const char *id;
        hop_answer answer;
    } said[] = {{"P2", c->p2}, {"P4", c->p4}, {"P5", c->p5}};
    for (int i = 0; i < 3; i++)
        if (said[i].answer == HOP_ANSWER_IMPOSSIBLE) {
            size_t used = strlen(out->theorems);
            snprintf(out->theorems + used, sizeof out->theorems - used, used ? " %s" : "%s", said[i].id);
        }
}

/* The file that the solver's proof is in, if it left one. */
static void find_proof(hop_stair *out, const ladder *l, const struct stairway *w)
{
    char name[96], path[4096];
    snprintf(name, sizeof name, "%s/exact-hops%d-m%d-fan%d-before0-message%d-after%d.drat", THRESHOLD_DIR,
             w->hops, (int)w->m, (int)w->fan, out->message, out->after);
    if (hop_path_join(path, sizeof path, l->args->output.text, name, NULL) != HOP_OK) return;
    if (!hop_is_there(path)) return;
    memcpy(out->proof, name, sizeof name);
}

static hop_status decide(ladder *l, const struct stairway *w, hop_stair *cells, const char *proofs,
                         hop_error *err)
{
    static const hop_ladder_verdict verdicts[] = {[HOP_CELL_UNDECIDED] = HOP_LADDER_UNDECIDED,
                                                  [HOP_CELL_IMPOSSIBLE] = HOP_LADDER_IMPOSSIBLE,
                                                  [HOP_CELL_POSSIBLE] = HOP_LADDER_POSSIBLE};
    hop_exact *x;
    const hop_exact_options o = {.hops = w->hops,
                                 .m = w->m,
                                 .fan = w->fan,
                                 .seed = (uint64_t)l->args->ask.seed.integer,
                                 .proof_dir = proofs,
                                 .progress = &l->args->ask.progress};
    hop_status s = hop_exact_new(&x, &o, err);
    if (s != HOP_OK) return s;
    snprintf(l->thresholds.solver, sizeof l->thresholds.solver, "%s", hop_exact_solver(x));
    for (int after = 0; after <= w->most_after; after++)
        for (int message = 0; message <= w->most_message && s == HOP_OK; message++) {
            hop_exact_cell c;
            s = hop_exact_decide(x, (hop_bits){.message = message, .after = after}, true, &c, err);
            if (s != HOP_OK) break;
            hop_stair *out = cells++;
            *out = (hop_stair){.message = message, .after = after};
            out->verdict = verdicts[c.verdict];
            name_theorems(out, &c);
            if (c.verdict == HOP_CELL_IMPOSSIBLE) find_proof(out, l, w);
        }
    hop_exact_free(x);
    return s;
}

hop_status hop__ladder_thresholds_make(ladder *l, hop_error *err)
{
    char proofs[4096];
    hop_status s = hop_path_join(proofs, sizeof proofs, l->args->output.text, THRESHOLD_DIR, err);
    for (int i = 0; i < THRESHOLD_TABLES && s == HOP_OK; i++) {
        const struct stairway *w = &stairways[i];
        int64_t count = (int64_t)(w->most_message + 1) * (w->most_after + 1);
        hop_error why = {0};
        if (!(l->thresholds.cells[i] = calloc((size_t)count, sizeof *l->thresholds.cells[i])))
            return hop_fail(err, HOP_ENOMEM, "out of memory");
        s = decide(l, w, l->thresholds.cells[i], proofs, &why);
        if (s == HOP_EIO &&
            !l->thresholds.solver[0]) { /* no solver here: the page does without, and says so */
            snprintf(l->thresholds.missing, sizeof l->thresholds.missing, "%s", why.text);
            return HOP_OK;
        }
        if (s != HOP_OK) return hop_fail(err, s, "%s", why.text);
        l->thresholds.page[i] = (hop_thresholds){.hops = w->hops,
                                                 .m = w->m,
                                                 .fan = w->fan,
                                                 .most_message = w->most_message,
                                                 .most_after = w->most_after,
                                                 .cells = l->thresholds.cells[i],
                                                 .cell_count = count};
        l->thresholds.count++;
    }
    return s;
}

void hop__ladder_thresholds_free(ladder *l)
{
    for (int i = 0; i < THRESHOLD_TABLES; i++) free(l->thresholds.cells[i]);
}
