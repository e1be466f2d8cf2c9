/* One linear layer, then L full-attention layers: the ladder's tight rung, for every linear mixer there is.
 *
 * Statement (docs/THEORY.md section 5.2). The first layer of `full`, which fetches z_0, becomes a linear
 * layer: with a one-dimensional key that only z_0's token has, its value's code is written into the state
 * there, and the last token, the only one that follows, reads it. The L look-ups that remain are
 * full-attention layers as in section 5.1.
 *
 * Each mixer plays the part in its own way, with its own recurrence as it is defined: what a line of the
 * table says is which tensors are query, key, value and output, and which constants make it hold (decays
 * exactly 1, but for retnet and lightning, whose own decay acts once) and write (gates exactly 1 at the
 * marked token, keys exactly 0 elsewhere). Output norms, output gates and short convolutions, which the
 * definitions have as options, are off. Token shifts are on, with weight 0. */
#include "shaped.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAR  200.0f /* sigmoid, softplus and exp of ±FAR are 0, 1 or FAR exactly in float32 */
#define OPEN 4.0f   /* of a gate that is a SiLU: SiLU(4) = 3.93 */

typedef struct constant {
    const char *tensor;
    float value;
} constant;

struct site;

typedef struct wiring {
    const char *mixer;
    const char *query, *key, *value, *out;
    float weight; /* of the flags in query and key */
    float gain;   /* of the output */
    int extra;    /* channels of `inner` that hold no bit of the value */
    constant constants[3];
    void (*special)(const struct site *s, int64_t tokens);
    bool dressed;       /* works with its convolutions, gates and norms, and with any heads, too */
    const char *opened; /* the gate that is a SiLU, and closed at 0; others are a half there */
    bool all_heads;     /* its norm is over all heads together */
    bool scaled;        /* queries are divided by the root of head_dim */
} wiring;

/* A linear layer on its way. */
typedef struct site {
    hop_model *m;
    int64_t layer;
    const hop__fields *f;
    const wiring *w;
    hop_mixer_config c;
    bool pairs; /* values pass an activation: a bit travels as SiLU(x) - SiLU(-x) = x */
} site;

static const hop_weight *tensor(const site *s, const char *name)
{
    char part[96];
    snprintf(part, sizeof part, "mixer.%s", name);
    return hop_model_layer_weight(s->m, s->layer, part);
}

static void fill_constant(const site *s, const char *name, float value)
{
    const hop_weight *w = tensor(s, name);
    for (int64_t i = 0; i < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); i++) w->data[i] = value;
}

/* Every token but z_0's has `other` in row 0 of a matrix, z_0's has `marked`: who is one-hot. */
static void fill_flag(const site *s, const char *name, float marked, float other)
{
    for (int p = -1; p <= s->f->hops; p++)
        *hop__cell(tensor(s, name), 0, hop__fields_who(s->f, p)) = p == 0 ? marked : other;
}

/* Bit i of the value in rows first, first + 1, .. of a matrix. */
static void fill_value(const site *s, const hop_weight *w, int64_t first)
{
    for (int i = 0; i < s->f->bits; i++) {
        *hop__cell(w, first + (s->pairs ? 2 * i : i), s->f->val + i) = 1;
        if (s->pairs) *hop__cell(w, first + 2 * i + 1, s->f->val + i) = -1;
    }
}

/* ---- mixers that need more than the table ------------------------------------------------------ */

/* k = sigmoid(-f) and the decay is sigmoid(f): f far up holds, far down writes. */
static void wire_hgrn2(const site *s, int64_t tokens)
{
    (void)tokens;
    fill_flag(s, "f_proj.weight", -20, FAR);
}

/* The input gate e^i is 0 but at z_0. */
static void wire_mlstm(const site *s, int64_t tokens)
{
    (void)tokens;
    fill_flag(s, "igate_preact.weight", 0, -FAR);
}

