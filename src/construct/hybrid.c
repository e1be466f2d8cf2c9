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
#include "fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAR 200.0f /* sigmoid, softplus and exp of ±FAR are 0, 1 or FAR exactly in float32 */

typedef struct constant {
    const char *tensor;
    float value;
} constant;

typedef struct wiring {
    const char *mixer;
    const char *query, *key, *value, *out;
    float weight; /* of the flags in query and key */
    float gain;   /* of the output */
    int extra;    /* channels of `inner` that hold no bit of the value */
    constant constants[3];
    void (*special)(hop_model *m, const hop__fields *f, const struct wiring *w, int64_t tokens);
} wiring;

static const hop_weight *tensor(hop_model *m, const char *name)
{
    char part[96];
    snprintf(part, sizeof part, "mixer.%s", name);
    return hop_model_layer_weight(m, 0, part);
}

static void fill_constant(hop_model *m, const char *name, float value)
{
    const hop_weight *w = tensor(m, name);
    for (int64_t i = 0; i < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); i++) w->data[i] = value;
}

/* Every token but z_0's has `other` in row 0 of a matrix, z_0's has `marked`: who is one-hot. */
static void fill_flag(hop_model *m, const hop__fields *f, const char *name, float marked, float other)
{
    for (int p = -1; p <= f->hops; p++)
        *hop__cell(tensor(m, name), 0, hop__fields_who(f, p)) = p == 0 ? marked : other;
}

/* ---- mixers that need more than the table ------------------------------------------------------ */

/* k = sigmoid(-f) and the decay is sigmoid(f): f far up holds, far down writes. */
static void wire_hgrn2(hop_model *m, const hop__fields *f, const wiring *w, int64_t tokens)
{
    (void)w, (void)tokens;
    fill_flag(m, f, "f_proj.weight", -20, FAR);
}

/* The input gate e^i is 0 but at z_0. */
static void wire_mlstm(hop_model *m, const hop__fields *f, const wiring *w, int64_t tokens)
{
    (void)w, (void)tokens;
    fill_flag(m, f, "igate_preact.weight", 0, -FAR);
}

/* beta = sigmoid(FAR) = 1 at z_0. */
static void wire_beta(hop_model *m, const hop__fields *f, const wiring *w, int64_t tokens)
{
    (void)w, (void)tokens;
    fill_flag(m, f, "b_proj.weight", FAR, 0);
}

/* in_proj makes x (the value), B (the key), C (the query), and the step size. */
static void wire_mamba2(hop_model *m, const hop__fields *f, const wiring *w, int64_t tokens)
{
    (void)tokens;
    const hop_weight *in = tensor(m, "in_proj.weight");
    for (int i = 0; i < f->bits; i++) *hop__cell(in, i, f->val + i) = 1;
    *hop__cell(in, f->bits, hop__fields_who(f, 0)) = w->weight;
    *hop__cell(in, f->bits + 1, hop__fields_who(f, -1)) = w->weight;
}

/* B and C are made from the channels x, so two of these carry the flags; x_proj's rows are the step's rank,
 * B, C. */
static void wire_mamba(hop_model *m, const hop__fields *f, const wiring *w, int64_t tokens)
{
    (void)tokens;
    const hop_weight *in = tensor(m, "in_proj.weight"), *x = tensor(m, "x_proj.weight");
    for (int i = 0; i < f->bits; i++) *hop__cell(in, i, f->val + i) = 1;
    *hop__cell(in, f->bits, hop__fields_who(f, 0)) = 1;
    *hop__cell(in, f->bits + 1, hop__fields_who(f, -1)) = 1;
    *hop__cell(x, 1, f->bits) = w->weight;
    *hop__cell(x, 2, f->bits + 1) = w->weight;
}

/* One more channel carries the flag to the gates: both 0 hold, both 1 replace the state. Rows are inputs. */
static void wire_rglru(hop_model *m, const hop__fields *f, const wiring *w, int64_t tokens)
{
    (void)w, (void)tokens;
    const hop_weight *x = tensor(m, "linear_x.weight");
    const hop_weight *in = tensor(m, "rg_lru.input_gate_weight"),
                     *keep = tensor(m, "rg_lru.recurrent_gate_weight");
    for (int i = 0; i < f->bits; i++) *hop__cell(x, i, f->val + i) = 1;
    *hop__cell(x, f->bits, hop__fields_who(f, 0)) = 1;
    for (int j = 0; j <= f->bits; j++) *hop__cell(in, f->bits, j) = *hop__cell(keep, f->bits, j) = 2 * FAR;
}

/* Weights 1 + s + s²/2 cannot be 0; z_0's must outweigh all the others together, 1 each: s = sqrt(2000 n). */
static void wire_based(hop_model *m, const hop__fields *f, const wiring *w, int64_t tokens)
{
    (void)w;
    float root = (float)pow(2000.0 * (double)tokens, 0.25);
    *hop__cell(tensor(m, "q_proj.weight"), 0, hop__fields_who(f, -1)) = root;
    *hop__cell(tensor(m, "k_proj.weight"), 0, hop__fields_who(f, 0)) = root;
}

