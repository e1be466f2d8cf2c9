/* layer_case.h - one mixer with random weights, for tests that look at whole layers. */
#ifndef HOPBOUND_LAYER_CASE_H
#define HOPBOUND_LAYER_CASE_H

#include "test.h"

#include <hopbound/mixers.h>

typedef struct layer {
    const hop_mixer_ops *ops;
    hop_mixer_config c;
    hop_list list;
    hop_param p[HOP_MIXER_MAX_PARAMS];
    int count;
    float *w[HOP_MIXER_MAX_PARAMS];
} layer;

typedef struct setting {
    const char *name, *options; /* "conv=0 value_dim=3" */
    int64_t d_model, heads, kv_heads, head_dim;
    double rope_theta, scale;
} setting;

/* NULL: the layer has no such parameter. */
static float *weight(const layer *l, const char *name)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->p[i].name, name) == 0) return l->w[i];
    return NULL;
}

static int64_t option(const layer *l, hop_option o)
{
    return l->c.option[o];
}

static int64_t size_of(const hop_param *p)
{
    return p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
}

/* Initialised, then everything is moved a little: what starts at 0 or 1 must be seen too. */
static void layer_new(layer *l, const setting *s, const char *more)
{
    char text[128], *rest = text, *word;
    *l = (layer){.ops = hop_mixer_find(s->name)};
    assert_non_null(l->ops);
    hop_mixer_config_init(&l->c);
    l->c.d_model = s->d_model, l->c.heads = s->heads, l->c.kv_heads = s->kv_heads,
    l->c.head_dim = s->head_dim;
    l->c.rope_theta = s->rope_theta, l->c.scale = s->scale, l->c.layer = 1, l->c.layers = 3;
    snprintf(text, sizeof text, "%s %s", s->options, more);
    while ((word = strtok_r(rest, " ", &rest))) {
        char *value = strchr(word, '=');
        *value++ = 0;
        assert_int_equal(hop_mixer_option_set(&l->c, l->ops, word, atoll(value), NULL), HOP_OK);
    }
    assert_int_equal(hop_mixer_config_ready(&l->c, l->ops, NULL), HOP_OK);
    hop_mixer_list(&l->list, l->ops, &l->c);
    l->count = l->ops->params(&l->c, l->p);
    for (int i = 0; i < l->count; i++) l->w[i] = hop_alloc(sizeof(float) * (size_t)size_of(&l->p[i]));
    hop_rng rng;
    hop_rng_init(&rng, 3, 0);
    hop_mixer_init(l->ops, l->w, &l->c, &rng);
    for (int i = 0; i < l->count; i++) {
        double size = l->p[i].shape[1] ? 0.7 / sqrt((double)l->p[i].shape[1]) : 0.3;
        for (int64_t k = 0; k < size_of(&l->p[i]); k++) l->w[i][k] += (float)(size * hop_rng_normal(&rng));
    }
}

static void layer_free(layer *l)
{
    for (int i = 0; i < l->count; i++) hop_free(l->w[i]);
}

static void fill(layer *l, const char *name, double value)
{
    for (int i = 0; i < l->count; i++)
        for (int64_t k = 0; strcmp(l->p[i].name, name) == 0 && k < size_of(&l->p[i]); k++)
            l->w[i][k] = (float)value;
}

/* Column `col` of a matrix is `value`, the rest 0: the output depends on input `col` alone. */
static void only(layer *l, const char *name, int64_t col, double value)
{
    fill(l, name, 0);
    for (int i = 0; i < l->count; i++)
        for (int64_t r = 0; strcmp(l->p[i].name, name) == 0 && r < l->p[i].shape[0]; r++)
            l->w[i][r * l->p[i].shape[1] + col] = (float)value;
}

static float *forward(const layer *l, const float *x, int64_t T)
{
    hop_arena arena = {0};
    assert_int_equal(hop_arena_reserve(&arena, hop_list_scratch(&l->list, 1, T, 1), NULL), HOP_OK);
    memset(arena.base, 0xff, arena.size);
    float *y = hop_alloc(sizeof(float) * (size_t)(T * l->c.d_model));
    for (int64_t i = 0; i < T * l->c.d_model; i++) y[i] = NAN;
    hop_mixer_io io = {.y = y, .x = x, .tokens = T, .scratch = &arena};
    hop_list_forward(&l->list, &l->c, (const float *const *)l->w, &io);
    hop_arena_free(&arena);
    return y;
}

static void step(const layer *l, float *state, int64_t t, const float *x, float *y)
{
    hop_arena arena = {0};
    assert_int_equal(hop_arena_reserve(&arena, hop_list_step_scratch(&l->list, 1, t), NULL), HOP_OK);
    memset(arena.base, 0xff, arena.size);
    hop_mixer_io io = {.y = y, .x = x, .tokens = 1, .scratch = &arena};
    hop_list_step(&l->list, &l->c, (const float *const *)l->w, state, 0, t, &io);
    hop_arena_free(&arena);
}

static float *inputs(int64_t T, int64_t d)
{
    float *x = hop_alloc(sizeof(float) * (size_t)(T * d));
    hop_rng rng;
    hop_rng_init(&rng, 8, (uint64_t)T);
    for (int64_t i = 0; i < T * d; i++) x[i] = (float)hop_rng_normal(&rng);
    return x;
}

#endif
