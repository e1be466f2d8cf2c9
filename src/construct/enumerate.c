/* Every input. As a check beside a proof by intervals, inputs that share a prefix share its work: the decoder
 * keeps the prefix in its states, rewinds to the first token that changes, and steps on from there, so that
 * most inputs cost one or two steps. Where the verdict rests on the enumeration alone, every input is run
 * whole, as `run` does: step and forward sum in different orders, and a network can be made for which that
 * matters. */
#include "prove.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {
    hop_decoder *decoder; /* NULL: ask */
    hop__asker asker;
    float *logits;
    int32_t *tokens, *targets, *answers;
    hop_status status;
} worker;

typedef struct enumeration {
    const hop_model *model;
    const hop_task *task;
    const hop_prove_options *options;
    int64_t inputs, tasks, share; /* task k runs inputs k·share .. */
    bool alone;
    worker *workers;
    atomic_llong done, first_bad; /* first_bad: smallest number of a wrong input so far */
    atomic_int stopped;
} enumeration;

/* The tokens of input `number`: the last token varies fastest. */
static void unpack(const hop_task *t, int64_t number, int32_t *tokens)
{
    for (int64_t p = t->length - 1; p >= 0; p--) {
        int64_t values = hop_task_values(t, p);
        tokens[p] = (int32_t)(number % values);
        number /= values;
    }
}

/* The next input; returns the first position that changed, -1 past the last input. */
static int64_t advance(const hop_task *t, int32_t *tokens)
{
    for (int64_t p = t->length - 1; p >= 0; p--) {
        if (++tokens[p] < hop_task_values(t, p)) return p;
        tokens[p] = 0;
    }
    return -1;
}

/* Runs tokens from position `from` on, the ones before being in the decoder. */
static hop_status decode(const enumeration *e, worker *w, int64_t from)
{
    const hop_task *t = e->task;
    bool last_only = t->kind == HOP_TASK_FUNCCOMP || t->kind == HOP_TASK_KHOP;
    hop_status s = hop_decoder_rewind(w->decoder, from, NULL);
    for (int64_t p = from; s == HOP_OK && p < t->length; p++) {
        bool wanted = !last_only || p + 1 == t->length;
        s = hop_decoder_step(w->decoder, w->tokens[p], wanted ? w->logits : NULL, NULL);
        if (wanted) w->answers[p] = (int32_t)hop_argmax(w->logits, hop_model_config(e->model)->vocab);
    }
    return s;
}

static hop_status is_right(const enumeration *e, worker *w, int64_t from, bool *right)
{
    *right = true;
    if (!w->decoder) {
        hop__reply reply;
        hop_status s = hop__ask(&w->asker, w->tokens, &reply, NULL);
        *right = reply.right;
        return s;
    }
    hop_status s = decode(e, w, from);
    hop_task_solve(e->task, w->tokens, w->targets);
    for (int64_t p = 0; p < e->task->length && *right; p++)
        *right = w->targets[p] < 0 || w->targets[p] == w->answers[p];
    return s;
}

static hop_status run_share(enumeration *e, int64_t task, worker *w)
{
    int64_t number = task * e->share, end = number + e->share < e->inputs ? number + e->share : e->inputs,
            from = 0;
    unpack(e->task, number, w->tokens);
    for (; number < end && number < atomic_load(&e->first_bad); number++) {
        bool right;
        /* Some mixed-radix numbers are no inputs of the task (recall's keys must differ). */
        if (hop_task_check(e->task, w->tokens, e->task->length, NULL) == HOP_OK) {
            hop_status s = is_right(e, w, from, &right);
            if (s != HOP_OK) return s;
            from = e->task->length;
            if (!right) {
                long long known = atomic_load(&e->first_bad);
                while (number < known && !atomic_compare_exchange_weak(&e->first_bad, &known, number)) {}
                return HOP_OK;
            }
        }
        int64_t changed = advance(e->task, w->tokens);
        if (changed < from) from = changed;
    }
    return HOP_OK;
}

static void run_task(void *ctx, int64_t task, int number)
{
    enumeration *e = ctx;
    worker *w = &e->workers[number];
    if (atomic_load(&e->stopped)) return;
    hop_status s = run_share(e, task, w);
    if (s != HOP_OK) w->status = s;
    int64_t done = atomic_fetch_add(&e->done, 1) + 1;
    if (s != HOP_OK || !hop_progress_tick(e->options->progress, "every input",
                                          (double)done * (double)e->share, (double)e->inputs))
        atomic_store(&e->stopped, 1);
}

