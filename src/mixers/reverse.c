/* reverse.c - what follows from a list for those who go through it twice: what is kept from forward to
 * backward, where it and the gradients lie, and which gradient is the first of its buffer. */
#include "back.h"

#include <string.h>

static int64_t scan_width(const hop_op *op, int i)
{
    int64_t keys = op->kv_heads * op->key_dim;
    switch (i) {
    case HOP_SCAN_Q: return keys;
    case HOP_SCAN_V: return op->steps * op->width;
    case HOP_SCAN_G: return op->gate == HOP_GATE_KEY ? op->heads * op->key_dim : op->heads;
    case HOP_SCAN_BETA: return op->steps * op->heads;
    case HOP_SCAN_I:
    case HOP_SCAN_F: return op->heads;
    default: return op->steps * keys;
    }
}

int64_t hop__input_width(const hop_op *op, int i)
{
    if (op->in[i].buffer < 0) return 0;
    switch (op->kind) {
    case HOP_OP_LINEAR:
    case HOP_OP_BLOCKS:
    case HOP_OP_TAYLOR:
    case HOP_OP_APPEND_ONE: return op->groups * op->dim;
    case HOP_OP_DIVIDE: return op->groups * (op->dim + 1);
    case HOP_OP_REPEAT: return op->groups / op->times * op->dim;
    case HOP_OP_MUL: return i == 1 ? op->width / op->dim : op->width;
    case HOP_OP_BONUS: return i == 1 || i == 2 ? op->groups * op->dim : op->width;
    case HOP_OP_SCAN: return scan_width(op, i);
    case HOP_OP_SELECTIVE: return i < HOP_SELECTIVE_B ? op->width : op->key_dim;
    case HOP_OP_ATTEND:
    case HOP_OP_SPARSE:
        return i == 0 ? op->heads * op->key_dim : op->kv_heads * (i == 1 ? op->key_dim : op->value_dim);
    default: return op->width;
    }
}

/* Where the result says less, the input is kept: softplus and its kin lose the digits of a small slope. */
bool hop__act_by_result(hop_act act)
{
    return act != HOP_ACT_SILU && act != HOP_ACT_GELU && act != HOP_ACT_SOFTPLUS &&
           act != HOP_ACT_LOGSIGMOID && act != HOP_ACT_RELU2;
}

static unsigned keeps(const hop_op *op)
{
    unsigned all = hop__facts(op->kind)->keeps;
    if (op->kind != HOP_OP_ACT) return all;
    if (op->act == HOP_ACT_COPY) return 0;
    return hop__act_by_result(op->act) ? HOP__KEEPS_Y : all & ~HOP__KEEPS_Y;
}

static void lay_kept(hop_reverse *r, const hop_list *l)
{
    bool keep[HOP_LIST_BUFFERS] = {false};
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *op = &l->op[i];
        unsigned bits = keeps(op);
        if (bits & HOP__KEEPS_Y) keep[op->y] = true;
        for (int k = 0; k < HOP_OP_INPUTS; k++)
            if (op->in[k].buffer >= 0 && bits >> k & 1) keep[op->in[k].buffer] = true;
    }
    r->kept_floats = hop__lay_buffers(l, keep, true, r->kept);
    for (int i = 0; i < l->op_count; i++) {
        r->lse[i] = r->kept_floats;
        if (hop__facts(l->op[i].kind)->class == HOP__ATTENTION) r->kept_floats += l->op[i].heads;
    }
}

/* ---- gradients -------------------------------------------------------------------------------- */

/* Columns of a buffer that an operation reads. */
typedef struct reader {
    int op, input;
    int64_t from, to;
} reader;

/* In the order in which they are met on the way back. */
static int readers_of(const hop_list *l, int buffer, reader out[HOP_LIST_OPS * 2])
{
    int n = 0;
    for (int i = l->op_count - 1; i >= 0; i--)
        for (int k = 0; k < HOP_OP_INPUTS; k++) {
            const hop_op *op = &l->op[i];
            if (op->in[k].buffer != buffer || n == HOP_LIST_OPS * 2) continue;
            out[n++] = (reader){i, k, op->in[k].column, op->in[k].column + hop__input_width(op, k)};
        }
    return n;
}

/* A reader's columns are all new, or all inside those of one that came before; else, or when columns are left
 * over, the buffer's gradient begins with zeros and everybody adds. */
static void plan_buffer(hop_reverse *r, const hop_list *l, int buffer)
{
    reader list[HOP_LIST_OPS * 2];
    int n = readers_of(l, buffer, list);
    int64_t covered = 0;
    bool clean = true;
    for (int i = 0; i < n; i++) {
        bool inside = false, touches = false;
        for (int j = 0; j < i; j++) {
            touches |= list[i].from < list[j].to && list[j].from < list[i].to;
            inside |= list[i].from >= list[j].from && list[i].to <= list[j].to;
        }
        r->add[list[i].op][list[i].input] = inside;
        if (!touches) covered += list[i].to - list[i].from;
        clean &= inside || !touches;
    }
    r->zero_at[buffer] = n > 0 ? list[0].op : -1;
    r->zero[buffer] = n > 0 && !(clean && covered == l->width[buffer]);
    for (int i = 0; r->zero[buffer] && i < n; i++) r->add[list[i].op][list[i].input] = true;
}

void hop_reverse_plan(hop_reverse *r, const hop_list *l)
{
    memset(r, 0, sizeof *r);
    lay_kept(r, l);
    r->grad_floats = hop__lay_buffers(l, NULL, false, r->grad);
    for (int b = 0; b < l->buffer_count; b++) plan_buffer(r, l, b);
}
