/* mixer_subject.h - a mixer with its configuration and weights, for tests that look into one. */
#ifndef HOP_TESTS_MIXER_SUBJECT_H
#define HOP_TESTS_MIXER_SUBJECT_H

#include "test.h"

#include <hopbound/mixers.h>

typedef struct subject {
    const hop_mixer_ops *ops;
    hop_mixer_config c;
    hop_list list;
    hop_param params[HOP_MIXER_MAX_PARAMS];
    int count;
    float *w[HOP_MIXER_MAX_PARAMS];
} subject;

typedef struct option {
    const char *name;
    int64_t value;
} option;

typedef struct setup {
    const char *mixer;
    int64_t d_model, heads, head_dim;
    option options[6];
    double scale;
} setup;

static inline int64_t size_of(const hop_param *p)
{
    return p->shape[0] * (p->shape[1] ? p->shape[1] : 1);
}

/* Initialised, then moved a little at random, so that what starts at 0 or 1 counts, too. */
static inline subject subject_new(const setup *z)
{
    subject s = {.ops = hop_mixer_find(z->mixer)};
    assert_non_null(s.ops);
    hop_mixer_config_init(&s.c);
    s.c.d_model = z->d_model, s.c.heads = s.c.kv_heads = z->heads, s.c.head_dim = z->head_dim;
    s.c.layer = 2, s.c.layers = 5, s.c.scale = z->scale;
    for (int i = 0; i < 6 && z->options[i].name; i++)
        assert_int_equal(hop_mixer_option_set(&s.c, s.ops, z->options[i].name, z->options[i].value, NULL),
                         HOP_OK);
    assert_int_equal(hop_mixer_config_ready(&s.c, s.ops, NULL), HOP_OK);
    hop_mixer_list(&s.list, s.ops, &s.c);
    s.count = s.ops->params(&s.c, s.params);
    for (int i = 0; i < s.count; i++) s.w[i] = hop_alloc(sizeof(float) * (size_t)size_of(&s.params[i]));
    hop_rng rng;
    hop_rng_init(&rng, 3, 0);
    hop_mixer_init(s.ops, s.w, &s.c, &rng);
    for (int i = 0; i < s.count; i++)
        for (int64_t k = 0; k < size_of(&s.params[i]); k++) s.w[i][k] += (float)(0.2 * hop_rng_normal(&rng));
    return s;
}

static inline void subject_free(subject *s)
{
    for (int i = 0; i < s->count; i++) hop_free(s->w[i]);
}

static inline int find(const subject *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->params[i].name, name) == 0) return i;
    return -1;
}

static inline float *weight(const subject *s, const char *name)
{
    int i = find(s, name);
    return i < 0 ? NULL : s->w[i];
}

static inline int64_t opt(const subject *s, hop_option o)
{
    return s->c.option[o] == HOP_OPTION_UNSET ? 0 : s->c.option[o]; /* not taken: off */
}

static inline float *random_rows(int64_t rows, int64_t d)
{
    float *x = hop_alloc(sizeof(float) * (size_t)(rows * d));
    hop_rng rng;
    hop_rng_init(&rng, 7, 1);
    for (int64_t i = 0; i < rows * d; i++) x[i] = (float)hop_rng_normal(&rng);
    return x;
}

static inline float *run_forward(const subject *s, const float *x, int64_t tokens, int bits)
{
    hop_arena arena = {0};
    assert_int_equal(hop_arena_reserve(&arena, hop_list_scratch(&s->list, 1, tokens, 1), NULL), HOP_OK);
    memset(arena.base, 0xff, arena.size);
    float *y = hop_alloc(sizeof(float) * (size_t)(tokens * s->c.d_model));
    memset(y, 0xff, sizeof(float) * (size_t)(tokens * s->c.d_model));
    hop_mixer_io io = {.y = y, .x = x, .tokens = tokens, .bits = bits, .scratch = &arena};
    hop_list_forward(&s->list, &s->c, (const float *const *)s->w, &io);
    hop_arena_free(&arena);
    return y;
}

static inline void run_step(const subject *s, float *y, float *state, const float *x, int64_t t, int bits)
{
    hop_arena arena = {0};
    assert_int_equal(hop_arena_reserve(&arena, hop_list_step_scratch(&s->list, 1, t), NULL), HOP_OK);
    memset(arena.base, 0xff, arena.size);
    hop_mixer_io io = {.y = y, .x = x, .tokens = 1, .bits = bits, .scratch = &arena};
    hop_list_step(&s->list, &s->c, (const float *const *)s->w, state, 0, t, &io);
    hop_arena_free(&arena);
}

#endif
