/* hopbound/ask_separate.h - what `separate` answers (room: desk). */
#ifndef HOPBOUND_ASK_SEPARATE_H
#define HOPBOUND_ASK_SEPARATE_H

#include <hopbound/bounds.h>
#include <hopbound/verb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* from_n: impossible from a longer prompt on, or at other sizes of this length. */
typedef enum hop_row_verdict {
    HOP_ROW_IMPOSSIBLE,
    HOP_ROW_POSSIBLE,
    HOP_ROW_FROM_N,
    HOP_ROW_SILENT
} hop_row_verdict;
extern const char *const hop_row_verdict_words[];

#define HOP_SEPARATE_ROW(X, R)                                                             \
    X(R, pattern, text, "", "plan",                                                        \
      "the layers: F full attention, L a linear layer of any kind with such a state")      \
    X(R, verdict, word(hop_row_verdict), "", "verdict", "at these sizes")                  \
    X(R, theorem, text, "", "theorem", "that says so, or speaks first")                    \
    X(R, machine_checked, maybe, "", "machine-checked",                                    \
      "impossible: by a theorem that Coq has checked, else on paper")                      \
    X(R, speaks_from_n, text, "tokens", "from n", "impossible at this width from here on") \
    X(R, log10_n, real, "", "", "its logarithm")                                           \
    X(R, needs, text, "", "needs", "one side of the theorem's inequality")                 \
    X(R, has, text, "", "has", "the other side")
HOP_RECORD(hop_separate_row, HOP_SEPARATE_ROW)

#define HOP_SEPARATE_ANSWER(X, R)                                                              \
    X(R, hops, count, "hops", "", "as asked for")                                              \
    X(R, bits, count, "bits", "", "of a number that crosses between players")                  \
    X(R, linear, count, "", "", "linear layers in every gap of the row below")                 \
    X(R, mixer, text, "", "", "whose state linear layers keep; null: one code, the narrowest") \
    X(R, n, count, "tokens", "", "the length; null: none was found")                           \
    X(R, m, count, "", "", "entries of the first table there")                                 \
    X(R, fan, counts, "", "", "how many times longer each next table is")                      \
    X(R, dim, count, "numbers", "", "in the one head")                                         \
    X(R, d_model, count, "numbers", "", "in the residual stream")                              \
    X(R, message_bits, count, "bits", "", "that a full layer tells a token")                   \
    X(R, state_bits, count, "bits", "", "of a linear layer")                                   \
    X(R, rows, many(hop_separate_row), "", "", "plans above and below the line")               \
    X(R, why, text, "", "", "why none was found; null: one was")                               \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")     \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds")
HOP_RECORD(hop_separate_answer, HOP_SEPARATE_ANSWER)

/* With --table. */
#define HOP_SEPARATE_CELL(X, R)                                                        \
    X(R, linear, count, "", "linear", "linear layers a gap")                           \
    X(R, bits, count, "bits", "bits", "of a number that crosses between players")      \
    X(R, n, count, "tokens", "n", "the shortest length with a separation; null: none") \
    X(R, machine_checked, maybe, "", "machine-checked",                                \
      "what is impossible there: by theorems that Coq has checked, else on paper")
HOP_RECORD(hop_separate_cell, HOP_SEPARATE_CELL)

#define HOP_SEPARATE_TABLE(X, R)                                                \
    X(R, hops, count, "hops", "", "as asked for")                               \
    X(R, table, many(hop_separate_cell), "", "", "by linear layers, then bits") \
    X(R, why, text, "", "", "why there is none where there is none")
HOP_RECORD(hop_separate_table, HOP_SEPARATE_TABLE)

/* Makes a search for sizes count with what the linear layer of `build hybrid --mixer MIXER` keeps, which is kept. */
void hop_separation_of_mixer(hop_separation *s, const char *mixer);

#ifdef __cplusplus
}
#endif
#endif
