/* Instances of the task as the files hold them: one JSON object a line. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- instances ----------------------------------------------------------------------------- */

hop_status instance_reserve(instance *i, int64_t count, hop_error *err)
{
    if (count > i->capacity) {
        int32_t *more = realloc(i->tokens, (size_t)count * sizeof *more);
        if (!more) return hop_fail(err, HOP_ENOMEM, "%lld tokens: out of memory", (long long)count);
        i->tokens = more;
        i->capacity = count;
    }
    i->count = count;
    return HOP_OK;
}

hop_status instance_sample(instance *i, const hop_funccomp *t, uint64_t seed, uint64_t number, hop_error *err)
{
    hop_status s = instance_reserve(i, t->length, err);
    if (s != HOP_OK) return s;
    hop_rng rng;
    hop_rng_init(&rng, seed, number);
    hop_funccomp_sample(t, &rng, i->tokens);
    i->answer = hop_funccomp_solve(t, i->tokens, NULL);
    return HOP_OK;
}

hop_status instance_read(instance *i, const hop_json *line, hop_error *err)
{
    i->answer = -1;
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
    return hop_json_read_int(line, "answer", 0, INT32_MAX, &i->answer, err);
}

void instance_free(instance *i)
{
    free(i->tokens);
    *i = (instance){0};
}

static void write_list(hop_json_writer *w, const char *key, const int64_t *list, int count)
{
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int i = 0; i < count; i++) hop_json_put_int(w, list[i]);
    hop_json_end_array(w);
}

void instance_write(hop_json_writer *w, const hop_funccomp *t, const int32_t *tokens)
{
    int64_t chain[HOP_MAX_HOPS + 1];
    int64_t answer = hop_funccomp_solve(t, tokens, chain);
    hop_json_begin_object(w);
    hop_json_key(w, "tokens");
    hop_json_begin_array(w);
    for (int64_t p = 0; p < t->length; p++) hop_json_put_int(w, tokens[p]);
    hop_json_end_array(w);
    hop_json_integer(w, "answer", answer);
    write_list(w, "chain", chain, t->hops + 1);
    hop_json_integer(w, "hops", t->hops);
    hop_json_integer(w, "m", t->m);
    write_list(w, "fan", t->fan + 1, t->hops - 1);
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
