/* hopbound/report.h - pages for people: self-contained HTML with drawings; a small script of its own moves
 * what is on the page, which is complete without it, and nothing is loaded from anywhere. Numbers come in as
 * plain structs; this room computes nothing. */
#ifndef HOPBOUND_REPORT_H
#define HOPBOUND_REPORT_H

#include <hopbound/base.h>
#include <hopbound/form.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- rungs --------------------------------------------------------------------------------- */

/* Of a network that was built: proved, refuted, undecided. Of a plan of which only theorems speak: possible, impossible,
 * from_n (impossible on longer prompts), silent. */
typedef enum hop_ladder_verdict {
    HOP_LADDER_PROVED,
    HOP_LADDER_REFUTED,
    HOP_LADDER_UNDECIDED,
    HOP_LADDER_POSSIBLE,
    HOP_LADDER_IMPOSSIBLE,
    HOP_LADDER_FROM_N,
    HOP_LADDER_SILENT,
} hop_ladder_verdict;
extern const char *const hop_ladder_verdict_words[];

/* One network's row of a rung: one that was built, or a plan of which only theorems speak. */
#define HOP_LADDER_ROW(X, R)                                                                                 \
    X(R, hops, count, "hops", "hops", "of the row's task")                                                   \
    X(R, sizes, text, "", "sizes", "of its tables")                                                          \
    X(R, n, count, "tokens", "n", "of a prompt")                                                             \
    X(R, kind, text, "", "network",                                                                          \
      "\"full\", \"hybrid, gdn\", \"cot\", ..; what a plan is that was not built")                           \
    X(R, built, flag, "", "", "is there a network? else theorems speak of the plan")                         \
    X(R, mixer, text, "", "", "of a hybrid's linear layer; null: it is none")                                \
    X(R, pattern, text, "", "plan", "the layers in order")                                                   \
    X(R, layers, count, "", "layers", "null: more than can be counted")                                      \
    X(R, full_layers, count, "", "full", "full ones among them")                                             \
    X(R, head_dim, count, "numbers", "", "in a head")                                                        \
    X(R, state_bits, real, "bits", "state bits",                                                             \
      "of all recurrent layers together, `message_bits` a number, or 32 where that is 0; null as `layers`")  \
    X(R, state_limit, real, "bits", "",                                                                      \
      "of a rung's full network: of the states that the rows below count with")                              \
    X(R, message_bits, count, "bits", "",                                                                    \
      "of a number that crosses between players: proved with, or counted with by the theorem; 0: proved in " \
      "float32 alone")                                                                                       \
    X(R, verdict, word(hop_ladder_verdict), "", "verdict",                                                   \
      "of the network; not built: at these sizes; from_n: impossible on longer prompts")                     \
    X(R, why, text, "", "why", "when not proved; not built: what is known")                                  \
    X(R, theorem, text, "", "by", "not built: that says so; else \"\"")                                      \
    X(R, machine_checked, maybe, "", "", "by a theorem that Coq has checked, else on paper; null: by none")  \
    X(R, speaks_from_n, text, "tokens", "from n", "impossible at this width from here on; \"\": not known")  \
    X(R, log10_n, real, "", "", "its logarithm")                                                             \
    X(R, below_impossible_from_n, text, "tokens", "",                                                        \
      "of a hybrid with a larger state than the rows below count with: where these begin with its state; "   \
      "null: not looked for, or not found")                                                                  \
    X(R, below_theorem, text, "", "", "and by which theorem")                                                \
    X(R, witness, text, "", "", "of a plan below the line: a witness against a network of that plan")        \
    X(R, shown, text, "", "", "what it shows")                                                               \
    X(R, d_model, count, "numbers", "",                                                                      \
      "in the residual stream; null where nothing was built, as all below")                                  \
    X(R, parameters, count, "", "parameters", "numbers in the file")                                         \
    X(R, log10_inputs, real, "", "", "logarithm of the inputs that the verdict speaks of")                   \
    X(R, enumerated, count, "", "", "inputs that the proof ran")                                             \
    X(R, score_gap, real, "", "", "the smallest over layers")                                                \
    X(R, wrong_mass, real, "", "", "the largest over layers")                                                \
    X(R, clip_margin, real, "", "", "the smallest over layers")                                              \
    X(R, readout_margin, real, "", "", "the smallest over inputs")                                           \
    X(R, instances, count, "", "", "inputs that were run")                                                   \
    X(R, correct, count, "", "right", "right ones among them, in float32")                                   \
    X(R, cut_bits, count, "bits", "", "of activations in a second run; null: there was none")                \
    X(R, cut_correct, count, "", "", "right ones in that run")                                               \
    X(R, looked, count, "", "", "inputs in which the refuter looked for a wrong answer, and found none")     \
    X(R, seconds, real, "seconds", "", "that it took")
