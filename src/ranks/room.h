/* What the files of this room share. */
#ifndef HOP_RANKS_ROOM_H
#define HOP_RANKS_ROOM_H

#include <hopbound/ranks.h>

/* inproc.c: messages that wait in this process. */
typedef struct hop__mail {
    struct hop__mail *next;
    int from, to;
    bool aside;
    size_t size;
    unsigned char bytes[];
} hop__mail;
typedef struct hop__mailbox {
    hop__mail *first, **end;
} hop__mailbox;
void hop__mailbox_init(hop__mailbox *b);
hop_status hop__mailbox_put(hop__mailbox *b, hop_route r, const void *bytes, size_t size, hop_error *err);
hop_status hop__mailbox_take(hop__mailbox *b, hop_route r, void *bytes, size_t size, hop_error *err);
void hop__mailbox_free(hop__mailbox *b);

/* mpi.c, when there is MPI. */
hop_status hop__transport_mpi(hop_transport **out, hop_error *err);

#endif
