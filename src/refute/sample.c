/* Samples, as `run` draws and runs them. */
#include "room.h"

static hop_status run(hop__hunt *h, hop_instance *batch, int64_t to, hop_error *err)
{
    hop_status s = HOP_OK;
    while (s == HOP_OK && !hop__caught(h) && h->state->next < to) {
        int64_t left = to - h->state->next, count = left < hop__batch(h) ? left : hop__batch(h);
        for (int64_t i = 0; s == HOP_OK && i < count; i++)
            s = hop_instance_sample(&batch[i], h->task, h->o->seed, (uint64_t)h->state->next++, err);
        if (s == HOP_OK) s = hop__ask(h, batch, count, err);
    }
    return s;
}

static hop_status turn(hop__hunt *h, int number, hop_error *err)
{
    int64_t count = hop__quota(h, number, 1 << 16);
    hop_instance *batch;
    hop_eval_start(h->eval, "samples", (double)count);
    hop_status s = hop_instances_new(&batch, hop__batch(h), h->task->length, err);
    if (s == HOP_OK) s = run(h, batch, h->state->next + count, err);
    hop_instances_free(batch, hop__batch(h));
    return s;
}

static bool always(const hop__hunt *h)
{
    return (void)h, true;
}

const hop__strategy hop__sampling = {.name = "sampling", .applies = always, .turn = turn};