/* beta = sigmoid(FAR) = 1 at z_0. */
static void wire_beta(const site *s, int64_t tokens)
{
    (void)tokens;
    fill_flag(s, "b_proj.weight", FAR, 0);
}

/* in_proj makes x (the value), B (the key), C (the query), and the step size. */
static void wire_mamba2(const site *s, int64_t tokens)
{
    (void)tokens;
    const hop_weight *in = tensor(s, "in_proj.weight");
    const int64_t inner = s->c.heads * s->c.head_dim, z = s->c.option[HOP_OPTION_gate] ? inner : 0,
                  shared = s->c.option[HOP_OPTION_groups] * s->c.option[HOP_OPTION_state_dim];
    fill_value(s, in, z);
    *hop__cell(in, z + inner, hop__fields_who(s->f, 0)) = s->w->weight;
    *hop__cell(in, z + inner + shared, hop__fields_who(s->f, -1)) = s->w->weight;
}

/* B and C are made from the channels x, so two of these carry the flags; x_proj's rows are the step's rank,
 * B, C. */
static void wire_mamba(const site *s, int64_t tokens)
{
    (void)tokens;
    const hop_weight *in = tensor(s, "in_proj.weight"), *x = tensor(s, "x_proj.weight");
    int bits = s->f->bits;
    fill_value(s, in, 0);
    *hop__cell(in, bits, hop__fields_who(s->f, 0)) = 1;
    *hop__cell(in, bits + 1, hop__fields_who(s->f, -1)) = 1;
    *hop__cell(x, 1, bits) = s->w->weight;
    *hop__cell(x, 2, bits + 1) = s->w->weight;
}

/* One more channel carries the flag to the gates: both 0 hold, both 1 replace the state. Rows are inputs. */
static void wire_rglru(const site *s, int64_t tokens)
{
    (void)tokens;
    const hop_weight *x = tensor(s, "linear_x.weight");
    const hop_weight *in = tensor(s, "rg_lru.input_gate_weight"),
                     *keep = tensor(s, "rg_lru.recurrent_gate_weight");
    int bits = s->f->bits;
    fill_value(s, x, 0);
    *hop__cell(x, bits, hop__fields_who(s->f, 0)) = 1;
    for (int j = 0; j <= bits; j++) *hop__cell(in, bits, j) = *hop__cell(keep, bits, j) = 2 * FAR;
}

/* Weights 1 + s + s²/2 cannot be 0; z_0's must outweigh all the others together, 1 each: s = sqrt(2000 n). */
static void wire_based(const site *s, int64_t tokens)
{
    float root = (float)pow(2000.0 * (double)tokens, 0.25);
    *hop__cell(tensor(s, "q_proj.weight"), 0, hop__fields_who(s->f, -1)) = root;
    *hop__cell(tensor(s, "k_proj.weight"), 0, hop__fields_who(s->f, 0)) = root;
}

/* ---- the table ---------------------------------------------------------------------------------- */

#define QKV "q_proj.weight", "k_proj.weight", "v_proj.weight"

