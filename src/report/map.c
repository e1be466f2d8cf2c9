/* The map: length against number of full layers. The rows of one setting are printed; the table of all
 * settings stands in the page as JSON, and the script shows others of it. Positions are percentages, so that
 * the map fits any width. */
#include "page.h"

#include <hopbound/json.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The axis: log10 of lengths. page.js has the same two. */
#define AXIS_FROM 1.0
#define AXIS_TO   14.0
#define NEAR      0.14 /* dots that are nearer stand above each other */
#define FULL_ROWS (HOP_MAP_HOPS + 2)

static double percent(double log10_n)
{
    double at = (log10_n - AXIS_FROM) / (AXIS_TO - AXIS_FROM);
    return 100 * fmin(fmax(at, 0), 1);
}

static const hop_map_row *row_at(const hop_map *m, int full)
{
    int64_t at = m->hops - 1;
    at = at * m->linear_count + m->linear_at;
    at = at * m->dim_count + m->dim_at;
    at = at * m->bit_count + m->bit_at;
    return &m->rows[at * FULL_ROWS + full];
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static void add_plan(hop_text *out, int full, int64_t linear)
{
    char gap[48] = "";
    if (linear == 1) snprintf(gap, sizeof gap, "<span class=\"chip l\">L</span> ");
    if (linear > 1) snprintf(gap, sizeof gap, "<span class=\"chip l\">L<sup>%d</sup></span> ", (int)linear);
    hop_text_add(out, "<span class=\"plan\">");
    for (int i = 0; i < full; i++) hop_text_printf(out, "%s<span class=\"chip f\">F</span> ", gap);
    hop_text_printf(out, "%s</span>", gap);
}

static void add_note(hop_text *out, const hop_map_row *r)
{
    bool possible = isfinite(r->possible_to), impossible = isfinite(r->impossible_from);
    if (possible) {
        hop_text_add(out, "possible up to <var>n</var> = ");
        hop__html_rich(out, hop__number_digits(r->to).rich);
    }
    if (possible && impossible) hop_text_add(out, "; ");
    if (impossible) {
        hop_text_add(out, "impossible from <var>n</var> = ");
        hop__html_rich(out, hop__number_digits(r->from).rich);
        hop_text_printf(out, " on (%s, %s)", r->theorem, r->machine_checked ? "machine-checked" : "on paper");
    }
    if (!possible && !impossible) hop_text_add(out, "open at every length");
}

/* Where a model stands: at its context, or, where its file gives none, where it begins to fail. */
static double model_at(const hop_ladder_model *x, int hops)
{
    return x->context > 0 ? log10((double)x->context) : x->hops.at[hops - 1].log10_n;
}

static int model_row(const hop_ladder_model *x, int hops)
{
    return x->full_layers > hops + 1 ? hops + 1 : (int)x->full_layers;
}

/* How it looks: where a model with a context fails on longer prompts, nothing is known at its own. */
static const char *model_look(const hop_ladder_model *x, int hops)
{
    hop_ladder_verdict v = x->hops.at[hops - 1].verdict;
    return hop_ladder_verdict_words[x->context > 0 && v == HOP_LADDER_FROM_N ? HOP_LADDER_SILENT : v];
}

/* Returns how many stand above each other at most. */
static int add_dots(hop_text *out, const hop_map *m, int full)
{
    int most = 0;
    for (int64_t i = 0; i < m->model_count; i++) {
        const hop_ladder_model *x = &m->models[i];
        double at = model_at(x, m->hops);
        int above = 0;
        if (model_row(x, m->hops) != full) continue;
        for (int64_t k = 0; k < i; k++)
            above += model_row(&m->models[k], m->hops) == full &&
                     fabs(model_at(&m->models[k], m->hops) - at) < NEAR;
        if (above + 1 > most) most = above + 1;
        hop_text_printf(out, "<span class=\"dot %s\" style=\"left:%.2f%%;--up:%d\" title=\"",
                        model_look(x, m->hops), percent(at), above);
        hop__escape(out, x->name, 0);
        hop_text_add(out, "\"></span>");
    }
    return most;
}

static void add_row(hop_text *out, const hop_map *m, int full)
{
    const hop_map_row *r = row_at(m, full);
    double yes = isfinite(r->possible_to) ? percent(r->possible_to) : 0;
    double no = isfinite(r->impossible_from) ? percent(r->impossible_from) : 100;
    bool unused = full > m->hops + 1, none = full == 0 && m->linear[m->linear_at] == 0;
    hop_text dots = {0};
    int most = unused ? 0 : add_dots(&dots, m, full);
    hop_text_printf(out,
                    "<div class=\"map-row\" data-full=\"%d\"%s>\n<p class=\"map-head\"><b>%d%s full</b> ",
                    full, unused || none ? " hidden" : "", full, full == m->hops + 1 ? "+" : "");
    add_plan(out, full, m->linear[m->linear_at]);
    hop_text_printf(
        out,
        "</p>\n<div class=\"track\" style=\"--most:%d\" aria-hidden=\"true\"><span class=\"bar yes\" "
        "style=\"width:%.2f%%\"></span><span class=\"bar no\" style=\"left:%.2f%%\"></span>"
        "<span class=\"dots\">%s",
        most, yes, no, hop_text_in(out, &dots));
    hop_text_free(&dots);
    hop_text_add(out, "</span></div>\n<p class=\"map-note\">");
    if (!unused && !none) add_note(out, r);
    hop_text_add(out, "</p>\n</div>\n");
}

static void add_axis(hop_text *out)
{
    static const struct tick {
        double at;
        const char *text;
    } ticks[] = {
        {1, "10"}, {3, "1,000"}, {6, "10<sup>6</sup>"}, {9, "10<sup>9</sup>"}, {12, "10<sup>12</sup>"}};
    hop_text_add(out, "<div class=\"map-axis\" aria-hidden=\"true\"><span class=\"axis-name\">prompt length "
                      "<var>n</var>, tokens</span><div class=\"ticks\">");
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        hop_text_printf(out, "<span style=\"left:%.2f%%\">%s</span>", percent(ticks[i].at), ticks[i].text);
    hop_text_add(out, "</div></div>\n");
}

/* ---- controls and data ----------------------------------------------------------------------------- */

static void add_slider(hop_text *out, const char *name, const char *label, int count, int at, int64_t value)
{
    hop_text_printf(
        out,
        "<p class=\"slider\"><label for=\"map-%s\">%s</label> <output for=\"map-%s\" id=\"map-%s-now\">"
        "%d</output>\n<input type=\"range\" id=\"map-%s\" min=\"0\" max=\"%d\" step=\"1\" value=\"%d\">"
        "</p>\n",
        name, label, name, name, (int)value, name, count - 1, at);
}

static void put_list(hop_json_writer *w, const char *key, const int64_t *list, int count)
{
    hop_json_integers(w, key, list, count);
}

static void put_model(hop_json_writer *w, const hop_ladder_model *x)
{
    hop_json_begin_object(w);
    hop_json_string(w, "name", x->name);
    hop_json_integer(w, "full", x->full_layers);
    hop_json_number(w, "context", x->context > 0 ? log10((double)x->context) : NAN);
    hop_json_key(w, "verdict");
    hop_json_begin_array(w);
    for (int h = 0; h < HOP_MAP_HOPS; h++)
        hop_json_put_string(w, hop_ladder_verdict_words[x->hops.at[h].verdict]);
    hop_json_end_array(w);
    hop_json_key(w, "from");
    hop_json_begin_array(w);
    for (int h = 0; h < HOP_MAP_HOPS; h++) hop_json_put_real(w, x->hops.at[h].log10_n);
    hop_json_end_array(w);
    hop_json_end_object(w);
}

static void add_data(hop_text *out, const hop_map *m)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    put_list(&w, "linear", m->linear, m->linear_count);
    put_list(&w, "dims", m->dims, m->dim_count);
    put_list(&w, "bits", m->bits, m->bit_count);
    hop_json_key(&w, "rows");
    hop_json_begin_array(&w);
    for (int64_t i = 0; i < m->row_count; i++) {
        const hop_map_row *r = &m->rows[i];
        hop_json_begin_array(&w);
        hop_json_put_real(&w, r->possible_to);
        hop_json_put_string(&w, r->to);
        hop_json_put_real(&w, r->impossible_from);
        hop_json_put_string(&w, r->from);
        hop_json_put_string(&w, r->theorem);
        hop_json_put_bool(&w, r->machine_checked);
        hop_json_end_array(&w);
    }
    hop_json_end_array(&w);
    hop_json_key(&w, "models");
    hop_json_begin_array(&w);
    for (int64_t i = 0; i < m->model_count; i++) put_model(&w, &m->models[i]);
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    if (w.text.failed) out->failed = true;
    hop__html_data(out, "map-data", &w.text);
    hop_text_free(&w.text);
}

