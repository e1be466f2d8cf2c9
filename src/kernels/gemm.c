/* gemm.c - hop_gemm and hop_linear: splits a product into tasks. A task is a block of rows and columns and
 * covers all of k, so an element's sum is formed inside one task, in one order. */
#include "room.h"

/* Below this many multiply-adds waking the pool costs more than it gains. */
static const int64_t worth_sharing = 1 << 17;

typedef struct gemm_job {
    float *c;
    int64_t ldc;
    hop_mat a, b;
    int64_t m, n, k;
    int64_t rows, cols; /* of a task */
    hop__start start;
} gemm_job;

static void gemm_task(void *ctx, int64_t task, int worker)
{
    const gemm_job *g = ctx;
    (void)worker;
    int64_t across = (g->n + g->cols - 1) / g->cols;
    int64_t i = task / across * g->rows, j = task % across * g->cols;
    hop_mat a = g->a, b = g->b;
    a.p += i * a.rs;
    b.p += j * b.cs;
    const int64_t mnk[3] = {hop__min(g->rows, g->m - i), hop__min(g->cols, g->n - j), g->k};
    hop__start start = g->start;
    if (start.p) start.p += i * start.stride + j;
    hop__kernels_get()->gemm(g->c + i * g->ldc + j, g->ldc, a, b, mnk, start);
}

static void share_out(gemm_job *g, hop_pool *pool)
{
    const int64_t m = g->m, n = g->n, k = g->k;
    int threads = hop_pool_threads(pool);
    assert(m >= 0 && n >= 0 && k >= 0 && g->ldc >= n);
    if (m == 0 || n == 0) return;
    g->rows = HOP__GEMM_ROWS, g->cols = HOP__GEMM_COLS;
    if (m * n * k < worth_sharing) pool = NULL;
    if (pool && m < threads * HOP__GEMM_ROWS) /* fewer rows a task, so that everybody has one */
        g->rows = hop__min(HOP__GEMM_ROWS, hop__round_up((m + threads - 1) / threads, 12));
    int64_t tasks = ((m + g->rows - 1) / g->rows) * ((n + g->cols - 1) / g->cols);
    hop_pool_run(pool, tasks, gemm_task, g);
}

void hop_gemm(float *c, int64_t ldc, hop_mat a, hop_mat b, int64_t m, int64_t n, int64_t k, bool accumulate,
              hop_pool *pool)
{
    gemm_job g = {.c = c, .ldc = ldc, .a = a, .b = b, .m = m, .n = n, .k = k};
    if (accumulate) g.start = (hop__start){c, ldc};
    share_out(&g, pool);
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

void hop_linear(float *y, const float *x, const float *w, const float *bias, int64_t rows, int64_t out,
                int64_t in, hop_pool *pool)
{
    assert(rows >= 0 && out >= 0 && in >= 0);
    if (rows < 4) { /* a panel's copy would cost as much as the product */
        for (int64_t r = 0; r < rows; r++) {
            linear_job l = {y + r * out, x + r * in, w, bias, out, in};
            hop_pool_run(out * in < worth_sharing ? NULL : pool, (out + MATVEC_OUT - 1) / MATVEC_OUT,
                         matvec_task, &l);
        }
        return;
    }
    gemm_job g = {.c = y, .ldc = out, .a = {x, in, 1}, .b = {w, 1, in}, .m = rows, .n = out, .k = in};
    g.start.p = bias;
    share_out(&g, pool);
}
