/* bench_train.c - a training step as it is compared with others': three blocks of a mixer, MLPs of 4 d, 64
 * sequences of 128 tokens, cross entropy at every position, AdamW. A sequence goes through the whole network
 * and back in one thread; groups of sequences, one a thread as `train --groups` can have them,
 * have a block of gradients each, added in their order. */
#include "bench_train.h"

#include <hopbound/grad.h>
#include <hopbound/kernels.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 3, HEADS = 4, TOKENS = 128, BATCH = 64, VOCAB = 64, SPAN = 4096 };

struct hop_bench_step {
    hop_pool *pool;
    hop_model *model;
    hop_packed *laid;
    hop_grad **grad; /* a worker's */
    float **logits;  /* [TOKENS, VOCAB] */
    float *block[BATCH], *first, *second;
    int64_t floats, step;
    int workers, groups;
    int32_t tokens[BATCH * TOKENS], wanted[BATCH * TOKENS];
    int64_t row[TOKENS];
};

/* What the peer computes too: no convolutions, no norm or gate behind the mixer, values as wide as keys. */
static hop_status configure(hop_config *c, const char *mixer, int64_t d, hop_error *err)
{
    static const char *const off[] = {"conv", "gate", "norm", "rope"};
    c->vocab = VOCAB, c->d_model = d, c->max_positions = TOKENS, c->position_table = true, c->heads = HEADS;
    c->norm = HOP_NORM_LAYER, c->mlp = HOP_MLP_GELU;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s^%d", mixer, LAYERS);
    hop_status s = hop_pattern_parse(&c->pattern, pattern, mixer, err);
    const bool full = strcmp(mixer, "full") == 0, retnet = strcmp(mixer, "retnet") == 0;
    const bool mamba2 = strcmp(mixer, "mamba2") == 0;
    for (int i = 0; s == HOP_OK && !full && i < (retnet ? 4 : 3); i++)
        s = hop_config_set(c, -1, mixer, off[i], 0, err);
    if (s == HOP_OK && mamba2) s = hop_config_set(c, -1, mixer, "groups", HEADS, err);
    if (s == HOP_OK && !full)
        s = hop_config_set(c, -1, mixer, mamba2 ? "state_dim" : "value_dim", (double)(d / HEADS), err);
    return s == HOP_OK ? hop_config_validate(c, err) : s;
}

static hop_status make(hop_bench_step *b, const char *mixer, int64_t d, hop_error *err)
{
    hop_config c;
    hop_config_init(&c);
    hop_status s = configure(&c, mixer, d, err);
    if (s == HOP_OK) s = hop_model_new(&b->model, &c, err);
    hop_config_free(&c);
    if (s != HOP_OK) return s;
    hop_model_init_weights(b->model, 0, NULL);
    if ((s = hop_packed_new(&b->laid, b->model, err)) != HOP_OK) return s;
    b->floats = hop_layout_floats(hop_model_layout(b->model));
    b->workers = hop_pool_threads(b->pool);
    b->groups = b->workers < BATCH ? b->workers : BATCH;
    b->grad = hop_alloc(sizeof(hop_grad *) * (size_t)b->workers);
    b->logits = hop_alloc(sizeof(float *) * (size_t)b->workers);
    const size_t bytes = sizeof(float) * (size_t)b->floats;
    b->first = hop_alloc(bytes), b->second = hop_alloc(bytes);
    bool all = b->grad && b->logits && b->first && b->second;
    for (int i = 0; i < b->groups; i++) all = (b->block[i] = hop_alloc(bytes)) && all;
    for (int i = 0; all && s == HOP_OK && i < b->workers; i++) {
        s = hop_grad_new(&b->grad[i], b->model, 1, TOKENS, err);
        if (s == HOP_OK) hop_grad_use(b->grad[i], b->laid);
        all = (b->logits[i] = hop_alloc(sizeof(float) * TOKENS * VOCAB)) != NULL;
    }
    return all || s != HOP_OK ? s : hop_fail(err, HOP_ENOMEM, "out of memory");
}

hop_status hop_bench_step_new(hop_bench_step **out, const char *mixer, int64_t d, hop_pool *pool,
                              hop_error *err)
{
    hop_bench_step *b = *out = hop_alloc(sizeof *b);
    if (!b) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_rng rng;
    hop_rng_init(&rng, 0, 0);
    b->pool = pool;
    for (int i = 0; i < BATCH * TOKENS; i++)
        b->tokens[i] = (int32_t)hop_rng_below(&rng, VOCAB),
        b->wanted[i] = (int32_t)hop_rng_below(&rng, VOCAB);
    for (int i = 0; i < TOKENS; i++) b->row[i] = i;
    hop_status s = make(b, mixer, d, err);
    if (s == HOP_OK) return s;
    hop_bench_step_free(b);
    *out = NULL;
    return s;
}

