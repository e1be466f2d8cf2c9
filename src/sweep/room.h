/* What the files of this room share. */
#ifndef HOP_SWEEP_ROOM_H
#define HOP_SWEEP_ROOM_H

#include <hopbound/sweep.h>

/* ---- store.c: the only file that sees sqlite3.h ---- */

typedef struct hop__store hop__store;

typedef enum hop__run_status { HOP__WAITING, HOP__RUNNING, HOP__DONE, HOP__FAILED } hop__run_status;

hop_status hop__store_open(hop__store **out, const char *path, hop_error *err);
void hop__store_close(hop__store *s);
/* The row of a recipe, made where there is none. */
typedef struct hop__run {
    int64_t id;
    hop__run_status status;
    bool again; /* it was asked for before */
} hop__run;
hop_status hop__store_find(hop__store *s, const hop_recipe *r, const char *text, hop__run *run,
                           hop_error *err);
hop_status hop__store_begin(hop__store *s, int64_t id, hop_error *err);
hop_status hop__store_measure(hop__store *s, int64_t id, const hop_measure *m, hop_error *err);
/* `reason` "": done. */
hop_status hop__store_end(hop__store *s, int64_t id, const hop_measure *m, const char *reason,
                          hop_error *err);
/* Back to the runs that wait. */
hop_status hop__store_put_back(hop__store *s, int64_t id, hop_error *err);
/* To read: a file that is there already; no row is changed. */
hop_status hop__store_open_read(hop__store **out, const char *path, hop_error *err);
/* All but out->recipe. A recipe without a row is one that waits. */
hop_status hop__store_look(hop__store *s, const char *text, hop_sweep_outcome *out, hop_error *err);

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
