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

/* "" when the network is of the kind analysed here, else what is in the way. */
static void out_of_scope(const hop_model *m, const hop_task *task, char *why, size_t size)
{
    const hop_config *c = hop_model_config(m);
    hop__plain_scope(m, task, why, size);
    if (why[0]) return;
    int hops = task->funccomp.hops, layers = hop__encoder_rounds(hops) + 2;
    if (c->pattern.layers != layers)
        snprintf(why, size, "the analysis of encoders covers %d layers for %d hops, not %lld", layers, hops,
                 (long long)c->pattern.layers);
    for (int64_t i = 0; !why[0] && i < layers; i++) {
        const char *mixer = hop_pattern_mixer(&c->pattern, i);
        if (strcmp(mixer, "full") != 0)
            snprintf(why, size, "the analysis of encoders does not cover %s layers", mixer);
        else if (!hop_model_mixer_config(m, i).bidirectional)
            snprintf(why, size, "the analysis of encoders wants attention that looks both ways");
        else
            hop__full_scope(m, i, why, size);
    }
}

static hop_status run_layer(hop__encoder *e, int64_t layer, hop_margin *margin, hop_error *err)
{
    hop_status s = hop__analysis_layer(&e->a, (int)layer, err);
    if (s != HOP_OK) return s;
    hop__encoder_any(e);
    s = hop__encoder_scores(e, layer, margin, err);
    return s == HOP_OK ? hop__encoder_write(e, layer, margin, err) : s;
}

static hop_status analyse(hop__encoder *e, hop_proof *p, bool *proved, hop_error *err)
{
    int64_t layers = hop_model_config(e->a.model)->pattern.layers;
    hop_status s = hop__encoder_start(e, err);
    p->margins = hop_alloc(sizeof(hop_margin) * (size_t)layers);
    if (!p->margins) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t layer = 0; s == HOP_OK && layer < layers; layer++) {
        s = run_layer(e, layer, &p->margins[layer], err);
        if (s == HOP_OK) p->margin_count++;
    }
    if (s == HOP_OK) s = hop__encoder_readout(e, &p->readout_margin, err);
    if (s == HOP_OK) hop__analysis_verdict(&e->a, p, proved);
    return hop__analysis_status(p, s, err);
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
    hop__encoder e = {.a = {.model = m, .task = &task->funccomp, .options = o}};
    hop_status s = analyse(&e, p, proved, err ? err : &local);
    memcpy(hints, e.a.hints, sizeof e.a.hints);
    *hint_count = e.a.hint_count;
    hop__encoder_finish(&e);
    return s;
}
