/* The exact network for function composition in a given architecture: any pattern with enough attention, any
 * width, grouped keys, RMS norms, any MLP, RoPE on some numbers of a head or on all, tied tables.
 *
 * Statement (docs/THEORY.md section 5.7). Layers that are not needed, and all MLPs, have output projections
 * of 0 and pass the stream as it is. L+1 full layers, or a linear layer and L full ones behind it, make the
 * look-ups of sections 5.1 and 5.2, each into a register of its own. */
#include "shaped.h"

#include <math.h>
#include <stdlib.h>

/* ---- the stream ------------------------------------------------------------------------------------ */

void hop__stream_init(hop__stream *s, const hop_funccomp *task, bool tied)
{
    hop__fields *f = &s->f;
    *s = (hop__stream){.gain = tied ? HOP__WRITE_GAIN : 1};
    hop__fields_init(f, task); /* who, at, val, dig; registers follow */
    int at = f->reg;
    s->one = at++;
    for (int e = 0; e < f->hops; e++) {
        s->reg[e] = at;
        at += f->code.offset[e > 0 ? e : 1];
    }
    f->reg = tied ? f->val : at;
    f->d_model = tied ? at : at + f->bits;
}

static void fill_ends(hop_model *m, const hop__stream *s, const hop_task *task)
{
    const hop_config *c = hop_model_config(m);
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight"),
                     *norm = hop_model_weight(m, "model.norm.weight");
    hop__fill_tables(m, &s->f, &task->funccomp);
    for (int64_t p = 0; p < c->max_positions; p++) *hop__cell(positions, p, s->one) = (float)s->constant;
    for (int i = 0; norm && i < s->f.bits; i++) norm->data[s->f.reg + i] = (float)s->root;
}

/* Norms that a look-up stands behind give the stream back, the constant as 1; the others are what they begin
 * as in training. */
static void fill_norms(hop_model *m, const hop__stream *s, const int64_t *layer)
{
    const hop_config *c = hop_model_config(m);
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        const hop_weight *in = hop_model_layer_weight(m, i, "input_layernorm.weight"),
                         *mlp = hop_model_layer_weight(m, i, "post_mixer_layernorm.weight");
        bool active = false;
        for (int e = 0; e <= s->f.hops; e++) active = active || layer[e] == i;
        for (int64_t k = 0; in && k < c->d_model; k++) in->data[k] = active ? (float)s->root : 1;
        for (int64_t k = 0; mlp && k < c->d_model; k++) mlp->data[k] = 1;
        if (in && active) in->data[s->one] = (float)(s->root / s->constant);
    }
}

/* ---- which layers --------------------------------------------------------------------------------- */

/* Does the layer see every token of the sequence? */
static bool sees_all(const hop_config *c, int64_t layer, int64_t tokens)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    hop_mixer_config own;
    if (!ops || hop_config_mixer(c, ops, layer, &own, NULL) != HOP_OK) return false;
    return ops->kind == HOP_MIXER_FULL ||
           (ops->kind == HOP_MIXER_WINDOW && own.option[HOP_OPTION_window] >= tokens);
}

static bool is_linear(const hop_config *c, int64_t layer)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    return ops && ops->kind == HOP_MIXER_RECURRENT;
}

