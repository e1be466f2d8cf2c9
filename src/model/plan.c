/* How each layer's mixer is configured: the network's settings, then the mixer's, then the layer's own.
 * Layers that are configured alike share a plan, which holds their list of operations. */
#include "network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hop_status apply(hop_mixer_config *c, const hop_mixer_ops *ops, const hop_setting *s, hop_error *err)
{
    bool foreign = false;
    hop_status given = hop_mixer_foreign_set(c, ops, s->name, s->value, &foreign, err);
    if (foreign || given != HOP_OK) return given;
    int64_t *const whole[] = {&c->heads, &c->kv_heads, &c->head_dim};
    static const char *const names[] = {"heads", "kv_heads", "head_dim"};
    double v = s->value;
    if (strcmp(s->name, "scale") == 0) c->scale = v;
    if (strcmp(s->name, "rope_theta") == 0) c->rope_theta = v;
    if (strcmp(s->name, "scale") == 0 || strcmp(s->name, "rope_theta") == 0)
        return isfinite(v) ? HOP_OK
                           : hop_fail(err, HOP_ERANGE, "%s: %s: not a finite number", ops->name, s->name);
    if (!(v >= 0 && v < 9e15) || v != floor(v))
        return hop_fail(err, HOP_ERANGE, "%s: %s: not a whole number", ops->name, s->name);
    for (int i = 0; i < 3; i++)
        if (strcmp(s->name, names[i]) == 0) {
            *whole[i] = (int64_t)v;
            return v >= 1 && v <= 1 << 20
                       ? HOP_OK
                       : hop_fail(err, HOP_ERANGE, "%s: %s: not between 1 and 2^20", ops->name, s->name);
        }
    return hop_mixer_option_set(c, ops, s->name, (int64_t)v, err);
}

/* The configuration of one layer: the network's, then the mixer's settings, then the layer's own. */
static hop_status configure(const hop_config *n, const hop_mixer_ops *ops, int64_t layer, bool own,
                            hop_mixer_config *c, hop_error *err)
{
    hop_mixer_config_init(c);
    c->d_model = n->d_model;
    c->layer = layer;
    c->layers = n->pattern.layers;
    c->heads = n->heads;
    c->kv_heads = n->kv_heads;
    c->head_dim = n->head_dim;
    c->rope_theta = n->rope_theta;
    c->scale = n->attention_scale;
    c->bidirectional = n->bidirectional;
    for (int pass = 0; pass < 2; pass++) /* the layer's own settings win, wherever they stand */
        for (int64_t i = 0; i < n->setting_count; i++) {
            const hop_setting *s = &n->settings[i];
            bool mine =
                pass == 0 ? s->layer < 0 && strcmp(s->mixer, ops->name) == 0 : own && s->layer == layer;
            hop_status got = mine ? apply(c, ops, s, err) : HOP_OK;
            if (got != HOP_OK) return got;
            if (mine && strcmp(s->name, "heads") == 0 && c->heads % c->kv_heads) c->kv_heads = c->heads;
        }
    return hop_mixer_config_ready(c, ops, err);
}

hop_status hop_config_mixer(const hop_config *c, const hop_mixer_ops *ops, int64_t layer,
                            hop_mixer_config *out, hop_error *err)
{
    return configure(c, ops, layer, true, out, err);
}

static int compare_specials(const void *a, const void *b)
{
    int64_t x = ((const hop__special *)a)->layer, y = ((const hop__special *)b)->layer;
    return x < y ? -1 : x > y;
}

static bool alike(const hop_mixer_config *a, const hop_mixer_config *b)
{
    return a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
           a->rope_theta == b->rope_theta && a->scale == b->scale &&
           memcmp(a->foreign, b->foreign, sizeof a->foreign) == 0 &&
           memcmp(a->option, b->option, sizeof a->option) == 0;
}

