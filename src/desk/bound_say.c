/* The answer to what `bound` was asked, in one sentence: possible, impossible or open, and by which theorem.
 */
#include "bound.h"

#include <math.h>
#include <string.h>

bool hop__bound_is_asked(const bound_facts *b)
{
    return !b->automatic && (b->question.n || b->question.m);
}

const char *hop__bound_verdict(const bound_facts *b, const char **by)
{
    const hop_bound *yes = hop_bounds_first(b->bounds, HOP_FIRST_POSSIBLE),
                    *no = hop_bounds_first(b->bounds, HOP_FIRST_CERTIFIED);
    *by = yes ? yes->id : no ? no->id : NULL;
    return yes ? "possible" : no ? "impossible" : "open";
}

/* ---- hops that can be posed -------------------------------------------------------------------- */

bool hop__bound_is_bounded(const hop_reach *r)
{
    return r->unable || r->fit < HOP_MAX_HOPS;
}

int hop__bound_most_open(const hop_reach *r)
{
    return r->unable && r->unable - 1 < r->fit ? r->unable - 1 : r->fit;
}

/* ---- words -------------------------------------------------------------------------------------- */

static void say_hops(hop_text *t, int hops)
{
    hop_text_printf(t, "%d hop%s", hops, hops > 1 ? "s are" : " is");
}

static void say_where(hop_text *t, const hop_question *q)
{
    if (q->n) hop_text_printf(t, " within %lld tokens", (long long)q->n);
    if (q->m) hop_text_printf(t, " at m %lld", (long long)q->m);
    for (int l = 0; q->m && l < q->hops - 1; l++)
        hop_text_printf(t, "%s%lld", l ? "," : ", fan ", (long long)q->fan[l]);
}

/* At a length, or at sizes. */
static void say_asked(hop_text *t, const bound_facts *b)
{
    const hop_question *q = &b->question;
    const char *by, *verdict = hop__bound_verdict(b, &by);
    const hop_bound *later = hop_bounds_first(b->bounds, HOP_FIRST_SILENT);
    bool posed = !q->n || q->n >> (q->hops < 61 ? q->hops + 1 : 62);
    if (!posed) {
        hop_text_printf(t, "%d hop%s cannot be posed within %lld token%s: the shortest prompt has 2^%d.",
                        q->hops, q->hops > 1 ? "s" : "", (long long)q->n, q->n == 1 ? "" : "s", q->hops + 1);
        return;
    }
    say_hops(t, q->hops);
    hop_text_printf(t, " %s", verdict);
    say_where(t, q);
    if (by) hop_text_printf(t, ", by %s", by);
    if (strcmp(verdict, "possible") == 0) {
        hop_text_printf(t, ": weights are known that answer every prompt%s rightly",
                        q->n ? " of at most that length" : " of these sizes");
    } else if (by) {
        hop_text_printf(t, ": no weights answer every prompt%s rightly",
                        q->n ? " of at most that length" : " of these sizes");
    } else {
        hop_text_add(t, ": no theorem here says possible, none says impossible");
        if (later && q->n)
            hop_text_printf(t, "; impossible from n = %s on, by %s", later->speaks_from, later->id);
    }
    hop_text_add(t, ".");
}

/* At any length. */
static void say_any(hop_text *t, const bound_facts *b)
{
    const hop_bound *yes = hop_bounds_first(b->bounds, HOP_FIRST_POSSIBLE),
                    *no = hop_bounds_first(b->bounds, HOP_FIRST_IMPOSSIBLE);
    say_hops(t, b->question.hops);
    if (yes && yes->up_to)
        hop_text_printf(t, " possible up to n = %s, by %s", yes->up_to, yes->id);
    else if (yes)
        hop_text_printf(t, " %s (%s)", yes->why, yes->id);
    if (no)
        hop_text_printf(t, "%s impossible from n = %s on, by %s", yes ? ", and" : "", no->speaks_from,
                        no->id);
    if (yes && no)
        hop_text_add(t, "; between them open.");
    else if (yes)
        hop_text_add(t, "; beyond that open.");
    else
        hop_text_add(t, no ? "; below that open." : " open: no theorem here speaks of this pattern.");
}

/* --hops auto. Without a length layers are counted and widths are not asked. */
static void say_reach(hop_text *t, const bound_facts *b)
{
    const hop_reach *r = &b->reach;
    long long n = (long long)b->question.n;
    if (r->fit == 0) {
        hop_text_printf(t, "At %lld token%s no hop can be posed: one takes 4 tokens.", n, n > 1 ? "s" : "");
        return;
    }
    hop_text_printf(t, n ? "At %lld tokens " : r->able ? "At any length " : "At every length ", n);
    if (r->able) {
        say_hops(t, r->able);
        hop_text_printf(t, " possible%s (%s)", n ? "" : " if the layers are wide enough", r->able_by);
    } else if (!n && b->held) {
        hop_text_printf(t, "no hop is proved possible, up to n = %lld one is (P10)", (long long)b->held);
    } else {
        hop_text_add(t, "no hop is proved possible");
    }
    int first = r->able + 1, last = hop__bound_most_open(r);
    if (last >= first && !hop__bound_is_bounded(r))
        hop_text_printf(t, ", %d and more are open", first);
    else if (last > first)
        hop_text_printf(t, ", %d to %d are open", first, last);
    else if (last == first)
        hop_text_printf(t, ", %d is open", first);
    if (r->unable) {
        hop_text_add(t, ", ");
        say_hops(t, r->unable);
        const hop_bound *by = hop_bounds_first(b->bounds, HOP_FIRST_IMPOSSIBLE);
        hop_text_add(t, " impossible");
        if (!n && by) hop_text_printf(t, " from n = %s on", by->speaks_from);
        hop_text_printf(t, " (%s)", r->unable_by);
    }
    hop_text_add(t, ".");
}

void hop__bound_say(hop_text *t, const bound_facts *b)
{
    if (b->automatic)
        say_reach(t, b);
    else if (hop__bound_is_asked(b))
        say_asked(t, b);
    else
        say_any(t, b);
}
