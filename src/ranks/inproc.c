/* The transport of one process: every message is a copy of its bytes in a queue. */
#include <hopbound/ranks.h>

#include <stdlib.h>
#include <string.h>

/* ---- messages that wait -------------------------------------------------------------------------- */

typedef struct mail {
    struct mail *next;
    int from, to;
    bool aside;
    size_t size;
    unsigned char bytes[];
} mail;

typedef struct mailbox {
    mail *first, **end;
} mailbox;

static hop_status put(mailbox *b, hop_route r, const void *bytes, size_t size, hop_error *err)
{
    mail *m = malloc(sizeof *m + size);
    if (!m) return hop_fail(err, HOP_ENOMEM, "a message of %zu bytes: out of memory", size);
    *m = (mail){.from = r.from, .to = r.to, .aside = r.aside, .size = size};
    memcpy(m->bytes, bytes, size);
    *b->end = m;
    b->end = &m->next;
    return HOP_OK;
}

static hop_status take(mailbox *b, hop_route r, void *bytes, size_t size, hop_error *err)
{
    mail **at = &b->first;
    while (*at && ((*at)->from != r.from || (*at)->to != r.to || (*at)->aside != r.aside)) at = &(*at)->next;
    mail *m = *at;
    if (!m || m->size != size)
        return hop_fail(err, HOP_EFORMAT, "player %d waits for %zu bytes of player %d, there are %zu", r.to,
                        size, r.from, m ? m->size : 0);
    memcpy(bytes, m->bytes, size);
    *at = m->next;
    if (!*at) b->end = at;
    free(m);
    return HOP_OK;
}

static void empty(mailbox *b)
{
    while (b->first) {
        mail *m = b->first;
        b->first = m->next;
        free(m);
    }
}

/* ---- the transport ------------------------------------------------------------------------------- */

typedef struct inproc {
    hop_transport base; /* first: a hop_transport * is one of these */
    mailbox box;
} inproc;

static hop_status inproc_send(hop_transport *t, hop_route r, const void *bytes, size_t size, hop_error *err)
{
    return put(&((inproc *)t)->box, r, bytes, size, err);
}

static hop_status inproc_recv(hop_transport *t, hop_route r, void *bytes, size_t size, hop_error *err)
{
    return take(&((inproc *)t)->box, r, bytes, size, err);
}

/* Of one rank. */
static hop_status inproc_keep(hop_transport *t, int64_t *x, hop_error *err)
{
    (void)t, (void)x, (void)err;
    return HOP_OK;
}

static void inproc_close(hop_transport *t, int code)
{
    (void)code;
    empty(&((inproc *)t)->box);
    free(t);
}

hop_status hop_transport_in_process(hop_transport **out, hop_error *err)
{
    inproc *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return hop_fail(err, HOP_ENOMEM, "out of memory");
    p->base = (hop_transport){.name = "in-process", .ranks = 1};
    p->base.send = inproc_send;
    p->base.recv = inproc_recv;
    p->base.broadcast = p->base.largest = inproc_keep;
    p->base.close = inproc_close;
    p->box.end = &p->box.first;
    *out = &p->base;
    return HOP_OK;
}

void hop_transport_close(hop_transport *t, int code)
{
    if (t) t->close(t, code);
}

/* What launchers tell the processes that they start: Open MPI; MPICH, Intel and Slurm; any PMIx. */
bool hop_ranks_launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i])) return true;
    return false;
}
