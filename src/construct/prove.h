/* The ways to a verdict. */
#ifndef HOP_CONSTRUCT_PROVE_H
#define HOP_CONSTRUCT_PROVE_H

#include <hopbound/construct.h>

#include "analysis.h"
#include "ask.h"

/* An input that is answered wrongly; tokens NULL: none was found. The caller frees tokens. */
typedef struct hop__found {
    int32_t *tokens;
    int64_t number; /* of the input, in the order of the enumeration or of the search */
    hop__reply reply;
    bool confirmed; /* the whole sequence, run as `run` does, errs on it too */
} hop__found;

/* Every input, in the order of its tokens as a mixed-radix number; the first one that is wrong. `alone`: the
 * verdict will rest on this, so every input is run as `run` does; else token by token, which is faster and
 * sums in another order. */
hop_status hop__enumerate(hop__found *found, int64_t *count, const hop_model *m, const hop_task *task,
                          const hop_prove_options *o, bool alone, hop_error *err);
/* Inputs that lead to the hints, and random ones; a fixed number of them for given sizes and seed. */
hop_status hop__search(hop__found *found, const hop_model *m, const hop_task *task,
                       const hop_prove_options *o, const hop__hint *hints, int hint_count, hop_error *err);

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
