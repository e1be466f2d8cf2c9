/* Some segments of a cut sequence: the work of the players that one process holds. Rows of all of them stand
 * one behind the other, but a segment's functions touch its own rows only. */
#include "network.h"

#include <string.h>

#define ROWS 64 /* rows of a block from the residual sum to the end of the MLP */

struct hop_split {
    const hop_model *model;
    hop_cuts cuts; /* the starts are its own */
    int64_t tokens, from, to;
    hop_pool *pool;
    hop__source source;
    const hop__block *layer; /* at hand */
    hop_mixer_config mixer;
    float *memory, *x, *y, *normed, *q, *k, *v, *partials; /* rows of all segments held */
    float *o, *work, *finish;                              /* shared */
    size_t most_state, most_reply;
    hop_arena step;
};

/* ---- rows -------------------------------------------------------------------------------------- */

static int64_t start_of(const hop_split *s, int64_t segment)
{
    return segment < s->cuts.count ? s->cuts.starts[segment] : s->tokens;
}

static int64_t rows_of(const hop_split *s, int64_t segment)
{
    return start_of(s, segment + 1) - start_of(s, segment);
}

/* A segment's first row in an array whose rows are `width` wide. */
static int64_t at(const hop_split *s, int64_t segment, int64_t width)
{
    return (start_of(s, segment) - start_of(s, s->from)) * width;
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* Hands out one block of memory; sizes in floats. */
static hop_status allocate(hop_split *s, hop_error *err)
{
    const hop_model *m = s->model;
    int threads = hop_pool_threads(s->pool);
    hop__cut_sizes z = hop__cut_measure(m, s->tokens, threads);
    size_t rows = (size_t)(start_of(s, s->to) - start_of(s, s->from)), d = (size_t)m->layout->config.d_model,
           longest = 0;
    for (int64_t i = s->from; i < s->to; i++)
        if ((size_t)rows_of(s, i) > longest) longest = (size_t)rows_of(s, i);
    float **const part[] = {&s->x, &s->y,        &s->normed, &s->q,    &s->k,
                            &s->v, &s->partials, &s->o,      &s->work, &s->finish};
    const size_t size[] = {rows * d,
                           rows * d,
                           m->layout->config.norm == HOP_NORM_NONE ? 0 : rows * d,
                           rows * z.q,
                           rows * z.k,
                           rows * z.v,
                           rows * z.partials,
                           longest * z.o,
                           z.attention,
                           (size_t)threads * hop__finish_floats(m, ROWS)};
    size_t total = 1;
    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) total += size[i];
    float *p = s->memory = hop_alloc(sizeof(float) * total);
    if (!p) return hop_fail(err, HOP_ENOMEM, "cannot hold %zu tokens", rows);
    for (size_t i = 0; i < sizeof size / sizeof size[0]; p += size[i], i++) *part[i] = p;
    s->most_state = z.state;
    s->most_reply = z.partials > z.q ? z.partials : z.q; /* queries, too: values may be narrower */
    return hop_arena_reserve(&s->step, z.step + 1, err);
}

static hop_status take_cuts(hop_split *s, const hop_split_options *o, hop_error *err)
{
    hop_status got = hop__cut_valid(s->model, &o->cuts, err);
    if (got == HOP_OK && o->cuts.kept)
        return hop_fail(err, HOP_EDOMAIN, "segments held apart keep their states in float32");
    if (got == HOP_OK) got = hop__cut_check(&o->cuts, o->tokens, err);
    if (got != HOP_OK) return got;
    if (o->tokens > s->model->layout->config.max_positions)
        return hop_fail(err, HOP_ERANGE, "%lld tokens: the network takes 1 to %lld", (long long)o->tokens,
                        (long long)s->model->layout->config.max_positions);
    if (o->from < 0 || o->from > o->to || o->to > o->cuts.count)
        return hop_fail(err, HOP_ERANGE, "there are no segments %lld to %lld", (long long)o->from,
                        (long long)o->to);
    int64_t *starts = hop_alloc(sizeof *starts * (size_t)o->cuts.count);
    if (!starts) return hop_fail(err, HOP_ENOMEM, "out of memory");
    memcpy(starts, o->cuts.starts, sizeof *starts * (size_t)o->cuts.count);
    s->cuts = (hop_cuts){.starts = starts, .count = o->cuts.count, .bits = o->cuts.bits};
    return HOP_OK;
}