HOP_RECORD(hop_ladder_row, HOP_LADDER_ROW)

/* A line of the report's margins table. */
typedef struct hop_ladder_margin {
    int hops;
    int64_t layer, addresses;
    int player;
    double score_gap, wrong_mass, clip_margin;
} hop_ladder_margin;

/* ---- where networks of the lower rows fail ------------------------------------------------- */

#define HOP_FAILURE_LAYERS 16

/* Two prompts that such a network confuses, and how far they are apart behind each layer. */
typedef struct hop_failure_layer {
    char mixer[24];
    double own;                       /* at the token in which they differ */
    double stream, state, last_token; /* stream: at any behind; state: NaN where there is none */
} hop_failure_layer;

typedef struct hop_failure_trace {
    int hops;
    char pattern[64], file[256];
    char place[32]; /* where the prompts differ: "z_2(17)" */
    int64_t value[2], right[2], answer[2];
    hop_failure_layer layers[HOP_FAILURE_LAYERS];
    int layer_count;
    char above[64]; /* the network that works, of which this one is a part, and the same prompts in it */
    hop_failure_layer above_layers[HOP_FAILURE_LAYERS];
    int above_count;
} hop_failure_trace;

/* ---- one instance, played -------------------------------------------------------------------- */

/* Step l is the look-up of i_l: in z_0, or in z_l at the address (digit, before). */
typedef struct hop_demonstration_step {
    int64_t position; /* of the token that is asked */
    int64_t digit;    /* w_{l-1}; -1: the address has none, l < 2 */
    int64_t before;   /* i_{l-1}; -1: l = 0 */
    int64_t found;    /* i_l */
} hop_demonstration_step;

typedef struct hop_demonstration {
    int hops;
    int64_t m, fan;         /* every n_l is `fan` */
    const int32_t *tokens;  /* [length], the prompt */
    const int *players;     /* [length]: whose token it is; -1: w */
    const int64_t *indices; /* [length]: its place in the player's table */
    int64_t length;
    const hop_demonstration_step *steps; /* [hops + 1] */
    char upper[32], lower[32]; /* patterns: the network that was built, and the one that cannot be */
    char theorem[8];           /* who says so, at the rung's sizes; "": nobody at this run's */
    int64_t lower_tokens;      /* and at which length */
    double log10_inputs;
    hop_ladder_verdict verdict; /* of the network that was built */
    bool right;                 /* what it answered here */
    char dir[64];               /* where it is, beside the page */
} hop_demonstration;

/* ---- the map ------------------------------------------------------------------------------- */

#define HOP_MAP_STOPS 8 /* of a slider, at most */

/* What is known of `full` full layers with linear ones in every gap: log10 of lengths. */
typedef struct hop_map_row {
    double possible_to;     /* proved possible up to here; NaN: not known to be */
    double impossible_from; /* proved impossible from here on; infinity: at no length */
    char from[32];          /* the same length as it is written */
    char to[32];            /* and the one up to which it is possible */
    char theorem[8];        /* who says impossible */
    bool machine_checked;   /* by a certificate */
} hop_map_row;

#define HOP_MAP_HOPS 3 /* 1, 2, 3 hops */

/* A model as its config.json describes it, judged at its own widths. */
#define HOP_LADDER_KNOWN(X, R)                                                                           \
    X(R, hops, count, "hops", "", "so many")                                                             \
    X(R, verdict, word(hop_ladder_verdict), "", "",                                                      \
      "at the model's context; where its file gives none, from_n")                                       \
    X(R, theorem, text, "", "", "that says so; \"\": none")                                              \
    X(R, machine_checked, maybe, "", "", "impossible, by a theorem that Coq has checked, else on paper") \
    X(R, speaks_from_n, text, "tokens", "", "impossible from here on; \"\": not known, or possible")     \
    X(R, log10_n, real, "", "", "its logarithm")
HOP_RECORD(hop_ladder_known, HOP_LADDER_KNOWN)

