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

/* Terms of a sum that are whole or half numbers and stay small are added without any rounding, in any order
 * and with or without fused multiply-add. Looks at one term after the other. */
typedef struct hop__grid {
    bool exact;
    double mag;
} hop__grid;

static inline void hop__grid_add(hop__grid *g, ival term)
{
    g->mag += ival_mag(term);
    if (!ival_is_point(term) || term.lo * 2 != floor(term.lo * 2) || !(g->mag < 0x1p22)) g->exact = false;
}

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
void hop__sparse_grid(const hop__sparse *s, int64_t row, const ival *x, hop__grid *g);

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
    int64_t widest; /* value vector of any layer */
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

/* A layer after its mixer, as registers.c takes it over: y [d] of the last token for case t, and for any
 * token. */
typedef struct hop__after_mixer {
    int64_t cases;
    void (*last)(void *ctx, int64_t t, ival *y, ival *work); /* work: a->widest intervals */
    void (*any)(void *ctx, ival *y, ival *work);
    bool (*writes)(void *ctx, int64_t c); /* may coordinate c differ from what it was before the mixer? */
    void *ctx;
} hop__after_mixer;

/* recurrent.c: layer 0 is a recurrence that carries z_0 to the last token. */
hop_status hop__bound_recurrent(hop__analysis *a, hop_margin *margin, hop_error *err);
/* taylor.c: layer 0 is Based; gap and wrong mass into `margin`. */
hop_status hop__bound_taylor(hop__analysis *a, hop_margin *margin, hop_error *err);
/* registers.c: the MLP, and what the last token and any token hold after layer e. */
hop_status hop__bound_mlp(hop__analysis *a, const hop__after_mixer *m, hop_margin *margin, hop_error *err);
/* What a head of the last token asks for. Its own token is one of `askers` (0 .. askers-1), and it is in case
 * i of a->cases; tokens of different `kind` ask for different things. */
typedef struct hop__question {
    int e;         /* the player asked for */
    int64_t first; /* row of w.q and w.k where the head begins; it has a->head_dim rows */
    int64_t askers;
    int64_t (*kind)(const hop__analysis *a, const struct hop__question *q, int64_t token);
    int64_t (*right)(const hop__analysis *a, const struct hop__question *q, int64_t kind,
                     int64_t i); /* position */
} hop__question;

/* attention.c: gap and wrong mass over all inputs, into `margin`. */
hop_status hop__bound_question(hop__analysis *a, const hop__question *q, hop_margin *margin, hop_error *err);
/* The same for layer e of a chain of look-ups: w and the case name the address. */
hop_status hop__bound_attention(hop__analysis *a, int e, hop_margin *margin, hop_error *err);
/* heads.c: the attention's output and the rest of layer e, given its wrong mass. */
hop_status hop__bound_heads(hop__analysis *a, int e, hop_margin *margin, hop_error *err);
/* Right logit minus best wrong one, at least, over all inputs. */
hop_status hop__bound_readout(hop__analysis *a, double *margin, hop_error *err);

/* Coordinate c of the last token in case i: exact interval if written, else over all w. */
static inline ival hop__case_box(const hop__analysis *a, int64_t i, int64_t c)
{
    return a->written[c] ? a->reg[i * a->width + a->slot[c]] : a->last[c];
}

/* For analyses of other networks: tables as before the first layer and the matrices of `layer`; a verdict
 * from margins; a limit of the method (HOP_EDOMAIN) as a reason. hop__plain_scope: "" when the network has
 * neither norms, seeds, absurd numbers nor anything else that no analysis covers. hop__full_scope: adds what
 * is wrong with a full-attention layer, which is to have one head and to be like the last one. */
hop_status hop__analysis_open(hop__analysis *a, int layer, hop_error *err);
hop_status hop__analysis_layer(hop__analysis *a, int layer, hop_error *err); /* another layer's matrices */
void hop__analysis_close(hop__analysis *a);
void hop__analysis_verdict(const hop__analysis *a, hop_proof *p, bool *proved);
hop_status hop__analysis_status(hop_proof *p, hop_status s, const hop_error *err);
void hop__plain_scope(const hop_model *m, const hop_task *task, char *why, size_t size);
void hop__full_scope(const hop_model *m, int64_t layer, char *why, size_t size);

void hop__add_hint(hop__analysis *a, hop__hint h);

#endif
