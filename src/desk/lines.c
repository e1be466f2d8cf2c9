/* Lines that a verb writes on its way, so that memory does not grow with their number. */
#include <errno.h>
#include <string.h>
#include "desk.h"

hop_status hop__lines_open(hop_lines *s, const char *path, const hop_request *q, hop_error *err)
{
    const bool dash = path && strcmp(path, "-") == 0; /* as for input */
    *s = (hop_lines){.path = dash ? NULL : path, .front = q->front};
    if (s->path) return hop_output_open(&s->file, s->path, err);
    if (!s->front || !s->front->lines || (dash && s->front->lines == hop__into_answer))
        return hop_fail(err, HOP_EUSAGE, "-: there is no standard output here; name a file");
    return HOP_OK;
}

bool hop__lines_write(hop_lines *s, hop_text *t)
{
    if (t->failed) {
        s->error = ENOMEM;
    } else if (s->path) {
        hop_output_write(&s->file, t->s, t->len);
        if (s->file.failed != HOP_OK && !s->error) s->error = errno;
    } else if (t->len && !s->front->lines(s->front->ctx, t->s, t->len)) {
        s->error = errno;
    }
    t->len = 0;
    return s->error == 0;
}

hop_status hop__lines_close(hop_lines *s, bool keep, hop_error *err)
{
    if (s->path && keep && !s->error) return hop_output_commit(&s->file, err);
    if (s->path) hop_output_abort(&s->file);
    if (!s->path && !s->error && !s->front->lines(s->front->ctx, NULL, 0)) s->error = errno;
    if (s->error && keep)
        return hop_fail(err, HOP_EIO, "%s: %s", s->path ? s->path : "standard output", strerror(s->error));
    return HOP_OK;
}
