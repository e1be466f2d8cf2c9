/* list.c - what follows from a list of operations: the state's layout, which rows are needed, and where each
 * buffer lies in scratch. */
#include "build.h"

#include <string.h>

enum { A = 1, B = 2, C = 4, D = 8, ALL = (1 << HOP_OP_INPUTS) - 1, Y = HOP__KEEPS_Y };

/* clang-format off */
static const hop__op_facts facts[HOP_OP_COUNT] = {
    [HOP_OP_LINEAR]     = {"linear",     HOP__PRODUCT,   0, A},
    [HOP_OP_BLOCKS]     = {"blocks",     HOP__PRODUCT,   0, A},
    [HOP_OP_CONV]       = {"conv",       HOP__SEQUENCE,  0, A},
    [HOP_OP_SHIFT]      = {"shift",      HOP__SEQUENCE,  0, 0},
    [HOP_OP_ACT]        = {"act",        HOP__ROWS,      1, A | Y}, /* one of the two: hop__keeps */
    [HOP_OP_RATE]       = {"rate",       HOP__ROWS,      1, Y},
    [HOP_OP_L2]         = {"l2",         HOP__ROWS,      1, A},
    [HOP_OP_ROPE]       = {"rope",       HOP__ROWS,      1, 0},
    [HOP_OP_RMS]        = {"rms",        HOP__ROWS,      1, A},
    [HOP_OP_GROUPNORM]  = {"groupnorm",  HOP__ROWS,      1, A},
    [HOP_OP_MUL]        = {"mul",        HOP__ROWS,      2, A | B},
    [HOP_OP_SUB]        = {"sub",        HOP__ROWS,      2, 0},
    [HOP_OP_CLAMP]      = {"clamp",      HOP__ROWS,      1, A},
    [HOP_OP_ADD]        = {"add",        HOP__ROWS,      2, 0},
    [HOP_OP_ROUTE]      = {"route",      HOP__ROWS,      0, 0},
    [HOP_OP_LERP]       = {"lerp",       HOP__ROWS,      3, B | C},
    [HOP_OP_WEIGH]      = {"weigh",      HOP__ROWS,      1, A},
    [HOP_OP_SKIP]       = {"skip",       HOP__ROWS,      2, B},
    [HOP_OP_BLEND]      = {"blend",      HOP__ROWS,      2, A | B},
    [HOP_OP_BONUS]      = {"bonus",      HOP__ROWS,      1, B | C | D},
    [HOP_OP_CONSTANT]   = {"constant",   HOP__CONSTANT,  0, 0},
    [HOP_OP_LRU_RATE]   = {"lru_rate",   HOP__ROWS,      1, A},
    [HOP_OP_LRU_INPUT]  = {"lru_input",  HOP__ROWS,      3, A | B | C},
    [HOP_OP_TAYLOR]     = {"taylor",     HOP__ROWS,      0, A},
    [HOP_OP_APPEND_ONE] = {"append_one", HOP__ROWS,      0, 0},
    [HOP_OP_DIVIDE]     = {"divide",     HOP__ROWS,      0, A},
    [HOP_OP_REPEAT]     = {"repeat",     HOP__ROWS,      0, 0},
    [HOP_OP_SCAN]       = {"scan",       HOP__SEQUENCE,  0, ALL},
    [HOP_OP_SELECTIVE]  = {"selective",  HOP__SEQUENCE,  0, ALL},
    [HOP_OP_DIAGONAL]   = {"diagonal",   HOP__SEQUENCE,  0, A | Y},
    [HOP_OP_ATTEND]     = {"attend",     HOP__ATTENTION, 0, A | B | C | Y},
    [HOP_OP_SPARSE]     = {"sparse",     HOP__ATTENTION, 0, A | B | C | Y},
};
/* clang-format on */

const char *hop_op_name(hop_op_kind k)
{
    return facts[k].name;
}

const hop__op_facts *hop__facts(hop_op_kind k)
{
    return &facts[k];
}

bool hop__op_is_rowwise(hop_op_kind k)
{
    return facts[k].class == HOP__ROWS;
}

