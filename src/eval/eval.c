/* How a network is asked, and asking it for batches of instances. */
#include <hopbound/eval.h>

#include <stdatomic.h>
#include <string.h>

#define LONG        8192              /* tokens from which one instance is work enough for all threads */
#define MOST_LOGITS ((size_t)1 << 28) /* floats, of all workers together */
#define DEEP        1000              /* layers from which a pass shows its own progress */

/* What one instance at a time is run with. */
typedef struct lane {
    hop_forward *forward; /* made when first needed, made anew for longer instances */
    hop_decoder *decoder; /* instead of it, for networks that generate */
    int64_t tokens;       /* they take that many */
    float *logits;
    size_t room; /* floats of logits */
} lane;

struct hop_eval {
    const hop_model *model;
    hop_eval_options o;
    int64_t generate;
    const char *label;
    double total;
    hop_progress ask; /* shows what has been shown: only asks whether to stop */
    lane inside, *workers;
    char path[4096]; /* of the checkpoint at hand */
    hop_instance *batch;
    _Atomic int64_t done, wrong; /* wrong: of this batch, the first that is */
    _Atomic bool stopped;
};

/* ---- how a network is asked ------------------------------------------------------------------ */

static hop_status read_generate(const hop_json *construction, int64_t *count, hop_error *err)
{
    if (construction->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "not an object");
    return hop_json_read_int(construction, "generate", 1, HOP_MAX_GENERATED, count, err);
}

hop_status hop_generated_tokens(const hop_config *c, int64_t *count, hop_error *err)
{
    const char *text = c->construction_json;
    hop_json_doc doc = {0};
    *count = 0;
    if (!text || !*text) return HOP_OK;
    hop_status s = hop_json_parse(&doc, text, strlen(text), err);
    if (s == HOP_OK) s = read_generate(doc.root, count, err);
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, "its construction");
}

bool hop_eval_reads_several(const hop_eval *e, const hop_instance *i)
{
    if (e->generate) return false;
    return i->asked ? !hop_instance_ends_in_answer(i) : e->o.everywhere;
}

/* ---- one instance ---------------------------------------------------------------------------- */

/* The whole sequence at once, read where the answers are wanted. */
static hop_status answer(const hop_eval *e, hop_instance *x, lane *l)
{
    int64_t vocab = hop_model_config(e->model)->vocab, last = x->count - 1;
    if (e->o.cuts && x->count != e->o.cut_tokens)
        return hop_fail(&x->err, HOP_EFORMAT,
                        "%lld tokens where the first instance has %lld: players hold as many",
                        (long long)x->count, (long long)e->o.cut_tokens);
    if (!hop_eval_reads_several(e, x)) {
        hop_status s = hop_forward_logits(l->forward, x->tokens, x->count, l->logits, &x->err);
        if (s == HOP_OK) x->answers[last] = (int32_t)hop_argmax(l->logits, vocab);
        return s;
    }
    hop_status s = hop_forward_all(l->forward, x->tokens, x->count, l->logits, &x->err);
    for (int64_t t = 0; s == HOP_OK && t <= last; t++)
        if (x->asked == 0 || x->targets[t] >= 0)
            x->answers[t] = (int32_t)hop_argmax(l->logits + t * vocab, vocab);
    return s;
}

/* The prompt token by token, then the likeliest next one, again and again. */
static hop_status generate(hop_eval *e, hop_instance *x, lane *l)
{
    const hop_config *c = hop_model_config(e->model);
    int64_t made = 0, longest = c->max_positions - e->generate + 1;
    if (x->count > longest)
        return hop_fail(&x->err, HOP_ERANGE,
                        "%lld tokens and %lld generated ones: the network takes %lld in all",
                        (long long)x->count, (long long)e->generate, (long long)c->max_positions);
    hop_status s = hop_decoder_rewind(l->decoder, 0, &x->err);
    for (int64_t g = 0; g < e->generate; g++) x->chain[g] = -1;
    for (int64_t t = 0; s == HOP_OK && made < e->generate; t++) {
        if (t >= x->count && x->chain[made - 1] < 0) break; /* a NaN: there is no next token */
        bool read = t >= x->count - 1;
        s = hop_decoder_step(l->decoder, t < x->count ? x->tokens[t] : x->chain[made - 1],
                             read ? l->logits : NULL, &x->err);
        if (s == HOP_OK && read) x->chain[made++] = (int32_t)hop_argmax(l->logits, c->vocab);
        if (s == HOP_OK && !hop_progress_tick(&e->ask, NULL, 0, 0)) s = HOP_ESTOPPED;
    }
    if (s == HOP_OK) x->answers[x->count - 1] = x->chain[e->generate - 1];
    return s;
}

