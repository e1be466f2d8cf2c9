/* hopbound/ask_audit.h - what `audit` answers of one model (room: desk); of several it is hop_models_answer of report.h,
 * which the page is drawn from. */
#ifndef HOPBOUND_ASK_AUDIT_H
#define HOPBOUND_ASK_AUDIT_H

#include <hopbound/ask_plan.h>
#include <hopbound/report.h>
#include <hopbound/words.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who says what a precision is. */
typedef enum hop_audit_how { HOP_AUDIT_DECLARED, HOP_AUDIT_ASSUMED, HOP_AUDIT_GIVEN } hop_audit_how;
extern const char *const hop_audit_how_words[];

#define HOP_AUDIT_ATTENTION(X, R)                                                                         \
    X(R, kind, text, "", "", "mha, gqa (also with one key head) or mla")                                  \
    X(R, heads, count, "", "", "of queries")                                                              \
    X(R, kv_heads, count, "", "", "of keys and values; null for mla")                                     \
    X(R, head_dim, count, "numbers", "",                                                                  \
      "of a key, and of a value where `v_head_dim` is null; null for mla")                                \
    X(R, qk_head_dim, count, "numbers", "", "mla: of a key")                                              \
    X(R, v_head_dim, count, "numbers", "", "of a value, where it is another number, and for mla")         \
    X(R, reply_dim, count, "numbers", "",                                                                 \
      "that a softmax may have to sum up, where that is more than a head's values: the latent vector of " \
      "MLA, two heads' values of differential attention")                                                 \
    X(R, cache_elems_per_token, count, "numbers", "",                                                     \
      "that a layer keeps; null: they differ from layer to layer")                                        \
    X(R, cache_dtype, text, "", "", "their type")                                                         \
    X(R, cache_dtype_is, word(hop_audit_how), "", "", "who says so")
HOP_RECORD(hop_audit_attention, HOP_AUDIT_ATTENTION)

#define HOP_AUDIT_LINEAR(X, R)                                                                \
    X(R, kind, text, "", "", "of the recurrence; several: they differ")                       \
    X(R, state_shape, counts, "", "", "heads, key, value; null: there is no recurrent state") \
    X(R, recurrent_elems, count, "numbers", "",                                               \
      "of a state; null: layers differ, and `bytes_per_layer` tells")                         \
    X(R, conv_elems, count, "numbers", "", "that short convolutions keep")                    \
    X(R, state_dtype, text, "", "",                                                           \
      "of the state, and, unless the file declares it, whether it is assumed or given")       \
    X(R, state_dtype_is, word(hop_audit_how), "", "", "who says so")                          \
    X(R, state_dtype_declared_by, text, "", "", "the key of the file that says so")           \
    X(R, conv_dtype, text, "", "", "of what convolutions keep")                               \
    X(R, conv_dtype_is, word(hop_audit_how), "", "", "who says so")                           \
    X(R, bytes_fp32_state_16bit_conv, count, "bytes", "", "of a layer, in these precisions")  \
    X(R, bytes_all_16bit, count, "bytes", "", "of a layer, in these")                         \
    X(R, effective_window, count, "tokens", "", "that a short convolution alone sees")
HOP_RECORD(hop_audit_linear, HOP_AUDIT_LINEAR)

#define HOP_AUDIT_LETTER(X, R)                                                    \
    X(R, letter, text, "", "", "of `pattern`")                                    \
    X(R, means, text, "", "", "what such a layer is")                             \
    X(R, layers, count, "", "", "such layers")                                    \
    X(R, least_bytes, count, "bytes", "",                                         \
      "that one of them keeps at `n`, of those that read no other layer's cache") \
    X(R, most_bytes, count, "bytes", "", "the most that one keeps")               \
    X(R, borrowing, count, "", "", "of them read another layer's cache")
HOP_RECORD(hop_audit_letter, HOP_AUDIT_LETTER)

