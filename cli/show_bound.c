/* What `bound` prints for people: the answer, then every theorem. */
#include "show_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_WIDTH 110
#define INDENT     "              "

/* Verdicts first, the shortest length first; then those that are silent; then those that do not apply. */
static int rank(const hop_bound_result *r)
{
    return r->verdict != HOP_ANSWER_SILENT ? 0 : r->applies ? 1 : 2;
}

static int by_news(const void *left, const void *right)
{
    const hop_bound_result *a = *(const hop_bound_result *const *)left,
                           *b = *(const hop_bound_result *const *)right;
    if (rank(a) != rank(b)) return rank(a) - rank(b);
    if (a->log10_n != b->log10_n) return a->log10_n < b->log10_n ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* "x_0, .. = 371, 102", as long as it stays on a line; frees it. */
static void print_line(hop_text *out, const char *lead, hop_text *line)
{
    if (line->len > 90)
        hop_text_printf(out, "                              %s: long, see --json\n", lead);
    else if (line->len || line->failed)
        hop_text_printf(out, "                              %s = %s\n", lead, hop_text_in(out, line));
    hop_text_free(line);
}

static void add_list(hop_text *line, const hop_texts *list)
{
    for (int64_t i = 0; i < list->count; i++) hop_text_printf(line, "%s%s", i ? ", " : "", list->at[i]);
}

static void print_list(hop_text *out, const char *lead, const hop_texts *list)
{
    hop_text line = {0};
    add_list(&line, list);
    print_line(out, lead, &line);
}

/* "m, n_1, .. = 434, 513; t = 14, s = 17": sizes, and the integers that the proof chooses at them; those of
 * P6 have lines of their own, and the lines that draws take are for --json. */
static void print_sizes(hop_text *out, const hop_bound_result *r)
{
    hop_text line = {0};
    hop_json_doc doc = {0};
    const char *integers = !r->x.at && r->certificate ? r->certificate->integers : NULL;
    add_list(&line, &r->sizes);
    if (integers && hop_json_parse(&doc, integers, strlen(integers), NULL) == HOP_OK)
        for (const hop_json *v = doc.root->child; v; v = v->next) {
            hop_text_printf(&line, "%s%s = ", v == doc.root->child ? "; " : ", ", v->key);
            if (v->type == HOP_JSON_INT)
                hop_text_printf(&line, "%lld", (long long)v->integer);
            else
                hop_text_add(&line, v->string);
        }
    hop_json_free(&doc);
    print_line(out, "m, n_1, ..", &line);
}

/* How it is known that something is impossible. */
static const char *say_proof(const hop_bound_result *r)
{
    return r->machine_checked < 0 ? "" : r->machine_checked ? "; machine-checked" : "; on paper";
}

/* Both sides as numbers: at the certificate's sizes; of a published theorem at the length asked for. */
static void print_sides(hop_text *out, const hop_bound_result *r)
{
    const hop_bound_certificate *c = r->certificate;
    if (c)
        hop_text_printf(out, "; as numbers: has %s, needs %s", c->has, c->needs);
    else if (r->has_bits >= 0 && r->needs_bits >= 0)
        hop_text_printf(out, "; as numbers: has %.10g, needs %s%.10g", r->has_bits,
                        r->published ? "more than " : "", r->needs_bits);
}

static void print_result(hop_text *out, const hop_bound_result *r)
{
    hop_text_printf(out, "%-3s %-11s %-12s  %s%s\n", r->id, hop_answer_name(r->verdict),
                    r->speaks_from_n ? r->speaks_from_n : "-", r->why, say_proof(r));
    if (*r->needs) hop_text_printf(out, "                              needs %s\n", r->needs);
    if (*r->has) {
        hop_text_printf(out, "                              has   %s", r->has);
        print_sides(out, r);
        hop_text_add(out, "\n");
    }
    print_sizes(out, r);
    print_list(out, "x_0, ..", &r->x);
    print_list(out, "s_1, ..", &r->s);
}

/* Which condition keeps a theorem from applying; NULL: none. */
static const char *obstacle(const hop_bound_result *r)
{
    for (int64_t i = 0; !r->applies && i < r->hypotheses.count; i++)
        if (!r->hypotheses.at[i].met) return r->hypotheses.at[i].text;
    return NULL;
}

/* One more piece of a paragraph, on a new line where it is full. */
static void add_piece(hop_text *out, size_t *column, const char *piece)
{
    size_t length = strlen(piece);
    bool first = *column == 0, full = *column + length > TEXT_WIDTH;
    if (first || full) *column = strlen(INDENT);
    hop_text_printf(out, "%s%s", first ? "do not apply: " : full ? ";\n" INDENT : "; ", piece);
    *column += length + 2;
}

/* "do not apply: P2, P3 (take no full layer, here are 2); .." */
static void print_others(hop_text *out, const hop_bound_result *const *order, int count)
{
    hop_text piece = {0};
    size_t column = 0;
    for (int i = 0; i < count; i++) {
        const char *why = obstacle(order[i]);
        bool told = false;
        int same = 0;
        for (int k = 0; why && k < count; k++) {
            const char *other = obstacle(order[k]);
            if (!other || strcmp(why, other) != 0) continue;
            told = told || k < i;
            if (told) break;
            hop_text_printf(&piece, "%s%s", same++ ? ", " : "", order[k]->id);
        }
        if (!why || told) continue;
        hop_text_printf(&piece, " (%s %s)", same > 1 ? "take" : "takes", why);
        add_piece(out, &column, hop_text_in(out, &piece));
        hop_text_free(&piece);
    }
    if (column) hop_text_add(out, "\n");
}

static void print_question(hop_text *out, const hop_bound_answer *b)
{
    hop_text_printf(out, "\n%s: %lld full, %lld linear layer%s; %lld hop%s%s\n", b->pattern,
                    (long long)b->full_layers, (long long)b->linear_layers, b->linear_layers == 1 ? "" : "s",
                    (long long)b->hops, b->hops > 1 ? "s" : "",
                    b->n != HOP_NO_COUNT || b->m != HOP_NO_COUNT ? "" : " at any length");
}

/* "  possible    2 hops are possible by P1: ..", in lines that keep to the right of the label. */
static void print_reason(hop_text *out, const char *label, const char *text)
{
    size_t column = strlen(INDENT);
    hop_text_printf(out, "  %-11s ", label);
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > strlen(INDENT) && column + n > TEXT_WIDTH) {
            hop_text_add(out, "\n" INDENT);
            column = strlen(INDENT);
        }
        hop_text_printf(out, "%s%.*s", column > strlen(INDENT) ? " " : "", (int)n, text);
        column += n + 1;
        text += n + (text[n] == ' ');
    }
    hop_text_add(out, "\n");
}

