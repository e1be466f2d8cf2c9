/* grad.c - a few sequences through a network and back. What backward reads is kept layer by layer: streams,
 * normed inputs, what the mixer's list keeps, and the MLP's numbers before their activation; the rest is
 * computed again. Behind the mixer rows are packed: where only late tokens matter, only their rows are there.
 */
#include "grad.h"

#include <string.h>

/* ---- memory ----------------------------------------------------------------------------------- */

/* The next `floats` of one allocation, or, while there is none yet, only their count. */
typedef struct taker {
    float *base;
    size_t used;
} taker;

static float *take(taker *t, size_t floats)
{
    float *p = t->base ? t->base + t->used : NULL;
    t->used += (floats + 15) / 16 * 16;
    return p;
}

static hop__mlp_rows take_rows(taker *t, const size_t floats[5])
{
    float *p[5];
    for (int i = 0; i < 5; i++) p[i] = take(t, floats[i]);
    return (hop__mlp_rows){p[0], p[1], p[2], p[3], p[4]};
}

static size_t mixer_scratch(const hop_grad *g)
{
    size_t most = 0;
    for (int64_t i = 0; i < g->layers; i++) {
        size_t n = hop_tape_scratch(g->layer[i].w->list, g->layer[i].reverse, g->sequences, g->tokens);
        if (n > most) most = n;
    }
    return most;
}

static size_t lay(hop_grad *g, float *base)
{
    const hop_config *c = &g->model->layout->config;
    taker t = {.base = base};
    const size_t rows = (size_t)(g->sequences * g->tokens), wide = rows * (size_t)c->d_model;
    const size_t hidden = c->mlp == HOP_MLP_NONE ? 0 : rows * (size_t)c->mlp_hidden;
    const size_t gate = c->mlp == HOP_MLP_SWIGLU ? hidden : 0, post = c->mlp == HOP_MLP_GELU ? hidden : 0;
    const size_t normed = c->norm == HOP_NORM_NONE ? 0 : wide;
    for (int64_t i = 0; i <= g->layers; i++) g->stream[i] = take(&t, wide);
    for (int64_t i = 0; i <= g->layers; i++) g->dstream[i] = take(&t, wide);
    for (int64_t i = 0; i < g->layers; i++) {
        hop__grad_layer *l = &g->layer[i];
        l->normed = take(&t, normed);
        l->kept = take(&t, hop_tape_kept(l->w->list, l->reverse, g->sequences, g->tokens));
        l->rows = take_rows(&t, (const size_t[]){wide, normed, hidden, gate, post});
    }
    g->late = take_rows(&t, (const size_t[]){wide, normed, hidden, gate, post});
    g->work.post = take(&t, post ? 0 : hidden), g->work.dup = take(&t, hidden),
    g->work.dgate = take(&t, gate);
    for (int i = 0; i < 3; i++) g->work.row[i] = take(&t, wide);
    g->work.mixer = take(&t, mixer_scratch(g));
    return t.used;
}

/* Layers that share a list share what follows from it. */
static void plan_layers(hop_grad *g)
{
    const hop_layout *l = g->model->layout;
    for (int64_t i = 0; i < g->layers; i++) {
        g->layer[i].w = &g->model->layers[i];
        g->layer[i].mixer = hop_model_mixer_config(g->model, i);
    }
    double *angles = g->angles;
    for (int64_t k = 0; k < l->plan_count; k++) {
        const hop_list *list = &l->plans[k]->list;
        hop_reverse_plan(&g->reverse[k], list);
        hop_tape_angles(angles, list, g->tokens);
        for (int64_t i = 0; i < g->layers; i++)
            if (g->layer[i].w->list == list)
                g->layer[i].reverse = &g->reverse[k], g->layer[i].angles = angles;
        angles += hop_tape_angles_size(list, g->tokens);
    }
}

