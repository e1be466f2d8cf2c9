/* What `exact` prints for people. */
#include <hopbound/ask_exact.h>

#include <string.h>
#include "cli.h"

static const char *theorems(const hop_exact_row *c, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s", c->p2 == HOP_ANSWER_IMPOSSIBLE ? " P2" : "",
             c->p4 == HOP_ANSWER_IMPOSSIBLE ? " P4" : "", c->p5 == HOP_ANSWER_IMPOSSIBLE ? " P5" : "");
    return *out ? out + 1 : "silent";
}

/* The column's width. */
static int longest_by(const hop_exact_answer *t)
{
    size_t longest = 12;
    for (int i = 0; i < t->results.count; i++)
        if (strlen(t->results.at[i].by) > longest) longest = strlen(t->results.at[i].by);
    return (int)longest;
}

static void print_cell(hop_text *out, const hop_exact_answer *t, const hop_exact_row *c)
{
    char by[16];
    if (t->split) hop_text_printf(out, "  %6lld %6lld", (long long)c->before_bits, (long long)c->after_bits);
    if (!t->split) hop_text_printf(out, "  %6lld", (long long)c->after_bits);
    if (t->full_layers) hop_text_printf(out, " %8lld", (long long)c->message_bits);
    hop_text_printf(out, "  %-10s %9.2f  %-*s", hop_cell_verdict_words[c->verdict], c->seconds, longest_by(t),
                    c->by);
    hop_text_printf(out, "  %s%s\n", theorems(c, by, sizeof by),
                    c->refutes_a_theorem ? "  <== REFUTED, A PROTOCOL EXISTS" : "");
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_threshold(hop_text *out, const hop_exact_threshold *h)
{
    const bool can = h->possible_from != HOP_NO_COUNT, cannot = h->impossible_to != HOP_NO_COUNT,
               some = can || cannot;
    long long from = (long long)h->possible_from, to = (long long)h->impossible_to;
    if (can && (cannot ? to == from - 1 : from == 0))
        hop_text_printf(out, "threshold at %lld state bit%s", from, plural(from));
    else if (can && cannot)
        hop_text_printf(out, "impossible up to %lld, possible from %lld state bits", to, from);
    else if (can)
        hop_text_printf(out, "possible from %lld state bit%s", from, plural(from));
    else if (some && h->undecided)
        hop_text_printf(out, "impossible up to %lld state bit%s", to, plural(to));
    else if (some)
        hop_text_add(out, "possible with none of these state bits");
    if (h->undecided && some)
        hop_text_printf(out, ", %lld undecided", (long long)h->undecided);
    else if (h->undecided)
        hop_text_add(out, "undecided");
    if (h->theorems_silent_from)
        hop_text_printf(out, "; the theorems exclude those below %lld\n", (long long)h->theorems_silent_from);
    else
        hop_text_add(out, "; the theorems exclude none\n");
}

static void print_thresholds(hop_text *out, const hop_exact_answer *t)
{
    for (int64_t i = 0; i < t->thresholds.count; i++) {
        const hop_exact_threshold *h = &t->thresholds.at[i];
        if (t->full_layers)
            hop_text_printf(out, "%lld message bit%s: ", (long long)h->message_bits, plural(h->message_bits));
        print_threshold(out, h);
    }
}

void show_exact(hop_text *out, const hop_response *r)
{
    const hop_exact_answer *t = r->data;
    hop_text_printf(out, "%lld hop%s, m %lld", (long long)t->hops, plural(t->hops), (long long)t->m);
    if (t->fan != HOP_NO_COUNT) hop_text_printf(out, ", fan %lld", (long long)t->fan);
    hop_text_printf(out, ", %s\n%s%s", t->full_layers ? "one full layer" : "linear layers only",
                    t->split ? "  before  after" : "   state", t->full_layers ? "  message" : "");
    hop_text_printf(out, "  %-10s %9s  %-*s  %s\n", "verdict", "seconds", longest_by(t), "by",
                    "impossible by");
    for (int64_t i = 0; i < t->results.count; i++) print_cell(out, t, &t->results.at[i]);
    print_thresholds(out, t);
    hop_text_printf(out, "%s, %.1f s\n", t->solver, t->seconds);
}
