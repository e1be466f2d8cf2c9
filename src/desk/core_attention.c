/* core attention: causal softmax attention over tensors [B,T,H,K]. */
#include "core.h"

#include <math.h>
#include <string.h>

enum { Q, K, V, DO, INPUTS };
static const char *const NAMES[INPUTS] = {"q", "k", "v", "do"};

typedef struct attention {
    float *in[INPUTS];
    int64_t shape[INPUTS][4];
    bool backward;
    int64_t batch, tokens, heads, kv_heads, key_dim, value_dim;
    float *o, *lse, *d[3], *scratch; /* lse: [heads, tokens] of the sequence at hand */
    hop_pool *pool;
    float scale;
} attention;

static hop_status check_shape(const attention *a, int which, const int64_t want[4], hop_error *err)
{
    const int64_t *s = a->shape[which];
    if (memcmp(s, want, 4 * sizeof *want) == 0) return HOP_OK;
    return hop_fail(err, HOP_ESHAPE, "%s: shape [%lld,%lld,%lld,%lld] where [%lld,%lld,%lld,%lld] is needed",
                    NAMES[which], (long long)s[0], (long long)s[1], (long long)s[2], (long long)s[3],
                    (long long)want[0], (long long)want[1], (long long)want[2], (long long)want[3]);
}

static hop_status read_inputs(attention *a, const core_job *job, hop_error *err)
{
    hop_status s = HOP_OK;
    a->backward = hop_safetensors_find(job->in, NAMES[DO]) != NULL;
    for (int i = 0; s == HOP_OK && i < (a->backward ? INPUTS : DO); i++)
        s = hop__core_input(job, NAMES[i], 4, &a->in[i], a->shape[i], err);
    if (s != HOP_OK) return s;
    a->batch = a->shape[Q][0];
    a->tokens = a->shape[Q][1];
    a->heads = a->shape[Q][2];
    a->key_dim = a->shape[Q][3];
    a->kv_heads = a->shape[K][2];
    a->value_dim = a->shape[V][3];
    if (a->heads % a->kv_heads != 0)
        return hop_fail(err, HOP_ESHAPE, "q: %lld heads are no multiple of k's %lld", (long long)a->heads,
                        (long long)a->kv_heads);
    s = check_shape(a, K, (int64_t[4]){a->batch, a->tokens, a->kv_heads, a->key_dim}, err);
    if (s == HOP_OK) s = check_shape(a, V, (int64_t[4]){a->batch, a->tokens, a->kv_heads, a->value_dim}, err);
    if (s == HOP_OK && a->backward)
        s = check_shape(a, DO, (int64_t[4]){a->batch, a->tokens, a->heads, a->value_dim}, err);
    return s;
}

static hop_attn kernel_config(const attention *a)
{
    return (hop_attn){.tokens = a->tokens,
                      .queries = a->tokens,
                      .heads = a->heads,
                      .kv_heads = a->kv_heads,
                      .key_dim = a->key_dim,
                      .value_dim = a->value_dim,
                      .q_stride = a->heads * a->key_dim,
                      .k_stride = a->kv_heads * a->key_dim,
                      .v_stride = a->kv_heads * a->value_dim,
                      .o_stride = a->heads * a->value_dim,
                      .scale = a->scale};
}

static hop_status make_outputs(attention *a, core_job *job, hop_error *err)
{
    static const char *const gradients[] = {"dq", "dk", "dv"};
    hop_attn c = kernel_config(a);
    size_t lse,
        scratch = hop_attn_backward_scratch(&c, hop_pool_threads(a->pool)); /* enough for a step too */
    a->o = hop__core_output_new(job, "o", 4, (int64_t[4]){a->batch, a->tokens, a->heads, a->value_dim}, err);
    if (!a->o) return HOP_ENOMEM;
    for (int i = 0; a->backward && i < 3; i++) {
        a->d[i] = hop__core_output_new(job, gradients[i], 4, a->shape[i], err);
        if (!a->d[i]) return HOP_ENOMEM;
    }
    bool fits =
        hop_mul_size((size_t)a->heads, (size_t)a->tokens, &lse) && hop_mul_size(lse, sizeof(float), &lse);
    a->lse = fits ? hop_alloc(lse) : NULL;
    a->scratch = hop_mul_size(scratch + 1, sizeof(float), &scratch) ? hop_alloc(scratch) : NULL;
    return a->lse && a->scratch ? HOP_OK : hop_fail(err, HOP_ENOMEM, "attention: out of memory");
}

/* Token by token, as with a cache of keys and values: query t sees keys 0..t. One row of log-sum-exp a step
 * goes to its column of the whole. `row` holds [heads] numbers. */
static void forward_steps(attention *a, float *o, const float *q, const float *k, const float *v, float *row)
{
    hop_attn c = kernel_config(a);
    for (int64_t t = 0; t < a->tokens; t++) {
        c.tokens = t + 1;
        c.first = t;
        c.queries = 1;
        hop_attn_forward(o + t * c.o_stride, row, q + t * c.q_stride, k, v, &c, a->scratch, a->pool);
        for (int64_t h = 0; h < a->heads; h++) a->lse[h * a->tokens + t] = row[h];
    }
}

static hop_status compute(attention *a, core_form form, hop_error *err)
{
    hop_attn c = kernel_config(a);
    float *row = hop_alloc((size_t)a->heads * sizeof *row);
    if (!row) return hop_fail(err, HOP_ENOMEM, "attention: out of memory");
    for (int64_t b = 0; b < a->batch; b++) {
        int64_t at_q = b * a->tokens * c.q_stride, at_k = b * a->tokens * c.k_stride;
        int64_t at_v = b * a->tokens * c.v_stride, at_o = b * a->tokens * c.o_stride;
        const float *q = a->in[Q] + at_q, *k = a->in[K] + at_k, *v = a->in[V] + at_v;
        float *o = a->o + at_o;
        if (form == CORE_CHUNKED)
            hop_attn_forward(o, a->lse, q, k, v, &c, a->scratch, a->pool);
        else
            forward_steps(a, o, q, k, v, row);
        if (!a->backward) continue;
        const hop_attn_grad g = {
            .dq = a->d[Q] + at_q, .dk = a->d[K] + at_k, .dv = a->d[V] + at_v, .d_o = a->in[DO] + at_o};
        hop_attn_backward(&g, o, a->lse, q, k, v, &c, a->scratch, a->pool);
    }
    hop_free(row);
    return HOP_OK;
}

hop_status hop__core_attention(core_job *job, hop_error *err)
{
    attention a = {.pool = job->pool};
    hop_status s = read_inputs(&a, job, err);
    if (s == HOP_OK) {
        if (!job->scaled) job->scale = 1 / sqrt((double)a.key_dim);
        a.scale = (float)job->scale;
        s = make_outputs(&a, job, err);
    }
    if (s == HOP_OK) s = compute(&a, job->form, err);
    for (int i = 0; i < INPUTS; i++) hop_free(a.in[i]);
    hop_free(a.lse);
    hop_free(a.scratch);
    return s;
}
