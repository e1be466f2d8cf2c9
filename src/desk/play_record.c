/* What a game was, as a record. */
#include "play.h"

#include <math.h>
#include <hopbound/mixers.h>

HOP_RECORD_TABLE(hop_play_player, HOP_PLAY_PLAYER, "a player")
HOP_RECORD_TABLE(hop_play_edge, HOP_PLAY_EDGE, "what one player told another in a layer")
HOP_RECORD_TABLE(hop_play_answer, HOP_PLAY_ANSWER, "a game, and the bits of its messages")

const char *const hop_edge_kind_words[] = {"reply", "state", NULL};

static hop_play_edge edge_of(const playing *p, const hop_edge *e)
{
    const hop_edge_theory x = hop_edge_expected(p->model, p->seats.players, e, (int)p->args->bits.integer);
    const bool reply = e->kind == HOP_EDGE_REPLY;
    const hop_pattern *pattern = &hop_model_config(p->model)->pattern;
    return (hop_play_edge){.layer = e->layer,
                           .layers = e->layers,
                           .mixer = hop_mixer_find(hop_pattern_mixer(pattern, e->layer))->name,
                           .kind = e->kind,
                           .from = p->seats.players[e->from].name,
                           .to = p->seats.players[e->to].name,
                           .bits = e->bits,
                           .expected_bits = x.bits,
                           .asking = hop_known(x.tokens, reply),
                           .heads = hop_known(x.heads, reply),
                           .dim = hop_known(x.dim, reply),
                           .numbers = hop_known(x.state, !reply)};
}

static const hop_play_edge *edges_of(hop_keep *k, const playing *p, bool *as_formulas)
{
    const hop_transcript *t = hop_game_transcript(p->game);
    const int64_t count = hop_transcript_edges(t);
    hop_play_edge *out = hop_keep_bytes(k, (size_t)count + 1, sizeof *out);
    *as_formulas = true;
    for (int64_t i = 0; out && i < count; i++) {
        const hop_edge e = hop_transcript_edge(t, i);
        out[i] = edge_of(p, &e);
        *as_formulas = *as_formulas && out[i].bits == out[i].expected_bits;
    }
    return out;
}

static const hop_play_player *players_of(hop_keep *k, const hop_seats *s)
{
    hop_play_player *out = hop_keep_bytes(k, (size_t)s->count, sizeof *out);
    for (int i = 0; out && i < s->count; i++)
        out[i] = (hop_play_player){s->players[i].name, s->players[i].first, s->players[i].tokens};
    return out;
}

hop_status hop__play_record(hop_response *response, const playing *p, hop_error *err)
{
    hop_keep *k = &response->memory;
    const hop_transcript *t = hop_game_transcript(p->game);
    const bool compared = !p->args->no_compare.flag;
    bool as_formulas;
    hop_play_answer *out = hop_response_begin(response, &hop_play_answer_record, err);
    if (!out) return HOP_ENOMEM;
    const hop_play_edge *edges = edges_of(k, p, &as_formulas);
    *out = (hop_play_answer){.instances = p->instances,
                             .identical = compared ? p->identical : HOP_NO_FLAG,
                             .max_difference_from_run = p->difference,
                             .with_answer = p->with_answer,
                             .correct = p->correct,
                             .accuracy = (double)p->correct / (double)p->with_answer, /* 0/0: null */
                             .total_bits = hop_transcript_total(t),
                             .query_bits = hop_transcript_queries(t),
                             .as_formulas = as_formulas,
                             .bits = p->args->bits.integer,
                             .tokens = p->tokens,
                             .layers = hop_model_config(p->model)->pattern.layers,
                             .transport = p->transport->name,
                             .ranks = p->transport->ranks,
                             .seconds = p->seconds,
                             .dir = hop_keep_text(k, p->dir)};
    out->players.at = players_of(k, &p->seats);
    out->players.count = p->seats.count;
    out->edges.at = edges;
    out->edges.count = edges ? hop_transcript_edges(t) : 0;
    if (compared && !p->identical) {
        response->exit = HOP_EXIT_FAILED;
        response->complaint =
            hop_keep_printf(k, "%.200s: the messages did not lead to the plain pass's bits", p->dir);
    }
    return hop_response_end(response, err);
}
