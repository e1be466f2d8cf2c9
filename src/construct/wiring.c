/* Every linear mixer plays the part of the layer that brings z_0 to the last token in its own way, with its
 * own recurrence as it is defined: what a line of the table says is which tensors are query, key, value and
 * output, and which constants make it hold (decays exactly 1, but for retnet and lightning, whose own decay
 * acts once) and write (gates exactly 1 at the marked token, keys exactly 0 elsewhere). In `build hybrid`
 * output norms, output gates and short convolutions, which the definitions have as options, are off, and
 * token shifts are on, with weight 0; in the shape of a model those that are `dressed` work with all they
 * have. */
#include "wiring.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NORM_EPS 1e-5 /* of the norms inside of mixers */

const hop_weight *hop__site_tensor(const hop__site *s, const char *name)
{
    char part[96];
    snprintf(part, sizeof part, "mixer.%s", name);
    return hop_model_layer_weight(s->m, s->layer, part);
}

static void fill_constant(const hop__site *s, const char *name, float value)
{
    const hop_weight *w = hop__site_tensor(s, name);
    for (int64_t i = 0; i < w->shape[0] * (w->rank == 2 ? w->shape[1] : 1); i++) w->data[i] = value;
}

/* Every token but z_0's has `other` in row 0 of a matrix, z_0's has `marked`: who is one-hot. */
static void fill_flag(const hop__site *s, const char *name, float marked, float other)
{
    for (int p = -1; p <= s->f->hops; p++)
        *hop__cell(hop__site_tensor(s, name), 0, hop__fields_who(s->f, p)) = p == 0 ? marked : other;
}

hop__place hop__site_place(const hop__site *s, hop__role role)
{
    const hop__wiring *w = s->w;
    const char *name[] = {[HOP__QUERY] = w->query, [HOP__KEY] = w->key, [HOP__VALUE] = w->value};
    return (hop__place){name[role] ? hop__site_tensor(s, name[role]) : NULL, w->row ? w->row(s, role) : 0};
}

/* Bit i of the value in rows first, first + 1, .. of a matrix. */
static void fill_value(const hop__site *s, const hop_weight *w, int64_t first)
{
    for (int i = 0; i < s->f->bits; i++) {
        *hop__cell(w, first + (s->pairs ? 2 * i : i), s->f->val + i) = 1;
        if (s->pairs) *hop__cell(w, first + 2 * i + 1, s->f->val + i) = -1;
    }
}

void hop__site_value(const hop__site *s, int64_t first)
{
    hop__place v = hop__site_place(s, HOP__VALUE);
    fill_value(s, v.w, v.row + first);
}

/* ---- mixers that need more than the table ------------------------------------------------------ */

/* k = sigmoid(-f) and the decay is sigmoid(f): f far up holds, far down writes. */
static void wire_hgrn2(const hop__site *s, int64_t tokens)
{
    (void)tokens;
    fill_flag(s, "f_proj.weight", -20, HOP__FAR);
}

/* The input gate e^i is 0 but at z_0. */
static void wire_mlstm(const hop__site *s, int64_t tokens)
{
    (void)tokens;
    fill_flag(s, "igate_preact.weight", 0, -HOP__FAR);
}

/* beta = sigmoid(HOP__FAR) = 1 at z_0. */
static void wire_beta(const hop__site *s, int64_t tokens)
{
    (void)tokens;
    fill_flag(s, "b_proj.weight", HOP__FAR, 0);
}

/* in_proj makes the gate, x (the value), B (the key), C (the query), and the step size, in this order. */
static int64_t mamba2_row(const hop__site *s, hop__role role)
{
    const hop_mixer_config *c = &s->c;
    const int64_t inner = c->heads * c->head_dim, x = c->option[HOP_OPTION_gate] ? inner : 0,
                  shared = c->option[HOP_OPTION_groups] * c->option[HOP_OPTION_state_dim];
    return x + (role == HOP__VALUE ? 0 : inner) + (role == HOP__QUERY ? shared : 0);
}

/* B and C are made from the channels x, so two of these carry the flags; x_proj's rows are the step's rank,
 * B, C. */
