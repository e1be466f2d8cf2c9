/* The ladder's two tables. A column is declared once: its head, its name on a card and its meaning. */
#include "page.h"

#include <stdio.h>

/* clang-format off */
typedef enum column_id {
    HOPS, SIZES, TOKENS, PATTERN, LAYERS, D_MODEL, HEAD_DIM, PARAMETERS, VERDICT, INPUTS, SCORE_GAP,
    WRONG_MASS, CLIP_MARGIN, READOUT, FLOAT32, CUT, SECONDS, COLUMN_COUNT
} column_id;

typedef struct column {
    const char *head, *label; /* rich; plain, for a card */
    bool number;
    const char *meaning; /* rich */
} column;

static const column columns[COLUMN_COUNT] = {
    [HOPS] = {"hops", "hops", true,
        "/{L}: how many look-ups must follow one another, since each one\u2019s answer is part of the "
        "next one\u2019s question."},
    [SIZES] = {"sizes", "sizes", false,
        "/{m} is how many values /{z}_{0} can take; the fans /{n}_{1}, /{n}_{2}, \u2026 are how many "
        "values each digit of /{w} can take. Table /{z}_{1} has /{m} entries, /{z}_{2} has "
        "/{m}\u00b7/{n}_{1}, /{z}_{3} has /{m}\u00b7/{n}_{1}\u00b7/{n}_{2}, and so on."},
    [TOKENS] = {"/{n}", "n, tokens", true,
        "Length of the prompt: a token for every entry of every table, one for /{z}_{0}, one for /{w}."},
    [PATTERN] = {"pattern", "pattern", false,
        "The kinds of the layers from first to last; full^4 stands for four full-attention layers."},
    [LAYERS] = {"layers", "layers", true,
        "How many layers there are; if some are not full attention, how many are."},
    [D_MODEL] = {"/{d}_{model}", "d_model", true,
        "Width of the vector that every token carries from layer to layer."},
    [HEAD_DIM] = {"/{d}_{head}", "head_dim", true,
        "Width of one attention head; head_dim in the configuration."},
    [PARAMETERS] = {"para\u00admeters", "parameters", true,
        "How many numbers the network is made of."},
    [VERDICT] = {"verdict", "verdict", false,
        "Proved: every input of these sizes is answered rightly. Refuted: an input is known on which the "
        "network errs. Undecided: neither was shown."},
    [INPUTS] = {"inputs", "inputs", true,
        "How many different inputs the verdict speaks of, and how many of them were also run one by one."},
    [SCORE_GAP] = {"score gap", "score gap, at least", true,
        "Attention score of the token that should be found minus that of the best wrong one, at least, "
        "over all layers."},
    [WRONG_MASS] = {"wrong mass", "wrong mass, at most", true,
        "Share of attention that all wrong tokens get together, at most, over all layers."},
    [CLIP_MARGIN] = {"clip margin", "clip margin, at least", true,
        "How far every hidden unit of the MLPs stays from changing sides, at least, over all layers."},
    [READOUT] = {"read-out margin", "read-out margin, at least", true,
        "Logit of the right answer minus that of the best wrong one, at least."},
    [FLOAT32] = {"right in float32", "right in float32", true,
        "Inputs that were run through the network in float32: answered rightly, of how many."},
    [CUT] = {"right when cut", "right when cut", true,
        "The same with activations cut to that many mantissa bits."},
    [SECONDS] = {"seconds", "seconds", true,
        "Time that this row took."},
};

static const struct group {
    const char *name;
    int span;
} groups[] = {{"task", 3}, {"network", 5}, {"proof", 6}, {"runs", 3}};
/* clang-format on */

static void add_small(hop_text *out, const char *rich)
{
    hop_text_add(out, "<small>");
    hop__html_rich(out, rich);
    hop_text_add(out, "</small>");
}

