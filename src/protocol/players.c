/* The game: what the players of this process do, layer by layer.
 *
 * There is one list of all sends and receives: layer by layer; in a chain, player by player; in an epoch,
 * later player by later player, piece by piece of its queries. A process that holds all players goes through
 * the whole list, and there every message is sent before it is received. A rank goes through that part of the
 * list that its players do, in the same order. So if sends never wait, the first receive of the list that has
 * not happened yet can always happen: no order of ranks, and no length of messages, can make them wait for
 * each other in a circle. */
#include "room.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 256 /* rows of queries that travel at once: bounds the memory of a long segment's epoch */

/* ---- ranks ----------------------------------------------------------------------------------------- */

/* The first player of a rank; ranks beyond the players have none. */
int hop__game_first(const hop_game *g, int rank)
{
    int ranks = g->o.transport->ranks < g->o.count ? g->o.transport->ranks : g->o.count;
    return rank >= ranks ? g->o.count : (int)((int64_t)g->o.count * rank / ranks);
}

static int rank_of(const hop_game *g, int player)
{
    int rank = 0;
    while (player != HOP__REFEREE && hop__game_first(g, rank + 1) <= player) rank++;
    return rank;
}

bool hop__game_holds(const hop_game *g, int player)
{
    return player >= g->from && player < g->to;
}

static hop_route route(const hop_game *g, int from, int to)
{
    return (hop_route){.from = from, .to = to, .from_rank = rank_of(g, from), .to_rank = rank_of(g, to)};
}

/* ---- messages --------------------------------------------------------------------------------------- */

hop_status hop__game_send(hop_game *g, int from, int to, const void *bytes, size_t size, hop_error *err)
{
    return g->o.transport->send(g->o.transport, route(g, from, to), bytes, size, err);
}

hop_status hop__game_recv(hop_game *g, int from, int to, void *bytes, size_t size, hop_error *err)
{
    return g->o.transport->recv(g->o.transport, route(g, from, to), bytes, size, err);
}

/* What stands packed in g->bytes. */
static hop_status send_packed(hop_game *g, hop_message_kind kind, int from, int to, int64_t count,
                              hop_error *err)
{
    const hop_message m = {g->layer, kind, from, to, count, g->bytes, hop_packed_size(count, g->o.bits)};
    if (g->o.each) g->o.each(g->o.ctx, &m);
    return hop__game_send(g, from, to, g->bytes, m.size, err);
}

static hop_status recv_numbers(hop_game *g, int from, int to, float *x, int64_t count, hop_error *err)
{
    hop_status s = hop__game_recv(g, from, to, g->bytes, hop_packed_size(count, g->o.bits), err);
    if (s == HOP_OK) hop_unpack(x, g->bytes, count, g->o.bits);
    return s;
}

/* ---- a chain ------------------------------------------------------------------------------------------ */

/* Sends do not wait, so a rank could run ahead of the next by any number of layers and fill the memory with
 * its states. It may be AHEAD layers ahead: the next rank acknowledges every AHEAD-th state. */
#define AHEAD 64

static hop_status acknowledge(hop_game *g, int p, hop_error *err)
{
    hop_transport *t = g->o.transport;
    hop_route back = route(g, p, p - 1);
    if (p != g->from || g->links % AHEAD) return HOP_OK;
    back.aside = true;
    return t->send(t, back, "", 1, err);
}

static hop_status await_acknowledgement(hop_game *g, int p, hop_error *err)
{
    hop_transport *t = g->o.transport;
    char ack;
    if (p + 1 == g->o.count || p + 1 != g->to) return HOP_OK;
    hop_route back = route(g, p + 1, p);
    back.aside = true;
    return t->recv(t, back, &ack, 1, err);
}

static hop_status take_state(hop_game *g, int p, hop_error *err)
{
    /* Nothing is left of what another player had there. */
    memset(g->state, p ? 0xff : 0, sizeof(float) * (size_t)hop_split_most_state(g->split));
    if (p == 0) return HOP_OK;
    hop_status s = recv_numbers(g, p - 1, p, g->state, hop_split_state_floats(g->split, p), err);
    return s == HOP_OK ? acknowledge(g, p, err) : s;
}

