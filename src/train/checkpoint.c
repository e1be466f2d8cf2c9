/* Where a training stands, in one file: parameters, moments, the heads of the chain, the step (which is also
 * the position in the stream of samples), and the recipe, under a checksum of all that. */
#include "room.h"

#include <hopbound/kernels.h>
#include <hopbound/version.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "hopbound training"
#define DIGITS 17
#define BLOCKS 4

/* The blocks of a file, in order. */
typedef struct blocks {
    hop_tensor_out list[BLOCKS];
    int count;
} blocks;

static blocks blocks_of(const hop__state *s)
{
    const hop__params *p = &s->params;
    blocks b = {0};
    b.list[b.count++] = (hop_tensor_out){"weights", 1, {p->size[0]}, p->part[0]};
    if (p->size[1]) b.list[b.count++] = (hop_tensor_out){"heads", 1, {p->size[1]}, p->part[1]};
    b.list[b.count++] = (hop_tensor_out){"first_moment", 1, {p->floats}, s->adam.first};
    b.list[b.count++] = (hop_tensor_out){"second_moment", 1, {p->floats}, s->adam.second};
    return b;
}

/* The numbers of a state, by their names in the metadata; each reads back to the same bits. */
static const struct {
    const char *name;
    bool whole; /* an int64_t, else a double */
    size_t at;
} NUMBERS[] = {
#define WHOLE(member)                               \
    {                                               \
#member, true, offsetof(hop__state, member) \
    }
#define REAL(member)                                 \
    {                                                \
#member, false, offsetof(hop__state, member) \
    }
    WHOLE(step),    WHOLE(measured),   WHOLE(reached), REAL(best),   REAL(loss),
    REAL(loss_sum), WHOLE(loss_count), REAL(seconds),  REAL(tokens),
};
#define NUMBER_COUNT (sizeof NUMBERS / sizeof NUMBERS[0])

/* All texts but the checksum: name, value, .., NULL. */
typedef struct texts {
    char number[NUMBER_COUNT][32];
    const char *list[2 * (NUMBER_COUNT + 6)];
    int count;
} texts;

static void add_text(texts *t, const char *name, const char *value)
{
    t->list[t->count++] = name;
    t->list[t->count++] = value;
    t->list[t->count] = NULL;
}

static void write_texts(texts *t, const hop__state *s, const char *recipe)
{
    t->count = 0;
    add_text(t, "format", FORMAT);
    add_text(t, "version", HOP_VERSION);
    add_text(t, "isa", hop_isa_name(hop_kernels_selected()));
    add_text(t, "recipe", recipe);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        const void *at = (const char *)s + NUMBERS[i].at;
        if (NUMBERS[i].whole)
            snprintf(t->number[i], sizeof t->number[i], "%" PRId64, *(const int64_t *)at);
        else
            snprintf(t->number[i], sizeof t->number[i], "%.17g", *(const double *)at);
        add_text(t, NUMBERS[i].name, t->number[i]);
    }
}

static void print_checksum(char out[DIGITS], const char *const *metadata, const blocks *b)
{
    hop_hash h;
    hop_hash_init(&h);
    for (int i = 0; metadata[i]; i++) hop_hash_add(&h, metadata[i], strlen(metadata[i]) + 1);
    for (int i = 0; i < b->count; i++)
        hop_hash_add(&h, b->list[i].data, sizeof(float) * (size_t)b->list[i].shape[0]);
    snprintf(out, DIGITS, "%016" PRIx64, hop_hash_end(&h));
}

bool hop_train_holds(const char *dir)
{
    char path[4096];
    return hop_path_join(path, sizeof path, dir, HOP__CHECKPOINT, NULL) == HOP_OK && hop_is_there(path);
}