/* --hops auto: what stands behind the first line. */
static void print_reach(hop_text *out, const hop_bound_reach *r)
{
    print_reason(out, "possible", r->why_able);
    print_reason(out, "impossible", r->why_unable);
    if (r->between.count) hop_text_add(out, "  open        neither proved possible nor impossible\n");
    if (r->posed > 0)
        hop_text_printf(
            out,
            "  posed       %lld hop%s at most fit the length: every table is at least twice as long "
            "as the one before\n",
            (long long)r->posed, r->posed > 1 ? "s" : "");
    if (r->tables_held_up_to != HOP_NO_COUNT)
        hop_text_printf(out,
                        "  states      up to n = %lld they hold the table of a hop, and no full layer is "
                        "needed for it (P10)\n",
                        (long long)r->tables_held_up_to);
    if (r->tables_outgrow_states_at)
        hop_text_printf(
            out,
            "  states      from n = %s on no table of the prompt's length fits all of them together "
            "(P2): a hop over one needs a full layer\n",
            r->tables_outgrow_states_at);
    if (r->tables_factor > 0)
        hop_text_printf(out, "  states      between the two, a factor of %.3g, it is open\n",
                        r->tables_factor);
}

/* What silence means for the question. */
static void print_silence(hop_text *out, const hop_bound_answer *b)
{
    bool silent = false;
    for (int64_t i = 0; i < b->results.count; i++) {
        const hop_bound_result *r = &b->results.at[i];
        silent = silent || (r->applies && r->verdict == HOP_ANSWER_SILENT);
    }
    if (!silent) return;
    const char *where = b->n != HOP_NO_COUNT   ? "at this length"
                        : b->m != HOP_NO_COUNT ? "at these sizes"
                                               : "here";
    hop_text_printf(out, "silent: that theorem says nothing of %s %s, neither way; it is no sign that %s\n",
                    b->hops > 1 ? "so many hops" : "one hop", where, b->hops > 1 ? "they work" : "it works");
}

/* Under the symbols, what those of the results that say something suppose. */
static void print_supposed(hop_text *out, const hop_bound_answer *b)
{
    const hop_bound_reach *reach = b->reach;
    bool any = reach && reach->tables_outgrow_states_at,
         known = reach && (reach->tables_held_up_to != HOP_NO_COUNT || reach->able > 0);
    for (int64_t i = 0; i < b->results.count; i++) {
        const hop_bound_result *r = &b->results.at[i];
        known = known || r->verdict == HOP_ANSWER_POSSIBLE;
        any = any || r->verdict == HOP_ANSWER_IMPOSSIBLE || (r->applies && r->speaks_from_n);
    }
    if (any) say_any_weights(out);
    if (known) say_known_weights(out, "possible");
}

