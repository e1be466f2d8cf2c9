/* Instances of the task as the files hold them: one JSON object a line. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- instances ----------------------------------------------------------------------------- */

static bool grow(int32_t **list, int64_t count)
{
    int32_t *more = realloc(*list, (size_t)count * sizeof *more);
    if (more) *list = more;
    return more != NULL;
}

hop_status instance_reserve(instance *i, int64_t count, hop_error *err)
{
    if (count > i->capacity) {
        if (!grow(&i->tokens, count) || !grow(&i->targets, count))
            return hop_fail(err, HOP_ENOMEM, "%lld tokens: out of memory", (long long)count);
        i->capacity = count;
    }
    i->count = count;
    return HOP_OK;
}

hop_status instance_sample(instance *i, const hop_task *t, uint64_t seed, uint64_t number, hop_error *err)
{
    hop_status s = instance_reserve(i, t->length, err);
    if (s != HOP_OK) return s;
    hop_rng rng;
    hop_rng_init(&rng, seed, number);
    hop_task_sample(t, &rng, i->tokens);
    i->asked = hop_task_solve(t, i->tokens, i->targets);
    return HOP_OK;
}

static hop_status read_targets(instance *i, const hop_json *list, hop_error *err)
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

static hop_status read_answers(instance *i, const hop_json *line, hop_error *err)
{
    const hop_json *targets = hop_json_get(line, "targets");
    int64_t answer = -1;
    i->asked = 0;
    for (int64_t p = 0; p < i->count; p++) i->targets[p] = -1;
    if (targets) return read_targets(i, targets, err);
    hop_status s = hop_json_read_int(line, "answer", 0, INT32_MAX, &answer, err);
    i->targets[i->count - 1] = (int32_t)answer;
    i->asked = answer >= 0;
    return s;
}

hop_status instance_read(instance *i, const hop_json *line, hop_error *err)
{
    const hop_json *tokens = hop_json_get(line, "tokens");
    if (!tokens || tokens->type != HOP_JSON_ARRAY || tokens->count == 0)
        return hop_fail(err, HOP_EFORMAT, "tokens: not a list of numbers");
    hop_status s = instance_reserve(i, (int64_t)tokens->count, err);
    if (s != HOP_OK) return s;
    int64_t at = 0, value = 0;
    for (const hop_json *e = tokens->child; e; e = e->next) {
        if (!hop_json_int(e, 0, INT32_MAX, &value))
            return hop_fail(err, HOP_EFORMAT, "tokens: number %lld is no token", (long long)at);
        i->tokens[at++] = (int32_t)value;
    }
    return read_answers(i, line, err);
}

void instance_solve(instance *i, const hop_task *t)
{
    if (hop_task_check(t, i->tokens, i->count, NULL) == HOP_OK)
        i->asked = hop_task_solve(t, i->tokens, i->targets);
}

bool instance_ends_in_answer(const instance *i)
{
    return i->asked == 1 && i->targets[i->count - 1] >= 0;
}

void instance_free(instance *i)
{
    free(i->tokens);
    free(i->targets);
    *i = (instance){0};
}

void write_answers(hop_json_writer *w, const char *key, const int32_t *list, int64_t count)
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

static void write_list(hop_json_writer *w, const char *key, const int64_t *list, int count)
{
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int i = 0; i < count; i++) hop_json_put_int(w, list[i]);
    hop_json_end_array(w);
}

void instance_write(hop_json_writer *w, const hop_task *t, const instance *i)
{
    hop_json_begin_object(w);
    write_answers(w, "tokens", i->tokens, i->count);
    if (t->kind == HOP_TASK_FUNCCOMP) {
        const hop_funccomp *f = &t->funccomp;
        int64_t chain[HOP_MAX_HOPS + 1];
        hop_json_integer(w, "answer", hop_funccomp_solve(f, i->tokens, chain));
        write_list(w, "chain", chain, f->hops + 1);
        hop_json_integer(w, "hops", f->hops);
        hop_json_integer(w, "m", f->m);
        write_list(w, "fan", f->fan + 1, f->hops - 1);
    } else {
        write_answers(w, "targets", i->targets, i->count);
        sizes_write(w, t);
    }
    hop_json_end_object(w);
}

/* ---- files of lines ------------------------------------------------------------------------ */

hop_status jsonl_open(jsonl *j, const char *path, hop_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    *j = (jsonl){.name = standard ? "standard input" : path};
    if (!standard && hop_is_dir(path)) return hop_fail(err, HOP_EIO, "%s: is a directory", path);
    j->file = standard ? stdin : fopen(path, "rb");
    return j->file ? HOP_OK : hop_fail(err, HOP_EIO, "%s: %s", path, strerror(errno));
}

hop_status jsonl_fail(const jsonl *j, hop_status s, hop_error *err)
{
    char where[300];
    snprintf(where, sizeof where, "%.250s:%lld", j->name, (long long)j->number);
    return hop_fail_in(err, s, where);
}

/* Every document is one line, so its reader's "line 1, " says nothing. */
static void drop_line_number(hop_error *err)
{
    static const char useless[] = "line 1, ";
    size_t n = sizeof useless - 1;
    if (strncmp(err->text, useless, n) == 0) memmove(err->text, err->text + n, strlen(err->text + n) + 1);
}

hop_status jsonl_next(jsonl *j, hop_json_doc *doc, hop_error *err)
{
    *doc = (hop_json_doc){0};
    for (;;) {
        errno = 0;
        ssize_t length = getline(&j->line, &j->capacity, j->file);
        if (length < 0) {
            if (feof(j->file) && !ferror(j->file)) return HOP_OK;
            return hop_fail(err, errno == ENOMEM ? HOP_ENOMEM : HOP_EIO, "%s: %s", j->name, strerror(errno));
        }
        j->number++;
        if (strspn(j->line, " \t\r\n") == (size_t)length) continue;
        hop_status s = hop_json_parse(doc, j->line, (size_t)length, err);
        if (s != HOP_OK) {
            drop_line_number(err);
            return jsonl_fail(j, s, err);
        }
        if (doc->root->type == HOP_JSON_OBJECT) return HOP_OK;
        hop_json_free(doc);
        return jsonl_fail(j, hop_fail(err, HOP_EFORMAT, "not a JSON object"), err);
    }
}

void jsonl_close(jsonl *j)
{
    if (j->file && j->file != stdin) fclose(j->file);
    free(j->line);
    *j = (jsonl){0};
}
