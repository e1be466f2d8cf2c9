/* Layers one after another. Stored ones are simply there. Seeded ones are drawn when they are asked for, into a buffer
 * that holds one layer, or all different ones when layers are tied and few, so that memory does not grow with depth. */
#include "network.h"

#include <math.h>
#include <string.h>

#define KEPT_FLOATS ((int64_t)1 << 26) /* 256 MB of tied layers are worth keeping */

/* The stream that a layer's numbers come from. */
static int64_t stream_of(const hop_model *m, int64_t layer)
{
    return m->config.seeded && m->config.tie > 0 ? layer % m->config.tie : layer;
}

/* Norm weights 1, biases 0, matrices normal with variance 1/fan-in; the mixer's own tensors as its paper has them. Every
 * layer has streams of its own, so that adding a layer does not change the others. */
void hop__init_layer(const hop_model *m, int64_t layer, float *const *data, uint64_t seed)
{
    hop__part list[HOP__MAX_PARTS];
    float *mixer[HOP_MIXER_MAX_PARAMS] = {0};
    int count = hop__layer_parts(m, layer, list), params = 0;
    uint64_t stream = ((uint64_t)stream_of(m, layer) + 1) << 6;
    for (int i = 0; i < count; i++) {
        const hop__part *p = &list[i];
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
    hop__layer_ops(m, layer)->init(mixer, &c, &rng);
}

/* The largest layer, over runs and special layers. */
static int64_t most_floats(const hop_model *m)
{
    int64_t most = 0;
    for (int64_t i = 0; i < m->config.pattern.run_count + m->special_count; i++) {
        int64_t runs = m->config.pattern.run_count, n = 0;
        hop__part list[HOP__MAX_PARTS];
        int count = hop__layer_parts(m, i < runs ? m->run_start[i] : m->specials[i - runs].layer, list);
        for (int k = 0; k < count; k++) n += hop__part_floats(&list[k]);
        if (n > most) most = n;
    }
    return most;
}

hop_status hop__source_open(hop__source *s, const hop_model *m, hop_error *err)
{
    *s = (hop__source){.model = m};
    if (!m->config.seeded) return HOP_OK;
    s->room = most_floats(m);
    /* Tied layers of one shape can all be kept; with several shapes a stream means different numbers. */
    bool same = m->config.pattern.run_count == 1 && m->special_count == 0;
    int64_t tie = m->config.tie;
    s->kept = same && tie > 0 && tie <= KEPT_FLOATS / s->room ? tie : 1;
    s->buffer = hop_alloc(sizeof(float) * (size_t)(s->room * s->kept));
    s->holds = hop_alloc(sizeof(int64_t) * (size_t)s->kept);
    if (!s->buffer || !s->holds) {
        hop__source_close(s);
        return hop_fail(err, HOP_ENOMEM, "cannot hold a layer's %lld weights", (long long)s->room);
    }
    for (int64_t i = 0; i < s->kept; i++) s->holds[i] = -1;
    return HOP_OK;
}

void hop__source_close(hop__source *s)
{
    hop_free(s->buffer);
    hop_free(s->holds);
    *s = (hop__source){0};
}

const hop__layer *hop__source_layer(hop__source *s, int64_t layer)
{
    const hop_model *m = s->model;
    if (m->layers) return &m->layers[layer];
    hop__part list[HOP__MAX_PARTS];
    float *data[HOP__MAX_PARTS];
    int count = hop__layer_parts(m, layer, list);
    int64_t stream = stream_of(m, layer), place = stream % s->kept;
    float *at = s->buffer + place * s->room;
    s->layer = (hop__layer){.ops = hop__layer_ops(m, layer)};
    for (int i = 0; i < count; i++) {
        const float *start = data[i] = at;
        memcpy((char *)&s->layer + list[i].slot, &start, sizeof start);
        at += hop__part_floats(&list[i]);
    }
    if (s->kept == 1 || s->holds[place] != stream) hop__init_layer(m, layer, data, m->config.seed);
    s->holds[place] = stream;
    return &s->layer;
}
