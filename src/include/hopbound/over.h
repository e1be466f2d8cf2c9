/* hopbound/over.h - hops against length: what `audit --over`, `plan --over` and `plan` of patterns answer, and what
 * their picture is drawn from (room: report). */
#ifndef HOPBOUND_OVER_H
#define HOPBOUND_OVER_H

#include <hopbound/report.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_OVER_POINT(X, R)                                                                                \
    X(R, name, text, "", "model or plan", "whose point it is")                                              \
    X(R, n, count, "tokens", "n", "a length")                                                               \
    X(R, hops_that_fit, count, "hops", "hops that fit", "the shortest prompt of L hops has 2^(L+1) tokens") \
    X(R, hops_possible, count, "hops", "possible",                                                          \
      "the most that are possible with all fewer, at these widths; null: no theorem says how many")         \
    X(R, possible_by, text, "", "by", "P1 or P10")                                                          \
    X(R, all_that_fit, flag, "", "all that fit", "so many that the length has no room for more")            \
    X(R, hops_impossible, count, "hops", "impossible", "the fewest that are, at that length; null: none")   \
    X(R, impossible_by, text, "", "by", "the theorem that says so")                                         \
    X(R, machine_checked, maybe, "", "", "by a theorem that Coq has checked, else on paper")                \
    X(R, open_from, count, "hops", "open from", "the fewest that are open; null: none")                     \
    X(R, open_to, count, "hops", "to", "the most")                                                          \
    X(R, kv_bytes, count, "bytes", "KV bytes", "of keys and values; null: not known")                       \
    X(R, state_bytes, count, "bytes", "state bytes", "of all states; null: not known")
HOP_RECORD(hop_over_point, HOP_OVER_POINT)

#define HOP_OVER_CURVE(X, R)                                                                               \
    X(R, name, text, "", "model or plan", "of the file, or the plan as it was asked for")                  \
    X(R, plan, text, "", "plan", "a letter a layer, groups that repeat in parentheses; or its layers")     \
    X(R, path, text, "", "", "of the file; null: a plan")                                                  \
    X(R, all_that_fit_up_to, count, "tokens", "all that fit up to",                                        \
      "the longest prompt, of those up to the last of `lengths`, at which all hops that fit are possible") \
    X(R, longest, count, "tokens", "longest that fits",                                                    \
      "with --fit: the longest prompt whose keys, values and states fit; 0: none does; null: not asked, "  \
      "not known, or any does")                                                                            \
    X(R, any_length, flag, "", "", "with --fit: does it fit at every length?")                             \
    X(R, not_counted, text, "", "", "why no theorem says how many are possible")                           \
    X(R, later_hops, count, "hops", "impossible later", "so many are, at longer prompts than were asked")  \
    X(R, later_from_n, text, "tokens", "from", "from this length on")                                      \
    X(R, later_by, text, "", "by", "the theorem that says so")
HOP_RECORD(hop_over_curve, HOP_OVER_CURVE)

#define HOP_OVER_ANSWER(X, R)                                                                                \
    X(R, lengths, counts, "tokens", "", "as asked for")                                                      \
    X(R, points, many(hop_over_point), "", "", "of each curve its lengths, in the order of `curves`")        \
    X(R, curves, many(hop_over_curve), "", "", "models or plans, as they were named")                        \
    X(R, differ_at, count, "tokens", "",                                                                     \
      "the length at which the possible hops first differ; null: not up to the last, or nothing to compare") \
    X(R, differ, text, "", "", "the same as a sentence; null: nothing to compare")                           \
    X(R, refused, texts, "", "", "files of a directory that were not read, and why; null: plans")            \
    X(R, model, text, "", "", "impossible is said of any weights of networks that are so")                   \
    X(R, idealised, text, "", "", "possible is said of weights that are known where this holds")
HOP_RECORD(hop_over_answer, HOP_OVER_ANSWER)

/* The drawing as a file of its own, or as part of a page: a panel of hops, below it one of bytes, lengths on a
 * logarithmic axis. HOP_ENOMEM or HOP_OK. */
hop_status hop_report_over_svg(hop_text *out, const hop_over_answer *a, bool standalone);

/* The page of models side by side, with this drawing of theirs. HOP_ENOMEM or HOP_OK. */
hop_status hop_report_models(hop_text *out, const hop_models_answer *m, const hop_over_answer *over);

#ifdef __cplusplus
}
#endif
#endif
