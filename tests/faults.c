/* Makes the k-th call fail. This file is linked to the whole program with `--wrap` for every name in
 * CALL_LIST, so that the program's own calls come here, those of other libraries do not, and its sources know
 * nothing of it. HOPBOUND_FAIL is KIND:K:FD, for instance alloc:17:5; with alloc:17+5 memory, or a disk, that
 * was full stays full. The name of the call that failed is written to the file descriptor FD; with K = 0
 * nothing fails, and a line a call is written: its number, and a hash of the way that led to it. */
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* Kind; name, as the linker knows it; type; parameters; arguments; errno and result of a failure. Closing a
 * stream always closes it, and standard error is spared: nobody could be told. */
#define CALL_LIST(X)                                                                                         \
    X(alloc, malloc, void *, (size_t n), (n), ENOMEM, NULL)                                                  \
    X(alloc, calloc, void *, (size_t n, size_t m), (n, m), ENOMEM, NULL)                                     \
    X(alloc, realloc, void *, (void *p, size_t n), (p, n), ENOMEM, NULL)                                     \
    X(alloc, aligned_alloc, void *, (size_t a, size_t n), (a, n), ENOMEM, NULL)                              \
    X(alloc, strdup, char *, (const char *s), (s), ENOMEM, NULL)                                             \
    X(alloc, vasprintf, int, (char **s, const char *f, va_list v), (s, f, v), ENOMEM, -1)                    \
    X(alloc, pthread_create, int, (pthread_t * t, const void *a, void *(*f)(void *), void *p), (t, a, f, p), \
      EAGAIN, EAGAIN)                                                                                        \
    X(file, open64, int, (const char *s, int f, mode_t m), (s, f, m), EMFILE, -1)                            \
    X(file, fopen64, FILE *, (const char *s, const char *m), (s, m), EMFILE, NULL)                           \
    X(file, fdopen, FILE *, (int d, const char *m), (d, m), EMFILE, NULL)                                    \
    X(file, fstat64, int, (int d, void *s), (d, s), EIO, -1)                                                 \
    X(file, pread64, ssize_t, (int d, void *p, size_t n, off_t o), (d, p, n, o), EIO, -1)                    \
    X(file, read, ssize_t, (int d, void *p, size_t n), (d, p, n), EIO, -1)                                   \
    X(file, fread, size_t, (void *p, size_t n, size_t m, FILE *f), (p, n, m, f), EIO, (size_t)noted(f, 0))   \
    X(file, __getdelim, ssize_t, (char **s, size_t *n, int c, FILE *f), (s, n, c, f), EIO, noted(f, -1))     \
    X(file, fflush, int, (FILE * f), (f), ENOSPC, noted(f, EOF))                                             \
    X(file, fclose, int, (FILE * f), (f), ENOSPC, (__real_fclose(f), EOF))                                   \
    X(file, fsync, int, (int d), (d), EIO, -1)                                                               \
    X(file, rename, int, (const char *a, const char *b), (a, b), EACCES, -1)                                 \
    X(file, mkdir, int, (const char *s, mode_t m), (s, m), EACCES, -1)                                       \
    X(file, scandir64, int, (const char *s, void *l, void *f, void *c), (s, l, f, c), EMFILE, -1)            \
    X(file, mkdtemp, char *, (char *s), (s), EACCES, NULL)                                                   \
    X(file, mkostemp64, int, (char *s, int f), (s, f), EACCES, -1)                                           \
    X(file, pipe2, int, (int d[2], int f), (d, f), EMFILE, -1)                                               \
    X(file, fork, pid_t, (void), (), EAGAIN, -1)

static struct {
    const char *kind; /* NULL: nothing fails */
    long k;
    bool stays;
    int to;
    atomic_long calls;
    _Atomic(FILE *) stream; /* on which a call failed: ferror says so, too */
} fault;

__attribute__((constructor)) static void read_wish(void)
{
    static char kind[8];
    const char *wish = getenv("HOPBOUND_FAIL");
    char stays;
    if (!wish) return;
    if (sscanf(wish, "%7[a-z]:%ld%c%d", kind, &fault.k, &stays, &fault.to) != 4) abort();
    fault.stays = stays == '+';
    fault.kind = kind;
}

#define DEEPEST 64 /* frames looked at: calls further out are much alike */

extern const char __executable_start[], etext[];

/* The program's own return addresses, wherever it was loaded to. */
static void tell_way(long n)
{
    void *frames[DEEPEST];
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (int i = 0, depth = backtrace(frames, DEEPEST); i < depth; i++) {
        uintptr_t at = (uintptr_t)frames[i];
        if (at < (uintptr_t)__executable_start || at >= (uintptr_t)etext) continue;
        hash = (hash ^ (at - (uintptr_t)__executable_start)) * 1099511628211u;
    }
    dprintf(fault.to, "%ld %016llx\n", n, (unsigned long long)hash);
}

static bool fails(const char *kind, const char *name, int why)
{
    if (!fault.kind || strcmp(fault.kind, kind) != 0) return false;
    long n = ++fault.calls;
    if (fault.k == 0) tell_way(n);
    bool full = fault.stays && fault.k && n > fault.k && (why == ENOMEM || why == ENOSPC);
    if (n != fault.k && !full) return false;
    if (n == fault.k) dprintf(fault.to, "%s", name);
    errno = why;
    return true;
}

static int noted(FILE *f, int result)
{
    fault.stream = f;
    return result;
}

#define WRAPPED(kind, name, type, parameters, arguments, why, result)       \
    type __real_##name parameters;                                          \
    type __wrap_##name parameters;                                          \
    type __wrap_##name parameters                                           \
    {                                                                       \
        return fails(#kind, #name, why) ? result : __real_##name arguments; \
    }
CALL_LIST(WRAPPED)

size_t __real_fwrite(const void *p, size_t n, size_t m, FILE *f);
size_t __wrap_fwrite(const void *p, size_t n, size_t m, FILE *f);
size_t __wrap_fwrite(const void *p, size_t n, size_t m, FILE *f)
{
    return f != stderr && fails("file", "fwrite", ENOSPC) ? (size_t)noted(f, 0) : __real_fwrite(p, n, m, f);
}

int __real_ferror(FILE *f);
int __wrap_ferror(FILE *f);
int __wrap_ferror(FILE *f)
{
    return f == fault.stream || __real_ferror(f);
}
