/* The network of P1 in a given architecture, in a stream as narrow as it can be: one register for all look-ups,
 * which MLPs clip (docs/THEORY.md sections 5.1 and 5.7). It takes ReLU and no norm; heads of L+2+B numbers.
 *
 * Look-ups are made by L+1 layers that attend to all tokens. Or one of these is saved by a layer that brings
 * something from z_0's token to the last one, a recurrence or a window of two tokens and more: before the first
 * of them it brings z_0. Behind it, z_0's token asks for i_1 in the first of them, having all it takes in its
 * own value, and what is brought is its register. Other tokens find averages there, and nobody reads them; the
 * last one's is drowned as every old content of the register is. */
#include "wiring.h"

#include <math.h>
#include <stdlib.h>

typedef enum part { IDLE, LOOK_UP, ASK_EARLY, BRING_VALUE, BRING_REGISTER } part;

typedef struct role {
    part part;
    int e; /* the look-up */
} role;

typedef struct net {
    hop__fields f;
    const hop_funccomp *task;
    const hop_config *c;
    role *roles; /* [layers] */
} net;

static const hop_mixer_ops *layer_of(const net *n, int64_t layer, hop_mixer_config *own)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&n->c->pattern, layer));
    return ops && hop_config_mixer(n->c, ops, layer, own, NULL) == HOP_OK ? ops : NULL;
}

/* Attention as it is defined, with nothing that turns, scales or shortens keys. */
static bool is_plain(const hop_mixer_config *c, int64_t keys, int64_t values)
{
    static const hop_option none[] = {HOP_OPTION_qk_norm, HOP_OPTION_latent, HOP_OPTION_gate};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (c->option[none[i]] > 0) return false;
    int64_t own = c->option[HOP_OPTION_value_dim];
    return c->rope_theta <= 0 && c->head_dim >= keys && (own > 0 ? own : c->head_dim) >= values;
}

static bool looks_up(const net *n, int64_t layer)
{
    hop_mixer_config own;
    const hop_mixer_ops *ops = layer_of(n, layer, &own);
    if (!ops || !is_plain(&own, n->f.head_dim, n->f.bits)) return false;
    return ops->kind == HOP_MIXER_FULL ||
           (ops->kind == HOP_MIXER_WINDOW && own.option[HOP_OPTION_window] >= n->task->length);
}

static bool brings(const net *n, int64_t layer)
{
    hop_mixer_config own;
    const hop_mixer_ops *ops = layer_of(n, layer, &own);
    if (!ops) return false;
    if (ops->kind == HOP_MIXER_WINDOW)
        return own.option[HOP_OPTION_window] >= 2 && is_plain(&own, 1, n->f.code.width[0]);
    return ops->kind == HOP_MIXER_RECURRENT && hop__linear_carries(n->c, n->f.code.width[0], layer);
}

/* Look-ups from e on by the layers from `from` on. */
static bool look_up_from(net *n, int64_t from, int e)
{
    for (int64_t i = from; i < n->c->pattern.layers && e <= n->f.hops; i++)
        if (looks_up(n, i)) n->roles[i] = (role){LOOK_UP, e++};
    return e > n->f.hops;
}

static bool find_roles(net *n)
{
    int64_t layers = n->c->pattern.layers, first = -1;
    if (look_up_from(n, 0, 0)) return true;
    for (int64_t i = 0; i < layers; i++) {
        for (int64_t k = 0; k < layers; k++) n->roles[k] = (role){IDLE, 0};
        if (brings(n, i)) {
            if (first >= 0) n->roles[first] = (role){ASK_EARLY, 1};
            n->roles[i] = (role){first >= 0 ? BRING_REGISTER : BRING_VALUE, 0};
            if (look_up_from(n, i + 1, first >= 0 ? 2 : 1)) return true;
        }
        if (first < 0 && looks_up(n, i)) first = i;
    }
    return false;
}

/* ---- weights ---------------------------------------------------------------------------------------- */

static const hop_weight *tensor(hop_model *m, int64_t layer, const char *name)
{
    return hop_model_layer_weight(m, layer, name);
}

/* Player `asker` asks for player e at the address it knows, and adds 4 times `bits` numbers of the field `from`
 * of what it finds to the register. For e = 0 one number of a key is enough. */
