/* k-hop induction: from the last token, `hops` times, to the token behind the last earlier occurrence of the
 * one at hand. */
#include "room.h"

static const hop_task_size SIZES[] = {
    {"n", offsetof(hop_task, khop.n), 1, HOP__MAX_LENGTH, 32},
    {"alphabet", offsetof(hop_task, khop.alphabet), 2, HOP__MAX_LENGTH - 1, 4},
    {"hops", offsetof(hop_task, khop.hops), 1, HOP_MAX_HOPS, 2},
    {0},
};

static hop_status ready(hop_task *t, hop_error *err)
{
    (void)err;
    t->length = t->khop.n;
    t->vocab = t->khop.alphabet + 1; /* the last says: nowhere */
    return HOP_OK;
}

static int64_t tokens(const hop_task *t)
{
    return t->khop.alphabet;
}

static int64_t solve(const hop_task *t, const int32_t *tokens, int32_t *targets)
{
    int64_t at = t->length - 1;
    for (int64_t i = 0; i < t->length; i++) targets[i] = -1;
    for (int64_t hop = 0; hop < t->khop.hops && at >= 0; hop++) {
        int64_t j = at; /* 0: a step that leads nowhere */
        while (j >= 1 && tokens[j - 1] != tokens[at]) j--;
        at = j >= 1 ? j : -1;
    }
    targets[t->length - 1] = at >= 0 ? tokens[at] : (int32_t)t->khop.alphabet;
    return 1;
}

const hop__task_ops hop__khop_ops = {
    .sizes = SIZES,
    .ready = ready,
    .tokens = tokens,
    .solve = solve,
};
