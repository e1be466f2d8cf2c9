/* How many numbers a recurrence carries across a cut: the state proper, and the last inputs of short
 * convolutions (one fewer than their taps). */
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

void hop__hf_state(hop__hf *r, const char *kind, const int64_t shape[3], int64_t conv)
{
    hop_hf_linear *l = &r->plan->linear;
    snprintf(l->kind, sizeof l->kind, "%s", kind);
    memcpy(l->shape, shape, sizeof l->shape);
    l->recurrent_elems = hop__hf_mul(r, hop__hf_mul(r, shape[0], shape[1]), shape[2]);
    l->conv_elems = conv;
    if (shape[0] && l->recurrent_elems == 0)
        hop__hf_fail(r, HOP_EDOMAIN, "sizes: a state of %s without a number", kind);
}

void hop__hf_table(hop__hf *r, int64_t heads, int64_t keys, int64_t values)
{
    hop_hf_linear *l = &r->plan->linear;
    l->key_rows = l->conv_elems > 0 ? hop__hf_mul(r, heads, keys) : 0;
    l->row_numbers = l->key_rows > 0 ? values : 0;
}

/* `channels` through a convolution of as many taps as the key says. */
static int64_t conv(hop__hf *r, const char *key, int64_t channels)
{
    return hop__hf_mul(r, channels, hop__hf_size(r, key, 4) - 1);
}

/* ---- delta rules and lightning ------------------------------------------------------------- */

static void gated_delta(hop__hf *r, int64_t nk, int64_t nv, int64_t dk, int64_t dv)
{
    int64_t channels = 2 * hop__hf_mul(r, nk, dk) + hop__hf_mul(r, nv, dv);
    hop__hf_state(r, "gated_deltanet", (const int64_t[3]){nv, dk, dv},
                  conv(r, "linear_conv_kernel_dim", channels));
    hop__hf_table(r, nk, dk, dv);
}

void hop__hf_linear_gdn(hop__hf *r)
{
    int64_t nk = hop__hf_size(r, "linear_num_key_heads", 16),
            nv = hop__hf_size(r, "linear_num_value_heads", 32);
    int64_t dk = hop__hf_size(r, "linear_key_head_dim", 128),
            dv = hop__hf_size(r, "linear_value_head_dim", 128);
    gated_delta(r, nk, nv, dk, dv);
}

void hop__hf_linear_olmo_hybrid(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r);
    int64_t nk = hop__hf_size(r, "linear_num_key_heads", heads),
            nv = hop__hf_size(r, "linear_num_value_heads", heads);
    int64_t dk = hop__hf_size(r, "linear_key_head_dim", 3 * hop__hf_hidden(r) / (4 * nk));
    gated_delta(r, nk, nv, dk, hop__hf_size(r, "linear_value_head_dim", 2 * dk));
}

static void kda(hop__hf *r, int64_t heads, int64_t dim, const char *conv_key)
{
    hop__hf_state(r, "kda", (const int64_t[3]){heads, dim, dim},
                  conv(r, conv_key, hop__hf_mul(r, 3 * heads, dim)));
    hop__hf_table(r, heads, dim, dim);
}

/* In a part of its own, or, where the file was saved again, beside the other keys. The defaults are
 * kimi_linear's. */
void hop__hf_linear_kda(hop__hf *r)
{
    bool kimi = r->family->assume.heads > 0;
    int64_t heads =
        hop__hf_size(r, "linear_attn_config.num_heads|linear_num_heads|linear_num_key_heads", kimi ? 32 : 0);
    int64_t dim =
        hop__hf_size(r, "linear_attn_config.head_dim|linear_head_dim|linear_key_head_dim", kimi ? 128 : 0);
    kda(r, heads, dim, "linear_attn_config.short_conv_kernel_size|linear_conv_kernel_dim");
}

static void lightning(hop__hf *r, int64_t heads, int64_t dim)
{
    hop__hf_state(r, "lightning", (const int64_t[3]){heads, dim, dim}, 0);
}

void hop__hf_linear_lightning(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r);
    lightning(r, heads, hop__hf_size(r, "head_dim", hop__hf_hidden(r) / heads));
}

void hop__hf_linear_bailing(hop__hf *r)
{
    int64_t heads = hop__hf_heads(r);
    if (!hop__hf_has(r, "short_conv_kernel_size")) {
        const char *key = "num_kv_heads_for_linear_attn"; /* saved again, head_dim is that of rotated keys */
        int64_t n = hop__hf_range(r, key, 0, HOP__HF_MAX_SIZE, 0);
        if (n && n != heads)
            hop__hf_fail(r, HOP_EUNKNOWN, "%s: %lld, not the %lld heads: how they share is not known", key,
                         (long long)n, (long long)heads);
        if (n)
            lightning(r, heads, hop__hf_hidden(r) / heads);
        else
            hop__hf_linear_lightning(r);
        return;
    }
    kda(r, heads, hop__hf_size(r, "head_dim", hop__hf_hidden(r) / heads), "short_conv_kernel_size");
}

