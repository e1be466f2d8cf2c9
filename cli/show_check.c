/* What `check` prints for people; what is rejected is a line on standard error. */
#include <hopbound/ask_check.h>

#include <string.h>
#include "cli.h"

void show_check(hop_text *out, const hop_response *r)
{
    const hop_check_answer *c = r->data;
    bool bound = c->kind && strcmp(c->kind, "bound") == 0,
         network = c->kind && strcmp(c->kind, "drat") != 0 && strcmp(c->kind, "protocol") != 0 && !bound;
    if (!c->valid) return;
    hop_text_name(out, c->file);
    hop_text_printf(out, ": valid: %s\n", c->why);
    if (bound && c->passes > 1)
        hop_text_printf(out, "  the last of %lld certificates, all of them valid\n", (long long)c->passes);
    if (network)
        hop_text_printf(
            out, "  %lld passes, %.2f s; the answer is %.4g above the next, which rounding moves by %.2g\n",
            (long long)c->passes, c->seconds, c->margin, c->spread);
}
