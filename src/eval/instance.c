/* Instances: a prompt with the answers wanted and given, and the line of JSON that it is in a file. */
#include <hopbound/eval.h>

/* ---- memory and solving ---------------------------------------------------------------------- */

/* tokens, targets and answers stand one behind the other in one block. */
hop_status hop_instance_reserve(hop_instance *i, int64_t count, hop_error *err)
{
    if (count > i->capacity) {
        size_t bytes;
        hop_free(i->tokens);
        i->tokens = hop_mul_size((size_t)count, 3 * sizeof *i->tokens, &bytes) ? hop_alloc(bytes) : NULL;
        i->capacity = i->tokens ? count : 0;
        i->count = 0;
        if (!i->tokens) return hop_fail(err, HOP_ENOMEM, "%lld tokens: out of memory", (long long)count);
    }
    i->count = count;
    i->targets = i->tokens + i->capacity;
    i->answers = i->targets + i->capacity;
    i->asked = 0;
    return HOP_OK;
}

void hop_instance_free(hop_instance *i)
{
    hop_free(i->tokens);
    hop_free(i->chain);
    *i = (hop_instance){0};
}

hop_status hop_instances_new(hop_instance **list, int64_t count, int64_t tokens, hop_error *err)
{
    *list = hop_alloc((size_t)count * sizeof **list);
    hop_status s = *list ? HOP_OK : hop_fail(err, HOP_ENOMEM, "instances: out of memory");
    for (int64_t i = 0; s == HOP_OK && i < count; i++) s = hop_instance_reserve(&(*list)[i], tokens, err);
    if (s != HOP_OK) {
        hop_instances_free(*list, count);
        *list = NULL;
    }
    return s;
}

void hop_instances_free(hop_instance *list, int64_t count)
{
    for (int64_t i = 0; list && i < count; i++) hop_instance_free(&list[i]);
    hop_free(list);
}

hop_status hop_instance_sample(hop_instance *i, const hop_task *t, uint64_t seed, uint64_t number,
                               hop_error *err)
{
    hop_status s = hop_instance_reserve(i, t->length, err);
    if (s != HOP_OK) return s;
    hop_rng rng;
    hop_rng_init(&rng, seed, number);
    hop_task_sample(t, &rng, i->tokens);
    i->asked = hop_task_solve(t, i->tokens, i->targets);
    return HOP_OK;
}

void hop_instance_solve(hop_instance *i, const hop_task *t)
{
    if (hop_task_check(t, i->tokens, i->count, NULL) == HOP_OK)
        i->asked = hop_task_solve(t, i->tokens, i->targets);
}

bool hop_instance_ends_in_answer(const hop_instance *i)
{
    return i->asked == 1 && i->targets[i->count - 1] >= 0;
}

bool hop_instance_correct(const hop_instance *i)
{
    return i->status == HOP_OK && i->asked > 0 && i->right == i->asked;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static hop_status read_targets(hop_instance *i, const hop_json *list, hop_error *err)
{
    if (list->type != HOP_JSON_ARRAY || (int64_t)list->count != i->count)
        return hop_fail(err, HOP_EFORMAT, "targets: not a list as long as tokens");
    int64_t at = 0;
    for (const hop_json *e = list->child; e; e = e->next, at++) {
        int64_t value = -1;
        if (e->type != HOP_JSON_NULL && !hop_json_int(e, -1, INT32_MAX, &value))
            return hop_fail(err, HOP_EFORMAT, "targets: number %lld is no token", (long long)at);
        i->targets[at] = (int32_t)value;
        i->asked += value >= 0;
    }
    return HOP_OK;
}

static hop_status read_answers(hop_instance *i, const hop_json *line, hop_error *err)
{
    const hop_json *targets = hop_json_get(line, "targets");
    int64_t answer = -1;
    for (int64_t p = 0; p < i->count; p++) i->targets[p] = -1;
    if (targets) return read_targets(i, targets, err);
    hop_status s = hop_json_read_int(line, "answer", 0, INT32_MAX, &answer, err);
    i->targets[i->count - 1] = (int32_t)answer;
    i->asked = answer >= 0;
    return s;
}

hop_status hop_instance_read(hop_instance *i, const hop_json *line, hop_error *err)
{
    const hop_json *tokens = hop_json_get(line, "tokens");
    if (!tokens || tokens->type != HOP_JSON_ARRAY || tokens->count == 0)
        return hop_fail(err, HOP_EFORMAT, "tokens: not a list of numbers");
    hop_status s = hop_instance_reserve(i, (int64_t)tokens->count, err);
    if (s != HOP_OK) return s;
    int64_t at = 0, value = 0;
    for (const hop_json *e = tokens->child; e; e = e->next) {
        if (!hop_json_int(e, 0, INT32_MAX, &value))
            return hop_fail(err, HOP_EFORMAT, "tokens: number %lld is no token", (long long)at);
        i->tokens[at++] = (int32_t)value;
    }
    return read_answers(i, line, err);
}

void hop_answers_write(hop_json_writer *w, const char *key, const int32_t *list, int64_t count)
{
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int64_t i = 0; i < count; i++)
        if (list[i] < 0)
            hop_json_put_null(w);
        else
            hop_json_put_int(w, list[i]);
    hop_json_end_array(w);
}

void hop_instance_write_members(const hop_instance *i, const hop_task *t, hop_json_writer *w)
{
    hop_answers_write(w, "tokens", i->tokens, i->count);
    if (t->kind == HOP_TASK_FUNCCOMP) {
        const hop_funccomp *f = &t->funccomp;
        int64_t chain[HOP_MAX_HOPS + 1];
        hop_json_integer(w, "answer", hop_funccomp_solve(f, i->tokens, chain));
        hop_json_integers(w, "chain", chain, f->hops + 1);
        hop_json_integer(w, "hops", f->hops);
        hop_json_integer(w, "m", f->m);
        hop_json_integers(w, "fan", f->fan + 1, f->hops - 1);
    } else {
        hop_answers_write(w, "targets", i->targets, i->count);
        hop_task_write_members(t, w);
    }
}

void hop_instance_write(const hop_instance *i, const hop_task *t, hop_json_writer *w)
{
    hop_json_begin_object(w);
    hop_instance_write_members(i, t, w);
    hop_json_end_object(w);
}