/* ---- models ---------------------------------------------------------------------------------------- */

static void add_verdict(hop_text *out, const hop_ladder_known *k)
{
    hop__html_mark(out, k->verdict);
    if (!hop__said(k->theorem) || k->verdict == HOP_LADDER_POSSIBLE) return; /* the caption says by whom */
    hop_text_add(out, "<small>");
    if (hop__said(k->speaks_from_n)) {
        hop_text_add(out, "from <var>n</var> = ");
        hop__html_rich(out, hop__number_digits(k->speaks_from_n).rich);
        hop_text_add(out, ", ");
    }
    hop_text_printf(out, "%s, %s</small>", k->theorem,
                    k->machine_checked > 0 ? "machine-checked" : "on paper");
}

static void add_models(hop_text *out, const hop_map *m)
{
    static const char *const heads[] = {"model", "plan",   "full layers", "context",
                                        "1 hop", "2 hops", "3 hops"};
    hop__fold_open(out, "Table: the models on the map");
    hop__html_table_open(
        out,
        "<b>Today\u2019s models</b> as their config.json describes them, at their own widths, states and "
        "context. F full attention, L recurrent, S a sliding window, H full and recurrent in one layer, C "
        "cross-attention, G and - no mixing. Possible: weights exist (P1) with which it makes so many hops, "
        "positions read from tables; nothing is said about those that it has. Open: no theorem speaks.",
        true);
    hop_text_add(out, "<thead>\n<tr>\n");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        hop__html_head(out, heads[i], i == 2 || i == 3);
    hop_text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (int64_t i = 0; i < m->model_count; i++) {
        const hop_ladder_model *x = &m->models[i];
        hop_text_add(out, "<tr>\n");
        hop__html_cell_open(out, heads[0], false);
        hop__escape(out, x->name, 0);
        hop_text_add(out, "</td>\n");
        hop__html_cell_open(out, heads[1], false);
        hop_text_add(out, "<code>");
        hop__escape(out, x->plan, 0);
        hop_text_add(out, "</code></td>\n");
        hop__html_cell(out, heads[2], hop__number_count(x->full_layers).rich);
        hop__html_cell(out, heads[3], x->context > 0 ? hop__number_count(x->context).rich : HOP__DASH);
        for (int h = 0; h < HOP_MAP_HOPS; h++) {
            hop__html_cell_open(out, heads[4 + h], false);
            add_verdict(out, &x->hops.at[h]);
            hop_text_add(out, "</td>\n");
        }
        hop_text_add(out, "</tr>\n");
    }
    hop_text_add(out, "</tbody>\n");
    hop__html_table_close(out);
    hop__fold_close(out);
}

