/* Sparse (B, k) attention (THEORY 5.6): keys come in blocks of B; a query scores one summary of every
 * complete earlier block, and attends to the tokens of the k best ones and of its own block. Parameters as
 * full's.
 *
 *     y_t = Wo [ sum_j softmax_j(scale q_t·k_j) v_j ], j <= t in its block or in the k best
 *
 * Options: block (B), topk (k) - by default 64 and 16, as in Native Sparse Attention (Yuan et al. 2025) - and
 * summary: 0 the mean of the block's keys; 1 head r takes the block's (r mod B)-th key, which is what exact
 * constructions use. Each head chooses for itself; ties go to the earlier block. Rows that have at most k
 * earlier blocks are full attention. Summaries are of rotated keys where there is RoPE.
 *
 * State: full's key-value cache. A step forms the summaries again, which costs what full's step does.
 *
 * A choice is not continuous: the last bit of a score can turn it. So everything that leads to it (q, k,
 * summaries, scores) is computed by hop_gemm, whose bits do not depend on how many rows there are: step and
 * forward choose alike. */
#include "registry.h"
#include "exec.h"

#include <hopbound/arith_trace.h>

#include <math.h>
#include <string.h>

enum { ROWS = 32 }; /* query rows of a task */

static const struct hop_option_default sparse_options[] = {
    {HOP_OPTION_block, 64},
    {HOP_OPTION_topk, 16},
    {HOP_OPTION_summary, 0},
    {HOP_OPTION_COUNT, 0},
};

static hop_status sparse_ready(hop_mixer_config *c, hop_error *err)
{
    return hop__ready_causal(c, "sparse", err);
}

static void sparse_list(hop_builder *b)
{
    hop_op *op = hop__attention(b, HOP_OP_SPARSE);
    op->block = HOP__OPT(b->c, block), op->topk = HOP__OPT(b->c, topk), op->summary = HOP__OPT(b->c, summary);
    hop__attention_end(b, op);
}

const hop_mixer_ops hop__mixer_sparse = {
    .name = "sparse",
    .equation =
        "y_t = Wo sum_j softmax_j(scale q_t.k_j) v_j, j in the current block or the k blocks that score best",
    .kind = HOP_MIXER_SPARSE,
    .options = sparse_options,
    .ready = sparse_ready,
    .params = hop__attention_params,
    .list = sparse_list,
};

/* ---- the operation ------------------------------------------------------------------------- */

typedef struct choice {
    const hop__sparse *in;
    const hop_op *op;
    int64_t start; /* the first choosing row */
    float *means;  /* [blocks, kv_heads, key_dim] */
    char *work;    /* `per_worker` bytes each */
    size_t per_worker;
} choice;

/* Rows before this one see everything. */
static int64_t dense_rows(const hop_op *op)
{
    return (op->topk + 1) * op->block;
}

bool hop__sparse_sees_all(const hop_op *op, int64_t tokens)
{
    return tokens <= dense_rows(op);
}

static int64_t earlier_blocks(const hop_op *op, int64_t t)
{
    return t / op->block;
}

/* ---- a worker's memory --------------------------------------------------------------------- */

typedef struct desk {
    int64_t *chosen;                   /* [topk] */
    float *scores, *keys, *values, *a; /* [ROWS, blocks], [(topk+1) B, head_dim] twice, attention's scratch */
} desk;

static hop_attn one_row(const hop_op *op, int64_t tokens, int bits)
{
    hop_attn a = hop__attend_shape(op, tokens, tokens - 1, (const int64_t[]){op->dim, op->dim, op->dim});
    a.heads = a.kv_heads = 1;
    a.bits = bits;
    return a;
}

/* Takes what one worker needs from `arena`; returns its bytes. With arena NULL only these. */
static size_t desk_lay(desk *d, hop_arena *arena, const hop_op *op, int64_t tokens)
{
    size_t kept = (size_t)(dense_rows(op) * op->dim),
           scores = (size_t)(ROWS * earlier_blocks(op, tokens - 1));
    size_t chosen = 2 * (size_t)op->topk; /* an int64_t is two floats */
    hop_attn plain = one_row(op, dense_rows(op), 0), cut = one_row(op, dense_rows(op), 8);
    size_t a = hop_attn_scratch(&plain, 1), b = hop_attn_scratch(&cut, 1);
    if (b > a) a = b;
    if (arena) {
        d->chosen = (int64_t *)(void *)hop_arena_floats(arena, chosen);
        d->scores = hop_arena_floats(arena, scores);
        d->keys = hop_arena_floats(arena, kept);
        d->values = hop_arena_floats(arena, kept);
        d->a = hop_arena_floats(arena, a);
    }
    return hop_arena_floats_size(chosen) + hop_arena_floats_size(scores) + 2 * hop_arena_floats_size(kept) +
           hop_arena_floats_size(a);
}

