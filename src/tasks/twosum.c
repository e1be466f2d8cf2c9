/* 2-Sum, also called Match2: at every position, is there an earlier token (or this one) that with this one
 * adds up to nothing modulo `mod`? (docs/THEORY.md section 5.6) */
#include "room.h"

#include <stdlib.h>

static const hop_task_size SIZES[] = {
    {"n", offsetof(hop_task, twosum.n), 1, HOP__MAX_LENGTH, 16},
    {"mod", offsetof(hop_task, twosum.mod), 2, HOP__MAX_LENGTH, 16},
    {0},
};

static hop_status ready(hop_task *t, hop_error *err)
{
    (void)err;
    t->length = t->twosum.n;
    t->vocab = t->twosum.mod; /* at least 2, so 0 and 1 are tokens */
    return HOP_OK;
}

static int64_t tokens(const hop_task *t)
{
    return t->twosum.mod;
}

/* ---- solving ------------------------------------------------------------------------------- */

#define FEW 32 /* tokens that are looked through without a table */

static bool occurs(const int32_t *tokens, int64_t count, int64_t wanted)
{
    for (int64_t i = 0; i < count; i++)
        if (tokens[i] == wanted) return true;
    return false;
}

/* Every token in turn: has its partner been here? From a table, or, for few tokens and where there is no
 * memory for one, from the tokens themselves. */
static int64_t solve(const hop_task *t, const int32_t *tokens, int32_t *targets)
{
    int64_t n = t->length, mod = t->twosum.mod;
    bool *seen = n > FEW ? calloc((size_t)mod, sizeof *seen) : NULL;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = tokens[i], partner = (mod - x) % mod;
        if (seen) seen[x] = true;
        targets[i] = seen ? seen[partner] : occurs(tokens, i + 1, partner);
    }
    free(seen);
    return n;
}

const hop__task_ops hop__twosum_ops = {
    .sizes = SIZES,
    .ready = ready,
    .tokens = tokens,
    .solve = solve,
    .everywhere = true,
};
