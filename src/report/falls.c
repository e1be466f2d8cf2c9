/* Where a network of a lower row fails: two prompts that it confuses, and how far they are apart behind each
 * of its layers, beside the same two in the network that works. A bar for each layer and place; where nothing
 * is left, a cross. */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH  720.0
#define ROW    22.0
#define HEAD   24.0
#define GAP    10.0
#define LABELS 128.0
#define COLUMN 148.0
#define BAR    84.0
#define LEAST  1e-6 /* differences from here on have a length; logarithmic up to the largest */

static double most_of(const hop_fall_layer *list, int count, double most)
{
    for (int i = 0; i < count; i++) {
        most = fmax(most, fmax(list[i].own, fmax(list[i].last_token, list[i].stream)));
        if (!isnan(list[i].state)) most = fmax(most, list[i].state);
    }
    return most;
}

static void draw_bar(hop_text *out, double x, double y, double value, double most)
{
    if (isnan(value)) {
        hop__svg_plain(out, "soft small", x, y + 4, HOP__DASH, 0);
    } else if (value == 0) {
        hop_text_printf(out,
                        "<g class=\"v-refuted\"><path class=\"v-pen\" d=\"M%.1f %.1fl7 7m0-7l-7 7\"/></g>\n",
                        x + 1, y - 3.5);
    } else {
        double part = log(fmax(value, LEAST) / LEAST) / log(most / LEAST);
        hop__svg_box(out, "full", x, y - 4.5, fmax(2, fmin(1, part) * BAR), 9);
        hop__svg_rich(out, "small", x + BAR + 5, y + 4, hop__number_real(value, HOP__NEAREST).rich);
    }
}

/* A network's layers from y on; returns where the next thing begins. */
static double draw_layers(hop_text *out, const char *title, const hop_fall_layer *list, int count, double y,
                          double most)
{
    char name[64];
    hop__svg_plain(out, "small soft", 2, y + 4, title, 40);
    for (int i = 0; i < count; i++) {
        const double value[] = {list[i].own, list[i].stream, list[i].state, list[i].last_token};
        y += ROW;
        snprintf(name, sizeof name, "%d  %.24s", i, list[i].mixer);
        hop__svg_plain(out, "small", 14, y + 4, name, 18);
        for (int k = 0; k < 4; k++) draw_bar(out, LABELS + k * COLUMN, y, value[k], most);
    }
    return y + ROW + GAP;
}

static void draw(hop_text *out, const hop_fall *f)
{
    static const char *const heads[] = {"where they differ", "at any token behind",
                                        "in the layer\u2019s state", "at the last token"};
    char label[160], below[80], above[80];
    double most = most_of(f->above_layers, f->above_count, most_of(f->layers, f->layer_count, 1));
    double y = HEAD + 8;
    snprintf(label, sizeof label, "How far two prompts are apart behind each layer of %.60s", f->pattern);
    snprintf(below, sizeof below, "%s:", f->pattern);
    snprintf(above, sizeof above, "%s, which works:", f->above);
    hop__svg_open(out, WIDTH, HEAD + ROW * (f->layer_count + f->above_count + 2) + 2 * GAP, label, false);
    for (int i = 0; i < 4; i++) hop__svg_plain(out, "soft small", LABELS + i * COLUMN, 12, heads[i], 0);
    hop__svg_line(out, "hair", 0, HEAD - 6, WIDTH, HEAD - 6);
    y = draw_layers(out, below, f->layers, f->layer_count, y, most);
    if (f->above_count) draw_layers(out, above, f->above_layers, f->above_count, y, most);
    hop__svg_close(out);
}

static void tell(hop_text *out, const hop_fall *f)
{
    hop_text_printf(out, "<p><b>%d hop%s, ", f->hops, f->hops == 1 ? "" : "s");
    hop__escape(out, f->pattern, 0);
    hop_text_add(out, ".</b> Two prompts differ in <code>");
    hop__escape(out, f->place, 0);
    hop_text_printf(
        out,
        "</code> only: it is %lld in one and %lld in the other, and so the right answers are %lld and %lld. ",
        (long long)f->value[0], (long long)f->value[1], (long long)f->right[0], (long long)f->right[1]);
    if (f->answer[0] == f->answer[1])
        hop_text_printf(out, "This network says %lld to both.", (long long)f->answer[0]);
    else
        hop_text_printf(out, "This network says %lld and %lld.", (long long)f->answer[0],
                        (long long)f->answer[1]);
    hop_text_add(out, " The file: <code>");
    hop__escape(out, f->file, 0);
    hop_text_add(out, "</code>.</p>\n");
}

void hop__falls_section(hop_text *out, const hop_ladder_page *page)
{
    if (page->fall_count == 0) return;
    hop__section_open(out, "falls", "Where they fail");
    hop_text_add(
        out, "<p>Each plan below a line, with the weights that the network above it leaves for its layers: "
             "the same "
             "look-ups, as far as there are layers for them. It is one network of many, and the theorems "
             "speak of all; but "
             "one sees what is missing. <code>hopbound refute</code> found two prompts that it confuses. The "
             "bars say how "
             "far these are apart behind each layer, on the way that the difference would have to go: from "
             "the token in "
             "which they differ to the last one, which answers. A cross: nothing of it is left there.</p>\n");
    for (int64_t i = 0; i < page->fall_count; i++) {
        tell(out, &page->falls[i]);
        hop_text_add(out, "<figure>\n");
        draw(out, &page->falls[i]);
        hop_text_add(out, "</figure>\n");
    }
    hop_text_add(out, "<p><code>hopbound check FILE</code> confirms each without this program\u2019s own "
                      "arithmetic.</p>\n");
    hop__section_close(out);
}
