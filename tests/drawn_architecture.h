/* Architectures drawn at random, and the networks that are built in them: any linear mixer, full layers and
 * windows in any order, heads and widths that suffice or do not quite. */
#ifndef HOP_TESTS_DRAWN_ARCHITECTURE_H
#define HOP_TESTS_DRAWN_ARCHITECTURE_H

#include "bounds_ask.h"

#define answer_of answer_of_input
#include "funccomp_subject.h"
#undef answer_of

#include <stdio.h>
#include <stdlib.h>

static inline int64_t below(hop_rng *rng, int64_t count)
{
    return (int64_t)hop_rng_below(rng, (uint32_t)count);
}

typedef struct drawn {
    hop_config c;
    hop_task t;
    char name[400];
} drawn;

/* Layers in any order: one linear mixer, some full ones, some windows; or many layers of one mixer, whose states
 * share a table. */
static inline void draw_pattern(char *out, size_t size, bool deep, hop_rng *rng)
{
    static const char *const tables[] = {"gdn", "kda", "deltanet", "mamba2"};
    const char *linear = LINEAR_MIXERS[below(rng, LINEAR_MIXER_COUNT)];
    int64_t layers = 2 + below(rng, 5);
    out[0] = 0;
    if (deep || below(rng, 3) == 0) linear = tables[below(rng, 4)];
    if (deep) {
        snprintf(out, size, "%s^%d", linear, 4 + (int)below(rng, 40));
        return;
    }
    for (int64_t i = 0; i < layers; i++) {
        int64_t kind = below(rng, 8);
        const char *any = kind < 4 ? "full" : kind < 7 ? linear : "window";
        snprintf(out + strlen(out), size - strlen(out), "%s ", any);
    }
}

static inline void set(hop_config *c, const char *mixer, const char *option, int64_t value)
{
    hop_error err = {0};
    if (hop_config_set(c, -1, mixer, option, (double)value, &err) != HOP_OK) fail_msg("%s", err.text);
}

static inline void draw(drawn *d, int64_t number)
{
    hop_rng rng;
    char pattern[300];
    hop_rng_init(&rng, 2027, (uint64_t)number);
    bool deep = below(&rng, 3) == 0;
    draw_pattern(pattern, sizeof pattern, deep, &rng);
    sizes z = {.hops = 1 + (int)below(&rng, deep ? 2 : 3), .m = 2 + below(&rng, deep ? 100 : 12)};
    for (int l = 0; l < z.hops - 1; l++) z.fan[l] = 2 + below(&rng, 3);
    d->t = task_of(&z);
    hop_config_init(&d->c);
    assert_int_equal(hop_pattern_parse(&d->c.pattern, pattern, "gdn", NULL), HOP_OK);
    d->c.kv_heads = 1 + below(&rng, 3), d->c.heads = d->c.kv_heads * (1 + below(&rng, 2));
    d->c.head_dim = 1 + below(&rng, 24);
    d->c.d_model = below(&rng, 3) ? 8 + below(&rng, deep ? 200 : 100) : 0;
    set(&d->c, "window", "window", 1 + below(&rng, 4));
    set(&d->c, "mamba2", "state_dim", 1 + below(&rng, 16));
    set(&d->c, "mamba2", "groups", below(&rng, 2) ? 1 : d->c.kv_heads);
    if (below(&rng, 2)) set(&d->c, "gdn", "value_dim", 2 + below(&rng, 30));
    d->c.norm = below(&rng, 2) ? HOP_NORM_RMS : HOP_NORM_NONE;
    d->c.mlp = below(&rng, 2) ? HOP_MLP_SWIGLU : HOP_MLP_RELU;
    d->c.tied = below(&rng, 4) == 0;
    snprintf(d->name, sizeof d->name,
             "draw %d: %s, %d heads of %d, %d key heads, width %d, hops %d, m %d fan %d,%d", (int)number,
             pattern, (int)d->c.heads, (int)d->c.head_dim, (int)d->c.kv_heads, (int)d->c.d_model, z.hops,
             (int)z.m, (int)z.fan[0], (int)z.fan[1]);
}

/* The theorems' view of it at `bits` a number; false: sizes that a mixer cannot have. */
static inline bool see_architecture(hop_arch *arch, drawn *d, int64_t bits)
{
    hop_error err = {0};
    const hop_arch_options as = {.number_bits = bits, .declared = true};
    int64_t width = d->c.d_model;
    d->c.d_model = width ? width : 64;
    hop_status s = hop_arch_new(arch, &d->c, &as, &err);
    d->c.d_model = width;
    if (s != HOP_OK && s != HOP_EDOMAIN) fail_msg("%s: %s", d->name, err.text);
    arch->width = width; /* 0: not counted, and the builder chooses */
    return s == HOP_OK;
}

/* As it was drawn; or, since the theorems leave norms, MLPs, rotations and the read-out free, without them, with ReLU. */
static inline hop_model *build_it(drawn *d, hop_error *err)
{
    hop_model *m = NULL;
    const hop_construct_options o = {.shape = &d->c};
    hop_status s = hop_construct(&m, "hybrid", &d->t, &o, err);
    if (s == HOP_EDOMAIN) {
        d->c.norm = HOP_NORM_NONE, d->c.mlp = HOP_MLP_RELU, d->c.tied = false;
        d->c.rope_theta = 0, d->c.mlp_hidden = 0;
        s = hop_construct(&m, "hybrid", &d->t, &o, err);
    }
    if (s != HOP_OK && s != HOP_EDOMAIN) fail_msg("%s: %s", d->name, err->text);
    return m;
}

#endif
