/* What scaled networks start from: constructed ones of every kind and mixer, the smallest, with norms,
 * gates and convolutions, in the shapes of models, and with room for more. */
#ifndef HOPBOUND_SCALED_BASES_H
#define HOPBOUND_SCALED_BASES_H

#include "against_truth.h"

#include <stdio.h>

#define SCALED_FAMILIES(X)                         \
    X(gauges, "factors scaled against each other") \
    X(dead, "heads that say nothing")              \
    X(dead_gauges, "both")                         \
    X(silent, "layers that say nothing")           \
    X(gates, "gates of other tokens")              \
    X(pairs, "two tensors, times and over a power of two")

enum {
#define SCALED_NUMBER(name, text) SCALED_##name,
    SCALED_FAMILIES(SCALED_NUMBER)
#undef SCALED_NUMBER
        SCALED_FAMILY_COUNT
};

static const char *const scaled_kinds[] = {"full",    "linear",       "mixed",         "cot",
                                           "encoder", "two-sum-full", "two-sum-sparse"};

/* Shapes that real models have. */
typedef struct scaled_option {
    const char *mixer, *name;
    double value;
} scaled_option;

typedef struct scaled_like {
    const char *kind, *pattern;
    hop_mlp mlp;
    int64_t heads, kv_heads, head_dim;
    double theta;
    bool tied;
    scaled_option options[2];
} scaled_like;

static const scaled_like scaled_likes[] = {
    {"full", "F^3", HOP_MLP_GELU, 1, 1, 0, 0, false, {{0}}},
    {"full", "F^4", HOP_MLP_RELU, 2, 1, 0, 0, true, {{0}}},
    {"full", "F^3", HOP_MLP_SWIGLU, 4, 2, 16, 10, false, {{"full", "rope_dim", 6}}},
    {"full", "F^3", HOP_MLP_SWIGLU, 2, 1, 16, 1e4, false, {{"full", "qk_norm", 1}, {"full", "gate", 1}}},
    {"full", "F^3", HOP_MLP_SWIGLU, 2, 2, 12, 0, false, {{"full", "latent", 16}, {"full", "value_dim", 8}}},
    {"full", "W F W^2", HOP_MLP_NONE, 2, 1, 0, 0, false, {{0}}},
    {"hybrid", "gdn^2 F^2 gdn", HOP_MLP_SWIGLU, 2, 1, 8, 0, false, {{0}}},
    {"hybrid", "kda mamba2 F^2", HOP_MLP_SWIGLU, 2, 1, 8, 0, false, {{0}}},
    {"hybrid", "mamba2 F^2", HOP_MLP_SWIGLU, 4, 2, 8, 0, false, {{"mamba2", "norm_groups", 2}}},
    {"hybrid", "gdn^5", HOP_MLP_SWIGLU, 2, 1, 4, 0, false, {{0}}},
    {"hybrid", "mamba2^3", HOP_MLP_NONE, 2, 1, 4, 0, false, {{"mamba2", "state_dim", 4}}},
};

enum {
    SCALED_KINDS = sizeof scaled_kinds / sizeof *scaled_kinds,
    SCALED_LIKES = sizeof scaled_likes / sizeof *scaled_likes,
    SCALED_MIXERS = 16,
    SCALED_FIRST_LIKE = SCALED_KINDS + 2 * SCALED_MIXERS,
    SCALED_SUBJECTS = SCALED_FIRST_LIKE + SCALED_LIKES
};

/* What a network is of: kinds, then hybrids of every linear mixer, as small as they can be and with norms,
 * gates and convolutions, then shapes of models. */
static inline int scaled_subject(int64_t number)
{
    return (int)(number % SCALED_SUBJECTS);
}

static inline int scaled_family(int64_t number)
{
    return (int)(number / SCALED_SUBJECTS % SCALED_FAMILY_COUNT);
}

static inline const char *scaled_subject_name(int64_t number)
{
    int which = scaled_subject(number);
    if (which >= SCALED_FIRST_LIKE) return scaled_likes[which - SCALED_FIRST_LIKE].pattern;
    return which < SCALED_KINDS ? scaled_kinds[which] : linear_mixer((which - SCALED_KINDS) % SCALED_MIXERS);
}

/* ---- what they start from ---------------------------------------------------------------------------- */

/* A hybrid with the mixer's own norms, gates and convolutions, where it can have them; `extra`: a layer
 * more, which is not needed. */
static inline hop_model *scaled_shape(const subject *s, const char *extra, hop_rng *rng)
{
    static const int64_t dims[] = {4, 8, 40};
    char pattern[96];
    hop_config c;
    hop_model *m = NULL;
    const char *more = extra ? extra : "full";
    if (below(rng, 2))
        snprintf(pattern, sizeof pattern, "%s %s full^%d", s->mixer, more, s->task.funccomp.hops);
    else
        snprintf(pattern, sizeof pattern, "%s full^%d %s", s->mixer, s->task.funccomp.hops, more);
    hop_config_init(&c);
    bool ok = hop_pattern_parse(&c.pattern, pattern, "gdn", NULL) == HOP_OK;
    c.heads = c.kv_heads = 1 + below(rng, 2), c.head_dim = dims[below(rng, 3)];
    c.norm = below(rng, 3) ? HOP_NORM_NONE : HOP_NORM_RMS;
    c.mlp = below(rng, 2) ? HOP_MLP_RELU : HOP_MLP_SWIGLU, c.mlp_hidden = 2;
    static const char *const options[] = {"conv", "gate", "norm"};
    for (int i = 0; ok && i < 3; i++)
        if (below(rng, 2)) hop_config_set(&c, -1, s->mixer, options[i], 0, NULL);
    const hop_construct_options o = {.shape = &c};
    if (!ok || hop_construct(&m, "hybrid", &s->task, &o, NULL) != HOP_OK) m = NULL;
    hop_config_free(&c);
    return m;
}

