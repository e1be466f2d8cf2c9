/* A network's configuration: defaults, what can be built, and config.json. */
#include <hopbound/config.h>

#include <math.h>
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
    free(c->task_json);
    free(c->construction_json);
    *c = (hop_config){0};
}

hop_status hop_config_copy(hop_config *to, const hop_config *from, hop_error *err)
{
    *to = *from;
    size_t bytes = sizeof(hop_run) * (size_t)from->pattern.run_count;
    to->pattern.runs = malloc(bytes ? bytes : 1);
    to->task_json = from->task_json ? copy_text(from->task_json) : NULL;
    to->construction_json = from->construction_json ? copy_text(from->construction_json) : NULL;
    if (!to->pattern.runs || (from->task_json && !to->task_json) ||
        (from->construction_json && !to->construction_json)) {
        hop_config_free(to);
        return hop_fail(err, HOP_ENOMEM, "config: out of memory");
    }
    if (bytes) memcpy(to->pattern.runs, from->pattern.runs, bytes);
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

static hop_status read_all(hop_config *c, const hop_json *root, hop_error *err)
{
    const char *type = NULL, *pattern = NULL, *linear = "deltanet", *position = NULL;
    int norm = c->norm, mlp = c->mlp;
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
    if (!text || !*text || hop_json_parse(&doc, text, strlen(text), NULL) != HOP_OK) return;
    hop_json_key(w, key);
    hop_json_put_value(w, doc.root);
    hop_json_free(&doc);
}

void hop_config_write(const hop_config *c, hop_json_writer *w)
{
    hop_text pattern = {0};
    hop_pattern_print(&c->pattern, &pattern);
    if (pattern.failed) w->text.failed = true;
    hop_json_begin_object(w);
    hop_json_string(w, "model_type", "hopbound");
    hop_json_key(w, "architectures");
    hop_json_begin_array(w);
    hop_json_put_string(w, "HopboundForCausalLM");
    hop_json_end_array(w);
    hop_json_string(w, "pattern", pattern.s ? pattern.s : "");
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
    hop_json_string(w, "torch_dtype", "float32");
    write_object_text(w, "task", c->task_json);
    write_object_text(w, "construction", c->construction_json);
    hop_json_end_object(w);
    hop_text_free(&pattern);
}
