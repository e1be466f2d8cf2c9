/* How each layer's mixer is configured, and how the stored tensors are named (in Hugging Face's manner) and
 * laid out in one block of memory. */
#include "network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STORED_LAYERS ((int64_t)1 << 20)
#define MAX_FLOATS        ((int64_t)1 << 40) /* that are stored, and of a seeded layer */
#define MAX_DRAWN         ((int64_t)1 << 62) /* of all seeded layers together, which are never there at once */

/* ---- the mixers' configurations -------------------------------------------------------------- */

static hop_status apply(hop_mixer_config *c, const hop_mixer_ops *ops, const hop_setting *s, hop_error *err)
{
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
           memcmp(a->option, b->option, sizeof a->option) == 0;
}

/* The plan of a layer; one that there is already, if it has the same configuration. */
static hop_status plan_layer(hop_model *m, const hop_mixer_ops *ops, int64_t layer, bool own,
                             const hop__plan **out, hop_error *err)
{
    hop_mixer_config c;
    hop_status s = configure(&m->config, ops, layer, own, &c, err);
    if (s != HOP_OK) return s;
    for (int64_t i = 0; i < m->plan_count; i++)
        if (m->plans[i]->ops == ops && alike(&m->plans[i]->config, &c)) {
            *out = m->plans[i];
            return HOP_OK;
        }
    hop__plan *p = m->plans[m->plan_count] = hop_alloc(sizeof *p);
    if (!p) return hop_fail(err, HOP_ENOMEM, "out of memory");
    m->plan_count++;
    p->ops = ops;
    p->config = c;
    hop_mixer_list(&p->list, ops, &c);
    *out = p;
    return HOP_OK;
}

static hop_status configure_specials(hop_model *m, hop_error *err)
{
    const hop_config *n = &m->config;
    m->specials = hop_alloc(sizeof *m->specials * (size_t)n->setting_count);
    if (!m->specials) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < n->setting_count; i++) {
        int64_t layer = n->settings[i].layer;
        bool seen = layer < 0;
        for (int64_t k = 0; k < m->special_count && !seen; k++) seen = m->specials[k].layer == layer;
        if (seen) continue;
        if (layer >= n->pattern.layers)
            return hop_fail(err, HOP_EDOMAIN, "layer_options: there is no layer %lld", (long long)layer);
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&n->pattern, layer));
        hop__special *s = &m->specials[m->special_count++];
        s->layer = layer;
        hop_status got = plan_layer(m, ops, layer, true, &s->plan, err);
        if (got != HOP_OK) return got;
    }
    qsort(m->specials, (size_t)m->special_count, sizeof *m->specials, compare_specials);
    return HOP_OK;
}

static hop_status configure_all(hop_model *m, hop_error *err)
{
    const hop_pattern *p = &m->config.pattern;
    m->run_plan = hop_alloc(sizeof *m->run_plan * (size_t)p->run_count);
    m->run_start = hop_alloc(sizeof *m->run_start * (size_t)(p->run_count + 1));
    m->plans = hop_alloc(sizeof *m->plans * (size_t)(p->run_count + m->config.setting_count));
    if (!m->run_plan || !m->run_start || !m->plans) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int64_t r = 0; r < p->run_count; r++) {
        const hop_mixer_ops *ops = hop_mixer_find(p->runs[r].mixer);
        if (!ops) return hop_fail(err, HOP_EUNKNOWN, "pattern: unknown mixer \"%s\"", p->runs[r].mixer);
        hop_status s = plan_layer(m, ops, m->run_start[r], false, &m->run_plan[r], err);
        if (s != HOP_OK) return s;
        m->run_start[r + 1] = m->run_start[r] + p->runs[r].count;
    }
    for (int64_t i = 0; i < m->config.setting_count; i++) {
        const hop_setting *s = &m->config.settings[i];
        if (s->layer < 0 && !hop_mixer_find(s->mixer))
            return hop_fail(err, HOP_EUNKNOWN, "mixer_options: unknown mixer \"%s\"", s->mixer);
    }
    return configure_specials(m, err);
}

