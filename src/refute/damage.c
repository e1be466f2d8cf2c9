/* Changes weights, so that a prover and a refuter have something to notice. */
#include <hopbound/refute.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The tensors that may be hit: all, or those of one layer. Returns how many; `list` may be NULL. */
static int64_t candidates(const hop_model *m, int64_t layer, const hop_weight **list, int64_t *weights)
{
    char prefix[64];
    int64_t count = 0;
    snprintf(prefix, sizeof prefix, "model.layers.%lld.", (long long)layer);
    *weights = 0;
    for (int64_t i = 0; i < hop_model_weight_count(m); i++) {
        const hop_weight *w = hop_model_weight_at(m, i);
        if (layer >= 0 && strncmp(w->name, prefix, strlen(prefix)) != 0) continue;
        if (list) list[count] = w;
        count++;
        *weights += w->shape[0] * (w->rank == 2 ? w->shape[1] : 1);
    }
    return count;
}

static float other(const hop_weight *w, int64_t n, int64_t at)
{
    float most = 0;
    if (w->data[at] != 0) return -w->data[at];
    for (int64_t i = 0; i < n; i++)
        if (fabsf(w->data[i]) > most) most = fabsf(w->data[i]);
    return most > 0 ? most : 1;
}

static bool hit_before(const hop_change *list, int64_t count, const char *tensor, int64_t index)
{
    for (int64_t i = 0; i < count; i++)
        if (list[i].tensor == tensor && list[i].index == index) return true;
    return false;
}

hop_status hop_damage(hop_model *m, int64_t layer, uint64_t seed, hop_change *out, int64_t count,
                      hop_error *err)
{
    int64_t weights, tensors = candidates(m, layer, NULL, &weights);
    if (tensors == 0)
        return hop_fail(err, HOP_ERANGE, "layer %lld: the network stores no weights of it", (long long)layer);
    if (count < 1 || count > weights)
        return hop_fail(err, HOP_ERANGE, "%lld weights: there are %lld to change", (long long)count,
                        (long long)weights);
    const hop_weight **list = hop_alloc(sizeof *list * (size_t)tensors);
    if (!list) return hop_fail(err, HOP_ENOMEM, "out of memory");
    candidates(m, layer, list, &weights);
    hop_rng rng;
    hop_rng_init(&rng, seed, 0);
    for (int64_t i = 0; i < count;) {
        const hop_weight *w = list[hop_rng_below(&rng, (uint64_t)tensors)];
        int64_t n = w->shape[0] * (w->rank == 2 ? w->shape[1] : 1),
                at = (int64_t)hop_rng_below(&rng, (uint64_t)n);
        if (hit_before(out, i, w->name, at)) continue;
        out[i] = (hop_change){.tensor = w->name, .index = at, .from = w->data[at], .to = other(w, n, at)};
        w->data[at] = out[i++].to;
    }
    hop_free(list);
    return HOP_OK;
}
