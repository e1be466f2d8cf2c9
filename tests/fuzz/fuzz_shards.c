/* Networks in several files. The input is the index and two shards, "a" and "b": two numbers of two bytes say
 * how long the first two are. A network that opens has every tensor from one of the files that the index
 * names, and what they hold; what does not open is one line. */
#include "fuzz.h"

#include <hopbound/model.h>

#include <inttypes.h>
#include <stdio.h>

static char dir[4000];
static const char *const names[] = {"model.safetensors.index.json", "a", "b"};

static void path_of(char path[4096], const char *name)
{
    must(hop_path_join(path, 4096, dir, name, NULL) == HOP_OK);
}

static void remove_all(void)
{
    char path[4096];
    path_of(path, "config.json");
    remove(path);
    for (int i = 0; i < 3; i++) {
        path_of(path, names[i]);
        remove(path);
    }
    remove(dir);
}

static void make_dir(void)
{
    static const char config[] = "{\"model_type\": \"hopbound\", \"pattern\": \"F\", \"vocab_size\": 2, "
                                 "\"hidden_size\": 2, \"norm\": \"none\", \"mlp\": \"none\"}";
    const char *top = getenv("HOPBOUND_TEST_TMP");
    char path[4096];
    snprintf(dir, sizeof dir, "%s/fuzz_shards.%" PRIx64, top ? top : "/tmp", (uint64_t)(1e9 * hop_now()));
    must(hop_make_dir(dir, NULL) == HOP_OK);
    path_of(path, "config.json");
    must(hop_file_write(path, config, strlen(config), NULL) == HOP_OK);
    atexit(remove_all);
}

static void put(const char *name, const uint8_t *data, size_t size)
{
    char path[4096];
    path_of(path, name);
    FILE *out = fopen(path, "wb"); /* not atomically: it would wait for the disk */
    must(out && fwrite(data, 1, size, out) == size && fclose(out) == 0);
}

static void must_be_in_a_shard(const hop_weight *w, const hop_safetensors shards[2])
{
    int found = 0;
    for (int i = 0; i < 2; i++) {
        const hop_tensor *t = hop_safetensors_find(&shards[i], w->name);
        if (!t || t->rank != 2 || t->shape[0] != w->shape[0] || t->shape[1] != w->shape[1]) continue;
        float *floats = malloc(sizeof *floats * (size_t)t->elements);
        must(floats != NULL);
        found += hop_tensor_floats(t, floats, NULL) == HOP_OK &&
                 memcmp(floats, w->data, sizeof *floats * (size_t)t->elements) == 0;
        free(floats);
    }
    must(found >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) return 0;
    size_t rest = size - 4, from = 0;
    if (!*dir) make_dir();
    const uint8_t *parts[3];
    size_t sizes[3];
    for (int i = 0; i < 3; i++) {
        size_t wish = i < 2 ? data[2 * i] + 256u * data[2 * i + 1] : rest;
        sizes[i] = wish < rest - from ? wish : rest - from;
        parts[i] = data + 4 + from;
        from += sizes[i];
        put(names[i], parts[i], sizes[i]);
    }
    hop_model *m = NULL;
    hop_error err = {0};
    if (hop_model_open(&m, dir, &err) != HOP_OK) {
        must(!m && strncmp(err.text, dir, strlen(dir)) == 0); /* whatever it was, its file is named */
        must_say_why(&err);
        return 0;
    }
    hop_safetensors shards[2] = {{0}};
    for (int i = 0; i < 2; i++) hop_safetensors_parse(&shards[i], parts[i + 1], sizes[i + 1], NULL);
    must(hop_model_weight_count(m) > 0);
    for (int64_t i = 0; i < hop_model_weight_count(m); i++)
        must_be_in_a_shard(hop_model_weight_at(m, i), shards);
    for (int i = 0; i < 2; i++) hop_safetensors_close(&shards[i]);
    hop_model_free(m);
    return 0;
}
