/* The exact network for function composition in a given architecture: any pattern with enough attention, any
 * width, grouped keys, RMS norms, any MLP, RoPE on some numbers of a head or on all, tied tables.
 *
 * Statement (docs/THEORY.md section 5.7). Layers that are not needed, and all MLPs, have output projections
 * of 0 and pass the stream as it is. L+1 full layers, or a linear layer and L full ones behind it, make the
 * look-ups of sections 5.1 and 5.2, each into a register of its own; where there are fewer full layers,
 * states that hold tables make some of them (section 5.8). */
#include "shaped.h"

#include <math.h>
#include <stdlib.h>

/* ---- the stream ------------------------------------------------------------------------------------ */

void hop__stream_init(hop__stream *s, const hop_funccomp *task, bool tied, int64_t width)
{
    hop__fields *f = &s->f;
    *s = (hop__stream){.gain = 1};
    hop__fields_init(f, task); /* who, at, val, dig; registers follow */
    int at = f->reg;
    s->one = at++;
    for (int e = 0; e < f->hops; e++) {
        s->reg[e] = at;
        at += f->code.offset[e > 0 ? e : 1];
    }
    bool over = tied || (width > 0 && width < at + f->bits);
    if (over) s->gain = HOP__WRITE_GAIN;
    f->reg = over ? f->val : at;
    f->d_model = over ? at : at + f->bits;
}

int hop__stream_bits(const hop__stream *s, int e)
{
    return e == s->f.hops ? s->f.bits : s->f.code.offset[e > 0 ? e : 1];
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
static void fill_norms(hop_model *m, const hop__stream *s, const hop__assignment *assignment)
{
    const hop_config *c = hop_model_config(m);
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        const hop_weight *in = hop_model_layer_weight(m, i, "input_layernorm.weight"),
                         *mlp = hop_model_layer_weight(m, i, "post_mixer_layernorm.weight");
        bool active = assignment[i].e >= 0;
        for (int64_t k = 0; in && k < c->d_model; k++) in->data[k] = active ? (float)s->root : 1;
        for (int64_t k = 0; mlp && k < c->d_model; k++) mlp->data[k] = 1;
        if (in && active) in->data[s->one] = (float)(s->root / s->constant);
    }
}

/* ---- which layers --------------------------------------------------------------------------------- */

/* Does the layer see the last so many tokens of the sequence? */
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

/* Does layer i attend to all tokens that look-up e may ask for, with heads that have room for it? z_0 stands
 * beside the last token. */
static bool looks_up(const hop_config *c, const hop__stream *s, const hop_funccomp *task, int64_t i, int e)
{
    return sees_all(c, i, e == 0 ? 2 : task->length) && hop__stream_room(c, s, task, i, e, NULL) == HOP_OK;
}

/* Look-ups from e on by the full layers from `from` on. */
static bool by_full_layers(const hop_config *c, const hop__stream *s, const hop_funccomp *task, int64_t from,
                           int e, hop__assignment *assignment)
{
    for (int64_t i = from; i < c->pattern.layers && e <= task->hops; i++)
        if (looks_up(c, s, task, i, e)) assignment[i].e = e++;
    return e > task->hops;
}

static void assign_none(const hop_config *c, hop__assignment *assignment)
{
    for (int64_t i = 0; i < c->pattern.layers; i++) assignment[i] = (hop__assignment){.e = -1};
}

/* By full layers, one of which may be replaced by a linear one before the first that has room for i_0's code:
 * i_0 needs no table. */
static bool assign_full(const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                        hop__assignment *assignment)
{
    if (by_full_layers(c, s, task, 0, 0, assignment)) return true;
    assign_none(c, assignment);
    for (int64_t i = 0; i < c->pattern.layers && !looks_up(c, s, task, i, 1); i++) {
        if (!is_linear(c, i) || !hop__linear_carries(c, s->f.code.width[0], i)) continue;
        assignment[i].e = 0;
        return by_full_layers(c, s, task, i + 1, 1, assignment);
    }
    return false;
}

/* Every look-up as early as can be: tables grow, so to leave out a layer that could do one never helps.
 * Returns the look-ups that are done. */
static int assign_early(const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                        hop__assignment *assignment)
{
    int64_t held = 0, since = 0,
            carrier = -1; /* entries of z_e that layers since .. hold; the linear one for i_0 */
    int e = 0;
    for (int64_t i = 0; i < c->pattern.layers && e <= task->hops; i++) {
        bool full = looks_up(c, s, task, i, e), inexact = carrier >= 0 && !hop__linear_is_exact(c, carrier);
        int64_t rest = e > 0 ? task->size[e - 1] - held : 0;
        if (full) {
            for (; since < i; since++)
                if (assignment[since].e == e) assignment[since].e = -1; /* not needed */
            assignment[i].e = e, rest = 0;
        } else if (!is_linear(c, i)) {
            continue;
        } else if (e == 0 || (e == 1 && inexact)) { /* a state that z_1's address comes from must be exact */
            if (!hop__linear_carries(c, s->f.code.width[0], i) || (e == 1 && !hop__linear_is_exact(c, i)))
                continue;
            if (carrier >= 0) assignment[carrier].e = -1;
            assignment[i].e = 0, carrier = i, since = i + 1;
            e = 1;
            continue;
        } else {
            int64_t room = hop__table_entries(c, s, i, e), count = room < rest ? room : rest;
            if (count == 0) continue;
            assignment[i] = (hop__assignment){.e = e, .first = held, .count = count};
            held += count, rest -= count;
        }
        if (rest == 0) e++, held = 0, since = i + 1;
    }
    return e;
}

