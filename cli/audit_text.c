/* The audit for people: one screen of text, or a section of a model card. Both are the same rows. */
#include "audit.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 10
#define TEXT_WIDTH  106

/* ---- numbers in words ---------------------------------------------------------------------- */

/* 2.05 MiB; exact below a thousand KiB */
void audit_say_bytes(hop_text *out, int64_t v)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double x = (double)v / 1024;
    int unit = 0;
    if (v < 10240) {
        say_things(out, v, "byte");
        return;
    }
    for (; x >= 1024 && unit < 5; unit++) x /= 1024;
    hop_text_printf(out, "%.4g %s", x, units[unit]);
}

/* ---- the pattern --------------------------------------------------------------------------- */

#define LONGEST_PERIOD 64

/* How often the first `period` letters stand one behind the other. */
static size_t repeats(const char *s, size_t length, size_t period)
{
    size_t n = 1;
    while ((n + 1) * period <= length && memcmp(s, s + n * period, period) == 0) n++;
    return n;
}

/* "(FSSSS)x2S(FSSSSS)x6F": repeated groups wherever they stand, taken greedily. */
void audit_say_pattern(hop_text *t, const char *s)
{
    for (size_t length = strlen(s); length > 0;) {
        size_t best = 0, period = 1, times = 1;
        for (size_t p = 1; p <= length / 2 && p <= LONGEST_PERIOD; p++) {
            size_t n = repeats(s, length, p), cost = p + 4;
            if (n < 2 || n * p <= cost + best) continue;
            best = n * p - cost;
            period = p;
            times = n;
        }
        if (times > 1)
            hop_text_printf(t, "(%.*s)x%zu", (int)period, s, times);
        else
            hop_text_addn(t, s, 1);
        s += times * period;
        length -= times * period;
    }
}

/* ---- rows ---------------------------------------------------------------------------------- */

typedef struct row {
    const char *label;
    hop_text text;
} row;

static void say_plan(hop_text *t, const audit *u)
{
    const hop_hf_plan *p = &u->plan;
    audit_say_pattern(t, p->pattern);
    hop_text_add(t, ", ");
    say_things(t, p->count, "layer");
    if (p->loops > 1) {
        hop_text_add(t, " in a forward pass (");
        say_count(t, p->count / p->loops);
        hop_text_add(t, ", run ");
        say_things(t, p->loops, "time");
        hop_text_add(t, ")");
    }
    hop_text_printf(t, ", from %s: ", p->source);
    const char *between = "";
#define SAY(c, means)                             \
    if (hop_hf_count(p, c)) {                     \
        hop_text_add(t, between);                 \
        say_count(t, hop_hf_count(p, c));         \
        hop_text_printf(t, " %c (%s)", c, means); \
        between = ", ";                           \
    }
    HOP_HF_LETTER_LIST(SAY)
#undef SAY
}

static void say_attention(hop_text *t, const audit *u, const hop_hf_attention *a)
{
    bool mla = strcmp(a->kind, "mla") == 0;
    hop_text_printf(t, "%s, ", a->kind);
    say_things(t, a->heads, "head");
    if (!mla) {
        hop_text_add(t, ", ");
        say_count(t, a->kv_heads);
        hop_text_add(t, " for keys");
    }
    hop_text_add(t, ", keys of ");
    say_count(t, a->qk_dim);
    hop_text_add(t, ", values of ");
    say_things(t, a->v_dim, "number");
    if (a->cache_elems) {
        hop_text_add(t, "; a layer keeps ");
        say_things(t, a->cache_elems, "number");
        hop_text_printf(t, " a token (%s %s)", u->cache.dtype, u->cache.how);
    }
}

static void say_windows(hop_text *t, const hop_hf_plan *p)
{
    bool chunks = false, slides = false;
    int64_t least = p->window;
    for (int64_t i = 0; i < p->count; i++) {
        const hop_hf_layer *l = &p->layers[i];
        chunks = chunks || l->chunked;
        slides = slides || (l->window && !l->chunked);
        if (l->window && !l->chunked && l->window < least) least = l->window;
    }
    if (least < p->window) {
        say_count(t, least);
        hop_text_add(t, " to ");
    }
    if (p->window) say_things(t, p->window, "token");
    if (chunks) hop_text_add(t, slides ? "; some layers in chunks of their own" : ", in chunks");
    if (p->index_topk) {
        if (p->window) hop_text_add(t, "; ");
        hop_text_add(t, "sparse layers pick ");
        say_count(t, p->index_topk);
    }
}