static hop_status pass_state(hop_game *g, int p, hop_error *err)
{
    if (p + 1 == g->o.count) return HOP_OK;
    int64_t count = hop_split_state_floats(g->split, p + 1);
    if (g->links > 0 && g->links % AHEAD == 0) {
        hop_status s = await_acknowledgement(g, p, err);
        if (s != HOP_OK) return s;
    }
    hop__transcript_add(g->transcript, g->layer, HOP_EDGE_STATE, p, p + 1, count * g->o.bits);
    hop_pack(g->bytes, g->state, count, g->o.bits);
    return send_packed(g, HOP_MESSAGE_STATE, p, p + 1, count, err);
}

static hop_status chain(hop_game *g, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int p = g->from; s == HOP_OK && p < g->to; p++) {
        s = take_state(g, p, err);
        if (s == HOP_OK) hop_split_step(g->split, p, g->state);
        if (s == HOP_OK) s = pass_state(g, p, err);
    }
    g->links++;
    return s;
}

/* ---- an epoch ------------------------------------------------------------------------------------------ */

static int64_t piece_at(const hop_game *g, int asker, int64_t row)
{
    int64_t left = g->players[asker].tokens - row;
    return left < PIECE ? left : PIECE;
}

/* Player `asker` sends the queries of a piece of its rows to every earlier player. */
static hop_status ask(hop_game *g, int asker, int64_t row, hop_error *err)
{
    int64_t count = piece_at(g, asker, row) * hop_split_query_floats(g->split);
    hop_status s = HOP_OK;
    if (!hop__game_holds(g, asker) || count <= 0) return HOP_OK;
    hop_pack(g->bytes, hop_split_queries(g->split, asker, row), count, g->o.bits);
    for (int p = 0; s == HOP_OK && p < asker; p++) {
        s = send_packed(g, HOP_MESSAGE_QUERY, asker, p, count, err);
        hop__transcript_query(g->transcript, count * g->o.bits);
    }
    return s;
}

/* Player p takes them, replies, and keeps nothing. */
static hop_status reply(hop_game *g, int p, int asker, int64_t rows, hop_error *err)
{
    int64_t count = rows * hop_split_reply_floats(g->split);
    hop_status s = recv_numbers(g, asker, p, g->numbers, rows * hop_split_query_floats(g->split), err);
    if (s != HOP_OK) return s;
    hop_split_reply(g->split, p, g->partials, g->numbers, rows);
    hop__transcript_add(g->transcript, g->layer, HOP_EDGE_REPLY, p, asker, count * g->o.bits);
    hop_pack(g->bytes, g->partials, count, g->o.bits);
    return send_packed(g, HOP_MESSAGE_REPLY, p, asker, count, err);
}

/* One piece's replies. The next piece is asked for before, so that nobody waits for the asker to fold. */
static hop_status exchange(hop_game *g, int asker, int64_t row, hop_error *err)
{
    int64_t rows = piece_at(g, asker, row);
    hop_status s = ask(g, asker, row + PIECE, err);
    for (int p = g->from; s == HOP_OK && p < g->to && p < asker; p++) s = reply(g, p, asker, rows, err);
    for (int p = 0; s == HOP_OK && hop__game_holds(g, asker) && p < asker; p++) {
        s = recv_numbers(g, p, asker, g->partials, rows * hop_split_reply_floats(g->split), err);
        if (s == HOP_OK) hop_split_fold(g->split, asker, row, g->partials, rows);
    }
    return s;
}

static hop_status stopped(hop_error *err)
{
    return hop_fail(err, HOP_ESTOPPED, "stopped on request");
}

static bool tick(hop_game *g)
{
    double layers = (double)hop_model_config(g->model)->pattern.layers;
    return hop_progress_tick(g->o.progress, "layers played", (double)g->played,
                             layers * (double)g->o.instances);
}

static hop_status epoch(hop_game *g, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int asker = g->from > 0 ? g->from : 1; s == HOP_OK && asker < g->o.count; asker++) {
        s = ask(g, asker, 0, err);
        for (int64_t row = 0; s == HOP_OK && row < g->players[asker].tokens; row += PIECE)
            s = tick(g) ? exchange(g, asker, row, err) : stopped(err);
    }
    return s;
}

