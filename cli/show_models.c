/* What `audit` prints of several models for people: a table, or a line each. */
#include "show_models.h"

#include <string.h>

/* Text of a file, in a cell of a table or a heading, without what Markdown would make of it. */
void add_cell(hop_text *out, const char *text)
{
    hop_text plain = {0};
    hop_text_name(&plain, text);
    for (const char *p = hop_text_in(out, &plain); *p; p++)
        hop_text_printf(out, strchr("|`*<[\\", *p) ? "\\%c" : "%c", *p);
    hop_text_free(&plain);
}

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
        add_cell(out, cell[c]);
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

void show_models(hop_text *out, const hop_models_answer *m)
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

void page_models(hop_text *out, const hop_models_answer *m)
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

/* ---- --require-hops ------------------------------------------------------------------------- */

void show_required(hop_text *out, const hop_required_answer *a)
{
    bool any = false, known = false;
    for (int64_t i = 0; i < a->models.count; i++) {
        const hop_required_row *r = &a->models.at[i];
        hop_text_printf(out, "%s: %s\n", r->model, r->answer);
        any = any || r->verdict == HOP_ANSWER_IMPOSSIBLE;
        known = known || r->verdict == HOP_ANSWER_POSSIBLE;
    }
    if (any) say_any_weights(out);
    if (known) say_known_weights(out, "possible");
    for (int64_t i = 0; i < a->refused.count; i++)
        hop_text_printf(out, "not read: %s\n", a->refused.at[i].why);
}
