/* hopbound/ask_check.h - what `check` answers (room: desk). */
#ifndef HOPBOUND_ASK_CHECK_H
#define HOPBOUND_ASK_CHECK_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_CHECK_LINE(X, R)                                      \
    X(R, line, count, "", "line", "of the file, from 1 on")       \
    X(R, by, text, "", "theorem", "that stands behind it")        \
    X(R, valid, flag, "", "valid", "does the checker accept it?") \
    X(R, why, text, "", "why", "what it shows, or why it is rejected")
#define HOP_CHECK_ANSWER(X, R)                                                                        \
    X(R, certificates, many(hop_check_line), "", "", "of a file of certificates: each of them")       \
    X(R, valid, flag, "", "", "does the claim hold?")                                                 \
    X(R, why, text, "", "", "one line")                                                               \
    X(R, rounding, flag, "", "",                                                                      \
      "it does or does not, depending on how float32 rounds: then valid is false")                    \
    X(R, kind, text, "", "",                                                                          \
      "input, pair, collision, drat, protocol or bound; null: rejected before that was known")        \
    X(R, margin, real, "", "", "of the network's answer over the next logit, the smallest")           \
    X(R, spread, real, "", "", "by how much it moves when the arithmetic is shaken")                  \
    X(R, passes, count, "", "", "forward passes, lines of the proof, inputs played, or certificates") \
    X(R, file, text, "", "", "what was checked")                                                      \
    X(R, seconds, real, "seconds", "", "that it took")
HOP_RECORD(hop_check_line, HOP_CHECK_LINE)
HOP_RECORD(hop_check_answer, HOP_CHECK_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
