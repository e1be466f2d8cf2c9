/* hopbound/sweep.h - many trainings, their results in a store.
 *
 *     hop_recipe *list; int64_t count;
 *     hop_sweep_read(&list, &count, json, NULL, &err);                // "base", "grid", "runs"
 *     hop_sweep_result result;
 *     hop_sweep_options o = {.database = "runs.db", .open = hop_store_sqlite, .jobs = 2}; // hopbound/sqlite.h
 *     hop_sweep_run(list, count, &o, &result, &err);
 *     free(list);
 *
 * A run is a recipe. The store has a row a run and a row a measurement, and can be read while it grows; a
 * sweep that is started again skips what is done and resumes what was interrupted. That of SQLite is a library
 * of its own, libhopbound-sqlite, so that who does not sweep does not load it.
 */
#ifndef HOPBOUND_SWEEP_H
#define HOPBOUND_SWEEP_H

#include <hopbound/base.h>
#include <hopbound/json.h>
#include <hopbound/ranks.h>
#include <hopbound/train.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_MAX_SWEEP 1000000 /* runs */

/* {"base": {..}, "grid": {"key": [..], ..}, "runs": [{..}, ..]}: recipes' keys. The runs are all combinations
 * of the grid's values, the last key's varying fastest, or those of a list of grids, one after the other,
 * then those of the list, each over what "base" says. HOP_EFORMAT names the run and the key. *list is the
 * caller's, to free(). HOP_ESTOPPED: `progress`, which may be NULL, said so. */
hop_status hop_sweep_read(hop_recipe **list, int64_t *count, const hop_json *root,
                          const hop_progress *progress, hop_error *err);

/* ---- where results are kept ---------------------------------------------------------------------- */

typedef enum hop_row_status { HOP_ROW_WAITING, HOP_ROW_RUNNING, HOP_ROW_DONE, HOP_ROW_FAILED } hop_row_status;

/* The row of a recipe. */
typedef struct hop_store_row {
    int64_t id;
    hop_row_status status;
    bool again; /* this store was asked for it before */
} hop_store_row;

/* What a store holds of a run. */
typedef struct hop_sweep_outcome {
    uint64_t recipe;   /* XXH64 of the recipe's text, which names its directory */
    bool done, failed; /* neither: it waits, or is running, or the store does not know it */
    bool measured;     /* it ended with a last measurement: `last`; a failed run may have one, too */
    hop_measure last;
} hop_sweep_outcome;

/* Rows of runs, named by their recipe's text. A call is a transaction: whoever is killed between two leaves
 * rows that are whole. Calls come one at a time, from any thread. Who opened it closes it. */
typedef struct hop_store hop_store;
struct hop_store {
    /* The row of a recipe, made where there is none. */
    hop_status (*find)(hop_store *s, const hop_recipe *r, const char *text, hop_store_row *row,
                       hop_error *err);
    hop_status (*begin)(hop_store *s, int64_t id, hop_error *err);
    hop_status (*measure)(hop_store *s, int64_t id, const hop_measure *m, hop_error *err);
    /* `reason` "": done; NULL: back to the runs that wait, and `m` says nothing; else why it failed. */
    hop_status (*end)(hop_store *s, int64_t id, const hop_measure *m, const char *reason, hop_error *err);
    /* All but out->recipe, which is left. A recipe without a row is one that waits. No row is changed. */
    hop_status (*look)(hop_store *s, const char *text, hop_sweep_outcome *out, hop_error *err);
    void (*close)(hop_store *s); /* frees it, too */
};

/* Opens the store of that name, to write, and made where there is none; or only to look, at one that is there.
 * On failure *out is NULL. */
typedef enum hop_store_use { HOP_STORE_WRITE, HOP_STORE_LOOK } hop_store_use;
typedef hop_status hop_store_open(hop_store **out, const char *name, hop_store_use use, hop_error *err);

/* ---- sweeps -------------------------------------------------------------------------------------- */

typedef struct hop_sweep_options {
    const char *database; /* the store's name; what is unfinished is kept in `database`.d */
    hop_store_open *open; /* called once, on the rank that writes */
    int jobs, threads;    /* runs at a time, and threads of all of them together; below 1: a core each */
    bool keep;            /* networks of runs that are done stay in `database`.d */
    bool retry;           /* runs that failed are tried again */
    const hop_progress *progress; /* counts runs; false stops, after checkpoints */
    hop_transport *ranks;         /* ranks above 0 take runs from rank 0, which alone writes; NULL: none */
    /* Called, one at a time, when a run has ended: done, or failed with a reason. NULL: nobody is told. */
    void (*ended)(void *ctx, const hop_recipe *r, const hop_measure *m, const char *reason);
    void *ctx;
} hop_sweep_options;

typedef struct hop_sweep_result {
    int64_t runs, done, failed; /* of the list; done and failed: in the end */
    int64_t skipped;            /* that were so before */
    bool entered;               /* all have rows; false: it was stopped, or failed, before */
} hop_sweep_result;

/* HOP_ESTOPPED; HOP_EIO, HOP_EFORMAT: the store cannot be written, or is none of ours. On ranks above 0 the
 * result is empty. */
hop_status hop_sweep_run(const hop_recipe *list, int64_t count, const hop_sweep_options *o,
                         hop_sweep_result *result, hop_error *err);

/* Reads the outcomes of `count` runs into out[count]; also while another process writes. `store` NULL: there
 * is none yet, and all runs wait. What the store's look returns; HOP_ENOMEM, HOP_ESTOPPED. */
hop_status hop_sweep_look(hop_sweep_outcome *out, const hop_recipe *list, int64_t count, hop_store *store,
                          const hop_progress *progress, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
