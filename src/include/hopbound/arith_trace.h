/* hopbound/arith_trace.h - what a kernel forms on its way, told by the name that its program (hopbound/arith.h) has for
 * it (room: kernels).
 *
 * Nothing at all but where HOP_TRACE is defined: in isa_traced.c, a table that only tests link, and in traced.c, the
 * same of what is no kernel. There every TRACE is a call of hop__trace, which tests have, and which compares. Tokens are
 * counted from the one that TRACE_TOKEN named last, columns J from the unit's first. Rows of an operation on rows count
 * as tokens, group by group: the rows that its program is about. */
#ifndef HOPBOUND_ARITH_TRACE_H
#define HOPBOUND_ARITH_TRACE_H

#ifdef HOP_TRACE
#include <hopbound/arith.h>

/* A unit begins: tokens first .. first + n - 1, from the state S, its rows `ld` apart (NULL: zeros). */
typedef struct hop__trace_start {
    const char *form;
    int64_t head, first, n; /* head: of a scan; the first channel of a selective one */
    const float *state;
    int64_t ld;
    float m, z; /* attention: the largest score and the sum of weights before */
} hop__trace_start;

/* Numbers of one quantity: x, or x + lo; or one in double. */
typedef struct hop__traced {
    const char *name;
    const float *x;
    int64_t at[HOP_AXES], count[HOP_AXES], step[HOP_AXES]; /* count 0: one number */
    const float *lo;
    double wide;
    bool negated;                                           /* the kernel has it with the other sign */
    enum hop__lower { WHOLE, UP_TO_OWN, BEFORE_OWN } lower; /* all; those with j <= t; with j < t */
    const char *otherwise; /* the name, where the program has not got the first */
} hop__traced;

void hop__trace_unit(const hop__trace_start *u);
void hop__trace_steep(int64_t from);    /* from this token of the unit on; rows before stay as they are */
void hop__trace_rows(const char *form); /* the form whose rows are told next */
void hop__trace_token(int64_t t);
void hop__trace(const hop__traced *v);

static inline float hop__told(const hop__traced *v, float x)
{
    hop__traced one = *v;
    one.x = &x;
    hop__trace(&one);
    return x;
}

#define AT(axis, i)                   .at[HOP_AXIS_##axis] = (i)
#define ALONG(axis, n, s)             .count[HOP_AXIS_##axis] = (n), .step[HOP_AXIS_##axis] = (s)
#define TRACE(...)                    hop__trace(&(hop__traced){__VA_ARGS__})
#define TRACE_WIDE(what, number, ...) hop__trace(&(hop__traced){.name = what, .wide = (number), __VA_ARGS__})
/* A number that is used where it is told. */
#define TOLD(what, number, ...) hop__told(&(hop__traced){.name = what, __VA_ARGS__}, number)
/* A register: numbers i .. i + n - 1 along an axis. */
#define TRACE_LANES(what, register_, axis, i, ...)                            \
    do {                                                                      \
        float lanes_[LANES];                                                  \
        v_store(lanes_, register_);                                           \
        TRACE(what, lanes_, AT(axis, i), ALONG(axis, LANES, 1), __VA_ARGS__); \
    } while (0)
/* Of which the first `n` count. */
#define TRACE_SOME(what, register_, axis, i, n, ...)                      \
    do {                                                                  \
        float lanes_[LANES];                                              \
        v_store(lanes_, register_);                                       \
        TRACE(what, lanes_, AT(axis, i), ALONG(axis, n, 1), __VA_ARGS__); \
    } while (0)
/* One that is two numbers. */
#define TRACE_TWO(what, high, low, axis, i, ...)                                      \
    do {                                                                              \
        float hi_[LANES], lo_[LANES];                                                 \
        v_store(hi_, high), v_store(lo_, low);                                        \
        TRACE(what, hi_, .lo = lo_, AT(axis, i), ALONG(axis, LANES, 1), __VA_ARGS__); \
    } while (0)
#define TRACE_UNIT(...)   hop__trace_unit(&(hop__trace_start){__VA_ARGS__})
#define TRACE_TOKEN(t)    hop__trace_token(t)
#define TRACE_STEEP(from) hop__trace_steep(from)
#define TRACE_ROWS(form)  hop__trace_rows(form)
#define TRACE_ONLY(...)   __VA_ARGS__ /* what only a trace needs */
#else
#define TRACE(...)              ((void)0)
#define TRACE_WIDE(...)         ((void)0)
#define TRACE_LANES(...)        ((void)0)
#define TRACE_SOME(...)         ((void)0)
#define TOLD(what, number, ...) (number)
#define TRACE_TWO(...)          ((void)0)
#define TRACE_UNIT(...)         ((void)0)
#define TRACE_TOKEN(t)          ((void)0)
#define TRACE_STEEP(from)       ((void)0)
#define TRACE_ROWS(form)        ((void)0)
#define TRACE_ONLY(...)
#endif

#endif
