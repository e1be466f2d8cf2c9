/* Safetensors: files that are right are read to the bit, files that lie are refused with one line. Contents
 * are parsed from blocks of their exact size, so that the address sanitizer sees a byte read too many. */
#include "test.h"

#include <hopbound/model.h>

#include <unistd.h>

typedef struct blob {
    unsigned char *bytes;
    size_t size;
} blob;

/* A file with that header and `data` bytes 0, 1, 2, .. behind it; `length` is what it says of its header. */
static blob make_lying(const char *header, size_t data, uint64_t length)
{
    size_t n = strlen(header);
    blob b = {.bytes = malloc(8 + n + data), .size = 8 + n + data};
    assert_non_null(b.bytes);
    for (int i = 0; i < 8; i++) b.bytes[i] = (unsigned char)(length >> 8 * i);
    memcpy(b.bytes + 8, header, n);
    for (size_t i = 0; i < data; i++) b.bytes[8 + n + i] = (unsigned char)i;
    return b;
}

static blob make(const char *header, size_t data)
{
    return make_lying(header, data, strlen(header));
}

static void refused_bytes(const unsigned char *bytes, size_t size, const char *why)
{
    hop_safetensors s;
    hop_error err = {0};
    unsigned char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size) memcpy(copy, bytes, size);
    memset(&s, 0xA5, sizeof s); /* what comes back empty must have been emptied */
    hop_status status = hop_safetensors_parse(&s, copy, size, &err);
    free(copy);
    if (status == HOP_OK) fail_msg("accepted, not refused with \"%s\"", why);
    assert_int_equal(status, HOP_EFORMAT);
    assert_int_equal(err.status, HOP_EFORMAT);
    assert_true(!s.tensors && s.count == 0 && !s.header.root && !s.header.memory && !s.metadata &&
                !s.bytes.data);
    assert_true(err.text[0] != 0);
    assert_null(strpbrk(err.text, "\r\n"));
    if (!strstr(err.text, why)) fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void refused(const char *header, size_t data, const char *why)
{
    blob b = make(header, data);
    refused_bytes(b.bytes, b.size, why);
    free(b.bytes);
}

static hop_safetensors accepted(const blob *b)
{
    hop_safetensors s;
    hop_error err = {0};
    if (hop_safetensors_parse(&s, b->bytes, b->size, &err) != HOP_OK) fail_msg("%s", err.text);
    return s;
}

#define A_0_8 "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define ENTRY(dtype, shape, offsets) \
    "{\"t\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

/* ---- what is right ------------------------------------------------------------------------- */

static void tensors_come_sorted_by_offset_and_are_found_by_name(void **state)
{
    (void)state;
    blob b = make(
        " \n{\"b\":{\"shape\":[1,2],\"data_offsets\":[8,16],\"dtype\":\"F32\"},"
        "\"__metadata__\":{\"k\":\"v\",\"\":\"\"}," A_0_8 ",\"s\":{\"dtype\":\"U8\",\"shape\":[],"
        "\"data_offsets\":[16,17]},\"e\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[8,8]}}  \t",
        17);
    hop_safetensors s = accepted(&b);
    assert_int_equal(s.count, 4);
    static const char *const order[] = {"a", "e", "b", "s"};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(s.tensors[i].name, order[i]);
        assert_ptr_equal(hop_safetensors_find(&s, order[i]), &s.tensors[i]);
    }
    assert_null(hop_safetensors_find(&s, "c"));
    assert_null(hop_safetensors_find(&s, "__metadata__"));
    const hop_tensor *e = hop_safetensors_find(&s, "e"), *last = hop_safetensors_find(&s, "s");
    assert_true(e->elements == 0 && e->rank == 2 && e->shape[0] == 3 && e->shape[1] == 0);
    assert_true(last->elements == 1 && last->rank == 0 && last->data == b.bytes + b.size - 1);
    assert_string_equal(hop_safetensors_meta(&s, "k"), "v");
    assert_string_equal(hop_safetensors_meta(&s, ""), "");
    assert_null(hop_safetensors_meta(&s, "x"));
    hop_safetensors_close(&s);
    hop_safetensors_close(&s); /* of an empty one: fine */
    free(b.bytes);
}

