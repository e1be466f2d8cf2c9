/* The two halves of a network for 2-Sum, for the proof: heads, and what follows them. Without positions a
 * token's query, key and value depend on the token alone, so there are M of each, and all inputs are made of
 * them. */
#ifndef HOP_CONSTRUCT_TWO_SUM_H
#define HOP_CONSTRUCT_TWO_SUM_H

#include "analysis.h"
#include "rows.h"

/* ---- heads (two_sum_heads.c) -------------------------------------------------------------------- */

typedef struct hop__heads {
    hop__analysis *range; /* only its `overflow` is used: some number may leave float32's range */
    const float *tokens;  /* [mod, d] */
    int64_t mod, d, count, kv, dim;
    int64_t seen;  /* tokens that a head attends to, at most */
    int64_t block; /* of sparse attention that has to choose; 0: all tokens are seen */
    double scale;
    hop__sparse q, k, v;
    int64_t *twin;            /* [count]: the first head with the same weights */
    hop__rows *keys, *values; /* [kv], rows of `dim`: one a token */
    double *key_rad, *key_mag, *value_rad,
        *value_err; /* [kv, dim]; value_err: of the weighted sum as the kernels form it */
    ival *hull;     /* [kv, dim]: what a head may return, whatever it sees */
} hop__heads;

/* Layer 0 of a network that is full attention, or sparse with key summaries, over `n` tokens below `mod`. */
hop_status hop__heads_new(hop__heads *h, const hop_model *m, const hop_twosum *task, hop__analysis *range,
                          hop_error *err);
void hop__heads_free(hop__heads *h);

/* One head of one token whose match has the number `right`. */
typedef struct hop__match {
    double gap;    /* a match's score minus any other's, at least */
    double choice; /* the same for the scores by which blocks are chosen */
    double mass;   /* attention on all others together when a match is seen, at most */
} hop__match;

/* out [dim]: what the head returns when a match is seen. work: 2 dim numbers; index: dim. */
hop__match hop__heads_match(const hop__heads *h, int64_t head, int64_t token, int64_t right, ival *out,
                            double *work, int *index);
/* Lower bound of sum coef·output over all heads, [count, dim], when no head sees a match: any mixture of
 * other values. */
double hop__heads_least(const hop__heads *h, const ival *coef, int64_t right, double *work, int *index);

/* ---- what follows the heads (two_sum_tail.c) ----------------------------------------------------- */

/* Output projection, MLPs and read-out are a piecewise linear function of the heads' outputs. Where they come
 * from a mixture of values, intervals are not enough: that the distance from the wanted code is at least 2 is
 * true of every mixture, but not of every point of the box around them. So a quantity is followed backwards
 * as a linear function that stays below it, ReLU by ReLU, down to the heads' outputs, and there the smallest
 * value over all mixtures is the smallest over the values mixed. */

#define HOP__MAX_STAGES 16

typedef struct hop__stage {
    hop__sparse up, down;
    const float *up_bias, *down_bias;
} hop__stage;

typedef struct hop__tail {
    hop__analysis *range; /* as above */
    int64_t d, inputs, hidden, stages;
    hop__sparse out; /* [d, inputs]: W_o of the layer that attends */
    hop__stage stage[HOP__MAX_STAGES];
} hop__tail;

hop_status hop__tail_new(hop__tail *t, const hop_model *m, hop__analysis *range, hop_error *err);
void hop__tail_free(hop__tail *t);

/* What the heads of one token may return: anything in the boxes; and perhaps more is known. */
typedef struct hop__reach {
    const float *token; /* [d]: the residual stream before */
    const ival *box;    /* [inputs] */
    double (*least)(void *ctx,
                    const ival *coef); /* lower bound of sum coef·output; NULL: the boxes are all there is */
    void *ctx;
} hop__reach;

/* Bounds on everything that is computed from it; one for each thread. */
typedef struct hop__trace {
    ival *x;       /* [stages + 1, d]: the residual stream after the mixer, after the first MLP, .. */
    double *x_err; /* [stages + 1, d]: rounding in its last step */
    ival *z;       /* [stages, hidden]: before the ReLU */
    double *z_err;
    ival *coef, *inner, *outer; /* [d], [hidden], [inputs]: of a linear function on its way back */
} hop__trace;

hop_status hop__trace_new(hop__trace *r, const hop__tail *t, hop_error *err);
void hop__trace_free(hop__trace *r);
void hop__trace_run(hop__trace *r, const hop__tail *t, const hop__reach *from);
/* Lower bound of logit `a` minus logit `b` as computed; a, b: rows of the read-out, [d]. After
 * hop__trace_run. */
double hop__trace_lead(hop__trace *r, const hop__tail *t, const hop__reach *from, const float *a,
                       const float *b);

#endif