static void wire_mamba(const hop__site *s, int64_t tokens)
{
    (void)tokens;
    const hop_weight *in = hop__site_tensor(s, "in_proj.weight"), *x = hop__site_tensor(s, "x_proj.weight");
    int bits = s->f->bits;
    fill_value(s, in, 0);
    *hop__cell(in, bits, hop__fields_who(s->f, 0)) = 1;
    *hop__cell(in, bits + 1, hop__fields_who(s->f, -1)) = 1;
    *hop__cell(x, 1, bits) = s->w->weight;
    *hop__cell(x, 2, bits + 1) = s->w->weight;
}

/* One more channel carries the flag to the gates: both 0 hold, both 1 replace the state. Rows are inputs. */
static void wire_rglru(const hop__site *s, int64_t tokens)
{
    (void)tokens;
    const hop_weight *x = hop__site_tensor(s, "linear_x.weight");
    const hop_weight *in = hop__site_tensor(s, "rg_lru.input_gate_weight"),
                     *keep = hop__site_tensor(s, "rg_lru.recurrent_gate_weight");
    int bits = s->f->bits;
    fill_value(s, x, 0);
    *hop__cell(x, bits, hop__fields_who(s->f, 0)) = 1;
    for (int j = 0; j <= bits; j++) *hop__cell(in, bits, j) = *hop__cell(keep, bits, j) = 2 * HOP__FAR;
}

/* Weights 1 + s + s²/2 cannot be 0; z_0's must outweigh all the others together, 1 each: s = sqrt(2000 n). */
static void wire_based(const hop__site *s, int64_t tokens)
{
    float root = (float)pow(2000.0 * (double)tokens, 0.25);
    *hop__cell(hop__site_tensor(s, "q_proj.weight"), 0, hop__fields_who(s->f, -1)) = root;
    *hop__cell(hop__site_tensor(s, "k_proj.weight"), 0, hop__fields_who(s->f, 0)) = root;
}

/* ---- the table ---------------------------------------------------------------------------------- */

#define QKV "q_proj.weight", "k_proj.weight", "v_proj.weight"

/* clang-format off */
static const hop__wiring wirings[] = {
    {"linear", QKV, "o_proj.weight", 1, 4, 0, {{0}}, .special = NULL},
    {"retnet", QKV, "o_proj.weight", 1, 4, 0, {{0}}, .special = NULL},
    {"lightning", QKV, "out_proj.weight", 2, 2, 0, {{0}}, .special = NULL, .dressed = true, .all_heads = true},
    {"gla", QKV, "o_proj.weight", 1, 4, 0, {{"gk_proj.1.bias", HOP__FAR}}, .special = NULL},
    {"hgrn2", "q_proj.weight", NULL, "i_proj.weight", "o_proj.weight", 2, 4, 0, {{0}}, .special = wire_hgrn2},
    {"mamba", NULL, NULL, NULL, "out_proj.weight", 1, 4, 2,
     {{"dt_proj.bias", 2}, {"A_log", -HOP__FAR}}, .special = wire_mamba},
    {"mamba2", "in_proj.weight", "in_proj.weight", "in_proj.weight", "out_proj.weight", 1, 4, 0,
     {{"dt_bias", 2}, {"A_log", -HOP__FAR}}, .row = mamba2_row, .dressed = true, .opened = "in_proj.weight", .all_heads = true},
    {"deltanet", QKV, "o_proj.weight", 1, 4, 0, {{0}}, .special = wire_beta, .dressed = true, .opened = "g_proj.weight",
     .scaled = true},
    {"gdn", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -HOP__FAR}}, .special = wire_beta, .dressed = true, .opened = "g_proj.weight",
     .scaled = true},
    {"kda", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -HOP__FAR}}, .special = wire_beta, .dressed = true, .scaled = true},
    {"deltaproduct", QKV, "o_proj.weight", 1, 4, 0, {{"A_log", -HOP__FAR}}, .special = NULL}, /* 2 sigmoid(0) = 1 */
    {"rwkv6", "r_proj.linear.weight", "k_proj.linear.weight", "v_proj.linear.weight", "o_proj.weight", 1, 4,
     0, {{"w_proj.linear.lora.2.bias", -HOP__FAR}}, .special = NULL},
    {"rwkv7", "r_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight", 1, 4, 0,
     {{"w_lora.lora.2.bias", -HOP__FAR}}, .special = NULL},
    {"mlstm", QKV, "out_proj.weight", 1, 4, 0, {{"fgate_preact.bias", HOP__FAR}}, .special = wire_mlstm},
    {"rglru", NULL, NULL, NULL, "linear_out.weight", 1, 4, 1,
     {{"rg_lru.input_gate_bias", -HOP__FAR}, {"rg_lru.recurrent_gate_bias", -HOP__FAR}, {"rg_lru.recurrent_param", 2}},
     .special = wire_rglru},
    {"based", NULL, NULL, "v_proj.weight", "o_proj.weight", 1, 4, 0, {{0}}, .special = wire_based},
};
/* clang-format on */

