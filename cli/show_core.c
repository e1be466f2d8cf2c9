/* What `core` prints for people. */
#include <hopbound/ask_core.h>

#include "cli.h"

void show_core(hop_text *out, const hop_response *r)
{
    const hop_core_answer *a = r->data;
    hop_text_printf(out, "%s, %s form, %s kernels, scale %.9g\n", a->core, a->form, a->isa, a->scale);
    for (int64_t i = 0; i < a->outputs.count; i++) {
        const hop_core_output *t = &a->outputs.at[i];
        hop_text_printf(out, "  %-11s [", t->name);
        for (int64_t d = 0; d < t->shape.count; d++)
            hop_text_printf(out, "%s%lld", d ? "," : "", (long long)t->shape.at[d]);
        hop_text_printf(out, "]  max |x| %.6g", t->max_abs);
        if (t->compared) hop_text_printf(out, "  max error %.3g", t->max_error);
        hop_text_add(out, "\n");
    }
}
