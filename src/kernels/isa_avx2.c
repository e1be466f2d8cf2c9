/* isa_avx2.c - the bodies in 8 lanes. 16 registers: 6 x 2 sums, 2 of b, 1 broadcast. */
#define LANES      8
#define MR         6
#define TABLE      hop__kernels_avx2
#define TABLE_NAME "avx2"
#define TABLE_ISA  HOP_ISA_AVX2
#include "body_table.h"
