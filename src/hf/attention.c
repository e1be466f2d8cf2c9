/* Widths of softmax attention, and how many numbers it keeps for a token. */
#include "room.h"

#include <string.h>

#define KV_KEYS "num_key_value_heads|num_kv_heads|n_head_kv|num_key_value_head|num_attention_groups"

#define HIDDEN_KEYS "hidden_size|d_model|n_embd|n_embed|embedding_dim|hidden_dim"

int64_t hop__hf_hidden(hop__hf *r)
{
    return hop__hf_size(r, HIDDEN_KEYS, r->family->assume.hidden);
}

int64_t hop__hf_hidden_if_known(hop__hf *r)
{
    return hop__hf_size(r, HIDDEN_KEYS, r->family->assume.hidden ? r->family->assume.hidden : -1);
}

int64_t hop__hf_heads(hop__hf *r)
{
    return hop__hf_size(r, "num_attention_heads|n_head|n_heads|num_heads|attention_heads",
                        r->family->assume.heads);
}

/* Consecutive query heads share a key head, so their numbers divide. */
static void grouped(hop__hf *r, hop_hf_attention *a, int64_t heads, int64_t kv_heads, int64_t dim)
{
    *a = (hop_hf_attention){.heads = heads, .kv_heads = kv_heads, .qk_dim = dim, .v_dim = dim};
    if (dim < 1) hop__hf_fail(r, HOP_EDOMAIN, "head_dim: more heads than the width has numbers");
    if (kv_heads < 1 || heads % (kv_heads ? kv_heads : 1))
        hop__hf_fail(r, HOP_EDOMAIN, "num_key_value_heads: %lld does not divide num_attention_heads %lld",
                     (long long)kv_heads, (long long)heads);
    strcpy(a->kind, kv_heads == heads ? "mha" : "gqa");
    a->cache_elems = hop__hf_mul(r, kv_heads, 2 * dim);
}

/* What is null is not the class's number: key heads are then the heads, and a head is its share of the width,
 * in every class that takes null at all. A part of a larger file leaves out what its class assumes; of an
 * unknown class that could be anything. */
static int64_t class_value(const hop__hf *r, int64_t value)
{
    return r->text != r->root && !r->family->names[1] ? -1 : value;
}

static int64_t kv_heads(hop__hf *r, int64_t heads)
{
    int64_t n = hop__hf_size(r, KV_KEYS, -1);
    if (n > 0) return n;
    n = hop__hf_is_null(r, "num_key_value_heads") ? 0 : class_value(r, r->family->assume.kv_heads);
    if (n != 0) return hop__hf_size(r, KV_KEYS, n > 0 ? n : 0);
    hop__hf_assume(r, "num_key_value_heads = num_attention_heads");
    return heads;
}

static int64_t head_dim(hop__hf *r, int64_t heads)
{
    int64_t d = hop__hf_size(r, "head_dim|attention_head_dim|d_head|kv_channels", -1);
    if (d > 0) return d;
    d = hop__hf_is_null(r, "head_dim") ? 0 : class_value(r, r->family->assume.head_dim);
    if (d != 0) return hop__hf_size(r, "head_dim", d > 0 ? d : 0);
    d = hop__hf_hidden(r) / heads;
    hop__hf_assume(r, "head_dim = hidden_size / num_attention_heads = %lld", (long long)d);
    return d;
}

/* Keys and values of all heads come from one latent vector, which is what is kept, beside a rotary key. */
typedef struct latent_sizes {
    int64_t rank, rotary, plain, value; /* assumed; 0: the file has to say */
} latent_sizes;

static int64_t size_or_none(hop__hf *r, const char *key, int64_t assumed)
{
    return hop__hf_has(r, key) ? hop__hf_range(r, key, 0, HOP__HF_MAX_SIZE, 0)
                               : hop__hf_size(r, key, assumed);
}

static void latent(hop__hf *r, latent_sizes assumed)
{
    int64_t rank = hop__hf_size(r, "kv_lora_rank", assumed.rank);
    int64_t rotary = size_or_none(r, "qk_rope_head_dim", assumed.rotary);
    int64_t plain = size_or_none(r, "qk_nope_head_dim", assumed.plain);
    if (rotary + plain < 1) hop__hf_fail(r, HOP_EDOMAIN, "qk_nope_head_dim: keys without a number");
    hop_hf_attention *a = &r->plan->attention;
    *a = (hop_hf_attention){.kind = "mla",
                            .heads = hop__hf_heads(r),
                            .qk_dim = plain + rotary,
                            .v_dim = hop__hf_size(r, "v_head_dim", assumed.value),
                            .cache_elems = rank + rotary};
    if (rank <= a->v_dim) return;
    a->reply_dim = rank; /* a kernel may sum latent vectors up and take values from the sum */
    hop__hf_assume(r, "M counts %lld numbers a head (kv_lora_rank: absorbed form; values: %lld)",
                   (long long)rank, (long long)a->v_dim);
}

