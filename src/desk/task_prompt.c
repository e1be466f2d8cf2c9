/* An instance in words that a language model reads: tables with their keys, so that looking up is no counting.
 *
 *     C: 0,0=17 0,1=5 ..         the last table; its keys are a branch and a number
 *     B: 0,0=2 ..
 *     A: 0=3 1=7 ..              the first one, whose keys are numbers
 *     start: 3
 *     branches (B 1, C 0): 1     digits for those who read them; behind the colon the token w, of which they are the digits
 *     answer:
 *
 * Without what stands in parentheses, before an equals sign or is no number, these are the instance's tokens. In easy order
 * start and branches come first and the first table before the second, so that whoever reads carries one number on. */
#include "task.h"

static char letter_of(int l)
{
    return (char)('A' + l - 1);
}

static void add_table(hop_text *out, const hop_funccomp *t, const int32_t *tokens, int l)
{
    hop_text_printf(out, "%c:", letter_of(l));
    for (int64_t j = 0; j < t->size[l - 1]; j++) {
        hop_text_add(out, " ");
        if (l > 1) hop_text_printf(out, "%lld,", (long long)(j / t->size[l - 2]));
        hop_text_printf(out, "%lld=%ld", (long long)(l > 1 ? j % t->size[l - 2] : j),
                        (long)tokens[t->start[l] + j]);
    }
    hop_text_add(out, "\n");
}

static void add_question(hop_text *out, const hop_funccomp *t, const int32_t *tokens)
{
    const long w = (long)tokens[t->length - 1];
    hop_text_printf(out, "start: %ld\nbranches (", (long)tokens[t->start[0]]);
    for (int l = 1; l < t->hops; l++)
        hop_text_printf(out, "%s%c %lld", l > 1 ? ", " : "", letter_of(l + 1),
                        (long long)hop_funccomp_digit(t, w, l));
    hop_text_printf(out, "%s): %ld\n", t->hops > 1 ? "" : "none", w);
}

void hop__task_prompt(hop_text *out, const hop_funccomp *t, const int32_t *tokens, bool easy)
{
    if (easy) add_question(out, t, tokens);
    for (int l = t->hops; l >= 1; l--) add_table(out, t, tokens, easy ? t->hops + 1 - l : l);
    if (!easy) add_question(out, t, tokens);
    hop_text_add(out, "answer:");
}
