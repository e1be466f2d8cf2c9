/* Both halves in one drawing, for a file of its own. */
#include "page.h"

#include <stdio.h>

#define WIDTH  700.0
#define LEFT   2.0
#define HEAD   50.0
#define ROW    26.0
#define GAP    14.0
#define LEGEND 76.0

static void draw_row(hop_text *out, const hop__half_row *row, double y)
{
    hop__svg_mark(out, row->verdict, LEFT + 10, y);
    hop__plan_svg(out, row->pattern, LEFT + 26, y);
    hop_text_printf(out, "<g class=\"%s\">", hop__svg_mark_class(row->verdict));
    hop__svg_plain(out, "word", LEFT + 236, y + 4.5, hop__svg_mark_word(row->verdict), 0);
    hop_text_add(out, "</g>\n");
    hop__svg_rich(out, "small", LEFT + 330, y + 4, row->note);
}

/* Draws the rung's panel from y on, or, without `out`, only measures it; returns where it ends. */
static double draw_panel(hop_text *out, const hop_ladder_page *page, const hop_ladder_row *r, double y)
{
    hop__half_row rows[HOP__MOST_HALF_ROWS];
    char text[200];
    int above, count = hop__half_rows(rows, page, r, &above);
    double end = y + HEAD + count * ROW + GAP;
    if (!out) return end;
    hop__svg_line(out, "hair", LEFT, y + 0.5, WIDTH - LEFT, y + 0.5);
    snprintf(text, sizeof text, "%lld hop%s", (long long)r->hops, r->hops == 1 ? "" : "s");
    hop__svg_plain(out, "math rung", LEFT, y + 29, text, 0);
    snprintf(text, sizeof text, "/{n} = %s tokens, one head of %s numbers", hop__number_count(r->n).rich,
             hop__number_count(r->head_dim).rich);
    hop__svg_rich(out, "small", LEFT + 90, y + 28, text);
    double line = y + HEAD + (above - 0.5) * ROW;
    hop__svg_line(out, "rail", LEFT, line, WIDTH - LEFT, line);
    for (int i = 0; i < count; i++) draw_row(out, &rows[i], y + HEAD + i * ROW);
    return end;
}

static void draw_legend(hop_text *out, const hop_ladder_page *page, double y)
{
    char model[200];
    hop__svg_line(out, "hair", LEFT, y + 0.5, WIDTH - LEFT, y + 0.5);
    static const char *const lines[] = {
        ("F: full attention. L: a linear layer of any kind; a raised number: so many in a row. /{n}: tokens "
         "of the "
         "prompt."),
        "Above the line: built, and proved on every input from the weights in the file.",
        "Below: impossible for any weights of these widths, here or from the /{n} given on.",
    };
    for (int i = 0; i < 3; i++) hop__svg_rich(out, "small soft", LEFT, y + 18 + 16 * i, lines[i]);
    snprintf(model, sizeof model, "Any weights: %s.", page->model ? page->model : "");
    hop__svg_plain(out, "small soft", LEFT, y + 66, model, 0);
}

void hop__verdicts_draw(hop_text *out, const hop_ladder_page *page, bool standalone)
{
    double height = 2, y = 1;
    for (int64_t i = 0; i < page->rung_count; i++) height = draw_panel(NULL, page, &page->rungs[i], height);
    hop__svg_open(
        out, WIDTH, height + LEGEND,
        "Both halves: for each number of hops, layer plans that are proved to work above the line, and below "
        "it those that are impossible for any weights at this width, there or on longer prompts",
        standalone);
    for (int64_t i = 0; i < page->rung_count; i++) y = draw_panel(out, page, &page->rungs[i], y);
    draw_legend(out, page, y);
    hop__svg_close(out);
}
