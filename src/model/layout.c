/* Names a network's tensors, in Hugging Face's manner, and lays them out in one block of memory. */
#include "network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STORED_LAYERS ((int64_t)1 << 20)

static hop_status add(hop_model *m, const char *name, int64_t rows, int64_t cols, hop_error *err)
{
    if (m->weights) { /* second pass: the array is there */
        hop_weight *w = &m->weights[m->weight_count];
        snprintf(w->name, sizeof w->name, "%s", name);
        w->rank = cols ? 2 : 1;
        w->shape[0] = rows;
        w->shape[1] = cols;
        w->data = m->data + m->floats;
    }
    int64_t n = rows * (cols ? cols : 1), limit = (int64_t)1 << 40;
    if (n > limit - m->floats)
        return hop_fail(err, HOP_EDOMAIN, "the network would have more than 2^40 weights");
    m->weight_count++;
    m->floats += (n + 15) / 16 * 16; /* every tensor starts on a cache line */
    return HOP_OK;
}

static hop_status add_norm(hop_model *m, const char *prefix, const char *name, hop_error *err)
{
    char full[96];
    if (m->config.norm == HOP_NORM_NONE) return HOP_OK;
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    hop_status s = add(m, full, m->config.d_model, 0, err);
    if (s != HOP_OK || m->config.norm == HOP_NORM_RMS) return s;
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    return add(m, full, m->config.d_model, 0, err);
}

static hop_status add_mlp(hop_model *m, const char *prefix, hop_error *err)
{
    const struct {
        const char *name;
        bool down, bias, gated;
    } parts[] = {
        {"mlp.gate_proj.weight", false, false, true}, {"mlp.up_proj.weight", false, false, false},
        {"mlp.up_proj.bias", false, true, false},     {"mlp.down_proj.weight", true, false, false},
        {"mlp.down_proj.bias", true, true, false},
    };
    const hop_config *c = &m->config;
    if (c->mlp == HOP_MLP_NONE) return HOP_OK;
    bool gated = c->mlp == HOP_MLP_SWIGLU; /* gated MLPs have no biases, plain ones have no gate */
    hop_status s = add_norm(m, prefix, "post_mixer_layernorm", err);
    for (size_t i = 0; s == HOP_OK && i < sizeof parts / sizeof *parts; i++) {
        if (gated ? parts[i].bias : parts[i].gated) continue;
        char name[96];
        snprintf(name, sizeof name, "%s%s", prefix, parts[i].name);
        int64_t out = parts[i].down ? c->d_model : c->mlp_hidden,
                in = parts[i].down ? c->mlp_hidden : c->d_model;
        s = add(m, name, out, parts[i].bias ? 0 : in, err);
    }
    return s;
}

static hop_status add_layer(hop_model *m, int64_t layer, const hop_mixer_ops *ops, hop_error *err)
{
    char prefix[40], name[96];
    snprintf(prefix, sizeof prefix, "model.layers.%lld.", (long long)layer);
    if (m->layers) m->layers[layer] = (hop__layer){.ops = ops, .first_weight = m->weight_count};
    hop_status s = add_norm(m, prefix, "input_layernorm", err);
    hop_mixer_config c = hop_model_mixer_config(m, layer);
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count = ops->params(&c, params);
    for (int i = 0; s == HOP_OK && i < count; i++) {
        snprintf(name, sizeof name, "%smixer.%s", prefix, params[i].name);
        s = add(m, name, params[i].shape[0], params[i].shape[1], err);
    }
    return s == HOP_OK ? add_mlp(m, prefix, err) : s;
}

/* Runs twice: first counting, then, with memory allocated, filling in. */
static hop_status add_all(hop_model *m, hop_error *err)
{
    const hop_config *c = &m->config;
    m->weight_count = m->floats = 0;
    hop_status s = add(m, "model.embed_tokens.weight", c->vocab, c->d_model, err);
    if (s == HOP_OK && c->position_table)
        s = add(m, "model.embed_positions.weight", c->max_positions, c->d_model, err);
    int64_t layer = 0;
    for (int64_t r = 0; s == HOP_OK && r < c->pattern.run_count; r++) {
        const hop_mixer_ops *ops = hop_mixer_find(c->pattern.runs[r].mixer);
        if (!ops)
            return hop_fail(err, HOP_EUNKNOWN, "pattern: unknown mixer \"%s\"", c->pattern.runs[r].mixer);
        for (int64_t i = 0; s == HOP_OK && i < c->pattern.runs[r].count; i++)
            s = add_layer(m, layer++, ops, err);
    }
    m->tail_weight = m->weight_count;
    if (s == HOP_OK) s = add_norm(m, "model.", "norm", err);
    if (s == HOP_OK && !c->tied) s = add(m, "lm_head.weight", c->vocab, c->d_model, err);
    return s;
}

