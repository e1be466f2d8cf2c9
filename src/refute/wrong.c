/* Which of the inputs that were run is answered wrongly, and where. */
#include <hopbound/refute.h>

#include <string.h>

static hop_status keep_wrong(hop_wrong *f, const hop_instance *x, hop_error *err)
{
    int64_t p = 0;
    while (x->targets[p] < 0 || x->answers[p] == x->targets[p]) p++;
    f->tokens = hop_alloc(sizeof *f->tokens * (size_t)x->count);
    if (!f->tokens) return hop_fail(err, HOP_ENOMEM, "out of memory");
    memcpy(f->tokens, x->tokens, sizeof *f->tokens * (size_t)x->count);
    f->position = p;
    f->expected = x->targets[p];
    f->got = x->answers[p] == HOP_NOT_ASKED ? -1 : x->answers[p]; /* it generates, and was silent there */
    return HOP_OK;
}

hop_status hop_wrong_find(hop_wrong *found, const hop_instance *batch, int64_t count, int64_t first,
                          hop_error *err)
{
    for (int64_t i = 0; i < count; i++) {
        if (batch[i].status == HOP_ESTOPPED) continue; /* it was not run */
        if (batch[i].status != HOP_OK) {
            if (err) *err = batch[i].err;
            return batch[i].status;
        }
        if (batch[i].right == batch[i].asked) continue;
        found->number = first + i;
        return keep_wrong(found, &batch[i], err);
    }
    return HOP_OK;
}
