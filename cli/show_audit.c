/* What `audit` prints of one model for people: a screen of text or a section of a model card, which are the same rows. */
#include <hopbound/ask_audit.h>

#include <string.h>
#include "cli.h"
#include "show_models.h"
#include "show_memory.h"
#include "show_over.h"

#define LABEL_WIDTH 10
#define TEXT_WIDTH  106

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
    if (a->index_elems_per_token != HOP_NO_COUNT)
        hop_text_printf(t, "%skeep %s numbers a token to pick by",
                        a->index_topk != HOP_NO_COUNT ? ", and " : "sparse layers ",
                        hop_say_count(a->index_elems_per_token).s);
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
    if (a->window != HOP_NO_COUNT || a->index_topk != HOP_NO_COUNT ||
        a->index_elems_per_token != HOP_NO_COUNT)
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
    add_cell(out, *a->model_type ? a->model_type : "a model without model_type");
    hop_text_add(out, "\n\n| | |\n|---|---|\n");
    for (int i = 0; i < count; i++) {
        hop_text_printf(out, "| %s | ", rows[i].label);
        add_cell(out, hop_text_in(out, &rows[i].text));
        hop_text_add(out, " |\n");
    }
    hop_text_add(out, "\n");
    for (int64_t i = 0; a->hops && i < a->hops->words.count; i++)
        hop_text_printf(out, "- %s\n", a->hops->words.at[i]);
    free_rows(rows, count);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void show_audit(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_over_answer_record)
        show_over(out, r->data);
    else if (r->record == &hop_models_answer_record)
        show_models(out, r->data);
    else if (r->record == &hop_required_answer_record)
        show_required(out, r->data);
    else if (r->record == &hop_memory_answer_record)
        show_memory(out, r->data);
    else
        show_model(out, r->data);
}

void page_audit(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_over_answer_record)
        hop_record_rows(out, r->record, r->data, "curves", HOP_FORMAT_MARKDOWN);
    else if (r->record == &hop_models_answer_record)
        page_models(out, r->data);
    else if (r->record == &hop_required_answer_record)
        hop_record_rows(out, r->record, r->data, "models", HOP_FORMAT_MARKDOWN);
    else if (r->record == &hop_memory_answer_record)
        hop_record_rows(out, r->record, r->data, "uses", HOP_FORMAT_MARKDOWN);
    else
        page_model(out, r->data);
}
