#include "analysis.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hop__blame(hop__analysis *w, const char *format, ...)
{
    va_list args;
    if (w->why[0]) return;
    va_start(args, format);
    vsnprintf(w->why, sizeof w->why, format, args);
    va_end(args);
}

/* ---- one layer ------------------------------------------------------------------------------- */

static const float *weight(const hop__analysis *w, const char *part)
{
    const hop_weight *x = hop_model_layer_weight(w->model, w->layer, part);
    return x ? x->data : NULL;
}

/* Numbers a token that an operation reads of its i-th input. */
static int64_t input_width(const hop_op *op, int i)
{
    int64_t groups = op->groups > 1 ? op->groups : 1, steps = op->steps > 1 ? op->steps : 1;
    switch (op->kind) {
    case HOP_OP_LINEAR:
    case HOP_OP_BLOCKS:
    case HOP_OP_TAYLOR:
    case HOP_OP_APPEND_ONE: return groups * op->dim;
    case HOP_OP_DIVIDE: return groups * (op->dim + 1);
    case HOP_OP_MUL: return i == 1 && op->dim > 1 ? op->width / op->dim : op->width;
    case HOP_OP_BONUS: return i == 1 || i == 2 ? groups * op->dim : op->width;
    case HOP_OP_REPEAT: return op->width / op->times;
    case HOP_OP_SELECTIVE: return i == HOP_SELECTIVE_B || i == HOP_SELECTIVE_C ? op->key_dim : op->width;
    case HOP_OP_ATTEND:
    case HOP_OP_SPARSE:
        return i == 0 ? op->heads * op->key_dim : op->kv_heads * (i == 1 ? op->key_dim : op->value_dim);
    case HOP_OP_SCAN:
        switch (i) {
        case HOP_SCAN_Q: return op->kv_heads * op->key_dim;
        case HOP_SCAN_K: return steps * op->kv_heads * op->key_dim;
        case HOP_SCAN_V: return steps * op->heads * op->value_dim;
        case HOP_SCAN_G: return op->gate == HOP_GATE_KEY ? op->heads * op->key_dim : op->heads;
        case HOP_SCAN_BETA: return steps * op->heads;
        case HOP_SCAN_A:
        case HOP_SCAN_B: return op->kv_heads * op->key_dim;
        default: return op->heads;
        }
    default: return op->width;
    }
}

/* From now on everything goes to the scratch memory .. */
static hop__memory *begin_scratch(hop__analysis *w)
{
    hop__memory *keep = w->m;
    if (w->scratch) w->m = w->scratch;
    return keep;
}

/* .. until what is worth keeping has been copied out of it. */
static void end_scratch(hop__analysis *w, hop__memory *keep, hop__set **sets, int count)
{
    hop__memory *scratch = w->m;
    w->m = keep;
    if (scratch == keep) return;
    keep->overflow = keep->overflow || scratch->overflow;
    if (keep->status == HOP_OK) keep->status = scratch->status;
    for (int a = 0; keep->status == HOP_OK && a < count; a++) {
        sets[a] = hop__set_copy(keep, sets[a]);
        if (sets[a]) hop__set_own(keep, sets[a]);
    }
    hop__memory_clear(scratch);
}

/* Does an operation know of the rel of its i-th input? On the way from a convolution to a recurrence's
 * queries and keys, and from there to the output of its heads, all do; for everybody else it becomes a part
 * of rad. */
static bool keeps_relative(const hop_op *op, int i)
{
    switch (op->kind) {
    case HOP_OP_L2:
    case HOP_OP_RMS:
    case HOP_OP_MUL:
    case HOP_OP_SKIP:
    case HOP_OP_LINEAR: return true;
    case HOP_OP_SCAN: return i == HOP_SCAN_Q || i == HOP_SCAN_K;
    default: return false;
    }
}

