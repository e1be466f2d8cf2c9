/* What the files of this room share. */
#ifndef HOP_PROTOCOL_ROOM_H
#define HOP_PROTOCOL_ROOM_H

#include <hopbound/layers.h>
#include <hopbound/protocol.h>

/* transcript.c */
hop_status hop__transcript_new(hop_transcript **out, const hop_model *m, int players, hop_error *err);
void hop__transcript_free(hop_transcript *t);
void hop__transcript_clear(hop_transcript *t);
void hop__transcript_add(hop_transcript *t, int64_t layer, hop_edge_kind kind, int from, int to,
                         int64_t bits);
void hop__transcript_query(hop_transcript *t, int64_t bits);
/* All that was counted, as numbers that can be sent and summed. */
int64_t *hop__transcript_counts(hop_transcript *t, int64_t *count);

/* players.c and referee.c */
struct hop_game {
    const hop_model *model;
    hop_game_options o;
    hop_player players[HOP_MAX_PLAYERS];
    int64_t starts[HOP_MAX_PLAYERS];
    int64_t tokens, layer, played;
    int64_t links;    /* chains of this sequence so far */
    int from, to;     /* players held here */
    hop_split *split; /* NULL: none is */
    hop_transcript *transcript;
    float *state, *numbers, *partials, *logits;
    unsigned char *bytes; /* the largest message */
};

#define HOP__REFEREE (-1) /* who looks at the result; sits with rank 0 */

int hop__game_first(const hop_game *g, int rank); /* player of a rank; ranks beyond the players have none */
bool hop__game_holds(const hop_game *g, int player);
hop_status hop__game_send(hop_game *g, int from, int to, const void *bytes, size_t size, hop_error *err);
hop_status hop__game_recv(hop_game *g, int from, int to, void *bytes, size_t size, hop_error *err);

#endif
