/* The transport of many processes: every message between different ranks is a message of MPI's.
 * The only file that sees mpi.h.
 *
 * Sends never wait, which is what the order of messages in players.c counts on; their copies are freed when
 * they have arrived. Whoever waits asks now and then whether the work should stop, and sleeps a little
 * between looking, because players wait for each other most of the time and there may be more of them than
 * cores. A rank that dies ends the job: the launcher sees to that.
 *
 * This is libhopbound-mpi: it sees of libhopbound what everybody may. */
#include <hopbound/mpi.h>

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 1, TAG_ASIDE = 2 };
#define CHUNK ((size_t)1 << 30) /* MPI counts in ints */

/* What MPI may still read or write: a send under way, a collective that nobody waits for any more. */
typedef struct flight {
    MPI_Request request;
    void *bytes;
} flight;

typedef struct mpi {
    hop_transport base;  /* first: a hop_transport * is one of these */
    hop_transport *self; /* for players of this rank */
    flight *flights;
    int count, room;
} mpi;

/* Until the request is done. Looks often at first, then every fifth of a millisecond. */
static hop_status finish(mpi *t, MPI_Request *request, MPI_Status *status, hop_error *err)
{
    for (int looks = 0;; looks++) {
        int done = 0;
        if (MPI_Test(request, &done, status) != MPI_SUCCESS)
            return hop_fail(err, HOP_EIO, "rank %d: MPI lost a message", t->base.rank);
        if (done) return HOP_OK;
        if (t->base.stopped && t->base.stopped()) return hop_fail(err, HOP_ESTOPPED, "stopped on request");
        if (looks > 1000) nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

/* Forgets what is done. */
static hop_status reap(mpi *t, hop_error *err)
{
    int kept = 0;
    for (int i = 0; i < t->count; i++) {
        int done = 0;
        if (MPI_Test(&t->flights[i].request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return hop_fail(err, HOP_EIO, "rank %d: MPI could not send a message", t->base.rank);
        if (done)
            free(t->flights[i].bytes);
        else
            t->flights[kept++] = t->flights[i];
    }
    t->count = kept;
    return HOP_OK;
}

static int tag_of(hop_route r)
{
    return r.aside ? TAG_ASIDE : TAG;
}

/* Room for one more flight, of `size` bytes; it becomes one when t->count counts it. NULL, and *s set, on
 * failure. */
static flight *prepare(mpi *t, size_t size, hop_status *s, hop_error *err)
{
    if ((*s = reap(t, err)) != HOP_OK) return NULL;
    if (t->count == t->room) {
        int room = 2 * t->room + 16;
        flight *more = realloc(t->flights, sizeof *more * (size_t)room);
        if (more) t->flights = more, t->room = room;
    }
    flight *f = t->count < t->room ? &t->flights[t->count] : NULL;
    if (f && (f->bytes = malloc(size))) return f;
    *s = hop_fail(err, HOP_ENOMEM, "a message of %zu bytes: out of memory", size);
    return NULL;
}

static hop_status send_chunk(mpi *t, hop_route r, const void *bytes, size_t size, hop_error *err)
{
    hop_status s;
    flight *f = prepare(t, size, &s, err);
    if (!f) return s;
    memcpy(f->bytes, bytes, size);
    if (MPI_Isend(f->bytes, (int)size, MPI_BYTE, r.to_rank, tag_of(r), MPI_COMM_WORLD, &f->request) ==
        MPI_SUCCESS) {
        t->count++;
        return HOP_OK;
    }
    free(f->bytes);
    return hop_fail(err, HOP_EIO, "rank %d: MPI could not send a message", t->base.rank);
}

static hop_status mpi_send(hop_transport *base, hop_route r, const void *bytes, size_t size, hop_error *err)
{
    mpi *t = (mpi *)base;
    if (r.to_rank == base->rank) return t->self->send(t->self, r, bytes, size, err);
    hop_status s = HOP_OK;
    for (size_t at = 0; s == HOP_OK && at < size; at += CHUNK)
        s = send_chunk(t, r, (const char *)bytes + at, size - at < CHUNK ? size - at : CHUNK, err);
    return s;
}

/* `n` bytes from a rank, or from MPI_ANY_SOURCE; *from becomes whose they are. */
static hop_status recv_chunk(mpi *t, int *from, int tag, void *bytes, int n, hop_error *err)
{
    MPI_Request request;
    MPI_Status status;
    if (MPI_Irecv(bytes, n, MPI_BYTE, *from, tag, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return hop_fail(err, HOP_EIO, "rank %d: MPI could not receive a message", t->base.rank);
    hop_status s = finish(t, &request, &status, err);
    if (s != HOP_OK && request != MPI_REQUEST_NULL) { /* the caller's memory is his again */
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (s != HOP_OK) return s;
    int came = 0;
    MPI_Get_count(&status, MPI_BYTE, &came);
    *from = status.MPI_SOURCE;
    if (came == n) return HOP_OK;
    return hop_fail(err, HOP_EFORMAT, "rank %d waits for %d bytes of rank %d, %d came", t->base.rank, n,
                    *from, came);
}

static hop_status mpi_recv(hop_transport *base, hop_route r, void *bytes, size_t size, hop_error *err)
{
    mpi *t = (mpi *)base;
    if (r.from_rank == base->rank) return t->self->recv(t->self, r, bytes, size, err);
    hop_status s = HOP_OK;
    for (size_t at = 0; s == HOP_OK && at < size; at += CHUNK) {
        int n = (int)(size - at < CHUNK ? size - at : CHUNK), from = r.from_rank;
        s = recv_chunk(t, &from, tag_of(r), (char *)bytes + at, n, err);
    }
    return s;
}

static hop_status mpi_recv_any(hop_transport *base, int *from_rank, void *bytes, size_t size, hop_error *err)
{
    *from_rank = MPI_ANY_SOURCE;
    return recv_chunk((mpi *)base, from_rank, TAG_ASIDE, bytes, (int)size, err);
}

/* A collective cannot be cancelled: it works on memory of its own, which outlives whoever stopped waiting. */
static hop_status together(mpi *t, int64_t *x, bool largest, hop_error *err)
{
    hop_status s;
    flight *f = prepare(t, 2 * sizeof *x, &s, err);
    if (!f) return s;
    int64_t *own = f->bytes;
    own[0] = own[1] = *x;
    int started = largest
                      ? MPI_Iallreduce(&own[0], &own[1], 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, &f->request)
                      : MPI_Ibcast(&own[1], 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &f->request);
    if (started != MPI_SUCCESS) {
        free(own);
        return hop_fail(err, HOP_EIO, "rank %d: MPI cannot reach all ranks", t->base.rank);
    }
    s = finish(t, &f->request, MPI_STATUS_IGNORE, err);
    if (s == HOP_OK) {
        *x = own[1];
        free(own);
    } else {
        t->count++;
    }
    return s;
}

static hop_status mpi_broadcast(hop_transport *base, int64_t *x, hop_error *err)
{
    return together((mpi *)base, x, false, err);
}

static hop_status mpi_largest(hop_transport *base, int64_t *x, hop_error *err)
{
    return together((mpi *)base, x, true, err);
}

static void mpi_close(hop_transport *base, int code)
{
    mpi *t = (mpi *)base;
    if (code == HOP_TRANSPORT_LEAVE) return; /* MPI may still look at what is under way: the process ends */
    if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
    for (int i = 0; i < t->count; i++) {
        if (finish(t, &t->flights[i].request, MPI_STATUS_IGNORE, NULL) != HOP_OK)
            return; /* stopped: as if left */
        free(t->flights[i].bytes);
    }
    free(t->flights);
    hop_transport_close(t->self, 0);
    MPI_Finalize();
    free(t);
}

static hop_status start(mpi *t, hop_error *err)
{
    int level;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS ||
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        MPI_Comm_rank(MPI_COMM_WORLD, &t->base.rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &t->base.ranks) != MPI_SUCCESS)
        return hop_fail(err, HOP_EIO, "MPI cannot be started");
    return hop_transport_in_process(&t->self, err);
}

hop_status hop_transport_mpi(hop_transport **out, hop_error *err)
{
    mpi *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t) return hop_fail(err, HOP_ENOMEM, "out of memory");
    t->base = (hop_transport){.name = "mpi", .send = mpi_send, .recv = mpi_recv};
    t->base.recv_any = mpi_recv_any;
    t->base.broadcast = mpi_broadcast;
    t->base.largest = mpi_largest;
    t->base.close = mpi_close;
    hop_status s = start(t, err);
    if (s == HOP_OK)
        *out = &t->base;
    else
        free(t);
    return s;
}
