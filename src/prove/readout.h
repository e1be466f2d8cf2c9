#ifndef HOP_PROVE_READOUT_H
#define HOP_PROVE_READOUT_H

#include "analysis.h"

typedef struct hop__readout {
    double margin;  /* the leading logit minus any other, at least; not above 0: nothing is known */
    hop__term term; /* what decides: no variables when nothing does */
    int64_t *token; /* [rows]: the token that leads */
} hop__readout;

/* Of the stream x after the last layer. False: m->status says why. */
bool hop__leading_token(hop__analysis *w, hop__memory *m, const hop__set *x, hop__readout *out);

#endif
