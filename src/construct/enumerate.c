/* Every input. Inputs that share a prefix share its work: the decoder keeps the prefix in its states, rewinds
 * to the first token that changes, and steps on from there, so that most inputs cost one or two steps. Only
 * mixers whose state can forget single tokens are enumerated this way. */
#include "prove.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct enumeration {
    const hop_model *model;
    const hop_funccomp *task;
    const hop_prove_options *options;
    int64_t inputs, tasks, share; /* task k runs inputs k·share .. */
    hop_decoder **decoders;       /* one a worker */
    float **logits;
    int32_t **tokens;
    atomic_llong done, first_bad; /* first_bad: smallest number of a wrong input so far */
    atomic_int stopped;
    hop_status *status; /* one a worker */
} enumeration;

/* The tokens of input `number`: the last token varies fastest. */
static void unpack(const hop_funccomp *t, int64_t number, int32_t *tokens)
{
    for (int64_t p = t->length - 1; p >= 0; p--) {
        int64_t values = hop_funccomp_values(t, p);
        tokens[p] = (int32_t)(number % values);
        number /= values;
    }
}

/* The next input; returns the first position that changed, -1 past the last input. */
static int64_t advance(const hop_funccomp *t, int32_t *tokens)
{
    for (int64_t p = t->length - 1; p >= 0; p--) {
        if (++tokens[p] < hop_funccomp_values(t, p)) return p;
        tokens[p] = 0;
    }
    return -1;
}

static hop_status run_share(enumeration *e, int64_t task, int worker)
{
    const hop_funccomp *t = e->task;
    hop_decoder *d = e->decoders[worker];
    int32_t *tokens = e->tokens[worker];
    int64_t number = task * e->share, end = number + e->share < e->inputs ? number + e->share : e->inputs,
            from = 0;
    unpack(t, number, tokens);
    for (; number < end && number < atomic_load(&e->first_bad); number++) {
        hop_status s = hop_decoder_rewind(d, from, NULL);
        for (int64_t p = from; s == HOP_OK && p < t->length; p++)
            s = hop_decoder_step(d, tokens[p], p + 1 == t->length ? e->logits[worker] : NULL, NULL);
        if (s != HOP_OK) return s;
        if (hop_argmax(e->logits[worker], hop_model_config(e->model)->vocab) !=
            hop_funccomp_solve(t, tokens, NULL)) {
            long long known = atomic_load(&e->first_bad);
            while (number < known && !atomic_compare_exchange_weak(&e->first_bad, &known, number)) {}
            return HOP_OK;
        }
        from = advance(t, tokens);
    }
    return HOP_OK;
}

static void run_task(void *ctx, int64_t task, int worker)
{
    enumeration *e = ctx;
    if (atomic_load(&e->stopped)) return;
    hop_status s = run_share(e, task, worker);
    if (s != HOP_OK) e->status[worker] = s;
    int64_t done = atomic_fetch_add(&e->done, 1) + 1;
    if (s != HOP_OK || !hop_progress_tick(e->options->progress, "every input",
                                          (double)done * (double)e->share, (double)e->inputs))
        atomic_store(&e->stopped, 1);
}

static hop_status prepare(enumeration *e, int threads, hop_error *err)
{
    const hop_config *c = hop_model_config(e->model);
    e->decoders = hop_alloc(sizeof *e->decoders * (size_t)threads);
    e->logits = hop_alloc(sizeof *e->logits * (size_t)threads);
    e->tokens = hop_alloc(sizeof *e->tokens * (size_t)threads);
    e->status = hop_alloc(sizeof *e->status * (size_t)threads);
    if (!e->decoders || !e->logits || !e->tokens || !e->status)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; i < threads; i++) {
        hop_status s = hop_decoder_new(&e->decoders[i], e->model, e->task->length, err);
        if (s != HOP_OK) return s;
        e->logits[i] = hop_alloc(sizeof(float) * (size_t)c->vocab);
        e->tokens[i] = hop_alloc(sizeof(int32_t) * (size_t)e->task->length);
        if (!e->logits[i] || !e->tokens[i]) return hop_fail(err, HOP_ENOMEM, "out of memory");
    }
    return HOP_OK;
}

static void drop(enumeration *e, int threads)
{
    for (int i = 0; i < threads; i++) {
        if (e->decoders) hop_decoder_free(e->decoders[i]);
        if (e->logits) hop_free(e->logits[i]);
        if (e->tokens) hop_free(e->tokens[i]);
    }
    hop_free(e->decoders);
    hop_free(e->logits);
    hop_free(e->tokens);
    hop_free(e->status);
}

/* Runs the wrong input as a whole sequence, the way `run` does. */
static hop_status confirm(hop__found *found, const enumeration *e, hop_error *err)
{
    const hop_funccomp *t = e->task;
    found->number = atomic_load(&e->first_bad);
    found->tokens = hop_alloc(sizeof(int32_t) * (size_t)t->length);
    if (!found->tokens) return hop_fail(err, HOP_ENOMEM, "out of memory");
    unpack(t, found->number, found->tokens);
    found->expected = hop_funccomp_solve(t, found->tokens, NULL);
    hop_forward *f = NULL;
    hop_status s = hop_forward_new(&f, e->model, &(hop_forward_options){.max_tokens = t->length}, err);
    if (s == HOP_OK) s = hop_forward_logits(f, found->tokens, t->length, e->logits[0], err);
    hop_forward_free(f);
    found->got = s == HOP_OK ? hop_argmax(e->logits[0], hop_model_config(e->model)->vocab) : -1;
    found->confirmed = found->got != found->expected;
    return s;
}

hop_status hop__enumerate(hop__found *found, int64_t *count, const hop_model *m, const hop_funccomp *task,
                          const hop_prove_options *o, hop_error *err)
{
    int threads = hop_pool_threads(o->pool);
    enumeration e = {.model = m, .task = task, .options = o, .inputs = hop_funccomp_inputs(task)};
    e.share = e.inputs / 4096 + 1;
    e.tasks = (e.inputs + e.share - 1) / e.share;
    atomic_init(&e.first_bad, INT64_MAX);
    *found = (hop__found){0};
    hop_status s = prepare(&e, threads, err);
    if (s == HOP_OK) {
        hop_pool_run(o->pool, e.tasks, run_task, &e);
        for (int i = 0; i < threads; i++)
            if (e.status[i] != HOP_OK)
                s = hop_fail(err, e.status[i], "enumeration: %s", hop_status_text(e.status[i]));
        if (s == HOP_OK && atomic_load(&e.stopped)) s = hop_fail(err, HOP_ESTOPPED, "stopped on request");
    }
    if (s == HOP_OK && atomic_load(&e.first_bad) != INT64_MAX) s = confirm(found, &e, err);
    *count = found->tokens ? found->number + 1 : e.inputs;
    drop(&e, threads);
    if (s != HOP_OK) {
        hop_free(found->tokens);
        found->tokens = NULL;
    }
    return s;
}
