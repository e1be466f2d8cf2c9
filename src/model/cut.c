/* A pass under the arithmetic of a cut sequence, on whole arrays and without a message: what a game of
 * players must reproduce to the last bit. */
#include "network.h"

#include <math.h>
#include <string.h>

static void at_least(size_t *most, size_t n)
{
    if (n > *most) *most = n;
}

static void measure(hop__cut_sizes *z, const hop__plan *p, int64_t tokens, int threads)
{
    const hop_mixer_config *c = &p->config;
    if (!hop__is_full(p->ops)) {
        at_least(&z->state, (size_t)hop_list_state_floats(&p->list, tokens));
        at_least(&z->step, hop_list_step_scratch(&p->list, 1, tokens - 1));
        return;
    }
    hop_attn a = hop_attention_shape(&p->list, tokens, tokens, false);
    at_least(&z->step, hop_list_scratch(&p->list, 1, tokens, 1));
    at_least(&z->q, (size_t)(c->heads * c->head_dim));
    at_least(&z->k, (size_t)(c->kv_heads * c->head_dim));
    at_least(&z->v, (size_t)(c->kv_heads * hop__value_dim(c)));
    at_least(&z->o, (size_t)(c->heads * hop__value_dim(c)));
    at_least(&z->partials, (size_t)(c->heads * (hop__value_dim(c) + 2)));
    at_least(&z->attention, hop_attn_scratch(&a, threads));
}

hop__cut_sizes hop__cut_measure(const hop_model *m, int64_t tokens, int threads)
{
    hop__cut_sizes z = {0};
    for (int64_t i = 0; i < m->layout->plan_count; i++) measure(&z, m->layout->plans[i], tokens, threads);
    return z;
}

/* ---- opening ----------------------------------------------------------------------------------- */

hop_status hop__cut_valid(const hop_model *m, const hop_cuts *at, hop_error *err)
{
    if (m->layout->config.bidirectional)
        return hop_fail(err, HOP_EDOMAIN, "a network that looks both ways has no cut that only looks back");
    if (at->bits < 10 || at->bits > 32)
        return hop_fail(err, HOP_ERANGE, "%d bits: numbers that cross have 10 to 32", at->bits);
    if (at->kept && at->kept != 8 && (at->kept < 10 || at->kept > 32))
        return hop_fail(err, HOP_ERANGE, "%d bits: a state's numbers are kept with 8, or 10 to 32", at->kept);
    for (int64_t i = 0; i < at->count; i++)
        if (at->count < 1 || (i == 0 ? at->starts[0] != 0 : at->starts[i] <= at->starts[i - 1]))
            return hop_fail(err, HOP_ERANGE, "segments must begin at 0 and then further and further on");
    return at->count > 0 ? HOP_OK : hop_fail(err, HOP_ERANGE, "a sequence has at least one segment");
}

hop_status hop__cut_check(const hop_cuts *at, int64_t count, hop_error *err)
{
    if (!at->starts || at->starts[at->count - 1] < count) return HOP_OK;
    return hop_fail(err, HOP_ERANGE, "a segment begins at %lld, where %lld tokens have ended",
                    (long long)at->starts[at->count - 1], (long long)count);
}

hop_status hop__cut_open(hop__cut *c, const hop_model *m, const hop_cuts *at, int64_t tokens, hop_pool *pool,
                         hop_error *err)
{
    hop_status s = hop__cut_valid(m, at, err);
    if (s != HOP_OK) return s;
    hop__cut_sizes z = hop__cut_measure(m, tokens, hop_pool_threads(pool));
    size_t rows = (size_t)tokens, row = 2 * z.q + z.o + z.k + z.v + 2 * z.partials;
    int64_t *starts = hop_alloc(sizeof *starts * (size_t)at->count);
    float *p = hop_alloc(sizeof(float) * (rows * row + z.attention + z.state + 1));
    c->at = (hop_cuts){.starts = starts, .count = at->count, .bits = at->bits, .kept = at->kept};
    c->memory = p;
    c->pool = pool;
    if (!starts || !p) return hop_fail(err, HOP_ENOMEM, "cannot hold %lld tokens", (long long)tokens);
    memcpy(starts, at->starts, sizeof *starts * (size_t)at->count);
    float **const part[] = {&c->q,        &c->sent,  &c->o,    &c->k,    &c->v,
                            &c->partials, &c->reply, &c->work, &c->state};
    const size_t size[] = {rows * z.q,        rows * z.q,        rows * z.o,  rows * z.k, rows * z.v,
                           rows * z.partials, rows * z.partials, z.attention, z.state};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; p += size[i], i++) *part[i] = p;
    return hop_arena_reserve(&c->step, z.step + 1, err);
}

void hop__cut_close(hop__cut *c)
{
    hop_free((void *)c->at.starts);
    hop_free(c->memory);
    hop_arena_free(&c->step);
    *c = (hop__cut){0};
}

/* ---- a layer ----------------------------------------------------------------------------------- */

