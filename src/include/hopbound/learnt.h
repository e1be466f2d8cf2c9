/* hopbound/learnt.h - what was learnt, as rows that the report draws (room: desk). */
#ifndef HOPBOUND_LEARNT_H
#define HOPBOUND_LEARNT_H

#include <hopbound/form.h>
#include <hopbound/report.h>
#include <hopbound/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A row of no seeds yet for a recipe: its plan, the sizes of its task, P3's ceiling. HOP_OK, HOP_ENOMEM, or
 * what hop_recipe_layout returns. */
hop_status hop_learnt_describe(hop_learnt *row, const hop_recipe *r, int curve, hop_error *err);
void hop_learnt_add(hop_learnt *row, const hop_measure *m); /* one more seed */
/* A line where a row is above its ceiling, else NULL: P3 holds for all weights, so that more than it allows would be a bug,
 * here or in the theorem. */
const char *hop_learnt_bug(hop_keep *k, const hop_learnt *rows, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
