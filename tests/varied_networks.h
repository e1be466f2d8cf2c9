/* Networks of more kinds than are built or proved: for these only that sets hold what runs compute is of interest.
 * Each kind is a way to change weights, on bases that go with it; a network is made from its number alone. */
#ifndef HOPBOUND_VARIED_NETWORKS_H
#define HOPBOUND_VARIED_NETWORKS_H

#include "scaled_networks.h"

typedef struct varied {
    const char *name;
    hop_model *(*base)(int64_t number, subject *s, hop_rng *rng);
    void (*change)(hop_model *m, subject *s, hop_rng *rng);
} varied;

/* ---- bases ------------------------------------------------------------------------------------------- */

/* Hybrids of every linear mixer with a layer more, often with room for more heads and keys. */
static inline hop_model *varied_shape(int64_t number, subject *s, hop_rng *rng)
{
    static const sizes all[] = {{1, 31, {0}}, {1, 40, {0}}, {2, 4, {6}}, {1, 3, {0}}, {1, 58, {0}}};
    *s = (subject){.kind = "hybrid", .mixer = linear_mixer((int)(number % SCALED_MIXERS))};
    s->task = composition(&all[below(rng, 5)]), s->message = below(rng, 6) ? 0 : 24;
    hop_model *m = scaled_shape(s, below(rng, 2) ? linear_mixer((int)below(rng, SCALED_MIXERS)) : NULL, rng);
    hop_model *roomy = m && below(rng, 3) == 0 ? scaled_room(m, rng) : NULL;
    if (roomy) hop_model_free(m);
    return roomy ? roomy : m;
}

/* Options of its mixer that a layer takes, drawn one by one. */
static inline void varied_options(hop_config *c, int64_t layer, hop_rng *rng)
{
    static const char *const names[] = {"conv",    "gate",        "norm",     "value_dim", "normalise",
                                        "feature", "steps",       "negative", "rank",      "state_dim",
                                        "groups",  "norm_groups", "expand",   "rope",      "dt_rank",
                                        "inner",   "scale",       "kv_heads", "norms"};
    static const double values[] = {0, 1, 2, 3, 4, 17};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hop_config tried;
        hop_model *m = NULL;
        double value = strcmp(names[k], "scale") ? values[below(rng, 6)] : below(rng, 2) ? -0.7 : 0.3;
        if (below(rng, 2) || hop_config_copy(&tried, c, NULL) != HOP_OK) continue;
        bool fits = hop_config_set(&tried, layer, "", names[k], value, NULL) == HOP_OK &&
                    hop_model_new(&m, &tried, NULL) == HOP_OK;
        hop_model_free(m);
        hop_config_free(fits ? c : &tried);
        if (fits) *c = tried;
    }
}

/* Two layers of any mixers, norms, MLPs and options, with the weights that training starts from. */
static inline hop_model *varied_any(int64_t number, subject *s, hop_rng *rng)
{
    static const sizes all[] = {{1, 3, {0}}, {1, 40, {0}}, {2, 4, {6}}};
    static const double eps[] = {0, 1e-6, 1e-5, 1e-30, 1};
    char pattern[96];
    hop_config c;
    hop_model *m = NULL;
    *s = (subject){.kind = "hybrid", .mixer = linear_mixer((int)(number % SCALED_MIXERS))};
    s->task = composition(&all[below(rng, 3)]), s->message = below(rng, 6) ? 0 : 24;
    const char *second = below(rng, 2) ? "full" : linear_mixer((int)below(rng, SCALED_MIXERS));
    const hop_mixer_ops *other = hop_mixer_other((int)below(rng, 12)); /* one of a few, or none */
    snprintf(pattern, sizeof pattern, "%s %s", s->mixer, other ? other->name : second);
    hop_config_init(&c);
    if (hop_pattern_parse(&c.pattern, pattern, "gdn", NULL) != HOP_OK) abort();
    c.d_model = 4 + 2 * below(rng, 4), c.heads = 1 + below(rng, 3), c.kv_heads = below(rng, 2) ? c.heads : 1;
    c.head_dim = below(rng, 4) ? 1 + below(rng, 5) : 18, c.vocab = s->task.vocab,
    c.max_positions = s->task.length;
    c.position_table = true, c.norm = (hop_norm)below(rng, 3), c.norm_eps = eps[below(rng, 5)];
    c.mlp = (hop_mlp)below(rng, 4), c.mlp_hidden = 3;
    for (int64_t l = 0; l < 2; l++) varied_options(&c, l, rng);
    if (hop_model_new(&m, &c, NULL) != HOP_OK) m = NULL;
    hop_config_free(&c);
    if (m) hop_model_init_weights(m, (uint64_t)number, NULL);
    return m;
}