/* Is y a ⊙ b, or a itself, so that it head_gains as a does? */
static bool passes_gain(const hop__layer_sets *l, const hop_op *op)
{
    return op->kind == HOP_OP_MUL || (op->kind == HOP_OP_SKIP && hop__skips_nothing(op, l->par[op->par[0]]));
}

/* Does the i-th input cross from player to player? Queries do, and what is remembered of keys and values; what of
 * attention's sums and recurrences' states does is their programs' (charge.h), and local.c's for CONV and SHIFT. */
static bool crosses(const hop_op *op, int i)
{
    bool remembered = op->kind == HOP_OP_SPARSE || (op->kind == HOP_OP_ATTEND && op->window > 0);
    return (op->kind == HOP_OP_ATTEND && i == 0) || (remembered && i < 3);
}

/* Columns of a buffer as an operation's input. */
static hop__set *input(const hop__layer_sets *l, const hop_op *op, int i, int a, bool head_gains)
{
    const hop_ref *r = &op->in[i];
    hop__memory *m = l->w->m;
    hop__set *x = l->buffer[r->buffer][a];
    int64_t width = input_width(op, i);
    if (width != x->width) x = hop__set_columns(m, x, r->column, width);
    if (x && !head_gains && l->head_gain) x = hop__set_swung(m, x, &l->head_gain[r->buffer][a], r->column);
    if (x && !keeps_relative(op, i)) x = hop__set_folded(m, x);
    return x && crosses(op, i) ? hop__set_crossed(m, x, l->w->message) : x;
}

static void run_op(hop__layer_sets *l, const hop_op *op, hop__set **y)
{
    hop__analysis *w = l->w;
    hop__sets in[HOP_OP_INPUTS];
    hop__inputs x = {.op = op, .config = &l->config};
    bool head_gains = l->head_gain && op->in[0].buffer >= 0 && op->in[0].column == 0 &&
                      (op->kind == HOP_OP_RMS || passes_gain(l, op));
    if (head_gains) x.head_gain = l->head_gain[op->in[0].buffer];
    if (head_gains && op->kind != HOP_OP_RMS)
        memcpy(l->head_gain[op->y], x.head_gain, sizeof l->head_gain[op->y]);
    if (l->head_gain && op->kind == HOP_OP_SCAN) x.head_gains = l->head_gain[op->y];
    for (int i = 0; i < HOP_OP_PARAMS; i++) x.par[i] = op->par[i] >= 0 ? l->par[op->par[i]] : NULL;
    for (int i = 0; i < HOP_OP_INPUTS; i++) {
        const hop_ref *r = &op->in[i];
        if (r->buffer < 0) continue;
        for (int a = 0; w->m->status == HOP_OK && a < w->facts.classes; a++)
            in[i][a] = input(l, op, i, a, head_gains && i == 0);
        x.in[i] = in[i];
    }
    if (w->m->status != HOP_OK) return;
    switch (op->kind) {
    case HOP_OP_ATTEND: (w->facts.task ? hop__attend : hop__attend_any)(w, &x, y); break;
    case HOP_OP_SPARSE: hop__attend_any(w, &x, y); break;
    case HOP_OP_SCAN:
    case HOP_OP_SELECTIVE:
    case HOP_OP_DIAGONAL: hop__scan(w, &x, y); break;
    default: hop__local_op(w, &x, y);
    }
    for (int a = 0; op->kind != HOP_OP_CONSTANT && w->m->status == HOP_OK && a < w->facts.classes; a++)
        y[a] = hop__set_rounded(w->m, y[a], w->bits);
}

/* Room for what a recurrence's result may head_gain by. Where results are rounded to fewer bits, or nothing is
 * looked up, none does. */
static bool ready_for_gains(hop__layer_sets *l, const hop_op *op)
{
    hop__analysis *w = l->w;
    if (op->kind != HOP_OP_SCAN || !w->facts.task || w->bits > 0) return true;
    if (!l->head_gain) l->head_gain = hop__take(w->m, l->list.buffer_count, sizeof *l->head_gain);
    for (int a = 0; w->m->status == HOP_OK && a < w->facts.classes; a++)
        l->head_gain[op->y][a] =
            (hop__head_gain){.dim = op->value_dim, .by = hop__take(w->m, op->heads, sizeof(double))};
    return w->m->status == HOP_OK;
}