static const float *part(const hop_model *m, int64_t layer, const char *name)
{
    const hop_weight *w = hop_model_layer_weight(m, layer, name);
    return w ? w->data : NULL;
}

static const float *whole(const hop_model *m, const char *name)
{
    const hop_weight *w = hop_model_weight(m, name);
    return w ? w->data : NULL;
}

static void connect(hop_model *m)
{
    for (int64_t i = 0; i < m->config.pattern.layers; i++) {
        hop__layer *l = &m->layers[i];
        hop_mixer_config c = hop_model_mixer_config(m, i);
        hop_param params[HOP_MIXER_MAX_PARAMS];
        int count = l->ops->params(&c, params);
        for (int k = 0; k < count; k++) {
            char name[64];
            snprintf(name, sizeof name, "mixer.%s", params[k].name);
            l->mixer[k] = part(m, i, name);
        }
        l->norm1 = part(m, i, "input_layernorm.weight");
        l->norm1_bias = part(m, i, "input_layernorm.bias");
        l->norm2 = part(m, i, "post_mixer_layernorm.weight");
        l->norm2_bias = part(m, i, "post_mixer_layernorm.bias");
        l->gate = part(m, i, "mlp.gate_proj.weight");
        l->up = part(m, i, "mlp.up_proj.weight");
        l->up_bias = part(m, i, "mlp.up_proj.bias");
        l->down = part(m, i, "mlp.down_proj.weight");
        l->down_bias = part(m, i, "mlp.down_proj.bias");
    }
    m->tokens = whole(m, "model.embed_tokens.weight");
    m->positions = whole(m, "model.embed_positions.weight");
    m->norm = whole(m, "model.norm.weight");
    m->norm_bias = whole(m, "model.norm.bias");
    m->head = m->config.tied ? m->tokens : whole(m, "lm_head.weight");
}

hop_status hop__layout(hop_model *m, hop_error *err)
{
    int64_t layers = m->config.pattern.layers;
    if (layers > MAX_STORED_LAYERS)
        return hop_fail(err, HOP_EDOMAIN,
                        "pattern: %lld layers are more than the %lld whose weights can be stored",
                        (long long)layers, (long long)MAX_STORED_LAYERS);
    hop_status s = add_all(m, err);
    if (s != HOP_OK) return s;
    m->weights = hop_alloc(sizeof(hop_weight) * (size_t)m->weight_count);
    m->layers = hop_alloc(sizeof(hop__layer) * (size_t)layers);
    m->data = hop_alloc(sizeof(float) * (size_t)m->floats);
    if (!m->weights || !m->layers || !m->data)
        return hop_fail(err, HOP_ENOMEM, "cannot allocate %lld weights", (long long)m->floats);
    s = add_all(m, err);
    if (s == HOP_OK) connect(m);
    return s;
}

/* ---- asking -------------------------------------------------------------------------------- */

const hop_weight *hop_model_layer_weight(const hop_model *m, int64_t layer, const char *name)
{
    if (layer < 0 || layer >= m->config.pattern.layers) return NULL;
    int64_t end = layer + 1 < m->config.pattern.layers ? m->layers[layer + 1].first_weight : m->tail_weight;
    for (int64_t i = m->layers[layer].first_weight; i < end; i++) {
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
    int64_t head = m->layers[0].first_weight;
    for (int64_t i = 0; i < m->weight_count; i = i + 1 == head ? m->tail_weight : i + 1)
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

int64_t hop_model_parameters(const hop_model *m)
{
    int64_t n = 0;
    for (int64_t i = 0; i < m->weight_count; i++)
        n += m->weights[i].shape[0] * (m->weights[i].rank == 2 ? m->weights[i].shape[1] : 1);
    return n;
}
