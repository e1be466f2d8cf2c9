/* hopbound/arith.h - the arithmetic of an operation, form by form, written down as data (room: kernels).
 *
 * A program is a list of lines; each names a quantity and the one primitive that makes it from quantities
 * before it. It says what kernels form on their way, product by product and sum by sum, up to the order in
 * which a sum is taken. Three readers: the `ref` table evaluates it in double, so that it is the truth every
 * instruction set is tested against; a test compares what the kernels' bodies form with it, name by name; and
 * the prover bounds it mechanically: range, rounding and underflow of every line, whatever is multiplied by 0
 * later.
 *
 *     const hop_program *const *forms = hop_scan_programs(HOP_ARITH_DELTA, HOP_GATE_TOKEN, false);
 *     for (int i = 0; forms[i]; i++) visit(forms[i]);
 *
 * A quantity varies along axes: T, the tokens of a unit (one token of the step form, up to
 * HOP_ARITH_CHUNK of a chunk); J, the same tokens as those that are looked back at; K, the elements of a key
 * (states of a channel, numbers of a group); V, those of a value. What it varies along follows from its
 * operands. A number of no axis is a point. S is the state before the unit, S1 that behind it. */
#ifndef HOPBOUND_ARITH_H
#define HOPBOUND_ARITH_H

#include <hopbound/scans.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOP_AXIS_T, HOP_AXIS_J, HOP_AXIS_K, HOP_AXIS_V, HOP_AXES };
#define HOP_ARITH_CHUNK 32 /* the tokens of a chunk, at the most .. */
#define HOP_ARITH_FEW   4  /* .. and so few are done one by one, whatever the form that was asked for */
#define HOP_ARITH_LINES 96

/* clang-format off */
/* a, b, c are the operands; n the tokens of the unit.
 *
 *   INPUT    given; `value` is a set of axes, 1 << HOP_AXIS_..
 *   NUMBER   the constant `value`
 *   COPY     a
 *   MUL      a b                       ADD  a + b            SUB  a - b           NEG  -a
 *   DIV      a / b                     MAX  max(a, b)        ABS  |a|             LEAST  min(a, b)
 *   RATIO    a b, which have factors E_t and c = 1 / E_j of decays E, for tokens j <= t: together at most 1
 *   SQUARE   a a, a number that is not below 0
 *   SUM      the sum of a along `axis` and, if there is one, of b, one term more, in any order
 *   SUM2     the sum of a along K, of b along J and, if there is one, of c, one term more, together, in any order
 *   FADE     a b + c, where a decay a is held as two numbers, a = hi + lo: hi b + (lo b + c)
 *   SOLVE    x_t = a_t + value (sum_K b + sum over j < t of c_tj x_j)
 *   EXP      e^a as kernels have it: 0 below -87     EXPF   .. as libm has it, float32
 *   RECIP    1 / a
 *   LOGSIG   log(1 / (1 + e^-a)), in double
 *   RUNMAX   m_t = max(a_t + m_(t-1), b_t) with m_(-1) = c, rounded to float32, which then is what m is
 *   UNDER    a - b, where b is a RUNMAX that a was looked at for: above 0 by b's rounding at most
 *   PREV     what a was one token before; b before the first
 *   FAR      the product of a over tokens 0 .. t        FARB   .. 0 .. t-1
 *   DEC      b_j times the product of a over j+1 .. t, 0 for j > t; b may be none: 1
 *   LOWER    a for j <= t, 0 behind                      STRICT  a for j < t, 0 from there on
 *   END      a at the last token                         ROWS   a, its tokens along J
 *   TOTAL    the sum of a over all tokens, in double, rounded once
 *   MILD     a, used only where it is 2^-32 at least
 *   PART     some factor of the product a, which began with b: b as well as a
 *   EITHER   a, or b: one number, formed in two ways
 *   ASIDE    the last of V
 *   PLAIN    a e^b: not formed, but what is meant by a
 *   HELD     a, held between -b and b     CROSS  a, rounded to the numbers of a message
 *   SINGLE   a, which was formed in double, rounded to float32
 *   SIGMOID .. GELU   the activations of mixers and MLPs
 *   EXPM1    e^a - 1                   SQRT   square root    RSQRT  1 / sqrt(a), in float32 or better */