#define HOP_LADDER_MODEL(X, R)                                                          \
    X(R, name, text, "", "model", "as its makers write it")                             \
    X(R, plan, text, "", "plan", "a letter a layer, groups that repeat in parentheses") \
    X(R, layers, count, "", "layers", "that one forward pass goes through")             \
    X(R, full_layers, count, "", "full", "that the theorems see as full attention")     \
    X(R, linear_layers, count, "", "", "as linear")                                     \
    X(R, state_bits, real, "bits", "", "of all its recurrent layers and windows")       \
    X(R, context, count, "tokens", "context", "null: the file gives none")              \
    X(R, hops, many(hop_ladder_known), "", "", "what is known of 1, 2, 3 hops")
HOP_RECORD(hop_ladder_model, HOP_LADDER_MODEL)

/* rows: [hops - 1][linear][dims][bits][full layers 0 .. HOP_MAP_HOPS + 1]; those above hops + 1 are unused.
 */
typedef struct hop_map {
    int64_t linear[HOP_MAP_STOPS], dims[HOP_MAP_STOPS], bits[HOP_MAP_STOPS];
    int linear_count, dim_count, bit_count;
    const hop_map_row *rows;
    int64_t row_count;
    const hop_ladder_model *models;
    int64_t model_count;
    int hops, linear_at, dim_at, bit_at; /* what is shown first: hops, and which stops */
} hop_map;

/* ---- tiny sizes, decided ------------------------------------------------------------------- */

typedef struct hop_stair {
    int message, after;         /* bits */
    hop_ladder_verdict verdict; /* impossible, possible, undecided */
    char theorems[16];          /* that say impossible: "P2 P4"; "": none */
    char proof[96];             /* its DRAT file, beside the page; "": none */
} hop_stair;

/* All message bits 0 .. most_message for all state bits 0 .. most_after, in that order. */
typedef struct hop_thresholds {
    int hops;
    int64_t m, fan;
    int most_message, most_after;
    const hop_stair *cells;
    int64_t cell_count;
} hop_thresholds;

/* ---- what was learnt ------------------------------------------------------------------------ */

#define HOP_LEARNT_SEEDS 16

/* Which side of the line a plan is on, by its layers alone. */
typedef enum hop_learnt_side {
    HOP_LEARNT_OPEN,  /* there is none: another task than function composition */
    HOP_LEARNT_ABOVE, /* as many full layers as hops, and one more or a linear one that P1 has a use for */
    HOP_LEARNT_BELOW, /* fewer */
} hop_learnt_side;

/* A plan at one size of the task, trained from several seeds. */
typedef struct hop_learnt {
    int curve;                              /* rows of one number are the same plan, at several sizes */
    int hops, seeds;                        /* hops 0: the task has none */
    char task[24];                          /* its name; "": function composition */
    char pattern[64], mixer[24], sizes[96]; /* mixer: what L stands for; "" */
    char more[64];                          /* what else tells it from plans with the same layers; "" */
    hop_learnt_side side;
    int64_t tokens, entries; /* of a prompt; of the largest table, 0: there are no tables */
    int64_t d_model, steps;  /* steps: at most */
    double accuracy[HOP_LEARNT_SEEDS], mean, least, most; /* accuracy: of the first seeds */
    double chance, ceiling;                               /* ceiling: P3's; NaN: there is none */
    double seconds;                                       /* of all seeds together */
    bool above;                                           /* some seed is above the ceiling: a bug */
} hop_learnt;

/* The drawing (an <svg> element): a chart for every task and number of hops, a curve a plan, the table grows
 * to the right. `note`: a sentence of the caller's below it; "". HOP_ENOMEM or HOP_OK. */
hop_status hop_report_learnt_svg(hop_text *out, const hop_learnt *rows, int64_t count, const char *note);

/* ---- the page ------------------------------------------------------------------------------ */

typedef struct hop_ladder_page {
    const hop_ladder_row *rungs;
    int64_t rung_count;
    const hop_ladder_margin *layers;
    int64_t layer_count;
    const hop_ladder_row *others; /* other networks on the same rungs, and plans that were not built */
    int64_t other_count;
    const hop_failure_trace *failures;
    int64_t failure_count;
    const hop_demonstration *demonstration; /* NULL: no such section; so for the next two */
    const hop_map *map;
    const hop_learnt *learnt;
    int64_t learnt_count;
    const hop_thresholds *thresholds;
    int64_t thresholds_count;
    const char *solver;        /* that decided the thresholds */
    const char *no_thresholds; /* why there are none; NULL: they were not asked for */
    const char *version, *isa;
    const char *command; /* what made it */
    const char *model,
        *idealised; /* clauses: the networks that "any weights" is about, and what is left aside
                                      where weights are said to be known */
} hop_ladder_page;

