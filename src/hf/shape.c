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

/* clang-format off */
/* Recurrences by the name that a plan has for them, and our mixer. */
static const struct { const char *kind, *mixer; } mixers[] = {
    {"gated_deltanet", "gdn"}, {"kda", "kda"}, {"mamba2", "mamba2"}, {"lightning", "lightning"},
    {"mamba1", "mamba"},
};
/* clang-format on */

typedef struct shaper {
    hop__hf r;
    hop_config *c;
    hop_text *notes;
    const char *linear; /* the mixer of its recurrent layers; NULL: it has none */
    double scale;       /* of widths */
} shaper;

static void refuse(shaper *s, const char *why)
{
    const char *type = s->r.plan->model_type;
    hop__hf_fail(&s->r, HOP_EDOMAIN, "%s: cannot be built: %s", type[0] ? type : "no model_type", why);
}

/* What a family's class has that no key of the file says, or the class's value where the file is silent: the
 * words of its statement `block`. */
static double fact(const shaper *s, const char *word)
{
    return hop__hf_number(&s->r, "block", word);
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
    double theta = fact(s, "theta");
    if (type && strcmp(type, "nope") == 0) theta = 0;
    if (type && strcmp(type, "rope") == 0 && theta == 0) theta = 10000;
    if (theta == 0) return;
    s->c->rope_theta = real_or_class(
        s, "rope_theta|rope_parameters.rope_theta|rope_parameters.full_attention.rope_theta", theta);
    if (hop__hf_has(r, "rope_scaling") || hop__hf_has(r, "rope_parameters.factor"))
        hop_text_printf(s->notes, "left out: the scaling of its rotary embedding\n");
    const char *keys = "partial_rotary_factor|rope_parameters.partial_rotary_factor";
    double part = fact(s, "rotary") > 0 ? fact(s, "rotary") : 1;
    int64_t rotary = hop__hf_range(r, "rotary_dim|attn_rotary_emb", 1, dim, 0);
    if (!rotary && (part < 1 || hop__hf_has(r, keys))) part = real_or_class(s, keys, part);
    if (!rotary) rotary = (int64_t)((double)dim * part);
    if (rotary < dim && rotary > 0)
        set(s, "full", "rope_dim", (double)rotary), set(s, "window", "rope_dim", (double)rotary);
}

/* Layers that are not rotated. */
static void skip_rope(shaper *s)
{
    for (int64_t i = 0; i < s->r.plan->count && s->r.status == HOP_OK; i++)
        if (hop__hf_fact_value(&s->r, "unrotated", i, 0) && s->r.status == HOP_OK)
            s->r.status = hop_config_set(s->c, i, "", "rope_theta", 0, s->r.err);
}

static void put_latent(shaper *s)
{
    hop__hf *r = &s->r;
    bool silent = !hop__hf_has(r, "q_lora_rank") && !hop__hf_is_null(r, "q_lora_rank");
    if (hop__hf_has(r, "q_lora_rank") || (silent && fact(s, "latent_queries") != 0))
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
    if (hop__hf_has(&s->r, factor) || fact(s, "scale") > 0)
        c->attention_scale = real_or_class(s, factor, fact(s, "scale") > 0 ? fact(s, "scale") : 1);
    bool gate = hop__hf_flag(&s->r, "attn_output_gate|mla_use_output_gate", fact(s, "gate") != 0);
    for (int i = 0; i < 2; i++) {
        if (a->v_dim && a->v_dim != c->head_dim) set(s, kinds[i], "value_dim", (double)a->v_dim);
        if (fact(s, "qk_norm") != 0) set(s, kinds[i], "qk_norm", 1);
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
        int64_t of_class = fact(s, "groups") > 0 ? (int64_t)fact(s, "groups") : 1;
        int64_t groups = hop__hf_size(&s->r, "mamba_n_groups|n_groups", of_class);
        set(s, mixer, "groups", (double)groups);
        if (fact(s, "norm_in_groups") != 0 && groups > 1) set(s, mixer, "norm_groups", (double)groups);
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
    hop__span left;
    if (hop__hf_fact(r, "left_out", &left))
        hop_text_printf(s->notes, "left out: %.*s\n", (int)(left.end - left.at), left.at);
}

static void put_ends(shaper *s)
{
    hop__hf outer = s->r;
    outer.text = s->r.root; /* a whole model's may stand outside */
    s->c->norm = HOP_NORM_RMS;
    const char *eps = "rms_norm_eps|layer_norm_epsilon|layer_norm_eps|norm_eps";
    s->c->norm_eps = real_or_class(s, eps, fact(s, "eps"));
    s->c->mlp = fact(s, "no_mlp") != 0 ? HOP_MLP_NONE : fact(s, "relu") != 0 ? HOP_MLP_RELU : HOP_MLP_SWIGLU;
    const char *key = "tie_word_embeddings";
    s->c->tied = hop__hf_flag(hop__hf_has(&s->r, key) ? &s->r : &outer, key, fact(s, "tied") != 0);
    if (s->r.status == HOP_OK) s->r.status = outer.status;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void check_family(shaper *s)
{
    const hop_hf_plan *p = s->r.plan;
    hop__span rest;
    char why[160];
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers && !s->linear; i++)
        if (strcmp(p->linear.kind, mixers[i].kind) == 0) s->linear = mixers[i].mixer;
    snprintf(why, sizeof why, "its recurrent layers are of a kind that is not taken over: %s",
             p->linear.kind);
    if (hop__hf_any(p, "L") && !s->linear) refuse(s, why);
    if (hop__hf_fact(&s->r, "unlike", &rest)) {
        hop__span_copy(why, sizeof why, rest);
        refuse(s, why);
    } else if (!hop__hf_fact(&s->r, "block", &rest)) {
        refuse(s, "where its norms stand, what is rotated and what is gated is not known here");
    }
}

hop_status hop_hf_shape(hop_config *c, hop_text *notes, const hop_json *root, const hop_hf_families *f,
                        int64_t most, hop_error *err)
{
    hop_hf_plan plan;
    hop_config_init(c);
    hop_status status = hop_hf_read(&plan, root, f, err);
    if (status != HOP_OK) return status;
    shaper s = {.c = c, .notes = notes};
    hop__hf_begin(&s.r, &plan, root, f, err);
    check_layers(&s);
    if (s.r.status == HOP_OK) check_family(&s);
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
