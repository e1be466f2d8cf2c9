/* hopbound/refute.h - where does a network fail? A search for inputs that it answers wrongly and for prompts
 * that it cannot tell apart, ended by the clock; and the witness that another program can check.
 *
 *     hop_refutation r;
 *     hop_refute(&r, model, &task, &(hop_refute_options){.budget = 10, .pool = pool}, &err);
 *     if (r.verdict == HOP_REFUTE_FOUND)
 *         hop_witness_save(&r.witness, "net", &task, "witness.json", &err);     // docs/FORMATS.md says what
 * is in it hop_refutation_free(&r);
 *
 * Networks are asked through eval.h, as `run` asks them. What is found depends on network, task, options and
 * seed; the clock decides only when the search ends.
 */
#ifndef HOPBOUND_REFUTE_H
#define HOPBOUND_REFUTE_H

#include <hopbound/base.h>
#include <hopbound/eval.h>
#include <hopbound/json.h>
#include <hopbound/model.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- an input that is answered wrongly --------------------------------------------------------- */

/* tokens NULL: none was found. The caller frees tokens with hop_free. */
typedef struct hop_wrong {
    int32_t *tokens;
    int64_t number;                  /* of the input, in the order of the enumeration or of the search */
    int64_t position, expected, got; /* of the first wrong answer; got -1: a NaN, or nothing was said there */
} hop_wrong;

/* The first of a batch that was run and is wrong; `first` is the number of its first one. HOP_ENOMEM, or why
 * the network did not take an input. */
hop_status hop_wrong_find(hop_wrong *found, const hop_instance *batch, int64_t count, int64_t first,
                          hop_error *err);

/* Every input, until one is wrong; `count` of them were run. */
hop_status hop_enumerate(hop_wrong *found, int64_t *count, hop_eval *eval, const hop_task *task,
                         hop_error *err);
/* What that costs, in multiplications; counted and not measured, so that it is the same on every machine.
 * About 2e9 are a second of one core. Infinite when there are more than 2^62 inputs. */
double hop_enumerate_work(const hop_model *m, const hop_task *task, int64_t generates);

/* Inputs that lead to the hints, and random ones; a fixed number of them for given sizes and seed. */
hop_status hop_search(hop_wrong *found, hop_eval *eval, const hop_task *task, uint64_t seed,
                      const hop_hint *hints, int hint_count, hop_error *err);

/* ---- witnesses ---------------------------------------------------------------------------------- */

/* How the network computes; at most one is not 0. docs/FORMATS.md, "Witnesses", says what each rounds. */
typedef struct hop_arithmetic {
    int significant_bits; /* 1 to 23 */
    int state_bits;       /* 8, 10 to 32 */
    int message_bits;     /* 10 to 32; between the players of function composition */
} hop_arithmetic;

typedef enum hop_witness_kind { HOP_WITNESS_INPUT, HOP_WITNESS_PAIR, HOP_WITNESS_COLLISION } hop_witness_kind;
const char *hop_witness_kind_name(hop_witness_kind k);

typedef struct hop_witness_prompt {
    int32_t *tokens; /* the task's length */
    int64_t position, right, answer;
} hop_witness_prompt;

/* How far the two prompts are apart behind a layer: Euclidean norms. */
typedef struct hop_witness_layer {
    int64_t layer;
    const char *mixer;                /* the registry's */
    double own;                       /* at the first token in which they differ; the file does not have it */
    double stream, state, last_token; /* state: NaN where there is none */
} hop_witness_layer;

#define HOP_TRACE_LAYERS 128 /* of a deeper network, the first and the last half of so many */

typedef struct hop_witness {
    hop_witness_kind kind;
    hop_arithmetic arithmetic;
    hop_witness_prompt prompt[2];
    int prompts; /* 1 or 2 */
    int64_t length;
    int64_t prefix; /* the two are the same behind so many tokens */
    const char *by; /* the strategy that found it */
    uint64_t seed;
    int64_t tried;
    hop_witness_layer *trace; /* NULL when there is one prompt */
    int64_t trace_count;
} hop_witness;

int64_t hop_witness_differences(const hop_witness *w); /* tokens in which the two prompts differ */
/* The witness's two prompts through a network, its own or another one for the task, under the witness's
 * arithmetic: a list that the caller frees with hop_free. HOP_EDOMAIN, HOP_ERANGE: the network does not take
 * them; HOP_ENOMEM. */
hop_status hop_witness_trace(hop_witness_layer **out, int64_t *count, const hop_witness *w,
                             const hop_model *m, const hop_task *task, hop_pool *pool, hop_error *err);
/* XXH64 of the files in a network's directory, 16 hexadecimal digits each. HOP_EIO, HOP_EFORMAT. */
hop_status hop_network_hashes(const char *dir, char config[17], char weights[17], hop_error *err);
void hop_witness_write(const hop_witness *w, const hop_task *task, const char config[17],
                       const char weights[17], hop_json_writer *out);
void hop_witness_trace_write(const hop_witness *w, hop_json_writer *out); /* the list alone */
/* Atomically; the hashes are those of the network in `dir`. */
hop_status hop_witness_save(const hop_witness *w, const char *dir, const hop_task *task, const char *path,
                            hop_error *err);

/* ---- the search --------------------------------------------------------------------------------- */

typedef enum hop_refute_verdict {
    HOP_REFUTE_FOUND, /* there is a witness */
    HOP_REFUTE_NONE,  /* every input was run, and is right */
    HOP_REFUTE_OPEN   /* nothing was found within the budget */
} hop_refute_verdict;
const char *hop_refute_verdict_name(hop_refute_verdict v); /* "witnessed", "right on every input", "open" */

const char *hop_refute_strategy(int index); /* its name, in the order of a turn; NULL past the end */

typedef struct hop_refute_options {
    double budget; /* seconds */
    uint64_t seed;
    hop_arithmetic arithmetic;
    const char *only; /* a strategy's name; NULL: all that apply */
    hop_pool *pool;
    const hop_progress *progress;
} hop_refute_options;

#define HOP_REFUTE_STRATEGIES 8

typedef struct hop_refutation {
    hop_refute_verdict verdict;
    hop_witness witness;
    int64_t tried; /* inputs, or tables, in all */
    struct hop_refute_tried {
        const char *strategy;
        int64_t tried;
        double seconds;
    } by[HOP_REFUTE_STRATEGIES]; /* strategies that apply, in order */
    int strategies;
    bool interrupted; /* the progress asked to stop; a witness found before is there */
} hop_refutation;

/* HOP_EDOMAIN: the network cannot take the task at all, or not under this arithmetic, or the one strategy
 * that was asked for does not apply. HOP_ERANGE: bits. */
hop_status hop_refute(hop_refutation *r, const hop_model *m, const hop_task *task,
                      const hop_refute_options *o, hop_error *err);
void hop_refutation_free(hop_refutation *r);

/* ---- damage -------------------------------------------------------------------------------------- */

typedef struct hop_change {
    const char *tensor; /* the layout's */
    int64_t index;      /* in the tensor, row by row */
    float from, to;
} hop_change;

/* Changes `count` different weights of `layer` (-1: of the whole network): a tensor and then one of its
 * weights, each equally likely. A weight changes its sign; a zero becomes the largest magnitude of its
 * tensor, or 1. HOP_ERANGE: no such layer, or it has fewer weights. On failure the network is as it was. */
hop_status hop_damage(hop_model *m, int64_t layer, uint64_t seed, hop_change *out, int64_t count,
                      hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