#define HOP_PRIM_LIST(X)                                                                                   \
    X(INPUT) X(NUMBER) X(COPY) X(MUL) X(ADD) X(SUB) X(NEG) X(DIV) X(MAX) X(ABS) X(LEAST) X(RATIO) X(SQUARE) X(SUM)  \
    X(SUM2) X(FADE) X(SOLVE) X(EXP) X(EXPF) X(RECIP) X(LOGSIG) X(RUNMAX) X(UNDER) X(PREV) X(FAR) X(FARB) X(DEC) X(LOWER)    \
    X(STRICT) X(END) X(ROWS) X(TOTAL) X(MILD) X(PART) X(EITHER) X(ASIDE) X(PLAIN) X(HELD) X(CROSS) X(SINGLE) X(SIGMOID) X(SILU) X(TANH)         \
    X(SOFTPLUS) X(ELU1) X(RELU) X(GELU) X(EXPM1) X(SQRT) X(RSQRT)
/* clang-format on */

typedef enum hop_prim {
#define HOP_PRIM_ENUM(name) HOP_PRIM_##name,
    HOP_PRIM_LIST(HOP_PRIM_ENUM)
#undef HOP_PRIM_ENUM
        HOP_PRIM_COUNT
} hop_prim;

typedef struct hop_line {
    const char *name; /* NULL ends a list */
    hop_prim prim;
    const char *of[3]; /* names of the operands a, b, c; NULL: none */
    int axis;          /* SUM */
    bool wide;         /* formed in double; EXP: and then rounded to float32 */
    double value;      /* NUMBER; SOLVE; INPUT: its axes */
} hop_line;

#define HOP_PROGRAM_PARTS 8
typedef struct hop_program {
    const char *op, *form;                   /* "delta", "chunk" */
    bool unit_is_token;                      /* the step form: T is one token */
    const hop_line *part[HOP_PROGRAM_PARTS]; /* lists one after the other; NULL ends */
    const char *reads;                       /* the quantity that the operation puts out */
} hop_program;

/* A program with its names looked up: line i's operands are lines a[i], b[i], c[i] < i, -1: none. */
typedef struct hop_arith {
    int count;
    const hop_line *line[HOP_ARITH_LINES];
    int a[HOP_ARITH_LINES], b[HOP_ARITH_LINES], c[HOP_ARITH_LINES];
    unsigned axes[HOP_ARITH_LINES]; /* what each varies along */
    int reads, state, next;         /* lines of the result, of S and of S1; -1: there is none */
} hop_arith;

void hop_arith_open(hop_arith *p, const hop_program *program); /* a name that is not there is a bug: aborts */
int hop_arith_find(const hop_arith *p, const char *name);      /* -1: there is none */
const char *hop_prim_name(hop_prim p);                         /* "fade" */

/* The recurrences of scans.h. */
typedef enum hop_arith_scan {
    HOP_ARITH_DECAY,
    HOP_ARITH_DELTA,
    HOP_ARITH_DPLR,
    HOP_ARITH_MLSTM,
    HOP_ARITH_SELECTIVE,
    HOP_ARITH_DIAGONAL
} hop_arith_scan;

/* All programs that kernels run for a recurrence whose gates are these, the step form first; NULL ends. `bonus`:
 * decay with RWKV-6's u. Inputs: q, k, v, g, beta, a, b, u, i, f, scale, m, S as in scans.h; x, delta, A, B, C, D
 * of the selective scan; a, b of the elementwise one. */
const hop_program *const *hop_scan_programs(hop_arith_scan scan, hop_gate gate, bool bonus);

/* Softmax attention of one query: over a block of keys behind others, which may be all there are; with scores, weights
 * and results rounded to fewer bits; two partial softmaxes folded; the scores of blocks of keys, one summary each; a partial
 * softmax that crosses, rounded to the numbers of a message. */
typedef enum hop_arith_attend {
    HOP_ARITH_ATTEND,
    HOP_ARITH_ROUNDED,
    HOP_ARITH_FOLD,
    HOP_ARITH_SUMMARIES,
    HOP_ARITH_CROSS
} hop_arith_attend;
const hop_program *hop_attention_program(hop_arith_attend which);

/* ---- evaluation in double ---------------------------------------------------------------------- */

/* Sizes of the axes; value[i]: the numbers of line i, along T, J, K, V in this order, those that it varies
 * along; step[i]: how far neighbours along each axis are apart, 0 along others. INPUT lines' are the caller's
 * to fill, or to point elsewhere; all others are computed. */
typedef struct hop_arith_run {
    const hop_arith *p;
    int64_t size[HOP_AXES];
    double *value[HOP_ARITH_LINES];
    int64_t step[HOP_ARITH_LINES][HOP_AXES];
} hop_arith_run;

size_t hop_arith_room(const hop_arith *p, const int64_t size[HOP_AXES]); /* doubles for all values */
void hop_arith_place(hop_arith_run *r, double *room);                    /* shares `room` out, sets step */
int64_t hop_arith_count(const hop_arith_run *r, int line);               /* numbers of a line */
void hop_arith_evaluate(hop_arith_run *r);

#ifdef __cplusplus
}
#endif
#endif
