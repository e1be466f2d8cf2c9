/* log.jsonl: a line a measurement, appended as they come. A training that is taken up again first drops the
 * lines that it is going to write once more. */
#include "room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MOST_LOG ((size_t)1 << 30)

/* Whether a line is whole, of a step up to `step`, and not the last, which is measured again. */
static bool stays(const char *line, size_t length, int64_t step)
{
    hop_json_doc doc = {0};
    int64_t at = -1;
    bool kept = false, last = false;
    if (hop_json_parse(&doc, line, length, NULL) == HOP_OK &&
        hop_json_read_bool(doc.root, "last", &last, NULL) == HOP_OK)
        kept = !last && hop_json_int(hop_json_get(doc.root, "step"), 0, step, &at);
    hop_json_free(&doc);
    return kept;
}

hop_status hop__log_begin(const char *dir, int64_t step, hop_error *err)
{
    char path[4096];
    hop_file old = {0};
    hop_text kept = {0};
    hop_status s = hop_path_join(path, sizeof path, dir, HOP__LOG, err);
    if (s != HOP_OK) return s;
    if (step >= 0 && hop_is_there(path)) s = hop_file_load(&old, path, MOST_LOG, err);
    if (s != HOP_OK) return s;
    for (size_t at = 0; at < old.size;) {
        const char *line = (const char *)old.data + at;
        const char *end = memchr(line, '\n', old.size - at);
        if (!end) break;
        size_t length = (size_t)(end - line);
        if (stays(line, length, step)) hop_text_addn(&kept, line, length + 1);
        at += length + 1;
    }
    hop_file_free(&old);
    s = kept.failed ? hop_fail(err, HOP_ENOMEM, "%s: out of memory", path)
                    : hop_file_write(path, kept.s ? kept.s : "", kept.len, err);
    hop_text_free(&kept);
    return s;
}

static hop_status append(const char *path, const hop_text *line, hop_error *err)
{
    errno = 0;
    FILE *f = fopen(path, "ab");
    bool written = f && fwrite(line->s, 1, line->len, f) == line->len;
    if (f && fclose(f) != 0) written = false;
    return written ? HOP_OK : hop_fail(err, HOP_EIO, "%s: %s", path, strerror(errno));
}

hop_status hop__log_add(const char *dir, const hop_measure *m, double lr, hop_error *err)
{
    char path[4096];
    hop_json_writer w = {0};
    hop_status s = hop_path_join(path, sizeof path, dir, HOP__LOG, err);
    if (s != HOP_OK) return s;
    hop_json_begin_object(&w);
    hop_json_integer(&w, "step", m->step);
    hop_json_number(&w, "loss", m->loss);
    hop_json_number(&w, "lr", lr);
    hop_json_integer(&w, "instances", m->instances);
    hop_json_integer(&w, "correct", m->correct);
    hop_json_number(&w, "accuracy", m->accuracy);
    hop_json_number(&w, "low", m->low);
    hop_json_number(&w, "high", m->high);
    hop_json_number(&w, "answers", m->answers);
    hop_json_number(&w, "chance", m->chance);
    hop_json_number(&w, "seconds", m->seconds);
    hop_json_number(&w, "tokens_per_second", m->tokens_per_second);
    hop_json_boolean(&w, "last", m->last);
    hop_json_end_object(&w);
    hop_text_add(&w.text, "\n");
    s = w.text.failed ? hop_fail(err, HOP_ENOMEM, "%s: out of memory", path) : append(path, &w.text, err);
    hop_text_free(&w.text);
    return s;
}