const hop__wiring *hop__wiring_of(const char *mixer)
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

hop_status hop__linear_sizes(hop_config *c, int64_t layer, const hop_mixer_ops *ops, const hop__fields *f,
                             const hop__wiring *w, hop_error *err)
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
    const hop__wiring *w = hop__wiring_of(mixer);
    return w && w->dressed;
}

/* Numbers that a head's value must have for codes of so many bits. */
static int64_t value_need(const hop_mixer_ops *ops, const hop_mixer_config *c, int bits)
{
    return (ops->pairs || has(c, HOP_OPTION_conv) ? 2 : 1) * (int64_t)bits;
}

hop_status hop__linear_room(const hop_config *c, int bits, int64_t layer, hop_error *err)
{
    const char *mixer = hop_pattern_mixer(&c->pattern, layer);
    const hop__wiring *w = hop__wiring_of(mixer);
    const hop_mixer_ops *ops = hop_mixer_find(mixer);
    hop_mixer_config own;
    if (!ops || !w) return hop_fail(err, HOP_EDOMAIN, "%.40s: is not a linear mixer", mixer);
    if (!w->dressed) return HOP_OK; /* it gets sizes of its own */
    hop_status s = hop_config_mixer(c, ops, layer, &own, err);
    if (s != HOP_OK) return s;
    int64_t need = value_need(ops, &own, bits);
    if (value_width(&own) >= need) return HOP_OK;
    return hop_fail(err, HOP_EDOMAIN, "%s: a head's value needs %lld numbers, and has %lld", mixer,
                    (long long)need, (long long)value_width(&own));
}

bool hop__linear_carries(const hop_config *c, int bits, int64_t layer)
{
    return hop__linear_room(c, bits, layer, NULL) == HOP_OK;
}

hop_status hop__linear_ready(hop_config *c, const hop__fields *f, int64_t layer, hop_error *err)
{
    const char *mixer = hop_pattern_mixer(&c->pattern, layer);
    const hop__wiring *w = hop__wiring_of(mixer);
    hop_status s = hop__linear_room(c, f->bits, layer, err);
    return s == HOP_OK && !w->dressed ? hop__linear_sizes(c, layer, hop_mixer_find(mixer), f, w, err) : s;
}

hop__site hop__site_at(hop_model *m, const hop__fields *f, int64_t layer)
{
    const char *mixer = hop_pattern_mixer(&hop_model_config(m)->pattern, layer);
    hop__site s = {.m = m, .layer = layer, .f = f, .w = hop__wiring_of(mixer)};
    s.c = hop_model_mixer_config(m, layer);
    s.pairs = hop_mixer_find(mixer)->pairs || (s.w->dressed && has(&s.c, HOP_OPTION_conv));
    return s;
}

int64_t hop__site_value_width(const hop__site *s)
{
    return value_width(&s->c);
}

/* Without a norm: do values arrive as they were, times w->gain? */
static bool unit(const hop__wiring *w, const hop_mixer_config *c)
{
    return w->scaled && !has(c, HOP_OPTION_norm);
}

bool hop__linear_is_exact(const hop_config *c, int64_t layer)
{
    const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, layer));
    const hop__wiring *w = ops ? hop__wiring_of(ops->name) : NULL;
    hop_mixer_config own;
    return w && w->dressed && hop_config_mixer(c, ops, layer, &own, NULL) == HOP_OK &&
           (has(&own, HOP_OPTION_norm) || unit(w, &own));
}

