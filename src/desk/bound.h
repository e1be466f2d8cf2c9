/* The verb bound: what was asked, and everything that is known in the end. */
#ifndef HOP_DESK_BOUND_H
#define HOP_DESK_BOUND_H

#include <hopbound/ask_bound.h>
#include "architecture.h"
#include "desk.h"

typedef struct bound_args {
    hop_request ask;
    arch_args arch;
    hop_opt_value hops, n, m, fan, curve, solve, exit_code, certificate, coq, cite;
} bound_args;

typedef struct bound_facts {
    const architecture *arch;
    hop_question question; /* hops: those that `bounds` is about */
    hop_bounds *bounds;
    bool automatic; /* --hops auto: `reach` is set */
    hop_reach reach;
    char outgrown[32]; /* the n from which no table fits all states; "": there are none */
    double outgrown_log10;
    int64_t held; /* up to this n the states are known to hold the table of one hop; 0: none */
} bound_facts;

/* --solve: the value at which the verdict changes. */
hop_status hop__bound_solve(hop_response *out, const bound_args *a, const hop_question *asked,
                            hop_error *err);
/* The facts as records; bound_record.c. */
hop_status hop__bound_record(hop_response *out, const bound_facts *b, bool curve, hop_error *err);

/* What a proof chooses, {"t": 14, ..}; NULL without a certificate. bound_record.c */
const char *hop__bound_integers(hop_keep *k, const hop_certificate *c);
/* --cite: one verdict as a paragraph; bound_cite.c. */
hop_status hop__bound_cite(hop_response *out, const bound_facts *b, bool latex, hop_error *err);

/* ---- bound_say.c ---- */

/* A number of hops, at a length or at sizes: then there is one verdict. */
bool hop__bound_is_asked(const bound_facts *b);
/* "possible", "impossible" or "open", and the theorem that says so; NULL: none does. */
const char *hop__bound_verdict(const bound_facts *b, const char **by);
/* It in one sentence. */
void hop__bound_say(hop_text *t, const bound_facts *b);
/* Does the length, or a theorem, end what is open? The most hops that can be posed and are not impossible. */
bool hop__bound_is_bounded(const hop_reach *r);
int hop__bound_most_open(const hop_reach *r);

#endif
