/* Matrices by their non-zero entries: exact zeros are what the analysis learns structure from. */
#include "analysis.h"

hop_status hop__sparse_new(hop__sparse *s, const hop_weight *w, hop_error *err)
{
    *s = (hop__sparse){.rows = w->shape[0], .cols = w->shape[1]};
    int64_t count = 0, total = s->rows * s->cols;
    for (int64_t i = 0; i < total; i++) count += w->data[i] != 0;
    s->start = hop_alloc(sizeof(int64_t) * (size_t)(s->rows + 1));
    s->col = hop_alloc(sizeof(int) * (size_t)count);
    s->val = hop_alloc(sizeof(double) * (size_t)count);
    if (!s->start || !s->col || !s->val) {
        hop__sparse_free(s);
        return hop_fail(err, HOP_ENOMEM, "%s: out of memory", w->name);
    }
    int64_t n = 0;
    for (int64_t r = 0; r < s->rows; r++) {
        for (int64_t c = 0; c < s->cols; c++) {
            float x = w->data[r * s->cols + c];
            if (x == 0) continue;
            s->col[n] = (int)c;
            s->val[n++] = x;
        }
        s->start[r + 1] = n;
    }
    return HOP_OK;
}

void hop__sparse_free(hop__sparse *s)
{
    hop_free(s->start);
    hop_free(s->col);
    hop_free(s->val);
    *s = (hop__sparse){0};
}

ival hop__sparse_box(const hop__sparse *s, int64_t row, const ival *x)
{
    ival sum = {0, 0};
    for (int64_t k = s->start[row]; k < s->start[row + 1]; k++)
        sum = ival_add(sum, ival_scale(x[s->col[k]], s->val[k]));
    return sum;
}

double hop__sparse_mag(const hop__sparse *s, int64_t row, const ival *x)
{
    double sum = 0;
    for (int64_t k = s->start[row]; k < s->start[row + 1]; k++)
        sum = ival_up(sum + ival_up(fabs(s->val[k]) * ival_mag(x[s->col[k]])));
    return sum;
}

void hop__sparse_grid(const hop__sparse *s, int64_t row, const ival *x, hop__grid *g)
{
    for (int64_t k = s->start[row]; k < s->start[row + 1] && g->exact; k++)
        hop__grid_add(g, ival_scale(x[s->col[k]], s->val[k]));
}
