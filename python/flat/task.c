/* Tasks: instances by seed and number, and right answers. */
#include "flat.h"

#include <hopbound/eval.h>
#include <hopbound/tasks.h>

#include <string.h>

int hopflat_task_new(const char *json, void **out, char *why)
{
    hop_error err = {0};
    hop_json_doc doc = {0};
    hop_task *t = hop_alloc(sizeof *t);
    hop_status s =
        t ? hop_json_parse(&doc, json, strlen(json), &err) : hop_fail(&err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) s = hop_task_read(t, doc.root, &err);
    hop_json_free(&doc);
    if (s != HOP_OK) {
        hop_free(t);
        t = NULL;
    }
    *out = t;
    return hopflat__told(s, &err, why);
}

void hopflat_task_free(void *task)
{
    hop_free(task);
}

void hopflat_task_sizes(const void *task, int64_t sizes[3], double *log10_inputs)
{
    const hop_task *t = task;
    sizes[0] = t->length;
    sizes[1] = t->vocab;
    sizes[2] = hop_task_asks_everywhere(t);
    *log10_inputs = hop_task_log10_inputs(t);
}

char *hopflat_task_json(const void *task)
{
    hop_json_writer w = {0};
    hop_task_write(task, &w);
    return hopflat__handed_out(&w.text);
}

int hopflat_task_sample(const void *task, uint64_t seed, const uint64_t range[2], int32_t *tokens,
                        int32_t *targets, char *why)
{
    const hop_task *t = task;
    hop_error err = {0};
    hop_instance it = {0};
    hop_status s = HOP_OK;
    for (uint64_t i = 0; s == HOP_OK && i < range[1]; i++) {
        s = hop_instance_sample(&it, t, seed, range[0] + i, &err);
        if (s != HOP_OK) break;
        memcpy(tokens + i * (uint64_t)t->length, it.tokens, sizeof(int32_t) * (size_t)t->length);
        memcpy(targets + i * (uint64_t)t->length, it.targets, sizeof(int32_t) * (size_t)t->length);
    }
    hop_instance_free(&it);
    return hopflat__told(s, &err, why);
}

int hopflat_task_solve(const void *task, const int32_t *tokens, int64_t count, int32_t *targets, char *why)
{
    hop_error err = {0};
    hop_status s = hop_task_check(task, tokens, count, &err);
    if (s == HOP_OK) hop_task_solve(task, tokens, targets);
    return hopflat__told(s, &err, why);
}
