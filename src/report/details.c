/* What a reader may skip: how the full networks do it, sizes, margins, the other plans; each behind a fold.
 */
#include "page.h"

static void add_drawing(hop_text *out, const hop_ladder_page *page)
{
    hop_text_add(out,
                 "<figure>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figure 2\">\n");
    hop__ladder_draw(out, page, false);
    hop__prose(out, "figure 2");
}

void hop__details_section(hop_text *out, const hop_ladder_page *page)
{
    if (page->rung_count == 0) return;
    hop__section_open(out, "details", "Sizes, margins, other plans");
    hop__fold_open(out, "How the full networks do it, layer by layer");
    add_drawing(out, page);
    hop__fold_close(out);
    hop__fold_open(out, "Table 1: the full networks, their sizes, proofs and runs");
    hop__ladder_main_table(out, page);
    hop__prose(out, "dashes");
    hop__ladder_columns(out);
    hop__fold_close(out);
    if (page->layer_count > 0) {
        hop__fold_open(out, "Table 2: the margins of the proofs, layer by layer");
        hop__ladder_margins_table(out, page);
        hop__fold_close(out);
    }
    if (page->other_count > 0) {
        hop__fold_open(out, "Table 3: the other plans of each rung, built or bounded");
        hop__ladder_others_table(out, page);
        hop__fold_close(out);
    }
    hop__section_close(out);
}
