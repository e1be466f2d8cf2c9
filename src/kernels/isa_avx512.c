/* isa_avx512.c - the bodies in 16 lanes. 32 registers: 12 x 2 sums, 2 of b; broadcasts come from memory
 * inside the multiply-add. */
#define LANES        16
#define MR           12
#define TABLE        hop__kernels_avx512
#define TABLE_NAME   "avx512"
#define TABLE_ISA    HOP_ISA_AVX512
#define TABLE_NARROW (&hop__kernels_avx2)
#include "body_table.h"
