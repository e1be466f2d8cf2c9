/* What `mixers` prints for people. */
#include <hopbound/ask_mixers.h>

#include "cli.h"

static void say_built(hop_text *out, const hop_mixers_row *m, int64_t tokens)
{
    hop_text_add(out, "  weights");
    for (int64_t i = 0; i < m->tensors.count; i++) {
        const hop_mixers_tensor *t = &m->tensors.at[i];
        hop_text_printf(out, " %s[%lld", t->name, (long long)t->shape.at[0]);
        if (t->shape.count > 1) hop_text_printf(out, ",%lld", (long long)t->shape.at[1]);
        hop_text_add(out, "]");
    }
    hop_text_printf(out, ", %lld numbers\n  state   %lld numbers after %lld tokens, %s\n",
                    (long long)m->parameters, (long long)m->state_floats, (long long)tokens,
                    m->recurrent ? "whatever their number" : "depending on their number");
}

static void say_entry(hop_text *out, const hop_mixers_row *m, int64_t tokens)
{
    hop_text_printf(out, "%s\n  %s\n", m->name, m->equation);
    if (m->why)
        hop_text_printf(out, "  cannot be built at these sizes: %s\n", m->why);
    else
        say_built(out, m, tokens);
    for (int64_t i = 0; i < m->options.count; i++) {
        const hop_mixers_option *o = &m->options.at[i];
        char text[24] = "-";
        if (o->initial != HOP_NO_COUNT) snprintf(text, sizeof text, "%lld", (long long)o->initial);
        hop_text_printf(out, "  %-7s %-10s %6s  %s\n", i ? "" : "options", o->name, text, o->help);
    }
}

void show_mixers(hop_text *out, const hop_response *r)
{
    const hop_mixers_answer *a = r->data;
    if (a->mixers.count == 1) {
        say_entry(out, a->mixers.at, a->tokens);
        return;
    }
    for (int64_t i = 0; i < a->mixers.count; i++)
        hop_text_printf(out, "%-13s %s\n", a->mixers.at[i].name, a->mixers.at[i].equation);
    hop_text_add(out, "`hopbound mixers NAME`: its weights, state and options.\n");
}
