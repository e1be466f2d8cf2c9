/* One linear layer, then L full-attention layers: the ladder's tight rung, for every linear mixer there is.
 *
 * Statement (docs/THEORY.md section 5.2). The first layer of `full`, which fetches z_0, becomes a linear
 * layer: with a one-dimensional key that only z_0's token has, its value's code is written into the state
 * there, and the last token, the only one that follows, reads it. The L look-ups that remain are
 * full-attention layers as in section 5.1. */
#include "wiring.h"

#include <math.h>
#include <stdio.h>

static hop_status find_parts(const char *mixer, const hop_mixer_ops **ops, const hop__wiring **w,
                             hop_error *err)
{
    *ops = hop_mixer_find(mixer), *w = hop__wiring_of(mixer);
    if (!*ops) return hop_fail(err, HOP_EUNKNOWN, "%.60s: unknown mixer", mixer);
    if ((*ops)->kind != HOP_MIXER_RECURRENT || !*w)
        return hop_fail(err, HOP_EDOMAIN, "%s: is not a linear mixer", mixer);
    return HOP_OK;
}

/* The network before it has weights. */
static hop_status make_config(hop_config *c, hop__fields *f, const hop_task *task, const hop_mixer_ops *ops,
                              const hop__wiring *w, hop_error *err)
{
    char pattern[64], construction[96];
    hop__fields_init(f, &task->funccomp);
    snprintf(pattern, sizeof pattern, "%s full^%d", ops->name, task->funccomp.hops);
    snprintf(construction, sizeof construction, "{\"kind\": \"hybrid\", \"mixer\": \"%s\"}", ops->name);
    hop_status s = hop__construct_config(c, pattern, task, construction, err);
    if (s != HOP_OK) return s;
    c->d_model = f->d_model;
    c->head_dim = f->head_dim;
    c->mlp_hidden = 2 * f->bits;
    s = hop__linear_sizes(c, 0, ops, f, w, err);
    if (s != HOP_OK) hop_config_free(c);
    return s;
}

hop_status hop_construct_hybrid_state(int64_t *numbers, const char *mixer, const hop_task *task,
                                      hop_error *err)
{
    const hop_mixer_ops *ops;
    const hop__wiring *w;
    hop__fields f;
    hop_config c;
    hop_mixer_config layer;
    hop_status s = find_parts(mixer, &ops, &w, err);
    if (s == HOP_OK) s = make_config(&c, &f, task, ops, w, err);
    if (s != HOP_OK) return s;
    s = hop_config_validate(&c, err);
    if (s == HOP_OK) s = hop_config_mixer(&c, ops, 0, &layer, err);
    if (s == HOP_OK) *numbers = hop_mixer_state_floats(ops, &layer, 1);
    hop_config_free(&c);
    return s;
}

hop_status hop__construct_hybrid(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                 hop_error *err)
{
    const hop_mixer_ops *ops;
    const hop__wiring *w;
    hop__fields f;
    hop_config c;
    int hops = task->funccomp.hops;
    const char *mixer = o->mixer ? o->mixer : "deltanet";
    if (o->shape) return hop__construct_shaped(out, task, o->shape, "{\"kind\": \"hybrid\"}", err);
    hop_status s = find_parts(mixer, &ops, &w, err);
    if (s == HOP_OK) s = make_config(&c, &f, task, ops, w, err);
    if (s != HOP_OK) return s;
    s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;

    float beta = (float)(hop__fields_beta(task->length) * sqrt((double)f.head_dim));
    hop__fill_tables(*out, &f, &task->funccomp);
    hop__fill_linear(*out, &f, 0, -1, task->length);
    for (int e = 0; e <= hops; e++) {
        if (e > 0) hop__fill_look_up(*out, &f, e, e, beta);
        hop__fill_clip(*out, &f, e);
    }
    return HOP_OK;
}
