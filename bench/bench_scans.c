/* bench_scans.c - the scans, 16 heads side by side, and beside each the product of matrices that does the
 * same flops: 4·T·K·V a head for decay, 6 for delta, 8 for dplr, whatever the kernel really does; backward is
 * counted as twice forward. */
#include "bench.h"

#include <hopbound/kernels.h>
#include <hopbound/scans.h>

#include <stdio.h>
#include <string.h>

enum { TOKENS = 4096, HEADS = 16, DIM = 64, CHANNELS = 128, STATES = 16, ARRAYS = 12 };

typedef void scan_forward(float *o, float *state, const hop_scan_in *in, const hop_scan *c, float *scratch,
                          hop_pool *pool);
typedef void scan_backward(const hop_scan_grad *g, const float *state, const hop_scan_in *in,
                           const hop_scan *c, float *scratch, hop_pool *pool);

typedef struct job {
    const char *name;
    scan_forward *forward;
    scan_backward *backward; /* then measured instead */
    hop_gate gate;
    hop_form form;
    bool bonus;
    double flops; /* over T·K·V and head */
} job;

/* Arrays of TOKENS·HEADS·DIM floats, random: q k v o gates a b, five gradients. */
typedef struct buffers {
    float *p[ARRAYS], *scratch;
} buffers;

static hop_scan shape(const job *j)
{
    const int64_t width = HEADS * DIM, gates = j->gate == HOP_GATE_KEY ? width : HEADS;
    return (hop_scan){.tokens = TOKENS,
                      .heads = HEADS,
                      .key_heads = HEADS,
                      .key_dim = DIM,
                      .value_dim = DIM,
                      .q_stride = width,
                      .k_stride = width,
                      .v_stride = width,
                      .o_stride = width,
                      .gate_stride = gates,
                      .beta_stride = HEADS,
                      .gate = j->gate,
                      .scale = 0.125f,
                      .form = j->form};
}

static void run(const job *j, const buffers *b, hop_pool *pool)
{
    float *const *p = b->p;
    hop_scan c = shape(j);
    hop_scan_in in = {.q = p[0], .k = p[1], .v = p[2], .g = j->gate == HOP_GATE_NONE ? NULL : p[4]};
    if (j->forward == hop_dplr_forward) in.a = p[5], in.b = p[6];
    if (j->forward == hop_delta_forward) in.beta = p[11]; /* the one array that is not negative */
    if (j->bonus) in.u = p[0];
    if (j->backward) {
        hop_scan_grad g = {.d_o = p[2], .dq = p[7], .dk = p[8], .dv = p[9], .dg = p[10]};
        j->backward(&g, NULL, &in, &c, b->scratch, pool);
    } else {
        j->forward(p[3], NULL, &in, &c, b->scratch, pool);
    }
}

static void run_product(const buffers *b, hop_pool *pool)
{
    hop_gemm(b->p[3], DIM, (hop_mat){b->p[0], DIM, 1}, (hop_mat){b->p[1], DIM, 1}, TOKENS, DIM, DIM, false,
             pool);
}

static hop_selective selective_shape(void)
{
    return (hop_selective){TOKENS, CHANNELS, STATES, CHANNELS, CHANNELS, STATES, STATES, CHANNELS};
}

static void run_selective(const buffers *b, bool backward, hop_pool *pool)
{
    hop_selective c = selective_shape();
    float *const *p = b->p;
    hop_selective_in in = {p[0], p[11], p[4], p[2], p[5], NULL};
    hop_selective_grad g = {.d_o = p[1], .dx = p[6], .ddelta = p[7], .dA = p[8], .dB = p[9], .dC = p[10]};
    if (backward)
        hop_selective_backward(&g, NULL, &in, &c, b->scratch, pool);
    else
        hop_selective_forward(p[3], NULL, &in, &c, b->scratch, pool);
}

typedef enum what { SCAN, PRODUCT, SELECTIVE, SELECTIVE_BACKWARD } what;

/* The best of the runs that begin within `seconds`; j is SCAN's. */
static double best_of(what w, const job *j, const buffers *b, hop_pool *pool, double seconds)
{
    double best = 1e30, begin = hop_now();
    do {
        double start = hop_now();
        if (w == SCAN)
            run(j, b, pool);
        else if (w == PRODUCT)
            run_product(b, pool);
        else
            run_selective(b, w == SELECTIVE_BACKWARD, pool);
        double took = hop_now() - start;
        if (took < best) best = took;
    } while (hop_now() - begin < seconds);
    return best;
}

