/* hopbound/ask_train.h - what `train` answers (room: desk). */
#ifndef HOPBOUND_ASK_TRAIN_H
#define HOPBOUND_ASK_TRAIN_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_TRAIN_ANSWER(X, R)                                               \
    X(R, pattern, text, "", "", "the layers in order")                       \
    X(R, mixer, text, "", "", "what L stands for")                           \
    X(R, task, json, "", "", "its name and sizes, as in config.json")        \
    X(R, seed, count, "", "", "of the recipe")                               \
    X(R, parameters, count, "numbers", "", "in all weights")                 \
    X(R, steps, count, "", "", "that were done")                             \
    X(R, loss, real, "", "", "of the last steps")                            \
    X(R, instances, count, "", "", "held out, that were asked in the end")   \
    X(R, correct, count, "", "", "those that are right")                     \
    X(R, accuracy, real, "", "", "their share")                              \
    X(R, interval, reals, "", "", "Wilson's, of 95 %")                       \
    X(R, answers, real, "", "", "share of single ones that are right")       \
    X(R, chance, real, "", "", "accuracy of whoever has not read the input") \
    X(R, accuracy_ceiling, real, "", "", "P3's; null: it says nothing")      \
    X(R, tokens_per_second, real, "", "", "speed of the steps")              \
    X(R, seconds, real, "seconds", "", "that it took")                       \
    X(R, dir, text, "", "", "the network, its checkpoint and its log")
HOP_RECORD(hop_train_answer, HOP_TRAIN_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
