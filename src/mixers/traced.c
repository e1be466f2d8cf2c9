/* traced.c - for tests only: operations on rows that tell what they form (hopbound/arith_trace.h), beside those that
 * compute. */
#define HOP_TRACE
#define hop__row_op              hop__row_op_traced
#define hop_rope_part            hop_rope_part_traced
#define hop_rope_part_by         hop_rope_part_by_traced
#define hop__activate            hop__activate_traced
#define hop__sparse_sees_all     hop__sparse_sees_all_traced
#define hop__sparse_choices_work hop__sparse_choices_work_traced
#define hop__sparse_choices      hop__sparse_choices_traced
#define hop__sparse_work         hop__sparse_work_traced
#define hop__sparse_run          hop__sparse_run_traced
#define hop__mixer_sparse        hop__mixer_sparse_traced
#include "acts.c"
#include "sparse.c"
#include "rows.c"
