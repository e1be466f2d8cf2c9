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
#include "attention_parts.h"
#include "registry.h"

#include <math.h>
#include <string.h>

enum { ROWS = 32 }; /* query rows of a task */

static const struct hop_option_default sparse_options[] = {
    {HOP_OPTION_block, 64},
    {HOP_OPTION_topk, 16},
    {HOP_OPTION_summary, 0},
    {HOP_OPTION_COUNT, 0},
};

/* The rows that choose, and what they choose from. Keys are `stride` floats apart, as values are. */
typedef struct choice {
    const hop_mixer_config *c;
    int64_t block, topk, stride;
    int64_t first, tokens; /* q and o: row 0 stands at `first`, rows end at `tokens` */
    int64_t start;         /* the first choosing row */
    const float *k, *v;
    float *means, *q, *o; /* means [blocks, kv_width] */
    char *work;           /* `per_worker` bytes each */
    size_t per_worker;
    int bits;
} choice;

static hop_status sparse_ready(hop_mixer_config *c, hop_error *err)
{
    return hop__attention_causal_only(c, "sparse", err);
}

static int64_t sparse_state_floats(const hop_mixer_config *c, int64_t t)
{
    return t * 2 * hop__kv_width(c);
}

/* Rows before this one see everything. */
static int64_t dense_rows(const hop_mixer_config *c)
{
    return (c->option[HOP_OPTION_topk] + 1) * c->option[HOP_OPTION_block];
}

static int64_t earlier_blocks(const hop_mixer_config *c, int64_t t)
{
    return t / c->option[HOP_OPTION_block];
}

/* ---- a worker's memory --------------------------------------------------------------------- */

typedef struct desk {
    int64_t *chosen;                   /* [topk] */
    float *scores, *keys, *values, *a; /* [ROWS, blocks], [(topk+1) B, head_dim] twice, attention's scratch */
} desk;

static hop_attn one_row(const hop_mixer_config *c, int64_t tokens, int bits)
{
    hop_attn a = hop__attention_shape(c, tokens, tokens - 1, c->head_dim, bits);
    a.heads = a.kv_heads = 1;
    return a;
}

/* Takes what one worker needs from `arena`; returns its bytes. With arena NULL only these. */
static size_t desk_lay(desk *d, hop_arena *arena, const hop_mixer_config *c, int64_t tokens)
{
    size_t kept = (size_t)(dense_rows(c) * c->head_dim),
           scores = (size_t)(ROWS * earlier_blocks(c, tokens - 1));
    size_t chosen = 2 * (size_t)c->option[HOP_OPTION_topk]; /* an int64_t is two floats */
    hop_attn plain = one_row(c, dense_rows(c), 0), cut = one_row(c, dense_rows(c), 8);
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
    int64_t kw = hop__kv_width(s->c);
    for (int64_t b = 0; b < blocks; b++) {
        float *mean = s->means + b * kw;
        memset(mean, 0, sizeof(float) * (size_t)kw);
        for (int64_t j = b * s->block; j < (b + 1) * s->block; j++)
            for (int64_t e = 0; e < kw; e++) mean[e] += s->k[j * s->stride + e];
        for (int64_t e = 0; e < kw; e++) mean[e] /= (float)s->block;
    }
    if (s->bits > 0) hop_cut(s->means, blocks * kw, s->bits);
}

/* Where in a row of keys or values a head finds its own. */
static int64_t lane(const hop_mixer_config *c, int64_t head)
{
    return head / (c->heads / c->kv_heads) * c->head_dim;
}

