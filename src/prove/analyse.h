/* What each task's analysis fills in. */
#ifndef HOP_PROVE_ANALYSE_H
#define HOP_PROVE_ANALYSE_H

#include <hopbound/prove.h>

/* p's margins and, unless it is proved, p->why; a. HOP_ENOMEM, HOP_ESTOPPED. */
typedef hop_status hop__analyse_fn(hop_proof *p, hop_bounds_said *a, const hop_model *m, const hop_task *task,
                                   int64_t generates, const hop_prove_options *o, hop_error *err);
hop__analyse_fn hop__analyse_funccomp; /* funccomp.c */
hop__analyse_fn hop__analyse_twosum;   /* two_sum.c */

#endif