static int64_t end_of(const hop__cut *c, int64_t segment, int64_t count)
{
    return segment + 1 < c->at.count ? c->at.starts[segment + 1] : count;
}

/* The partial softmaxes of segment j's queries over the keys of segment i. */
static void look(const hop__cut *c, const hop_list *list, const hop_mixer_config *mixer,
                 const int64_t queries_keys[2], int64_t count)
{
    int64_t j = queries_keys[0], i = queries_keys[1];
    int64_t row = c->at.starts[j], rows = end_of(c, j, count) - row;
    int64_t key = c->at.starts[i], keys = end_of(c, i, count) - key;
    int64_t qw = mixer->heads * mixer->head_dim, kw = mixer->kv_heads * mixer->head_dim;
    int64_t vw = mixer->kv_heads * hop__value_dim(mixer);
    hop_attn a = hop_attention_shape(list, keys, rows, i == j);
    hop_attn_partial(i == j ? c->partials : c->reply, (i == j ? c->q : c->sent) + row * qw, c->k + key * kw,
                     c->v + key * vw, &a, c->work, c->pool);
}

static void mix_full(hop__cut *c, const hop__block *l, const hop_mixer_config *mixer, float *y,
                     const float *x, int64_t count)
{
    const hop_attention_rows rows = {c->q, c->k, c->v};
    int64_t qw = mixer->heads * mixer->head_dim;
    hop_mixer_io io = {.x = x, .tokens = count, .scratch = &c->step, .pool = c->pool};
    io.watch = c->watch ? c->watch->buffers : NULL;
    c->step.used = 0;
    hop_attention_project(&rows, l->list, mixer, l->mixer, &io);
    memcpy(c->sent, c->q, sizeof(float) * (size_t)(count * qw));
    hop_round_float(c->sent, count * qw, c->at.bits);
    for (int64_t j = 0; j < c->at.count; j++) {
        int64_t first = c->at.starts[j], n = end_of(c, j, count) - first, heads = n * mixer->heads;
        look(c, l->list, mixer, (const int64_t[]){j, j}, count);
        for (int64_t i = 0; i < j; i++) {
            look(c, l->list, mixer, (const int64_t[]){j, i}, count);
            hop_partial_round(c->reply, heads, hop__value_dim(mixer), c->at.bits);
            hop_partial_fold(c->partials, c->reply, heads, hop__value_dim(mixer));
        }
        io.y = y + first * mixer->d_model;
        io.x = x + first * mixer->d_model;
        io.tokens = n, io.position = first;
        c->step.used = 0;
        hop_partial_close(c->o, c->partials, heads, hop__value_dim(mixer));
        hop_attention_output(c->o, l->list, mixer, l->mixer, &io);
    }
}

/* To a sign, 5 bits of exponent and 2 of fraction. */
static float round_e5m2(float x)
{
    float a = fabsf(x);
    int exponent;
    if (!(a < 61440.0F)) return isnan(x) ? x : copysignf(INFINITY, x);
    frexpf(a, &exponent); /* a < 2^exponent */
    int unit = exponent < -13 ? -16 : exponent - 3;
    return copysignf(ldexpf(rintf(ldexpf(a, -unit)), unit), x);
}

static void round_kept(float *state, int64_t n, int bits)
{
    if (bits >= 10) hop_round_float(state, n, bits);
    for (int64_t i = 0; bits == 8 && i < n; i++) state[i] = round_e5m2(state[i]);
}

static void mix_steps(hop__cut *c, const hop__block *l, const hop_mixer_config *mixer, float *y,
                      const float *x, int64_t count)
{
    int64_t d = mixer->d_model, segment = 1;
    bool recurrent = l->ops->kind == HOP_MIXER_RECURRENT;
    memset(c->state, 0, sizeof(float) * (size_t)hop_list_state_floats(l->list, 0));
    for (int64_t t = 0; t < count; t++) {
        if (segment < c->at.count && t == c->at.starts[segment]) {
            hop_round_float(c->state, hop_list_state_floats(l->list, t), c->at.bits);
            segment++;
        }
        if (recurrent && c->watch && c->watch->state && t == c->watch->at)
            c->watch->state(c->watch->ctx, mixer->layer, c->state, hop_list_state_floats(l->list, t));
        c->step.used = 0;
        hop_mixer_io io = {.y = y + t * d, .x = x + t * d, .tokens = 1, .scratch = &c->step};
        io.watch = c->watch ? c->watch->buffers : NULL;
        hop_list_step(l->list, mixer, l->mixer, c->state, 0, t, &io);
        if (recurrent) round_kept(c->state, hop_list_state_floats(l->list, t + 1), c->at.kept);
    }
}

void hop__cut_mix(hop__cut *c, const hop__block *l, const hop_mixer_config *mixer, float *y, const float *x,
                  int64_t count)
{
    if (hop__is_full(l->ops))
        mix_full(c, l, mixer, y, x, count);
    else
        mix_steps(c, l, mixer, y, x, count);
}
