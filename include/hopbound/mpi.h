/* hopbound/mpi.h - ranks that are processes of MPI. In libhopbound-mpi (pkg-config hopbound-mpi), which
 * loads MPI; libhopbound does not.
 */
#ifndef HOPBOUND_MPI_H
#define HOPBOUND_MPI_H

#include <hopbound/ranks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts MPI, once a process, and becomes one of the ranks that its launcher started. To be closed by
 * hop_transport_close, which ends MPI. Calls are to come from one thread at a time, the one that opened it.
 * HOP_EIO: MPI cannot be started; HOP_ENOMEM. */
hop_status hop_transport_mpi(hop_transport **out, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