/* ---- choosing ------------------------------------------------------------------------------ */

/* The mean of every complete block's keys, in one order whatever the number of blocks. */
static void mean_keys(const choice *s, int64_t blocks)
{
    int64_t kw = s->op->kv_heads * s->op->dim;
    for (int64_t b = 0; b < blocks; b++) {
        float *mean = s->means + b * kw;
        memset(mean, 0, sizeof(float) * (size_t)kw);
        for (int64_t j = b * s->op->block; j < (b + 1) * s->op->block; j++)
            for (int64_t e = 0; e < kw; e++) mean[e] += s->in->k[j * s->in->k_stride + e];
        TRACE_TOKEN(b);
        TRACE("keys", mean, ALONG(K, kw, 1));
        for (int64_t e = 0; e < kw; e++) mean[e] /= (float)s->op->block;
        TRACE("mean", mean, ALONG(K, kw, 1));
    }
    if (s->in->bits > 0) hop_round_significand(s->means, blocks * kw, s->in->bits);
}

/* Where in a row of keys or values a head finds its own. */
static int64_t lane(const hop_op *op, int64_t head)
{
    return head / (op->heads / op->kv_heads) * op->dim;
}

/* Summaries of a head's blocks as columns. */
static hop_mat summaries(const choice *s, int64_t head)
{
    const hop_op *op = s->op;
    if (op->summary == 0) return (hop_mat){s->means + lane(op, head), 1, op->kv_heads * op->dim};
    int64_t stride = s->in->k_stride;
    return (hop_mat){s->in->k + lane(op, head) + head % op->block * stride, 1, op->block * stride};
}

static void ascending(int64_t *list, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        int64_t x = list[i], j = i;
        for (; j > 0 && list[j - 1] > x; j--) list[j] = list[j - 1];
        list[j] = x;
    }
}

/* The k best of `n` > k scores, best first while they are looked for, then in order of position. A later
 * block must be strictly better. */
static void choose(int64_t *chosen, const float *score, int64_t n, int64_t k)
{
    int64_t count = 0;
    for (int64_t b = 0; b < n; b++) {
        if (count == k && !(score[b] > score[chosen[k - 1]])) continue;
        int64_t i = count < k ? count++ : k - 1;
        for (; i > 0 && score[b] > score[chosen[i - 1]]; i--) chosen[i] = chosen[i - 1];
        chosen[i] = b;
    }
    ascending(chosen, k);
}

static void gather(float *to, const float *x, int64_t stride, int64_t dim, int64_t count)
{
    for (int64_t j = 0; j < count; j++) memcpy(to + j * dim, x + j * stride, sizeof(float) * (size_t)dim);
}

static void attend(const choice *s, const desk *d, int64_t head, int64_t t)
{
    const hop__sparse *in = s->in;
    const hop_op *op = s->op;
    const float *k = in->k + lane(op, head), *v = in->v + lane(op, head);
    int64_t n = 0, row = t - in->first, at = head * op->dim;
    for (int64_t i = 0; i <= op->topk; i++) {
        int64_t from = i < op->topk ? d->chosen[i] * op->block : t / op->block * op->block;
        int64_t count = i < op->topk ? op->block : t - from + 1;
        gather(d->keys + n * op->dim, k + from * in->k_stride, in->k_stride, op->dim, count);
        gather(d->values + n * op->dim, v + from * in->v_stride, in->v_stride, op->dim, count);
        n += count;
    }
    hop_attn a = one_row(op, n, in->bits);
    hop_attn_forward(in->o + row * op->width + at, NULL, in->q + row * in->q_stride + at, d->keys, d->values,
                     &a, d->a, NULL);
}

/* Of rows from .. end - 1 of a head, with the first `blocks` blocks. */
static void score(const choice *s, float *scores, int64_t head, int64_t from, int64_t end, int64_t blocks)
{
    const hop__sparse *in = s->in;
    const hop_op *op = s->op;
    const float *q = in->q + (from - in->first) * in->q_stride + head * op->dim;
    hop_gemm(scores, blocks, (hop_mat){q, in->q_stride, 1}, summaries(s, head), end - from, blocks, op->dim,
             false, NULL);
    TRACE_TOKEN(from);
    TRACE(op->summary == 0 ? "sm" : "s0", scores, ALONG(T, end - from, blocks), ALONG(J, blocks, 1));
    for (int64_t i = 0; op->scale < 0 && i < (end - from) * blocks; i++) scores[i] = -scores[i];
    if (in->bits > 0) hop_round_significand(scores, (end - from) * blocks, in->bits);
}

