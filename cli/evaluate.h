/* Running a network on instances, many at a time. */
#ifndef HOPBOUND_CLI_EVALUATE_H
#define HOPBOUND_CLI_EVALUATE_H

#include "cli.h"

/* Predictions for batches of instances. A batch is spread over the threads, an instance each; few or long
 * instances go one after another with all threads inside. The kernels sum in the same order either way, so
 * predictions do not depend on the number of threads. Fill the first group, zero the rest. */
typedef struct predictor {
    const hop_model *model;
    hop_pool *pool;
    int bits; /* 0: float32 */
    const hop_progress *progress;
    const char *label;
    double total; /* of instances, for the progress; 0: not known */

    hop_forward *inside, **workers; /* made when first needed */
    float *logits;                  /* [threads, vocab] */
    struct prediction *batch;
    _Atomic int64_t done;
    _Atomic bool stopped;
} predictor;

/* An instance with what the network says of it. */
typedef struct prediction {
    instance one;
    int64_t line;      /* of the file it came from */
    int64_t answer;    /* the network's */
    hop_status status; /* HOP_OK, or why the network did not take it */
    hop_error err;
} prediction;

#define PREDICTION_BATCH 256

/* HOP_OK when all were tried (look at each one's status); HOP_ESTOPPED, HOP_ENOMEM. */
hop_status predictor_run(predictor *p, prediction *batch, int64_t count, hop_error *err);
void predictor_close(predictor *p);

/* Instances 0 .. count-1 of a seed: how many are answered rightly. */
hop_status predictor_sampled(predictor *p, const hop_funccomp *task, int64_t count, uint64_t seed,
                             int64_t *correct, hop_error *err);

#endif
