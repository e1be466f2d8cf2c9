/* What is left of a network when its plan has fewer layers, or others: tables, read-out, and layer by layer
 * the next one of the whole network that has the mixer. A layer for which there is none is idle: its weights
 * are zero, and the residual stream passes. */
#include "construct.h"

#include <stdlib.h>
#include <string.h>

typedef struct parting {
    const hop_model *whole;
    const hop_config *from;
    hop_config to;
    int64_t *take; /* which layer of the whole each one is; -1: it is idle */
} parting;

static const char *mixer_of(const hop_config *c, int64_t layer)
{
    return hop_pattern_mixer(&c->pattern, layer);
}

/* Heads and widths of layer `like` of the whole become those of `layer`. */
static hop_status copy_settings(parting *p, int64_t layer, int64_t like, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int64_t i = 0; s == HOP_OK && i < p->from->setting_count; i++) {
        const hop_setting *x = &p->from->settings[i];
        if (!x->mixer[0] && x->layer == like) s = hop_config_set(&p->to, layer, "", x->name, x->value, err);
    }
    return s;
}

static hop_status choose_layers(parting *p, hop_error *err)
{
    int64_t next = 0, layers = p->to.pattern.layers, had = p->from->pattern.layers;
    hop_status s = HOP_OK;
    for (int64_t i = 0; s == HOP_OK && i < layers; i++) {
        int64_t like = 0;
        bool takes = next < had && strcmp(mixer_of(&p->to, i), mixer_of(p->from, next)) == 0;
        while (like < had && strcmp(mixer_of(&p->to, i), mixer_of(p->from, like)) != 0) like++;
        p->take[i] = takes ? next++ : -1;
        if (like < had) s = copy_settings(p, i, takes ? p->take[i] : like, err);
    }
    return s;
}

static void copy_tensor(const hop_weight *to, const hop_weight *from)
{
    size_t n = (size_t)(to->shape[0] * (to->rank == 2 ? to->shape[1] : 1));
    if (from) memcpy(to->data, from->data, n * sizeof *to->data);
}

/* Names are the layout's: those of layers begin with "model.layers.N.". */
static void copy_weights(const parting *p, const hop_model *m)
{
    static const char prefix[] = "model.layers.";
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        if (strncmp(w->name, prefix, sizeof prefix - 1) != 0) {
            copy_tensor(w, hop_model_weight(p->whole, w->name));
            continue;
        }
        char *rest;
        int64_t layer = strtoll(w->name + sizeof prefix - 1, &rest, 10);
        if (p->take[layer] >= 0) copy_tensor(w, hop_model_layer_weight(p->whole, p->take[layer], rest + 1));
    }
}

static hop_status part(hop_model **out, parting *p, const char *pattern, const char *linear, hop_error *err)
{
    hop_pattern plan = {0};
    hop_status s = hop_pattern_parse(&plan, pattern, linear, err);
    if (s != HOP_OK) return s;
    hop_pattern_free(&p->to.pattern);
    p->to.pattern = plan;
    p->to.setting_count = 0; /* what single layers had; what holds for a mixer stays */
    for (int64_t i = 0; i < p->from->setting_count; i++)
        if (p->from->settings[i].mixer[0]) p->to.settings[p->to.setting_count++] = p->from->settings[i];
    free(p->to.construction_json);
    p->to.construction_json = strdup("{\"kind\": \"part\"}");
    p->take = hop_alloc(sizeof *p->take * (size_t)plan.layers);
    if (!p->take || !p->to.construction_json) return hop_fail(err, HOP_ENOMEM, "out of memory");
    s = choose_layers(p, err);
    if (s == HOP_OK) s = hop_model_new(out, &p->to, err);
    if (s == HOP_OK) copy_weights(p, *out);
    return s;
}

hop_status hop_construct_part(hop_model **out, const hop_model *whole, const char *pattern,
                              const char *linear, hop_error *err)
{
    parting p = {.whole = whole, .from = hop_model_config(whole)};
    *out = NULL;
    hop_status s = hop_config_copy(&p.to, p.from, err);
    if (s != HOP_OK) return s;
    s = part(out, &p, pattern, linear, err);
    hop_free(p.take);
    hop_config_free(&p.to);
    return s;
}
