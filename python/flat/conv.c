/* The short convolution over batches. Channels are shared out, and a task takes some tokens of some channels at a time: in a
 * row of many channels the next token's are pages away. */
#include "flat.h"

#include <hopbound/kernels.h>
#include <hopbound/scans.h>

#include <string.h>

enum { Y, PAST, X, W, BIAS, ARRAYS, D_PAST = ARRAYS, D_X, D_W, D_BIAS, ALL };
enum { WIDE = 256, LONG = 32 };

typedef struct call {
    hop_conv c;
    int64_t sequences, blocks; /* of channels */
    hopflat__array at[ALL];
} call;

static call call_of(const int64_t *sizes, const int64_t *arrays, int count)
{
    call s = {.sequences = sizes[0], .blocks = (sizes[2] + WIDE - 1) / WIDE};
    for (int i = 0; i < count; i++) s.at[i] = hopflat__array_at(arrays, i);
    s.c = (hop_conv){
        .tokens = sizes[1],
        .width = sizes[2],
        .size = sizes[3],
        .silu = sizes[4] != 0,
        .x_stride = s.at[X].token,
        .y_stride = s.at[Y].token,
        .past_stride = WIDE,
    };
    return s;
}

/* Some tokens of some channels, and where these are in each array; NULL where there is none. */
typedef struct part {
    hop_conv c;
    int64_t channel;
    const float *w, *bias;
    float past[HOP_CONV_MOST * WIDE]; /* inputs before the tokens at hand */
} part;

static void part_open(part *p, const call *s, int64_t sequence, int64_t block)
{
    const int64_t first = block * WIDE, left = s->c.width - first;
    p->c = s->c;
    p->c.width = left < WIDE ? left : WIDE;
    p->channel = first;
    p->w = s->at[W].p + first * s->c.size;
    p->bias = s->at[BIAS].p ? s->at[BIAS].p + first : NULL;
    const float *given = hopflat__of(s->at[PAST], sequence);
    for (int64_t i = 0; i < s->c.size - 1; i++) {
        if (given)
            memcpy(p->past + i * WIDE, given + i * s->c.width + first, sizeof(float) * (size_t)p->c.width);
        else
            memset(p->past + i * WIDE, 0, sizeof(float) * (size_t)p->c.width);
    }
}

static void part_tokens(part *p, const call *s, int64_t first)
{
    p->c.tokens = s->c.tokens - first < LONG ? s->c.tokens - first : LONG;
}

static float *at(const part *p, hopflat__array a, int64_t sequence, int64_t token)
{
    return hopflat__of(a, sequence) + token * a.token + p->channel;
}

static void forward(void *ctx, int64_t task, int worker)
{
    const call *s = ctx;
    const int64_t n = task / s->blocks;
    part p;
    (void)worker;
    part_open(&p, s, n, task % s->blocks);
    for (int64_t t = 0; t < s->c.tokens; t += LONG) {
        part_tokens(&p, s, t);
        hop_conv_forward(at(&p, s->at[Y], n, t), p.past, at(&p, s->at[X], n, t), p.w, p.bias, &p.c);
    }
    float *past = hopflat__of(s->at[PAST], n);
    for (int64_t i = 0; past && i < s->c.size - 1; i++)
        memcpy(past + i * s->c.width + p.channel, p.past + i * WIDE, sizeof(float) * (size_t)p.c.width);
}

/* What tokens from t on owe to the inputs before them. */
static void owed_add(const part *p, const call *s, int64_t n, int64_t t, const float *owed)
{
    const int64_t rows = s->c.size - 1;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = t - rows + i;
        float *past = hopflat__of(s->at[D_PAST], n), *to = NULL;
        if (from >= 0)
            to = at(p, s->at[D_X], n, from);
        else if (past)
            to = past + (from + rows) * s->c.width + p->channel;
        for (int64_t c = 0; to && c < p->c.width; c++) to[c] += owed[i * WIDE + c];
    }
}

static void past_next(part *p, const float *x, int64_t stride)
{
    const int64_t rows = p->c.size - 1;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = p->c.tokens - rows + i;
        const float *src = from < 0 ? p->past + (from + rows) * WIDE : x + from * stride;
        memmove(p->past + i * WIDE, src, sizeof(float) * (size_t)p->c.width);
    }
}

