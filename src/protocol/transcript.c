/* Every bit that an edge carries, counted where it is packed.
 *
 * A row of the table is a layer; beyond HOP_TRANSCRIPT_LAYERS layers it is a run of equal ones, so that the
 * memory does not grow with depth. A full row has an edge from every player to every later one, any other
 * row one from every player to the next. */
#include "room.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    int64_t layer, layers, offset;
    bool full;
} row;

struct hop_transcript {
    int players;
    int64_t row_count, edges, cursor; /* cursor: the row counted into last */
    row *rows;
    int64_t *bits; /* [edges + 1]; the last counts the queries */
};

static int64_t edges_of(const hop_transcript *t, bool full)
{
    int64_t p = t->players;
    return full ? p * (p - 1) / 2 : p - 1;
}

/* Rows of a run: one for each layer, or one for all. */
static void fill_rows(hop_transcript *t, const hop_pattern *p, bool single)
{
    int64_t layer = 0;
    for (int64_t r = 0; r < p->run_count; r++) {
        int64_t each = single ? 1 : p->runs[r].count;
        bool full = hop_mixer_find(p->runs[r].mixer)->kind == HOP_MIXER_FULL;
        for (int64_t k = 0; k < p->runs[r].count; k += each, layer += each) {
            t->rows[t->row_count++] = (row){layer, each, t->edges, full};
            t->edges += edges_of(t, full);
        }
    }
}

hop_status hop__transcript_new(hop_transcript **out, const hop_model *m, int players, hop_error *err)
{
    const hop_pattern *p = &hop_model_config(m)->pattern;
    bool single = p->layers <= HOP_TRANSCRIPT_LAYERS;
    hop_transcript *t = hop_alloc(sizeof *t);
    *out = NULL;
    if (!t) return hop_fail(err, HOP_ENOMEM, "out of memory");
    t->players = players;
    t->rows = hop_alloc(sizeof *t->rows * (size_t)(single ? p->layers : p->run_count));
    if (t->rows) fill_rows(t, p, single);
    t->bits = t->rows ? hop_alloc(sizeof *t->bits * (size_t)(t->edges + 1)) : NULL;
    if (!t->bits) {
        hop__transcript_free(t);
        return hop_fail(err, HOP_ENOMEM, "the transcript: out of memory");
    }
    *out = t;
    return HOP_OK;
}

void hop__transcript_free(hop_transcript *t)
{
    if (!t) return;
    hop_free(t->rows);
    hop_free(t->bits);
    hop_free(t);
}

void hop__transcript_clear(hop_transcript *t)
{
    memset(t->bits, 0, sizeof *t->bits * (size_t)(t->edges + 1));
    t->cursor = 0;
}

/* A full row's edges by from, then to. */
static int64_t place(const hop_transcript *t, const row *r, int from, int to)
{
    int64_t p = t->players;
    return r->offset + (r->full ? from * (2 * p - from - 1) / 2 + (to - from - 1) : from);
}

void hop__transcript_add(hop_transcript *t, int64_t layer, hop_edge_kind kind, int from, int to, int64_t bits)
{
    while (t->rows[t->cursor].layer + t->rows[t->cursor].layers <= layer)
        t->cursor++; /* layers come in order */
    const row *r = &t->rows[t->cursor];
    assert(layer >= r->layer && from < to && (r->full ? kind == HOP_EDGE_REPLY : to == from + 1));
    (void)kind;
    t->bits[place(t, r, from, to)] += bits;
}

void hop__transcript_query(hop_transcript *t, int64_t bits)
{
    t->bits[t->edges] += bits;
}

int64_t *hop__transcript_counts(hop_transcript *t, int64_t *count)
{
    *count = t->edges + 1;
    return t->bits;
}

/* ---- reading -------------------------------------------------------------------------------------- */

int64_t hop_transcript_edges(const hop_transcript *t)
{
    return t->edges;
}

hop_edge hop_transcript_edge(const hop_transcript *t, int64_t i)
{
    int64_t lo = 0, hi = t->row_count;
    while (hi - lo > 1) { /* the last row that begins at i or before */
        int64_t mid = lo + (hi - lo) / 2;
        *(t->rows[mid].offset <= i ? &lo : &hi) = mid;
    }
    const row *r = &t->rows[lo];
    int64_t rest = i - r->offset;
    hop_edge e = {.layer = r->layer, .layers = r->layers, .bits = t->bits[i]};
    e.kind = r->full ? HOP_EDGE_REPLY : HOP_EDGE_STATE;
    e.from = r->full ? 0 : (int)rest;
    for (; r->full && rest >= t->players - 1 - e.from; e.from++) rest -= t->players - 1 - e.from;
    e.to = e.from + 1 + (r->full ? (int)rest : 0);
    return e;
}

int64_t hop_transcript_total(const hop_transcript *t)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < t->edges; i++) sum += t->bits[i];
    return sum;
}

int64_t hop_transcript_queries(const hop_transcript *t)
{
    return t->bits[t->edges];
}

/* ---- what the theory says ----------------------------------------------------------------------------- */

hop_edge_theory hop_edge_expected(const hop_model *m, const hop_player *players, const hop_edge *e, int bits)
{
    const hop_config *n = hop_model_config(m);
    hop_edge_theory x = {0};
    bool equal = true; /* layers of a run are, unless one has settings of its own */
    for (int64_t i = 0; i < n->setting_count; i++) equal = equal && n->settings[i].layer < 0;
    for (int64_t layer = e->layer; layer < e->layer + (equal ? 1 : e->layers); layer++) {
        hop_mixer_config c = hop_model_mixer_config(m, layer);
        const hop_mixer_ops *ops = hop_mixer_find(hop_pattern_mixer(&n->pattern, layer));
        if (e->kind == HOP_EDGE_STATE) {
            x.state = hop_mixer_state_floats(ops, &c, players[e->to].first);
            x.bits += x.state * bits;
        } else {
            x.tokens = players[e->to].tokens;
            x.heads = c.heads;
            x.dim = c.head_dim; /* of values, which may have a width of their own */
            if (c.option[HOP_OPTION_value_dim] > 0) x.dim = c.option[HOP_OPTION_value_dim];
            x.bits += x.tokens * x.heads * (x.dim + 2) * bits;
        }
    }
    if (equal) x.bits *= e->layers;
    return x;
}