static void say_state(hop_text *t, const audit *u)
{
    const hop_hf_linear *l = &u->plan.linear;
    hop_text_printf(t, "%s, ", l->kind);
    if (audit_state_bytes(u) < 0) hop_text_add(t, "sizes differ from layer to layer");
    if (l->recurrent_elems) {
        for (int i = 0; i < 3 && l->shape[0]; i++) {
            say_count(t, l->shape[i]);
            hop_text_add(t, i < 2 ? " x " : ", ");
        }
        say_things(t, l->recurrent_elems, "number");
        hop_text_printf(t, " (%s %s)", u->state.dtype, u->state.how);
    }
    if (l->conv_elems) {
        if (l->recurrent_elems) hop_text_add(t, " and ");
        say_count(t, l->conv_elems);
        hop_text_printf(t, " of the last tokens (%s %s)", u->conv.dtype, u->conv.how);
    }
    if (audit_state_bytes(u) >= 0) {
        hop_text_add(t, ": ");
        say_things(t, audit_state_bytes(u), "byte");
        hop_text_add(t, " a layer, whatever the length");
    }
}

/* What the layers of one letter keep: one number, or from the least to the most; and how many of them read
 * rows that another layer keeps. */
static void say_letter_bytes(hop_text *t, const audit *u, char letter)
{
    int64_t least = INT64_MAX, most = 0, count = 0, borrow = 0;
    for (int64_t i = 0; i < u->plan.count; i++) {
        int64_t bytes = audit_layer_bytes(u, &u->layers[i], u->n);
        if (u->layers[i].letter != letter) continue;
        count++;
        if (u->layers[i].borrows) {
            borrow++;
            continue;
        }
        if (bytes < least) least = bytes;
        if (bytes > most) most = bytes;
    }
    if (most == 0 || least < 0) return;
    hop_text_printf(t, "%c ", letter);
    if (least < most) {
        audit_say_bytes(t, least);
        hop_text_add(t, " to ");
    }
    audit_say_bytes(t, most);
    hop_text_add(t, " a layer");
    if (borrow) {
        hop_text_add(t, " (");
        say_count(t, borrow);
        hop_text_add(t, " of ");
        say_count(t, count);
        hop_text_add(t, borrow == 1 ? " reads another layer's cache)" : " read another layer's cache)");
    }
    hop_text_add(t, ", ");
}

static void say_bytes(hop_text *t, const audit *u)
{
    int64_t total = audit_total_bytes(u, u->n), added = audit_row_bytes(u);
    if (u->n == 0) {
        hop_text_add(t, "the file gives no context length; --n does");
        return;
    }
    hop_text_add(t, "at ");
    say_things(t, u->n, "token");
    hop_text_printf(t, " (%s): ", u->n_from);
#define SAY(c, means) say_letter_bytes(t, u, c);
    HOP_HF_LETTER_LIST(SAY)
#undef SAY
    hop_text_add(t, "in all ");
    if (total < 0)
        hop_text_add(t, "not known");
    else
        audit_say_bytes(t, total);
    if (added >= 0) {
        hop_text_add(t, "; one more token adds ");
        audit_say_bytes(t, added);
    }
}

static void say_notes(hop_text *t, const hop_hf_note *notes, int count)
{
    for (int i = 0; i < count; i++) hop_text_printf(t, "%s%s", i ? ", " : "", notes[i].text);
    if (!count) hop_text_add(t, "nothing");
}

#define MAX_ROWS 12

