/* scan.c - hop_decay, hop_delta, hop_dplr, hop_mlstm: checks shapes, gives each worker its scratch, shares
 * out heads. A head is never split, and what else its task has to do does not touch it: so bits do not depend
 * on the number of threads. */
#include "room.h"

static void check(const hop_scan *c)
{
    assert(c->tokens >= 0 && c->heads > 0 && c->key_heads > 0 && c->heads % c->key_heads == 0);
    assert(c->key_dim > 0 && c->value_dim > 0);
    (void)c;
}

static int64_t padded(int64_t n)
{
    return hop__round_up(n, HOP__PANEL_MAX);
}

/* Heads that one task may take: their states stay in half of a 512 KB L2. */
static int64_t heads_together(const hop_scan *c)
{
    const int64_t floats = (padded(c->key_dim) + 2 * HOP__SCAN_CHUNK) * padded(c->value_dim + 1);
    return hop__max(1, hop__min(HOP__SCAN_HEADS, hop__min(c->heads, (1 << 16) / floats)));
}

/* As many heads a task as leave no worker idle longer than with one. */
static int64_t heads_a_task(const hop_scan *c, int threads)
{
    int64_t best = 1, least = INT64_MAX;
    for (int64_t n = 1; n <= heads_together(c); n++) {
        const int64_t tasks = (c->heads + n - 1) / n, longest = (tasks + threads - 1) / threads * n;
        if (longest <= least) best = n, least = longest;
    }
    return best;
}

/* Floats of one worker; what chunk_take, token_rows_take and ref_program.c take, rounded up piece by piece. */
static size_t forward_floats(const hop_scan *c)
{
    const int64_t K = padded(c->key_dim), ld = padded(c->value_dim + 1), n = HOP__SCAN_CHUNK;
    int64_t row = K + 2 * n;
    int64_t chunk = 2 * K + heads_together(c) * row * ld + 2 * (n * row + HOP__PANEL_MAX) + 2 * n * K +
                    4 * K * n + 2 * n * K + (n + 2) * K + 3 * n + n * ld;
    int64_t recurrent = K * ld + 3 * K + 3 * ld, ref = hop__ref_scan_floats(c->key_dim);
    return (size_t)hop__max(chunk, hop__max(recurrent, ref));
}

/* What grad_take takes, back_head, and ref_scan.c, which keeps doubles, but half as often. */
static size_t backward_floats(const hop_scan *c)
{
    const int64_t K = padded(c->key_dim), ld = padded(c->value_dim + 1), n = HOP__SCAN_BACK, size = K * ld;
    int64_t blocks = (c->tokens + n - 1) / n;
    int64_t fast =
        n * 3 * (K + ld) + (n + 1 + blocks + 1) * size + padded(blocks) + n * ld + 3 * ld + 5 * K * (16 + 1);
    const int64_t m = HOP__SCAN_CHUNK, chunks = (c->tokens + m - 1) / m;
    int64_t chunked = chunks * ((K + m) * ld + m * m) + padded(chunks) + 3 * K * ld + 5 * m * ld + 8 * m * K +
                      5 * m * m + m * (K + m) + 2 * m * 16 + m;
    int64_t ref_blocks = (c->tokens + 2 * n - 1) / (2 * n);
    int64_t ref = 2 * ((2 * n + 1 + ref_blocks + 2) * (size + 1) + 6 * (K + ld) + 4 * n);
    return (size_t)hop__max(chunked, hop__max(fast, ref));
}

static size_t for_threads(size_t floats, int threads)
{
    return floats * (size_t)(threads > 0 ? threads : 1) + 16;
}

size_t hop_scan_scratch(const hop_scan *c, int threads)
{
    return for_threads(forward_floats(c), threads);
}

size_t hop_scan_backward_scratch(const hop_scan *c, int threads)
{
    size_t forward = forward_floats(c), backward = backward_floats(c);
    return for_threads(forward > backward ? forward : backward, threads);
}

static float *aligned(float *p)
{
    return (float *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
}

/* A few microseconds are not worth waking anyone. */
static bool small(const hop_scan *c)
{
    return c->tokens * c->heads * c->key_dim * c->value_dim < (1 << 16);
}

/* ---- forward --------------------------------------------------------------------------------- */

typedef struct forward_job {
    hop__scan_task task;
    size_t per_worker;
    int64_t heads; /* of a task */
} forward_job;

static void forward_task(void *ctx, int64_t task, int worker)
{
    const forward_job *f = ctx;
    hop__scan_task t = f->task;
    t.scratch += f->per_worker * (size_t)worker;
    t.head = task * f->heads;
    t.heads = hop__min(f->heads, t.c->heads - t.head);
    hop__kernels_get()->scan_forward(&t);
}

static void forward(hop__scan_task t, hop_pool *pool)
{
    check(t.c);
    if (small(t.c)) pool = NULL;
    forward_job f = {t, forward_floats(t.c), heads_a_task(t.c, pool ? hop_pool_threads(pool) : 1)};
    f.task.scratch = aligned(t.scratch);
    hop_pool_run(pool, (t.c->heads + f.heads - 1) / f.heads, forward_task, &f);
}

void hop_decay_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                       hop_pool *pool)
{
    forward((hop__scan_task){HOP__DECAY, c, in, o, state, scratch, 0, 0}, pool);
}

void hop_delta_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                       hop_pool *pool)
{
    assert(in->beta && !in->u);
    forward((hop__scan_task){HOP__DELTA, c, in, o, state, scratch, 0, 0}, pool);
}

void hop_dplr_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                      hop_pool *pool)
{
    assert(in->a && in->b && !in->u);
    forward((hop__scan_task){HOP__DPLR, c, in, o, state, scratch, 0, 0}, pool);
}

void hop_mlstm_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                       hop_pool *pool)
{
    assert(in->i && in->f && !in->u);
    forward((hop__scan_task){HOP__MLSTM, c, in, o, state, scratch, 0, 0}, pool);
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct backward_job {
    hop__scan_back task;
    size_t per_worker;
} backward_job;

static void backward_task(void *ctx, int64_t task, int worker)
{
    const backward_job *b = ctx;
    hop__scan_back t = b->task;
    t.scratch += b->per_worker * (size_t)worker;
    t.key_head = task;
    hop__kernels_get()->scan_backward(&t);
}

static void backward(hop__scan_back t, hop_pool *pool)
{
    check(t.c);
    backward_job b = {t, backward_floats(t.c)};
    b.task.scratch = aligned(t.scratch);
    hop_pool_run(small(t.c) ? NULL : pool, t.c->key_heads, backward_task, &b);
}

void hop_decay_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                        float *scratch, hop_pool *pool)
{
    backward((hop__scan_back){HOP__DECAY, c, in, g, state, scratch, 0}, pool);
}

void hop_delta_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                        float *scratch, hop_pool *pool)
{
    assert(in->beta && !in->u);
    backward((hop__scan_back){HOP__DELTA, c, in, g, state, scratch, 0}, pool);
}

void hop_dplr_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                       float *scratch, hop_pool *pool)
{
    assert(in->a && in->b && !in->u);
    backward((hop__scan_back){HOP__DPLR, c, in, g, state, scratch, 0}, pool);
}

void hop_mlstm_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in, const hop_scan *c,
                        float *scratch, hop_pool *pool)
{
    assert(in->i && in->f && !in->u);
    backward((hop__scan_back){HOP__MLSTM, c, in, g, state, scratch, 0}, pool);
}