void hop_bench_step_free(hop_bench_step *b)
{
    if (!b) return;
    for (int i = 0; i < b->workers && b->grad; i++) hop_grad_free(b->grad[i]);
    for (int i = 0; i < b->workers && b->logits; i++) hop_free(b->logits[i]);
    for (int i = 0; i < b->groups; i++) hop_free(b->block[i]);
    hop_free(b->grad), hop_free(b->logits), hop_free(b->first), hop_free(b->second);
    hop_packed_free(b->laid);
    hop_model_free(b->model);
    hop_free(b);
}

/* Logits of a row become the gradient of its mean loss over the batch. */
static void slope(float *x, int32_t wanted)
{
    const float share = 1.0f / (BATCH * TOKENS);
    float top = x[0], sum = 0.0f;
    for (int i = 1; i < VOCAB; i++) top = x[i] > top ? x[i] : top;
    for (int i = 0; i < VOCAB; i++) x[i] -= top;
    hop_vexp(x, x, VOCAB);
    for (int i = 0; i < VOCAB; i++) sum += x[i];
    for (int i = 0; i < VOCAB; i++) x[i] *= share / sum;
    x[wanted] -= share;
}

static void group_job(void *ctx, int64_t group, int worker)
{
    hop_bench_step *b = ctx;
    hop_grad *g = b->grad[worker];
    float *logits = b->logits[worker], *block = b->block[group];
    memset(block, 0, sizeof(float) * (size_t)b->floats);
    for (int64_t s = group * BATCH / b->groups; s < (group + 1) * BATCH / b->groups; s++) {
        if (hop_grad_forward(g, b->tokens + s * TOKENS, 1, TOKENS, NULL) != HOP_OK)
            return; /* it takes them all */
        hop_grad_logits(g, b->row, TOKENS, logits);
        for (int t = 0; t < TOKENS; t++) slope(logits + t * VOCAB, b->wanted[s * TOKENS + t]);
        hop_grad_dlogits(g, b->row, TOKENS, logits, block);
        hop_grad_backward(g, block);
    }
}

/* The groups' sum and AdamW, for one span of all parameters. */
static void step_job(void *ctx, int64_t task, int worker)
{
    hop_bench_step *b = ctx;
    const int64_t from = task * SPAN, n = b->floats - from < SPAN ? b->floats - from : SPAN;
    const float rate = 1e-3f, keep = 1.0f - 1e-3f * 1e-2f;
    const float grow = (float)(1.0 / (1.0 - pow(0.9, (double)b->step))),
                correct = (float)(1.0 / (1.0 - pow(0.999, (double)b->step)));
    float *restrict sum = b->block[0] + from, *restrict w = hop_model_block(b->model) + from;
    float *restrict first = b->first + from, *restrict second = b->second + from;
    (void)worker;
    for (int g = 1; g < b->groups; g++) {
        const float *restrict x = b->block[g] + from;
        for (int64_t i = 0; i < n; i++) sum[i] += x[i];
    }
    for (int64_t i = 0; i < n; i++) {
        first[i] = 0.9f * first[i] + 0.1f * sum[i];
        second[i] = 0.999f * second[i] + 0.001f * sum[i] * sum[i];
        w[i] = w[i] * keep - rate * grow * first[i] / (sqrtf(second[i] * correct) + 1e-8f);
    }
}

double hop_bench_step_run(hop_bench_step *b)
{
    double start = hop_now();
    b->step++;
    hop_packed_update(b->laid, b->pool);
    hop_pool_run(b->pool, b->groups, group_job, b);
    hop_pool_run(b->pool, (b->floats + SPAN - 1) / SPAN, step_job, b);
    return hop_now() - start;
}

int64_t hop_bench_step_tokens(void)
{
    return (int64_t)BATCH * TOKENS;
}

/* 6 for every weight of a product and token; causal attention 7·T·d a token, the recurrences three times
 * their least flops forward. */
double hop_bench_step_flops(const char *mixer, int64_t d)
{
    const double tokens = BATCH * TOKENS, K = (double)d / HEADS;
    const double weights = LAYERS * 12.0 * (double)(d * d) + (double)(d * VOCAB);
    const double mix = strcmp(mixer, "full") == 0  ? 7.0 * TOKENS * (double)d
                       : strcmp(mixer, "gdn") == 0 ? 18.0 * K * (double)d
                                                   : 12.0 * K * (double)d;
    return tokens * (6.0 * weights + LAYERS * mix);
}