bool hop__layer_op(hop__layer_sets *l, int number)
{
    const hop_op *op = &l->list.op[number];
    hop__analysis *w = l->w;
    if (!ready_for_gains(l, op)) return false;
    hop__memory *keep = begin_scratch(w);
    run_op(l, op, l->buffer[op->y]);
    end_scratch(w, keep, l->buffer[op->y], w->facts.classes);
    if (w->m->overflow)
        hop__blame(w, "layer %lld, %s: a number may leave the range of float32, or cannot be bounded",
                   (long long)w->layer, hop_op_name(op->kind));
    if (w->observer && w->m->status == HOP_OK && !w->m->overflow)
        w->observer->buffer(w->observer->ctx, l, number);
    return w->m->status == HOP_OK;
}

bool hop__layer_open(hop__layer_sets *l, hop__analysis *w)
{
    hop_param list[HOP_MIXER_MAX_PARAMS] = {{0}};
    *l = (hop__layer_sets){.w = w, .config = hop_model_mixer_config(w->model, w->layer)};
    const hop_mixer_ops *ops =
        hop_mixer_find(hop_pattern_mixer(&hop_model_config(w->model)->pattern, w->layer));
    int count = ops->params(&l->config, list);
    hop_mixer_list(&l->list, ops, &l->config);
    l->buffer = hop__take(w->m, l->list.buffer_count, sizeof *l->buffer);
    for (int i = 0; i < count; i++) {
        char name[96];
        snprintf(name, sizeof name, "mixer.%s", list[i].name);
        l->par[i] = weight(w, name);
        if (!l->par[i] && w->m->status == HOP_OK) w->m->status = HOP_EDOMAIN;
    }
    return w->m->status == HOP_OK;
}

double hop__others_units(const hop__analysis *w)
{
    return hop_model_mixer_config(w->model, w->layer).foreign[HOP_FOREIGN_units];
}

bool hop__layer_is_beside(const hop__analysis *w)
{
    return hop_model_mixer_config(w->model, w->layer).foreign[HOP_FOREIGN_beside] != 0;
}

hop_norms hop__layer_norms(const hop__analysis *w)
{
    return (hop_norms)hop_model_mixer_config(w->model, w->layer).foreign[HOP_FOREIGN_norms];
}

hop__set *hop__block_norm(const hop__analysis *w, const hop__set *x, bool there, const char *part)
{
    const hop_config *c = hop_model_config(w->model);
    const hop_norm kind = there ? c->norm : HOP_NORM_NONE;
    char name[2][64];
    snprintf(name[0], sizeof name[0], "%s.weight", part), snprintf(name[1], sizeof name[1], "%s.bias", part);
    hop__set *y = hop__set_norm(w->m, x, kind, weight(w, name[0]), weight(w, name[1]), c->norm_eps);
    return kind == HOP_NORM_NONE ? y : hop__set_rounded(w->m, y, w->bits);
}

hop__set *hop__layer_input(hop__analysis *w, const hop__set *x)
{
    if (hop__layer_is_beside(w)) { /* what the layer before read is not kept */
        hop__blame(w, "layer %lld: a block beside the one before is not followed", (long long)w->layer);
        w->m->overflow = true;
        return hop__set_copy(w->m, x);
    }
    x = hop__set_folded(w->m, (hop__set *)x);
    return x ? hop__block_norm(w, x, hop__layer_norms(w) != HOP_NORMS_BEHIND, "input_layernorm") : NULL;
}

