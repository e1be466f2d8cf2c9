/* From a plan to a network of ours in its shape: which mixer a layer is, how many heads, what is rotated and
 * normalised. Widths may be scaled; the scale, what is assumed and what is left out are noted. What our
 * blocks cannot be is refused, with the reason: a network that only resembles the model would prove nothing
 * about it. */
#include "room.h"

#include <hopbound/config.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_DIM 16   /* of a scaled head */
#define MOST_REAL 1e15 /* RoPE's bases are up to 10^11 */

/* What a family's class has that no key of the file says, or the class's value where the file is silent.
 * Where each row is from: docs/ARCHITECTURE.md, the families that can be built. */
typedef struct manner {
    const char *names;   /* model_types, blank between and around */
    double theta, part;  /* RoPE's base (0: none) and the part of a head that is turned */
    double eps;          /* of norms */
    bool qk_norm, gate;  /* in attention */
    bool tied;           /* token table and read-out */
    int64_t groups;      /* of a Mamba-2 layer; 0: one */
    bool norm_in_groups; /* of its output */
    bool latent_queries; /* where q_lora_rank is absent */
    bool no_mlp;
    const char *left;   /* what is left out of the network; NULL: nothing */
    const char *refuse; /* why it cannot be; NULL: it can */
} manner;

#define IDLE_RELU2    "its MLPs' squared ReLU: a ReLU, and idle"
#define SANDWICH      "its blocks have norms behind mixers and MLPs, too; ours have them before"
#define BEHIND        "its blocks have norms behind mixers and MLPs; ours have them before"
#define POST_NORM     "its residual stream is what the norms give; ours goes past them"
#define LAYER_NORM    "its norms take the mean off; ours do not"
#define MULTIPLIERS   "its embedding, residual and logit multipliers: 1"
#define SHARED_KEYS   "the part of its keys that all heads share: 0"
#define ONE_KEYS_NORM "its attention layers have norms behind them, and one over all heads' queries and keys"
/* clang-format off */
static const manner manners[] = {
    {" llama mistral ministral Yi yi internlm2 ", 10000, 1, 1e-6, .left = NULL},
    {" mixtral ",                               1000000, 1, 1e-5, .left = NULL},
    {" smollm3 ",                               2000000, 1, 1e-6, .tied = true},
    {" qwen3 qwen3_moe ",                       10000, 1, 1e-6, .qk_norm = true},
    {" qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text ", 10000, 0.25, 1e-6, .qk_norm = true, .gate = true},
    {" kimi_linear ",                           0, 1, 1e-5, .left = SHARED_KEYS},
    {" deepseek_v2 deepseek_v3 kimi_k2 ",       10000, 1, 1e-6, .latent_queries = true,
     .left = SHARED_KEYS ", and with it all that is rotated"},
    {" nemotron_h nemotron_h_v2 ",              0, 1, 1e-5, .groups = 8, .norm_in_groups = true, .left = IDLE_RELU2},
    {" granitemoehybrid ",                      0, 1, 1e-6, .left = MULTIPLIERS},
    {" bamba ",                                 10000, 0.5, 1e-5, .left = NULL},
    {" mamba2 ",                                0, 1, 1e-5, .groups = 8, .no_mlp = true},
    {" jamba ",                                 0, 1, 1e-6, .left = "norms of its Mamba layers' dt, B and C"},
    {" minimax_text_01 minimax_m1 minimax ", .refuse = POST_NORM},
    {" phimoe ", .refuse = LAYER_NORM},
    {" gemma2 gemma3 gemma3_text gemma4_text ", .refuse = SANDWICH},
    {" vaultgemma ", .refuse = "its attention scores pass a tanh"},
    {" olmo2 olmo3 ", .refuse = BEHIND},
    {" bailing_hybrid ", .refuse = "its recurrent layers have norms, rotations and gates of their own"},
    {" olmo_hybrid ", .refuse = ONE_KEYS_NORM},
    {" gpt_oss ", .refuse = "its softmax has a sink for each head"},
};

/* Recurrences by the name that a plan has for them, and our mixer. */
static const struct { const char *kind, *mixer; } mixers[] = {
    {"gated_deltanet", "gdn"}, {"kda", "kda"}, {"mamba2", "mamba2"}, {"lightning", "lightning"}, {"mamba1", "mamba"},
};
/* clang-format on */

typedef struct shaper {
    hop__hf r;
    hop_config *c;
    hop_text *notes;
    const manner *as;
    const char *linear; /* the mixer of its recurrent layers; NULL: it has none */
    double scale;       /* of widths */
} shaper;

static void refuse(shaper *s, const char *why)
{
    const char *type = s->r.plan->model_type;
    hop__hf_fail(&s->r, HOP_EDOMAIN, "%s: cannot be built: %s", type[0] ? type : "no model_type", why);
}

