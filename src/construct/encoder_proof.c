/* The proof that an encoder answers every input rightly, from its weights, in float32 as the kernels compute
 * it.
 *
 * By induction over the layers. encoder.h says what the tokens of each player ought to ask for in each layer,
 * given their value and w, and encoder_proof.h what is known of them in between. In each layer, for every
 * player and everything that its tokens may ask, the right token's score leads all others'
 * (encoder_proof_ask.c); so the head returns the right token's value vector up to the wrong mass, and
 * residual sum and MLP lead to new boxes (encoder_proof_write.c), in which a token's value is the result of
 * one more stretch of the chain. After the last layer w's value is the answer, and for each answer its logit
 * must lead. Nothing but the margin of the read-out decides: whatever went wrong before has made the boxes
 * wider. */
#include "encoder_proof.h"
#include "prove.h"

#include <stdio.h>
#include <string.h>

#define MAX_TERMS 50000 /* HOP_DOT_ERROR holds up to twice as many */

/* ---- what the analysis understands ---------------------------------------------------------- */

static bool too_large(const hop_weight *w)
{
    int64_t n = w->shape[0] * (w->rank == 2 ? w->shape[1] : 1);
    for (int64_t i = 0; i < n; i++)
        if (!(w->data[i] > -1e12f && w->data[i] < 1e12f)) return true;
    return false;
}

static void check_layer(const hop_model *m, int64_t layer, char *why, size_t size)
{
    hop_mixer_config c = hop_model_mixer_config(m, layer), first = hop_model_mixer_config(m, 0);
    const char *mixer = hop_pattern_mixer(&hop_model_config(m)->pattern, layer);
    if (strcmp(mixer, "full") != 0)
        snprintf(why, size, "the analysis of encoders does not cover %s layers", mixer);
    else if (c.heads != 1)
        snprintf(why, size, "the analysis of encoders covers one head a layer, not %lld", (long long)c.heads);
    else if (c.rope_theta != 0)
        snprintf(why, size, "the analysis of encoders does not cover RoPE");
    else if (c.scale < 0)
        snprintf(why, size, "the analysis of encoders does not cover negative attention scales");
    else if (!c.bidirectional)
        snprintf(why, size, "the analysis of encoders wants attention that looks both ways");
    else if (c.head_dim != first.head_dim || c.scale != first.scale)
        snprintf(why, size, "the analysis of encoders covers equal attention layers");
}

/* "" when the network is of the kind analysed here, else what is in the way. */
static void out_of_scope(const hop_model *m, const hop_task *task, char *why, size_t size)
{
    const hop_config *c = hop_model_config(m);
    why[0] = 0;
    if (task->kind != HOP_TASK_FUNCCOMP) {
        snprintf(why, size, "the analysis of encoders does not cover the task %s", hop_task_name(task->kind));
        return;
    }
    int hops = task->funccomp.hops, layers = hop__encoder_rounds(hops) + 2;
    if (c->seeded) snprintf(why, size, "the analysis of encoders needs stored weights");
    if (c->norm != HOP_NORM_NONE) snprintf(why, size, "the analysis of encoders does not cover norms");
    if (c->mlp != HOP_MLP_RELU && c->mlp != HOP_MLP_NONE)
        snprintf(why, size, "the analysis of encoders does not cover %s MLPs", hop_mlp_name(c->mlp));
    if (c->pattern.layers != layers)
        snprintf(why, size, "the analysis of encoders covers %d layers for %d hops, not %lld", layers, hops,
                 (long long)c->pattern.layers);
    if (c->d_model > MAX_TERMS || c->head_dim > MAX_TERMS || c->mlp_hidden > MAX_TERMS)
        snprintf(why, size, "the kernels' error bound does not cover sums of more than %d terms", MAX_TERMS);
    if (HOP_ATTN_ERROR(task->length) > 0.1)
        snprintf(why, size, "the sequence is too long for the kernels' error bound");
    for (int64_t i = 0; !why[0] && i < layers; i++) check_layer(m, i, why, size);
    for (int64_t i = 0; !why[0] && i < hop_model_weight_count(m); i++)
        if (too_large(hop_model_weight_at(m, i)))
            snprintf(why, size, "tensor %s has a number that is not finite or beyond 10^12",
                     hop_model_weight_at(m, i)->name);
}

/* ---- layers --------------------------------------------------------------------------------- */

static void drop_layer(hop__analysis *a)
{
    hop__sparse *all[] = {&a->w.q, &a->w.k, &a->w.v, &a->w.o, &a->w.up, &a->w.down};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hop__sparse_free(all[i]);
}

