/* GGUF: a header of metadata and tensors' names, read in pieces and no further than that. It comes from strangers: every
 * count and length is checked against what is there before anything is allocated or skipped. */
#include <hopbound/gguf.h>

#include <stdlib.h>
#include <string.h>

#define PIECE        65536
#define MOST_VALUES  4096
#define MOST_TENSORS (1 << 20)
#define MOST_NAME    65535

/* Of a file piece by piece, or of memory. */
typedef struct source {
    const hop_input *file; /* NULL: `data` is all */
    const unsigned char *data;
    unsigned char *piece; /* [PIECE], of a file */
    int64_t start, held;  /* data[0] is byte `start`; so many are there */
    int64_t at, size;
    hop_error *err;
    hop_status status; /* the first failure */
} source;

/* ---- bytes --------------------------------------------------------------------------------- */

static void fail(source *s, const char *what)
{
    if (s->status == HOP_OK)
        s->status = hop_fail(s->err, HOP_EFORMAT, "GGUF: %s at byte %lld", what, (long long)s->at);
}

static bool has(source *s, int64_t bytes)
{
    if (s->status == HOP_OK && (bytes < 0 || bytes > s->size - s->at)) fail(s, "ends");
    if (s->status == HOP_OK && bytes > HOP_GGUF_MAX_HEADER - s->at) fail(s, "metadata of more than 256 MiB");
    return s->status == HOP_OK;
}

/* The next bytes, at most a piece, which stay where they are until more are asked for; NULL: a failure. */
static const unsigned char *take(source *s, int64_t bytes)
{
    if (!has(s, bytes)) return NULL;
    if (s->file && (s->at < s->start || s->at + bytes > s->start + s->held)) {
        s->start = s->at;
        s->held = s->size - s->at < PIECE ? s->size - s->at : PIECE;
        s->status = hop_input_read(s->file, s->piece, (size_t)s->held, s->start, s->err);
        if (s->status != HOP_OK) return NULL;
    }
    const unsigned char *out = s->data + (s->at - s->start);
    s->at += bytes;
    return out;
}

static void skip(source *s, int64_t bytes)
{
    if (has(s, bytes)) s->at += bytes;
}