static size_t angles_of_all(const hop_grad *g)
{
    const hop_layout *l = g->model->layout;
    size_t n = 1;
    for (int64_t k = 0; k < l->plan_count; k++) n += hop_tape_angles_size(&l->plans[k]->list, g->tokens);
    return n;
}

static hop_status open_all(hop_grad *g, hop_error *err)
{
    const hop_layout *l = g->model->layout;
    const size_t streams = (size_t)(g->layers + 1) * sizeof(float *);
    g->reverse = hop_alloc(sizeof *g->reverse * (size_t)l->plan_count);
    g->angles = hop_alloc(sizeof(double) * angles_of_all(g));
    g->layer = hop_alloc(sizeof *g->layer * (size_t)g->layers);
    g->stream = hop_alloc(streams);
    g->dstream = hop_alloc(streams);
    g->token = hop_alloc(sizeof(int32_t) * (size_t)(g->sequences * g->tokens));
    if (!g->reverse || !g->angles || !g->layer || !g->stream || !g->dstream || !g->token)
        return hop_fail(err, HOP_ENOMEM, "out of memory");
    plan_layers(g);
    const size_t bytes = g->bytes = sizeof(float) * lay(g, NULL);
    g->memory = hop_memory_has(bytes) ? hop_alloc_raw(bytes) : NULL; /* a pass writes nearly all of it */
    if (!g->memory)
        return hop_fail(err, HOP_ENOMEM, "cannot hold %lld tokens of %lld layers for training",
                        (long long)(g->sequences * g->tokens), (long long)g->layers);
    lay(g, g->memory);
    return HOP_OK;
}

size_t hop_grad_bytes(const hop_grad *g)
{
    return g->bytes;
}

hop_status hop_grad_new(hop_grad **out, const hop_model *m, int64_t sequences, int64_t tokens, hop_error *err)
{
    const hop_config *c = &m->layout->config;
    *out = NULL;
    if (c->seeded)
        return hop_fail(err, HOP_EDOMAIN, "layers are drawn from a seed: there are no weights to train");
    if (sequences < 1 || tokens < 1 || tokens > c->max_positions || sequences > (1 << 30) / tokens)
        return hop_fail(err, HOP_ERANGE, "%lld sequences of %lld tokens: the network takes 1 to %lld tokens",
                        (long long)sequences, (long long)tokens, (long long)c->max_positions);
    for (int64_t k = 0; k < m->layout->plan_count; k++) {
        if (m->layout->plans[k]->config.foreign[HOP_FOREIGN_beside] != 0)
            return hop_fail(err, HOP_EDOMAIN, "%s layers beside the one before cannot be trained",
                            m->layout->plans[k]->ops->name);
        if (m->layout->plans[k]->config.foreign[HOP_FOREIGN_norms] != HOP_NORMS_BEFORE)
            return hop_fail(err, HOP_EDOMAIN,
                            "%s layers cannot be trained: norms that do not stand before them",
                            m->layout->plans[k]->ops->name);
        const char *op = hop_list_forward_only(&m->layout->plans[k]->list);
        if (op)
            return hop_fail(err, HOP_EDOMAIN, "%s layers cannot be trained: %s has no way back",
                            m->layout->plans[k]->ops->name, op);
    }
    hop_grad *g = hop_alloc(sizeof *g);
    if (!g) return hop_fail(err, HOP_ENOMEM, "out of memory");
    g->model = m, g->sequences = sequences, g->tokens = tokens, g->layers = c->pattern.layers;
    hop_status s = open_all(g, err);
    if (s != HOP_OK) {
        hop_grad_free(g);
        return s;
    }
    *out = g;
    return HOP_OK;
}

void hop_grad_free(hop_grad *g)
{
    if (!g) return;
    hop_free(g->reverse);
    hop_free(g->angles);
    hop_free(g->layer);
    hop_free(g->stream);
    hop_free(g->dstream);
    hop_free(g->token);
    hop_free(g->memory);
    hop_free(g);
}

