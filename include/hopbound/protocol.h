/* hopbound/protocol.h - a network as the proof's communication game: players hold consecutive segments of the
 * prompt and learn of each other only what is sent.
 *
 *     hop_player players[HOP_MAX_PLAYERS];
 *     int count = hop_players_of_funccomp(&task, players);           // L, .., 1, 0, -1 hold z_L, .., z_0, w
 *     hop_transport *t;
 *     hop_transport_in_process(&t, &err);                            // or the ranks of mpirun: hopbound/mpi.h
 *     hop_game *g;
 *     hop_game_new(&g, model, &(hop_game_options){players, count, .bits = 32, .transport = t}, &err);
 *     hop_game_play(g, tokens, &err);
 *     hop_game_count(g, &err);  hop_transcript_edge(hop_game_transcript(g), i);      // bits on every edge
 *     hop_game_free(g); hop_transport_close(t, 0);
 *
 * A full layer is an epoch: each player sends the queries of its tokens to every earlier player, which
 * replies with partial softmaxes (kernels.h: value_dim + 2 numbers for each token and head) and keeps nothing
 * of what it was asked. Every other layer is a chain: its state passes from each player to the next. Numbers
 * travel packed, at `bits` bits each.
 *
 * Replies and states flow forward, where they can change an answer: they are what the lower bounds charge for
 * and what the transcript lists. Queries flow backward, to players that forget them at once (a causal network
 * has no means to remember them), so no later token learns anything from them; they are counted apart. */
#ifndef HOPBOUND_PROTOCOL_H
#define HOPBOUND_PROTOCOL_H

#include <hopbound/base.h>
#include <hopbound/model.h>
#include <hopbound/ranks.h>
#include <hopbound/tasks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- players --------------------------------------------------------------------------------- */

#define HOP_MAX_PLAYERS 256

typedef struct hop_player {
    int name; /* funccomp: L .. 1, 0, -1; else 0, 1, .. in prompt order */
    int64_t first, tokens;
} hop_player;

/* In prompt order; returns how many: L + 2. */
int hop_players_of_funccomp(const hop_funccomp *t, hop_player out[HOP_MAX_PLAYERS]);
/* `count` segments of lengths that differ by one at most, the longer ones first. HOP_ERANGE. */
hop_status hop_players_even(hop_player out[HOP_MAX_PLAYERS], int count, int64_t tokens, hop_error *err);
/* Segments that begin at 0 and at the `cuts` positions given, which must increase. HOP_ERANGE. */
hop_status hop_players_cut(hop_player out[HOP_MAX_PLAYERS], const int64_t *at, int cuts, int64_t tokens,
                           hop_error *err);

/* ---- numbers in bytes ------------------------------------------------------------------------- */

#define HOP_MIN_NUMBER_BITS 10 /* sign, exponent, one bit of fraction */

/* Bytes that `count` numbers of `bits` bits take, packed without gaps. */
size_t hop_packed_size(int64_t count, int bits);
/* Rounds as hop_round_float does; most significant bit first. */
void hop_pack(unsigned char *out, const float *x, int64_t count, int bits);
void hop_unpack(float *x, const unsigned char *in, int64_t count, int bits);

/* ---- the transcript ------------------------------------------------------------------------------ */

typedef enum hop_edge_kind { HOP_EDGE_REPLY, HOP_EDGE_STATE } hop_edge_kind;

typedef struct hop_edge {
    int64_t layer, layers; /* from 0; beyond HOP_TRANSCRIPT_LAYERS layers, equal neighbours are one edge */
    hop_edge_kind kind;
    int from, to; /* numbers of players, in prompt order from 0 */
    int64_t bits; /* counted where they were packed, over all `layers` */
} hop_edge;

#define HOP_TRANSCRIPT_LAYERS 65536

/* The game's, which rewrites it; threads may read it while nobody plays. */
typedef struct hop_transcript hop_transcript;
int64_t hop_transcript_edges(const hop_transcript *t);
hop_edge hop_transcript_edge(const hop_transcript *t, int64_t i); /* by layer, then from, then to */
int64_t hop_transcript_total(const hop_transcript *t);            /* of all edges */
int64_t hop_transcript_queries(const hop_transcript *t);          /* bits of queries, which no edge counts */

/* What the theory says of an edge: `times` numbers of `bits` bits. */
typedef struct hop_edge_theory {
    int64_t tokens, heads, dim; /* reply: tokens * heads * (dim + 2) numbers */
    int64_t state;              /* state: that many numbers */
    int64_t bits;               /* of all the edge's layers */
} hop_edge_theory;
hop_edge_theory hop_edge_expected(const hop_model *m, const hop_player *players, const hop_edge *e, int bits);

/* A message as it is sent: `count` numbers in `bytes`, packed. Queries (HOP_MESSAGE_QUERY) flow backward. */
typedef enum hop_message_kind { HOP_MESSAGE_REPLY, HOP_MESSAGE_STATE, HOP_MESSAGE_QUERY } hop_message_kind;
typedef struct hop_message {
    int64_t layer;
    hop_message_kind kind;
    int from, to; /* numbers of players, in prompt order from 0 */
    int64_t count;
    const unsigned char *bytes;
    size_t size;
} hop_message;
typedef void hop_message_fn(void *ctx, const hop_message *m);

/* ---- the game ------------------------------------------------------------------------------------- */

typedef struct hop_game_options {
    const hop_player *players; /* consecutive, from position 0 on */
    int count;
    int bits; /* HOP_MIN_NUMBER_BITS to 32 */
    hop_transport *transport;
    hop_pool *pool;
    const hop_progress *progress; /* ticks layer by layer */
    int64_t instances;            /* that will be played, for the progress */
    hop_message_fn *each;         /* told of every message that a player of this rank sends; may be NULL */
    void *ctx;
} hop_game_options;

typedef struct hop_game hop_game; /* for the thread that opened its transport */

/* Each rank holds players of its own, consecutive ones; those beyond the number of players hold none. Memory
 * is that of its players' tokens. `m`, transport and pool must outlive the game. HOP_EDOMAIN for networks
 * that look both ways. */
hop_status hop_game_new(hop_game **out, const hop_model *m, const hop_game_options *o, hop_error *err);
void hop_game_free(hop_game *g);
/* One sequence through all layers: as many tokens as the players hold, all of them on every rank. The
 * transcript starts anew. HOP_ESTOPPED when the progress says so. */
hop_status hop_game_play(hop_game *g, const int32_t *tokens, hop_error *err);

/* What follows is done by all ranks, and rank 0 has the result. */

/* Sums up what the ranks counted. */
hop_status hop_game_count(hop_game *g, hop_error *err);
const hop_transcript *hop_game_transcript(const hop_game *g);
/* answers[t] = the likeliest token after t, wherever wanted[t] >= 0; others are left as they are. */
hop_status hop_game_answers(hop_game *g, const int32_t *wanted, int32_t *answers, hop_error *err);
/* Whether the residual stream behind the last layer has the bits of `hidden` (hop_forward_hidden's), which
 * only rank 0 needs. */
hop_status hop_game_compare(hop_game *g, const float *hidden, bool *identical, hop_error *err);
/* How far the logits after token t are from `logits` [vocab], which only rank 0 needs: the largest
 * difference, as a part of the largest logit. DBL_MAX where only one of two is a number. A pass without cuts
 * (hop_forward_logits) shares no fold and no step with the game, so it must come close, but has other bits.
 */
hop_status hop_game_difference(hop_game *g, int64_t t, const float *logits, double *part, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
