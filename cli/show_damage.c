/* What `damage` prints for people. */
#include <hopbound/ask_damage.h>

#include "cli.h"

void show_damage(hop_text *out, const hop_response *r)
{
    const hop_damage_answer *a = r->data;
    hop_text_name(out, a->dir);
    hop_text_printf(out, ": %lld weight%s changed\n", (long long)a->changed.count,
                    a->changed.count == 1 ? "" : "s");
    for (int64_t i = 0; i < a->changed.count; i++) {
        const hop_damage_change *c = &a->changed.at[i];
        hop_text_printf(out, "  %s[%lld]: %.9g, was %.9g\n", c->tensor, (long long)c->index, c->to, c->from);
    }
}
