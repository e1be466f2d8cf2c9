/* arith_rows.c - what rows.c and the convolution form on their way, as programs (hopbound/arith.h). A row's numbers
 * are points here; K runs over the numbers of a group that are added up (BONUS, CONV, norms), V over its values. */
#include <hopbound/arith_lines.h>
#include <hopbound/ops.h>

#define PROGRAM_OF(id, title, how, result, ...) \
    LIST(id##_lines, __VA_ARGS__);              \
    static const hop_program id = {             \
        .op = title, .form = how, .unit_is_token = true, .part = {id##_lines}, .reads = result}
#define PROGRAM(id, title, ...) PROGRAM_OF(id, title, "row", "y", __VA_ARGS__)

PROGRAM(mul, "mul", IN("a", 0), IN("b", 0), LINE("y", MUL, "b", "a"));
PROGRAM(sub, "sub", IN("a", 0), IN("b", 0), LINE("y", SUB, "a", "b"));
PROGRAM(clamp, "clamp", IN("a", 0), IN("lo", 0), IN("hi", 0), LINE("some", MAX, "a", "lo"),
        LINE("y", LEAST, "some", "hi"));
PROGRAM(add, "add", IN("a", 0), IN("b", 0), LINE("y", ADD, "a", "b"));
PROGRAM(weigh, "weigh", IN("a", 0), IN("w", 0), LINE("y", MUL, "a", "w"));
PROGRAM(skip, "skip", IN("a", 0), IN("b", 0), IN("w", 0), LINE("wb", MUL, "w", "b"),
        LINE("y", ADD, "a", "wb"));
PROGRAM(blend, "blend", IN("a", 0), IN("b", 0), IN("w", 0), NUMBER("one", 1), LINE("more", SUB, "b", "one"),
        LINE("some", MUL, "more", "w"), LINE("by", ADD, "one", "some"), LINE("y", MUL, "a", "by"));
PROGRAM(lerp, "lerp", IN("a", 0), IN("b", 0), IN("w", 0), LINE("bw", MUL, "b", "w"),
        LINE("y", ADD, "a", "bw"));
PROGRAM(lerp_by, "lerp", IN("a", 0), IN("b", 0), IN("c", 0), IN("w", 0), LINE("by", ADD, "c", "w"),
        LINE("bb", MUL, "b", "by"), LINE("y", ADD, "a", "bb"));
PROGRAM(rate, "rate", IN("a", 0), IN("w", 0), LINE("e", EXPF, "w"), NUMBER("finite", 1e30f),
        LINE("r", LEAST, "e", "finite"), LINE("by", NEG, "r"), LINE("y", MUL, "a", "by"));
PROGRAM(lru_rate, "lru_rate", IN("a", 0), IN("w", 0), LINE("s", SOFTPLUS, "w"), NUMBER("finite", 1e30f),
        LINE("r", LEAST, "s", "finite"), NUMBER("eight", -8), LINE("a8", MUL, "eight", "a"),
        LINE("y", MUL, "a8", "r"));
PROGRAM(lru_input, "lru_input", IN("a", 0), IN("b", 0), IN("c", 0), NUMBER("two", 2),
        LINE("a2", MUL, "two", "a"), LINE("e", EXPM1, "a2"), LINE("rest", NEG, "e"),
        LINE("root", SQRT, "rest"), LINE("bc", MUL, "b", "c"), LINE("y", MUL, "root", "bc"));
PROGRAM(conv, "conv", IN("x", AXIS(K)), IN("w", AXIS(K)), IN("bias", 0), LINE("wx", MUL, "w", "x"),
        SUM_AND("y", "wx", "bias", K)); /* which the kernels begin with */
PROGRAM(conv_silu, "conv", IN("x", AXIS(K)), IN("w", AXIS(K)), IN("bias", 0), LINE("wx", MUL, "w", "x"),
        SUM_AND("s", "wx", "bias", K), LINE("y", SILU, "s"));
PROGRAM(bonus, "bonus", IN("a", AXIS(V)), IN("b", AXIS(K)), IN("c", AXIS(K)), IN("v", AXIS(V)),
        IN("w", AXIS(K)), LINE("bc", MUL, "b", "c"), LINE("bcw", MUL, "bc", "w"), SUM("sum", "bcw", K),
        LINE("sv", MUL, "sum", "v"), LINE("y", ADD, "a", "sv"));
PROGRAM(divide, "divide", IN("a", AXIS(V)), IN("b", 0), IN("eps", 0), LINE("by", ADD, "b", "eps"),
        LINE("y", DIV, "a", "by"));
/* TAYLOR's features: x_i; x_i²; x_i x_j. */
PROGRAM_OF(taylor, "taylor", "number", "one", IN("a", 0), IN("scale", 0), LINE("one", MUL, "scale", "a"));
PROGRAM_OF(taylor_square, "taylor", "square", "square", IN("a", 0), IN("scale", 0), IN("half", 0),
           LINE("h", MUL, "half", "scale"), LINE("hs", MUL, "h", "scale"), LINE("ha", MUL, "hs", "a"),
           LINE("square", MUL, "ha", "a"));
PROGRAM_OF(taylor_product, "taylor", "product", "product", IN("a", 0), IN("b", 0), IN("scale", 0),
           LINE("ss", MUL, "scale", "scale"), LINE("sa", MUL, "ss", "a"), LINE("product", MUL, "sa", "b"));

/* Norms. L2 adds up in double, and so it takes the root. */
PROGRAM(l2, "l2", IN("x", AXIS(K)), WIDE("square", SQUARE, "x"), WIDE_SUM("sum", "square", K),
        NUMBER("eps", 1e-6), WIDE("whole", ADD, "sum", "eps"), WIDE("by", RSQRT, "whole"),
        LINE("y", MUL, "x", "by"));
PROGRAM(rms, "rms", IN("x", AXIS(K)), IN("n", 0), IN("eps", 0), IN("w", AXIS(K)), LINE("square", SQUARE, "x"),
        SUM("sum", "square", K), LINE("mean", DIV, "sum", "n"), LINE("whole", ADD, "mean", "eps"),
        LINE("by", RSQRT, "whole"), LINE("z", MUL, "x", "by"), LINE("y", MUL, "z", "w"));
PROGRAM_OF(centre, "groupnorm", "centre", "d", IN("x", AXIS(K)), IN("n", 0), SUM("total", "x", K),
           LINE("middle", DIV, "total", "n"), LINE("d", SUB, "x", "middle"));
PROGRAM_OF(biased, "groupnorm", "bias", "biased", IN("x", AXIS(K)), IN("bias", AXIS(K)),
           LINE("biased", ADD, "x", "bias"));

/* Activations: what comes before and behind is multiplied. */
#define ACT(id, ...)                                                             \
    PROGRAM_OF(id, "act", #id, "y", IN("a", 0), IN("before", 0), IN("scale", 0), \
               LINE("x", MUL, "a", "before"), __VA_ARGS__, LINE("y", MUL, "f", "scale"))
ACT(copied, LINE("f", COPY, "x"));
ACT(exponential, LINE("f", EXP, "x"));
ACT(exp1000, LINE("e", EXP, "x"), NUMBER("most", 1000), LINE("f", LEAST, "e", "most"));
ACT(sigmoid, LINE("f", SIGMOID, "x"));
ACT(silu, LINE("f", SILU, "x"));
ACT(tanh_, LINE("f", TANH, "x"));
ACT(softplus, LINE("f", SOFTPLUS, "x"));
ACT(logsigmoid, LINE("minus", NEG, "x"), LINE("s", SOFTPLUS, "minus"), LINE("f", NEG, "s"));
ACT(elu1, LINE("f", ELU1, "x"));
ACT(relu, LINE("f", RELU, "x"));
ACT(gelu, LINE("f", GELU, "x"));
ACT(relu2, LINE("r", RELU, "x"), LINE("f", MUL, "r", "r"));

/* A pair, in double, by a cosine and a sine; these by theta, or by frequencies and a scale of a table, in float32. */
PROGRAM_OF(turn_first, "rope", "first", "first", IN("a", 0), IN("b", 0), IN("co", 0), IN("si", 0),
           WIDE("ac", MUL, "a", "co"), WIDE("bs", MUL, "b", "si"), WIDE("less", SUB, "ac", "bs"),
           LINE("first", SINGLE, "less"));
PROGRAM_OF(turn_second, "rope", "second", "second", IN("a", 0), IN("b", 0), IN("co", 0), IN("si", 0),
           WIDE("as", MUL, "a", "si"), WIDE("bc", MUL, "b", "co"), WIDE("more", ADD, "as", "bc"),
           LINE("second", SINGLE, "more"));
PROGRAM_OF(angle, "rope", "angle", "angle", IN("position", 0), IN("rate", 0),
           WIDE("angle", MUL, "position", "rate"));
PROGRAM_OF(angle_by_table, "rope", "table", "angle", IN("position", 0), IN("rate", 0), IN("scale", 0),
           IN("cosine", 0), IN("sine", 0), LINE("angle", MUL, "position", "rate"),
           LINE("co", MUL, "cosine", "scale"), LINE("si", MUL, "sine", "scale"));

PROGRAM(swiglu, "swiglu", IN("gate", 0), IN("up", 0), LINE("s", SILU, "gate"), LINE("y", MUL, "s", "up"));

const hop_program *hop_swiglu_program(void)
{
    return &swiglu;
}

static const hop_program *act_program(hop_act act)
{
    static const hop_program *const acts[] = {&copied,   &exponential, &exp1000, &sigmoid, &silu, &tanh_,
                                              &softplus, &logsigmoid,  &elu1,    &relu,    &gelu, &relu2};
    return acts[act];
}

static const hop_program *norm_program(const hop_op *op, int part)
{
    static const hop_program *const groupnorm[] = {&centre, &rms, &biased, NULL};
    if (op->kind == HOP_OP_GROUPNORM) return groupnorm[part];
    return part > 0 ? NULL : op->kind == HOP_OP_L2 ? &l2 : &rms;
}

const hop_program *hop_op_program(const hop_op *op, int part)
{
    static const hop_program *const taylors[] = {&taylor, &taylor_square, &taylor_product, NULL};
    static const hop_program *const turns[] = {&turn_first, &turn_second, &angle, NULL};
    if (op->kind == HOP_OP_TAYLOR) return taylors[part];
    if (op->kind == HOP_OP_ROPE) return part == 2 && op->par[0] >= 0 ? &angle_by_table : turns[part];
    if (op->kind == HOP_OP_L2 || op->kind == HOP_OP_RMS || op->kind == HOP_OP_GROUPNORM)
        return norm_program(op, part);
    if (part > 0) return NULL;
    switch (op->kind) {
    case HOP_OP_ACT: return act_program(op->act);
    case HOP_OP_MUL: return &mul;
    case HOP_OP_SUB: return &sub;
    case HOP_OP_CLAMP: return &clamp;
    case HOP_OP_ADD: return &add;
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
    default: return NULL;
    }
}