/* The plan of a layer; one that there is already, if it has the same configuration. */
static hop_status plan_layer(hop_layout *l, const hop_mixer_ops *ops, int64_t layer, bool own,
                             const hop__plan **out, hop_error *err)
{
    hop_mixer_config c;
    hop_status s = configure(&l->config, ops, layer, own, &c, err);
    if (s != HOP_OK) return s;
    for (int64_t i = 0; i < l->plan_count; i++)
        if (l->plans[i]->ops == ops && alike(&l->plans[i]->config, &c)) {
            *out = l->plans[i];
            return HOP_OK;
        }
    hop__plan *p = l->plans[l->plan_count] = hop_alloc(sizeof *p);
    if (!p) return hop_fail(err, HOP_ENOMEM, "out of memory");
    l->plan_count++;
    p->ops = ops;
    p->config = c;
    hop_mixer_list(&p->list, ops, &c);
    *out = p;
    return HOP_OK;
}

static hop_status configure_specials(hop_layout *l, hop_error *err)
{
    const hop_config *n = &l->config;
    l->specials = hop_alloc(sizeof *l->specials * (size_t)n->setting_count);
    if (!l->specials) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < n->setting_count; i++) {
        int64_t layer = n->settings[i].layer;
        bool seen = layer < 0;
        for (int64_t k = 0; k < l->special_count && !seen; k++) seen = l->specials[k].layer == layer;
        if (seen) continue;
        if (layer >= n->pattern.layers)
            return hop_fail(err, HOP_EDOMAIN, "layer_options: there is no layer %lld", (long long)layer);
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&n->pattern, layer));
        hop__special *s = &l->specials[l->special_count++];
        s->layer = layer;
        hop_status got = plan_layer(l, ops, layer, true, &s->plan, err);
        if (got != HOP_OK) return got;
    }
    qsort(l->specials, (size_t)l->special_count, sizeof *l->specials, compare_specials);
    return HOP_OK;
}

hop_status hop__plan_all(hop_layout *l, hop_error *err)
{
    const hop_pattern *p = &l->config.pattern;
    l->run_plan = hop_alloc(sizeof *l->run_plan * (size_t)p->run_count);
    l->run_start = hop_alloc(sizeof *l->run_start * (size_t)(p->run_count + 1));
    l->plans = hop_alloc(sizeof *l->plans * (size_t)(p->run_count + l->config.setting_count));
    if (!l->run_plan || !l->run_start || !l->plans) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t r = 0; r < p->run_count; r++) {
        const hop_mixer_ops *ops = hop_mixer_find(p->runs[r].mixer);
        if (!ops) return hop_fail(err, HOP_EUNKNOWN, "pattern: unknown mixer \"%s\"", p->runs[r].mixer);
        hop_status s = plan_layer(l, ops, l->run_start[r], false, &l->run_plan[r], err);
        if (s != HOP_OK) return s;
        l->run_start[r + 1] = l->run_start[r] + p->runs[r].count;
    }
    for (int64_t i = 0; i < l->config.setting_count; i++) {
        const hop_setting *s = &l->config.settings[i];
        if (s->layer < 0 && !hop_mixer_find(s->mixer))
            return hop_fail(err, HOP_EUNKNOWN, "mixer_options: unknown mixer \"%s\"", s->mixer);
    }
    return configure_specials(l, err);
}

int64_t hop__layer_run(const hop_layout *l, int64_t layer)
{
    int64_t lo = 0, hi = l->config.pattern.run_count;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (l->run_start[mid] <= layer)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

const hop__plan *hop__layer_plan(const hop_layout *l, int64_t layer)
{
    for (int64_t i = 0; i < l->special_count && l->specials[i].layer <= layer; i++)
        if (l->specials[i].layer == layer) return l->specials[i].plan;
    return l->run_plan[hop__layer_run(l, layer)];
}

hop_mixer_config hop__layer_mixer(const hop_layout *l, int64_t layer)
{
    hop_mixer_config c = hop__layer_plan(l, layer)->config;
    c.layer = layer;
    return c;
}

bool hop__is_beside(const hop_layout *l, int64_t layer)
{
    return layer < l->config.pattern.layers &&
           hop__layer_plan(l, layer)->config.foreign[HOP_FOREIGN_beside] != 0;
}