#define HOP_AUDIT_OWN(X, R)                                                      \
    X(R, hops, count, "hops", "", "of its own task")                             \
    X(R, m, count, "", "", "entries of the task's first table")                  \
    X(R, fan, counts, "", "", "n_1 .. n_{L-1}")                                  \
    X(R, verdict, word(hop_plan_verdict), "", "", "at these sizes, in one pass") \
    X(R, by, text, "", "", "the theorem that says so")                           \
    X(R, why, text, "", "", "one sentence")
HOP_RECORD(hop_audit_own, HOP_AUDIT_OWN)

#define HOP_AUDIT_RESULT(X, R)                                                                           \
    X(R, id, text, "", "", "the theorem")                                                                \
    X(R, verdict, word(hop_answer), "", "",                                                              \
      "what it says of `asked` hops at `n`; without a length it is silent of what is impossible")        \
    X(R, applies, flag, "", "", "are its hypotheses about the layers met?")                              \
    X(R, machine_checked, maybe, "", "", "impossible: by a theorem that Coq has checked, else on paper") \
    X(R, speaks_from_n, text, "tokens", "", "the length from which it speaks of this model")             \
    X(R, log10_n, real, "", "", "its logarithm")                                                         \
    X(R, needs, text, "", "", "one side of its inequality, with numbers")                                \
    X(R, has, text, "", "", "the other side")                                                            \
    X(R, has_bits, real, "bits", "", "the other side as a number; null: not one")                        \
    X(R, needs_bits, real, "bits", "", "the one side as a number; impossible: has_bits is less")         \
    X(R, why, text, "", "", "one sentence")                                                              \
    X(R, ids, real, "", "", "that it takes to pose what is impossible")
HOP_RECORD(hop_audit_result, HOP_AUDIT_RESULT)

#define HOP_AUDIT_HOPS(X, R)                                                                            \
    X(R, bits, count, "bits", "", "p, as asked for")                                                    \
    X(R, full_layers, count, "", "", "that the theorems see as full attention at that length")          \
    X(R, linear_layers, count, "", "", "as linear")                                                     \
    X(R, other_layers, count, "", "", "that no theorem here covers")                                    \
    X(R, able, count, "hops", "", "possible at the model's own widths; null: no theorem says how many") \
    X(R, able_by, text, "", "", "P1 or P10")                                                            \
    X(R, why_able, text, "", "", "one sentence")                                                        \
    X(R, tables_held_up_to, count, "tokens", "",                                                        \
      "up to this n the states are known to hold the table of a hop (P10)")                             \
    X(R, able_if_wide, count, "hops", "", "possible by counting layers, were they wide enough (P1)")    \
    X(R, needs_dim, count, "numbers", "", "what `able_if_wide` asks of a head's keys")                  \
    X(R, needs_bits, count, "bits", "", "of a number")                                                  \
    X(R, why_able_if_wide, text, "", "", "one sentence")                                                \
    X(R, unable, count, "hops", "", "impossible at `n`")                                                \
    X(R, unable_by, text, "", "", "the theorem that says so")                                           \
    X(R, machine_checked, maybe, "", "", "by a theorem that Coq has checked, else on paper")            \
    X(R, why_unable, text, "", "", "one sentence")                                                      \
    X(R, unable_ids, real, "", "", "ids that it takes to pose what is impossible")                      \
    X(R, unable_within_vocabulary, maybe, "", "", "does the model have as many?")                       \
    X(R, asked, count, "hops", "", "that `results` are about; null: more than can be asked")            \
    X(R, own, one(hop_audit_own), "", "", "of a network of this program: its own task")                 \
    X(R, results, many(hop_audit_result), "", "", "every theorem")                                      \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")              \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds")        \
    X(R, words, texts, "", "", "the verdicts in sentences")
HOP_RECORD(hop_audit_hops, HOP_AUDIT_HOPS)

