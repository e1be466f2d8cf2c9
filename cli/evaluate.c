#include "evaluate.h"

#include <stdlib.h>
#include <string.h>

#define LONG        8192               /* tokens from which one instance is work enough for all threads */
#define MOST_LOGITS ((size_t)1 << 28)  /* floats, of all workers together */
#define MOST_CHAIN  ((int64_t)1 << 20) /* tokens that a network may generate */

/* ---- predictions --------------------------------------------------------------------------- */

void prediction_free(prediction *x)
{
    instance_free(&x->one);
    free(x->answers);
    free(x->chain);
    x->answers = x->chain = NULL;
    x->capacity = 0;
}

bool prediction_correct(const prediction *x)
{
    return x->one.asked > 0 && x->right == x->one.asked;
}

bool prediction_has_several(const predictor *p, const prediction *x)
{
    if (p->generate) return false;
    return x->one.asked ? !instance_ends_in_answer(&x->one) : p->everywhere;
}

static hop_status prediction_reserve(const predictor *p, prediction *x, hop_error *err)
{
    if (x->capacity < x->one.count) {
        int32_t *more = realloc(x->answers, (size_t)x->one.count * sizeof *more);
        if (!more) return hop_fail(err, HOP_ENOMEM, "predictions: out of memory");
        x->answers = more;
        x->capacity = x->one.count;
    }
    if (p->generate && !x->chain) x->chain = calloc((size_t)p->generate, sizeof *x->chain);
    return !p->generate || x->chain ? HOP_OK : hop_fail(err, HOP_ENOMEM, "chain: out of memory");
}

hop_status generated_tokens(const hop_model *m, int64_t *count, hop_error *err)
{
    const char *text = hop_model_config(m)->construction_json, *kind = "";
    hop_json_doc doc = {0};
    *count = 0;
    if (!text || !*text) return HOP_OK;
    hop_status s = hop_json_parse(&doc, text, strlen(text), err);
    if (s == HOP_OK) s = hop_json_read_string(doc.root, "kind", &kind, err);
    if (s == HOP_OK && strcmp(kind, "cot") == 0) {
        s = hop_json_read_int(doc.root, "generate", 1, MOST_CHAIN, count, err);
        if (s == HOP_OK && *count == 0) s = hop_fail(err, HOP_EFORMAT, "generate: missing");
    }
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, "its construction");
}

/* ---- one instance -------------------------------------------------------------------------- */

/* The whole sequence at once, read where the answers are wanted. */
static hop_status answer(const predictor *p, prediction *x, lane *l)
{
    const instance *i = &x->one;
    int64_t vocab = hop_model_config(p->model)->vocab, last = i->count - 1;
    if (p->cuts && i->count != p->cut_tokens)
        return hop_fail(&x->err, HOP_EFORMAT,
                        "%lld tokens where the first instance has %lld: players hold as many",
                        (long long)i->count, (long long)p->cut_tokens);
    if (!prediction_has_several(p, x)) {
        hop_status s = hop_forward_logits(l->forward, i->tokens, i->count, l->logits, &x->err);
        if (s == HOP_OK) x->answers[last] = (int32_t)hop_argmax(l->logits, vocab);
        return s;
    }
    hop_status s = hop_forward_all(l->forward, i->tokens, i->count, l->logits, &x->err);
    for (int64_t t = 0; s == HOP_OK && t <= last; t++)
        if (i->asked == 0 || i->targets[t] >= 0)
            x->answers[t] = (int32_t)hop_argmax(l->logits + t * vocab, vocab);
    return s;
}

/* The prompt token by token, then the likeliest next one, again and again. */
static hop_status generate(const predictor *p, prediction *x, lane *l)
{
    const instance *i = &x->one;
    int64_t vocab = hop_model_config(p->model)->vocab, made = 0;
    hop_status s = hop_decoder_rewind(l->decoder, 0, &x->err);
    for (int64_t g = 0; g < p->generate; g++) x->chain[g] = -1;
    for (int64_t t = 0; s == HOP_OK && made < p->generate; t++) {
        if (t >= i->count && x->chain[made - 1] < 0) break; /* a NaN: there is no next token */
        bool read = t >= i->count - 1;
        s = hop_decoder_step(l->decoder, t < i->count ? i->tokens[t] : x->chain[made - 1],
                             read ? l->logits : NULL, &x->err);
        if (s == HOP_OK && read) x->chain[made++] = (int32_t)hop_argmax(l->logits, vocab);
        if (s == HOP_OK && terminal_stopped()) s = HOP_ESTOPPED;
    }
    if (s == HOP_OK) x->answers[i->count - 1] = x->chain[p->generate - 1];
    return s;
}

static void predict(predictor *p, prediction *x, lane *l, bool shows_layers)
{
    x->err = (hop_error){0};
    x->right = 0;
    for (int64_t t = 0; t < x->one.count; t++) x->answers[t] = NOT_READ;
    x->status = p->generate ? generate(p, x, l) : answer(p, x, l);
    if (x->status == HOP_ESTOPPED) p->stopped = true;
    if (x->status != HOP_OK) return;
    for (int64_t t = 0; x->one.asked && t < x->one.count; t++)
        x->right += x->one.targets[t] >= 0 && x->answers[t] == x->one.targets[t];
    int64_t done = ++p->done;
    if (!shows_layers && !hop_progress_tick(p->progress, p->label, (double)done, p->total)) p->stopped = true;
}

/* ---- lanes --------------------------------------------------------------------------------- */