static void set(shaper *s, const char *mixer, const char *name, double value)
{
    hop_error *err = s->r.err;
    if (s->r.status == HOP_OK) s->r.status = hop_config_set(s->c, -1, mixer, name, value, err);
}

/* ---- layers --------------------------------------------------------------------------------------- */

/* Why no block of ours is such a layer; NULL: one is. */
static const char *foreign(const hop_hf_layer *l)
{
    if (l->letter == 'S' && l->sparse) return "its attention picks or compresses tokens";
    if (l->letter == 'S' && l->chunked) return "its attention stays within chunks";
    if (l->letter == 'S' && l->window == 0) return "its window has no length";
    if (l->letter == 'H' || l->letter == 'h')
        return "attention and a recurrence in one layer; ours have one mixer";
    return strchr("FSL-E", l->letter) ? NULL : hop_hf_letter_means(l->letter);
}

/* Layers that no block of ours is, and models without attention whose states hold no table. */
static void check_layers(shaper *s)
{
    const hop_hf_plan *p = s->r.plan;
    char why[96];
    for (int64_t i = 0; s->r.status == HOP_OK && i < p->count; i++) {
        const char *reason = foreign(&p->layers[i]);
        if (!reason) continue;
        snprintf(why, sizeof why, "layer %lld: %s", (long long)i, reason);
        refuse(s, why);
    }
    if (s->r.status == HOP_OK && !p->attention.kind[0] && p->linear.key_rows == 0)
        refuse(s, "no layer attends, and no weights are known with which its states hold tables");
    if (s->r.status == HOP_OK && p->tied) refuse(s, "its layers share their weights");
    if (s->r.status == HOP_OK && p->sliding.kind[0]) refuse(s, "its layers with a window have other heads");
}

static void put_layers(shaper *s)
{
    const hop_hf_plan *p = s->r.plan;
    hop_text pattern = {0};
    int64_t folded = 0;
    for (int64_t i = 0; i < p->count; i++) {
        char letter = p->layers[i].letter;
        if (letter == '-' || letter == 'E')
            folded++; /* its MLP stands behind the mixer before it */
        else
            hop_text_printf(&pattern, "%s ", letter == 'F' ? "full" : letter == 'L' ? s->linear : "window");
    }
    if (pattern.failed || !pattern.s) hop__hf_fail(&s->r, HOP_ENOMEM, "out of memory");
    if (s->r.status == HOP_OK) s->r.status = hop_pattern_parse(&s->c->pattern, pattern.s, "", s->r.err);
    hop_text_free(&pattern);
    if (folded)
        hop_text_printf(s->notes, "%lld layers without a mixer: MLPs behind the mixers before them\n",
                        (long long)folded);
}

/* ---- attention ------------------------------------------------------------------------------------ */

/* A key's number, or the class's, which is noted. */
static double real_or_class(shaper *s, const char *keys, double of_class)
{
    if (hop__hf_has(&s->r, keys)) return hop__hf_real_to(&s->r, keys, MOST_REAL, of_class);
    hop_text_printf(s->notes, "%.*s = %g assumed\n", (int)strcspn(keys, "|"), keys, of_class);
    return of_class;
}

static void put_rope(shaper *s, int64_t dim)
{
    hop__hf *r = &s->r;
    const char *type = hop__hf_string(r, "position_embedding_type");
    double theta = s->as->theta;
    if (type && strcmp(type, "nope") == 0) theta = 0;
    if (type && strcmp(type, "rope") == 0 && theta == 0) theta = 10000;
    if (theta == 0) return;
    s->c->rope_theta = real_or_class(
        s, "rope_theta|rope_parameters.rope_theta|rope_parameters.full_attention.rope_theta", theta);
    if (hop__hf_has(r, "rope_scaling") || hop__hf_has(r, "rope_parameters.factor"))
        hop_text_printf(s->notes, "left out: the scaling of its rotary embedding\n");
    const char *keys = "partial_rotary_factor|rope_parameters.partial_rotary_factor";
    double part = s->as->part;
    int64_t turned = hop__hf_range(r, "rotary_dim|attn_rotary_emb", 1, dim, 0);
    if (!turned && (part < 1 || hop__hf_has(r, keys))) part = real_or_class(s, keys, part);
    if (!turned) turned = (int64_t)((double)dim * part);
    if (turned < dim && turned > 0)
        set(s, "full", "rope_dim", (double)turned), set(s, "window", "rope_dim", (double)turned);
}

