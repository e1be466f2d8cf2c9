/* Reading safetensors: u64 header length, JSON header, data. All checks are done before a tensor is handed
 * out, so that whoever has a hop_tensor may read elements * bits / 8 bytes at `data` without asking further.
 *
 * Files come from strangers. Every number of the header is taken as an exact non-negative 64-bit integer or
 * refused, every product and sum is checked before it is made, and the time is n log n in the tensors. */
#include <hopbound/model.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METADATA      "__metadata__"
#define MOST_STREAMED ((size_t)1 << 30)
#define PIECE         65536 /* bytes that are converted at a time */

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
#define ROW(id, bits) {#id, bits / 8},
    HOP_DTYPE_LIST(ROW)
#undef ROW
};

static uint64_t little_endian(const unsigned char *p, int bytes)
{
    uint64_t u = 0;
    for (int i = 0; i < bytes; i++) u |= (uint64_t)p[i] << 8 * i;
    return u;
}

static int64_t tensor_bytes(const hop_tensor *t)
{
    return t->elements * dtypes[t->dtype].bytes;
}

/* ---- one tensor ---------------------------------------------------------------------------- */

/* "tensor "name": why", the name cut so that the reason always fits. */
static hop_status refuse(const hop_tensor *t, const char *why, hop_error *err)
{
    return hop_fail(err, HOP_EFORMAT, "tensor \"%.150s\": %s", t->name, why);
}

static hop_status read_dtype(hop_tensor *t, const hop_json *v, hop_error *err)
{
    if (!v || v->type != HOP_JSON_STRING) return refuse(t, "has no dtype", err);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(v->string, dtypes[i].name) == 0) {
            t->dtype = (hop_dtype)i;
            return HOP_OK;
        }
    return hop_fail(err, HOP_EFORMAT, "tensor \"%.150s\": unknown dtype \"%.50s\"", t->name, v->string);
}

static hop_status read_shape(hop_tensor *t, const hop_json *v, hop_error *err)
{
    if (!v || v->type != HOP_JSON_ARRAY) return refuse(t, "has no shape", err);
    if (v->count > HOP_TENSOR_MAX_RANK)
        return hop_fail(err, HOP_EFORMAT, "tensor \"%.150s\": %zu dimensions, above the %d we take", t->name,
                        v->count, HOP_TENSOR_MAX_RANK);
    /* Zeros are left out of the product that must fit: [0, 2^62, 2^62] is empty, but no part of it is a size.
     */
    int64_t product = 1, most = INT64_MAX / dtypes[t->dtype].bytes;
    bool empty = false;
    for (const hop_json *d = v->child; d; d = d->next) {
        if (d->type != HOP_JSON_INT || d->integer < 0)
            return refuse(t, "a dimension is not an integer >= 0", err);
        if (d->integer > 0 && product > most / d->integer)
            return refuse(t, "its size overflows 64 bits", err);
        if (d->integer > 0)
            product *= d->integer;
        else
            empty = true;
        t->shape[t->rank++] = d->integer;
    }
    t->elements = empty ? 0 : product;
    return HOP_OK;
}

static hop_status read_offsets(hop_tensor *t, const hop_json *v, size_t size, hop_error *err)
{
    const hop_json *begin = hop_json_at(v, 0), *end = hop_json_at(v, 1);
    if (!v || v->type != HOP_JSON_ARRAY) return refuse(t, "has no data_offsets", err);
    if (v->count != 2 || begin->type != HOP_JSON_INT || end->type != HOP_JSON_INT || begin->integer < 0)
        return refuse(t, "data_offsets are not two integers >= 0", err);
    int64_t from = begin->integer, to = end->integer;
    if (to < from || (uint64_t)to > size)
        return hop_fail(err, HOP_EFORMAT,
                        "tensor \"%.150s\": data_offsets [%" PRId64 ", %" PRId64
                        "] do not lie in the %zu bytes of data",
                        t->name, from, to, size);
    if (to - from != tensor_bytes(t))
        return hop_fail(err, HOP_EFORMAT,
                        "tensor \"%.150s\": shape and dtype need %" PRId64
                        " bytes, data_offsets give %" PRId64,
                        t->name, tensor_bytes(t), to - from);
    t->offset = from;
    return HOP_OK;
}

