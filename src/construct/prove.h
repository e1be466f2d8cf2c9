/* The ways to a verdict. */
#ifndef HOP_CONSTRUCT_PROVE_H
#define HOP_CONSTRUCT_PROVE_H

#include <hopbound/construct.h>
#include <hopbound/eval.h>

#include "analysis.h"

/* An input that is answered wrongly; tokens NULL: none was found. The caller frees tokens. */
typedef struct hop__found {
    int32_t *tokens;
    int64_t number;                  /* of the input, in the order of the enumeration or of the search */
    int64_t position, expected, got; /* of the first wrong answer */
} hop__found;

/* The first of a batch that was run and is wrong; `first` is the number of its first one. HOP_ENOMEM, or why
 * the network did not take an input. */
hop_status hop__find_wrong(hop__found *found, const hop_instance *batch, int64_t count, int64_t first,
                           hop_error *err);

/* Every input, until one is wrong; `count` of them were run. */
hop_status hop__enumerate(hop__found *found, int64_t *count, hop_eval *eval, const hop_task *task,
                          hop_error *err);
/* Inputs that lead to the hints, and random ones; a fixed number of them for given sizes and seed. */
hop_status hop__search(hop__found *found, hop_eval *eval, const hop_task *task, const hop_prove_options *o,
                       const hop__hint *hints, int hint_count, hop_error *err);

/* The analyses, each for one kind of network: true in *proved, or p->why says what is in the way. */
typedef hop_status hop__analyse_fn(hop_proof *p, const hop_model *m, const hop_task *task,
                                   const hop_prove_options *o, bool *proved, hop__hint *hints,
                                   int *hint_count, hop_error *err);
hop__analyse_fn hop__prove_chain;   /* analysis.c: the last token makes one look-up a layer */
hop__analyse_fn hop__prove_cot;     /* cot.c: one look-up a generated token */
hop__analyse_fn hop__prove_encoder; /* encoder_proof.c: every token composes */
hop__analyse_fn hop__prove_linear;  /* linear_proof.c: look-ups in states */
hop__analyse_fn hop__prove_twosum;  /* two_sum_proof.c */

#endif
