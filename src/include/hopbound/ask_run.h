/* hopbound/ask_run.h - what `run` answers (room: desk). */
#ifndef HOPBOUND_ASK_RUN_H
#define HOPBOUND_ASK_RUN_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_RUN_ANSWER(X, R)                                                                               \
    X(R, instances, count, "", "", "that were run")                                                        \
    X(R, with_answer, count, "", "", "those whose right answer is known")                                  \
    X(R, correct, count, "", "", "those that are right")                                                   \
    X(R, accuracy, real, "", "", "their share of those whose right answer is known")                       \
    X(R, chance, real, "", "", "of being right by guessing, for sampled instances of funccomp")            \
    X(R, targets, count, "", "", "answers that were asked for, over all instances")                        \
    X(R, targets_correct, count, "", "", "those that are right")                                           \
    X(R, tokens, count, "tokens", "", "of all instances, with those that the network generates")           \
    X(R, tokens_per_second, real, "", "", "speed")                                                         \
    X(R, layers_per_second, real, "", "", "speed")                                                         \
    X(R, seconds, real, "seconds", "", "that it took")                                                     \
    X(R, layers, count, "layers", "", "of the network")                                                    \
    X(R, generated, count, "tokens", "", "that the network generates before its answer; 0: none")          \
    X(R, precision, count, "bits", "", "significant ones")                                                 \
    X(R, message_bits, count, "bits", "", "with --message-bits: of a number that crosses between players") \
    X(R, players, count, "", "", "with --message-bits: whose numbers cross")                               \
    X(R, threads, count, "", "", "that ran")                                                               \
    X(R, isa, text, "", "", "the kernels")                                                                 \
    X(R, dir, text, "", "", "the network")
HOP_RECORD(hop_run_answer, HOP_RUN_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
