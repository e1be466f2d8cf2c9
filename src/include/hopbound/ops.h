/* hopbound/ops.h - what a layer is: a list of operations on buffers, each written once.
 *
 * A mixer says what it does as data; whoever needs to know goes through the list: over whole sequences and token by
 * token (mixers), backward (training), with sets instead of numbers (prove). Sizes, scratch and lifetimes
 * come from the list, too. Nobody has to know a mixer by its name.
 *
 *     hop_list list;
 *     hop_mixer_list(&list, ops, &config);
 *     for (int i = 0; i < list.op_count; i++) visit(&list.op[i]);
 *
 * Buffers hold `width` floats a token. Buffer HOP_X is the layer's input, HOP_Y its output; every other is
 * written by one operation, before it is read. An operation reads columns of buffers (hop_ref), so that a
 * slice costs nothing. Groups: a row of `groups * dim` numbers is [groups, dim].
 */
#ifndef HOPBOUND_OPS_H
#define HOPBOUND_OPS_H

#include <hopbound/arith.h>
#include <hopbound/kernels.h>
#include <hopbound/scans.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOP_X, HOP_Y, HOP_FIRST_BUFFER };
#define HOP_LIST_OPS     64
#define HOP_LIST_BUFFERS 64

/* clang-format off */
/* y is the buffer written; a, b, c, .. the references in[0], in[1], in[2], ..; w, w2 the parameters par[0],
 * par[1]. What is elementwise reads packed columns ref.column .. ref.column + width - 1 of each row. When
 * activations are rounded to a number of bits, every result is, but for CONSTANT's.
 *
 *   LINEAR     y = a Wᵀ + bias, W = rows first_row .. first_row + width / groups - 1, columns first_column ..
 *              first_column + dim - 1 of w, whose rows have `row` numbers; bias w2 or none, as many numbers as
 *              W has rows. groups > 1: each of the groups of dim numbers of a is multiplied by the same W
 *              [width / groups, dim] and gets the same bias. steady: a row's bits do not depend on how many
 *              rows there are
 *   BLOCKS     y = a · block-diagonal(w) + w2: groups blocks [dim, dim], rows are inputs: w [groups * dim, dim]
 *   CONV       depthwise causal convolution of `taps` taps, weights w [width, taps], bias w2 or none, then SiLU
 *              if silu; remembers taps - 1 inputs
 *   SHIFT      y_t = a_{t-1}, 0 before the first token; remembers one input
 *   ACT        y = scale · act(a · before), act one of hop_act
 *   RATE       y = -min(exp(w[g]), 1e30) · a for group g of `groups`, dim numbers each
 *   L2         y = a / sqrt(sum a² + 1e-6) for each of the groups
 *   ROPE       rotates the first `rotary` numbers of each of the groups by its position, theta; with w [rotary / 2]
 *              by these frequencies: angles, cosines and sines are float32, the latter times scale
 *   RMS        y = a / sqrt(mean a² + eps) · w for each of the groups; w [dim], the same for all
 *   GROUPNORM  y = (a - mean) / sqrt(variance + eps) · w + w2 for each of the groups; w, w2 [groups * dim], w2
 *              may be none
 *   MUL        y = a ⊙ b; b has width / dim numbers when dim > 1: each serves dim neighbours of a
 *   SUB        y = a - b
 *   CLAMP      y = min(max(a, lo), hi)
 *   ADD        y = a + b
 *   LERP       y = a + b ⊙ (c + w); without c: a + b ⊙ w. w [width], or row first_row of w [.., width]
 *   WEIGH      y = a ⊙ w
 *   SKIP       y = a + b ⊙ w[e / dim]
 *   BLEND      y = a ⊙ (1 + (b - 1) ⊙ w)
 *   BONUS      y = a + (sum_e b_e c_e w_e) v per group: b, c [groups, dim] with w [groups, dim], a and
 *              in[3] = v [groups, width / groups]
 *   CONSTANT   y_h = constant(config, h): one row for all tokens
 *   LRU_RATE   y = -8 a min(softplus(w), 1e30): the log decay of an RG-LRU
 *   LRU_INPUT  y = sqrt(1 - e^(2a)) · (b ⊙ c)
 *   TAYLOR     y = the features 1, x_i, x_i x_j (i <= j) of each of the groups of dim numbers, times 1, scale,
 *              scale² (scale²/2 where i = j) if scaled, else 1
 *   APPEND_ONE y = a with 1 appended to each of the groups of dim numbers
 *   DIVIDE     y = a without the last of each of the groups of dim + 1 numbers, divided by that last + eps
 *   ROUTE      y = the weights of the topk experts that a token's scores a choose, 0 for all others: p of softmax(a), or
 *              sigmoid(a) if act is that, divided by the sum of the chosen ones + eps if scaled, times scale. Those whose
 *              p + w is largest are chosen, w [width] or none; of equal ones the first; of groups > 1 only from the
 *              `block` groups whose best two sum up to most
 *   REPEAT     y [groups, dim] from a [groups / times, dim]: each serves `times` consecutive groups
 *   SCAN       o = core(in[HOP_SCAN_*]); see scans.h. With steps > 1 a token is `steps` tokens of the
 *              recurrence: k, v, beta of a token lie step by step, the first step has the decay, the last one
 *              the query, and only what it reads is put out
 *   SELECTIVE  Mamba's: x, delta [width], B, C [states], A = -exp(min(w, 69)) [width, states], D = w2 [width]
 *   DIAGONAL   h = a h + b, elementwise
 *   ATTEND     softmax attention, q, k, v: [heads, dim], [kv_heads, dim]; window 0: all that came before; both
 *              ways if bidirectional. Remembers keys and values
 *   SPARSE     (B, k)-sparse attention: block, topk, summary; see sparse.c */
