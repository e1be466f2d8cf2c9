/* hopbound/ask_build.h - what `build` answers (room: desk). */
#ifndef HOPBOUND_ASK_BUILD_H
#define HOPBOUND_ASK_BUILD_H

#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_BUILD_ANSWER(X, R)                                                                            \
    X(R, kind, text, "", "", "as asked for; `like`: the kind was left out beside --like")                 \
    X(R, like, text, "", "", "--like: the model's config.json, as asked for")                             \
    X(R, pattern, text, "", "", "the layers, as [FORMATS.md](FORMATS.md#patterns) writes them")           \
    X(R, layers, count, "", "", "how many they are")                                                      \
    X(R, d_model, count, "", "", "width of the residual stream")                                          \
    X(R, heads, count, "", "", "of a layer")                                                              \
    X(R, head_dim, count, "", "", "numbers in a head's key")                                              \
    X(R, mlp_hidden, count, "", "", "hidden units of an MLP")                                             \
    X(R, parameters, count, "", "", "numbers in the file")                                                \
    X(R, n, count, "tokens", "", "of a prompt; without a task: of the longest")                           \
    X(R, mixer, text, "", "", "the first linear layer's; null: there is none")                            \
    X(R, state_bits, count, "bits", "",                                                                   \
      "what the recurrent layers' states hold, 32 a number; null: more than 9e18")                        \
    X(R, p2_bits, real, "bits", "", "what P2 asks of a network without full layers at these sizes")       \
    X(R, state_ratio, real, "", "",                                                                       \
      "state_bits over p2_bits, for a network of recurrent layers only; else null")                       \
    X(R, notes, texts, "", "", "lines: what `--like` has scaled, assumed, added and left out; else none") \
    X(R, dir, text, "", "", "where the network is")                                                       \
    X(R, task, json, "", "", "its name and sizes, as in config.json; null: none was given")               \
    X(R, sizes, text, "", "", "the same in words")
HOP_RECORD(hop_build_answer, HOP_BUILD_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
