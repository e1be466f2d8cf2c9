/* play: ranks in step. Each has opened the network and the input for itself, so they may differ. */
#include "play.h"

static uint64_t fold(uint64_t h, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) h = (h ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return h; /* FNV-1a */
}

/* Of all that decides which messages come next: ranks that differ in it would wait for each other. */
static int64_t digest(const playing *p)
{
    const hop_config *c = hop_model_config(p->model);
    const int64_t sizes[] = {
        p->ended,          p->args->bits.integer, p->args->no_compare.flag, p->seats.count, c->d_model,
        c->pattern.layers, p->one.count};
    uint64_t h = fold(0xcbf29ce484222325u, sizes, sizeof sizes);
    for (int i = 0; i < p->seats.count; i++) h = fold(h, &p->seats.players[i].first, sizeof(int64_t));
    h = fold(h, p->one.tokens, sizeof *p->one.tokens * (size_t)p->one.count);
    return (int64_t)(fold(h, p->one.targets, sizeof *p->one.targets * (size_t)p->one.count) >> 1);
}

/* Whether all ranks did their step, and are where rank 0 is. */
static hop_status compare_ranks(playing *p, hop_status mine, hop_error *err)
{
    hop_transport *t = p->transport;
    int64_t here = mine == HOP_OK ? digest(p) : 0, first = here;
    const int64_t exit = hop__exit(mine);
    hop_status s = t->broadcast(t, &first, mine == HOP_OK ? err : NULL);
    int64_t worst = exit ? 2 * exit : here != first; /* who failed has said why */
    if (s == HOP_OK) s = t->largest(t, &worst, mine == HOP_OK ? err : NULL);
    p->apart = s != HOP_OK;
    if (s != HOP_OK) return mine == HOP_OK ? hop__play_fail(p, s, err) : mine;
    if (worst != 1) {
        p->told = (hop_exit)(worst / 2);
        return mine;
    }
    p->told = HOP_EXIT_FAILED;
    if (t->rank > 0) return HOP_OK;
    return hop_fail(err, HOP_EFORMAT,
                    "ranks differ at instance %lld: give all of them the same network, options and --input",
                    (long long)p->instances + 1);
}

hop_status hop__play_in_turn(playing *p, hop_status (*step)(playing *p, hop_error *err), hop_error *err)
{
    hop_transport *t = p->transport;
    hop_status s = t->rank == 0 ? step(p, err) : HOP_OK;
    int64_t said = hop__exit(s);
    const hop_status got = t->broadcast(t, &said, s == HOP_OK ? err : NULL);
    p->apart = got != HOP_OK;
    if (p->apart) return s == HOP_OK ? hop__play_fail(p, got, err) : s;
    p->told = (hop_exit)said;
    if (said || s != HOP_OK) return s;
    return compare_ranks(p, t->rank > 0 ? step(p, err) : HOP_OK, err);
}
