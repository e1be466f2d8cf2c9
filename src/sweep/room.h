/* What the files of this room share. */
#ifndef HOP_SWEEP_ROOM_H
#define HOP_SWEEP_ROOM_H

#include <hopbound/sweep.h>

/* ---- work.c: one run ---- */

char *hop__run_text(const hop_recipe *r); /* its identity; the caller's to free() */
hop_status hop__run_dir(char *out, size_t size, const char *database, const char *text, hop_error *err);
void hop__remove_dir(const char *dir); /* with the files in it */

typedef struct hop__work {
    const hop_sweep_options *o;
    int threads;
    const hop_progress *progress;
    void (*measured)(void *ctx, const hop_measure *m);
    void *ctx;
} hop__work;
/* HOP_OK: done, or failed with `reason`; HOP_ESTOPPED. */
hop_status hop__work_run(const hop__work *w, const hop_recipe *r, hop_measure *last, char reason[400]);

#endif
