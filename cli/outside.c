/* What the program loads and the library does not: MPI, which ranks are processes of, and SQLite, which sweeps
 * are kept in. Each is there if it was when the program was built. */
#include "outside.h"

#ifdef HOP_HAVE_MPI
#include <hopbound/mpi.h>
#endif
#ifdef HOP_HAVE_SQLITE
#include <hopbound/sqlite.h>
#endif

hop_status ranks_open(hop_transport **out, hop_error *err)
{
    *out = NULL;
    if (!hop_ranks_launched()) return hop_transport_in_process(out, err);
#ifdef HOP_HAVE_MPI
    return hop_transport_mpi(out, err);
#else
    return hop_fail(err, HOP_EUNKNOWN, "started by an MPI launcher, but built without MPI");
#endif
}

hop_store_open *sweep_store(void)
{
#ifdef HOP_HAVE_SQLITE
    return hop_store_sqlite;
#else
    return NULL;
#endif
}
