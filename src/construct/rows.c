#include "rows.h"

#include <math.h>

hop_status hop__rows_new(hop__rows *r, int64_t count, int64_t width, hop_error *err)
{
    *r = (hop__rows){
        .count = count, .width = width, .blocks = (count + HOP__ROWS_BLOCK - 1) / HOP__ROWS_BLOCK};
    r->row = hop_alloc(sizeof(double) * (size_t)(count * width));
    r->lo = hop_alloc(sizeof(double) * (size_t)(r->blocks * width));
    r->hi = hop_alloc(sizeof(double) * (size_t)(r->blocks * width));
    r->mag = hop_alloc(sizeof(double) * (size_t)width);
    if (r->row && r->lo && r->hi && r->mag) return HOP_OK;
    hop__rows_free(r);
    return hop_fail(err, HOP_ENOMEM, "cannot hold %lld rows", (long long)count);
}

void hop__rows_free(hop__rows *r)
{
    hop_free(r->row);
    hop_free(r->lo);
    hop_free(r->hi);
    hop_free(r->mag);
    *r = (hop__rows){0};
}

void hop__rows_ready(hop__rows *r)
{
    for (int64_t k = 0; k < r->width; k++) r->mag[k] = 0;
    for (int64_t b = 0; b < r->blocks; b++) {
        double *lo = r->lo + b * r->width, *hi = r->hi + b * r->width;
        int64_t end = (b + 1) * HOP__ROWS_BLOCK < r->count ? (b + 1) * HOP__ROWS_BLOCK : r->count;
        for (int64_t k = 0; k < r->width; k++) lo[k] = INFINITY, hi[k] = -INFINITY;
        for (int64_t j = b * HOP__ROWS_BLOCK; j < end; j++)
            for (int64_t k = 0; k < r->width; k++) {
                double x = r->row[j * r->width + k];
                if (!(lo[k] <= x)) lo[k] = x;
                if (!(hi[k] >= x)) hi[k] = x;
                if (!(r->mag[k] >= fabs(x))) r->mag[k] = fabs(x);
            }
    }
}

static double dot(const double *q, const double *x, const int *index, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += q[index[i]] * x[index[i]];
    return s;
}

static double box_top(const double *q, const double *lo, const double *hi, const int *index, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        double x = q[index[i]];
        s += x > 0 ? x * hi[index[i]] : x * lo[index[i]];
    }
    return s;
}

typedef struct search {
    const hop__rows *r;
    const double *q;
    const int *index;
    int n;
    int64_t right, rival;
    double own, scale, slack; /* own: the right row's product */
    double best;              /* the best wrong product seen */
    double mass;
} search;

static double weight(const search *s, double product)
{
    return exp(s->scale * (product - s->own) + s->slack) * (1 + 1e-12); /* libm's exp errs by far less */
}

static void look_at_block(search *s, int64_t b)
{
    int64_t end = (b + 1) * HOP__ROWS_BLOCK < s->r->count ? (b + 1) * HOP__ROWS_BLOCK : s->r->count;
    for (int64_t j = b * HOP__ROWS_BLOCK; j < end; j++) {
        if (j == s->right) continue;
        double p = dot(s->q, s->r->row + j * s->r->width, s->index, s->n);
        if (!(p <= s->best)) { /* NaN must not hide */
            s->best = p;
            s->rival = j;
        }
        s->mass += weight(s, p);
    }
}

hop__lead hop__rows_lead(const hop__rows *r, const double *q, int64_t right, double scale, double slack,
                         int *index)
{
    int n = 0;
    for (int64_t k = 0; k < r->width; k++)
        if (q[k] != 0) index[n++] = (int)k;
    search s = {.r = r,
                .q = q,
                .index = index,
                .n = n,
                .right = right,
                .rival = -1,
                .scale = scale,
                .slack = slack,
                .best = -INFINITY};
    s.own = dot(q, r->row + right * r->width, index, n);
    int64_t home = right / HOP__ROWS_BLOCK;
    look_at_block(&s, home);
    for (int64_t b = 0; b < r->blocks; b++) {
        if (b == home) continue;
        double top = box_top(q, r->lo + b * r->width, r->hi + b * r->width, index, n);
        if (top <= s.best)
            s.mass += HOP__ROWS_BLOCK * weight(&s, top);
        else
            look_at_block(&s, b);
    }
    return (hop__lead){
        .gap = scale * (s.own - s.best) - slack, .mass = s.mass * (1 + 1e-9), .rival = s.rival};
}
