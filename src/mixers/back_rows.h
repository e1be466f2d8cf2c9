/* back_rows.h - some rows on the way back through an operation that looks at one row at a time. */
#ifndef HOP_MIXERS_BACK_ROWS_H
#define HOP_MIXERS_BACK_ROWS_H

#include "back.h"

typedef struct hop__rows {
    const hop_op *op;
    int64_t first, count, width; /* first: in its sequence; rows of several may follow one another */
    int64_t tokens;
    const double *angles;
    const float *y, *dy; /* packed */
    const float *in[4];
    float *din[4]; /* laid out as the inputs, `stride` apart; set, or added to */
    int64_t stride[4];
    bool add[4];
    const float *par, *par2;
    float *dpar, *dpar2; /* added to */
    float *work;         /* twice count * width floats, no less than two rows */
} hop__rows;

static inline const float *hop__rows_in(const hop__rows *r, int i, int64_t t)
{
    return r->in[i] + t * r->stride[i];
}

static inline float *hop__rows_din(const hop__rows *r, int i, int64_t t)
{
    return r->din[i] + t * r->stride[i];
}

/* One row's gradient of input i. */
static inline void hop__rows_put(const hop__rows *r, int i, int64_t t, const float *d, int64_t n, float by)
{
    float *to = hop__rows_din(r, i, t);
    if (r->add[i])
        for (int64_t e = 0; e < n; e++) to[e] += by * d[e];
    else
        for (int64_t e = 0; e < n; e++) to[e] = by * d[e];
}

/* back_norms.c */
void hop__back_act(const hop__rows *r);
void hop__back_l2(const hop__rows *r);
void hop__back_rope(const hop__rows *r);
void hop__back_rms(const hop__rows *r);
void hop__back_groupnorm(const hop__rows *r);

#endif
