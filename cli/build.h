/* What cmd_build.c (kinds, the verb) and its two helpers share. */
#ifndef HOPBOUND_CLI_BUILD_H
#define HOPBOUND_CLI_BUILD_H

#include "cli.h"

typedef struct build_args {
    common_args common;
    size_args sizes;
    opt_value output, mixer, block, topk;
    opt_value pattern, vocab, d_model, heads, head_dim, positions, norm, mlp, mlp_hidden, seeded, tie;
} build_args;

/* In the enums' order. */
extern const char *const NORM_NAMES[], *const MLP_NAMES[];

/* build_random.c: random weights for any pattern. `task` may be NULL: for none in particular. */
hop_status build_random(hop_model **out, const build_args *a, const hop_task *task, hop_error *err);
/* build_report.c: what was built, in words or JSON. The exit code. */
int build_report(const build_args *a, const hop_model *m, const hop_task *task);

#endif
