/* hopbound exact: the table of cells and the thresholds in it, for people and for programs. */
#include "exact.h"

#include <string.h>

/* ---- thresholds ---------------------------------------------------------------------------- */

static bool excluded(const hop_exact_cell *c)
{
    return c->p2 == HOP_ANSWER_IMPOSSIBLE || c->p4 == HOP_ANSWER_IMPOSSIBLE || c->p5 == HOP_ANSWER_IMPOSSIBLE;
}

/* The fewest state bits that no theorem excludes, of all there are and not only of those asked for. Whatever
 * excludes a cell excludes those with fewer bits, and nothing excludes one whose states tell all tables
 * apart.
 */
static int theorems_silent_from(const exact_table *t, int message)
{
    hop_exact_cell c;
    for (int state = 0;; state++) {
        hop_exact_theorems(t->exact, (hop_bits){t->full ? state : 0, message, state}, &c);
        if (!excluded(&c)) return state;
    }
}

/* For so many message bits: the fewest state bits asked for that are possible and the most that are
 * impossible, -1 where there are none; how many are undecided; the fewest that no theorem excludes. */
typedef struct threshold {
    int possible, impossible, undecided, theory;
} threshold;

static threshold threshold_of(const exact_table *t, int message)
{
    threshold h = {-1, -1, 0, theorems_silent_from(t, message)};
    for (int i = 0; i < t->count; i++) {
        const hop_exact_cell *c = &t->cells[i];
        if (c->bits.message != message) continue;
        if (c->verdict == HOP_CELL_POSSIBLE && h.possible < 0) h.possible = c->bits.after;
        if (c->verdict == HOP_CELL_IMPOSSIBLE) h.impossible = c->bits.after;
        h.undecided += c->verdict == HOP_CELL_UNDECIDED;
    }
    return h;
}

/* The cells run through the message bits for each number of state bits: those of the first are all there are.
 */
static int message_counts(const exact_table *t)
{
    int n = 0;
    while (n < t->count && t->bits[n].after == t->bits[0].after) n++;
    return t->split ? 0 : n;
}

/* ---- reports ------------------------------------------------------------------------------- */

static const char *says(hop_answer a)
{
    return a == HOP_ANSWER_IMPOSSIBLE ? "impossible" : "silent";
}

static void write_cell(hop_json_writer *w, const exact_table *t, const hop_exact_cell *c)
{
    hop_json_begin_object(w);
    hop_json_known(w, "state_bits", c->bits.after, !t->split || c->bits.before == c->bits.after);
    hop_json_integer(w, "message_bits", c->bits.message);
    hop_json_integer(w, "before_bits", c->bits.before);
    hop_json_integer(w, "after_bits", c->bits.after);
    hop_json_string(w, "verdict", hop_cell_verdict_name(c->verdict));
    hop_json_string(w, "by", c->by);
    hop_json_number(w, "seconds", c->seconds);
    hop_json_string(w, "p2", says(c->p2));
    hop_json_string(w, "p4", says(c->p4));
    hop_json_string(w, "p5", says(c->p5));
    hop_json_boolean(w, "refutes_a_theorem", hop_exact_refutes(c));
    hop_json_end_object(w);
}

int exact_report_json(const exact_args *a, const exact_table *t)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_integer(&w, "hops", a->hops.integer);
    hop_json_integer(&w, "m", a->m.integer);
    if (a->hops.integer == 2) hop_json_integer(&w, "fan", a->fan.integer);
    hop_json_integer(&w, "full_layers", t->full);
    hop_json_key(&w, "results");
    hop_json_begin_array(&w);
    for (int i = 0; i < t->count; i++) write_cell(&w, t, &t->cells[i]);
    hop_json_end_array(&w);
    hop_json_key(&w, "thresholds");
    hop_json_begin_array(&w);
    for (int i = 0; i < message_counts(t); i++) {
        threshold h = threshold_of(t, t->bits[i].message);
        hop_json_begin_object(&w);
        hop_json_integer(&w, "message_bits", t->bits[i].message);
        hop_json_known(&w, "possible_from", h.possible, h.possible >= 0);
        hop_json_known(&w, "impossible_to", h.impossible, h.impossible >= 0);
        hop_json_integer(&w, "undecided", h.undecided);
        hop_json_integer(&w, "theorems_silent_from", h.theory);
        hop_json_end_object(&w);
    }
    hop_json_end_array(&w);
    hop_json_string(&w, "solver", t->solver);
    hop_json_number(&w, "seconds", t->seconds);
    hop_json_end_object(&w);
    return print_json(&a->common, &w);
}

