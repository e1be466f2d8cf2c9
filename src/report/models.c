/* Models side by side: a picture of lengths on a logarithmic axis, and the table. A line for each model:
 * filled up to where its states hold a table of the prompt's length, a ring at its context length, a mark
 * where some number of hops is proved impossible. */
#include <hopbound/over.h>
#include "page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

HOP_RECORD_TABLE(hop_model_row, HOP_MODEL_ROW, "one model at a common length")
HOP_RECORD_TABLE(hop_model_refused, HOP_MODEL_REFUSED, "a file that is no model")
HOP_RECORD_TABLE(hop_models_answer, HOP_MODELS_ANSWER, "models side by side")

#define LEFT  10.0
#define RIGHT 450.0 /* a phone shows it whole */
#define LINE  32.0
#define TOP   34.0
#define FIRST 3.0  /* log10 of the axis' ends */
#define LAST  12.0 /* what lies beyond stands at the end, with an arrow */

static double at(double log10_n)
{
    double x = log10_n < FIRST ? FIRST : log10_n > LAST ? LAST : log10_n;
    return LEFT + (x - FIRST) / (LAST - FIRST) * (RIGHT - LEFT);
}

static void draw_axis(hop_text *out, double height, int64_t n)
{
    for (int e = (int)FIRST; e <= (int)LAST; e++) {
        char label[16];
        snprintf(label, sizeof label, "10^{%d}", e);
        hop__svg_line(out, "hair", at(e), TOP - 8, at(e), height);
        hop__svg_rich(out, "small soft mid", at(e), TOP - 14, label);
    }
    double here = at(log10((double)n));
    hop__svg_line(out, "meant", here, TOP - 8, here, height);
}

static void draw_model(hop_text *out, const hop_model_row *r, double y)
{
    hop__svg_plain(out, "small", LEFT, y - 8, r->model, 60);
    hop__svg_line(out, "hair", LEFT, y, RIGHT, y);
    if (r->tables_outgrow_states_at)
        hop__svg_box(out, "full", LEFT, y - 3, at(r->tables_outgrow_log10_n) - LEFT, 6);
    if (r->context > 0) hop__svg_dot(out, "asked", at(log10((double)r->context)), y, 4.5);
    if (r->impossible_from_n && r->impossible_log10_n <= LAST)
        hop__svg_mark(out, HOP_LADDER_IMPOSSIBLE, at(r->impossible_log10_n), y);
    else if (r->impossible_from_n)
        hop__svg_arrow(out, "meant", RIGHT - 14, RIGHT + 6, y);
}

static void draw(hop_text *out, const hop_models_answer *m)
{
    double height = TOP + LINE * (double)m->models.count + 10;
    hop__svg_open(out, RIGHT + 16, height, "Models on an axis of lengths", false);
    draw_axis(out, height, m->n);
    for (int64_t i = 0; i < m->models.count; i++)
        draw_model(out, &m->models.at[i], TOP + 22 + LINE * (double)i);
    hop__svg_close(out);
}

static void cell_text(hop_text *out, const char *label, const char *text)
{
    hop__html_cell_open(out, label, false);
    hop__escape(out, text, 60);
    hop_text_add(out, "</td>\n");
}

static void cell_mib(hop_text *out, const char *label, int64_t bytes)
{
    hop__html_cell(out, label,
                   bytes == HOP_NO_COUNT ? HOP__DASH
                                         : hop__number_real((double)bytes / 1048576, HOP__NEAREST).rich);
}

static void cell_count(hop_text *out, const char *label, int64_t v)
{
    hop__html_cell(out, label, v == HOP_NO_COUNT ? HOP__DASH : hop__number_count(v).rich);
}

/* Whole numbers as people write them; a power of ten as one; a star where no vocabulary poses it. */
static void cell_length(hop_text *out, const char *label, const char *text, double log10_n, int beyond)
{
    char shown[80] = HOP__DASH;
    if (text) {
        hop__number n =
            log10_n < 18 ? hop__number_count((int64_t)strtoll(text, NULL, 10)) : hop__number_power(log10_n);
        snprintf(shown, sizeof shown, "%s%s", n.rich, beyond > 0 ? "*" : "");
    }
    hop__html_cell(out, label, shown);
}

