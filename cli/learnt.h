/* What was learnt, as rows that the report draws: shared by `ladder --train` and `sweep --picture`. */
#ifndef HOPBOUND_CLI_LEARNT_H
#define HOPBOUND_CLI_LEARNT_H

#include "cli.h"

/* A row of no seeds yet for a recipe: its plan, the sizes of its task, P3's ceiling. HOP_OK, HOP_ENOMEM, or
 * what hop_recipe_model returns. */
hop_status learnt_describe(hop_learnt *row, const hop_recipe *r, int curve, hop_error *err);
void learnt_add(hop_learnt *row, const hop_measure *m); /* one more seed */
/* EXIT_DONE, or EXIT_FAILED and the line that says so: P3 holds for all weights, so that more than it allows
 * would be a bug, here or in the theorem. */
int learnt_check(const common_args *a, const hop_learnt *rows, int64_t count);

/* ---- sweep_picture.c ---- */

/* What a database holds of some runs: a row a plan and size, in the order of the runs. */
typedef struct sweep_rows {
    hop_learnt *rows;
    int64_t count;
    int64_t runs, done, failed; /* each run once, also where it is listed twice */
} sweep_rows;

hop_status sweep_rows_make(sweep_rows *out, const hop_recipe *list, const hop_sweep_outcome *outcomes,
                           int64_t count, hop_error *err);
void sweep_rows_free(sweep_rows *r);
hop_status sweep_picture(const sweep_rows *r, const char *path, hop_error *err);

#endif
