/* P3 beside a training: how often a network of linear layers only can be right, whatever its weights. */
#include "room.h"

#include <hopbound/bounds.h>

#include <math.h>

#define SURE 5 /* standard deviations: one in 3.5 million */

double hop_train_ceiling(const hop_config *c, const hop_task *t)
{
    hop_arch arch = {0};
    double bits = 0, ceiling = NAN;
    if (t->kind != HOP_TASK_FUNCCOMP ||
        hop_arch_new(&arch, c, &(hop_arch_options){.number_bits = 32, .declared = true}, NULL) != HOP_OK)
        return NAN;
    bool linear = true;
    for (int64_t i = 0; i < arch.count; i++) {
        const hop_arch_layer *l = &arch.layers[i];
        linear = linear && (l->kind == HOP_LAYER_LINEAR || l->kind == HOP_LAYER_LOCAL);
        bits += (double)l->repeat * (double)l->state_bits;
    }
    hop_arch_free(&arch);
    if (!linear || hop_accuracy_ceiling(&ceiling, t->funccomp.vocab, bits, NULL) != HOP_OK) return NAN;
    return ceiling;
}

bool hop_measure_above(const hop_measure *m, double ceiling)
{
    double low, high;
    hop_wilson(m->correct, m->instances, SURE, &low, &high);
    return low > ceiling;
}