void hop_grad_use(hop_grad *g, const hop_packed *l)
{
    g->packed = l;
    for (int64_t i = 0; l && i < g->layers; i++) hop__packed_mixer(&g->layer[i].panels, l, i);
}

void hop_grad_last_from(hop_grad *g, int64_t first)
{
    g->last_from = first > 0 ? first : 0;
}

const float *hop_grad_stream(const hop_grad *g, int64_t layer)
{
    return g->stream[layer];
}

float *hop_grad_dstream(hop_grad *g, int64_t layer)
{
    return g->dstream[layer];
}

/* ---- forward ---------------------------------------------------------------------------------- */

/* Rows first .. count-1 of every sequence, close together. */
static void pack(const hop_grad *g, float *to, const float *from, int64_t first, int64_t width)
{
    size_t rows = (size_t)(g->count - first) * (size_t)width;
    for (int64_t s = 0; s < g->now; s++)
        memcpy(to + (size_t)s * rows, from + (s * g->count + first) * width, sizeof(float) * rows);
}

static void unpack(const hop_grad *g, float *to, const float *from, int64_t first, int64_t width)
{
    size_t rows = (size_t)(g->count - first) * (size_t)width;
    for (int64_t s = 0; s < g->now; s++)
        memcpy(to + (s * g->count + first) * width, from + (size_t)s * rows, sizeof(float) * rows);
}

static hop_tape tape_of(const hop_grad *g, int64_t layer)
{
    const hop__grad_layer *l = &g->layer[layer];
    bool plain = g->model->layout->config.norm == HOP_NORM_NONE;
    return (hop_tape){.sequences = g->now,
                      .tokens = g->count,
                      .first = layer + 1 == g->layers ? g->first : 0,
                      .x = plain ? g->stream[layer] : l->normed,
                      .kept = l->kept,
                      .angles = l->angles,
                      .panels = g->packed ? &l->panels : NULL,
                      .scratch = g->work.mixer};
}

static void layer_forward(hop_grad *g, int64_t i)
{
    const hop__grad_layer *l = &g->layer[i];
    const int64_t d = g->model->layout->config.d_model;
    const bool mlp = g->model->layout->config.mlp != HOP_MLP_NONE;
    hop_tape t = tape_of(g, i);
    const int64_t rows = g->now * (g->count - t.first);
    float *x = g->stream[i], *out = g->stream[i + 1];
    hop__norm(g->model, l->normed, x, l->w->norm1, l->w->norm1_bias, g->now * g->count, 0, NULL);
    if (t.first > 0) {
        x = g->work.row[1], out = g->work.row[0];
        pack(g, x, g->stream[i], t.first, d);
    }
    t.plus = x, t.y = mlp ? l->rows.mid : out;
    hop_tape_forward(&t, l->w->list, l->reverse, &l->mixer, l->w->mixer);
    if (mlp) hop__mlp_forward(g, l->w, &l->rows, out, rows);
    if (t.first > 0) unpack(g, g->stream[i + 1], out, t.first, d);
}

static hop_status check(const hop_grad *g, const int32_t *tokens, int64_t sequences, int64_t count,
                        hop_error *err)
{
    hop_status s = HOP_OK;
    if (sequences < 1 || sequences > g->sequences || count < 1 || count > g->tokens)
        return hop_fail(err, HOP_ERANGE, "%lld sequences of %lld tokens: room is for %lld of %lld",
                        (long long)sequences, (long long)count, (long long)g->sequences,
                        (long long)g->tokens);
    for (int64_t i = 0; s == HOP_OK && i < sequences * count; i++)
        s = hop__check_token(g->model, tokens[i], i % count, err);
    return s;
}