size_t hop__sparse_choices_work(const hop_op *op, int64_t tokens)
{
    return (size_t)(earlier_blocks(op, tokens - 1) * (op->kv_heads * op->key_dim + 64));
}

void hop__sparse_choices(int64_t *chosen, const hop__sparse *in, int64_t head, int64_t from, int64_t rows,
                         float *work)
{
    const hop_op *op = in->op;
    int64_t end = from + rows, blocks = earlier_blocks(op, end - 1), start = dense_rows(op);
    if (end <= start) return;
    if (start < from) start = from;
    choice s = {.in = in, .op = op, .means = work};
    float *scores = work + blocks * op->kv_heads * op->key_dim;
    if (op->summary == 0) mean_keys(&s, blocks);
    score(&s, scores, head, start, end, blocks);
    for (int64_t t = start; t < end; t++)
        choose(chosen + (t - from) * op->topk, scores + (t - start) * blocks, earlier_blocks(op, t),
               op->topk);
}

/* ROWS query rows of one head. */
static void choose_and_attend(void *ctx, int64_t task, int worker)
{
    const choice *s = ctx;
    const hop__sparse *in = s->in;
    const hop_op *op = s->op;
    hop_arena arena = {s->work + s->per_worker * (size_t)worker, s->per_worker, 0};
    desk d;
    desk_lay(&d, &arena, op, in->tokens);
    int64_t head = task % op->heads, from = s->start + task / op->heads * ROWS;
    int64_t end = from + ROWS < in->tokens ? from + ROWS : in->tokens, blocks = earlier_blocks(op, end - 1);
    score(s, d.scores, head, from, end, blocks);
    for (int64_t t = from; t < end; t++) {
        choose(d.chosen, d.scores + (t - from) * blocks, earlier_blocks(op, t), op->topk);
        attend(s, &d, head, t);
    }
}

/* ---- all rows ------------------------------------------------------------------------------ */

static size_t dense_work(const hop_op *op, int64_t tokens, int64_t first, int threads)
{
    int64_t dense = tokens < dense_rows(op) ? tokens : dense_rows(op);
    return hop__attend_work(op, dense, dense > first ? first : dense - 1, threads);
}

/* Monotone in `tokens`. */
size_t hop__sparse_work(const hop_op *op, int64_t tokens, int64_t first, int threads)
{
    desk d;
    size_t bytes = hop_arena_floats_size(dense_work(op, tokens, first, threads));
    if (tokens > dense_rows(op))
        bytes +=
            hop_arena_floats_size((size_t)(earlier_blocks(op, tokens - 1) * op->kv_heads * op->key_dim)) +
            (size_t)(threads > 0 ? threads : 1) * desk_lay(&d, NULL, op, tokens);
    return bytes / sizeof(float);
}

/* Full attention for the early rows, then those that choose. */
void hop__sparse_run(const hop__sparse *in, float *work, hop_pool *pool)
{
    const hop_op *op = in->op;
    int threads = hop_pool_threads(pool);
    hop_arena arena = {(char *)work, sizeof(float) * hop__sparse_work(op, in->tokens, in->first, threads), 0};
    int64_t dense = in->tokens < dense_rows(op) ? in->tokens : dense_rows(op);
    float *tiles = hop_arena_floats(&arena, dense_work(op, in->tokens, in->first, threads));
    if (dense > in->first) {
        const int64_t strides[] = {in->q_stride, in->k_stride, in->v_stride};
        hop_attn a = hop__attend_shape(op, dense, in->first, strides);
        a.bits = in->bits;
        hop_attn_forward(in->o, in->lse, in->q, in->k, in->v, &a, tiles, pool);
    }
    if (in->tokens <= dense) return;
    desk d;
    choice s = {.in = in, .op = op, .start = in->first > dense ? in->first : dense};
    int64_t blocks = earlier_blocks(op, in->tokens - 1);
    s.means = hop_arena_floats(&arena, (size_t)(blocks * op->kv_heads * op->key_dim));
    s.per_worker = desk_lay(&d, NULL, op, in->tokens);
    s.work = hop_arena_alloc(&arena, s.per_worker * (size_t)threads);
    if (op->summary == 0) mean_keys(&s, blocks);
    hop_pool_run(pool, (in->tokens - s.start + ROWS - 1) / ROWS * op->heads, choose_and_attend, &s);
}
