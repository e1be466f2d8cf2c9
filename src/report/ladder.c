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
    hop_text_add(out,
                 "<header>\n<p class=\"brow\">hopbound: the ladder</p>\n"
                 "<h1>How many hops can an architecture make in one forward pass, and how many "
                 "full-attention layers does that "
                 "take?</h1>\n"
                 "<p class=\"half v-proved\"><b>Above each line:</b> networks whose weights are written "
                 "down, each proved to "
                 "answer every input rightly.</p>\n"
                 "<p class=\"half v-refuted\"><b>Below it:</b> layer plans with fewer full layers, at the "
                 "same width and precision: "
                 "impossible for any weights at the same length or, where the row says so, from a longer "
                 "one on.</p>\n");
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
    hop_text_add(
        out,
        "<p>A row that says <i>proved</i> is a statement about <b>every</b> input of that row\u2019s sizes, "
        "not about a "
        "sample. It speaks of the weights in the file, not of the formula that made them, and of the float32 "
        "arithmetic of this program, whose rounding the bounds include. A row that says <i>impossible</i> is "
        "a statement "
        "about <b>all</b> weights: no network of that plan, with heads and states no wider and numbers no "
        "longer, answers "
        "every input of these sizes, trained or not. All weights, that is, of networks that are ");
    hop__escape(out, page->model, 0);
    hop_text_add(out,
                 ". Where a plan or a model is called <i>possible</i> and is not built here, weights are "
                 "known that do it where ");
    hop__escape(out, page->idealised, 0);
    hop_text_add(
        out,
        ".</p>\n"
        "<p>Nothing here says anything about</p>\n<ul>\n"
        "<li>other sizes, longer prompts or other weights than those of a proved row;</li>\n"
        "<li>how often an impossible plan errs: that it does on some input is all that is claimed;</li>\n"
        "<li>activations cut to fewer bits, and other programs that run the same weights: the runs in Table "
        "1 are "
        "samples, not proofs, unless every input was run;</li>\n"
        "<li>rows that say <i>undecided</i>, <i>longer n</i> or <i>open</i>: there, nothing was shown, and "
        "silence is "
        "no evidence either way.</li>\n</ul>\n");
    hop__section_close(out);
}

static void add_making(hop_text *out, const hop_ladder_page *page)
{
    hop__section_open(out, "making", "How it was made");
    hop_text_add(out, "<p>With one command:</p>\n<pre><code>");
    hop__escape(out, page->command, 0);
    hop_text_add(out, "</code></pre>\n<p>hopbound ");
    hop__escape(out, page->version, 0);
    hop_text_add(out, ", kernels for ");
    hop__escape(out, page->isa, 0);
    hop_text_add(
        out, ". Every number on this page was computed by that run. The page is one file and loads nothing; "
             "its script moves what is already here.</p>\n");
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