/* Differential attention: every softmax weighs the values of two heads side by side. */
void hop__hf_widen_replies(hop__hf *r)
{
    static const char *const words[] = {"diff_att", "differential", "lambda_std"};
    bool differs = hop__hf_named(r->family->names, "phi4flash");
    for (const hop_json *v = r->text->child; v; v = v->next)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            differs = differs || (strstr(v->key, words[i]) && v->type != HOP_JSON_NULL &&
                                  !(v->type == HOP_JSON_BOOL && !v->boolean));
    if (!differs || !r->plan->attention.kind[0]) return;
    r->plan->attention.reply_dim = 2 * r->plan->attention.v_dim;
    if (r->plan->sliding.kind[0]) r->plan->sliding.reply_dim = 2 * r->plan->sliding.v_dim;
    hop__hf_assume(r, "M counts %lld numbers a head (differential attention: values of two heads)",
                   (long long)r->plan->attention.reply_dim);
}

static void grouped_by_keys(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r), kv = kv_heads(r, heads);
    grouped(r, &r->plan->attention, heads, kv, head_dim(r, heads));
}

void hop__hf_attention_usual(hop__hf *r)
{
    (hop__hf_has(r, "kv_lora_rank") ? hop__hf_attention_latent_given : grouped_by_keys)(r);
}

void hop__hf_attention_latent_given(hop__hf *r)
{
    latent(r, (latent_sizes){0});
}

/* Some files of these families say that theirs is the usual kind. */
void hop__hf_attention_latent(hop__hf *r)
{
    bool usual = !hop__hf_flag(r, "use_mla", true);
    if (!usual && hop__hf_is_null(r, "kv_lora_rank"))
        hop__hf_fail(r, HOP_EUNKNOWN, "kv_lora_rank: null, and use_mla does not say false");
    if (usual)
        grouped_by_keys(r);
    else
        latent(r, (latent_sizes){512, 64, 128, 128});
}

void hop__hf_attention_minicpm3(hop__hf *r)
{
    latent(r, (latent_sizes){.value = hop__hf_hidden(r) / hop__hf_heads(r)});
}

/* zamba: attention sees the embedding beside the hidden vector, its output goes into the recurrence, and
 * few blocks of weights serve all its layers. */
void hop__hf_attention_doubled(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r), kv = kv_heads(r, heads);
    grouped(r, &r->plan->attention, heads, kv, 2 * hop__hf_hidden(r) / heads);
    r->plan->in_sequence = r->plan->tied = true;
}

/* ---- older ways of saying it --------------------------------------------------------------- */

/* falcon, gpt_bigcode */
void hop__hf_attention_falcon(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r), kv;
    if (hop__hf_flag(r, "new_decoder_architecture", false))
        kv = hop__hf_size(r, KV_KEYS, heads);
    else
        kv = hop__hf_flag(r, "multi_query", true) ? 1 : heads;
    grouped(r, &r->plan->attention, heads, kv, hop__hf_hidden(r) / heads);
}

/* mpt, dbrx */
void hop__hf_attention_mpt(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r);
    const char *type = hop__hf_string(r, "attn_config.attn_type");
    if (hop__hf_range(r, "attn_config.sliding_window_size", -1, HOP__HF_MAX_SIZE, -1) > 0)
        hop__hf_unknown_rule(r, "attn_config.sliding_window_size");
    bool dbrx = strcmp(r->plan->model_type, "dbrx") == 0; /* whose class has one key head */
    int64_t kv = type && strcmp(type, "multiquery_attention") == 0 ? 1 : heads;
    if (dbrx || hop__hf_has(r, "attn_config.kv_n_heads")) kv = hop__hf_size(r, "attn_config.kv_n_heads", 1);
    grouped(r, &r->plan->attention, heads, kv, hop__hf_hidden(r) / heads);
}

/* Its first version is told by its keys, and looks ahead. */
void hop__hf_attention_chatglm(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r), kv = heads;
    if (!hop__hf_has(r, "multi_query_attention|kv_channels"))
        hop__hf_fail(r, HOP_EUNKNOWN, "chatglm: without multi_query_attention it is no decoder");
    if (hop__hf_flag(r, "multi_query_attention", false)) kv = hop__hf_size(r, "multi_query_group_num", 1);
    grouped(r, &r->plan->attention, heads, kv, head_dim(r, heads));
}

/* ---- two kinds in one model ---------------------------------------------------------------- */

static void with_value_dim(hop__hf *r, hop_hf_attention *a, int64_t value)
{
    a->v_dim = value;
    a->cache_elems = hop__hf_mul(r, a->kv_heads, a->qk_dim + value);
}

