/* What `audit` prints for people: one model as a screen of text or a section of a model card, which are the same
 * rows; several as a table. */
#include <hopbound/ask_audit.h>

#include <string.h>
#include "cli.h"
#include "show_over.h"

#define LABEL_WIDTH 10
#define TEXT_WIDTH  106

/* Text of a file, in a cell of a table or a heading, without what Markdown would make of it. */
static void add_markdown(hop_text *out, const char *text)
{
    hop_text plain = {0};
    hop_text_name(&plain, text);
    for (const char *p = hop_text_in(out, &plain); *p; p++)
        hop_text_printf(out, strchr("|`*<[\\", *p) ? "\\%c" : "%c", *p);
    hop_text_free(&plain);
}

/* ---- one model: rows ------------------------------------------------------------------------- */

static void say_plan(hop_text *t, const hop_audit_answer *a)
{
    hop_text_printf(t, "%s, %s", a->plan, hop_say_things(a->layers, "layer").s);
    if (a->loops != HOP_NO_COUNT)
        hop_text_printf(t, " in a forward pass (%s, run %s)", hop_say_count(a->layers / a->loops).s,
                        hop_say_things(a->loops, "time").s);
    hop_text_printf(t, ", from %s: ", a->source);
    for (int64_t i = 0; i < a->letters.count; i++) {
        const hop_audit_letter *l = &a->letters.at[i];
        hop_text_printf(t, "%s%s %s (%s)", i ? ", " : "", hop_say_count(l->layers).s, l->letter, l->means);
    }
}

static void say_attention(hop_text *t, const hop_audit_attention *a)
{
    int64_t keys = a->head_dim != HOP_NO_COUNT ? a->head_dim : a->qk_head_dim;
    int64_t values = a->v_head_dim != HOP_NO_COUNT ? a->v_head_dim : keys;
    hop_text_printf(t, "%s, %s", a->kind, hop_say_things(a->heads, "head").s);
    if (a->kv_heads != HOP_NO_COUNT) hop_text_printf(t, ", %s for keys", hop_say_count(a->kv_heads).s);
    hop_text_printf(t, ", keys of %s, values of %s", hop_say_count(keys).s,
                    hop_say_things(values, "number").s);
    if (a->cache_elems_per_token != HOP_NO_COUNT)
        hop_text_printf(t, "; a layer keeps %s a token (%s %s)",
                        hop_say_things(a->cache_elems_per_token, "number").s, a->cache_dtype,
                        hop_audit_how_words[a->cache_dtype_is]);
}

static void say_windows(hop_text *t, const hop_audit_answer *a)
{
    bool slides = a->window_least != HOP_NO_COUNT;
    if (slides && a->window_least < a->window) hop_text_printf(t, "%s to ", hop_say_count(a->window_least).s);
    if (a->window != HOP_NO_COUNT) hop_text_add(t, hop_say_things(a->window, "token").s);
    if (a->window_chunks) hop_text_add(t, slides ? "; some layers in chunks of their own" : ", in chunks");
    if (a->index_topk != HOP_NO_COUNT)
        hop_text_printf(t, "%ssparse layers pick %s%s", a->window != HOP_NO_COUNT ? "; " : "",
                        hop_say_count(a->index_topk).s,
                        a->index_topk_all
                            ? ", at this length every token: here they are full, which no count below "
                              "assumes"
                            : "");
}

static void say_state(hop_text *t, const hop_audit_answer *a)
{
    const hop_audit_linear *l = a->linear;
    hop_text_printf(t, "%s, ", l->kind);
    if (a->state_bytes_per_layer == HOP_NO_COUNT) {
        hop_text_add(t, "sizes differ from layer to layer");
        return;
    }
    for (int64_t i = 0; l->state_dtype && i < l->state_shape.count; i++)
        hop_text_printf(t, "%s%s", hop_say_count(l->state_shape.at[i]).s, i < 2 ? " x " : ", ");
    if (l->state_dtype)
        hop_text_printf(t, "%s (%.*s %s)", hop_say_things(l->recurrent_elems, "number").s,
                        (int)strcspn(l->state_dtype, " "), l->state_dtype,
                        hop_audit_how_words[l->state_dtype_is]);
    if (l->conv_elems)
        hop_text_printf(t, "%s%s of the last tokens (%s %s)", l->state_dtype ? " and " : "",
                        hop_say_count(l->conv_elems).s, l->conv_dtype, hop_audit_how_words[l->conv_dtype_is]);
    hop_text_printf(t, ": %s a layer, whatever the length",
                    hop_say_things(a->state_bytes_per_layer, "byte").s);
}

/* What the layers of one letter keep: one number, or from the least to the most; and how many of them read
 * rows that another layer keeps. */