static hop_status take_layer(hop__analysis *a, int64_t layer, hop_error *err)
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
        const hop_weight *w = hop_model_layer_weight(a->model, layer, all[i].name);
        hop_status s = w ? hop__sparse_new(all[i].to, w, err) : HOP_OK; /* no MLP: zero rows */
        if (s != HOP_OK) return s;
    }
    const hop_weight *up = hop_model_layer_weight(a->model, layer, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(a->model, layer, "mlp.down_proj.bias");
    a->w.up_bias = up ? up->data : NULL;
    a->w.down_bias = down ? down->data : NULL;
    return HOP_OK;
}

static hop_status run_layer(hop__encoder *e, int64_t layer, hop_margin *margin, hop_error *err)
{
    hop_status s = take_layer(&e->a, layer, err);
    if (s == HOP_OK) {
        hop__encoder_any(e);
        s = hop__encoder_scores(e, layer, margin, err);
    }
    if (s == HOP_OK) s = hop__encoder_write(e, layer, margin, err);
    drop_layer(&e->a);
    return s;
}

static hop_status run_layers(hop__encoder *e, hop_proof *p, hop_error *err)
{
    int64_t layers = hop_model_config(e->a.model)->pattern.layers;
    hop_status s = hop__encoder_start(e, err);
    p->margins = hop_alloc(sizeof(hop_margin) * (size_t)layers);
    e->a.values = hop_alloc(sizeof(ival) * (size_t)e->a.head_dim);
    if (!p->margins || !e->a.values) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t layer = 0; s == HOP_OK && layer < layers; layer++) {
        s = run_layer(e, layer, &p->margins[layer], err);
        if (s == HOP_OK) p->margin_count++;
    }
    return s == HOP_OK ? hop__encoder_readout(e, &p->readout_margin, err) : s;
}

/* ---- the verdict ---------------------------------------------------------------------------- */

/* Blames the first layer whose margin is gone; the read-out only when all layers look sound. */
static void blame(hop_proof *p)
{
    for (int64_t i = 0; i < p->margin_count; i++) {
        const hop_margin *m = &p->margins[i];
        if (!(m->score_gap > 0)) {
            snprintf(p->why, sizeof p->why,
                     "layer %lld: for one of %lld questions a wrong token's score may beat the right one's "
                     "(gap %.4g)",
                     (long long)i, (long long)m->addresses, m->score_gap);
            return;
        }
        if (!(m->wrong_mass < 0.25) || !(m->clip_margin > 0)) {
            snprintf(p->why, sizeof p->why,
                     "layer %lld: wrong tokens may get %.4g of the attention, the MLP's margin is %.4g",
                     (long long)i, m->wrong_mass, m->clip_margin);
            return;
        }
    }
    snprintf(p->why, sizeof p->why, "read-out: a wrong logit may beat the right one's (margin %.4g)",
             p->readout_margin);
}

static hop_status analyse(hop__encoder *e, hop_proof *p, bool *proved, hop_error *err)
{
    hop_status s = run_layers(e, p, err);
    if (s == HOP_EDOMAIN) { /* a limit of the method, not a failure of the call */
        snprintf(p->why, sizeof p->why, "%s", err->text);
        return HOP_OK;
    }
    if (s != HOP_OK) return s;
    *proved = p->readout_margin > 0 && !e->a.overflow;
    if (e->a.overflow)
        snprintf(p->why, sizeof p->why, "a number may leave the range of float32");
    else if (!*proved)
        blame(p);
    return HOP_OK;
}

hop_status hop__prove_encoder(hop_proof *p, const hop_model *m, const hop_task *task,
                              const hop_prove_options *o, bool *proved, hop__hint *hints, int *hint_count,
                              hop_error *err)
{
    *proved = false;
    *hint_count = 0;
    out_of_scope(m, task, p->why, sizeof p->why);
    if (p->why[0]) return HOP_OK;
    hop_error local = {0};
    const hop_weight *positions = hop_model_weight(m, "model.embed_positions.weight");
    hop_mixer_config mixer = hop_model_mixer_config(m, 0);
    hop__encoder e = {.a = {.model = m, .task = &task->funccomp, .options = o}};
    e.a.d = hop_model_config(m)->d_model;
    e.a.head_dim = mixer.head_dim;
    e.a.tokens = task->length;
    e.a.scale = (float)(mixer.scale != 0 ? mixer.scale : 1.0 / sqrt((double)mixer.head_dim));
    e.a.token_table = hop_model_weight(m, "model.embed_tokens.weight")->data;
    e.a.position_table = positions ? positions->data : NULL;
    hop_status s = analyse(&e, p, proved, err ? err : &local);
    memcpy(hints, e.a.hints, sizeof e.a.hints);
    *hint_count = e.a.hint_count;
    hop__encoder_finish(&e);
    return s;
}
