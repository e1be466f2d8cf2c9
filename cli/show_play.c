/* What `play` prints for people: a table of layers and edges that fits a screen. */
#include <hopbound/ask_play.h>

#include <math.h>
#include <string.h>

#include "cli.h"

#define MOST_LINES 40 /* of the table; longer ones are summed over edges */

/* Layers in a row that say the same on every edge. */
typedef struct group {
    const hop_play_edge *first; /* the first layer's edges */
    int64_t edges, layers;      /* of a layer; layers in all */
    const hop_play_edge *next;  /* behind the group */
} group;

static const hop_play_edge *end_of(const hop_play_answer *a)
{
    return a->edges.at + a->edges.count;
}

/* How many edges the layer has whose first this is. */
static int64_t edges_of(const hop_play_answer *a, const hop_play_edge *e)
{
    int64_t p = a->players.count;
    return e->kind == HOP_EDGE_REPLY ? p * (p - 1) / 2 : p - 1;
}

static bool same_layer(const hop_play_edge *x, const hop_play_edge *y, int64_t edges)
{
    bool same = x->layers == 1 && y->layers == 1 && strcmp(x->mixer, y->mixer) == 0;
    for (int64_t i = 0; same && i < edges; i++) same = x[i].bits == y[i].bits;
    return same;
}

static group group_at(const hop_play_answer *a, const hop_play_edge *e)
{
    group g = {.first = e, .edges = edges_of(a, e), .layers = e->layers};
    for (g.next = e + g.edges; g.next < end_of(a); g.next += g.edges) {
        if (edges_of(a, g.next) != g.edges || !same_layer(e, g.next, g.edges)) break;
        g.layers++;
    }
    return g;
}

static void add_head(hop_text *out, const group *g)
{
    char layers[48];
    const long long first = g->first->layer;
    if (g->layers > 1)
        snprintf(layers, sizeof layers, "%lld-%lld", first, first + (long long)g->layers - 1);
    else
        snprintf(layers, sizeof layers, "%lld", first);
    hop_text_printf(out, "  %-13s %-12s", layers, g->first->mixer);
}

static void add_layers(hop_text *out, const group *g)
{
    if (g->layers > 1) hop_text_printf(out, " x %lld layers", (long long)g->layers);
}

/* "2 > -1   1234   reply T H (d+2) p = 8 x 1 x (9+2) x 32", and how many layers say it. */
static void add_edge(hop_text *out, const hop_play_answer *a, const group *g, const hop_play_edge *e)
{
    char who[32];
    int64_t times = e->layers > 1 ? 1 : g->layers;
    snprintf(who, sizeof who, "%lld > %lld", (long long)e->from, (long long)e->to);
    hop_text_printf(out, " %-10s %14lld  ", who, (long long)(e->bits * times));
    if (e->kind == HOP_EDGE_REPLY)
        hop_text_printf(out, "reply T H (d+2) p = %lld x %lld x (%lld+2) x %lld", (long long)e->asking,
                        (long long)e->heads, (long long)e->dim, (long long)a->bits);
    else
        hop_text_printf(out, "state s p = %lld x %lld", (long long)e->numbers, (long long)a->bits);
    add_layers(out, g);
    hop_text_add(out, e->expected_bits == e->bits ? "\n" : "  NOT what was counted\n");
}

/* A group in one line: its edges summed. */
static void add_sum(hop_text *out, const hop_play_answer *a, const group *g)
{
    int64_t sum = 0, least = INT64_MAX, most = 0;
    for (const hop_play_edge *e = g->first; e < g->next; e++) sum += e->bits;
    for (const hop_play_edge *e = g->first; e < g->first + g->edges; e++) {
        if (e->numbers < least) least = e->numbers;
        if (e->numbers > most) most = e->numbers;
    }
    hop_text_printf(out, " all %-6lld %14lld  ", (long long)g->edges, (long long)sum);
    if (g->first->kind == HOP_EDGE_REPLY)
        hop_text_printf(out, "reply T H (d+2) p = T x %lld x (%lld+2) x %lld", (long long)g->first->heads,
                        (long long)g->first->dim, (long long)a->bits);
    else if (least == most)
        hop_text_printf(out, "state s p = %lld x %lld", (long long)most, (long long)a->bits);
    else
        hop_text_printf(out, "state s p = (%lld to %lld) x %lld", (long long)least, (long long)most,
                        (long long)a->bits);
    add_layers(out, g);
    hop_text_add(out, "\n");
}

