/* A network's configuration: defaults, what can be built, and config.json. */
#include <hopbound/config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes above these are mistakes, and products of a few of them still fit 64 bits. */
#define MAX_WIDTH  (1 << 20)
#define MAX_TABLE  ((int64_t)1 << 31)
#define MAX_WEIGHT ((int64_t)1 << 36)

static const char *const norm_names[] = {
#define NAME(id, text) text,
    HOP_NORM_LIST(NAME)};
static const char *const mlp_names[] = {HOP_MLP_LIST(NAME)};
#undef NAME

const char *hop_norm_name(hop_norm n)
{
    return norm_names[n];
}

const char *hop_mlp_name(hop_mlp m)
{
    return mlp_names[m];
}

static char *copy_text(const char *s)
{
    size_t n = strlen(s) + 1;
    char *out = malloc(n);
    if (out) memcpy(out, s, n);
    return out;
}

void hop_config_init(hop_config *c)
{
    *c = (hop_config){
        .heads = 1, .norm = HOP_NORM_RMS, .norm_eps = 1e-6, .mlp = HOP_MLP_SWIGLU, .max_positions = 2048};
}

void hop_config_free(hop_config *c)
{
    hop_pattern_free(&c->pattern);
    free(c->settings);
    free(c->task_json);
    free(c->construction_json);
    *c = (hop_config){0};
}

/* `bytes` of memory, copied; at least one byte, so that NULL means failure. */
static void *copy_bytes(const void *from, size_t bytes)
{
    void *to = malloc(bytes ? bytes : 1);
    if (to && bytes) memcpy(to, from, bytes);
    return to;
}

hop_status hop_config_copy(hop_config *to, const hop_config *from, hop_error *err)
{
    *to = *from;
    to->pattern.runs = copy_bytes(from->pattern.runs, sizeof(hop_run) * (size_t)from->pattern.run_count);
    to->settings = copy_bytes(from->settings, sizeof(hop_setting) * (size_t)from->setting_count);
    to->task_json = from->task_json ? copy_text(from->task_json) : NULL;
    to->construction_json = from->construction_json ? copy_text(from->construction_json) : NULL;
    if (to->pattern.runs && to->settings && !from->task_json == !to->task_json &&
        !from->construction_json == !to->construction_json)
        return HOP_OK;
    hop_config_free(to);
    return hop_fail(err, HOP_ENOMEM, "config: out of memory");
}

hop_status hop_config_set(hop_config *c, int64_t layer, const char *mixer, const char *name, double value,
                          hop_error *err)
{
    if (strlen(mixer) >= HOP_MIXER_NAME_SIZE || strlen(name) >= HOP_MIXER_NAME_SIZE || !*name)
        return hop_fail(err, HOP_EFORMAT, "\"%.40s\" of \"%.40s\": no name of an option", name, mixer);
    hop_setting *more = realloc(c->settings, sizeof *more * (size_t)(c->setting_count + 1));
    if (!more) return hop_fail(err, HOP_ENOMEM, "config: out of memory");
    c->settings = more;
    hop_setting *s = &more[c->setting_count++];
    *s = (hop_setting){.layer = layer, .value = value};
    strcpy(s->mixer, mixer);
    strcpy(s->name, name);
    return HOP_OK;
}

/* ---- validation ---------------------------------------------------------------------------- */

static hop_status in_range(const char *what, int64_t v, int64_t hi, hop_error *err)
{
    if (v >= 1 && v <= hi) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "%s: %lld is not between 1 and %lld", what, (long long)v,
                    (long long)hi);
}

static hop_status check_sizes(const hop_config *c, hop_error *err)
{
    const struct {
        const char *name;
        int64_t value, most;
    } sizes[] = {
        {"hidden_size", c->d_model, MAX_WIDTH},
        {"vocab_size", c->vocab, MAX_TABLE},
        {"max_position_embeddings", c->max_positions, MAX_TABLE},
        {"num_attention_heads", c->heads, MAX_WIDTH},
        {"num_key_value_heads", c->kv_heads, MAX_WIDTH},
        {"head_dim", c->head_dim, MAX_WIDTH},
        {"intermediate_size", c->mlp_hidden, MAX_WIDTH},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hop_status s = in_range(sizes[i].name, sizes[i].value, sizes[i].most, err);
        if (s != HOP_OK) return s;
    }
    if (c->vocab > MAX_WEIGHT / c->d_model || c->max_positions > MAX_WEIGHT / c->d_model)
        return hop_fail(err, HOP_EDOMAIN, "hidden_size: a table would have more than 2^36 numbers");
    return HOP_OK;
}

