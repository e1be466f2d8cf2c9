/* A whole sequence through the whole network. Mixers see all tokens; everything else works on blocks of rows
 * that stay in cache from the residual sum to the end of the MLP, and are shared out over the pool. */
#include "network.h"

#include <stdio.h>
#include <string.h>

#define ROWS       64   /* rows of a block */
#define SAVE_EVERY 10.0 /* seconds between two savings of where a pass stands */

struct hop_forward {
    const hop_model *model;
    int64_t max_tokens;
    int bits;
    hop_pool *pool;
    const hop_progress *progress;
    const hop_watch *watch;
    hop__saved saved;
    hop__source source;
    hop_arena mixer; /* scratch for one mixer at a time */
    hop__cut cut;    /* without starts: the sequence is not cut */
    float *x, *y, *normed, *finish;
};

static size_t mixer_scratch(const hop_model *m, int64_t tokens, int threads)
{
    size_t most = 1;
    for (int64_t i = 0; i < m->layout->plan_count; i++) {
        size_t need = hop_list_scratch(&m->layout->plans[i]->list, 1, tokens, threads);
        if (need > most) most = need;
    }
    return most;
}

/* What the mixers need; most is scratch. */
static hop_status open_mixers(hop_forward *f, const hop_forward_options *o, hop_error *err)
{
    int threads = hop_pool_threads(o->pool);
    if (!o->cuts) return hop_arena_reserve(&f->mixer, mixer_scratch(f->model, f->max_tokens, threads), err);
    if (o->checkpoint || f->bits)
        return hop_fail(err, HOP_EDOMAIN, "a cut sequence is neither kept nor run at another precision");
    return hop__cut_open(&f->cut, f->model, o->cuts, f->max_tokens, o->pool, err);
}

hop_status hop_forward_new(hop_forward **out, const hop_model *m, const hop_forward_options *o,
                           hop_error *err)
{
    int64_t most = m->layout->config.max_positions;
    *out = NULL;
    if (o->max_tokens < 0) return hop_fail(err, HOP_ERANGE, "max_tokens: %lld", (long long)o->max_tokens);
    if (o->bits < 0) return hop_fail(err, HOP_ERANGE, "bits: %d", o->bits);
    hop_forward *f = hop_alloc(sizeof *f);
    if (!f) return hop_fail(err, HOP_ENOMEM, "out of memory");
    f->model = m;
    f->max_tokens = o->max_tokens > 0 && o->max_tokens < most ? o->max_tokens : most;
    f->bits = o->bits >= 24 ? 0 : o->bits;
    f->pool = o->pool;
    f->progress = o->progress;
    f->watch = f->cut.watch = o->watch;
    f->saved.path = o->checkpoint;
    int threads = hop_pool_threads(o->pool);
    size_t rows = (size_t)f->max_tokens * (size_t)m->layout->config.d_model * sizeof(float);
    f->x = hop_alloc_raw(rows);
    f->y = hop_alloc_raw(rows);
    f->normed = m->layout->config.norm == HOP_NORM_NONE ? NULL : hop_alloc_raw(rows);
    f->finish = hop_alloc_raw(sizeof(float) * hop__finish_floats(m, ROWS) * (size_t)threads);
    hop_status s = HOP_OK;
    if (!f->x || !f->y || !f->finish || (m->layout->config.norm != HOP_NORM_NONE && !f->normed))
        s = hop_fail(err, HOP_ENOMEM, "cannot hold %lld tokens", (long long)f->max_tokens);
    if (s == HOP_OK) s = hop__source_open(&f->source, m, err);
    if (s == HOP_OK) s = open_mixers(f, o, err);
    if (s != HOP_OK) {
        hop_forward_free(f);
        return s;
    }
    *out = f;
    return HOP_OK;
}

void hop_forward_free(hop_forward *f)
{
    if (!f) return;
    hop__source_close(&f->source);
    hop_arena_free(&f->mixer);
    hop__cut_close(&f->cut);
    hop_free(f->x);
    hop_free(f->y);
    hop_free(f->normed);
    hop_free(f->finish);
    hop_free(f);
}

static hop__arith arith(const hop_forward *f)
{
    return (hop__arith){.bits = f->bits, .steady = f->cut.at.starts != NULL};
}

/* Rows first .. count-1 after the mixer of `layer`. */
typedef struct rows_job {
    hop_forward *f;
    const hop__block *layer;
    int64_t first, count;
} rows_job;

static void finish_rows(void *ctx, int64_t task, int worker)
{
    const rows_job *job = ctx;
    hop_forward *f = job->f;
    int64_t d = f->model->layout->config.d_model, at = job->first + task * ROWS;
    int64_t rows = job->count - at < ROWS ? job->count - at : ROWS;
    hop__finish(f->model, job->layer, f->x + at * d, f->y + (at - job->first) * d, rows, arith(f),
                f->finish + (size_t)worker * hop__finish_floats(f->model, ROWS));
}

