/* Networks with norms whose stream is scaled as a whole: the norms take that back, but for their eps, which is made
 * small with it. Squares come to lie at the edge of float32, where their sum is anything. */
#ifndef HOPBOUND_SCALED_NORMS_H
#define HOPBOUND_SCALED_NORMS_H

#include "scale_layer.h"

static inline void scaled_times(const hop_weight *w, double by)
{
    for (int64_t i = 0; w && i < rows_of(w) * columns_of(w); i++) w->data[i] = (float)(w->data[i] * by);
}

/* The parameter that writes the layer's output. */
static inline const hop_weight *scaled_output(const hop_model *m, int64_t layer)
{
    hop_param list[HOP_MIXER_MAX_PARAMS] = {{0}};
    hop_list l;
    hop_mixer_config c = hop_model_mixer_config(m, layer);
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&hop_model_config(m)->pattern, layer));
    char name[96];
    ops->params(&c, list);
    hop_mixer_list(&l, ops, &c);
    snprintf(name, sizeof name, "mixer.%s", list[l.op[l.op_count - 1].par[0]].name);
    return hop_model_layer_weight(m, layer, name);
}

/* Everything that is added to the stream. */
static inline void scaled_whole_stream(const hop_model *m, double by)
{
    static const char *const added[] = {"mlp.down_proj.weight", "mlp.down_proj.bias",
                                        "mixer.linear_out.bias"};
    scaled_times(hop_model_weight(m, "model.embed_tokens.weight"), by);
    scaled_times(hop_model_weight(m, "model.embed_positions.weight"), by);
    for (int64_t l = 0; l < hop_model_config(m)->pattern.layers; l++) {
        scaled_times(scaled_output(m, l), by);
        for (int i = 0; i < 3; i++) scaled_times(hop_model_layer_weight(m, l, added[i]), by);
    }
}

static inline double scaled_largest(const hop_weight *w)
{
    double most = 0;
    for (int64_t i = 0; w && i < rows_of(w) * columns_of(w); i++) most = fmax(most, fabs(w->data[i]));
    return most;
}

/* Takes m. Half of them: the largest square near 2^-149. */
static inline hop_model *scaled_norms(hop_model *m, hop_rng *rng)
{
    static const double eps[] = {0, 0, 0, 1e-45, 3e-42, 1e-38, 1e-30, 1e-20, 1e-6, 1};
    const hop_config *old = hop_model_config(m);
    hop_config c;
    if (old->norm == HOP_NORM_NONE || old->tied || hop_config_copy(&c, old, NULL) != HOP_OK) return m;
    double largest = fmax(scaled_largest(hop_model_weight(m, "model.embed_tokens.weight")),
                          scaled_largest(hop_model_weight(m, "model.embed_positions.weight")));
    int e =
        below(rng, 2) ? (int)below(rng, 14) - 76 - ilogb(fmax(largest, 1e-30)) : (int)below(rng, 150) - 100;
    scaled_whole_stream(m, ldexp(1 + 0.001 * (double)below(rng, 1000), e));
    c.norm_eps = eps[below(rng, 10)];
    hop_model *y = with_config(m, &c);
    hop_config_free(&c);
    if (y) hop_model_free(m);
    return y ? y : m;
}

#endif