hop_status hop_config_validate(hop_config *c, hop_error *err)
{
    if (c->pattern.layers < 1) return hop_fail(err, HOP_EDOMAIN, "pattern: no layers");
    if (c->kv_heads == 0) c->kv_heads = c->heads;
    if (c->heads > 0 && c->head_dim == 0) {
        if (c->d_model % c->heads)
            return hop_fail(err, HOP_EDOMAIN,
                            "num_attention_heads: %lld heads do not divide hidden_size %lld; give head_dim",
                            (long long)c->heads, (long long)c->d_model);
        c->head_dim = c->d_model / c->heads;
    }
    if (c->mlp_hidden == 0) c->mlp_hidden = c->d_model <= MAX_WIDTH / 4 ? 4 * c->d_model : MAX_WIDTH;
    hop_status s = check_sizes(c, err);
    if (s != HOP_OK) return s;
    if (c->heads % c->kv_heads)
        return hop_fail(err, HOP_EDOMAIN,
                        "num_key_value_heads: %lld does not divide num_attention_heads %lld",
                        (long long)c->kv_heads, (long long)c->heads);
    if (!(c->norm_eps >= 0 && c->norm_eps <= 1))
        return hop_fail(err, HOP_EDOMAIN, "norm_eps: not between 0 and 1");
    if (c->rope_theta != 0 && !(c->rope_theta > 0 && isfinite(c->rope_theta)))
        return hop_fail(err, HOP_EDOMAIN, "rope_theta: not a positive number");
    if (!isfinite(c->attention_scale))
        return hop_fail(err, HOP_EDOMAIN, "attention_scale: not a finite number");
    return HOP_OK;
}

/* ---- config.json --------------------------------------------------------------------------- */

static hop_status read_name(const hop_json *root, const char *key, const char *const *names, int count,
                            int *out, hop_error *err)
{
    const char *text = NULL;
    hop_status s = hop_json_read_string(root, key, &text, err);
    if (s != HOP_OK || !text) return s;
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return HOP_OK;
        }
    return hop_fail(err, HOP_EFORMAT, "%s: unknown value \"%s\"", key, text);
}

/* Keeps a member that is an object as text: the rooms that understand it read it again. */
static hop_status read_object_text(const hop_json *root, const char *key, char **out, hop_error *err)
{
    const hop_json *v = hop_json_get(root, key);
    if (!v) return HOP_OK;
    if (v->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "%s: not an object", key);
    hop_json_writer w = {0};
    hop_json_put_value(&w, v);
    *out = w.text.failed ? NULL : copy_text(w.text.s);
    hop_text_free(&w.text);
    return *out ? HOP_OK : hop_fail(err, HOP_ENOMEM, "%s: out of memory", key);
}

static hop_status read_sizes(hop_config *c, const hop_json *root, hop_error *err)
{
    const struct {
        const char *key;
        int64_t *to;
    } sizes[] = {
        {"vocab_size", &c->vocab},
        {"hidden_size", &c->d_model},
        {"max_position_embeddings", &c->max_positions},
        {"num_attention_heads", &c->heads},
        {"num_key_value_heads", &c->kv_heads},
        {"head_dim", &c->head_dim},
        {"intermediate_size", &c->mlp_hidden},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hop_status s = hop_json_read_int(root, sizes[i].key, 1, MAX_TABLE, sizes[i].to, err);
        if (s != HOP_OK) return s;
    }
    return HOP_OK;
}

/* {"deltanet": {"conv": 0, ..}, ..} or {"0": {..}, ..} */
static hop_status read_settings(hop_config *c, const hop_json *root, const char *key, bool by_layer,
                                hop_error *err)
{
    const hop_json *all = hop_json_get(root, key);
    if (!all) return HOP_OK;
    if (all->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "%s: not an object", key);
    for (const hop_json *group = all->child; group; group = group->next) {
        char *end = NULL;
        int64_t layer = by_layer ? strtoll(group->key, &end, 10) : -1;
        if (by_layer && (end == group->key || *end || layer < 0 || layer >= c->pattern.layers))
            return hop_fail(err, HOP_EFORMAT, "%s: \"%.40s\" is not a layer", key, group->key);
        if (group->type != HOP_JSON_OBJECT)
            return hop_fail(err, HOP_EFORMAT, "%s: \"%.40s\": not an object", key, group->key);
        for (const hop_json *v = group->child; v; v = v->next) {
            double value = 0;
            hop_status s = v->type == HOP_JSON_BOOL ? HOP_OK : hop_json_read_real(group, v->key, &value, err);
            if (v->type == HOP_JSON_BOOL) value = v->boolean;
            if (s == HOP_OK) s = hop_config_set(c, layer, by_layer ? "" : group->key, v->key, value, err);
            if (s != HOP_OK) return hop_fail_in(err, s, key);
        }
    }
    return HOP_OK;
}

