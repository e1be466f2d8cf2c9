/* What `bound` prints for people: the answer, then every theorem. */
#include "bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CURVE_STEPS 20
#define TEXT_WIDTH  110
#define INDENT      "              "

/* ---- the curve ------------------------------------------------------------------------------ */

/* From no state to as much as P2 asks for, in equal steps. State bits may be more than 64-bit integers hold.
 */
void bound_each_of_curve(const bound_answer *b, curve_fn *f, void *to)
{
    int64_t table = b->bounds->table;
    double enough = ceil((double)table * log2((double)table)), ceiling = 0;
    while (hop_accuracy_ceiling(&ceiling, table, enough, NULL) == HOP_OK && ceiling < 1)
        enough = ceil(nextafter(enough, INFINITY)); /* the double was below */
    for (int k = 0; k <= CURVE_STEPS; k++) {
        double bits = k == CURVE_STEPS ? enough : floor(enough * k / CURVE_STEPS);
        if (hop_accuracy_ceiling(&ceiling, table, bits, NULL) == HOP_OK) f(to, bits, ceiling);
    }
}

static void curve_text(void *to, double bits, double ceiling)
{
    char shown[32];
    hop_accuracy_print(shown, ceiling);
    hop_text_printf(to, "%20.0f  %s\n", bits, shown);
}

/* Verdicts first, the shortest length first; then those that are silent; then those that do not apply. */
static int rank(const hop_bound *r)
{
    return r->answer != HOP_ANSWER_SILENT ? 0 : r->applies ? 1 : 2;
}