hop_status hop__assign_layers(const hop_config *c, const hop__stream *s, const hop_funccomp *task,
                              hop__assignment *assignment, hop_error *err)
{
    int64_t full = 0, linear = 0,
            before = 0; /* before: of the linear ones, those before the first full one */
    int hops = task->hops;
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        const char *mixer = hop_pattern_mixer(&c->pattern, i);
        if (!hop_mixer_find(mixer))
            return hop_fail(err, HOP_EUNKNOWN, "pattern: unknown mixer \"%s\"", mixer);
        if (is_linear(c, i)) linear++, before += full == 0;
        full += sees_all(c, i, task->length);
    }
    assign_none(c, assignment);
    if (assign_full(c, s, task, assignment)) return HOP_OK;
    assign_none(c, assignment);
    int done = assign_early(c, s, task, assignment);
    if (done > hops) return HOP_OK;
    for (int64_t i = c->pattern.layers - 1; full + (before > 0) > hops && i >= 0; i--) {
        hop_status room = sees_all(c, i, task->length) ? hop__stream_room(c, s, task, i, done, err) : HOP_OK;
        if (room != HOP_OK) return room; /* they are enough, and too narrow */
    }
    hop_text lacks = {0};
    hop__stream_short(&lacks, c, s, task, assignment, done);
    hop_fail(
        err, HOP_EDOMAIN,
        "%d hops need %d layers that attend to all tokens, or %d and a linear one before the first, or "
        "states that hold tables; the pattern has %lld that attend and %lld linear, which make %d hop%s; %s",
        hops, hops + 1, hops, (long long)full, (long long)linear, done > 1 ? done - 1 : 0,
        done == 2 ? "" : "s", lacks.s && !lacks.failed ? lacks.s : "");
    hop_text_free(&lacks);
    return HOP_EDOMAIN;
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
    if (c->tied && c->norm == HOP_NORM_NONE)
        s->gain += (float)s->f.digit_bits; /* w's digits are read out, too */
    s->root = sqrt(s->constant * s->constant / (double)c->d_model + c->norm_eps);
    return hop_config_validate(c, err);
}

static hop_status fill(hop_model *m, hop__stream *s, const hop_task *task, const hop__assignment *assignment,
                       hop_error *err)
{
    const hop_config *c = hop_model_config(m);
    hop_status status = HOP_OK;
    fill_ends(m, s, task);
    if (c->norm != HOP_NORM_NONE) fill_norms(m, s, assignment);
    for (int64_t i = 0; status == HOP_OK && i < c->pattern.layers; i++) {
        hop__fields first = s->f; /* of the linear layer that brings i_0, which has one digit */
        first.reg = s->reg[0], first.bits = s->f.code.width[0];
        if (assignment[i].e < 0) continue;
        if (!is_linear(c, i))
            status = hop__stream_look_up(m, s, &task->funccomp, i, assignment[i].e, err);
        else if (assignment[i].e == 0)
            hop__fill_linear(m, &first, i, s->one, task->length);
        else
            hop__fill_table(m, s, i, assignment[i]);
    }
    return status;
}

static hop_status check_carrier(hop_config *c, const hop__stream *s, const hop__assignment *assignment,
                                hop_error *err)
{
    hop__fields first = s->f;
    first.bits = s->f.code.width[0];
    for (int64_t i = 0; i < c->pattern.layers; i++)
        if (assignment[i].e == 0 && is_linear(c, i)) return hop__linear_ready(c, &first, i, err);
    return HOP_OK;
}

static hop_status build(hop_model **out, hop_config *c, hop__stream *s, const hop_task *task, hop_error *err)
{
    hop_status status = choose_sizes(c, s, err);
    if (status != HOP_OK) return status;
    hop__assignment *assignment = hop_alloc((size_t)c->pattern.layers * sizeof *assignment);
    if (!assignment) return hop_fail(err, HOP_ENOMEM, "out of memory");
    status = hop__assign_layers(c, s, &task->funccomp, assignment, err);
    if (status == HOP_OK) status = check_carrier(c, s, assignment, err);
    if (status == HOP_OK) status = hop_model_new(out, c, err);
    if (status == HOP_OK && (status = fill(*out, s, task, assignment, err)) != HOP_OK) {
        hop_model_free(*out);
        *out = NULL;
    }
    hop_free(assignment);
    return status;
}

hop_status hop__construct_shaped(hop_model **out, const hop_task *task, const hop_config *shape,
                                 const char *construction, hop_error *err)
{
    hop__stream s;
    hop_config c;
    hop__stream_init(&s, &task->funccomp, shape->tied, shape->d_model);
    hop_status status = shape_config(&c, task, shape, construction, err);
    if (status != HOP_OK) return status;
    status = build(out, &c, &s, task, err);
    hop_config_free(&c);
    if (status != HOP_EDOMAIN) return status;
    hop_status other = shape_config(&c, task, shape, construction, NULL); /* `err` says why not the first */
    if (other != HOP_OK) return status;
    other = hop__construct_clipped(out, task, &c, NULL);
    hop_config_free(&c);
    return other == HOP_OK ? other : status;
}
