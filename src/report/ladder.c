/* The ladder's page: the question, both halves in one drawing, then its sections, then what all of it means
 * and what it does not. */
#include "page.h"

#include <string.h>

HOP_RECORD_TABLE(hop_ladder_row, HOP_LADDER_ROW, "a network of a rung, or a plan")
HOP_RECORD_TABLE(hop_ladder_known, HOP_LADDER_KNOWN, "what is known of a model's hops")
HOP_RECORD_TABLE(hop_ladder_model, HOP_LADDER_MODEL, "a model on the map")

const char *const hop_ladder_verdict_words[] = {"proved",     "refuted", "undecided", "possible",
                                                "impossible", "from_n",  "silent",    NULL};

/* In the order of the page. A section is a file; it prints nothing where the page has no data for it. */
static hop__section *const sections[] = {
    hop__demonstration_section, hop__failures_section,   hop__learnt_section,
    hop__map_section,           hop__thresholds_section, hop__details_section,
};

static void add_head(hop_text *out)
{
    hop__prose(out, "head");
}

/* For those that are not proved as they should be, why. */
static void add_failures(hop_text *out, const hop_ladder_page *page)
{
    bool open = false;
    for (int64_t i = 0; i < page->rung_count; i++) {
        const hop_ladder_row *r = &page->rungs[i];
        if (!hop__said(r->why)) continue;
        if (!open) hop_text_add(out, "<ul class=\"why\">\n");
        open = true;
        hop_text_printf(out, "<li class=\"%s\"><var>L</var> = %lld, ", hop__svg_mark_class(r->verdict),
                        (long long)r->hops);
        hop__html_mark(out, r->verdict);
        hop_text_add(out, ": ");
        hop__escape(out, r->why, 0);
        hop_text_add(out, "</li>\n");
    }
    if (open) hop_text_add(out, "</ul>\n");
}

static void add_meaning(hop_text *out, const hop_ladder_page *page)
{
    hop__section_open(out, "meaning", "What is proved, and what is not");
    hop__prose(out, "meaning", page->model, page->idealised);
    hop__section_close(out);
}

static void add_making(hop_text *out, const hop_ladder_page *page)
{
    hop__section_open(out, "making", "How it was made");
    hop__prose(out, "making", page->command, page->version, page->isa);
    hop__section_close(out);
}

hop_status hop_report_ladder(hop_text *out, const hop_ladder_page *page)
{
    hop__html_open(out, "The ladder \u2013 hopbound");
    hop_text_add(out, "<main>\n");
    add_head(out);
    if (page->rung_count == 0) hop_text_add(out, "<p>This run has no rungs: there is nothing to show.</p>\n");
    add_failures(out, page);
    hop_text_add(out, "</header>\n");
    if (page->rung_count > 0) hop__verdicts_html(out, page);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) sections[i](out, page);
    add_meaning(out, page);
    add_making(out, page);
    hop_text_add(out, "</main>\n");
    hop__html_close(out, page->demonstration || page->map);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}

hop_status hop_report_ladder_svg(hop_text *out, const hop_ladder_page *page)
{
    hop__verdicts_draw(out, page, true);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}
