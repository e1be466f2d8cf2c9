/* model.safetensors, read once more: a length, a JSON header, data. Shards go through their index. */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>

static double half(uint16_t u)
{
    int e = u >> 10 & 31;
    double m = u & 1023, sign = u >> 15 ? -1 : 1;
    if (e == 31) return m != 0 ? NAN : sign * INFINITY;
    return sign * (e ? ldexp(1024 + m, e - 25) : ldexp(m, -24));
}

/* A number of `bytes` bytes at p, little end first. */
static uint64_t bits_at(const unsigned char *p, int bytes)
{
    uint64_t u = 0;
    for (int i = bytes - 1; i >= 0; i--) u = u << 8 | p[i];
    return u;
}

static double number_at(const unsigned char *p, char kind, int bytes)
{
    uint64_t u = bits_at(p, bytes);
    uint32_t word = (uint32_t)(kind == 'B' ? u << 16 : u);
    float f;
    double d;
    if (kind == 'F' && bytes == 2) return half((uint16_t)u);
    memcpy(&f, &word, sizeof f);
    memcpy(&d, &u, sizeof d);
    return kind == 'F' && bytes == 8 ? (float)d : f;
}

/* One entry of a header; data of `size` bytes. */
static hop_status read_tensor(hop__tensor *t, const hop_json *v, const unsigned char *data, size_t size,
                              hop_error *err)
{
    static const struct {
        const char *name;
        char kind;
        int bytes;
    } types[] = {{"F64", 'F', 8}, {"F32", 'F', 4}, {"F16", 'F', 2}, {"BF16", 'B', 2}};
    const char *dtype = NULL;
    const hop_json *shape = hop_json_get(v, "shape"), *span = hop_json_get(v, "data_offsets");
    int64_t from, to, count = 1;
    size_t k = 0;
    if (hop_json_read_string(v, "dtype", &dtype, NULL) != HOP_OK || !dtype || !shape || !span ||
        shape->type != HOP_JSON_ARRAY || span->type != HOP_JSON_ARRAY || span->count != 2 ||
        shape->count < 1 || shape->count > 2 || !hop_json_int(span->child, 0, (int64_t)size, &from) ||
        !hop_json_int(span->child->next, 0, (int64_t)size, &to))
        return hop_fail(err, HOP_EFORMAT, "tensor \"%.80s\": no vector or matrix", v->key);
    while (k < sizeof types / sizeof *types && strcmp(types[k].name, dtype) != 0) k++;
    if (k == sizeof types / sizeof *types)
        return hop_fail(err, HOP_EFORMAT, "tensor \"%.80s\": the checker does not read %.20s", v->key, dtype);
    *t = (hop__tensor){.name = v->key, .rank = (int)shape->count};
    for (const hop_json *n = shape->child; n; n = n->next) {
        int64_t *to_shape = &t->shape[n != shape->child];
        if (!hop_json_int(n, 1, (int64_t)1 << 31, to_shape))
            return hop_fail(err, HOP_EFORMAT, "tensor \"%.80s\": shape", v->key);
        count *= *to_shape;
    }
    if (count > to - from || to - from != count * types[k].bytes)
        return hop_fail(err, HOP_EFORMAT, "tensor \"%.80s\": its bytes do not fit its shape", v->key);
    t->v = malloc(sizeof *t->v * (size_t)count);
    if (!t->v) return hop_fail(err, HOP_ENOMEM, "tensor \"%.80s\": out of memory", v->key);
    for (int64_t i = 0; i < count; i++)
        t->v[i] = number_at(data + from + i * types[k].bytes, types[k].kind, types[k].bytes);
    return HOP_OK;
}

static hop_status read_bytes(hop_truth *n, const hop_file *f, hop_error *err)
{
    uint64_t length = f->size >= 8 ? bits_at(f->data, 8) : 0;
    if (f->size < 8 || length > f->size - 8) return hop_fail(err, HOP_EFORMAT, "no safetensors file");
    hop_json_doc *docs = realloc(n->headers, sizeof *docs * (size_t)(n->header_count + 1));
    if (!docs) return hop_fail(err, HOP_ENOMEM, "out of memory");
    n->headers = docs;
    hop_json_doc *doc = &docs[n->header_count];
    hop_status s = hop_json_parse(doc, (const char *)f->data + 8, (size_t)length, err);
    if (s != HOP_OK) return s;
    n->header_count++;
    if (doc->root->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "its header is no object");
    hop__tensor *more = realloc(n->tensors, sizeof *more * ((size_t)n->tensor_count + doc->root->count + 1));
    if (!more) return hop_fail(err, HOP_ENOMEM, "out of memory");
    n->tensors = more;
    for (const hop_json *v = doc->root->child; s == HOP_OK && v; v = v->next) {
        if (strcmp(v->key, "__metadata__") == 0) continue;
        s = read_tensor(&more[n->tensor_count], v, f->data + 8 + length, f->size - 8 - (size_t)length, err);
        if (s == HOP_OK) n->tensor_count++;
    }
    return s;
}