static bool open_buffers(buffers *b, const job *heaviest, hop_pool *pool)
{
    hop_scan c = shape(heaviest);
    hop_selective s = selective_shape();
    size_t count = (size_t)TOKENS * HEADS * DIM,
           scratch = hop_scan_backward_scratch(&c, hop_pool_threads(pool));
    size_t other = hop_selective_backward_scratch(&s, hop_pool_threads(pool));
    b->scratch = hop_alloc(sizeof(float) * (scratch > other ? scratch : other));
    bool all = b->scratch != NULL;
    hop_rng rng;
    hop_rng_init(&rng, 0, 0);
    for (int a = 0; a < ARRAYS; a++) {
        b->p[a] = hop_alloc(sizeof(float) * count);
        all = all && b->p[a];
        if (!b->p[a]) continue;
        for (size_t i = 0; i < 4096; i++)
            b->p[a][i] = (float)(0.2 * hop_rng_uniform(&rng) - (a == 11 ? 0.0 : a == 4 ? 0.2 : 0.1));
        for (size_t i = 4096; i < count; i++) b->p[a][i] = b->p[a][i % 4096];
    }
    return all;
}

static void fill(hop_bench_row *row, const job *j, double seconds, double product, double peak)
{
    snprintf(row->name, sizeof row->name, "%s", j->name);
    row->seconds = seconds;
    row->gflops = j->flops * TOKENS * HEADS * DIM * DIM / seconds * 1e-9;
    row->percent_of_peak = 100.0 * row->gflops / peak;
    row->times_product = product / row->gflops;
    snprintf(row->size, sizeof row->size, "T=%d H=%d d=%d, %.1fx gemm", TOKENS, HEADS, DIM,
             row->times_product);
}

int hop_bench_scans(hop_bench_row *rows, int max, hop_pool *pool, double seconds)
{
    static const job jobs[] = {
        {"decay", hop_decay_forward, NULL, HOP_GATE_TOKEN, HOP_FORM_CHUNKED, false, 4.0},
        {"decay, key gates", hop_decay_forward, NULL, HOP_GATE_KEY, HOP_FORM_CHUNKED, false, 4.0},
        {"decay with bonus", hop_decay_forward, NULL, HOP_GATE_KEY, HOP_FORM_CHUNKED, true, 4.0},
        {"delta", hop_delta_forward, NULL, HOP_GATE_TOKEN, HOP_FORM_CHUNKED, false, 6.0},
        {"delta, key gates", hop_delta_forward, NULL, HOP_GATE_KEY, HOP_FORM_CHUNKED, false, 6.0},
        {"dplr", hop_dplr_forward, NULL, HOP_GATE_KEY, HOP_FORM_CHUNKED, false, 8.0},
        {"decay, token by token", hop_decay_forward, NULL, HOP_GATE_TOKEN, HOP_FORM_RECURRENT, false, 4.0},
        {"delta, token by token", hop_delta_forward, NULL, HOP_GATE_TOKEN, HOP_FORM_RECURRENT, false, 6.0},
        {"dplr, token by token", hop_dplr_forward, NULL, HOP_GATE_KEY, HOP_FORM_RECURRENT, false, 8.0},
        {"decay backward", hop_decay_forward, hop_decay_backward, HOP_GATE_TOKEN, HOP_FORM_CHUNKED, false,
         8.0},
        {"delta backward", hop_delta_forward, hop_delta_backward, HOP_GATE_TOKEN, HOP_FORM_CHUNKED, false,
         12.0},
    };
    enum { JOBS = sizeof jobs / sizeof jobs[0] };
    buffers b = {{0}, NULL};
    int count = open_buffers(&b, &jobs[0], pool) ? 0 : -1;
    for (int i = 0; count >= 0 && i < JOBS && count < max; i++, count++) {
        double peak = hop_peak_gflops(pool), before = best_of(PRODUCT, NULL, &b, pool, 0.2 * seconds);
        double took = best_of(SCAN, &jobs[i], &b, pool, seconds),
               after = best_of(PRODUCT, NULL, &b, pool, 0.2 * seconds);
        double product = 2.0 * TOKENS * DIM * DIM / (before < after ? before : after) * 1e-9;
        fill(&rows[count], &jobs[i], took, product, 0.5 * (peak + hop_peak_gflops(pool)));
    }
    for (what w = SELECTIVE; count >= 0 && count < max && w <= SELECTIVE_BACKWARD; w++) {
        hop_bench_row *row = &rows[count++];
        double took = best_of(w, NULL, &b, pool, seconds);
        *row = (hop_bench_row){.seconds = took, .gflops = 1e-9 * TOKENS * CHANNELS * STATES / took};
        snprintf(row->name, sizeof row->name, w == SELECTIVE ? "selective" : "selective backward");
        snprintf(row->size, sizeof row->size, "T=%d D=%d N=%d, 1e9 states/s", TOKENS, CHANNELS, STATES);
    }
    for (int a = 0; a < ARRAYS; a++) hop_free(b.p[a]);
    hop_free(b.scratch);
    return count;
}
