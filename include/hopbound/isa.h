/* hopbound/isa.h - which instruction set computes.
 *
 * There is one choice a process, not one a thread or a network: what is proved of a network is proved of every
 * table, but which bits a pass, a training or a checkpoint has depends on it, so two of them side by side would
 * answer differently for no reason that could be seen. It is the library's only mutable global, one atomic
 * pointer.
 */
#ifndef HOPBOUND_ISA_H
#define HOPBOUND_ISA_H

#include <hopbound/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hop_isa { HOP_ISA_REF, HOP_ISA_SCALAR, HOP_ISA_AVX2, HOP_ISA_AVX512, HOP_ISA_COUNT } hop_isa;

const char *hop_isa_name(hop_isa isa);                  /* "ref", "scalar", "avx2", "avx512" */
bool hop_isa_from_name(const char *name, hop_isa *out); /* false: no such name */
bool hop_isa_available(hop_isa isa);                    /* compiled in, and the CPU and OS support it */
hop_isa hop_isa_best(void);

/* Selects the table of kernels that the whole process uses from now on. From any thread, but not while work is
 * under way in another, which would go on with the new table. If nobody has called it, the first pass selects what
 * the environment variable HOPBOUND_ISA names, or else hop_isa_best(); of two threads that come first, one
 * decides for both. HOP_EUNKNOWN, and nothing changes, when `isa` is not available here. */
hop_status hop_kernels_select(hop_isa isa, hop_error *err);
hop_isa hop_kernels_selected(void);

#ifdef __cplusplus
}
#endif
#endif
