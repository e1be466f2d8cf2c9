/* Inside the room: which verbs there are. Each stands in a file of its name as hop__verb_NAME. */
#ifndef HOP_DESK_H
#define HOP_DESK_H

#include <hopbound/verb.h>

#define HOP_VERB_LIST(X) \
    X(build)             \
    X(prove)             \
    X(damage)            \
    X(refute)            \
    X(bound)             \
    X(separate)          \
    X(plan)              \
    X(audit)             \
    X(exact)             \
    X(check)             \
    X(mixers)

/* What was asked is wrong, unless it was memory that lacked or a signal that came: puts the error's line between
 * `before` and `after` and returns its status. */
hop_status hop__asked(hop_error *err, const char *before, const char *after);
/* log10 of a length as it is printed, "38215" or "10^22.10"; NaN: there is none. */
double hop__length_log10(const char *text);

/* As many threads as --threads says; hop_pool_free takes them back. */
hop_status hop__pool(hop_pool **pool, const hop_request *q, hop_error *err);

#endif
