/* arith_rows.c - what rows.c and the convolution form on their way, as programs (hopbound/arith.h). A row's numbers
 * are points here; K runs over the numbers of a group that are added up (BONUS, CONV, norms), V over its values. */
#include <hopbound/arith.h>
#include <hopbound/ops.h>

#define AXIS(name)               (1 << HOP_AXIS_##name)
#define IN(quantity, axes)       {.name = quantity, .prim = HOP_PRIM_INPUT, .value = (axes)}
#define LINE(quantity, how, ...) {.name = quantity, .prim = HOP_PRIM_##how, .of = {__VA_ARGS__}}
#define NUMBER(quantity, x)      {.name = quantity, .prim = HOP_PRIM_NUMBER, .value = (x)}
#define SUM(quantity, ...)       {.name = quantity, .prim = HOP_PRIM_SUM, .of = {__VA_ARGS__}, .axis = HOP_AXIS_K}
#define WIDE(quantity, how, ...) {.name = quantity, .prim = HOP_PRIM_##how, .of = {__VA_ARGS__}, .wide = true}
#define PROGRAM(id, title, ...)                                             \
    static const hop_line id##_lines[] = {__VA_ARGS__, {.name = NULL}};     \
    static const hop_program id = {.op = title, .form = "row", .unit_is_token = true, .part = {id##_lines}, .reads = "y"}

PROGRAM(mul, "mul", IN("a", 0), IN("b", 0), LINE("y", MUL, "b", "a"));
PROGRAM(sub, "sub", IN("a", 0), IN("b", 0), LINE("y", SUB, "a", "b"));
PROGRAM(weigh, "weigh", IN("a", 0), IN("w", 0), LINE("y", MUL, "a", "w"));
PROGRAM(skip, "skip", IN("a", 0), IN("b", 0), IN("w", 0), LINE("wb", MUL, "w", "b"), LINE("y", ADD, "a", "wb"));
PROGRAM(blend, "blend", IN("a", 0), IN("b", 0), IN("w", 0), NUMBER("one", 1), LINE("more", SUB, "b", "one"),
        LINE("some", MUL, "more", "w"), LINE("by", ADD, "one", "some"), LINE("y", MUL, "a", "by"));
PROGRAM(lerp, "lerp", IN("a", 0), IN("b", 0), IN("w", 0), LINE("bw", MUL, "b", "w"), LINE("y", ADD, "a", "bw"));
PROGRAM(lerp_by, "lerp", IN("a", 0), IN("b", 0), IN("c", 0), IN("w", 0), LINE("by", ADD, "c", "w"),
        LINE("bb", MUL, "b", "by"), LINE("y", ADD, "a", "bb"));
PROGRAM(rate, "rate", IN("a", 0), IN("w", 0), LINE("e", EXP, "w"), NUMBER("finite", 1e30f), LINE("r", LEAST, "e", "finite"),
        LINE("by", NEG, "r"), LINE("y", MUL, "a", "by"));
PROGRAM(lru_rate, "lru_rate", IN("a", 0), IN("w", 0), LINE("s", SOFTPLUS, "w"), NUMBER("finite", 1e30f),
        LINE("r", LEAST, "s", "finite"), NUMBER("eight", -8), LINE("a8", MUL, "eight", "a"), LINE("y", MUL, "a8", "r"));
PROGRAM(lru_input, "lru_input", IN("a", 0), IN("b", 0), IN("c", 0), NUMBER("two", 2), LINE("a2", MUL, "two", "a"),
        LINE("e", EXPM1, "a2"), LINE("rest", NEG, "e"), LINE("root", SQRT, "rest"), LINE("bc", MUL, "b", "c"),
        LINE("y", MUL, "root", "bc"));
PROGRAM(conv, "conv", IN("x", AXIS(K)), IN("w", AXIS(K)), IN("bias", 0), LINE("wx", MUL, "w", "x"),
        SUM("y", "wx", "bias")); /* which the kernels begin with */
PROGRAM(conv_silu, "conv", IN("x", AXIS(K)), IN("w", AXIS(K)), IN("bias", 0), LINE("wx", MUL, "w", "x"),
        SUM("s", "wx", "bias"), LINE("y", SILU, "s"));
PROGRAM(bonus, "bonus", IN("a", AXIS(V)), IN("b", AXIS(K)), IN("c", AXIS(K)), IN("v", AXIS(V)), IN("w", AXIS(K)),
        LINE("bc", MUL, "b", "c"), LINE("bcw", MUL, "bc", "w"), SUM("sum", "bcw"), LINE("sv", MUL, "sum", "v"),
        LINE("y", ADD, "a", "sv"));
PROGRAM(divide, "divide", IN("a", AXIS(V)), IN("b", 0), IN("eps", 0), LINE("by", ADD, "b", "eps"), LINE("y", DIV, "a", "by"));
/* TAYLOR's features: x_i; x_i²; x_i x_j. */
PROGRAM(taylor, "taylor", IN("a", 0), IN("scale", 0), LINE("y", MUL, "scale", "a"));
PROGRAM(taylor_square, "taylor", IN("a", 0), IN("scale", 0), IN("half", 0), LINE("h", MUL, "half", "scale"),
        LINE("hs", MUL, "h", "scale"), LINE("ha", MUL, "hs", "a"), LINE("y", MUL, "ha", "a"));
PROGRAM(taylor_product, "taylor", IN("a", 0), IN("b", 0), IN("scale", 0), LINE("ss", MUL, "scale", "scale"),
        LINE("sa", MUL, "ss", "a"), LINE("y", MUL, "sa", "b"));

/* Norms. L2 adds up in double, and so it takes the root. */
PROGRAM(l2, "l2", IN("x", AXIS(K)), WIDE("square", SQUARE, "x"), {.name = "sum", .prim = HOP_PRIM_SUM, .of = {"square"}, .axis = HOP_AXIS_K, .wide = true},
        NUMBER("eps", 1e-6), WIDE("whole", ADD, "sum", "eps"), WIDE("by", RSQRT, "whole"), LINE("y", MUL, "x", "by"));
PROGRAM(rms, "rms", IN("x", AXIS(K)), IN("n", 0), IN("eps", 0), IN("w", AXIS(K)), LINE("square", SQUARE, "x"),
        SUM("sum", "square"), LINE("mean", DIV, "sum", "n"), LINE("whole", ADD, "mean", "eps"), LINE("by", RSQRT, "whole"),
        LINE("z", MUL, "x", "by"), LINE("y", MUL, "z", "w"));
PROGRAM(centre, "groupnorm", IN("x", AXIS(K)), IN("n", 0), SUM("sum", "x"), LINE("mean", DIV, "sum", "n"),
        LINE("y", SUB, "x", "mean"));

const hop_program *hop_op_program(const hop_op *op, int part)
{
    static const hop_program *const taylors[] = {&taylor, &taylor_square, &taylor_product};
    switch (op->kind) {
    case HOP_OP_MUL: return &mul;
    case HOP_OP_SUB: return &sub;
    case HOP_OP_WEIGH: return &weigh;
    case HOP_OP_SKIP: return &skip;
    case HOP_OP_BLEND: return &blend;
    case HOP_OP_LERP: return op->in[2].buffer >= 0 ? &lerp_by : &lerp;
    case HOP_OP_RATE: return &rate;
    case HOP_OP_LRU_RATE: return &lru_rate;
    case HOP_OP_LRU_INPUT: return &lru_input;
    case HOP_OP_CONV: return op->silu ? &conv_silu : &conv;
    case HOP_OP_BONUS: return &bonus;
    case HOP_OP_DIVIDE: return &divide;
    case HOP_OP_TAYLOR: return taylors[part];
    case HOP_OP_L2: return &l2;
    case HOP_OP_RMS: return &rms;
    case HOP_OP_GROUPNORM: return part == 0 ? &centre : &rms;
    default: return NULL;
    }
}
