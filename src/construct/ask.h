/* What a network says to one input, whatever kind of network and task: the last token or all, by generating
 * or not. */
#ifndef HOP_CONSTRUCT_ASK_H
#define HOP_CONSTRUCT_ASK_H

#include <hopbound/construct.h>

typedef struct hop__asker {
    const hop_model *model;
    const hop_task *task;
    int64_t generate; /* tokens of a chain; 0: none */
    hop_forward *forward;
    hop_decoder *decoder; /* for chains */
    float *logits;
    int32_t *targets;
} hop__asker;

hop_status hop__asker_open(hop__asker *a, const hop_model *m, const hop_task *task, hop_pool *pool,
                           hop_error *err);
void hop__asker_close(hop__asker *a);

typedef struct hop__reply {
    bool right;
    int64_t position, expected, got; /* of the first wrong answer */
} hop__reply;

hop_status hop__ask(hop__asker *a, const int32_t *tokens, hop__reply *r, hop_error *err);

/* How many tokens a network generates before its answer, from its config; 0 when it answers at once. */
int64_t hop__generated(const hop_model *m);

#endif
