/* Files of lines, read as they come. */
#include <hopbound/eval.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_SECONDS 2

/* Waits until somebody writes to a pipe, or has written; `first` receives a byte that had to be taken, or
 * EOF. A writer may then be as slow as it likes. */
static bool await_writer(int fd, int *first)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    double until = hop_now() + WAIT_SECONDS;
    *first = EOF;
    do {
        unsigned char byte;
        if (poll(&ready, 1, 20) > 0) return true;
        ssize_t got = read(fd, &byte, 1); /* 0: no writer; EAGAIN: one that is silent as yet */
        if (got > 0) *first = byte;
        if (got > 0 || (got < 0 && errno == EAGAIN)) return true;
    } while (hop_now() < until);
    return false;
}

/* Opening a pipe that nobody writes to would wait for a writer, and a device may have no end. */
static hop_status open_file(hop_jsonl *j, int fd, hop_error *err)
{
    struct stat st;
    int first = EOF, flags = fcntl(fd, F_GETFL);
    if (fstat(fd, &st) != 0) return hop_fail(err, HOP_EIO, "%s: %s", j->name, strerror(errno));
    if (S_ISDIR(st.st_mode)) return hop_fail(err, HOP_EIO, "%s: is a directory", j->name);
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        return hop_fail(err, HOP_EIO, "%s: neither a file nor a pipe; - is standard input", j->name);
    if (S_ISFIFO(st.st_mode) && !await_writer(fd, &first))
        return hop_fail(err, HOP_EIO, "%s: a pipe that nobody writes to", j->name);
    bool ok = fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 && (j->file = fdopen(fd, "rb"));
    if (ok && first != EOF) ungetc(first, j->file);
    return ok ? HOP_OK : hop_fail(err, HOP_EIO, "%s: %s", j->name, strerror(errno));
}

hop_status hop_jsonl_open(hop_jsonl *j, const char *path, hop_error *err)
{
    *j = (hop_jsonl){.name = path};
    if (strcmp(path, "-") == 0) {
        *j = (hop_jsonl){.file = stdin, .name = "standard input"};
        return HOP_OK;
    }
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return hop_fail(err, HOP_EIO, "%s: %s", path, strerror(errno));
    hop_status s = open_file(j, fd, err);
    if (s != HOP_OK) close(fd);
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
