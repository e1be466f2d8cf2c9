/* The ladder's drawing: a panel for every network, all on one grid.
 *
 * Across: the prompt in its order, z_L .. z_1 z_0 w, with w at the same place in every panel. Up: the layers,
 * first at the bottom. The last token's layers stand on w as a rail; in each the arrow runs to the token that
 * w asks. So L hops draw a staircase of L+1 steps, and the next rung's is one step longer. */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DRAW_MAX     24 /* hops or layers; a taller panel says so and draws nothing */
#define MARGIN       2.0
#define LAYER_HEIGHT 27.0
#define HEAD_HEIGHT  62.0
#define FOOT_HEIGHT  50.0
#define RIGHT_WIDTH  148.0 /* formulas */

typedef struct canvas {
    hop_text *out;
    const hop_ladder_page *page;
    double column, w_x, right_x, width;
} canvas;

static double player_x(const canvas *c, int player)
{
    return c->w_x - (player + 1) * c->column;
}

static bool drawable(const hop_ladder_row *r)
{
    return r->hops >= 1 && r->hops <= DRAW_MAX && r->layers >= 1 && r->layers <= DRAW_MAX;
}

static double panel_height(const hop_ladder_row *r)
{
    double layers = drawable(r) ? (double)r->layers : 1;
    return HEAD_HEIGHT + layers * LAYER_HEIGHT + FOOT_HEIGHT;
}

/* Whom the last token asks in a layer (counted from 0), and how we know. */
typedef struct asked {
    int player; /* -1: not known */
    bool shown; /* a positive score gap says so; else it is only meant so */
} asked;

static asked find_asked(const canvas *c, const hop_ladder_row *r, int64_t layer)
{
    for (int64_t i = 0; i < c->page->layer_count; i++) {
        const hop_ladder_margin *l = &c->page->layers[i];
        if (l->hops == r->hops && l->layer == layer && l->player >= 0 && l->player <= r->hops)
            return (asked){l->player, l->score_gap > 0};
    }
    /* L+1 full layers and nothing else: the construction has only one way to go (docs/THEORY.md 5.1). */
    bool plain = r->full_layers == r->layers && r->layers == r->hops + 1;
    return (asked){plain ? (int)layer : -1, false};
}

static void draw_tokens(const canvas *c, const hop_ladder_row *r, double y)
{
    char name[32];
    for (int p = (int)r->hops; p >= -1; p--) {
        double x = player_x(c, p);
        double half = p >= 1 ? fmin(c->column / 2 - 4, 23) : 13;
        hop__svg_box(c->out, "token", x - half, y, 2 * half, 22);
        /* z_1 .. z_L are tables, many tokens each; z_0 and w are one token. */
        for (int i = 0; p >= 1 && i < 5; i++)
            hop__svg_box(c->out, "cell", x - half + 2 * half / 5 * i, y + 25, 2 * half / 5, 5);
        if (p < 1) hop__svg_box(c->out, "cell", x - 5, y + 25, 10, 5);
        if (p >= 0)
            snprintf(name, sizeof name, "/{z}_{%d}", p);
        else
            snprintf(name, sizeof name, "/{w}");
        hop__svg_rich(c->out, "math mid", x, y + 15, name);
    }
}

/* What the layer finds out: i_0 = z_0, i_1 = z_1(i_0), i_l = z_l(w_{l-1}, i_{l-1}). */
static void draw_formula(const canvas *c, const hop_ladder_row *r, asked a, double y)
{
    char rich[120];
    int p = a.player;
    if (p == 0)
        snprintf(rich, sizeof rich, "/{i}_{0} = /{z}_{0}");
    else if (p == 1)
        snprintf(rich, sizeof rich, "/{i}_{1} = /{z}_{1}(/{i}_{0})");
    else
        snprintf(rich, sizeof rich, "/{i}_{%d} = /{z}_{%d}(/{w}_{%d}, /{i}_{%d})", p, p, p - 1, p - 1);
    hop__svg_rich(c->out, a.shown ? "math" : "math soft", c->right_x, y + 4.5, rich);
    if (p == r->hops) hop__svg_rich(c->out, "small soft", c->right_x + 108, y + 4, "answer");
}

static void draw_layer(const canvas *c, const hop_ladder_row *r, int64_t layer, double y, double token_y)
{
    asked a = find_asked(c, r, layer);
    if (a.player >= 0) {
        double x = player_x(c, a.player);
        hop__svg_line(c->out, "stream", x, token_y, x, y);
        hop__svg_arrow(c->out, a.shown ? "ask" : "meant", c->w_x - 14, x + 4, y);
        hop__svg_dot(c->out, a.shown ? "asked" : "token", x, y, 3);
        draw_formula(c, r, a, y);
    }
    bool full = r->full_layers == r->layers;
    char number[24];
    snprintf(number, sizeof number, "%d", (int)layer);
    hop__svg_box(c->out, full ? "full" : "other", c->w_x - 14, y - 9.5, 28, 19);
    hop__svg_rich(c->out, full ? "onfull mid" : "onother mid", c->w_x, y + 4, number);
}