int64_t hop__layer_run(const hop_model *m, int64_t layer)
{
    int64_t lo = 0, hi = m->config.pattern.run_count;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (m->run_start[mid] <= layer)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

const hop__plan *hop__layer_plan(const hop_model *m, int64_t layer)
{
    for (int64_t i = 0; i < m->special_count && m->specials[i].layer <= layer; i++)
        if (m->specials[i].layer == layer) return m->specials[i].plan;
    return m->run_plan[hop__layer_run(m, layer)];
}

hop_mixer_config hop_model_mixer_config(const hop_model *m, int64_t layer)
{
    hop_mixer_config c = hop__layer_plan(m, layer)->config;
    c.layer = layer;
    return c;
}

/* ---- a layer's tensors ------------------------------------------------------------------------ */

typedef struct parts {
    hop__part *out;
    int count;
} parts;

static void add_part(parts *p, const char *name, int64_t rows, int64_t cols, size_t slot)
{
    hop__part *x = &p->out[p->count++];
    snprintf(x->name, sizeof x->name, "%s", name);
    x->shape[0] = rows;
    x->shape[1] = cols;
    x->slot = slot;
}

#define SLOT(member) offsetof(hop__layer, member)

static void add_mlp(parts *p, const hop_config *c)
{
    bool gated = c->mlp == HOP_MLP_SWIGLU; /* gated MLPs have no biases, plain ones have no gate */
    int64_t d = c->d_model, hidden = c->mlp_hidden;
    if (c->mlp == HOP_MLP_NONE) return;
    if (c->norm != HOP_NORM_NONE) add_part(p, "post_mixer_layernorm.weight", d, 0, SLOT(norm2));
    if (c->norm == HOP_NORM_LAYER) add_part(p, "post_mixer_layernorm.bias", d, 0, SLOT(norm2_bias));
    if (gated) add_part(p, "mlp.gate_proj.weight", hidden, d, SLOT(gate));
    add_part(p, "mlp.up_proj.weight", hidden, d, SLOT(up));
    if (!gated) add_part(p, "mlp.up_proj.bias", hidden, 0, SLOT(up_bias));
    add_part(p, "mlp.down_proj.weight", d, hidden, SLOT(down));
    if (!gated) add_part(p, "mlp.down_proj.bias", d, 0, SLOT(down_bias));
}

int hop__plan_parts(const hop_config *c, const hop__plan *plan, hop__part out[HOP__MAX_PARTS])
{
    parts p = {.out = out};
    if (c->norm != HOP_NORM_NONE) add_part(&p, "input_layernorm.weight", c->d_model, 0, SLOT(norm1));
    if (c->norm == HOP_NORM_LAYER) add_part(&p, "input_layernorm.bias", c->d_model, 0, SLOT(norm1_bias));
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count = plan->ops->params(&plan->config, params);
    for (int i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "mixer.%s", params[i].name);
        add_part(&p, name, params[i].shape[0], params[i].shape[1], SLOT(mixer) + sizeof(float *) * (size_t)i);
    }
    add_mlp(&p, c);
    return p.count;
}

int hop__layer_parts(const hop_model *m, int64_t layer, hop__part out[HOP__MAX_PARTS])
{
    return hop__plan_parts(&m->config, hop__layer_plan(m, layer), out);
}

int64_t hop__part_floats(const hop__part *p)
{
    int64_t cols = p->shape[1] ? p->shape[1] : 1;
    if (p->shape[0] > MAX_FLOATS / cols) return MAX_FLOATS + 1;
    return (p->shape[0] * cols + 15) / 16 * 16; /* every tensor starts on a cache line */
}

int64_t hop__parts_floats(const hop__part *list, int count)
{
    int64_t n = 0;
    for (int i = 0; i < count; i++) n += hop__part_floats(&list[i]);
    return n;
}

/* ---- all tensors ------------------------------------------------------------------------------ */

