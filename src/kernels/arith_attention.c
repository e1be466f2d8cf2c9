/* arith_attention.c - what softmax attention forms on its way (body_attn.h, body_attn_row.h, partial.c; `ref` multiplies by
 * the scale last). J: the tokens that are seen; m: the largest score so far, m0 one that was. */
#include <hopbound/arith_lines.h>

LIST(scores, IN("q", AXIS(K)), IN("k", AXIS(J) | AXIS(K)), IN("scale", 0), LINE("qs", MUL, "q", "scale"),
     LINE("qk", MUL, "qs", "k"), SUM("s", "qk", K), LINE("qk0", MUL, "q", "k"), SUM("s0", "qk0", K), LINE("s1", MUL, "s0", "scale"));
/* t: the scores as they were formed. */
LIST(weights, IN("t", AXIS(J)), IN("v", AXIS(J) | AXIS(V)), IN("m", 0), IN("m0", 0), LINE("under", UNDER, "t", "m"), LINE("w", EXP, "under"),
     SUM("z", "w", J), LINE("wv", MUL, "w", "v"), SUM("y", "wv", J), LINE("rise", UNDER, "m0", "m"), LINE("shrink", EXP, "rise"),
     LINE("z_less", MUL, "z", "shrink"), LINE("y_less", MUL, "y", "shrink"), LINE("over", RECIP, "z"), LINE("o", MUL, "y", "over"));
/* A block's keys as one: their mean, and its score. */
LIST(summaries, IN("n", 0), SUM("keys", "k", J), LINE("mean", DIV, "keys", "n"), LINE("qm", MUL, "q", "mean"), SUM("sm", "qm", K),
     LINE("sm1", MUL, "sm", "scale"), LINE("qms", MUL, "qs", "mean"), SUM("sm2", "qms", K));

static const hop_program whole = {.op = "attention", .form = "whole", .unit_is_token = true, .part = {scores, weights}, .reads = "o"},
                         means = {.op = "attention", .form = "summaries", .unit_is_token = true, .part = {scores, summaries}, .reads = "sm1"};

const hop_program *hop_attention_program(bool of_summaries)
{
    return of_summaries ? &means : &whole;
}