static hop_status read_tensor(hop_tensor *t, const hop_json *entry, size_t size, hop_error *err)
{
    t->name = entry->key;
    if (entry->type != HOP_JSON_OBJECT) return refuse(t, "its entry is not an object", err);
    hop_status s = read_dtype(t, hop_json_get(entry, "dtype"), err);
    if (s == HOP_OK) s = read_shape(t, hop_json_get(entry, "shape"), err);
    if (s == HOP_OK) s = read_offsets(t, hop_json_get(entry, "data_offsets"), size, err);
    /* A key that we do not know might change what the bytes mean. */
    if (s == HOP_OK && entry->count != 3) s = refuse(t, "has more than dtype, shape and data_offsets", err);
    return s;
}

/* ---- all tensors --------------------------------------------------------------------------- */

/* By place; empty tensors before the one that starts where they are, and by name among themselves. */
static int by_offset(const void *a, const void *b)
{
    const hop_tensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    int64_t m = tensor_bytes(x), n = tensor_bytes(y);
    if (m != n) return m < n ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const hop_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static int name_against(const void *name, const void *b)
{
    const hop_tensor *const *t = b;
    return strcmp(name, (*t)->name);
}

/* Pointers to the tensors by name; they stand behind the tensors, in the same block. */
static const hop_tensor **name_index(const hop_safetensors *s)
{
    return (const hop_tensor **)(s->tensors + s->count);
}

/* Each tensor must begin where the one before ends, the first at 0 and the last at the end. */
static hop_status check_cover(const hop_safetensors *s, size_t size, hop_error *err)
{
    int64_t at = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const hop_tensor *t = &s->tensors[i];
        if (t->offset > at) return refuse(t, "a gap lies before it", err);
        if (t->offset < at)
            return hop_fail(err, HOP_EFORMAT, "tensor \"%.150s\": overlaps \"%.150s\"", t->name, t[-1].name);
        at += tensor_bytes(t);
    }
    size_t rest = size - (size_t)at;
    if (rest) return hop_fail(err, HOP_EFORMAT, "%zu bytes of data belong to no tensor", rest);
    return HOP_OK;
}

static hop_status check_metadata(const hop_json *metadata, hop_error *err)
{
    if (metadata->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, METADATA " is not an object");
    for (const hop_json *v = metadata->child; v; v = v->next)
        if (v->type != HOP_JSON_STRING)
            return hop_fail(err, HOP_EFORMAT, METADATA ": \"%.150s\" is not a string", v->key);
    return HOP_OK;
}

static hop_status read_tensors(hop_safetensors *s, size_t size, hop_error *err)
{
    const hop_json *root = s->header.root;
    size_t bytes;
    if (!hop_mul_size(root->count, sizeof(hop_tensor) + sizeof(hop_tensor *), &bytes) ||
        !(s->tensors = hop_alloc(bytes)))
        return hop_fail(err, HOP_ENOMEM, "out of memory for %zu tensors", root->count);
    for (const hop_json *entry = root->child; entry; entry = entry->next) {
        bool metadata = strcmp(entry->key, METADATA) == 0;
        if (metadata) s->metadata = entry;
        hop_status status =
            metadata ? check_metadata(entry, err) : read_tensor(&s->tensors[s->count], entry, size, err);
        if (status != HOP_OK) return status;
        s->count += !metadata;
    }
    qsort(s->tensors, (size_t)s->count, sizeof *s->tensors, by_offset);
    const hop_tensor **index = name_index(s);
    for (int64_t i = 0; i < s->count; i++) index[i] = &s->tensors[i];
    qsort(index, (size_t)s->count, sizeof *index, by_name);
    return check_cover(s, size, err);
}

/* The header's text at `text`, of `length` bytes. JSON readers differ in what they skip at the start; ours
 * must not accept a file that others refuse. */
static hop_status read_header(hop_safetensors *s, const char *text, size_t length, hop_error *err)
{
    size_t blank = 0;
    while (blank < length && strchr(" \t\r\n", text[blank]) && text[blank]) blank++;
    if (blank == length || text[blank] != '{')
        return hop_fail(err, HOP_EFORMAT, "the header does not begin with '{'");
    hop_status status = hop_json_parse(&s->header, text, length, err);
    return status == HOP_OK ? status : hop_fail_in(err, status, "header");
}

