/* What `build` prints for people. */
#include <hopbound/ask_build.h>

#include <math.h>
#include "cli.h"

static void say_text(hop_text *out, const char *key, const char *value)
{
    hop_text_printf(out, "  %-11s %s\n", key, value);
}

/* Whole numbers in full. */
static void say_number(hop_text *out, const char *key, double v)
{
    if (!isnan(v))
        hop_text_printf(out, v == floor(v) && fabs(v) < 9e15 ? "  %-11s %.0f\n" : "  %-11s %.6g\n", key, v);
}

void show_build(hop_text *out, const hop_response *r)
{
    const hop_build_answer *b = r->data;
    hop_text_name(out, b->dir);
    hop_text_add(out, ": built ");
    hop_text_name(out, b->like ? b->like : b->kind);
    hop_text_printf(out, "%s%s\n", b->sizes ? " for " : "", b->sizes ? b->sizes : "");
    say_text(out, "pattern", b->pattern);
    say_number(out, "layers", (double)b->layers);
    say_number(out, "d_model", (double)b->d_model);
    say_number(out, "heads", (double)b->heads);
    say_number(out, "head_dim", (double)b->head_dim);
    say_number(out, "mlp_hidden", (double)b->mlp_hidden);
    say_number(out, "parameters", (double)b->parameters);
    say_number(out, "n", (double)b->n);
    if (b->mixer) say_text(out, "mixer", b->mixer);
    if (b->state_bits != HOP_NO_COUNT) say_number(out, "state_bits", (double)b->state_bits);
    say_number(out, "p2_bits", b->p2_bits);
    say_number(out, "state_ratio", b->state_ratio);
    for (int64_t i = 0; i < b->notes.count; i++) say_text(out, "note", b->notes.at[i]);
}