/* ---- Mamba --------------------------------------------------------------------------------- */

/* Channels inside; `expand` may be a fraction. */
static int64_t expanded(hop__hf *r, const char *key)
{
    return (int64_t)(hop__hf_real(r, key, 2) * (double)hop__hf_hidden(r));
}

static void mamba1(hop__hf *r, int64_t inner, int64_t state, const char *conv_key)
{
    hop__hf_state(r, "mamba1", (const int64_t[3]){inner, 1, state}, conv(r, conv_key, inner));
}

void hop__hf_linear_mamba(hop__hf *r)
{
    bool given = hop__hf_has(r, "intermediate_size|d_inner");
    int64_t inner = given ? hop__hf_size(r, "intermediate_size|d_inner", 0) : expanded(r, "expand");
    mamba1(r, inner, hop__hf_size(r, "state_size", 16), "conv_kernel");
}

void hop__hf_linear_jamba(hop__hf *r)
{
    mamba1(r, expanded(r, "mamba_expand"), hop__hf_size(r, "mamba_d_state", 16), "mamba_d_conv");
}

/* How Mamba-2's sizes are called, with the class's values. */
typedef struct mamba2_keys {
    const char *names;       /* of families */
    const char *inner;       /* channels; NULL or absent: `expand` times the width */
    const char *expand;      /* NULL: heads times their width */
    const char *heads, *dim; /* the one follows from the other where it is neither given nor assumed .. */
    bool either;             /* .. and `heads` says nothing beside `dim` */
    const char *state, *groups, *conv;
    struct {
        int64_t heads, dim, state, groups;
        int64_t inner; /* where its key is absent, not null; 0: `expand` times the width */
    } assume;
} mamba2_keys;

/* clang-format off */
static const mamba2_keys mamba2_rows[] = {
    {" mamba2 ", "intermediate_size", "expand", "num_heads", "head_dim", false, "state_size", "n_groups", "conv_kernel", {0, 64, 128, 8, 0}},
    {" bamba granitemoehybrid ", "mamba_d_ssm", "mamba_expand", "mamba_n_heads", "mamba_d_head", false, "mamba_d_state",
     "mamba_n_groups", "mamba_d_conv", {128, 0, 256, 1, 0}},
    {" falcon_h1 ", "mamba_d_ssm", "mamba_expand", "mamba_n_heads", "mamba_d_head", false, "mamba_d_state",
     "mamba_n_groups", "mamba_d_conv", {128, 0, 256, 1, 1024}},
    {" zamba2 ", NULL, "mamba_expand", "n_mamba_heads", "mamba_headdim", true, "mamba_d_state", "mamba_ngroups", "mamba_d_conv", {8, 0, 64, 1, 0}},
    {" nemotron_h nemotron_h_v2 ", NULL, NULL, "mamba_num_heads", "mamba_head_dim", false, "ssm_state_size", "n_groups|mamba_n_groups",
     "conv_kernel|mamba_d_conv", {128, 64, 128, 8, 0}},
    {" mamba_ssm ", NULL, "ssm_cfg.expand", "ssm_cfg.nheads", "ssm_cfg.headdim", false, "ssm_cfg.d_state", "ssm_cfg.ngroups",
     "ssm_cfg.d_conv", {0, 64, 128, 1, 0}},
};
/* clang-format on */

/* A size that is given or assumed; else 0. "auto" is not given. */
static int64_t size_if(hop__hf *r, const char *key, int64_t assumed)
{
    const hop_json *v = hop__hf_find(r, key);
    return v && v->type == HOP_JSON_STRING ? 0 : hop__hf_size(r, key, assumed ? assumed : -1);
}

static void mamba2(hop__hf *r, const char *family)
{
    const mamba2_keys *k = mamba2_rows;
    while (!hop__hf_named(k->names, family)) k++;
    int64_t dim = size_if(r, k->dim, k->assume.dim), inner = 0;
    int64_t heads = k->either && dim ? 0 : size_if(r, k->heads, k->assume.heads);
    bool given = k->inner && !hop__hf_is_null(r, k->inner) && (k->assume.inner || hop__hf_has(r, k->inner));
    if (given)
        inner = hop__hf_size(r, k->inner, k->assume.inner);
    else
        inner = k->expand ? expanded(r, k->expand) : hop__hf_mul(r, heads, dim);
    if (!heads && dim) heads = inner / dim;
    if (!dim && heads) dim = inner / heads;
    int64_t state = hop__hf_size(r, k->state, k->assume.state),
            groups = hop__hf_size(r, k->groups, k->assume.groups);
    hop__hf_state(r, "mamba2", (const int64_t[3]){heads, dim, state},
                  conv(r, k->conv, inner + 2 * hop__hf_mul(r, groups, state)));
    if (!hop__hf_named(" falcon_h1 ", family))
        hop__hf_table(r, groups, state, dim); /* it has no norm there */
    if (inner < 1 || heads * dim != inner)
        hop__hf_fail(r, HOP_EDOMAIN, "%s: %lld heads of %lld are not the %lld inner channels", k->dim,
                     (long long)heads, (long long)dim, (long long)inner);
}

