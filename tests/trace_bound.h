/* trace_bound.h - how far what a kernel forms may be from the value of a program's line in double: a running error
 * bound, line by line and number by number.
 *
 * Each primitive adds the roundings that any way of computing it makes (u = 2^-24 each, times the size of what is
 * rounded; below the normal numbers 2^-149), and hands on what its operands are off. So a line's bound is u, times the
 * roundings on the way to it, times its majorant, without a factor that was chosen. The values themselves are
 * doubles, and off by 2^-29 of that. */
#ifndef HOP_TESTS_TRACE_BOUND_H
#define HOP_TESTS_TRACE_BOUND_H

#include <hopbound/arith.h>
#include <hopbound/kernels.h>

#include <math.h>

#define BOUND_UNIT (HOP_UNIT_ROUNDOFF * (1 + 0x1p-20)) /* and what the doubles are off */
#define BOUND_TINY 0x1p-149
#define BOUND_ZERO 2e-38 /* exponentials below e^-87 are 0 */

/* A program's numbers and their bounds; off[i] lies as r.value[i]. */
typedef struct bounded {
    hop_arith_run r;
    double *off[HOP_ARITH_LINES];
    double cross; /* what CROSS rounds by, in relative terms */
} bounded;

typedef struct num {
    double x, off; /* |x|, and how far from x it may be */
} num;

static inline int64_t bound_index(const bounded *b, int line, const int64_t at[HOP_AXES])
{
    int64_t i = 0;
    for (int x = 0; x < HOP_AXES; x++) i += b->r.step[line][x] * at[x];
    return i;
}

/* A line's number, its place moved to `token` (-1: as it is). */
static inline num bound_num(const bounded *b, int line, const int64_t at[HOP_AXES], int64_t token)
{
    int64_t to[HOP_AXES] = {token < 0 ? at[0] : token, at[1], at[2], at[3]};
    if (line < 0) return (num){1, 0};
    int64_t i = bound_index(b, line, to);
    return (num){fabs(b->r.value[line][i]), b->off[line][i]};
}

static inline double bound_product(num a, num b, double roundings)
{
    double off = a.x * b.off + b.x * a.off + a.off * b.off;
    return off + roundings * (BOUND_UNIT * (a.x * b.x + off) + BOUND_TINY);
}

static inline double bound_sum(num a, num b, double unit)
{
    return a.off + b.off + unit * (a.x + b.x + a.off + b.off);
}

/* All terms of a line along an axis: sizes and bounds added up. */
static inline num bound_terms(const bounded *b, int line, int axis, const int64_t at[HOP_AXES])
{
    num all = {0, 0};
    int64_t to[HOP_AXES] = {at[0], at[1], at[2], at[3]};
    for (to[axis] = 0; to[axis] < b->r.size[axis]; to[axis]++) {
        num term = bound_num(b, line, to, -1);
        all.x += term.x, all.off += term.off;
    }
    return all;
}

/* n terms in any order, or n and a few: each is in at most n additions. */
static inline double bound_any_order(num all, double n)
{
    return all.off + HOP_DOT_ERROR(n) * (all.x + all.off);
}

/* A SUM: and one term more, if there is one. */
static inline double bound_summed(const bounded *b, int i, const int64_t at[HOP_AXES])
{
    const hop_arith *p = b->r.p;
    const int axis = p->line[i]->axis;
    num all = bound_terms(b, p->a[i], axis, at), one = {0, 0};
    double n = (double)b->r.size[axis];
    if (p->b[i] >= 0) one = bound_num(b, p->b[i], at, -1), n++;
    all.x += one.x, all.off += one.off;
    return p->line[i]->wide ? all.off + n * 0x1p-50 * all.x : bound_any_order(all, n);
}

static inline double bound_solved(const bounded *b, int i, const int64_t at[HOP_AXES])
{
    const hop_arith *p = b->r.p;
    num all = bound_terms(b, p->b[i], HOP_AXIS_K, at), own = bound_num(b, p->a[i], at, -1);
    int64_t to[HOP_AXES] = {at[0], 0, at[2], at[3]};
    for (int64_t j = 0; j < at[HOP_AXIS_T]; j++) {
        to[HOP_AXIS_J] = j;
        num c = bound_num(b, p->c[i], to, -1), x = bound_num(b, i, at, j);
        all.x += c.x * x.x, all.off += bound_product(c, x, 1);
    }
    all.x += own.x, all.off += own.off;
    return bound_any_order(all, (double)(b->r.size[HOP_AXIS_K] + at[HOP_AXIS_T] + 2));
}

