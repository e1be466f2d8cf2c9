/* traced.c - for tests only: partial softmaxes that tell what they form (hopbound/arith_trace.h). */
#define HOP_TRACE
#define hop_partial_fold  hop_partial_fold_traced
#define hop_partial_close hop_partial_close_traced
#define hop_partial_round hop_partial_round_traced
#define hop_round_float   hop_round_float_traced
#include "partial.c"
