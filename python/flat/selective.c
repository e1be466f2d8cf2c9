/* Mamba's scan over batches. */
#include "flat.h"

#include <hopbound/scans.h>

/* In the order of the arrays; a gradient's place is its array's and D_FIRST more. */
enum { O, STATE, X, DELTA, A, B, C, D, ARRAYS, D_FIRST = ARRAYS - STATE };

typedef struct call {
    hop_selective c;
    hopflat__array at[ARRAYS + ARRAYS - STATE];
} call;

static call call_of(const int64_t *sizes, const int64_t *arrays, int count)
{
    call s = {0};
    for (int i = 0; i < count; i++) s.at[i] = hopflat__array_at(arrays, i);
    s.c = (hop_selective){
        .tokens = sizes[1],
        .width = sizes[2],
        .states = sizes[3],
        .x_stride = s.at[X].token,
        .delta_stride = s.at[DELTA].token,
        .b_stride = s.at[B].token,
        .c_stride = s.at[C].token,
        .o_stride = s.at[O].token,
    };
    return s;
}

static hop_selective_in in_of(const call *s, int64_t n)
{
    return (hop_selective_in){
        .x = hopflat__of(s->at[X], n),
        .delta = hopflat__of(s->at[DELTA], n),
        .A = hopflat__of(s->at[A], n),
        .B = hopflat__of(s->at[B], n),
        .C = hopflat__of(s->at[C], n),
        .D = hopflat__of(s->at[D], n),
    };
}

static size_t forward_scratch(const void *ctx, int threads)
{
    return hop_selective_scratch(&((const call *)ctx)->c, threads);
}

static size_t backward_scratch(const void *ctx, int threads)
{
    return hop_selective_backward_scratch(&((const call *)ctx)->c, threads);
}

static void forward(const void *ctx, int64_t n, float *scratch, hop_pool *pool)
{
    const call *s = ctx;
    const hop_selective_in in = in_of(s, n);
    hop_selective_forward(hopflat__of(s->at[O], n), hopflat__of(s->at[STATE], n), &in, &s->c, scratch, pool);
}

static void backward(const void *ctx, int64_t n, float *scratch, hop_pool *pool)
{
    const call *s = ctx;
    const hop_selective_in in = in_of(s, n);
    const hopflat__array *d = s->at + D_FIRST;
    const hop_selective_grad g = {
        .d_o = hopflat__of(s->at[O], n),
        .dx = hopflat__of(d[X], n),
        .ddelta = hopflat__of(d[DELTA], n),
        .dA = hopflat__of(d[A], n),
        .dB = hopflat__of(d[B], n),
        .dC = hopflat__of(d[C], n),
        .dD = hopflat__of(d[D], n),
        .d_state = hopflat__of(d[STATE], n),
    };
    hop_selective_backward(&g, hopflat__of(s->at[STATE], n), &in, &s->c, scratch, pool);
}

int hopflat_selective(const int64_t sizes[4], const int64_t *arrays, int threads)
{
    const call s = call_of(sizes, arrays, ARRAYS);
    return hopflat__batch_run(&(hopflat__batch){sizes[0], forward_scratch, forward, &s}, threads);
}

int hopflat_selective_backward(const int64_t sizes[4], const int64_t *arrays, int threads)
{
    const call s = call_of(sizes, arrays, ARRAYS + ARRAYS - STATE);
    return hopflat__batch_run(&(hopflat__batch){sizes[0], backward_scratch, backward, &s}, threads);
}
