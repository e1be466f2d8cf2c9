/* Atomic writing, directories, the clock. POSIX where there is one, C11 stdio elsewhere. */
#include <hopbound/base.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#if defined(__unix__) || defined(__APPLE__)
#define POSIX 1
#include <fcntl.h>
#include <unistd.h>
#else
#define POSIX 0
#endif

/* ---- writing ------------------------------------------------------------------------------- */

static char *copy_string(const char *s, const char *suffix)
{
    size_t a = strlen(s), b = strlen(suffix);
    char *out = malloc(a + b + 1);
    if (!out) return NULL;
    memcpy(out, s, a);
    memcpy(out + a, suffix, b + 1);
    return out;
}

static void output_forget(hop_output *o)
{
    free(o->path);
    free(o->temp);
    *o = (hop_output){0};
}

#if POSIX
/* A new file whose name ends in `digits` characters of our choice. Its mode is that of any file the process
 * makes: mkstemp would make it private, and what the process's mask is cannot be asked without changing it.
 */
static int create_beside(char *name, int digits)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char *end = name + strlen(name) - digits;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    hop_rng r;
    hop_rng_init(&r, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec, (uint64_t)getpid());
    for (int tries = 0; tries < 1000; tries++) {
        for (int i = 0; i < digits; i++) end[i] = letters[hop_rng_below(&r, sizeof letters - 1)];
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}
#endif

/* Opens a temporary file that nobody else uses, beside `path`. */
static FILE *open_temp(hop_output *o)
{
#if POSIX
    o->temp = copy_string(o->path, ".XXXXXXXX");
    if (!o->temp) return NULL;
    int fd = create_beside(o->temp, 8);
    if (fd < 0) return NULL;
    FILE *f = fdopen(fd, "wb");
    if (!f) {
        close(fd);
        remove(o->temp);
    }
    return f;
#else
    o->temp = copy_string(o->path, ".part");
    return o->temp ? fopen(o->temp, "wb") : NULL;
#endif
}

/* A device, a pipe, or a name for an open file (/dev/stdout) cannot be replaced by renaming: it is written
 * directly. A symbolic link is replaced, whatever it leads to: what is written through one lands in somebody
 * else's file, as in a cache whose directories are made of links. */
static bool replaceable(const char *path)
{
#if POSIX
    struct stat st;
    if (strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0) return false;
    return lstat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISLNK(st.st_mode);
#else
    (void)path;
    return true;
#endif
}

hop_status hop_output_open(hop_output *o, const char *path, hop_error *err)
{
    *o = (hop_output){0};
    if (hop_is_dir(path)) return hop_fail(err, HOP_EIO, "%s: is a directory", path);
    o->path = copy_string(path, "");
    if (!o->path) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    o->stream = replaceable(path) ? open_temp(o) : fopen(path, "wb");
    if (!o->stream) {
        int why = errno;
        output_forget(o);
        return hop_fail(err, HOP_EIO, "%s: %s", path, strerror(why));
    }
    return HOP_OK;
}

void hop_output_write(hop_output *o, const void *data, size_t bytes)
{
    if (o->failed == HOP_OK && bytes && fwrite(data, 1, bytes, o->stream) != bytes) {
        o->failed = HOP_EIO;
        o->why = errno;
    }
}

void hop_output_zeros(hop_output *o, size_t bytes)
{
    static const char zeros[4096];
#if POSIX
    /* Our own file can be passed over; its last byte says how long it is. */
    if (o->failed == HOP_OK && o->temp && bytes > sizeof zeros && bytes <= INT64_MAX) {
        if (fseeko(o->stream, (off_t)(bytes - 1), SEEK_CUR) == 0)
            bytes = 1;
        else
            o->failed = HOP_EIO, o->why = errno;
    }
#endif
    for (size_t n; o->failed == HOP_OK && bytes > 0; bytes -= n) {
        n = bytes < sizeof zeros ? bytes : sizeof zeros;
        hop_output_write(o, zeros, n);
    }
}

/* The rename is only durable once the directory is on disk. */
static void sync_parent(const char *path)
{
#if POSIX
    char *dir = copy_string(path, "");
    if (!dir) return;
    char *slash = strrchr(dir, '/');
    if (slash == dir) slash++;
    if (slash) *slash = 0;
    int fd = open(slash ? dir : ".", O_RDONLY);
    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(dir);
#else
    (void)path;
#endif
}

