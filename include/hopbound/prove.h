/* hopbound/prove.h - is a network right on every input? Proofs, from the weights alone.
 *
 * The layers' own lists of operations are run on sets instead of numbers; docs/THEORY.md section 6 says
 * what is tracked and why the result holds for every input. Nothing is known of how a network was made.
 */
#ifndef HOPBOUND_PROVE_H
#define HOPBOUND_PROVE_H

#include <hopbound/base.h>
#include <hopbound/model.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

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
    /* 10 to 32: the arithmetic that the bounds count. What crosses between two players (queries, partial
     * softmaxes, states) is rounded to numbers of so many bits, as hop_cuts has it; 0: nothing crosses.
     * Function composition only. */
    int message_bits;
    /* 1 to 23: what `run` computes when activations are rounded to so many significant bits, as
     * hop_forward_options has it; 0: float32. Not together with message_bits. */
    int bits;
    hop_pool *pool;
    const hop_progress *progress;
    const struct hop__observer
        *observer; /* for tests, which look into the analysis (src/prove/analysis.h); else NULL */
} hop_prove_options;

/* The smallest margins over all inputs at one layer. What each means: docs/THEORY.md section 6. */
typedef struct hop_margin {
    int64_t layer;
    int player;         /* whose token the answering one looks at; HOP_PLAYER_NONE: nobody's */
    int64_t addresses;  /* different queries that had to be looked at */
    double score_gap;   /* right token's score minus the best wrong one's, at least */
    double wrong_mass;  /* attention on all wrong tokens together, at most */
    double clip_margin; /* how far every hidden unit stays from changing sides, at least; below 0: some may be
                           on either side, which the bounds allow for and the verdict does not look at */
    double code_error;  /* how far the register is from the exact code afterwards, at most */
} hop_margin;

typedef struct hop_proof {
    hop_verdict verdict;
    bool by_interval, by_enumeration, by_search; /* which methods reached the verdict; search only refutes */
    double log10_inputs;                         /* inputs that the verdict speaks of */
    int64_t enumerated;                          /* inputs that were run one by one */
    hop_margin *margins;                         /* one a layer, as far as the analysis came */
    int64_t margin_count;
    double readout_margin;       /* right logit minus the best wrong one, at least */
    const char *const *covers;   /* proved: what the verdict speaks of, line by line; NULL-terminated */
    const char *const *rests_on; /* proved: what it takes for granted */
    char why[400];               /* undecided or refuted: where and why; "" when proved */
    int32_t *counterexample;     /* refuted: task.length tokens */
    int64_t position;            /* where the network's answer is wrong */
    int64_t expected, got;       /* the right answer there, and the network's */
} hop_proof;

/* What the analysis with sets says, and where a bound failed: inputs that are worth trying. */
#define HOP_HINTS 16
typedef struct hop_bounds_said {
    bool proved;
    hop_hint hints[HOP_HINTS];
    int hint_count;
} hop_bounds_said;

/* Is every input of these sizes answered rightly by this network, whatever the order of its sums? By bounds alone: p gets
 * its margins and, where these do not reach, why. `generates`: tokens that the network writes before its answer is read
 * (hop_eval_generates). HOP_ENOMEM, HOP_ESTOPPED. Verdicts that also come from running it: verdict.h. */
hop_status hop_prove_bounds(hop_proof *p, hop_bounds_said *said, const hop_model *m, const hop_task *task,
                            int64_t generates, const hop_prove_options *o, hop_error *err);
void hop_proof_free(hop_proof *p);

#ifdef __cplusplus
}
#endif
#endif
