/* isa_single.c - for tests only: the bodies in plain floats, what a compiler without vector extensions gets.
 */
#define LANES      1
#define MR         4
#define TABLE      hop__kernels_single
#define TABLE_NAME "single"
#define TABLE_ISA  HOP_ISA_SCALAR
#include "body_table.h"
