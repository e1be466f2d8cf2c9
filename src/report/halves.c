/* Both halves of the hierarchy in one drawing: for each number of hops, at one length, the layer plans that
 * are proved to work above a line, and below it those that no weights make work. */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH      700.0
#define LEFT       2.0
#define HEAD       50.0
#define ROW        26.0
#define GAP        14.0
#define CHIP       22.0 /* a layer */
#define MOST_CHIPS 9

/* The mixers whose hybrids are proved on this rung. */
static int64_t proved_hybrids(const hop_ladder_page *page, int hops, const hop_rung **first)
{
    int64_t n = 0;
    for (int64_t i = 0; i < page->other_count; i++) {
        const hop_rung *r = &page->others[i];
        if (r->hops != hops || strncmp(r->kind, "hybrid, ", 8) != 0 || strcmp(r->verdict, "proved") != 0)
            continue;
        if (n++ == 0) *first = r;
    }
    return n;
}

static bool lower(const hop_rung *r, int hops)
{
    return r->hops == hops && r->layers == 0;
}

static int64_t lower_rows(const hop_ladder_page *page, int hops)
{
    int64_t n = 0;
    for (int64_t i = 0; i < page->other_count; i++) n += lower(&page->others[i], hops);
    return n;
}

static double panel_height(const hop_ladder_page *page, const hop_rung *r)
{
    const hop_rung *first = NULL;
    int64_t above = 1 + (proved_hybrids(page, r->hops, &first) > 0);
    return HEAD + (double)(above + lower_rows(page, r->hops)) * ROW + GAP;
}

/* Layers as chips, F dark and L light; a plan with powers of powers is written out. */
static void draw_plan(hop_text *out, const char *pattern, double y)
{
    double x = LEFT + 26;
    char layers[MOST_CHIPS + 1];
    int count = 0;
    const char *p = pattern;
    for (; *p && count <= MOST_CHIPS; p++) {
        if (*p == ' ') continue;
        if ((*p != 'F' && *p != 'L') || p[1] == '(') break;
        int repeat = 1;
        char kind = *p;
        if (p[1] == '^') {
            if (p[2] < '0' || p[2] > '9') break;
            repeat = 0;
            for (p += 2; *p >= '0' && *p <= '9' && repeat <= MOST_CHIPS; p++)
                repeat = 10 * repeat + (*p - '0');
            p--;
        }
        if (count + repeat > MOST_CHIPS) break;
        for (int i = 0; i < repeat; i++) layers[count++] = kind;
    }
    if (*p) {
        hop__svg_plain(out, "math", x, y + 4.5, pattern, 30);
        return;
    }
    for (int i = 0; i < count; i++) {
        char name[2] = {layers[i], 0};
        bool full = layers[i] == 'F';
        hop__svg_box(out, full ? "full" : "other", x, y - 9, CHIP - 3, 18);
        hop__svg_plain(out, full ? "onfull mid" : "onother mid", x + (CHIP - 3) / 2, y + 4, name, 0);
        x += CHIP;
    }
}

static void draw_row(hop_text *out, const char *verdict, const char *pattern, const char *word,
                     const char *text, double y)
{
    hop__svg_mark(out, verdict, LEFT + 10, y);
    draw_plan(out, pattern, y);
    hop_text_printf(out, "<g class=\"%s\">", hop__svg_mark_class(verdict));
    hop__svg_plain(out, "word", LEFT + 236, y + 4.5, word, 0);
    hop_text_add(out, "</g>\n");
    hop__svg_rich(out, "small", LEFT + 330, y + 4, text);
}

static void draw_above(hop_text *out, const hop_ladder_page *page, const hop_rung *r, double *y)
{
    const hop_rung *first = NULL;
    char plan[32], text[320], messages[48] = "";
    int64_t mixers = proved_hybrids(page, r->hops, &first);
    if (r->message_bits) snprintf(messages, sizeof messages, ", %d-bit messages", r->message_bits);
    snprintf(plan, sizeof plan, "F^%d", r->hops + 1);
    snprintf(text, sizeof text, "on all %s inputs%s", hop__number_power(r->log10_inputs).rich, messages);
    draw_row(out, r->verdict, plan, r->verdict, strcmp(r->verdict, "proved") == 0 ? text : "", *y);
    *y += ROW;
    if (!mixers) return;
    snprintf(plan, sizeof plan, "L F^%d", r->hops);
    int64_t narrow = 0;
    for (int64_t i = 0; i < page->other_count; i++) {
        const hop_rung *x = &page->others[i];
        bool hybrid =
            x->hops == r->hops && strncmp(x->kind, "hybrid, ", 8) == 0 && strcmp(x->verdict, "proved") == 0;
        narrow += hybrid && x->state_bits / 32 * x->message_bits <= r->state_limit;
    }
    snprintf(text, sizeof text, "for %s linear mixers, %s of them with states of at most %s bits",
             hop__number_count(mixers).rich, hop__number_count(narrow).rich,
             hop__number_count((int64_t)r->state_limit).rich);
    draw_row(out, "proved", plan, "proved", text, *y);
    *y += ROW;
}

static void draw_below(hop_text *out, const hop_ladder_page *page, int hops, double *y)
{
    for (int64_t i = 0; i < page->other_count; i++) {
        const hop_rung *r = &page->others[i];
        char text[160] = "no theorem speaks at any length";
        if (!lower(r, hops)) continue;
        bool impossible = strcmp(r->verdict, "impossible") == 0, later = strcmp(r->verdict, "from_n") == 0;
        if (impossible) snprintf(text, sizeof text, "for any weights: theorem %s", r->theorem);
        if (later)
            snprintf(text, sizeof text, "impossible from /{n} = %s on: theorem %s", r->speaks_from,
                     r->theorem);
        draw_row(out, r->verdict, r->pattern,
                 impossible ? "impossible"
                 : later    ? "longer n"
                            : "open",
                 text, *y);
        *y += ROW;
    }
}

static void draw_panel(hop_text *out, const hop_ladder_page *page, const hop_rung *r, double y)
{
    char text[200];
    hop__svg_line(out, "hair", LEFT, y + 0.5, WIDTH - LEFT, y + 0.5);
    snprintf(text, sizeof text, "%d hop%s", r->hops, r->hops == 1 ? "" : "s");
    hop__svg_plain(out, "math rung", LEFT, y + 29, text, 0);
    snprintf(text, sizeof text, "/{n} = %s tokens, one head of %s numbers", hop__number_count(r->tokens).rich,
             hop__number_count(r->head_dim).rich);
    hop__svg_rich(out, "small", LEFT + 90, y + 28, text);
    double at = y + HEAD;
    draw_above(out, page, r, &at);
    hop__svg_line(out, "rail", LEFT, at - ROW / 2, WIDTH - LEFT, at - ROW / 2);
    draw_below(out, page, r->hops, &at);
}

void hop__halves_draw(hop_text *out, const hop_ladder_page *page, bool standalone)
{
    double height = 2;
    for (int64_t i = 0; i < page->rung_count; i++) height += panel_height(page, &page->rungs[i]);
    hop__svg_open(out, WIDTH, fmax(height, 40),
                  "Both halves: for each number of hops, layer plans that are proved to work above the line, "
                  "and below it "
                  "those that no weights make work at this width",
                  standalone);
    double y = 1;
    for (int64_t i = 0; i < page->rung_count; i++) {
        draw_panel(out, page, &page->rungs[i], y);
        y += panel_height(page, &page->rungs[i]);
    }
    hop__svg_close(out);
}
