/* back.c - both ways through a list for training: forward, which keeps, and backward, from the last operation
 * to the first. One thread; sums over tokens have one order. */
#include "back.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = 1 << 13 }; /* numbers of rows, of values and of gradients each, that stay in cache */

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- products --------------------------------------------------------------------------------- */

/* y = a Wᵀ: da = dy W, dW += dyᵀ a. */
static void linear_back(const hop__back *b, const hop_op *op, int64_t s, int64_t from, int64_t rows)
{
    int64_t stride = hop__stride(&b->v, op, 0), out = op->width / op->groups, in = op->dim;
    int64_t at = op->first_row * op->row + op->first_column;
    const float *x = hop__in(&b->v, op, 0, s, from);
    float *dy = hop__out(&b->d, op, s, from);
    if (op->groups > 1) stride = in;
    rows *= op->groups;
    float *dx = hop__din(b, op, 0, s, from);
    const hop_product p = {.c = dx,
                           .ldc = stride,
                           .a = {dy, out, 1},
                           .b = {hop__par(&b->v, op, 0) + at, op->row, 1},
                           .panels = b->v.panels ? b->v.panels->backward[op->par[0]] : NULL,
                           .m = rows,
                           .n = in,
                           .k = out,
                           .from = {hop__adds(b, op, 0) ? dx : NULL, stride}};
    hop_multiply(&p, NULL);
    hop_gemm(hop__dpar(b, op, 0) + at, op->row, (hop_mat){dy, 1, out}, (hop_mat){x, stride, 1}, out, in, rows,
             true, NULL);
    hop_mul_sum(dy, NULL, hop__dpar(b, op, 1), rows, out);
}

/* y = a W in each group: da = dy Wᵀ, dW += aᵀ dy. */
static void blocks_back(const hop__back *b, const hop_op *op, int64_t s, int64_t from, int64_t rows)
{
    int64_t dim = op->dim, stride = hop__stride(&b->v, op, 0), width = op->width;
    const float *x = hop__in(&b->v, op, 0, s, from);
    float *dy = hop__out(&b->d, op, s, from);
    for (int64_t g = 0; g < op->groups; g++) {
        int64_t at = g * dim, w = g * dim * dim;
        hop_gemm(hop__din(b, op, 0, s, from) + at, stride, (hop_mat){dy + at, width, 1},
                 (hop_mat){hop__par(&b->v, op, 0) + w, 1, dim}, rows, dim, dim, hop__adds(b, op, 0), NULL);
        hop_gemm(hop__dpar(b, op, 0) + w, dim, (hop_mat){x + at, 1, stride}, (hop_mat){dy + at, width, 1},
                 dim, dim, rows, true, NULL);
    }
    hop_mul_sum(dy, NULL, hop__dpar(b, op, 1), rows, width);
}

/* ---- rows that have a gradient ---------------------------------------------------------------- */

/* Rows of one sequence from `from` on; where that is all of them, those of all sequences are one. */
typedef struct span {
    int64_t sequences, from, rows;
} span;

static span span_of(const hop__back *b, const hop_op *op)
{
    const hop__exec *w = &b->v;
    int64_t from = w->l->tail[op->y] ? w->first : 0;
    if (from == 0) return (span){1, 0, w->sequences * w->tokens};
    return (span){w->sequences, from, w->tokens - from};
}

static void zero_rows(float *p, int64_t rows, int64_t stride, int64_t width)
{
    for (int64_t r = 0; r < rows; r++) memset(p + r * stride, 0, sizeof(float) * (size_t)width);
}

/* The gradients of rows below `first` that nobody else will set: of what an operation reads for later rows
 * only, and of the result of one that looks along all rows. */
static void zero_early(const hop__back *b, const hop_op *op)
{
    const hop__exec *w = &b->v;
    const hop__op_facts *f = hop__facts(op->kind);
    if (w->first == 0 || !w->l->tail[op->y]) return;
    for (int64_t s = 0; s < w->sequences; s++) {
        if (f->class == HOP__SEQUENCE) zero_rows(hop__out(&b->d, op, s, 0), w->first, op->width, op->width);
        for (int k = 0; k < (f->class == HOP__SEQUENCE ? 0 : f->class == HOP__ATTENTION ? 1 : 4); k++)
            if (op->in[k].buffer >= 0 && !w->l->tail[op->in[k].buffer] && !hop__adds(b, op, k))
                zero_rows(hop__din(b, op, k, s, 0), w->first, hop__stride(w, op, k), hop__input_width(op, k));
    }
}

