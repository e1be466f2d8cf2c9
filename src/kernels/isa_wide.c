/* isa_wide.c - for tests only: the 16-lane body of isa_avx512.c compiled for AVX2, so that its logic runs on
 * machines without AVX-512. */
#define LANES        16
#define MR           12
#define TABLE        hop__kernels_wide
#define TABLE_NAME   "wide"
#define TABLE_ISA    HOP_ISA_AVX512
#define TABLE_NARROW (&hop__kernels_avx2)
#include "body_table.h"
