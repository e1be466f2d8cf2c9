/* A network's layers run on sets instead of numbers. Each operation has one transfer function,
 * which returns a set that contains every result that the operation can have in float32: whatever the order
 * of its sums, whether it runs over a whole sequence, in chunks, token by token or cut into segments, and on
 * every instruction set. */
#ifndef HOP_PROVE_ANALYSIS_H
#define HOP_PROVE_ANALYSIS_H

#include "charge.h"
#include "facts.h"
#include "analyse.h"

#include <hopbound/layers.h>
#include <hopbound/ops.h>
#include <hopbound/prove.h>

struct hop__layer_sets;
struct hop__reading;
struct hop__analysis;

/* Looks at sets on their way: behind each operation those of all buffers that have been written, behind
 * each layer the streams [classes]. Not called any more once a number may overflow. */
typedef struct hop__observer {
    void (*buffer)(void *ctx, const struct hop__layer_sets *l, int op);
    void (*stream)(void *ctx, const struct hop__analysis *w, struct hop__set *const *x);
    /* Inside a recurrence, which is the operation behind the last that `buffer` was called for: what a
     * form makes on its way where class `a` reads head `head`. */
    void (*form)(void *ctx, const struct hop__analysis *w, int a, int64_t head, const struct hop__reading *x);
    void *ctx;
} hop__observer;

/* Tokens that hold `number`; offset < 0: no match is seen, else one is, by the heads that watch this one
 * of the `offsets` places in a block. offsets 0: any token. */
typedef struct hop__case {
    int64_t number, offset, offsets;
} hop__case;

typedef struct hop__analysis {
    const hop_model *model;
    const hop__observer *observer; /* NULL: nobody looks */
    hop__case only;                /* 2-Sum: whom the sets speak of, for who looks */
    hop__facts facts;
    hop__memory *m;       /* what is kept while a layer lasts */
    hop__memory *scratch; /* of one operation; NULL: m */
    hop_pool *pool;
    const hop_progress *progress;
    double message; /* relative rounding of what crosses between classes; 0: nothing is rounded there */
    int bits; /* every result is rounded to so many significant bits, states token by token; 0: float32 */
    int64_t layer;
    int answering;             /* the class whose margins are reported */
    hop_margin margin;         /* of the current layer */
    char why[240];             /* what was lost first on the answering class's way; "" so far nothing */
    hop_hint hints[HOP_HINTS]; /* queries of the answering class for which no token led */
    int hint_count;
} hop__analysis;

/* One set for each class. */
typedef hop__set *hop__sets[HOP__MOST_CLASSES];

void hop__blame(hop__analysis *w, const char *format, ...) HOP_PRINTF(2, 3); /* the first reason stays */

/* What a recurrence reads may be too large or too small as a whole, because its query or its decays are: one
 * factor for all numbers of a head, which the norm behind it takes away again. A buffer that head_gains holds
 * what its sets say, the numbers of head h times a factor from 1 - by[h] to 1 + by[h]. */
typedef struct hop__head_gain {
    int64_t dim; /* numbers in a head */
    double *by;  /* [heads]; NULL: none does */
} hop__head_gain;
#define HOP__MOST_HEAD_GAIN 0.5

/* What an operation reads, class by class; `par` are its parameters' numbers. */
typedef struct hop__inputs {
    const hop_op *op;
    const hop_mixer_config *config;
    hop__set *const *in[HOP_OP_INPUTS]; /* [classes], columns already taken */
    const hop__head_gain *head_gain;    /* [classes]: of in[0], where the operation knows of it; NULL: none */
    hop__head_gain *head_gains;         /* [classes]: room for what a SCAN's result does; NULL: it must not */
    const float *par[HOP_OP_PARAMS];
} hop__inputs;

/* local.c: operations on one token alone, and those that look at its neighbours (CONV, SHIFT). */
void hop__local_op(hop__analysis *w, const hop__inputs *x, hop__set **y);
/* Is a SKIP's result its first input? d: its weights. */
bool hop__skips_nothing(const hop_op *op, const float *d);
/* exp as the kernels have it. */
ival hop__exp_bounds(ival x);
/* y = f(a) elementwise. */
hop__set *hop__set_act(hop__memory *m, const hop__set *x, hop_act act, double before, double scale);
/* x, give or take so much of itself, and what exponentials lose below 2^-120; not a number: anything. */
ival hop__about(ival x, double relative);

/* norm.c: norms of a whole row; NULL weight: x itself */
hop__set *hop__set_norm(hop__memory *m, const hop__set *x, hop_norm norm, const float *weight,
                        const float *bias, double eps);
