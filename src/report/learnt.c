/* What gradient descent finds, beside what is proved: accuracy as the table grows at one width, a line a
 * plan, a bar from the worst seed to the best; chance, and P3's ceiling where it is below 1. */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* of a chart, in units of the drawing, which shrinks to seven tenths on a phone; and how much it has room for
 */
enum { WIDTH = 452, HEIGHT = 240, LEFT = 52, RIGHT = 104, TOP = 16, BOTTOM = 46, CAPTION = 30 };
enum { MOST_SIZES = 8, MOST_PLANS = 8, MOST_HOPS = 8 };

/* ---- one number of hops ------------------------------------------------------------------------- */

typedef struct chart {
    const hop_learnt *rows;
    int64_t count;
    int hops, sizes, plans;
    int64_t entries[MOST_SIZES]; /* in rising order */
    const char *plan[MOST_PLANS];
} chart;

static chart chart_of(const hop_ladder_page *page, int hops)
{
    chart c = {.rows = page->learnt, .count = page->learnt_count, .hops = hops};
    for (int64_t i = 0; i < c.count; i++) {
        const hop_learnt *r = &c.rows[i];
        if (r->hops != hops) continue;
        int s = 0, p = 0;
        while (s < c.sizes && c.entries[s] != r->entries) s++;
        while (p < c.plans && strcmp(c.plan[p], r->pattern) != 0) p++;
        if (s == c.sizes && s < MOST_SIZES) c.entries[c.sizes++] = r->entries;
        if (p == c.plans && p < MOST_PLANS) c.plan[c.plans++] = r->pattern;
    }
    return c;
}

static const hop_learnt *at(const chart *c, int plan, int size)
{
    for (int64_t i = 0; i < c->count; i++) {
        const hop_learnt *r = &c->rows[i];
        if (r->hops == c->hops && r->entries == c->entries[size] && strcmp(r->pattern, c->plan[plan]) == 0)
            return r;
    }
    return NULL;
}

static double x_of(const chart *c, int size)
{
    double room = WIDTH - LEFT - RIGHT - 40;
    return LEFT + 20 + (c->sizes > 1 ? room * size / (c->sizes - 1) : room / 2);
}

static double y_of(double accuracy)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * accuracy;
}

/* As many full layers as hops and one more, or a linear one instead: what is possible is green. */
static bool is_enough(const chart *c, int plan)
{
    int full = 0, linear = 0;
    for (const char *s = c->plan[plan]; *s; s++) full += *s == 'F', linear += *s == 'L';
    return full > c->hops || (full == c->hops && linear > 0);
}

/* ---- drawing --------------------------------------------------------------------------------------- */