/* Summaries of a head's blocks as columns. */
static hop_mat summaries(const choice *s, int64_t head)
{
    const hop_mixer_config *c = s->c;
    if (c->option[HOP_OPTION_summary] == 0) return (hop_mat){s->means + lane(c, head), 1, hop__kv_width(c)};
    return (hop_mat){s->k + lane(c, head) + head % s->block * s->stride, 1, s->block * s->stride};
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

static void gather(float *to, const float *x, const choice *s, int64_t from, int64_t count)
{
    int64_t dim = s->c->head_dim;
    for (int64_t j = 0; j < count; j++)
        memcpy(to + j * dim, x + (from + j) * s->stride, sizeof(float) * (size_t)dim);
}

static void attend(const choice *s, const desk *d, int64_t head, int64_t t)
{
    const hop_mixer_config *c = s->c;
    const float *k = s->k + lane(c, head), *v = s->v + lane(c, head);
    int64_t n = 0, at = (t - s->first) * hop__q_width(c) + head * c->head_dim;
    for (int64_t i = 0; i <= s->topk; i++) {
        int64_t from = i < s->topk ? d->chosen[i] * s->block : t / s->block * s->block;
        int64_t count = i < s->topk ? s->block : t - from + 1;
        gather(d->keys + n * c->head_dim, k, s, from, count);
        gather(d->values + n * c->head_dim, v, s, from, count);
        n += count;
    }
    hop_attn a = one_row(c, n, s->bits);
    hop_attn_forward(s->o + at, NULL, s->q + at, d->keys, d->values, &a, d->a, NULL);
}

/* ROWS query rows of one head. */
static void choose_and_attend(void *ctx, int64_t task, int worker)
{
    const choice *s = ctx;
    const hop_mixer_config *c = s->c;
    hop_arena arena = {s->work + s->per_worker * (size_t)worker, s->per_worker, 0};
    desk d;
    desk_lay(&d, &arena, c, s->tokens);
    int64_t head = task % c->heads, from = s->start + task / c->heads * ROWS;
    int64_t end = from + ROWS < s->tokens ? from + ROWS : s->tokens, blocks = earlier_blocks(c, end - 1);
    const float *q = s->q + (from - s->first) * hop__q_width(c) + head * c->head_dim;
    hop_gemm(d.scores, blocks, (hop_mat){q, hop__q_width(c), 1}, summaries(s, head), end - from, blocks,
             c->head_dim, false, NULL);
    if (hop__attention_scale(c) < 0)
        for (int64_t i = 0; i < (end - from) * blocks; i++) d.scores[i] = -d.scores[i];
    if (s->bits > 0) hop_cut(d.scores, (end - from) * blocks, s->bits);
    for (int64_t t = from; t < end; t++) {
        choose(d.chosen, d.scores + (t - from) * blocks, earlier_blocks(c, t), s->topk);
        attend(s, &d, head, t);
    }
}

/* ---- forward and step ---------------------------------------------------------------------- */

/* Bytes for tokens first .. tokens-1 when all keys lie elsewhere; monotone in `tokens`. */
static size_t choice_scratch(const hop_mixer_config *c, int64_t tokens, int64_t first, int threads)
{
    int64_t dense = tokens < dense_rows(c) ? tokens : dense_rows(c), rows = tokens - first;
    size_t bytes = 2 * hop_arena_floats_size((size_t)(rows * hop__q_width(c)));
    bytes += hop_arena_floats_size(hop__attention_work(c, dense, dense > first ? first : dense - 1, threads));
    if (tokens <= dense_rows(c)) return bytes;
    desk d;
    bytes += hop_arena_floats_size((size_t)(earlier_blocks(c, tokens - 1) * hop__kv_width(c)));
    return bytes + (size_t)(threads > 0 ? threads : 1) * desk_lay(&d, NULL, c, tokens);
}

/* s->o from s->q, s->k, s->v: full attention for the early rows, then those that choose. */
static void choice_run(choice *s, hop_arena *arena, hop_pool *pool)
{
    const hop_mixer_config *c = s->c;
    int64_t dense = s->tokens < dense_rows(c) ? s->tokens : dense_rows(c);
    if (dense > s->first) {
        hop_attn a = hop__attention_shape(c, dense, s->first, s->stride, s->bits);
        float *work = hop_arena_floats(arena, hop_attn_scratch(&a, hop_pool_threads(pool)));
        hop_attn_forward(s->o, NULL, s->q, s->k, s->v, &a, work, pool);
    }
    if (s->tokens <= dense) return;
    desk d;
    int64_t blocks = earlier_blocks(c, s->tokens - 1);
    s->start = s->first > dense ? s->first : dense;
    s->means = hop_arena_floats(arena, (size_t)(blocks * hop__kv_width(c)));
    s->per_worker = desk_lay(&d, NULL, c, s->tokens);
    s->work = hop_arena_alloc(arena, s->per_worker * (size_t)hop_pool_threads(pool));
    if (c->option[HOP_OPTION_summary] == 0) mean_keys(s, blocks);
    hop_pool_run(pool, (s->tokens - s->start + ROWS - 1) / ROWS * c->heads, choose_and_attend, s);
}

static size_t sparse_scratch(const hop_mixer_config *c, int64_t tokens, int threads)
{
    return choice_scratch(c, tokens, 0, threads) +
           2 * hop_arena_floats_size((size_t)(tokens * hop__kv_width(c)));
}

static size_t sparse_step_scratch(const hop_mixer_config *c, int64_t t)
{
    return choice_scratch(c, t + 1, t, 1);
}

static choice choice_of(const hop_mixer_config *c, int64_t tokens, int64_t first, int bits, hop_arena *arena)
{
    size_t width = (size_t)((tokens - first) * hop__q_width(c));
    choice s = {.c = c, .first = first, .tokens = tokens, .bits = bits};
    s.block = c->option[HOP_OPTION_block];
    s.topk = c->option[HOP_OPTION_topk];
    s.q = hop_arena_floats(arena, width);
    s.o = hop_arena_floats(arena, width);
    return s;
}

static void sparse_forward(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io)
{
    size_t width = (size_t)(io->tokens * hop__kv_width(c));
    choice s = choice_of(c, io->tokens, io->first, io->bits, io->scratch);
    hop__qkv p = {s.q, hop_arena_floats(io->scratch, width), hop_arena_floats(io->scratch, width)};
    s.stride = hop__kv_width(c);
    s.k = p.k;
    s.v = p.v;
    hop__attention_project(&p, c, w, io, 0, true);
    choice_run(&s, io->scratch, io->pool);
    hop__attention_output(c, w, io, s.o, false);
}

static void sparse_step(const hop_mixer_config *c, const float *const *w, float *state, int64_t t,
                        const hop_mixer_io *io)
{
    int64_t kw = hop__kv_width(c);
    choice s = choice_of(c, t + 1, t, io->bits, io->scratch);
    hop__qkv p = {s.q, state + t * 2 * kw, state + t * 2 * kw + kw};
    s.stride = 2 * kw;
    s.k = state;
    s.v = state + kw;
    hop__attention_project(&p, c, w, io, t, true);
    choice_run(&s, io->scratch, NULL);
    hop__attention_output(c, w, io, s.o, false);
}

const hop_mixer_ops hop__mixer_sparse = {
    .name = "sparse",
    .equation =
        "y_t = Wo sum_j softmax_j(scale q_t.k_j) v_j, j in the current block or the k blocks that score best",
    .recurrent = false,
    .options = sparse_options,
    .ready = sparse_ready,
    .params = hop__attention_params,
    .init = hop__attention_init,
    .state_floats = sparse_state_floats,
    .scratch = sparse_scratch,
    .forward = sparse_forward,
    .step_scratch = sparse_step_scratch,
    .step = sparse_step,
};
