#include "hybrid_state.h"

static int64_t state_numbers(const hop_separation *s, const void *mixer)
{
    hop_task t = {.kind = HOP_TASK_FUNCCOMP};
    int64_t numbers = 0;
    if (hop_funccomp_init(&t.funccomp, s->hops, s->m, s->fan + 1, NULL) != HOP_OK) return 0;
    if (hop_task_ready(&t, NULL) != HOP_OK) return 0;
    return hop_construct_hybrid_state(&numbers, mixer, &t, NULL) == HOP_OK ? numbers : 0;
}

void separation_of_mixer(hop_separation *s, const char *mixer)
{
    s->state_numbers = state_numbers;
    s->state_of = mixer;
}