/* Fills the rows; returns how many. */
static int make_rows(row rows[MAX_ROWS], const audit *u)
{
    const hop_hf_plan *p = &u->plan;
    int n = 0;
    memset(rows, 0, sizeof *rows * MAX_ROWS);
    rows[n].label = "plan";
    say_plan(&rows[n++].text, u);
    if (p->attention.kind[0]) {
        rows[n].label = "attention";
        say_attention(&rows[n++].text, u, &p->attention);
    }
    if (p->sliding.kind[0]) {
        rows[n].label = "sliding";
        say_attention(&rows[n++].text, u, &p->sliding);
    }
    if (p->window || p->index_topk) {
        rows[n].label = "window";
        say_windows(&rows[n++].text, p);
    }
    if (p->linear.kind[0]) {
        rows[n].label = "state";
        say_state(&rows[n++].text, u);
    }
    if (p->remark[0]) {
        rows[n].label = "note";
        hop_text_add(&rows[n++].text, p->remark);
    }
    rows[n].label = "bytes";
    say_bytes(&rows[n++].text, u);
    rows[n].label = "declared";
    say_notes(&rows[n++].text, p->declared, p->declared_count);
    rows[n].label = "assumed";
    say_notes(&rows[n++].text, p->assumed, p->assumed_count);
    for (int i = 0; i < n; i++)
        if (rows[i].text.s) hop_plain(rows[i].text.s); /* it quotes the file */
    return n;
}

static void free_rows(row *rows, int count)
{
    for (int i = 0; i < count; i++) hop_text_free(&rows[i].text);
}

static void free_lines(hop_text *lines, int count)
{
    for (int i = 0; i < count; i++) hop_text_free(&lines[i]);
}

/* ---- layouts ------------------------------------------------------------------------------- */

/* The label, then the words in lines that keep to the right of it. A word that is longer than a line stays
 * whole. */
static void add_wrapped(hop_text *out, const char *label, const char *text)
{
    size_t column = LABEL_WIDTH + 2;
    hop_text_printf(out, "  %-*s", LABEL_WIDTH, label);
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > LABEL_WIDTH + 2 && column + n > TEXT_WIDTH) {
            hop_text_printf(out, "\n  %*s", LABEL_WIDTH, "");
            column = LABEL_WIDTH + 2;
        }
        hop_text_addn(out, text, n);
        column += n + 1;
        text += n;
        if (*text == ' ') {
            text++;
            if (column + strcspn(text, " ") <= TEXT_WIDTH) hop_text_add(out, " ");
        }
    }
    hop_text_add(out, "\n");
}

static void add_title(hop_text *out, const audit *u)
{
    const char *type = u->plan.model_type[0] ? u->plan.model_type : "(no model_type)";
    hop_text_name(out, type);
}

int audit_print_text(const audit_args *a, const audit *u, const audit_hops *h)
{
    hop_text out = {0}, lines[AUDIT_MAX_LINES] = {{0}};
    row rows[MAX_ROWS];
    int count = make_rows(rows, u), said = audit_hops_say(lines, u, h);
    hop_text_name(&out, a->common.operand);
    hop_text_add(&out, ": ");
    add_title(&out, u);
    hop_text_add(&out, "\n");
    for (int i = 0; i < count; i++) add_wrapped(&out, rows[i].label, hop_text_in(&out, &rows[i].text));
    for (int i = 0; i < said; i++) add_wrapped(&out, i ? "" : "hops", hop_text_in(&out, &lines[i]));
    free_lines(lines, said);
    free_rows(rows, count);
    return print_text(&a->common, &out);
}

/* Text of a file, in a cell of a table or a heading, without what Markdown would make of it. */
static void add_plain(hop_text *out, const char *text)
{
    hop_text plain = {0};
    hop_text_name(&plain, text);
    for (const char *p = hop_text_in(out, &plain); *p; p++)
        hop_text_printf(out, strchr("|`*<[\\", *p) ? "\\%c" : "%c", *p);
    hop_text_free(&plain);
}

int audit_print_markdown(const audit_args *a, const audit *u, const audit_hops *h)
{
    hop_text out = {0}, lines[AUDIT_MAX_LINES] = {{0}};
    row rows[MAX_ROWS];
    int count = make_rows(rows, u), said = audit_hops_say(lines, u, h);
    hop_text_add(&out, "## Layers and hops of ");
    add_plain(&out, u->plan.model_type[0] ? u->plan.model_type : "a model without model_type");
    hop_text_add(&out, "\n\n| | |\n|---|---|\n");
    for (int i = 0; i < count; i++) {
        hop_text_printf(&out, "| %s | ", rows[i].label);
        add_plain(&out, hop_text_in(&out, &rows[i].text));
        hop_text_add(&out, " |\n");
    }
    hop_text_add(&out, "\n");
    for (int i = 0; i < said; i++) hop_text_printf(&out, "- %s\n", hop_text_in(&out, &lines[i]));
    free_lines(lines, said);
    free_rows(rows, count);
    return print_text(&a->common, &out);
}
