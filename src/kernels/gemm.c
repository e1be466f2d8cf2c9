/* gemm.c - hop_gemm and hop_linear: splits a product into tasks. A task is a block of rows and columns and
 * covers all of k, so an element's sum is formed inside one task, in one order. */
#include "room.h"

/* Below this many multiply-adds waking the pool costs more than it gains. */
static const int64_t worth_sharing = 1 << 17;

typedef struct gemm_job {
    const hop_product *whole;
    int64_t rows, cols; /* of a task */
} gemm_job;

static hop_rows rows_at(hop_rows r, int64_t i, int64_t j)
{
    if (r.p) r.p += i * r.stride + j;
    return r;
}

static void columns_from(hop_product *p, int64_t j)
{
    p->c += j, p->n -= j;
    p->b.p += j * p->b.cs;
    if (p->panels) p->panels += j * p->k;
    p->from = rows_at(p->from, 0, j), p->plus = rows_at(p->plus, 0, j), p->times = rows_at(p->times, 0, j);
    if (p->sum) p->sum += j;
}

/* Columns that fill no register go through memory one by one, which takes longer than to compute them; in
 * registers of half the size there are fewer of them. An element is summed in the same order in both. */
static void multiply(const hop_product *p)
{
    const hop__kernels *k = hop__kernels_get();
    const int64_t rest = k->narrow && !p->panels ? p->n % (k->panel / 2) : 0;
    hop_product whole = *p, narrow = *p;
    if (rest == 0) {
        k->gemm(p);
        return;
    }
    whole.n -= rest;
    columns_from(&narrow, whole.n);
    if (whole.n > 0) k->gemm(&whole);
    k->narrow->gemm(&narrow);
}

static void gemm_task(void *ctx, int64_t task, int worker)
{
    const gemm_job *g = ctx;
    const hop_product *whole = g->whole;
    hop_product p = *whole;
    (void)worker;
    int64_t across = (p.n + g->cols - 1) / g->cols;
    int64_t i = task / across * g->rows, j = task % across * g->cols;
    p.m = hop__min(g->rows, whole->m - i);
    p.c += i * p.ldc;
    p.a.p += i * p.a.rs;
    p.from = rows_at(p.from, i, 0), p.plus = rows_at(p.plus, i, 0), p.times = rows_at(p.times, i, 0);
    columns_from(&p, j);
    p.n = hop__min(g->cols, p.n);
    multiply(&p);
}

void hop_multiply(const hop_product *p, hop_pool *pool)
{
    const int64_t m = p->m, n = p->n, k = p->k;
    int threads = hop_pool_threads(pool);
    gemm_job g = {.whole = p, .rows = HOP__GEMM_ROWS, .cols = HOP__GEMM_COLS};
    assert(m >= 0 && n >= 0 && k >= 0 && p->ldc >= n && !(pool && p->sum));
    if (m == 0 || n == 0) return;
    if (m * n * k < worth_sharing) pool = NULL;
    if (pool && m < threads * HOP__GEMM_ROWS) /* fewer rows a task, so that everybody has one */
        g.rows = hop__min(HOP__GEMM_ROWS, hop__round_up((m + threads - 1) / threads, 12));
    int64_t tasks = ((m + g.rows - 1) / g.rows) * ((n + g.cols - 1) / g.cols);
    hop_pool_run(pool, tasks, gemm_task, &g);
}

void hop_gemm(float *c, int64_t ldc, hop_mat a, hop_mat b, int64_t m, int64_t n, int64_t k, bool accumulate,
              hop_pool *pool)
{
    hop_product p = {.c = c, .ldc = ldc, .a = a, .b = b, .m = m, .n = n, .k = k};
    if (accumulate) p.from = (hop_rows){c, ldc};
    hop_multiply(&p, pool);
}

bool hop_panels_fit(int64_t n)
{
    const int64_t panel = hop__kernels_get()->panel;
    return panel > 0 && n > 0 && n % panel == 0;
}

void hop_panels(float *to, hop_mat b, int64_t k, int64_t n)
{
    assert(hop_panels_fit(n));
    hop__kernels_get()->panels(to, b, k, n);
}

typedef struct linear_job {
    float *y;
    const float *x, *w, *bias;
    int64_t out, in;
} linear_job;

enum { MATVEC_OUT = 256 }; /* outputs of one task */

static void matvec_task(void *ctx, int64_t task, int worker)
{
    const linear_job *l = ctx;
    (void)worker;
    int64_t o = task * MATVEC_OUT;
    hop__kernels_get()->matvec(l->y + o, l->x, l->w + o * l->in, l->bias ? l->bias + o : NULL,
                               hop__min(MATVEC_OUT, l->out - o), l->in);
}

static void few_rows(float *y, const float *x, const hop_weights *w, int64_t rows, hop_pool *pool)
{
    for (int64_t r = 0; r < rows; r++) {
        linear_job l = {y + r * w->out, x + r * w->in, w->w, w->bias, w->out, w->in};
        hop_pool_run(w->out * w->in < worth_sharing ? NULL : pool, (w->out + MATVEC_OUT - 1) / MATVEC_OUT,
                     matvec_task, &l);
    }
}

void hop_linear_onto(float *y, const float *plus, const float *x, const hop_weights *w, int64_t rows,
                     hop_pool *pool)
{
    assert(rows >= 0 && w->out >= 0 && w->in >= 0);
    if (rows < 4) { /* a panel's copy would cost as much as the product */
        few_rows(y, x, w, rows, pool);
        if (plus) hop_add(y, plus, y, rows * w->out);
        return;
    }
    const hop_product p = {.c = y,
                           .ldc = w->out,
                           .a = {x, w->in, 1},
                           .b = {w->w, 1, w->in},
                           .panels = w->panels,
                           .m = rows,
                           .n = w->out,
                           .k = w->in,
                           .from = {w->bias, 0},
                           .plus = {plus, w->out}};
    hop_multiply(&p, pool);
}

void hop_linear(float *y, const float *x, const float *w, const float *bias, int64_t rows, int64_t out,
                int64_t in, hop_pool *pool)
{
    hop_linear_onto(y, NULL, x, &(hop_weights){.w = w, .bias = bias, .out = out, .in = in}, rows, pool);
}
