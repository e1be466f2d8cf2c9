/* Who plays: the players of an instance, from the task or from the options. */
#include "seats.h"

#define DEFAULT_PLAYERS 4

/* clang-format off */
#define AT(member) offsetof(hop_seat_args, member)
const hop_opt hop__seat_options[] = {
    {"players", 0, HOP_OPT_INT, AT(players), "P", NULL, 1, HOP_MAX_PLAYERS,
     .initial_help = "funccomp: one for each function, z_0 and w; else 4",
     .help = "P players with segments of nearly equal length"},
    {"cut", 0, HOP_OPT_LIST, AT(cut), "T1,..", NULL, 1, (int64_t)1 << 31,
     .help = "players that begin at token 0 and at these"},
    {0},
};
/* clang-format on */

hop_status hop__seats_read(const hop_seat_args *s, const hop_task *task, int64_t tokens, hop_seats *out,
                           hop_error *err)
{
    hop_status got;
    if (s->players.given && s->cut.given)
        return hop_fail(err, HOP_EUSAGE, "--cut: not together with --players");
    if (s->cut.given) {
        out->count = s->cut.count + 1;
        got = hop_players_cut(out->players, s->cut.list, s->cut.count, tokens, err);
        return got == HOP_OK ? HOP_OK : hop__asked(err, "--cut: ", "");
    }
    bool of_task = task && task->kind == HOP_TASK_FUNCCOMP && task->length == tokens;
    if (of_task && !s->players.given) {
        out->count = hop_players_of_funccomp(&task->funccomp, out->players);
        return HOP_OK;
    }
    int64_t few = tokens < DEFAULT_PLAYERS ? tokens : DEFAULT_PLAYERS;
    out->count = (int)(s->players.given ? s->players.integer : few);
    got = hop_players_even(out->players, out->count, tokens, err);
    return got == HOP_OK ? HOP_OK : hop__asked(err, "--players: ", "");
}

hop_cuts hop__seats_cuts(const hop_seats *s, int64_t starts[HOP_MAX_PLAYERS], int bits)
{
    for (int p = 0; p < s->count; p++) starts[p] = s->players[p].first;
    return (hop_cuts){.starts = starts, .count = s->count, .bits = bits};
}