static inline hop_model *scaled_like_model(const scaled_like *z, const subject *s, hop_rng *rng)
{
    hop_config c;
    hop_model *m = NULL;
    hop_config_init(&c);
    bool ok = hop_pattern_parse(&c.pattern, z->pattern, "gdn", NULL) == HOP_OK;
    c.norm = below(rng, 3) ? HOP_NORM_RMS : HOP_NORM_NONE, c.mlp = z->mlp, c.mlp_hidden = 3, c.tied = z->tied;
    c.heads = z->heads, c.kv_heads = z->kv_heads, c.head_dim = z->head_dim, c.rope_theta = z->theta;
    for (const scaled_option *o = z->options; ok && o < z->options + 2 && o->name; o++)
        ok = hop_config_set(&c, -1, o->mixer, o->name, o->value, NULL) == HOP_OK;
    const hop_construct_options o = {.shape = &c};
    if (!ok || hop_construct(&m, z->kind, &s->task, &o, NULL) != HOP_OK) m = NULL;
    hop_config_free(&c);
    return m;
}

/* A task, and with what arithmetic it is proved and run. */
static inline void scaled_task(subject *s, bool long_ones, hop_rng *rng)
{
    static const sizes all[] = {{1, 2, {0}}, {1, 3, {0}}, {1, 31, {0}}, {2, 2, {2}}};
    int64_t z = below(rng, 16), how = below(rng, 8);
    s->task = composition(&all[z < 6 ? 0 : z < 13 ? 1 : z < 15 && long_ones ? 2 : 3]);
    if (strncmp(s->kind, "two-sum", 7) == 0) s->task = two_sum(4, 3 + below(rng, 2));
    if (strcmp(s->kind, "cot") == 0) s->task = composition(&all[z % 2]);
    bool plain =
        s->task.kind == HOP_TASK_FUNCCOMP && strcmp(s->kind, "cot") != 0 && strcmp(s->kind, "encoder") != 0;
    if (plain && how == 0) s->bits = 16 + (int)below(rng, 8);
    if (plain && how == 1) s->message = 24;
    if (plain && how == 2) s->message = 32;
}

static inline hop_model *scaled_base(int64_t number, subject *s, hop_rng *rng)
{
    int which = scaled_subject(number);
    const scaled_like *like = which >= SCALED_FIRST_LIKE ? &scaled_likes[which - SCALED_FIRST_LIKE] : NULL;
    bool mixer = !like && which >= SCALED_KINDS;
    *s = (subject){.kind = like    ? like->kind
                           : mixer ? "hybrid"
                                   : scaled_kinds[which],
                   .mixer = mixer ? linear_mixer((which - SCALED_KINDS) % SCALED_MIXERS) : NULL};
    scaled_task(s, mixer, rng);
    if (like) return scaled_like_model(like, s, rng);
    if (scaled_family(number) == SCALED_silent)
        return s->mixer ? scaled_shape(s, linear_mixer((int)below(rng, SCALED_MIXERS)), rng) : NULL;
    if (which >= SCALED_KINDS + SCALED_MIXERS) return scaled_shape(s, NULL, rng);
    return construct(s);
}

/* The same network with a first layer of more heads and longer keys; old weights stand in the corner of
 * the new tensors, vectors go on as their last number, and all else is 0. NULL: it cannot be. */
static inline hop_model *scaled_room(const hop_model *good, hop_rng *rng)
{
    static const char *const more[] = {"heads", "kv_heads", "head_dim", "state_dim", "rank", "inner"};
    const int64_t by[] = {2, 2, 35 + below(rng, 8), 40, 2, 40};
    hop_config c;
    hop_model *m = NULL;
    if (hop_config_copy(&c, hop_model_config(good), NULL) != HOP_OK) return NULL;
    bool heads = below(rng, 2);
    for (int i = heads ? 0 : 2; i < 6; i++) { /* not every mixer takes each of them */
        hop_config tried;
        if ((i > 1 && below(rng, 3) == 0) || i == 1 || hop_config_copy(&tried, &c, NULL) != HOP_OK) continue;
        bool fits = hop_config_set(&tried, 0, "", more[i], (double)by[i], NULL) == HOP_OK &&
                    (i > 0 || hop_config_set(&tried, 0, "", more[1], (double)by[1], NULL) == HOP_OK) &&
                    hop_model_new(&m, &tried, NULL) == HOP_OK;
        if (fits) hop_model_free(m);
        hop_config_free(fits ? &c : &tried);
        if (fits) c = tried;
        m = NULL;
    }
    hop_status s = hop_model_new(&m, &c, NULL);
    hop_config_free(&c);
    for (int64_t i = 0; s == HOP_OK && i < hop_model_weight_count(m); i++) {
        const hop_weight *to = hop_model_weight_at(m, i), *from = hop_model_weight(good, to->name);
        for (int64_t r = 0; r < rows_of(to); r++)
            for (int64_t k = 0; k < columns_of(to); k++) {
                bool within = from && r < rows_of(from) && k < columns_of(from);
                float *x = &to->data[r * columns_of(to) + k];
                *x = within ? from->data[r * columns_of(from) + k] : 0;
                if (!within && from && to->rank == 1) *x = from->data[rows_of(from) - 1];
            }
    }
    return s == HOP_OK ? m : NULL;
}

#endif
