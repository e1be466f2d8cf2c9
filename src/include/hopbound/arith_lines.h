/* hopbound/arith_lines.h - how programs (hopbound/arith.h) are written down: for the files that hold them, and for
 * nobody else (room: kernels).
 *
 *     LIST(scores, IN("q", AXIS(K)), IN("k", AXIS(K)), LINE("qk", MUL, "q", "k"), SUM("s", "qk", K)); */
#ifndef HOPBOUND_ARITH_LINES_H
#define HOPBOUND_ARITH_LINES_H

#include <hopbound/arith.h>

#define AXIS(name) (1 << HOP_AXIS_##name)
#define IN(quantity, axes)                                        \
    {                                                             \
        .name = quantity, .prim = HOP_PRIM_INPUT, .value = (axes) \
    }
#define NUMBER(quantity, x)                                     \
    {                                                           \
        .name = quantity, .prim = HOP_PRIM_NUMBER, .value = (x) \
    }
#define LINE(quantity, how, ...)                                        \
    {                                                                   \
        .name = quantity, .prim = HOP_PRIM_##how, .of = { __VA_ARGS__ } \
    }
#define WIDE(quantity, how, ...)                                                    \
    {                                                                               \
        .name = quantity, .prim = HOP_PRIM_##how, .of = {__VA_ARGS__}, .wide = true \
    }
#define SUM(quantity, a, along)                                                     \
    {                                                                               \
        .name = quantity, .prim = HOP_PRIM_SUM, .of = {a}, .axis = HOP_AXIS_##along \
    }
#define SUM_AND(quantity, a, b, along)                                                 \
    {                                                                                  \
        .name = quantity, .prim = HOP_PRIM_SUM, .of = {a, b}, .axis = HOP_AXIS_##along \
    }
#define WIDE_SUM(quantity, a, along)                                                              \
    {                                                                                             \
        .name = quantity, .prim = HOP_PRIM_SUM, .of = {a}, .axis = HOP_AXIS_##along, .wide = true \
    }
#define SOLVE(quantity, sign, ...)                                                     \
    {                                                                                  \
        .name = quantity, .prim = HOP_PRIM_SOLVE, .of = {__VA_ARGS__}, .value = (sign) \
    }
#define LIST(list, ...) static const hop_line list[] = {__VA_ARGS__, {.name = NULL}}

#endif
