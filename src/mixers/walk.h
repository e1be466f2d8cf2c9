/* walk.h - running a list (room: mixers). A walk is some tokens of some sequences; buffers are [sequences,
 * tokens, width]. walk.c goes through the operations; those that look at one row at a time are in rows.c,
 * those that look along a sequence in sequence.c and sparse.c. */
#ifndef HOP_MIXERS_WALK_H
#define HOP_MIXERS_WALK_H

#include "build.h"

typedef struct hop__walk {
    const hop_list *l;
    const hop_mixer_config *c;
    const float *const *w;
    float *b[HOP_LIST_BUFFERS]; /* HOP_X and HOP_Y included; Y begins at row `first` */
    int64_t sequences, tokens, first;
    int64_t position; /* of row 0 in its sequence */
    float *state;     /* of the first sequence */
    int64_t state_stride;
    bool stepping; /* one token, and attention has a cache in the state */
    int bits;
    bool steady;
    hop_form form;
    hop_pool *pool;
    float *work; /* what an operation needs for itself */
} hop__walk;

static inline const float *hop__par(const hop__walk *w, const hop_op *op, int i)
{
    return op->par[i] < 0 ? NULL : w->w[op->par[i]];
}

/* Row `row` of sequence `s`, from the reference's first column on; rows are hop__stride apart. */
static inline const float *hop__in(const hop__walk *w, const hop_op *op, int i, int64_t s, int64_t row)
{
    hop_ref r = op->in[i];
    return r.buffer < 0 ? NULL : w->b[r.buffer] + (s * w->tokens + row) * w->l->width[r.buffer] + r.column;
}

static inline int64_t hop__stride(const hop__walk *w, const hop_op *op, int i)
{
    return op->in[i].buffer < 0 ? 0 : w->l->width[op->in[i].buffer];
}

static inline float *hop__out(const hop__walk *w, const hop_op *op, int64_t s, int64_t row)
{
    int64_t rows = op->y == HOP_Y ? w->tokens - w->first : w->tokens, from = op->y == HOP_Y ? w->first : 0;
    return w->b[op->y] + (s * rows + row - from) * op->width;
}

static inline void hop__cut_rows(const hop__walk *w, float *y, int64_t n)
{
    if (w->bits > 0) hop_round_significand(y, n, w->bits);
}

/* rows.c: rows from .. from + count - 1 of sequence s; where s is 0 the rows of all sequences may be counted
 * on. The result is cut. */
void hop__row_op(const hop__walk *w, const hop_op *op, int64_t s, int64_t from, int64_t count);

/* sequence.c: one sequence; the result is cut. */
void hop__sequence_op(const hop__walk *w, const hop_op *op, int64_t s, float *work, hop_pool *pool);
size_t hop__sequence_work(const hop_op *op, int64_t tokens, int64_t first, int threads); /* floats */
/* strides: of q, k, v. Work in floats, cut or not. */
hop_attn hop__attend_shape(const hop_op *op, int64_t tokens, int64_t first, const int64_t strides[3]);
size_t hop__attend_work(const hop_op *op, int64_t tokens, int64_t first, int threads);

/* sparse.c: o of rows first .. tokens-1, from q (which begins at row `first`), k and v of all tokens. */
typedef struct hop__sparse {
    const hop_op *op;
    int64_t tokens, first;
    const float *q, *k, *v;
    int64_t q_stride, k_stride, v_stride;
    float *o; /* packed, begins at row `first` */
    int bits;
} hop__sparse;
size_t hop__sparse_work(const hop_op *op, int64_t tokens, int64_t first, int threads); /* floats */
void hop__sparse_run(const hop__sparse *s, float *work, hop_pool *pool);

/* acts.c: activations that are exact where constructions count on it: sigmoid(-x) and softplus(-x) are 0 or
 * below 1e-37, sigmoid(x) is 1 and logsigmoid(x) above -1e-37 for x >= 88, so that e to the power of these is
 * exactly 1. In place. */
void hop__activate(hop_act act, float *x, int64_t n);

#endif