/* {"kind": "seeded", "seed": 1, "tie": 64} */
static hop_status read_weights(hop_config *c, const hop_json *root, hop_error *err)
{
    const hop_json *w = hop_json_get(root, "weights");
    const char *kind = "stored";
    int64_t seed = 0;
    if (!w) return HOP_OK;
    if (w->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "weights: not an object");
    hop_status s = hop_json_read_string(w, "kind", &kind, err);
    if (s == HOP_OK && strcmp(kind, "stored") != 0 && strcmp(kind, "seeded") != 0)
        s = hop_fail(err, HOP_EFORMAT, "weights: unknown kind \"%.40s\"", kind);
    if (s == HOP_OK) s = hop_json_read_int(w, "seed", 0, INT64_MAX, &seed, err);
    if (s == HOP_OK) s = hop_json_read_int(w, "tie", 0, HOP_MAX_LAYERS, &c->tie, err);
    c->seeded = strcmp(kind, "seeded") == 0;
    c->seed = (uint64_t)seed;
    return s;
}

static hop_status read_all(hop_config *c, const hop_json *root, hop_error *err)
{
    const char *type = NULL, *pattern = NULL, *linear = "deltanet", *position = NULL;
    int norm = (int)c->norm, mlp = (int)c->mlp;
    hop_status s = hop_json_read_string(root, "model_type", &type, err);
    if (s != HOP_OK) return s;
    if (!type || strcmp(type, "hopbound") != 0)
        return hop_fail(err, HOP_EFORMAT, "model_type: \"%s\" is not \"hopbound\"", type ? type : "(absent)");
    if ((s = hop_json_read_string(root, "pattern", &pattern, err)) != HOP_OK) return s;
    if (!pattern) return hop_fail(err, HOP_EFORMAT, "pattern: absent");
    if ((s = hop_json_read_string(root, "linear_mixer", &linear, err)) != HOP_OK) return s;
    if ((s = hop_pattern_parse(&c->pattern, pattern, linear, err)) != HOP_OK) return s;
    int64_t layers = c->pattern.layers; /* other tools want the count; it must agree with the pattern */
    if ((s = hop_json_read_int(root, "num_hidden_layers", 1, HOP_MAX_LAYERS, &layers, err)) != HOP_OK)
        return s;
    if (layers != c->pattern.layers)
        return hop_fail(err, HOP_EFORMAT, "num_hidden_layers: %lld, but the pattern has %lld layers",
                        (long long)layers, (long long)c->pattern.layers);
    if ((s = read_sizes(c, root, err)) != HOP_OK) return s;
    if ((s = hop_json_read_string(root, "position_embedding", &position, err)) != HOP_OK) return s;
    if (position && strcmp(position, "learned") != 0 && strcmp(position, "none") != 0)
        return hop_fail(err, HOP_EFORMAT, "position_embedding: unknown value \"%s\"", position);
    c->position_table = position && strcmp(position, "learned") == 0;
    if ((s = hop_json_read_real(root, "rope_theta", &c->rope_theta, err)) != HOP_OK) return s;
    if ((s = hop_json_read_real(root, "attention_scale", &c->attention_scale, err)) != HOP_OK) return s;
    if ((s = hop_json_read_real(root, "norm_eps", &c->norm_eps, err)) != HOP_OK) return s;
    if ((s = read_name(root, "norm", norm_names, 3, &norm, err)) != HOP_OK) return s;
    if ((s = read_name(root, "mlp", mlp_names, 4, &mlp, err)) != HOP_OK) return s;
    c->norm = (hop_norm)norm;
    c->mlp = (hop_mlp)mlp;
    if ((s = hop_json_read_bool(root, "tie_word_embeddings", &c->tied, err)) != HOP_OK) return s;
    if ((s = hop_json_read_bool(root, "bidirectional", &c->bidirectional, err)) != HOP_OK) return s;
    if ((s = read_settings(c, root, "mixer_options", false, err)) != HOP_OK) return s;
    if ((s = read_settings(c, root, "layer_options", true, err)) != HOP_OK) return s;
    if ((s = read_weights(c, root, err)) != HOP_OK) return s;
    if ((s = read_object_text(root, "task", &c->task_json, err)) != HOP_OK) return s;
    return read_object_text(root, "construction", &c->construction_json, err);
}

hop_status hop_config_read(hop_config *c, const hop_json *root, hop_error *err)
{
    hop_config_init(c);
    hop_status s = HOP_OK;
    if (!root || root->type != HOP_JSON_OBJECT) s = hop_fail(err, HOP_EFORMAT, "not a JSON object");
    if (s == HOP_OK) s = read_all(c, root, err);
    if (s == HOP_OK) s = hop_config_validate(c, err);
    if (s != HOP_OK) hop_config_free(c);
    return s;
}

