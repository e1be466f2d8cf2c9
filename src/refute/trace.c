/* Where the difference between two prompts dies: both are run, and behind each layer the rows behind the
 * difference and the states that cross it are compared. Recurrent layers go token by token for it, whatever
 * the arithmetic, because only then there is a state to look at. */
#include "room.h"

#include <math.h>
#include <string.h>

/* What one pass leaves: rows behind the prefix, and states, layer by layer. */
typedef struct seen {
    float *rows, *states, *own;
    int64_t *floats;                             /* of a layer's state; 0: it has none */
    int64_t d, first, count, differ, most_state; /* differ: the first token in which the prompts do */
} seen;

/* One layer in how many is kept: the first and the last ones; -1: this one is not. */
static int64_t slot(int64_t layer, int64_t layers)
{
    if (layers <= HOP_TRACE_LAYERS || layer < HOP_TRACE_LAYERS / 2) return layer;
    return layer >= layers - HOP_TRACE_LAYERS / 2 ? HOP_TRACE_LAYERS - (layers - layer) : -1;
}

typedef struct watching {
    seen *into;
    int64_t layers;
} watching;

static void take_stream(void *ctx, int64_t layer, const float *x, int64_t count)
{
    const watching *w = ctx;
    const seen *s = w->into;
    int64_t k = slot(layer, w->layers), rows = count - s->first, d = s->d;
    if (k < 0) return;
    memcpy(s->rows + k * s->count * d, x + s->first * d, sizeof(float) * (size_t)(rows * d));
    memcpy(s->own + k * d, x + s->differ * d, sizeof(float) * (size_t)d);
}

static void take_state(void *ctx, int64_t layer, const float *state, int64_t floats)
{
    const watching *w = ctx;
    int64_t k = slot(layer, w->layers);
    if (k < 0 || floats > w->into->most_state) return;
    w->into->floats[k] = floats;
    memcpy(w->into->states + k * w->into->most_state, state, sizeof(float) * (size_t)floats);
}

static double distance(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum);
}

static hop_status pass(const hop__hunt *h, const hop_witness *w, int which, seen *s, float *hidden,
                       hop_error *err)
{
    static const int64_t whole[] = {0};
    watching ctx = {.into = s, .layers = hop_model_config(h->model)->pattern.layers};
    const hop_watch watch = {.stream = take_stream, .state = take_state, .at = w->prefix, .ctx = &ctx};
    const hop_cuts steps = {.starts = whole, .count = 1, .bits = 32};
    hop_forward_options o = hop__forward_options(h, NULL);
    hop_forward *f;
    if (!o.cuts && !o.bits && h->causal && h->keeps) o.cuts = &steps;
    o.watch = &watch;
    o.pool = h->o->pool;
    hop_status got = hop_forward_new(&f, h->model, &o, err);
    if (got != HOP_OK) return got;
    got = hop_forward_hidden(f, w->prompt[which].tokens, h->task->length, hidden, err);
    hop_forward_free(f);
    return got;
}

static void compare(hop_witness_layer *trace, const hop_witness *w, const hop__hunt *h, const seen s[2])
{
    const hop_pattern *pattern = &hop_model_config(h->model)->pattern;
    int64_t d = s[0].d, at = w->prompt[0].position - s[0].first;
    for (int64_t layer = 0; layer < pattern->layers; layer++) {
        int64_t k = slot(layer, pattern->layers), rows = k * s[0].count * d, n = k < 0 ? 0 : s[0].floats[k];
        if (k < 0) continue;
        hop_witness_layer *t = &trace[k];
        *t = (hop_witness_layer){.layer = layer,
                                 .mixer = hop_mixer_find(hop_pattern_mixer(pattern, layer))->name};
        t->own = distance(s[0].own + k * d, s[1].own + k * d, d);
        for (int64_t r = 0; r < s[0].count; r++) {
            double far = distance(s[0].rows + rows + r * d, s[1].rows + rows + r * d, d);
            if (s[0].first + r >= w->prefix && !(far <= t->stream)) t->stream = far;
            if (r == at) t->last_token = far;
        }
        t->state =
            n ? distance(s[0].states + k * s[0].most_state, s[1].states + k * s[0].most_state, n) : NAN;
    }
}

