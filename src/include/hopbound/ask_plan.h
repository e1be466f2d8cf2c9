/* hopbound/ask_plan.h - what `plan` answers (room: desk). */
#ifndef HOPBOUND_ASK_PLAN_H
#define HOPBOUND_ASK_PLAN_H

#include <hopbound/verb.h>
#include <hopbound/bounds.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef hop_answer hop_plan_verdict; /* silent is said "open" */
extern const char *const hop_plan_verdict_words[];

#define HOP_PLAN_ROW(X, R)                                                                              \
    X(R, pattern, text, "", "plan", "the layers in order")                                              \
    X(R, verdict, word(hop_plan_verdict), "", "verdict", "of the hops that are wanted, at that length") \
    X(R, by, text, "", "by", "the theorem that says so; open: the one that speaks first")               \
    X(R, layers, count, "", "layers", "layers in all")                                                  \
    X(R, full_layers, count, "", "full", "full ones among them")                                        \
    X(R, kv_bytes, real, "bytes", "KV bytes", "of the cache of keys and values at token n")             \
    X(R, state_bytes, real, "bytes", "state bytes", "of all states")                                    \
    X(R, flops_per_token, real, "flops", "flops a token", "of the mixers alone; null: not known")       \
    X(R, hops_proved, count, "hops", "hops", "the most that are proved possible")                       \
    X(R, impossible_from_n, text, "tokens", "impossible from n",                                        \
      "longer prompts are impossible from here on")                                                     \
    X(R, impossible_by, text, "", "", "by which theorem")                                               \
    X(R, impossible_log10_n, real, "", "", "the logarithm")                                             \
    X(R, why, text, "", "", "one sentence")
HOP_RECORD(hop_plan_row, HOP_PLAN_ROW)

#define HOP_PLAN_ANSWER(X, R)                                                                             \
    X(R, hops, count, "hops", "", "as asked for")                                                         \
    X(R, n, count, "tokens", "", "as asked for")                                                          \
    X(R, layers, count, "", "", "as asked for; null: as few as it takes")                                 \
    X(R, like, text, "", "", "the model whose layers plans are made of; null: of ours")                   \
    X(R, mixer, text, "", "", "of the linear layers")                                                     \
    X(R, bits, count, "bits", "", "of a number in the accumulator and in states")                         \
    X(R, cache_bits, count, "bits", "", "of a number in the cache of keys and values; null: the model's") \
    X(R, budget_bytes, count, "bytes", "", "with --fit: for keys, values and states")                     \
    X(R, too_large, count, "", "", "with --fit: plans that were found and do not fit")                    \
    X(R, plans, many(hop_plan_row), "", "", "the cheapest first: bytes, then flops")                      \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")                \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds")
HOP_RECORD(hop_plan_answer, HOP_PLAN_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
