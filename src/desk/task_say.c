/* An instance as people read it. */
#include "task.h"

#include <stdio.h>

static void write_segment(hop_text *out, const hop_funccomp *t, const int32_t *tokens, int l)
{
    hop_text_printf(out, "  z_%d =", l);
    int64_t count = l ? t->size[l - 1] : 1;
    for (int64_t i = 0; i < count; i++) {
        hop_text_add(out, " ");
        hop_text_integer(out, tokens[t->start[l] + i]);
    }
    hop_text_add(out, "\n");
}

static void write_funccomp(hop_text *out, const hop_funccomp *t, const int32_t *tokens)
{
    int64_t chain[HOP_MAX_HOPS + 1], w = tokens[t->length - 1];
    int64_t answer = hop_funccomp_solve(t, tokens, chain);
    for (int l = t->hops; l >= 0; l--) write_segment(out, t, tokens, l);
    hop_text_printf(out, "  w = %lld", (long long)w);
    for (int l = 1; l < t->hops; l++)
        hop_text_printf(out, "%sw_%d=%lld", l == 1 ? " (" : ", ", l, (long long)hop_funccomp_digit(t, w, l));
    hop_text_add(out, t->hops > 1 ? ")\n  chain " : "\n  chain ");
    for (int l = 0; l <= t->hops; l++) hop_text_printf(out, "%s%lld", l ? " -> " : "", (long long)chain[l]);
    hop_text_printf(out, "\n  answer %lld\n", (long long)answer);
}

/* A line of tokens and a line of targets, - where nothing is asked; columns as wide as the largest token. */
static void write_lines(hop_text *out, const hop_task *t, const hop_instance *i)
{
    int width = snprintf(NULL, 0, "%lld", (long long)(t->vocab - 1));
    hop_text_add(out, "  tokens ");
    for (int64_t p = 0; p < i->count; p++) hop_text_printf(out, " %*ld", width, (long)i->tokens[p]);
    hop_text_add(out, "\n  targets");
    for (int64_t p = 0; p < i->count; p++)
        if (i->targets[p] < 0)
            hop_text_printf(out, " %*s", width, "-");
        else
            hop_text_printf(out, " %*ld", width, (long)i->targets[p]);
    hop_text_add(out, "\n");
}

void hop__task_say(hop_text *out, const hop_task *t, const hop_instance *i, int64_t number)
{
    hop_text_printf(out, "instance %lld (", (long long)number);
    hop_sizes_say(out, t);
    hop_text_add(out, ")\n");
    if (t->kind == HOP_TASK_FUNCCOMP)
        write_funccomp(out, &t->funccomp, i->tokens);
    else
        write_lines(out, t, i);
}
