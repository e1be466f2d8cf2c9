/* hopbound/ask_mixers.h - what `mixers` answers (room: desk). */
#ifndef HOPBOUND_ASK_MIXERS_H
#define HOPBOUND_ASK_MIXERS_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Its table is in mixers.c: in JSON `initial` is called "default", which is a word of C. */
typedef struct hop_mixers_option {
    const char *name;
    int64_t initial;
    const char *help;
} hop_mixers_option;
extern const hop_record hop_mixers_option_record;
#define HOP_MIXERS_TENSOR(X, R)             \
    X(R, name, text, "", "", "in the file") \
    X(R, shape, counts, "", "", "rows and columns")
#define HOP_MIXERS_ROW(X, R)                                                                      \
    X(R, name, text, "", "mixer", "as a pattern names it")                                        \
    X(R, equation, text, "", "equation", "its recurrence, in one line")                           \
    X(R, recurrent, flag, "", "recurrent", "does a state of fixed size carry all that it knows?") \
    X(R, options, many(hop_mixers_option), "", "", "settings of config.json")                     \
    X(R, tensors, many(hop_mixers_tensor), "", "", "its weights at these sizes")                  \
    X(R, parameters, count, "numbers", "parameters", "in its weights")                            \
    X(R, state_floats, count, "numbers", "state", "that it keeps after so many tokens")           \
    X(R, state_bytes, count, "bytes", "", "the same in float32")                                  \
    X(R, why, text, "", "", "why it cannot be built at these sizes; null: it can")
#define HOP_MIXERS_ANSWER(X, R)                                         \
    X(R, d_model, count, "numbers", "", "width of the residual stream") \
    X(R, heads, count, "", "", "as asked for")                          \
    X(R, head_dim, count, "numbers", "", "in a head's key")             \
    X(R, tokens, count, "tokens", "", "after which states are counted") \
    X(R, mixers, many(hop_mixers_row), "", "", "all of them, or the one that was asked for")
HOP_RECORD(hop_mixers_tensor, HOP_MIXERS_TENSOR)
HOP_RECORD(hop_mixers_row, HOP_MIXERS_ROW)
HOP_RECORD(hop_mixers_answer, HOP_MIXERS_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
