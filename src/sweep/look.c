/* What stands in a store of some runs: for those who draw it, while it grows or when it is done. */
#include "room.h"

#include <stdlib.h>
#include <string.h>

static hop_status look_up(hop_store *s, hop_sweep_outcome *out, const hop_recipe *r, hop_error *err)
{
    hop_hash h;
    char *text = hop__run_text(r);
    if (!text) return hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_hash_init(&h);
    hop_hash_add(&h, text, strlen(text));
    *out = (hop_sweep_outcome){.recipe = hop_hash_end(&h)};
    hop_status got = s ? s->look(s, text, out, err) : HOP_OK;
    free(text);
    return got;
}

hop_status hop_sweep_look(hop_sweep_outcome *out, const hop_recipe *list, int64_t count, hop_store *store,
                          const hop_progress *progress, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int64_t i = 0; s == HOP_OK && i < count; i++)
        s = hop_progress_tick(progress, "runs looked up", (double)i, (double)count)
                ? look_up(store, &out[i], &list[i], err)
                : hop_fail(err, HOP_ESTOPPED, "stopped on request");
    return s;
}
