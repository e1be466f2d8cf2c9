/* Both halves of the hierarchy: for each number of hops, at one length, the layer plans that are proved to
 * work above a line, and below it those that are impossible for any weights, there or from a longer one on.
 * The rows are made here once, for the page's panels, which stand here, and for the drawing, verdicts_draw.c. */
#include "page.h"

#include <stdio.h>
#include <string.h>

bool hop__is_hybrid(const hop_ladder_row *r, int64_t hops)
{
    return r->hops == hops && r->built && r->mixer && r->verdict == HOP_LADDER_PROVED;
}

static bool narrow(const hop_ladder_row *r, const hop_ladder_row *rung)
{
    return r->state_bits <= rung->state_limit;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void add_full(hop__half_row *row, const hop_ladder_row *r)
{
    char messages[48] = "";
    *row = (hop__half_row){.verdict = r->verdict};
    if (r->message_bits)
        snprintf(messages, sizeof messages, ", with %lld-bit messages too", (long long)r->message_bits);
    snprintf(row->plan, sizeof row->plan, "F^%lld", (long long)r->hops + 1);
    if (r->verdict == HOP_LADDER_PROVED)
        snprintf(row->note, sizeof row->note, "on all %s inputs%s", hop__number_power(r->log10_inputs).rich,
                 messages);
}

static bool add_hybrids(hop__half_row *row, const hop_ladder_page *page, const hop_ladder_row *r)
{
    int64_t mixers = 0, few = 0;
    for (int64_t i = 0; i < page->other_count; i++) {
        const hop_ladder_row *x = &page->others[i];
        mixers += hop__is_hybrid(x, r->hops);
        few += hop__is_hybrid(x, r->hops) && narrow(x, r);
    }
    if (!mixers) return false;
    *row = (hop__half_row){.verdict = HOP_LADDER_PROVED, .hybrids = true};
    snprintf(row->plan, sizeof row->plan, "L F^%lld", (long long)r->hops);
    snprintf(row->note, sizeof row->note, "for %s linear mixers, %s of them with states of at most %s bits",
             hop__number_count(mixers).rich, hop__number_count(few).rich,
             hop__number_count((int64_t)r->state_limit).rich);
    return true;
}

static void add_lower(hop__half_row *row, const hop_ladder_row *r)
{
    bool impossible = r->verdict == HOP_LADDER_IMPOSSIBLE, later = r->verdict == HOP_LADDER_FROM_N;
    *row = (hop__half_row){.verdict = r->verdict, .pattern = r->pattern};
    if (impossible)
        snprintf(row->note, sizeof row->note, "for any weights: theorem %s, %s", r->theorem,
                 r->machine_checked > 0 ? "machine-checked" : "on paper");
    else if (later)
        snprintf(row->note, sizeof row->note, "impossible from /{n} = %s on: theorem %s, %s",
                 hop__number_digits(r->speaks_from_n).rich, r->theorem,
                 r->machine_checked > 0 ? "machine-checked" : "on paper");
    else
        snprintf(row->note, sizeof row->note, "no theorem speaks at any length");
}

int hop__half_rows(hop__half_row rows[HOP__MOST_HALF_ROWS], const hop_ladder_page *page,
                   const hop_ladder_row *r, int *above)
{
    int n = 0;
    add_full(&rows[n++], r);
    n += add_hybrids(&rows[n], page, r);
    *above = n;
    for (int64_t i = 0; i < page->other_count && n < HOP__MOST_HALF_ROWS; i++)
        if (page->others[i].hops == r->hops && !page->others[i].built)
            add_lower(&rows[n++], &page->others[i]);
    for (int i = 0; i < n; i++)
        if (!rows[i].pattern) rows[i].pattern = rows[i].plan;
    return n;
}

/* ---- panels ------------------------------------------------------------------------------------ */

static void add_mixers(hop_text *out, const hop_ladder_page *page, const hop_ladder_row *rung)
{
    hop_text_add(out,
                 "<details class=\"mixers\"><summary>the mixers, and their own lengths</summary>\n<ul>\n");
    for (int64_t i = 0; i < page->other_count; i++) {
        const hop_ladder_row *r = &page->others[i];
        if (!hop__is_hybrid(r, rung->hops)) continue;
        bool wide = !narrow(r, rung);
        hop_text_printf(out, "<li class=\"mixer%s\"><b>", wide ? " wide" : "");
        hop__escape(out, r->mixer, 0);
        hop_text_printf(out, "</b> %s bits", hop__number_count((int64_t)r->state_bits).rich);
        if (wide && r->below_impossible_from_n) {
            hop_text_add(out, ", impossible below from <var>n</var> = ");
            hop__html_rich(out, hop__number_digits(r->below_impossible_from_n).rich);
        }
        hop_text_add(out, "</li>\n");
    }
    hop__prose(out, "own lengths");
}

static void add_row(hop_text *out, const hop_ladder_page *page, const hop_ladder_row *rung,
                    const hop__half_row *row)
{
    hop_text_printf(out, "<li class=\"%s\">", hop__svg_mark_class(row->verdict));
    hop_text_add(out, "<svg class=\"sign\" viewBox=\"-10 -10 20 20\" aria-hidden=\"true\">");
    hop__svg_mark(out, row->verdict, 0, 0);
    hop_text_add(out, "</svg>");
    hop__plan_html(out, row->pattern);
    hop_text_add(out, " <span class=\"word\">");
    hop__escape(out, hop__svg_mark_word(row->verdict), 0);
    hop_text_add(out, "</span> <span class=\"note\">");
    hop__html_rich(out, row->note);
    hop_text_add(out, "</span>");
    if (row->hybrids) add_mixers(out, page, rung);
    hop_text_add(out, "</li>\n");
}

static void add_panel(hop_text *out, const hop_ladder_page *page, const hop_ladder_row *r)
{
    hop__half_row rows[HOP__MOST_HALF_ROWS];
    int above, count = hop__half_rows(rows, page, r, &above);
    hop_text_printf(
        out,
        "<div class=\"panel\">\n<h2>%lld hop%s</h2>\n<p class=\"at\"><var>n</var> = %s tokens, one "
        "head of %s numbers</p>\n<ul class=\"above\">\n",
        (long long)r->hops, r->hops == 1 ? "" : "s", hop__number_count(r->n).rich,
        hop__number_count(r->head_dim).rich);
    for (int i = 0; i < above; i++) add_row(out, page, r, &rows[i]);
    hop_text_add(out, "</ul>\n");
    if (count > above) hop_text_add(out, "<ul class=\"below\">\n");
    for (int i = above; i < count; i++) add_row(out, page, r, &rows[i]);
    hop_text_add(out, count > above ? "</ul>\n</div>\n" : "</div>\n");
}

void hop__verdicts_html(hop_text *out, const hop_ladder_page *page)
{
    hop_text_add(out, "<figure class=\"halves\">\n<div class=\"panels\">\n");
    for (int64_t i = 0; i < page->rung_count; i++) add_panel(out, page, &page->rungs[i]);
    hop__prose(out, "figure 1", page->model);
}