/* y_t = y_(t-1) e, where e = hi + lo, and |hi| + |lo| <= 2 |e|: three roundings, of at most twice the result. */
static inline double bound_decayed(const bounded *b, int i, const int64_t at[HOP_AXES], int64_t token)
{
    num e = bound_num(b, b->r.p->a[i], at, token);
    if (at[HOP_AXIS_T] == 0) return e.off + BOUND_UNIT * (e.x + e.off) + BOUND_TINY;
    return bound_product(bound_num(b, i, at, at[HOP_AXIS_T] - 1), e, 4);
}

static inline double bound_exp(num a, double y, bool wide)
{
    double off = expm1(a.off) * y;
    return off + (wide ? BOUND_UNIT : HOP_EXP_ERROR) * (y + off) + (wide ? BOUND_TINY : BOUND_ZERO);
}

/* hi s + (lo s + c): four roundings of at most |hi s| + |lo s| + |c|. */
static inline double bound_fade(num e, num s, num c)
{
    double off = bound_product(e, s, 0) + c.off;
    return off + 4 * (BOUND_UNIT * (2 * e.x * s.x + c.x + off) + BOUND_TINY);
}

static inline double bound_recip(num a)
{
    double y = 1 / a.x, off = a.off < a.x ? y * a.off / (a.x - a.off) : INFINITY;
    return off + BOUND_UNIT * (y + off) + BOUND_TINY;
}

static inline double bound_quotient(num a, num c, double y)
{
    double off = c.off < c.x ? (a.off + y * c.off) / (c.x - c.off) : INFINITY;
    return off + BOUND_UNIT * (y + off) + BOUND_TINY;
}

/* A root, rounded, and turned over: the root of what is off by a part e is off by less than a part e. */
static inline double bound_rsqrt(num a, double y)
{
    double off = a.off < a.x ? y * a.off / (a.x - a.off) : INFINITY;
    return off + 3 * BOUND_UNIT * (y + off) + BOUND_TINY;
}

/* Functions as the prover takes them (src/prove/local.c): none is steeper than 9/8. */
static inline double bound_function(hop_prim f, num a, double y)
{
    const double relative = f == HOP_PRIM_GELU    ? 0x1p-14
                            : f == HOP_PRIM_EXPF  ? 0x1p-20
                            : f == HOP_PRIM_EXPM1 ? 0x1p-21
                                                  : 0x1p-18;
    double off = f == HOP_PRIM_EXPF || f == HOP_PRIM_EXPM1 ? expm1(a.off) * (y + 1) : 1.125 * a.off;
    return off + relative * (y + off) + 0x1p-118;
}

/* What looks along the tokens; NAN: it is none of these. */
static inline double bound_sequence(const bounded *b, int i, const int64_t at[HOP_AXES])
{
    const hop_arith *p = b->r.p;
    const int64_t t = at[HOP_AXIS_T], j = at[HOP_AXIS_J], *size = b->r.size;
    const int64_t aside[HOP_AXES] = {at[0], at[1], at[2], size[HOP_AXIS_V] - 1};
    num all;
    switch (p->line[i]->prim) {
    case HOP_PRIM_SUM: return bound_summed(b, i, at);
    case HOP_PRIM_SUM2:
        all = bound_terms(b, p->a[i], HOP_AXIS_K, at);
        num more = bound_terms(b, p->b[i], HOP_AXIS_J, at),
            last = p->c[i] < 0 ? (num){0, 0} : bound_num(b, p->c[i], at, -1);
        return bound_any_order((num){all.x + more.x + last.x, all.off + more.off + last.off},
                               (double)(size[HOP_AXIS_K] + size[HOP_AXIS_J] + 1));
    case HOP_PRIM_SOLVE: return bound_solved(b, i, at);
    case HOP_PRIM_RUNMAX: return 0; /* the same doubles as in a kernel, bit for bit */
    case HOP_PRIM_PREV: return t ? bound_num(b, p->a[i], at, t - 1).off : bound_num(b, p->b[i], at, -1).off;
    case HOP_PRIM_FAR: return bound_decayed(b, i, at, -1);
    case HOP_PRIM_FARB: return t ? bound_decayed(b, i, at, t - 1) : 0;
    case HOP_PRIM_DEC:
        return j > t ? 0 : j < t ? bound_decayed(b, i, at, -1) : bound_num(b, p->b[i], at, -1).off;
    case HOP_PRIM_LOWER: return j > t ? 0 : bound_num(b, p->a[i], at, -1).off;
    case HOP_PRIM_STRICT: return j >= t ? 0 : bound_num(b, p->a[i], at, -1).off;
    case HOP_PRIM_END: return bound_num(b, p->a[i], at, size[HOP_AXIS_T] - 1).off;
    case HOP_PRIM_ROWS: return bound_num(b, p->a[i], at, j).off;
    case HOP_PRIM_ASIDE: return bound_num(b, p->a[i], aside, -1).off;
    case HOP_PRIM_TOTAL:
        all = bound_terms(b, p->a[i], HOP_AXIS_T, at);
        return all.off + BOUND_UNIT * (all.x + all.off);
    default: return NAN;
    }
}

