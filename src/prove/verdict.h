/* The ways to a verdict. */
#ifndef HOP_PROVE_VERDICT_H
#define HOP_PROVE_VERDICT_H

#include <hopbound/eval.h>
#include <hopbound/prove.h>
#include <hopbound/refute.h>

#define HOP__HINTS 16 /* where a bound failed: inputs that are worth trying */

/* What the walk with sets says. */
typedef struct hop__analysis {
    bool proved;
    hop_hint hints[HOP__HINTS];
    int hint_count;
} hop__analysis;

/* Fills p's margins and, unless it is proved, p->why. HOP_ENOMEM, HOP_ESTOPPED. */
typedef hop_status hop__analyse_fn(hop_proof *p, hop__analysis *a, const hop_model *m, const hop_task *task,
                                   int64_t generates, const hop_prove_options *o, hop_error *err);
hop__analyse_fn hop__analyse_funccomp; /* funccomp.c */
hop__analyse_fn hop__analyse_twosum;   /* two_sum.c */

#endif
