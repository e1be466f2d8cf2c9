/* hopbound/base.h - what every room stands on: status, errors, random numbers, memory, files,
 * threads, progress. The library never prints and never exits: it returns a status and fills a
 * hop_error; the caller decides what to say.
 *
 *     hop_error err = {0};
 *     hop_file file = {0};
 *     if (hop_file_load(&file, path, most, &err) != HOP_OK) { puts(err.text); return 1; }
 *     ...
 *     hop_file_free(&file);
 */
#ifndef HOPBOUND_BASE_H
#define HOPBOUND_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HOP_PRINTF(fmt, args)
#endif

/* ---- status and errors -------------------------------------------------------------------- */

/* One list gives the code and its text. */
#define HOP_STATUS_LIST(X)                              \
    X(OK, 0, "ok")                                      \
    X(ENOMEM, -1, "out of memory")                      \
    X(EIO, -2, "cannot read or write the file")         \
    X(EFORMAT, -3, "the file is not what it should be") \
    X(ESHAPE, -4, "a tensor has the wrong shape")       \
    X(EDOMAIN, -5, "outside the hypotheses")            \
    X(ERANGE, -6, "a number is out of range")           \
    X(EUNKNOWN, -7, "unknown name")                     \
    X(ESTOPPED, -8, "stopped on request")               \
    X(EUSAGE, -9, "the question is wrong")              \
    X(EUNDECIDED, -10, "not decided")

typedef enum hop_status {
#define HOP_STATUS_ENUM(name, code, text) HOP_##name = code,
    HOP_STATUS_LIST(HOP_STATUS_ENUM)
#undef HOP_STATUS_ENUM
} hop_status;

const char *hop_status_text(hop_status s);

/* Why something failed, in one line: "what: why". Start with {0}; functions take NULL, too. */
typedef struct hop_error {
    hop_status status;
    char text[400];
} hop_error;

/* Sets `err` (may be NULL) and returns `s`, so that a failure is one line: return hop_fail(err, ..). */
hop_status hop_fail(hop_error *err, hop_status s, const char *fmt, ...) HOP_PRINTF(3, 4);
/* Puts "prefix: " before the text already there. */
hop_status hop_fail_in(hop_error *err, hop_status s, const char *prefix);

/* ---- hops ---------------------------------------------------------------------------------- */

#define HOP_MAX_HOPS 64 /* of a task, and of a question about an architecture */

/* ---- random numbers ------------------------------------------------------------------------ */

/* Counter-based (Philox 4x32-10): the k-th number of a stream depends on (seed, stream, k) and on
 * nothing else, so work can be split over threads without changing a bit. */
typedef struct hop_rng {
    uint64_t seed, stream, counter;
    uint32_t block[4];
    int used; /* words of block already given out; 4 = none left */
} hop_rng;

void hop_rng_init(hop_rng *r, uint64_t seed, uint64_t stream);
uint32_t hop_rng_u32(hop_rng *r);
uint64_t hop_rng_u64(hop_rng *r);
uint64_t hop_rng_below(hop_rng *r, uint64_t n); /* uniform in [0, n), unbiased; n >= 1 */
double hop_rng_uniform(hop_rng *r);             /* [0, 1), 53 bits */
double hop_rng_normal(hop_rng *r);

/* ---- hashing ------------------------------------------------------------------------------- */

/* XXH64 of a stream of bytes, in pieces of any size. It detects damage and mistakes; whoever looks for
 * collisions will find them. */
typedef struct hop_hash {
    uint64_t lanes[4], total;
    unsigned char rest[32]; /* the last total % 32 bytes */
} hop_hash;

void hop_hash_init(hop_hash *h);
void hop_hash_add(hop_hash *h, const void *data, size_t bytes);
uint64_t hop_hash_end(const hop_hash *h); /* of all that was added; more may follow */

/* ---- memory -------------------------------------------------------------------------------- */

#define HOP_ALIGN 64 /* every block that the library allocates starts on a cache line */

/* Aligned heap memory, zeroed; NULL when there is none, also where the system would promise more than it has.
 * hop_free(NULL) is fine. */