hop_status hop__stream_layers(const hop_config *c, const hop_funccomp *task, int64_t layer[HOP_MAX_HOPS + 1],
                              hop_error *err)
{
    int64_t full = 0, linear = -1, first = -1;
    int hops = task->hops, e = 0;
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        const char *mixer = hop_pattern_mixer(&c->pattern, i);
        if (!hop_mixer_find(mixer))
            return hop_fail(err, HOP_EUNKNOWN, "pattern: unknown mixer \"%s\"", mixer);
        if (sees_all(c, i, task->length) && full++ == 0) first = i;
        if (is_linear(c, i) && first < 0 && linear < 0) linear = i;
    }
    if (full < hops || (full == hops && linear < 0))
        return hop_fail(
            err, HOP_EDOMAIN,
            "%d hops need %d layers that attend to all tokens, or %d and a linear one before the first; "
            "the pattern has %lld%s",
            hops, hops + 1, hops, (long long)full,
            linear < 0 ? ", and no such linear layer" : ", and such a linear layer");
    if (full == hops) layer[e++] = linear;
    for (int64_t i = 0; e <= hops; i++)
        if (sees_all(c, i, task->length)) layer[e++] = i;
    return HOP_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static hop_status shape_config(hop_config *c, const hop_task *task, const hop_config *shape,
                               const char *construction, hop_error *err)
{
    hop_config own;
    hop_text pattern = {0};
    hop_pattern_print(&shape->pattern, &pattern);
    hop_status s = pattern.failed || !pattern.s
                       ? hop_fail(err, HOP_ENOMEM, "out of memory")
                       : hop__construct_config(&own, pattern.s, task, construction, err);
    hop_text_free(&pattern);
    if (s != HOP_OK) return s;
    if ((s = hop_config_copy(c, shape, err)) == HOP_OK) {
        free(c->task_json), free(c->construction_json);
        c->task_json = own.task_json, c->construction_json = own.construction_json;
        own.task_json = own.construction_json = NULL;
        c->vocab = own.vocab, c->max_positions = own.max_positions, c->position_table = true;
    }
    hop_config_free(&own);
    return s;
}

/* The smallest sizes where none are given. */
static hop_status choose_sizes(hop_config *c, hop__stream *s, hop_error *err)
{
    int64_t need = 2 + s->f.bits;
    if (c->norm == HOP_NORM_LAYER)
        return hop_fail(err, HOP_EDOMAIN,
                        "norm: layer takes the mean off, of which nothing is known; rms or none");
    if (c->bidirectional) return hop_fail(err, HOP_EDOMAIN, "bidirectional: is for encoders");
    if (c->d_model == 0) c->d_model = s->f.d_model;
    if (c->head_dim == 0) c->head_dim = c->rope_theta > 0 && need < 64 ? 64 : need;
    if (c->mlp_hidden == 0) c->mlp_hidden = c->d_model;
    if (c->d_model < s->f.d_model)
        return hop_fail(err, HOP_EDOMAIN, "hidden_size: these sizes need %d numbers, not %lld", s->f.d_model,
                        (long long)c->d_model);
    s->constant = c->norm == HOP_NORM_RMS ? HOP__LARGE_ONE : 1;
    s->root = sqrt(s->constant * s->constant / (double)c->d_model + c->norm_eps);
    return hop_config_validate(c, err);
}

static hop_status fill(hop_model *m, hop__stream *s, const hop_task *task, const int64_t *layer,
                       hop_error *err)
{
    const hop_config *c = hop_model_config(m);
    hop_status status = HOP_OK;
    fill_ends(m, s, task);
    if (c->norm != HOP_NORM_NONE) fill_norms(m, s, layer);
    for (int e = 0; status == HOP_OK && e <= s->f.hops; e++) {
        hop__fields first = s->f; /* of a linear layer: i_0 has one digit */
        first.reg = s->reg[0], first.bits = s->f.code.width[0];
        if (is_linear(c, layer[e]))
            hop__fill_linear(m, &first, layer[e], s->one, task->length);
        else
            status = hop__stream_look_up(m, s, &task->funccomp, layer[e], e, err);
    }
    return status;
}

hop_status hop__construct_shaped(hop_model **out, const hop_task *task, const hop_config *shape,
                                 const char *construction, hop_error *err)
{
    hop__stream s;
    hop_config c;
    int64_t layer[HOP_MAX_HOPS + 1];
    hop__stream_init(&s, &task->funccomp, shape->tied);
    hop_status status = shape_config(&c, task, shape, construction, err);
    if (status != HOP_OK) return status;
    status = choose_sizes(&c, &s, err);
    if (status == HOP_OK) status = hop__stream_layers(&c, &task->funccomp, layer, err);
    if (status == HOP_OK && is_linear(&c, layer[0])) {
        hop__fields first = s.f;
        first.bits = s.f.code.width[0];
        status = hop__linear_ready(&c, &first, layer[0], err);
    }
    if (status == HOP_OK) status = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (status != HOP_OK) return status;
    status = fill(*out, &s, task, layer, err);
    if (status == HOP_OK) return HOP_OK;
    hop_model_free(*out);
    *out = NULL;
    return status;
}
