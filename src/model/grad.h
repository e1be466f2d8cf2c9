/* grad.h - the inside of hop_grad (room: model). */
#ifndef HOP_MODEL_GRAD_H
#define HOP_MODEL_GRAD_H

#include "network.h"

#include <hopbound/grad.h>

/* What an MLP keeps of its rows: mid is the stream in front of it. */
typedef struct hop__mlp_rows {
    float *mid, *normed; /* [rows, d_model] */
    float *up, *gate;    /* [rows, hidden], before the activation; GELU: up has its slopes .. */
    float *post;         /* .. and this its values, which else are computed again */
} hop__mlp_rows;

typedef struct hop__grad_work {
    float *post, *dup, *dgate; /* [rows, hidden]; post: where rows do not keep it */
    float *row[3];             /* [rows, d_model]; the MLP uses the last */
    float *mixer;
} hop__grad_work;

typedef struct hop__grad_layer {
    const hop__block *w;
    const hop_reverse *reverse;
    hop_mixer_config mixer;
    const double *angles;
    hop_panel_set panels;
    float *normed, *kept;
    hop__mlp_rows rows; /* packed: tokens that are computed only */
} hop__grad_layer;

struct hop_grad {
    const hop_model *model;
    const hop_packed *packed;  /* may be NULL */
    int64_t sequences, tokens; /* room */
    int64_t layers, last_from;
    int64_t now, count, first; /* of the pass at hand: sequences, tokens, the last layer's first row */
    int32_t *token;
    hop_reverse *reverse; /* [plans] */
    double *angles;       /* of each plan, one after the other */
    hop__grad_layer *layer;
    float **stream, **dstream; /* [layers + 1] */
    hop__mlp_rows late;        /* rows picked from those that were kept */
    hop__grad_work work;
    float *memory;
    size_t bytes; /* of it */
};

/* grad_block.c: what a block does to each token alone. Gradients of weights go to the same place of `dblock`
 * as the weights have in the model's. */

/* out = mid + mlp(norm(mid)); keeps the rest of `r`. */
void hop__mlp_forward(const hop_grad *g, const hop__block *l, const hop__mlp_rows *r, float *out,
                      int64_t rows);
/* dx of the result becomes that of the mixer's output and of the stream beside it. */
void hop__mlp_backward(const hop_grad *g, const hop__block *l, const hop__mlp_rows *r, float *dx,
                       int64_t rows, float *dblock);
/* dx += the gradient of norm(x), from dy. */
void hop__norm_backward(const hop_model *m, float *dx, const float *dy, const float *x, const float *weight,
                        const float *bias, int64_t rows, float *dblock);
/* y = x wᵀ: dx = (or +=) dy w, dw += dyᵀ x. */
void hop__product_backward(const hop_grad *g, float *dx, bool add, const float *dy, const float *x,
                           const float *w, float *dblock, const int64_t rows_out_in[3]);

/* packed.c: the panels of a weight, for y = x wᵀ and dx = dy w, w [out, in]; NULL: there are none. */
const float *hop__packed_forward(const hop_packed *l, const float *w, int64_t out);
const float *hop__packed_backward(const hop_packed *l, const float *w, int64_t in);
void hop__packed_mixer(hop_panel_set *set, const hop_packed *l, int64_t layer);

#endif
