/* isa_traced.c - for tests only: eight lanes that tell what they form, see hopbound/arith_trace.h. */
#define HOP_TRACE
#if defined(__GNUC__)
#define LANES 8
#else
#define LANES 1
#endif
#define MR         4
#define TABLE      hop__kernels_traced
#define TABLE_NAME "traced"
#define TABLE_ISA  HOP_ISA_SCALAR
#include "body_table.h"