/* ---- the table ---------------------------------------------------------------------------------- */

#define QKV "q_proj.weight", "k_proj.weight", "v_proj.weight"

/* clang-format off */
static const wiring wirings[] = {
    {"linear", QKV, "o_proj.weight", 1, 4, 0, {{0}}, NULL},
    {"retnet", QKV, "o_proj.weight", 1, 4, 0, {{0}}, NULL},
    {"lightning", QKV, "out_proj.weight", 2, 2, 0, {{0}}, NULL},
    {"gla", QKV, "o_proj.weight", 1, 4, 0, {{"gk_proj.1.bias", FAR}}, NULL},
    {"hgrn2", "q_proj.weight", NULL, "i_proj.weight", "o_proj.weight", 2, 4, 0, {{0}}, wire_hgrn2},
    {"mamba", NULL, NULL, NULL, "out_proj.weight", 1, 4, 2,
     {{"dt_proj.bias", 2}, {"A_log", -FAR}}, wire_mamba},
    {"mamba2", NULL, NULL, NULL, "out_proj.weight", 1, 4, 0,
     {{"dt_bias", 2}, {"A_log", -FAR}}, wire_mamba2},
    {"deltanet", QKV, "o_proj.weight", 1, 4, 0, {{0}}, wire_beta},
    {"gdn", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -FAR}}, wire_beta},
    {"kda", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -FAR}}, wire_beta},
    {"deltaproduct", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -FAR}}, NULL}, /* 2 sigmoid(0) = 1 */
    {"rwkv6", "r_proj.linear.weight", "k_proj.linear.weight", "v_proj.linear.weight", "o_proj.weight", 1, 4,
     0, {{"w_proj.linear.lora.2.bias", -FAR}}, NULL},
    {"rwkv7", "r_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", 1, 4, 0,
     {{"w_lora.lora.2.bias", -FAR}}, NULL},
    {"mlstm", QKV, "out_proj.weight", 1, 4, 0, {{"fgate_preact.bias", FAR}}, wire_mlstm},
    {"rglru", NULL, NULL, NULL, "linear_out.weight", 1, 4, 1,
     {{"rg_lru.input_gate_bias", -FAR}, {"rg_lru.recurrent_gate_bias", -FAR}, {"rg_lru.recurrent_param", 2}},
     wire_rglru},
    {"based", NULL, NULL, "v_proj.weight", "o_proj.weight", 1, 4, 0, {{0}}, wire_based},
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

/* Layer 0's own sizes; an option that the mixer does not take is left alone. */
static hop_status set_sizes(hop_config *c, const hop_mixer_ops *ops, const hop__fields *f, const wiring *w,
                            hop_error *err)
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
    hop_status s = hop_config_set(c, 0, "", "heads", 1, err);
    if (s == HOP_OK) s = hop_config_set(c, 0, "", "kv_heads", 1, err);
    if (s == HOP_OK) s = hop_config_set(c, 0, "", "head_dim", wide ? f->bits : 1, err);
    for (size_t i = 0; s == HOP_OK && i < sizeof wanted / sizeof *wanted; i++)
        if (takes(ops, wanted[i].name))
            s = hop_config_set(c, 0, "", wanted[i].name, (double)wanted[i].value, err);
    return s;
}

/* Where values pass an activation, a bit travels as SiLU(x) - SiLU(-x) = x. */
static void fill_linear(hop_model *m, const hop__fields *f, const wiring *w, bool pairs, int64_t tokens)
{
    if (w->query) *hop__cell(tensor(m, w->query), 0, hop__fields_who(f, -1)) = w->weight;
    if (w->key) *hop__cell(tensor(m, w->key), 0, hop__fields_who(f, 0)) = w->weight;
    for (int i = 0; i < f->bits; i++) {
        int row = pairs ? 2 * i : i;
        if (w->value) *hop__cell(tensor(m, w->value), row, f->val + i) = 1;
        if (w->value && pairs) *hop__cell(tensor(m, w->value), row + 1, f->val + i) = -1;
        *hop__cell(tensor(m, w->out), f->reg + i, row) = w->gain;
        if (pairs) *hop__cell(tensor(m, w->out), f->reg + i, row + 1) = -w->gain;
    }
    for (int i = 0; i < 3 && w->constants[i].tensor; i++)
        fill_constant(m, w->constants[i].tensor, w->constants[i].value);
    if (w->special) w->special(m, f, w, tokens);
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
    s = set_sizes(c, ops, f, w, err);
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
    hop_status s = find_parts(o->mixer ? o->mixer : "deltanet", &ops, &w, err);
    if (s == HOP_OK) s = make_config(&c, &f, task, ops, w, err);
    if (s != HOP_OK) return s;
    s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;

    float beta = (float)(hop__fields_beta(task->length) * sqrt((double)f.head_dim));
    hop__fill_tables(*out, &f, &task->funccomp);
    fill_linear(*out, &f, w, ops->pairs, task->length);
    for (int e = 0; e <= hops; e++) {
        if (e > 0) hop__fill_look_up(*out, &f, e, e, beta);
        hop__fill_clip(*out, &f, e);
    }
    return HOP_OK;
}