hop_status hop__checkpoint_save(const hop__state *s, const hop_recipe *r, const char *dir, hop_error *err)
{
    char path[4096], sum[DIGITS];
    hop_status got = hop_path_join(path, sizeof path, dir, HOP__CHECKPOINT, err);
    char *text = got == HOP_OK ? hop__recipe_text(r) : NULL;
    if (got == HOP_OK && !text) got = hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    if (got != HOP_OK) return got;
    texts t;
    blocks b = blocks_of(s);
    write_texts(&t, s, text);
    print_checksum(sum, t.list, &b);
    add_text(&t, "checksum", sum);
    got = hop_safetensors_write(path, b.list, b.count, t.list, err);
    free(text);
    return got;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static hop_status open_file(hop_safetensors *f, const char *dir, char path[4096], hop_error *err)
{
    hop_status s = hop_path_join(path, 4096, dir, HOP__CHECKPOINT, err);
    if (s == HOP_OK) s = hop_safetensors_open(f, path, err);
    if (s != HOP_OK) return s;
    const char *format = hop_safetensors_meta(f, "format");
    if (format && strcmp(format, FORMAT) == 0 && hop_safetensors_meta(f, "recipe")) return HOP_OK;
    hop_safetensors_close(f);
    return hop_fail(err, HOP_EFORMAT, "%s: is no checkpoint of a training", path);
}

static bool read_number(hop__state *s, size_t i, const char *text)
{
    void *at = (char *)s + NUMBERS[i].at;
    char *end = NULL;
    if (!text || !*text) return false;
    errno = 0;
    if (NUMBERS[i].whole)
        *(int64_t *)at = strtoll(text, &end, 10);
    else
        *(double *)at = strtod(text, &end);
    return !*end && errno == 0 && (NUMBERS[i].whole || isfinite(*(double *)at));
}

static hop_status read_numbers(hop__state *s, const hop_recipe *r, const hop_safetensors *f, hop_error *err)
{
    bool fine = true;
    for (size_t i = 0; fine && i < NUMBER_COUNT; i++)
        fine = read_number(s, i, hop_safetensors_meta(f, NUMBERS[i].name));
    fine = fine && s->step >= 0 && s->step <= r->steps && s->measured >= -1 && s->measured <= s->step &&
           s->loss_count >= 0;
    return fine ? HOP_OK : hop_fail(err, HOP_EFORMAT, "its numbers are none of a training");
}

static hop_status read_blocks(const blocks *b, const hop_safetensors *f, hop_error *err)
{
    if (f->count != b->count)
        return hop_fail(err, HOP_EFORMAT, "%lld tensors, not %d", (long long)f->count, b->count);
    for (int i = 0; i < b->count; i++) {
        const hop_tensor *t = hop_safetensors_find(f, b->list[i].name);
        if (!t || t->dtype != HOP_DTYPE_F32 || t->rank != 1 || t->shape[0] != b->list[i].shape[0])
            return hop_fail(err, HOP_EFORMAT, "\"%s\" is not F32 [%lld]", b->list[i].name,
                            (long long)b->list[i].shape[0]);
        hop_status s = hop_tensor_floats(t, (float *)(uintptr_t)b->list[i].data, err);
        if (s != HOP_OK) return s;
    }
    return HOP_OK;
}

static hop_status load(hop__state *s, const char *recipe, const hop_recipe *r, const hop_safetensors *f,
                       hop_error *err)
{
    const char *isa = hop_safetensors_meta(f, "isa"), *version = hop_safetensors_meta(f, "version"),
               *checksum = hop_safetensors_meta(f, "checksum");
    if (!isa || !version || !checksum) return hop_fail(err, HOP_EFORMAT, "is no checkpoint of this version");
    if (strcmp(hop_safetensors_meta(f, "recipe"), recipe) != 0)
        return hop_fail(err, HOP_EFORMAT, "is of another recipe");
    if (strcmp(version, HOP_VERSION) != 0)
        return hop_fail(err, HOP_EFORMAT, "is of version %.20s: this one may round otherwise", version);
    if (strcmp(isa, hop_isa_name(hop_kernels_selected())) != 0)
        return hop_fail(err, HOP_EFORMAT, "was made with other kernels: continue with --isa %.20s", isa);
    blocks b = blocks_of(s);
    hop_status got = read_numbers(s, r, f, err);
    if (got == HOP_OK) got = read_blocks(&b, f, err);
    if (got != HOP_OK) return got;
    texts t;
    char sum[DIGITS];
    write_texts(&t, s, recipe);
    print_checksum(sum, t.list, &b);
    return strcmp(sum, checksum) == 0 ? HOP_OK
                                      : hop_fail(err, HOP_EFORMAT, "is damaged: its checksum does not fit");
}

hop_status hop__checkpoint_load(hop__state *s, const hop_recipe *r, const char *dir, hop_error *err)
{
    hop_safetensors f = {0};
    char path[4096], *text = hop__recipe_text(r);
    hop_status got = text ? open_file(&f, dir, path, err) : hop_fail(err, HOP_ENOMEM, "out of memory");
    if (got == HOP_OK) {
        got = load(s, text, r, &f, err);
        hop_safetensors_close(&f);
        if (got != HOP_OK) hop_fail_in(err, got, path);
    }
    free(text);
    return got;
}

hop_status hop_train_recipe(hop_recipe *r, const char *dir, hop_error *err)
{
    hop_safetensors f = {0};
    hop_json_doc doc = {0};
    char path[4096];
    hop_status s = open_file(&f, dir, path, err);
    if (s != HOP_OK) return s;
    const char *text = hop_safetensors_meta(&f, "recipe");
    hop_recipe_init(r);
    s = hop_json_parse(&doc, text, strlen(text), err);
    if (s == HOP_OK) s = hop_recipe_read(r, doc.root, err);
    hop_json_free(&doc);
    hop_safetensors_close(&f);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}