static void say_letter(hop_text *t, const hop_audit_letter *l)
{
    if (l->most_bytes == HOP_NO_COUNT || l->most_bytes == 0) return;
    hop_text_printf(t, "%s ", l->letter);
    if (l->least_bytes < l->most_bytes) hop_text_printf(t, "%s to ", hop_say_bytes(l->least_bytes).s);
    hop_text_printf(t, "%s a layer", hop_say_bytes(l->most_bytes).s);
    if (l->borrowing)
        hop_text_printf(t, " (%s of %s %s another layer's cache)", hop_say_count(l->borrowing).s,
                        hop_say_count(l->layers).s, l->borrowing == 1 ? "reads" : "read");
    hop_text_add(t, ", ");
}

static void say_bytes(hop_text *t, const hop_audit_answer *a)
{
    if (a->n == HOP_NO_COUNT) {
        hop_text_add(t, "the file gives no context length; --n does");
        return;
    }
    hop_text_printf(t, "at %s (%s): ", hop_say_things(a->n, "token").s, a->n_from);
    for (int64_t i = 0; i < a->letters.count; i++) say_letter(t, &a->letters.at[i]);
    hop_text_printf(t, "in all %s",
                    a->bytes_total == HOP_NO_COUNT ? "not known" : hop_say_bytes(a->bytes_total).s);
    if (a->cache_bytes_per_token != HOP_NO_COUNT)
        hop_text_printf(t, "; one more token adds %s", hop_say_bytes(a->cache_bytes_per_token).s);
}

static void say_notes(hop_text *t, const hop_texts *notes)
{
    for (int64_t i = 0; i < notes->count; i++) hop_text_printf(t, "%s%s", i ? ", " : "", notes->at[i]);
    if (!notes->count) hop_text_add(t, "nothing");
}

typedef struct row {
    const char *label;
    hop_text text;
} row;
#define MOST_ROWS 9

static hop_text *next_row(row *rows, int *count, const char *label)
{
    rows[*count].label = label;
    return &rows[(*count)++].text;
}

/* Fills the rows; returns how many. */
static int make_rows(row rows[MOST_ROWS], const hop_audit_answer *a)
{
    int n = 0;
    memset(rows, 0, sizeof *rows * MOST_ROWS);
    say_plan(next_row(rows, &n, "plan"), a);
    if (a->attention) say_attention(next_row(rows, &n, "attention"), a->attention);
    if (a->attention_sliding) say_attention(next_row(rows, &n, "sliding"), a->attention_sliding);
    if (a->window != HOP_NO_COUNT || a->index_topk != HOP_NO_COUNT)
        say_windows(next_row(rows, &n, "window"), a);
    if (a->linear) say_state(next_row(rows, &n, "state"), a);
    if (a->remark) hop_text_add(next_row(rows, &n, "note"), a->remark);
    say_bytes(next_row(rows, &n, "bytes"), a);
    say_notes(next_row(rows, &n, "declared"), &a->declared);
    say_notes(next_row(rows, &n, "assumed"), &a->assumed);
    for (int i = 0; i < n; i++)
        if (rows[i].text.s) hop_plain(rows[i].text.s); /* it quotes the file */
    return n;
}

static void free_rows(row *rows, int count)
{
    for (int i = 0; i < count; i++) hop_text_free(&rows[i].text);
}

/* ---- one model: layouts ---------------------------------------------------------------------- */

/* The label, then the words in lines that keep to the right of it. */
static void add_labelled(hop_text *out, const char *label, const char *text)
{
    hop_text_printf(out, "  %-*s", LABEL_WIDTH, label);
    add_words(out, text, LABEL_WIDTH + 2, LABEL_WIDTH + 2, TEXT_WIDTH);
    hop_text_add(out, "\n");
}

static void show_model(hop_text *out, const hop_audit_answer *a)
{
    row rows[MOST_ROWS];
    int count = make_rows(rows, a);
    hop_text_name(out, a->path ? a->path : "config");
    hop_text_add(out, ": ");
    hop_text_name(out, *a->model_type ? a->model_type : "(no model_type)");
    hop_text_add(out, "\n");
    for (int i = 0; i < count; i++) add_labelled(out, rows[i].label, hop_text_in(out, &rows[i].text));
    for (int64_t i = 0; a->hops && i < a->hops->words.count; i++)
        add_labelled(out, i ? "" : "hops", a->hops->words.at[i]);
    free_rows(rows, count);
}

