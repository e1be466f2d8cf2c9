/* hopbound/ask_bound.h - what `bound` answers (room: desk). */
#ifndef HOPBOUND_ASK_BOUND_H
#define HOPBOUND_ASK_BOUND_H

#include <hopbound/verb.h>
#include <hopbound/words.h>
#include <hopbound/bounds.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_BOUND_HYPOTHESIS(X, R)                         \
    X(R, text, text, "", "", "a condition of the theorem") \
    X(R, met, flag, "", "", "does it hold here?")
HOP_RECORD(hop_bound_hypothesis, HOP_BOUND_HYPOTHESIS)

#define HOP_BOUND_CERTIFICATE(X, R)                                                                      \
    X(R, by, text, "", "", "the theorem, and which of its forms")                                        \
    X(R, m, digits, "", "", "m: entries of the first table")                                             \
    X(R, fan, digit_list, "", "", "n_1 .. n_{L-1}")                                                      \
    X(R, M, digits, "bits", "", "M: what a full layer tells a token of one earlier table")               \
    X(R, A, digit_list, "bits", "", "A_0 .. A_F: states before, between and behind the full layers")     \
    X(R, integers, json, "", "", "what the proof chooses, each by its letter in docs/BOUNDS.md")         \
    X(R, lines, json, "", "", "of P4', P8 and P9: what shows that draws spread (proofs/CERTIFICATE.md)") \
    X(R, has, text, "bits", "", "what the players can tell, as a number")                                \
    X(R, needs, text, "bits", "", "what the answers take, which is more")                                \
    X(R, text, text, "", "", "all of it in one line, which `check` takes")
HOP_RECORD(hop_bound_certificate, HOP_BOUND_CERTIFICATE)

#define HOP_BOUND_RESULT(X, R)                                                                              \
    X(R, id, text, "", "theorem", "the theorem, T1 .. T6 published, P1 .. P10 of docs/BOUNDS.md")           \
    X(R, statement, text, "", "", "it in one line")                                                         \
    X(R, published, flag, "", "", "is it from the literature, and asymptotic?")                             \
    X(R, applies, flag, "", "applies", "are its hypotheses about the pattern met?")                         \
    X(R, verdict, word(hop_answer), "", "verdict", "what it says")                                          \
    X(R, speaks_from_n, digits, "tokens", "from n", "the length from which it speaks of this architecture") \
    X(R, log10_n, real, "", "", "its logarithm")                                                            \
    X(R, needs, text, "", "needs", "one side of its inequality, with numbers")                              \
    X(R, has, text, "", "has", "the other side")                                                            \
    X(R, has_bits, real, "bits", "has bits",                                                                \
      "the other side as a number, at the certificate's sizes or the length asked; null: not one, or "      \
      "beyond 10^308")                                                                                      \
    X(R, needs_bits, real, "bits", "needs bits", "the one side as a number; impossible: has_bits is less")  \
    X(R, parameters, json, "", "", "what the proof chooses, each by its letter in docs/BOUNDS.md")          \
    X(R, why, text, "", "why", "one sentence")                                                              \
    X(R, hypotheses, many(hop_bound_hypothesis), "", "", "its conditions")                                  \
    X(R, sizes, digit_list, "", "", "m, n_1, ..: the sizes that show it")                                   \
    X(R, x, digit_list, "", "", "P6, P7G: tables that the proof tries, x_0 ..")                             \
    X(R, s, digit_list, "", "", "P6, P7G: values that are reached at least, s_1 ..")                        \
    X(R, machine_checked, maybe, "", "machine-checked",                                                     \
      "impossible: by a theorem that Coq has checked, else on paper")                                       \
    X(R, certificate, one(hop_bound_certificate), "", "",                                                   \
      "the integers that show it, accepted by the checker")
HOP_RECORD(hop_bound_result, HOP_BOUND_RESULT)

#define HOP_BOUND_REACH(X, R)                                                                                \
    X(R, able, count, "hops", "", "the most that are possible")                                              \
    X(R, able_by_layers, count, "hops", "", "the same, were all layers wide enough")                         \
    X(R, unable, count, "hops", "", "the fewest that are impossible")                                        \
    X(R, posed, count, "hops", "", "the most that fit the length; null: no end is known")                    \
    X(R, between, counts, "hops", "", "the fewest and the most that are open; empty: none; null for no end") \
    X(R, able_by, text, "", "", "the theorem that says possible")                                            \
    X(R, unable_by, text, "", "", "the theorem that says impossible")                                        \
    X(R, needs_dim, count, "numbers", "", "what `able` asks of a head's keys")                               \
    X(R, needs_bits, count, "bits", "", "of a number")                                                       \
    X(R, needs_width, count, "numbers", "", "of the residual stream")                                        \
    X(R, why_able, text, "", "", "one sentence")                                                             \
    X(R, why_unable, text, "", "", "one sentence")                                                           \
    X(R, tables_held_up_to, count, "tokens", "",                                                             \
      "up to this n the states are known to hold the table of a hop (P10)")                                  \
    X(R, tables_outgrow_states_at, digits, "tokens", "",                                                     \
      "from this n on no table fits all states together (P2)")                                               \
    X(R, tables_outgrow_log10_n, real, "", "", "its logarithm")                                              \
    X(R, tables_factor, real, "", "", "from the one to the other, as a factor of n: between them it is open")
