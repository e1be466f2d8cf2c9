/* hopbound/ask_refute.h - what `refute` answers (room: desk). */
#ifndef HOPBOUND_ASK_REFUTE_H
#define HOPBOUND_ASK_REFUTE_H

#include <hopbound/refute.h>
#include <hopbound/verb.h>
#include <hopbound/words.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_REFUTE_PROMPT(X, R)                              \
    X(R, tokens, counts, "", "", "the prompt")               \
    X(R, position, count, "", "", "the token that is asked") \
    X(R, right, count, "", "", "the right answer")           \
    X(R, answer, count, "", "", "the network's; -1: no token")
#define HOP_REFUTE_LAYER(X, R)                                                    \
    X(R, layer, count, "", "layer", "counted from 0")                             \
    X(R, mixer, text, "", "mixer", "of the layer")                                \
    X(R, last_token, real, "", "last token",                                      \
      "how far the two prompts are apart behind it, at the last token")           \
    X(R, state, real, "", "its state", "in its state; null: it has none")         \
    X(R, stream, real, "", "any behind", "over all tokens behind the difference") \
    X(R, own, real, "", "where it is", "at the first token in which they differ")
#define HOP_REFUTE_DIFFERENCE(X, R)                                                       \
    X(R, place, text, "", "",                                                             \
      "z_l(i) is entry i of table l, z_0 the start, w the query; in other tasks a token") \
    X(R, first, count, "", "", "the first prompt's token there")                          \
    X(R, second, count, "", "", "the second's")
#define HOP_REFUTE_TURN(X, R)                           \
    X(R, name, text, "", "strategy", "a way to search") \
    X(R, tried, count, "", "tried", "inputs")           \
    X(R, seconds, real, "seconds", "seconds", "that it had")
#define HOP_REFUTE_ANSWER(X, R)                                                                       \
    X(R, verdict, word(hop_refute_verdict), "", "",                                                   \
      "there is a witness; every input was run; or nothing was found")                                \
    X(R, witness, text, "", "", "the file with it; null: none was asked for, or there is none")       \
    X(R, kind, text, "", "",                                                                          \
      "an input that is answered wrongly, a pair that is confused, a collision that leaves the same " \
      "states; null: none")                                                                           \
    X(R, by, text, "", "", "the strategy that found it")                                              \
    X(R, prompts, many(hop_refute_prompt), "", "", "one or two")                                      \
    X(R, trace, many(hop_refute_layer), "", "", "of two: how far they are apart, layer by layer")     \
    X(R, differences, count, "tokens", "", "in which the two prompts differ")                         \
    X(R, differ, many(hop_refute_difference), "", "", "the first four of them")                       \
    X(R, tried, count, "", "", "inputs, in all")                                                      \
    X(R, strategies, many(hop_refute_turn), "", "", "each with its share")                            \
    X(R, task, json, "", "", "its name and sizes, as in config.json")                                 \
    X(R, sizes, text, "", "", "the same in words")                                                    \
    X(R, dir, text, "", "", "the network")                                                            \
    X(R, seconds, real, "seconds", "", "that it took")
HOP_RECORD(hop_refute_prompt, HOP_REFUTE_PROMPT)
HOP_RECORD(hop_refute_layer, HOP_REFUTE_LAYER)
HOP_RECORD(hop_refute_difference, HOP_REFUTE_DIFFERENCE)
HOP_RECORD(hop_refute_turn, HOP_REFUTE_TURN)
HOP_RECORD(hop_refute_answer, HOP_REFUTE_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