static void product(const hop__back *b, const hop_op *op)
{
    span p = span_of(b, op);
    for (int64_t s = 0; s < p.sequences; s++)
        (op->kind == HOP_OP_LINEAR ? linear_back : blocks_back)(b, op, s, p.from, p.rows);
}

/* Operations op[0 .. count), the last one first, on blocks of rows that stay in cache. */
static void rowwise(const hop__back *b, const hop_op *op, int count)
{
    span p = span_of(b, op);
    int64_t numbers = 0;
    for (int i = 0; i < count; i++) numbers += op[i].width;
    int64_t block = numbers < BLOCK ? BLOCK / numbers : 1;
    for (int64_t s = 0; s < p.sequences; s++)
        for (int64_t at = 0; at < p.rows; at += block)
            for (int i = count - 1; i >= 0; i--)
                hop__back_rows(b, &op[i], s, p.from + at, p.rows - at < block ? p.rows - at : block);
}

static void begin(const hop__back *b, int i)
{
    const hop_list *l = b->v.l;
    for (int k = 0; k < l->buffer_count; k++)
        if (b->r->zero[k] && b->r->zero_at[k] == i)
            memset(b->d.b[k], 0, sizeof(float) * (size_t)(b->v.sequences * b->v.tokens * l->width[k]));
    zero_early(b, &l->op[i]);
}

static void run(const hop__back *b)
{
    const hop_list *l = b->v.l;
    for (int i = l->op_count - 1; i >= 0; i--) {
        const hop_op *op = &l->op[i];
        int n = 1;
        begin(b, i);
        switch (hop__facts(op->kind)->class) {
        case HOP__PRODUCT: product(b, op); break;
        case HOP__ROWS:
            for (; i > 0 && hop__op_is_rowwise(op[-1].kind) && l->tail[op[-1].y] == l->tail[op->y]; i--) {
                begin(b, i - 1);
                op--, n++;
            }
            rowwise(b, op, n);
            break;
        case HOP__SEQUENCE:
            for (int64_t s = 0; s < b->v.sequences; s++) hop__back_sequence(b, op, s);
            break;
        case HOP__ATTENTION:
            for (int64_t s = 0; s < b->v.sequences; s++) hop__back_attend(b, op, s);
            break;
        case HOP__CONSTANT: break;
        }
    }
}

/* ---- where a kernel's gradients go ------------------------------------------------------------ */

/* A head's decay that is the same for all tokens is given, not learnt. */
static bool has_gradient(const hop_op *op, int i)
{
    return op->in[i].buffer >= 0 &&
           !(op->kind == HOP_OP_SCAN && i == HOP_SCAN_G && op->gate == HOP_GATE_HEAD);
}

hop__targets hop__targets_open(const hop__back *b, const hop_op *op, int64_t s, float *work)
{
    hop__targets t = {.work = work};
    for (int i = 0; i < HOP_OP_INPUTS; i++) {
        if (!has_gradient(op, i)) continue;
        t.aside[i] = hop__adds(b, op, i);
        t.p[i] = t.aside[i] ? t.work : hop__din(b, op, i, s, 0);
        if (t.aside[i]) t.work += b->v.tokens * hop__stride(&b->v, op, i);
    }
    return t;
}

void hop__targets_close(const hop__targets *t, const hop__back *b, const hop_op *op, int64_t s)
{
    for (int i = 0; i < HOP_OP_INPUTS; i++) {
        if (!t->p[i] || !t->aside[i]) continue;
        int64_t stride = hop__stride(&b->v, op, i), width = hop__input_width(op, i);
        float *to = hop__din(b, op, i, s, 0);
        for (int64_t r = 0; r < b->v.tokens; r++)
            hop_add(to + r * stride, to + r * stride, t->p[i] + r * stride, width);
    }
}

size_t hop__targets_work(const hop_list *l, const hop_op *op, int64_t tokens)
{
    int64_t row = 0;
    for (int i = 0; i < HOP_OP_INPUTS; i++)
        if (has_gradient(op, i)) row += l->width[op->in[i].buffer];
    return (size_t)(tokens * row);
}

/* ---- memory ----------------------------------------------------------------------------------- */

static size_t lines(int64_t floats)
{
    return (size_t)((floats + 15) / 16 * 16);
}

