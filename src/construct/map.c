/* Linear layers that look up an entry by two one-hot parts, whose products their feature maps form. */
#include "map.h"

#include <stdio.h>

int64_t hop__map_digits(const hop_funccomp *t, int e)
{
    return e >= 2 ? t->fan[e - 1] : 1;
}

int64_t hop__map_inner(const hop_funccomp *t, int e)
{
    return e >= 2 ? t->size[e - 2] : t->m;
}

int64_t hop__map_keys(const hop_funccomp *t, int e)
{
    return e == 0 ? 1 : hop__map_digits(t, e) * hop__map_inner(t, e);
}

/* φ(x)_a = x_{w(a)} · x_{n + i(a)} for one-hot parts that lie one behind the other in the projection; with
 * one part only, φ(x)_a = x_a · 1. */
void hop__map_fill(hop_model *m, const hop_funccomp *t, int e, const char *side)
{
    char name[4][64];
    for (int i = 0; i < 4; i++)
        snprintf(name[i], sizeof name[i], "mixer.feature_map_%s.layer%d.%s", side, 1 + i / 2,
                 i % 2 ? "bias" : "weight");
    const hop_weight *one = hop_model_layer_weight(m, e, name[0]),
                     *two = hop_model_layer_weight(m, e, name[2]);
    const hop_weight *bias = hop_model_layer_weight(m, e, name[3]);
    int64_t n = hop__map_digits(t, e), parts = hop__map_inner(t, e);
    for (int64_t a = 0; a < hop__map_keys(t, e); a++) {
        *hop__cell(one, a, e >= 2 ? a / parts : a) = 1;
        if (e >= 2)
            *hop__cell(two, a, n + a % parts) = 1;
        else
            bias->data[a] = 1;
    }
}