static void a_file_without_tensors_is_legal(void **state)
{
    (void)state;
    static const char *const headers[] = {"{}", "{\"__metadata__\":{}}"};
    for (int i = 0; i < 2; i++) {
        blob b = make(headers[i], 0);
        hop_safetensors s = accepted(&b);
        assert_int_equal(s.count, 0);
        assert_null(hop_safetensors_find(&s, "a"));
        assert_null(hop_safetensors_meta(&s, "a"));
        hop_safetensors_close(&s);
        free(b.bytes);
    }
}

/* Reads `bytes` as one tensor of that dtype and compares the bits of the floats. */
static void converts(const char *dtype, const void *bytes, size_t size, const float *expected, int count)
{
    char header[200];
    float out[16];
    hop_error err = {0};
    /* one byte before it, so that nothing is aligned */
    snprintf(header, sizeof header,
             "{\"pad\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
             "\"t\":{\"dtype\":\"%s\",\"shape\":[%d],\"data_offsets\":[1,%zu]}}",
             dtype, count, size + 1);
    blob b = make(header, size + 1);
    memcpy(b.bytes + b.size - size, bytes, size);
    hop_safetensors s = accepted(&b);
    memset(out, 0xFF, sizeof out);
    assert_int_equal(hop_tensor_floats(hop_safetensors_find(&s, "t"), out, &err), HOP_OK);
    assert_memory_equal(out, expected, sizeof(float) * (size_t)count);
    hop_safetensors_close(&s);
    free(b.bytes);
}

