/* Networks: made, filled, opened from and saved to a directory. */
#include "import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const hop_config *hop_model_config(const hop_model *m)
{
    return &m->layout->config;
}

const hop_layout *hop_model_layout(const hop_model *m)
{
    return m->layout;
}

float *hop_model_block(hop_model *m)
{
    return m->data;
}

hop_mixer_config hop_model_mixer_config(const hop_model *m, int64_t layer)
{
    return hop__layer_mixer(m->layout, layer);
}

bool hop_model_is_theirs(const hop_model *m)
{
    return m->theirs;
}

static const hop_weight *weight_of(const hop_model *m, const hop_slot *s)
{
    return s ? &m->weights[s - m->layout->slots] : NULL;
}

const hop_weight *hop_model_weight(const hop_model *m, const char *name)
{
    return weight_of(m, hop_layout_find(m->layout, name));
}

const hop_weight *hop_model_layer_weight(const hop_model *m, int64_t layer, const char *part)
{
    return weight_of(m, hop_layout_layer_find(m->layout, layer, part));
}

int64_t hop_model_weight_count(const hop_model *m)
{
    return m->layout->count;
}

const hop_weight *hop_model_weight_at(const hop_model *m, int64_t i)
{
    return weight_of(m, hop_layout_at(m->layout, i));
}

/* ---- making -------------------------------------------------------------------------------- */

static const float *whole(const hop_model *m, const char *name)
{
    const hop_weight *w = hop_model_weight(m, name);
    return w ? w->data : NULL;
}

static hop_status make(hop_model *m, const hop_config *c, hop_error *err)
{
    hop_status s = hop_layout_new(&m->layout, c, err);
    if (s != HOP_OK) return s;
    const hop_layout *l = m->layout;
    int64_t layers = l->config.pattern.layers;
    m->weights = hop_alloc(sizeof *m->weights * (size_t)l->count);
    m->data = hop_alloc(sizeof(float) * (size_t)l->floats);
    if (l->first_slot) m->layers = hop_alloc(sizeof *m->layers * (size_t)layers);
    if (!m->weights || !m->data || (l->first_slot && !m->layers))
        return hop_fail(err, HOP_ENOMEM, "cannot allocate %lld weights", (long long)l->floats);
    for (int64_t i = 0; i < l->count; i++) {
        const hop_slot *t = &l->slots[i];
        m->weights[i] = (hop_weight){t->name, t->rank, {t->shape[0], t->shape[1]}, m->data + t->offset};
    }
    for (int64_t i = 0; m->layers && i < layers; i++) hop__bind(&m->layers[i], l, i, m->data);
    m->tokens = whole(m, "model.embed_tokens.weight");
    m->positions = whole(m, "model.embed_positions.weight");
    m->norm = whole(m, "model.norm.weight");
    m->norm_bias = whole(m, "model.norm.bias");
    m->head = l->config.tied ? m->tokens : whole(m, "lm_head.weight");
    return HOP_OK;
}

hop_status hop_model_new(hop_model **out, const hop_config *c, hop_error *err)
{
    *out = NULL;
    hop_model *m = hop_alloc(sizeof *m);
    if (!m) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_status s = make(m, c, err);
    if (s != HOP_OK) {
        hop_model_free(m);
        return s;
    }
    *out = m;
    return HOP_OK;
}

void hop_model_free(hop_model *m)
{
    if (!m) return;
    hop_layout_free(m->layout);
    hop_free(m->weights);
    hop_free(m->data);
    hop_free(m->layers);
    hop_free(m);
}

/* Tables are small normal numbers, the final norm is 1, layers as hop__init_layer has it. */
bool hop_model_init_weights(hop_model *m, uint64_t seed, const hop_progress *p)
{
    for (int64_t i = 0; i < m->layout->count; i++) {
        hop_weight *w = &m->weights[i];
        if (strncmp(w->name, "model.layers.", 13) == 0) continue;
        hop_rng rng;
        hop_rng_init(&rng, seed,
                     (uint64_t)(strcmp(w->name, "lm_head.weight") == 0 ? 1
                                : w->data == m->positions              ? 2
                                                                       : 0));
        bool bias = strstr(w->name, ".bias") != NULL;
        double std = strcmp(w->name, "lm_head.weight") == 0 ? 1.0 / sqrt((double)w->shape[1]) : 0.02;
        for (int64_t k = 0; k < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); k++)
            w->data[k] = w->rank == 2 ? (float)(std * hop_rng_normal(&rng)) : bias ? 0.0f : 1.0f;
    }
    int64_t layers = m->layers ? m->layout->config.pattern.layers : 0;
    for (int64_t l = 0; l < layers; l++) {
        if (!hop_progress_tick(p, "layers drawn", (double)l, (double)layers)) return false;
        hop__part parts[HOP__MAX_PARTS];
        float *data[HOP__MAX_PARTS];
        int count = hop__layer_parts(m->layout, l, parts);
        for (int64_t i = m->layout->first_slot[l]; i < m->layout->first_slot[l + 1]; i++)
            data[i - m->layout->first_slot[l]] = m->weights[i].data;
        hop__init_layer(m, l, parts, count, data, seed);
    }
    return true;
}

