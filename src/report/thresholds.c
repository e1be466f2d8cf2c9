/* Tiny sizes, decided by a SAT solver, beside what the theorems say: a staircase of message bits against
 * state bits. Cells are told apart by words and marks as well as by colour. */
#include "page.h"

#include <stdio.h>
#include <string.h>

static void add_cell(hop_text *out, const hop_stair *c)
{
    bool possible = c->verdict == HOP_LADDER_POSSIBLE, impossible = c->verdict == HOP_LADDER_IMPOSSIBLE;
    hop_text_printf(out, "<td class=\"%s%s\">",
                    possible     ? "yes"
                    : impossible ? "no"
                                 : "open",
                    *c->theorems ? " said" : "");
    if (impossible && *c->proof) {
        hop_text_add(out, "<a href=\"");
        hop__escape(out, c->proof, 0);
        hop_text_add(out, "\">");
    }
    hop_text_add(out, possible ? "yes" : impossible ? "no" : "?");
    if (impossible && *c->proof) hop_text_add(out, "</a>");
    if (*c->theorems) {
        hop_text_add(out, "<small>");
        hop__escape(out, c->theorems, 0);
        hop_text_add(out, "</small>");
    }
    hop_text_add(out, "</td>\n");
}

static void add_thresholds(hop_text *out, const hop_thresholds *s)
{
    char sizes[96];
    snprintf(sizes, sizeof sizes,
             s->hops > 1 ? "<var>m</var> = %d, <var>n</var><sub>1</sub> = %d" : "<var>m</var> = %d",
             (int)s->m, (int)s->fan);
    hop_text_printf(out,
                    "<table class=\"thresholds\">\n<caption>%d hop%s, %s, one full "
                    "layer</caption>\n<thead>\n<tr><td></td>"
                    "<th scope=\"colgroup\" colspan=\"%d\">bits of a message</th></tr>\n<tr>"
                    "<th scope=\"col\">state bits after it</th>",
                    s->hops, s->hops == 1 ? "" : "s", sizes, s->most_message + 1);
    for (int m = 0; m <= s->most_message; m++) hop_text_printf(out, "<th scope=\"col\">%d</th>", m);
    hop_text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (int64_t i = 0; i < s->cell_count; i++) {
        const hop_stair *c = &s->cells[i];
        if (c->message == 0) hop_text_printf(out, "<tr><th scope=\"row\">%d</th>\n", c->after);
        add_cell(out, c);
        if (c->message == s->most_message) hop_text_add(out, "</tr>\n");
    }
    hop_text_add(out, "</tbody>\n</table>\n");
}

void hop__thresholds_section(hop_text *out, const hop_ladder_page *page)
{
    if (!page->thresholds_count && !page->no_thresholds) return;
    hop__section_open(out, "stairs", "The exact staircase");
    if (!page->thresholds_count) {
        hop__prose(out, "no thresholds", page->no_thresholds);
        hop__section_close(out);
        return;
    }
    hop__prose(out, "thresholds");
    for (int64_t i = 0; i < page->thresholds_count; i++) add_thresholds(out, &page->thresholds[i]);
    hop__prose(out, "thresholds end", page->solver);
    hop__section_close(out);
}
