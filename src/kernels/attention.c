/* attention.c - hop_attn_forward and _backward: checks shapes, gives each worker its scratch, shares out
 * tasks. Forward tasks are blocks of 128 rows of a head, the long ones (late rows see more keys) first;
 * backward tasks are key heads. Neither depends on the number of threads. */
#include "room.h"

static void check(const hop_attn *c)
{
    assert(c->tokens >= 0 && c->queries >= 0 && c->first >= 0);
    assert(c->bidirectional || c->first + c->queries <= c->tokens);
    assert(c->heads > 0 && c->kv_heads > 0 && c->heads % c->kv_heads == 0);
    assert(c->key_dim > 0 && c->value_dim > 0 && c->window >= 0 && c->bits >= 0 && c->bits <= 24);
    (void)c;
}

/* Floats of one worker, rounded to cache lines, so that workers do not share one: see attn_open .. */
static size_t forward_floats(const hop_attn *c)
{
    int64_t dims = c->key_dim + c->value_dim, kept = c->bits ? c->tokens + HOP__ATTN_KEYS : HOP__ATTN_KEYS;
    int64_t floats = HOP__ATTN_ROWS * (dims + 2) + kept * HOP__PANEL_MAX + HOP__ATTN_KEYS * dims;
    return (size_t)hop__round_up(floats, 16);
}

/* .. and back_open. */
static size_t backward_floats(const hop_attn *c)
{
    int64_t dims = c->key_dim + c->value_dim;
    int64_t padded = hop__round_up(c->key_dim, HOP__PANEL_MAX) + hop__round_up(c->value_dim, HOP__PANEL_MAX);
    int64_t floats = c->tokens * padded + HOP__BACK_ROWS * (dims + padded + c->key_dim + 2) +
                     HOP__BACK_KEYS * (2 * HOP__BACK_ROWS + dims);
    return (size_t)hop__round_up(floats, 16);
}

static size_t for_threads(size_t floats, int threads)
{
    return floats * (size_t)(threads > 0 ? threads : 1) + 16;
}

size_t hop_attn_scratch(const hop_attn *c, int threads)
{
    return for_threads(forward_floats(c), threads);
}

size_t hop_attn_backward_scratch(const hop_attn *c, int threads)
{
    size_t forward = forward_floats(c), backward = backward_floats(c);
    return for_threads(forward > backward ? forward : backward, threads);
}

static float *aligned(float *p)
{
    return (float *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
}

typedef struct forward_job {
    hop__attn_task task;
    size_t per_worker;
    int64_t blocks;
} forward_job;

static void forward_task(void *ctx, int64_t task, int worker)
{
    const forward_job *f = ctx;
    hop__attn_task t = f->task;
    t.scratch += f->per_worker * (size_t)worker;
    t.head = task / f->blocks; /* head by head: its keys and values stay in the cache */
    t.row = (f->blocks - 1 - task % f->blocks) * HOP__ATTN_ROWS;
    t.rows = hop__min(HOP__ATTN_ROWS, t.c->queries - t.row);
    hop__kernels_get()->attn_forward(&t);
}

static void share_out(const hop__attn_task *task, hop_pool *pool)
{
    const hop_attn *c = task->c;
    forward_job f = {.task = *task};
    check(c);
    f.per_worker = forward_floats(c);
    f.blocks = (c->queries + HOP__ATTN_ROWS - 1) / HOP__ATTN_ROWS;
    /* A few microseconds are not worth waking anyone. */
    if (c->queries * c->tokens * (c->key_dim + c->value_dim) * c->heads < (1 << 18)) pool = NULL;
    hop_pool_run(pool, f.blocks * c->heads, forward_task, &f);
}

void hop_attn_forward(float *o, float *lse, const float *q, const float *k, const float *v, const hop_attn *c,
                      float *scratch, hop_pool *pool)
{
    hop__attn_task t = {.c = c, .o = o, .lse = lse, .q = q, .k = k, .v = v, .scratch = aligned(scratch)};
    share_out(&t, pool);
}

void hop_attn_partial(float *partials, const float *q, const float *k, const float *v, const hop_attn *c,
                      float *scratch, hop_pool *pool)
{
    assert(c->tokens > 0 && c->bits == 0);
    hop__attn_task t = {.c = c, .o = partials, .partial = true, .q = q, .k = k, .v = v};
    t.scratch = aligned(scratch);
    share_out(&t, pool);
}

typedef struct backward_job {
    hop__attn_back task;
    size_t per_worker;
} backward_job;

static void backward_task(void *ctx, int64_t task, int worker)
{
    const backward_job *b = ctx;
    hop__attn_back t = b->task;
    t.scratch += b->per_worker * (size_t)worker;
    t.kv_head = task;
    hop__kernels_get()->attn_backward(&t);
}

void hop_attn_backward(const hop_attn_grad *g, const float *o, const float *lse, const float *q,
                       const float *k, const float *v, const hop_attn *c, float *scratch, hop_pool *pool)
{
    check(c);
    assert(c->queries == c->tokens);
    backward_job b = {.task = {.c = c, .g = g, .o = o, .lse = lse, .q = q, .k = k, .v = v}};
    b.task.scratch = aligned(scratch);
    b.per_worker = backward_floats(c);
    hop_pool_run(pool, c->kv_heads, backward_task, &b);
}