/* First line the result, second line of what. All of it on the left, where a phone shows it first. */
static void draw_head(const canvas *c, const hop_ladder_row *r, double y)
{
    char text[160];
    snprintf(text, sizeof text, "/{L} = %lld", (long long)r->hops);
    hop__svg_rich(c->out, "math rung", MARGIN, y + 27, text);
    hop__svg_mark(c->out, r->verdict, MARGIN + 81, y + 21);
    hop_text_printf(c->out, "<g class=\"%s\">", hop__svg_mark_class(r->verdict));
    hop__svg_plain(c->out, "word", MARGIN + 96, y + 26, hop_ladder_verdict_words[r->verdict], 0);
    hop_text_add(c->out, "</g>\n");
    bool proved = r->verdict == HOP_LADDER_PROVED;
    snprintf(text, sizeof text, "%s%s inputs", proved ? "all " : "", hop__number_power(r->log10_inputs).rich);
    hop__svg_rich(c->out, "", MARGIN + 190, y + 26, text);

    const char *plural = r->full_layers == 1 ? "" : "s";
    if (r->full_layers == r->layers)
        snprintf(text, sizeof text, "%s full layer%s", hop__number_count(r->full_layers).rich, plural);
    else
        snprintf(text, sizeof text, "%s full of %s layers", hop__number_count(r->full_layers).rich,
                 hop__number_count(r->layers).rich);
    hop__svg_rich(c->out, "small", MARGIN + 72, y + 46, text);
    snprintf(text, sizeof text, "/{n} = %s", hop__number_count(r->n).rich);
    hop__svg_rich(c->out, "small", MARGIN + 190, y + 46, text);
    double x = MARGIN + 276;
    hop__svg_plain(c->out, "small soft", x, y + 46, r->sizes, (int)((c->width - x) / 6)); /* 6 a character */
}

static void draw_panel(const canvas *c, const hop_ladder_row *r, double y)
{
    hop_text_add(c->out, "<g>\n");
    hop__svg_line(c->out, "hair", MARGIN, y + 0.5, c->width - MARGIN, y + 0.5);
    draw_head(c, r, y);
    double top = y + HEAD_HEIGHT;
    if (!drawable(r)) {
        hop__svg_rich(c->out, "small soft", MARGIN, top + 16,
                      "too tall to draw; its numbers are in the table");
        hop_text_add(c->out, "</g>\n");
        return;
    }
    double token_y = top + (double)r->layers * LAYER_HEIGHT + 4;
    hop__svg_line(c->out, "rail", c->w_x, token_y, c->w_x, top - 2);
    for (int64_t k = 0; k < r->layers; k++)
        draw_layer(c, r, k, top + ((double)(r->layers - k) - 0.5) * LAYER_HEIGHT, token_y);
    draw_tokens(c, r, token_y);
    hop_text_add(c->out, "</g>\n");
}

#define LEGEND_HEIGHT 112.0

static void draw_legend(const canvas *c, double y)
{
    static const hop_ladder_verdict verdicts[] = {HOP_LADDER_PROVED, HOP_LADDER_REFUTED,
                                                  HOP_LADDER_UNDECIDED};
    const char *small = "small soft";
    hop__svg_line(c->out, "hair", MARGIN, y + 0.5, c->width - MARGIN, y + 0.5);
    for (int i = 0; i < 3; i++) {
        hop__svg_mark(c->out, verdicts[i], MARGIN + 10 + 96 * i, y + 22);
        hop__svg_rich(c->out, small, MARGIN + 26 + 96 * i, y + 26, hop_ladder_verdict_words[verdicts[i]]);
    }
    hop__svg_box(c->out, "full", MARGIN, y + 40, 24, 14);
    hop__svg_rich(c->out, small, MARGIN + 54, y + 51, "full-attention layer, numbered from the bottom");
    hop__svg_arrow(c->out, "ask", MARGIN + 44, MARGIN + 2, y + 68);
    hop__svg_rich(c->out, small, MARGIN + 54, y + 72,
                  "in this layer the last token, /{w}, asks this token for its value");
    hop__svg_arrow(c->out, "meant", MARGIN + 44, MARGIN + 2, y + 89);
    hop__svg_rich(c->out, small, MARGIN + 54, y + 93, "the same by design; no margin was established for it");
}

void hop__ladder_draw(hop_text *out, const hop_ladder_page *page, bool standalone)
{
    hop_c_count widest = 3;
    double height = 2 + LEGEND_HEIGHT;
    for (int64_t i = 0; i < page->rung_count; i++) {
        const hop_ladder_row *r = &page->rungs[i];
        height += panel_height(r);
        if (drawable(r) && r->hops > widest) widest = r->hops;
    }
    canvas c = {.out = out, .page = page, .column = widest <= 3 ? 56 : widest <= 5 ? 50 : 44};
    c.w_x = MARGIN + ((double)widest + 1.5) * c.column;
    c.right_x = c.w_x + 32;
    c.width = c.right_x + RIGHT_WIDTH;

    hop__svg_open(out, c.width, height,
                  "The ladder: for each number of hops, which token the last token asks in which layer",
                  standalone);
    double y = 1;
    for (int64_t i = 0; i < page->rung_count; i++) {
        draw_panel(&c, &page->rungs[i], y);
        y += panel_height(&page->rungs[i]);
    }
    draw_legend(&c, y);
    hop__svg_close(out);
}