hop_status hop_split_new(hop_split **out, const hop_model *m, const hop_split_options *o, hop_error *err)
{
    *out = NULL;
    hop_split *s = hop_alloc(sizeof *s);
    if (!s) return hop_fail(err, HOP_ENOMEM, "out of memory");
    s->model = m;
    s->tokens = o->tokens;
    s->from = o->from;
    s->to = o->to;
    s->pool = o->pool;
    hop_status got = take_cuts(s, o, err);
    if (got == HOP_OK) got = allocate(s, err);
    if (got == HOP_OK) got = hop__source_open(&s->source, m, err);
    if (got != HOP_OK) {
        hop_split_free(s);
        return got;
    }
    *out = s;
    return HOP_OK;
}

void hop_split_free(hop_split *s)
{
    if (!s) return;
    hop__source_close(&s->source);
    hop_arena_free(&s->step);
    hop_free((void *)s->cuts.starts);
    hop_free(s->memory);
    hop_free(s);
}

hop_status hop_split_embed(hop_split *s, const int32_t *tokens, hop_error *err)
{
    int64_t d = s->model->layout->config.d_model;
    for (int64_t t = start_of(s, s->from); t < start_of(s, s->to); t++) {
        hop_status got = hop__check_token(s->model, tokens[t], t, err);
        if (got != HOP_OK) return got;
        hop__embed(s->model, s->x + (t - start_of(s, s->from)) * d, tokens[t], t, 0, s->y);
    }
    return HOP_OK;
}

/* ---- a layer ------------------------------------------------------------------------------------- */

static int64_t query_width(const hop_split *s)
{
    return s->mixer.heads * s->mixer.head_dim;
}

static int64_t key_width(const hop_split *s)
{
    return s->mixer.kv_heads * s->mixer.head_dim;
}

static int64_t value_width(const hop_split *s)
{
    return s->mixer.kv_heads * hop__value_dim(&s->mixer);
}

bool hop_split_is_full(const hop_split *s)
{
    return hop__is_full(s->layer->ops);
}

int64_t hop_split_query_floats(const hop_split *s)
{
    return query_width(s);
}

int64_t hop_split_reply_floats(const hop_split *s)
{
    return s->mixer.heads * (hop__value_dim(&s->mixer) + 2);
}

int64_t hop_split_state_floats(const hop_split *s, int64_t segment)
{
    return hop_list_state_floats(s->layer->list, start_of(s, segment));
}

int64_t hop_split_most_state(const hop_split *s)
{
    return (int64_t)s->most_state;
}

int64_t hop_split_most_reply(const hop_split *s)
{
    return (int64_t)s->most_reply;
}

/* The partial softmaxes of queries over this segment's keys; `own`: the segment's own queries. */
static void look(hop_split *s, int64_t segment, float *partials, const float *queries, int64_t rows, bool own)
{
    hop_attn a = hop_attention_shape(s->layer->list, rows_of(s, segment), rows, own);
    hop_attn_partial(partials, queries, s->k + at(s, segment, key_width(s)),
                     s->v + at(s, segment, value_width(s)), &a, s->work, s->pool);
}

static void enter_full(hop_split *s, int64_t segment, const float *x)
{
    int64_t rows = rows_of(s, segment), kw = key_width(s), vw = value_width(s);
    float *q = s->q + at(s, segment, query_width(s));
    const hop_attention_rows to = {q, s->k + at(s, segment, kw), s->v + at(s, segment, vw)};
    hop_mixer_io io = {.x = x, .tokens = rows, .scratch = &s->step, .pool = s->pool};
    io.position = start_of(s, segment);
    s->step.used = 0;
    hop_attention_project(&to, s->layer->list, &s->mixer, s->layer->mixer, &io);
    look(s, segment, s->partials + at(s, segment, hop_split_reply_floats(s)), q, rows, true);
}

