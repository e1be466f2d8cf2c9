/* Inside the room: what a store holds of some runs, and its picture. */
#ifndef HOP_DESK_SWEEP_H
#define HOP_DESK_SWEEP_H

#include <hopbound/learnt.h>
#include <hopbound/sweep.h>

#include "desk.h"

/* A row a plan and size, in the order of the runs. */
typedef struct sweep_rows {
    hop_learnt *rows;
    int64_t count;
    int64_t runs, done, failed; /* each run once, also where it is listed twice */
} sweep_rows;

hop_status hop__sweep_rows(sweep_rows *out, const hop_recipe *list, const hop_sweep_outcome *outcomes,
                           int64_t count, hop_error *err);
void hop__sweep_rows_free(sweep_rows *r);
hop_status hop__sweep_picture(const sweep_rows *r, const char *path, hop_error *err);

#endif
