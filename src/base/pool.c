/* A pool of workers that share out numbered tasks. The calling thread works too, as worker 0.
 *
 * Workers take the next number from an atomic counter, so a slow task does not hold up the others. Between
 * runs they sleep on a condition variable; a run of a few microseconds is not worth handing out, so callers
 * keep tasks coarse. Nested runs (a task that calls hop_pool_run on its own pool) are a bug. */
#include <hopbound/base.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

struct hop_pool {
    int threads; /* the caller included */
    pthread_t *handles;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    uint64_t generation; /* number of the current run; guarded by lock */
    int running;         /* workers still in the current run; guarded by lock */
    bool quit;
    hop_job_fn *fn;
    void *ctx;
    int64_t count;
    atomic_llong next;
    hop_team_fn *team;   /* NULL: our own threads */
    atomic_int together; /* who of the team is in the current run */
};

typedef struct worker {
    hop_pool *pool;
    int id;
} worker;

static void work(hop_pool *p, int id)
{
    for (;;) {
        int64_t task = atomic_fetch_add(&p->next, 1);
        if (task >= p->count) return;
        p->fn(p->ctx, task, id);
    }
}

static void *worker_main(void *arg)
{
    worker w = *(worker *)arg;
    free(arg);
    hop_pool *p = w.pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->generation == seen && !p->quit) pthread_cond_wait(&p->wake, &p->lock);
        if (p->quit) break;
        seen = p->generation;
        pthread_mutex_unlock(&p->lock);
        work(p, w.id);
        pthread_mutex_lock(&p->lock);
        if (--p->running == 0) pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int hop_cpu_count(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
#if defined(_SC_NPROCESSORS_ONLN)
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (n > 0) return (int)n;
#endif
    return 1;
}

hop_pool *hop_pool_new(int threads)
{
    if (threads <= 0) threads = hop_cpu_count();
    hop_pool *p = hop_alloc(sizeof *p);
    if (!p) return NULL;
    p->threads = 1;
    p->handles = hop_alloc(sizeof(pthread_t) * (size_t)threads);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    while (p->handles && p->threads < threads) {
        worker *w = malloc(sizeof *w);
        if (!w) break;
        *w = (worker){.pool = p, .id = p->threads};
        if (pthread_create(&p->handles[p->threads], NULL, worker_main, w) != 0) {
            free(w);
            break;
        }
        p->threads++;
    }
    if (p->threads < threads) {
        hop_pool_free(p);
        return NULL;
    }
    return p;
}

hop_pool *hop_pool_over(hop_team_fn *team, int threads)
{
    hop_pool *p = hop_alloc(sizeof *p);
    if (p) p->team = team, p->threads = threads > 1 ? threads : 1;
    return p;
}

static void team_main(void *arg)
{
    hop_pool *p = arg;
    work(p, atomic_fetch_add(&p->together, 1));
}

static void team_run(hop_pool *p, int64_t count, hop_job_fn *fn, void *ctx)
{
    p->fn = fn;
    p->ctx = ctx;
    p->count = count;
    atomic_store(&p->next, 0);
    atomic_store(&p->together, 0);
    p->team(team_main, p, count < p->threads ? (int)count : p->threads);
}

void hop_pool_free(hop_pool *p)
{
    if (!p) return;
    if (p->team) {
        hop_free(p);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i < p->threads; i++) pthread_join(p->handles[i], NULL);
    pthread_cond_destroy(&p->wake);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    hop_free(p->handles);
    hop_free(p);
}

int hop_pool_threads(const hop_pool *p)
{
    return p ? p->threads : 1;
}

void hop_pool_run(hop_pool *p, int64_t count, hop_job_fn *fn, void *ctx)
{
    if (!p || p->threads == 1 || count <= 1) {
        for (int64_t task = 0; task < count; task++) fn(ctx, task, 0);
        return;
    }
    if (p->team) {
        team_run(p, count, fn, ctx);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->fn = fn;
    p->ctx = ctx;
    p->count = count;
    atomic_store(&p->next, 0);
    p->running = p->threads - 1;
    p->generation++;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);

    work(p, 0);

    pthread_mutex_lock(&p->lock);
    while (p->running > 0) pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* ---- rows ------------------------------------------------------------------------------------ */

#define BLOCK_NUMBERS (1 << 12) /* of a task: some microseconds */
#define WORTH_SHARING (1 << 15)

typedef struct rows_job {
    hop_rows_fn *fn;
    void *ctx;
    int64_t rows, block;
} rows_job;

static void rows_task(void *ctx, int64_t task, int id)
{
    const rows_job *j = ctx;
    int64_t first = task * j->block, left = j->rows - first;
    (void)id;
    j->fn(j->ctx, first, left < j->block ? left : j->block);
}

void hop_pool_rows(hop_pool *p, int64_t rows, int64_t numbers, hop_rows_fn *fn, void *ctx)
{
    if (rows <= 0) return;
    if (numbers < 1) numbers = 1;
    if (hop_pool_threads(p) == 1 || rows <= WORTH_SHARING / numbers) {
        fn(ctx, 0, rows);
        return;
    }
    rows_job j = {fn, ctx, rows, numbers < BLOCK_NUMBERS ? BLOCK_NUMBERS / numbers : 1};
    hop_pool_run(p, (rows + j.block - 1) / j.block, rows_task, &j);
}