/* "4", and in small letters "P6, machine-checked"; `here`: at this length, else on longer prompts. */
static void cell_unable(hop_text *out, const char *label, const hop_model_row *r, bool here)
{
    bool any = r->impossible_at_n != HOP_NO_FLAG && (r->impossible_at_n > 0) == here;
    hop__html_cell_open(out, label, true);
    hop__html_rich(out, any ? hop__number_count(r->hops_impossible).rich : HOP__DASH);
    if (any)
        hop_text_printf(out, " <small>%s, %s</small>", r->impossible_by,
                        r->machine_checked > 0 ? "machine-checked" : "on paper");
    hop_text_add(out, "</td>\n");
}

/* "16", and in small letters "all that fit". */
static void cell_able(hop_text *out, const char *label, const hop_model_row *r)
{
    hop__html_cell_open(out, label, true);
    hop__html_rich(out,
                   r->hops_possible == HOP_NO_COUNT ? HOP__DASH : hop__number_count(r->hops_possible).rich);
    if (r->hops_possible == r->hops_that_fit) hop_text_add(out, " <small>all that fit</small>");
    hop_text_add(out, "</td>\n");
}

static void table(hop_text *out, const hop_models_answer *m)
{
    static const struct {
        const char *name;
        bool number;
    } heads[] = {{"model", false},
                 {"plan", false},
                 {"layers", true},
                 {"full", true},
                 {"KV, MiB", true},
                 {"states, MiB", true},
                 {"hops possible", true},
                 {"impossible here", true},
                 {"impossible on longer prompts", true},
                 {"from n", true},
                 {"states hold tables up to", true},
                 {"tables outgrow states at", true}};
    hop__html_table_open(
        out,
        "<b>Table 1.</b> Every model at the same length. A star: at sizes that take more ids "
        "than the model's vocabulary has, so that no such prompt can be put to it.",
        true);
    hop_text_add(out, "<thead>\n<tr>\n");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        hop__html_head(out, heads[i].name, heads[i].number);
    hop_text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (int64_t i = 0; i < m->models.count; i++) {
        const hop_model_row *r = &m->models.at[i];
        hop_text_add(out, "<tr>\n");
        cell_text(out, "model", r->model);
        cell_text(out, "plan", r->plan);
        cell_count(out, "layers", r->layers);
        cell_count(out, "full", r->full_layers);
        cell_mib(out, "KV, MiB", r->kv_bytes);
        cell_mib(out, "states, MiB", r->state_bytes);
        cell_able(out, "hops possible", r);
        cell_unable(out, "impossible here", r, true);
        cell_unable(out, "impossible on longer prompts", r, false);
        cell_length(out, "from n", r->impossible_from_n, r->impossible_log10_n,
                    r->impossible_beyond_vocabulary);
        cell_count(out, "states hold tables up to", r->tables_held_up_to);
        cell_length(out, "tables outgrow states at", r->tables_outgrow_states_at, r->tables_outgrow_log10_n,
                    r->tables_outgrow_beyond_vocabulary);
        hop_text_add(out, "</tr>\n");
    }
    hop_text_add(out, "</tbody>\n");
    hop__html_table_close(out);
}

static void figure_of_hops(hop_text *out, const hop_over_answer *over)
{
    if (over->differ) {
        hop_text_add(out, "<p>");
        hop__escape(out, over->differ, 0);
        hop_text_add(out, "</p>\n");
    }
    hop_text_add(out, "<figure>\n<div class=\"scroll\">\n");
    hop_report_over_svg(out, over, false);
    hop__prose(out, "models figure 1");
}

hop_status hop_report_models(hop_text *out, const hop_models_answer *m, const hop_over_answer *over)
{
    hop__html_open(out, "Models side by side \u2013 hopbound");
    hop__prose(out, "models head");
    hop_text_printf(out, "<p class=\"sum\">%s models at %s tokens.</p>\n</header>\n",
                    hop__number_count(m->models.count).rich, hop__number_count(m->n).rich);
    figure_of_hops(out, over);
    hop_text_add(out, "<figure>\n<div class=\"scroll\">\n");
    draw(out, m);
    hop__prose(out, "models figure 2");
    table(out, m);
    hop__prose(out, "models supposed", m->model, m->idealised);
    for (int64_t i = 0; i < m->refused.count; i++) {
        hop_text_add(out, i ? "<li>" : "<h2>Not read</h2>\n<ul>\n<li>");
        hop__escape(out, m->refused.at[i].why, 0);
        hop_text_add(out, "</li>\n");
    }
    hop_text_add(out, m->refused.count ? "</ul>\n</main>\n" : "</main>\n");
    hop__html_close(out, false);
    return out->failed ? HOP_ENOMEM : HOP_OK;
}