/* A base under norms whose squares lie anywhere. */
static inline hop_model *varied_normed(int64_t number, subject *s, hop_rng *rng)
{
    hop_model *m = scaled_base(number, s, rng);
    return m ? scaled_norms(m, rng) : NULL;
}

static inline hop_model *varied_normed_shape(int64_t number, subject *s, hop_rng *rng)
{
    hop_model *m = varied_shape(number, s, rng);
    return m ? scaled_norms(m, rng) : NULL;
}

/* Scales of scores and recurrences that nobody has. */
static inline hop_model *varied_scale(int64_t number, subject *s, hop_rng *rng)
{
    static const double scales[] = {-1, 1e-30, 1e30, -1e-3, 7, 1e-40, 0.3333333, -1e10};
    hop_model *m = scaled_base(number, s, rng), *y = NULL;
    hop_config c;
    if (!m || hop_config_copy(&c, hop_model_config(m), NULL) != HOP_OK) return m;
    for (int64_t l = 0; l < c.pattern.layers; l++)
        if (below(rng, 2)) hop_config_set(&c, l, "", "scale", scales[below(rng, 8)], NULL);
    y = with_config(m, &c);
    hop_config_free(&c);
    hop_model_free(m);
    return y;
}

/* Norms of some sizes that stand behind blocks, or that the stream goes on from; what blocks write may be little beside it. */
static inline hop_model *varied_elsewhere(int64_t number, subject *s, hop_rng *rng)
{
    hop_model *m = varied_any(number, s, rng), *y = NULL;
    hop_config c;
    if (!m || hop_config_copy(&c, hop_model_config(m), NULL) != HOP_OK) return m;
    hop_model_free(m);
    c.norm = below(rng, 4) ? HOP_NORM_RMS : HOP_NORM_LAYER, c.norm_eps = 1e-5;
    for (int64_t l = 0; l < c.pattern.layers; l++)
        hop_config_set(&c, l, "", "norms", below(rng, 3) ? HOP_NORMS_KEPT : HOP_NORMS_BEHIND, NULL);
    if (hop_model_new(&y, &c, NULL) != HOP_OK) y = NULL;
    hop_config_free(&c);
    if (!y) return NULL;
    hop_model_init_weights(y, (uint64_t)number, NULL);
    for (int64_t i = 0; i < hop_model_weight_count(y); i++) {
        const hop_weight *w = hop_model_weight_at(y, i);
        const float size = (float)(1 + below(rng, 9));
        for (int64_t k = 0; strstr(w->name, "norm") && w->rank == 1 && k < rows_of(w); k++)
            w->data[k] = size * (w->data[k] + 0.1F * (float)below(rng, 9));
    }
    for (int64_t l = 0; l < hop_model_config(y)->pattern.layers; l++) {
        scaled_times(hop_model_layer_weight(y, l, "mixer.o_proj.weight"), ldexp(1, -(int)below(rng, 16)));
        scaled_times(hop_model_layer_weight(y, l, "mlp.down_proj.weight"), ldexp(1, -(int)below(rng, 16)));
    }
    return y;
}

/* ---- changes ----------------------------------------------------------------------------------------- */

static inline void varied_damage(hop_model *m, subject *s, hop_rng *rng)
{
    (void)s;
    for (int64_t k = below(rng, 4); k > 0; k--) change(m, rng);
}

static inline void varied_messages(hop_model *m, subject *s, hop_rng *rng)
{
    for (int64_t k = 1 + below(rng, 8); k > 0; k--) change(m, rng);
    bool game = s->task.kind == HOP_TASK_FUNCCOMP && !hop_model_config(m)->bidirectional &&
                strcmp(s->kind, "cot") != 0;
    if (game) s->message = below(rng, 2) ? 24 : 12, s->bits = 0;
}

/* Tensors times powers of two, with zeros strewn in. */
static inline void varied_powers(hop_model *m, subject *s, hop_rng *rng)
{
    (void)s;
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        if (below(rng, 3) == 0) scaled_times(w, ldexp(below(rng, 5) ? 1 : -1, (int)below(rng, 60) - 30));
        bool holes = below(rng, 4) == 0;
        for (int64_t k = 0; holes && k < rows_of(w) * columns_of(w); k++)
            if (below(rng, 2)) w->data[k] = 0;
    }
}

static inline void varied_random(hop_model *m, subject *s, hop_rng *rng)
{
    hop_model_init_weights(m, (uint64_t)below(rng, 1 << 20), NULL);
    varied_powers(m, s, rng);
}

