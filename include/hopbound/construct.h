/* hopbound/construct.h - networks whose weights are written down, and proofs that a network is right.
 *
 *     hop_model *m;
 *     hop_construct(&m, "full", &task, NULL, &err);   // L+1 full-attention layers, exact on every input
 *     hop_proof proof;
 *     hop_prove(&proof, m, &task, &(hop_prove_options){0}, &err);
 *     // proof.verdict == HOP_PROVED
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
    X(full, "full", FUNCCOMP, 0, "L+1 full-attention layers, one head each")                                 \
    X(hybrid, "hybrid", FUNCCOMP, HOP_CHOOSES_MIXER, "one linear layer (--mixer), then L full-attention layers") \
    X(linear, "linear", FUNCCOMP, 0, "linear layers only, every table kept in a state")                   \
    X(cot, "cot", FUNCCOMP, 0, "one full-attention layer with two heads, and a chain of L+1 generated tokens") \
    X(encoder, "encoder", FUNCCOMP, 0, "attention that looks both ways, ceil(log2 L)+2 layers")              \
    X(two_sum_full, "two-sum-full", TWOSUM, 0, "2-Sum by one full-attention layer")                          \
    X(two_sum_sparse, "two-sum-sparse", TWOSUM, HOP_CHOOSES_BLOCKS,                                          \
      "2-Sum by (B,k)-sparse attention with B heads (--block, --topk)")
/* clang-format on */

typedef enum hop_construct_choice { HOP_CHOOSES_MIXER = 1, HOP_CHOOSES_BLOCKS = 2 } hop_construct_choice;

typedef struct hop_construct_kind {
    const char *name;
    hop_task_kind task;
    unsigned choices; /* options that it takes */
    const char *summary;
} hop_construct_kind;

const hop_construct_kind *hop_construct_kinds(void); /* ended by one without a name */

typedef struct hop_construct_options {
    const char *mixer;   /* hybrid: the linear layer; NULL: deltanet */
    int64_t block, topk; /* two-sum-sparse; block divides n; 0: the largest that does, up to 4, and 1 */
} hop_construct_options;

/* HOP_EUNKNOWN: no such kind or mixer; HOP_EDOMAIN: not for this task or these sizes. `o` may be NULL. */
hop_status hop_construct(hop_model **out, const char *kind, const hop_task *task,
                         const hop_construct_options *o, hop_error *err);

/* ---- proofs -------------------------------------------------------------------------------- */

typedef enum hop_verdict { HOP_PROVED, HOP_REFUTED, HOP_UNDECIDED } hop_verdict;
const char *hop_verdict_name(hop_verdict v); /* "proved", "refuted", "undecided" */

typedef enum hop_prove_method {
    HOP_PROVE_AUTO,      /* intervals, and enumeration too where it takes seconds: see enumerate_limit */
    HOP_PROVE_INTERVAL,  /* intervals only */
    HOP_PROVE_ENUMERATE, /* every input, whatever it takes */
} hop_prove_method;

typedef struct hop_prove_options {
    hop_prove_method method;
    int64_t enumerate_limit; /* inputs that `auto` runs at most; 0: as many as take about ten seconds */
    uint64_t seed;           /* of the search for a counter-example when a bound fails */
    hop_pool *pool;
    const hop_progress *progress;
} hop_prove_options;

/* The smallest margins over all inputs at one layer. What each means: docs/THEORY.md section 6. */
typedef struct hop_margin {
    int64_t layer;
    int player;         /* whose token is asked for */
    int64_t addresses;  /* different queries that had to be looked at */
    double score_gap;   /* right token's score minus the best wrong one's, at least */
    double wrong_mass;  /* attention on all wrong tokens together, at most */
    double clip_margin; /* how far every hidden unit stays from changing sides, at least */
    double code_error;  /* how far the register is from the exact code afterwards, at most */
} hop_margin;

typedef struct hop_proof {
    hop_verdict verdict;
    bool by_interval, by_enumeration, by_search; /* which methods reached the verdict; search only refutes */
    double log10_inputs;                         /* inputs that the verdict speaks of */
    int64_t enumerated;                          /* inputs that were run one by one */
    hop_margin *margins;                         /* one a layer, as far as the analysis came */
    int64_t margin_count;
    double readout_margin;   /* right logit minus the best wrong one, at least */
    char why[400];           /* undecided or refuted: where and why; "" when proved */
    int32_t *counterexample; /* refuted: task.length tokens */
    int64_t position;        /* where the network's answer is wrong */
    int64_t expected, got;   /* the right answer there, and the network's */
} hop_proof;

/* Is every input of these sizes answered rightly by this network, as this program computes it in float32?
 * HOP_EDOMAIN when the network cannot take the task at all (vocabulary or length too small). A bound that
 * fails is no failure of the call: the verdict says undecided, or refuted with an input on which
 * hop_forward_logits errs. */
hop_status hop_prove(hop_proof *p, const hop_model *m, const hop_task *task, const hop_prove_options *o,
                     hop_error *err);
void hop_proof_free(hop_proof *p);

#ifdef __cplusplus
}
#endif
#endif