static bool only_stop(void *ctx, const char *what, double done, double total)
{
    (void)ctx, (void)what, (void)done, (void)total;
    return !terminal_stopped();
}

static void lane_close(lane *l)
{
    hop_forward_free(l->forward);
    hop_decoder_free(l->decoder);
    free(l->logits);
    *l = (lane){0};
}

static hop_status lane_logits(lane *l, size_t floats, hop_error *err)
{
    size_t bytes;
    if (floats <= l->room) return HOP_OK;
    free(l->logits);
    l->logits = hop_mul_size(floats, sizeof(float), &bytes) ? malloc(bytes) : NULL;
    l->room = l->logits ? floats : 0;
    return l->logits ? HOP_OK : hop_fail(err, HOP_ENOMEM, "logits: out of memory");
}

/* Makes the lane fit for `tokens` tokens and that many logits. Only a lane of its own (pool not NULL) shows
 * layers. */
static hop_status lane_open(const predictor *p, lane *l, int64_t tokens, size_t floats, hop_pool *pool,
                            hop_error *err)
{
    static const hop_progress silent = {.tick = only_stop};
    int64_t most = hop_model_config(p->model)->max_positions;
    if (tokens > most) tokens = most;
    hop_status s = lane_logits(l, floats, err);
    if (s != HOP_OK || l->tokens >= tokens) return s;
    hop_forward_free(l->forward);
    hop_decoder_free(l->decoder);
    l->forward = NULL;
    l->decoder = NULL;
    const hop_forward_options o = {.max_tokens = tokens,
                                   .bits = p->bits,
                                   .pool = pool,
                                   .cuts = p->cuts,
                                   .progress = pool ? p->progress : &silent,
                                   .checkpoint = pool && p->checkpoint ? p->path : NULL};
    s = p->generate ? hop_decoder_new(&l->decoder, p->model, tokens + p->generate, false, err)
                    : hop_forward_new(&l->forward, p->model, &o, err);
    l->tokens = s == HOP_OK ? tokens : 0;
    return s;
}

/* ---- many instances ------------------------------------------------------------------------ */

static void predict_job(void *ctx, int64_t task, int worker)
{
    predictor *p = ctx;
    if (!p->stopped) predict(p, &p->batch[task], &p->workers[worker], false);
}

static hop_status run_alone(predictor *p, prediction *x, size_t floats, hop_error *err)
{
    if (p->checkpoint) { /* where this instance's pass is kept; the lane holds the old name */
        int64_t number = p->done;
        snprintf(p->path, sizeof p->path, number ? "%.4000s.%lld" : "%.4000s", p->checkpoint,
                 (long long)number);
        lane_close(&p->inside);
    }
    hop_status s = lane_open(p, &p->inside, x->one.count, floats, p->pool, err);
    if (s == HOP_OK) predict(p, x, &p->inside, hop_model_config(p->model)->pattern.layers > 1000);
    return s;
}

static hop_status run_together(predictor *p, prediction *batch, int64_t count, int64_t longest, size_t floats,
                               hop_error *err)
{
    int threads = hop_pool_threads(p->pool);
    hop_status s = HOP_OK;
    if (!p->workers) p->workers = calloc((size_t)threads, sizeof *p->workers);
    if (!p->workers) return hop_fail(err, HOP_ENOMEM, "workers: out of memory");
    for (int i = 0; s == HOP_OK && i < threads; i++)
        s = lane_open(p, &p->workers[i], longest, floats, NULL, err);
    p->batch = batch;
    if (s == HOP_OK) hop_pool_run(p->pool, count, predict_job, p);
    return s;
}

hop_status predictor_run(predictor *p, prediction *batch, int64_t count, hop_error *err)
{
    int threads = hop_pool_threads(p->pool);
    int64_t longest = 0, rows = 1;
    size_t floats = 0;
    hop_status s = HOP_OK;
    for (int64_t i = 0; s == HOP_OK && i < count; i++) {
        int64_t n = batch[i].one.count;
        if (n > longest) longest = n;
        if (prediction_has_several(p, &batch[i]) && n > rows) rows = n;
        s = prediction_reserve(p, &batch[i], err);
    }
    if (s == HOP_OK && !hop_mul_size((size_t)rows, (size_t)hop_model_config(p->model)->vocab, &floats))
        s = hop_fail(err, HOP_ENOMEM, "logits: out of memory");
    if (s != HOP_OK) return s;
    bool alone = count < threads || longest > LONG || p->checkpoint || floats > MOST_LOGITS / (size_t)threads;
    if (alone)
        for (int64_t i = 0; s == HOP_OK && i < count && !p->stopped; i++)
            s = run_alone(p, &batch[i], floats, err);
    else
        s = run_together(p, batch, count, longest, floats, err);
    if (s == HOP_OK && p->stopped) s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
    return s;
}

void predictor_close(predictor *p)
{
    for (int i = 0; p->workers && i < hop_pool_threads(p->pool); i++) lane_close(&p->workers[i]);
    lane_close(&p->inside);
    free(p->workers);
    p->workers = NULL;
}

hop_status predictor_sampled(predictor *p, const hop_task *task, int64_t count, uint64_t seed,
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
            *correct += batch[i].status == HOP_OK && prediction_correct(&batch[i]);
            if (batch[i].status != HOP_OK) {
                *err = batch[i].err;
                s = batch[i].status;
            }
        }
    }
    for (int i = 0; batch && i < PREDICTION_BATCH; i++) prediction_free(&batch[i]);
    free(batch);
    return s;
}