hop_status hop_game_play(hop_game *g, const int32_t *tokens, hop_error *err)
{
    int64_t layers = hop_model_config(g->model)->pattern.layers;
    g->links = 0;
    hop__transcript_clear(g->transcript);
    hop_status s = g->split ? hop_split_embed(g->split, tokens, err) : HOP_OK;
    for (g->layer = 0; s == HOP_OK && g->split && g->layer < layers; g->layer++) {
        if (!tick(g)) return stopped(err);
        hop_split_enter(g->split, g->layer);
        s = hop_split_is_full(g->split) ? epoch(g, err) : chain(g, err);
        for (int p = g->from; s == HOP_OK && p < g->to; p++) hop_split_leave(g->split, p);
        g->played++;
    }
    if (s == HOP_OK && g->links > 0) s = await_acknowledgement(g, g->to - 1, err); /* the last one */
    return s;
}

/* ---- opening ----------------------------------------------------------------------------------------------
 */

static hop_status take_players(hop_game *g, hop_error *err)
{
    if (g->o.count < 1 || g->o.count > HOP_MAX_PLAYERS)
        return hop_fail(err, HOP_ERANGE, "%d players: there can be 1 to %d", g->o.count, HOP_MAX_PLAYERS);
    for (int p = 0; p < g->o.count; p++) {
        g->players[p] = g->o.players[p];
        g->starts[p] = g->players[p].first;
        if (g->players[p].tokens < 1 || g->players[p].first != g->tokens)
            return hop_fail(err, HOP_ERANGE, "players do not hold consecutive tokens");
        g->tokens += g->players[p].tokens;
    }
    g->from = hop__game_first(g, g->o.transport->rank);
    g->to = hop__game_first(g, g->o.transport->rank + 1);
    return HOP_OK;
}

/* Room for the largest message of any layer. */
static hop_status allocate(hop_game *g, hop_error *err)
{
    const hop_config *c = hop_model_config(g->model);
    int64_t longest = 0;
    for (int p = 0; p < g->o.count; p++)
        if (g->players[p].tokens > longest) longest = g->players[p].tokens;
    int64_t piece = hop_split_most_reply(g->split) * (longest < PIECE ? longest : PIECE) + 1;
    int64_t state = hop_split_most_state(g->split), number = piece > state ? piece : state;
    g->state = hop_alloc(sizeof(float) * (size_t)(state + 1));
    g->numbers = hop_alloc(sizeof(float) * (size_t)piece);
    g->partials = hop_alloc(sizeof(float) * (size_t)piece);
    g->logits = hop_alloc(sizeof(float) * (size_t)c->vocab);
    g->bytes = hop_alloc(hop_packed_size(number, g->o.bits));
    if (g->state && g->numbers && g->partials && g->logits && g->bytes) return HOP_OK;
    return hop_fail(err, HOP_ENOMEM, "cannot hold the messages of %lld tokens", (long long)g->tokens);
}

hop_status hop_game_new(hop_game **out, const hop_model *m, const hop_game_options *o, hop_error *err)
{
    *out = NULL;
    hop_game *g = hop_alloc(sizeof *g);
    if (!g) return hop_fail(err, HOP_ENOMEM, "out of memory");
    g->model = m;
    g->o = *o;
    hop_status s = take_players(g, err);
    hop_split_options split = {.tokens = g->tokens, .from = g->from, .to = g->to, .pool = o->pool};
    split.cuts = (hop_cuts){.starts = g->starts, .count = g->o.count, .bits = g->o.bits};
    if (s == HOP_OK && g->from < g->to) {
        s = hop_split_new(&g->split, m, &split, err);
        if (s == HOP_OK) s = allocate(g, err);
    }
    if (s == HOP_OK) s = hop__transcript_new(&g->transcript, m, g->o.count, err);
    if (s != HOP_OK) {
        hop_game_free(g);
        return s;
    }
    *out = g;
    return HOP_OK;
}

void hop_game_free(hop_game *g)
{
    if (!g) return;
    hop_split_free(g->split);
    hop__transcript_free(g->transcript);
    hop_free(g->state);
    hop_free(g->numbers);
    hop_free(g->partials);
    hop_free(g->logits);
    hop_free(g->bytes);
    hop_free(g);
}