/* One block of channels of all sequences, whose gradients of the weights add up in their order. */
static void backward(void *ctx, int64_t block, int worker)
{
    const call *s = ctx;
    part p;
    float owed[HOP_CONV_MOST * WIDE];
    (void)worker;
    for (int64_t n = 0; n < s->sequences; n++) {
        part_open(&p, s, n, block);
        for (int64_t t = 0; t < s->c.tokens; t += LONG) {
            part_tokens(&p, s, t);
            const float *x = at(&p, s->at[X], n, t);
            const hop_conv_grad g = {
                .dy = at(&p, s->at[Y], n, t),
                .dx = at(&p, s->at[D_X], n, t),
                .dw = s->at[D_W].p + p.channel * s->c.size,
                .dbias = s->at[D_BIAS].p ? s->at[D_BIAS].p + p.channel : NULL,
                .dpast = owed,
            };
            hop_conv_backward(&g, p.past, x, p.w, p.bias, &p.c);
            owed_add(&p, s, n, t, owed);
            past_next(&p, x, s->c.x_stride);
        }
    }
}

int hopflat_conv(const int64_t sizes[5], const int64_t *arrays, int threads)
{
    call s = call_of(sizes, arrays, ARRAYS);
    hopflat__share share = hopflat__share_take(threads);
    hop_pool_run(share.pool, s.sequences * s.blocks, forward, &s);
    hopflat__share_give(share);
    return HOP_OK;
}

int hopflat_conv_backward(const int64_t sizes[5], const int64_t *arrays, int threads)
{
    call s = call_of(sizes, arrays, ALL);
    hopflat__share share = hopflat__share_take(threads);
    hop_pool_run(share.pool, s.blocks, backward, &s);
    hopflat__share_give(share);
    return HOP_OK;
}

/* ---- one token ------------------------------------------------------------------------------- */

typedef struct step {
    int64_t width, taps, kept;
    bool silu;
    float *y, *inputs;
    const float *x, *w, *bias;
} step;

/* Written out for the usual number of taps, so that a channel is a few instructions. */
static inline void step_sums(const step *s, int64_t first, int64_t count, const int64_t taps,
                             const int64_t kept)
{
    for (int64_t c = first; c < first + count; c++) {
        float *row = s->inputs + c * kept, sum = s->bias ? s->bias[c] : 0.0f;
        for (int64_t j = 0; j + 1 < kept; j++) row[j] = row[j + 1];
        row[kept - 1] = s->x[c];
        for (int64_t j = 0; j < taps; j++) sum += s->w[c * taps + j] * row[kept - taps + j];
        s->y[c] = sum;
    }
}

static void step_channels(void *ctx, int64_t first, int64_t count)
{
    const step *s = ctx;
    float ones[WIDE];
    if (s->taps == 4 && s->kept == 4)
        step_sums(s, first, count, 4, 4);
    else
        step_sums(s, first, count, s->taps, s->kept);
    for (int64_t i = 0; s->silu && i < WIDE; i++) ones[i] = 1.0f;
    for (int64_t c = first; s->silu && c < first + count; c += WIDE) {
        const int64_t left = first + count - c;
        hop_swiglu(s->y + c, s->y + c, ones, left < WIDE ? left : WIDE);
    }
}

int hopflat_conv_step(const int64_t sizes[5], const int64_t *arrays, int threads)
{
    hopflat__share share = hopflat__share_take(threads);
    for (int64_t n = 0; n < sizes[0]; n++) {
        hopflat__array a[ARRAYS];
        for (int i = 0; i < ARRAYS; i++) a[i] = hopflat__array_at(arrays, i);
        step s = {sizes[1],
                  sizes[2],
                  sizes[3],
                  sizes[4] != 0,
                  hopflat__of(a[Y], n),
                  hopflat__of(a[PAST], n),
                  hopflat__of(a[X], n),
                  a[W].p,
                  a[BIAS].p};
        hop_pool_rows(share.pool, s.width, s.taps + s.kept, step_channels, &s);
    }
    hopflat__share_give(share);
    return HOP_OK;
}
