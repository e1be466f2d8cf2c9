/* Where a network of a lower row fails: two prompts that it confuses, and how far they are apart behind each
 * of its layers. A bar for each layer and place; where nothing is left of the difference, a cross. */
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH  700.0
#define ROW    24.0
#define HEAD   26.0
#define LABELS 132.0
#define COLUMN 184.0
#define BAR    104.0
#define LEAST  1e-6 /* differences from here on have a length; logarithmic up to the largest */

static double largest(const hop_fall *f)
{
    double most = 1;
    for (int i = 0; i < f->layer_count; i++) {
        const hop_fall_layer *l = &f->layers[i];
        most = fmax(most, fmax(l->last_token, l->stream));
        if (!isnan(l->state)) most = fmax(most, l->state);
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
        hop__svg_plain(out, "small", x + 16, y + 4, "nothing", 0);
    } else {
        double part = log(fmax(value, LEAST) / LEAST) / log(most / LEAST);
        hop__svg_box(out, "full", x, y - 4.5, fmax(2, fmin(1, part) * BAR), 9);
        hop__svg_rich(out, "small", x + BAR + 6, y + 4, hop__number_real(value, HOP__NEAREST).rich);
    }
}

static void draw_layer(hop_text *out, const hop_fall_layer *l, int number, double y, double most)
{
    char name[64];
    snprintf(name, sizeof name, "layer %d, %.24s", number, l->mixer);
    hop__svg_plain(out, "small", 2, y + 4, name, 20);
    draw_bar(out, LABELS, y, l->stream, most);
    draw_bar(out, LABELS + COLUMN, y, l->state, most);
    draw_bar(out, LABELS + 2 * COLUMN, y, l->last_token, most);
}

static void draw(hop_text *out, const hop_fall *f)
{
    static const char *const heads[] = {"at any token behind", "in the layer's state", "at the last token"};
    char label[160];
    double most = largest(f);
    snprintf(label, sizeof label, "How far two prompts are apart behind each layer of %.60s", f->pattern);
    hop__svg_open(out, WIDTH, HEAD + ROW * f->layer_count + 4, label, false);
    for (int i = 0; i < 3; i++) hop__svg_plain(out, "soft small", LABELS + i * COLUMN, 12, heads[i], 0);
    hop__svg_line(out, "hair", 0, HEAD - 7, WIDTH, HEAD - 7);
    for (int i = 0; i < f->layer_count; i++) draw_layer(out, &f->layers[i], i, HEAD + ROW * (i + 0.5), most);
    hop__svg_close(out);
}

static void tell(hop_text *out, const hop_fall *f)
{
    hop_text_printf(out, "<h3>%d hop%s, <code>", f->hops, f->hops == 1 ? "" : "s");
    hop__escape(out, f->pattern, 0);
    hop_text_add(out, "</code></h3>\n<p>Two prompts differ in <code>");
    hop__escape(out, f->place, 0);
    hop_text_printf(out,
                    "</code> only: it is %lld in one and %lld in the other, so that the right answers are "
                    "%lld and %lld. ",
                    (long long)f->value[0], (long long)f->value[1], (long long)f->right[0],
                    (long long)f->right[1]);
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
    hop_text_add(out, "<p>No weights make these plans work, here or from the length on that the table names. "
                      "Here is each with the "
                      "best weights that the constructions leave it, the network above without the look-ups "
                      "for which it has no "
                      "layer; and two prompts, found by <code>hopbound refute</code>, that it confuses. The "
                      "bars say how far the two are apart behind each "
                      "layer: where the cross stands in the last column, nothing of the difference has "
                      "reached the token that "
                      "answers. <code>hopbound check</code> verifies each file without this program's own "
                      "arithmetic.</p>\n");
    for (int64_t i = 0; i < page->fall_count; i++) {
        tell(out, &page->falls[i]);
        hop_text_add(out, "<figure>\n");
        draw(out, &page->falls[i]);
        hop_text_add(out, "</figure>\n");
    }
    hop__section_close(out);
}
