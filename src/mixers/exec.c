/* exec.c - the two walkers: a list over whole sequences, and token by token. */
#include "exec.h"

#include <assert.h>
#include <string.h>

enum {
    SEGMENT =
        960, /* tokens that a recurrence takes at a time, so that memory does not grow with the sequence */
    TOGETHER = 32,  /* sequences that go through a list together, as far as a segment's rows reach */
    BLOCK = 1 << 14 /* numbers of rows that stay in cache from one operation to the next */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- one operation, or a few ------------------------------------------------------------------ */

/* hop_linear sums a few rows in another order than many; a product that begins with the bias does not. */
static void multiply(const hop__exec *w, const hop_op *op, int64_t s, int64_t from, int64_t rows)
{
    int64_t stride = hop__stride(w, op, 0), out = op->width / op->groups, in = op->dim;
    const float *x = hop__in(w, op, 0, s, from), *bias = hop__par(w, op, 1);
    const float *m = hop__par(w, op, 0) + op->first_row * op->row + op->first_column;
    float *y = hop__out(w, op, s, from);
    const float *plus = w->plus && op->y == HOP_Y ? w->plus + (y - w->b[HOP_Y]) : NULL;
    bool whole = stride == op->groups * in, plain = whole && op->row == in && !w->steady && !op->steady;
    assert(whole || op->groups == 1);
    rows *= op->groups;
    if (plain) {
        const float *panels = w->panels ? w->panels->forward[op->par[0]] : NULL;
        hop_linear_onto(y, plus, x, &(hop_weights){m, panels, bias, out, in}, rows, w->pool);
    } else {
        const hop_product p = {.c = y,
                               .ldc = out,
                               .a = {x, whole ? in : stride, 1},
                               .b = {m, 1, op->row},
                               .m = rows,
                               .n = out,
                               .k = in,
                               .from = {bias, 0},
                               .plus = {plus, out}};
        hop_multiply(&p, w->pool);
    }
    hop__cut_rows(w, y, rows * out);
}

static void multiply_blocks(const hop__exec *w, const hop_op *op, int64_t s, int64_t from, int64_t rows)
{
    int64_t dim = op->dim, stride = hop__stride(w, op, 0);
    const float *x = hop__in(w, op, 0, s, from), *m = hop__par(w, op, 0), *bias = hop__par(w, op, 1);
    float *y = hop__out(w, op, s, from);
    for (int64_t g = 0; g < op->groups; g++)
        hop_gemm(y + g * dim, op->width, (hop_mat){x + g * dim, stride, 1},
                 (hop_mat){m + g * dim * dim, dim, 1}, rows, dim, dim, false, w->pool);
    for (int64_t t = 0; bias && t < rows; t++) hop_add(y + t * op->width, y + t * op->width, bias, op->width);
    hop__cut_rows(w, y, rows * op->width);
}

/* Rows that a buffer is needed for: of each sequence from `from` on; where that is all of them, the sequences
 * are one. */
typedef struct span {
    int64_t sequences, from, rows;
} span;

static span span_of(const hop__exec *w, int buffer)
{
    int64_t from = w->l->tail[buffer] ? w->first : 0;
    if (from == 0) return (span){1, 0, w->sequences * w->tokens};
    return (span){w->sequences, from, w->tokens - from};
}

static void product(const hop__exec *w, const hop_op *op)
{
    span p = span_of(w, op->y);
    for (int64_t s = 0; s < p.sequences && p.rows > 0; s++)
        (op->kind == HOP_OP_LINEAR ? multiply : multiply_blocks)(w, op, s, p.from, p.rows);
}

/* Rowwise operations one after the other, on blocks of rows that stay in cache. */
typedef struct row_job {
    const hop__exec *w;
    const hop_op *op;
    int count;
    int64_t s, from, block;
} row_job;

static void some_rows(void *ctx, int64_t first, int64_t count)
{
    const row_job *j = ctx;
    for (int64_t at = first; at < first + count; at += j->block)
        for (int i = 0; i < j->count; i++)
            hop__row_op(j->w, &j->op[i], j->s, j->from + at, least(j->block, first + count - at));
}

static void rowwise(const hop__exec *w, const hop_op *op, int count)
{
    span p = span_of(w, op->y);
    row_job j = {.w = w, .op = op, .count = count, .from = p.from};
    int64_t numbers = 0;
    for (int i = 0; i < count; i++) numbers += op[i].width;
    j.block = numbers < BLOCK ? BLOCK / numbers : 1;
    for (; j.s < p.sequences; j.s++) hop_pool_rows(w->pool, p.rows, numbers, some_rows, &j);
}

/* Several sequences are shared out, each one being one worker's; the parts of a single one are. */
typedef struct sequence_job {
    const hop__exec *w;
    const hop_op *op;
    size_t each;
} sequence_job;

static size_t rounded(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

static void sequence_task(void *ctx, int64_t task, int worker)
{
    const sequence_job *j = ctx;
    hop__sequence_op(j->w, j->op, task, j->w->work + j->each * (size_t)worker, NULL);
}

static void along(const hop__exec *w, const hop_op *op)
{
    if (w->sequences == 1) {
        hop__sequence_op(w, op, 0, w->work, w->pool);
        return;
    }
    sequence_job j = {w, op, 0};
    if (hop_pool_threads(w->pool) > 1) j.each = rounded(hop__sequence_work(op, w->tokens, 0, 1));
    hop_pool_run(w->pool, w->sequences, sequence_task, &j);
}

static void show(const hop__exec *w, int number)
{
    const hop_op *op = &w->l->op[number];
    bool one = op->kind == HOP_OP_CONSTANT;
    int64_t from = one ? 0 : span_of(w, op->y).from;
    const float *rows = one ? w->b[op->y] : hop__out(w, op, 0, from);
    w->watch->buffer(w->watch->ctx, w->c->layer, number, rows, w->position + from,
                     one ? 1 : w->tokens - from);
}

void hop__run(const hop__exec *w, int from, int to)
{
    const hop_list *l = w->l;
    for (int i = from; i < to; i++) {
        const hop_op *op = &l->op[i];
        if (op->kind == HOP_OP_LINEAR || op->kind == HOP_OP_BLOCKS) {
            product(w, op);
        } else if (hop__op_is_rowwise(op->kind)) {
            int n = 1;
            while (i + n < to && !w->watch && hop__op_is_rowwise(op[n].kind) &&
                   l->tail[op[n].y] == l->tail[op->y])
                n++;
            rowwise(w, op, n);
            i += n - 1;
        } else if (op->kind == HOP_OP_CONSTANT) {
            for (int64_t e = 0; e < op->width; e++) w->b[op->y][e] = (float)op->constant(w->c, e);
        } else {
            along(w, op);
        }
        if (w->watch) show(w, i);
    }
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Floats that an operation needs for itself, at most. */
static size_t most_work(const hop_list *l, int64_t sequences, int64_t tokens, int64_t first, int threads)
{
    size_t most = 0;
    for (int i = 0; i < l->op_count; i++) {
        size_t one = hop__sequence_work(&l->op[i], tokens, first, threads), all = 0;
        if (sequences > 1)
            all = rounded(hop__sequence_work(&l->op[i], tokens, first, 1)) *
                  (size_t)(threads > 0 ? threads : 1);
        if (one > most) most = one;
        if (all > most) most = all;
    }
    return most;
}

/* Rows of all buffers for so many sequences or fewer, of so many tokens or fewer. */
static int64_t most_rows(const hop_list *l, int64_t sequences, int64_t tokens)
{
    if (tokens > SEGMENT) return l->attends ? tokens : SEGMENT;
    return least(least(sequences, TOGETHER) * tokens, SEGMENT);
}

static int64_t segment_of(const hop_list *l, int64_t tokens)
{
    return l->attends ? tokens : least(tokens, SEGMENT);
}

/* Terabytes a token: no need to know how many, nor to ask the system. */
#define NEVER (SIZE_MAX - 4096)
static bool hopeless(const hop_list *l)
{
    return l->row_floats > (int64_t)1 << 40 || l->state_floats > (int64_t)1 << 40;
}

size_t hop_list_scratch(const hop_list *l, int64_t sequences, int64_t tokens, int threads)
{
    if (hopeless(l)) return NEVER;
    size_t state = (size_t)(least(sequences, TOGETHER) * l->state_floats);
    return hop_arena_floats_size(state) +
           hop_arena_floats_size((size_t)(most_rows(l, sequences, tokens) * l->row_floats)) +
           hop_arena_floats_size(most_work(l, sequences, segment_of(l, tokens), 0, threads));
}

/* Where a cache of attention holds the tokens that are seen, as hop__sequence_work wants to know it. */
static size_t step_work(const hop_list *l, int64_t t)
{
    size_t most = most_work(l, 1, 1, 0, 1);
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *op = &l->op[i];
        if (op->kind != HOP_OP_ATTEND && op->kind != HOP_OP_SPARSE) continue;
        int64_t rows = op->window > 0 ? least(t + 1, op->window) : t + 1;
        size_t floats = hop__sequence_work(op, rows, rows - 1, 1);
        if (floats > most) most = floats;
    }
    return most;
}

size_t hop_list_step_scratch(const hop_list *l, int64_t sequences, int64_t t)
{
    if (hopeless(l)) return NEVER;
    return hop_arena_floats_size((size_t)(sequences * l->row_floats)) +
           hop_arena_floats_size(step_work(l, t));
}

/* Buffers of `rows` rows, and `work` floats; 0: what the arena still has, which a step need not count again.
 */
static void take(hop__exec *w, const hop_mixer_io *io, int64_t rows)
{
    float *base = hop_arena_floats(io->scratch, (size_t)(rows * w->l->row_floats));
    w->work = hop_arena_floats(io->scratch,
                               0); /* the rest, of which hop_list_scratch has seen to it that it is enough */
    for (int i = HOP_FIRST_BUFFER; i < w->l->buffer_count; i++) w->b[i] = base + w->l->offset[i] * rows;
}

/* ---- the walkers ------------------------------------------------------------------------------- */

/* Some sequences from their first to their last token. When activations are rounded to `bits` a recurrence goes token by
 * token, and its state is rounded after each: a state of that precision. */
static void forward(hop__exec *w, const hop_mixer_io *io, int64_t segment)
{
    const hop_list *l = w->l;
    const float *x = w->b[HOP_X];
    float *y = w->b[HOP_Y];
    int64_t d = w->c->d_model;
    if (w->state) memset(w->state, 0, sizeof(float) * (size_t)(w->sequences * l->state_floats));
    for (int64_t t = 0; t < io->tokens; t += segment) {
        w->tokens = least(segment, io->tokens - t);
        w->first = io->first > t ? least(io->first - t, w->tokens) : 0;
        w->position = t;
        w->b[HOP_X] = (float *)(uintptr_t)(x + t * d);
        w->b[HOP_Y] = y + (t + w->first > io->first ? (t + w->first - io->first) * d : 0);
        hop__run(w, 0, l->op_count);
        if (w->state) hop__cut_rows(w, w->state, l->state_floats);
    }
}

void hop_list_forward(const hop_list *l, const hop_mixer_config *c, const float *const *params,
                      const hop_mixer_io *io)
{
    bool stepwise = io->bits > 0 && !l->attends;
    int64_t sequences = io->sequences > 0 ? io->sequences : 1, d = c->d_model;
    int64_t segment = stepwise ? 1 : segment_of(l, io->tokens);
    int64_t together = segment == io->tokens ? least(least(sequences, TOGETHER), SEGMENT / io->tokens) : 1;
    if (together < 1) together = 1;
    hop_pool *pool = stepwise ? NULL : io->pool;
    hop__exec w = {.l = l, .c = c, .w = params, .bits = io->bits, .steady = io->steady, .pool = pool};
    w.form = stepwise ? HOP_FORM_RECURRENT : HOP_FORM_CHUNKED, w.watch = io->watch;
    w.state_stride = l->state_floats;
    if (l->state_floats > 0) w.state = hop_arena_floats(io->scratch, (size_t)(together * l->state_floats));
    take(&w, io, together * segment);
    for (int64_t s = 0; s < sequences; s += together) {
        w.sequences = least(together, sequences - s);
        w.b[HOP_X] = (float *)(uintptr_t)(io->x + s * io->tokens * d);
        w.b[HOP_Y] = io->y + s * (io->tokens - io->first) * d;
        forward(&w, io, segment);
    }
}

void hop_list_step(const hop_list *l, const hop_mixer_config *c, const float *const *params, float *state,
                   int64_t stride, int64_t t, const hop_mixer_io *io)
{
    hop__exec w = {.l = l, .c = c, .w = params, .bits = io->bits, .steady = io->steady};
    w.sequences = io->sequences > 0 ? io->sequences : 1;
    w.tokens = 1, w.position = t, w.form = HOP_FORM_RECURRENT;
    w.state = state, w.state_stride = stride, w.stepping = true, w.watch = io->watch;
    w.b[HOP_X] = (float *)(uintptr_t)io->x, w.b[HOP_Y] = io->y;
    take(&w, io, w.sequences);
    hop__run(&w, 0, l->op_count);
    for (int64_t s = 0; s < w.sequences; s++) hop__cut_rows(&w, state + s * stride, l->state_floats);
}

/* ---- attention in pieces ------------------------------------------------------------------------- */

static int attend_at(const hop_list *l)
{
    for (int i = 0; i < l->op_count; i++)
        if (l->op[i].kind == HOP_OP_ATTEND) return i;
    assert(false);
    return 0;
}

static hop__exec piece(const hop_list *l, const hop_mixer_config *c, const float *const *params,
                       const hop_mixer_io *io)
{
    hop__exec w = {.l = l, .c = c, .w = params, .bits = io->bits, .steady = true, .pool = io->pool};
    w.sequences = 1, w.tokens = io->tokens, w.position = io->position, w.watch = io->watch;
    w.b[HOP_X] = (float *)(uintptr_t)io->x, w.b[HOP_Y] = io->y;
    take(&w, io, io->tokens);
    return w;
}

void hop_attention_project(const hop_attention_rows *out, const hop_list *l, const hop_mixer_config *c,
                           const float *const *params, const hop_mixer_io *io)
{
    hop__exec w = piece(l, c, params, io);
    const hop_op *op = &l->op[attend_at(l)];
    float *const to[3] = {out->q, out->k, out->v};
    for (int i = 0; i < 3; i++) {
        assert(op->in[i].column == 0 && op->in[i].buffer >= HOP_FIRST_BUFFER);
        w.b[op->in[i].buffer] = to[i];
    }
    hop__run(&w, 0, attend_at(l));
}

hop_attn hop_attention_shape(const hop_list *l, int64_t keys, int64_t queries, bool own)
{
    const hop_op *op = &l->op[attend_at(l)];
    const int64_t kw = op->kv_heads * op->key_dim, vw = op->kv_heads * op->value_dim;
    hop_attn a = hop__attend_shape(op, keys, 0, (const int64_t[]){op->heads * op->key_dim, kw, vw});
    a.queries = queries;
    a.bidirectional = !own;
    return a;
}

void hop_attention_output(const float *o, const hop_list *l, const hop_mixer_config *c,
                          const float *const *params, const hop_mixer_io *io)
{
    hop__exec w = piece(l, c, params, io);
    w.b[l->op[attend_at(l)].y] = (float *)(uintptr_t)o;
    if (w.watch) show(&w, attend_at(l));
    hop__run(&w, attend_at(l) + 1, l->op_count);
}
