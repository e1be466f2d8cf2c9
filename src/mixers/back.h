/* back.h - the way back through a list (room: mixers). back.c goes from operation to operation and has the
 * products; rowwise operations are in back_rows.c, those that look along a sequence in back_sequence.c,
 * attention in back_attend.c. Which gradient is set and which is added to was decided by reverse.c. */
#ifndef HOP_MIXERS_BACK_H
#define HOP_MIXERS_BACK_H

#include "exec.h"

typedef struct hop__back {
    hop__exec v; /* values, as forward kept them; its `first` is that of dy */
    hop__exec d; /* gradients */
    const hop_reverse *r;
    float *const *dw;   /* of parameters: added to */
    const float *state; /* before the first token, of the first sequence; may be NULL */
    float *dstate;      /* may be NULL */
    int64_t lse_first;  /* the first row that forward computed */
    float *work;
} hop__back;

static inline float *hop__dpar(const hop__back *b, const hop_op *op, int i)
{
    return op->par[i] < 0 ? NULL : b->dw[op->par[i]];
}

/* The gradient of an input, laid out as the input is. */
static inline float *hop__din(const hop__back *b, const hop_op *op, int i, int64_t s, int64_t row)
{
    return (float *)(uintptr_t)hop__in(&b->d, op, i, s, row);
}

static inline bool hop__adds(const hop__back *b, const hop_op *op, int i)
{
    return b->r->add[op - b->v.l->op][i];
}

/* reverse.c */
int64_t hop__input_width(const hop_op *op, int i); /* columns that it reads; 0: there is no such input */
bool hop__act_by_result(hop_act act);              /* its slope is seen from the result, not from the input */

/* back_rows.c: rows from .. from + count - 1 of sequence s, as hop__row_op. */
void hop__back_rows(const hop__back *b, const hop_op *op, int64_t s, int64_t from, int64_t count);

/* back_sequence.c, back_attend.c: one sequence. Work in floats. */
void hop__back_sequence(const hop__back *b, const hop_op *op, int64_t s);
size_t hop__back_sequence_work(const hop_list *l, const hop_op *op, int64_t tokens);
void hop__back_attend(const hop__back *b, const hop_op *op, int64_t s);
size_t hop__back_attend_work(const hop_list *l, const hop_op *op, int64_t tokens);

/* Where gradients of inputs that a kernel overwrites go: to their buffers, or, where there is something
 * already, to work and from there, added, to their buffers. */
typedef struct hop__targets {
    float *p[HOP_OP_INPUTS]; /* NULL: there is no such input, or it has no gradient */
    bool aside[HOP_OP_INPUTS];
    float *work; /* behind what was taken */
} hop__targets;
hop__targets hop__targets_open(const hop__back *b, const hop_op *op, int64_t s, float *work);
void hop__targets_close(const hop__targets *t, const hop__back *b, const hop_op *op, int64_t s);
size_t hop__targets_work(const hop_list *l, const hop_op *op, int64_t tokens);

#endif