static void run_layer(hop_forward *f, int64_t i, int64_t count, int64_t first)
{
    const hop_model *m = f->model;
    const hop__block *l = hop__source_layer(&f->source, i);
    hop_mixer_config c = hop_model_mixer_config(m, i);
    const float *x = hop__enter(m, l, f->normed, f->x, count, f->bits, f->pool);
    if (f->cut.at.starts) {
        hop__cut_mix(&f->cut, l, &c, f->y, x, count);
        first = 0;
    } else {
        f->mixer.used = 0;
        hop_mixer_io io = {.y = f->y, .x = x, .tokens = count, .first = first, .bits = f->bits};
        io.scratch = &f->mixer;
        io.pool = f->pool;
        io.watch = f->watch ? f->watch->buffers : NULL;
        hop_list_forward(l->list, &c, l->mixer, &io);
    }
    rows_job job = {.f = f, .layer = l, .first = first, .count = count};
    hop_pool_run(f->pool, (count - first + ROWS - 1) / ROWS, finish_rows, &job);
}

/* x through all layers; the last one only for rows from `wanted` on. */
static hop_status run_layers(hop_forward *f, const int32_t *tokens, int64_t count, int64_t wanted,
                             hop_error *err)
{
    const hop_model *m = f->model;
    int64_t layers = m->layout->config.pattern.layers, start = 0;
    /* Shallow passes are the business of whoever counts sequences, unless they go token by token. */
    bool deep = layers > 1000;
    hop_status s = HOP_OK;
    if (f->saved.path) {
        f->saved.next = hop_now() + SAVE_EVERY;
        s = hop__saved_begin(&f->saved, m, tokens, count, f->bits, err);
        if (s == HOP_OK) s = hop__saved_load(&f->saved, f->x, &start, err);
    }
    for (int64_t i = start; s == HOP_OK && i < layers; i++) {
        run_layer(f, i, count, i + 1 == layers ? wanted : 0);
        if (f->watch && f->watch->stream) f->watch->stream(f->watch->ctx, i, f->x, count);
        if (!(deep && i % 64 == 0) && !f->cut.at.starts) continue;
        if (i + 1 == layers || hop__is_beside(m->layout, i + 1)) continue; /* what it reads is not kept */
        bool go_on = hop_progress_tick(f->progress, "layers", (double)(i + 1), (double)layers);
        if (f->saved.path && (!go_on || hop_now() > f->saved.next)) {
            s = hop__saved_store(&f->saved, f->x, i + 1, err);
            f->saved.next = hop_now() + SAVE_EVERY;
        }
        if (s == HOP_OK && !go_on) s = hop_fail(err, HOP_ESTOPPED, "stopped on request");
    }
    if (s == HOP_OK && f->saved.path) remove(f->saved.path);
    return s;
}

typedef struct embed_job {
    hop_forward *f;
    const int32_t *tokens;
} embed_job;

static void embed_rows(void *ctx, int64_t first, int64_t count)
{
    const embed_job *j = ctx;
    int64_t d = j->f->model->layout->config.d_model;
    for (int64_t t = first; t < first + count; t++)
        hop__embed(j->f->model, j->f->x + t * d, j->tokens[t], t, j->f->bits, j->f->y + t * d);
}

static hop_status embed_all(hop_forward *f, const int32_t *tokens, int64_t count, hop_error *err)
{
    if (count < 1 || count > f->max_tokens)
        return hop_fail(err, HOP_ERANGE, "%lld tokens: the network takes 1 to %lld", (long long)count,
                        (long long)f->max_tokens);
    hop_status fits = hop__cut_check(&f->cut.at, count, err);
    if (fits != HOP_OK) return fits;
    for (int64_t t = 0; t < count; t++) {
        hop_status s = hop__check_token(f->model, tokens[t], t, err);
        if (s != HOP_OK) return s;
    }
    hop_pool_rows(f->pool, count, f->model->layout->config.d_model, embed_rows, &(embed_job){f, tokens});
    return HOP_OK;
}

hop_status hop_forward_logits(hop_forward *f, const int32_t *tokens, int64_t count, float *logits,
                              hop_error *err)
{
    hop_status s = embed_all(f, tokens, count, err);
    if (s != HOP_OK) return s;
    s = run_layers(f, tokens, count, count - 1, err);
    if (s != HOP_OK) return s;
    hop__read_out(f->model, logits, f->x + (count - 1) * f->model->layout->config.d_model, 1, arith(f), f->y,
                  f->pool);
    return HOP_OK;
}

hop_status hop_forward_all(hop_forward *f, const int32_t *tokens, int64_t count, float *logits,
                           hop_error *err)
{
    hop_status s = embed_all(f, tokens, count, err);
    if (s != HOP_OK) return s;
    s = run_layers(f, tokens, count, 0, err);
    if (s != HOP_OK) return s;
    hop__read_out(f->model, logits, f->x, count, arith(f), f->y, f->pool);
    return HOP_OK;
}

hop_status hop_forward_hidden(hop_forward *f, const int32_t *tokens, int64_t count, float *hidden,
                              hop_error *err)
{
    hop_status s = embed_all(f, tokens, count, err);
    if (s != HOP_OK) return s;
    s = run_layers(f, tokens, count, 0, err);
    if (s == HOP_OK) memcpy(hidden, f->x, sizeof(float) * (size_t)(count * f->model->layout->config.d_model));
    return s;
}