static hop_status check_length(uint64_t length, size_t size, hop_error *err)
{
    if (length > HOP_SAFETENSORS_HEAD)
        return hop_fail(err, HOP_EFORMAT, "a header of %" PRIu64 " bytes is above the format's limit of %d",
                        length, HOP_SAFETENSORS_HEAD);
    if (length > size - 8)
        return hop_fail(err, HOP_EFORMAT, "the header should have %" PRIu64 " bytes, but %zu follow", length,
                        size - 8);
    return HOP_OK;
}

/* A file of `size` bytes, of which the first 8 and the header are at hand. */
static hop_status read_parts(hop_safetensors *s, const char *header, size_t length, size_t size,
                             hop_error *err)
{
    hop_status status = read_header(s, header, length, err);
    return status == HOP_OK ? read_tensors(s, size - 8 - length, err) : status;
}

hop_status hop_safetensors_parse(hop_safetensors *s, const unsigned char *data, size_t size, hop_error *err)
{
    *s = (hop_safetensors){0};
    if (size < 8) return hop_fail(err, HOP_EFORMAT, "%zu bytes are too few for a safetensors file", size);
    uint64_t length = little_endian(data, 8);
    hop_status status = check_length(length, size, err);
    if (status == HOP_OK) status = read_parts(s, (const char *)data + 8, (size_t)length, size, err);
    for (int64_t i = 0; status == HOP_OK && i < s->count; i++)
        s->tensors[i].data = data + 8 + length + s->tensors[i].offset;
    if (status != HOP_OK) hop_safetensors_close(s);
    return status;
}

/* The header of an open file; its tensors stay where they are. */
static hop_status read_file(hop_safetensors *s, hop_error *err)
{
    unsigned char start[8] = {0};
    size_t size = (size_t)s->file.size;
    if (size < 8) return hop_fail(err, HOP_EFORMAT, "%zu bytes are too few for a safetensors file", size);
    hop_status status = hop_input_read(&s->file, start, 8, 0, err);
    uint64_t length = little_endian(start, 8);
    if (status == HOP_OK) status = check_length(length, size, err);
    if (status != HOP_OK) return status;
    char *header = hop_alloc_raw((size_t)length);
    if (!header) return hop_fail(err, HOP_ENOMEM, "out of memory for the header");
    status = hop_input_read(&s->file, header, (size_t)length, 8, err);
    if (status == HOP_OK) status = read_parts(s, header, (size_t)length, size, err);
    hop_free(header);
    for (int64_t i = 0; status == HOP_OK && i < s->count; i++) {
        s->tensors[i].file = s->file;
        s->tensors[i].at = 8 + (int64_t)length + s->tensors[i].offset;
    }
    return status;
}

hop_status hop_safetensors_open(hop_safetensors *s, const char *path, hop_error *err)
{
    *s = (hop_safetensors){0};
    hop_status status = hop_input_open(&s->file, path, err);
    if (status != HOP_OK) return status;
    status = read_file(s, err);
    if (status == HOP_OK) return HOP_OK;
    hop_safetensors_close(s);
    return hop_fail_in(err, status, path);
}

hop_status hop_safetensors_read(hop_safetensors *s, const char *path, hop_error *err)
{
    hop_file bytes;
    if (!hop_is_pipe(path)) return hop_safetensors_open(s, path, err);
    *s = (hop_safetensors){0};
    hop_status status = hop_file_read(&bytes, path, MOST_STREAMED, err);
    if (status != HOP_OK) return status;
    status = hop_safetensors_parse(s, bytes.data, bytes.size, err);
    if (status == HOP_OK)
        s->bytes = bytes;
    else
        hop_file_free(&bytes);
    return status == HOP_OK ? status : hop_fail_in(err, status, path);
}

void hop_safetensors_close(hop_safetensors *s)
{
    hop_free(s->tensors);
    hop_json_free(&s->header);
    hop_input_close(&s->file);
    hop_file_free(&s->bytes);
    *s = (hop_safetensors){0};
}

