/* The interval proof, layer by layer. See analysis.h for what is tracked and docs/THEORY.md section 6 for why
 * the result holds for every input. */
#include "prove.h"

#include <stdio.h>
#include <string.h>

void hop__add_hint(hop__analysis *a, hop__hint h)
{
    if (a->hint_count < HOP__HINTS) a->hints[a->hint_count++] = h;
}

/* ---- what the analysis understands ---------------------------------------------------------- */

static bool too_large(const hop_weight *w)
{
    int64_t n = w->shape[0] * (w->rank == 2 ? w->shape[1] : 1);
    for (int64_t i = 0; i < n; i++)
        if (!(w->data[i] > -1e12f && w->data[i] < 1e12f)) return true;
    return false;
}

#define MAX_TERMS 50000 /* HOP_DOT_ERROR holds up to twice as many */

void hop__full_scope(const hop_model *m, int64_t layer, char *why, size_t size)
{
    hop_mixer_config c = hop_model_mixer_config(m, layer),
                     last = hop_model_mixer_config(m, hop_model_config(m)->pattern.layers - 1);
    if (c.heads != 1)
        snprintf(why, size, "the interval analysis covers one head a layer, not %lld", (long long)c.heads);
    if (c.rope_theta != 0) snprintf(why, size, "the interval analysis does not cover RoPE");
    if (c.scale < 0) snprintf(why, size, "the interval analysis does not cover negative attention scales");
    if (c.head_dim != last.head_dim || c.scale != last.scale)
        snprintf(why, size, "the interval analysis covers equal attention layers");
}

void hop__plain_scope(const hop_model *m, const hop_task *task, char *why, size_t size)
{
    const hop_config *c = hop_model_config(m);
    why[0] = 0;
    if (task->kind != HOP_TASK_FUNCCOMP)
        snprintf(why, size, "the interval analysis does not cover the task %s", hop_task_name(task->kind));
    if (why[0]) return;
    if (c->seeded) snprintf(why, size, "the interval analysis needs stored weights");
    if (c->norm != HOP_NORM_NONE) snprintf(why, size, "the interval analysis does not cover norms");
    if (c->mlp != HOP_MLP_RELU && c->mlp != HOP_MLP_NONE)
        snprintf(why, size, "the interval analysis does not cover %s MLPs", hop_mlp_name(c->mlp));
    if (c->d_model > MAX_TERMS || c->head_dim > MAX_TERMS || c->mlp_hidden > MAX_TERMS)
        snprintf(why, size, "the kernels' error bound does not cover sums of more than %d terms", MAX_TERMS);
    if (HOP_ATTN_ERROR(task->length) > 0.1)
        snprintf(why, size, "the sequence is too long for the kernels' error bound");
    for (int64_t i = 0; !why[0] && i < hop_model_weight_count(m); i++)
        if (too_large(hop_model_weight_at(m, i)))
            snprintf(why, size, "tensor %s has a number that is not finite or beyond 10^12",
                     hop_model_weight_at(m, i)->name);
}

/* "" when the network is a chain of look-ups, one a layer, else what is in the way. */
static void out_of_scope(const hop_model *m, const hop_task *task, char *why, size_t size)
{
    const hop_config *c = hop_model_config(m);
    hop__plain_scope(m, task, why, size);
    if (why[0]) return;
    int hops = task->funccomp.hops;
    if (c->pattern.layers != hops + 1)
        snprintf(why, size, "the interval analysis covers %d layers for %d hops, not %lld", hops + 1, hops,
                 (long long)c->pattern.layers);
    for (int64_t i = 0; !why[0] && i < c->pattern.layers; i++) {
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, i));
        if (strcmp(ops->name, "full") == 0)
            hop__full_scope(m, i, why, size);
        else if (i > 0 || ops->kind != HOP_MIXER_RECURRENT)
            snprintf(why, size, "the interval analysis does not cover %s in layer %lld", ops->name,
                     (long long)i);
    }
}

/* ---- the start ------------------------------------------------------------------------------ */

static ival table_hull(const float *table, int64_t rows, int64_t d, int64_t c)
{
    ival h = ival_point(table[c]);
    for (int64_t r = 1; r < rows; r++) h = ival_hull(h, ival_point(table[r * d + c]));
    return h;
}

