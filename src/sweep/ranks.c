/* A sweep over the ranks of mpirun: the others ask rank 0 for a run, tell it what they measure and how it
 * ended, and ask again. Rank 0 alone writes. */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum word { ASK, MEASURED, ENDED, STOPPED } word;

typedef struct message {
    int64_t word, run;
    hop_measure measure;
    char reason[400];
} message;

#define NO_MORE (-1)

/* ---- all ranks ------------------------------------------------------------------------------------ */

hop_status hop__ranks_agree(hop_transport *t, const hop_recipe *list, int64_t count, hop_status s,
                            hop_error *err)
{
    hop_hash h;
    hop_hash_init(&h);
    for (int64_t i = 0; i < count; i++) {
        char *text = hop__run_text(&list[i]);
        if (text) hop_hash_add(&h, text, strlen(text) + 1);
        free(text);
    }
    int64_t mine = (int64_t)(hop_hash_end(&h) >> 2), first = s == HOP_OK ? mine : -1;
    hop_status told = t->broadcast(t, &first, err);
    if (s != HOP_OK || told != HOP_OK) return s != HOP_OK ? s : told;
    if (first < 0) return hop_fail(err, HOP_ESTOPPED, "rank 0 could not begin");
    return first == mine ? HOP_OK : hop_fail(err, HOP_EFORMAT, "rank %d has other runs than rank 0", t->rank);
}

/* ---- rank 0 ----------------------------------------------------------------------------------------- */

static hop_status reply(hop__queue *d, int to, int64_t *next, int *asking, hop_error *err)
{
    hop_transport *t = d->o->ranks;
    int64_t run = *next < d->left_count && !d->stopped ? d->left[(*next)++] : NO_MORE;
    if (run == NO_MORE)
        (*asking)--;
    else
        hop__queue_begin(d, run);
    return t->send(t, (hop_route){.from = 0, .to = to, .to_rank = to}, &run, sizeof run, err);
}

hop_status hop__rank_serve(hop__queue *d, hop_error *err)
{
    hop_transport *t = d->o->ranks;
    int asking = t->ranks - 1;
    int64_t next = 0;
    hop_status s = HOP_OK;
    while (s == HOP_OK && asking > 0) {
        message m;
        int from;
        hop__queue_tick(d);
        s = t->recv_any(t, &from, &m, sizeof m, err);
        if (s != HOP_OK) break;
        switch ((word)m.word) {
        case ASK: s = reply(d, from, &next, &asking, err); break;
        case MEASURED: hop__queue_measured(d, m.run, &m.measure); break;
        case ENDED: hop__queue_ended(d, m.run, &m.measure, m.reason); break;
        case STOPPED: hop__queue_ended(d, m.run, &m.measure, NULL); break;
        }
    }
    return s;
}

/* ---- the others --------------------------------------------------------------------------------------- */

typedef struct worker {
    hop_transport *transport;
    int64_t run;
    hop_status status; /* of the first message that could not be sent */
    hop_error err;
} worker;

static void tell(worker *w, word what, const hop_measure *m, const char *reason)
{
    hop_transport *t = w->transport;
    message out;
    memset(&out, 0, sizeof out);
    out.word = what;
    out.run = w->run;
    if (m) out.measure = *m;
    if (reason) snprintf(out.reason, sizeof out.reason, "%s", reason);
    hop_error err = {0};
    hop_status s = t->send(t, (hop_route){.from = t->rank, .to = 0, .from_rank = t->rank, .aside = true},
                           &out, sizeof out, &err);
    if (w->status == HOP_OK && s != HOP_OK) {
        w->status = s;
        w->err = err;
    }
}

static void tell_measured(void *ctx, const hop_measure *m)
{
    tell(ctx, MEASURED, m, NULL);
}

hop_status hop__rank_work(const hop_recipe *list, int64_t count, const hop_sweep_options *o, int threads,
                          hop_error *err)
{
    hop_transport *t = o->ranks;
    worker w = {.transport = t};
    const hop__work work = {o, threads, o->progress, tell_measured, &w};
    hop_status s = hop__ranks_agree(t, list, count, HOP_OK, err);
    while (s == HOP_OK) {
        tell(&w, ASK, NULL, NULL);
        s = t->recv(t, (hop_route){.from = 0, .to = t->rank, .to_rank = t->rank}, &w.run, sizeof w.run, err);
        if (s != HOP_OK || w.run == NO_MORE) break;
        hop_measure last;
        char reason[400];
        s = hop__work_run(&work, &list[w.run], &last, reason);
        tell(&w, s == HOP_OK ? ENDED : STOPPED, &last, s == HOP_OK ? reason : NULL);
        if (w.status != HOP_OK && err) *err = w.err;
        if (w.status != HOP_OK) return w.status;
    }
    return s;
}
