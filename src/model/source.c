/* Layers one after another. Stored ones are simply there. Seeded ones are drawn when they are asked for, into
 * buffers for one layer of each shape, or for all different ones when layers are tied and few, so that
 * memory does not grow with depth. */
#include "network.h"

#include <math.h>
#include <string.h>

#define KEPT_FLOATS ((int64_t)1 << 26) /* 256 MB of tied layers are worth keeping */

/* The stream that a layer's numbers come from. */
static int64_t stream_of(const hop_model *m, int64_t layer)
{
    return m->layout->config.seeded && m->layout->config.tie > 0 ? layer % m->layout->config.tie : layer;
}

/* Norm weights 1, biases 0, matrices normal with variance 1/fan-in; the mixer's own tensors as its paper has
 * them. Every layer has streams of its own, so that adding a layer does not change the others. */
void hop__init_layer(const hop_model *m, int64_t layer, const hop__part *parts, int count, float *const *data,
                     uint64_t seed)
{
    float *mixer[HOP_MIXER_MAX_PARAMS] = {0};
    int params = 0;
    uint64_t stream = ((uint64_t)stream_of(m, layer) + 1) << 6;
    for (int i = 0; i < count; i++) {
        const hop__part *p = &parts[i];
        if (strncmp(p->name, "mixer.", 6) == 0) {
            mixer[params++] = data[i];
            continue;
        }
        hop_rng rng;
        hop_rng_init(&rng, seed, stream + (uint64_t)i);
        bool bias = strstr(p->name, ".bias") != NULL;
        int64_t n = p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
        double std = 1.0 / sqrt((double)p->shape[1]);
        for (int64_t k = 0; k < n; k++)
            data[i][k] = p->shape[1] ? (float)(std * hop_rng_normal(&rng)) : bias ? 0.0f : 1.0f;
    }
    hop_rng rng;
    hop_rng_init(&rng, seed, stream + 63);
    hop_mixer_config c = hop_model_mixer_config(m, layer);
    hop_mixer_init(hop__layer_plan(m->layout, layer)->ops, mixer, &c, &rng);
}

/* ---- buffers for seeded layers ------------------------------------------------------------------ */

/* The shapes that runs have, and the floats of the largest layer of all. */
static int64_t find_shapes(hop__source *s)
{
    const hop_model *m = s->model;
    int64_t most = 0;
    for (int64_t r = 0; r < m->layout->config.pattern.run_count; r++) {
        const hop__plan *plan = m->layout->run_plan[r];
        int64_t k = 0;
        while (k < s->shape_count && s->shapes[k].plan != plan) k++;
        s->shape_of_run[r] = (int)k;
        if (k < s->shape_count) continue;
        hop__layer_kind *shape = &s->shapes[s->shape_count++];
        shape->plan = plan;
        shape->count = hop__plan_parts(&m->layout->config, plan, shape->parts);
        int64_t n = hop__parts_floats(shape->parts, shape->count);
        if (n > most) most = n;
    }
    for (int64_t i = 0; i < m->layout->special_count; i++) {
        hop__part parts[HOP__MAX_PARTS];
        int64_t n =
            hop__parts_floats(parts, hop__layer_parts(m->layout, m->layout->specials[i].layer, parts));
        if (n > most) most = n;
    }
    return most;
}

hop_status hop__source_open(hop__source *s, const hop_model *m, hop_error *err)
{
    *s = (hop__source){.model = m, .each = 1};
    if (!m->layout->config.seeded) return HOP_OK;
    s->shapes = hop_alloc(sizeof *s->shapes * (size_t)m->layout->plan_count);
    s->shape_of_run = hop_alloc(sizeof(int) * (size_t)m->layout->config.pattern.run_count);
    if (s->shapes && s->shape_of_run) {
        int64_t room = find_shapes(s), tie = m->layout->config.tie;
        if (tie > 0 && tie <= KEPT_FLOATS / (room * s->shape_count)) s->each = tie;
        int64_t count = s->shape_count * s->each + 1;
        s->drawn = hop_alloc(sizeof *s->drawn * (size_t)count);
        s->buffer = hop_alloc_raw(sizeof(float) * (size_t)(room * count));
        for (int64_t i = 0; s->drawn && i < count; i++)
            s->drawn[i] = (hop__drawn){.stream = -1, .data = s->buffer + i * room};
    }
    if (s->shapes && s->shape_of_run && s->drawn && s->buffer) return HOP_OK;
    hop__source_close(s);
    return hop_fail(err, HOP_ENOMEM, "cannot hold a layer's weights");
}

void hop__source_close(hop__source *s)
{
    hop_free(s->shapes);
    hop_free(s->shape_of_run);
    hop_free(s->drawn);
    hop_free(s->buffer);
    *s = (hop__source){0};
}

static bool is_special(const hop_model *m, int64_t layer)
{
    for (int64_t i = 0; i < m->layout->special_count && m->layout->specials[i].layer <= layer; i++)
        if (m->layout->specials[i].layer == layer) return true;
    return false;
}

static void draw(hop__drawn *p, const hop_model *m, int64_t layer, const hop__part *parts, int count)
{
    float *data[HOP__MAX_PARTS], *at = p->data;
    const hop__plan *plan = hop__layer_plan(m->layout, layer);
    p->layer = (hop__block){.ops = plan->ops, .list = &plan->list};
    for (int i = 0; i < count; i++) {
        const float *start = data[i] = at;
        memcpy((char *)&p->layer + parts[i].slot, &start, sizeof start);
        at += hop__part_floats(&parts[i]);
    }
    hop__init_layer(m, layer, parts, count, data, m->layout->config.seed);
}

const hop__block *hop__source_layer(hop__source *s, int64_t layer)
{
    const hop_model *m = s->model;
    if (m->layers) return &m->layers[layer];
    if (is_special(m, layer)) {
        hop__part parts[HOP__MAX_PARTS];
        hop__drawn *p = &s->drawn[s->shape_count * s->each];
        draw(p, m, layer, parts, hop__layer_parts(m->layout, layer, parts));
        return &p->layer;
    }
    int64_t shape = s->shape_of_run[hop__layer_run(m->layout, layer)], stream = stream_of(m, layer);
    hop__drawn *p = &s->drawn[shape * s->each + stream % s->each];
    if (p->stream != stream) draw(p, m, layer, s->shapes[shape].parts, s->shapes[shape].count);
    p->stream = stream;
    return &p->layer;
}