HOP_RECORD(hop_bound_reach, HOP_BOUND_REACH)

#define HOP_BOUND_POINT(X, R)                                              \
    X(R, state_bits, real, "bits", "state bits", "of all states together") \
    X(R, accuracy_ceiling, real, "", "accuracy ceiling", "the most that P3 allows")
HOP_RECORD(hop_bound_point, HOP_BOUND_POINT)

#define HOP_BOUND_ANSWER(X, R)                                                                   \
    X(R, hops, count, "", "", "the hops that the results are about")                             \
    X(R, pattern, text, "", "", "the layers, with the mixers' names")                            \
    X(R, full_layers, count, "", "", "full layers among them")                                   \
    X(R, linear_layers, count, "", "", "layers that the theorems see as linear")                 \
    X(R, n, count, "tokens", "", "the length asked for; null: none was")                         \
    X(R, m, count, "", "", "the sizes asked for; null: none were")                               \
    X(R, fan, counts, "", "", "the same")                                                        \
    X(R, verdict, text, "", "",                                                                  \
      "of a number of hops at a length or at sizes: possible, impossible or open; else null")    \
    X(R, by, text, "", "", "the theorem that says so; null: open")                               \
    X(R, answer, text, "", "", "the answer in one sentence, which people read first")            \
    X(R, reach, one(hop_bound_reach), "", "", "with --hops auto: how many")                      \
    X(R, results, many(hop_bound_result), "", "", "every theorem")                               \
    X(R, accuracy_ceiling, real, "", "",                                                         \
      "without full layers, at a length or at sizes: the most accuracy (P3)")                    \
    X(R, ceiling_table, count, "", "", "entries of the table that it is for")                    \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")       \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds") \
    X(R, curve, many(hop_bound_point), "", "", "with --curve: the ceiling over state bits")
HOP_RECORD(hop_bound_answer, HOP_BOUND_ANSWER)

/* With --cite. */
#define HOP_CITE_ANSWER(X, R)                                                                            \
    X(R, theorem, text, "", "", "T1 .. T6, P1 .. P10")                                                   \
    X(R, statement, text, "", "", "it in one line")                                                      \
    X(R, verdict, word(hop_answer), "", "", "possible or impossible")                                    \
    X(R, machine_checked, maybe, "", "", "impossible: by a theorem that Coq has checked, else on paper") \
    X(R, hypotheses, texts, "", "", "what the theorem asks for, all of it met")                          \
    X(R, model, text, "", "", "impossible: of which networks; possible: under which idealisations")      \
    X(R, has_bits, real, "bits", "", "one side of the inequality; null: none")                           \
    X(R, needs_bits, real, "bits", "", "the other side")                                                 \
    X(R, parameters, json, "", "", "what the proof chooses")                                             \
    X(R, certificate, text, "", "", "the line that `check` takes; null: none")                           \
    X(R, version, text, "", "", "of hopbound")                                                           \
    X(R, as_latex, flag, "", "", "was LaTeX asked for?")                                                 \
    X(R, text, text, "", "", "the paragraph")                                                            \
    X(R, latex, text, "", "", "the same for LaTeX, as a theorem")
HOP_RECORD(hop_cite_answer, HOP_CITE_ANSWER)

/* With --solve. */
#define HOP_SOLVE_ANSWER(X, R)                                                         \
    X(R, solve, text, "", "", "what was looked for")                                   \
    X(R, hops, count, "", "", "as asked for")                                          \
    X(R, n, count, "tokens", "", "as asked for")                                       \
    X(R, possible_up_to, count, "", "", "--solve n: possible up to this length")       \
    X(R, possible_from, count, "", "", "the others: possible from this value on")      \
    X(R, possible_by, text, "", "", "by which theorem")                                \
    X(R, impossible_from, count, "", "", "--solve n: impossible from this length on")  \
    X(R, impossible_up_to, count, "", "", "the others: impossible up to this value")   \
    X(R, impossible_from_n, text, "tokens", "",                                        \
      "--solve n: impossible_from as a text, also where it is longer than an integer") \
    X(R, impossible_log10_n, real, "", "", "its logarithm")                            \
    X(R, impossible_by, text, "", "", "by which theorem")                              \
    X(R, possible_everywhere, flag, "", "", "possible at every value")                 \
    X(R, impossible_everywhere, flag, "", "", "impossible at every value")             \
    X(R, means, text, "", "", "what it is that was looked for")                        \
    X(R, model, text, "", "", "as above")                                              \
    X(R, idealised, text, "", "", "as above")
HOP_RECORD(hop_solve_answer, HOP_SOLVE_ANSWER)

#ifdef __cplusplus
}
#endif
#endif
