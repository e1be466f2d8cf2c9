/* The safetensors reader: a file that it accepts must hold what its comment promises. An input that begins with
 * LENGTH gets the length of its header there, which ends before the first NUL: what is changed in a header would
 * otherwise be refused for its length alone. */
#include "fuzz.h"

#include <hopbound/model.h>

#define LENGTH "LENGTH: "

static int64_t bits_of(hop_dtype dtype)
{
    static const int bits[] = {
#define BITS(name, n) n,
        HOP_DTYPE_LIST(BITS)
#undef BITS
    };
    return bits[dtype];
}

/* Touches every byte that the tensor lays claim to, and returns how many there are. */
static size_t must_be_readable(const hop_safetensors *s, const hop_tensor *t)
{
    int64_t elements = 1;
    for (int i = 0; i < t->rank; i++) elements *= t->shape[i];
    must(t->rank >= 0 && t->rank <= HOP_TENSOR_MAX_RANK && elements == t->elements);
    must(hop_safetensors_find(s, t->name) == t);
    size_t bytes = (size_t)(elements * bits_of(t->dtype) / 8);
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; i++) sum += t->data[i];
    float *out = malloc(sizeof *out * (size_t)elements + 1);
    hop_error err = {0};
    must(out != NULL);
    hop_status status = hop_tensor_floats(t, out, &err);
    bool plain = t->dtype < HOP_DTYPE_BOOL; /* the list ends with those that do not convert */
    must(status == (plain ? HOP_OK : HOP_EFORMAT));
    if (t->dtype == HOP_DTYPE_U8) {
        for (size_t i = 0; i < bytes; i++) sum -= (unsigned)out[i];
        must(sum == 0);
    }
    free(out);
    return bytes;
}

static void parse_one(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 8 && memcmp(data, LENGTH, 8) == 0 ? memchr(data, 0, size) : NULL;
    if (!nul) {
        parse_one(data, size);
        return 0;
    }
    size_t header = (size_t)(nul - data) - 8;
    uint8_t *file = malloc(size - 1);
    must(file != NULL);
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)(header >> 8 * i);
    memcpy(file + 8, data + 8, header);
    memcpy(file + 8 + header, nul + 1, size - 9 - header);
    parse_one(file, size - 1);
    free(file);
    return 0;
}

static void parse_one(const uint8_t *data, size_t size)
{
    hop_safetensors s;
    hop_error err = {0};
    hop_status status = hop_safetensors_parse(&s, data, size, &err);
    if (status != HOP_OK) {
        must(status == HOP_EFORMAT && !s.tensors && s.count == 0 && !s.header.root && !s.metadata);
        must(err.text[0] && !strchr(err.text, '\n'));
        return;
    }
    size_t total = 0;
    const unsigned char *at = s.count ? s.tensors[0].data : data + size;
    for (int64_t i = 0; i < s.count; i++) {
        must(s.tensors[i].data == at);
        size_t bytes = must_be_readable(&s, &s.tensors[i]);
        total += bytes;
        at += bytes;
    }
    must(at == data + size && total <= size - 8);
    if (s.metadata)
        for (const hop_json *v = s.metadata->child; v; v = v->next)
            must(hop_safetensors_meta(&s, v->key) == v->string);
    hop_safetensors_close(&s);
}
