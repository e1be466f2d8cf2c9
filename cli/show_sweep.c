/* What `sweep` prints for people. */
#include <hopbound/ask_sweep.h>

#include "cli.h"

void show_sweep(hop_text *out, const hop_response *r)
{
    const hop_sweep_answer *a = r->data;
    hop_text_printf(out, "%lld run%s: %lld done, %lld failed (%lld of them ended before); ",
                    (long long)a->runs, a->runs == 1 ? "" : "s", (long long)a->done, (long long)a->failed,
                    (long long)a->skipped);
    hop_text_name(out, a->database);
    if (a->picture) hop_text_add(out, ", ");
    if (a->picture) hop_text_name(out, a->picture);
    hop_text_add(out, "\n");
}
