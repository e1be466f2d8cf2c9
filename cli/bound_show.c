/* What `bound` prints: a screen for people, an object for scripts. */
#include "bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CURVE_STEPS 20
#define TEXT_WIDTH  110
#define INDENT      "              "

/* ---- the curve ------------------------------------------------------------------------------ */

typedef void curve_fn(void *to, double bits, double ceiling);

/* From no state to as much as P2 asks for, in equal steps. State bits may be more than 64-bit integers hold.
 */
static void each_of_curve(const bound_answer *b, curve_fn *f, void *to)
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

static void curve_json(void *to, double bits, double ceiling)
{
    hop_json_writer *w = to;
    hop_json_begin_object(w);
    if (bits < 0x1p53)
        hop_json_integer(w, "state_bits", (int64_t)bits);
    else
        hop_json_number(w, "state_bits", bits);
    hop_json_number(w, "accuracy_ceiling", ceiling);
    hop_json_end_object(w);
}

static void curve_text(void *to, double bits, double ceiling)
{
    char shown[32];
    hop_accuracy_print(shown, ceiling);
    hop_text_printf(to, "%20.0f  %s\n", bits, shown);
}

/* ---- for scripts ---------------------------------------------------------------------------- */

/* A number where it fits one, else its text; null where there is none. */
static void put_number_text(hop_json_writer *w, const char *text)
{
    if (!text)
        hop_json_put_null(w);
    else if (strlen(text) <= 18 && strspn(text, "0123456789") == strlen(text))
        hop_json_put_int(w, strtoll(text, NULL, 10));
    else
        hop_json_put_string(w, text);
}

static void write_list(hop_json_writer *w, const char *key, const char *const *list, int count)
{
    if (!list) {
        hop_json_null(w, key);
        return;
    }
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int i = 0; i < count && list[i]; i++) put_number_text(w, list[i]);
    hop_json_end_array(w);
}

/* What the proof chooses: {"t": 14, ..}. */
static void write_choices(hop_json_writer *w, const hop_bound *r)
{
    if (!r->choices) {
        hop_json_null(w, "choices");
        return;
    }
    hop_json_key(w, "choices");
    hop_json_begin_object(w);
    for (int i = 0; r->choices[i]; i++) {
        hop_json_key(w, r->choice_names[i]);
        put_number_text(w, r->choices[i]);
    }
    hop_json_end_object(w);
}

static void write_result(hop_json_writer *w, const hop_bound *r, int hops)
{
    hop_json_begin_object(w);
    hop_json_string(w, "id", r->id);
    hop_json_string(w, "statement", r->statement);
    hop_json_boolean(w, "published", r->published);
    hop_json_boolean(w, "applies", r->applies);
    hop_json_string(w, "verdict", hop_answer_name(r->answer));
    hop_json_key(w, "speaks_from_n");
    put_number_text(w, r->speaks_from);
    hop_json_number(w, "log10_n", r->log10_n);
    hop_json_string(w, "needs", r->needs);
    hop_json_string(w, "has", r->has);
    hop_json_string(w, "why", r->why);
    hop_json_key(w, "hypotheses");
    hop_json_begin_array(w);
    for (int i = 0; i < r->hypothesis_count; i++) {
        hop_json_begin_object(w);
        hop_json_string(w, "text", r->hypotheses[i].text);
        hop_json_boolean(w, "met", r->hypotheses[i].met);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
    write_list(w, "sizes", r->sizes, hops);
    write_list(w, "x", r->x, hops);
    write_list(w, "s", r->s, hops - 1);
    write_choices(w, r);
    hop_json_end_object(w);
}

/* Does the length, or a theorem, end what is open? */
static bool bounded(const hop_reach *r)
{
    return r->unable || r->fit < HOP_MAX_HOPS;
}

/* The most hops that can be posed and are not proved impossible. */
static int most_between(const hop_reach *r)
{
    return r->unable && r->unable - 1 < r->fit ? r->unable - 1 : r->fit;
}

static void write_reach(hop_json_writer *w, const bound_answer *b)
{
    const hop_reach *r = &b->reach;
    hop_json_key(w, "reach");
    hop_json_begin_object(w);
    hop_json_integer(w, "able", r->able);
    hop_json_integer(w, "able_by_layers", r->able_by_layers);
    hop_json_known(w, "unable", r->unable, r->unable > 0);
    hop_json_key(w, "between"); /* the fewest and the most hops that are neither; null: no end is known */
    hop_json_begin_array(w);
    if (most_between(r) > r->able) {
        hop_json_put_int(w, r->able + 1);
        if (bounded(r))
            hop_json_put_int(w, most_between(r));
        else
            hop_json_put_null(w);
    }
    hop_json_end_array(w);
    hop_json_string(w, "able_by", r->able_by);
    hop_json_string(w, "unable_by", r->unable_by);
    hop_json_integer(w, "needs_dim", r->needs_dim);
    hop_json_integer(w, "needs_bits", r->needs_bits);
    hop_json_integer(w, "needs_width", r->needs_width);
    hop_json_string(w, "why_able", r->why_able);
    hop_json_string(w, "why_unable", r->why_unable);
    hop_json_key(w, "tables_outgrow_states_at");
    put_number_text(w, b->outgrown[0] ? b->outgrown : NULL);
    hop_json_end_object(w);
}

static void write_question(hop_json_writer *w, const bound_answer *b)
{
    const hop_question *q = &b->question;
    hop_json_integer(w, "hops", q->hops);
    hop_json_string(w, "pattern", hop_text_in(&w->text, &b->arch->pattern));
    hop_json_integer(w, "full_layers", b->arch->full);
    hop_json_integer(w, "linear_layers", b->arch->linear);
    hop_json_known(w, "n", q->n, q->n > 0);
    if (!q->m) return;
    hop_json_integer(w, "m", q->m);
    hop_json_integers(w, "fan", q->fan, q->hops - 1);
}

static int show_json(const common_args *a, const bound_answer *b)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    write_question(&w, b);
    if (b->automatic) write_reach(&w, b);
    hop_json_key(&w, "results");
    hop_json_begin_array(&w);
    for (int i = 0; i < b->bounds->count; i++) write_result(&w, &b->bounds->results[i], b->question.hops);
    hop_json_end_array(&w);
    hop_json_number(&w, "accuracy_ceiling", b->bounds->accuracy_ceiling);
    if (b->curve) {
        hop_json_key(&w, "curve");
        hop_json_begin_array(&w);
        each_of_curve(b, curve_json, &w);
        hop_json_end_array(&w);
    }
    hop_json_end_object(&w);
    return print_json(a, &w);
}