/* clang-format off */
static const wiring wirings[] = {
    {"linear", QKV, "o_proj.weight", 1, 4, 0, {{0}}, .special = NULL},
    {"retnet", QKV, "o_proj.weight", 1, 4, 0, {{0}}, .special = NULL},
    {"lightning", QKV, "out_proj.weight", 2, 2, 0, {{0}}, .special = NULL, .dressed = true, .all_heads = true},
    {"gla", QKV, "o_proj.weight", 1, 4, 0, {{"gk_proj.1.bias", FAR}}, .special = NULL},
    {"hgrn2", "q_proj.weight", NULL, "i_proj.weight", "o_proj.weight", 2, 4, 0, {{0}}, .special = wire_hgrn2},
    {"mamba", NULL, NULL, NULL, "out_proj.weight", 1, 4, 2,
     {{"dt_proj.bias", 2}, {"A_log", -FAR}}, .special = wire_mamba},
    {"mamba2", NULL, NULL, NULL, "out_proj.weight", 1, 4, 0,
     {{"dt_bias", 2}, {"A_log", -FAR}}, .special = wire_mamba2, .dressed = true, .opened = "in_proj.weight", .all_heads = true},
    {"deltanet", QKV, "o_proj.weight", 1, 4, 0, {{0}}, .special = wire_beta, .dressed = true, .opened = "g_proj.weight",
     .scaled = true},
    {"gdn", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -FAR}}, .special = wire_beta, .dressed = true, .opened = "g_proj.weight",
     .scaled = true},
    {"kda", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -FAR}}, .special = wire_beta, .dressed = true, .scaled = true},
    {"deltaproduct", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -FAR}}, .special = NULL}, /* 2 sigmoid(0) = 1 */
    {"rwkv6", "r_proj.linear.weight", "k_proj.linear.weight", "v_proj.linear.weight", "o_proj.weight", 1, 4,
     0, {{"w_proj.linear.lora.2.bias", -FAR}}, .special = NULL},
    {"rwkv7", "r_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", 1, 4, 0,
     {{"w_lora.lora.2.bias", -FAR}}, .special = NULL},
    {"mlstm", QKV, "out_proj.weight", 1, 4, 0, {{"fgate_preact.bias", FAR}}, .special = wire_mlstm},
    {"rglru", NULL, NULL, NULL, "linear_out.weight", 1, 4, 1,
     {{"rg_lru.input_gate_bias", -FAR}, {"rg_lru.recurrent_gate_bias", -FAR}, {"rg_lru.recurrent_param", 2}},
     .special = wire_rglru},
    {"based", NULL, NULL, "v_proj.weight", "o_proj.weight", 1, 4, 0, {{0}}, .special = wire_based},
};
/* clang-format on */

static const wiring *find_wiring(const char *mixer)
{
    for (size_t i = 0; i < sizeof wirings / sizeof *wirings; i++)
        if (strcmp(wirings[i].mixer, mixer) == 0) return &wirings[i];
    return NULL;
}

/* ---- sizes and weights --------------------------------------------------------------------------- */

static bool takes(const hop_mixer_ops *ops, const char *option)
{
    hop_mixer_config c;
    hop_mixer_config_init(&c);
    return hop_mixer_option_set(&c, ops, option, 1, NULL) != HOP_EUNKNOWN;
}

/* The layer's own sizes, the smallest; an option that the mixer does not take is left alone. */
static hop_status set_sizes(hop_config *c, int64_t layer, const hop_mixer_ops *ops, const hop__fields *f,
                            const wiring *w, hop_error *err)
{
    bool wide = !takes(ops, "value_dim") && !takes(ops, "inner"); /* the head itself is the value */
    const struct {
        const char *name;
        int64_t value;
    } wanted[] = {
        {"conv", 0},
        {"gate", 0},
        {"norm", 0},
        {"feature", 0},
        {"normalise", 0},
        {"state_dim", 1},
        {"groups", 1},
        {"rank", 1},
        {"dt_rank", 1},
        {"steps", 2},
        {"value_dim", ops->pairs ? 2 * f->bits : f->bits},
        {"inner", f->bits + w->extra},
    };
    hop_status s = hop_config_set(c, layer, "", "heads", 1, err);
    if (s == HOP_OK) s = hop_config_set(c, layer, "", "kv_heads", 1, err);
    if (s == HOP_OK) s = hop_config_set(c, layer, "", "head_dim", wide ? f->bits : 1, err);
    for (size_t i = 0; s == HOP_OK && i < sizeof wanted / sizeof *wanted; i++)
        if (takes(ops, wanted[i].name))
            s = hop_config_set(c, layer, "", wanted[i].name, (double)wanted[i].value, err);
    return s;
}

static bool has(const hop_mixer_config *c, hop_option o)
{
    return c->option[o] > 0; /* HOP_OPTION_UNSET is not */
}

static int64_t value_width(const hop_mixer_config *c)
{
    return has(c, HOP_OPTION_value_dim) ? c->option[HOP_OPTION_value_dim] : c->head_dim;
}

