/* Memory that is freed as a whole, and the first thing that went wrong: once `status` is set, results mean
 * nothing and every function returns at once. */
#ifndef HOP_PROVE_MEMORY_H
#define HOP_PROVE_MEMORY_H

#include <hopbound/base.h>

typedef struct hop__memory {
    struct hop__chunk *chunks;
    hop_status status;
    bool overflow; /* a number may leave float32's range: nothing is proved then */
} hop__memory;

void *hop__take(hop__memory *m, int64_t count, size_t size); /* zeroed; NULL and m->status set on failure */
void hop__memory_clear(hop__memory *m);                      /* all of it may be handed out again */
void hop__memory_free(hop__memory *m);

#endif
