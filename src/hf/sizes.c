/* Widths of softmax attention and sizes of states: what the usual keys say, and the rows `attention` and
 * `state` that families name, whose statements are executed in their order. */
#include "room.h"

#include <stdio.h>
#include <string.h>

#define MAX_ELEMS ((int64_t)1 << 40) /* more is a mistake, and bits of it still fit 64 bits */

int64_t hop__hf_mul(hop__hf *r, int64_t a, int64_t b)
{
    if (a >= 0 && b >= 0 && (b == 0 || a <= MAX_ELEMS / b)) return a * b;
    hop__hf_fail(r, HOP_EDOMAIN, "sizes: %lld times %lld is more than a layer can hold", (long long)a,
                 (long long)b);
    return 0;
}

/* ---- the usual keys ------------------------------------------------------------------------------ */

int64_t hop__hf_hidden(hop__hf *r)
{
    char keys[HOP__HF_MAX_KEYS];
    return hop__hf_size(r, hop__hf_keys(r, "hidden", keys), hop__hf_class(r, "hidden"));
}

int64_t hop__hf_hidden_if_known(hop__hf *r)
{
    char keys[HOP__HF_MAX_KEYS];
    int64_t assumed = hop__hf_class(r, "hidden");
    return hop__hf_size(r, hop__hf_keys(r, "hidden", keys), assumed > 0 ? assumed : -1);
}

int64_t hop__hf_heads(hop__hf *r)
{
    char keys[HOP__HF_MAX_KEYS];
    return hop__hf_size(r, hop__hf_keys(r, "heads", keys), hop__hf_class(r, "heads"));
}

/* What is null is not the class's number: key heads are then the heads, and a head is its share of the width,
 * in every class that takes null at all. A part of a larger file leaves out what its class assumes; of an
 * unknown class that could be anything. -1: the file has to say. */
static int64_t of_class(const hop__hf *r, const char *key, const char *word)
{
    if (hop__hf_is_null(r, key)) return 0;
    return r->text != r->root && !r->named ? -1 : hop__hf_class(r, word);
}

int64_t hop__hf_kv_heads(hop__hf *r)
{
    char keys[HOP__HF_MAX_KEYS];
    int64_t n = hop__hf_size(r, hop__hf_keys(r, "kv_heads", keys), -1);
    if (n > 0) return n;
    n = of_class(r, "num_key_value_heads", "kv_heads");
    if (n != 0) return hop__hf_size(r, keys, n > 0 ? n : 0);
    n = hop__hf_heads(r);
    hop__hf_assume(r, "num_key_value_heads = num_attention_heads");
    return n;
}

int64_t hop__hf_head_dim(hop__hf *r)
{
    char keys[HOP__HF_MAX_KEYS];
    int64_t d = hop__hf_size(r, hop__hf_keys(r, "head_dim", keys), -1);
    if (d > 0) return d;
    d = of_class(r, "head_dim", "head_dim");
    if (d != 0) return hop__hf_size(r, "head_dim", d > 0 ? d : 0);
    d = hop__hf_hidden(r) / hop__hf_heads(r);
    hop__hf_assume(r, "head_dim = hidden_size / num_attention_heads = %lld", (long long)d);
    return d;
}

/* ---- rows of statements --------------------------------------------------------------------------- */

#define MOST_USES 8 /* rows within rows */

static void run(hop__hf *r, const char *kind, hop__span name, int depth);

static void say_remark(hop__hf *r, hop__span text)
{
    hop__span_copy(r->plan->remark, sizeof r->plan->remark, text);
}

static void read_shape(hop__hf *r, hop__span text)
{
    hop_hf_linear *l = &r->plan->linear;
    hop__eval e = {.r = r, .in = text};
    for (int k = 0; k < 3; k++) {
        l->shape[k] = hop__evaluate(&e);
        hop__span_sign(&e.in, ',');
    }
    l->recurrent_elems = hop__hf_mul(r, hop__hf_mul(r, l->shape[0], l->shape[1]), l->shape[2]);
}

/* `become NAME if ..`: the rest of the row does not count. */
static bool becomes(hop__hf *r, const char *kind, hop__span text, int depth)
{
    hop__span name = hop__span_word(&text);
    if (hop__span_skip(&text, "if") && !hop__hf_value(r, text, 0)) return false;
    run(r, kind, name, depth);
    return true;
}

static bool execute(hop__hf *r, const char *kind, hop__span name, hop__span rest, int depth)
{
    hop_hf_linear *l = &r->plan->linear;
    hop__span value = rest;
    if (hop__span_skip(&value, "="))
        hop__hf_assign(r, name, hop__hf_value(r, value, r->layer));
    else if (hop__span_is(name, "use"))
        run(r, kind, rest, depth);
    else if (hop__span_is(name, "become"))
        return becomes(r, kind, rest, depth);
    else if (hop__span_is(name, "refuse"))
        hop__hf_refuse_if(r, rest);
    else if (hop__span_is(name, "remark"))
        say_remark(r, rest);
    else if (hop__span_is(name, "specs"))
        hop__hf_attention_specs(r);
    else if (hop__span_is(name, "kind"))
        hop__span_copy(l->kind, sizeof l->kind, rest);
    else if (hop__span_is(name, "float32"))
        hop__span_copy(l->declared_by, sizeof l->declared_by, rest);
    else if (hop__span_is(name, "shape"))
        read_shape(r, rest);
    return false;
}