#define HOP_OP_LIST(X)                                                                                    \
    X(LINEAR) X(BLOCKS) X(CONV) X(SHIFT) X(ACT) X(RATE) X(L2) X(ROPE) X(RMS) X(GROUPNORM) X(MUL) X(SUB)   \
    X(CLAMP) X(ADD) X(ROUTE) X(LERP) X(WEIGH) X(SKIP) X(BLEND) X(BONUS) X(CONSTANT) X(LRU_RATE)           \
    X(LRU_INPUT) X(TAYLOR)                                                                                \
    X(APPEND_ONE) X(DIVIDE) X(REPEAT) X(SCAN) X(SELECTIVE) X(DIAGONAL) X(ATTEND) X(SPARSE)
/* clang-format on */

typedef enum hop_op_kind {
#define HOP_OP_ENUM(name) HOP_OP_##name,
    HOP_OP_LIST(HOP_OP_ENUM)
#undef HOP_OP_ENUM
        HOP_OP_COUNT
} hop_op_kind;

typedef enum hop_act {
    HOP_ACT_COPY, /* y = scale · before · a */
    HOP_ACT_EXP,
    HOP_ACT_EXP1000, /* min(e^a, 1000): RWKV-6's decay, which must stay finite */
    HOP_ACT_SIGMOID,
    HOP_ACT_SILU,
    HOP_ACT_TANH,
    HOP_ACT_SOFTPLUS,
    HOP_ACT_LOGSIGMOID,
    HOP_ACT_ELU1, /* elu + 1 */
    HOP_ACT_RELU,
    HOP_ACT_GELU,
    HOP_ACT_RELU2, /* the square of relu */
} hop_act;

/* Columns `column` .. of a buffer; buffer -1: none. */
typedef struct hop_ref {
    int buffer;
    int64_t column;
} hop_ref;

/* Which recurrence a SCAN is, and where its inputs are. */
typedef enum hop_core { HOP_CORE_DECAY, HOP_CORE_DELTA, HOP_CORE_DPLR, HOP_CORE_MLSTM } hop_core;
enum {
    HOP_SCAN_Q,
    HOP_SCAN_K,
    HOP_SCAN_V,
    HOP_SCAN_G,
    HOP_SCAN_BETA,
    HOP_SCAN_A,
    HOP_SCAN_B,
    HOP_SCAN_I,
    HOP_SCAN_F
};
enum { HOP_SELECTIVE_X, HOP_SELECTIVE_DELTA, HOP_SELECTIVE_B, HOP_SELECTIVE_C };
#define HOP_OP_INPUTS 9
#define HOP_OP_PARAMS 2

struct hop_mixer_config;

typedef struct hop_op {
    hop_op_kind kind;
    int y;                     /* the buffer written, all its columns */
    hop_ref in[HOP_OP_INPUTS]; /* what is read; those not used have buffer -1 */
    int par[HOP_OP_PARAMS]; /* parameters, by their place in the mixer's list; -1: none. SCAN: u of decay */
    int64_t width;          /* numbers a token in y */
    int64_t groups, dim;    /* as above; LINEAR: dim numbers in, in each of the groups */
    int64_t first_row;      /* LINEAR, LERP */
    int64_t first_column, row;  /* LINEAR */
    int64_t taps, times, steps; /* CONV, REPEAT, SCAN */
    int64_t rotary;             /* ROPE */
    hop_act act;
    bool silu, scaled, steady;
    double before, scale, eps, theta;
    double spread; /* ROPE: how far frequencies of other libraries may be from w, relative */
    double lo, hi; /* CLAMP */
    double (*constant)(const struct hop_mixer_config *c, int64_t i);
    /* SCAN, ATTEND, SPARSE */
    hop_core core;
    hop_gate gate;
    int64_t heads, kv_heads, key_dim,
        value_dim; /* kv_heads: key heads of a scan. SELECTIVE: key_dim states */
    int64_t window, block, topk, summary;
    bool bidirectional;
    int64_t state; /* floats before this operation's own in the layer's state; -1: it remembers nothing */
} hop_op;

typedef struct hop_list {
    int op_count, buffer_count;
    hop_op op[HOP_LIST_OPS];
    int64_t width[HOP_LIST_BUFFERS]; /* of each buffer */
    int64_t state_floats;            /* of a recurrent layer: matrices first, remembered inputs behind them */
    int64_t past_floats;             /* of these, remembered inputs: what came before is seen through them */
    /* Derived from the above, for those who run it. */
    bool attends;                     /* there is an ATTEND or a SPARSE: the state grows */
    bool tail[HOP_LIST_BUFFERS];      /* feeds the output only: rows that nobody wants are not computed */
    int64_t offset[HOP_LIST_BUFFERS]; /* floats a token before it in scratch, which buffers that are not alive
                                         together share */
    int64_t row_floats;               /* scratch of a token */
} hop_list;

const char *hop_op_name(hop_op_kind k); /* "linear" */
/* What an operation on rows forms on its way; NULL: it only moves numbers, is a product of matrices (of which only the
 * number of terms matters), a rotation (ROPE), a recurrence or attention (arith.h), or has no such part. part 0, 1, ..: of TAYLOR's features x_i, x_i², x_i x_j; of GROUPNORM one after the
 * other, the mean is taken off, then as RMS, then the bias is added. */
const hop_program *hop_op_program(const hop_op *op, int part);

/* The same of one number of SwiGLU, which a block does beside its mixer. */
const hop_program *hop_swiglu_program(void);

#ifdef __cplusplus
}
#endif
#endif
