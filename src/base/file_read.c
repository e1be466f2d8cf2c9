/* Reading files. They come from strangers, and anything may stand under a name: what is not a regular file, or,
 * where one may be given, a pipe that somebody writes to, is refused at once, since opening it might wait and
 * reading it might never end. Nothing is mapped: a mapped file that somebody cuts short ends the process, a
 * read of it comes back short. */
#include <hopbound/base.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_BYTES  65536
#define WAIT_SECONDS 2 /* for somebody who writes to a pipe */

/* ---- opening ------------------------------------------------------------------------------- */

static hop_status check_kind(const struct stat *st, const char *path, bool pipes, hop_error *err)
{
    if (S_ISREG(st->st_mode) || (pipes && S_ISFIFO(st->st_mode))) return HOP_OK;
    if (S_ISDIR(st->st_mode)) return hop_fail(err, HOP_EIO, "%s: is a directory", path);
    return hop_fail(err, HOP_EIO, "%s: %s", path, pipes ? "neither a file nor a pipe" : "is not a file");
}

/* The kind is asked before, because opening a device can do something, and after, because the name may have
 * got another meaning since. Not blocking: a pipe would wait for its writer. */
static hop_status open_kind(int *fd, struct stat *st, const char *path, bool pipes, hop_error *err)
{
    *fd = -1;
    if (stat(path, st) == 0) {
        hop_status s = check_kind(st, path, pipes, err);
        if (s != HOP_OK) return s;
    }
    *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, st) != 0) {
        int why = errno;
        if (*fd >= 0) close(*fd);
        return hop_fail(err, HOP_EIO, "%s: %s", path, strerror(why));
    }
    hop_status s = check_kind(st, path, pipes, err);
    if (s != HOP_OK) close(*fd);
    return s;
}

bool hop_is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool hop_is_pipe(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* ---- in pieces ----------------------------------------------------------------------------- */

hop_status hop_input_open(hop_input *in, const char *path, hop_error *err)
{
    struct stat st;
    int fd;
    *in = (hop_input){0};
    hop_status s = open_kind(&fd, &st, path, false, err);
    if (s == HOP_OK) *in = (hop_input){.fd = fd, .open = true, .size = (int64_t)st.st_size};
    return s;
}

hop_status hop_input_read(const hop_input *in, void *to, size_t bytes, int64_t at, hop_error *err)
{
    unsigned char *out = to;
    while (bytes) {
        ssize_t got = pread(in->fd, out, bytes, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return hop_fail(err, HOP_EIO, "%s", strerror(errno));
        if (got == 0) return hop_fail(err, HOP_EIO, "was cut short while it was read");
        out += got;
        at += got;
        bytes -= (size_t)got;
    }
    return HOP_OK;
}

void hop_input_close(hop_input *in)
{
    if (in->open) close(in->fd);
    *in = (hop_input){0};
}

/* ---- whole --------------------------------------------------------------------------------- */

static hop_status too_long(const char *path, size_t most, hop_error *err)
{
    return hop_fail(err, HOP_EFORMAT, "%s: more than the %zu bytes that it may have", path, most);
}

static hop_status load(hop_file *f, const hop_input *in, const char *path, size_t most, hop_error *err)
{
    size_t size = (size_t)in->size;
    if (size > most) return too_long(path, most, err);
    unsigned char *data = hop_memory_has(size) ? hop_alloc_raw(size) : NULL;
    if (!data) return hop_fail(err, HOP_ENOMEM, "%s: too large to read", path);
    hop_status s = hop_input_read(in, data, size, 0, err);
    if (s == HOP_OK)
        *f = (hop_file){.data = data, .size = size};
    else
        hop_free(data);
    return s == HOP_OK ? s : hop_fail_in(err, s, path);
}

hop_status hop_file_load(hop_file *f, const char *path, size_t most, hop_error *err)
{
    hop_input in;
    *f = (hop_file){0};
    hop_status s = hop_input_open(&in, path, err);
    if (s != HOP_OK) return s;
    s = load(f, &in, path, most, err);
    hop_input_close(&in);
    return s;
}

void hop_file_free(hop_file *f)
{
    hop_free((void *)(uintptr_t)f->data);
    *f = (hop_file){0};
}

/* ---- as it comes --------------------------------------------------------------------------- */

/* Waits until somebody writes to a pipe, or has written; `first` receives a byte that had to be taken, or
 * EOF. A writer may then be as slow as it likes. */
static bool await_writer(int fd, int *first)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    double until = hop_now() + WAIT_SECONDS;
    do {
        unsigned char byte;
        if (poll(&ready, 1, 20) > 0) return true;
        ssize_t got = read(fd, &byte, 1); /* 0: no writer; EAGAIN: one that is silent as yet */
        if (got > 0) *first = byte;
        if (got > 0 || (got < 0 && errno == EAGAIN)) return true;
    } while (hop_now() < until);
    return false;
}

hop_status hop_stream_open(void **stream, const char *path, hop_error *err)
{
    struct stat st;
    int fd, first = EOF;
    FILE *in = NULL;
    *stream = NULL;
    hop_status s = open_kind(&fd, &st, path, true, err);
    if (s != HOP_OK) return s;
    if (S_ISFIFO(st.st_mode) && !await_writer(fd, &first)) {
        close(fd);
        return hop_fail(err, HOP_EIO, "%s: a pipe that nobody writes to", path);
    }
    int flags = fcntl(fd, F_GETFL);
    bool ok = fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 && (in = fdopen(fd, "rb"));
    if (ok && first != EOF) ungetc(first, in);
    *stream = in;
    if (ok) return HOP_OK;
    s = hop_fail(err, HOP_EIO, "%s: %s", path, strerror(errno));
    close(fd);
    return s;
}

/* Until the end, or until there is more than `most`. */
static hop_status read_all(hop_file *f, FILE *in, const char *path, size_t most, hop_error *err)
{
    unsigned char *data = NULL;
    size_t size = 0, room = 0, got = 1;
    hop_status s = HOP_OK;
    for (; s == HOP_OK && got; size += got) {
        if (size == room) {
            room = room ? 2 * room : FIRST_BYTES;
            if (room > most) room = most + 1; /* one more tells that it is too long */
            unsigned char *more = realloc(data, room);
            if (!more) s = hop_fail(err, HOP_ENOMEM, "%s: too large to read", path);
            data = more ? more : data;
        }
        errno = 0;
        got = s == HOP_OK ? fread(data + size, 1, room - size, in) : 0;
        if (s == HOP_OK && ferror(in)) s = hop_fail(err, HOP_EIO, "%s: %s", path, strerror(errno));
        if (s == HOP_OK && size + got > most) s = too_long(path, most, err);
    }
    if (s == HOP_OK)
        *f = (hop_file){.data = data, .size = size};
    else
        free(data);
    return s;
}

hop_status hop_file_read(hop_file *f, const char *path, size_t most, hop_error *err)
{
    void *in;
    *f = (hop_file){0};
    hop_status s = hop_stream_open(&in, path, err);
    if (s != HOP_OK) return s;
    s = read_all(f, in, path, most, err);
    fclose(in);
    return s;
}