static void page_model(hop_text *out, const hop_audit_answer *a)
{
    row rows[MOST_ROWS];
    int count = make_rows(rows, a);
    hop_text_add(out, "## Layers and hops of ");
    add_markdown(out, *a->model_type ? a->model_type : "a model without model_type");
    hop_text_add(out, "\n\n| | |\n|---|---|\n");
    for (int i = 0; i < count; i++) {
        hop_text_printf(out, "| %s | ", rows[i].label);
        add_markdown(out, hop_text_in(out, &rows[i].text));
        hop_text_add(out, " |\n");
    }
    hop_text_add(out, "\n");
    for (int64_t i = 0; a->hops && i < a->hops->words.count; i++)
        hop_text_printf(out, "- %s\n", a->hops->words.at[i]);
    free_rows(rows, count);
}

/* ---- several models -------------------------------------------------------------------------- */

#define COLUMNS 11

/* "13: 10^22.1 P6+": what is impossible, from where on, and who says so. */
static void add_unable(hop_text *out, const hop_model_row *r)
{
    hop_text_printf(out, "%lld: %s %s%s%s", (long long)r->hops_impossible,
                    hop_say_digits(r->impossible_from_n).s, r->impossible_by,
                    r->machine_checked > 0 ? "+" : "", r->impossible_beyond_vocabulary > 0 ? "^" : "");
}

/* "16 all", "3, 4*" */
static void add_able(hop_text *out, const hop_model_row *r)
{
    hop_text_add(out, r->hops_possible == HOP_NO_COUNT ? "-" : hop_say_count(r->hops_possible).s);
    if (r->hops_possible == r->hops_that_fit) hop_text_add(out, " all");
    if (r->hops_possible_at_own_sizes != HOP_NO_COUNT)
        hop_text_printf(out, ", %lld*", (long long)r->hops_possible_at_own_sizes);
}

/* The cells of a row as people read them; freed by the caller. */
static void cells_of(hop_text cell[COLUMNS], const hop_model_row *r)
{
    memset(cell, 0, sizeof *cell * COLUMNS);
    hop_text_add(&cell[0], r->model);
    hop_text_add(&cell[1], r->plan);
    hop_text_add(&cell[2], hop_say_count(r->layers).s);
    hop_text_add(&cell[3], hop_say_count(r->full_layers).s);
    hop_text_add(&cell[4], r->kv_bytes == HOP_NO_COUNT ? "?" : hop_say_bytes(r->kv_bytes).s);
    hop_text_add(&cell[5], hop_say_bytes(r->state_bytes).s);
    add_able(&cell[6], r);
    if (r->impossible_at_n > 0)
        hop_text_printf(&cell[7], "%lld", (long long)r->hops_impossible);
    else
        hop_text_add(&cell[7], "-");
    if (r->impossible_at_n != HOP_NO_FLAG)
        add_unable(&cell[8], r);
    else
        hop_text_add(&cell[8], "-");
    hop_text_add(&cell[9],
                 r->tables_held_up_to == HOP_NO_COUNT ? "-" : hop_say_count(r->tables_held_up_to).s);
    hop_text_printf(&cell[10], "%s%s",
                    hop_say_digits(r->tables_outgrow_states_at ? r->tables_outgrow_states_at : "-").s,
                    r->tables_outgrow_beyond_vocabulary > 0 ? "^" : "");
}

/* Names and plans to the left, cut where they are too long; numbers to the right. */
static void text_row(hop_text *out, const char *const cell[COLUMNS])
{
    static const int widths[COLUMNS] = {26, 12, 6, 4, 9, 9, 8, 3, 21, 10, 12};
    for (int c = 0; c < COLUMNS; c++) {
        int length = (int)strlen(cell[c]);
        if (c > 1)
            hop_text_printf(out, " %*s", widths[c], cell[c]);
        else if (length > widths[c])
            hop_text_printf(out, "%s%.*s..", c ? " " : "", widths[c] - 2, cell[c]);
        else
            hop_text_printf(out, "%s%-*s", c ? " " : "", widths[c], cell[c]);
    }
    hop_text_add(out, "\n");
}

static void markdown_row(hop_text *out, const char *const cell[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) {
        hop_text_add(out, "| ");
        add_markdown(out, cell[c]);
        hop_text_add(out, " ");
    }
    hop_text_add(out, "|\n");
}

static void add_models(hop_text *out, const hop_models_answer *m,
                       void add(hop_text *, const char *const[COLUMNS]))
{
    for (int64_t i = 0; i < m->models.count; i++) {
        hop_text cell[COLUMNS];
        const char *shown[COLUMNS];
        cells_of(cell, &m->models.at[i]);
        for (int c = 0; c < COLUMNS; c++) shown[c] = hop_text_in(out, &cell[c]);
        add(out, shown);
        for (int c = 0; c < COLUMNS; c++) hop_text_free(&cell[c]);
    }
}

