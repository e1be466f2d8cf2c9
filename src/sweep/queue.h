/* What sweep.c and ranks.c share: the runs that are left, and the one place that writes what becomes of them.
 */
#ifndef HOP_SWEEP_QUEUE_H
#define HOP_SWEEP_QUEUE_H

#include "room.h"

#include <pthread.h>

typedef struct hop__queue {
    const hop_sweep_options *o;
    const hop_recipe *list;
    hop_sweep_result *result;
    hop_store *store;
    int64_t *id;               /* [count]: rows */
    int64_t *left, left_count; /* of the list */
    int slots, threads;        /* runs at a time, threads of each */
    _Atomic double *part;      /* [slots]: how far each is */
    hop_lock others;           /* keeps other processes from the runs' directories */
    pthread_mutex_t lock;      /* guards the store and what follows */
    _Atomic int64_t ended;
    _Atomic bool stopped;
    hop_status status; /* of the first write that failed */
    hop_error err;
} hop__queue;

hop_status hop__queue_open(hop__queue *d, const hop_recipe *list, int64_t count, hop_error *err);
void hop__queue_close(hop__queue *d); /* also after open failed */
bool hop__queue_tick(hop__queue *d);
void hop__queue_begin(hop__queue *d, int64_t run);
void hop__queue_measured(hop__queue *d, int64_t run, const hop_measure *m);
/* `reason` "": done; NULL: interrupted. */
void hop__queue_ended(hop__queue *d, int64_t run, const hop_measure *m, const char *reason);

/* ranks.c. All ranks: whether rank 0 could begin (`s` is its status) and has the same list. */
hop_status hop__ranks_agree(hop_transport *t, const hop_recipe *list, int64_t count, hop_status s,
                            hop_error *err);
hop_status hop__rank_serve(hop__queue *d, hop_error *err); /* rank 0 */
hop_status hop__rank_work(const hop_recipe *list, int64_t count, const hop_sweep_options *o, int threads,
                          hop_error *err);

#endif