static void draw_axes(hop_text *out, const chart *c)
{
    char text[48];
    for (int p = 0; p <= 4; p++) {
        hop__svg_line(out, "hair", LEFT, y_of(p / 4.0), WIDTH - RIGHT, y_of(p / 4.0));
        snprintf(text, sizeof text, "%d %%", 25 * p);
        hop__svg_rich(out, "soft small", 12, y_of(p / 4.0) + 4, text);
    }
    for (int s = 0; s < c->sizes; s++) {
        snprintf(text, sizeof text, "%d", (int)c->entries[s]);
        hop__svg_rich(out, "soft small mid", x_of(c, s), HEIGHT - BOTTOM + 16, text);
    }
    hop__svg_rich(out, "soft small mid", (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10,
                  "entries of the largest table, at one width");
}

static void draw_plan(hop_text *out, const chart *c, int plan, double *label)
{
    const char *side = is_enough(c, plan) ? "v-proved" : "v-refuted";
    const hop_learnt *before = NULL, *last = NULL;
    hop_text_printf(out, "<g class=\"%s learnt-%d\">\n", side, plan);
    for (int s = 0; s < c->sizes; s++) {
        const hop_learnt *r = at(c, plan, s);
        if (!r) continue;
        double x = x_of(c, s) + 3.0 * (plan - c->plans / 2);
        if (before)
            hop__svg_line(out, "v-pen", x_of(c, s - 1) + 3.0 * (plan - c->plans / 2), y_of(before->mean), x,
                          y_of(r->mean));
        hop__svg_line(out, "v-pen", x, y_of(r->least), x, y_of(r->most));
        hop__svg_dot(out, "v-solid", x, y_of(r->mean), 3.4);
        before = last = r;
    }
    if (last) { /* labels keep off each other, from the top down */
        double y = fmax(y_of(last->mean) + 4, *label + 15);
        hop__svg_plain(out, "word small", WIDTH - RIGHT + 12, y, last->pattern, 12);
        *label = y;
    }
    hop_text_add(out, "</g>\n");
}

/* The plans from the most accurate at the largest table down, so that labels can be laid out in order. */
static void order_of(const chart *c, int *order)
{
    for (int i = 0; i < c->plans; i++) order[i] = i;
    for (int i = 1; i < c->plans; i++)
        for (int k = i; k > 0; k--) {
            const hop_learnt *a = at(c, order[k - 1], c->sizes - 1), *b = at(c, order[k], c->sizes - 1);
            if (!a || !b || a->mean >= b->mean) break;
            int swap = order[k];
            order[k] = order[k - 1], order[k - 1] = swap;
        }
}

static void draw_limits(hop_text *out, const chart *c)
{
    for (int s = 0; s + 1 < c->sizes; s++) {
        const hop_learnt *a = at(c, 0, s), *b = at(c, 0, s + 1);
        if (a && b) hop__svg_line(out, "meant", x_of(c, s), y_of(a->chance), x_of(c, s + 1), y_of(b->chance));
    }
    for (int p = 0; p < c->plans; p++)
        for (int s = 0; s < c->sizes; s++) {
            const hop_learnt *r = at(c, p, s);
            if (r && r->ceiling < 1)
                hop__svg_line(out, "ask", x_of(c, s) - 14, y_of(r->ceiling), x_of(c, s) + 14,
                              y_of(r->ceiling));
        }
}

static void draw_all(hop_text *out, const chart *c)
{
    int order[MOST_PLANS];
    double under = TOP - 15;
    draw_axes(out, c);
    draw_limits(out, c);
    order_of(c, order);
    for (int i = 0; i < c->plans; i++) draw_plan(out, c, order[i], &under);
}

static void draw(hop_text *out, const chart *c)
{
    char label[96];
    snprintf(label, sizeof label, "Accuracy learnt for %d hop%s as the table grows", c->hops,
             c->hops == 1 ? "" : "s");
    hop__svg_open(out, WIDTH, HEIGHT, label, false);
    draw_all(out, c);
    hop__svg_close(out);
}

hop_status hop_report_learnt_svg(hop_text *out, const hop_ladder_page *page)
{
    char text[48];
    int charts = 0, at_chart = 0;
    for (int hops = 1; hops <= MOST_HOPS; hops++) charts += chart_of(page, hops).plans > 0;
    hop__svg_open(out, WIDTH, charts * (HEIGHT + CAPTION), "Accuracy learnt as the table grows", true);
    for (int hops = 1; hops <= MOST_HOPS; hops++) {
        chart c = chart_of(page, hops);
        if (!c.plans) continue;
        hop_text_printf(out, "<g transform=\"translate(0 %d)\">\n",
                        at_chart++ * (HEIGHT + CAPTION) + CAPTION);
        snprintf(text, sizeof text, "%d hop%s, width %d, %d seed%s", hops, hops == 1 ? "" : "s",
                 (int)page->learnt[0].d_model, page->learnt[0].seeds, page->learnt[0].seeds == 1 ? "" : "s");
        hop__svg_rich(out, "", 12, -8, text);
        draw_all(out, &c);
        hop_text_add(out, "</g>\n");
    }
    hop__svg_close(out);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}

/* ---- the table behind it --------------------------------------------------------------------------- */

static void percent(hop_text *out, const char *label, double x)
{
    char text[32] = HOP__DASH;
    if (!isnan(x)) snprintf(text, sizeof text, "%.2f %%", 100 * x);
    hop__html_cell(out, label, text);
}

static void add_table(hop_text *out, const hop_ladder_page *page)
{
    static const char *const heads[] = {"hops",  "plan", "tokens", "entries",      "mean",
                                        "least", "most", "chance", "ceiling (P3)", "steps"};
    hop__fold_open(out, "The numbers, over all seeds");
    hop__html_table_open(out, "What was learnt", true);
    hop_text_add(out, "<thead>\n<tr>");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) hop__html_head(out, heads[i], i != 1);
    hop_text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (int64_t i = 0; i < page->learnt_count; i++) {
        const hop_learnt *r = &page->learnt[i];
        char hops[16];
        snprintf(hops, sizeof hops, "%d", r->hops);
        hop_text_add(out, "<tr>");
        hop__html_cell(out, "hops", hops);
        hop__html_cell_open(out, "plan", false);
        hop__escape(out, r->pattern, 0);
        if (r->mixer[0]) {
            hop_text_add(out, " (L: ");
            hop__escape(out, r->mixer, 0);
            hop_text_add(out, ")");
        }
        hop_text_add(out, "</td>");
        hop__html_cell(out, "tokens", hop__number_count(r->tokens).rich);
        hop__html_cell(out, "entries", hop__number_count(r->entries).rich);
        percent(out, "mean", r->mean);
        percent(out, "least", r->least);
        percent(out, "most", r->most);
        percent(out, "chance", r->chance);
        percent(out, "ceiling (P3)", r->ceiling);
        hop__html_cell(out, "steps", hop__number_count(r->steps).rich);
        hop_text_add(out, "</tr>\n");
    }
    hop_text_add(out, "</tbody>\n");
    hop__html_table_close(out);
    hop__fold_close(out);
}

void hop__learnt_section(hop_text *out, const hop_ladder_page *page)
{
    if (!page->learnt_count) return;
    hop__section_open(out, "learnt", "What gradient descent finds");
    hop_text_printf(
        out,
        "<p>Networks of each plan, trained on fresh samples, %d seed%s each, width %lld: how often they "
        "answer "
        "held-out prompts rightly as the table grows. Green: plans for which weights are known. Red: plans "
        "below the line. A bar reaches from the worst seed to the best; the dashed line is chance, a blue "
        "bar "
        "the most that P3 allows linear layers whose state has so few bits. That a plan does not learn a "
        "task "
        "proves nothing; that one does, beyond what a theorem allows, would be a bug.</p>\n",
        page->learnt[0].seeds, page->learnt[0].seeds == 1 ? "" : "s", (long long)page->learnt[0].d_model);
    for (int hops = 1; hops <= MOST_HOPS; hops++) {
        chart c = chart_of(page, hops);
        if (!c.plans) continue;
        hop_text_printf(out, "<figure>\n<figcaption>%d hop%s</figcaption>\n<div class=\"frame\">\n", hops,
                        hops == 1 ? "" : "s");
        draw(out, &c);
        hop_text_add(out, "</div>\n</figure>\n");
    }
    add_table(out, page);
    hop__section_close(out);
}