/* ---- for people ----------------------------------------------------------------------------- */

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
    hop_text_printf(out, "%s: %lld full, %lld linear layer%s; %d hop%s", hop_text_in(out, &b->arch->pattern),
                    (long long)b->arch->full, (long long)b->arch->linear, b->arch->linear == 1 ? "" : "s",
                    q->hops, q->hops > 1 ? "s" : "");
    if (q->n) hop_text_printf(out, " within %lld tokens", (long long)q->n);
    if (q->m) hop_text_printf(out, " at m %lld", (long long)q->m);
    for (int l = 0; q->m && l < q->hops - 1; l++)
        hop_text_printf(out, "%s%lld", l ? "," : ", fan ", (long long)q->fan[l]);
    hop_text_add(out, q->n || q->m ? "\n\n" : " at any length\n\n");
}

static void print_reach(hop_text *out, const bound_answer *b)
{
    const hop_reach *r = &b->reach;
    hop_text_printf(out, "able    %s\nunable  %s\n", r->why_able, r->why_unable);
    if (b->outgrown[0])
        hop_text_printf(
            out,
            "states  from n = %s on no table of the prompt's length fits all of them together (P2): a hop "
            "needs a full layer\n",
            b->outgrown);
    int first = r->able + 1, last = most_between(r);
    if (last < first)
        hop_text_printf(out, "between nothing: %s\n",
                        r->unable ? "the two meet" : "no more hops fit the length");
    else if (!bounded(r))
        hop_text_printf(out, "between %d hop%s and more: neither proved possible nor impossible\n", first,
                        first > 1 ? "s" : "");
    else if (last == first)
        hop_text_printf(out, "between %d hop%s: neither proved possible nor impossible\n", first,
                        first > 1 ? "s" : "");
    else
        hop_text_printf(out, "between %d to %d hops: neither proved possible nor impossible\n", first, last);
    hop_text_add(out, "\n");
}

static int show_text(const common_args *a, const bound_answer *b)
{
    hop_text out = {0};
    int count = b->bounds->count;
    const hop_bound **order = calloc((size_t)count, sizeof *order);
    if (!order) return fail(a, EXIT_FAILED, "out of memory");
    for (int i = 0; i < count; i++) order[i] = &b->bounds->results[i];
    qsort(order, (size_t)count, sizeof *order, by_news);
    if (b->automatic) print_reach(&out, b);
    print_question(&out, b);
    hop_text_printf(&out, "%-3s %-11s %-12s  %s\n", "", "verdict", "from n", "why");
    for (int i = 0; i < count; i++)
        if (order[i]->applies) print_result(&out, order[i], b->question.hops);
    print_others(&out, order, count);
    if (!isnan(b->bounds->accuracy_ceiling)) {
        char ceiling[32];
        hop_accuracy_print(ceiling, b->bounds->accuracy_ceiling);
        hop_text_printf(&out, "\naccuracy ceiling %s at N = %lld\n", ceiling, (long long)b->bounds->table);
    }
    if (b->curve) {
        hop_text_printf(&out, "\n%20s  %s\n", "state bits", "accuracy ceiling");
        each_of_curve(b, curve_text, &out);
    }
    free(order);
    return print_text(a, &out);
}

int bound_show(const common_args *a, const bound_answer *b)
{
    return a->json.flag ? show_json(a, b) : show_text(a, b);
}
