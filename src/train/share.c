/* What ranks tell each other in a step. Groups are shared out, and so are the columns of the gradient: every
 * rank sends each other one the columns of that one's, of all groups that it computed; sums its own columns
 * over all groups, in their order, as one process would; and sends the sum to all. So the bits do not depend
 * on the number of ranks, and a rank sends about as many numbers as its groups' gradients have. */
#include "room.h"

#include <string.h>

static int64_t ranks_of(const hop__share *s)
{
    return s->transport ? s->transport->ranks : 1;
}

int64_t hop__share_groups(const hop__share *s, int64_t rank)
{
    return s->groups * rank / ranks_of(s);
}

int64_t hop__share_chunks(const hop__share *s, int64_t rank)
{
    return s->chunks * rank / ranks_of(s);
}

/* Where a rank's columns begin. */
static int64_t column_of(const hop__share *s, int64_t rank)
{
    int64_t at = hop__share_chunks(s, rank) * HOP__CHUNK;
    return at < s->floats ? at : s->floats;
}

hop_status hop__share_init(hop__share *s, hop_transport *t, int64_t groups, int64_t floats, hop_error *err)
{
    *s = (hop__share){.transport = t, .rank = t ? t->rank : 0, .groups = groups, .floats = floats};
    s->chunks = (floats + HOP__CHUNK - 1) / HOP__CHUNK;
    s->block = hop_alloc(sizeof *s->block * (size_t)groups);
    s->loss = hop_alloc(sizeof *s->loss * (size_t)groups);
    s->square = hop_alloc(sizeof *s->square * (size_t)s->chunks);
    bool fits = s->block && s->loss && s->square;
    for (int64_t b = 0; fits && b < groups; b++)
        fits = (s->block[b] = hop_alloc(sizeof(float) * (size_t)floats)) != NULL;
    return fits ? HOP_OK
                : hop_fail(err, HOP_ENOMEM, "%lld blocks of %lld gradients: out of memory", (long long)groups,
                           (long long)floats);
}

void hop__share_free(hop__share *s)
{
    for (int64_t b = 0; s->block && b < s->groups; b++) hop_free(s->block[b]);
    hop_free(s->block);
    hop_free(s->loss);
    hop_free(s->square);
    *s = (hop__share){0};
}

static hop_status pass(hop__share *s, int other, bool sends, void *data, size_t bytes, hop_error *err)
{
    hop_transport *t = s->transport;
    hop_route to = {.from = s->rank, .to = other, .from_rank = s->rank, .to_rank = other};
    hop_route from = {.from = other, .to = s->rank, .from_rank = other, .to_rank = s->rank};
    if (bytes == 0) return HOP_OK;
    return sends ? t->send(t, to, data, bytes, err) : t->recv(t, from, data, bytes, err);
}

/* The columns of rank `columns`, of all groups of rank `groups`. */
static hop_status pass_columns(hop__share *s, int columns, int groups, bool sends, hop_error *err)
{
    int64_t from = column_of(s, columns), n = column_of(s, columns + 1) - from;
    hop_status got = HOP_OK;
    for (int64_t b = hop__share_groups(s, groups); got == HOP_OK && b < hop__share_groups(s, groups + 1); b++)
        got = pass(s, sends ? columns : groups, sends, s->block[b] + from, sizeof(float) * (size_t)n, err);
    return got;
}

/* Sends never wait, so all go first. */
hop_status hop__share_scatter(hop__share *s, hop_error *err)
{
    hop_status got = HOP_OK;
    for (int other = 0; got == HOP_OK && other < ranks_of(s); other++)
        if (other != s->rank) got = pass_columns(s, other, s->rank, true, err);
    for (int other = 0; got == HOP_OK && other < ranks_of(s); other++)
        if (other != s->rank) got = pass_columns(s, s->rank, other, false, err);
    return got;
}

/* The sum of a rank's columns, their squares, the losses of its groups. */
static hop_status pass_sums(hop__share *s, int other, bool sends, hop_error *err)
{
    int whose = sends ? s->rank : other;
    int64_t column = column_of(s, whose), chunk = hop__share_chunks(s, whose),
            group = hop__share_groups(s, whose);
    size_t columns = (size_t)(column_of(s, whose + 1) - column);
    size_t chunks = (size_t)(hop__share_chunks(s, whose + 1) - chunk);
    size_t groups = (size_t)(hop__share_groups(s, whose + 1) - group);
    hop_status got = pass(s, other, sends, s->block[0] + column, sizeof(float) * columns, err);
    if (got == HOP_OK) got = pass(s, other, sends, s->square + chunk, sizeof *s->square * chunks, err);
    return got == HOP_OK ? pass(s, other, sends, s->loss + group, sizeof *s->loss * groups, err) : got;
}

hop_status hop__share_gather(hop__share *s, hop_error *err)
{
    hop_status got = HOP_OK;
    for (int sends = 1; sends >= 0; sends--)
        for (int other = 0; got == HOP_OK && other < ranks_of(s); other++)
            if (other != s->rank) got = pass_sums(s, other, sends, err);
    return got;
}
