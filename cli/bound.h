/* The verb bound: what was asked, what is shown. */
#ifndef HOPBOUND_CLI_BOUND_H
#define HOPBOUND_CLI_BOUND_H

#include "architecture.h"

typedef struct bound_args {
    common_args common;
    arch_args arch;
    opt_value hops, n, m, fan, curve, solve;
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
} bound_answer;

/* --solve: the value at which the verdict changes. */
int bound_solve(const bound_args *args, const hop_question *q);
int bound_show(const common_args *a, const bound_answer *b);

#endif
