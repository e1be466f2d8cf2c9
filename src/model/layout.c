/* How the tensors of a network are named (in Hugging Face's manner) and laid out in one block of floats. */
#include "network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STORED_LAYERS ((int64_t)1 << 20)
#define MAX_FLOATS        ((int64_t)1 << 40) /* that are stored, and of a seeded layer */
#define MAX_DRAWN         ((int64_t)1 << 62) /* of all seeded layers together, which are never there at once */

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

#define SLOT(member) offsetof(hop__block, member)

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
    const bool normed = plan->config.foreign[HOP_FOREIGN_beside] == 0;
    if (normed && c->norm != HOP_NORM_NONE)
        add_part(&p, "input_layernorm.weight", c->d_model, 0, SLOT(norm1));
    if (normed && c->norm == HOP_NORM_LAYER)
        add_part(&p, "input_layernorm.bias", c->d_model, 0, SLOT(norm1_bias));
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

int hop__layer_parts(const hop_layout *l, int64_t layer, hop__part out[HOP__MAX_PARTS])
{
    return hop__plan_parts(&l->config, hop__layer_plan(l, layer), out);
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
static hop_status add(hop_layout *l, const char *prefix, const hop__part *p, hop_error *err)
{
    if (l->slots) {
        hop_slot *w = &l->slots[l->count];
        snprintf(w->name, sizeof w->name, "%.32s%.63s", prefix, p->name);
        w->rank = p->shape[1] ? 2 : 1;
        w->shape[0] = p->shape[0];
        w->shape[1] = p->shape[1];
        w->offset = l->floats;
    }
    int64_t n = hop__part_floats(p);
    if (n > MAX_FLOATS - l->floats) return too_large("the network", 40, err);
    l->count++;
    l->floats += n;
    return HOP_OK;
}

static hop_status add_table(hop_layout *l, const char *name, int64_t rows, int64_t cols, hop_error *err)
{
    hop__part p = {.shape = {rows, cols}};
    snprintf(p.name, sizeof p.name, "%s", name);
    return add(l, "", &p, err);
}

static hop_status add_layers(hop_layout *l, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int64_t layer = 0; s == HOP_OK && layer < l->config.pattern.layers; layer++) {
        hop__part list[HOP__MAX_PARTS];
        char prefix[40];
        int count = hop__layer_parts(l, layer, list);
        snprintf(prefix, sizeof prefix, "model.layers.%lld.", (long long)layer);
        if (l->first_slot) l->first_slot[layer] = l->count;
        for (int i = 0; s == HOP_OK && i < count; i++) s = add(l, prefix, &list[i], err);
    }
    return s;
}

/* The limits of stored layers, for layers that are drawn. */
static hop_status check_drawn(const hop_layout *l, hop_error *err)
{
    const hop_pattern *p = &l->config.pattern;
    hop__part list[HOP__MAX_PARTS];
    int64_t left = MAX_DRAWN;
    for (int64_t i = 0; i < p->run_count + l->special_count; i++) {
        bool run = i < p->run_count;
        int64_t copies = run ? p->runs[i].count : 1, special = i - p->run_count;
        int count = hop__plan_parts(&l->config, run ? l->run_plan[i] : l->specials[special].plan, list);
        int64_t floats = hop__parts_floats(list, count);
        if (floats > MAX_FLOATS) return too_large("a layer", 40, err);
        if (floats > left / copies) return too_large("the network", 62, err);
        left -= copies * floats;
    }
    return HOP_OK;
}

static hop_status add_all(hop_layout *l, hop_error *err)
{
    const hop_config *c = &l->config;
    l->count = l->floats = 0;
    hop_status s = add_table(l, "model.embed_tokens.weight", c->vocab, c->d_model, err);
    if (s == HOP_OK && c->position_table)
        s = add_table(l, "model.embed_positions.weight", c->max_positions, c->d_model, err);
    if (s == HOP_OK && !c->seeded) s = add_layers(l, err);
    if (l->first_slot) l->first_slot[c->pattern.layers] = l->count;
    if (s == HOP_OK && c->norm != HOP_NORM_NONE) s = add_table(l, "model.norm.weight", c->d_model, 0, err);
    if (s == HOP_OK && c->norm == HOP_NORM_LAYER) s = add_table(l, "model.norm.bias", c->d_model, 0, err);
    if (s == HOP_OK && !c->tied) s = add_table(l, "lm_head.weight", c->vocab, c->d_model, err);
    return s;
}

/* Blocks beside the one before read what that has normed. */
static hop_status check_beside(const hop_layout *l, hop_error *err)
{
    for (int64_t i = 0; i < l->plan_count && l->config.norm == HOP_NORM_NONE; i++)
        if (l->plans[i]->config.foreign[HOP_FOREIGN_beside] != 0)
            return hop_fail(err, HOP_EDOMAIN, "beside: there is no norm that a block could share");
    bool beside = false, elsewhere = false;
    for (int64_t i = 0; i < l->plan_count; i++) {
        beside |= l->plans[i]->config.foreign[HOP_FOREIGN_beside] != 0;
        elsewhere |= l->plans[i]->config.foreign[HOP_FOREIGN_norms] != HOP_NORMS_BEFORE;
    }
    if (beside && elsewhere)
        return hop_fail(err, HOP_EDOMAIN,
                        "beside: a block could share a norm only if all stand before their mixers");
    if (!hop__is_beside(l, 0)) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "beside: there is no block before the first");
}