static void run(hop__hf *r, const char *kind, hop__span name, int depth)
{
    hop__row row;
    hop__span body, word, rest;
    if (depth > MOST_USES || !hop__hf_row(r, kind, name, NULL, &row)) {
        hop__hf_fail(r, HOP_EFORMAT, "families: %s \"%.*s\": %s", kind, (int)(name.end - name.at), name.at,
                     depth > MOST_USES ? "uses itself" : "there is no such row");
        return;
    }
    body = row.body;
    while (r->status == HOP_OK && hop__statement_next(&body, &word, &rest))
        if (execute(r, kind, word, rest, depth + 1)) break;
}

void hop__hf_run(hop__hf *r, const char *kind, hop__span name)
{
    run(r, kind, name, 0);
}

/* ---- attention ------------------------------------------------------------------------------------- */

/* Consecutive query heads share a key head, so their numbers divide. */
void hop__hf_grouped(hop__hf *r, hop_hf_attention *a, int64_t heads, int64_t kv_heads, int64_t dim)
{
    *a = (hop_hf_attention){.heads = heads, .kv_heads = kv_heads, .qk_dim = dim, .v_dim = dim};
    if (dim < 1) hop__hf_fail(r, HOP_EDOMAIN, "head_dim: more heads than the width has numbers");
    if (kv_heads < 1 || heads % (kv_heads ? kv_heads : 1))
        hop__hf_fail(r, HOP_EDOMAIN, "num_key_value_heads: %lld does not divide num_attention_heads %lld",
                     (long long)kv_heads, (long long)heads);
    strcpy(a->kind, kv_heads == heads ? "mha" : "gqa");
    a->cache_elems = hop__hf_mul(r, kv_heads, 2 * dim);
}

/* Keys and values pass short convolutions before attention; its output, and that of the MLP, pass others
 * after it. */
static void put_grouped(hop__hf *r, hop_hf_attention *a, const int64_t sizes[4])
{
    hop__hf_grouped(r, a, sizes[0], sizes[1], sizes[2]);
    a->v_dim = sizes[3];
    a->cache_elems = hop__hf_mul(r, a->kv_heads, a->qk_dim + a->v_dim);
    int64_t taps = hop__hf_out(r, "taps", 1);
    a->conv_before =
        hop__hf_mul(r, 2 * hop__hf_mul(r, a->kv_heads, a->qk_dim), taps - 1) + hop__hf_out(r, "held", 0);
    if (taps > 1) a->conv_after = hop__hf_mul(r, 2 * hop__hf_hidden(r), taps - 1);
}

/* Keys and values of all heads come from one latent vector, which is what is kept, beside a rotary key. */
static void put_latent(hop__hf *r, hop_hf_attention *a, int64_t rank)
{
    int64_t rope = hop__hf_out(r, "rope", 0), plain = hop__hf_out(r, "nope", 0);
    if (rope + plain < 1) hop__hf_fail(r, HOP_EDOMAIN, "qk_nope_head_dim: keys without a number");
    *a = (hop_hf_attention){.kind = "mla",
                            .heads = hop__hf_out(r, "heads", 1),
                            .qk_dim = plain + rope,
                            .v_dim = hop__hf_out(r, "value", 1),
                            .cache_elems = rank + rope};
    if (rank <= a->v_dim) return;
    a->reply_dim = rank; /* a kernel may sum latent vectors up and take values from the sum */
    hop__hf_assume(r, "M counts %lld numbers a head (kv_lora_rank: absorbed form; values: %lld)",
                   (long long)rank, (long long)a->v_dim);
}

/* Differential attention: every softmax weighs the values of two heads side by side. */
static void widen_replies(hop__hf *r)
{
    hop__span rest;
    bool differs = hop__hf_fact(r, "differential", &rest);
    for (const hop_json *v = r->text->child; v; v = v->next)
        differs = differs || (hop__hf_listed(r, "differential", v->key) && v->type != HOP_JSON_NULL &&
                              !(v->type == HOP_JSON_BOOL && !v->boolean));
    if (!differs) return;
    r->plan->attention.reply_dim = 2 * r->plan->attention.v_dim;
    if (r->plan->sliding.kind[0]) r->plan->sliding.reply_dim = 2 * r->plan->sliding.v_dim;
    hop__hf_assume(r, "M counts %lld numbers a head (differential attention: values of two heads)",
                   (long long)r->plan->attention.reply_dim);
}

