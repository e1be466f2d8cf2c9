/* bench.h - kernels against this machine's own peak, measured beside each. Uses public headers only.
 *
 *     hop_bench_row rows[HOP_BENCH_MAX];
 *     int n = hop_bench_kernels(rows, HOP_BENCH_MAX, pool, 0.3);
 */
#ifndef HOP_BENCH_H
#define HOP_BENCH_H

#include <hopbound/base.h>

#define HOP_BENCH_MAX 32

typedef struct hop_bench_row {
    char name[32], size[64];
    double gflops;          /* for exp: 1e9 results a second */
    double percent_of_peak; /* of the multiply-add peak, the better of just before and after; 0 for exp */
    double seconds;         /* the best run */
    double times_product;   /* scans: time over that of a matrix product of the same flops; else 0 */
} hop_bench_row;

/* Fills at most `max` rows and returns how many; each job repeats for about `seconds` and its best run
 * counts, since other processes can only slow it down. -1 when memory is short. */
int hop_bench_kernels(hop_bench_row *rows, int max, hop_pool *pool, double seconds);
/* The same for the scans; hop_bench_kernels ends with these. */
int hop_bench_scans(hop_bench_row *rows, int max, hop_pool *pool, double seconds);

/* A training step, ours and another library's, in turn within one run (bench_compare.c). */
typedef struct hop_bench_pair {
    const char *mixer;  /* three layers of it, 4 heads, 64 sequences of 128 tokens, MLPs of 4 d, AdamW */
    int64_t d, tokens;  /* width; tokens of a step */
    double flops, peak; /* of a step; GFLOP/s, the best probe between the turns */
    double ours[2], theirs[2]; /* seconds of a step: the best, the median */
} hop_bench_pair;

typedef struct hop_bench_compare {
    hop_pool *pool; /* PyTorch gets as many threads */
    double seconds; /* of a turn; each side has five */
    const hop_progress *progress;
} hop_bench_compare;

#define HOP_BENCH_PAIRS 8

/* full, gdn, retnet and mamba2 at widths 64 and 128. HOP_EIO: python3 or its torch is not there, or it ended;
 * HOP_ENOMEM; HOP_ESTOPPED. */
hop_status hop_bench_compare_torch(hop_bench_pair pairs[HOP_BENCH_PAIRS], char version[32],
                                   const hop_bench_compare *c, hop_error *err);

#endif
