/* hopbound/ask_exact.h - what `exact` answers (room: desk). */
#ifndef HOPBOUND_ASK_EXACT_H
#define HOPBOUND_ASK_EXACT_H

#include <hopbound/exact.h>
#include <hopbound/verb.h>
#include <hopbound/words.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_EXACT_CELL(X, R)                                                                        \
    X(R, state_bits, count, "bits", "state", "of the linear layers; null: before and after differ") \
    X(R, message_bits, count, "bits", "message", "that a token hears from each earlier player")     \
    X(R, before_bits, count, "bits", "before", "state bits before the full layer")                  \
    X(R, after_bits, count, "bits", "after", "state bits after it")                                 \
    X(R, verdict, word(hop_cell_verdict), "", "verdict", "is there a protocol?")                    \
    X(R, by, text, "", "by", "the formula that says so, or why it is undecided")                    \
    X(R, seconds, real, "seconds", "seconds", "that it took")                                       \
    X(R, p2, word(hop_answer), "", "P2", "what the theorem says")                                   \
    X(R, p4, word(hop_answer), "", "P4", "what the theorem says")                                   \
    X(R, p5, word(hop_answer), "", "P5", "what the theorem says")                                   \
    X(R, refutes_a_theorem, flag, "", "", "a protocol where a theorem says impossible")
#define HOP_EXACT_THRESHOLD(X, R)                                                               \
    X(R, message_bits, count, "bits", "", "for so many")                                        \
    X(R, possible_from, count, "bits", "", "the fewest state bits asked for that are possible") \
    X(R, impossible_to, count, "bits", "", "the most that are impossible")                      \
    X(R, undecided, count, "", "", "cells")                                                     \
    X(R, theorems_silent_from, count, "bits", "", "the fewest state bits that no theorem excludes")
#define HOP_EXACT_ANSWER(X, R)                                                             \
    X(R, hops, count, "hops", "", "as asked for")                                          \
    X(R, m, count, "", "", "as asked for")                                                 \
    X(R, fan, count, "", "", "of two hops: as asked for")                                  \
    X(R, full_layers, count, "", "", "0 or 1")                                             \
    X(R, results, many(hop_exact_row), "", "", "the cells, smaller ones first")            \
    X(R, thresholds, many(hop_exact_threshold), "", "", "where the verdict changes")       \
    X(R, split, flag, "", "", "bits before and after the full layer were asked for apart") \
    X(R, solver, text, "", "", "its name and version")                                     \
    X(R, seconds, real, "seconds", "", "in all")
HOP_RECORD(hop_exact_row, HOP_EXACT_CELL)
HOP_RECORD(hop_exact_threshold, HOP_EXACT_THRESHOLD)
HOP_RECORD(hop_exact_answer, HOP_EXACT_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
