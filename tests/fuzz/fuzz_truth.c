/* The checker's own reader of networks, beside that of everybody else: what the others open it opens, too, or says
 * which type of number it does not read; what it refuses is one line. An input that begins with LENGTH gets the
 * length of its header there, which ends before the first NUL. */
#include "fuzz.h"

#include <hopbound/check.h>
#include <hopbound/model.h>

#include <inttypes.h>
#include <stdio.h>

#define LENGTH "LENGTH: "

static char dir[4000], config[4096], weights[4096];

static void remove_all(void)
{
    remove(config);
    remove(weights);
    remove(dir);
}

static void make_dir(void)
{
    static const char text[] = "{\"model_type\": \"hopbound\", \"pattern\": \"F\", \"vocab_size\": 2, "
                               "\"hidden_size\": 2, \"norm\": \"none\", \"mlp\": \"none\"}";
    const char *top = getenv("HOPBOUND_TEST_TMP");
    snprintf(dir, sizeof dir, "%s/fuzz_truth.%" PRIx64, top ? top : "/tmp", (uint64_t)(1e9 * hop_now()));
    must(hop_make_dir(dir, NULL) == HOP_OK);
    must(hop_path_join(config, sizeof config, dir, "config.json", NULL) == HOP_OK);
    must(hop_path_join(weights, sizeof weights, dir, "model.safetensors", NULL) == HOP_OK);
    must(hop_file_write(config, text, strlen(text), NULL) == HOP_OK);
    atexit(remove_all);
}

static void put(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 8 && memcmp(data, LENGTH, 8) == 0 ? memchr(data, 0, size) : NULL;
    uint64_t header = nul ? (uint64_t)(nul - data) - 8 : 0;
    FILE *out = fopen(weights, "wb"); /* not atomically: it would wait for the disk */
    must(out != NULL);
    for (int i = 0; nul && i < 8; i++) putc((int)(header >> 8 * i & 255), out);
    if (nul) must(fwrite(data + 8, 1, header, out) == header);
    const uint8_t *rest = nul ? nul + 1 : data;
    size_t left = size - (size_t)(rest - data);
    must(fwrite(rest, 1, left, out) == left && fclose(out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hop_model *m = NULL;
    hop_truth *t = NULL;
    hop_error err = {0}, other = {0};
    if (!*dir) make_dir();
    put(data, size);
    hop_status opened = hop_model_open(&m, dir, &other), checked = hop_truth_open(&t, dir, &err);
    if (opened == HOP_OK) must(checked == HOP_OK || strstr(err.text, "the checker does not read"));
    if (opened != HOP_OK) must_say_why(&other);
    if (checked != HOP_OK) must_say_why(&err);
    must((checked == HOP_OK) == (t != NULL));
    hop_truth_free(t);
    hop_model_free(m);
    return 0;
}
