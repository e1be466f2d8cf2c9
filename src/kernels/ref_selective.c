/* ref_selective.c - the truth of the selective scan's gradients (forward: ref_program.c) and of the short
 * convolution: plain loops in double, one channel after the other. */
#include "room.h"

#include <math.h>
#include <string.h>

enum { REF_KEEP = HOP__SCAN_BACK };

typedef struct at {
    double x, delta;
    const float *A, *B, *C; /* [N] */
} at;

static at at_of(const hop__select_task *t, int64_t i, int64_t ch)
{
    const hop_selective *c = t->c;
    return (at){t->in->x[i * c->x_stride + ch], t->in->delta[i * c->delta_stride + ch],
                t->in->A + ch * c->states, t->in->B + i * c->b_stride, t->in->C + i * c->c_stride};
}

static void next(const at *p, int64_t N, const double *old, double *h)
{
    for (int64_t n = 0; n < N; n++) h[n] = exp(p->delta * p->A[n]) * old[n] + p->delta * p->B[n] * p->x;
}

/* One token of one channel; dh is the gradient of the state after, then of that before. */
static void back_token(const hop__select_task *t, int64_t i, int64_t ch, const double *old, double *dh,
                       double *dA)
{
    const hop_selective *c = t->c;
    const int64_t N = c->states;
    at p = at_of(t, i, ch);
    double d_o = t->g->d_o[i * c->o_stride + ch], dx = t->in->D ? t->in->D[ch] * d_o : 0.0, ddelta = 0.0;
    for (int64_t n = 0; n < N; n++) {
        double e = exp(p.delta * p.A[n]), h = e * old[n] + p.delta * p.B[n] * p.x;
        dh[n] += p.C[n] * d_o;
        t->part[(i * 2 + 1) * N + n] += (float)(d_o * h);
        t->part[i * 2 * N + n] += (float)(dh[n] * p.delta * p.x);
        dx += dh[n] * p.delta * p.B[n];
        ddelta += dh[n] * (e * old[n] * p.A[n] + p.B[n] * p.x);
        dA[n] += dh[n] * e * old[n] * p.delta;
        dh[n] *= e;
    }
    if (t->g->dx) t->g->dx[i * c->x_stride + ch] = (float)dx;
    if (t->g->ddelta) t->g->ddelta[i * c->delta_stride + ch] = (float)ddelta;
}

void hop__ref_select_backward(const hop__select_task *t)
{
    const hop_selective *c = t->c;
    const int64_t N = c->states, T = c->tokens, blocks = (T + REF_KEEP - 1) / REF_KEEP;
    double *h = (double *)t->scratch, *kept = h + (REF_KEEP + 1) * N, *dh = kept + blocks * N, *dA = dh + N;
    memset(t->part, 0, sizeof(float) * (size_t)(T * 2 * N));
    for (int64_t ch = t->first; ch < t->first + t->count; ch++) {
        double dD = 0.0;
        memset(dh, 0, sizeof(double) * (size_t)(2 * N));
        for (int64_t n = 0; n < N; n++) h[n] = t->start ? t->start[ch * N + n] : 0.0;
        for (int64_t i = 0; i < T; i++) {
            at p = at_of(t, i, ch);
            if (i % REF_KEEP == 0) memcpy(kept + i / REF_KEEP * N, h, sizeof(double) * (size_t)N);
            next(&p, N, h, h);
            dD += p.x * t->g->d_o[i * c->o_stride + ch];
        }
        for (int64_t first = (T - 1) / REF_KEEP * REF_KEEP; T > 0 && first >= 0; first -= REF_KEEP) {
            const int64_t count = hop__min(REF_KEEP, T - first);
            memcpy(h, kept + first / REF_KEEP * N, sizeof(double) * (size_t)N);
            for (int64_t i = 0; i < count; i++) {
                at p = at_of(t, first + i, ch);
                next(&p, N, h + i * N, h + (i + 1) * N);
            }
            for (int64_t i = count - 1; i >= 0; i--) back_token(t, first + i, ch, h + i * N, dh, dA);
        }
        for (int64_t n = 0; t->g->d_state && n < N; n++) t->g->d_state[ch * N + n] = (float)dh[n];
        for (int64_t n = 0; t->g->dA && n < N; n++) t->g->dA[ch * N + n] = (float)dA[n];
        if (t->g->dD) t->g->dD[ch] = (float)dD;
    }
}

void hop__ref_conv(float *y, const float *past, const float *x, const float *w, const float *bias,
                   const hop_conv *c)
{
    for (int64_t t = 0; t < c->tokens; t++)
        for (int64_t i = 0; i < c->width; i++) {
            double sum = bias ? bias[i] : 0.0;
            for (int64_t j = 0; j < c->size; j++) {
                const int64_t from = t - c->size + 1 + j;
                if (from >= 0)
                    sum += (double)w[i * c->size + j] * x[from * c->x_stride + i];
                else if (past)
                    sum += (double)w[i * c->size + j] * past[(from + c->size - 1) * c->past_stride + i];
            }
            y[t * c->y_stride + i] = (float)(c->silu ? sum / (1.0 + exp(-sum)) : sum);
        }
}