static void right_of(hop_text *out, int64_t right, int64_t total)
{
    if (total <= 0) {
        hop_text_add(out, HOP__DASH);
        return;
    }
    hop_text_printf(out,
                    right == total ? "%s\u2009/\u2009%s" : "<span class=\"bad\">%s\u2009/\u2009%s</span>",
                    hop__number_count(right).rich, hop__number_count(total).rich);
}

static void layers_cell(hop_text *out, const hop_ladder_row *r)
{
    hop__html_rich(out, hop__number_count(r->layers).rich);
    char text[80];
    snprintf(text, sizeof text, "%s full", hop__number_count(r->full_layers).rich);
    if (r->full_layers != r->layers) add_small(out, text);
}

static void inputs_cell(hop_text *out, const hop_ladder_row *r)
{
    hop__html_rich(out, hop__number_power(r->log10_inputs).rich);
    char text[80];
    snprintf(text, sizeof text, "%s run", hop__number_count(r->enumerated).rich);
    if (r->enumerated > 0) add_small(out, text);
}

static void cut_cell(hop_text *out, const hop_ladder_row *r)
{
    right_of(out, r->cut_correct, r->cut_bits > 0 ? r->instances : 0);
    char text[40];
    snprintf(text, sizeof text, "%lld bits", (long long)r->cut_bits);
    if (r->cut_bits > 0 && r->instances > 0) add_small(out, text);
}

static void pattern_cell(hop_text *out, const hop_ladder_row *r)
{
    hop_text_add(out, "<code>");
    hop__escape(out, r->pattern, 0);
    hop_text_add(out, "</code>");
}

static void main_cell(hop_text *out, const hop_ladder_row *r, column_id id)
{
    hop__number n = {""};
    switch (id) {
    case HOPS: n = hop__number_count(r->hops); break;
    case SIZES: hop__escape(out, r->sizes, 0); break;
    case TOKENS: n = hop__number_count(r->n); break;
    case PATTERN: pattern_cell(out, r); break;
    case LAYERS: layers_cell(out, r); break;
    case D_MODEL: n = hop__number_count(r->d_model); break;
    case HEAD_DIM: n = hop__number_count(r->head_dim); break;
    case PARAMETERS: n = hop__number_count(r->parameters); break;
    case VERDICT: hop__html_mark(out, r->verdict); break;
    case INPUTS: inputs_cell(out, r); break;
    case SCORE_GAP: n = hop__number_real(r->score_gap, HOP__LOWER_BOUND); break;
    case WRONG_MASS: n = hop__number_real(r->wrong_mass, HOP__UPPER_BOUND); break;
    case CLIP_MARGIN: n = hop__number_real(r->clip_margin, HOP__LOWER_BOUND); break;
    case READOUT: n = hop__number_real(r->readout_margin, HOP__LOWER_BOUND); break;
    case FLOAT32: right_of(out, r->correct, r->instances); break;
    case CUT: cut_cell(out, r); break;
    case SECONDS: n = hop__number_seconds(r->seconds); break;
    case COLUMN_COUNT: break;
    }
    hop__html_rich(out, n.rich);
}

void hop__ladder_main_table(hop_text *out, const hop_ladder_page *page)
{
    hop__html_table_open(
        out,
        "<b>Table 1.</b> The networks, one a row. Score gap, clip margin and read-out margin are "
        "the smallest, wrong mass is the largest, over all layers and inputs.",
        true);
    hop_text_add(out, "<thead>\n<tr>\n");
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        hop_text_printf(out, "<th class=\"group\" scope=\"colgroup\" colspan=\"%d\"><span>%s</span></th>\n",
                        groups[i].span, groups[i].name);
    hop_text_add(out, "</tr>\n<tr>\n");
    for (int c = 0; c < COLUMN_COUNT; c++) hop__html_head(out, columns[c].head, columns[c].number);
    hop_text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (int64_t i = 0; i < page->rung_count; i++) {
        hop_text_add(out, "<tr>\n");
        for (int c = 0; c < COLUMN_COUNT; c++) {
            hop__html_cell_open(out, columns[c].label, columns[c].number);
            main_cell(out, &page->rungs[i], (column_id)c);
            hop_text_add(out, "</td>\n");
        }
        hop_text_add(out, "</tr>\n");
    }
    hop_text_add(out, "</tbody>\n");
    hop__html_table_close(out);
}