/* The sizes that a row has given; those of layers with a window, if it has any. */
static void put_attention(hop__hf *r)
{
    hop_hf_attention *a = &r->plan->attention;
    int64_t rank = hop__hf_out(r, "rank", 0), dim = hop__hf_out(r, "dim", 0);
    int64_t heads = hop__hf_out(r, "heads", 1), kv = hop__hf_out(r, "kv", 0);
    int64_t sizes[4] = {heads, kv, dim, hop__hf_out(r, "value", dim)};
    if (rank)
        put_latent(r, a, rank);
    else
        put_grouped(r, a, sizes);
    if (hop__hf_out(r, "swa_heads", 0)) {
        sizes[0] = hop__hf_out(r, "swa_heads", 1);
        sizes[1] = hop__hf_out(r, "swa_kv", 0);
        dim = sizes[2] = hop__hf_out(r, "swa_dim", 0);
        sizes[3] = hop__hf_out(r, "swa_value", dim);
        put_grouped(r, &r->plan->sliding, sizes);
    }
    if (hop__hf_out(r, "cache_differs", 0)) a->cache_elems = 0;
    r->plan->in_sequence = r->plan->tied = hop__hf_out(r, "shared", 0) != 0;
}

/* By the family's row, of layers with one of `letters`. */
static void read_attention(hop__hf *r, const char *letters)
{
    static const char usual[] = "usual";
    hop__span name = {usual, usual + strlen(usual)};
    r->var_count = 0;
    r->plan->attention = (hop_hf_attention){0};
    hop__hf_kind(r, letters);
    hop__hf_fact(r, "attention", &name);
    run(r, "attention", name, 0);
    if (r->status == HOP_OK && !r->plan->attention.kind[0]) put_attention(r);
    hop__hf_kind(r, NULL);
}

/* Where the file itself gives sizes layer by layer, those of layers with a window are theirs. */
static void read_sliding(hop__hf *r)
{
    hop_hf_attention full = r->plan->attention;
    read_attention(r, "Sh");
    r->plan->sliding = r->plan->attention;
    r->plan->attention = full;
}

void hop__hf_attention(hop__hf *r)
{
    hop__hf_check_layered(r);
    read_attention(r, hop__hf_any(r->plan, "FHC") ? "FHC" : "Sh");
    if (r->status == HOP_OK && hop__hf_any(r->plan, "FHC") && hop__hf_any(r->plan, "Sh") &&
        hop__hf_is_layered(r))
        read_sliding(r);
    if (!hop__hf_any(r->plan, "Sh")) r->plan->sliding = (hop_hf_attention){0};
    if (r->status == HOP_OK) widen_replies(r);
}

/* ---- states ---------------------------------------------------------------------------------------- */

/* Without a name of its own, the first recurrence whose keys are there. */
static void by_keys(hop__hf *r)
{
    hop__span text = r->built_in, body, name, rest;
    hop__row row;
    while (hop__row_next(&text, &row)) {
        if (!hop__span_is(row.kind, "state")) continue;
        for (body = row.body; hop__statement_next(&body, &name, &rest);) {
            if (!hop__span_is(name, "found") || !hop__hf_value(r, rest, 0)) continue;
            hop__span_word(&row.names);
            run(r, "state", hop__span_word(&row.names), 0);
            return;
        }
    }
    hop__hf_fail(
        r, HOP_EUNKNOWN,
        "unknown recurrence of model_type \"%s\": looked for linear_attn_config, linear_num_value_heads, "
        "mamba_num_heads, mamba_n_heads, conv_L_cache and the sizes beside them",
        r->plan->model_type);
}

/* heads x key x value numbers, `conv` behind short convolutions, and what can be read as a table: by so many
 * keys in all heads with keys of their own, if they are convolved, rows of so many numbers. */
static void put_state(hop__hf *r)
{
    hop_hf_linear *l = &r->plan->linear;
    l->conv_elems = hop__hf_out(r, "conv", 0);
    if (!l->kind[0] || l->conv_elems < 0 || l->shape[0] < 0 || (l->shape[0] && l->recurrent_elems == 0))
        hop__hf_fail(r, HOP_EDOMAIN, "sizes: a state of %s without a number", l->kind);
    l->recurrent_elems += hop__hf_out(r, "extra", 0);
    l->window = hop__hf_out(r, "window", 0);
    l->weight_elems = hop__hf_out(r, "weights", 0);
    l->taps = l->conv_elems ? hop__hf_out(r, "taps", 0) : 0;
    l->key_rows = l->conv_elems > 0 ? hop__hf_out(r, "table", 0) : 0;
    l->row_numbers = l->key_rows > 0 ? hop__hf_out(r, "row", 0) : 0;
}

void hop__hf_linear(hop__hf *r)
{
    hop__span name;
    r->var_count = 0;
    if (hop__hf_fact(r, "state", &name))
        run(r, "state", name, 0);
    else
        by_keys(r);
    if (r->status == HOP_OK) put_state(r);
}