#define CONVERTS(dtype, bytes, ...)                                        \
    converts(dtype, bytes, sizeof bytes - 1, (const float[]){__VA_ARGS__}, \
             (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

static void every_number_type_converts_to_float(void **state)
{
    (void)state;
    CONVERTS("F64", "\0\0\0\0\0\0\xF8\x3F\x9A\x99\x99\x99\x99\x99\xB9\x3F", 1.5f, 0.1f);
    CONVERTS("F32", "\0\0\xC0\xBF\0\0\0\x80\1\0\0\0\0\0\x80\x7F", -1.5f, -0.0f, 0x1p-149f, INFINITY);
    CONVERTS("BF16", "\x80\x3F\x49\xC0\1\0", 1.0f, -3.140625f, 0x1p-133f);
    CONVERTS("I64", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1\0\0\1\0\0\0\0", -1.0f, 16777216.0f);
    CONVERTS("U64", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 0x1p64f);
    CONVERTS("I32", "\0\0\0\x80", -2147483648.0f);
    CONVERTS("U32", "\0\0\0\x80", 2147483648.0f);
    CONVERTS("I16", "\xFE\xFF", -2.0f);
    CONVERTS("U16", "\xFE\xFF", 65534.0f);
    CONVERTS("I8", "\x80\x7F", -128.0f, 127.0f);
    CONVERTS("U8", "\x80\xFF", 128.0f, 255.0f);
}

/* The definition, in double precision: all 65,536 of them. */
static void every_half_precision_number_converts_exactly(void **state)
{
    (void)state;
    unsigned char bytes[2];
    hop_tensor t = {.name = "t", .dtype = HOP_DTYPE_F16, .elements = 1, .data = bytes};
    for (unsigned h = 0; h < 65536; h++) {
        bytes[0] = (unsigned char)h;
        bytes[1] = (unsigned char)(h >> 8);
        float got = 7;
        assert_int_equal(hop_tensor_floats(&t, &got, NULL), HOP_OK);
        int exponent = (int)(h >> 10 & 31), mantissa = (int)(h & 1023);
        double size = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
        if (exponent == 31 && mantissa) {
            assert_true(isnan(got));
        } else {
            assert_true(fabs((double)got) == (exponent == 31 ? INFINITY : size));
            assert_int_equal(signbit(got) != 0, h >> 15);
        }
    }
}

static void types_that_are_no_plain_numbers_do_not_convert(void **state)
{
    (void)state;
    static const char *const names[] = {"BOOL", "F8_E5M2", "F8_E4M3"};
    for (int i = 0; i < 3; i++) {
        char header[100];
        float out;
        hop_error err = {0};
        snprintf(header, sizeof header, ENTRY("\"%s\"", "[1]", "[0,1]"), names[i]);
        blob b = make(header, 1);
        hop_safetensors s = accepted(&b);
        assert_int_equal(hop_tensor_floats(&s.tensors[0], &out, &err), HOP_EFORMAT);
        assert_non_null(strstr(err.text, names[i]));
        hop_safetensors_close(&s);
        free(b.bytes);
    }
}

static void the_files_of_other_writers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *file, *core, *tensor;
        int64_t count, elements;
    } cores[] = {
        {"attention", "attention", "q", 8, 2 * 37 * 3 * 8},
        {"decay_scalar", "decay", "g", 11, 2 * 37 * 3},
        {"delta_plain", "delta", "beta", 11, 2 * 37 * 3},
        {"selective", "selective", "A", 15, 40},
    };
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
        char name[64], path[4096];
        hop_safetensors s;
        hop_error err = {0};
        float *out = malloc(sizeof(float) * (size_t)cores[i].elements);
        assert_non_null(out);
        snprintf(name, sizeof name, "cores/%s.safetensors", cores[i].file);
        test_data(path, sizeof path, name);
        if (hop_safetensors_open(&s, path, &err) != HOP_OK) fail_msg("%s", err.text);
        assert_string_equal(hop_safetensors_meta(&s, "core"), cores[i].core);
        const hop_tensor *t = hop_safetensors_find(&s, cores[i].tensor);
        assert_non_null(t);
        assert_int_equal(s.count, cores[i].count);
        assert_int_equal(t->elements, cores[i].elements);
        assert_int_equal(hop_tensor_floats(t, out, &err), HOP_OK);
        for (int64_t k = 0; k < t->elements; k++) assert_true(isfinite(out[k]));
        hop_safetensors_close(&s);
        free(out);
    }
}

/* ---- what is wrong ------------------------------------------------------------------------- */

static void a_header_length_that_lies_is_refused(void **state)
{
    (void)state;
    static const uint64_t absurd[] = {100000001, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX - 8,
                                      UINT64_MAX};
    for (size_t i = 0; i < 5; i++) {
        blob b = make_lying("{" A_0_8 "}", 8, absurd[i]);
        refused_bytes(b.bytes, b.size, "above the format's limit of 100000000");
        free(b.bytes);
    }
    size_t right = strlen("{" A_0_8 "}");
    for (uint64_t length = 0; length <= right + 20; length++) {
        if (length == right) continue;
        blob b = make_lying("{" A_0_8 "}", 8, length);
        refused_bytes(b.bytes, b.size, length > right + 8 ? "bytes, but" : "");
        free(b.bytes);
    }
    refused_bytes(NULL, 0, "0 bytes are too few");
    refused_bytes((const unsigned char *)"{", 1, "1 bytes are too few");
    refused_bytes((const unsigned char *)"\0\0\0\0\0\0\0\0", 8, "does not begin with '{'");
}

static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    blob b = make("{\"__metadata__\":{\"k\":\"v\"}," A_0_8
                  ",\"b\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[8,11]}}",
                  11);
    for (size_t n = 0; n < b.size; n++) refused_bytes(b.bytes, n, "");
    hop_safetensors s = accepted(&b);
    hop_safetensors_close(&s);
    free(b.bytes);
}

