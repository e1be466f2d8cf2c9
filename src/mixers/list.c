/* list.c - what follows from a list of operations: the state's layout, which rows are needed, and where each
 * buffer lies in scratch. */
#include "build.h"

#include <string.h>

typedef enum op_class { ROWS, PRODUCT, SEQUENCE, ATTENTION, CONSTANT } op_class;

/* `over`: so many of the first inputs may lie where the result goes, being read element by element. */
static const struct op_facts {
    const char *name;
    op_class class;
    int over;
} facts[HOP_OP_COUNT] = {
    [HOP_OP_LINEAR] = {"linear", PRODUCT, 0},
    [HOP_OP_BLOCKS] = {"blocks", PRODUCT, 0},
    [HOP_OP_CONV] = {"conv", SEQUENCE, 0},
    [HOP_OP_SHIFT] = {"shift", SEQUENCE, 0},
    [HOP_OP_ACT] = {"act", ROWS, 1},
    [HOP_OP_RATE] = {"rate", ROWS, 1},
    [HOP_OP_L2] = {"l2", ROWS, 1},
    [HOP_OP_ROPE] = {"rope", ROWS, 1},
    [HOP_OP_RMS] = {"rms", ROWS, 1},
    [HOP_OP_GROUPNORM] = {"groupnorm", ROWS, 1},
    [HOP_OP_MUL] = {"mul", ROWS, 2},
    [HOP_OP_SUB] = {"sub", ROWS, 2},
    [HOP_OP_LERP] = {"lerp", ROWS, 3},
    [HOP_OP_WEIGH] = {"weigh", ROWS, 1},
    [HOP_OP_SKIP] = {"skip", ROWS, 2},
    [HOP_OP_BLEND] = {"blend", ROWS, 2},
    [HOP_OP_BONUS] = {"bonus", ROWS, 1},
    [HOP_OP_CONSTANT] = {"constant", CONSTANT, 0},
    [HOP_OP_LRU_RATE] = {"lru_rate", ROWS, 1},
    [HOP_OP_LRU_INPUT] = {"lru_input", ROWS, 3},
    [HOP_OP_TAYLOR] = {"taylor", ROWS, 0},
    [HOP_OP_APPEND_ONE] = {"append_one", ROWS, 0},
    [HOP_OP_DIVIDE] = {"divide", ROWS, 0},
    [HOP_OP_REPEAT] = {"repeat", ROWS, 0},
    [HOP_OP_SCAN] = {"scan", SEQUENCE, 0},
    [HOP_OP_SELECTIVE] = {"selective", SEQUENCE, 0},
    [HOP_OP_DIAGONAL] = {"diagonal", SEQUENCE, 0},
    [HOP_OP_ATTEND] = {"attend", ATTENTION, 0},
    [HOP_OP_SPARSE] = {"sparse", ATTENTION, 0},
};

const char *hop_op_name(hop_op_kind k)
{
    return facts[k].name;
}

bool hop__op_is_rowwise(hop_op_kind k)
{
    return facts[k].class == ROWS;
}

/* ---- state --------------------------------------------------------------------------------- */

/* Products that do not fit are HOP__TOO_MANY, which no layer may have (hop_mixer_config_ready). */
static int64_t times(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) || c > HOP__TOO_MANY ? HOP__TOO_MANY : c;
}

static int64_t matrix_floats(const hop_op *op)
{
    switch (op->kind) {
    case HOP_OP_SCAN:
        return times(op->heads,
                     times(op->key_dim, op->value_dim) + (op->core == HOP_CORE_MLSTM ? op->key_dim + 1 : 0));
    case HOP_OP_SELECTIVE: return times(op->width, op->key_dim);
    case HOP_OP_DIAGONAL: return op->width;
    default: return 0;
    }
}

static int64_t past_floats(const hop_op *op)
{
    if (op->kind == HOP_OP_SHIFT) return op->width;
    return op->kind == HOP_OP_CONV ? (op->taps - 1) * op->width : 0;
}

static void lay_state(hop_list *l)
{
    l->state_floats = l->past_floats = 0;
    l->attends = false;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < l->op_count; i++) {
            hop_op *op = &l->op[i];
            int64_t n = pass == 0 ? matrix_floats(op) : past_floats(op);
            if (facts[op->kind].class == ATTENTION) l->attends = true; /* its cache is the last: it grows */
            if (n > 0 || facts[op->kind].class == ATTENTION) op->state = l->state_floats;
            if (n == 0) continue;
            l->state_floats += n;
            l->past_floats += pass == 0 ? 0 : n;
        }
}

