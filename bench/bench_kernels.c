/* bench_kernels.c - the jobs: products, attention, exp. A job is a size, a function and its flops; all share
 * one buffer of random floats. Attention counts causal flops: 2·T²·d a head forward, 5·T²·d more backward
 * (five products of T²/2 pairs), whatever the kernel really does. */
#include "bench.h"

#include <hopbound/kernels.h>

#include <stdio.h>

typedef struct job {
    const char *name;
    void (*run)(const struct job *j, float *buf, hop_pool *pool);
    int64_t m, n, k; /* product: sizes; attention: tokens, heads, dim; exp: count */
    double flops;
} job;

static void run_linear(const job *j, float *buf, hop_pool *pool)
{
    float *x = buf, *w = x + j->m * j->k, *y = w + j->n * j->k;
    hop_linear(y, x, w, NULL, j->m, j->n, j->k, pool);
}

static void run_exp(const job *j, float *buf, hop_pool *pool)
{
    (void)pool;
    for (int64_t i = 0; i < j->m; i += 4096) hop_vexp(buf + 4096, buf, 4096); /* inside L1 */
}

static hop_attn attention_of(const job *j)
{
    int64_t width = j->n * j->k;
    return (hop_attn){.tokens = j->m,
                      .queries = j->m,
                      .heads = j->n,
                      .kv_heads = j->n,
                      .key_dim = j->k,
                      .value_dim = j->k,
                      .q_stride = width,
                      .k_stride = width,
                      .v_stride = width,
                      .o_stride = width,
                      .scale = 0.125f};
}

static void run_attention(const job *j, float *buf, hop_pool *pool)
{
    hop_attn c = attention_of(j);
    int64_t size = j->m * j->n * j->k;
    float *q = buf, *k = q + size, *v = k + size, *o = v + size, *lse = o + size,
          *scratch = lse + j->m * j->n;
    hop_attn_forward(o, lse, q, k, v, &c, scratch, pool);
}

static void run_attention_both(const job *j, float *buf, hop_pool *pool)
{
    run_attention(j, buf, pool);
    hop_attn c = attention_of(j);
    int64_t size = j->m * j->n * j->k;
    float *q = buf, *k = q + size, *v = k + size, *o = v + size, *lse = o + size, *grads = lse + j->m * j->n;
    hop_attn_grad g = {grads, grads + size, grads + 2 * size, v};
    hop_attn_backward(&g, o, lse, q, k, v, &c, grads + 3 * size, pool);
}

static size_t floats_of(const job *j, hop_pool *pool)
{
    if (j->run == run_linear) return (size_t)(j->m * j->k + j->n * j->k + j->m * j->n);
    if (j->run == run_exp) return 8192;
    hop_attn c = attention_of(j);
    return (size_t)(j->m * j->n * (j->k * 7 + 1)) + hop_attn_backward_scratch(&c, hop_pool_threads(pool));
}

/* The better of the peaks before and after counts, as the best run does. */
static bool measure(hop_bench_row *row, const job *j, hop_pool *pool, double seconds)
{
    size_t count = floats_of(j, pool);
    float *buf = hop_alloc(count * sizeof(float));
    if (!buf) return false;
    hop_rng rng;
    hop_rng_init(&rng, 0, 0);
    for (size_t i = 0; i < count; i++) buf[i] = (float)(2.0 * hop_rng_uniform(&rng) - 1.0);
    double peak = hop_peak_gflops(pool), best = 1e30, begin = hop_now();
    do {
        double start = hop_now();
        j->run(j, buf, pool);
        double took = hop_now() - start;
        if (took < best) best = took;
    } while (hop_now() - begin < seconds);
    double after = hop_peak_gflops(pool);
    if (after > peak) peak = after;
    hop_free(buf);
    snprintf(row->name, sizeof row->name, "%s", j->name);
    if (j->run == run_linear)
        snprintf(row->size, sizeof row->size, "%dx%dx%d", (int)j->m, (int)j->n, (int)j->k);
    else if (j->run == run_exp)
        snprintf(row->size, sizeof row->size, "n=%d", (int)j->m);
    else
        snprintf(row->size, sizeof row->size, "T=%d H=%d d=%d", (int)j->m, (int)j->n, (int)j->k);
    row->seconds = best;
    row->times_product = 0.0;
    row->gflops = j->flops / best * 1e-9;
    row->percent_of_peak = j->run == run_exp ? 0.0 : 100.0 * row->gflops / peak;
    return true;
}

#define PRODUCT(m, n, k)                                     \
    {                                                        \
        "linear", run_linear, m, n, k, 2.0 * (m) * (n) * (k) \
    }
#define ATTENTION(t, h, d)                                               \
    {                                                                    \
        "attention", run_attention, t, h, d, 2.0 * (t) * (t) * (d) * (h) \
    }
#define BOTH(t, h, d)                                                                  \
    {                                                                                  \
        "attention+backward", run_attention_both, t, h, d, 7.0 * (t) * (t) * (d) * (h) \
    }

int hop_bench_kernels(hop_bench_row *rows, int max, hop_pool *pool, double seconds)
{
    static const job jobs[] = {
        PRODUCT(1024, 1024, 1024),
        PRODUCT(1170, 128, 64),
        PRODUCT(1170, 64, 64),
        PRODUCT(1170, 24, 24),
        PRODUCT(1, 256, 64),
        ATTENTION(2048, 8, 64),
        ATTENTION(1170, 1, 24),
        ATTENTION(128, 4, 16),
        BOTH(2048, 8, 64),
        BOTH(128, 4, 16),
        {"exp", run_exp, 1 << 20, 0, 0, 1 << 20},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0] && count < max; i++, count++)
        if (!measure(&rows[count], &jobs[i], pool, seconds)) return -1;
    int scans = hop_bench_scans(rows + count, max - count, pool, seconds);
    return scans < 0 ? -1 : count + scans;
}
