/* Who holds what: segments of the prompt as players. */
#include <hopbound/protocol.h>

int hop_players_of_funccomp(const hop_funccomp *t, hop_player out[HOP_MAX_PLAYERS])
{
    int n = 0;
    for (int l = t->hops; l >= 0; l--)
        out[n++] = (hop_player){.name = l, .first = t->start[l], .tokens = l > 0 ? t->size[l - 1] : 1};
    out[n++] = (hop_player){.name = HOP_PLAYER_QUERY, .first = t->length - 1, .tokens = 1};
    return n;
}

hop_status hop_players_even(hop_player out[HOP_MAX_PLAYERS], int count, int64_t tokens, hop_error *err)
{
    if (count < 1 || count > HOP_MAX_PLAYERS || count > tokens)
        return hop_fail(err, HOP_ERANGE, "%d players: %lld tokens take 1 to %lld", count, (long long)tokens,
                        (long long)(tokens < HOP_MAX_PLAYERS ? tokens : HOP_MAX_PLAYERS));
    int64_t first = 0;
    for (int i = 0; i < count; i++) {
        int64_t n = tokens / count + (i < tokens % count);
        out[i] = (hop_player){.name = i, .first = first, .tokens = n};
        first += n;
    }
    return HOP_OK;
}

hop_status hop_players_cut(hop_player out[HOP_MAX_PLAYERS], const int64_t *at, int cuts, int64_t tokens,
                           hop_error *err)
{
    if (cuts >= HOP_MAX_PLAYERS)
        return hop_fail(err, HOP_ERANGE, "%d cuts: at most %d", cuts, HOP_MAX_PLAYERS - 1);
    for (int i = 0; i <= cuts; i++) {
        int64_t first = i > 0 ? at[i - 1] : 0, end = i < cuts ? at[i] : tokens;
        if (end <= first || end > tokens)
            return hop_fail(err, HOP_ERANGE, "a cut at %lld: positions must increase between 1 and %lld",
                            (long long)(i < cuts ? end : first), (long long)(tokens - 1));
        out[i] = (hop_player){.name = i, .first = first, .tokens = end - first};
    }
    return HOP_OK;
}
