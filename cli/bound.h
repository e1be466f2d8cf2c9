/* The verb bound: what was asked, what is shown. */
#ifndef HOPBOUND_CLI_BOUND_H
#define HOPBOUND_CLI_BOUND_H

#include "architecture.h"

typedef struct bound_args {
    common_args common;
    arch_args arch;
    opt_value hops, n, m, fan, curve, solve, exit_code, certificate, coq;
} bound_args;

/* Everything that is known in the end. */
typedef struct bound_answer {
    const architecture *arch;
    hop_question question; /* hops: those that `bounds` is about */
    hop_bounds *bounds;
    bool automatic; /* --hops auto: `reach` is set */
    hop_reach reach;
    bool curve;
    char outgrown[32]; /* the n from which no table fits all states; "": there are none */
    double outgrown_log10;
    int64_t held; /* up to this n the states are known to hold the table of one hop; 0: none */
} bound_answer;

/* --solve: the value at which the verdict changes. */
int bound_solve(const bound_args *args, const hop_question *q);
int bound_show(const common_args *a, const bound_answer *b);
int bound_show_json(const common_args *a, const bound_answer *b);

/* ---- the answer (bound_answer.c) -------------------------------------------------------------- */

/* A number of hops, at a length or at sizes: then there is one verdict. */
bool bound_is_asked(const bound_answer *b);
/* "possible", "impossible" or "open", and the theorem that says so; NULL: none does. */
const char *bound_verdict(const bound_answer *b, const char **by);
/* The theorem that says impossible with a certificate, the one that the verdict names where it has one; NULL:
 * none does. */
const hop_bound *bound_certified(const bound_answer *b);
/* It in one sentence, a line. */
void bound_say_answer(hop_text *t, const bound_answer *b);
/* Does the length, or a theorem, end what is open? */
bool bound_is_bounded(const hop_reach *r);
/* The most hops that can be posed and are not proved impossible. */
int bound_most_open(const hop_reach *r);
/* From where states hold the table of a hop to where none fits them, as a factor of n; 0: one of the two is
 * not known. */
double bound_factor(const bound_answer *b);

/* ---- what the symbols mean (bound_legend.c) ------------------------------------------------------ */

/* A paragraph on the symbols of these results, those that occur. */
void bound_say_legend(hop_text *out, const hop_bound *const *results, int count);

/* ---- the curve (bound_show.c) ---------------------------------------------------------------------- */

typedef void curve_fn(void *to, double bits, double ceiling);
/* From no state to as much as P2 asks for, in equal steps. */
void bound_each_of_curve(const bound_answer *b, curve_fn *f, void *to);

#endif
