/* Where an interrupted forward pass stands: the residual stream between two layers, as a safetensors file. */
#include "network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a: this guards against mistakes, not against malice. */
static uint64_t add_bytes(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

uint64_t hop__digest(const hop_model *m, const int32_t *tokens, int64_t count, int bits)
{
    hop_json_writer w = {0};
    hop_config_write(&m->config, &w);
    const char *isa = hop_isa_name(hop_kernels_selected()); /* other kernels, other bits */
    uint64_t h = add_bytes(14695981039346656037u, w.text.s ? w.text.s : "", w.text.len);
    h = add_bytes(h, tokens, sizeof *tokens * (size_t)count);
    h = add_bytes(h, &bits, sizeof bits);
    h = add_bytes(h, isa, strlen(isa));
    /* The stored weights' first and last numbers: enough to tell two networks of one config apart by
     * accident. */
    for (int64_t i = 0; i < m->weight_count && i < 64; i++)
        h = add_bytes(h, m->weights[i].data, sizeof(float) * (size_t)m->weights[i].shape[0]);
    hop_text_free(&w.text);
    return h;
}

static hop_status load(const hop_safetensors *f, const hop__saved *s, float *x, int64_t count, int64_t d,
                       int64_t *layer, hop_error *err)
{
    const hop_tensor *t = hop_safetensors_find(f, "x");
    const char *at = hop_safetensors_meta(f, "layer"), *digest = hop_safetensors_meta(f, "digest");
    char mine[24];
    snprintf(mine, sizeof mine, "%016" PRIx64, s->digest);
    if (!t || !at || !digest || t->rank != 2 || t->shape[0] != count || t->shape[1] != d ||
        strcmp(digest, mine) != 0)
        return hop_fail(err, HOP_EFORMAT, "%s: is of another network, input or precision", s->path);
    *layer = strtoll(at, NULL, 10);
    return hop_tensor_floats(t, x, err);
}

hop_status hop__saved_load(const hop__saved *s, float *x, int64_t count, int64_t d, int64_t *layer,
                           hop_error *err)
{
    FILE *there = fopen(s->path, "rb");
    *layer = 0;
    if (!there) return HOP_OK;
    fclose(there);
    hop_safetensors f = {0};
    hop_status got = hop_safetensors_open(&f, s->path, err);
    if (got != HOP_OK) return got;
    got = load(&f, s, x, count, d, layer, err);
    hop_safetensors_close(&f);
    return got;
}

hop_status hop__saved_store(const hop__saved *s, const float *x, int64_t count, int64_t d, int64_t layer,
                            hop_error *err)
{
    char at[24], digest[24];
    snprintf(at, sizeof at, "%" PRId64, layer);
    snprintf(digest, sizeof digest, "%016" PRIx64, s->digest);
    const char *const metadata[] = {"layer", at, "digest", digest, NULL};
    hop_tensor_out t = {.name = "x", .rank = 2, .shape = {count, d}, .data = x};
    return hop_safetensors_write(s->path, &t, 1, metadata, err);
}