static hop_status lay(hop_layout *l, const hop_config *c, hop_error *err)
{
    hop_status s = hop_config_copy(&l->config, c, err);
    if (s == HOP_OK) s = hop_config_validate(&l->config, err);
    if (s == HOP_OK) s = hop__plan_all(l, err);
    if (s == HOP_OK) s = check_beside(l, err);
    if (s != HOP_OK) return s;
    int64_t layers = l->config.pattern.layers;
    if (!l->config.seeded && layers > MAX_STORED_LAYERS)
        return hop_fail(
            err, HOP_EDOMAIN,
            "pattern: %lld layers are more than the %lld whose weights can be stored; \"weights\": "
            "{\"kind\": \"seeded\"} draws them when they are needed",
            (long long)layers, (long long)MAX_STORED_LAYERS);
    if (l->config.seeded && (s = check_drawn(l, err)) != HOP_OK) return s;
    if ((s = add_all(l, err)) != HOP_OK) return s;
    l->slots = hop_alloc(sizeof *l->slots * (size_t)l->count);
    if (!l->config.seeded) l->first_slot = hop_alloc(sizeof(int64_t) * (size_t)(layers + 1));
    if (!l->slots || (!l->config.seeded && !l->first_slot)) return hop_fail(err, HOP_ENOMEM, "out of memory");
    return add_all(l, err);
}

hop_status hop_layout_new(hop_layout **out, const hop_config *c, hop_error *err)
{
    *out = NULL;
    hop_layout *l = hop_alloc(sizeof *l);
    if (!l) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_status s = lay(l, c, err);
    if (s != HOP_OK) {
        hop_layout_free(l);
        return s;
    }
    *out = l;
    return HOP_OK;
}

void hop_layout_free(hop_layout *l)
{
    if (!l) return;
    for (int64_t i = 0; i < l->plan_count; i++) hop_free(l->plans[i]);
    hop_free(l->plans);
    hop_free(l->run_plan);
    hop_free(l->run_start);
    hop_free(l->specials);
    hop_free(l->slots);
    hop_free(l->first_slot);
    hop_config_free(&l->config);
    hop_free(l);
}

/* ---- asking ----------------------------------------------------------------------------------- */

const hop_slot *hop_layout_layer_find(const hop_layout *l, int64_t layer, const char *part)
{
    if (!l->first_slot || layer < 0 || layer >= l->config.pattern.layers) return NULL;
    for (int64_t i = l->first_slot[layer]; i < l->first_slot[layer + 1]; i++) {
        const char *dot = strchr(l->slots[i].name + strlen("model.layers."), '.');
        if (strcmp(dot + 1, part) == 0) return &l->slots[i];
    }
    return NULL;
}

const hop_slot *hop_layout_find(const hop_layout *l, const char *name)
{
    if (strncmp(name, "model.layers.", 13) == 0) {
        char *end;
        long long layer = strtoll(name + 13, &end, 10);
        const hop_slot *w = *end == '.' ? hop_layout_layer_find(l, layer, end + 1) : NULL;
        return w && strcmp(w->name, name) == 0 ? w : NULL; /* "01" and "+1" name no layer */
    }
    int64_t head = l->first_slot ? l->first_slot[0] : -1; /* skip the layers' names */
    int64_t tail = l->first_slot ? l->first_slot[l->config.pattern.layers] : -1;
    for (int64_t i = 0; i < l->count; i = i + 1 == head ? tail : i + 1)
        if (strcmp(l->slots[i].name, name) == 0) return &l->slots[i];
    return NULL;
}

const hop_config *hop_layout_config(const hop_layout *l)
{
    return &l->config;
}

int64_t hop_layout_floats(const hop_layout *l)
{
    return l->floats;
}

int64_t hop_layout_count(const hop_layout *l)
{
    return l->count;
}

const hop_slot *hop_layout_at(const hop_layout *l, int64_t i)
{
    return i >= 0 && i < l->count ? &l->slots[i] : NULL;
}

int64_t hop_slot_floats(const hop_slot *s)
{
    return s->shape[0] * (s->rank == 2 ? s->shape[1] : 1);
}

void hop__bind(hop__block *out, const hop_layout *l, int64_t layer, const float *block)
{
    hop__part list[HOP__MAX_PARTS];
    const hop__plan *plan = hop__layer_plan(l, layer);
    int count = hop__plan_parts(&l->config, plan, list);
    *out = (hop__block){.ops = plan->ops, .list = &plan->list};
    out->norms = (hop_norms)plan->config.foreign[HOP_FOREIGN_norms];
    for (int i = 0; i < count; i++) {
        const float *data = block + l->slots[l->first_slot[layer] + i].offset;
        memcpy((char *)out + list[i].slot, &data, sizeof data);
    }
}
