/* hopbound/ranks.h - processes that work together: messages between them, and what all of them do at once.
 * One process is the special case that sends to itself.
 *
 *     hop_transport *t;
 *     hop_transport_in_process(&t, &err);           // or hop_transport_mpi of hopbound/mpi.h, or your own
 *     if (t->rank == 0) ..
 *     hop_transport_close(t, 0);
 *
 * The library asks for a transport and does not care whose it is. That of MPI is a library of its own,
 * libhopbound-mpi, so that who does not need ranks does not load MPI.
 */
#ifndef HOPBOUND_RANKS_H
#define HOPBOUND_RANKS_H

#include <hopbound/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who sends to whom: parties by number (players of a game; else ranks), and the ranks (processes) that hold
 * them.
 */
typedef struct hop_route {
    int from, to, from_rank, to_rank;
    bool aside; /* not ordered with the messages that are not */
} hop_route;

/* How messages travel. Those of one route arrive in the order in which they were sent; the receiver knows
 * their lengths. A send never waits for the receiver. A receive that fails no longer touches its buffer. For the
 * thread that opened it. */
typedef struct hop_transport hop_transport;
struct hop_transport {
    const char *name; /* "in-process", "mpi" */
    int rank, ranks;
    bool (*stopped)(void); /* asked while waiting; NULL: nobody wants to stop */
    hop_status (*send)(hop_transport *t, hop_route r, const void *bytes, size_t size, hop_error *err);
    hop_status (*recv)(hop_transport *t, hop_route r, void *bytes, size_t size, hop_error *err);
    /* The next message that any other rank sent here aside, which is of that size, below 2^30. NULL: there is
     * but one rank. */
    hop_status (*recv_any)(hop_transport *t, int *from_rank, void *bytes, size_t size, hop_error *err);
    /* Collectives: every rank calls them, and returns when all have. */
    hop_status (*broadcast)(hop_transport *t, int64_t *x, hop_error *err); /* *x becomes rank 0's */
    hop_status (*largest)(hop_transport *t, int64_t *x, hop_error *err);   /* *x becomes the largest of all */
    void (*close)(hop_transport *t, int code);
};

/* Whether an MPI launcher (mpirun, srun, ..) started this process, as its environment says. */
bool hop_ranks_launched(void);
/* Mailboxes in this process, which is rank 0 of one. */
hop_status hop_transport_in_process(hop_transport **out, hop_error *err);
/* Code 0: all ranks close. A code above 0 ends the other ranks, too. HOP_TRANSPORT_LEAVE does not wait for
 * them, because the launcher is ending them. NULL is fine. */
#define HOP_TRANSPORT_LEAVE (-1)
void hop_transport_close(hop_transport *t, int code);

#ifdef __cplusplus
}
#endif
#endif