/* Of two table entries, as float32 adds them; with one of them zero, nothing is rounded. */
static ival rounded_sum(ival a, ival b)
{
    ival s = ival_add(a, b);
    bool exact = (a.lo == 0 && a.hi == 0) || (b.lo == 0 && b.hi == 0);
    return exact ? s : ival_widen(s, HOP_UNIT_ROUNDOFF * ival_mag(s));
}

static hop_status start(hop__analysis *a, hop_error *err)
{
    const hop_config *c = hop_model_config(a->model);
    const hop_weight *positions = hop_model_weight(a->model, "model.embed_positions.weight");
    size_t d = (size_t)(a->d = c->d_model);
    hop_mixer_config mixer = hop_model_mixer_config(a->model, c->pattern.layers - 1); /* a full layer */
    a->head_dim = mixer.head_dim;
    a->tokens = a->task->length;
    a->scale = (float)(mixer.scale != 0 ? mixer.scale : 1.0 / sqrt((double)mixer.head_dim));
    a->token_table = hop_model_weight(a->model, "model.embed_tokens.weight")->data;
    a->position_table = positions ? positions->data : NULL;
    a->any = hop_alloc(sizeof(ival) * d);
    a->last = hop_alloc(sizeof(ival) * d);
    a->token_hull = hop_alloc(sizeof(ival) * d);
    a->widest = 1;
    for (int64_t l = 0; l < c->pattern.layers; l++) {
        const hop_weight *v = hop_model_layer_weight(a->model, l, "mixer.v_proj.weight");
        if (v && v->shape[0] > a->widest) a->widest = v->shape[0];
    }
    a->values = hop_alloc(sizeof(ival) * (size_t)a->widest);
    a->written = hop_alloc(sizeof(bool) * d);
    a->slot = hop_alloc(sizeof(int) * d);
    a->reg = hop_alloc(sizeof(ival));
    a->cases = 1;
    if (!a->any || !a->last || !a->token_hull || !a->values || !a->written || !a->slot || !a->reg)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t k = 0; k < a->d; k++) {
        ival zero = {0, 0},
             places = a->position_table ? table_hull(a->position_table, a->tokens, a->d, k) : zero;
        ival place = a->position_table ? ival_point(a->position_table[(a->tokens - 1) * a->d + k]) : zero;
        a->token_hull[k] = table_hull(a->token_table, a->task->vocab, a->d, k);
        a->any[k] = rounded_sum(a->token_hull[k], places);
        a->last[k] = rounded_sum(table_hull(a->token_table, a->task->queries, a->d, k), place);
        a->slot[k] = -1;
    }
    return HOP_OK;
}

static void free_tables(hop__analysis *a)
{
    hop_free(a->any);
    hop_free(a->last);
    hop_free(a->token_hull);
    hop_free(a->values);
    hop_free(a->written);
    hop_free(a->slot);
    hop_free(a->reg);
}

/* ---- layers --------------------------------------------------------------------------------- */

static void drop_layer(hop__analysis *a)
{
    hop__sparse *all[] = {&a->w.q, &a->w.k, &a->w.v, &a->w.o, &a->w.up, &a->w.down};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hop__sparse_free(all[i]);
}

