/* The interval analysis behind hop_prove: what is known of every token before each layer.
 *
 * Two descriptions run side by side through the layers.
 *   any[c]    an interval for coordinate c of every token of every input. Coarse, but enough for the tokens
 * that only have to be told apart from the right one. the last token, case by case: before layer e it knows i
 * = i_{e-1} (the case) and w. Coordinates that no layer has written yet are the token's own table entries,
 * exactly; those written are the interval reg[i], which holds for every w, every table and every earlier step
 * that leads to i. Which coordinates are written is read off the weights: a row of zeros in every output
 * matrix so far. */
#ifndef HOP_CONSTRUCT_ANALYSIS_H
#define HOP_CONSTRUCT_ANALYSIS_H

#include <hopbound/construct.h>

#include "interval.h"

#include <stdatomic.h>

/* Where float32 ends, with room for sums of a few such terms. */
#define HOP__LARGEST 1e37

/* The non-zero entries of a matrix, row by row. */
typedef struct hop__sparse {
    int64_t rows, cols;
    int64_t *start; /* [rows + 1] */
    int *col;
    double *val;
} hop__sparse;

hop_status hop__sparse_new(hop__sparse *s, const hop_weight *w, hop_error *err);
void hop__sparse_free(hop__sparse *s);
ival hop__sparse_box(const hop__sparse *s, int64_t row, const ival *x);   /* sum of val·x */
double hop__sparse_mag(const hop__sparse *s, int64_t row, const ival *x); /* sum of |val|·|x|, rounded up */

typedef struct hop__matrices {
    hop__sparse q, k, v, o, up, down;
    const float *up_bias, *down_bias;
} hop__matrices;

/* Where a bound failed: an input that makes the last token ask for (w, i) of `player` is worth trying. */
typedef struct hop__hint {
    int player;
    int64_t w, i;
} hop__hint;

#define HOP__HINTS 16

typedef struct hop__analysis {
    const hop_model *model;
    const hop_funccomp *task;
    const hop_prove_options *options;
    int64_t d, head_dim, tokens;
    double scale;
    const float *token_table, *position_table;
    ival *any, *last; /* [d]; last: the last token, over all w and all cases */
    ival *token_hull; /* [d]: over the token table */
    bool *written;    /* [d] */
    int *slot;        /* [d]: place of a written coordinate in a case's row, -1 if not written */
    int64_t cases, width;
    ival *reg;            /* [cases, width] */
    hop__matrices w;      /* of the current layer */
    ival *values;         /* [head_dim]: every token's value vector at the current layer */
    atomic_bool overflow; /* some number may leave float32's range: nothing is proved then */
    hop__hint hints[HOP__HINTS];
    int hint_count;
} hop__analysis;

/* How far a float32 dot product of k terms whose absolute values sum to `mag`, and one more rounding of its
 * operands and its result each, may be from the exact one. Relative, and below the normal numbers absolute:
 * each of the k products and of the few other roundings may lose half of 2^-149. All terms zero: exact. */
static inline double hop__rounding(hop__analysis *a, int64_t k, double mag)
{
    if (mag == 0) return 0;
    if (!(mag < HOP__LARGEST)) a->overflow = true;
    return ival_up((HOP_DOT_ERROR(k) + 2 * HOP_UNIT_ROUNDOFF) * mag + (double)(k + 4) * 0x1p-149);
}

/* Runs it. On return p's margins are filled as far as it came; true when every input is answered rightly,
 * else p->why says where it failed and `hints` (room for HOP__HINTS) what to try. */
hop_status hop__prove_by_intervals(hop_proof *p, const hop_model *m, const hop_funccomp *task,
                                   const hop_prove_options *o, bool *proved, hop__hint *hints,
                                   int *hint_count, hop_error *err);

/* attention.c: gap and wrong mass of layer e over all inputs, into `margin`. */
hop_status hop__bound_attention(hop__analysis *a, int e, hop_margin *margin, hop_error *err);
/* registers.c: reg, written, last and any after layer e, given its wrong mass. */
hop_status hop__bound_registers(hop__analysis *a, int e, hop_margin *margin, hop_error *err);
/* Right logit minus best wrong one, at least, over all inputs. */
hop_status hop__bound_readout(hop__analysis *a, double *margin, hop_error *err);

/* Coordinate c of the last token in case i: exact interval if written, else over all w. */
static inline ival hop__case_box(const hop__analysis *a, int64_t i, int64_t c)
{
    return a->written[c] ? a->reg[i * a->width + a->slot[c]] : a->last[c];
}

void hop__add_hint(hop__analysis *a, hop__hint h);

#endif
