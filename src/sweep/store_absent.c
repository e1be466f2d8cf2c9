/* In place of store.c where there is no SQLite. */
#include "room.h"

#ifndef HOP_HAVE_SQLITE

static hop_status absent(hop_error *err)
{
    return hop_fail(err, HOP_EUNKNOWN, "built without SQLite");
}

hop_status hop__store_open(hop__store **out, const char *path, hop_error *err)
{
    (void)path;
    *out = NULL;
    return absent(err);
}

hop_status hop__store_open_read(hop__store **out, const char *path, hop_error *err)
{
    return hop__store_open(out, path, err);
}

hop_status hop__store_look(hop__store *s, const char *text, hop_sweep_outcome *out, hop_error *err)
{
    (void)s, (void)text, (void)out;
    return absent(err);
}

void hop__store_close(hop__store *s)
{
    (void)s;
}

hop_status hop__store_find(hop__store *s, const hop_recipe *r, const char *text, hop__run *run,
                           hop_error *err)
{
    (void)s, (void)r, (void)text, (void)run;
    return absent(err);
}

hop_status hop__store_begin(hop__store *s, int64_t id, hop_error *err)
{
    (void)s, (void)id;
    return absent(err);
}

hop_status hop__store_put_back(hop__store *s, int64_t id, hop_error *err)
{
    (void)s, (void)id;
    return absent(err);
}

hop_status hop__store_measure(hop__store *s, int64_t id, const hop_measure *m, hop_error *err)
{
    (void)s, (void)id, (void)m;
    return absent(err);
}

hop_status hop__store_end(hop__store *s, int64_t id, const hop_measure *m, const char *reason, hop_error *err)
{
    (void)s, (void)id, (void)m, (void)reason;
    return absent(err);
}

bool hop_sweep_available(void)
{
    return false;
}

#endif
