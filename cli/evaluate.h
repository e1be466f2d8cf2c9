/* Running a network on instances, many at a time. */
#ifndef HOPBOUND_CLI_EVALUATE_H
#define HOPBOUND_CLI_EVALUATE_H

#include "cli.h"

/* What one instance at a time is run with. */
typedef struct lane {
    hop_forward *forward; /* made when first needed, made anew for longer instances */
    hop_decoder *decoder; /* instead of it, for networks that generate */
    int64_t tokens;       /* they take that many */
    float *logits;
    size_t room; /* floats of logits */
} lane;

/* Predictions for batches of instances. A batch is spread over the threads, an instance each; few or long
 * instances go one after another with all threads inside. The kernels sum in the same order either way, so
 * predictions do not depend on the number of threads. Fill the first group, zero the rest. */
typedef struct predictor {
    const hop_model *model;
    hop_pool *pool;
    int bits; /* 0: float32 */
    const hop_progress *progress;
    const char *label;
    double total;     /* of instances, for the progress; 0: not known */
    bool everywhere;  /* instances without known answers are read at every token, not only at the last */
    int64_t generate; /* tokens that the network generates; the last is the answer. 0: it answers at once */
    /* Where a deep network's pass is kept when it is stopped; instances then go one after another, and that
     * of number i > 0 is kept in checkpoint.i. NULL: nowhere. */
    const char *checkpoint;
    /* The arithmetic of a cut sequence; instances then must have cut_tokens tokens. NULL: the ordinary one.
     */
    const hop_cuts *cuts;
    int64_t cut_tokens;

    lane inside, *workers;
    char path[4096]; /* of the checkpoint at hand */
    struct prediction *batch;
    _Atomic int64_t done;
    _Atomic bool stopped;
} predictor;

#define NOT_READ INT32_MIN

/* An instance with what the network says of it. */
typedef struct prediction {
    instance one;
    int64_t line; /* of the file it came from */
    int32_t
        *answers; /* the network's, at each token; NOT_READ where it was not asked, -1 where a logit is NaN */
    int64_t capacity;  /* of answers */
    int32_t *chain;    /* what it generated; NULL when it does not */
    int64_t right;     /* answers that are the wanted ones */
    hop_status status; /* HOP_OK, or why the network did not take it */
    hop_error err;
} prediction;

#define PREDICTION_BATCH 256

void prediction_free(prediction *x);
/* The answers are known, and the network gives all of them. */
bool prediction_correct(const prediction *x);
/* It is read at more tokens than the last. */
bool prediction_has_several(const predictor *p, const prediction *x);

/* How many tokens the network was made to generate; 0: it answers at once. HOP_EFORMAT. */
hop_status generated_tokens(const hop_model *m, int64_t *count, hop_error *err);

/* HOP_OK when all were tried (look at each one's status); HOP_ESTOPPED, HOP_ENOMEM. */
hop_status predictor_run(predictor *p, prediction *batch, int64_t count, hop_error *err);
void predictor_close(predictor *p);

/* Instances 0 .. count-1 of a seed: how many are answered rightly. */
hop_status predictor_sampled(predictor *p, const hop_task *task, int64_t count, uint64_t seed,
                             int64_t *correct, hop_error *err);

#endif
