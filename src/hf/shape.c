/* From a plan to a network of ours in its shape: which mixer a layer is, how many heads, what is rotated and
 * normalised. Widths may be scaled; the scale, what is assumed and what is left out are noted. What our
 * blocks cannot be is refused, with the reason: a network that only resembles the model would prove nothing
 * about it. */
#include "room.h"

#include <hopbound/config.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEAST_DIM 16 /* of a scaled head */

/* What a family's class has that no key of the file says. */
typedef struct manner {
    const char *names; /* model_types, blank between and around */
    double theta,
        part; /* RoPE's base (0: none) and the part of a head that is turned, where the file is silent */
    bool qk_norm, gate; /* in attention */
    bool tied;          /* of token table and read-out, where the file is silent */
    const char *left;   /* what is left out of the network; NULL: nothing */
    const char *refuse; /* why it cannot be; NULL: it can */
} manner;

#define IDLE_RELU2    "its MLPs' squared ReLU: a ReLU, and idle"
#define SANDWICH      "its blocks have norms behind mixers and MLPs, too; ours have them before"
#define MULTIPLIERS   "its embedding, residual and logit multipliers: 1"
#define SHARED_KEYS   "the part of its keys that all heads share: 0"
#define ONE_KEYS_NORM "its norm is over all heads' queries and keys at once; ours is per head"
/* clang-format off */
static const manner manners[] = {
    {" llama mistral ministral mixtral phimoe internlm2 Yi yi smollm3 ", 10000, 1, .left = NULL},
    {" qwen3 qwen3_moe ",                       10000, 1, .qk_norm = true},
    {" qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text ", 10000, 0.25, .qk_norm = true, .gate = true},
    {" kimi_linear ",                           0, 1, .left = SHARED_KEYS},
    {" deepseek_v3 kimi_k2 ",                   10000, 1, .left = SHARED_KEYS ", and with it all that is rotated"},
    {" nemotron_h nemotron_h_v2 ",              0, 1, .left = IDLE_RELU2},
    {" granitemoehybrid ",                      0, 1, .tied = true, .left = MULTIPLIERS},
    {" bamba ",                                 10000, 1, .left = NULL},
    {" jamba ",                                 0, 1, .left = "norms of its Mamba layers' dt, B and C"},
    {" minimax_text_01 ",                       10000, 1, .left = "the factors of its residual sums: 1"},
    {" gemma2 gemma3 gemma3_text gemma4_text vaultgemma ", 10000, 1, .refuse = SANDWICH},
    {" olmo2 olmo3 olmo_hybrid ",               500000, 1, .refuse = ONE_KEYS_NORM},
    {" gpt_oss ",                               150000, 1, .refuse = "its softmax has a sink for each head"},
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

/* Layers that no block of ours is, and models without attention. */
static void check_layers(shaper *s)
{
    const hop_hf_plan *p = s->r.plan;
    char why[96];
    for (int64_t i = 0; s->r.status == HOP_OK && i < p->count; i++) {
        const hop_hf_layer *l = &p->layers[i];
        bool window = l->letter == 'S' && !l->sparse && !l->chunked && l->window > 0;
        if (window || strchr("FL-E", l->letter)) continue;
        snprintf(why, sizeof why, "layer %lld: %s", (long long)i, hop_hf_letter_means(l->letter));
        refuse(s, why);
    }
    if (s->r.status == HOP_OK && !p->attention.kind[0]) refuse(s, "no layer attends");
    if (s->r.status == HOP_OK && p->tied) refuse(s, "its layers share their weights");
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

static void put_rope(shaper *s, int64_t dim)
{
    hop__hf *r = &s->r;
    const char *type = hop__hf_string(r, "position_embedding_type");
    double theta = s->as->theta;
    if (type && strcmp(type, "nope") == 0) theta = 0;
    if (type && strcmp(type, "rope") == 0 && theta == 0) theta = 10000;
    if (theta == 0) return;
    const char *keys = "rope_theta|rope_parameters.rope_theta|rope_parameters.full_attention.rope_theta";
    if (!hop__hf_has(r, keys)) hop_text_printf(s->notes, "rope_theta = %g assumed\n", theta);
    s->c->rope_theta = hop__hf_real(r, keys, theta);
    if (hop__hf_has(r, "rope_scaling") || hop__hf_has(r, "rope_parameters.factor"))
        hop_text_printf(s->notes, "left out: the scaling of its rotary embedding\n");
    keys = "partial_rotary_factor|rope_parameters.partial_rotary_factor";
    double part = s->as->part;
    if (part < 1 && !hop__hf_has(r, keys))
        hop_text_printf(s->notes, "partial_rotary_factor = %g assumed\n", part);
    if (hop__hf_has(r, keys)) part = hop__hf_real(r, keys, part);
    int64_t turned = hop__hf_range(r, "rotary_dim|attn_rotary_emb", 1, dim, (int64_t)((double)dim * part));
    if (turned < dim && turned > 0)
        set(s, "full", "rope_dim", (double)turned), set(s, "window", "rope_dim", (double)turned);
}

static void put_attention(shaper *s)
{
    const hop_hf_attention *a = &s->r.plan->attention;
    const hop_hf_plan *p = s->r.plan;
    hop_config *c = s->c;
    static const char *const kinds[] = {"full", "window"};
    c->heads = a->heads, c->kv_heads = a->kv_heads ? a->kv_heads : a->heads, c->head_dim = a->qk_dim;
    if (strcmp(a->kind, "mla") == 0) {
        if (hop__hf_has(&s->r, "q_lora_rank")) refuse(s, "its queries come from a latent vector");
        int64_t nope = hop__hf_size(&s->r, "qk_nope_head_dim", 0),
                latent = hop__hf_size(&s->r, "kv_lora_rank", 0);
        set(s, "full", "latent", (double)latent);
        c->head_dim = nope, c->attention_scale = 1 / sqrt((double)a->qk_dim);
    } else {
        put_rope(s, c->head_dim);
    }
    double scale =
        hop__hf_has(&s->r, "attention_multiplier") ? hop__hf_real(&s->r, "attention_multiplier", 1) : 0;
    if (scale > 0) c->attention_scale = scale;
    for (int i = 0; i < 2; i++) {
        if (a->v_dim && a->v_dim != c->head_dim) set(s, kinds[i], "value_dim", (double)a->v_dim);
        if (s->as->qk_norm) set(s, kinds[i], "qk_norm", 1);
        if (s->as->gate) set(s, kinds[i], "gate", 1);
    }
    if (hop__hf_any(p, "S")) set(s, "window", "window", (double)p->window);
}

/* ---- recurrences ---------------------------------------------------------------------------------- */

static double scaled(const shaper *s, int64_t dim)
{
    double d = floor((double)dim * s->scale);
    return d >= LEAST_DIM ? d : dim < LEAST_DIM ? (double)dim : LEAST_DIM;
}

static void put_linear(shaper *s)
{
    const hop_hf_linear *l = &s->r.plan->linear;
    const char *mixer = s->linear;
    if (!mixer) return;
    int64_t heads = l->shape[0], key = l->shape[1], value = l->shape[2];
    if (strcmp(mixer, "mamba") == 0) { /* channels, not heads */
        set(s, mixer, "inner", 2 * (double)s->c->d_model), set(s, mixer, "state_dim", (double)value);
        hop_text_printf(s->notes, "%s layers: %lld channels, %lld in the model\n", mixer,
                        (long long)(2 * s->c->d_model), (long long)heads);
        return;
    }
    int64_t groups = hop__hf_size(&s->r, "mamba_n_groups|n_groups", 1);
    int64_t keys = strcmp(mixer, "gdn") == 0 ? hop__hf_size(&s->r, "linear_num_key_heads", heads) : heads;
    bool mamba2 = strcmp(mixer, "mamba2") == 0;
    set(s, mixer, "heads", (double)heads);
    set(s, mixer, "kv_heads", (double)keys);
    set(s, mixer, "head_dim", scaled(s, key));
    set(s, mixer, mamba2 ? "state_dim" : "value_dim", scaled(s, value));
    if (mamba2) set(s, mixer, "groups", (double)groups);
    if (s->scale < 1)
        hop_text_printf(s->notes, "%s layers: %lld heads; %lld x %lld numbers a head are %.0f x %.0f\n",
                        mixer, (long long)heads, (long long)key, (long long)value, scaled(s, key),
                        scaled(s, value));
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void find_manner(shaper *s)
{
    const hop_hf_plan *p = s->r.plan;
    for (size_t i = 0; i < sizeof manners / sizeof *manners && !s->as; i++)
        if (hop__hf_named(manners[i].names, p->model_type)) s->as = &manners[i];
    if (!s->as)
        refuse(s, "its norms and rotary embeddings are not known here");
    else if (s->as->refuse)
        refuse(s, s->as->refuse);
    for (size_t i = 0; i < sizeof mixers / sizeof *mixers && !s->linear; i++)
        if (strcmp(p->linear.kind, mixers[i].kind) == 0) s->linear = mixers[i].mixer;
    if (s->r.status == HOP_OK && hop__hf_any(p, "L") && !s->linear)
        refuse(s, "its recurrent layers are no mixer here");
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
        c->norm = HOP_NORM_RMS;
        c->mlp = s.as->left && strcmp(s.as->left, IDLE_RELU2) == 0 ? HOP_MLP_RELU : HOP_MLP_SWIGLU;
        c->tied = hop__hf_flag(&s.r, "tie_word_embeddings", s.as->tied);
        put_layers(&s);
        put_attention(&s);
        put_linear(&s);
        if (s.as->left) hop_text_printf(notes, "left out: %s\n", s.as->left);
    }
    hop_hf_free(&plan);
    if (s.r.status != HOP_OK) hop_config_free(c);
    return s.r.status;
}
