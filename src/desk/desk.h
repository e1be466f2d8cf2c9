/* Inside the room: which verbs there are. Each stands in a file of its name as hop__verb_NAME. */
#ifndef HOP_DESK_H
#define HOP_DESK_H

#include <hopbound/verb.h>

#define HOP_VERB_LIST(X) \
    X(ladder)            \
    X(build)             \
    X(prove)             \
    X(task)              \
    X(run)               \
    X(play)              \
    X(train)             \
    X(sweep)             \
    X(damage)            \
    X(refute)            \
    X(bound)             \
    X(separate)          \
    X(plan)              \
    X(audit)             \
    X(exact)             \
    X(check)             \
    X(core)              \
    X(mixers)

/* What was asked is wrong, unless it was memory that lacked or a signal that came: puts the error's line between
 * `before` and `after` and returns its status. */
hop_status hop__asked(hop_error *err, const char *before, const char *after);
/* log10 of a length as it is printed, "38215" or "10^22.10"; NaN: there is none. */
double hop__length_log10(const char *text);

/* The front's transport, or one of this process alone, which is put into `own`, for hop_transport_close. NULL: there is no
 * memory. */
hop_transport *hop__ranks(const hop_request *q, hop_transport **own, hop_error *err);
/* A line for people, if somebody reads it; the text is freed. */
void hop__news(const hop_request *q, hop_text *line);

hop_exit hop__exit(hop_status s); /* how a verb ends that ends with that status */

/* Lines that a verb writes on its way: to a file, which appears only when complete, or, for NULL and "-", to the front. */
typedef struct hop_lines {
    const char *path; /* NULL: the front */
    hop_output file;
    const hop_front *front;
    int error; /* errno of the first failure there */
} hop_lines;

/* HOP_EUSAGE: "-", where nothing but the answer goes to the front. */
hop_status hop__lines_open(hop_lines *s, const char *path, const hop_request *q, hop_error *err);
bool hop__lines_write(hop_lines *s, hop_text *t); /* empties `t`; false when there is no sense in going on */
/* Commits when `keep`, else leaves no trace. */
hop_status hop__lines_close(hop_lines *s, bool keep, hop_error *err);
/* The lines of a front that takes none: they are its answer, a text. */
bool hop__into_answer(void *out, const char *text, size_t length);

/* As many threads as --threads says; hop_pool_free takes them back. */
hop_status hop__pool(hop_pool **pool, const hop_request *q, hop_error *err);

/* "24GiB", "24G", "25.8GB", "512MiB", "1000": bytes. False: it is none. bytes.c */
bool hop__bytes_read(const char *text, int64_t *out);

#endif
