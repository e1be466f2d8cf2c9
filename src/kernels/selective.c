/* selective.c - the selective scan, whose tasks are blocks of channels; the elementwise recurrence and the
 * short convolution, which are over before a pool would wake. */
#include "room.h"

#include <string.h>

static int64_t blocks_of(const hop_selective *c)
{
    return (c->width + HOP__SELECT_WIDTH - 1) / HOP__SELECT_WIDTH;
}

/* Floats of one worker: A and the state; ref: doubles of one channel's quantities, which are fewer. */
static size_t forward_floats(const hop_selective *c)
{
    return (size_t)hop__round_up(2 * c->states * HOP__SELECT_WIDTH, 16);
}

/* What sel_take takes; ref: doubles of one channel's kept states, which are half as many. */
static size_t backward_floats(const hop_selective *c)
{
    const int64_t N = c->states, rows = HOP__SCAN_BACK, size = N * HOP__SELECT_WIDTH;
    const int64_t kept = (c->tokens + rows - 1) / rows;
    return (size_t)(size * (4 + kept) + rows * (9 * HOP__SELECT_WIDTH + 2 * HOP__PANEL_MAX) +
                    4 * (N * rows + HOP__PANEL_MAX));
}

/* dB and dC of one block of channels. */
static size_t part_floats(const hop_selective *c)
{
    return (size_t)(c->tokens * 2 * c->states);
}

size_t hop_selective_scratch(const hop_selective *c, int threads)
{
    return forward_floats(c) * (size_t)hop__max(threads, 1) + 16;
}

size_t hop_selective_backward_scratch(const hop_selective *c, int threads)
{
    return backward_floats(c) * (size_t)hop__max(threads, 1) + part_floats(c) * (size_t)blocks_of(c) + 16;
}

typedef struct select_job {
    hop__select_task task;
    size_t per_worker;
} select_job;

static void select_one(void *ctx, int64_t task, int worker)
{
    const select_job *s = ctx;
    hop__select_task t = s->task;
    t.scratch += s->per_worker * (size_t)worker;
    t.first = task * HOP__SELECT_WIDTH;
    t.count = hop__min(HOP__SELECT_WIDTH, t.c->width - t.first);
    if (t.part) t.part += part_floats(t.c) * (size_t)task;
    (t.g ? hop__kernels_get()->select_backward : hop__kernels_get()->select_forward)(&t);
}

/* dB and dC: in the order of the channels, whoever computed the parts. */
static void parts_add(const hop__select_task *t)
{
    const hop_selective *c = t->c;
    const int64_t N = c->states;
    for (int64_t i = 0; i < c->tokens; i++) {
        float *sum = t->part + i * 2 * N;
        for (int64_t b = 1; b < blocks_of(c); b++) {
            const float *part = sum + part_floats(c) * (size_t)b;
            for (int64_t n = 0; n < 2 * N; n++) sum[n] += part[n];
        }
        if (t->g->dB) memcpy(t->g->dB + i * c->b_stride, sum, sizeof(float) * (size_t)N);
        if (t->g->dC) memcpy(t->g->dC + i * c->c_stride, sum + N, sizeof(float) * (size_t)N);
    }
}

static void run(hop__select_task t, float *scratch, hop_pool *pool)
{
    const hop_selective *c = t.c;
    assert(c->tokens >= 0 && c->width > 0 && c->states > 0);
    select_job s = {t, t.g ? backward_floats(c) : forward_floats(c)};
    s.task.scratch = (float *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63);
    if (c->tokens * c->width * c->states < (1 << 14)) pool = NULL;
    if (t.g) s.task.part = s.task.scratch + s.per_worker * (size_t)hop_pool_threads(pool);
    hop_pool_run(pool, blocks_of(c), select_one, &s);
    if (t.g) parts_add(&s.task);
}

void hop_selective_forward(float *o, float *state, const hop_selective_in *in, const hop_selective *c,
                           float *scratch, hop_pool *pool)
{
    run((hop__select_task){.c = c, .in = in, .o = o, .state = state}, scratch, pool);
}

void hop_selective_backward(const hop_selective_grad *g, const float *state, const hop_selective_in *in,
                            const hop_selective *c, float *scratch, hop_pool *pool)
{
    run((hop__select_task){.c = c, .in = in, .g = g, .start = state}, scratch, pool);
}

void hop_diagonal_forward(float *h, float *state, const float *a, const float *b, int64_t tokens,
                          int64_t width, int64_t stride)
{
    assert(tokens >= 0 && width >= 0 && (tokens <= 1 || stride >= width));
    if (tokens == 0) return;
    hop__kernels_get()->diagonal(h, state, a, b, &(hop__diagonal){tokens, width, stride});
    if (state) memcpy(state, h + (tokens - 1) * stride, sizeof(float) * (size_t)width);
}

/* The last size - 1 inputs: some of the past's own when there were fewer tokens. */
void hop_conv_forward(float *y, float *past, const float *x, const float *w, const float *bias,
                      const hop_conv *c)
{
    assert(c->tokens >= 0 && c->width >= 0 && c->size >= 1);
    hop_conv all = *c;
    if (all.past_stride == 0) all.past_stride = c->width;
    hop__kernels_get()->conv(y, past, x, w, bias, &all);
    const int64_t rows = c->size - 1, row = all.past_stride;
    for (int64_t i = 0; past && i < rows; i++) {
        const int64_t from = c->tokens - rows + i;
        const float *src = from < 0 ? past + (from + rows) * row : x + from * c->x_stride;
        memmove(past + i * row, src, sizeof(float) * (size_t)c->width);
    }
}

void hop_diagonal_backward(const hop_diagonal_grad *g, const float *state, const float *a, const float *h,
                           int64_t tokens, int64_t width, int64_t stride)
{
    assert(tokens >= 0 && width >= 0 && (tokens <= 1 || stride >= width));
    hop__kernels_get()->diagonal_back(g, state, a, h, &(hop__diagonal){tokens, width, stride});
}

void hop_conv_backward(const hop_conv_grad *g, const float *past, const float *x, const float *w,
                       const float *bias, const hop_conv *c)
{
    assert(c->tokens >= 0 && c->width >= 0 && c->size >= 1 && c->size <= HOP_CONV_MOST);
    hop_conv all = *c;
    if (all.past_stride == 0) all.past_stride = c->width;
    hop__kernels_get()->conv_back(g, past, x, w, bias, &all);
}
