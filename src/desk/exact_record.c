/* exact: the table of cells and the thresholds in it, as records. */
#include "exact.h"

HOP_RECORD_TABLE(hop_exact_row, HOP_EXACT_CELL, "a number of bits, and whether a protocol has so few")
HOP_RECORD_TABLE(hop_exact_threshold, HOP_EXACT_THRESHOLD, "where the verdict changes")
HOP_RECORD_TABLE(hop_exact_answer, HOP_EXACT_ANSWER, "a table of cells")

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

static hop_exact_row row_of(hop_keep *k, const exact_table *t, const hop_exact_cell *c)
{
    return (hop_exact_row){.state_bits =
                               !t->split || c->bits.before == c->bits.after ? c->bits.after : HOP_NO_COUNT,
                           .message_bits = c->bits.message,
                           .before_bits = c->bits.before,
                           .after_bits = c->bits.after,
                           .verdict = c->verdict,
                           .by = hop_keep_text(k, c->by),
                           .seconds = c->seconds,
                           .p2 = c->p2,
                           .p4 = c->p4,
                           .p5 = c->p5,
                           .refutes_a_theorem = hop_exact_refutes(c)};
}

hop_status hop__exact_record(hop_response *response, const exact_args *a, const exact_table *t,
                             hop_error *err)
{
    hop_keep *k = &response->memory;
    int count = message_counts(t);
    hop_exact_answer *out = hop_response_begin(response, &hop_exact_answer_record, err);
    hop_exact_row *rows = hop_keep_bytes(k, (size_t)t->count + 1, sizeof *rows);
    hop_exact_threshold *where = hop_keep_bytes(k, (size_t)count + 1, sizeof *where);
    if (!out || !rows || !where) return hop_fail(err, HOP_ENOMEM, "out of memory");
    for (int i = 0; i < t->count; i++) rows[i] = row_of(k, t, &t->cells[i]);
    for (int i = 0; i < count; i++) {
        threshold h = threshold_of(t, t->bits[i].message);
        where[i] =
            (hop_exact_threshold){t->bits[i].message, h.possible >= 0 ? h.possible : HOP_NO_COUNT,
                                  h.impossible >= 0 ? h.impossible : HOP_NO_COUNT, h.undecided, h.theory};
    }
    *out = (hop_exact_answer){.hops = a->hops.integer,
                              .m = a->m.integer,
                              .fan = a->hops.integer == 2 ? a->fan.integer : HOP_NO_COUNT,
                              .full_layers = t->full,
                              .split = t->split,
                              .solver = hop_keep_text(k, t->solver),
                              .seconds = t->seconds};
    out->results.at = rows;
    out->results.count = t->count;
    out->thresholds.at = where;
    out->thresholds.count = count;
    return hop_response_end(response, err);
}
