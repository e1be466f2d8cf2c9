/* Where a network of a lower row fails: two prompts that it confuses, and how far they are apart behind each
 * of its layers, beside the same two in the network that works. A bar for each layer and place; where nothing
 * is left, a cross. A table, so that it fits a phone and can be read aloud. */
#include "page.h"

#include <math.h>

#define LEAST 1e-6 /* differences from here on have a length; logarithmic up to the largest */

static double most_of(const hop_failure_layer *list, int count, double most)
{
    for (int i = 0; i < count; i++) {
        most = fmax(most, fmax(list[i].own, fmax(list[i].last_token, list[i].stream)));
        if (!isnan(list[i].state)) most = fmax(most, list[i].state);
    }
    return most;
}

static void add_bar(hop_text *out, double value, double most)
{
    hop_text_add(out, "<td>");
    if (isnan(value)) {
        hop_text_add(out, HOP__DASH);
    } else if (value == 0) {
        hop_text_add(out, "<span class=\"nothing\">\u2715 nothing</span>");
    } else {
        double part = log(fmax(value, LEAST) / LEAST) / log(most / LEAST);
        hop_text_printf(out, "<span class=\"gauge\" style=\"width:%.0f%%\"></span>",
                        100 * fmax(0.02, fmin(1, part)));
        hop__html_rich(out, hop__number_real(value, HOP__NEAREST).rich);
    }
    hop_text_add(out, "</td>\n");
}

/* A network's layers, under its name. */
static void add_layers(hop_text *out, const char *pattern, const char *what, const hop_failure_layer *list,
                       int count, double most)
{
    hop_text_add(out, "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"5\">");
    hop__escape(out, pattern, 60);
    hop_text_printf(out, "%s</th></tr>\n", what);
    for (int i = 0; i < count; i++) {
        const double value[] = {list[i].own, list[i].stream, list[i].state, list[i].last_token};
        hop_text_printf(out, "<tr>\n<th scope=\"row\">%d, ", i + 1);
        hop__escape(out, list[i].mixer, 24);
        hop_text_add(out, "</th>\n");
        for (int k = 0; k < 4; k++) add_bar(out, value[k], most);
        hop_text_add(out, "</tr>\n");
    }
    hop_text_add(out, "</tbody>\n");
}

static void draw(hop_text *out, const hop_failure_trace *f)
{
    static const char *const heads[] = {"layer", "where they differ", "at any token behind",
                                        "in the layer\u2019s state", "at the last token"};
    double most = most_of(f->above_layers, f->above_count, most_of(f->layers, f->layer_count, 1));
    hop_text_add(
        out, "<table class=\"fall\">\n<caption>How far the two prompts are apart</caption>\n<thead>\n<tr>\n");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) hop__html_head(out, heads[i], false);
    hop_text_add(out, "</tr>\n</thead>\n");
    add_layers(out, f->pattern, "", f->layers, f->layer_count, most);
    if (f->above_count) add_layers(out, f->above, ", which works", f->above_layers, f->above_count, most);
    hop_text_add(out, "</table>\n");
}

static void tell(hop_text *out, const hop_failure_trace *f)
{
    hop_text_printf(out, "<h3>%d hop%s, ", f->hops, f->hops == 1 ? "" : "s");
    hop__plan_html(out, f->pattern);
    hop_text_add(out, "</h3>\n<p>Two prompts differ in <code>");
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

void hop__failures_section(hop_text *out, const hop_ladder_page *page)
{
    if (page->failure_count == 0) return;
    hop__section_open(out, "falls", "Where they fail");
    hop__prose(out, "failures");
    for (int64_t i = 0; i < page->failure_count; i++) {
        tell(out, &page->failures[i]);
        hop__fold_open(out, "Where the difference is lost, layer by layer");
        draw(out, &page->failures[i]);
        hop__fold_close(out);
    }
    hop__prose(out, "failures end");
    hop__section_close(out);
}