/* What a ^ says. */
static void say_beyond(hop_text *out, const hop_models_answer *m, const char *before)
{
    bool beyond = false;
    for (int64_t i = 0; i < m->models.count; i++)
        beyond = beyond || m->models.at[i].impossible_beyond_vocabulary > 0 ||
                 m->models.at[i].tables_outgrow_beyond_vocabulary > 0;
    if (beyond)
        hop_text_printf(out,
                        "%s^: at sizes that take more ids than the model's vocabulary has, so that no such "
                        "prompt can be put to it.\n",
                        before);
}

static bool same_reason(const hop_model_row *a, const hop_model_row *b)
{
    return a->hops_not_counted && b->hops_not_counted &&
           strcmp(a->hops_not_counted, b->hops_not_counted) == 0;
}

/* Why there is a dash where hops are counted: a line for each reason. */
static void say_uncounted(hop_text *out, const hop_models_answer *m, const char *before)
{
    const hop_model_row *rows = m->models.at;
    for (int64_t i = 0; i < m->models.count; i++) {
        const char *comma = " ";
        bool said = !rows[i].hops_not_counted;
        for (int64_t k = 0; k < i && !said; k++) said = same_reason(&rows[k], &rows[i]);
        if (said) continue;
        hop_text_printf(out, "%s-: no theorem here says how many, where %s:", before,
                        rows[i].hops_not_counted);
        for (int64_t k = i; k < m->models.count; k++) {
            if (!same_reason(&rows[k], &rows[i])) continue;
            hop_text_printf(out, "%s%s", comma, rows[k].model);
            comma = ", ";
        }
        hop_text_add(out, ".\n");
    }
}

static void show_models(hop_text *out, const hop_models_answer *m)
{
    static const char *const heads[COLUMNS] = {"model",      "plan",       "layers",     "full",
                                               "KV",         "states",     "possible",   "not",
                                               "not beyond", "held up to", "outgrown at"};
    bool own = false;
    hop_text_printf(out, "At %s (--n changes it):\n\n", hop_say_things(m->n, "token").s);
    text_row(out, heads);
    add_models(out, m, text_row);
    hop_text_add(
        out,
        "\npossible: so many hops are, at this length and these widths (P1, P10); all: no more fit it. not: "
        "so "
        "many are\n"
        "impossible at this length, for any weights. not beyond: so many are impossible on prompts of that "
        "length and\n"
        "longer, and by which theorem; +: machine-checked, else on paper. held up to: to that n the states "
        "are known\n"
        "to hold the table of a hop (P10; -: not known). outgrown at: from that n on no table of the "
        "prompt's length\n"
        "fits all states together, and a hop over one needs a full layer (P2).\n");
    for (int64_t i = 0; i < m->models.count; i++)
        own = own || m->models.at[i].hops_possible_at_own_sizes != HOP_NO_COUNT;
    say_uncounted(out, m, "possible ");
    say_beyond(out, m, "");
    say_any_weights(out);
    say_known_weights(out, "possible");
    if (own) hop_text_add(out, "*: at the sizes of its own task, a network of this program.\n");
    if (m->remark) hop_text_printf(out, "%s\n", m->remark);
    for (int64_t i = 0; i < m->refused.count; i++)
        hop_text_printf(out, "not read: %s\n", m->refused.at[i].why);
}

static void page_models(hop_text *out, const hop_models_answer *m)
{
    static const char *const heads[COLUMNS] = {"model",
                                               "plan",
                                               "layers",
                                               "full",
                                               "KV",
                                               "states",
                                               "hops possible",
                                               "impossible here",
                                               "impossible from, on longer prompts",
                                               "states hold tables up to",
                                               "tables outgrow states at"};
    markdown_row(out, heads);
    for (int c = 0; c < COLUMNS; c++) hop_text_add(out, c < 2 ? "|---" : "|---:"); /* numbers to the right */
    hop_text_add(out, "|\n");
    add_models(out, m, markdown_row);
    hop_text_printf(out, "\nAt %s.\n", hop_say_things(m->n, "token").s);
    say_uncounted(out, m, "\nHops possible ");
    say_beyond(out, m, "\n");
    hop_text_printf(out,
                    "\nImpossible: for any weights of networks that are %s.\n\nPossible: by weights that are "
                    "known, where %s.\n",
                    m->model, m->idealised);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void show_audit(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_over_answer_record)
        show_over(out, r->data);
    else if (r->record == &hop_models_answer_record)
        show_models(out, r->data);
    else
        show_model(out, r->data);
}

void page_audit(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_over_answer_record)
        hop_record_rows(out, r->record, r->data, "curves", HOP_FORMAT_MARKDOWN);
    else if (r->record == &hop_models_answer_record)
        page_models(out, r->data);
    else
        page_model(out, r->data);
}