static hop_status allocate(seen *s, const hop__hunt *h, const hop_witness *w, int64_t kept, hop_error *err)
{
    const hop_config *c = hop_model_config(h->model);
    s->d = c->d_model;
    s->first = w->prefix < w->prompt[0].position ? w->prefix : w->prompt[0].position;
    s->count = h->task->length - s->first;
    while (w->prompt[0].tokens[s->differ] == w->prompt[1].tokens[s->differ]) s->differ++;
    s->most_state = 1;
    for (int64_t i = 0; i < c->pattern.layers; i++) {
        if (slot(i, c->pattern.layers) < 0) continue;
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&c->pattern, i));
        hop_mixer_config mixer = hop_model_mixer_config(h->model, i);
        int64_t n = ops->kind == HOP_MIXER_RECURRENT ? hop_mixer_state_floats(ops, &mixer, w->prefix) : 0;
        if (n > s->most_state) s->most_state = n;
    }
    s->rows = hop_alloc(sizeof(float) * (size_t)(kept * s->count * s->d));
    s->states = hop_alloc(sizeof(float) * (size_t)(kept * s->most_state));
    s->own = hop_alloc(sizeof(float) * (size_t)(kept * s->d));
    s->floats = hop_alloc(sizeof *s->floats * (size_t)kept);
    return s->rows && s->states && s->own && s->floats
               ? HOP_OK
               : hop_fail(err, HOP_ENOMEM, "the trace: out of memory");
}

static hop_status trace(hop_witness_layer *out, int64_t kept, const hop_witness *w, const hop__hunt *h,
                        hop_error *err)
{
    seen s[2] = {{0}};
    float *hidden =
        hop_alloc_raw(sizeof(float) * (size_t)(h->task->length * hop_model_config(h->model)->d_model));
    hop_status got = hidden ? HOP_OK : hop_fail(err, HOP_ENOMEM, "the trace: out of memory");
    for (int i = 0; got == HOP_OK && i < 2; i++) {
        got = allocate(&s[i], h, w, kept, err);
        if (got == HOP_OK) got = pass(h, w, i, &s[i], hidden, err);
    }
    if (got == HOP_OK) compare(out, w, h, s);
    for (int i = 0; i < 2; i++) {
        hop_free(s[i].rows);
        hop_free(s[i].states);
        hop_free(s[i].own);
        hop_free(s[i].floats);
    }
    hop_free(hidden);
    return got;
}

hop_status hop__trace(hop_witness_layer **out, int64_t *count, const hop_witness *w, const hop__hunt *h,
                      hop_error *err)
{
    int64_t layers = hop_model_config(h->model)->pattern.layers;
    int64_t kept = layers < HOP_TRACE_LAYERS ? layers : HOP_TRACE_LAYERS;
    hop_witness_layer *list = hop_alloc(sizeof *list * (size_t)kept);
    hop_status s =
        list ? trace(list, kept, w, h, err) : hop_fail(err, HOP_ENOMEM, "the trace: out of memory");
    *out = s == HOP_OK ? list : NULL;
    *count = s == HOP_OK ? kept : 0;
    if (s != HOP_OK) hop_free(list);
    return s;
}

hop_status hop_witness_trace(hop_witness_layer **out, int64_t *count, const hop_witness *w,
                             const hop_model *m, const hop_task *task, hop_pool *pool, hop_error *err)
{
    const hop_refute_options o = {.arithmetic = w->arithmetic, .pool = pool};
    hop__hunt h = {.model = m, .task = task, .o = &o};
    hop_status s = hop__hunt_ready(&h, err);
    *out = NULL;
    *count = 0;
    return s == HOP_OK ? hop__trace(out, count, w, &h, err) : s;
}