static hop_status too_large(const char *what, int bits, hop_error *err)
{
    return hop_fail(err, HOP_EDOMAIN, "%s would have more than 2^%d weights", what, bits);
}

/* First pass (no arrays yet): counts. Second pass: fills in. */
static hop_status add(hop_model *m, const char *prefix, const hop__part *p, hop_error *err)
{
    if (m->weights) {
        hop_weight *w = &m->weights[m->weight_count];
        snprintf(w->name, sizeof w->name, "%.32s%.63s", prefix, p->name);
        w->rank = p->shape[1] ? 2 : 1;
        w->shape[0] = p->shape[0];
        w->shape[1] = p->shape[1];
        w->data = m->data + m->floats;
    }
    int64_t n = hop__part_floats(p);
    if (n > MAX_FLOATS - m->floats) return too_large("the network", 40, err);
    m->weight_count++;
    m->floats += n;
    return HOP_OK;
}

static hop_status add_table(hop_model *m, const char *name, int64_t rows, int64_t cols, hop_error *err)
{
    hop__part p = {.shape = {rows, cols}};
    snprintf(p.name, sizeof p.name, "%s", name);
    return add(m, "", &p, err);
}

static hop_status add_layers(hop_model *m, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int64_t layer = 0; s == HOP_OK && layer < m->config.pattern.layers; layer++) {
        hop__part list[HOP__MAX_PARTS];
        char prefix[40];
        int count = hop__layer_parts(m, layer, list);
        snprintf(prefix, sizeof prefix, "model.layers.%lld.", (long long)layer);
        if (m->first_weight) m->first_weight[layer] = m->weight_count;
        for (int i = 0; s == HOP_OK && i < count; i++) {
            if (m->layers) {
                const float *data = m->data + m->floats;
                memcpy((char *)&m->layers[layer] + list[i].slot, &data, sizeof data);
            }
            s = add(m, prefix, &list[i], err);
        }
        const hop__plan *plan = hop__layer_plan(m, layer);
        if (m->layers) m->layers[layer].ops = plan->ops, m->layers[layer].list = &plan->list;
    }
    return s;
}

/* The limits of stored layers, for layers that are drawn. */
static hop_status check_drawn(const hop_model *m, hop_error *err)
{
    const hop_pattern *p = &m->config.pattern;
    hop__part list[HOP__MAX_PARTS];
    int64_t left = MAX_DRAWN;
    for (int64_t i = 0; i < p->run_count + m->special_count; i++) {
        bool run = i < p->run_count;
        int64_t copies = run ? p->runs[i].count : 1, special = i - p->run_count;
        int count = hop__plan_parts(&m->config, run ? m->run_plan[i] : m->specials[special].plan, list);
        int64_t floats = hop__parts_floats(list, count);
        if (floats > MAX_FLOATS) return too_large("a layer", 40, err);
        if (floats > left / copies) return too_large("the network", 62, err);
        left -= copies * floats;
    }
    return HOP_OK;
}

static hop_status add_all(hop_model *m, hop_error *err)
{
    const hop_config *c = &m->config;
    m->weight_count = m->floats = 0;
    hop_status s = add_table(m, "model.embed_tokens.weight", c->vocab, c->d_model, err);
    if (s == HOP_OK && c->position_table)
        s = add_table(m, "model.embed_positions.weight", c->max_positions, c->d_model, err);
    if (s == HOP_OK && !c->seeded) s = add_layers(m, err);
    if (m->first_weight) m->first_weight[c->pattern.layers] = m->weight_count;
    if (s == HOP_OK && c->norm != HOP_NORM_NONE) s = add_table(m, "model.norm.weight", c->d_model, 0, err);
    if (s == HOP_OK && c->norm == HOP_NORM_LAYER) s = add_table(m, "model.norm.bias", c->d_model, 0, err);
    if (s == HOP_OK && !c->tied) s = add_table(m, "lm_head.weight", c->vocab, c->d_model, err);
    return s;
}

