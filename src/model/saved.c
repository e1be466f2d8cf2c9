/* Where an interrupted forward pass stands: the residual stream between two layers, as a safetensors file. */
#include "network.h"

#include <hopbound/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_hash(char out[HOP__DIGITS], const hop_hash *h)
{
    snprintf(out, HOP__DIGITS, "%016" PRIx64, hop_hash_end(h));
}

/* With its length, so that no two lists of texts are one stream of bytes. */
static void add_text(hop_hash *h, const char *s, size_t length)
{
    uint64_t n = length;
    hop_hash_add(h, &n, sizeof n);
    hop_hash_add(h, s, length);
}

hop_status hop__saved_begin(hop__saved *s, const hop_model *m, const int32_t *tokens, int64_t count, int bits,
                            hop_error *err)
{
    s->count = count;
    s->d = m->layout->config.d_model;
    s->layers = m->layout->config.pattern.layers;
    hop_json_writer w = {0};
    hop_config_write(&m->layout->config, &w);
    /* Other kernels round otherwise, those of another version too. */
    const char *isa = hop_isa_name(hop_kernels_selected());
    hop_hash h;
    hop_hash_init(&h);
    add_text(&h, HOP_VERSION, strlen(HOP_VERSION));
    add_text(&h, isa, strlen(isa));
    add_text(&h, w.text.s ? w.text.s : "", w.text.len);
    hop_hash_add(&h, (const int64_t[2]){bits, count}, 2 * sizeof(int64_t));
    hop_hash_add(&h, tokens, sizeof *tokens * (size_t)count);
    for (int64_t i = 0; i < m->layout->count; i++) {
        const hop_weight *t = &m->weights[i];
        hop_hash_add(&h, t->data, sizeof(float) * (size_t)(t->shape[0] * (t->rank == 2 ? t->shape[1] : 1)));
    }
    print_hash(s->digest, &h);
    bool failed = w.text.failed;
    hop_text_free(&w.text);
    return failed ? hop_fail(err, HOP_ENOMEM, "%s: out of memory", s->path) : HOP_OK;
}

/* Over everything that is in the file. */
static void print_checksum(char out[HOP__DIGITS], const hop__saved *s, const char *layer, const float *x)
{
    hop_hash h;
    hop_hash_init(&h);
    hop_hash_add(&h, s->digest, strlen(s->digest));
    hop_hash_add(&h, layer, strlen(layer));
    hop_hash_add(&h, x, sizeof(float) * (size_t)(s->count * s->d));
    print_hash(out, &h);
}

static hop_status load(const hop_safetensors *f, const hop__saved *s, float *x, int64_t *layer,
                       hop_error *err)
{
    const hop_tensor *t = hop_safetensors_find(f, "x");
    const char *at = hop_safetensors_meta(f, "layer"), *digest = hop_safetensors_meta(f, "digest"),
               *checksum = hop_safetensors_meta(f, "checksum");
    if (!t || !at || !digest || !checksum)
        return hop_fail(err, HOP_EFORMAT, "%s: is no checkpoint of this version", s->path);
    if (strcmp(digest, s->digest) != 0)
        return hop_fail(
            err, HOP_EFORMAT,
            "%s: is of other weights, another config, input, precision, instruction set or version", s->path);
    char again[32], sum[HOP__DIGITS];
    int64_t to = strtoll(at, NULL, 10);
    snprintf(again, sizeof again, "%" PRId64, to);
    if (to < 1 || to >= s->layers || strcmp(again, at) != 0)
        return hop_fail(err, HOP_EFORMAT, "%s: \"layer\" is \"%.30s\", not between 1 and %" PRId64, s->path,
                        at, s->layers - 1);
    if (t->rank != 2 || t->shape[0] != s->count || t->shape[1] != s->d || t->dtype != HOP_DTYPE_F32)
        return hop_fail(err, HOP_EFORMAT, "%s: \"x\" is not F32 [%" PRId64 ", %" PRId64 "]", s->path,
                        s->count, s->d);
    hop_status got = hop_tensor_floats(t, x, err);
    if (got != HOP_OK) return got;
    print_checksum(sum, s, at, x);
    if (strcmp(sum, checksum) != 0)
        return hop_fail(err, HOP_EFORMAT, "%s: is damaged: its checksum does not fit", s->path);
    *layer = to;
    return HOP_OK;
}

hop_status hop__saved_load(const hop__saved *s, float *x, int64_t *layer, hop_error *err)
{
    *layer = 0;
    if (!hop_is_there(s->path)) return HOP_OK;
    hop_safetensors f = {0};
    hop_status got = hop_safetensors_open(&f, s->path, err);
    if (got != HOP_OK) return got;
    got = load(&f, s, x, layer, err);
    hop_safetensors_close(&f);
    return got;
}

hop_status hop__saved_store(const hop__saved *s, const float *x, int64_t layer, hop_error *err)
{
    char at[24], sum[HOP__DIGITS];
    snprintf(at, sizeof at, "%" PRId64, layer);
    print_checksum(sum, s, at, x);
    const char *const metadata[] = {"layer", at, "digest", s->digest, "checksum", sum, NULL};
    hop_tensor_out t = {.name = "x", .rank = 2, .shape = {s->count, s->d}, .data = x};
    return hop_safetensors_write(s->path, &t, 1, metadata, err);
}
