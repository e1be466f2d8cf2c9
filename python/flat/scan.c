/* The recurrences of scans.h over batches. */
#include "flat.h"

#include <hopbound/scans.h>

/* In the order of the arrays; a gradient's place is its array's and D_FIRST more. */
enum { O, STATE, Q, K, V, G, BETA, A, B, U, I, F, ARRAYS, D_FIRST = ARRAYS - STATE };

typedef struct call {
    hopflat_recurrence what;
    hop_scan c;
    hopflat__array at[ARRAYS + ARRAYS - STATE];
} call;

static int64_t gate_stride(const call *s)
{
    return s->at[s->what == HOPFLAT_MLSTM ? I : G].token;
}

static call call_of(const int64_t *sizes, double scale, const int64_t *arrays, int count)
{
    call s = {.what = (hopflat_recurrence)sizes[0]};
    for (int i = 0; i < count; i++) s.at[i] = hopflat__array_at(arrays, i);
    s.c = (hop_scan){
        .gate = (hop_gate)sizes[1],
        .form = (hop_form)sizes[2],
        .tokens = sizes[4],
        .heads = sizes[5],
        .key_heads = sizes[6],
        .key_dim = sizes[7],
        .value_dim = sizes[8],
        .q_stride = s.at[Q].token,
        .k_stride = s.at[K].token,
        .v_stride = s.at[V].token,
        .o_stride = s.at[O].token,
        .gate_stride = gate_stride(&s),
        .beta_stride = s.at[BETA].token,
        .scale = (float)scale,
    };
    return s;
}

static hop_scan_in in_of(const call *s, int64_t n)
{
    const hopflat__array *a = s->at;
    return (hop_scan_in){
        .q = hopflat__of(a[Q], n),
        .k = hopflat__of(a[K], n),
        .v = hopflat__of(a[V], n),
        .g = hopflat__of(a[G], n),
        .beta = hopflat__of(a[BETA], n),
        .a = hopflat__of(a[A], n),
        .b = hopflat__of(a[B], n),
        .u = hopflat__of(a[U], n),
        .i = hopflat__of(a[I], n),
        .f = hopflat__of(a[F], n),
    };
}

static hop_scan_grad grad_of(const call *s, int64_t n)
{
    const hopflat__array *d = s->at + D_FIRST;
    return (hop_scan_grad){
        .d_o = hopflat__of(s->at[O], n),
        .dq = hopflat__of(d[Q], n),
        .dk = hopflat__of(d[K], n),
        .dv = hopflat__of(d[V], n),
        .dg = hopflat__of(d[G], n),
        .dbeta = hopflat__of(d[BETA], n),
        .da = hopflat__of(d[A], n),
        .db = hopflat__of(d[B], n),
        .du = hopflat__of(d[U], n),
        .di = hopflat__of(d[I], n),
        .df = hopflat__of(d[F], n),
        .d_state = hopflat__of(d[STATE], n),
    };
}

static size_t forward_scratch(const void *ctx, int threads)
{
    return hop_scan_scratch(&((const call *)ctx)->c, threads);
}

static size_t backward_scratch(const void *ctx, int threads)
{
    return hop_scan_backward_scratch(&((const call *)ctx)->c, threads);
}

static void forward(const void *ctx, int64_t n, float *scratch, hop_pool *pool)
{
    const call *s = ctx;
    const hop_scan_in in = in_of(s, n);
    float *o = hopflat__of(s->at[O], n), *state = hopflat__of(s->at[STATE], n);
    switch (s->what) {
    case HOPFLAT_DECAY: hop_decay_forward(o, state, &in, &s->c, scratch, pool); break;
    case HOPFLAT_DELTA: hop_delta_forward(o, state, &in, &s->c, scratch, pool); break;
    case HOPFLAT_DPLR: hop_dplr_forward(o, state, &in, &s->c, scratch, pool); break;
    case HOPFLAT_MLSTM: hop_mlstm_forward(o, state, &in, &s->c, scratch, pool); break;
    }
}

static void backward(const void *ctx, int64_t n, float *scratch, hop_pool *pool)
{
    const call *s = ctx;
    const hop_scan_in in = in_of(s, n);
    const hop_scan_grad g = grad_of(s, n);
    const float *state = hopflat__of(s->at[STATE], n);
    switch (s->what) {
    case HOPFLAT_DECAY: hop_decay_backward(&g, state, &in, &s->c, scratch, pool); break;
    case HOPFLAT_DELTA: hop_delta_backward(&g, state, &in, &s->c, scratch, pool); break;
    case HOPFLAT_DPLR: hop_dplr_backward(&g, state, &in, &s->c, scratch, pool); break;
    case HOPFLAT_MLSTM: hop_mlstm_backward(&g, state, &in, &s->c, scratch, pool); break;
    }
}

int hopflat_scan(const int64_t sizes[9], double scale, const int64_t *arrays, int threads)
{
    const call s = call_of(sizes, scale, arrays, ARRAYS);
    return hopflat__batch_run(&(hopflat__batch){sizes[3], forward_scratch, forward, &s}, threads);
}

int hopflat_scan_backward(const int64_t sizes[9], double scale, const int64_t *arrays, int threads)
{
    const call s = call_of(sizes, scale, arrays, ARRAYS + ARRAYS - STATE);
    return hopflat__batch_run(&(hopflat__batch){sizes[3], backward_scratch, backward, &s}, threads);
}
