/* What a game says: one JSON object, or a table of layers and edges that fits a screen. */
#include "play.h"

#include <math.h>
#include <string.h>

#define MOST_LINES 40 /* of the table; longer ones are summed over edges */

bool play_as_formulas(const play_result *r)
{
    for (int64_t i = 0; i < hop_transcript_edges(r->transcript); i++) {
        hop_edge e = hop_transcript_edge(r->transcript, i);
        if (hop_edge_expected(r->model, r->seats->players, &e, r->bits).bits != e.bits) return false;
    }
    return true;
}

static int name_of(const play_result *r, int player)
{
    return r->seats->players[player].name;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void write_players(hop_json_writer *w, const play_result *r)
{
    hop_json_key(w, "players");
    hop_json_begin_array(w);
    for (int p = 0; p < r->seats->count; p++) {
        hop_json_begin_object(w);
        hop_json_integer(w, "name", name_of(r, p));
        hop_json_integer(w, "first", r->seats->players[p].first);
        hop_json_integer(w, "tokens", r->seats->players[p].tokens);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static void write_edges(hop_json_writer *w, const play_result *r)
{
    hop_json_key(w, "edges");
    hop_json_begin_array(w);
    for (int64_t i = 0; i < hop_transcript_edges(r->transcript); i++) {
        hop_edge e = hop_transcript_edge(r->transcript, i);
        hop_json_begin_object(w);
        hop_json_integer(w, "layer", e.layer);
        if (e.layers > 1) hop_json_integer(w, "layers", e.layers);
        hop_json_string(w, "kind", e.kind == HOP_EDGE_REPLY ? "reply" : "state");
        hop_json_integer(w, "from", name_of(r, e.from));
        hop_json_integer(w, "to", name_of(r, e.to));
        hop_json_integer(w, "bits", e.bits);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

static int report_json(const play_result *r)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "instances", r->instances);
    hop_json_key(&w, "identical");
    if (r->compared)
        hop_json_put_bool(&w, r->identical);
    else
        hop_json_put_null(&w);
    hop_json_number(&w, "max_difference_from_run", r->difference >= 0 ? r->difference : NAN);
    hop_json_integer(&w, "with_answer", r->with_answer);
    hop_json_integer(&w, "correct", r->correct);
    hop_json_number(&w, "accuracy", (double)r->correct / (double)r->with_answer); /* 0/0: null */
    write_players(&w, r);
    write_edges(&w, r);
    hop_json_integer(&w, "total_bits", hop_transcript_total(r->transcript));
    hop_json_integer(&w, "query_bits", hop_transcript_queries(r->transcript));
    hop_json_boolean(&w, "as_formulas", play_as_formulas(r));
    hop_json_integer(&w, "bits", r->bits);
    hop_json_integer(&w, "tokens", r->tokens);
    hop_json_integer(&w, "layers", hop_model_config(r->model)->pattern.layers);
    hop_json_string(&w, "transport", r->transport);
    hop_json_integer(&w, "ranks", r->ranks);
    hop_json_number(&w, "seconds", r->seconds);
    hop_json_string(&w, "dir", r->common->operand);
    hop_json_end_object(&w);
    return print_json(r->common, &w);
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Layers in a row that say the same on every edge. */
typedef struct group {
    int64_t edge, edges; /* the first layer's, in the transcript */
    int64_t layer, layers;
} group;

/* The edges of the transcript's row that begins at edge i. */
static int64_t edges_of(const play_result *r, int64_t i)
{
    int64_t p = r->seats->count;
    return hop_transcript_edge(r->transcript, i).kind == HOP_EDGE_REPLY ? p * (p - 1) / 2 : p - 1;
}

static const char *mixer_at(const play_result *r, int64_t layer)
{
    return hop_pattern_mixer(&hop_model_config(r->model)->pattern, layer);
}

static bool same_row(const play_result *r, int64_t a, int64_t b, int64_t edges)
{
    hop_edge x = hop_transcript_edge(r->transcript, a), y = hop_transcript_edge(r->transcript, b);
    bool same = x.layers == 1 && y.layers == 1 && strcmp(mixer_at(r, x.layer), mixer_at(r, y.layer)) == 0;
    for (int64_t i = 0; same && i < edges; i++)
        same =
            hop_transcript_edge(r->transcript, a + i).bits == hop_transcript_edge(r->transcript, b + i).bits;
    return same;
}

/* The group that begins at edge i. */
static group group_at(const play_result *r, int64_t i)
{
    hop_edge first = hop_transcript_edge(r->transcript, i);
    group g = {.edge = i, .edges = edges_of(r, i), .layer = first.layer, .layers = first.layers};
    for (int64_t next = i + g.edges; next < hop_transcript_edges(r->transcript); next += g.edges) {
        if (edges_of(r, next) != g.edges || !same_row(r, i, next, g.edges)) break;
        g.layers++;
    }
    return g;
}

static int64_t after(const play_result *r, const group *g)
{
    hop_edge first = hop_transcript_edge(r->transcript, g->edge);
    return g->edge + (first.layers > 1 ? g->edges : g->edges * g->layers);
}

static void add_head(hop_text *out, const play_result *r, const group *g)
{
    char layers[48];
    if (g->layers > 1)
        snprintf(layers, sizeof layers, "%lld-%lld", (long long)g->layer,
                 (long long)(g->layer + g->layers - 1));
    else
        snprintf(layers, sizeof layers, "%lld", (long long)g->layer);
    hop_text_printf(out, "  %-13s %-12s", layers, mixer_at(r, g->layer));
}

static void add_layers(hop_text *out, const group *g)
{
    if (g->layers > 1) hop_text_printf(out, " x %lld layers", (long long)g->layers);
}

/* "2 > -1   1234   reply T H (d+2) p = 8 x 1 x (9+2) x 32", and how many layers say it. */
static void add_edge(hop_text *out, const play_result *r, const group *g, const hop_edge *e)
{
    char who[32];
    hop_edge_theory x = hop_edge_expected(r->model, r->seats->players, e, r->bits);
    int64_t times = e->layers > 1 ? 1 : g->layers;
    snprintf(who, sizeof who, "%d > %d", name_of(r, e->from), name_of(r, e->to));
    hop_text_printf(out, " %-10s %14lld  ", who, (long long)(e->bits * times));
    if (e->kind == HOP_EDGE_REPLY)
        hop_text_printf(out, "reply T H (d+2) p = %lld x %lld x (%lld+2) x %d", (long long)x.tokens,
                        (long long)x.heads, (long long)x.dim, r->bits);
    else
        hop_text_printf(out, "state s p = %lld x %d", (long long)x.state, r->bits);
    add_layers(out, g);
    hop_text_add(out, x.bits == e->bits ? "\n" : "  NOT what was counted\n");
}

/* A group in one line: its edges summed. */
static void add_sum(hop_text *out, const play_result *r, const group *g)
{
    int64_t sum = 0, least = INT64_MAX, most = 0;
    hop_edge_theory x = {0};
    for (int64_t i = g->edge; i < after(r, g); i++) sum += hop_transcript_edge(r->transcript, i).bits;
    for (int64_t i = g->edge; i < g->edge + g->edges; i++) {
        hop_edge e = hop_transcript_edge(r->transcript, i);
        x = hop_edge_expected(r->model, r->seats->players, &e, r->bits);
        if (x.state < least) least = x.state;
        if (x.state > most) most = x.state;
    }
    hop_text_printf(out, " all %-6lld %14lld  ", (long long)g->edges, (long long)sum);
    if (x.heads)
        hop_text_printf(out, "reply T H (d+2) p = T x %lld x (%lld+2) x %d", (long long)x.heads,
                        (long long)x.dim, r->bits);
    else if (least == most)
        hop_text_printf(out, "state s p = %lld x %d", (long long)most, r->bits);
    else
        hop_text_printf(out, "state s p = (%lld to %lld) x %d", (long long)least, (long long)most, r->bits);
    add_layers(out, g);
    hop_text_add(out, "\n");
}

/* All layers of one mixer in one line: for patterns with more groups than a screen has lines. */
static void add_mixer(hop_text *out, const play_result *r, int64_t edge)
{
    const hop_transcript *t = r->transcript;
    const char *mixer = mixer_at(r, hop_transcript_edge(t, edge).layer);
    int64_t sum = 0, layers = 0, edges = edges_of(r, edge);
    for (int64_t i = 0; i < hop_transcript_edges(t); i += edges_of(r, i)) {
        hop_edge e = hop_transcript_edge(t, i);
        if (strcmp(mixer_at(r, e.layer), mixer) != 0) continue;
        layers += e.layers;
        for (int64_t k = 0; k < edges; k++) sum += hop_transcript_edge(t, i + k).bits;
    }
    hop_text_printf(out, "  %-13lld %-12s all %-6lld %14lld  %s\n", (long long)layers, mixer,
                    (long long)edges, (long long)sum,
                    hop_transcript_edge(t, edge).kind == HOP_EDGE_REPLY ? "reply T H (d+2) p" : "state s p");
}

static void add_mixers(hop_text *out, const play_result *r)
{
    const char *seen[64]; /* the registry has fewer */
    int count = 0;
    for (int64_t i = 0; i < hop_transcript_edges(r->transcript); i += edges_of(r, i)) {
        const char *mixer = mixer_at(r, hop_transcript_edge(r->transcript, i).layer);
        int k = 0;
        while (k < count && strcmp(seen[k], mixer) != 0) k++;
        if (k < count || count == 64) continue;
        seen[count++] = mixer;
        add_mixer(out, r, i);
    }
}

static void add_table(hop_text *out, const play_result *r)
{
    int64_t edges = hop_transcript_edges(r->transcript), lines = 0, groups = 0;
    group g;
    for (int64_t i = 0; i < edges && groups <= MOST_LINES; i = after(r, &g), groups++) {
        g = group_at(r, i);
        lines += g.edges;
    }
    hop_text_printf(out, "  %-13s %-12s %-10s %14s  %s\n", groups > MOST_LINES ? "how many" : "layers",
                    "mixer", "edge", "bits", "formula");
    if (groups > MOST_LINES) {
        add_mixers(out, r);
        return;
    }
    for (int64_t i = 0; i < edges; i = after(r, &g)) {
        g = group_at(r, i);
        add_head(out, r, &g);
        for (int64_t k = 0; lines <= MOST_LINES && k < g.edges; k++) {
            hop_edge e = hop_transcript_edge(r->transcript, g.edge + k);
            if (k) hop_text_printf(out, "  %-13s %-12s", "", "");
            add_edge(out, r, &g, &e);
        }
        if (lines > MOST_LINES) add_sum(out, r, &g);
    }
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void add_players(hop_text *out, const play_result *r)
{
    const seats *s = r->seats;
    hop_text_printf(out, "  %d player%s hold%s", s->count, plural(s->count), s->count == 1 ? "s" : "");
    for (int p = 0; p < s->count && p < 12; p++)
        hop_text_printf(out, "%s %d: %lld", p ? "," : "", s->players[p].name,
                        (long long)s->players[p].tokens);
    hop_text_printf(out, "%s of %lld token%s; numbers of %d bits; %s", s->count > 12 ? ", .." : "",
                    (long long)r->tokens, plural(r->tokens), r->bits, r->transport);
    if (r->ranks > 1) hop_text_printf(out, ", %d ranks", r->ranks);
    hop_text_printf(out, "; %.2f s\n", r->seconds);
}

static int report_text(const play_result *r)
{
    hop_text out = {0};
    hop_text_name(&out, r->common->operand);
    hop_text_printf(&out, ": %lld instance%s, %s", (long long)r->instances, plural(r->instances),
                    !r->compared   ? "not compared with the plain pass"
                    : r->identical ? "the bits of the plain pass under the same arithmetic"
                                   : "NOT the bits of the plain pass");
    if (r->with_answer)
        hop_text_printf(&out, "; %lld of %lld correct", (long long)r->correct, (long long)r->with_answer);
    hop_text_add(&out, "\n");
    add_players(&out, r);
    if (r->seats->count > 1) {
        add_table(&out, r);
        hop_text_add(&out, "  (T tokens ask, H heads of d numbers, s numbers of state, p bits a number)\n");
    }
    hop_text_printf(
        &out, "  total %lld bits an instance; and %lld bits of queries, which the bounds do not charge\n",
        (long long)hop_transcript_total(r->transcript), (long long)hop_transcript_queries(r->transcript));
    if (r->difference >= 0)
        hop_text_printf(&out, "  logits differ from `run`'s by at most %.2g of the largest\n", r->difference);
    return print_text(r->common, &out);
}

int play_report(const play_result *r)
{
    return r->common->json.flag ? report_json(r) : report_text(r);
}
