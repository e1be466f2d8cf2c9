/* config.json, read once more: sizes, the layers in order, and what each mixer is told. */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_LAYERS 65536
#define MOST        ((int64_t)1 << 31)

/* ---- the mixers ---------------------------------------------------------------------------------- */

#define BY_WIDTH HOP__BY_WIDTH
static const hop__mixer MIXERS[] = {
    {"full",
     false,
     hop__mix_attention,
     {[HOP__value_dim] = BY_WIDTH},
     "value_dim rope_dim qk_norm gate latent"},
    {"window",
     false,
     hop__mix_attention,
     {[HOP__window] = 512, [HOP__value_dim] = BY_WIDTH},
     "window value_dim rope_dim qk_norm gate"},
    {"sparse",
     false,
     hop__mix_attention,
     {[HOP__block] = 64, [HOP__topk] = 16, [HOP__value_dim] = BY_WIDTH},
     "block topk summary"},
    {"linear",
     true,
     hop__mix_linear,
     {[HOP__value_dim] = BY_WIDTH, [HOP__feature] = 1, [HOP__norm] = 1},
     "value_dim feature normalise norm"},
    {"retnet",
     true,
     hop__mix_retnet,
     {[HOP__value_dim] = BY_WIDTH, [HOP__rope] = 1, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim rope conv norm gate"},
    {"lightning",
     true,
     hop__mix_lightning,
     {[HOP__value_dim] = BY_WIDTH, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim norm gate"},
    {"gla",
     true,
     hop__mix_gla,
     {[HOP__value_dim] = BY_WIDTH, [HOP__rank] = 16, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim rank conv norm gate"},
    {"hgrn2", true, hop__mix_hgrn2, {[HOP__value_dim] = BY_WIDTH, [HOP__norm] = 1}, "value_dim norm"},
    {"mamba2",
     true,
     hop__mix_mamba2,
     {[HOP__state_dim] = 128,
      [HOP__groups] = 1,
      [HOP__conv] = 4,
      [HOP__norm] = 1,
      [HOP__norm_groups] = 1,
      [HOP__gate] = 1},
     "state_dim groups conv norm norm_groups gate"},
    {"rwkv6",
     true,
     hop__mix_rwkv6,
     {[HOP__value_dim] = BY_WIDTH, [HOP__rank] = 64, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim rank norm gate"},
    {"mlstm",
     true,
     hop__mix_mlstm,
     {[HOP__value_dim] = BY_WIDTH, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim norm gate"},
    {"based", true, hop__mix_based, {[HOP__value_dim] = BY_WIDTH}, "value_dim"},
    {"deltanet",
     true,
     hop__mix_delta,
     {[HOP__value_dim] = BY_WIDTH, [HOP__conv] = 4, [HOP__norm] = 1},
     "value_dim conv gate norm negative"},
    {"gdn",
     true,
     hop__mix_delta,
     {[HOP__value_dim] = BY_WIDTH, [HOP__conv] = 4, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim conv gate norm negative"},
    {"kda",
     true,
     hop__mix_delta,
     {[HOP__value_dim] = BY_WIDTH, [HOP__rank] = BY_WIDTH, [HOP__conv] = 4, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim rank conv gate norm negative"},
    {"deltaproduct",
     true,
     hop__mix_delta,
     {[HOP__value_dim] = BY_WIDTH,
      [HOP__steps] = 2,
      [HOP__conv] = 4,
      [HOP__norm] = 1,
      [HOP__gate] = 1,
      [HOP__negative] = 1},
     "steps value_dim conv gate norm negative"},
    {"rwkv7",
     true,
     hop__mix_rwkv7,
     {[HOP__value_dim] = BY_WIDTH, [HOP__rank] = BY_WIDTH, [HOP__norm] = 1, [HOP__gate] = 1},
     "value_dim rank norm gate"},
    {"mamba",
     true,
     hop__mix_mamba,
     {[HOP__expand] = 2,
      [HOP__inner] = BY_WIDTH,
      [HOP__state_dim] = 16,
      [HOP__dt_rank] = BY_WIDTH,
      [HOP__conv] = 4,
      [HOP__gate] = 1},
     "expand inner state_dim dt_rank conv gate"},
    {"rglru",
     true,
     hop__mix_rglru,
     {[HOP__inner] = BY_WIDTH, [HOP__conv] = 4, [HOP__gate] = 1},
     "inner conv gate"},
};

static const char *const OPTION_NAMES[] = {
#define NAME(name) #name,
    HOP__OPTION_LIST(NAME)
#undef NAME
};

const hop__mixer *hop__mixer_find(const char *name)
{
    for (size_t i = 0; i < sizeof MIXERS / sizeof *MIXERS; i++)
        if (strcmp(MIXERS[i].name, name) == 0) return &MIXERS[i];
    return NULL;
}

/* ---- a layer ------------------------------------------------------------------------------------- */

void hop__truth_layer_init(hop__truth_layer *l, const hop_truth *n, const hop__mixer *m, int64_t number)
{
    *l = (hop__truth_layer){.mixer = m,
                            .number = number,
                            .heads = n->heads,
                            .kv_heads = n->kv_heads,
                            .head_dim = n->head_dim,
                            .scale = n->scale,
                            .theta = n->theta};
    memcpy(l->option, m->defaults, sizeof l->option);
}

/* Is it one of these words? What a mixer does not take here must not be passed over: elsewhere it may. */
static bool is_among(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return true;
    return false;
}

hop_status hop__truth_layer_set(hop__truth_layer *l, const char *name, double value, hop_error *err)
{
    int64_t *const whole[] = {&l->heads, &l->kv_heads, &l->head_dim};
    static const char *const names[] = {"heads", "kv_heads", "head_dim"};
    if (strcmp(name, "scale") == 0) {
        l->scale = value;
        return HOP_OK;
    }
    if (strcmp(name, "rope_theta") == 0) {
        l->theta = value;
        return HOP_OK;
    }
    if (!(value >= 0 && value <= 9e15) || value != floor(value))
        return hop_fail(err, HOP_EFORMAT, "option \"%.40s\": not a whole number", name);
    for (int i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *whole[i] = (int64_t)value;
            if (i == 0 && l->kv_heads > 0 && l->heads % l->kv_heads) l->kv_heads = l->heads;
            return HOP_OK;
        }
    for (int i = 0; i < HOP__OPTIONS; i++)
        if (strcmp(name, OPTION_NAMES[i]) == 0 && is_among(l->mixer->takes, name)) {
            l->option[i] = (int64_t)value;
            return HOP_OK;
        }
    return hop_fail(err, HOP_EFORMAT, "option \"%.40s\": %s has none such here", name, l->mixer->name);
}

/* Of options whose default depends on widths. */
static int64_t by_width(const hop__truth_layer *l, const hop_truth *n, hop__option o)
{
    const char *name = l->mixer->name;
    bool wide = strcmp(name, "retnet") == 0 || strcmp(name, "gdn") == 0 || strcmp(name, "deltaproduct") == 0;
    double rank = 32 * rint(2.5 * sqrt((double)n->d) * (double)l->head_dim / 2048);
    switch (o) {
    case HOP__value_dim: return wide ? 2 * l->head_dim : l->head_dim;
    case HOP__rank:
        return strcmp(name, "kda") == 0 ? l->option[HOP__value_dim] : rank > 32 ? (int64_t)rank : 32;
    case HOP__inner:
        return strcmp(name, "mamba") == 0 ? l->option[HOP__expand] * n->d : l->heads * l->head_dim;
    case HOP__dt_rank: return (n->d + 15) / 16;
    default: return 0;
    }
}

hop_status hop__truth_layer_ready(hop__truth_layer *l, const hop_truth *n, hop_error *err)
{
    for (int i = 0; i < HOP__OPTIONS; i++)
        if (l->option[i] == HOP__BY_WIDTH) l->option[i] = by_width(l, n, (hop__option)i);
    const int64_t *o = l->option, sizes[] = {l->heads, l->kv_heads, l->head_dim};
    bool fits = isfinite(l->scale) && isfinite(l->theta);
    for (int i = 0; i < 3; i++) fits = fits && sizes[i] >= 1 && sizes[i] <= 1 << 20;
    for (int i = 0; i < HOP__OPTIONS; i++)
        fits = fits && (i == HOP__window || (o[i] >= 0 && o[i] <= 1 << 20));
    if (!fits || l->heads % l->kv_heads)
        return hop_fail(err, HOP_EFORMAT, "%s: sizes that do not fit", l->mixer->name);
    static const hop__option positive[] = {HOP__value_dim, HOP__window, HOP__block, HOP__topk,    HOP__inner,
                                           HOP__state_dim, HOP__groups, HOP__rank,  HOP__dt_rank, HOP__steps};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
        if (l->mixer->defaults[positive[i]] != 0 && o[positive[i]] < 1)
            return hop_fail(err, HOP_EFORMAT, "%s: %s is 0", l->mixer->name, OPTION_NAMES[positive[i]]);
    bool blocks = strcmp(l->mixer->name, "rglru") != 0 || o[HOP__inner] % l->heads == 0;
    if (!blocks || o[HOP__rope_dim] > l->head_dim || (o[HOP__groups] > 0 && l->heads % o[HOP__groups]) ||
        (n->bidirectional && l->mixer->defaults[HOP__window]) ||
        (n->bidirectional && l->mixer->defaults[HOP__block]))
        return hop_fail(err, HOP_EFORMAT, "%s: sizes that do not fit", l->mixer->name);
    return HOP_OK;
}

/* ---- patterns ------------------------------------------------------------------------------------ */

typedef struct pattern {
    const char *at, *linear;
    const hop__mixer **list;
    int64_t count;
    int depth;
    hop_error *err;
} pattern;

static hop_status refuse(const pattern *p, const char *why)
{
    return hop_fail(p->err, HOP_EFORMAT, "pattern: %s at \"%.20s\"", why, p->at);
}

static void blanks(pattern *p)
{
    p->at += strspn(p->at, " \t\r\n");
}

static hop_status add_layer(pattern *p, const hop__mixer *m)
{
    if (!m) return refuse(p, "unknown mixer");
    if (p->count == MOST_LAYERS) return refuse(p, "more layers than the checker takes");
    p->list[p->count++] = m;
    return HOP_OK;
}

static hop_status items(pattern *p);

/* A letter, a name, or a group. */
static hop_status atom(pattern *p)
{
    static const char letters[] = "FWSL";
    const char *const names[] = {"full", "window", "sparse", p->linear};
    const char *letter = *p->at ? strchr(letters, *p->at) : NULL;
    char name[24];
    if (letter) {
        p->at++;
        return add_layer(p, hop__mixer_find(names[letter - letters]));
    }
    if (*p->at == '(') {
        if (++p->depth > 64) return refuse(p, "too deep");
        p->at++;
        hop_status s = items(p);
        if (s == HOP_OK && *p->at++ != ')') s = hop_fail(p->err, HOP_EFORMAT, "pattern: a ) is missing");
        p->depth--;
        return s;
    }
    size_t n = strspn(p->at, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    if (n == 0 || n >= sizeof name) return refuse(p, "no layer");
    snprintf(name, sizeof name, "%.*s", (int)n, p->at);
    p->at += n;
    return add_layer(p, hop__mixer_find(name));
}

static hop_status items(pattern *p)
{
    blanks(p);
    do {
        int64_t first = p->count, times = 1;
        hop_status s = atom(p);
        blanks(p);
        if (s == HOP_OK && *p->at == '^') {
            char *end;
            p->at++;
            blanks(p);
            times = *p->at >= '0' && *p->at <= '9' ? strtoll(p->at, &end, 10) : 0;
            if (times < 1) return refuse(p, "no power");
            p->at = end;
        }
        int64_t size = p->count - first;
        for (int64_t k = 1; s == HOP_OK && k < times; k++)
            for (int64_t i = 0; s == HOP_OK && i < size; i++) s = add_layer(p, p->list[first + i]);
        if (s != HOP_OK) return s;
        blanks(p);
    } while (*p->at && *p->at != ')');
    return HOP_OK;
}

/* ---- settings ------------------------------------------------------------------------------------ */

/* Those of `name`, a mixer's or a layer's number. */
static hop_status set_all(hop__truth_layer *l, const hop_json *groups, const char *name, hop_error *err)
{
    const hop_json *group = hop_json_get(groups, name);
    if (group && group->type != HOP_JSON_OBJECT)
        return hop_fail(err, HOP_EFORMAT, "\"%s\": not an object", name);
    for (const hop_json *v = group ? group->child : NULL; v; v = v->next) {
        double value = 0;
        hop_status s = v->type == HOP_JSON_BOOL ? HOP_OK : hop_json_read_real(group, v->key, &value, err);
        if (v->type == HOP_JSON_BOOL) value = v->boolean;
        if (s == HOP_OK) s = hop__truth_layer_set(l, v->key, value, err);
        if (s != HOP_OK) return s;
    }
    return HOP_OK;
}

/* Every group is a mixer's, or a layer's by the one way of writing its number: nobody can read it as
 * another's. */
static hop_status groups_known(const hop_json *groups, int64_t layers, hop_error *err)
{
    if (groups && groups->type != HOP_JSON_OBJECT)
        return hop_fail(err, HOP_EFORMAT, "options: not an object");
    for (const hop_json *v = groups ? groups->child : NULL; v; v = v->next) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)strtoll(v->key, NULL, 10));
        bool layer = strcmp(number, v->key) == 0 && number[0] != '-' && strtoll(v->key, NULL, 10) < layers;
        if (layers ? !layer : !hop__mixer_find(v->key))
            return hop_fail(err, HOP_EFORMAT, "options of \"%.40s\": there is no such %s", v->key,
                            layers ? "layer" : "mixer");
    }
    return HOP_OK;
}

static hop_status read_layers(hop_truth *n, const hop_json *root, hop_error *err)
{
    const char *text = NULL, *linear = "deltanet";
    hop_status s = hop_json_read_string(root, "pattern", &text, err);
    if (s == HOP_OK) s = hop_json_read_string(root, "linear_mixer", &linear, err);
    if (s == HOP_OK && !text) s = hop_fail(err, HOP_EFORMAT, "pattern: absent");
    if (s != HOP_OK) return s;
    pattern p = {.at = text, .linear = linear, .list = malloc(sizeof *p.list * MOST_LAYERS), .err = err};
    if (!p.list) return hop_fail(err, HOP_ENOMEM, "pattern: out of memory");
    s = items(&p);
    if (s == HOP_OK && *p.at) s = refuse(&p, "a ( is missing");
    if (s == HOP_OK) n->layers = calloc((size_t)p.count, sizeof *n->layers);
    if (s == HOP_OK && !n->layers) s = hop_fail(err, HOP_ENOMEM, "pattern: out of memory");
    n->layer_count = n->layers ? p.count : 0;
    if (s == HOP_OK) s = groups_known(hop_json_get(root, "mixer_options"), 0, err);
    if (s == HOP_OK) s = groups_known(hop_json_get(root, "layer_options"), n->layer_count, err);
    for (int64_t i = 0; s == HOP_OK && i < n->layer_count; i++) {
        char number[24];
        hop__truth_layer *l = &n->layers[i];
        hop__truth_layer_init(l, n, p.list[i], i);
        snprintf(number, sizeof number, "%lld", (long long)i);
        s = set_all(l, hop_json_get(root, "mixer_options"), l->mixer->name, err);
        if (s == HOP_OK) s = set_all(l, hop_json_get(root, "layer_options"), number, err);
        if (s == HOP_OK) s = hop__truth_layer_ready(l, n, err);
        if (s != HOP_OK) s = hop_fail_in(err, s, number);
    }
    free(p.list);
    return s;
}

/* ---- the rest ------------------------------------------------------------------------------------ */

/* The place of a string among `names`; `otherwise` when it is absent. */
static hop_status read_choice(const hop_json *root, const char *key, const char *const *names, int otherwise,
                              int *out, hop_error *err)
{
    const char *text = NULL;
    hop_status s = hop_json_read_string(root, key, &text, err);
    *out = otherwise;
    if (s != HOP_OK || !text) return s;
    for (*out = 0; names[*out]; ++*out)
        if (strcmp(names[*out], text) == 0) return HOP_OK;
    return hop_fail(err, HOP_EFORMAT, "%s: unknown value \"%.40s\"", key, text);
}

static hop_status read_sizes(hop_truth *n, const hop_json *root, hop_error *err)
{
    const struct {
        const char *key;
        int64_t *to, most;
    } sizes[] = {{"vocab_size", &n->vocab, MOST},
                 {"hidden_size", &n->d, 1 << 20},
                 {"max_position_embeddings", &n->positions, MOST},
                 {"num_attention_heads", &n->heads, 1 << 20},
                 {"num_key_value_heads", &n->kv_heads, 1 << 20},
                 {"head_dim", &n->head_dim, 1 << 20},
                 {"intermediate_size", &n->hidden, 1 << 20}};
    hop_status s = HOP_OK;
    n->heads = 1, n->positions = 2048;
    for (size_t i = 0; s == HOP_OK && i < sizeof sizes / sizeof *sizes; i++)
        s = hop_json_read_int(root, sizes[i].key, 1, sizes[i].most, sizes[i].to, err);
    if (s == HOP_OK && (n->vocab == 0 || n->d == 0))
        s = hop_fail(err, HOP_EFORMAT, "vocab_size or hidden_size: absent");
    if (n->kv_heads == 0) n->kv_heads = n->heads;
    if (n->head_dim == 0) n->head_dim = n->d / n->heads;
    if (n->hidden == 0) n->hidden = 4 * n->d;
    return s;
}

static hop_status read_numbers(hop_truth *n, const hop_json *root, hop_error *err)
{
    static const char *const norms[] = {"none", "rms", "layer", NULL},
                             *const mlps[] = {"none", "relu", "gelu", "swiglu", NULL},
                             *const places[] = {"none", "learned", NULL};
    const hop_json *weights = hop_json_get(root, "weights");
    const char *kind = "stored", *type = NULL;
    int norm, mlp, learned;
    n->eps = 1e-6;
    hop_status s = hop_json_read_string(root, "model_type", &type, err);
    if (s == HOP_OK && (!type || strcmp(type, "hopbound") != 0))
        s = hop_fail(err, HOP_EFORMAT, "model_type: not \"hopbound\"");
    if (s == HOP_OK) s = hop_json_read_real(root, "rope_theta", &n->theta, err);
    if (s == HOP_OK) s = hop_json_read_real(root, "attention_scale", &n->scale, err);
    if (s == HOP_OK) s = hop_json_read_real(root, "norm_eps", &n->eps, err);
    if (s == HOP_OK) s = read_choice(root, "norm", norms, HOP__NORM_RMS, &norm, err);
    if (s == HOP_OK) s = read_choice(root, "mlp", mlps, HOP__MLP_SWIGLU, &mlp, err);
    if (s == HOP_OK) s = read_choice(root, "position_embedding", places, 0, &learned, err);
    if (s == HOP_OK) s = hop_json_read_bool(root, "tie_word_embeddings", &n->tied, err);
    if (s == HOP_OK) s = hop_json_read_bool(root, "bidirectional", &n->bidirectional, err);
    if (s == HOP_OK && weights) s = hop_json_read_string(weights, "kind", &kind, err);
    if (s == HOP_OK && strcmp(kind, "stored") != 0)
        s = hop_fail(err, HOP_EDOMAIN,
                     "weights: \"%.20s\" ones are not in the file, and the checker draws none", kind);
    const hop_json *made = hop_json_get(root, "construction");
    if (s == HOP_OK && made) s = hop_json_read_int(made, "generate", 1, 1 << 20, &n->generate, err);
    if (s != HOP_OK) return s;
    n->norm = (hop__norm_kind)norm, n->mlp = (hop__mlp_kind)mlp, n->learned = learned == 1;
    return HOP_OK;
}

hop_status hop__config_read(hop_truth *n, hop_error *err)
{
    const hop_json *root = n->config.root;
    if (!root || root->type != HOP_JSON_OBJECT) return hop_fail(err, HOP_EFORMAT, "not an object");
    hop_status s = read_sizes(n, root, err);
    if (s == HOP_OK) s = read_numbers(n, root, err);
    return s == HOP_OK ? read_layers(n, root, err) : s;
}
