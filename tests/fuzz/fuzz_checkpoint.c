/* Checkpoints of an interrupted pass. Only one of the very pass may be taken up, and no input would get past
 * its digest and its checksum: an input that has DIGEST or CHECKSUM for them gets the right ones put there.
 * What is taken up is what the file says, and the pass ends from there; what is refused is left as it is. */
#include "fuzz.h"

#include "network.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define DIGEST   "DIGESTDIGESTDIGE"
#define CHECKSUM "CHECKSUMCHECKSUM"
#define TOKENS   3
#define WIDTH    4

static char path[4096];
static hop_model *model;
static hop__saved pass;
static hop_forward *forward;
static const int32_t tokens[TOKENS] = {1, 0, 1};

static void close_all(void)
{
    hop_forward_free(forward);
    hop_model_free(model);
}

static void open_all(void)
{
    const char *dir = getenv("HOPBOUND_TEST_TMP");
    hop_config c;
    hop_config_init(&c);
    c.vocab = 2;
    c.d_model = WIDTH;
    c.max_positions = TOKENS;
    snprintf(path, sizeof path, "%s/fuzz_checkpoint.%" PRIx64, dir ? dir : "/tmp",
             (uint64_t)(1e9 * hop_now()));
    must(hop_kernels_select(HOP_ISA_SCALAR, NULL) == HOP_OK);
    must(hop_pattern_parse(&c.pattern, "F gdn F", NULL, NULL) == HOP_OK);
    must(hop_model_new(&model, &c, NULL) == HOP_OK);
    hop_model_init_weights(model, 1, NULL);
    must(hop_forward_new(&forward, model, &(hop_forward_options){.checkpoint = path}, NULL) == HOP_OK);
    pass.path = path;
    must(hop__saved_begin(&pass, model, tokens, TOKENS, 0, NULL) == HOP_OK);
    hop_config_free(&c);
    atexit(close_all);
}

static void put(uint8_t *data, size_t size, const char *word, const char *digits)
{
    uint8_t *at = memmem(data, size, word, strlen(word));
    if (at) memcpy(at, digits, strlen(digits));
}

/* As saved.c has it; of a file that is no checkpoint, anything. */
static void put_checksum(uint8_t *data, size_t size)
{
    hop_safetensors s;
    char digits[HOP__DIGITS];
    if (hop_safetensors_parse(&s, data, size, NULL) != HOP_OK) return;
    const char *digest = hop_safetensors_meta(&s, "digest"), *layer = hop_safetensors_meta(&s, "layer");
    const hop_tensor *x = hop_safetensors_find(&s, "x");
    if (digest && layer && x) {
        hop_hash h;
        hop_hash_init(&h);
        hop_hash_add(&h, digest, strlen(digest));
        hop_hash_add(&h, layer, strlen(layer));
        hop_hash_add(&h, x->data, x->dtype == HOP_DTYPE_F32 ? 4 * (size_t)x->elements : 0);
        snprintf(digits, sizeof digits, "%016" PRIx64, hop_hash_end(&h));
        put(data, size, CHECKSUM, digits);
    }
    hop_safetensors_close(&s);
}

static void must_have_taken(const float *x, int64_t layer)
{
    hop_safetensors s;
    char text[32];
    must(hop_safetensors_open(&s, path, NULL) == HOP_OK);
    const hop_tensor *t = hop_safetensors_find(&s, "x");
    float there[TOKENS * WIDTH];
    must(t && t->elements == TOKENS * WIDTH && hop_tensor_floats(t, there, NULL) == HOP_OK);
    must(memcmp(x, there, sizeof there) == 0);
    snprintf(text, sizeof text, "%" PRId64, layer);
    must(layer >= 1 && layer < 3 && strcmp(hop_safetensors_meta(&s, "layer"), text) == 0);
    hop_safetensors_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    float x[TOKENS * WIDTH];
    int64_t layer = -1;
    hop_error err = {0};
    hop_file left;
    if (!model) open_all();
    uint8_t *file = malloc(size + 1);
    must(file != NULL);
    if (size) memcpy(file, data, size);
    put(file, size, DIGEST, pass.digest);
    put_checksum(file, size);
    FILE *out = fopen(path, "wb");
    must(out && fwrite(file, 1, size, out) == size && fclose(out) == 0);
    hop_status s = hop__saved_load(&pass, x, &layer, &err);
    if (s == HOP_OK) must_have_taken(x, layer);
    hop_error again = {0};
    must(hop_forward_hidden(forward, tokens, TOKENS, x, &again) == s && strcmp(again.text, err.text) == 0);
    if (s == HOP_OK) {
        must(access(path, F_OK) != 0);
    } else {
        must_say_why(&err);
        must(s == HOP_EFORMAT && strncmp(err.text, path, strlen(path)) == 0);
        must(hop_file_load(&left, path, SIZE_MAX, NULL) == HOP_OK && left.size == size);
        must(size == 0 || memcmp(left.data, file, size) == 0);
        hop_file_free(&left);
        remove(path);
    }
    free(file);
    return 0;
}
