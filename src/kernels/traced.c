/* traced.c - for tests only: partial softmaxes and rotations that tell what they form (hopbound/arith_trace.h). */
#define HOP_TRACE
#define hop_partial_fold  hop_partial_fold_traced
#define hop_partial_close hop_partial_close_traced
#define hop_partial_round hop_partial_round_traced
#define hop_round_float   hop_round_float_traced
#define hop_rope          hop_rope_traced
#define hop_rope_by       hop_rope_by_traced
#define hop_rope_part     hop_rope_part_traced
#define hop_rope_part_by  hop_rope_part_by_traced
#define hop_rope_table    hop_rope_table_traced
#include "partial.c"
#include "rope.c"