/* mimo_v2, step3p5: layers with a window have heads of their own. */
void hop__hf_attention_mimo(hop__hf *r)
{
    hop_hf_attention *a = &r->plan->attention, *s = &r->plan->sliding;
#define OTHER "attention_other_setting."
    hop__hf_attention_usual(r);
    with_value_dim(r, a, hop__hf_size(r, "v_head_dim", a->v_dim));
    int64_t heads = hop__hf_size(
        r, "swa_num_attention_heads|num_sliding_attention_heads|" OTHER "num_attention_heads", a->heads);
    int64_t kv = hop__hf_size(r, "swa_num_key_value_heads|" OTHER "num_attention_groups", a->kv_heads);
    grouped(r, s, heads, kv, hop__hf_size(r, "swa_head_dim|" OTHER "head_dim", a->qk_dim));
    with_value_dim(r, s, hop__hf_size(r, "swa_v_head_dim", a->v_dim));
#undef OTHER
}

/* Keys and values pass short convolutions before attention; its output, and that of the MLP, pass others
 * after it. */
static void convolve(hop__hf *r, hop_hf_attention *a, int64_t taps)
{
    a->conv_before = hop__hf_mul(r, 2 * hop__hf_mul(r, a->kv_heads, a->qk_dim), taps - 1);
    a->conv_after = hop__hf_mul(r, 2 * hop__hf_hidden(r), taps - 1);
}

void hop__hf_attention_inkling(hop__hf *r)
{
    int64_t taps = hop__hf_size(r, "conv_kernel_size|sconv_kernel_size", 0);
    hop__hf_attention_mimo(r);
    convolve(r, &r->plan->attention, taps);
    convolve(r, &r->plan->sliding, taps);
    strcpy(r->plan->remark, "short convolutions of keys, values and outputs around every layer's attention");
}

/* Global layers have wider heads, and fewer key heads where keys serve as values. */
void hop__hf_attention_gemma4(hop__hf *r)
{
    hop_hf_attention *a = &r->plan->attention;
    hop__hf_attention_usual(r);
    r->plan->sliding = *a;
    int64_t kv = a->kv_heads;
    if (hop__hf_flag(r, "attention_k_eq_v", false)) kv = hop__hf_size(r, "num_global_key_value_heads", kv);
    grouped(r, a, a->heads, kv, hop__hf_size(r, "global_head_dim", 512));
}

/* One vector serves as key and value; what is kept depends on a layer's compression. */
void hop__hf_attention_deepseek_v4(hop__hf *r)
{
    hop__hf_attention_usual(r);
    r->plan->attention.cache_elems = 0;
    strcpy(r->plan->remark, "one shared key-value head; the cache of a layer depends on its compress ratio");
}

/* ---- attention beside a recurrence, with keys of its own ----------------------------------- */

/* What attn's members say, for the layers with a window and for those without. */
void hop__hf_attention_fla(hop__hf *r)
{
    hop_hf_attention *full = &r->plan->attention, *slides = &r->plan->sliding, new;
    char path[16];
    for (int k = 0; hop__hf_spec(r, k, path); k++) {
        int64_t heads = hop__hf_spec_size(r, path, "num_heads"),
                kv = hop__hf_spec_size(r, path, "num_kv_heads");
        hop_hf_attention *a = hop__hf_spec_size(r, path, "window_size") ? slides : full;
        if (!heads) hop__hf_fail(r, HOP_EFORMAT, "%s.num_heads: absent", path);
        grouped(r, &new, heads, kv ? kv : heads, hop__hf_hidden(r) / (heads ? heads : 1));
        if (a->kind[0] && (a->heads != new.heads || a->kv_heads != new.kv_heads))
            hop__hf_fail(r, HOP_EUNKNOWN, "%s.num_heads: heads that differ are not read", path);
        *a = new;
    }
    if (!full->kind[0] && slides->kind[0]) {
        *full = *slides;
        *slides = (hop_hf_attention){0};
    } else if (!full->kind[0]) { /* samba's class has an attn of its own */
        int64_t heads = hop__hf_heads(r);
        grouped(r, full, heads, heads, hop__hf_hidden(r) / heads);
    }
    if (slides->heads == full->heads && slides->kv_heads == full->kv_heads) *slides = (hop_hf_attention){0};
}

void hop__hf_attention_mamba_ssm(hop__hf *r)
{
    int64_t heads = hop__hf_size(r, "attn_cfg.num_heads", 0),
            kv = hop__hf_size(r, "attn_cfg.num_heads_kv", -1);
    int64_t dim = hop__hf_size(r, "attn_cfg.head_dim", -1);
    grouped(r, &r->plan->attention, heads, kv ? kv : heads, dim ? dim : hop__hf_hidden(r) / heads);
}
