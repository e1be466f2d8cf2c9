/* Softmax attention over batches. */
#include "flat.h"

#include <hopbound/kernels.h>

enum { O, LSE, Q, K, V, ARRAYS, D_O = ARRAYS, D_Q, D_K, D_V, ALL };

typedef struct call {
    hop_attn c;
    hopflat__array at[ALL];
} call;

static call call_of(const int64_t *sizes, double scale, const int64_t *arrays, int count)
{
    call s = {0};
    for (int i = 0; i < count; i++) s.at[i] = hopflat__array_at(arrays, i);
    s.c = (hop_attn){
        .tokens = sizes[1],
        .queries = sizes[2],
        .first = sizes[1] - sizes[2],
        .heads = sizes[3],
        .kv_heads = sizes[4],
        .key_dim = sizes[5],
        .value_dim = sizes[6],
        .window = sizes[7],
        .bidirectional = sizes[8] != 0,
        .q_stride = s.at[Q].token,
        .k_stride = s.at[K].token,
        .v_stride = s.at[V].token,
        .o_stride = s.at[O].token,
        .scale = (float)scale,
    };
    return s;
}

static size_t forward_scratch(const void *ctx, int threads)
{
    return hop_attn_scratch(&((const call *)ctx)->c, threads);
}

static size_t backward_scratch(const void *ctx, int threads)
{
    return hop_attn_backward_scratch(&((const call *)ctx)->c, threads);
}

static void forward(const void *ctx, int64_t n, float *scratch, hop_pool *pool)
{
    const call *s = ctx;
    const hopflat__array *a = s->at;
    hop_attn_forward(hopflat__of(a[O], n), hopflat__of(a[LSE], n), hopflat__of(a[Q], n), hopflat__of(a[K], n),
                     hopflat__of(a[V], n), &s->c, scratch, pool);
}

static void backward(const void *ctx, int64_t n, float *scratch, hop_pool *pool)
{
    const call *s = ctx;
    const hopflat__array *a = s->at;
    const hop_attn_grad g = {
        .d_o = hopflat__of(a[D_O], n),
        .dq = hopflat__of(a[D_Q], n),
        .dk = hopflat__of(a[D_K], n),
        .dv = hopflat__of(a[D_V], n),
    };
    hop_attn_backward(&g, hopflat__of(a[O], n), hopflat__of(a[LSE], n), hopflat__of(a[Q], n),
                      hopflat__of(a[K], n), hopflat__of(a[V], n), &s->c, scratch, pool);
}

int hopflat_attention(const int64_t sizes[9], double scale, const int64_t *arrays, int threads)
{
    const call s = call_of(sizes, scale, arrays, ARRAYS);
    return hopflat__batch_run(&(hopflat__batch){sizes[0], forward_scratch, forward, &s}, threads);
}

int hopflat_attention_backward(const int64_t sizes[9], double scale, const int64_t *arrays, int threads)
{
    const call s = call_of(sizes, scale, arrays, ALL);
    return hopflat__batch_run(&(hopflat__batch){sizes[0], backward_scratch, backward, &s}, threads);
}
