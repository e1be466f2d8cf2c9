/* hopbound/ask_play.h - what `play` answers (room: desk). */
#ifndef HOPBOUND_ASK_PLAY_H
#define HOPBOUND_ASK_PLAY_H

#include <hopbound/protocol.h>
#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const hop_edge_kind_words[];

#define HOP_PLAY_PLAYER(X, R)                                                            \
    X(R, name, count, "", "player", "funccomp: L, .., 1, 0, -1 hold z_L, .., z_0 and w") \
    X(R, first, count, "", "first", "where its tokens begin")                            \
    X(R, tokens, count, "tokens", "tokens", "that it holds")
HOP_RECORD(hop_play_player, HOP_PLAY_PLAYER)

#define HOP_PLAY_EDGE(X, R)                                                                                  \
    X(R, layer, count, "", "layer", "counted from 0")                                                        \
    X(R, layers, count, "layers", "layers", "from there on, that say the same; 1 but in very deep networks") \
    X(R, mixer, text, "", "mixer", "of the layer")                                                           \
    X(R, kind, word(hop_edge_kind), "", "message", "partial softmaxes, or a state")                          \
    X(R, from, count, "", "from", "the player who tells")                                                    \
    X(R, to, count, "", "to", "the player who is told")                                                      \
    X(R, bits, count, "bits", "bits", "that were counted where they were packed, of all these layers")       \
    X(R, expected_bits, count, "bits", "formula", "that the formula says: numbers times bits of one")        \
    X(R, asking, count, "tokens", "", "of a reply: that asked")                                              \
    X(R, heads, count, "", "", "of a reply")                                                                 \
    X(R, dim, count, "numbers", "", "of a reply: in a head; each token and head has dim + 2 numbers")        \
    X(R, numbers, count, "numbers", "", "of a state")
HOP_RECORD(hop_play_edge, HOP_PLAY_EDGE)

#define HOP_PLAY_ANSWER(X, R)                                                                            \
    X(R, instances, count, "", "", "that were played")                                                   \
    X(R, identical, maybe, "", "",                                                                       \
      "has the residual stream the bits of a plain pass under the same arithmetic? null: not compared")  \
    X(R, max_difference_from_run, real, "", "",                                                          \
      "of any logit from `run`'s, as a part of the largest; null: not compared")                         \
    X(R, with_answer, count, "", "", "those whose right answer is known")                                \
    X(R, correct, count, "", "", "those that are right")                                                 \
    X(R, accuracy, real, "", "", "their share of those whose right answer is known")                     \
    X(R, players, many(hop_play_player), "", "", "who holds which tokens")                               \
    X(R, edges, many(hop_play_edge), "", "", "what one player told another in a layer, of one instance") \
    X(R, total_bits, count, "bits", "", "of all replies and states, of one instance")                    \
    X(R, query_bits, count, "bits", "", "of queries, which the theorems do not count")                   \
    X(R, as_formulas, flag, "", "", "are all bits those of the formulas?")                               \
    X(R, bits, count, "bits", "", "of a number")                                                         \
    X(R, tokens, count, "tokens", "", "of the prompt")                                                   \
    X(R, layers, count, "layers", "", "of the network")                                                  \
    X(R, transport, text, "", "", "in-process or mpi")                                                   \
    X(R, ranks, count, "", "", "processes")                                                              \
    X(R, seconds, real, "seconds", "", "that it took")                                                   \
    X(R, dir, text, "", "", "the network")
HOP_RECORD(hop_play_answer, HOP_PLAY_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