/* Behind a norm little is left of how large a value was: bits of ±1, or pairs of SiLU(1) and SiLU(-1), whose
 * squares are 0.607 together, times what they are read with; and what the norm adds to their mean counts
 * where heads are wide and that factor is their scale. Where nothing scales, they are read with 1 or more. */
float hop__site_gain(const hop__site *s)
{
    const hop_mixer_config *c = &s->c;
    double gain = s->w->gain, width = (double)value_width(c) * (s->w->all_heads ? (double)c->heads : 1);
    const double up = 1 / (1 + exp(-1.0)), down = -1 / (1 + exp(1.0)),
                 open = HOP__OPEN / (1 + exp(-HOP__OPEN)),
                 read = !s->w->scaled   ? 1
                        : c->scale != 0 ? c->scale
                                        : 1 / sqrt((double)c->head_dim);
    bool gated = has(c, HOP_OPTION_gate);
    if (has(c, HOP_OPTION_norm_groups)) width /= (double)c->option[HOP_OPTION_norm_groups];
    gain /= read;
    if (has(c, HOP_OPTION_norm))
        gain = sqrt((s->pairs ? up * up + down * down : 1.0) * (double)s->f->bits / width +
                    (s->w->scaled ? NORM_EPS / (read * read) : 0));
    if (gated && !s->w->opened) gain *= 2;
    if (gated && s->w->opened && !s->w->all_heads) gain /= open; /* a gate before the norm is lost in it */
    return (float)gain;
}

void hop__site_dress(const hop__site *s)
{
    static const char *const convs[] = {"q_conv1d.weight", "k_conv1d.weight", "v_conv1d.weight",
                                        "conv1d.weight"};
    static const char *const norms[] = {"o_norm.weight", "norm.weight"};
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        const hop_weight *w = hop__site_tensor(s, convs[i]);
        for (int64_t r = 0; w && r < w->shape[0]; r++) *hop__cell(w, r, w->shape[1] - 1) = 1;
    }
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (has(&s->c, HOP_OPTION_norm) && hop__site_tensor(s, norms[i])) fill_constant(s, norms[i], 1);
}

void hop__site_open(const hop__site *s, int64_t first, int one)
{
    if (!has(&s->c, HOP_OPTION_gate) || !s->w->opened) return;
    for (int64_t i = 0; i < (s->pairs ? 2 : 1) * s->f->bits; i++)
        *hop__cell(hop__site_tensor(s, s->w->opened), first + i, one) = HOP__OPEN;
}

void hop__site_constants(const hop__site *s)
{
    for (int i = 0; i < 3 && s->w->constants[i].tensor; i++)
        fill_constant(s, s->w->constants[i].tensor, s->w->constants[i].value);
}

void hop__site_write(const hop__site *s, int64_t first, float gain)
{
    const hop_weight *out = hop__site_tensor(s, s->w->out);
    for (int i = 0; i < s->f->bits; i++) {
        *hop__cell(out, s->f->reg + i, first + (s->pairs ? 2 * i : i)) = gain;
        if (s->pairs) *hop__cell(out, s->f->reg + i, first + 2 * i + 1) = -gain;
    }
}

void hop__fill_linear(hop_model *m, const hop__fields *f, int64_t layer, int one, int64_t tokens)
{
    hop__site s = hop__site_at(m, f, layer);
    const hop__wiring *w = s.w;
    hop__place q = hop__site_place(&s, HOP__QUERY), k = hop__site_place(&s, HOP__KEY);
    if (q.w) *hop__cell(q.w, q.row, hop__fields_who(f, -1)) = w->weight;
    if (k.w) *hop__cell(k.w, k.row, hop__fields_who(f, 0)) = w->weight;
    if (w->value) hop__site_value(&s, 0);
    hop__site_write(&s, 0,
                    (w->dressed ? hop__site_gain(&s) : w->gain) / (unit(w, &s.c) && one >= 0 ? w->gain : 1));
    hop__site_constants(&s);
    if (w->special) w->special(&s, tokens);
    if (!w->dressed) return;
    hop__site_dress(&s);
    hop__site_open(&s, 0, one);
}
