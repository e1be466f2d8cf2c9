/* 2-Sum - at every position i, is there a j <= i with x_i + x_j = 0 (mod M)? - by one attention layer.
 *
 * Statement (docs/THEORY.md section 5.6). The token table holds code(x) and code(-x mod M), b = ceil(log2 M)
 * numbers ±1 each; there is no position table. A head asks with c = code(-x_i) and reads keys code(x_j),
 * values code(x_j).
 *   - If a match is among the tokens it sees, all matches hold the same code c and score 2 beta above the
 *     rest or more. What comes back is r = c up to the wrong mass eps < 1/100, and the distance
 *     D = sum_i |c_i - r_i| is at most 2 b eps.
 *   - If there is none, r is a mixture of codes that differ from c in at least one bit each, so that
 *     D = b - c·r >= 2 however the attention is spread: no score has to be small here.
 * So D tells both apart with the threshold 1, and |c_i - r_i| = relu(c_i - r_i) + relu(r_i - c_i): two hidden
 * units a bit.
 *
 * two-sum-full: one head, one layer. The read-out compares D with 1: logit 1 minus logit 0 is 1 - D.
 *
 * two-sum-sparse: (B, k)-sparse attention, B heads with summary 1: head r scores a block by its r-th key. If
 * a complete earlier block has a match at offset r, those blocks score highest for head r, so every choice of
 * k >= 1 blocks has one of them; the current block is always seen. So there is a match iff some D_r is near
 * 0, and all D_r are either near 0 or at least 2. The OR needs a second stage of ReLUs: layer 1 has a mixer
 * of zeros and found = sum_r relu(1 - D_r), which is at least nearly 1 or exactly 0; logit 1 minus logit 0 is
 * 2 found - 1. Heads share one key and one value. B must divide n: then every block is complete in the end,
 * and each of the B heads has a place to watch. Shorter inputs, whose last block is a part of one, are
 * answered too.
 *
 * Widths: heads·head_dim = B·b, so Hdp = O(B log M), which meets T5. */
#include "construct.h"
#include "fields.h"

#include <math.h>
#include <stdio.h>

#define MOST_HIDDEN  ((int64_t)1 << 20)
#define MOST_OPTION  ((int64_t)1 << 20)
#define OTHERS_LOGIT (-4.0f) /* of tokens that are no answer; the better of 0 and 1 has at least 0 */

/* The residual stream. */
typedef struct layout {
    int64_t bits, heads;
    int64_t val, neg;         /* code(x), code(-x): token table */
    int64_t one;              /* 1: token table */
    int64_t reg, dist, found; /* [heads, bits], [heads], 1: written */
    int64_t d_model;
} layout;

static layout layout_of(int64_t mod, int64_t heads)
{
    layout f = {.bits = 1, .heads = heads};
    while (((int64_t)1 << f.bits) < mod) f.bits++;
    f.val = 0;
    f.neg = f.val + f.bits;
    f.one = f.neg + f.bits;
    f.reg = f.one + 1;
    f.dist = f.reg + f.heads * f.bits;
    f.found = f.dist + f.heads;
    f.d_model = f.found + 1;
    return f;
}

static void write_code(float *out, int64_t x, int64_t bits)
{
    for (int64_t i = 0; i < bits; i++) out[i] = (x >> i & 1) ? 1.0f : -1.0f;
}

static void fill_tokens(hop_model *m, const layout *f, int64_t mod)
{
    const hop_weight *table = hop_model_weight(m, "model.embed_tokens.weight");
    for (int64_t x = 0; x < mod; x++) {
        write_code(hop__cell(table, x, f->val), x, f->bits);
        write_code(hop__cell(table, x, f->neg), x ? mod - x : 0, f->bits);
        *hop__cell(table, x, f->one) = 1;
    }
}

/* Every head asks the same; what differs is the block it looks into. The mixer divides by the root of
 * head_dim. */
static void fill_heads(hop_model *m, const layout *f, int64_t seen)
{
    const hop_weight *q = hop_model_layer_weight(m, 0, "mixer.q_proj.weight");
    const hop_weight *k = hop_model_layer_weight(m, 0, "mixer.k_proj.weight");
    const hop_weight *v = hop_model_layer_weight(m, 0, "mixer.v_proj.weight");
    const hop_weight *o = hop_model_layer_weight(m, 0, "mixer.o_proj.weight");
    float beta = (float)(hop__fields_beta(seen) * sqrt((double)f->bits));
    for (int64_t i = 0; i < f->bits; i++) {
        *hop__cell(k, i, f->val + i) = 1;
        *hop__cell(v, i, f->val + i) = 1;
        for (int64_t h = 0; h < f->heads; h++) {
            *hop__cell(q, h * f->bits + i, f->neg + i) = beta;
            *hop__cell(o, f->reg + h * f->bits + i, h * f->bits + i) = 1;
        }
    }
}

/* dist_h = sum_i |neg_i - reg_hi|. */
static void fill_distances(hop_model *m, const layout *f)
{
    const hop_weight *up = hop_model_layer_weight(m, 0, "mlp.up_proj.weight");
    const hop_weight *down = hop_model_layer_weight(m, 0, "mlp.down_proj.weight");
    for (int64_t n = 0; n < f->heads * f->bits; n++) {
        int64_t i = n % f->bits;
        for (int side = 0; side < 2; side++) {
            *hop__cell(up, 2 * n + side, f->neg + i) = side ? -1 : 1;
            *hop__cell(up, 2 * n + side, f->reg + n) = side ? 1 : -1;
            *hop__cell(down, f->dist + n / f->bits, 2 * n + side) = 1;
        }
    }
}