/* Closed in any case; true: every byte is in the file, and on disk if it is ours. */
static bool output_finish(hop_output *o)
{
    FILE *f = o->stream;
    bool ok = o->failed == HOP_OK && !ferror(f) && fflush(f) == 0;
#if POSIX
    ok = ok && (!o->temp || fsync(fileno(f)) == 0 || errno == EINVAL);
#endif
    if (!ok && !o->why) o->why = errno;
    if (fclose(f) != 0 && ok) {
        ok = false;
        o->why = errno;
    }
    o->stream = NULL;
    return ok;
}

static bool output_rename(hop_output *o)
{
    if (!o->temp) return true;
    if (rename(o->temp, o->path) == 0) {
        sync_parent(o->path);
        return true;
    }
    o->why = errno;
    return false;
}

/* The last one's old file stands aside meanwhile: without it the others count for nothing, so that whoever
 * looks sees no mixture of old and new. It comes back if nothing has been replaced. */
static const hop_output *rename_all(hop_output *list, int count)
{
    hop_output *last = &list[count - 1], *bad = NULL;
    char *aside = copy_string(last->temp ? last->temp : "", ".old");
    if (!aside || (last->temp && rename(last->path, aside) != 0 && errno != ENOENT)) {
        last->why = aside ? errno : ENOMEM;
        free(aside);
        return last;
    }
    int renamed = 0;
    while (renamed < count && output_rename(&list[renamed])) renamed++;
    if (renamed < count) bad = &list[renamed];
    for (int i = 0; bad && i < renamed; i++)
        if (list[i].temp) remove(list[i].path);
    if (last->temp && (!bad || renamed || rename(aside, last->path) != 0)) remove(aside);
    free(aside);
    return bad;
}

hop_status hop_output_commit_all(hop_output *list, int count, hop_error *err)
{
    const hop_output *bad = NULL;
    for (int i = 0; i < count; i++)
        if (!output_finish(&list[i]) && !bad) bad = &list[i];
    if (!bad) bad = count > 1 ? rename_all(list, count) : output_rename(list) ? NULL : list;
    hop_status s =
        !bad ? HOP_OK
             : hop_fail(err, HOP_EIO, "%s: %s", bad->path, bad->why ? strerror(bad->why) : "cannot write");
    for (int i = 0; i < count; i++) hop_output_abort(&list[i]); /* the temporary files, if they are there */
    return s;
}

hop_status hop_output_commit(hop_output *o, hop_error *err)
{
    return hop_output_commit_all(o, 1, err);
}

void hop_output_abort(hop_output *o)
{
    if (o->stream) fclose(o->stream);
    if (o->temp) remove(o->temp);
    output_forget(o);
}

hop_status hop_file_write(const char *path, const void *data, size_t bytes, hop_error *err)
{
    hop_output out;
    hop_status s = hop_output_open(&out, path, err);
    if (s != HOP_OK) return s;
    hop_output_write(&out, data, bytes);
    return hop_output_commit(&out, err);
}

/* ---- directories, paths, time -------------------------------------------------------------- */

bool hop_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_mode & S_IFMT) == S_IFDIR;
}

static bool make_one_dir(const char *path)
{
#if POSIX
    if (mkdir(path, 0777) == 0) return true;
    int why = errno; /* asking whether it is there would overwrite it */
    bool there = hop_is_dir(path);
    errno = why;
    return there;
#else
    return hop_is_dir(path);
#endif
}

hop_status hop_make_dir(const char *path, hop_error *err)
{
    char *copy = copy_string(path, "");
    if (!copy) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    bool ok = true;
    for (char *p = copy + 1; ok && *copy; p++) {
        if (*p != '/' && *p) continue;
        char kept = *p;
        *p = 0;
        ok = make_one_dir(copy);
        *p = kept;
        if (!kept) break;
    }
    int why = errno;
    free(copy);
    if (!ok || !*path) return hop_fail(err, HOP_EIO, "%s: %s", path, *path ? strerror(why) : "no name");
    return HOP_OK;
}

hop_status hop_path_join(char *out, size_t size, const char *dir, const char *name, hop_error *err)
{
    size_t n = strlen(dir);
    const char *slash = n && dir[n - 1] == '/' ? "" : "/";
    int got = snprintf(out, size, "%s%s%s", dir, slash, name);
    if (got < 0 || (size_t)got >= size) return hop_fail(err, HOP_ERANGE, "%s: path too long", name);
    return HOP_OK;
}

double hop_now(void)
{
    struct timespec t;
#if POSIX
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    timespec_get(&t, TIME_UTC);
#endif
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