static void fill_look_up(hop_model *m, const net *n, int64_t layer, int e, int asker, int from, int bits)
{
    const hop__fields *f = &n->f;
    const hop_mixer_config c = hop_model_mixer_config(m, layer);
    const hop_weight *q = tensor(m, layer, "mixer.q_proj.weight"),
                     *k = tensor(m, layer, "mixer.k_proj.weight"),
                     *v = tensor(m, layer, "mixer.v_proj.weight"),
                     *o = tensor(m, layer, "mixer.o_proj.weight");
    double scale = c.scale != 0 ? c.scale : 1 / sqrt((double)c.head_dim);
    float beta = (float)(hop__fields_beta(n->task->length) / scale);
    *hop__cell(q, 0, hop__fields_who(f, asker)) = 2 * beta;
    *hop__cell(k, 0, hop__fields_who(f, e)) = 1;
    for (int g = 0; g < e; g++) {
        int source = asker == 0            ? f->val + f->code.offset[g]
                     : g > 0 && g == e - 1 ? hop__fields_digit(f, g)
                                           : f->reg + f->code.offset[g];
        for (int i = f->code.offset[g]; i < f->code.offset[g + 1]; i++) {
            *hop__cell(q, 1 + i, source + i - f->code.offset[g]) = beta;
            *hop__cell(k, 1 + i, f->at + i) = 1;
        }
    }
    for (int i = 0; i < bits; i++) {
        *hop__cell(v, i, from + i) = 1;
        *hop__cell(o, f->reg + i, i) = HOP__WRITE_GAIN;
    }
}

/* What z_0's token has in the field `from` comes to the last token's register, larger than 2. */
static void fill_bring(hop_model *m, const net *n, int64_t layer, int from)
{
    hop_mixer_config own;
    hop__fields as = n->f;
    as.val = from, as.bits = n->f.code.width[0];
    if (layer_of(n, layer, &own)->kind == HOP_MIXER_WINDOW) {
        fill_look_up(m, n, layer, 0, -1, from, as.bits);
        return;
    }
    hop__fill_linear(m, &as, layer, hop__fields_who(&as, -1), n->task->length); /* gates: the last token's */
    if (!hop__linear_is_exact(hop_model_config(m), layer)) return;
    hop__site s = hop__site_at(m, &as, layer);
    const hop_weight *out = hop__site_tensor(&s, s.w->out);
    for (int64_t i = 0; i < out->shape[0] * out->shape[1]; i++) out->data[i] *= HOP__WRITE_GAIN;
}

static void fill(hop_model *m, const net *n)
{
    hop__fill_tables(m, &n->f, n->task);
    for (int64_t i = 0; i < n->c->pattern.layers; i++) {
        const role *r = &n->roles[i];
        if (r->part == IDLE) continue;
        if (r->part == LOOK_UP) fill_look_up(m, n, i, r->e, -1, n->f.val, n->f.bits);
        if (r->part == ASK_EARLY) fill_look_up(m, n, i, 1, 0, n->f.val, n->f.bits);
        if (r->part == BRING_VALUE || r->part == BRING_REGISTER)
            fill_bring(m, n, i, r->part == BRING_VALUE ? n->f.val : n->f.reg);
        hop__fill_clip(m, &n->f, i);
    }
}

static hop_status make(hop_model **out, net *n, hop_config *c, hop_error *err)
{
    hop__fields first = n->f;
    hop_status s = HOP_OK;
    first.bits = n->f.code.width[0];
    if (!find_roles(n)) return hop_fail(err, HOP_EDOMAIN, "the layers are too few, or too narrow");
    for (int64_t i = 0; s == HOP_OK && i < c->pattern.layers; i++) {
        hop_mixer_config own;
        bool brought = n->roles[i].part == BRING_VALUE || n->roles[i].part == BRING_REGISTER;
        if (brought && layer_of(n, i, &own)->kind == HOP_MIXER_RECURRENT)
            s = hop__linear_ready(c, &first, i, err);
    }
    if (s == HOP_OK) s = hop_model_new(out, c, err);
    if (s == HOP_OK) fill(*out, n);
    return s;
}

hop_status hop__construct_clipped(hop_model **out, const hop_task *task, hop_config *c, hop_error *err)
{
    net n = {.task = &task->funccomp, .c = c};
    hop__fields_init(&n.f, n.task);
    if (c->norm != HOP_NORM_NONE || c->mlp != HOP_MLP_RELU || c->bidirectional || c->tied)
        return hop_fail(err, HOP_EDOMAIN, "a clip takes norm none, mlp relu and a read-out of its own");
    if (c->d_model == 0) c->d_model = n.f.d_model;
    if (c->head_dim == 0) c->head_dim = n.f.head_dim;
    if (c->mlp_hidden == 0) c->mlp_hidden = 2 * n.f.bits;
    if (c->d_model < n.f.d_model || c->mlp_hidden < 2 * (int64_t)n.f.bits)
        return hop_fail(err, HOP_EDOMAIN, "hidden_size: these sizes need %d numbers, and MLPs of %d",
                        n.f.d_model, 2 * n.f.bits);
    hop_status s = hop_config_validate(c, err);
    if (s != HOP_OK) return s;
    n.roles = hop_alloc((size_t)c->pattern.layers * sizeof *n.roles);
    if (!n.roles) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < c->pattern.layers; i++) n.roles[i] = (role){IDLE, 0};
    s = make(out, &n, c, err);
    hop_free(n.roles);
    return s;
}
