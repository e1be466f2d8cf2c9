/* bench_train.h - a training step to be timed, and the same one in PyTorch, in a process of its own. */
#ifndef HOP_BENCH_TRAIN_H
#define HOP_BENCH_TRAIN_H

#include <hopbound/base.h>

/* ---- ours (bench_train.c) ---- */

typedef struct hop_bench_step hop_bench_step;

/* `mixer`: "full", "gdn", "retnet" or "mamba2", the last as retention with a gate for every token. Keeps the
 * pool. HOP_ENOMEM. */
hop_status hop_bench_step_new(hop_bench_step **out, const char *mixer, int64_t d, hop_pool *pool,
                              hop_error *err);
double hop_bench_step_run(hop_bench_step *b); /* one step; its seconds */
void hop_bench_step_free(hop_bench_step *b);
int64_t hop_bench_step_tokens(void); /* of a step */
double hop_bench_step_flops(const char *mixer, int64_t d);

/* ---- PyTorch's (bench_torch.c) ---- */

typedef struct hop_bench_torch {
    int pid, in, out; /* in: where it reads */
    char version[32];
} hop_bench_torch;

/* Starts python3. HOP_EIO: there is none, or it has no torch. */
hop_status hop_bench_torch_open(hop_bench_torch *t, int threads, hop_error *err);
/* Steps for about so many seconds: at most `max` of their times. HOP_EIO: it gave no answer. HOP_ESTOPPED. */
hop_status hop_bench_torch_run(hop_bench_torch *t, const char *mixer, int64_t d, double seconds, double *took,
                               int *count, int max, const hop_progress *progress, hop_error *err);
void hop_bench_torch_close(hop_bench_torch *t);

#endif