hop_status hop_grad_forward(hop_grad *g, const int32_t *tokens, int64_t sequences, int64_t count,
                            hop_error *err)
{
    const int64_t d = g->model->layout->config.d_model, rows = sequences * count;
    hop_status s = check(g, tokens, sequences, count, err);
    if (s != HOP_OK) return s;
    g->now = sequences, g->count = count;
    g->first = g->last_from < count ? g->last_from : count - 1;
    memcpy(g->token, tokens, sizeof(int32_t) * (size_t)rows);
    for (int64_t i = 0; i <= g->layers; i++) memset(g->dstream[i], 0, sizeof(float) * (size_t)(rows * d));
    for (int64_t i = 0; i < rows; i++)
        hop__embed(g->model, g->stream[0] + i * d, tokens[i], i % count, 0, g->work.row[0]);
    for (int64_t i = 0; i < g->layers; i++) layer_forward(g, i);
    return HOP_OK;
}

/* ---- backward --------------------------------------------------------------------------------- */

/* The first token whose row is not zero in all sequences; count: there is none. */
static int64_t first_row(const hop_grad *g, const float *dx)
{
    const int64_t d = g->model->layout->config.d_model;
    for (int64_t t = 0; t < g->count; t++)
        for (int64_t s = 0; s < g->now; s++)
            for (int64_t e = 0; e < d; e++)
                if (dx[(s * g->count + t) * d + e] != 0.0f) return t;
    return g->count;
}

/* What forward kept of rows behind the mixer, from `first` on: it kept those from `had` on. */
static hop__mlp_rows rows_from(hop_grad *g, const hop__mlp_rows *r, int64_t had, int64_t first)
{
    const hop_config *c = &g->model->layout->config;
    if (had == first || c->mlp == HOP_MLP_NONE) return *r;
    float *const to[] = {g->late.mid, g->late.normed, g->late.up, g->late.gate, g->late.post};
    float *const from[] = {r->mid, r->normed, r->up, r->gate, r->post};
    const bool there[] = {true, c->norm != HOP_NORM_NONE, true, c->mlp == HOP_MLP_SWIGLU,
                          c->mlp == HOP_MLP_GELU};
    for (int i = 0; i < 5; i++) {
        const int64_t w = i < 2 ? c->d_model : c->mlp_hidden, rows = g->count - first;
        for (int64_t s = 0; there[i] && s < g->now; s++)
            memcpy(to[i] + s * rows * w, from[i] + (s * (g->count - had) + first - had) * w,
                   sizeof(float) * (size_t)(rows * w));
    }
    return g->late;
}

/* dx of packed rows, added to the rows where they belong. */
static void add_rows(const hop_grad *g, float *to, const float *dx, int64_t first, int64_t d)
{
    const int64_t rows = g->count - first;
    for (int64_t s = 0; s < g->now; s++) {
        float *at = to + (s * g->count + first) * d;
        hop_add(at, at, dx + s * rows * d, rows * d);
    }
}

static void layer_backward(hop_grad *g, int64_t i, float *dblock)
{
    const hop__grad_layer *l = &g->layer[i];
    const hop_model *m = g->model;
    const int64_t d = m->layout->config.d_model, first = first_row(g, g->dstream[i + 1]);
    hop_tape t = tape_of(g, i);
    float *dx = g->dstream[i + 1], *dmixer[HOP_MIXER_MAX_PARAMS] = {NULL};
    if (first == g->count) return;
    t.back_first = first > t.first ? first : t.first;
    if (t.back_first > 0) {
        dx = g->work.row[1];
        pack(g, dx, g->dstream[i + 1], t.back_first, d);
    }
    hop__mlp_rows rows = rows_from(g, &l->rows, t.first, t.back_first);
    hop__mlp_backward(g, l->w, &rows, dx, g->now * (g->count - t.back_first), dblock);
    for (int k = 0; k < HOP_MIXER_MAX_PARAMS; k++)
        if (l->w->mixer[k]) dmixer[k] = dblock + (l->w->mixer[k] - m->data);
    t.dy = dx, t.dx = g->work.row[0];
    hop_tape_backward(&t, l->w->list, l->reverse, &l->mixer, l->w->mixer, dmixer);
    add_rows(g, g->dstream[i], dx, t.back_first, d);
    hop__norm_backward(m, g->dstream[i], t.dx, g->stream[i], l->w->norm1, l->w->norm1_bias, g->now * g->count,
                       dblock);
}

