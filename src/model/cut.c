/* A pass under the arithmetic of a cut sequence, on whole arrays and without a message: what a game of
 * players must reproduce to the last bit. */
#include "network.h"

#include <string.h>

bool hop__is_full(const hop_mixer_ops *ops)
{
    return ops == hop_mixer_find("full");
}

static void at_least(size_t *most, size_t n)
{
    if (n > *most) *most = n;
}

static void measure(hop__cut_sizes *z, const hop_mixer_ops *ops, const hop_mixer_config *c, int64_t tokens,
                    int threads)
{
    if (!hop__is_full(ops)) {
        at_least(&z->state, (size_t)ops->state_floats(c, tokens));
        at_least(&z->step, ops->step_scratch(c, tokens - 1));
        return;
    }
    hop_attn a = hop_full_shape(c, tokens, tokens, false);
    at_least(&z->q, (size_t)(c->heads * c->head_dim));
    at_least(&z->kv, (size_t)(c->kv_heads * c->head_dim));
    at_least(&z->triples, (size_t)(c->heads * (c->head_dim + 2)));
    at_least(&z->attention, hop_attn_scratch(&a, threads));
}

hop__cut_sizes hop__cut_measure(const hop_model *m, int64_t tokens, int threads)
{
    hop__cut_sizes z = {0};
    int64_t runs = m->config.pattern.run_count;
    for (int64_t i = 0; i < runs + m->special_count; i++) {
        int64_t layer = i < runs ? m->run_start[i] : m->specials[i - runs].layer;
        hop_mixer_config c = hop_model_mixer_config(m, layer);
        measure(&z, hop__layer_ops(m, layer), &c, tokens, threads);
    }
    return z;
}

/* ---- opening ----------------------------------------------------------------------------------- */

hop_status hop__cut_valid(const hop_model *m, const hop_cuts *at, hop_error *err)
{
    if (m->config.bidirectional)
        return hop_fail(err, HOP_EDOMAIN, "a network that looks both ways has no cut that only looks back");
    if (at->bits < 10 || at->bits > 32)
        return hop_fail(err, HOP_ERANGE, "%d bits: numbers that cross have 10 to 32", at->bits);
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
    size_t rows = (size_t)tokens, row = 3 * z.q + 2 * z.kv + 2 * z.triples;
    int64_t *starts = hop_alloc(sizeof *starts * (size_t)at->count);
    float *p = hop_alloc(sizeof(float) * (rows * row + z.attention + z.state + 1));
    c->at = (hop_cuts){.starts = starts, .count = at->count, .bits = at->bits};
    c->memory = p;
    c->pool = pool;
    if (!starts || !p) return hop_fail(err, HOP_ENOMEM, "cannot hold %lld tokens", (long long)tokens);
    memcpy(starts, at->starts, sizeof *starts * (size_t)at->count);
    float **const part[] = {&c->q,       &c->sent,  &c->o,    &c->k,    &c->v,
                            &c->triples, &c->reply, &c->work, &c->state};
    const size_t size[] = {rows * z.q,       rows * z.q,       rows * z.q,  rows * z.kv, rows * z.kv,
                           rows * z.triples, rows * z.triples, z.attention, z.state};
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

/* The triples of segment j's queries over the keys of segment i. */
static void look(const hop__cut *c, const hop_mixer_config *mixer, int64_t j, int64_t i, int64_t count)
{
    int64_t row = c->at.starts[j], rows = end_of(c, j, count) - row;
    int64_t key = c->at.starts[i], keys = end_of(c, i, count) - key;
    int64_t qw = mixer->heads * mixer->head_dim, kw = mixer->kv_heads * mixer->head_dim;
    hop_attn a = hop_full_shape(mixer, keys, rows, i == j);
    hop_attn_partial(i == j ? c->triples : c->reply, (i == j ? c->q : c->sent) + row * qw, c->k + key * kw,
                     c->v + key * kw, &a, c->work, c->pool);
}

static void mix_full(hop__cut *c, const hop__layer *l, const hop_mixer_config *mixer, float *y,
                     const float *x, int64_t count)
{
    const hop_full_rows rows = {c->q, c->k, c->v};
    int64_t qw = mixer->heads * mixer->head_dim;
    hop_mixer_io io = {.x = x, .tokens = count, .pool = c->pool};
    hop_full_project(&rows, mixer, l->mixer, &io, 0);
    memcpy(c->sent, c->q, sizeof(float) * (size_t)(count * qw));
    hop_narrow(c->sent, count * qw, c->at.bits);
    for (int64_t j = 0; j < c->at.count; j++) {
        int64_t first = c->at.starts[j], n = end_of(c, j, count) - first, heads = n * mixer->heads;
        look(c, mixer, j, j, count);
        for (int64_t i = 0; i < j; i++) {
            look(c, mixer, j, i, count);
            hop_triple_narrow(c->reply, heads, mixer->head_dim, c->at.bits);
            hop_triple_fold(c->triples, c->reply, heads, mixer->head_dim);
        }
        io.y = y + first * mixer->d_model;
        io.tokens = n;
        hop_full_output(mixer, l->mixer, &io, c->triples, c->o);
    }
}

static void mix_steps(hop__cut *c, const hop__layer *l, const hop_mixer_config *mixer, float *y,
                      const float *x, int64_t count)
{
    int64_t d = mixer->d_model, segment = 1;
    memset(c->state, 0, sizeof(float) * (size_t)l->ops->state_floats(mixer, 0));
    for (int64_t t = 0; t < count; t++) {
        if (segment < c->at.count && t == c->at.starts[segment]) {
            hop_narrow(c->state, l->ops->state_floats(mixer, t), c->at.bits);
            segment++;
        }
        c->step.used = 0;
        hop_mixer_io io = {.y = y + t * d, .x = x + t * d, .tokens = 1, .scratch = &c->step};
        l->ops->step(mixer, l->mixer, c->state, t, &io);
    }
}

void hop__cut_mix(hop__cut *c, const hop__layer *l, const hop_mixer_config *mixer, float *y, const float *x,
                  int64_t count)
{
    if (hop__is_full(l->ops))
        mix_full(c, l, mixer, y, x, count);
    else
        mix_steps(c, l, mixer, y, x, count);
}
