/* One pool for the process, and pools over another library's threads: two sets of threads on the same cores wait for each
 * other, the more so as OpenMP's spin for a while after each piece of work. */
#include "flat.h"

#include <string.h>

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static hop_pool *ours; /* guarded by `taken` */

/* fork copies no threads: in a child the pool's workers are not there, and it may have been taken. */
static void forget(void)
{
    ours = NULL;
    pthread_mutex_init(&taken, NULL);
}

static void begin(void)
{
    pthread_atfork(NULL, NULL, forget);
}

hop_pool *hopflat__pool_take(int threads)
{
    if (threads <= 0) threads = hop_cpu_count();
    pthread_once(&once, begin);
    if (threads == 1 || pthread_mutex_trylock(&taken) != 0) return NULL;
    if (ours && hop_pool_threads(ours) != threads) {
        hop_pool_free(ours);
        ours = NULL;
    }
    if (!ours) ours = hop_pool_new(threads);
    if (!ours) pthread_mutex_unlock(&taken);
    return ours;
}

void hopflat__pool_give(hop_pool *p)
{
    if (p) pthread_mutex_unlock(&taken);
}

/* ---- the team's ------------------------------------------------------------------------------ */

typedef void gomp_parallel(void (*fn)(void *ctx), void *ctx, unsigned threads, unsigned flags);
static gomp_parallel *team; /* set once, before any operator is called */

void hopflat_team(void *address)
{
    memcpy(&team, &address, sizeof team); /* C has no cast from an object's address to a function's */
}

static void by_openmp(void (*fn)(void *ctx), void *ctx, int threads)
{
    team(fn, ctx, (unsigned)threads, 0);
}

hopflat__share hopflat__share_take(int threads)
{
    if (!team || threads == 1) return (hopflat__share){hopflat__pool_take(threads), false};
    return (hopflat__share){hop_pool_over(by_openmp, threads > 0 ? threads : hop_cpu_count()), true};
}

void hopflat__share_give(hopflat__share s)
{
    if (s.team)
        hop_pool_free(s.pool);
    else
        hopflat__pool_give(s.pool);
}
