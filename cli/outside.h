/* What the program loads and the library does not. */
#ifndef HOP_CLI_OUTSIDE_H
#define HOP_CLI_OUTSIDE_H

#include <hopbound/inside.h>

/* The ranks of mpirun, or of one process if nothing started ranks. HOP_EUNKNOWN: built without MPI. */
hop_status ranks_open(hop_transport **out, hop_error *err);
/* Where `sweep` keeps results; NULL: built without SQLite. */
hop_store_open *sweep_store(void);

#endif
