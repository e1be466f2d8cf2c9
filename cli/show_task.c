/* What `task` prints for people, beside the instances. */
#include <hopbound/ask_task.h>

#include "cli.h"

static void show_checked(hop_text *out, const hop_task_checked *c)
{
    hop_text_printf(out, "checked %lld: %lld right, %lld wrong", (long long)c->checked, (long long)c->right,
                    (long long)c->wrong);
    if (c->wrong) hop_text_printf(out, ", the first in line %lld", (long long)c->first_wrong);
    hop_text_add(out, "\n");
}

void show_task(hop_text *out, const hop_response *r)
{
    if (r->record == &hop_task_checked_record) {
        show_checked(out, r->data);
        return;
    }
    if (r->record == &hop_task_harness_record) {
        const hop_task_harness *h = r->data;
        hop_text_name(out, h->dir);
        hop_text_printf(out, ": %lld tasks for lm-evaluation-harness, all called hopbound\n",
                        (long long)h->tasks.count);
        return;
    }
    const hop_task_written *w = r->data;
    hop_text_name(out, w->file);
    hop_text_printf(out, ": %lld instances of %s\n", (long long)w->count, w->sizes);
}
