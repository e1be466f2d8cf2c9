/* Networks with another linear layer than the constructed one: other settings, queries and keys. */
#ifndef HOPBOUND_HYBRID_SUBJECT_H
#define HOPBOUND_HYBRID_SUBJECT_H

#include "funccomp_subject.h"

#define Q_PROJ "mixer.q_proj.weight"
#define K_PROJ "mixer.k_proj.weight"
#define V_PROJ "mixer.v_proj.weight"
#define O_PROJ "mixer.o_proj.weight"

typedef struct setting {
    const char *name;
    double value;
} setting;

/* The network with other settings of layer 0, up to the first without a name. Tensors of an unchanged size
 * keep their weights, the others are 0. */
static inline hop_model *with_settings(const hop_model *good, const setting *s)
{
    hop_model *m = NULL;
    hop_config c;
    hop_error err = {0};
    assert_int_equal(hop_config_copy(&c, hop_model_config(good), NULL), HOP_OK);
    for (; s->name; s++)
        if (hop_config_set(&c, 0, "", s->name, s->value, &err) != HOP_OK) fail_msg("%s", err.text);
    if (hop_model_new(&m, &c, &err) != HOP_OK) fail_msg("%s", err.text);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *to = hop_model_weight_at(m, i), *from = hop_model_weight(good, to->name);
        if (from && weight_elements(from) == weight_elements(to))
            memcpy(to->data, from->data, sizeof(float) * (size_t)weight_elements(to));
    }
    hop_config_free(&c);
    return m;
}

static inline float *cell(const hop_model *m, const char *part, int64_t row, int64_t col)
{
    const hop_weight *w = hop_model_layer_weight(m, 0, part);
    assert_true(w && row < w->shape[0] && col < w->shape[1]);
    return &w->data[row * w->shape[1] + col];
}

/* The coordinate that a matrix of the network's layer 0 looks at in row 0: of q the last token's flag, of k
 * z_0's. */
static inline int64_t flag_of(const hop_model *m, const char *part)
{
    const hop_weight *w = hop_model_layer_weight(m, 0, part);
    int64_t c = 0;
    while (c < w->shape[1] && w->data[c] == 0) c++;
    assert_true(c < w->shape[1]);
    return c;
}

/* A hybrid with `dim` numbers in a key; the last token asks with q, z_0 has the key k. */
static inline hop_model *hybrid_of(const hop_task *t, const char *mixer, int dim, const float *q,
                                   const float *k)
{
    hop_model *good = build("hybrid", mixer, t);
    bool rotates = strcmp(mixer, "retnet") == 0;
    hop_model *m =
        with_settings(good, (setting[]){{"head_dim", dim}, {"scale", 1}, {rotates ? "rope" : NULL, 0}, {0}});
    for (int i = 0; i < dim; i++) {
        *cell(m, Q_PROJ, i, flag_of(good, Q_PROJ)) = q[i];
        *cell(m, K_PROJ, i, flag_of(good, K_PROJ)) = k[i];
    }
    hop_model_free(good);
    return m;
}

/* q·k = 3b - 3b + 1 is 1, or 0 where 1 meets 3b first; with a decay between, or the value multiplied in, it
 * is something else again. The step form multiplies k and v first, the chunked form q and k: which inputs err
 * depends on the form, and on the order of the three. */
enum { CANCELLING_ORDERS = 6 };

static inline hop_model *cancelling_hybrid(const hop_task *t, const char *mixer, int order)
{
    const float b = 77777776, q[] = {3 * b, -b, 1}, k[] = {1, 3, 1};
    const int orders[CANCELLING_ORDERS][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                              {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    float qo[3], ko[3];
    for (int r = 0; r < 3; r++) qo[r] = q[orders[order][r]], ko[r] = k[orders[order][r]];
    return hybrid_of(t, mixer, 3, qo, ko);
}

#endif
