/* packed.c - a network's matrices as products read them. A matrix takes as many floats there as it has, so both
 * ways of laying it out are blocks of the model's own layout. */
#include "grad.h"

struct hop_packed {
    const hop_model *model;
    float *forward, *backward;
};

hop_status hop_packed_new(hop_packed **out, const hop_model *m, hop_error *err)
{
    hop_packed *l = *out = hop_alloc(sizeof *l);
    if (!l) return hop_fail(err, HOP_ENOMEM, "out of memory");
    const size_t bytes = sizeof(float) * (size_t)m->layout->floats;
    *l = (hop_packed){.model = m, .forward = hop_alloc_raw(bytes), .backward = hop_alloc_raw(bytes)};
    if (l->forward && l->backward) return HOP_OK;
    hop_packed_free(l);
    *out = NULL;
    return hop_fail(err, HOP_ENOMEM, "out of memory");
}

void hop_packed_free(hop_packed *l)
{
    if (!l) return;
    hop_free(l->forward);
    hop_free(l->backward);
    hop_free(l);
}

static void lay_one(void *ctx, int64_t i, int worker)
{
    const hop_packed *l = ctx;
    const hop_slot *s = &l->model->layout->slots[i];
    (void)worker;
    const int64_t out = s->shape[0], in = s->shape[1];
    const float *w = l->model->data + s->offset;
    if (s->rank != 2 || w == l->model->positions) return;
    if (hop_panels_fit(out)) hop_panels(l->forward + s->offset, (hop_mat){w, 1, in}, in, out);
    if (hop_panels_fit(in)) hop_panels(l->backward + s->offset, (hop_mat){w, in, 1}, out, in);
}

void hop_packed_update(hop_packed *l, hop_pool *pool)
{
    hop_pool_run(pool, l->model->layout->count, lay_one, l);
}

const float *hop__packed_forward(const hop_packed *l, const float *w, int64_t out)
{
    return l && w && hop_panels_fit(out) ? l->forward + (w - l->model->data) : NULL;
}

const float *hop__packed_backward(const hop_packed *l, const float *w, int64_t in)
{
    return l && w && hop_panels_fit(in) ? l->backward + (w - l->model->data) : NULL;
}

void hop__packed_mixer(hop_panel_set *set, const hop_packed *l, int64_t layer)
{
    const hop__plan *plan = hop__layer_plan(l->model->layout, layer);
    const hop__block *w = &l->model->layers[layer];
    hop_param params[HOP_MIXER_MAX_PARAMS];
    const int count = plan->ops->params(&plan->config, params);
    *set = (hop_panel_set){0};
    for (int i = 0; i < count; i++) {
        if (!hop_list_whole(w->list, i, params[i].shape)) continue;
        set->forward[i] = hop__packed_forward(l, w->mixer[i], params[i].shape[0]);
        set->backward[i] = hop__packed_backward(l, w->mixer[i], params[i].shape[1]);
    }
}
