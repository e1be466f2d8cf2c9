/* The read-out: for every row of what a class holds, the token whose logit leads all others'. */
#include "readout.h"

#include <string.h>

enum { CASES = 64, TOKENS = 512 };

typedef struct job {
    int64_t cases, vocab, dim;
    const float *x, *head; /* [cases, dim], [vocab, dim] */
    double slack;
    int64_t *token;
    double *margin; /* [tiles] */
} job;

static void read_tile(void *ctx, int64_t tile, int worker)
{
    const job *j = ctx;
    float room[CASES * TOKENS];
    hop__top top[CASES];
    double least = INFINITY;
    int64_t first = tile * CASES, n = j->cases - first < CASES ? j->cases - first : CASES;
    (void)worker;
    for (int64_t i = 0; i < n; i++) top[i] = (hop__top){-INFINITY, -INFINITY}, j->token[first + i] = 0;
    for (int64_t at = 0; at < j->vocab; at += TOKENS) {
        int64_t count = j->vocab - at < TOKENS ? j->vocab - at : TOKENS;
        hop_gemm(room, TOKENS, (hop_mat){j->x + first * j->dim, j->dim, 1},
                 (hop_mat){j->head + at * j->dim, 1, j->dim}, n, count, j->dim, false, NULL);
        for (int64_t i = 0; i < n; i++) {
            int64_t t = hop__top_add(&top[i], room + i * TOKENS, count, 1, 0);
            if (t >= 0) j->token[first + i] = at + t;
        }
    }
    for (int64_t i = 0; i < n; i++) least = ival_least(least, top[i].best - top[i].second - j->slack);
    j->margin[tile] = least;
}

/* Columns that any logit looks at and that are not always 0. */
static int64_t support(const hop__set *x, const float *head, int64_t vocab, int64_t *column)
{
    int64_t count = 0;
    for (int64_t c = 0; c < x->width; c++) {
        bool used = false;
        for (int64_t v = 0; v < vocab && !used && x->mag[c] != 0; v++) used = head[v * x->width + c] != 0;
        if (used) column[count++] = c;
    }
    return count;
}

/* Twice the error of a logit: the network's and the one made here; 0 where every sum is exact. */
static double logit_slack(hop__memory *m, const hop__set *x, const float *head, int64_t vocab, int bits,
                          double later)
{
    double most = 0;
    bool exact = true;
    for (int64_t v = 0; v < vocab; v++) {
        double mag = 0, box = 0;
        int grid = HOP__ANY_GRID;
        for (int64_t c = 0; c < x->width; c++) {
            double w = head[v * x->width + c];
            if (w == 0) continue;
            mag += fabs(w) * x->mag[c];
            box += fabs(w) *
                   (x->rad[c] + 0x1p-149); /* the middle is rounded to a float, which may be subnormal */
            int low = hop__low_bit(w);
            if (x->grid[c] == HOP__NO_GRID || low == HOP__NO_GRID)
                grid = HOP__NO_GRID;
            else if (grid != HOP__NO_GRID && x->grid[c] != HOP__ANY_GRID && low + x->grid[c] < grid)
                grid = low + x->grid[c];
        }
        if (!(mag < HOP__LARGEST / (later > 0 ? HOP_FOREIGN_MULTIPLE : 1))) m->overflow = true;
        exact =
            exact && later == 0 && hop__exact_sum(grid, mag * HOP__ABOVE) && hop__cut_exact(bits, grid, mag);
        double k = (double)x->width;
        most = ival_most(most, hop__cut_error(bits, mag + box) + box +
                                   2 * (HOP_DOT_ERROR(k + 2 + later) + 4 * HOP_UNIT_ROUNDOFF) * mag +
                                   k * (later > 0 ? 0x1p-120 : 0x1p-140));
    }
    if (x->width > HOP__MOST_SUM) m->overflow = true;
    return exact ? 0 : 2 * most * HOP__ABOVE;
}

bool hop__leading_token(hop__analysis *w, hop__memory *m, const hop__set *x, hop__readout *out)
{
    const hop_config *c = hop_model_config(w->model);
    const hop_weight *head =
        hop_model_weight(w->model, c->tied ? "model.embed_tokens.weight" : "lm_head.weight");
    const hop_weight *norm = hop_model_weight(w->model, "model.norm.weight"),
                     *bias = hop_model_weight(w->model, "model.norm.bias");
    x = hop__set_folded(m, (hop__set *)x);
    if (!x) return false;
    hop__set *y =
        hop__set_norm(m, x, c->norm, norm ? norm->data : NULL, bias ? bias->data : NULL, c->norm_eps);
    int64_t *column = hop__take(m, x->width, sizeof *column);
    if (c->norm != HOP_NORM_NONE) y = hop__set_rounded(m, y, w->bits);
    if (m->status != HOP_OK) return false;
    int64_t dim = support(y, head->data, c->vocab, column);
    hop__analysis ends = *w;
    ends.layer = 0; /* all layers say the same of what other people's classes round */
    const double later = hop__others_units(&ends);
    *out = (hop__readout){.margin = -INFINITY};
    hop__set *used = hop__set_gather(m, y, column, dim), *joined = used ? hop__set_joined(m, used) : NULL;
    if (m->status != HOP_OK) return false;
    if (!joined) return true; /* too many things at once */
    job j = {.cases = joined->terms ? joined->term[0].rows : 1, .vocab = c->vocab, .dim = dim};
    int64_t tiles = (j.cases + CASES - 1) / CASES;
    float *rows = hop__take(m, j.cases * dim + 1, sizeof *rows),
          *heads = hop__take(m, j.vocab * dim + 1, sizeof *heads);
    j.token = hop__take(m, j.cases, sizeof *j.token), j.margin = hop__take(m, tiles, sizeof *j.margin);
    if (m->status != HOP_OK) return false;
    for (int64_t i = 0; i < j.cases * dim; i++)
        rows[i] = (float)(joined->mid[i % dim] +
                          (joined->terms ? hop__term_at(&joined->term[0], i / dim, i % dim) : 0));
    for (int64_t i = 0; i < j.vocab * dim; i++) heads[i] = head->data[i / dim * x->width + column[i % dim]];
    j.x = rows, j.head = heads, j.slack = logit_slack(m, joined, heads, j.vocab, w->bits, later);
    hop_pool_run(w->pool, tiles, read_tile, &j);
    out->margin = INFINITY;
    for (int64_t t = 0; t < tiles; t++) out->margin = ival_least(out->margin, j.margin[t]);
    if (joined->terms) out->term = joined->term[0];
    out->token = j.token;
    return true;
}