static const char *theorems(const hop_exact_cell *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", c->p2 == HOP_ANSWER_IMPOSSIBLE ? " P2" : "",
             c->p4 == HOP_ANSWER_IMPOSSIBLE ? " P4" : "", c->p5 == HOP_ANSWER_IMPOSSIBLE ? " P5" : "");
    return *out ? out + 1 : "silent";
}

/* The column's width. */
static int longest_by(const exact_table *t)
{
    size_t longest = 12;
    for (int i = 0; i < t->count; i++)
        if (strlen(t->cells[i].by) > longest) longest = strlen(t->cells[i].by);
    return (int)longest;
}

static void print_cell(hop_text *out, const exact_table *t, const hop_exact_cell *c)
{
    char by[16];
    if (t->split) hop_text_printf(out, "  %6d %6d", c->bits.before, c->bits.after);
    if (!t->split) hop_text_printf(out, "  %6d", c->bits.after);
    if (t->full) hop_text_printf(out, " %8d", c->bits.message);
    hop_text_printf(out, "  %-10s %9.2f  %-*s", hop_cell_verdict_name(c->verdict), c->seconds, longest_by(t),
                    c->by);
    hop_text_printf(out, "  %s%s\n", theorems(c, by, sizeof by),
                    hop_exact_refutes(c) ? "  <== REFUTED, A PROTOCOL EXISTS" : "");
}

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

static void print_threshold(hop_text *out, threshold h)
{
    const bool some = h.possible >= 0 || h.impossible >= 0;
    if (h.possible >= 0 && h.impossible == h.possible - 1)
        hop_text_printf(out, "threshold at %d state bit%s", h.possible, plural(h.possible));
    else if (h.possible >= 0 && h.impossible >= 0)
        hop_text_printf(out, "impossible up to %d, possible from %d state bits", h.impossible, h.possible);
    else if (h.possible >= 0)
        hop_text_printf(out, "possible from %d state bit%s", h.possible, plural(h.possible));
    else if (some && h.undecided)
        hop_text_printf(out, "impossible up to %d state bit%s", h.impossible, plural(h.impossible));
    else if (some)
        hop_text_add(out, "possible with none of these state bits");
    if (h.undecided && some)
        hop_text_printf(out, ", %d undecided", h.undecided);
    else if (h.undecided)
        hop_text_add(out, "undecided");
    if (h.theory)
        hop_text_printf(out, "; the theorems exclude those below %d\n", h.theory);
    else
        hop_text_add(out, "; the theorems exclude none\n");
}

static void print_thresholds(hop_text *out, const exact_table *t)
{
    for (int i = 0; i < message_counts(t); i++) {
        int message = t->bits[i].message;
        if (t->full) hop_text_printf(out, "%d message bit%s: ", message, plural(message));
        print_threshold(out, threshold_of(t, message));
    }
}

int exact_report_text(const exact_args *a, const exact_table *t)
{
    hop_text out = {0};
    hop_text_printf(&out, "%lld hop%s, m %lld", (long long)a->hops.integer, a->hops.integer == 1 ? "" : "s",
                    (long long)a->m.integer);
    if (a->hops.integer == 2) hop_text_printf(&out, ", fan %lld", (long long)a->fan.integer);
    hop_text_printf(&out, ", %s\n%s%s", t->full ? "one full layer" : "linear layers only",
                    t->split ? "  before  after" : "   state", t->full ? "  message" : "");
    hop_text_printf(&out, "  %-10s %9s  %-*s  %s\n", "verdict", "seconds", longest_by(t), "by",
                    "impossible by");
    for (int i = 0; i < t->count; i++) print_cell(&out, t, &t->cells[i]);
    print_thresholds(&out, t);
    hop_text_printf(&out, "%s, %.1f s\n", t->solver, t->seconds);
    return print_text(&a->common, &out);
}
