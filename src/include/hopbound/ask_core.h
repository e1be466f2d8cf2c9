/* hopbound/ask_core.h - what `core` answers (room: desk). */
#ifndef HOPBOUND_ASK_CORE_H
#define HOPBOUND_ASK_CORE_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_CORE_OUTPUT(X, R)                                                                             \
    X(R, name, text, "", "tensor", "in the file that is written")                                         \
    X(R, shape, counts, "", "shape", "its dimensions")                                                    \
    X(R, max_abs, real, "", "max", "the largest of its numbers")                                          \
    X(R, compared, flag, "", "", "has the input a tensor of that name?")                                  \
    X(R, max_error, real, "", "max error",                                                                \
      "the largest difference from the tensor of that name in the input, over its largest number; null: " \
      "not compared, or no number")
HOP_RECORD(hop_core_output, HOP_CORE_OUTPUT)

#define HOP_CORE_ANSWER(X, R)                            \
    X(R, core, text, "", "", "that ran")                 \
    X(R, form, text, "", "", "in which it was computed") \
    X(R, isa, text, "", "", "the kernels")               \
    X(R, scale, real, "", "", "factor of the queries")   \
    X(R, outputs, many(hop_core_output), "", "", "each tensor that it makes")
HOP_RECORD(hop_core_answer, HOP_CORE_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
