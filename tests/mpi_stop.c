/* Two ranks of mpirun: what was being received when somebody stopped is not written to afterwards. */
#include <hopbound/mpi.h>
#include <hopbound/protocol.h>

#include <stdio.h>
#include <string.h>

static bool yes(void)
{
    return true;
}

static int bad(hop_transport *t, const char *what)
{
    fprintf(stderr, "rank %d: %s\n", t->rank, what);
    return 1;
}

/* Stops while it receives and while it takes part in a collective; then goes on, which a program would not.
 */
static int stopped_rank(hop_transport *t)
{
    static const hop_route in = {.from = 0, .to = 1, .from_rank = 0, .to_rank = 1},
                           out = {.from = 1, .to = 0, .from_rank = 1, .to_rank = 0};
    char first[8], second[8] = "";
    int64_t said = 1, most = 1;
    t->stopped = yes;
    if (t->recv(t, in, first, sizeof first, NULL) != HOP_ESTOPPED) return bad(t, "a receive did not stop");
    if (t->broadcast(t, &said, NULL) != HOP_ESTOPPED) return bad(t, "a collective did not stop");
    memset(first, 'p', sizeof first);
    said = -7;
    t->stopped = NULL;
    if (t->send(t, out, "go ahead", 8, NULL) != HOP_OK) return bad(t, "cannot send");
    if (t->recv(t, in, second, sizeof second, NULL) != HOP_OK) return bad(t, "cannot receive");
    if (t->largest(t, &most, NULL) != HOP_OK || most != 5) return bad(t, "no largest");
    if (memcmp(second, "message.", 8) != 0) return bad(t, "another message came");
    if (memcmp(first, "pppppppp", 8) != 0) return bad(t, "a stopped receive wrote into freed memory");
    return said == -7 ? 0 : bad(t, "a stopped collective wrote into freed memory");
}

static int other_rank(hop_transport *t)
{
    static const hop_route in = {.from = 1, .to = 0, .from_rank = 1, .to_rank = 0},
                           out = {.from = 0, .to = 1, .from_rank = 0, .to_rank = 1};
    char go[8];
    int64_t said = 42, most = 5;
    if (t->recv(t, in, go, sizeof go, NULL) != HOP_OK) return bad(t, "cannot receive");
    if (t->broadcast(t, &said, NULL) != HOP_OK) return bad(t, "cannot broadcast");
    if (t->send(t, out, "message.", 8, NULL) != HOP_OK) return bad(t, "cannot send");
    return t->largest(t, &most, NULL) == HOP_OK && most == 5 ? 0 : bad(t, "no largest");
}

int main(void)
{
    hop_transport *t;
    hop_error err = {0};
    if (hop_transport_mpi(&t, &err) != HOP_OK || t->ranks != 2) {
        fprintf(stderr, "not started by mpirun -n 2: %s\n", err.text);
        return 1;
    }
    int code = t->rank == 1 ? stopped_rank(t) : other_rank(t);
    hop_transport_close(t, code);
    return code;
}
