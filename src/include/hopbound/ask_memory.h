/* hopbound/ask_memory.h - what `audit --memory` and `audit --fit` answer (room: desk). */
#ifndef HOPBOUND_ASK_MEMORY_H
#define HOPBOUND_ASK_MEMORY_H

#include <hopbound/report.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_MEMORY_LAYERS(X, R)                                            \
    X(R, letter, text, "", "", "of the plan")                              \
    X(R, layers, count, "", "", "that keep as much")                       \
    X(R, window, count, "tokens", "", "of such a layer; null: none")       \
    X(R, kv_bytes, count, "bytes", "", "of one: keys and values")          \
    X(R, index_bytes, count, "bytes", "", "keys by which it picks tokens") \
    X(R, state_bytes, count, "bytes", "", "its recurrence")                \
    X(R, conv_bytes, count, "bytes", "", "its short convolutions")
HOP_RECORD(hop_memory_layers, HOP_MEMORY_LAYERS)

#define HOP_MEMORY_USE(X, R)                                                                            \
    X(R, model, text, "", "model", "the file's name, or its directory's")                               \
    X(R, by, text, "", "by", "needed: by the mathematics; or the engine whose rules these are")         \
    X(R, version, text, "", "", "of the engine, whose rules were read; null: needed")                   \
    X(R, n, count, "tokens", "n", "of each prompt of the batch")                                        \
    X(R, kv_bytes, count, "bytes", "KV", "of keys and values; null here and below: not known")          \
    X(R, index_bytes, count, "bytes", "index", "keys by which layers pick tokens")                      \
    X(R, state_bytes, count, "bytes", "states", "of recurrences")                                       \
    X(R, conv_bytes, count, "bytes", "convolutions", "of short convolutions")                           \
    X(R, padding_bytes, count, "bytes", "padding",                                                      \
      "of pages that are not full, and of groups that layers do not fill")                              \
    X(R, bytes, count, "bytes", "in all", "the sum")                                                    \
    X(R, longest, count, "tokens", "longest prompt",                                                    \
      "with --fit: that fits beside the weights; 0: none does; null: not known, or any does")           \
    X(R, any_length, flag, "", "", "with --fit: does what it takes not grow with the prompt, and fit?") \
    X(R, not_known, text, "", "", "why; null: it is")                                                   \
    X(R, layers, many(hop_memory_layers), "", "", "those that keep as much, as they first come")
HOP_RECORD(hop_memory_use, HOP_MEMORY_USE)

#define HOP_MEMORY_MODEL(X, R)                                                                 \
    X(R, model, text, "", "", "the file's name, or its directory's")                           \
    X(R, path, text, "", "", "of the file; null: a configuration was given")                   \
    X(R, plan, text, "", "", "a letter a layer, groups that repeat in parentheses")            \
    X(R, kv_type, text, "", "",                                                                \
      "of keys and values, where the engine has none of its own; null: no layer attends")      \
    X(R, state_type, text, "", "", "of states, likewise; null: there are none")                \
    X(R, context, count, "tokens", "", "the model's own length")                               \
    X(R, parameters, count, "", "", "numbers in its weights; null: not known")                 \
    X(R, active_parameters, count, "", "", "of these, that one token passes; null: not known") \
    X(R, parameters_from, text, "", "", "who says so")                                         \
    X(R, weight_bytes, count, "bytes", "", "of all weights, as they are asked for; null: not counted")
HOP_RECORD(hop_memory_model, HOP_MEMORY_MODEL)

#define HOP_MEMORY_ANSWER(X, R)                                                                        \
    X(R, batch, count, "", "", "prompts at a time")                                                    \
    X(R, budget_bytes, count, "bytes", "", "with --fit: for the weights and what prompts take")        \
    X(R, uses, many(hop_memory_use), "", "", "of each model, by each")                                 \
    X(R, subjects, many(hop_memory_model), "", "", "as they were named; those of a directory by name") \
    X(R, refused, many(hop_model_refused), "", "", "files of a directory that were not read")
HOP_RECORD(hop_memory_answer, HOP_MEMORY_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