/* Rows, each times a power of two, another sign, a few per cent. */
static inline void varied_rows(hop_model *m, subject *s, hop_rng *rng)
{
    (void)s;
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        if (below(rng, 2)) continue;
        for (int64_t r = 0; r < rows_of(w); r++) {
            float by = ldexpf(below(rng, 6) ? 1 : -1, (int)below(rng, 5) - 2) *
                       (below(rng, 3) ? 1 : 1 + 0.1F * (float)below(rng, 9));
            for (int64_t c = 0; c < columns_of(w); c++) w->data[r * columns_of(w) + c] *= by;
        }
    }
}

static inline void varied_strewn(hop_model *m, subject *s, hop_rng *rng)
{
    (void)s;
    for (int k = 0; k < 60; k++) {
        const hop_weight *w = hop_model_weight_at(m, below(rng, hop_model_weight_count(m)));
        float x = ldexpf(1 + 0.01F * (float)below(rng, 100), (int)below(rng, 24) - 20);
        w->data[below(rng, rows_of(w) * columns_of(w))] += below(rng, 2) ? x : -x;
    }
}

static inline bool varied_is_gate(const char *name)
{
    static const char *const parts[] = {"A_log",  "bias",   "gk_proj", "lora",   "gate",
                                        "a_proj", "b_proj", "dt",      "f_proj", "bonus"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i])) return true;
    return false;
}

/* Gates further open, and further shut. */
static inline void varied_gates(hop_model *m, subject *s, hop_rng *rng)
{
    (void)s;
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        if (!strstr(w->name, ".mixer.") || !varied_is_gate(w->name) || below(rng, 2)) continue;
        float add = (float)((below(rng, 4) ? 6 : 30) * hop_rng_normal(rng));
        for (int64_t k = 0; k < rows_of(w) * columns_of(w); k++)
            if (w->rank == 1 || w->data[k] != 0 || below(rng, 8) == 0)
                w->data[k] += add * (below(rng, 3) ? 1 : 0.3F);
    }
}

/* Mixers that have some of the weights that training starts from, added or in place of theirs. */
static inline void varied_half_random(hop_model *m, subject *s, hop_rng *rng)
{
    hop_model *other = NULL;
    (void)s;
    if (hop_model_new(&other, hop_model_config(m), NULL) != HOP_OK) return;
    hop_model_init_weights(other, (uint64_t)below(rng, 1 << 20), NULL);
    bool added = below(rng, 2);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i), *o = hop_model_weight_at(other, i);
        if (!strstr(w->name, ".mixer.") || below(rng, 2) || (!added && !strstr(w->name, "layers.0.")))
            continue;
        float by = ldexpf(1, (int)below(rng, 40) - 30);
        for (int64_t k = 0; k < rows_of(w) * columns_of(w); k++)
            if (!added || below(rng, 2)) w->data[k] = (added ? w->data[k] : 0) + by * o->data[k];
    }
    hop_model_free(other);
}

/* Damaged, and heads that nobody listens to hold numbers of any size. */
static inline void varied_filled(hop_model *m, subject *s, hop_rng *rng)
{
    (void)s;
    for (int64_t k = 1 + below(rng, 6); k > 0; k--) change(m, rng);
    scaled_fill(m, NULL, 0, false, rng);
}

static inline void varied_as_it_is(hop_model *m, subject *s, hop_rng *rng)
{
    (void)m, (void)s, (void)rng;
}

static const varied VARIED[] = {
    {"norms at the edge", varied_normed, varied_as_it_is},
    {"random, times powers of two", scaled_base, varied_random},
    {"other scales", varied_scale, varied_damage},
    {"damaged, messages", scaled_base, varied_messages},
    {"rows of other sizes", scaled_base, varied_rows},
    {"strewn weights", scaled_base, varied_strewn},
    {"other gates", varied_shape, varied_gates},
    {"half random", varied_shape, varied_half_random},
    {"any options", varied_any, varied_as_it_is},
    {"any options, times powers of two", varied_any, varied_powers},
    {"norms at the edge, damaged", varied_normed_shape, varied_damage},
    {"filled heads, damaged", varied_shape, varied_filled},
    {"norms elsewhere", varied_elsewhere, varied_as_it_is},
};
enum { VARIED_COUNT = sizeof VARIED / sizeof *VARIED };

/* NULL: it cannot be. */
static inline hop_model *varied_network(int kind, int64_t number, subject *s)
{
    hop_rng rng;
    hop_rng_init(&rng, 900 + (uint64_t)kind, (uint64_t)number);
    hop_model *m = VARIED[kind].base(number, s, &rng);
    if (m) VARIED[kind].change(m, s, &rng);
    if (m && scaled_finite(m)) return m;
    hop_model_free(m);
    return NULL;
}

#endif
