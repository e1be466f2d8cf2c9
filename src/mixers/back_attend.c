/* back_attend.c - the way back through attention. All rows of a softmax go to the kernel; where only late
 * rows have a gradient, and where some chose their blocks, some rows at a time are done by products:
 *
 *     P = softmax(scale q kᵀ), dV += Pᵀ do, dS = scale P ⊙ (do Vᵀ - rowsum(P ⊙ do Vᵀ)), dq = dS k, dK += dSᵀ
 * q */
#include "back.h"

#include <math.h>
#include <string.h>

enum { ROWS = 64 };

/* Some rows of one head: they see keys 0 .. keys-1, if the mask does not hide them. */
typedef struct few {
    const hop__back *b;
    const hop_op *op;
    int64_t s, head, from, rows, keys;
    float *p, *dp;   /* [ROWS, keys] */
    int64_t *chosen; /* SPARSE: [ROWS, topk] */
} few;

static const hop__exec *walk_of(const few *f)
{
    return &f->b->v;
}

/* Where a head's numbers begin in input i; 0: q, 1: k, 2: v. */
static int64_t lane(const few *f, int i)
{
    const hop_op *op = f->op;
    int64_t kv = f->head / (op->heads / op->kv_heads);
    return i == 0 ? f->head * op->key_dim : kv * (i == 1 ? op->key_dim : op->value_dim);
}

static hop_mat values(const few *f, int i, int64_t row)
{
    const hop__exec *w = walk_of(f);
    return (hop_mat){hop__in(w, f->op, i, f->s, row) + lane(f, i), hop__stride(w, f->op, i), 1};
}

static hop_mat transposed(hop_mat m)
{
    return (hop_mat){m.p, m.cs, m.rs};
}

/* Keys outside [lo, hi), and of a row that chose those outside its blocks, have weight 0. */
static void hide(const few *f, float *p, int64_t t, int64_t i)
{
    const hop_op *op = f->op;
    int64_t lo = op->window > 0 && !op->bidirectional && t + 1 > op->window ? t + 1 - op->window : 0;
    int64_t hi = op->bidirectional ? f->keys : t + 1;
    for (int64_t j = 0; j < lo; j++) p[j] = -INFINITY;
    for (int64_t j = hi; j < f->keys; j++) p[j] = -INFINITY;
    if (op->kind != HOP_OP_SPARSE || hop__sparse_sees_all(op, t + 1)) return;
    const int64_t *chosen = f->chosen + i * op->topk, own = t / op->block;
    for (int64_t block = 0, next = 0; block < own; block++) {
        if (next < op->topk && chosen[next] == block) {
            next++;
            continue;
        }
        for (int64_t j = block * op->block; j < (block + 1) * op->block; j++) p[j] = -INFINITY;
    }
}

static void softmax(float *p, int64_t n, float scale)
{
    float top = -INFINITY, sum = 0.0f;
    for (int64_t j = 0; j < n; j++) p[j] = p[j] > -INFINITY ? p[j] * scale : p[j];
    for (int64_t j = 0; j < n; j++) top = p[j] > top ? p[j] : top;
    for (int64_t j = 0; j < n; j++) p[j] -= top;
    hop_vexp(p, p, n);
    for (int64_t j = 0; j < n; j++) sum += p[j];
    for (int64_t j = 0; j < n; j++) p[j] /= sum;
}