static uint64_t little(source *s, int bytes)
{
    const unsigned char *p = take(s, bytes);
    uint64_t v = 0;
    for (int i = 0; p && i < bytes; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* A count or a length. */
static int64_t size_of(source *s)
{
    uint64_t v = little(s, 8);
    if (v > INT64_MAX) fail(s, "a length of more than 2^63");
    return s->status == HOP_OK ? (int64_t)v : 0;
}

/* A text of which `room` - 1 letters are kept. Returns its length. */
static int64_t text_of(source *s, char *out, size_t room)
{
    int64_t length = size_of(s), kept = length < (int64_t)room ? length : (int64_t)room - 1;
    const unsigned char *p = take(s, kept);
    if (p) memcpy(out, p, (size_t)kept);
    out[p ? kept : 0] = '\0';
    skip(s, length - kept);
    return length;
}

/* ---- metadata ------------------------------------------------------------------------------ */

/* Bytes of a value, its sign, and whether it is whole; texts and lists have 0 bytes. */
static const struct {
    int bytes;
    bool sign, whole;
} types[] = {{1, false, true}, {1, true, true},  {2, false, true}, {2, true, true},   {4, false, true},
             {4, true, true},  {4, true, false}, {1, false, true}, {0, false, false}, {0, false, false},
             {8, false, true}, {8, true, true},  {8, true, false}};
enum { TEXT = 8, LIST = 9, TYPES = sizeof types / sizeof *types };

static int64_t number_of(source *s, int type)
{
    int bits = 8 * types[type].bytes;
    uint64_t v = little(s, types[type].bytes);
    if (bits < 64 && types[type].sign && types[type].whole && v >> (bits - 1)) v |= ~(uint64_t)0 << bits;
    if (bits == 64 && !types[type].sign && v > INT64_MAX) fail(s, "a number of more than 2^63");
    return types[type].whole ? (int64_t)v : 0;
}

/* Lists of whole numbers are kept, a layer each; of others their length. */
static void list_of(source *s, hop_gguf_value *v)
{
    int type = (int)little(s, 4);
    int64_t count = v->number = size_of(s);
    v->is_list = true;
    if (s->status != HOP_OK) return;
    if (type < 0 || type >= TYPES || type == LIST) fail(s, "a list of an unknown type");
    if (s->status != HOP_OK) return;
    if (count > (s->size - s->at) / (type == TEXT ? 8 : types[type].bytes)) {
        fail(s, "ends in a list");
    } else if (type == TEXT) {
        for (int64_t i = 0; i < count && s->status == HOP_OK; i++) skip(s, size_of(s));
    } else if (!types[type].whole || count > HOP_HF_MAX_LAYERS) {
        skip(s, count * types[type].bytes);
    } else {
        v->list = calloc((size_t)count + 1, sizeof *v->list);
        if (!v->list) s->status = hop_fail(s->err, HOP_ENOMEM, "out of memory");
        for (int64_t i = 0; i < count && s->status == HOP_OK; i++) v->list[i] = number_of(s, type);
    }
}

static void value_of(source *s, hop_gguf_value *v, hop_gguf *g)
{
    char text[64];
    if (text_of(s, v->key, sizeof v->key) > MOST_NAME) fail(s, "a key of more than 65,535 letters");
    int type = (int)little(s, 4);
    if (s->status == HOP_OK && (type < 0 || type >= TYPES)) fail(s, "a value of an unknown type");
    if (s->status != HOP_OK) return;
    if (type == LIST) {
        list_of(s, v);
    } else if (type == TEXT) {
        text_of(s, text, sizeof text);
        if (strcmp(v->key, "general.architecture") == 0) strcpy(g->architecture, text);
    } else {
        v->number = number_of(s, type);
        v->whole = types[type].whole;
        if (strcmp(v->key, "split.count") == 0 && v->number > 1) g->splits = v->number;
    }
}

/* ---- tensors ------------------------------------------------------------------------------- */

/* Numbers in a block and its bytes, by type; 0: not known. */
static const struct {
    int numbers, bytes;
} blocks[] = {[0] = {1, 4},      [1] = {1, 2},      [2] = {32, 18},    [3] = {32, 20},    [6] = {32, 22},
              [7] = {32, 24},    [8] = {32, 34},    [9] = {32, 40},    [10] = {256, 84},  [11] = {256, 110},
              [12] = {256, 144}, [13] = {256, 176}, [14] = {256, 210}, [15] = {256, 292}, [16] = {256, 66},
              [17] = {256, 74},  [18] = {256, 98},  [19] = {256, 50},  [20] = {32, 18},   [21] = {256, 110},
              [22] = {256, 82},  [23] = {256, 136}, [24] = {1, 1},     [25] = {1, 2},     [26] = {1, 4},
              [27] = {1, 8},     [28] = {1, 8},     [29] = {256, 56},  [30] = {1, 2},     [34] = {256, 54},
              [35] = {256, 66},  [39] = {32, 17},   [40] = {64, 36},   [41] = {128, 18},  [42] = {64, 18}};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

static void count_weights(hop_gguf *g, uint32_t type, int64_t numbers)
{
    bool known = type < BLOCKS && blocks[type].numbers && numbers % blocks[type].numbers == 0;
    int64_t bytes = 0;
    if (__builtin_add_overflow(g->parameters, numbers, &g->parameters)) g->parameters = INT64_MAX;
    if (!known || g->weight_bytes < 0 ||
        __builtin_mul_overflow(numbers / blocks[type].numbers, blocks[type].bytes, &bytes) ||
        __builtin_add_overflow(g->weight_bytes, bytes, &g->weight_bytes))
        g->weight_bytes = -1;
}

static unsigned char shows(const char *name)
{
    static const struct {
        const char *begins;
        unsigned char shows;
    } parts[] = {{"attn_k.", HOP_GGUF_ATTENDS},        {"attn_k_b.", HOP_GGUF_ATTENDS},
                 {"attn_kv_a_mqa.", HOP_GGUF_ATTENDS}, {"attn_kv_b.", HOP_GGUF_ATTENDS},
                 {"ssm_a", HOP_GGUF_RECURS},           {"ssm_conv1d", HOP_GGUF_RECURS},
                 {"ssm_in.", HOP_GGUF_RECURS},         {"time_mix_", HOP_GGUF_RECURS},
                 {"shortconv.", HOP_GGUF_RECURS}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(name, parts[i].begins, strlen(parts[i].begins)) == 0) return parts[i].shows;
    return HOP_GGUF_OTHER;
}

/* "blk.12.attn_k.weight" */
static void see_layer(source *s, hop_gguf *g, const char *name)
{
    char *end;
    if (strncmp(name, "blk.", 4) != 0 || name[4] < '0' || name[4] > '9') return;
    long long layer = strtoll(name + 4, &end, 10);
    if (*end != '.' || layer < 0) return;
    if (layer >= HOP_HF_MAX_LAYERS) {
        fail(s, "a tensor of a layer beyond 16,384");
        return;
    }
    if (!g->layer_has) g->layer_has = calloc(HOP_HF_MAX_LAYERS, 1);
    if (!g->layer_has) {
        s->status = hop_fail(s->err, HOP_ENOMEM, "out of memory");
        return;
    }
    if (layer >= g->layers) g->layers = layer + 1;
    g->layer_has[layer] |= shows(end + 1);
}

static void tensor_of(source *s, hop_gguf *g)
{
    char name[128];
    int64_t numbers = 1;
    if (text_of(s, name, sizeof name) > MOST_NAME) fail(s, "a tensor's name of more than 65,535 letters");
    uint32_t dims = (uint32_t)little(s, 4);
    if (dims > 8) fail(s, "a tensor of more than 8 dimensions");
    for (uint32_t i = 0; i < dims && s->status == HOP_OK; i++)
        if (__builtin_mul_overflow(numbers, size_of(s), &numbers))
            fail(s, "a tensor of more than 2^63 numbers");
    uint32_t type = (uint32_t)little(s, 4);
    little(s, 8); /* where its numbers are */
    if (s->status != HOP_OK) return;
    count_weights(g, type, numbers);
    see_layer(s, g, name);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static hop_status read_all(hop_gguf *g, source *s)
{
    const unsigned char *magic = take(s, 4);
    if (magic && memcmp(magic, "GGUF", 4) != 0) fail(s, "no such file");
    uint32_t version = (uint32_t)little(s, 4);
    if (s->status == HOP_OK && version != 2 && version != 3) fail(s, "neither version 2 nor 3");
    int64_t tensors = size_of(s), count = size_of(s);
    if (s->status == HOP_OK && (tensors > MOST_TENSORS || count > MOST_VALUES))
        fail(s, "absurdly many tensors or keys");
    g->splits = 1;
    if (s->status == HOP_OK && !(g->values = calloc((size_t)count + 1, sizeof *g->values)))
        s->status = hop_fail(s->err, HOP_ENOMEM, "out of memory");
    for (int64_t i = 0; i < count && s->status == HOP_OK; i++) value_of(s, &g->values[g->count++], g);
    for (int64_t i = 0; i < tensors && s->status == HOP_OK; i++) tensor_of(s, g);
    if (s->status == HOP_OK && !g->architecture[0]) fail(s, "no general.architecture");
    if (s->status != HOP_OK) hop_gguf_free(g);
    return s->status;
}

hop_status hop_gguf_parse(hop_gguf *g, const void *data, size_t size, hop_error *err)
{
    source s = {.data = data, .size = (int64_t)size, .held = (int64_t)size, .err = err};
    *g = (hop_gguf){0};
    return read_all(g, &s);
}

hop_status hop_gguf_open(hop_gguf *g, const char *path, hop_error *err)
{
    hop_input file;
    *g = (hop_gguf){0};
    hop_status got = hop_input_open(&file, path, err);
    if (got != HOP_OK) return got;
    unsigned char *piece = malloc(PIECE);
    source s = {.file = &file, .data = piece, .piece = piece, .size = file.size, .err = err};
    got = piece ? read_all(g, &s) : hop_fail(err, HOP_ENOMEM, "out of memory");
    free(piece);
    hop_input_close(&file);
    return got;
}

bool hop_gguf_is(const char *path)
{
    hop_input file;
    hop_error ignored;
    char magic[4] = "";
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".gguf") == 0) return true;
    if (hop_input_open(&file, path, &ignored) != HOP_OK) return false;
    bool is = file.size >= 4 && hop_input_read(&file, magic, 4, 0, &ignored) == HOP_OK &&
              memcmp(magic, "GGUF", 4) == 0;
    hop_input_close(&file);
    return is;
}

void hop_gguf_free(hop_gguf *g)
{
    for (int64_t i = 0; g->values && i < g->count; i++) free(g->values[i].list);
    free(g->values);
    free(g->layer_has);
    *g = (hop_gguf){0};
}