/* The drawing alone (an <svg> element), and the page. HOP_ENOMEM or HOP_OK. */
hop_status hop_report_ladder_svg(hop_text *out, const hop_ladder_page *page);
hop_status hop_report_ladder(hop_text *out, const hop_ladder_page *page);

/* ---- models side by side --------------------------------------------------------------------- */

/* One model at a common length. Lengths that may be long are texts. */
#define HOP_MODEL_ROW(X, R)                                                                                 \
    X(R, model, text, "", "model", "the file's name, or its directory's")                                   \
    X(R, path, text, "", "", "of the file")                                                                 \
    X(R, model_type, text, "", "", "as the file has it")                                                    \
    X(R, plan, text, "", "plan", "a letter a layer, groups that repeat in parentheses")                     \
    X(R, layers, count, "", "layers", "that one forward pass goes through")                                 \
    X(R, full_layers, count, "", "full", "that the theorems see as full attention at that length")          \
    X(R, linear_layers, count, "", "", "as linear")                                                         \
    X(R, context, count, "tokens", "", "the longest sequence; null: the file does not say")                 \
    X(R, n, count, "tokens", "", "the length at which bytes and hops are counted, the same of every model") \
    X(R, kv_bytes, count, "bytes", "KV", "that attention keeps; null: not known")                           \
    X(R, state_bytes, count, "bytes", "states", "of all states")                                            \
    X(R, hops_possible, count, "hops", "hops possible", "at that length; null: no theorem says how many")   \
    X(R, hops_that_fit, count, "hops", "", "the most that can be posed at that length")                     \
    X(R, hops_not_counted, text, "", "",                                                                    \
      "why none does: layers share their weights, or pick or compress tokens and no others make a hop")     \
    X(R, hops_possible_at_own_sizes, count, "hops", "",                                                     \
      "a network of this program: the hops of its own task, where they are possible at that task's sizes")  \
    X(R, impossible_at_n, maybe, "", "impossible already at n",                                             \
      "are the hops of the next column impossible at `n`, or on longer prompts only? null: no theorem "     \
      "speaks")                                                                                             \
    X(R, hops_impossible, count, "hops", "hops impossible",                                                 \
      "so many are, for any weights, from the next length on")                                              \
    X(R, impossible_from_n, text, "tokens", "impossible from", "the length")                                \
    X(R, impossible_log10_n, real, "", "", "its logarithm")                                                 \
    X(R, impossible_by, text, "", "by", "the theorem that says so")                                         \
    X(R, machine_checked, maybe, "", "", "by a theorem that Coq has checked, else on paper")                \
    X(R, tables_held_up_to, count, "tokens", "states hold tables up to",                                    \
      "this n the states are known to hold the table of a hop (P10)")                                       \
    X(R, tables_outgrow_states_at, text, "tokens", "tables outgrow states at",                              \
      "from this n on no table of the prompt's length fits all states (P2)")                                \
    X(R, tables_outgrow_log10_n, real, "", "", "its logarithm")                                             \
    X(R, vocabulary, count, "", "", "ids that a token may have")                                            \
    X(R, impossible_beyond_vocabulary, maybe, "", "",                                                       \
      "do the sizes from that n on take more ids, so that no such prompt can be put to it?")                \
    X(R, tables_outgrow_beyond_vocabulary, maybe, "", "", "the same of tables that outgrow the states")
HOP_RECORD(hop_model_row, HOP_MODEL_ROW)

#define HOP_MODEL_REFUSED(X, R)                       \
    X(R, path, text, "", "", "a file of a directory") \
    X(R, why, text, "", "", "why it is no model")
HOP_RECORD(hop_model_refused, HOP_MODEL_REFUSED)

#define HOP_MODELS_ANSWER(X, R)                                                                   \
    X(R, n, count, "tokens", "", "the length at which bytes and hops are counted")                \
    X(R, models, many(hop_model_row), "", "", "as they were named; those of a directory by name") \
    X(R, refused, many(hop_model_refused), "", "", "files that were not read")                    \
    X(R, remark, text, "", "", "what an audit of one model would say beyond the table")           \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")        \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds")
HOP_RECORD(hop_models_answer, HOP_MODELS_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