/* The layer's input rows of a segment. */
static float *input(const hop_split *s, int64_t segment)
{
    const bool plain = s->model->layout->config.norm == HOP_NORM_NONE || s->layer->norms == HOP_NORMS_BEHIND;
    float *from = plain ? s->x : s->normed;
    return from + at(s, segment, s->model->layout->config.d_model);
}

void hop_split_enter(hop_split *s, int64_t layer)
{
    const hop__block *l = s->layer = hop__source_layer(&s->source, layer);
    int64_t d = s->model->layout->config.d_model;
    s->mixer = hop_model_mixer_config(s->model, layer);
    for (int64_t i = s->from; i < s->to; i++) {
        hop__enter(s->model, l, s->normed + at(s, i, d), s->x + at(s, i, d), rows_of(s, i), 0, s->pool);
        if (hop_split_is_full(s)) enter_full(s, i, input(s, i));
    }
}

const float *hop_split_queries(const hop_split *s, int64_t segment, int64_t row)
{
    return s->q + at(s, segment, query_width(s)) + row * query_width(s);
}

void hop_split_reply(hop_split *s, int64_t segment, float *partials, const float *queries, int64_t rows)
{
    look(s, segment, partials, queries, rows, false);
    hop_partial_round(partials, rows * s->mixer.heads, hop__value_dim(&s->mixer), s->cuts.bits);
}

void hop_split_fold(hop_split *s, int64_t segment, int64_t row, const float *partials, int64_t rows)
{
    int64_t width = hop_split_reply_floats(s);
    hop_partial_fold(s->partials + at(s, segment, width) + row * width, partials, rows * s->mixer.heads,
                     hop__value_dim(&s->mixer));
}

void hop_split_step(hop_split *s, int64_t segment, float *state)
{
    int64_t d = s->model->layout->config.d_model, first = start_of(s, segment);
    const float *x = input(s, segment);
    float *y = s->y + at(s, segment, d);
    for (int64_t r = 0; r < rows_of(s, segment); r++) {
        s->step.used = 0;
        hop_mixer_io io = {.y = y + r * d, .x = x + r * d, .tokens = 1, .scratch = &s->step};
        hop_list_step(s->layer->list, &s->mixer, s->layer->mixer, state, 0, first + r, &io);
    }
}

typedef struct rows_job {
    hop_split *s;
    float *x, *y;
    int64_t rows;
} rows_job;

static void finish_rows(void *ctx, int64_t task, int worker)
{
    const rows_job *job = ctx;
    const hop_split *s = job->s;
    int64_t d = s->model->layout->config.d_model, row = task * ROWS;
    int64_t rows = job->rows - row < ROWS ? job->rows - row : ROWS;
    hop__finish(s->model, s->layer, job->x + row * d, job->y + row * d, rows, (hop__arith){.steady = true},
                s->finish + (size_t)worker * hop__finish_floats(s->model, ROWS));
}

void hop_split_leave(hop_split *s, int64_t segment)
{
    int64_t d = s->model->layout->config.d_model, width = hop_split_reply_floats(s);
    rows_job job = {.s = s, .x = s->x + at(s, segment, d), .y = s->y + at(s, segment, d)};
    job.rows = rows_of(s, segment);
    if (hop_split_is_full(s)) {
        const hop_mixer_io io = {
            .y = job.y, .x = input(s, segment), .tokens = job.rows, .scratch = &s->step, .pool = s->pool};
        s->step.used = 0;
        hop_partial_close(s->o, s->partials + at(s, segment, width), job.rows * s->mixer.heads,
                          hop__value_dim(&s->mixer));
        hop_attention_output(s->o, s->layer->list, &s->mixer, s->layer->mixer, &io);
    }
    hop_pool_run(s->pool, (job.rows + ROWS - 1) / ROWS, finish_rows, &job);
}

/* ---- reading -------------------------------------------------------------------------------------- */

const float *hop_split_hidden(const hop_split *s, int64_t segment)
{
    return s->x + at(s, segment, s->model->layout->config.d_model);
}

void hop_split_logits(hop_split *s, int64_t segment, int64_t row, float *logits)
{
    int64_t d = s->model->layout->config.d_model;
    hop__read_out(s->model, logits, hop_split_hidden(s, segment) + row * d, 1, (hop__arith){.steady = true},
                  s->y + at(s, segment, d) + row * d, s->pool);
}