/* `number` is the instance's in the batch. */
static void run_one(hop_eval *e, int64_t number, lane *l, bool shows_layers)
{
    hop_instance *x = &e->batch[number];
    for (int64_t t = 0; t < x->count; t++) x->answers[t] = HOP_NOT_ASKED;
    x->status = e->generate ? generate(e, x, l) : answer(e, x, l);
    if (x->status == HOP_ESTOPPED) e->stopped = true;
    if (x->status != HOP_OK) return;
    for (int64_t t = 0; x->asked && t < x->count; t++)
        x->right += x->targets[t] >= 0 && x->answers[t] == x->targets[t];
    int64_t done = ++e->done, wrong = e->wrong;
    while (x->right < x->asked && number < wrong &&
           !atomic_compare_exchange_weak(&e->wrong, &wrong, number)) {}
    if (!shows_layers && !hop_progress_tick(e->o.progress, e->label, (double)done, e->total))
        e->stopped = true;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static bool ask_to_stop(void *ctx, const char *what, double done, double total)
{
    const hop_eval *e = ctx;
    (void)what, (void)done, (void)total;
    return hop_progress_tick(e->o.progress, e->label, (double)e->done, e->total);
}

static void lane_close(lane *l)
{
    hop_forward_free(l->forward);
    hop_decoder_free(l->decoder);
    hop_free(l->logits);
    *l = (lane){0};
}

static hop_status lane_logits(lane *l, size_t floats, hop_error *err)
{
    size_t bytes;
    if (floats <= l->room) return HOP_OK;
    hop_free(l->logits);
    l->logits = hop_mul_size(floats, sizeof(float), &bytes) ? hop_alloc(bytes) : NULL;
    l->room = l->logits ? floats : 0;
    return l->logits ? HOP_OK : hop_fail(err, HOP_ENOMEM, "logits: out of memory");
}

/* Makes the lane fit for `tokens` tokens and that many logits. Only the one that has all threads inside shows
 * layers and is kept. */
static hop_status lane_open(const hop_eval *e, lane *l, int64_t tokens, size_t floats, hop_error *err)
{
    bool inside = l == &e->inside;
    int64_t most = hop_model_config(e->model)->max_positions;
    if (tokens > most) tokens = most;
    hop_status s = lane_logits(l, floats, err);
    if (s != HOP_OK || l->tokens >= tokens) return s;
    hop_forward_free(l->forward);
    hop_decoder_free(l->decoder);
    l->forward = NULL;
    l->decoder = NULL;
    const hop_forward_options o = {.max_tokens = tokens,
                                   .bits = e->o.bits,
                                   .pool = inside ? e->o.pool : NULL,
                                   .cuts = e->o.cuts,
                                   .progress = inside ? e->o.progress : &e->ask,
                                   .checkpoint = inside && e->o.checkpoint ? e->path : NULL};
    s = e->generate ? hop_decoder_new(&l->decoder, e->model, tokens + e->generate, false, err)
                    : hop_forward_new(&l->forward, e->model, &o, err);
    l->tokens = s == HOP_OK ? tokens : 0;
    return s;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void run_job(void *ctx, int64_t task, int worker)
{
    hop_eval *e = ctx;
    if (!e->stopped && !(e->o.until_wrong && task > e->wrong)) run_one(e, task, &e->workers[worker], false);
}

static hop_status run_alone(hop_eval *e, int64_t number, size_t floats, hop_error *err)
{
    if (e->o.checkpoint) { /* where this instance's pass is kept; the lane holds the old name */
        int64_t before = e->done;
        snprintf(e->path, sizeof e->path, before ? "%.4000s.%lld" : "%.4000s", e->o.checkpoint,
                 (long long)before);
        lane_close(&e->inside);
    }
    hop_status s = lane_open(e, &e->inside, e->batch[number].count, floats, err);
    if (s == HOP_OK) run_one(e, number, &e->inside, hop_model_config(e->model)->pattern.layers > DEEP);
    return s;
}

static hop_status run_together(hop_eval *e, int64_t count, int64_t longest, size_t floats, hop_error *err)
{
    int threads = hop_pool_threads(e->o.pool);
    hop_status s = HOP_OK;
    if (!e->workers) e->workers = hop_alloc((size_t)threads * sizeof *e->workers);
    if (!e->workers) return hop_fail(err, HOP_ENOMEM, "workers: out of memory");
    for (int i = 0; s == HOP_OK && i < threads; i++) s = lane_open(e, &e->workers[i], longest, floats, err);
    if (s == HOP_OK) hop_pool_run(e->o.pool, count, run_job, e);
    return s;
}

/* What the network says goes there; nothing has been said yet. */
static hop_status clear_replies(const hop_eval *e, hop_instance *x, hop_error *err)
{
    x->err = (hop_error){0};
    x->right = 0;
    x->status = HOP_ESTOPPED;
    if (x->chain_capacity == e->generate) return HOP_OK;
    hop_free(x->chain);
    x->chain = e->generate ? hop_alloc((size_t)e->generate * sizeof *x->chain) : NULL;
    x->chain_capacity = x->chain ? e->generate : 0;
    return x->chain_capacity == e->generate ? HOP_OK : hop_fail(err, HOP_ENOMEM, "chain: out of memory");
}

hop_status hop_eval_run(hop_eval *e, hop_instance *batch, int64_t count, hop_error *err)
{
    size_t threads = (size_t)hop_pool_threads(e->o.pool), floats = 0;
    int64_t longest = 0, rows = 1;
    hop_status s = HOP_OK;
    for (int64_t i = 0; s == HOP_OK && i < count; i++) {
        int64_t n = batch[i].count;
        if (n > longest) longest = n;
        if (hop_eval_reads_several(e, &batch[i]) && n > rows) rows = n;
        s = clear_replies(e, &batch[i], err);
    }
    if (s == HOP_OK && !hop_mul_size((size_t)rows, (size_t)hop_model_config(e->model)->vocab, &floats))
        s = hop_fail(err, HOP_ENOMEM, "logits: out of memory");
    if (s != HOP_OK) return s;
    e->batch = batch;
    e->wrong = INT64_MAX;
    if (count >= (int64_t)threads && longest <= LONG && !e->o.checkpoint && floats <= MOST_LOGITS / threads)
        s = run_together(e, count, longest, floats, err);
    else
        for (int64_t i = 0; s == HOP_OK && i < count && !e->stopped; i++)
            if (!(e->o.until_wrong && i > e->wrong)) s = run_alone(e, i, floats, err);
    if (s == HOP_OK && e->stopped) s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
    return s;
}

static hop_status run_sampled(hop_eval *e, hop_instance *batch, const hop_task *task, int64_t count,
                              uint64_t seed, int64_t *correct, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int64_t from = 0; s == HOP_OK && from < count; from += HOP_EVAL_BATCH) {
        int64_t n = count - from < HOP_EVAL_BATCH ? count - from : HOP_EVAL_BATCH;
        for (int64_t i = 0; s == HOP_OK && i < n; i++)
            s = hop_instance_sample(&batch[i], task, seed, (uint64_t)(from + i), err);
        if (s == HOP_OK) s = hop_eval_run(e, batch, n, err);
        for (int64_t i = 0; s == HOP_OK && i < n; i++) {
            *correct += hop_instance_correct(&batch[i]);
            s = batch[i].status;
            if (s != HOP_OK && err) *err = batch[i].err;
        }
    }
    return s;
}

hop_status hop_eval_sampled(hop_eval *e, const hop_task *task, int64_t count, uint64_t seed, int64_t *correct,
                            hop_error *err)
{
    hop_instance *batch;
    *correct = 0;
    hop_status s = hop_instances_new(&batch, HOP_EVAL_BATCH, 0, err);
    if (s == HOP_OK) s = run_sampled(e, batch, task, count, seed, correct, err);
    hop_instances_free(batch, HOP_EVAL_BATCH);
    return s;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* What has to be said of a network that generates before it is given a token. */
static hop_status check_generates(const hop_eval *e, hop_error *err)
{
    hop_decoder *d = NULL;
    if (e->o.bits || e->o.checkpoint || e->o.cuts)
        return hop_fail(err, HOP_EDOMAIN, "a network that generates runs in float32, uncut, and is not kept");
    hop_status s = hop_decoder_new(&d, e->model, 1, false, err);
    hop_decoder_free(d);
    return s == HOP_OK ? s : hop_fail_in(err, s, "generate");
}

hop_status hop_eval_open(hop_eval **out, const hop_model *m, const hop_eval_options *o, hop_error *err)
{
    hop_eval *e = *out = hop_alloc(sizeof *e);
    if (!e) return hop_fail(err, HOP_ENOMEM, "out of memory");
    e->model = m;
    e->o = *o;
    e->ask = (hop_progress){.tick = ask_to_stop, .ctx = e};
    hop_eval_start(e, "instances", 0);
    hop_status s = hop_generated_tokens(hop_model_config(m), &e->generate, err);
    if (s == HOP_OK && e->generate) s = check_generates(e, err);
    if (s != HOP_OK) {
        hop_eval_close(e);
        *out = NULL;
    }
    return s;
}

void hop_eval_close(hop_eval *e)
{
    if (!e) return;
    for (int i = 0; e->workers && i < hop_pool_threads(e->o.pool); i++) lane_close(&e->workers[i]);
    lane_close(&e->inside);
    hop_free(e->workers);
    hop_free(e);
}

void hop_eval_start(hop_eval *e, const char *label, double total)
{
    e->label = label;
    e->total = total;
    e->done = 0;
}

int64_t hop_eval_generates(const hop_eval *e)
{
    return e->generate;
}

const char *hop_eval_kept(const hop_eval *e)
{
    return e->path;
}
