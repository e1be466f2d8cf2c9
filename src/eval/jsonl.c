/* Files of lines, read as they come. */
#include <hopbound/eval.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

hop_status hop_jsonl_open(hop_jsonl *j, const char *path, hop_error *err)
{
    *j = (hop_jsonl){.name = path};
    if (strcmp(path, "-") == 0) {
        *j = (hop_jsonl){.file = stdin, .name = "standard input"};
        return HOP_OK;
    }
    void *file;
    hop_status s = hop_stream_open(&file, path, err);
    j->file = file;
    return s;
}

hop_status hop_jsonl_fail(const hop_jsonl *j, hop_status s, hop_error *err)
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

hop_status hop_jsonl_next(hop_jsonl *j, hop_json_doc *doc, hop_error *err)
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
            if (err) drop_line_number(err);
            return hop_jsonl_fail(j, s, err);
        }
        if (doc->root->type == HOP_JSON_OBJECT) return HOP_OK;
        hop_json_free(doc);
        return hop_jsonl_fail(j, hop_fail(err, HOP_EFORMAT, "not a JSON object"), err);
    }
}

void hop_jsonl_close(hop_jsonl *j)
{
    if (j->file && j->file != stdin) fclose(j->file);
    free(j->line);
    *j = (hop_jsonl){0};
}