void *hop_alloc(size_t bytes);
void *hop_alloc_raw(size_t bytes); /* not zeroed: the system gives only the pages that are used */
void hop_free(void *p);
size_t hop_memory_left(void);      /* bytes that the system can still give; SIZE_MAX: it does not say */
bool hop_memory_has(size_t bytes); /* asks only for large blocks */
/* a*b, or false when it does not fit. */
bool hop_mul_size(size_t a, size_t b, size_t *out);

/* Scratch memory of a fixed size: reserved once, where failure can be reported, and then handed out to code
 * that cannot fail. Asking for more than was reserved is a bug and aborts. */
typedef struct hop_arena {
    char *base;
    size_t size, used;
} hop_arena;

hop_status hop_arena_reserve(hop_arena *a, size_t bytes, hop_error *err); /* drops what it held */
void *hop_arena_alloc(hop_arena *a, size_t bytes);                        /* aligned, not zeroed */
float *hop_arena_floats(hop_arena *a, size_t count);
void hop_arena_free(hop_arena *a);
/* Bytes an allocation of `count` floats takes from an arena (alignment included). */
size_t hop_arena_floats_size(size_t count);

/* ---- text ---------------------------------------------------------------------------------- */

/* A growing string. When memory runs out, `failed` is set and stays set: check it once, at the end. */
typedef struct hop_text {
    char *s; /* always NUL-terminated once something was added; NULL before */
    size_t len, cap;
    bool failed;
} hop_text;

void hop_text_add(hop_text *t, const char *s);
void hop_text_integer(hop_text *t, int64_t v); /* in decimal; of millions, where printf would take seconds */
void hop_text_addn(hop_text *t, const char *s, size_t n);
void hop_text_printf(hop_text *t, const char *fmt, ...) HOP_PRINTF(2, 3);
/* The part's words, "" if there are none, to go into `whole`, which fails if the part has. */
const char *hop_text_in(hop_text *whole, const hop_text *part);
void hop_text_free(hop_text *t);

/* What a terminal would obey (control characters, overrides of direction) becomes blank, and a byte that is no
 * UTF-8 a question mark, in place: for names, which may hold anything. hop_plain_lines leaves line ends and
 * tabs. JSON has its own escapes, and needs neither. */
void hop_plain(char *line);
void hop_plain_lines(char *text);
void hop_text_name(hop_text *t, const char *name); /* adds it, plain */

/* ---- files --------------------------------------------------------------------------------- */

/* A whole file, in memory. */
typedef struct hop_file {
    const unsigned char *data;
    size_t size;
} hop_file;

/* A regular file of at most `most` bytes; HOP_EFORMAT when it is longer, without reading it. HOP_EIO for a
 * pipe, a device, a socket or a directory, at once, and for a file that is cut short meanwhile. HOP_ENOMEM. */
hop_status hop_file_load(hop_file *f, const char *path, size_t most, hop_error *err);
/* The same, and a pipe, too, if somebody writes to it within two seconds. */
hop_status hop_file_read(hop_file *f, const char *path, size_t most, hop_error *err);
void hop_file_free(hop_file *f);

/* A regular file that is read in pieces, from any thread. */
typedef struct hop_input {
    int fd;
    bool open;
    int64_t size; /* when it was opened */
} hop_input;
hop_status hop_input_open(hop_input *in, const char *path, hop_error *err);
/* `bytes` bytes from byte `at` on. HOP_EIO: they are not there any more; the error does not name the file. */
hop_status hop_input_read(const hop_input *in, void *to, size_t bytes, int64_t at, hop_error *err);
void hop_input_close(hop_input *in);

/* A regular file, or a pipe if somebody writes to it within two seconds, as a FILE * of the caller's. */
hop_status hop_stream_open(void **stream, const char *path, hop_error *err);
bool hop_is_pipe(const char *path);
bool hop_is_there(const char *path); /* something has this name, whatever it is */

