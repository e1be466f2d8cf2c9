/* What `run` prints for people. */
#include <hopbound/ask_run.h>

#include <math.h>

#include "cli.h"

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

void show_run(hop_text *out, const hop_response *r)
{
    const hop_run_answer *a = r->data;
    hop_text_name(out, a->dir);
    hop_text_printf(out, ": %lld instance%s", (long long)a->instances, plural(a->instances));
    if (a->with_answer)
        hop_text_printf(out, ", %lld of %lld correct, accuracy %.6g", (long long)a->correct,
                        (long long)a->with_answer, a->accuracy);
    if (!isnan(a->chance)) hop_text_printf(out, " (by chance 1 in %.0f)", 1 / a->chance);
    if (a->targets > a->with_answer)
        hop_text_printf(out, "; %lld of %lld targets", (long long)a->targets_correct, (long long)a->targets);
    hop_text_printf(out, "\n  %lld token%s in %.2f s, %.0f tokens/s, %lld thread%s, %s kernels, %lld bits",
                    (long long)a->tokens, plural(a->tokens), a->seconds, a->tokens_per_second,
                    (long long)a->threads, plural(a->threads), a->isa, (long long)a->precision);
    if (a->players != HOP_NO_COUNT)
        hop_text_printf(out, ", %lld bits between %lld player%s", (long long)a->message_bits,
                        (long long)a->players, plural(a->players));
    hop_text_printf(out, "\n  %lld layer%s, %.0f layers/s\n", (long long)a->layers, plural(a->layers),
                    a->layers_per_second);
}