/* L2, RMS and GROUPNORM; head_gain: of x, for RMS only, or NULL. */
hop__set *hop__set_norm_op(hop__memory *m, const hop__set *x, const hop_op *op, const float *weight,
                           const float *bias, const hop__head_gain *head_gain);

/* head_gain.c: columns from `from` on of a buffer that head_gains, on their own: their rel says how far. */
hop__set *hop__set_swung(hop__memory *m, const hop__set *x, const hop__head_gain *s, int64_t from);

/* rope.c: what class a holds, rotated by where it stands; by the frequencies of a table, if there is one. */
hop__set *hop__set_rope(hop__analysis *w, const hop_op *op, const float *table, int a, const hop__set *x);

/* charge_attend.c: what softmax attention loses. */
typedef struct hop__attended {
    double q, k, v; /* the largest numbers of queries, keys and values .. */
    double score;   /* .. and the largest score .. */
    int64_t seen;   /* .. and the tokens that are seen, at the most */
    double round;   /* of partial softmaxes that cross (hop__crossing); 0: none does */
} hop__attended;
/* What a score is off, relative to the sum of its absolute products and below that; and what a mean of values is,
 * relative to the largest value. fits: no number on the way leaves float32's range. */
typedef struct hop__attention_loss {
    hop__charge score, mean;
    bool fits;
} hop__attention_loss;
/* Relative error of sums of weights, and of weighted values, over n tokens. */
double hop__attention_error(int64_t n);
hop__attention_loss hop__attention_charge(const hop_op *op, const hop__attended *a);

/* attend.c: softmax attention. */
void hop__attend(hop__analysis *w, const hop__inputs *x, hop__set **y);
/* Attention to tokens that are not followed: some mean of all values. */
void hop__attend_any(hop__analysis *w, const hop__inputs *x, hop__set **y);

/* scan.c: recurrences, as weighted sums over all earlier tokens. */
void hop__scan(hop__analysis *w, const hop__inputs *x, hop__set **y);

/* mlp.c: x + mlp(norm(x)). */
hop__set *hop__set_mlp(hop__analysis *w, int class, const hop__set *x);

/* analysis.c: a layer on its way, operation by operation. */
typedef struct hop__layer_sets {
    hop__analysis *w;
    hop_mixer_config config;
    hop_list list;
    const float *par[HOP_MIXER_MAX_PARAMS];
    hop__sets *buffer; /* [buffers]: what they hold; HOP_X is the caller's to fill */
    hop__head_gain (*head_gain)[HOP__MOST_CLASSES]; /* [buffers]; NULL: no buffer does */
} hop__layer_sets;
bool hop__layer_open(hop__layer_sets *l, hop__analysis *w); /* layer w->layer */
bool hop__layer_op(hop__layer_sets *l, int number);
double hop__others_units(const hop__analysis *w);  /* of products of the layer: hop__matrix.later */
bool hop__layer_is_beside(const hop__analysis *w); /* it reads what the layer before read, and has no norm */
/* Where the block's norms stand; and the norm of x by those of its parts' weights, x itself where it is not there. */
hop_norms hop__layer_norms(const hop__analysis *w);
hop__set *hop__block_norm(const hop__analysis *w, const hop__set *x, bool there, const char *part);
hop__set *hop__layer_input(hop__analysis *w, const hop__set *x); /* the layer's norm of the stream */

/* silent.c: does the layer's mixer, or its MLP, add exactly 0 to every token, whatever it computes on the
 * way? */
bool hop__mixer_is_silent(const hop__analysis *w, hop__set *const *x);
bool hop__mlp_is_silent(const hop__analysis *w, hop__set *const *x);

/* All layers in order. x [classes]: the streams before the first one become those after the last one, which
 * live in one of the two memories. False: w->m says why (status, or overflow). */
bool hop__analyse_layers(hop__analysis *w, hop__set **x, hop__memory memory[2], hop_margin *margins,
                         int64_t *count);

/* The two largest of numbers that come tile by tile. What is not finite counts as a second one that nothing
 * leads. */
typedef struct hop__top {
    double best, second;
} hop__top;
/* Adds scale · x[i] + offset for i < count; returns which of them is the best now, -1: none. */
int64_t hop__top_add(hop__top *t, const float *x, int64_t count, double scale, double offset);

/* Keys of a class of tokens: positions that a term over POS alone does not tell apart are one row. */
typedef struct hop__places {
    int64_t rows;
    const hop__term *term;  /* NULL: one row */
    int64_t *count, *first; /* [rows]: positions in the row, and the first of them */
} hop__places;
bool hop__places_of(hop__memory *m, const hop__class *c, const hop__set *k, hop__places *p);
/* Is class p seen by any token of class a? */
bool hop__sees(const hop__facts *f, int a, int p, bool bidirectional);

#endif
