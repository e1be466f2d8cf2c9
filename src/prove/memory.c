#include "memory.h"

#include <string.h>

/* Blocks that are handed out piece by piece and used again after a clear: pages that are there already cost
 * less than new ones. */
struct hop__chunk {
    struct hop__chunk *next;
    size_t size, used;
    char pad[HOP_ALIGN - sizeof(void *) - 2 * sizeof(size_t)];
};

#define LEAST_CHUNK ((size_t)1 << 20)

void *hop__take(hop__memory *m, int64_t count, size_t size)
{
    size_t bytes;
    if (m->status != HOP_OK) return NULL;
    if (count < 0 || !hop_mul_size((size_t)count, size, &bytes) || bytes > SIZE_MAX / 4) {
        m->status = HOP_ENOMEM;
        return NULL;
    }
    bytes = (bytes + HOP_ALIGN - 1) / HOP_ALIGN * HOP_ALIGN + (bytes == 0) * HOP_ALIGN;
    struct hop__chunk **at = &m->chunks, *c = m->chunks;
    for (; c && c->size - c->used < bytes; c = c->next) at = &c->next;
    if (!c) {
        size_t room = bytes > LEAST_CHUNK ? bytes : LEAST_CHUNK;
        c = hop_alloc_raw(sizeof *c + room);
        if (!c) {
            m->status = HOP_ENOMEM;
            return NULL;
        }
        *c = (struct hop__chunk){.size = room};
        *at = c;
    }
    char *p = (char *)(c + 1) + c->used;
    c->used += bytes;
    return memset(p, 0, bytes);
}

void hop__memory_clear(hop__memory *m)
{
    for (struct hop__chunk *c = m->chunks; c; c = c->next) c->used = 0;
}

void hop__memory_free(hop__memory *m)
{
    while (m->chunks) {
        struct hop__chunk *next = m->chunks->next;
        hop_free(m->chunks);
        m->chunks = next;
    }
}