bool hop__linear_can_dress(const char *mixer)
{
    const wiring *w = find_wiring(mixer);
    return w && w->dressed;
}

hop_status hop__linear_ready(hop_config *c, const hop__fields *f, int64_t layer, hop_error *err)
{
    const char *mixer = hop_pattern_mixer(&c->pattern, layer);
    const wiring *w = find_wiring(mixer);
    const hop_mixer_ops *ops = hop_mixer_find(mixer);
    hop_mixer_config own;
    if (!ops || !w) return hop_fail(err, HOP_EDOMAIN, "%.40s: is not a linear mixer", mixer);
    if (!w->dressed) return set_sizes(c, layer, ops, f, w, err);
    hop_status s = hop_config_mixer(c, ops, layer, &own, err);
    if (s != HOP_OK) return s;
    int64_t need = (ops->pairs || has(&own, HOP_OPTION_conv) ? 2 : 1) * (int64_t)f->bits;
    if (value_width(&own) >= need) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "%s: a head's value needs %lld numbers, and has %lld", mixer,
                    (long long)need, (long long)value_width(&own));
}

/* What the output must be multiplied by so that a code of about ±1 or more arrives. Behind a norm nothing is
 * left of how large it was: bits of ±1, or pairs of SiLU(1) and SiLU(-1), whose squares are 0.607 together.
 */
static float output_gain(const site *s)
{
    const hop_mixer_config *c = &s->c;
    double gain = s->w->gain, width = (double)value_width(c) * (s->w->all_heads ? (double)c->heads : 1);
    bool gated = has(c, HOP_OPTION_gate);
    if (has(c, HOP_OPTION_norm_groups)) width /= (double)c->option[HOP_OPTION_norm_groups];
    if (s->w->scaled) gain *= sqrt((double)c->head_dim);
    if (has(c, HOP_OPTION_norm)) gain = 1.25 * sqrt((s->pairs ? 0.607 : 1.0) * (double)s->f->bits / width);
    if (gated && !s->w->opened) gain *= 2;
    if (gated && s->w->opened && !s->w->all_heads) gain /= 3.9; /* a gate before the norm is lost in it */
    return (float)gain;
}

/* Convolutions look at the token itself; gates are open; norms multiply by 1. */
static void fill_dress(const site *s, int one)
{
    static const char *const convs[] = {"q_conv1d.weight", "k_conv1d.weight", "v_conv1d.weight",
                                        "conv1d.weight"};
    static const char *const norms[] = {"o_norm.weight", "norm.weight"};
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        const hop_weight *w = tensor(s, convs[i]);
        for (int64_t r = 0; w && r < w->shape[0]; r++) *hop__cell(w, r, w->shape[1] - 1) = 1;
    }
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (has(&s->c, HOP_OPTION_norm) && tensor(s, norms[i])) fill_constant(s, norms[i], 1);
    if (!has(&s->c, HOP_OPTION_gate) || !s->w->opened) return;
    for (int64_t i = 0; i < (s->pairs ? 2 : 1) * s->f->bits; i++)
        *hop__cell(tensor(s, s->w->opened), i, one) = OPEN;
}

void hop__fill_linear(hop_model *m, const hop__fields *f, int64_t layer, int one, int64_t tokens)
{
    const char *mixer = hop_pattern_mixer(&hop_model_config(m)->pattern, layer);
    const wiring *w = find_wiring(mixer);
    site s = {.m = m, .layer = layer, .f = f, .w = w, .c = hop_model_mixer_config(m, layer)};
    s.pairs = hop_mixer_find(mixer)->pairs || (w->dressed && has(&s.c, HOP_OPTION_conv));
    float gain = w->dressed ? output_gain(&s) : w->gain;
    if (w->query) *hop__cell(tensor(&s, w->query), 0, hop__fields_who(f, -1)) = w->weight;
    if (w->key) *hop__cell(tensor(&s, w->key), 0, hop__fields_who(f, 0)) = w->weight;
    if (w->value) fill_value(&s, tensor(&s, w->value), 0);
    for (int i = 0; i < f->bits; i++) {
        *hop__cell(tensor(&s, w->out), f->reg + i, s.pairs ? 2 * i : i) = gain;
        if (s.pairs) *hop__cell(tensor(&s, w->out), f->reg + i, 2 * i + 1) = -gain;
    }
    for (int i = 0; i < 3 && w->constants[i].tensor; i++)
        fill_constant(&s, w->constants[i].tensor, w->constants[i].value);
    if (w->special) w->special(&s, tokens);
    if (w->dressed) fill_dress(&s, one);
}

