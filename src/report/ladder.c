/* The ladder's page: question, drawing, tables, how to read them, what they mean and what they do not. */
#include "page.h"

#include <string.h>

static void add_head(hop_text *out)
{
    hop_text_add(
        out,
        "<header>\n<p class=\"brow\">hopbound</p>\n<h1>The ladder</h1>\n"
        "<p class=\"lede\">How many hops can an architecture make in one forward pass, and how many "
        "full-attention "
        "layers does that take?</p>\n"
        "<p>A hop is a look-up whose address comes from the look-up before it. The task makes <var>L</var> "
        "of them: "
        "start from the value <var>z</var><sub>0</sub>, look it up in the table <var>z</var><sub>1</sub>, "
        "look the "
        "result up in <var>z</var><sub>2</sub> together with a digit of the query <var>w</var>, and so on to "
        "<var>z</var><sub><var>L</var></sub>. The prompt gives the tables in the opposite order, last one "
        "first, and "
        "<var>w</var> at its very end, so that no table can be composed with the next while it is "
        "read.</p>\n");
}

static int64_t count_verdict(const hop_ladder_page *page, const char *verdict)
{
    int64_t n = 0;
    for (int64_t i = 0; i < page->rung_count; i++) n += strcmp(page->rungs[i].verdict, verdict) == 0;
    return n;
}

/* "Of 3 networks: (v) proved 2, (x) refuted 1." Then, for those not proved, why. */
static void add_summary(hop_text *out, const hop_ladder_page *page)
{
    static const char *const words[] = {"proved", "refuted", "undecided"};
    if (page->rung_count == 0) {
        hop_text_add(out,
                     "<p class=\"sum\">This run has no rungs: there is nothing to show.</p>\n</header>\n");
        return;
    }
    hop_text_printf(out, "<p class=\"sum\">Of %s network%s:", hop__number_count(page->rung_count).rich,
                    page->rung_count == 1 ? "" : "s");
    bool any = false;
    for (size_t i = 0; i < 3; i++) {
        int64_t n = count_verdict(page, words[i]);
        if (n == 0) continue;
        hop_text_printf(out, "%s %s&#160;", any ? "," : "", hop__number_count(n).rich);
        hop__html_mark(out, words[i]);
        any = true;
    }
    hop_text_add(out, any ? ".</p>\n" : " see the verdicts below.</p>\n");
    bool open = false;
    for (int64_t i = 0; i < page->rung_count; i++) {
        const hop_rung *r = &page->rungs[i];
        if (!*r->why) continue;
        if (!open) hop_text_add(out, "<ul class=\"why\">\n");
        open = true;
        hop_text_printf(out, "<li class=\"%s\"><var>L</var> = %d, ", hop__svg_mark_class(r->verdict),
                        r->hops);
        hop__html_mark(out, r->verdict);
        hop_text_add(out, ": ");
        hop__escape(out, r->why, 0);
        hop_text_add(out, "</li>\n");
    }
    hop_text_add(out, open ? "</ul>\n</header>\n" : "</header>\n");
}

static void add_halves(hop_text *out, const hop_ladder_page *page)
{
    hop_text_add(out, "<figure>\n<div class=\"scroll\">\n");
    hop__halves_draw(out, page, false);
    hop_text_add(out, "</div>\n<figcaption><b>Figure 1.</b> Both halves at one length, one width, one "
                      "precision. F: a full-attention layer, "
                      "L: a linear one, of any kind. Above the line: built, and proved on every input from "
                      "the weights in the file. Below: "
                      "no weights make it work with heads and states of these widths; where the theorem "
                      "needs a longer prompt, from which "
                      "length on. Nothing is claimed where it says <i>open</i>.</figcaption>\n</figure>\n");
}

static void add_drawing(hop_text *out, const hop_ladder_page *page)
{
    hop_text_add(out, "<figure>\n<div class=\"scroll\">\n");
    hop__ladder_draw(out, page, false);
    hop_text_add(out,
                 "</div>\n<figcaption><b>Figure 2.</b> How the full networks do it. A panel for each. "
                 "Across: the prompt in its order; "
                 "<var>z</var><sub>1</sub> and up are tables of many tokens, <var>z</var><sub>0</sub> and "
                 "<var>w</var> are one "
                 "token each. Up: the layers. <var>n</var> is "
                 "the prompt\u2019s length in tokens. On the right: what the last token looks up in that "
                 "layer.</figcaption>\n"
                 "</figure>\n");
}

static void add_meaning(hop_text *out)
{
    hop_text_add(out, "<h2>How to read this</h2>\n");
    hop__ladder_columns(out);
    hop_text_add(
        out,
        "<p>A dash means that there is no such number. Lower bounds are rounded down and upper bounds up, so "
        "what is "
        "printed holds.</p>\n"
        "<h2>What is proved, and what is not</h2>\n"
        "<p>A row that says <i>proved</i> is a statement about <b>every</b> input of that row\u2019s sizes, "
        "not about "
        "a sample. It speaks of the weights in the file, not of the formula that made them, and of the "
        "float32 "
        "arithmetic of this program, whose rounding the bounds include.</p>\n"
        "<p>It says nothing about</p>\n<ul>\n"
        "<li>other sizes, longer prompts or other weights, trained ones among them;</li>\n"
        "<li>fewer layers: a proof shows that these are enough, not that fewer would fail; what theorems say "
        "of fewer "
        "full layers, and from which length on, stands in Table 3;</li>\n"
        "<li>activations cut to fewer bits, and other programs that run the same weights: the runs in Table "
        "1 are "
        "samples, not proofs, unless every input was run;</li>\n"
        "<li>rows that say <i>undecided</i>: there, neither a proof nor an error was found.</li>\n</ul>\n");
}

static void add_making(hop_text *out, const hop_ladder_page *page)
{
    hop_text_add(out, "<h2>How it was made</h2>\n<p>With one command:</p>\n<div class=\"key\"><pre><code>");
    hop__escape(out, page->command, 0);
    hop_text_add(out, "</code></pre></div>\n<p>hopbound ");
    hop__escape(out, page->version, 0);
    hop_text_add(out, ", kernels for ");
    hop__escape(out, page->isa, 0);
    hop_text_add(out, ". This page is one file: it runs no script and loads nothing.</p>\n");
}

hop_status hop_report_ladder(hop_text *out, const hop_ladder_page *page)
{
    hop__html_open(out, "The ladder \u2013 hopbound");
    hop_text_add(out, "<main>\n");
    add_head(out);
    add_summary(out, page);
    if (page->rung_count > 0) {
        add_halves(out, page);
        add_drawing(out, page);
        hop__ladder_main_table(out, page);
    }
    if (page->layer_count > 0) hop__ladder_margins_table(out, page);
    if (page->other_count > 0) hop__ladder_others_table(out, page);
    add_meaning(out);
    add_making(out, page);
    hop_text_add(out, "</main>\n");
    hop__html_close(out);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}

hop_status hop_report_ladder_svg(hop_text *out, const hop_ladder_page *page)
{
    hop__halves_draw(out, page, true);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}
