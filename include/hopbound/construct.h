/* hopbound/construct.h - networks whose weights are written down.
 *
 *     hop_model *m;
 *     hop_construct(&m, "full", &task, NULL, &err);   // L+1 full-attention layers, exact on every input
 */
#ifndef HOPBOUND_CONSTRUCT_H
#define HOPBOUND_CONSTRUCT_H

#include <hopbound/base.h>
#include <hopbound/model.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- constructions --------------------------------------------------------------------------- */

/* Function, name, task, what may be chosen (bits of hop_construct_choice), summary. docs/THEORY.md section 5
 * tells what each is and why it is exact. */
/* clang-format off */
#define HOP_CONSTRUCT_LIST(X)                                                                                \
    X(full, "full", FUNCCOMP, HOP_CHOOSES_SHAPE, "L+1 full-attention layers, one head each")                 \
    X(hybrid, "hybrid", FUNCCOMP, HOP_CHOOSES_MIXER | HOP_CHOOSES_SHAPE,                                     \
      "one linear layer (--mixer), then L full-attention layers, or any --pattern that has them, or "        \
      "whose states hold tables")                                                                            \
    X(rotary, "rotary", FUNCCOMP, HOP_CHOOSES_SHAPE,                                                         \
      "no position table: rotary embedding tells where tokens stand; L+1 full-attention layers")             \
    X(linear, "linear", FUNCCOMP, 0, "linear layers only, every table kept in a state")                   \
    X(mixed, "mixed", FUNCCOMP, HOP_CHOOSES_PATTERN,                                                         \
      "L+1 layers, full or linear in any order (--pattern), each a hop: by scores, or by a state that holds the table") \
    X(cot, "cot", FUNCCOMP, 0, "one full-attention layer with two heads, and a chain of L+1 generated tokens") \
    X(encoder, "encoder", FUNCCOMP, 0, "attention that looks both ways, ceil(log2 L)+2 layers")              \
    X(two_sum_full, "two-sum-full", TWOSUM, 0, "2-Sum by one full-attention layer")                          \
    X(two_sum_sparse, "two-sum-sparse", TWOSUM, HOP_CHOOSES_BLOCKS,                                          \
      "2-Sum by (B,k)-sparse attention with B heads (--block, --topk)")
/* clang-format on */

typedef enum hop_construct_choice {
    HOP_CHOOSES_MIXER = 1,
    HOP_CHOOSES_BLOCKS = 2,
    HOP_CHOOSES_PATTERN = 4,
    HOP_CHOOSES_SHAPE = 8
} hop_construct_choice;

typedef struct hop_construct_kind {
    const char *name;
    hop_task_kind task;
    unsigned choices; /* options that it takes */
    const char *summary;
} hop_construct_kind;

const hop_construct_kind *hop_construct_kinds(void); /* ended by one without a name */

typedef struct hop_construct_options {
    const char *mixer;   /* hybrid: the linear layer; NULL: deltanet */
    const char *pattern; /* mixed: L+1 layers, F or L in any order; NULL: all linear */
    int64_t block, topk; /* two-sum-sparse; block divides n; 0: the largest that does, up to 4, and 1 */
    /* full, hybrid: the architecture to write the network into; NULL: the smallest. Its pattern, widths,
     * norm, MLP, RoPE and settings are kept, d_model, head_dim and mlp_hidden that are 0 become the smallest;
     * vocabulary and positions are the task's. Layers that are not needed pass the stream as it is. */
    const hop_config *shape;
    /* rotary: how many radians a token each pair of a head turns by, where the shape's layers have tables of their own
     * for that; NULL: as its base says. */
    const float *frequencies;
} hop_construct_options;

/* HOP_EUNKNOWN: no such kind or mixer; HOP_EDOMAIN: not for this task or these sizes. `o` may be NULL. */
hop_status hop_construct(hop_model **out, const char *kind, const hop_task *task,
                         const hop_construct_options *o, hop_error *err);
/* Numbers that the linear layer of `hybrid` keeps from token to token, of this mixer at these sizes; no
 * weights are made. HOP_EUNKNOWN, HOP_EDOMAIN, HOP_ENOMEM. */
hop_status hop_construct_hybrid_state(int64_t *numbers, const char *mixer, const hop_task *task,
                                      hop_error *err);

/* What is left of `whole` under another plan (`linear` is what L stands for in it): tables and read-out, and
 * layer by layer the next one of `whole` that has the mixer; where there is none the layer is idle, its
 * weights zero. It answers what the look-ups that are left have found. HOP_EFORMAT, HOP_EUNKNOWN: the
 * pattern. */
hop_status hop_construct_part(hop_model **out, const hop_model *whole, const char *pattern,
                              const char *linear, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