hop_status hop_config_load(hop_config *c, const char *path, hop_error *err)
{
    hop_json_doc doc = {0};
    *c = (hop_config){0};
    hop_status s = hop_json_load(&doc, path, err);
    if (s != HOP_OK) return s;
    s = hop_config_read(c, doc.root, err);
    hop_json_free(&doc);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

static void write_object_text(hop_json_writer *w, const char *key, const char *text)
{
    hop_json_doc doc = {0};
    if (!text || !*text) return;
    hop_status s = hop_json_parse(&doc, text, strlen(text), NULL);
    if (s == HOP_ENOMEM) w->text.failed = true;
    if (s != HOP_OK) return;
    hop_json_key(w, key);
    hop_json_put_value(w, doc.root);
    hop_json_free(&doc);
}

/* Settings of one kind, grouped: those of the same layer or mixer stand in one object. */
static void write_settings(const hop_config *c, hop_json_writer *w, const char *key, bool by_layer)
{
    bool any = false;
    for (int64_t i = 0; i < c->setting_count; i++) {
        const hop_setting *s = &c->settings[i];
        bool first = (s->layer >= 0) == by_layer; /* of its group */
        for (int64_t j = 0; first && j < i; j++)
            first = !(c->settings[j].layer == s->layer && strcmp(c->settings[j].mixer, s->mixer) == 0);
        if (!first) continue;
        if (!any) {
            hop_json_key(w, key);
            hop_json_begin_object(w);
        }
        any = true;
        char layer[24];
        snprintf(layer, sizeof layer, "%lld", (long long)s->layer);
        hop_json_key(w, by_layer ? layer : s->mixer);
        hop_json_begin_object(w);
        for (int64_t j = i; j < c->setting_count; j++) {
            const hop_setting *t = &c->settings[j];
            bool last = t->layer == s->layer && strcmp(t->mixer, s->mixer) == 0; /* of its name: it wins */
            for (int64_t k = j + 1; last && k < c->setting_count; k++)
                last = !(c->settings[k].layer == t->layer && strcmp(c->settings[k].mixer, t->mixer) == 0 &&
                         strcmp(c->settings[k].name, t->name) == 0);
            if (!last) continue;
            if (t->value == floor(t->value) && fabs(t->value) < 1e15)
                hop_json_integer(w, t->name, (int64_t)t->value);
            else
                hop_json_number(w, t->name, t->value);
        }
        hop_json_end_object(w);
    }
    if (any) hop_json_end_object(w);
}

static void write_weights(const hop_config *c, hop_json_writer *w)
{
    if (!c->seeded) return;
    hop_json_key(w, "weights");
    hop_json_begin_object(w);
    hop_json_string(w, "kind", "seeded");
    hop_json_integer(w, "seed", (int64_t)c->seed);
    hop_json_integer(w, "tie", c->tie);
    hop_json_end_object(w);
}

void hop_config_write(const hop_config *c, hop_json_writer *w)
{
    hop_text pattern = {0};
    hop_pattern_print(&c->pattern, &pattern);
    hop_json_begin_object(w);
    hop_json_string(w, "model_type", "hopbound");
    hop_json_key(w, "architectures");
    hop_json_begin_array(w);
    hop_json_put_string(w, "HopboundForCausalLM");
    hop_json_end_array(w);
    hop_json_string(w, "pattern", hop_text_in(&w->text, &pattern));
    hop_json_integer(w, "num_hidden_layers", c->pattern.layers);
    hop_json_integer(w, "vocab_size", c->vocab);
    hop_json_integer(w, "hidden_size", c->d_model);
    hop_json_integer(w, "max_position_embeddings", c->max_positions);
    hop_json_string(w, "position_embedding", c->position_table ? "learned" : "none");
    hop_json_integer(w, "num_attention_heads", c->heads);
    hop_json_integer(w, "num_key_value_heads", c->kv_heads);
    hop_json_integer(w, "head_dim", c->head_dim);
    if (c->rope_theta != 0) hop_json_number(w, "rope_theta", c->rope_theta);
    if (c->attention_scale != 0) hop_json_number(w, "attention_scale", c->attention_scale);
    hop_json_string(w, "norm", hop_norm_name(c->norm));
    hop_json_number(w, "norm_eps", c->norm_eps);
    hop_json_string(w, "mlp", hop_mlp_name(c->mlp));
    hop_json_integer(w, "intermediate_size", c->mlp_hidden);
    hop_json_boolean(w, "tie_word_embeddings", c->tied);
    if (c->bidirectional) hop_json_boolean(w, "bidirectional", true);
    write_settings(c, w, "mixer_options", false);
    write_settings(c, w, "layer_options", true);
    write_weights(c, w);
    hop_json_string(w, "torch_dtype", "float32");
    write_object_text(w, "task", c->task_json);
    write_object_text(w, "construction", c->construction_json);
    hop_json_end_object(w);
    hop_text_free(&pattern);
}
