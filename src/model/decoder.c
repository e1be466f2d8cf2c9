/* Token by token: every layer keeps its mixer's state. With `keep`, a recurrent layer's states after every
 * token stand one behind the other, so that going back is forgetting the last ones. */
#include "network.h"

#include <string.h>

struct hop_decoder {
    const hop_model *model;
    int64_t length, max_tokens;
    bool keep;
    float **states; /* one a layer */
    hop_arena scratch;
    float *x, *y, *normed, *finish;
    const hop_watch *watch;
};

/* Where a layer's state after t tokens begins. */
static float *state_at(const hop_decoder *d, int64_t layer, int64_t t)
{
    const hop_list *l = d->model->layers[layer].list;
    return d->states[layer] + (d->keep && !l->attends ? t * l->state_floats : 0);
}

static size_t state_size(const hop_decoder *d, const hop_list *l)
{
    size_t n = sizeof(float) * (size_t)hop_list_state_floats(l, d->max_tokens);
    return d->keep && !l->attends ? n * (size_t)(d->max_tokens + 1) : n;
}

static hop_status allocate(hop_decoder *d, hop_error *err)
{
    const hop_model *m = d->model;
    int64_t layers = m->layout->config.pattern.layers;
    size_t width = sizeof(float) * (size_t)m->layout->config.d_model, most = 1;
    d->states = hop_alloc(sizeof *d->states * (size_t)layers);
    d->x = hop_alloc(width);
    d->y = hop_alloc(width);
    d->normed = hop_alloc(width);
    d->finish = hop_alloc(sizeof(float) * hop__finish_floats(m, 1));
    bool ok = d->states && d->x && d->y && d->normed && d->finish;
    for (int64_t i = 0; ok && i < layers; i++) {
        const hop_list *list = m->layers[i].list;
        d->states[i] = hop_alloc(state_size(d, list));
        ok = d->states[i] != NULL;
        size_t need = hop_list_step_scratch(list, 1, d->max_tokens - 1);
        if (need > most) most = need;
    }
    if (!ok)
        return hop_fail(err, HOP_ENOMEM, "cannot hold the states of %lld tokens", (long long)d->max_tokens);
    return hop_arena_reserve(&d->scratch, most, err);
}

hop_status hop_decoder_new(hop_decoder **out, const hop_model *m, int64_t max_tokens, bool keep,
                           hop_error *err)
{
    *out = NULL;
    if (m->layout->config.bidirectional)
        return hop_fail(err, HOP_EDOMAIN, "a network that looks both ways cannot run token by token");
    if (m->layout->config.seeded) return hop_fail(err, HOP_EDOMAIN, "seeded layers run whole sequences only");
    hop_decoder *d = hop_alloc(sizeof *d);
    if (!d) return hop_fail(err, HOP_ENOMEM, "out of memory");
    d->model = m;
    d->keep = keep;
    d->max_tokens = max_tokens > 0 && max_tokens < m->layout->config.max_positions
                        ? max_tokens
                        : m->layout->config.max_positions;
    hop_status s = allocate(d, err);
    if (s != HOP_OK) {
        hop_decoder_free(d);
        return s;
    }
    *out = d;
    return HOP_OK;
}

void hop_decoder_free(hop_decoder *d)
{
    if (!d) return;
    for (int64_t i = 0; d->states && i < d->model->layout->config.pattern.layers; i++) hop_free(d->states[i]);
    hop_free(d->states);
    hop_arena_free(&d->scratch);
    hop_free(d->x);
    hop_free(d->y);
    hop_free(d->normed);
    hop_free(d->finish);
    hop_free(d);
}

static void step_layer(hop_decoder *d, int64_t i)
{
    const hop_model *m = d->model;
    const hop__block *l = &m->layers[i];
    hop_mixer_config c = hop_model_mixer_config(m, i);
    float *state = state_at(d, i, d->length);
    if (d->keep && !l->list->attends) { /* this token works on a copy; the old one stays */
        size_t n = (size_t)l->list->state_floats;
        memcpy(state + n, state, n * sizeof(float));
        state += n;
    }
    d->scratch.used = 0;
    hop_mixer_io io = {.y = d->y, .tokens = 1, .scratch = &d->scratch};
    io.watch = d->watch ? d->watch->buffers : NULL;
    io.x = hop__enter(m, l, d->normed, d->x, 1, 0, NULL);
    hop_list_step(l->list, &c, l->mixer, state, 0, d->length, &io);
    hop__finish(m, l, d->x, d->y, 1, (hop__arith){0}, d->finish);
    if (d->watch && d->watch->stream) d->watch->stream(d->watch->ctx, i, d->x, 1);
}

hop_status hop_decoder_step(hop_decoder *d, int32_t token, float *logits, hop_error *err)
{
    const hop_model *m = d->model;
    if (d->length == d->max_tokens)
        return hop_fail(err, HOP_ERANGE, "more than the %lld tokens that were asked for",
                        (long long)d->max_tokens);
    hop_status s = hop__check_token(m, token, d->length, err);
    if (s != HOP_OK) return s;
    hop__embed(m, d->x, token, d->length, 0, d->y);
    for (int64_t i = 0; i < m->layout->config.pattern.layers; i++) step_layer(d, i);
    d->length++;
    if (logits) hop__read_out(m, logits, d->x, 1, (hop__arith){0}, d->y, NULL);
    return HOP_OK;
}

void hop_decoder_watch(hop_decoder *d, const hop_watch *watch)
{
    d->watch = watch;
}

int64_t hop_decoder_length(const hop_decoder *d)
{
    return d->length;
}

hop_status hop_decoder_rewind(hop_decoder *d, int64_t length, hop_error *err)
{
    const hop_model *m = d->model;
    if (length < 0 || length > d->length)
        return hop_fail(err, HOP_ERANGE, "cannot rewind from %lld to %lld tokens", (long long)d->length,
                        (long long)length);
    for (int64_t i = 0; i < m->layout->config.pattern.layers && !d->keep && length < d->length; i++) {
        const hop_list *l = m->layers[i].list;
        /* A cache that only grows forgets its last rows; a state of bounded size has overwritten what it was.
         */
        if (hop_list_state_floats(l, d->length) > hop_list_state_floats(l, d->length - 1)) continue;
        if (length > 0)
            return hop_fail(err, HOP_EDOMAIN, "the states of a %s layer were not kept",
                            m->layers[i].ops->name);
        memset(d->states[i], 0, sizeof(float) * (size_t)hop_list_state_floats(l, 0));
    }
    d->length = length;
    return HOP_OK;
}