static void headers_that_are_not_objects_of_entries_are_refused(void **state)
{
    (void)state;
    refused("", 0, "does not begin with '{'");
    refused("   ", 0, "does not begin with '{'");
    refused("[]", 0, "does not begin with '{'");
    refused("\xEF\xBB\xBF{}", 0, "does not begin with '{'");
    refused("{} x", 0, "header: line 1, column 4");
    refused("{\"a\":NaN}", 0, "tensor \"a\": its entry is not an object");
    refused("{\"a\":[]}", 0, "tensor \"a\": its entry is not an object");
    refused("{\"a\":null}", 0, "tensor \"a\": its entry is not an object");
    refused("{\"a\":{}}", 0, "tensor \"a\": has no dtype");
    refused("{\"a\\n\":{}}", 0, "tensor \"a \": has no dtype");
    refused("{" A_0_8 "," A_0_8 "}", 8, "the key \"a\" occurs twice");
    refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1,
            "\"dtype\" occurs twice");
    refused("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "tensor \"a\": has no shape");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "tensor \"a\": has no data_offsets");
    refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":0}}", 1,
            "has more than dtype");
    char deep[400] = "{\"a\":";
    memset(deep + 5, '[', 300);
    refused(deep, 0, "nested deeper than 128");
}

static void metadata_that_is_not_strings_is_refused(void **state)
{
    (void)state;
    refused("{\"__metadata__\":1}", 0, "__metadata__ is not an object");
    refused("{\"__metadata__\":null}", 0, "__metadata__ is not an object");
    refused("{\"__metadata__\":{\"k\":1}}", 0, "__metadata__: \"k\" is not a string");
    refused("{\"__metadata__\":{\"k\":null}}", 0, "__metadata__: \"k\" is not a string");
    refused("{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}}", 0, "occurs twice");
    refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "occurs twice");
}

static void unknown_dtypes_are_named(void **state)
{
    (void)state;
    refused(ENTRY("\"F4\"", "[2]", "[0,1]"), 1, "tensor \"t\": unknown dtype \"F4\"");
    refused(ENTRY("\"f32\"", "[1]", "[0,4]"), 4, "unknown dtype \"f32\"");
    refused(ENTRY("\"\"", "[1]", "[0,4]"), 4, "unknown dtype \"\"");
    refused(ENTRY("32", "[1]", "[0,4]"), 4, "has no dtype");
    refused(ENTRY("null", "[1]", "[0,4]"), 4, "has no dtype");
}