/* ---- the section ----------------------------------------------------------------------------------- */

static void add_legend(hop_text *out)
{
    static const char *const keys[][2] = {
        {"swatch yes", "possible"},
        {"swatch", "open"},
        {"swatch no", "impossible"},
        {"dot possible", "a model at its context length, possible"},
        {"dot silent", "the same, open"},
        {"dot impossible", "the same, impossible"},
        {"dot from_n", "a model whose file gives no length, where it begins to fail"},
    };
    hop_text_add(out, "<p class=\"legend\">");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        hop_text_printf(out, "<span class=\"key\"><span class=\"%s\"></span> %s</span> ", keys[i][0],
                        keys[i][1]);
    hop_text_add(out, "</p>\n");
}

void hop__map_section(hop_text *out, const hop_ladder_page *page)
{
    const hop_map *m = page->map;
    if (!m) return;
    hop__section_open(out, "map", "The map");
    hop__prose(out, "map");
    hop_text_printf(out, "<div class=\"controls sliders\" id=\"map-controls\" hidden>\n");
    add_slider(out, "hops", "hops", HOP_MAP_HOPS, m->hops - 1, m->hops);
    add_slider(out, "linear", "linear layers a gap", m->linear_count, m->linear_at, m->linear[m->linear_at]);
    add_slider(out, "dims", "width of a head", m->dim_count, m->dim_at, m->dims[m->dim_at]);
    add_slider(out, "bits", "bits of a number", m->bit_count, m->bit_at, m->bits[m->bit_at]);
    hop_text_printf(out,
                    "</div>\n<p class=\"setting\" id=\"map-setting\" role=\"status\">%d hop%s, %d linear "
                    "layer%s a gap, heads "
                    "of %d numbers, %d bits a number</p>\n<div class=\"map\" id=\"map-rows\">\n",
                    m->hops, m->hops == 1 ? "" : "s", (int)m->linear[m->linear_at],
                    m->linear[m->linear_at] == 1 ? "" : "s", (int)m->dims[m->dim_at],
                    (int)m->bits[m->bit_at]);
    for (int full = FULL_ROWS - 1; full >= 0; full--) add_row(out, m, full);
    add_axis(out);
    hop_text_add(out, "</div>\n");
    add_legend(out);
    add_models(out, m);
    add_data(out, m);
    hop__section_close(out);
}