/* An output that appears under its name only when it is complete: written to a temporary file beside
 * `path`, synced, then renamed. A killed process leaves the old file or the new one. Where `path` is a symbolic
 * link, the link is replaced, and what it led to stays as it is. */
typedef struct hop_output {
    void *stream; /* a FILE *, for those who want to fprintf */
    char *path, *temp;
    hop_status failed;
    int why; /* errno of the first failure */
} hop_output;

hop_status hop_output_open(hop_output *o, const char *path, hop_error *err);
void hop_output_write(hop_output *o, const void *data, size_t bytes); /* failure is remembered */
/* So many bytes of 0, which take no room on disk where the file system has holes. */
void hop_output_zeros(hop_output *o, size_t bytes);
hop_status hop_output_commit(hop_output *o, hop_error *err); /* closes in any case */
/* Files of which the last makes the others count. Afterwards all are new or all old; or all are gone, when
 * some were renamed and the next could not be. A killed process leaves no last file beside others that are
 * not of its kind. */
hop_status hop_output_commit_all(hop_output *list, int count, hop_error *err);
void hop_output_abort(hop_output *o); /* removes the temporary file */

hop_status hop_file_write(const char *path, const void *data, size_t bytes, hop_error *err); /* atomically */
hop_status hop_make_dir(const char *path, hop_error *err); /* with parents; fine if it is there */
bool hop_is_dir(const char *path);
/* "dir/name" into `out`; HOP_ERANGE if it does not fit. */
hop_status hop_path_join(char *out, size_t size, const char *dir, const char *name, hop_error *err);

/* Keeps other processes out of a directory that both would write, until it is unlocked or the process ends.
 * HOP_EIO: another one has it. Where the file system knows no locks nobody is kept out. Unlocking what is not
 * held is fine. */
typedef struct hop_lock {
    int fd;
    bool held;
} hop_lock;
hop_status hop_dir_lock(hop_lock *l, const char *dir, hop_error *err);
void hop_dir_unlock(hop_lock *l);

/* Seconds on a clock that only goes forward. */
double hop_now(void);

/* ---- threads ------------------------------------------------------------------------------- */

/* Threads that share tasks. Which worker runs which task is not fixed, so a task's result must depend on its
 * number only; `worker` (< hop_pool_threads) chooses scratch memory. A task must not run tasks on its own
 * pool. */
typedef struct hop_pool hop_pool;
typedef void hop_job_fn(void *ctx, int64_t task, int worker);

hop_pool *hop_pool_new(int threads); /* 0: one per core. NULL when threads cannot be started. */
/* A pool whose threads are another's: `team` calls fn(ctx) on up to `threads` of them at the same time, one of which is
 * the caller, and returns when all have. Nothing is started or kept. NULL: no memory. */
typedef void hop_team_fn(void (*fn)(void *ctx), void *ctx, int threads);
hop_pool *hop_pool_over(hop_team_fn *team, int threads);
void hop_pool_free(hop_pool *p);
int hop_pool_threads(const hop_pool *p);                                  /* NULL: 1 */
void hop_pool_run(hop_pool *p, int64_t count, hop_job_fn *fn, void *ctx); /* NULL: in this thread */
/* Rows 0 .. rows - 1, none of which depends on another, in blocks: fn computes rows first .. first + count
 * - 1. `numbers`: about how many a row has. When there are few in all, one call does them all in this thread.
 */
typedef void hop_rows_fn(void *ctx, int64_t first, int64_t count);
void hop_pool_rows(hop_pool *p, int64_t rows, int64_t numbers, hop_rows_fn *fn, void *ctx);
int hop_cpu_count(void);

/* ---- progress ------------------------------------------------------------------------------ */

/* Where long work reports to. `tick` may be called often and from any thread; when it returns false the work
 * stops (HOP_ESTOPPED). NULL: nobody listens. */
typedef struct hop_progress {
    bool (*tick)(void *ctx, const char *what, double done, double total);
    void *ctx;
} hop_progress;

bool hop_progress_tick(const hop_progress *p, const char *what, double done, double total);

#ifdef __cplusplus
}
#endif
#endif
