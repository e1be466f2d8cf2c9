/* Every input, as `run` runs it: whole, or by generating. Step and forward sum in different orders, and a
 * network can be made for which that matters. */
#include <hopbound/refute.h>

#include <math.h>
#include <string.h>

#define BATCH_TOKENS ((int64_t)1 << 16)

/* The inputs in the order of their tokens as a mixed-radix number, the last token the fastest. */
typedef struct enumeration {
    const hop_task *task;
    int32_t *tokens; /* of the next input */
    bool ended;
} enumeration;

static void advance(enumeration *e)
{
    for (int64_t p = e->task->length - 1; p >= 0; p--) {
        if (++e->tokens[p] < hop_task_values(e->task, p)) return;
        e->tokens[p] = 0;
    }
    e->ended = true;
}

/* Some mixed-radix numbers are no inputs of the task (recall's keys must differ). Returns how many are
 * there. */
static int64_t fill(enumeration *e, hop_instance *batch, int64_t most)
{
    const hop_task *t = e->task;
    int64_t filled = 0;
    for (; filled < most && !e->ended; advance(e)) {
        hop_instance *x = &batch[filled];
        if (hop_task_check(t, e->tokens, t->length, NULL) != HOP_OK) continue;
        memcpy(x->tokens, e->tokens, sizeof *e->tokens * (size_t)t->length);
        x->asked = hop_task_solve(t, x->tokens, x->targets);
        filled++;
    }
    return filled;
}

static hop_status run_all(enumeration *e, hop_wrong *found, int64_t *count, hop_eval *eval,
                          hop_instance *batch, int64_t most, hop_error *err)
{
    hop_status s = HOP_OK;
    while (s == HOP_OK && !found->tokens && !e->ended) {
        int64_t filled = fill(e, batch, most);
        s = hop_eval_run(eval, batch, filled, err);
        if (s == HOP_OK) s = hop_wrong_find(found, batch, filled, *count, err);
        *count = found->tokens ? found->number + 1 : *count + filled;
    }
    return s;
}

hop_status hop_enumerate(hop_wrong *found, int64_t *count, hop_eval *eval, const hop_task *task,
                         hop_error *err)
{
    enumeration e = {.task = task, .tokens = hop_alloc(sizeof *e.tokens * (size_t)task->length)};
    hop_instance *batch = NULL;
    int64_t most = BATCH_TOKENS / task->length, inputs = hop_task_inputs(task);
    if (most < HOP_EVAL_BATCH) most = HOP_EVAL_BATCH;
    if (inputs >= 1 && most > inputs) most = inputs;
    *found = (hop_wrong){0};
    *count = 0;
    hop_eval_start(eval, "every input", (double)inputs);
    hop_status s = e.tokens ? hop_instances_new(&batch, most, task->length, err)
                            : hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) s = run_all(&e, found, count, eval, batch, most, err);
    hop_instances_free(batch, most);
    hop_free(e.tokens);
    return s;
}

/* A multiplication for each weight and token, and what a layer costs however small it is. Weights that are
 * drawn anew for each input cost as much as some tokens more. */
#define LAYER_WORK  4000.0
#define SEEDED_WORK 16.0

double hop_enumerate_work(const hop_model *m, const hop_task *task, int64_t generates)
{
    const hop_config *c = hop_model_config(m);
    int64_t inputs = hop_task_inputs(task);
    double tokens = (double)(task->length + generates) + (c->seeded ? SEEDED_WORK : 0);
    double one = (double)c->pattern.layers * LAYER_WORK + tokens * (double)hop_model_parameters(m);
    return inputs < 0 ? INFINITY : (double)inputs * one;
}