static int64_t numbers(const hop__part *parts, int count)
{
    int64_t n = 0;
    for (int i = 0; i < count; i++) n += parts[i].shape[0] * (parts[i].shape[1] ? parts[i].shape[1] : 1);
    return n;
}

/* Stored weights, and those of seeded layers as if they were. */
int64_t hop_model_parameters(const hop_model *m)
{
    hop__part list[HOP__MAX_PARTS];
    int64_t n = 0;
    for (int64_t i = 0; i < m->layout->count; i++)
        n += m->weights[i].shape[0] * (m->weights[i].rank == 2 ? m->weights[i].shape[1] : 1);
    for (int64_t r = 0; !m->layers && r < m->layout->config.pattern.run_count; r++)
        n += m->layout->config.pattern.runs[r].count *
             numbers(list, hop__plan_parts(&m->layout->config, m->layout->run_plan[r], list));
    for (int64_t i = 0; !m->layers && i < m->layout->special_count; i++) {
        int64_t layer = m->layout->specials[i].layer;
        n -= numbers(list, hop__plan_parts(&m->layout->config,
                                           m->layout->run_plan[hop__layer_run(m->layout, layer)], list));
        n += numbers(list, hop__layer_parts(m->layout, layer, list));
    }
    return n;
}

/* ---- saving -------------------------------------------------------------------------------- */

static hop_status begin_weights(hop_output *out, const hop_model *m, const char *dir, hop_error *err)
{
    static const char *const metadata[] = {"format", "pt", NULL};
    char path[4096];
    hop_status s = hop_path_join(path, sizeof path, dir, "model.safetensors", err);
    if (s != HOP_OK) return s;
    hop_tensor_out *list = hop_alloc(sizeof *list * (size_t)m->layout->count);
    if (!list) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    for (int64_t i = 0; i < m->layout->count; i++) {
        const hop_weight *w = &m->weights[i];
        list[i] = (hop_tensor_out){
            .name = w->name, .rank = w->rank, .shape = {w->shape[0], w->shape[1]}, .data = w->data};
    }
    s = hop__safetensors_begin(out, path, list, m->layout->count, metadata, err);
    hop_free(list);
    return s;
}

static hop_status begin_config(hop_output *out, const hop_model *m, const char *dir, hop_error *err)
{
    char path[4096];
    hop_json_writer w = {.pretty = true};
    hop_config_write(&m->layout->config, &w);
    hop_text_add(&w.text, "\n");
    hop_status s = hop_path_join(path, sizeof path, dir, "config.json", err);
    if (s == HOP_OK && w.text.failed) s = hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    if (s == HOP_OK) s = hop_output_open(out, path, err);
    if (s == HOP_OK) hop_output_write(out, w.text.s, w.text.len);
    hop_text_free(&w.text);
    return s;
}

hop_status hop_model_save(const hop_model *m, const char *dir, hop_error *err)
{
    hop_output files[2] = {0}; /* weights, and the config by which they are found */
    bool new = !hop_is_dir(dir);
    hop_status s = hop_make_dir(dir, err);
    if (s != HOP_OK) return s;
    s = begin_weights(&files[0], m, dir, err);
    if (s == HOP_OK) s = begin_config(&files[1], m, dir, err);
    if (s == HOP_OK) s = hop_output_commit_all(files, 2, err);
    for (int i = 0; i < 2; i++) hop_output_abort(&files[i]);
    if (s != HOP_OK && new) remove(dir);
    return s;
}

/* ---- opening ------------------------------------------------------------------------------- */

static hop_status load_tensor(hop_model *m, const hop_tensor *t, char *loaded, hop_error *err)
{
    const hop_weight *w = hop_model_weight(m, t->name);
    if (!w) return hop_fail(err, HOP_EFORMAT, "tensor \"%s\": the network has none of that name", t->name);
    if (loaded[w - m->weights]) return hop_fail(err, HOP_EFORMAT, "tensor \"%s\": occurs twice", t->name);
    bool same = t->rank == w->rank;
    for (int i = 0; same && i < t->rank; i++) same = t->shape[i] == w->shape[i];
    if (!same) {
        hop_text got = {0};
        for (int i = 0; i < t->rank; i++)
            hop_text_printf(&got, "%s%lld", i ? ", " : "", (long long)t->shape[i]);
        hop_status s =
            w->rank == 2
                ? hop_fail(err, HOP_ESHAPE, "tensor \"%s\": shape [%s], not [%lld, %lld] as the config wants",
                           t->name, got.s ? got.s : "", (long long)w->shape[0], (long long)w->shape[1])
                : hop_fail(err, HOP_ESHAPE, "tensor \"%s\": shape [%s], not [%lld] as the config wants",
                           t->name, got.s ? got.s : "", (long long)w->shape[0]);
        hop_text_free(&got);
        return s;
    }
    loaded[w - m->weights] = 1;
    return hop_tensor_floats(t, w->data, err);
}

