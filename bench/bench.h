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

#endif
