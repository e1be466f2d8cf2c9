/* What verdicts suppose, under every table of them. */
#include "cli.h"

#include <string.h>

#define TEXT_WIDTH 108

/* "verdict: lead clause.", in lines. */
static void say_clause(hop_text *out, const char *verdict, const char *lead, const char *clause)
{
    hop_text_printf(out, "%s: %s ", verdict, lead);
    add_words(out, clause, (int)(strlen(verdict) + strlen(lead)) + 3, 2, TEXT_WIDTH);
    hop_text_add(out, ".\n");
}

void say_any_weights(hop_text *out)
{
    say_clause(out, "impossible", "for any weights of networks that are", HOP_BOUNDS_MODEL);
}

void say_known_weights(hop_text *out, const char *verdict)
{
    say_clause(out, verdict, "by weights that are known, where", HOP_BOUNDS_IDEALISED);
}