/* found = sum_h relu(1 - dist_h), by layer 1. */
static void fill_or(hop_model *m, const layout *f)
{
    const hop_weight *up = hop_model_layer_weight(m, 1, "mlp.up_proj.weight");
    const hop_weight *bias = hop_model_layer_weight(m, 1, "mlp.up_proj.bias");
    const hop_weight *down = hop_model_layer_weight(m, 1, "mlp.down_proj.weight");
    for (int64_t h = 0; h < f->heads; h++) {
        *hop__cell(up, h, f->dist + h) = -1;
        bias->data[h] = 1;
        *hop__cell(down, f->found, h) = 1;
    }
}

/* Logit 0 is 0; logit 1 is gain·(what stands at `from`) + offset. */
static void fill_readout(hop_model *m, const layout *f, int64_t from, float gain, float offset)
{
    const hop_weight *head = hop_model_weight(m, "lm_head.weight");
    *hop__cell(head, 1, from) = gain;
    *hop__cell(head, 1, f->one) = offset;
    for (int64_t t = 2; t < head->shape[0]; t++) *hop__cell(head, t, f->one) = OTHERS_LOGIT;
}

static hop_status make_config(hop_config *c, const char *pattern, const hop_task *task, const layout *f,
                              const char *construction, hop_error *err)
{
    hop_status s = hop__construct_config(c, pattern, task, construction, err);
    if (s != HOP_OK) return s;
    c->position_table = false;
    c->d_model = f->d_model;
    c->heads = f->heads;
    c->kv_heads = 1;
    c->head_dim = f->bits;
    c->mlp_hidden = 2 * f->heads * f->bits;
    return HOP_OK;
}

hop_status hop__construct_two_sum_full(hop_model **out, const hop_task *task, const hop_construct_options *o,
                                       hop_error *err)
{
    (void)o;
    hop_config c;
    layout f = layout_of(task->twosum.mod, 1);
    f.d_model--; /* nothing to be found: the distance is read */
    hop_status s = make_config(&c, "full", task, &f, "{\"kind\": \"two-sum-full\"}", err);
    if (s != HOP_OK) return s;
    s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;
    fill_tokens(*out, &f, task->twosum.mod);
    fill_heads(*out, &f, task->length);
    fill_distances(*out, &f);
    fill_readout(*out, &f, f.dist, -1, 1);
    return HOP_OK;
}

/* ---- sparse ---------------------------------------------------------------------------------- */

/* Layer 1's mixer is all zeros: one head of one number is enough of it. */
static hop_status set_sparse(hop_config *c, int64_t block, int64_t topk, hop_error *err)
{
    hop_status s = hop_config_set(c, -1, "sparse", "block", (double)block, err);
    if (s == HOP_OK) s = hop_config_set(c, -1, "sparse", "topk", (double)topk, err);
    if (s == HOP_OK) s = hop_config_set(c, -1, "sparse", "summary", 1, err);
    if (s == HOP_OK) s = hop_config_set(c, 1, "", "heads", 1, err);
    if (s == HOP_OK) s = hop_config_set(c, 1, "", "head_dim", 1, err);
    return s;
}

static int64_t default_block(int64_t n)
{
    int64_t block = 4;
    while (n % block != 0) block--;
    return block;
}

hop_status hop__construct_two_sum_sparse(hop_model **out, const hop_task *task,
                                         const hop_construct_options *o, hop_error *err)
{
    int64_t n = task->length, block = o->block ? o->block : default_block(n), topk = o->topk ? o->topk : 1;
    if (block < 1 || block > MOST_OPTION || topk < 1 || topk > MOST_OPTION)
        return hop_fail(err, HOP_EDOMAIN, "two-sum-sparse: block and topk must be between 1 and 2^20");
    if (n % block != 0)
        return hop_fail(err, HOP_EDOMAIN, "two-sum-sparse: block %lld: does not divide the %lld tokens",
                        (long long)block, (long long)n);
    hop_config c;
    char construction[96];
    layout f = layout_of(task->twosum.mod, block);
    if (2 * f.heads * f.bits > MOST_HIDDEN)
        return hop_fail(err, HOP_EDOMAIN,
                        "two-sum-sparse: %lld heads of %lld numbers need more than 2^20 hidden units",
                        (long long)f.heads, (long long)f.bits);
    snprintf(construction, sizeof construction,
             "{\"kind\": \"two-sum-sparse\", \"block\": %lld, \"topk\": %lld}", (long long)block,
             (long long)topk);
    hop_status s = make_config(&c, "sparse^2", task, &f, construction, err);
    if (s != HOP_OK) return s;
    s = set_sparse(&c, block, topk, err);
    if (s == HOP_OK) s = hop_model_new(out, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;
    int64_t seen = (topk + 1) * block;
    fill_tokens(*out, &f, task->twosum.mod);
    fill_heads(*out, &f, seen < n ? seen : n);
    fill_distances(*out, &f);
    fill_or(*out, &f);
    fill_readout(*out, &f, f.found, 2, -1);
    return HOP_OK;
}
