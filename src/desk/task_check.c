/* task --check: the answers in a file, beside the solver's. */
#include "task.h"

#include <stdlib.h>
#include <string.h>

/* The line's chain, where it has one, must be the solver's. */
static hop_status check_chain(const hop_json *line, const int64_t *chain, int hops, bool *right,
                              hop_error *err)
{
    const hop_json *given = hop_json_get(line, "chain");
    if (!given) return HOP_OK;
    if (given->type != HOP_JSON_ARRAY) return hop_fail(err, HOP_EFORMAT, "chain: not a list of numbers");
    if (given->count != (size_t)hops + 1) *right = false;
    int l = 0;
    for (const hop_json *e = given->child; e; e = e->next, l++) {
        int64_t value = 0;
        if (!hop_json_int(e, INT64_MIN, INT64_MAX, &value))
            return hop_fail(err, HOP_EFORMAT, "chain: number %d is no integer", l);
        if (l <= hops && value != chain[l]) *right = false;
    }
    return HOP_OK;
}

/* The line's own sizes where it has some, else those of the options. */
static hop_status sizes_of_line(const hop_json *line, const hop_task *sizes, hop_task *out, hop_error *err)
{
    bool named = hop_json_get(line, "name") != NULL;
    bool first = hop_json_get(line, "hops") || hop_json_get(line, "m") || hop_json_get(line, "fan");
    *out = *sizes;
    return named || (first && sizes->kind == HOP_TASK_FUNCCOMP) ? hop_task_read(out, line, err) : HOP_OK;
}

static hop_status check_line(const hop_json *line, const hop_task *sizes, hop_instance *one, bool *right,
                             hop_error *err)
{
    hop_task t;
    hop_status s = sizes_of_line(line, sizes, &t, err);
    if (s == HOP_OK) s = hop_instance_read(one, line, err);
    if (s == HOP_OK && one->asked == 0)
        s = hop_fail(err, HOP_EFORMAT, "%s: missing", t.kind == HOP_TASK_FUNCCOMP ? "answer" : "targets");
    if (s == HOP_OK) s = hop_task_check(&t, one->tokens, one->count, err);
    if (s != HOP_OK) return s;
    int32_t *solved = malloc((size_t)t.length * sizeof *solved);
    if (!solved) return hop_fail(err, HOP_ENOMEM, "%lld tokens: out of memory", (long long)t.length);
    hop_task_solve(&t, one->tokens, solved);
    *right = memcmp(solved, one->targets, (size_t)t.length * sizeof *solved) == 0;
    free(solved);
    if (t.kind != HOP_TASK_FUNCCOMP) return HOP_OK;
    int64_t chain[HOP_MAX_HOPS + 1];
    hop_funccomp_solve(&t.funccomp, one->tokens, chain);
    return check_chain(line, chain, t.funccomp.hops, right, err);
}

static hop_status check_all(const hop_request *q, const hop_task *sizes, hop_jsonl *in, hop_task_checked *sum,
                            hop_error *err)
{
    hop_instance one = {0};
    hop_json_doc doc = {0};
    hop_status s;
    while ((s = hop_jsonl_next(in, &doc, err)) == HOP_OK && doc.root) {
        bool right = false;
        s = check_line(doc.root, sizes, &one, &right, err);
        hop_json_free(&doc);
        if (s != HOP_OK) {
            s = hop_jsonl_fail(in, s, err);
            break;
        }
        sum->checked++;
        sum->right += right;
        sum->wrong += !right;
        if (!right && sum->first_wrong == HOP_NO_COUNT) sum->first_wrong = in->number;
        if (!hop_progress_tick(&q->progress, "checked", (double)sum->checked, 0)) {
            s = hop_fail(err, HOP_ESTOPPED, "stopped: on request");
            break;
        }
    }
    hop_instance_free(&one);
    return s;
}

hop_status hop__task_check(hop_response *out, const hop_request *q, const char *path, const hop_task *sizes,
                           hop_error *err)
{
    hop_jsonl in;
    hop_task_checked *sum = hop_response_begin(out, &hop_task_checked_record, err);
    if (!sum) return HOP_ENOMEM;
    *sum = (hop_task_checked){.file = hop_keep_text(&out->memory, path), .first_wrong = HOP_NO_COUNT};
    hop_status s = hop_jsonl_open(&in, path, err);
    if (s != HOP_OK) return s;
    s = check_all(q, sizes, &in, sum, err);
    hop_jsonl_close(&in);
    if (sum->wrong) out->exit = HOP_EXIT_COUNTEREXAMPLE;
    return s == HOP_OK ? hop_response_end(out, err) : s;
}
