/* What `separate` prints for people. */
#include <hopbound/ask_separate.h>

#include <math.h>
#include "cli.h"

static void say_row(hop_text *out, const hop_separate_answer *a, const hop_separate_row *r)
{
    const char *known = hop_proof_name(r->machine_checked > 0);
    hop_text_printf(out, "  %-16s ", r->pattern);
    switch (r->verdict) {
    case HOP_ROW_POSSIBLE: hop_text_printf(out, "%-11s  (%s)", "possible", r->theorem); break;
    case HOP_ROW_IMPOSSIBLE:
        hop_text_printf(out, "%-11s  (%s, %s)  needs %s; has %s", "impossible", r->theorem, known, r->needs,
                        r->has);
        break;
    case HOP_ROW_FROM_N:
        if (r->log10_n <= log10((double)a->n))
            hop_text_printf(out, "open         impossible at other sizes of this length (%s, %s)", r->theorem,
                            known);
        else
            hop_text_printf(out, "impossible from n = %s on  (%s, %s)", r->speaks_from_n, r->theorem, known);
        break;
    case HOP_ROW_SILENT: hop_text_printf(out, "%-11s", "open"); break;
    }
    hop_text_add(out, "\n");
}

static void show_one(hop_text *out, const hop_separate_answer *a)
{
    if (a->why) return;
    hop_text_printf(out, "%lld hop%s: n = %lld tokens (m %lld", (long long)a->hops, a->hops == 1 ? "" : "s",
                    (long long)a->n, (long long)a->m);
    for (int64_t l = 0; l < a->fan.count; l++)
        hop_text_printf(out, l == 0 ? ", fan %lld" : ",%lld", (long long)a->fan.at[l]);
    hop_text_printf(
        out, "), one head of %lld numbers in a stream of %lld, %lld-bit messages, states of %lld bits\n",
        (long long)a->dim, (long long)a->d_model, (long long)a->bits, (long long)a->state_bits);
    for (int64_t i = 0; i < a->rows.count; i++)
        if (i != HOP_ROW_LINEAR || a->hops > 1) /* with one hop the same as the row before */
            say_row(out, a, &a->rows.at[i]);
    hop_text_add(
        out, "F: full attention; L: a linear layer of any kind with such a state. Possible: `build full` and "
             "`build hybrid`\nmake it, `prove --message-bits` proves it on every input.\n");
    say_any_weights(out);
}

static void show_table(hop_text *out, const hop_separate_table *a)
{
    hop_text_printf(
        out, "%lld hop%s: the shortest n with a separation, by linear layers a gap and bits of a number\n",
        (long long)a->hops, a->hops == 1 ? "" : "s");
    bool some = false;
    hop_text_printf(out, "%8s", "linear");
    for (int64_t i = 0; i < a->table.count && a->table.at[i].linear == a->table.at[0].linear; i++)
        hop_text_printf(out, " %17lld bits", (long long)a->table.at[i].bits);
    for (int64_t i = 0; i < a->table.count; i++) {
        const hop_separate_cell *c = &a->table.at[i];
        if (i == 0 || c->linear != c[-1].linear) hop_text_printf(out, "\n%8lld", (long long)c->linear);
        if (c->n == HOP_NO_COUNT)
            hop_text_printf(out, " %22s", "none");
        else
            hop_text_printf(out, " %21lld%c", (long long)c->n, c->machine_checked > 0 ? '+' : ' ');
        some = some || c->n != HOP_NO_COUNT;
    }
    hop_text_add(out, "\n");
    if (some) hop_text_add(out, "+: what is impossible there is machine-checked, else on paper\n");
    if (a->why) hop_text_printf(out, "none: %s\n", a->why);
}

void show_separate(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_separate_table_record)
        show_table(out, r->data);
    else
        show_one(out, r->data);
}
