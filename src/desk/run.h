/* Inside the room: what the files of the verb `run` share. */
#ifndef HOP_DESK_RUN_H
#define HOP_DESK_RUN_H

#include <hopbound/ask_run.h>
#include <hopbound/eval.h>

#include "seats.h"

typedef struct run_args {
    hop_request ask;
    hop_size_args sizes;
    hop_seat_args seats;
    hop_opt_value count, input, predictions, precision, checkpoint, message_bits;
} run_args;

typedef struct evaluation {
    const run_args *args;
    const hop_model *model;
    hop_task task;
    bool sized; /* the task is known */
    int64_t starts[HOP_MAX_PLAYERS];
    hop_cuts cuts;    /* with --message-bits */
    int64_t generate; /* tokens; 0: it answers at once */
    hop_pool *pool;
    hop_jsonl in; /* its file is NULL when instances are sampled */
    bool ended;
    hop_eval *eval; /* from the first batch on */
    hop_instance slots[HOP_EVAL_BATCH];
    int64_t lines[HOP_EVAL_BATCH]; /* of the file, where the slots are from */
    int64_t filled;
    int64_t instances, with_answer, correct, tokens;
    int64_t targets, targets_correct;
    bool keep; /* predictions are wanted */
    hop_lines predictions;
    hop_json_writer line;
} evaluation;

/* The next instances, as many as fit a batch, go to the slots; `ended` when there are no more. */
hop_status hop__run_fill(evaluation *e, hop_error *err);
/* In input order: counts, writes predictions, and finds the first instance that the network did not take. */
hop_status hop__run_score(evaluation *e, hop_error *err);

#endif