/* `add`: of dK and dV there is something already. */
static void few_rows(const few *f, bool add)
{
    const hop__back *b = f->b;
    const hop_op *op = f->op;
    int64_t n = f->keys, kd = op->key_dim, vd = op->value_dim, first_head = op->heads / op->kv_heads;
    hop_mat q = values(f, 0, f->from), k = values(f, 1, 0), v = values(f, 2, 0);
    hop_mat d_o = {hop__out(&b->d, op, f->s, f->from) + f->head * vd, op->width, 1};
    hop_gemm(f->p, n, q, transposed(k), f->rows, n, kd, false, NULL);
    hop_gemm(f->dp, n, d_o, transposed(v), f->rows, n, vd, false, NULL);
    for (int64_t i = 0; i < f->rows; i++) {
        float *p = f->p + i * n, *dp = f->dp + i * n;
        double along = 0.0;
        hide(f, p, f->from + i, i);
        softmax(p, n, (float)op->scale);
        for (int64_t j = 0; j < n; j++) along += (double)p[j] * dp[j];
        for (int64_t j = 0; j < n; j++) dp[j] = p[j] * (dp[j] - (float)along) * (float)op->scale;
    }
    hop_mat p = {f->p, n, 1}, ds = {f->dp, n, 1};
    bool more = add || f->head % first_head > 0;
    hop_gemm(hop__din(b, op, 0, f->s, f->from) + lane(f, 0), hop__stride(&b->v, op, 0), ds, k, f->rows, kd, n,
             hop__adds(b, op, 0), NULL);
    hop_gemm(hop__din(b, op, 1, f->s, 0) + lane(f, 1), hop__stride(&b->v, op, 1), transposed(ds), q, n, kd,
             f->rows, more || hop__adds(b, op, 1), NULL);
    hop_gemm(hop__din(b, op, 2, f->s, 0) + lane(f, 2), hop__stride(&b->v, op, 2), transposed(p), d_o, n, vd,
             f->rows, more || hop__adds(b, op, 2), NULL);
}

static hop__sparse choice_of(const few *f)
{
    const hop__exec *w = walk_of(f);
    return (hop__sparse){.op = f->op,
                         .tokens = w->tokens,
                         .q = hop__in(w, f->op, 0, f->s, 0),
                         .k = hop__in(w, f->op, 1, f->s, 0),
                         .q_stride = hop__stride(w, f->op, 0),
                         .k_stride = hop__stride(w, f->op, 1)};
}

/* Blocks of rows from `first` on, the earliest first. */
static void by_products(const hop__back *b, const hop_op *op, int64_t s)
{
    int64_t tokens = b->v.tokens;
    few f = {.b = b, .op = op, .s = s, .keys = tokens, .p = b->work, .dp = b->work + ROWS * tokens};
    float *rest = f.dp + ROWS * tokens;
    f.chosen = (int64_t *)(void *)rest;
    for (f.head = 0; f.head < op->heads; f.head++)
        for (f.from = b->v.first; f.from < tokens; f.from += ROWS) {
            f.rows = tokens - f.from < ROWS ? tokens - f.from : ROWS;
            if (op->kind == HOP_OP_SPARSE) {
                hop__sparse in = choice_of(&f);
                hop__sparse_choices(f.chosen, &in, f.head, f.from, f.rows, rest + 2 * ROWS * op->topk);
            }
            few_rows(&f, f.from > b->v.first);
        }
}

static void by_kernel(const hop__back *b, const hop_op *op, int64_t s)
{
    const hop__exec *w = &b->v;
    const int64_t strides[3] = {hop__stride(w, op, 0), hop__stride(w, op, 1), hop__stride(w, op, 2)};
    hop_attn a = hop__attend_shape(op, w->tokens, 0, strides);
    hop__targets t = hop__targets_open(b, op, s, b->work);
    const hop_attn_grad g = {.dq = t.p[0], .dk = t.p[1], .dv = t.p[2], .d_o = hop__out(&b->d, op, s, 0)};
    hop_attn_backward(&g, hop__out(w, op, s, 0), hop__lse(w, op, s), hop__in(w, op, 0, s, 0),
                      hop__in(w, op, 1, s, 0), hop__in(w, op, 2, s, 0), &a, t.work, NULL);
    hop__targets_close(&t, b, op, s);
}

void hop__back_attend(const hop__back *b, const hop_op *op, int64_t s)
{
    bool all = op->kind == HOP_OP_ATTEND || hop__sparse_sees_all(op, b->v.tokens);
    (all && b->v.first == 0 && b->lse_first == 0 ? by_kernel : by_products)(b, op, s);
}

size_t hop__back_attend_work(const hop_list *l, const hop_op *op, int64_t tokens)
{
    const int64_t strides[3] = {l->width[op->in[0].buffer], l->width[op->in[1].buffer],
                                l->width[op->in[2].buffer]};
    hop_attn a = hop__attend_shape(op, tokens, 0, strides);
    size_t kernel = hop_attn_backward_scratch(&a, 1) + hop__targets_work(l, op, tokens);
    size_t products = (size_t)(2 * ROWS * tokens);
    if (op->kind == HOP_OP_SPARSE)
        products += (size_t)(2 * ROWS * op->topk) + hop__sparse_choices_work(op, tokens);
    return kernel > products ? kernel : products;
}
