/* hopbound/eval.h - what a network answers: instances, from a task's sampler or from files, run in batches.
 *
 *     hop_eval *e;
 *     int64_t correct;
 *     hop_eval_open(&e, model, &(hop_eval_options){.pool = pool}, &err);
 *     hop_eval_sampled(e, &task, 1000, seed, &correct, &err);    // or hop_eval_run, over one's own instances
 *     hop_eval_close(e);
 *
 * `run`, the ladder and the prover ask through this room and no other way, so what is proved is what is run.
 */
#ifndef HOPBOUND_EVAL_H
#define HOPBOUND_EVAL_H

#include <stdio.h>

#include <hopbound/base.h>
#include <hopbound/config.h>
#include <hopbound/json.h>
#include <hopbound/model.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how a network is asked ------------------------------------------------------------------ */

#define HOP_MAX_GENERATED ((int64_t)1 << 20)

/* The tokens that a network generates before its answer, which is the last of them: "generate" in its
 * "construction", 1 to HOP_MAX_GENERATED. 0: there is no such member, the network answers at once. Nothing
 * else in a file decides how a network is asked. HOP_EFORMAT for any other value of it, and for a
 * construction that is no object. */
hop_status hop_generated_tokens(const hop_config *c, int64_t *count, hop_error *err);

/* ---- instances ------------------------------------------------------------------------------- */

#define HOP_NOT_ASKED INT32_MIN

/* A prompt, the answers to it where they are known, and what a network said. Begins as {0}; the lists are the
 * instance's own and are kept from one use to the next. */
typedef struct hop_instance {
    int64_t count;             /* tokens */
    int32_t *tokens, *targets; /* [count]; targets: the answer wanted at a token, -1: none is */
    int64_t asked;             /* targets that are not -1; 0: the answers are not known */
    /* from hop_eval_run: */
    int32_t *answers;  /* [count]; HOP_NOT_ASKED where it was not read, -1 where a logit is NaN */
    int32_t *chain;    /* what the network generated, -1 from a NaN on; NULL when it answers at once */
    int64_t right;     /* answers that are the wanted ones */
    hop_status status; /* HOP_OK, or why the network did not take it; HOP_ESTOPPED: it was not run */
    hop_error err;
    int64_t capacity, chain_capacity; /* private */
} hop_instance;

/* Room for `count` tokens; drops what was there. HOP_ENOMEM. */
hop_status hop_instance_reserve(hop_instance *i, int64_t count, hop_error *err);
void hop_instance_free(hop_instance *i);
/* `count` of them, with room for `tokens` tokens each; on failure *list is NULL. HOP_ENOMEM. */
hop_status hop_instances_new(hop_instance **list, int64_t count, int64_t tokens, hop_error *err);
void hop_instances_free(hop_instance *list, int64_t count); /* NULL is fine */
/* Instance `number` of a seed: it depends on these and on the task only. HOP_ENOMEM. */
hop_status hop_instance_sample(hop_instance *i, const hop_task *t, uint64_t seed, uint64_t number,
                               hop_error *err);
/* Puts the answers of the solver there, if the tokens are an input of the task. */
void hop_instance_solve(hop_instance *i, const hop_task *t);
bool hop_instance_ends_in_answer(const hop_instance *i); /* one answer, at the last token */
/* It was run, its answers are known, and the network gave all of them. */
bool hop_instance_correct(const hop_instance *i);

/* "tokens", and "answer" (to be said at the last token) or "targets" (a list, null where nothing is asked).
 * HOP_EFORMAT, HOP_ENOMEM. */
hop_status hop_instance_read(hop_instance *i, const hop_json *line, hop_error *err);
/* The object that is read so, with the task's sizes beside it. */
void hop_instance_write(const hop_instance *i, const hop_task *t, hop_json_writer *w);
void hop_instance_write_members(const hop_instance *i, const hop_task *t,
                                hop_json_writer *w); /* into an object that is open */
/* A list of numbers, null for those below 0. */
void hop_answers_write(hop_json_writer *w, const char *key, const int32_t *list, int64_t count);

/* ---- files of instances ---------------------------------------------------------------------- */

/* JSON objects, one a line; "-" is standard input. Blank lines are skipped. */
typedef struct hop_jsonl {
    FILE *file;
    const char *name; /* the caller's, or "standard input" */
    char *line;
    size_t capacity;
    int64_t number; /* of the line read last, from 1 */
} hop_jsonl;

/* HOP_EIO: no such file, a directory, a device, or a pipe that nobody writes to for two seconds. */
hop_status hop_jsonl_open(hop_jsonl *j, const char *path, hop_error *err);
/* The next object; doc->root is NULL at the end. Errors name file and line. */
hop_status hop_jsonl_next(hop_jsonl *j, hop_json_doc *doc, hop_error *err);
/* Puts "FILE:LINE: " before the reason. */
hop_status hop_jsonl_fail(const hop_jsonl *j, hop_status s, hop_error *err);
void hop_jsonl_close(hop_jsonl *j);

/* ---- running --------------------------------------------------------------------------------- */

#define HOP_EVAL_BATCH 256 /* instances that keep the threads busy; fewer when they are long */

typedef struct hop_eval_options {
    hop_pool *pool;               /* NULL: this thread */
    int bits;                     /* significant bits, as hop_forward_options has them; 0: float32 */
    const hop_progress *progress; /* counts instances, deep networks show layers; asked in between, too */
    bool everywhere;  /* instances without known answers are read at every token, not only at the last */
    bool until_wrong; /* instances of a batch behind one that is answered wrongly need not be run */
    /* Where a deep network's pass is kept when it is stopped; instances then go one after another, and that
     * of number i > 0 is kept in checkpoint.i. NULL: nowhere. */
    const char *checkpoint;
    /* The arithmetic of a cut sequence; instances then must have cut_tokens tokens. NULL: the ordinary one.
     */
    const hop_cuts *cuts;
    int64_t cut_tokens;
} hop_eval_options;

typedef struct hop_eval hop_eval; /* one thread at a time, which lends it the pool */

/* The model, and what the options point to, must outlive `e`. HOP_EFORMAT: hop_generated_tokens; HOP_EDOMAIN:
 * a network that generates, and looks both ways, is seeded, or is wanted with bits, checkpoint or cuts. */
hop_status hop_eval_open(hop_eval **e, const hop_model *m, const hop_eval_options *o, hop_error *err);
void hop_eval_close(hop_eval *e);
int64_t hop_eval_generates(const hop_eval *e); /* tokens; 0: it answers at once */
/* The instance's answers stand at several tokens, not only at the last. */
bool hop_eval_reads_several(const hop_eval *e, const hop_instance *i);
const char *hop_eval_kept(const hop_eval *e); /* the checkpoint of the instance at hand; "" without */
/* What the progress says from now on, counted from 0; total 0: not known. Before it: "instances". */
void hop_eval_start(hop_eval *e, const char *label, double total);

/* A batch: spread over the threads, an instance each; few or long ones one after another with all threads
 * inside. Answers do not depend on that, nor on the number of threads. The whole prompt goes through the
 * network at once; a network that generates takes it token by token and goes on with the likeliest.
 * HOP_OK when all were tried (look at each one's status); HOP_ESTOPPED, HOP_ENOMEM. */
hop_status hop_eval_run(hop_eval *e, hop_instance *batch, int64_t count, hop_error *err);
/* Instances 0 .. count-1 of a seed: how many are answered rightly. One that the network does not take is a
 * failure. */
hop_status hop_eval_sampled(hop_eval *e, const hop_task *task, int64_t count, uint64_t seed, int64_t *correct,
                            hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
