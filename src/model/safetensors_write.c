/* Writing safetensors: float32 tensors in the order given, so that the same call gives the same bytes. */
#include "network.h"

#include <inttypes.h>
#include <string.h>

#define METADATA "__metadata__"

/* ---- header -------------------------------------------------------------------------------- */

static hop_status count_bytes(const hop_tensor_out *t, int64_t *bytes, hop_error *err)
{
    if (t->rank < 0 || t->rank > HOP_TENSOR_MAX_RANK)
        return hop_fail(err, HOP_ESHAPE, "tensor \"%.150s\": rank %d", t->name, t->rank);
    int64_t product = 1;
    bool empty = false;
    for (int i = 0; i < t->rank; i++) {
        int64_t d = t->shape[i];
        if (d < 0 || (d > 0 && product > INT64_MAX / 4 / d))
            return hop_fail(err, HOP_ESHAPE, "tensor \"%.150s\": dimension %d is %" PRId64, t->name, i, d);
        if (d > 0)
            product *= d;
        else
            empty = true;
    }
    *bytes = empty ? 0 : 4 * product;
    return HOP_OK;
}

static void put_entry(hop_json_writer *w, const hop_tensor_out *t, int64_t from, int64_t to)
{
    hop_json_key(w, t->name);
    hop_json_begin_object(w);
    hop_json_string(w, "dtype", "F32");
    hop_json_key(w, "shape");
    hop_json_begin_array(w);
    for (int i = 0; i < t->rank; i++) hop_json_put_int(w, t->shape[i]);
    hop_json_end_array(w);
    hop_json_key(w, "data_offsets");
    hop_json_begin_array(w);
    hop_json_put_int(w, from);
    hop_json_put_int(w, to);
    hop_json_end_array(w);
    hop_json_end_object(w);
}

static hop_status put_header(hop_json_writer *w, const hop_tensor_out *tensors, int64_t count,
                             const char *const *metadata, hop_error *err)
{
    hop_json_begin_object(w);
    if (metadata && metadata[0]) {
        hop_json_key(w, METADATA);
        hop_json_begin_object(w);
        for (; metadata[0] && metadata[1]; metadata += 2) hop_json_string(w, metadata[0], metadata[1]);
        hop_json_end_object(w);
    }
    int64_t offset = 0, bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        hop_status s = count_bytes(&tensors[i], &bytes, err);
        if (s != HOP_OK) return s;
        if (bytes > INT64_MAX - offset)
            return hop_fail(err, HOP_ESHAPE, "tensor \"%.150s\": the file would be too large",
                            tensors[i].name);
        put_entry(w, &tensors[i], offset, offset + bytes);
        offset += bytes;
    }
    hop_json_end_object(w);
    while (w->text.len % 8 && !w->text.failed)
        hop_text_add(&w->text, " "); /* the data is then aligned to 8 */
    if (w->text.failed) return hop_fail(err, HOP_ENOMEM, "out of memory for the header");
    if (w->text.len > HOP_SAFETENSORS_HEAD)
        return hop_fail(err, HOP_ERANGE, "a header of %zu bytes is above the format's limit", w->text.len);
    return HOP_OK;
}

/* Reads the header back: a name twice, a name that is not UTF-8 or one that the format keeps for itself would
 * give a file that cannot be read, and nothing is written then. */
static hop_status check_header(const hop_text *text, const hop_tensor_out *tensors, int64_t count,
                               bool metadata, hop_error *err)
{
    hop_json_doc doc = {0};
    hop_status s = hop_json_parse(&doc, text->s, text->len, err);
    if (s != HOP_OK) return hop_fail_in(err, s, "header");
    const hop_json *v = metadata ? doc.root->child->next : doc.root->child;
    for (int64_t i = 0; i < count && s == HOP_OK; i++, v = v->next) {
        if (strcmp(v->key, tensors[i].name) != 0 || strcmp(v->key, METADATA) == 0)
            s = hop_fail(err, HOP_EFORMAT, "tensor \"%.150s\": not a name that can be written",
                         tensors[i].name);
    }
    hop_json_free(&doc);
    return s;
}

/* ---- data ---------------------------------------------------------------------------------- */

/* Zeros to the bit: -0 is none. */
static bool all_zero(const float *x, int64_t n)
{
    uint32_t any = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t u;
        memcpy(&u, &x[i], 4);
        any |= u;
    }
    return any == 0;
}

/* By shifts, so that a big-endian host writes the same file. */
static void put_floats(hop_output *out, const float *data, int64_t count)
{
    unsigned char block[16384];
    const int64_t most = (int64_t)sizeof block / 4;
    int64_t zeros = 0; /* numbers passed over so far */
    for (int64_t from = 0; from < count; from += most) {
        int64_t n = count - from < most ? count - from : most;
        if (all_zero(data + from, n)) {
            zeros += n;
            continue;
        }
        hop_output_zeros(out, 4 * (size_t)zeros);
        zeros = 0;
        for (int64_t i = 0; i < n; i++) {
            uint32_t u;
            memcpy(&u, &data[from + i], 4);
            for (int k = 0; k < 4; k++) block[4 * i + k] = (unsigned char)(u >> 8 * k);
        }
        hop_output_write(out, block, 4 * (size_t)n);
    }
    hop_output_zeros(out, 4 * (size_t)zeros);
}

static void put_file(hop_output *out, const hop_text *header, const hop_tensor_out *tensors, int64_t count)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header->len >> 8 * i);
    hop_output_write(out, length, sizeof length);
    hop_output_write(out, header->s, header->len);
    for (int64_t i = 0; i < count; i++) {
        int64_t bytes = 0;
        count_bytes(&tensors[i], &bytes, NULL); /* was checked for the header */
        put_floats(out, tensors[i].data, bytes / 4);
    }
}

hop_status hop__safetensors_begin(hop_output *out, const char *path, const hop_tensor_out *tensors,
                                  int64_t count, const char *const *metadata, hop_error *err)
{
    hop_json_writer w = {0};
    hop_status s = put_header(&w, tensors, count, metadata, err);
    if (s == HOP_OK) s = check_header(&w.text, tensors, count, metadata && metadata[0], err);
    if (s != HOP_OK)
        hop_fail_in(err, s, path);
    else
        s = hop_output_open(out, path, err);
    if (s == HOP_OK) put_file(out, &w.text, tensors, count);
    hop_text_free(&w.text);
    return s;
}

hop_status hop_safetensors_write(const char *path, const hop_tensor_out *tensors, int64_t count,
                                 const char *const *metadata, hop_error *err)
{
    hop_output out;
    hop_status s = hop__safetensors_begin(&out, path, tensors, count, metadata, err);
    return s == HOP_OK ? hop_output_commit(&out, err) : s;
}