static const float *whole(const hop_model *m, const char *name)
{
    const hop_weight *w = hop_model_weight(m, name);
    return w ? w->data : NULL;
}

hop_status hop__layout(hop_model *m, hop_error *err)
{
    int64_t layers = m->config.pattern.layers;
    hop_status s = configure_all(m, err);
    if (s != HOP_OK) return s;
    if (!m->config.seeded && layers > MAX_STORED_LAYERS)
        return hop_fail(
            err, HOP_EDOMAIN,
            "pattern: %lld layers are more than the %lld whose weights can be stored; \"weights\": "
            "{\"kind\": \"seeded\"} draws them when they are needed",
            (long long)layers, (long long)MAX_STORED_LAYERS);
    if (m->config.seeded && (s = check_drawn(m, err)) != HOP_OK) return s;
    if ((s = add_all(m, err)) != HOP_OK) return s;
    m->weights = hop_alloc(sizeof(hop_weight) * (size_t)m->weight_count);
    m->data = hop_alloc(sizeof(float) * (size_t)m->floats);
    if (!m->config.seeded) {
        m->layers = hop_alloc(sizeof(hop__layer) * (size_t)layers);
        m->first_weight = hop_alloc(sizeof(int64_t) * (size_t)(layers + 1));
    }
    if (!m->weights || !m->data || (!m->config.seeded && (!m->layers || !m->first_weight)))
        return hop_fail(err, HOP_ENOMEM, "cannot allocate %lld weights", (long long)m->floats);
    if ((s = add_all(m, err)) != HOP_OK) return s;
    m->tokens = whole(m, "model.embed_tokens.weight");
    m->positions = whole(m, "model.embed_positions.weight");
    m->norm = whole(m, "model.norm.weight");
    m->norm_bias = whole(m, "model.norm.bias");
    m->head = m->config.tied ? m->tokens : whole(m, "lm_head.weight");
    return HOP_OK;
}

void hop__layout_free(hop_model *m)
{
    for (int64_t i = 0; i < m->plan_count; i++) hop_free(m->plans[i]);
    hop_free(m->plans);
    hop_free(m->run_plan);
    hop_free(m->run_start);
    hop_free(m->specials);
    hop_free(m->weights);
    hop_free(m->first_weight);
    hop_free(m->layers);
    hop_free(m->data);
}

/* ---- asking ----------------------------------------------------------------------------------- */

const hop_weight *hop_model_layer_weight(const hop_model *m, int64_t layer, const char *name)
{
    if (!m->first_weight || layer < 0 || layer >= m->config.pattern.layers) return NULL;
    for (int64_t i = m->first_weight[layer]; i < m->first_weight[layer + 1]; i++) {
        const char *dot = strchr(m->weights[i].name + strlen("model.layers."), '.');
        if (strcmp(dot + 1, name) == 0) return &m->weights[i];
    }
    return NULL;
}

const hop_weight *hop_model_weight(const hop_model *m, const char *name)
{
    if (strncmp(name, "model.layers.", 13) == 0) {
        char *end;
        long long layer = strtoll(name + 13, &end, 10);
        const hop_weight *w = *end == '.' ? hop_model_layer_weight(m, layer, end + 1) : NULL;
        return w && strcmp(w->name, name) == 0 ? w : NULL; /* "01" and "+1" name no layer */
    }
    int64_t head = m->first_weight ? m->first_weight[0] : -1; /* skip the layers' names */
    int64_t tail = m->first_weight ? m->first_weight[m->config.pattern.layers] : -1;
    for (int64_t i = 0; i < m->weight_count; i = i + 1 == head ? tail : i + 1)
        if (strcmp(m->weights[i].name, name) == 0) return &m->weights[i];
    return NULL;
}

int64_t hop_model_weight_count(const hop_model *m)
{
    return m->weight_count;
}

const hop_weight *hop_model_weight_at(const hop_model *m, int64_t i)
{
    return i >= 0 && i < m->weight_count ? &m->weights[i] : NULL;
}
