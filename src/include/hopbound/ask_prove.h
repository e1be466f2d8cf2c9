/* hopbound/ask_prove.h - what `prove` answers (room: desk). */
#ifndef HOPBOUND_ASK_PROVE_H
#define HOPBOUND_ASK_PROVE_H

#include <hopbound/prove.h>
#include <hopbound/verb.h>
#include <hopbound/words.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_PROVE_MARGIN(X, R)                                                                             \
    X(R, layer, count, "", "layer", "counted from 0")                                                      \
    X(R, player, count, "", "", "whose token the last one looks at: table z_player; -1: w; -2: nobody's")  \
    X(R, addresses, count, "", "addresses", "how many queries had to be looked at")                        \
    X(R, score_gap, real, "", "score gap", "the right token's score minus the best wrong one's, at least") \
    X(R, wrong_mass, real, "", "wrong mass", "attention on all wrong tokens together, at most")            \
    X(R, clip_margin, real, "", "clip margin",                                                             \
      "how far every hidden unit stays from changing sides, at least")                                     \
    X(R, code_error, real, "", "code error",                                                               \
      "how far the register is from the exact code afterwards, at most")
HOP_RECORD(hop_prove_margin, HOP_PROVE_MARGIN)

#define HOP_PROVE_INPUT(X, R)                                \
    X(R, tokens, counts, "", "", "the prompt")               \
    X(R, position, count, "", "", "the token that is asked") \
    X(R, answer, count, "", "", "the right answer")          \
    X(R, prediction, count, "", "", "the network's; -1: no token")
HOP_RECORD(hop_prove_input, HOP_PROVE_INPUT)

#define HOP_PROVE_ANSWER(X, R)                                                                             \
    X(R, verdict, word(hop_verdict), "", "", "of all inputs of these sizes")                               \
    X(R, method, text, "", "", "interval, enumeration, both with a +, or search")                          \
    X(R, inputs, count, "", "", "of these sizes; null: more than 62 bits hold")                            \
    X(R, log10_inputs, real, "", "", "the logarithm")                                                      \
    X(R, enumerated, count, "", "", "inputs that were run")                                                \
    X(R, precision, count, "bits", "", "with --precision below 24: significant bits")                      \
    X(R, message_bits, count, "bits", "", "with --message-bits: of a number that crosses between players") \
    X(R, margins, many(hop_prove_margin), "", "",                                                          \
      "layer by layer, as far as the analysis came (docs/THEORY.md, 6)")                                   \
    X(R, readout_margin, real, "", "", "the right logit minus the best wrong one, at least")               \
    X(R, covers, texts, "", "", "what a proof speaks of")                                                  \
    X(R, rests_on, texts, "", "", "what it takes for granted")                                             \
    X(R, why, text, "", "", "why it is not proved; empty: it is")                                          \
    X(R, counterexample, one(hop_prove_input), "", "", "an input that is answered wrongly")                \
    X(R, task, json, "", "", "its name and sizes, as in config.json")                                      \
    X(R, sizes, text, "", "", "the same in words")                                                         \
    X(R, dir, text, "", "", "the network")                                                                 \
    X(R, seconds, real, "seconds", "", "that it took")
HOP_RECORD(hop_prove_answer, HOP_PROVE_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