const hop_tensor *hop_safetensors_find(const hop_safetensors *s, const char *name)
{
    if (s->count == 0) return NULL;
    const hop_tensor **found =
        bsearch(name, name_index(s), (size_t)s->count, sizeof(hop_tensor *), name_against);
    return found ? *found : NULL;
}

const char *hop_safetensors_meta(const hop_safetensors *s, const char *key)
{
    const hop_json *v = hop_json_get(s->metadata, key);
    return v ? v->string : NULL;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static float float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float float_of_half(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3FF;
    if (exponent == 31) return float_of_bits(sign | 0x7F800000 | mantissa << 13);
    if (exponent > 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    float tiny = (float)mantissa * 0x1p-24f; /* exact */
    return sign ? -tiny : tiny;
}

static float float_of_double(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return (float)d;
}

/* The value at `p` in the file's byte order. Integers of 64 bits are rounded once, from their own type. */
static inline float element_float(hop_dtype dtype, const unsigned char *p)
{
    switch (dtype) {
    case HOP_DTYPE_F64: return float_of_double(little_endian(p, 8));
    case HOP_DTYPE_F32: return float_of_bits((uint32_t)little_endian(p, 4));
    case HOP_DTYPE_F16: return float_of_half((uint32_t)little_endian(p, 2));
    case HOP_DTYPE_BF16: return float_of_bits((uint32_t)little_endian(p, 2) << 16);
    case HOP_DTYPE_I64: return (float)(int64_t)little_endian(p, 8);
    case HOP_DTYPE_I32: return (float)(int32_t)little_endian(p, 4);
    case HOP_DTYPE_I16: return (float)(int16_t)little_endian(p, 2);
    case HOP_DTYPE_I8: return (float)(int8_t)*p;
    case HOP_DTYPE_U64: return (float)little_endian(p, 8);
    case HOP_DTYPE_U32: return (float)(uint32_t)little_endian(p, 4);
    case HOP_DTYPE_U16: return (float)(uint16_t)little_endian(p, 2);
    case HOP_DTYPE_U8: return (float)*p;
    case HOP_DTYPE_BOOL:
    case HOP_DTYPE_F8_E5M2:
    case HOP_DTYPE_F8_E4M3: break;
    }
    return 0;
}

static bool host_is_little(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

static void convert(float *out, const unsigned char *data, int64_t elements, hop_dtype dtype)
{
    for (int64_t i = 0; i < elements; i++) out[i] = element_float(dtype, data + i * dtypes[dtype].bytes);
}

/* From the file: what nearly every one holds goes straight to where it belongs, anything else in pieces. */
static hop_status read_floats(const hop_tensor *t, float *out, hop_error *err)
{
    unsigned char piece[PIECE];
    const int bytes = dtypes[t->dtype].bytes;
    if (t->dtype == HOP_DTYPE_F32) {
        hop_status s = hop_input_read(&t->file, out, (size_t)tensor_bytes(t), t->at, err);
        if (s == HOP_OK && !host_is_little()) convert(out, (const unsigned char *)out, t->elements, t->dtype);
        return s;
    }
    hop_status s = HOP_OK;
    for (int64_t i = 0, n; s == HOP_OK && i < t->elements; i += n) {
        n = t->elements - i < PIECE / bytes ? t->elements - i : PIECE / bytes;
        s = hop_input_read(&t->file, piece, (size_t)(n * bytes), t->at + i * bytes, err);
        if (s == HOP_OK) convert(out + i, piece, n, t->dtype);
    }
    return s;
}

hop_status hop_tensor_floats(const hop_tensor *t, float *out, hop_error *err)
{
    hop_dtype dtype = t->dtype;
    if (dtype == HOP_DTYPE_BOOL || dtype == HOP_DTYPE_F8_E5M2 || dtype == HOP_DTYPE_F8_E4M3)
        return hop_fail(err, HOP_EFORMAT, "tensor \"%.150s\": dtype %s does not convert to float32", t->name,
                        dtypes[dtype].name);
    if (t->data) {
        convert(out, t->data, t->elements, dtype);
        return HOP_OK;
    }
    hop_status s = read_floats(t, out, err);
    char where[200];
    snprintf(where, sizeof where, "tensor \"%.150s\"", t->name);
    return s == HOP_OK ? s : hop_fail_in(err, s, where);
}
