#include "evaluate.h"

#include <stdlib.h>

#define LONG 8192 /* tokens from which one instance is work enough for all threads */

static void predict(predictor *p, prediction *x, hop_forward *f, float *logits)
{
    x->err = (hop_error){0};
    x->status = hop_forward_logits(f, x->one.tokens, x->one.count, logits, &x->err);
    x->answer = x->status == HOP_OK ? hop_argmax(logits, hop_model_config(p->model)->vocab) : -1;
    if (!hop_progress_tick(p->progress, p->label, (double)++p->done, p->total)) p->stopped = true;
}

static void predict_job(void *ctx, int64_t task, int worker)
{
    predictor *p = ctx;
    if (p->stopped) return;
    predict(p, &p->batch[task], p->workers[worker], p->logits + worker * hop_model_config(p->model)->vocab);
}

static hop_status need_forward(const predictor *p, hop_forward **f, int64_t max_tokens, hop_pool *pool,
                               hop_error *err)
{
    const hop_forward_options o = {.max_tokens = max_tokens, .bits = p->bits, .pool = pool};
    return *f ? HOP_OK : hop_forward_new(f, p->model, &o, err);
}

hop_status predictor_run(predictor *p, prediction *batch, int64_t count, hop_error *err)
{
    int threads = hop_pool_threads(p->pool);
    int64_t most = hop_model_config(p->model)->max_positions, longest = 0;
    hop_status s = HOP_OK;
    if (!p->workers) p->workers = calloc((size_t)threads, sizeof *p->workers);
    if (!p->logits)
        p->logits = calloc((size_t)threads, (size_t)hop_model_config(p->model)->vocab * sizeof(float));
    if (!p->workers || !p->logits) return hop_fail(err, HOP_ENOMEM, "logits: out of memory");
    for (int64_t i = 0; i < count; i++)
        if (batch[i].one.count > longest) longest = batch[i].one.count;
    if (count < threads || longest > LONG) {
        s = need_forward(p, &p->inside, 0, p->pool, err);
        for (int64_t i = 0; s == HOP_OK && i < count && !p->stopped; i++)
            predict(p, &batch[i], p->inside, p->logits);
    } else {
        for (int i = 0; s == HOP_OK && i < threads; i++)
            s = need_forward(p, &p->workers[i], most < LONG ? most : LONG, NULL, err);
        p->batch = batch;
        if (s == HOP_OK) hop_pool_run(p->pool, count, predict_job, p);
    }
    if (s == HOP_OK && p->stopped) s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
    return s;
}

void predictor_close(predictor *p)
{
    for (int i = 0; p->workers && i < hop_pool_threads(p->pool); i++) hop_forward_free(p->workers[i]);
    hop_forward_free(p->inside);
    free(p->workers);
    free(p->logits);
    p->inside = NULL;
    p->workers = NULL;
    p->logits = NULL;
}

hop_status predictor_sampled(predictor *p, const hop_funccomp *task, int64_t count, uint64_t seed,
                             int64_t *correct, hop_error *err)
{
    prediction *batch = calloc(PREDICTION_BATCH, sizeof *batch);
    hop_status s = batch ? HOP_OK : hop_fail(err, HOP_ENOMEM, "instances: out of memory");
    *correct = 0;
    p->total = (double)count;
    for (int64_t from = 0; s == HOP_OK && from < count; from += PREDICTION_BATCH) {
        int64_t n = count - from < PREDICTION_BATCH ? count - from : PREDICTION_BATCH;
        for (int64_t i = 0; s == HOP_OK && i < n; i++)
            s = instance_sample(&batch[i].one, task, seed, (uint64_t)(from + i), err);
        if (s == HOP_OK) s = predictor_run(p, batch, n, err);
        for (int64_t i = 0; s == HOP_OK && i < n; i++) {
            *correct += batch[i].status == HOP_OK && batch[i].answer == batch[i].one.answer;
            if (batch[i].status != HOP_OK) {
                *err = batch[i].err;
                s = batch[i].status;
            }
        }
    }
    for (int i = 0; batch && i < PREDICTION_BATCH; i++) instance_free(&batch[i].one);
    free(batch);
    return s;
}