void hop__ladder_margins_table(hop_text *out, const hop_ladder_page *page)
{
    static const char *const heads[] = {"hops",      "layer",      "asks",       "addresses",
                                        "score gap", "wrong mass", "clip margin"};
    hop__html_table_open(out, "<b>Table 2.</b> The margins, layer by layer, as far as the proof came.",
                         false);
    hop_text_add(out, "<thead>\n<tr>\n");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) hop__html_head(out, heads[i], true);
    hop_text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (int64_t i = 0; i < page->layer_count; i++) {
        const hop_ladder_margin *l = &page->layers[i];
        bool first = i == 0 || page->layers[i - 1].hops != l->hops;
        char player[32];
        snprintf(player, sizeof player, l->player < 0 ? "/{w}" : "/{z}_{%d}", l->player);
        hop_text_add(out, first ? "<tr class=\"first\">\n" : "<tr>\n");
        hop__html_cell(out, "hops", hop__number_count(l->hops).rich);
        hop__html_cell(out, "layer",
                       hop__number_count(l->layer).rich); /* from 0, as in files and elsewhere */
        hop__html_cell(out, "asks", player);
        hop__html_cell(out, "addresses", hop__number_count(l->addresses).rich);
        hop__html_cell(out, "score gap", hop__number_real(l->score_gap, HOP__LOWER_BOUND).rich);
        hop__html_cell(out, "wrong mass", hop__number_real(l->wrong_mass, HOP__UPPER_BOUND).rich);
        hop__html_cell(out, "clip margin", hop__number_real(l->clip_margin, HOP__LOWER_BOUND).rich);
        hop_text_add(out, "</tr>\n");
    }
    hop_text_add(out, "</tbody>\n");
    hop__html_table_close(out);
}

/* ---- the other plans of a rung --------------------------------------------------------------------- */

static void other_row(hop_text *out, const hop_ladder_row *r, bool first)
{
    hop_text_add(out, first ? "<tr class=\"first\">\n" : "<tr>\n");
    hop__html_cell(out, "hops", hop__number_count(r->hops).rich);
    hop__html_cell_open(out, "network", false);
    hop__escape(out, r->kind, 0);
    hop_text_add(out, "</td>\n");
    hop__html_cell_open(out, "pattern", false);
    pattern_cell(out, r);
    hop_text_add(out, "</td>\n");
    hop__html_cell(out, "full layers", hop__number_count(r->full_layers).rich);
    hop__html_cell(out, "state bits",
                   !(r->state_bits > 0)   ? HOP__DASH
                   : r->state_bits < 1e15 ? hop__number_count((int64_t)r->state_bits).rich
                                          : hop__number_real(r->state_bits, HOP__NEAREST).rich);
    hop__html_cell_open(out, "verdict", false);
    hop__html_mark(out, r->verdict);
    if (hop__said(r->why)) {
        hop_text_add(out, "<small>");
        hop__escape(out, r->why, 0);
        hop_text_add(out, "</small>");
    }
    hop_text_add(out, "</td>\n");
    hop__html_cell_open(out, "right in float32", true);
    right_of(out, r->correct, r->instances);
    hop_text_add(out, "</td>\n</tr>\n");
}