/* smollm3: no_rope_layers has a 0 for each layer that is not rotated; without it every fourth is not. */
static void skip_rope(shaper *s)
{
    const hop_hf_plan *p = s->r.plan;
    if (!hop__hf_named(s->as->names, "smollm3")) return;
    const hop_json *list = hop__hf_list(&s->r, "no_rope_layers"), *v = list ? list->child : NULL;
    int64_t period = list ? 0 : hop__hf_size(&s->r, "no_rope_layer_interval", 4), rotated;
    for (int64_t i = 0; i < p->count && s->r.status == HOP_OK; i++, v = v ? v->next : NULL) {
        if (list && (!v || !hop_json_int(v, 0, 1, &rotated)))
            hop__hf_fail(&s->r, HOP_EFORMAT, "no_rope_layers: entry %lld is not 0 or 1", (long long)i);
        if (!list) rotated = (i + 1) % period != 0;
        if (s->r.status == HOP_OK && !rotated)
            s->r.status = hop_config_set(s->c, i, "", "rope_theta", 0, s->r.err);
    }
}

static void put_latent(shaper *s)
{
    hop__hf *r = &s->r;
    bool silent = !hop__hf_has(r, "q_lora_rank") && !hop__hf_is_null(r, "q_lora_rank");
    if (hop__hf_has(r, "q_lora_rank") || (silent && s->as->latent_queries))
        refuse(s, "its queries come from a latent vector");
    set(s, "full", "latent", (double)hop__hf_size(r, "kv_lora_rank", 512));
    s->c->head_dim = hop__hf_size(r, "qk_nope_head_dim", 128);
    s->c->attention_scale = 1 / sqrt((double)r->plan->attention.qk_dim);
}

static void put_attention(shaper *s)
{
    const hop_hf_attention *a = &s->r.plan->attention;
    const hop_hf_plan *p = s->r.plan;
    hop_config *c = s->c;
    static const char *const kinds[] = {"full", "window"};
    if (!a->kind[0]) { /* recurrent layers only, which have settings of their own */
        c->heads = c->kv_heads = p->linear.shape[0], c->head_dim = p->linear.shape[1];
        return;
    }
    c->heads = a->heads, c->kv_heads = a->kv_heads ? a->kv_heads : a->heads, c->head_dim = a->qk_dim;
    if (strcmp(a->kind, "mla") == 0) {
        put_latent(s);
    } else {
        put_rope(s, c->head_dim);
        skip_rope(s);
    }
    const char *factor = "attention_multiplier"; /* granite's */
    if (hop__hf_has(&s->r, factor) || hop__hf_named(s->as->names, "granitemoehybrid"))
        c->attention_scale = real_or_class(s, factor, 1);
    bool gate = hop__hf_flag(&s->r, "attn_output_gate|mla_use_output_gate", s->as->gate);
    for (int i = 0; i < 2; i++) {
        if (a->v_dim && a->v_dim != c->head_dim) set(s, kinds[i], "value_dim", (double)a->v_dim);
        if (s->as->qk_norm) set(s, kinds[i], "qk_norm", 1);
        if (gate) set(s, kinds[i], "gate", 1);
    }
    if (hop__hf_any(p, "S")) set(s, "window", "window", (double)p->window);
}

/* ---- recurrences ---------------------------------------------------------------------------------- */

static double scaled(const shaper *s, int64_t dim)
{
    double d = floor((double)dim * s->scale);
    return d >= LEAST_DIM ? d : dim < LEAST_DIM ? (double)dim : LEAST_DIM;
}

#define CONV_KEYS "linear_conv_kernel_dim|linear_attn_config.short_conv_kernel_size|conv_kernel|mamba_d_conv"

/* Channels, not heads. */
static void put_mamba(shaper *s, int64_t channels, int64_t state)
{
    double inner = scaled(s, channels);
    set(s, s->linear, "inner", inner), set(s, s->linear, "state_dim", (double)state);
    if (s->scale < 1)
        hop_text_printf(s->notes, "%s layers: %.0f channels, %lld in the model\n", s->linear, inner,
                        (long long)channels);
}

static void put_linear(shaper *s)
{
    const hop_hf_linear *l = &s->r.plan->linear;
    const char *mixer = s->linear;
    if (!mixer) return;
    int64_t heads = l->shape[0], key = l->shape[1], value = l->shape[2];
    bool mamba2 = strcmp(mixer, "mamba2") == 0;
    if (l->conv_elems) set(s, mixer, "conv", (double)hop__hf_size(&s->r, CONV_KEYS, 4));
    if (strcmp(mixer, "mamba") == 0) {
        put_mamba(s, heads, value);
        return;
    }
    int64_t keys = strcmp(mixer, "gdn") == 0 ? hop__hf_size(&s->r, "linear_num_key_heads", heads) : heads;
    set(s, mixer, "heads", (double)heads);
    set(s, mixer, "kv_heads", (double)keys);
    set(s, mixer, "head_dim", scaled(s, key));
    set(s, mixer, mamba2 ? "state_dim" : "value_dim", scaled(s, value));
    if (mamba2) {
        int64_t groups = hop__hf_size(&s->r, "mamba_n_groups|n_groups", s->as->groups ? s->as->groups : 1);
        set(s, mixer, "groups", (double)groups);
        if (s->as->norm_in_groups && groups > 1) set(s, mixer, "norm_groups", (double)groups);
    }
    if (s->scale < 1)
        hop_text_printf(s->notes, "%s layers: %lld heads; %lld x %lld numbers a head are %.0f x %.0f\n",
                        mixer, (long long)heads, (long long)key, (long long)value, scaled(s, key),
                        scaled(s, value));
}