/* All layers of one mixer in one line: for patterns with more groups than a screen has lines. */
static void add_mixer(hop_text *out, const hop_play_answer *a, const hop_play_edge *of)
{
    int64_t sum = 0, layers = 0, edges = edges_of(a, of);
    for (const hop_play_edge *e = a->edges.at; e < end_of(a); e += edges_of(a, e)) {
        if (strcmp(of->mixer, e->mixer) != 0) continue;
        layers += e->layers;
        for (int64_t k = 0; k < edges; k++) sum += e[k].bits;
    }
    hop_text_printf(out, "  %-13lld %-12s all %-6lld %14lld  %s\n", (long long)layers, of->mixer,
                    (long long)edges, (long long)sum,
                    of->kind == HOP_EDGE_REPLY ? "reply T H (d+2) p" : "state s p");
}

static void add_mixers(hop_text *out, const hop_play_answer *a)
{
    const char *seen[64]; /* the registry has fewer */
    int count = 0;
    for (const hop_play_edge *e = a->edges.at; e < end_of(a); e += edges_of(a, e)) {
        int k = 0;
        while (k < count && strcmp(seen[k], e->mixer) != 0) k++;
        if (k < count || count == 64) continue;
        seen[count++] = e->mixer;
        add_mixer(out, a, e);
    }
}

static void add_table(hop_text *out, const hop_play_answer *a)
{
    int64_t lines = 0, groups = 0;
    group g;
    for (const hop_play_edge *e = a->edges.at; e < end_of(a) && groups <= MOST_LINES; e = g.next, groups++) {
        g = group_at(a, e);
        lines += g.edges;
    }
    hop_text_printf(out, "  %-13s %-12s %-10s %14s  %s\n", groups > MOST_LINES ? "how many" : "layers",
                    "mixer", "edge", "bits", "formula");
    if (groups > MOST_LINES) {
        add_mixers(out, a);
        return;
    }
    for (const hop_play_edge *e = a->edges.at; e < end_of(a); e = g.next) {
        g = group_at(a, e);
        add_head(out, &g);
        for (int64_t k = 0; lines <= MOST_LINES && k < g.edges; k++) {
            if (k) hop_text_printf(out, "  %-13s %-12s", "", "");
            add_edge(out, a, &g, &e[k]);
        }
        if (lines > MOST_LINES) add_sum(out, a, &g);
    }
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void add_players(hop_text *out, const hop_play_answer *a)
{
    const int64_t count = a->players.count;
    hop_text_printf(out, "  %lld player%s hold%s", (long long)count, plural(count), count == 1 ? "s" : "");
    for (int64_t p = 0; p < count && p < 12; p++)
        hop_text_printf(out, "%s %lld: %lld", p ? "," : "", (long long)a->players.at[p].name,
                        (long long)a->players.at[p].tokens);
    hop_text_printf(out, "%s of %lld token%s; numbers of %lld bits; %s", count > 12 ? ", .." : "",
                    (long long)a->tokens, plural(a->tokens), (long long)a->bits, a->transport);
    if (a->ranks > 1) hop_text_printf(out, ", %lld ranks", (long long)a->ranks);
    hop_text_printf(out, "; %.2f s\n", a->seconds);
}

void show_play(hop_text *out, const hop_response *r)
{
    const hop_play_answer *a = r->data;
    hop_text_name(out, a->dir);
    hop_text_printf(out, ": %lld instance%s, %s", (long long)a->instances, plural(a->instances),
                    a->identical < 0 ? "not compared with the plain pass"
                    : a->identical   ? "the bits of the plain pass under the same arithmetic"
                                     : "NOT the bits of the plain pass");
    if (a->with_answer)
        hop_text_printf(out, "; %lld of %lld correct", (long long)a->correct, (long long)a->with_answer);
    hop_text_add(out, "\n");
    add_players(out, a);
    if (a->players.count > 1) {
        add_table(out, a);
        hop_text_add(out, "  (T tokens ask, H heads of d numbers, s numbers of state, p bits a number)\n");
    }
    hop_text_printf(
        out, "  total %lld bits an instance; and %lld bits of queries, which the bounds do not charge\n",
        (long long)a->total_bits, (long long)a->query_bits);
    if (!isnan(a->max_difference_from_run))
        hop_text_printf(out, "  logits differ from `run`'s by at most %.2g of the largest\n",
                        a->max_difference_from_run);
}
