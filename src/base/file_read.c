/* Small files from anywhere: what is read is bounded while it is read, so that a device without an end, a
 * pipe without a writer or a file of the wrong kind is a message and not a long wait. */
#include <hopbound/base.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#define POSIX 1
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#else
#define POSIX 0
#endif

#define FIRST_BYTES  65536
#define WAIT_SECONDS 2

/* ---- a source of bytes --------------------------------------------------------------------- */

#if POSIX

typedef int source;

/* Opening a pipe that nobody writes to would wait for a writer. */
static bool source_open(source *in, const char *path)
{
    return (*in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) >= 0;
}

static void source_close(source in)
{
    close(in);
}

/* Bytes read, 0 at the end; -1: errno says why, ETIMEDOUT when nothing came. */
static long source_read(source in, unsigned char *data, size_t size)
{
    for (;;) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        int n = poll(&ready, 1, 1000 * WAIT_SECONDS);
        if (n == 0) errno = ETIMEDOUT;
        if (n == 0 || (n < 0 && errno != EINTR)) return -1;
        long got = n < 0 ? -1 : (long)read(in, data, size);
        if (got >= 0 || (errno != EINTR && errno != EAGAIN)) return got;
    }
}

#else

typedef FILE *source;

static bool source_open(source *in, const char *path)
{
    return (*in = fopen(path, "rb")) != NULL;
}

static void source_close(source in)
{
    fclose(in);
}

static long source_read(source in, unsigned char *data, size_t size)
{
    size_t got = fread(data, 1, size, in);
    return got || !ferror(in) ? (long)got : -1;
}

#endif

/* ---- all of it ----------------------------------------------------------------------------- */

/* Until the end, or until there is more than `most`. */
static hop_status read_all(hop_file *f, source in, const char *path, size_t most, hop_error *err)
{
    unsigned char *data = NULL;
    size_t size = 0, room = 0;
    hop_status s = HOP_OK;
    for (long got = 1; s == HOP_OK && got; size += (size_t)got) {
        if (size == room) {
            room = room ? 2 * room : FIRST_BYTES;
            if (room > most) room = most + 1; /* one more tells that it is too long */
            unsigned char *more = realloc(data, room);
            if (!more) s = hop_fail(err, HOP_ENOMEM, "%s: too large to read", path);
            data = more ? more : data;
        }
        got = s == HOP_OK ? source_read(in, data + size, room - size) : 0;
        if (got < 0 && errno == ETIMEDOUT)
            s = hop_fail(err, HOP_EIO, "%s: nothing to read came for %d seconds", path, WAIT_SECONDS);
        else if (got < 0)
            s = hop_fail(err, HOP_EIO, "%s: %s", path, strerror(errno));
        else if (size + (size_t)got > most)
            s = hop_fail(err, HOP_EFORMAT, "%s: more than the %zu bytes that it may have", path, most);
        if (got < 0) got = 0;
    }
    if (s == HOP_OK)
        *f = (hop_file){.data = data, .size = size};
    else
        free(data);
    return s;
}

hop_status hop_file_read(hop_file *f, const char *path, size_t most, hop_error *err)
{
    source in;
    *f = (hop_file){0};
    if (hop_is_dir(path)) return hop_fail(err, HOP_EIO, "%s: is a directory", path);
    if (!source_open(&in, path)) return hop_fail(err, HOP_EIO, "%s: %s", path, strerror(errno));
    hop_status s = read_all(f, in, path, most, err);
    source_close(in);
    return s;
}