static hop_status take_layer(hop__analysis *a, int e, bool attends, hop_error *err)
{
    const struct {
        hop__sparse *to;
        const char *name;
    } all[] = {
        {&a->w.q, "mixer.q_proj.weight"}, {&a->w.k, "mixer.k_proj.weight"},
        {&a->w.v, "mixer.v_proj.weight"}, {&a->w.o, "mixer.o_proj.weight"},
        {&a->w.up, "mlp.up_proj.weight"}, {&a->w.down, "mlp.down_proj.weight"},
    };
    for (size_t i = attends ? 0 : 4; i < sizeof all / sizeof *all; i++) {
        const hop_weight *w = hop_model_layer_weight(a->model, e, all[i].name);
        hop_status s = w ? hop__sparse_new(all[i].to, w, err) : HOP_OK; /* no MLP: zero rows */
        if (s != HOP_OK) return s;
    }
    const hop_weight *up = hop_model_layer_weight(a->model, e, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(a->model, e, "mlp.down_proj.bias");
    a->w.up_bias = up ? up->data : NULL;
    a->w.down_bias = down ? down->data : NULL;
    return HOP_OK;
}

static hop_status run_layer(hop__analysis *a, int e, hop_margin *margin, hop_error *err)
{
    const char *mixer = hop_pattern_mixer(&hop_model_config(a->model)->pattern, e);
    bool attends = strcmp(mixer, "full") == 0 || strcmp(mixer, "based") == 0;
    hop_status s = take_layer(a, e, attends, err);
    if (s == HOP_OK && !attends) s = hop__bound_recurrent(a, margin, err);
    if (s == HOP_OK && attends && e == 0 && strcmp(mixer, "based") == 0)
        s = hop__bound_taylor(a, margin, err);
    else if (s == HOP_OK && attends)
        s = hop__bound_attention(a, e, margin, err);
    if (s == HOP_OK && attends) s = hop__bound_heads(a, e, margin, err);
    drop_layer(a);
    return s;
}

/* Blames the first layer whose margin is gone; the read-out only when all layers look sound. */
static void blame(hop_proof *p)
{
    for (int64_t e = 0; e < p->margin_count; e++) {
        const hop_margin *m = &p->margins[e];
        if (!(m->score_gap > 0)) {
            snprintf(p->why, sizeof p->why,
                     "layer %lld: at one of %lld addresses a wrong token's score may beat the right one's "
                     "(gap %.4g)",
                     (long long)e, (long long)m->addresses, m->score_gap);
            return;
        }
        if (!(m->wrong_mass < 0.25) || !(m->clip_margin > 0)) {
            snprintf(p->why, sizeof p->why,
                     "layer %lld: wrong tokens may get %.4g of the attention, the MLP's margin is %.4g",
                     (long long)e, m->wrong_mass, m->clip_margin);
            return;
        }
    }
    snprintf(p->why, sizeof p->why, "read-out: a wrong logit may beat the right one's (margin %.4g)",
             p->readout_margin);
}

static hop_status analyse(hop__analysis *a, hop_proof *p, bool *proved, hop_error *err)
{
    hop_status s = start(a, err);
    int layers = a->task->hops + 1;
    p->margins = hop_alloc(sizeof(hop_margin) * (size_t)layers);
    if (!p->margins) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int e = 0; s == HOP_OK && e < layers; e++) {
        s = run_layer(a, e, &p->margins[e], err);
        if (s == HOP_OK) p->margin_count++;
    }
    if (s == HOP_OK) s = hop__bound_readout(a, &p->readout_margin, err);
    if (s == HOP_OK) hop__analysis_verdict(a, p, proved);
    return hop__analysis_status(p, s, err);
}

/* ---- for analyses of other networks --------------------------------------------------------------- */

hop_status hop__analysis_open(hop__analysis *a, int layer, hop_error *err)
{
    hop_status s = start(a, err);
    return s == HOP_OK ? take_layer(a, layer, true, err) : s;
}

hop_status hop__analysis_layer(hop__analysis *a, int layer, hop_error *err)
{
    drop_layer(a);
    return take_layer(a, layer, true, err);
}

void hop__analysis_close(hop__analysis *a)
{
    drop_layer(a);
    free_tables(a);
}

void hop__analysis_verdict(const hop__analysis *a, hop_proof *p, bool *proved)
{
    *proved = p->readout_margin > 0 && !a->overflow;
    if (a->overflow)
        snprintf(p->why, sizeof p->why, "a number may leave the range of float32");
    else if (!*proved)
        blame(p);
}

hop_status hop__analysis_status(hop_proof *p, hop_status s, const hop_error *err)
{
    if (s != HOP_EDOMAIN) return s;
    snprintf(p->why, sizeof p->why, "%s", err && err->text[0] ? err->text : "outside the method's limits");
    return HOP_OK;
}

hop_status hop__prove_chain(hop_proof *p, const hop_model *m, const hop_task *task,
                            const hop_prove_options *o, bool *proved, hop__hint *hints, int *hint_count,
                            hop_error *err)
{
    *proved = false;
    *hint_count = 0;
    out_of_scope(m, task, p->why, sizeof p->why);
    if (p->why[0]) return HOP_OK;
    hop_error local = {0};
    hop__analysis a = {.model = m, .task = &task->funccomp, .options = o};
    hop_status s = analyse(&a, p, proved, err ? err : &local);
    memcpy(hints, a.hints, sizeof a.hints);
    *hint_count = a.hint_count;
    free_tables(&a);
    return s;
}
