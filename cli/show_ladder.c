/* What `ladder` prints for people: one block a rung. */
#include <hopbound/ask_ladder.h>

#include <math.h>

#include "cli.h"

/* The full network that a rung begins with. */
static bool is_main(const hop_ladder_row *r)
{
    return !isnan(r->state_limit);
}

static bool is_hybrid(const hop_ladder_row *r)
{
    return r->mixer != NULL;
}

static const char *word(const hop_ladder_row *r)
{
    return hop_ladder_verdict_words[r->verdict];
}

static void write_built(hop_text *out, const hop_ladder_row *r)
{
    char extra[96] = "";
    if (r->message_bits)
        snprintf(extra, sizeof extra, ", also with %lld-bit messages", (long long)r->message_bits);
    hop_text_printf(out, "  %-22s %-10s on all 10^%.1f inputs%s; run %lld/%lld", r->pattern, word(r),
                    r->log10_inputs, extra, (long long)r->correct, (long long)r->instances);
    if (r->cut_bits > 0)
        hop_text_printf(out, ", cut to %lld bits %lld/%lld", (long long)r->cut_bits,
                        (long long)r->cut_correct, (long long)r->instances);
    if (r->looked > 0)
        hop_text_add(out, "; the refuter finds nothing"); /* how far it came depends on the clock */
    if (r->why[0]) hop_text_printf(out, "; %s", r->why);
    hop_text_add(out, "\n");
}

/* Its state at the messages' precision is no larger than what the rows below are impossible with. */
static bool as_narrow(const hop_ladder_row *r, const hop_ladder_row *main)
{
    return r->state_bits <= main->state_limit;
}

static void write_mixers(hop_text *out, const hop_ladder_answer *a, const hop_ladder_row *main, bool narrow)
{
    int64_t count = 0;
    hop_text names = {0};
    for (int64_t i = 0; i < a->rungs.count; i++) {
        const hop_ladder_row *r = &a->rungs.at[i];
        if (r->hops != main->hops || !is_hybrid(r) || r->verdict != HOP_LADDER_PROVED || !r->message_bits)
            continue;
        if (as_narrow(r, main) != narrow) continue;
        count++;
        hop_text_printf(&names, narrow || count == 1 ? " %s" : ", %s", r->mixer);
        if (!narrow) hop_text_printf(&names, " %.0f", r->state_bits);
        if (!narrow && r->below_impossible_from_n)
            hop_text_printf(&names, " (n = %s)", r->below_impossible_from_n);
    }
    char pattern[32];
    snprintf(pattern, sizeof pattern, main->hops > 1 ? "L full^%lld" : "L full", (long long)main->hops);
    if (count && narrow)
        hop_text_printf(out, "  %-22s %-10s the same, states of at most %.0f bits, %lld linear mixers:%s\n",
                        pattern, "proved", main->state_limit, (long long)count, names.s ? names.s : "");
    else if (count)
        hop_text_printf(
            out,
            "  %-22s %-10s the same, larger states (bits), for which the rows below begin at longer n:%s\n",
            pattern, "proved", names.s ? names.s : "");
    hop_text_free(&names);
}

static void write_hybrids(hop_text *out, const hop_ladder_answer *a, const hop_ladder_row *main)
{
    for (int64_t i = 0; i < a->rungs.count; i++) {
        const hop_ladder_row *r = &a->rungs.at[i];
        bool shared = r->verdict == HOP_LADDER_PROVED && r->message_bits;
        if (r->hops == main->hops && is_hybrid(r) && !shared) write_built(out, r);
    }
    write_mixers(out, a, main, true);
    write_mixers(out, a, main, false);
}

static void write_known(hop_text *out, const hop_ladder_row *r)
{
    if (r->verdict == HOP_LADDER_IMPOSSIBLE)
        hop_text_printf(out, "  %-22s IMPOSSIBLE %s\n", r->pattern, r->why);
    else if (r->verdict == HOP_LADDER_FROM_N)
        hop_text_printf(out, "  %-22s %-10s %s\n", r->pattern, "longer n", r->why);
    else
        hop_text_printf(out, "  %-22s %-10s %s\n", r->pattern, "open", r->why);
    if (r->shown) hop_text_printf(out, "  %-22s %-10s %s\n", "", "  as built", r->shown);
}

static void write_rung(hop_text *out, const hop_ladder_answer *a, const hop_ladder_row *r)
{
    const hop_ladder_row *end = a->rungs.at + a->rungs.count;
    hop_text_printf(out, "%s%lld hop%s at n = %lld tokens (%s), one head of %lld numbers\n",
                    r > a->rungs.at ? "\n" : "", (long long)r->hops, r->hops == 1 ? "" : "s", (long long)r->n,
                    r->sizes, (long long)r->head_dim);
    write_built(out, r);
    write_hybrids(out, a, r);
    for (const hop_ladder_row *x = a->rungs.at; x < end; x++)
        if (x->hops == r->hops && !x->built) write_known(out, x);
    for (const hop_ladder_row *x = a->rungs.at; x < end; x++) {
        if (x->hops != r->hops || !x->built || is_main(x) || is_hybrid(x)) continue;
        hop_text_printf(out, "  %-22s %-10s %s, n = %lld, %s%s%s\n", x->pattern, word(x), x->kind,
                        (long long)x->n, x->sizes, x->why[0] ? "; " : "", x->why);
    }
}

/* ---- what was learnt ------------------------------------------------------------------------------ */

static void write_learnt(hop_text *out, const hop_ladder_answer *a)
{
    for (int64_t i = 0; i < a->learnt.count; i++) {
        const hop_ladder_learnt *r = &a->learnt.at[i];
        if (i == 0 || r->hops != r[-1].hops)
            hop_text_printf(
                out,
                "\nlearnt by gradient descent, %lld hop%s, width %lld, %lld seed%s: accuracy, mean "
                "(least to most)\n",
                (long long)r->hops, r->hops == 1 ? "" : "s", (long long)r->d_model,
                (long long)r->accuracies.count, r->accuracies.count == 1 ? "" : "s");
        hop_text_printf(out, "  %-8s %-8s n = %-4lld table of %-4lld %6.2f %% (%.2f to %.2f), chance %.2f %%",
                        r->pattern, r->mixer, (long long)r->n, (long long)r->entries, 100 * r->mean,
                        100 * r->least, 100 * r->most, 100 * r->chance);
        if (r->ceiling < 1) hop_text_printf(out, ", at most %.2f %% by P3", 100 * r->ceiling);
        hop_text_add(out, "\n");
    }
}

void show_ladder(hop_text *out, const hop_response *response)
{
    const hop_ladder_answer *a = response->data;
    for (int64_t i = 0; i < a->rungs.count; i++)
        if (is_main(&a->rungs.at[i])) write_rung(out, a, &a->rungs.at[i]);
    hop_text_add(out, "\n");
    say_any_weights(out);
    write_learnt(out, a);
    hop_text_add(out, "\nreport: ");
    hop_text_name(out, a->report);
    hop_text_add(out, "\n");
}