static void print_accuracy(hop_text *out, const hop_bound_answer *b)
{
    char shown[32];
    if (!isnan(b->accuracy_ceiling)) {
        hop_accuracy_print(shown, b->accuracy_ceiling);
        hop_text_printf(out, "\naccuracy ceiling %s at N = %lld\n", shown, (long long)b->ceiling_table);
    }
    if (b->curve.count) hop_text_printf(out, "\n%20s  %s\n", "state bits", "accuracy ceiling");
    for (int64_t i = 0; i < b->curve.count; i++) {
        hop_accuracy_print(shown, b->curve.at[i].accuracy_ceiling);
        hop_text_printf(out, "%20.0f  %s\n", b->curve.at[i].state_bits, shown);
    }
}

static void show_results(hop_text *out, const hop_bound_answer *b)
{
    int count = (int)b->results.count;
    const hop_bound_result **order = calloc((size_t)count, sizeof *order);
    if (!order) {
        out->failed = true;
        return;
    }
    for (int i = 0; i < count; i++) order[i] = &b->results.at[i];
    qsort(order, (size_t)count, sizeof *order, by_news);
    hop_text_printf(out, "%s\n", b->answer);
    if (b->reach) print_reach(out, b->reach);
    print_question(out, b);
    hop_text_printf(out, "%-3s %-11s %-12s  %s\n", "", "verdict", "from n", "why");
    for (int i = 0; i < count; i++)
        if (order[i]->applies) print_result(out, order[i]);
    print_silence(out, b);
    print_others(out, order, count);
    show_legend(out, order, count);
    print_supposed(out, b);
    print_accuracy(out, b);
    free(order);
}

/* ---- --solve --------------------------------------------------------------------------------- */

/* "possible from full = 8 on (P1)" */
static void say_end(hop_text *out, const char *verdict, const char *where, const hop_solve_answer *s,
                    const char *value, const char *by)
{
    hop_text_printf(out, "%s %s %s = %s%s (%s)", verdict, where, s->solve, value, *where == 'f' ? " on" : "",
                    by);
}

/* What comes first along the value, what comes last, and what is open. */
static void say_values(hop_text *out, const hop_solve_answer *s)
{
    char first[32], last[32];
    bool length = strcmp(s->solve, "n") == 0;
    int64_t begins = length ? s->possible_up_to : s->impossible_up_to, ends = s->possible_from;
    bool any_first = begins != HOP_NO_COUNT,
         any_last = length ? s->impossible_from_n != NULL : ends != HOP_NO_COUNT;
    snprintf(first, sizeof first, "%lld", (long long)begins);
    snprintf(last, sizeof last, "%lld", (long long)ends);
    if (any_first)
        say_end(out, length ? "possible" : "impossible", "up to", s, first,
                length ? s->possible_by : s->impossible_by);
    if (any_first && any_last) hop_text_add(out, ", ");
    if (any_last)
        say_end(out, length ? "impossible" : "possible", "from", s, length ? s->impossible_from_n : last,
                length ? s->impossible_by : s->possible_by);
    bool meet = !length && any_first && any_last && begins + 1 == ends;
    hop_text_add(out, meet                    ? ""
                      : any_first && any_last ? "; between them open"
                      : any_first             ? "; beyond that open"
                                              : "; below that open");
}

static void show_solution(hop_text *out, const hop_solve_answer *s)
{
    bool length = strcmp(s->solve, "n") == 0,
         possible = s->possible_up_to != HOP_NO_COUNT || s->possible_from != HOP_NO_COUNT,
         impossible = s->impossible_from_n || s->impossible_up_to != HOP_NO_COUNT;
    hop_text_printf(out, "%lld hop%s", (long long)s->hops, s->hops > 1 ? "s" : "");
    if (!length && s->n != HOP_NO_COUNT) hop_text_printf(out, " within %lld tokens", (long long)s->n);
    hop_text_printf(out, "%s ", s->hops > 1 ? " are" : " is");
    if (s->possible_everywhere)
        hop_text_printf(out, "possible whatever %s is (%s)", s->solve, s->possible_by);
    else if (s->impossible_everywhere)
        hop_text_printf(out, "impossible whatever %s is (%s)", s->solve, s->impossible_by);
    else if (!possible && !impossible)
        hop_text_printf(out, "open whatever %s is: no theorem here says possible, none says impossible",
                        s->solve);
    else
        say_values(out, s);
    hop_text_printf(out, ".\n%s: %s; all else is as given. Open: neither proved possible nor impossible.\n",
                    s->solve, s->means);
    if (impossible || s->impossible_everywhere) say_any_weights(out);
    if (possible) say_known_weights(out, "possible");
}

static void show_citation(hop_text *out, const hop_cite_answer *c)
{
    if (c->as_latex)
        hop_text_add(out, c->latex);
    else
        add_words(out, c->text, 0, 0, TEXT_WIDTH);
    hop_text_add(out, "\n");
}

void show_bound(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_solve_answer_record)
        show_solution(out, r->data);
    else if (r->record == &hop_cite_answer_record)
        show_citation(out, r->data);
    else
        show_results(out, r->data);
}
