/* bench_compare.c - our training step and PyTorch's, in turn within one run, so that neighbours slow both. */
#include "bench.h"
#include "bench_train.h"

#include <hopbound/kernels.h>

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, MOST = 512 };

typedef struct times {
    double took[MOST];
    int count;
} times;

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_times(times *t)
{
    qsort(t->took, (size_t)t->count, sizeof *t->took, by_time);
}

static hop_status in_turn(hop_bench_step *ours, hop_bench_torch *torch, hop_bench_pair *p, times t[2],
                          const hop_bench_compare *c, hop_error *err)
{
    for (int i = 0; i < 2; i++) hop_bench_step_run(ours);
    for (int r = 0; r < ROUNDS; r++) {
        double peak = hop_peak_gflops(c->pool), begin = hop_now();
        if (peak > p->peak) p->peak = peak;
        do {
            if (!hop_progress_tick(c->progress, p->mixer, r, ROUNDS)) return HOP_ESTOPPED;
            t[0].took[t[0].count++] = hop_bench_step_run(ours);
        } while (hop_now() - begin < c->seconds && t[0].count < MOST / ROUNDS * (r + 1));
        int got, room = MOST - t[1].count;
        hop_status s = hop_bench_torch_run(torch, p->mixer, p->d, c->seconds, t[1].took + t[1].count, &got,
                                           room, c->progress, err);
        if (s != HOP_OK) return s;
        t[1].count += got;
    }
    return HOP_OK;
}

static hop_status compare(hop_bench_pair *p, hop_bench_torch *torch, const hop_bench_compare *c,
                          hop_error *err)
{
    hop_bench_step *ours;
    times *t = hop_alloc(2 * sizeof *t);
    if (!t) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_status s = hop_bench_step_new(&ours, p->mixer, p->d, c->pool, err);
    if (s == HOP_OK) s = in_turn(ours, torch, p, t, c, err);
    if (s == HOP_OK) {
        sort_times(&t[0]), sort_times(&t[1]);
        p->ours[0] = t[0].took[0], p->ours[1] = t[0].took[t[0].count / 2];
        p->theirs[0] = t[1].took[0], p->theirs[1] = t[1].took[t[1].count / 2];
        p->tokens = hop_bench_step_tokens(), p->flops = hop_bench_step_flops(p->mixer, p->d);
    }
    hop_bench_step_free(ours);
    hop_free(t);
    return s;
}

hop_status hop_bench_compare_torch(hop_bench_pair pairs[HOP_BENCH_PAIRS], char version[32],
                                   const hop_bench_compare *c, hop_error *err)
{
    static const char *const mixers[] = {"full", "gdn", "retnet", "mamba2"};
    hop_bench_torch torch;
    hop_status s = hop_bench_torch_open(&torch, hop_pool_threads(c->pool), err);
    if (s != HOP_OK) return s;
    memcpy(version, torch.version, sizeof torch.version);
    for (int i = 0; s == HOP_OK && i < HOP_BENCH_PAIRS; i++) {
        pairs[i] = (hop_bench_pair){.mixer = mixers[i / 2], .d = i % 2 ? 128 : 64};
        s = compare(&pairs[i], &torch, c, err);
    }
    hop_bench_torch_close(&torch);
    return s;
}
