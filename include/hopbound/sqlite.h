/* hopbound/sqlite.h - a sweep's results in an SQLite database (docs/FORMATS.md). In libhopbound-sqlite
 * (pkg-config hopbound-sqlite), which loads SQLite; libhopbound does not.
 */
#ifndef HOPBOUND_SQLITE_H
#define HOPBOUND_SQLITE_H

#include <hopbound/sweep.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A hop_store_open: the file of that name, which others may read meanwhile. HOP_EIO: there is no such database,
 * or it cannot be written; HOP_EFORMAT: it is none of ours; HOP_ENOMEM. */
hop_status hop_store_sqlite(hop_store **out, const char *path, hop_store_use use, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