static inline double bound_number(const bounded *b, int i, const int64_t at[HOP_AXES], double y)
{
    const hop_arith *p = b->r.p;
    const bool wide = p->line[i]->wide;
    const num a = bound_num(b, p->a[i], at, -1), c = bound_num(b, p->b[i], at, -1);
    switch (p->line[i]->prim) {
    case HOP_PRIM_INPUT:
    case HOP_PRIM_NUMBER: return 0;
    case HOP_PRIM_LOGSIG: return a.off + 0x1p-50 * y;
    case HOP_PRIM_MUL: return bound_product(a, c, wide ? 0x1p-26 : 1);
    case HOP_PRIM_RATIO: return bound_product(a, c, 1);
    case HOP_PRIM_SINGLE: return a.off + BOUND_UNIT * (y + a.off) + BOUND_TINY;
    case HOP_PRIM_CROSS: return a.off + b->cross * (y + a.off + 0x1p-126);
    case HOP_PRIM_ADD:
    case HOP_PRIM_SUB:
    case HOP_PRIM_UNDER: return bound_sum(a, c, wide ? 0x1p-50 : BOUND_UNIT);
    case HOP_PRIM_PART:
    case HOP_PRIM_EITHER:
    case HOP_PRIM_MAX: return fmax(a.off, c.off);
    case HOP_PRIM_FADE: return bound_fade(a, c, bound_num(b, p->c[i], at, -1));
    case HOP_PRIM_SQUARE: return bound_product(a, a, wide ? 0x1p-26 : 1);
    case HOP_PRIM_DIV: return bound_quotient(a, c, y);
    case HOP_PRIM_LEAST: return a.off + c.off;
    case HOP_PRIM_RSQRT: return bound_rsqrt(a, y);
    case HOP_PRIM_SQRT: return (y > 0 ? a.off / y : 0) + BOUND_UNIT * y + BOUND_TINY;
    case HOP_PRIM_RELU: return a.off;
    case HOP_PRIM_SIGMOID:
    case HOP_PRIM_SILU:
    case HOP_PRIM_TANH:
    case HOP_PRIM_SOFTPLUS:
    case HOP_PRIM_ELU1:
    case HOP_PRIM_GELU:
    case HOP_PRIM_EXPF:
    case HOP_PRIM_EXPM1: return bound_function(p->line[i]->prim, a, y);
    case HOP_PRIM_EXP: return bound_exp(a, y, wide);
    case HOP_PRIM_RECIP: return bound_recip(a);
    case HOP_PRIM_PLAIN: return INFINITY; /* no kernel forms it */
    case HOP_PRIM_COPY:
    case HOP_PRIM_NEG:
    case HOP_PRIM_ABS:
    case HOP_PRIM_HELD:
    case HOP_PRIM_MILD: return a.off;
    default: return bound_sequence(b, i, at);
    }
}

/* Bounds of a line. `also` (may be NULL): rows before token `from` may as well have been computed by this program, whose
 * quantity of the same name says how far off they are. */
static inline void bound_line(bounded *b, int i, const bounded *also, int64_t from)
{
    int64_t n[HOP_AXES], at[HOP_AXES], e = 0;
    const hop_arith *p = b->r.p;
    const bool mask = p->line[i]->prim == HOP_PRIM_LOWER || p->line[i]->prim == HOP_PRIM_STRICT;
    const int same = also && mask ? hop_arith_find(also->r.p, p->line[i]->name) : -1;
    for (int x = 0; x < HOP_AXES; x++) n[x] = p->axes[i] >> x & 1 ? b->r.size[x] : 1;
    for (at[0] = 0; at[0] < n[0]; at[0]++)
        for (at[1] = 0; at[1] < n[1]; at[1]++)
            for (at[2] = 0; at[2] < n[2]; at[2]++)
                for (at[3] = 0; at[3] < n[3]; at[3]++, e++) {
                    double off = bound_number(b, i, at, fabs(b->r.value[i][e]));
                    if (same >= 0 && at[HOP_AXIS_T] < from)
                        off = fmax(off, bound_num(also, same, at, -1).off);
                    b->off[i][e] = off;
                }
}

#endif