static int by_news(const void *left, const void *right)
{
    const hop_bound *a = *(const hop_bound *const *)left, *b = *(const hop_bound *const *)right;
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

static void print_list(hop_text *out, const char *lead, const char *const *list, int count)
{
    hop_text line = {0};
    for (int i = 0; list && i < count && list[i]; i++) hop_text_printf(&line, "%s%s", i ? ", " : "", list[i]);
    print_line(out, lead, &line);
}

/* "m, n_1, .. = 434, 513; t = 14, sigma = 17": sizes, and the integers that the proof chooses at them; the
 * numbers of lemma 3 are for --json. */
static void print_sizes(hop_text *out, const hop_bound *r, int hops)
{
    hop_text line = {0};
    for (int i = 0; r->sizes && i < hops && r->sizes[i]; i++)
        hop_text_printf(&line, "%s%s", i ? ", " : "", r->sizes[i]);
    for (int i = 0; r->choices && r->choices[i]; i++)
        if (!strpbrk(r->choices[i], ".e"))
            hop_text_printf(&line, "%s%s = %s", i ? ", " : "; ", r->choice_names[i], r->choices[i]);
    print_line(out, "m, n_1, ..", &line);
}

static void print_result(hop_text *out, const hop_bound *r, int hops)
{
    hop_text_printf(out, "%-3s %-11s %-12s  %s\n", r->id, hop_answer_name(r->answer),
                    r->speaks_from ? r->speaks_from : "-", r->why);
    if (*r->needs) hop_text_printf(out, "                              needs %s\n", r->needs);
    if (*r->has) hop_text_printf(out, "                              has   %s\n", r->has);
    print_sizes(out, r, hops);
    print_list(out, "x_0, ..", r->x, hops);
    print_list(out, "s_1, ..", r->s, hops - 1);
}

/* Which condition keeps a theorem from applying; NULL: none. */
static const char *obstacle(const hop_bound *r)
{
    for (int i = 0; !r->applies && i < r->hypothesis_count; i++)
        if (!r->hypotheses[i].met) return r->hypotheses[i].text;
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
static void print_others(hop_text *out, const hop_bound *const *order, int count)
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

static void print_question(hop_text *out, const bound_answer *b)
{
    const hop_question *q = &b->question;
    hop_text_printf(out, "\n%s: %lld full, %lld linear layer%s; %d hop%s%s\n",
                    hop_text_in(out, &b->arch->pattern), (long long)b->arch->full, (long long)b->arch->linear,
                    b->arch->linear == 1 ? "" : "s", q->hops, q->hops > 1 ? "s" : "",
                    q->n || q->m ? "" : " at any length");
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
double bound_factor(const bound_answer *b)
{
    return b->held && b->outgrown[0] ? pow(10, b->outgrown_log10) / (double)b->held : 0;
}

static void print_reach(hop_text *out, const bound_answer *b)
{
    const hop_reach *r = &b->reach;
    print_reason(out, "possible", r->why_able);
    print_reason(out, "impossible", r->why_unable);
    if (bound_most_open(r) > r->able)
        hop_text_add(out, "  open        neither proved possible nor impossible\n");
    if (r->fit && r->fit < HOP_MAX_HOPS)
        hop_text_printf(
            out,
            "  posed       %d hop%s at most fit the length: every table is at least twice as long "
            "as the one before\n",
            r->fit, r->fit > 1 ? "s" : "");
    if (b->held)
        hop_text_printf(out,
                        "  states      up to n = %lld they hold the table of a hop, and no full layer is "
                        "needed for it (P10)\n",
                        (long long)b->held);
    if (b->outgrown[0])
        hop_text_printf(
            out,
            "  states      from n = %s on no table of the prompt's length fits all of them together "
            "(P2): a hop over one needs a full layer\n",
            b->outgrown);
    if (bound_factor(b) > 0)
        hop_text_printf(out, "  states      between the two, a factor of %.3g, it is open\n",
                        bound_factor(b));
}

/* What silence means for the question. */
static void print_silence(hop_text *out, const bound_answer *b)
{
    const hop_question *q = &b->question;
    bool silent = false;
    for (int i = 0; i < b->bounds->count; i++)
        silent =
            silent || (b->bounds->results[i].applies && b->bounds->results[i].answer == HOP_ANSWER_SILENT);
    if (!silent) return;
    const char *where = q->n ? "at this length" : q->m ? "at these sizes" : "here";
    hop_text_printf(out, "silent: that theorem says nothing of %s %s, neither way; it is no sign that %s\n",
                    q->hops > 1 ? "so many hops" : "one hop", where, q->hops > 1 ? "they work" : "it works");
}

/* Under the symbols, what those of the results that say something suppose. */
static void print_supposed(hop_text *out, const bound_answer *b)
{
    bool any = b->outgrown[0] != 0, known = b->held > 0 || b->reach.able > 0;
    for (int i = 0; i < b->bounds->count; i++) {
        const hop_bound *r = &b->bounds->results[i];
        known = known || r->answer == HOP_ANSWER_POSSIBLE;
        any = any || r->answer == HOP_ANSWER_IMPOSSIBLE || (r->applies && r->speaks_from);
    }
    if (any) say_any_weights(out);
    if (known) say_known_weights(out, "possible");
}

static int show_text(const common_args *a, const bound_answer *b)
{
    hop_text out = {0};
    int count = b->bounds->count;
    const hop_bound **order = calloc((size_t)count, sizeof *order);
    if (!order) return fail(a, EXIT_FAILED, "out of memory");
    for (int i = 0; i < count; i++) order[i] = &b->bounds->results[i];
    qsort(order, (size_t)count, sizeof *order, by_news);
    bound_say_answer(&out, b);
    if (b->automatic) print_reach(&out, b);
    print_question(&out, b);
    hop_text_printf(&out, "%-3s %-11s %-12s  %s\n", "", "verdict", "from n", "why");
    for (int i = 0; i < count; i++)
        if (order[i]->applies) print_result(&out, order[i], b->question.hops);
    print_silence(&out, b);
    print_others(&out, order, count);
    bound_say_legend(&out, order, count);
    print_supposed(&out, b);
    if (!isnan(b->bounds->accuracy_ceiling)) {
        char ceiling[32];
        hop_accuracy_print(ceiling, b->bounds->accuracy_ceiling);
        hop_text_printf(&out, "\naccuracy ceiling %s at N = %lld\n", ceiling, (long long)b->bounds->table);
    }
    if (b->curve) {
        hop_text_printf(&out, "\n%20s  %s\n", "state bits", "accuracy ceiling");
        bound_each_of_curve(b, curve_text, &out);
    }
    free(order);
    return print_text(a, &out);
}

int bound_show(const common_args *a, const bound_answer *b)
{
    return a->json.flag ? bound_show_json(a, b) : show_text(a, b);
}
