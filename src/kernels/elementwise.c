/* elementwise.c - the entry points that only pass on to the table, and the peak probe. */
#include "room.h"

#include <math.h>

void hop_vexp(float *y, const float *x, int64_t n)
{
    hop__kernels_get()->vexp(y, x, n);
}

void hop_relu(float *y, const float *x, int64_t n)
{
    hop__kernels_get()->relu(y, x, n);
}

void hop_gelu(float *y, const float *x, int64_t n)
{
    hop__kernels_get()->gelu(y, x, n);
}

void hop_gelu_keep(float *y, float *slope, const float *x, int64_t n)
{
    hop__kernels_get()->gelu_keep(y, slope, x, n);
}

void hop_swiglu(float *y, const float *gate, const float *up, int64_t n)
{
    hop__kernels_get()->swiglu(y, gate, up, n);
}

void hop_add(float *y, const float *a, const float *b, int64_t n)
{
    hop__kernels_get()->add(y, a, b, n);
}

void hop_mul_sum(float *x, const float *by, float *sum, int64_t rows, int64_t width)
{
    if (by || sum) hop__kernels_get()->mul_sum(x, by, sum, rows, width);
}

void hop_rmsnorm(float *y, const float *x, const float *weight, int64_t rows, int64_t dim, float eps)
{
    hop__kernels_get()->rmsnorm(y, x, &(hop__norm){weight, NULL, rows, dim, eps});
}

void hop_layernorm(float *y, const float *x, const float *weight, const float *bias, int64_t rows,
                   int64_t dim, float eps)
{
    hop__kernels_get()->layernorm(y, x, &(hop__norm){weight, bias, rows, dim, eps});
}

void hop_relu_backward(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    hop__kernels_get()->relu_back(dx, y, x, dy, n);
}

void hop_gelu_backward(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    hop__kernels_get()->gelu_back(dx, y, x, dy, n);
}

void hop_silu_backward(float *dx, float *y, const float *x, const float *dy, int64_t n)
{
    hop__kernels_get()->silu_back(dx, y, x, dy, n);
}

void hop_swiglu_backward(const hop_swiglu_grad *g, const float *gate, const float *up, const float *dy,
                         int64_t n)
{
    hop__kernels_get()->swiglu_back(g, gate, up, dy, n);
}

void hop_rmsnorm_backward(const hop_norm_grad *g, const float *x, const float *weight, int64_t rows,
                          int64_t dim, float eps)
{
    hop__kernels_get()->rmsnorm_back(g, x, &(hop__norm){weight, NULL, rows, dim, eps});
}

void hop_layernorm_backward(const hop_norm_grad *g, const float *x, const float *weight, int64_t rows,
                            int64_t dim, float eps)
{
    hop__kernels_get()->layernorm_back(g, x, &(hop__norm){weight, NULL, rows, dim, eps});
}

void hop_round_significand(float *x, int64_t n, int bits)
{
    assert(bits >= 1 && bits <= 24);
    if (bits < 24) hop__kernels_get()->round_significand(x, n, bits);
}

/* ---- peak ---------------------------------------------------------------------------------- */

/* The best of a hundred slices of 1 ms: other processes can only make it slower, and a slice of theirs is
 * longer. */
static void peak_task(void *ctx, int64_t task, int worker)
{
    double *rate = ctx, begin = hop_now();
    (void)worker;
    rate[task] = 0.0;
    while (hop_now() - begin < 0.1) {
        double start = hop_now(), flops = 0.0, now = start;
        for (; now - start < 0.001; now = hop_now()) flops += hop__kernels_get()->fma_loop(4000);
        if (flops / (now - start) > rate[task]) rate[task] = flops / (now - start);
    }
}

double hop_peak_gflops(hop_pool *pool)
{
    enum { most = 1024 };
    double rate[most], sum = 0.0;
    int threads = hop_pool_threads(pool) < most ? hop_pool_threads(pool) : most;
    hop_pool_run(pool, threads, peak_task, rate);
    for (int i = 0; i < threads; i++) sum += rate[i];
    return sum * 1e-9;
}
