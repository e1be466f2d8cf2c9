/* What `refute` prints for people. */
#include <hopbound/ask_refute.h>

#include <math.h>
#include <string.h>
#include "cli.h"

static void print_differences(hop_text *out, const hop_refute_answer *a)
{
    hop_text_printf(out, "  they differ in %lld token%s:", (long long)a->differences,
                    a->differences == 1 ? "" : "s");
    for (int64_t i = 0; i < a->differ.count; i++) {
        const hop_refute_difference *d = &a->differ.at[i];
        hop_text_printf(out, "%s%s is %lld, %lld", i ? ", " : " ", d->place, (long long)d->first,
                        (long long)d->second);
    }
    hop_text_add(out, a->differences > a->differ.count ? ", ..\n" : "\n");
}

/* From left to right the way that the difference would have to go. */
static void print_trace(hop_text *out, const hop_refute_answer *a)
{
    hop_text_printf(out, "  how far they are apart behind each layer\n  %7s  %-12s %12s %12s %12s %12s\n",
                    "layer", "mixer", "where it is", "any behind", "its state", "last token");
    for (int64_t i = 0; i < a->trace.count; i++) {
        const hop_refute_layer *t = &a->trace.at[i];
        const double far[] = {t->own, t->stream, t->state, t->last_token};
        hop_text_printf(out, "  %7lld  %-12s", (long long)t->layer, t->mixer);
        for (size_t k = 0; k < sizeof far / sizeof far[0]; k++) {
            char text[32] = "-"; /* there is no state, or no number */
            if (!isnan(far[k])) snprintf(text, sizeof text, "%.4g", far[k]);
            hop_text_printf(out, " %12s", text);
        }
        hop_text_add(out, "\n");
    }
}

static void print_witness(hop_text *out, const hop_refute_answer *w)
{
    const hop_refute_prompt *a = w->prompts.at;
    bool input = strcmp(w->kind, "input") == 0;
    char said[ANSWER_SIZE];
    print_answer(said, a->answer);
    if (input)
        hop_text_printf(out, "  an input: the answer at token %lld is %lld, the network says %s\n",
                        (long long)a->position, (long long)a->right, said);
    else
        hop_text_printf(
            out, "  a %s: the answers to two prompts are %lld and %lld, the network says %s to both%s\n",
            w->kind, (long long)a->right, (long long)a[1].right, said,
            strcmp(w->kind, "collision") == 0 ? ": they leave the same states" : "");
    if (w->prompts.count < 2) return;
    print_answer(said, a[1].answer);
    if (input)
        hop_text_printf(out, "  beside it: another, whose answer is %lld; the network says %s\n",
                        (long long)a[1].right, said);
    print_differences(out, w);
    print_trace(out, w);
}

void show_refute(hop_text *out, const hop_response *r)
{
    const hop_refute_answer *a = r->data;
    hop_text_name(out, a->dir);
    hop_text_printf(out, ": %s", hop_refute_verdict_words[a->verdict]);
    if (a->by) hop_text_printf(out, ", by %s", a->by);
    hop_text_printf(out, "; %lld tried, %.2f s, %s\n", (long long)a->tried, a->seconds, a->sizes);
    if (a->verdict == HOP_REFUTE_FOUND) print_witness(out, a);
    for (int64_t i = 0; a->verdict == HOP_REFUTE_OPEN && i < a->strategies.count; i++) {
        const hop_refute_turn *t = &a->strategies.at[i];
        hop_text_printf(out, "  %-12s %12lld tried, %.1f s\n", t->name, (long long)t->tried, t->seconds);
    }
    if (!a->witness) return;
    hop_text_add(out, "  witness: ");
    hop_text_name(out, a->witness);
    hop_text_add(out, "\n");
}