static hop_status worker_open(worker *w, const enumeration *e, hop_error *err)
{
    const hop_config *c = hop_model_config(e->model);
    size_t n = (size_t)e->task->length;
    w->logits = hop_alloc(sizeof(float) * (size_t)c->vocab);
    w->tokens = hop_alloc(sizeof(int32_t) * n);
    w->targets = hop_alloc(sizeof(int32_t) * n);
    w->answers = hop_alloc(sizeof(int32_t) * n);
    if (!w->logits || !w->tokens || !w->targets || !w->answers)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    if (!e->alone && !c->bidirectional && !c->seeded && !hop__generated(e->model))
        return hop_decoder_new(&w->decoder, e->model, e->task->length, true, err);
    return hop__asker_open(&w->asker, e->model, e->task, NULL, err);
}

static void worker_close(worker *w)
{
    hop_decoder_free(w->decoder);
    hop__asker_close(&w->asker);
    hop_free(w->logits);
    hop_free(w->tokens);
    hop_free(w->targets);
    hop_free(w->answers);
}

/* Runs the wrong input as a whole, the way `run` does. */
static hop_status confirm(hop__found *found, const enumeration *e, hop_error *err)
{
    hop__asker asker;
    found->number = atomic_load(&e->first_bad);
    found->tokens = hop_alloc(sizeof(int32_t) * (size_t)e->task->length);
    if (!found->tokens) return hop_fail(err, HOP_ENOMEM, "out of memory");
    unpack(e->task, found->number, found->tokens);
    hop_status s = hop__asker_open(&asker, e->model, e->task, e->options->pool, err);
    if (s != HOP_OK) return s;
    s = hop__ask(&asker, found->tokens, &found->reply, err);
    found->confirmed = !found->reply.right;
    hop__asker_close(&asker);
    return s;
}

static hop_status run_all(enumeration *e, hop__found *found, hop_error *err)
{
    int threads = hop_pool_threads(e->options->pool);
    hop_status s = HOP_OK;
    for (int i = 0; s == HOP_OK && i < threads; i++) s = worker_open(&e->workers[i], e, err);
    if (s != HOP_OK) return s;
    hop_pool_run(e->options->pool, e->tasks, run_task, e);
    for (int i = 0; i < threads; i++)
        if (e->workers[i].status != HOP_OK)
            s = hop_fail(err, e->workers[i].status, "enumeration: %s", hop_status_text(e->workers[i].status));
    if (s == HOP_OK && atomic_load(&e->stopped)) s = hop_fail(err, HOP_ESTOPPED, "stopped on request");
    if (s == HOP_OK && atomic_load(&e->first_bad) != INT64_MAX) s = confirm(found, e, err);
    return s;
}

hop_status hop__enumerate(hop__found *found, int64_t *count, const hop_model *m, const hop_task *task,
                          const hop_prove_options *o, bool alone, hop_error *err)
{
    int threads = hop_pool_threads(o->pool);
    enumeration e = {.model = m, .task = task, .options = o, .inputs = 1, .alone = alone};
    /* All mixed-radix numbers: for most tasks the inputs, for recall a few more. */
    for (int64_t p = 0; p < task->length; p++) {
        if (e.inputs > ((int64_t)1 << 62) / hop_task_values(task, p))
            return hop_fail(err, HOP_EDOMAIN, "too many inputs to enumerate");
        e.inputs *= hop_task_values(task, p);
    }
    e.share = e.inputs / 4096 + 1;
    e.tasks = (e.inputs + e.share - 1) / e.share;
    atomic_init(&e.first_bad, INT64_MAX);
    *found = (hop__found){0};
    e.workers = hop_alloc(sizeof *e.workers * (size_t)threads);
    hop_status s = e.workers ? run_all(&e, found, err) : hop_fail(err, HOP_ENOMEM, "out of memory");
    *count = found->tokens ? found->number + 1 : hop_task_inputs(task);
    for (int i = 0; e.workers && i < threads; i++) worker_close(&e.workers[i]);
    hop_free(e.workers);
    if (s != HOP_OK) {
        hop_free(found->tokens);
        found->tokens = NULL;
    }
    return s;
}
