/* Sweeps: which runs are left, several at a time in this process, and what becomes of them. */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the queue: what is known of all runs, on the one rank that writes --------------------------- */

static void fail_with(hop__queue *d, hop_status s, const hop_error *err)
{
    if (d->status == HOP_OK && s != HOP_OK) {
        d->status = s;
        d->err = *err;
    }
    if (s != HOP_OK) d->stopped = true;
}

bool hop__queue_tick(hop__queue *d)
{
    double done = (double)d->ended;
    for (int i = 0; i < d->slots; i++) done += d->part[i];
    if (!hop_progress_tick(d->o->progress, "runs", done, (double)d->left_count)) d->stopped = true;
    return !d->stopped;
}

/* Status and rows of all runs; those that are left. A run that is listed twice is one. */
static hop_status look_up(hop__queue *d, const hop_recipe *list, int64_t count, hop_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        hop_store_row run;
        if (!hop_progress_tick(d->o->progress, "runs looked up", (double)i, (double)count))
            return hop_fail(err, HOP_ESTOPPED, "stopped on request");
        char *text = hop__run_text(&list[i]);
        hop_status s = text ? d->store->find(d->store, &list[i], text, &run, err)
                            : hop_fail(err, HOP_ENOMEM, "out of memory");
        free(text);
        if (s != HOP_OK) return s;
        d->id[i] = run.id;
        if (run.again) continue;
        bool over = run.status == HOP_ROW_DONE || (run.status == HOP_ROW_FAILED && !d->o->retry);
        d->result->runs++;
        d->result->skipped += over;
        d->result->done += run.status == HOP_ROW_DONE;
        d->result->failed += run.status == HOP_ROW_FAILED && over;
        if (!over) d->left[d->left_count++] = i;
    }
    return HOP_OK;
}

/* One sweep at a time: two would train the same runs in the same directories. */
static hop_status keep_out(hop__queue *d, hop_error *err)
{
    char dir[4096];
    int n = snprintf(dir, sizeof dir, "%s.d", d->o->database);
    if (n < 0 || (size_t)n >= sizeof dir) return hop_fail(err, HOP_ERANGE, "the database's name is too long");
    hop_status s = hop_make_dir(dir, err);
    return s == HOP_OK ? hop_dir_lock(&d->others, dir, err) : s;
}

hop_status hop__queue_open(hop__queue *d, const hop_recipe *list, int64_t count, hop_error *err)
{
    pthread_mutex_init(&d->lock, NULL);
    d->list = list;
    d->id = calloc((size_t)count + 1, sizeof *d->id);
    d->left = calloc((size_t)count + 1, sizeof *d->left);
    d->part = calloc((size_t)d->slots, sizeof *d->part);
    if (!d->id || !d->left || !d->part)
        return hop_fail(err, HOP_ENOMEM, "%lld runs: out of memory", (long long)count);
    hop_status s = d->o->open(&d->store, d->o->database, HOP_STORE_WRITE, err);
    if (s == HOP_OK) s = look_up(d, list, count, err);
    d->result->entered = s == HOP_OK;
    return s == HOP_OK && d->left_count > 0 ? keep_out(d, err) : s;
}

void hop__queue_close(hop__queue *d)
{
    hop_dir_unlock(&d->others);
    if (d->store) d->store->close(d->store);
    pthread_mutex_destroy(&d->lock);
    free(d->id);
    free(d->left);
    free((void *)d->part);
}

void hop__queue_begin(hop__queue *d, int64_t run)
{
    hop_error err = {0};
    pthread_mutex_lock(&d->lock);
    fail_with(d, d->store->begin(d->store, d->id[run], &err), &err);
    pthread_mutex_unlock(&d->lock);
}

void hop__queue_measured(hop__queue *d, int64_t run, const hop_measure *m)
{
    hop_error err = {0};
    pthread_mutex_lock(&d->lock);
    fail_with(d, d->store->measure(d->store, d->id[run], m, &err), &err);
    pthread_mutex_unlock(&d->lock);
}

void hop__queue_ended(hop__queue *d, int64_t run, const hop_measure *m, const char *reason)
{
    hop_error err = {0};
    pthread_mutex_lock(&d->lock);
    hop_status s = d->store->end(d->store, d->id[run], m, reason, &err);
    fail_with(d, s, &err);
    if (reason && s == HOP_OK) {
        d->ended++;
        d->result->done += !*reason;
        d->result->failed += *reason != 0;
        if (d->o->ended) d->o->ended(d->o->ctx, &d->list[run], m, reason);
    }
    pthread_mutex_unlock(&d->lock);
}

/* ---- several at a time in this process ------------------------------------------------------------ */

typedef struct slot {
    hop__queue *queue;
    int64_t run;
    int number;
} slot;

static bool slot_tick(void *ctx, const char *what, double done, double total)
{
    const slot *s = ctx;
    (void)what;
    s->queue->part[s->number] = total > 0 ? done / total : 0;
    return hop__queue_tick(s->queue);
}

static void slot_measured(void *ctx, const hop_measure *m)
{
    const slot *s = ctx;
    hop__queue_measured(s->queue, s->run, m);
}

static void run_job(void *ctx, int64_t task, int worker)
{
    hop__queue *d = ctx;
    slot s = {d, d->left[task], worker};
    hop_measure last;
    char reason[400];
    if (!hop__queue_tick(d)) return;
    hop__queue_begin(d, s.run);
    if (d->stopped) return;
    const hop_progress p = {slot_tick, &s};
    const hop__work w = {d->o, d->threads, &p, slot_measured, &s};
    hop_status got = hop__work_run(&w, &d->list[s.run], &last, reason);
    d->part[worker] = 0;
    hop__queue_ended(d, s.run, &last, got == HOP_OK ? reason : NULL);
}

static hop_status run_here(hop__queue *d, hop_error *err)
{
    hop_pool *pool = hop_pool_new(d->slots);
    if (!pool) return hop_fail(err, HOP_ENOMEM, "cannot start %d threads", d->slots);
    hop_pool_run(pool, d->left_count, run_job, d);
    hop_pool_free(pool);
    return HOP_OK;
}

hop_status hop_sweep_run(const hop_recipe *list, int64_t count, const hop_sweep_options *o,
                         hop_sweep_result *result, hop_error *err)
{
    int threads = o->threads > 0 ? o->threads : hop_cpu_count();
    *result = (hop_sweep_result){0};
    if (o->ranks && o->ranks->rank > 0) return hop__rank_work(list, count, o, threads, err);
    bool alone = !o->ranks || o->ranks->ranks == 1;
    hop__queue d = {.o = o, .result = result, .slots = alone && o->jobs > 0 ? o->jobs : alone ? threads : 1};
    d.threads = threads / d.slots > 1 ? threads / d.slots : 1;
    hop_status s = hop__queue_open(&d, list, count, err);
    if (!alone) s = hop__ranks_agree(o->ranks, list, count, s, err);
    if (s == HOP_OK) s = alone ? run_here(&d, err) : hop__rank_serve(&d, err);
    if (s == HOP_OK && d.status != HOP_OK) {
        s = d.status;
        if (err) *err = d.err;
    }
    if (s == HOP_OK && d.stopped) s = hop_fail(err, HOP_ESTOPPED, "stopped on request");
    hop__queue_close(&d);
    return s;
}
