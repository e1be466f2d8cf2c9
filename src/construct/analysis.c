/* The interval proof, layer by layer. See analysis.h for what is tracked and docs/THEORY.md section 6 for why
 * the result holds for every input. */
#include "analysis.h"

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

/* "" when the network is of the kind analysed here, else what is in the way. */
static void out_of_scope(const hop_model *m, const hop_funccomp *task, char *why, size_t size)
{
    const hop_config *c = hop_model_config(m);
    why[0] = 0;
    for (int64_t r = 0; r < c->pattern.run_count; r++)
        if (strcmp(c->pattern.runs[r].mixer, "full") != 0)
            snprintf(why, size, "the interval analysis does not cover %s layers", c->pattern.runs[r].mixer);
    if (c->norm != HOP_NORM_NONE) snprintf(why, size, "the interval analysis does not cover norms");
    if (c->mlp != HOP_MLP_RELU && c->mlp != HOP_MLP_NONE)
        snprintf(why, size, "the interval analysis does not cover %s MLPs", hop_mlp_name(c->mlp));
    if (c->rope_theta != 0) snprintf(why, size, "the interval analysis does not cover RoPE");
    if (c->heads != 1)
        snprintf(why, size, "the interval analysis covers one head a layer, not %lld", (long long)c->heads);
    if (c->attention_scale < 0)
        snprintf(why, size, "the interval analysis does not cover negative attention scales");
    if (c->pattern.layers != task->hops + 1)
        snprintf(why, size, "the interval analysis covers %d layers for %d hops, not %lld", task->hops + 1,
                 task->hops, (long long)c->pattern.layers);
    if (c->d_model > MAX_TERMS || c->head_dim > MAX_TERMS || c->mlp_hidden > MAX_TERMS)
        snprintf(why, size, "the kernels' error bound does not cover sums of more than %d terms", MAX_TERMS);
    if (HOP_ATTN_ERROR(task->length) > 0.1)
        snprintf(why, size, "the sequence is too long for the kernels' error bound");
    for (int64_t i = 0; !why[0] && i < hop_model_weight_count(m); i++)
        if (too_large(hop_model_weight_at(m, i)))
            snprintf(why, size, "tensor %s has a number that is not finite or beyond 10^12",
                     hop_model_weight_at(m, i)->name);
}

/* ---- the start ------------------------------------------------------------------------------ */

static ival table_hull(const float *table, int64_t rows, int64_t d, int64_t c)
{
    ival h = ival_point(table[c]);
    for (int64_t r = 1; r < rows; r++) h = ival_hull(h, ival_point(table[r * d + c]));
    return h;
}

static hop_status start(hop__analysis *a, hop_error *err)
{
    const hop_config *c = hop_model_config(a->model);
    const hop_weight *positions = hop_model_weight(a->model, "model.embed_positions.weight");
    size_t d = (size_t)(a->d = c->d_model);
    a->head_dim = c->head_dim;
    a->tokens = a->task->length;
    a->scale = (float)(c->attention_scale != 0 ? c->attention_scale : 1.0 / sqrt((double)c->head_dim));
    a->token_table = hop_model_weight(a->model, "model.embed_tokens.weight")->data;
    a->position_table = positions ? positions->data : NULL;
    a->any = hop_alloc(sizeof(ival) * d);
    a->last = hop_alloc(sizeof(ival) * d);
    a->token_hull = hop_alloc(sizeof(ival) * d);
    a->values = hop_alloc(sizeof(ival) * (size_t)a->head_dim);
    a->written = hop_alloc(sizeof(bool) * d);
    a->slot = hop_alloc(sizeof(int) * d);
    a->reg = hop_alloc(sizeof(ival));
    a->cases = 1;
    if (!a->any || !a->last || !a->token_hull || !a->values || !a->written || !a->slot || !a->reg)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t k = 0; k < a->d; k++) {
        a->token_hull[k] = table_hull(a->token_table, a->task->vocab, a->d, k);
        a->any[k] = a->token_hull[k];
        a->last[k] = table_hull(a->token_table, a->task->queries, a->d, k);
        if (a->position_table) {
            a->any[k] = ival_add(a->any[k], table_hull(a->position_table, a->tokens, a->d, k));
            a->last[k] = ival_add(a->last[k], ival_point(a->position_table[(a->tokens - 1) * a->d + k]));
        }
        a->any[k] =
            ival_widen(a->any[k], HOP_UNIT_ROUNDOFF * ival_mag(a->any[k])); /* the sum of the two, rounded */
        a->last[k] = ival_widen(a->last[k], HOP_UNIT_ROUNDOFF * ival_mag(a->last[k]));
        a->slot[k] = -1;
    }
    return HOP_OK;
}

static void finish(hop__analysis *a)
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

static hop_status take_layer(hop__analysis *a, int e, hop_error *err)
{
    const struct {
        hop__sparse *to;
        const char *name;
    } all[] = {
        {&a->w.q, "mixer.q_proj.weight"}, {&a->w.k, "mixer.k_proj.weight"},
        {&a->w.v, "mixer.v_proj.weight"}, {&a->w.o, "mixer.o_proj.weight"},
        {&a->w.up, "mlp.up_proj.weight"}, {&a->w.down, "mlp.down_proj.weight"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
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
    hop_status s = take_layer(a, e, err);
    if (s == HOP_OK) s = hop__bound_attention(a, e, margin, err);
    if (s == HOP_OK) s = hop__bound_registers(a, e, margin, err);
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
    if (s == HOP_EDOMAIN) { /* a limit of the method, not a failure of the call */
        snprintf(p->why, sizeof p->why, "%s", err ? err->text : "outside the method's limits");
        return HOP_OK;
    }
    if (s != HOP_OK) return s;
    *proved = p->readout_margin > 0 && !a->overflow;
    if (a->overflow)
        snprintf(p->why, sizeof p->why, "a number may leave the range of float32");
    else if (!*proved)
        blame(p);
    return HOP_OK;
}

hop_status hop__prove_by_intervals(hop_proof *p, const hop_model *m, const hop_funccomp *task,
                                   const hop_prove_options *o, bool *proved, hop__hint *hints,
                                   int *hint_count, hop_error *err)
{
    *proved = false;
    *hint_count = 0;
    out_of_scope(m, task, p->why, sizeof p->why);
    if (p->why[0]) return HOP_OK;
    hop_error local = {0};
    hop__analysis a = {.model = m, .task = task, .options = o};
    hop_status s = analyse(&a, p, proved, err ? err : &local);
    memcpy(hints, a.hints, sizeof a.hints);
    *hint_count = a.hint_count;
    finish(&a);
    return s;
}
