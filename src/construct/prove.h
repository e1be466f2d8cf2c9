/* The two ways of finding an input on which a network errs. */
#ifndef HOP_CONSTRUCT_PROVE_H
#define HOP_CONSTRUCT_PROVE_H

#include <hopbound/construct.h>

#include "analysis.h"

/* An input that is answered wrongly; tokens NULL: none was found. The caller frees tokens. */
typedef struct hop__found {
    int32_t *tokens;
    int64_t number; /* of the input, in the order of the enumeration or of the search */
    int64_t expected, got;
    bool confirmed; /* hop_forward_logits errs on it too */
} hop__found;

/* Every input, in the order of its tokens as a mixed-radix number; the first one that is wrong. */
hop_status hop__enumerate(hop__found *found, int64_t *count, const hop_model *m, const hop_funccomp *task,
                          const hop_prove_options *o, hop_error *err);
/* Inputs that lead to the hints, and random ones; a fixed number of them for given sizes and seed. */
hop_status hop__search(hop__found *found, const hop_model *m, const hop_funccomp *task,
                       const hop_prove_options *o, const hop__hint *hints, int hint_count, hop_error *err);

#endif
