/* arith_attention.c - what softmax attention forms on its way: body_attn.h, body_attn_row.h, body_attn_round.h,
 * partial.c, and sparse.c of the mixers. J: the tokens that are seen, or those of a block of keys. */
#include <hopbound/arith_lines.h>

/* `ref` multiplies by the scale last. */
LIST(scores, IN("q", AXIS(K)), IN("k", AXIS(J) | AXIS(K)), IN("scale", 0), LINE("qs", MUL, "q", "scale"),
     LINE("qk", MUL, "qs", "k"), SUM("s", "qk", K), LINE("qk0", MUL, "q", "k"), SUM("s0", "qk0", K),
     LINE("s1", MUL, "s0", "scale"));
/* t: the scores as they were formed. m: the largest so far; m0 is that of the blocks before, and z0, y0 are
 * their sums. */
LIST(weights, IN("t", AXIS(J)), IN("m", 0), LINE("under", UNDER, "t", "m"), LINE("w", EXP, "under"));
LIST(means, IN("v", AXIS(J) | AXIS(V)), IN("m0", 0), IN("z0", 0), IN("y0", AXIS(V)),
     LINE("rise", UNDER, "m0", "m"), LINE("shrink", EXP, "rise"), LINE("z_less", MUL, "z0", "shrink"),
     SUM_AND("z", "w", "z_less", J), LINE("y_less", MUL, "y0", "shrink"), LINE("wv", MUL, "w", "v"),
     SUM_AND("y", "wv", "y_less", J), LINE("o", DIV, "y", "z"));
/* wr, pr: weights as they were rounded to fewer bits. */
LIST(rounded, IN("v", AXIS(J) | AXIS(V)), IN("wr", AXIS(J)), SUM("z", "wr", J), LINE("p", DIV, "wr", "z"),
     IN("pr", AXIS(J)), LINE("pv", MUL, "pr", "v"), SUM("o", "pv", J));
/* Two partial softmaxes: a and b are sums of weights or of values, ma and mb their largest scores. */
LIST(fold, IN("a", AXIS(V)), IN("b", AXIS(V)), IN("ma", 0), IN("mb", 0), LINE("m", MAX, "ma", "mb"),
     LINE("ra", UNDER, "ma", "m"), LINE("wa", EXP, "ra"), LINE("rb", UNDER, "mb", "m"), LINE("wb", EXP, "rb"),
     LINE("aw", MUL, "a", "wa"), LINE("bw", MUL, "b", "wb"), LINE("y", ADD, "aw", "bw"));
/* A block's keys as one, their mean, and its score; or that of one of its keys. No scale. */
LIST(summaries, IN("q", AXIS(K)), IN("k", AXIS(J) | AXIS(K)), IN("n", 0), SUM("keys", "k", J),
     LINE("mean", DIV, "keys", "n"), LINE("qm", MUL, "q", "mean"), SUM("sm", "qm", K),
     LINE("qk0", MUL, "q", "k"), SUM("s0", "qk0", K));
/* A partial softmax on its way to another player: m1 is what its largest score is rounded to, and the sums are taken
 * relative to that, as far as they can be. */
LIST(crossed, IN("z", 0), IN("y", AXIS(V)), IN("m", 0), IN("m1", 0), LINE("moved", SUB, "m", "m1"),
     NUMBER("far", 60), LINE("by", HELD, "moved", "far"), LINE("grow", EXP, "by"),
     LINE("z1", MUL, "z", "grow"), LINE("y1", MUL, "y", "grow"), LINE("zc", CROSS, "z1"),
     LINE("yc", CROSS, "y1"), LINE("o", DIV, "yc", "zc"));

#define PROGRAM(name, how, result, ...) \
    [name] = {.op = "attention", .form = how, .unit_is_token = true, .part = {__VA_ARGS__}, .reads = result}

const hop_program *hop_attention_program(hop_arith_attend which)
{
    static const hop_program programs[] = {
        PROGRAM(HOP_ARITH_ATTEND, "block", "o", scores, weights, means),
        PROGRAM(HOP_ARITH_ROUNDED, "rounded", "o", scores, weights, rounded),
        PROGRAM(HOP_ARITH_FOLD, "fold", "y", fold),
        PROGRAM(HOP_ARITH_SUMMARIES, "summaries", "sm", summaries),
        PROGRAM(HOP_ARITH_CROSS, "crossing", "o", crossed),
    };
    return &programs[which];
}
