/* exec.h - running a list (room: mixers). An execution is some tokens of some sequences; buffers are [sequences,
 * tokens, width]. exec.c goes through the operations; those that look at one row at a time are in rows.c,
 * those that look along a sequence in sequence.c and sparse.c. */
#ifndef HOP_MIXERS_EXEC_H
#define HOP_MIXERS_EXEC_H

#include "build.h"

typedef struct hop__exec {
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
    float *work;                 /* what an operation needs for itself */
    const double *angles;        /* for rotations, of positions 0 ..; NULL: there is no table */
    const hop_panel_set *panels; /* training: may be NULL, as .. */
    const float *plus;           /* .. this, what a product that is Y is added to */
    const hop_list_watch *watch; /* NULL: nobody looks */
    const hop_reverse *reverse;  /* training: attention's log-sum-exp are kept */
    float *kept;
} hop__exec;

/* exec.c: operations from .. to - 1. */
void hop__run(const hop__exec *w, int from, int to);

static inline const float *hop__par(const hop__exec *w, const hop_op *op, int i)
{
    return op->par[i] < 0 ? NULL : w->w[op->par[i]];
}

/* Row `row` of sequence `s`, from the reference's first column on; rows are hop__stride apart. */
static inline const float *hop__in(const hop__exec *w, const hop_op *op, int i, int64_t s, int64_t row)
{
    hop_ref r = op->in[i];
    return r.buffer < 0 ? NULL : w->b[r.buffer] + (s * w->tokens + row) * w->l->width[r.buffer] + r.column;
}

static inline int64_t hop__stride(const hop__exec *w, const hop_op *op, int i)
{
    return op->in[i].buffer < 0 ? 0 : w->l->width[op->in[i].buffer];
}

static inline float *hop__out(const hop__exec *w, const hop_op *op, int64_t s, int64_t row)
{
    int64_t rows = op->y == HOP_Y ? w->tokens - w->first : w->tokens, from = op->y == HOP_Y ? w->first : 0;
    return w->b[op->y] + (s * rows + row - from) * op->width;
}

/* Where the log-sum-exp of sequence s are kept, [heads, tokens - first]; NULL: nowhere. */
static inline float *hop__lse(const hop__exec *w, const hop_op *op, int64_t s)
{
    if (!w->kept) return NULL;
    return w->kept + (w->reverse->lse[op - w->l->op] * w->sequences + s * op->heads) * w->tokens;
}

static inline void hop__cut_rows(const hop__exec *w, float *y, int64_t n)
{
    if (w->bits > 0) hop_round_significand(y, n, w->bits);
}

/* rows.c: rows from .. from + count - 1 of sequence s; where s is 0 the rows of all sequences may be counted
 * on. The result is rounded to `bits`. */
void hop__row_op(const hop__exec *w, const hop_op *op, int64_t s, int64_t from, int64_t count);

/* route.c: a token's weights of its experts; y and x [width] lie apart. */
void hop__route_row(float *y, const float *x, const float *bias, const hop_op *op);

/* sequence.c: one sequence; the result is rounded to `bits`. */
void hop__sequence_op(const hop__exec *w, const hop_op *op, int64_t s, float *work, hop_pool *pool);
size_t hop__sequence_work(const hop_op *op, int64_t tokens, int64_t first, int threads); /* floats */
/* What a recurrence is given, forward and backward. A token of several steps: row t of x becomes row t·n + at
 * of y, zeros between. A [width, states] of the selective scan is filled. */
hop_scan hop__scan_shape(const hop__exec *w, const hop_op *op);
hop_scan_in hop__scan_inputs(const hop__exec *w, const hop_op *op, int64_t s);
int64_t hop__scan_gate_width(const hop_op *op); /* numbers a token; 0: not for each token */
const float *hop__scan_spread(float *y, const float *x, int64_t stride, int64_t width,
                              const int64_t rows_n_at[3]);
hop_selective hop__selective_of(hop_selective_in *in, const hop__exec *w, const hop_op *op, int64_t s,
                                float *A);
/* strides: of q, k, v. Work in floats, rounded or not. */
hop_attn hop__attend_shape(const hop_op *op, int64_t tokens, int64_t first, const int64_t strides[3]);
size_t hop__attend_work(const hop_op *op, int64_t tokens, int64_t first, int threads);

/* sparse.c: o of rows first .. tokens-1, from q (which begins at row `first`), k and v of all tokens. */
typedef struct hop__sparse {
    const hop_op *op;
    int64_t tokens, first;
    const float *q, *k, *v;
    int64_t q_stride, k_stride, v_stride;
    float *o;   /* packed, begins at row `first` */
    float *lse; /* of rows that see everything, as attention gives it; NULL: not wanted */
    int bits;
} hop__sparse;
size_t hop__sparse_work(const hop_op *op, int64_t tokens, int64_t first, int threads); /* floats */
bool hop__sparse_sees_all(const hop_op *op, int64_t tokens); /* so few that no row chooses */
void hop__sparse_run(const hop__sparse *s, float *work, hop_pool *pool);
/* What a head's rows from .. from + rows - 1 chose, [rows, topk] blocks in order of position, from q and k of
 * all tokens; rows that see everything have nothing there. */
void hop__sparse_choices(int64_t *chosen, const hop__sparse *s, int64_t head, int64_t from, int64_t rows,
                         float *work);
size_t hop__sparse_choices_work(const hop_op *op, int64_t tokens); /* floats, for at most 64 rows */

/* acts.c: activations that are exact where constructions count on it: sigmoid(-x) and softplus(-x) are 0 or
 * below 1e-37, sigmoid(x) is 1 and logsigmoid(x) above -1e-37 for x >= 88, so that e to the power of these is
 * exactly 1. In place. */
void hop__activate(hop_act act, float *x, int64_t n);

#endif