bool hop_list_whole(const hop_list *l, int param, const int64_t shape[2])
{
    bool used = false;
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *op = &l->op[i];
        if (op->par[0] != param && op->par[1] != param) continue;
        used = true;
        if (op->kind != HOP_OP_LINEAR || op->par[0] != param || op->first_row != 0 || op->first_column != 0 ||
            op->width != op->groups * shape[0] || op->dim != shape[1] || op->row != shape[1])
            return false;
    }
    return used;
}

const char *hop_list_forward_only(const hop_list *l)
{
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *op = &l->op[i];
        if (op->kind == HOP_OP_ROUTE || op->kind == HOP_OP_ADD ||
            (op->kind == HOP_OP_ROPE && op->par[0] >= 0))
            return facts[op->kind].name;
    }
    return NULL;
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
            if (facts[op->kind].class == HOP__ATTENTION)
                l->attends = true; /* its cache is the last: it grows */
            if (n > 0 || facts[op->kind].class == HOP__ATTENTION) op->state = l->state_floats;
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
        if (facts[op->kind].class != HOP__ATTENTION) continue;
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
        hop__op_class class = facts[op->kind].class;
        for (int k = 0; k < HOP_OP_INPUTS; k++)
            if (op->in[k].buffer >= 0 &&
                (class == HOP__SEQUENCE || (class == HOP__ATTENTION && k > 0) || !l->tail[op->y]))
                l->tail[op->in[k].buffer] = false;
    }
}

/* ---- memory -------------------------------------------------------------------------------- */

/* Rowwise operations that follow one another go block by block together: to memory they are one moment. */
static void find_moments(const hop_list *l, int moment[HOP_LIST_OPS])
{
    for (int i = 0; i < l->op_count; i++) {
        const hop_op *a = &l->op[i > 0 ? i - 1 : 0], *b = &l->op[i];
        bool joined = i > 0 && facts[a->kind].class == HOP__ROWS && facts[b->kind].class == HOP__ROWS &&
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
static int64_t free_place(const hop_list *l, const int64_t *offset, int y, const int until[HOP_LIST_BUFFERS],
                          int now)
{
    int64_t at = 0, width = l->width[y];
    for (int b = HOP_FIRST_BUFFER; b < l->buffer_count; b++) {
        bool alive = b != y && until[b] >= now && offset[b] >= 0;
        if (!alive || offset[b] >= at + width || at >= offset[b] + l->width[b]) continue;
        at = (offset[b] + l->width[b] + 15) / 16 * 16; /* places begin at cache lines */
        b = HOP_FIRST_BUFFER - 1;
    }
    return at;
}

int64_t hop__lay_buffers(const hop_list *l, const bool *keep, bool over, int64_t offset[HOP_LIST_BUFFERS])
{
    int moment[HOP_LIST_OPS], last_op[HOP_LIST_BUFFERS] = {0}, until[HOP_LIST_BUFFERS] = {0};
    int64_t floats = 0;
    find_moments(l, moment);
    for (int i = 0; i < HOP_LIST_BUFFERS; i++) offset[i] = -1;
    for (int i = 0; i < l->op_count; i++) {
        last_op[l->op[i].y] = i, until[l->op[i].y] = moment[i];
        for (int k = 0; k < HOP_OP_INPUTS; k++)
            if (l->op[i].in[k].buffer >= 0)
                last_op[l->op[i].in[k].buffer] = i, until[l->op[i].in[k].buffer] = moment[i];
    }
    for (int b = 0; keep && b < l->buffer_count; b++)
        if (keep[b]) last_op[b] = until[b] = HOP_LIST_OPS;
    for (int i = 0; i < l->op_count; i++) {
        int y = l->op[i].y, dying = over ? dying_input(l, i, last_op) : -1;
        if (y < HOP_FIRST_BUFFER) continue;
        offset[y] = dying >= 0 ? offset[dying] : free_place(l, offset, y, until, moment[i]);
        int64_t end = (offset[y] + l->width[y] + 15) / 16 * 16;
        if (end > floats) floats = end;
    }
    return floats;
}

void hop__list_finish(hop_list *l)
{
    lay_state(l);
    find_tails(l);
    l->row_floats = hop__lay_buffers(l, NULL, true, l->offset);
}