/* x + mixer(norm(x)), class by class. */
static bool mix(hop__analysis *w, hop__set **x)
{
    hop__layer_sets l;
    const hop_norms norms = hop__layer_norms(w);
    if (!hop__layer_open(&l, w)) return false;
    for (int a = 0; a < w->facts.classes; a++) l.buffer[HOP_X][a] = hop__layer_input(w, x[a]);
    for (int i = 0; w->m->status == HOP_OK && i < l.list.op_count; i++) hop__layer_op(&l, i);
    for (int a = 0; w->m->status == HOP_OK && a < w->facts.classes; a++) {
        hop__memory *keep = begin_scratch(w);
        hop__set *y = l.head_gain ? hop__set_swung(w->m, l.buffer[HOP_Y][a], &l.head_gain[HOP_Y][a], 0)
                                  : l.buffer[HOP_Y][a];
        y = y ? hop__set_merged(w->m, y) : NULL;
        if (y && norms == HOP_NORMS_BEHIND) y = hop__set_folded(w->m, y);
        if (y && norms == HOP_NORMS_BEHIND) y = hop__block_norm(w, y, true, "input_layernorm");
        const hop__set *from = norms == HOP_NORMS_KEPT ? l.buffer[HOP_X][a] : x[a];
        x[a] = y ? hop__set_rounded(w->m, hop__set_add_relative(w->m, from, y), w->bits) : NULL;
        if (x[a]) hop__set_own(w->m, x[a]);
        end_scratch(w, keep, &x[a], 1);
    }
    return w->m->status == HOP_OK;
}

/* x [classes] through the layer, in place. *same: nothing has changed, and x lies where it did. */
static bool run_layer(hop__analysis *w, hop__set **x, bool *same)
{
    bool silent = hop__mixer_is_silent(w, x);
    if (!silent && !mix(w, x)) return false;
    bool idle = w->m->status == HOP_OK && hop__mlp_is_silent(w, x);
    *same = silent && idle;
    for (int a = 0; w->m->status == HOP_OK && !idle && a < w->facts.classes; a++) {
        hop__memory *keep = begin_scratch(w);
        x[a] = hop__set_folded(w->m, x[a]);
        if (x[a]) x[a] = hop__set_mlp(w, a, x[a]);
        if (x[a]) hop__set_own(w->m, x[a]); /* the memory of the layer before is about to go */
        end_scratch(w, keep, &x[a], 1);
    }
    return w->m->status == HOP_OK;
}

bool hop__analyse_layers(hop__analysis *w, hop__set **x, hop__memory memory[2], hop_margin *margins,
                         int64_t *count)
{
    int64_t layers = hop_model_config(w->model)->pattern.layers;
    bool same = false;
    *count = 0;
    w->m = &memory[0];
    for (w->layer = 0; w->layer < layers; w->layer++) {
        if (w->layer > 0 && !same) w->m = w->m == &memory[0] ? &memory[1] : &memory[0];
        hop__memory_clear(w->m);
        w->margin = (hop_margin){
            .layer = w->layer, .player = HOP_PLAYER_NONE, .score_gap = INFINITY, .clip_margin = INFINITY};
        if (!run_layer(w, x, &same)) return false;
        if (w->observer && !w->m->overflow) w->observer->stream(w->observer->ctx, w, x);
        const hop__set *own = x[w->answering];
        for (int64_t c = 0; c < own->width; c++)
            w->margin.code_error = ival_most(w->margin.code_error, own->rad[c] + own->rel[c] * own->mag[c]);
        margins[(*count)++] = w->margin;
        if (w->m->overflow)
            hop__blame(w, "layer %lld, MLP: a number may leave the range of float32", (long long)w->layer);
        if (w->m->overflow) return false;
        if (!(w->margin.code_error < 0.5))
            hop__blame(w, "layer %lld: what the answering token holds is only known to within %.3g",
                       (long long)w->layer, w->margin.code_error);
        if (!hop_progress_tick(w->progress, "layers", (double)(w->layer + 1), (double)layers)) {
            w->m->status = HOP_ESTOPPED;
            return false;
        }
    }
    return true;
}