void hop_grad_backward(hop_grad *g, float *dblock)
{
    const hop_model *m = g->model;
    const int64_t d = m->layout->config.d_model;
    for (int64_t i = g->layers - 1; i >= 0; i--) layer_backward(g, i, dblock);
    for (int64_t r = 0; r < g->now * g->count; r++) {
        const float *dx = g->dstream[0] + r * d;
        float *row = dblock + (m->tokens - m->data) + g->token[r] * d;
        hop_add(row, row, dx, d);
        if (!m->positions) continue;
        row = dblock + (m->positions - m->data) + r % g->count * d;
        hop_add(row, row, dx, d);
    }
}

/* ---- read-out --------------------------------------------------------------------------------- */

static bool together(const int64_t *row, int64_t rows)
{
    for (int64_t i = 1; i < rows; i++)
        if (row[i] != row[0] + i) return false;
    return true;
}

/* Some of the rows at a time, as many as there is room for. */
static const float *chosen(hop_grad *g, const int64_t *row, int64_t rows)
{
    const int64_t d = g->model->layout->config.d_model;
    if (rows > 0 && together(row, rows)) return g->stream[g->layers] + row[0] * d;
    for (int64_t i = 0; i < rows; i++)
        memcpy(g->work.row[0] + i * d, g->stream[g->layers] + row[i] * d, sizeof(float) * (size_t)d);
    return g->work.row[0];
}

void hop_grad_logits(hop_grad *g, const int64_t *row, int64_t rows, float *logits)
{
    const int64_t vocab = g->model->layout->config.vocab, most = g->sequences * g->tokens;
    for (int64_t at = 0, n; at < rows; at += n) {
        n = rows - at < most ? rows - at : most;
        hop__read_out(g->model, logits + at * vocab, chosen(g, row + at, n), n, (hop__arith){0},
                      g->work.row[1], NULL);
    }
}

static void dlogits_rows(hop_grad *g, const int64_t *row, int64_t rows, const float *dlogits, float *dblock)
{
    const hop_model *m = g->model;
    const int64_t d = m->layout->config.d_model, vocab = m->layout->config.vocab;
    float *dx = g->work.row[2];
    const float *x = chosen(g, row, rows),
                *in = hop__norm(m, g->work.row[1], x, m->norm, m->norm_bias, rows, 0, NULL);
    hop__product_backward(g, dx, false, dlogits, in, m->head, dblock, (const int64_t[]){rows, vocab, d});
    if (rows > 0 && together(row, rows)) {
        float *to = g->dstream[g->layers] + row[0] * d;
        hop__norm_backward(m, to, dx, x, m->norm, m->norm_bias, rows, dblock);
        return;
    }
    memset(g->work.row[1], 0, sizeof(float) * (size_t)(rows * d)); /* `in` is not read any more */
    hop__norm_backward(m, g->work.row[1], dx, x, m->norm, m->norm_bias, rows, dblock);
    for (int64_t i = 0; i < rows; i++) {
        float *to = g->dstream[g->layers] + row[i] * d;
        hop_add(to, to, g->work.row[1] + i * d, d);
    }
}

void hop_grad_dlogits(hop_grad *g, const int64_t *row, int64_t rows, const float *dlogits, float *dblock)
{
    const int64_t vocab = g->model->layout->config.vocab, most = g->sequences * g->tokens;
    for (int64_t at = 0, n; at < rows; at += n) {
        n = rows - at < most ? rows - at : most;
        dlogits_rows(g, row + at, n, dlogits + at * vocab, dblock);
    }
}