/* All proved hybrids of a rung in one row, their mixers as chips. */
static void hybrids_row(hop_text *out, const hop_ladder_page *page, int64_t at)
{
    int64_t hops = page->others[at].hops;
    int64_t instances = 0, correct = 0;
    char power[16];
    for (int64_t i = at; i < page->other_count; i++) {
        const hop_ladder_row *r = &page->others[i];
        if (hop__is_hybrid(r, hops)) instances += r->instances, correct += r->correct;
    }
    hop_text_add(out, at == 0 || page->others[at - 1].hops != hops ? "<tr class=\"first\">\n" : "<tr>\n");
    hop__html_cell(out, "hops", hop__number_count(hops).rich);
    hop__html_cell_open(out, "network", false);
    hop_text_add(out, "hybrids: one linear layer, then full ones</td>\n");
    hop__html_cell_open(out, "pattern", false);
    snprintf(power, sizeof power, hops > 1 ? "L full^%lld" : "L full", (long long)hops);
    hop_text_printf(out, "<code>%s</code></td>\n", power);
    hop__html_cell(out, "full layers", hop__number_count(hops).rich);
    hop__html_cell(out, "state bits", "see mixers");
    hop__html_cell_open(out, "verdict", false);
    hop__html_mark(out, HOP_LADDER_PROVED);
    hop_text_add(out, "<span class=\"mixers\">");
    for (int64_t i = at; i < page->other_count; i++) {
        const hop_ladder_row *r = &page->others[i];
        if (!hop__is_hybrid(r, hops)) continue;
        hop_text_add(out, "<span class=\"mixer\"><b>");
        hop__escape(out, r->mixer, 0);
        hop_text_printf(out, "</b> %s</span> ", hop__number_count((int64_t)r->state_bits).rich);
    }
    hop_text_add(out, "</span></td>\n");
    hop__html_cell_open(out, "right in float32", true);
    right_of(out, correct, instances);
    hop_text_add(out, "</td>\n</tr>\n");
}

static bool first_hybrid(const hop_ladder_page *page, int64_t at)
{
    int64_t hops = page->others[at].hops;
    if (!hop__is_hybrid(&page->others[at], hops)) return false;
    for (int64_t i = 0; i < at; i++)
        if (hop__is_hybrid(&page->others[i], hops)) return false;
    return true;
}

void hop__ladder_others_table(hop_text *out, const hop_ladder_page *page)
{
    static const char *const heads[] = {"hops",       "network", "pattern",         "full layers",
                                        "state bits", "verdict", "right in float32"};
    hop__html_table_open(out,
                         "<b>Table 3.</b> The other plans of each rung. Those that were built were proved "
                         "and run as in Table 1; of "
                         "those that were not, the verdict is what a theorem says, with what it needs and "
                         "what the plan has. State bits "
                         "count all recurrent layers together: at the bits of a message where messages are "
                         "counted, else at 32 bits a "
                         "number; beside a mixer, those of its one layer.",
                         true);
    hop_text_add(out, "<thead>\n<tr>\n");
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        hop__html_head(out, heads[i], i == 0 || i == 3 || i == 4 || i == 6);
    hop_text_add(out, "</tr>\n</thead>\n<tbody>\n");
    for (int64_t i = 0; i < page->other_count; i++) {
        const hop_ladder_row *r = &page->others[i];
        if (first_hybrid(page, i))
            hybrids_row(out, page, i);
        else if (!hop__is_hybrid(r, r->hops))
            other_row(out, r, i == 0 || page->others[i - 1].hops != r->hops);
    }
    hop_text_add(out, "</tbody>\n");
    hop__html_table_close(out);
}

void hop__ladder_columns(hop_text *out)
{
    hop_text_add(out, "<dl>\n");
    for (int c = 0; c < COLUMN_COUNT; c++) {
        hop_text_add(out, "<dt>");
        hop__html_rich(out, columns[c].head);
        hop_text_add(out, "</dt><dd>");
        hop__html_rich(out, columns[c].meaning);
        hop_text_add(out, "</dd>\n");
    }
    hop__prose(out, "margins columns");
}
