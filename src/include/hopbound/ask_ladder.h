/* hopbound/ask_ladder.h - what `ladder` answers (room: desk). */
#ifndef HOPBOUND_ASK_LADDER_H
#define HOPBOUND_ASK_LADDER_H

#include <hopbound/report.h>
#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* With --train: a plan at a size. */
#define HOP_LADDER_LEARNT(X, R)                                                                 \
    X(R, hops, count, "hops", "", "of the task")                                                \
    X(R, pattern, text, "", "", "the layers in order")                                          \
    X(R, mixer, text, "", "", "what L stands for; \"\": there is none")                         \
    X(R, sizes, text, "", "", "of the tables")                                                  \
    X(R, n, count, "tokens", "", "of a prompt")                                                 \
    X(R, entries, count, "", "", "of the largest table")                                        \
    X(R, d_model, count, "numbers", "", "in the residual stream")                               \
    X(R, steps, count, "", "", "of each training, at most")                                     \
    X(R, accuracies, reals, "", "", "of each seed")                                             \
    X(R, mean, real, "", "", "over the seeds")                                                  \
    X(R, least, real, "", "", "of them")                                                        \
    X(R, most, real, "", "", "of them")                                                         \
    X(R, chance, real, "", "", "of guessing")                                                   \
    X(R, ceiling, real, "", "", "P3's: no weights are right more often; null: it says nothing") \
    X(R, seconds, real, "seconds", "", "of all seeds together")
HOP_RECORD(hop_ladder_learnt, HOP_LADDER_LEARNT)

#define HOP_LADDER_ANSWER(X, R)                                                                        \
    X(R, rungs, many(hop_ladder_row), "", "",                                                          \
      "the full network of each number of hops, then all other rows")                                  \
    X(R, models, many(hop_ladder_model), "", "", "today's, on the page's map; none with --brief")      \
    X(R, learnt, many(hop_ladder_learnt), "", "", "what gradient descent finds; none without --train") \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")             \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds")       \
    X(R, report, text, "", "", "the page")                                                             \
    X(R, isa, text, "", "", "which kernels were used")                                                 \
    X(R, version, text, "", "", "the program's")
HOP_RECORD(hop_ladder_answer, HOP_LADDER_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
