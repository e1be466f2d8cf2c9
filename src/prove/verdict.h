/* The ways to a verdict. */
#ifndef HOP_PROVE_VERDICT_H
#define HOP_PROVE_VERDICT_H

#include <hopbound/eval.h>
#include <hopbound/prove.h>

/* Where a bound failed: an input that makes the last token ask for (w, i) of `player` is worth trying. */
typedef struct hop__hint {
    int player;
    int64_t w, i;
} hop__hint;

#define HOP__HINTS 16

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

/* What the walk with sets says. */
typedef struct hop__analysis {
    bool proved;
    hop__hint hints[HOP__HINTS];
    int hint_count;
} hop__analysis;

/* Fills p's margins and, unless it is proved, p->why. HOP_ENOMEM, HOP_ESTOPPED. */
typedef hop_status hop__analyse_fn(hop_proof *p, hop__analysis *a, const hop_model *m, const hop_task *task,
                                   int64_t generates, const hop_prove_options *o, hop_error *err);
hop__analyse_fn hop__analyse_funccomp; /* funccomp.c */
hop__analyse_fn hop__analyse_twosum;   /* two_sum.c */

#endif
