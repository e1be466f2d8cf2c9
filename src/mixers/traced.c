/* traced.c - for tests only: operations on rows that tell what they form (hopbound/arith_trace.h), beside those that
 * compute. */
#define HOP_TRACE
#define hop__row_op   hop__row_op_traced
#define hop__activate hop__activate_traced
#include "acts.c"
#include "rows.c"
