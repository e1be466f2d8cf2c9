/* The constructions, one file each. */
#ifndef HOP_CONSTRUCT_CONSTRUCT_H
#define HOP_CONSTRUCT_CONSTRUCT_H

#include <hopbound/construct.h>
#include <hopbound/layers.h>

#define HOP__CONSTRUCT_DECLARE(id, name, task, choices, summary)                                          \
    hop_status hop__construct_##id(hop_model **out, const hop_task *task, const hop_construct_options *o, \
                                   hop_error *err);
HOP_CONSTRUCT_LIST(HOP__CONSTRUCT_DECLARE)
#undef HOP__CONSTRUCT_DECLARE

/* What all of them share: a plain config (no norms, ReLU, position table) that remembers task and kind.
 * `construction` is the JSON that goes into config.json. */
hop_status hop__construct_config(hop_config *c, const char *pattern, const hop_task *task,
                                 const char *construction, hop_error *err);

/* Element (row, col) of a weight; a vector's is (row, 0). */
static inline float *hop__cell(const hop_weight *w, int64_t row, int64_t col)
{
    return w->data + row * (w->rank == 2 ? w->shape[1] : 1) + col;
}

#endif