static hop_status find_parts(const char *mixer, const hop_mixer_ops **ops, const wiring **w, hop_error *err)
{
    *ops = hop_mixer_find(mixer), *w = find_wiring(mixer);
    if (!*ops) return hop_fail(err, HOP_EUNKNOWN, "%.60s: unknown mixer", mixer);
    if ((*ops)->kind != HOP_MIXER_RECURRENT || !*w)
        return hop_fail(err, HOP_EDOMAIN, "%s: is not a linear mixer", mixer);
    return HOP_OK;
}

/* The network before it has weights. */
static hop_status make_config(hop_config *c, hop__fields *f, const hop_task *task, const hop_mixer_ops *ops,
                              const wiring *w, hop_error *err)
{
    char pattern[64], construction[96];
    hop__fields_init(f, &task->funccomp);
    snprintf(pattern, sizeof pattern, "%s full^%d", ops->name, task->funccomp.hops);
    snprintf(construction, sizeof construction, "{\"kind\": \"hybrid\", \"mixer\": \"%s\"}", ops->name);
    hop_status s = hop__construct_config(c, pattern, task, construction, err);
    if (s != HOP_OK) return s;
    c->d_model = f->d_model;
    c->head_dim = f->head_dim;
    c->mlp_hidden = 2 * f->bits;
    s = set_sizes(c, 0, ops, f, w, err);
    if (s != HOP_OK) hop_config_free(c);
    return s;
}

hop_status hop_construct_hybrid_state(int64_t *numbers, const char *mixer, const hop_task *task,
                                      hop_error *err)
{
    const hop_mixer_ops *ops;
    const wiring *w;
    hop__fields f;
    hop_config c;
    hop_mixer_config layer;
    hop_status s = find_parts(mixer, &ops, &w, err);
    if (s == HOP_OK) s = make_config(&c, &f, task, ops, w, err);
    if (s != HOP_OK) return s;
    s = hop_config_validate(&c, err);
    if (s == HOP_OK) s = hop_config_mixer(&c, ops, 0, &layer, err);
    if (s == HOP_OK) *numbers = hop_mixer_state_floats(ops, &layer, 1);
    hop_config_free(&c);
    return s;
}

hop_status hop__construct_hybrid(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                 hop_error *err)
{
    const hop_mixer_ops *ops;
    const wiring *w;
    hop__fields f;
    hop_config c;
    int hops = task->funccomp.hops;
    const char *mixer = o->mixer ? o->mixer : "deltanet";
    if (o->shape) return hop__construct_shaped(out, task, o->shape, "{\"kind\": \"hybrid\"}", err);
    hop_status s = find_parts(mixer, &ops, &w, err);
    if (s == HOP_OK) s = make_config(&c, &f, task, ops, w, err);
    if (s != HOP_OK) return s;
    s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;

    float beta = (float)(hop__fields_beta(task->length) * sqrt((double)f.head_dim));
    hop__fill_tables(*out, &f, &task->funccomp);
    hop__fill_linear(*out, &f, 0, -1, task->length);
    for (int e = 0; e <= hops; e++) {
        if (e > 0) hop__fill_look_up(*out, &f, e, e, beta);
        hop__fill_clip(*out, &f, e);
    }
    return HOP_OK;
}