int64_t hop_list_state_floats(const hop_list *l, int64_t t)
{
    int64_t floats = l->state_floats;
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *op = &l->op[i];
        if (facts[op->kind].class != ATTENTION) continue;
        int64_t rows = op->window > 0 && t > op->window ? op->window : t;
        floats += times(rows, op->kv_heads * (op->key_dim + op->value_dim));
    }
    return floats;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* From the end: what a sequence operation reads is needed for all tokens, as is what that is made of; a query
 * of attention only where its row is wanted. */
static void find_tails(hop_list *l)
{
    for (int i = 0; i < HOP_LIST_BUFFERS; i++) l->tail[i] = true;
    for (int i = l->op_count - 1; i >= 0; i--) {
        const hop_op *op = &l->op[i];
        op_class class = facts[op->kind].class;
        for (int k = 0; k < HOP_OP_INPUTS; k++)
            if (op->in[k].buffer >= 0 &&
                (class == SEQUENCE || (class == ATTENTION && k > 0) || !l->tail[op->y]))
                l->tail[op->in[k].buffer] = false;
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Rowwise operations that follow one another go block by block together: to memory they are one moment. */
static void find_moments(const hop_list *l, int moment[HOP_LIST_OPS])
{
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *a = &l->op[i > 0 ? i - 1 : 0], *b = &l->op[i];
        bool joined = i > 0 && facts[a->kind].class == ROWS && facts[b->kind].class == ROWS &&
                      l->tail[a->y] == l->tail[b->y];
        moment[i] = i == 0 ? 0 : moment[i - 1] + !joined;
    }
}

static int times_read(const hop_op *op, int buffer)
{
    int n = 0;
    for (int k = 0; k < HOP_OP_INPUTS; k++) n += op->in[k].buffer == buffer;
    return n;
}

/* The input whose place the result can take, because nobody reads it later nor in another way; -1: none. */
static int dying_input(const hop_list *l, int i, const int last_op[HOP_LIST_BUFFERS])
{
    const hop_op *op = &l->op[i];
    for (int k = 0; k < facts[op->kind].over; k++) {
        int buffer = op->in[k].buffer;
        if (buffer >= HOP_FIRST_BUFFER && last_op[buffer] == i && l->width[buffer] == op->width &&
            times_read(op, buffer) == 1)
            return buffer;
    }
    return -1;
}

/* The lowest place for `width` floats a token that none of the living holds. */
static int64_t free_place(const hop_list *l, int y, int64_t width, const int until[HOP_LIST_BUFFERS], int now)
{
    int64_t at = 0;
    for (int b = HOP_FIRST_BUFFER; b < l->buffer_count; b++) {
        bool alive = b != y && until[b] >= now && l->offset[b] >= 0;
        if (!alive || l->offset[b] >= at + width || at >= l->offset[b] + l->width[b]) continue;
        at = (l->offset[b] + l->width[b] + 15) / 16 * 16; /* places begin at cache lines */
        b = HOP_FIRST_BUFFER - 1;
    }
    return at;
}

static void lay_buffers(hop_list *l)
{
    int moment[HOP_LIST_OPS], last_op[HOP_LIST_BUFFERS] = {0}, until[HOP_LIST_BUFFERS] = {0};
    find_moments(l, moment);
    for (int i = 0; i < HOP_LIST_BUFFERS; i++) l->offset[i] = -1;
    for (int i = 0; i < l->op_count; i++) {
        last_op[l->op[i].y] = i, until[l->op[i].y] = moment[i];
        for (int k = 0; k < HOP_OP_INPUTS; k++)
            if (l->op[i].in[k].buffer >= 0)
                last_op[l->op[i].in[k].buffer] = i, until[l->op[i].in[k].buffer] = moment[i];
    }
    l->row_floats = 0;
    for (int i = 0; i < l->op_count; i++) {
        int y = l->op[i].y, over = dying_input(l, i, last_op);
        if (y < HOP_FIRST_BUFFER) continue;
        l->offset[y] = over >= 0 ? l->offset[over] : free_place(l, y, l->width[y], until, moment[i]);
        int64_t end = (l->offset[y] + l->width[y] + 15) / 16 * 16;
        if (end > l->row_floats) l->row_floats = end;
    }
}

void hop__list_finish(hop_list *l)
{
    lay_state(l);
    find_tails(l);
    lay_buffers(l);
}