static hop_status read_file(hop_truth *n, const char *dir, const char *name, hop_hash *hash, hop_error *err)
{
    char path[4096];
    hop_file f = {0};
    hop_status s = hop_path_join(path, sizeof path, dir, name, err);
    if (s == HOP_OK) s = hop_file_load(&f, path, SIZE_MAX, err);
    if (s != HOP_OK) return s;
    hop_hash_add(hash, f.data, f.size);
    s = read_bytes(n, &f, err);
    hop_file_free(&f);
    return s == HOP_OK ? s : hop_fail_in(err, s, name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every file that the index names, in the order of their names. */
static hop_status read_shards(hop_truth *n, const char *dir, const hop_json *map, hop_hash *hash,
                              hop_error *err)
{
    if (!map || map->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "weight_map: not an object");
    const char **names = malloc(sizeof *names * (map->count + 1));
    hop_status s = names ? HOP_OK : hop_fail(err, HOP_ENOMEM, "weight_map: out of memory");
    size_t count = 0;
    for (const hop_json *v = map->child; s == HOP_OK && v; v = v->next) {
        if (v->type != HOP_JSON_STRING || !*v->string || strchr(v->string, '/') || v->string[0] == '.')
            s = hop_fail(err, HOP_EFORMAT, "weight_map: \"%.80s\" names no file", v->key);
        else
            names[count++] = v->string;
    }
    if (s == HOP_OK && count > 0) qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; s == HOP_OK && i < count; i++)
        if (i == 0 || strcmp(names[i - 1], names[i]) != 0) s = read_file(n, dir, names[i], hash, err);
    free(names);
    return s;
}

hop_status hop__tensors_read(hop_truth *n, const char *dir, hop_error *err)
{
    char path[4096];
    hop_hash hash;
    hop_hash_init(&hash);
    hop_status s = hop_path_join(path, sizeof path, dir, "model.safetensors", err);
    if (s != HOP_OK) return s;
    if (hop_is_there(path)) {
        s = read_file(n, dir, "model.safetensors", &hash, err);
    } else {
        hop_json_doc index = {0};
        s = hop_path_join(path, sizeof path, dir, "model.safetensors.index.json", err);
        if (s == HOP_OK) s = hop_json_load(&index, path, err);
        if (s == HOP_OK) s = read_shards(n, dir, hop_json_get(index.root, "weight_map"), &hash, err);
        hop_json_free(&index);
    }
    if (s != HOP_OK) return s;
    n->weights_hash = hop_hash_end(&hash);
    qsort(n->tensors, (size_t)n->tensor_count, sizeof *n->tensors, hop__tensor_order);
    for (int64_t i = 1; i < n->tensor_count; i++)
        if (strcmp(n->tensors[i - 1].name, n->tensors[i].name) == 0)
            return hop_fail(err, HOP_EFORMAT, "tensor \"%.80s\": occurs twice", n->tensors[i].name);
    return HOP_OK;
}

/* ---- networks ------------------------------------------------------------------------------------ */

static hop_status open_network(hop_truth *n, const char *dir, hop_error *err)
{
    char path[4096];
    hop_file f = {0};
    hop_hash hash;
    hop_status s = hop_path_join(path, sizeof path, dir, "config.json", err);
    if (s == HOP_OK) s = hop_file_load(&f, path, SIZE_MAX, err);
    if (s != HOP_OK) return s;
    hop_hash_init(&hash);
    hop_hash_add(&hash, f.data, f.size);
    n->config_hash = hop_hash_end(&hash);
    s = hop_json_parse(&n->config, (const char *)f.data, f.size, err);
    hop_file_free(&f);
    if (s == HOP_OK) s = hop__config_read(n, err);
    if (s != HOP_OK) return hop_fail_in(err, s, "config.json");
    return hop__tensors_read(n, dir, err);
}

hop_status hop_truth_open(hop_truth **out, const char *dir, hop_error *err)
{
    *out = NULL;
    hop_truth *n = calloc(1, sizeof *n);
    if (!n) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", dir);
    hop_status s = open_network(n, dir, err);
    if (s != HOP_OK) {
        hop_truth_free(n);
        return s;
    }
    *out = n;
    return HOP_OK;
}

void hop_truth_free(hop_truth *n)
{
    if (!n) return;
    for (int64_t i = 0; i < n->tensor_count; i++) free(n->tensors[i].v);
    for (int64_t i = 0; i < n->header_count; i++) hop_json_free(&n->headers[i]);
    hop_json_free(&n->config);
    free(n->tensors);
    free(n->headers);
    free(n->layers);
    free(n);
}

int64_t hop_truth_vocab(const hop_truth *n)
{
    return n->vocab;
}
