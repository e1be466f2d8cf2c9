#ifndef HOP_REFUTE_SLOPE_H
#define HOP_REFUTE_SLOPE_H

#include <hopbound/grad.h>
#include <hopbound/tasks.h>

typedef struct hop__slope hop__slope;

/* For inputs of `tokens` tokens that are asked at the last one. NULL: the network has no gradient, or there
 * is no memory. */
hop__slope *hop__slope_new(const hop_model *m, int64_t tokens);
void hop__slope_free(hop__slope *s);
/* Changes one token, where the gradient is steep, to the one that should lower the margin most; false: none
 * should. */
bool hop__slope_move(hop__slope *s, const hop_task *t, int64_t right, hop_rng *rng, int32_t *tokens);

#endif