size_t hop_tape_kept(const hop_list *l, const hop_reverse *r, int64_t sequences, int64_t tokens)
{
    (void)l;
    return lines(sequences * tokens * r->kept_floats);
}

size_t hop_tape_scratch(const hop_list *l, const hop_reverse *r, int64_t sequences, int64_t tokens)
{
    size_t work = 0, state = lines(sequences * l->state_floats);
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *op = &l->op[i];
        size_t forward = hop__sequence_work(op, tokens, 0, 1), back = (size_t)most(2 * BLOCK, 2 * op->width);
        hop__op_class class = hop__facts(op->kind)->class;
        if (class == HOP__SEQUENCE) back = hop__back_sequence_work(l, op, tokens);
        if (class == HOP__ATTENTION) back = hop__back_attend_work(l, op, tokens);
        if (forward > work) work = forward;
        if (back > work) work = back;
    }
    return state + lines(sequences * tokens * r->grad_floats) + work + 64;
}

static const hop_op *rotation(const hop_list *l)
{
    const hop_op *found = NULL;
    for (int i = 0; i < l->op_count; i++) {
        if (l->op[i].kind != HOP_OP_ROPE) continue;
        assert(!found || (found->rotary == l->op[i].rotary && found->theta == l->op[i].theta));
        found = &l->op[i];
    }
    return found;
}

size_t hop_tape_angles_size(const hop_list *l, int64_t tokens)
{
    const hop_op *op = rotation(l);
    return op ? (size_t)(tokens * (op->rotary / 2) * 2) : 0;
}

void hop_tape_angles(double *angles, const hop_list *l, int64_t tokens)
{
    const hop_op *op = rotation(l);
    if (op) hop_rope_table(angles, tokens, op->rotary, op->theta);
}

/* ---- both ways -------------------------------------------------------------------------------- */

static hop__exec walk_of(const hop_tape *t, const hop_list *l, const hop_mixer_config *c,
                         const float *const *params)
{
    hop__exec w = {.l = l, .c = c, .w = params, .sequences = t->sequences, .tokens = t->tokens};
    w.first = t->first, w.state_stride = l->state_floats, w.form = HOP_FORM_CHUNKED;
    w.angles = t->angles, w.panels = t->panels;
    return w;
}

static void lay(hop__exec *w, float *base, const int64_t offset[HOP_LIST_BUFFERS])
{
    for (int i = HOP_FIRST_BUFFER; i < w->l->buffer_count; i++)
        w->b[i] = base + offset[i] * w->sequences * w->tokens;
}

void hop_tape_forward(const hop_tape *t, const hop_list *l, const hop_reverse *r, const hop_mixer_config *c,
                      const float *const *params)
{
    hop__exec w = walk_of(t, l, c, params);
    int64_t states = t->sequences * l->state_floats;
    assert(t->tokens > 0 && t->first >= 0 && t->first < t->tokens);
    lay(&w, t->kept, r->kept);
    w.b[HOP_X] = (float *)(uintptr_t)t->x, w.b[HOP_Y] = t->y;
    w.reverse = r, w.kept = t->kept, w.plus = t->plus;
    w.state = t->scratch, w.work = t->scratch + lines(states);
    if (t->state)
        memcpy(w.state, t->state, sizeof(float) * (size_t)states);
    else
        memset(w.state, 0, sizeof(float) * (size_t)states);
    assert(l->op[l->op_count - 1].kind == HOP_OP_LINEAR); /* which adds `plus`: hop__output */
    hop__run(&w, 0, l->op_count);
}

void hop_tape_backward(const hop_tape *t, const hop_list *l, const hop_reverse *r, const hop_mixer_config *c,
                       const float *const *params, float *const *dparams)
{
    hop__back b = {.v = walk_of(t, l, c, params), .d = walk_of(t, l, c, params), .r = r, .dw = dparams};
    assert(t->back_first >= t->first && t->back_first < t->tokens);
    b.state = t->state, b.dstate = t->dstate, b.lse_first = t->first;
    b.v.first = b.d.first = t->back_first;
    b.v.reverse = r, b.v.kept = t->kept;
    lay(&b.v, t->kept, r->kept);
    lay(&b.d, t->scratch, r->grad);
    b.v.b[HOP_X] = (float *)(uintptr_t)t->x;
    b.d.b[HOP_X] = t->dx, b.d.b[HOP_Y] = (float *)(uintptr_t)t->dy;
    b.work = t->scratch + lines(t->sequences * t->tokens * r->grad_floats);
    run(&b);
}
