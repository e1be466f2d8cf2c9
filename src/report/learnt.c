/* What gradient descent finds, beside what is proved: the ladder's section, with the numbers behind its
 * charts. */
#include "page.h"

#include <math.h>
#include <stdio.h>

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
    hop__prose(out, "learnt");
    for (int64_t i = 0; i < page->learnt_count; i++) {
        if (!hop__learnt_first(page->learnt, i)) continue;
        hop_text title = {0};
        hop__learnt_title(&title, page->learnt, page->learnt_count, i);
        hop_text_add(out, "<figure>\n<figcaption>");
        hop__escape(out, hop_text_in(out, &title), 0);
        hop_text_free(&title);
        hop_text_add(out, "</figcaption>\n<div class=\"frame\">\n");
        hop__learnt_chart(out, page->learnt, page->learnt_count, i);
        hop_text_add(out, "</div>\n</figure>\n");
    }
    add_table(out, page);
    hop__section_close(out);
}