/* ---- norms, biases, ends -------------------------------------------------------------------------- */

/* Sums and gates of another kind (Kimi K3), and biases, which are 0 here. */
static void note_rest(shaper *s)
{
    static const char *const biases[] = {"attention_bias", "qkv_bias", "bias",
                                         "use_bias",       "mlp_bias", "mamba_proj_bias"};
    hop__hf *r = &s->r;
    if (hop__hf_range(r, "attn_res_block_size", 0, HOP__HF_MAX_SIZE, 0) > 0)
        refuse(s, "its residual sums are attention over earlier blocks' outputs");
    if (hop__hf_has(r, "linear_attn_config.gate_lower_bound") ||
        hop__hf_flag(r, "linear_attn_config.use_full_rank_gate", false))
        refuse(s, "its delta layers have gates of another kind");
    for (size_t i = 0; i < sizeof biases / sizeof *biases; i++)
        if (hop__hf_flag(r, biases[i], false))
            hop_text_printf(s->notes, "left out: its biases (%s): 0\n", biases[i]);
    if (s->as->left) hop_text_printf(s->notes, "left out: %s\n", s->as->left);
}

static void put_ends(shaper *s)
{
    hop__hf outer = s->r;
    outer.text = s->r.root; /* a whole model's may stand outside */
    s->c->norm = HOP_NORM_RMS;
    s->c->norm_eps = real_or_class(s, "rms_norm_eps|layer_norm_epsilon|layer_norm_eps|norm_eps", s->as->eps);
    s->c->mlp = s->as->left && strcmp(s->as->left, IDLE_RELU2) == 0 ? HOP_MLP_RELU : HOP_MLP_SWIGLU;
    if (s->as->no_mlp) s->c->mlp = HOP_MLP_NONE;
    const char *key = "tie_word_embeddings";
    s->c->tied = hop__hf_flag(hop__hf_has(&s->r, key) ? &s->r : &outer, key, s->as->tied);
    if (s->r.status == HOP_OK) s->r.status = outer.status;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void find_manner(shaper *s)
{
    const hop_hf_plan *p = s->r.plan;
    char why[96];
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers && !s->linear; i++)
        if (strcmp(p->linear.kind, mixers[i].kind) == 0) s->linear = mixers[i].mixer;
    snprintf(why, sizeof why, "its recurrent layers are of a kind that is not taken over: %s",
             p->linear.kind);
    if (hop__hf_any(p, "L") && !s->linear) refuse(s, why);
    for (size_t i = 0; i < sizeof manners / sizeof *manners && !s->as; i++)
        if (hop__hf_named(manners[i].names, p->model_type)) s->as = &manners[i];
    if (s->r.status != HOP_OK) return;
    if (!s->as)
        refuse(s, "where its norms stand, what is rotated and what is gated is not known here");
    else if (s->as->refuse)
        refuse(s, s->as->refuse);
}

hop_status hop_hf_shape(hop_config *c, hop_text *notes, const hop_json *root, int64_t most, hop_error *err)
{
    hop_hf_plan plan;
    hop_config_init(c);
    hop_status status = hop_hf_read(&plan, root, err);
    if (status != HOP_OK) return status;
    shaper s = {.c = c, .notes = notes};
    s.r = (hop__hf){
        .root = root, .text = hop__hf_language_model(root), .plan = &plan, .err = err, .status = HOP_OK};
    check_layers(&s);
    if (s.r.status == HOP_OK) find_manner(&s);
    if (s.r.status == HOP_OK && plan.hidden == 0) refuse(&s, "the file has no hidden_size");
    if (s.r.status == HOP_OK) {
        c->d_model = most && most < plan.hidden ? most : plan.hidden;
        s.scale = fmin(1, (double)c->d_model / (double)plan.hidden);
        if (c->d_model != plan.hidden)
            hop_text_printf(notes, "d_model %lld, %lld in the model\n", (long long)c->d_model,
                            (long long)plan.hidden);
        put_ends(&s);
        put_layers(&s);
        put_attention(&s);
        put_linear(&s);
        note_rest(&s);
    }
    hop_hf_free(&plan);
    if (s.r.status != HOP_OK) hop_config_free(c);
    return s.r.status;
}