static void shapes_that_are_no_shapes_are_refused(void **state)
{
    (void)state;
    /* clang-format off */
    static const char *const dims[] = {
        "-1", "1.0", "1.5", "1e0", "\"1\"", "null", "true", "[1]", "NaN", "-0.0", "9223372036854775808",
        "18446744073709551617", "1e999999",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        char header[200];
        snprintf(header, sizeof header, ENTRY("\"U8\"", "[%s]", "[0,1]"), dims[i]);
        refused(header, 1, strcmp(dims[i], "1e999999") ? "a dimension is not an integer >= 0" : "too large");
    }
    refused(ENTRY("\"U8\"", "1", "[0,1]"), 1, "has no shape");
    refused(ENTRY("\"U8\"", "{}", "[0,1]"), 1, "has no shape");
    refused(ENTRY("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1, "9 dimensions");
}

static void shape_products_that_overflow_are_refused(void **state)
{
    (void)state;
    /* clang-format off */
    static const char *const shapes[] = {
        "[9223372036854775807]", "[9223372036854775807,9223372036854775807]", "[4294967296,4294967296]",
        "[2305843009213693952]", "[4294967296,4294967296,0]", "[0,4294967296,4294967296]",
        "[3,3074457345618258603]", "[65536,65536,65536,65536]", "[2,9223372036854775807]",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char header[200];
        snprintf(header, sizeof header, ENTRY("\"F32\"", "%s", "[0,0]"), shapes[i]);
        refused(header, 0, "its size overflows 64 bits");
    }
}

static void offsets_that_do_not_fit_shape_or_file_are_refused(void **state)
{
    (void)state;
    refused(ENTRY("\"F32\"", "[2]", "[0,4]"), 4, "shape and dtype need 8 bytes, data_offsets give 4");
    refused(ENTRY("\"F32\"", "[0]", "[0,4]"), 4, "need 0 bytes, data_offsets give 4");
    refused(ENTRY("\"F32\"", "[]", "[0,0]"), 0, "need 4 bytes, data_offsets give 0");
    refused(ENTRY("\"F32\"", "[2]", "[0,8]"), 7, "do not lie in the 7 bytes of data");
    refused(ENTRY("\"F32\"", "[2]", "[8,0]"), 8, "do not lie in");
    refused(ENTRY("\"U8\"", "[1]", "[9223372036854775806,9223372036854775807]"), 1, "do not lie in");
    /* clang-format off */
    static const char *const pairs[] = {
        "[-1,0]", "[-8,0]", "[0]", "[]", "[0,1,1]", "[0.0,1]", "[0,1.0]", "[\"0\",1]", "[null,1]",
        "[0,9223372036854775808]", "[0,18446744073709551617]",
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char header[200];
        snprintf(header, sizeof header, ENTRY("\"U8\"", "[1]", "%s"), pairs[i]);
        refused(header, 1, "data_offsets are not two integers >= 0");
    }
    refused(ENTRY("\"U8\"", "[1]", "{}"), 1, "has no data_offsets");
}

static void gaps_overlaps_and_leftovers_are_refused(void **state)
{
    (void)state;
    refused("{" A_0_8 "}", 9, "1 bytes of data belong to no tensor");
    refused("{}", 3, "3 bytes of data belong to no tensor");
    refused("{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2,
            "tensor \"b\": a gap lies before it");
    refused("{" A_0_8 ",\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9,10]}}", 10,
            "tensor \"b\": a gap");
    refused("{" A_0_8 ",\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[7,11]}}", 11,
            "tensor \"b\": overlaps \"a\"");
    refused("{" A_0_8 ",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
            "tensor \"b\": overlaps \"a\"");
    refused("{" A_0_8 ",\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]}}", 8,
            "tensor \"e\": overlaps \"a\"");
}

/* ---- writing ------------------------------------------------------------------------------- */

/* A directory of our own, so that a temporary file left behind shows: it cannot be removed then. */
static void temp_dir(char *dir, size_t size, char *path, size_t path_size)
{
    assert_non_null(mkdtemp((char *)test_path(dir, size, "safetensors-XXXXXX")));
    assert_int_equal(hop_path_join(path, path_size, dir, "x.safetensors", NULL), HOP_OK);
}

static void what_is_written_is_read_back_to_the_bit(void **state)
{
    (void)state;
    enum { N = 5000 }; /* more than the writer's block */
    char dir[2000], path[2100];
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    assert_true(x && y);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t bits = i * 858993u + 0x7F800000u; /* infinities, NaNs with payloads, subnormals, .. */
        memcpy(&x[i], &bits, sizeof bits);
    }
    const hop_tensor_out tensors[] = {{"z.weight", 2, {50, 100}, x},
                                      {"scalar \"\xC3\xA9\"\n", 0, {0}, x + 7},
                                      {"empty", 3, {2, 0, 5}, NULL}};
    static const char *const metadata[] = {"format", "pt", "note", "a\nb", NULL};
    temp_dir(dir, sizeof dir, path, sizeof path);
    hop_error err = {0};
    hop_safetensors s;
    if (hop_safetensors_write(path, tensors, 3, metadata, &err) != HOP_OK) fail_msg("%s", err.text);
    if (hop_safetensors_open(&s, path, &err) != HOP_OK) fail_msg("%s", err.text);
    assert_int_equal(s.count, 3);
    for (int i = 0; i < 3; i++) {
        const hop_tensor *t = hop_safetensors_find(&s, tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->rank, tensors[i].rank);
        assert_memory_equal(t->shape, tensors[i].shape, sizeof t->shape);
        assert_int_equal(hop_tensor_floats(t, y, &err), HOP_OK);
        if (t->elements) assert_memory_equal(y, tensors[i].data, sizeof(float) * (size_t)t->elements);
    }
    assert_int_equal(s.tensors[0].at % 8, 0);
    assert_string_equal(s.tensors[0].name, "z.weight");
    assert_string_equal(hop_safetensors_meta(&s, "format"), "pt");
    assert_string_equal(hop_safetensors_meta(&s, "note"), "a\nb");

    char again[2100];
    hop_file one = {0}, other = {0};
    snprintf(again, sizeof again, "%s/y.safetensors", dir);
    assert_int_equal(hop_safetensors_write(again, tensors, 3, metadata, &err), HOP_OK);
    assert_int_equal(hop_file_load(&other, again, SIZE_MAX, &err), HOP_OK);
    assert_int_equal(hop_file_load(&one, path, SIZE_MAX, &err), HOP_OK);
    assert_int_equal(other.size, one.size);
    assert_memory_equal(other.data, one.data, other.size);
    hop_file_free(&one);
    hop_file_free(&other);
    hop_safetensors_close(&s);
    unlink(path);
    unlink(again);
    assert_int_equal(rmdir(dir), 0); /* no temporary file was left */
    free(x);
    free(y);
}

static void what_could_not_be_read_is_not_written(void **state)
{
    (void)state;
    float x = 1;
    char dir[2000], path[2100];
    temp_dir(dir, sizeof dir, path, sizeof path);
    const struct {
        hop_tensor_out t[2];
        hop_status status;
    } bad[] = {
        {{{"a", 1, {1}, &x}, {"a", 1, {1}, &x}}, HOP_EFORMAT},
        {{{"a", 1, {1}, &x}, {"__metadata__", 1, {1}, &x}}, HOP_EFORMAT},
        {{{"a", 1, {1}, &x}, {"b\xFF", 1, {1}, &x}}, HOP_EFORMAT},
        {{{"a", 1, {1}, &x}, {"b", 1, {-1}, &x}}, HOP_ESHAPE},
        {{{"a", 1, {1}, &x}, {"b", 9, {1}, &x}}, HOP_ESHAPE},
        {{{"a", 1, {1}, &x}, {"b", -1, {1}, &x}}, HOP_ESHAPE},
        {{{"a", 1, {1}, &x}, {"b", 2, {INT64_MAX, 2}, &x}}, HOP_ESHAPE},
        {{{"a", 1, {INT64_MAX / 4}, &x}, {"b", 1, {INT64_MAX / 4}, &x}}, HOP_ESHAPE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hop_error err = {0};
        assert_int_equal(hop_safetensors_write(path, bad[i].t, 2, NULL, &err), bad[i].status);
        assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
        assert_int_equal(access(path, F_OK), -1);
    }
    static const char *const twice[] = {"k", "1", "k", "2", NULL};
    assert_int_equal(hop_safetensors_write(path, bad[0].t, 1, twice, NULL), HOP_EFORMAT);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(hop_safetensors_write(path, bad[0].t, 1, NULL, NULL), HOP_EIO);
}

static void open_names_the_file(void **state)
{
    (void)state;
    char dir[2000], path[2100];
    hop_safetensors s;
    hop_error err = {0};
    temp_dir(dir, sizeof dir, path, sizeof path);
    assert_int_equal(hop_safetensors_open(&s, path, &err), HOP_EIO);
    assert_int_equal(hop_file_write(path, "", 0, &err), HOP_OK);
    assert_int_equal(hop_safetensors_open(&s, path, &err), HOP_EFORMAT);
    assert_int_equal(strncmp(err.text, path, strlen(path)), 0);
    assert_non_null(strstr(err.text, "0 bytes are too few"));
    unlink(path);
    assert_int_equal(hop_safetensors_open(&s, dir, &err), HOP_EIO);
    assert_int_equal(rmdir(dir), 0);
}

/* A mapped file would end the process here. */
static void a_file_that_is_cut_short_after_it_was_opened_is_said_so(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    char dir[2000], path[2100];
    float *x = calloc(COUNT, sizeof *x), *y = calloc(COUNT, sizeof *y);
    const hop_tensor_out tensors[] = {{"first", 1, {10}, x}, {"last", 1, {COUNT}, x}};
    hop_safetensors s;
    hop_error err = {0};
    assert_true(x && y);
    temp_dir(dir, sizeof dir, path, sizeof path);
    assert_int_equal(hop_safetensors_write(path, tensors, 2, NULL, &err), HOP_OK);
    assert_int_equal(hop_safetensors_open(&s, path, &err), HOP_OK);
    assert_int_equal(truncate(path, 4096), 0);
    assert_int_equal(hop_tensor_floats(hop_safetensors_find(&s, "first"), y, &err), HOP_OK);
    assert_int_equal(hop_tensor_floats(hop_safetensors_find(&s, "last"), y, &err), HOP_EIO);
    assert_string_equal(err.text, "tensor \"last\": was cut short while it was read");
    hop_safetensors_close(&s);
    unlink(path);
    rmdir(dir);
    free(x);
    free(y);
}

/* Quadratic work here would take minutes. */
static void a_hundred_thousand_tensors_are_written_read_and_found(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    char dir[2000], path[2100], (*names)[24] = malloc(COUNT * sizeof *names);
    hop_tensor_out *tensors = calloc(COUNT, sizeof *tensors);
    float x = 0.5f;
    assert_true(names && tensors);
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "layers.%d.w", i);
        tensors[i] = (hop_tensor_out){names[i], 1, {1}, &x};
    }
    temp_dir(dir, sizeof dir, path, sizeof path);
    hop_safetensors s;
    hop_error err = {0};
    assert_int_equal(hop_safetensors_write(path, tensors, COUNT, NULL, &err), HOP_OK);
    assert_int_equal(hop_safetensors_open(&s, path, &err), HOP_OK);
    assert_int_equal(s.count, COUNT);
    for (int i = 0; i < COUNT; i++) assert_ptr_equal(hop_safetensors_find(&s, names[i]), &s.tensors[i]);
    hop_safetensors_close(&s);
    unlink(path);
    rmdir(dir);
    free(names);
    free(tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_come_sorted_by_offset_and_are_found_by_name),
        cmocka_unit_test(a_file_without_tensors_is_legal),
        cmocka_unit_test(every_number_type_converts_to_float),
        cmocka_unit_test(every_half_precision_number_converts_exactly),
        cmocka_unit_test(types_that_are_no_plain_numbers_do_not_convert),
        cmocka_unit_test(the_files_of_other_writers_are_read),
        cmocka_unit_test(a_header_length_that_lies_is_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(headers_that_are_not_objects_of_entries_are_refused),
        cmocka_unit_test(metadata_that_is_not_strings_is_refused),
        cmocka_unit_test(unknown_dtypes_are_named),
        cmocka_unit_test(shapes_that_are_no_shapes_are_refused),
        cmocka_unit_test(shape_products_that_overflow_are_refused),
        cmocka_unit_test(offsets_that_do_not_fit_shape_or_file_are_refused),
        cmocka_unit_test(gaps_overlaps_and_leftovers_are_refused),
        cmocka_unit_test(what_is_written_is_read_back_to_the_bit),
        cmocka_unit_test(what_could_not_be_read_is_not_written),
        cmocka_unit_test(open_names_the_file),
        cmocka_unit_test(a_file_that_is_cut_short_after_it_was_opened_is_said_so),
        cmocka_unit_test(a_hundred_thousand_tensors_are_written_read_and_found),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