static hop_status load_file(hop_model *m, const char *path, char *loaded, hop_error *err)
{
    hop_safetensors file = {0};
    hop_status s = hop_safetensors_open(&file, path, err);
    if (s != HOP_OK) return s;
    for (int64_t i = 0; s == HOP_OK && i < file.count; i++) s = load_tensor(m, &file.tensors[i], loaded, err);
    hop_safetensors_close(&file);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

/* Every file that the index names, once. The index only says which files there are: the tensors speak for
 * themselves. */
static hop_status load_shards(hop_model *m, const char *dir, const char *index, const hop_json *map,
                              char *loaded, hop_error *err)
{
    if (!map || map->type != HOP_JSON_OBJECT)
        return hop_fail(err, HOP_EFORMAT, "%s: weight_map: not an object", index);
    for (const hop_json *v = map->child; v; v = v->next) {
        if (v->type != HOP_JSON_STRING || !*v->string || strchr(v->string, '/') || v->string[0] == '.')
            return hop_fail(err, HOP_EFORMAT, "%s: weight_map: \"%.100s\" names no file of this directory",
                            index, v->key);
        bool seen = false;
        for (const hop_json *u = map->child; u != v && !seen; u = u->next)
            seen = strcmp(u->string, v->string) == 0;
        char path[4096];
        if (seen) continue;
        hop_status s = hop_path_join(path, sizeof path, dir, v->string, NULL);
        s = s == HOP_OK
                ? load_file(m, path, loaded, err)
                : hop_fail(err, s, "%s: weight_map: \"%.100s\": its file's name is too long", index, v->key);
        if (s != HOP_OK) return s;
    }
    return HOP_OK;
}

static hop_status load_weights(hop_model *m, const char *dir, char *loaded, hop_error *err)
{
    char path[4096], index[4096];
    hop_status s = hop_path_join(path, sizeof path, dir, "model.safetensors", err);
    if (s == HOP_OK) s = hop_path_join(index, sizeof index, dir, "model.safetensors.index.json", err);
    if (s != HOP_OK) return s;
    if (hop_is_there(path) || !hop_is_there(index)) return load_file(m, path, loaded, err);
    hop_json_doc doc = {0};
    s = hop_json_load(&doc, index, err);
    if (s != HOP_OK) return s;
    s = load_shards(m, dir, index, hop_json_get(doc.root, "weight_map"), loaded, err);
    hop_json_free(&doc);
    return s;
}

static hop_status open_own(hop_model **out, const char *dir, const char *path, const hop_json *root,
                           hop_error *err)
{
    hop_config c = {0};
    hop_model *m = NULL;
    hop_status s = hop_config_read(&c, root, err);
    if (s != HOP_OK) return hop_fail_in(err, s, path);
    s = hop_model_new(&m, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return hop_fail_in(err, s, path);
    char *loaded = hop_alloc((size_t)m->layout->count);
    s = loaded ? load_weights(m, dir, loaded, err) : hop_fail(err, HOP_ENOMEM, "%s: out of memory", dir);
    for (int64_t i = 0; s == HOP_OK && i < m->layout->count; i++)
        if (!loaded[i])
            s = hop_fail(err, HOP_EFORMAT, "%s: tensor \"%s\" is missing", dir, m->weights[i].name);
    hop_free(loaded);
    if (s == HOP_OK)
        *out = m;
    else
        hop_model_free(m);
    return s;
}

/* Ours say so, or nothing; any other type is somebody else's. */
static bool is_own(const hop_json *root)
{
    const hop_json *type = root->type == HOP_JSON_OBJECT ? hop_json_get(root, "model_type") : NULL;
    return !type || type->type != HOP_JSON_STRING || strcmp(type->string, "hopbound") == 0;
}

hop_status hop_model_open(hop_model **out, const char *dir, hop_error *err)
{
    char path[4096];
    hop_json_doc doc = {0};
    *out = NULL;
    if (!hop_is_dir(dir)) return hop_fail(err, HOP_EIO, "%s: no such directory", dir);
    hop_status s = hop_path_join(path, sizeof path, dir, "config.json", err);
    if (s == HOP_OK) s = hop_json_load(&doc, path, err);
    if (s != HOP_OK) return s;
    if (is_own(doc.root)) {
        s = open_own(out, dir, path, doc.root, err);
    } else {
        s = hop__model_import(out, dir, doc.root, err);
        if (s != HOP_OK && err && !strstr(err->text, dir)) hop_fail_in(err, s, path);
    }
    hop_json_free(&doc);
    return s;
}
