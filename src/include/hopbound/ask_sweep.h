/* hopbound/ask_sweep.h - what `sweep` answers (room: desk). */
#ifndef HOPBOUND_ASK_SWEEP_H
#define HOPBOUND_ASK_SWEEP_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_SWEEP_ANSWER(X, R)                                            \
    X(R, runs, count, "", "", "each once, also where it is listed twice") \
    X(R, done, count, "", "", "in the end")                               \
    X(R, failed, count, "", "", "in the end")                             \
    X(R, skipped, count, "", "", "that were done or failed before")       \
    X(R, seconds, real, "seconds", "", "that it took")                    \
    X(R, database, text, "", "", "the results")                           \
    X(R, picture, text, "", "", "that was drawn; null: none was asked for")
HOP_RECORD(hop_sweep_answer, HOP_SWEEP_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
