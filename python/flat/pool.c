/* One pool for the process. */
#include "flat.h"

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