void hop__hf_linear_mamba2(hop__hf *r)
{
    mamba2(r, r->plan->model_type);
}

static void mamba2_as_nemotron(hop__hf *r)
{
    mamba2(r, "nemotron_h");
}

static void mamba2_as_bamba(hop__hf *r)
{
    mamba2(r, "bamba");
}

void hop__hf_linear_mamba_ssm(hop__hf *r)
{
    const char *layer = hop__hf_string(r, "ssm_cfg.layer");
    if (!layer || strcmp(layer, "Mamba1") == 0)
        mamba1(r, expanded(r, "ssm_cfg.expand"), hop__hf_size(r, "ssm_cfg.d_state", 16), "ssm_cfg.d_conv");
    else if (strcmp(layer, "Mamba2") == 0)
        mamba2(r, "mamba_ssm");
    else
        hop__hf_fail(r, HOP_EUNKNOWN, "ssm_cfg.layer: \"%.60s\" is neither Mamba1 nor Mamba2", layer);
}

/* ---- others -------------------------------------------------------------------------------- */

void hop__hf_linear_rg_lru(hop__hf *r)
{
    int64_t width = hop__hf_size(r, "lru_width", hop__hf_hidden(r));
    hop__hf_state(r, "rg_lru", (const int64_t[3]){1, 1, width}, conv(r, "conv1d_width", width));
    strcpy(r->plan->linear.declared_by, "model_type"); /* the recurrence is float32 by definition */
}

void hop__hf_linear_conv(hop__hf *r)
{
    int64_t taps = hop__hf_size(r, "conv_L_cache", 3);
    hop__hf_state(r, "short_conv", (const int64_t[3]){0, 0, 0}, hop__hf_mul(r, hop__hf_hidden(r), taps - 1));
    r->plan->linear.window = taps;
    strcpy(r->plan->remark, "no recurrent state: local gated conv, sees conv_L_cache-1 previous tokens");
}

/* A factor of the width, rounded up, over the heads. */
static int64_t xlstm_dim(hop__hf *r, const char *key, double assumed, int64_t width, int64_t heads)
{
    int64_t unit = hop__hf_size(r, "mlstm_round_up_to_multiple_of", 64);
    int64_t d = (int64_t)(hop__hf_real(r, key, assumed) * (double)width);
    return (d + unit - 1) / unit * unit / heads;
}

/* Matrix, normaliser and stabiliser of each head. */
void hop__hf_linear_xlstm(hop__hf *r)
{
    int64_t width = hop__hf_hidden(r), heads = hop__hf_size(r, "num_heads", 8);
    int64_t dk = xlstm_dim(r, "qk_dim_factor", 0.5, width, heads);
    hop__hf_state(r, "mlstm", (const int64_t[3]){heads, dk, xlstm_dim(r, "v_dim_factor", 1, width, heads)},
                  0);
    r->plan->linear.recurrent_elems += hop__hf_mul(r, heads, dk + 1);
}

/* ---- by the keys that are there ------------------------------------------------------------ */

static const struct {
    const char *keys[3];
    void (*linear)(hop__hf *r);
} by_keys[] = {
    {{"linear_attn_config.head_dim", "linear_attn_config.num_heads"}, hop__hf_linear_kda},
    {{"linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"}, hop__hf_linear_gdn},
    {{"mamba_num_heads", "mamba_head_dim", "ssm_state_size"}, mamba2_as_nemotron},
    {{"mamba_n_heads", "mamba_d_head", "mamba_d_state"}, mamba2_as_bamba},
    {{"conv_L_cache"}, hop__hf_linear_conv},
};

void hop__hf_linear_by_keys(hop__hf *r)
{
    for (size_t i = 0; i < sizeof by_keys / sizeof *by_keys; i++) {
        bool all = true;
        for (int k = 0; k < 3 && by_keys[i].keys[k]; k++) all = all && hop__hf_has(r, by_keys[i].keys[k]);
        if (!all) continue;
        by_keys[i].linear(r);
        return;
    }
    hop__hf_fail(
        r, HOP_EUNKNOWN,
        "unknown recurrence of model_type \"%s\": looked for linear_attn_config, linear_num_value_heads, "
        "mamba_num_heads, mamba_n_heads, conv_L_cache and the sizes beside them",
        r->plan->model_type);
}
