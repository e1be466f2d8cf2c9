/* truth.h - one layer by the checker's equations (src/check): double precision, token by token, and without a
 * line in common with what it judges. */
#ifndef HOP_TESTS_TRUTH_H
#define HOP_TESTS_TRUTH_H

#include "test.h"

#include <hopbound/mixers.h>
#include "room.h"

/* y [T, d_model] of x, to be freed. */
static inline double *truth_of(const hop_mixer_ops *ops, const hop_mixer_config *c, const hop_param *params,
                               int count, float *const *w, const float *x, int64_t T)
{
    char names[HOP_MIXER_MAX_PARAMS][96];
    hop__tensor tensors[HOP_MIXER_MAX_PARAMS];
    hop__truth_layer mine;
    const hop_truth net = {.d = c->d_model,
                           .layer_count = c->layers,
                           .heads = c->heads,
                           .kv_heads = c->kv_heads,
                           .head_dim = c->head_dim,
                           .theta = c->rope_theta,
                           .scale = c->scale,
                           .bidirectional = c->bidirectional,
                           .tensors = tensors,
                           .tensor_count = count};
    const hop_rounding none = {0};
    const hop__mixer *mixer = hop__mixer_find(ops->name);
    if (!mixer) fail_msg("the checker does not know %s", ops->name);
    hop__truth_layer_init(&mine, &net, mixer, c->layer);
    for (int o = 0; o < HOP_OPTION_COUNT; o++) {
        const char *name = hop_option_name((hop_option)o);
        /* The checker reads plain attention: gates, norms and widths of values stay at their defaults. */
        bool read = ops->kind == HOP_MIXER_RECURRENT || strstr("window block topk summary", name);
        if (c->option[o] != HOP_OPTION_UNSET && read)
            assert_int_equal(hop__truth_layer_set(&mine, name, (double)c->option[o], NULL), HOP_OK);
    }
    assert_int_equal(hop__truth_layer_ready(&mine, &net, NULL), HOP_OK);
    for (int i = 0; i < count; i++) {
        int64_t n = params[i].shape[0] * (params[i].shape[1] ? params[i].shape[1] : 1);
        snprintf(names[i], sizeof names[i], "model.layers.%d.mixer.%s", (int)c->layer, params[i].name);
        tensors[i] = (hop__tensor){
            names[i], params[i].shape[1] ? 2 : 1, {params[i].shape[0], params[i].shape[1]}, NULL};
        tensors[i].v = malloc(sizeof(double) * (size_t)n);
        for (int64_t k = 0; k < n; k++) tensors[i].v[k] = w[i][k];
    }
    qsort(tensors, (size_t)count, sizeof *tensors, hop__tensor_order);

    hop__pass p = {.net = &net, .layer = &mine, .arith = &none, .tokens = T, .only = -1, .watch = -1};
    double *wide = malloc(sizeof(double) * (size_t)(T * c->d_model)),
           *out = malloc(sizeof(double) * (size_t)(T * c->d_model));
    for (int64_t i = 0; i < T * c->d_model; i++) wide[i] = x[i];
    const double *y = mixer->mix(&p, wide);
    if (!y) fail_msg("%s: %s", ops->name, p.err.text);
    memcpy(out, y, sizeof(double) * (size_t)(T * c->d_model));
    hop__pass_close(&p);
    for (int i = 0; i < count; i++) free(tensors[i].v);
    free(wide);
    return out;
}

#endif