#define HOP_AUDIT_ANSWER(X, R)                                                                             \
    X(R, path, text, "", "", "as asked for; null: a configuration was given")                              \
    X(R, model_type, text, "", "", "as the file has it")                                                   \
    X(R, layers, count, "", "", "that one forward pass goes through")                                      \
    X(R, loops, count, "", "", "how often it goes through the stack, where that is more than once")        \
    X(R, source, text, "", "", "what the plan was read from")                                              \
    X(R, pattern, text, "", "", "a letter a layer")                                                        \
    X(R, pattern_short, text, "", "", "the same, its repeating head in parentheses")                       \
    X(R, plan, text, "", "", "the same, with all groups that repeat")                                      \
    X(R, counts, json, "", "", "how many layers of each letter")                                           \
    X(R, letters, many(hop_audit_letter), "", "", "the letters that occur")                                \
    X(R, dtype, text, "", "", "of the weights")                                                            \
    X(R, hidden_size, count, "numbers", "", "of the residual stream")                                      \
    X(R, vocabulary, count, "", "", "ids that a token may have")                                           \
    X(R, context, count, "tokens", "", "the longest sequence")                                             \
    X(R, attention, one(hop_audit_attention), "", "", "null: no layer attends")                            \
    X(R, attention_sliding, one(hop_audit_attention), "", "", "of layers with windows, where it differs")  \
    X(R, window, count, "tokens", "", "of windows")                                                        \
    X(R, window_least, count, "tokens", "", "the shortest sliding window; null: none slides")              \
    X(R, window_chunks, flag, "", "", "are there layers that attend within chunks?")                       \
    X(R, index_topk, count, "", "", "tokens or entries that sparse attention picks")                       \
    X(R, index_topk_all, flag, "", "", "are these all tokens, at n, so that such a layer is full there?")  \
    X(R, index_elems_per_token, count, "numbers", "", "that a layer keeps of each to pick by; null: none") \
    X(R, linear, one(hop_audit_linear), "", "", "null: no layer has a state")                              \
    X(R, remark, text, "", "", "what a reader should know of this family")                                 \
    X(R, n, count, "tokens", "", "the length at which bytes and hops are counted")                         \
    X(R, n_from, text, "", "", "who says so")                                                              \
    X(R, state_bytes_per_layer, count, "bytes", "", "of a recurrent layer, whatever the length")           \
    X(R, cache_bytes_per_token, count, "bytes", "", "that one more token adds")                            \
    X(R, bytes_per_layer, counts, "bytes", "", "that a sequence of n tokens keeps")                        \
    X(R, bytes_total, count, "bytes", "", "the same of all layers")                                        \
    X(R, declared, texts, "", "", "keys that the file had")                                                \
    X(R, assumed, texts, "", "", "what was taken for granted")                                             \
    X(R, hops, one(hop_audit_hops), "", "", "what the theorems say; null with --plan-only")
HOP_RECORD(hop_audit_answer, HOP_AUDIT_ANSWER)

#define HOP_REQUIRED_ROW(X, R)                                                                           \
    X(R, model, text, "", "model", "the file's name, or its directory's")                                \
    X(R, path, text, "", "", "of the file")                                                              \
    X(R, n, count, "tokens", "n", "at this length")                                                      \
    X(R, verdict, word(hop_plan_verdict), "", "verdict", "of so many hops there")                        \
    X(R, by, text, "", "by", "the theorem that says so; null: open")                                     \
    X(R, machine_checked, maybe, "", "", "impossible: by a theorem that Coq has checked, else on paper") \
    X(R, answer, text, "", "", "one sentence")
HOP_RECORD(hop_required_row, HOP_REQUIRED_ROW)

#define HOP_REQUIRED_ANSWER(X, R)                                                                    \
    X(R, hops, count, "hops", "", "as asked for")                                                    \
    X(R, models, many(hop_required_row), "", "", "as they were named; those of a directory by name") \
    X(R, refused, many(hop_model_refused), "", "", "files of a directory that were not read")        \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")           \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds")
HOP_RECORD(hop_required_answer, HOP_REQUIRED_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
