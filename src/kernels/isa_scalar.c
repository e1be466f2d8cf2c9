/* isa_scalar.c - the bodies for any machine: four lanes where the compiler has vector extensions (SSE2 and
 * NEON are the baseline of their architectures), plain floats where it does not. */
#if defined(__GNUC__)
#define LANES 4
#else
#define LANES 1
#endif
#define MR         4
#define TABLE      hop__kernels_scalar
#define TABLE_NAME "scalar"
#define TABLE_ISA  HOP_ISA_SCALAR
#include "body_table.h"
