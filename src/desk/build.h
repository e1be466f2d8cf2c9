/* The verb build: what was asked, and the parts that make and describe a network. */
#ifndef HOP_DESK_BUILD_H
#define HOP_DESK_BUILD_H

#include <hopbound/ask_build.h>
#include <hopbound/config.h>
#include "desk.h"

typedef struct build_args {
    hop_request ask;
    hop_size_args sizes;
    hop_opt_value output, mixer, block, topk, like, families;
    hop_opt_value pattern, d_model, heads, kv_heads, head_dim, norm, mlp, mlp_hidden, rope;
    hop_opt_value vocab, positions, seeded, tie;
} build_args;

/* build_shape.c: the architecture that the options describe; widths that were not given are 0, `pattern` is
 * the one if none was. Frees nothing of `c` on failure but all of it. */
hop_status hop__build_shape(hop_config *c, const build_args *a, const char *pattern, hop_error *err);
/* build_like.c: the architecture of a real model's config.json; `notes`: what was scaled, assumed and left
 * out, a line each. */
hop_status hop__build_like(hop_config *c, hop_text *notes, const build_args *a, hop_error *err);
/* .. and, once it is built, which linear layers are not as the model has them. */
void hop__build_like_changed(hop_text *notes, const hop_config *wanted, const hop_model *m);
/* build_export.c: the network in the model's own class, already written to --output. */
hop_status hop__build_export(hop_model **out, hop_text *notes, const build_args *a, const char *kind,
                             const hop_task *task, hop_error *err);
/* build_random.c: random weights for any pattern. `task` may be NULL: for none in particular. */
hop_status hop__build_random(hop_model **out, const build_args *a, const hop_task *task, hop_error *err);
/* build_record.c: what was built. */
hop_status hop__build_record(hop_response *out, const build_args *a, const hop_model *m, const hop_task *task,
                             const hop_text *notes, hop_error *err);

#endif
