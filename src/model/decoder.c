/* Token by token: every layer keeps its mixer's state. */
#include "network.h"

struct hop_decoder {
    const hop_model *model;
    int64_t length, max_tokens;
    float **states; /* one a layer */
    hop_arena scratch;
    float *x, *y, *normed, *finish;
};

static hop_status allocate(hop_decoder *d, hop_error *err)
{
    const hop_model *m = d->model;
    int64_t layers = m->config.pattern.layers;
    size_t width = sizeof(float) * (size_t)m->config.d_model, most = 1;
    d->states = hop_alloc(sizeof *d->states * (size_t)layers);
    d->x = hop_alloc(width);
    d->y = hop_alloc(width);
    d->normed = hop_alloc(width);
    d->finish = hop_alloc(sizeof(float) * hop__finish_floats(m, 1));
    bool ok = d->states && d->x && d->y && d->normed && d->finish;
    for (int64_t i = 0; ok && i < layers; i++) {
        hop_mixer_config c = hop_model_mixer_config(m, i);
        const hop_mixer_ops *ops = m->layers[i].ops;
        d->states[i] = hop_alloc(sizeof(float) * (size_t)ops->state_floats(&c, d->max_tokens));
        ok = d->states[i] != NULL;
        size_t need = ops->step_scratch(&c, d->max_tokens - 1);
        if (need > most) most = need;
    }
    if (!ok)
        return hop_fail(err, HOP_ENOMEM, "cannot hold the states of %lld tokens", (long long)d->max_tokens);
    return hop_arena_reserve(&d->scratch, most, err);
}

hop_status hop_decoder_new(hop_decoder **out, const hop_model *m, int64_t max_tokens, hop_error *err)
{
    *out = NULL;
    hop_decoder *d = hop_alloc(sizeof *d);
    if (!d) return hop_fail(err, HOP_ENOMEM, "out of memory");
    d->model = m;
    d->max_tokens =
        max_tokens > 0 && max_tokens < m->config.max_positions ? max_tokens : m->config.max_positions;
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
    for (int64_t i = 0; d->states && i < d->model->config.pattern.layers; i++) hop_free(d->states[i]);
    hop_free(d->states);
    hop_arena_free(&d->scratch);
    hop_free(d->x);
    hop_free(d->y);
    hop_free(d->normed);
    hop_free(d->finish);
    hop_free(d);
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
    for (int64_t i = 0; i < m->config.pattern.layers; i++) {
        const hop__layer *l = &m->layers[i];
        hop_mixer_config c = hop_model_mixer_config(m, i);
        d->scratch.used = 0;
        hop_mixer_io io = {.y = d->y, .tokens = 1, .scratch = &d->scratch};
        io.x = hop__norm(m, d->normed, d->x, l->norm1, l->norm1_bias, 1, 0);
        l->ops->step(&c, l->mixer, d->states[i], d->length, &io);
        hop__finish(m, l, d->x, d->y, 1, 0, d->finish);
    }
    d->length++;
    if (logits) hop__read_out(m, logits, d->x, 1, 0, d->y, NULL);
    return HOP_OK;
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
    for (int64_t i = 0; length > 0 && i < m->config.pattern.layers; i++)
        if (m->layers[i].ops->recurrent)
            return hop_fail(err, HOP_EDOMAIN, "a %s layer cannot forget single tokens",
                            m->layers[i].ops->name);
    for (int64_t i = 0; length == 0 && i < m->config.pattern.layers; i++) {
        hop_mixer_config c = hop_model_mixer_config(m, i);
        int64_t n = m->layers[i].ops->recurrent ? m->layers[i].ops->state_floats(&c, 0) : 0;
        for (int64_t k = 0; k < n; k++) d->states[i][k] = 0;
    }
    d->length = length;
    return HOP_OK;
}
