/* What cmd_build.c (kinds, the verb) and its two helpers share. */
#ifndef HOPBOUND_CLI_BUILD_H
#define HOPBOUND_CLI_BUILD_H

#include "cli.h"

typedef struct build_args {
    common_args common;
    hop_size_args sizes;
    hop_opt_value output, mixer, block, topk, like, families;
    hop_opt_value pattern, d_model, heads, kv_heads, head_dim, norm, mlp, mlp_hidden, rope;
    hop_opt_value vocab, positions, seeded, tie;
} build_args;

/* In the enums' order. */
extern const char *const NORM_NAMES[], *const MLP_NAMES[];

/* build_shape.c: the architecture that the options describe; widths that were not given are 0, `pattern` is
 * the one if none was. Frees nothing of `c` on failure but all of it. */
hop_status build_shape(hop_config *c, const build_args *a, const char *pattern, hop_error *err);
/* build_like.c: the architecture of a real model's config.json; `notes`: what was scaled, assumed and left
 * out, a line each. */
hop_status build_like(hop_config *c, hop_text *notes, const build_args *a, hop_error *err);
/* .. and, once it is built, which linear layers are not as the model has them. */
void build_like_changed(hop_text *notes, const hop_config *wanted, const hop_model *m);
/* build_random.c: random weights for any pattern. `task` may be NULL: for none in particular. */
hop_status build_random(hop_model **out, const build_args *a, const hop_task *task, hop_error *err);
/* build_report.c: what was built, in words or JSON. The exit code. */
int build_report(const build_args *a, const hop_model *m, const hop_task *task, const hop_text *notes);

#endif
