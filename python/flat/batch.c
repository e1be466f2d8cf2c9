/* Batches of sequences, whose layout the caller tells. */
#include "flat.h"

hopflat__array hopflat__array_at(const int64_t *arrays, int i)
{
    const int64_t *a = arrays + 3 * i;
    return (hopflat__array){(float *)(uintptr_t)a[0], a[1], a[2]};
}

float *hopflat__of(hopflat__array a, int64_t sequence)
{
    return a.p ? a.p + sequence * a.sequence : NULL;
}

typedef struct job {
    const hopflat__batch *b;
    float *scratch;
    size_t per_worker;
} job;

static void one(void *ctx, int64_t sequence, int worker)
{
    const job *j = ctx;
    j->b->run(j->b->call, sequence, j->scratch + j->per_worker * (size_t)worker, NULL);
}

/* Side by side a sequence stays with its core; but not when a core would be without one for long. */
static bool side_by_side(int64_t sequences, int threads)
{
    return threads > 1 && (sequences % threads == 0 || sequences >= 4 * threads);
}

int hopflat__batch_run(const hopflat__batch *b, int threads)
{
    hopflat__share share = hopflat__share_take(threads);
    const int workers = hop_pool_threads(share.pool);
    const bool side = side_by_side(b->sequences, workers);
    const size_t per_worker = b->scratch(b->call, side ? 1 : workers);
    const size_t floats = side ? per_worker * (size_t)workers : per_worker;
    job j = {b, hop_alloc_raw(floats * sizeof(float)), per_worker};
    if (j.scratch && side) hop_pool_run(share.pool, b->sequences, one, &j);
    for (int64_t i = 0; j.scratch && !side && i < b->sequences; i++)
        b->run(b->call, i, j.scratch, share.pool);
    hopflat__share_give(share);
    hop_free(j.scratch);
    return j.scratch ? HOP_OK : HOP_ENOMEM;
}
