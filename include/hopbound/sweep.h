/* hopbound/sweep.h - many trainings, their results in an SQLite database.
 *
 *     hop_recipe *list; int64_t count;
 *     hop_sweep_read(&list, &count, json, &err);                // "base", "grid", "runs"
 *     hop_sweep_result result;
 *     hop_sweep_run(list, count, &(hop_sweep_options){.database = "runs.db", .jobs = 2}, &result, &err);
 *     free(list);
 *
 * A run is a recipe. The database has a row a run and a row a measurement, and can be read while it grows; a
 * sweep that is started again skips what is done and resumes what was interrupted.
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
 * caller's, to free(). */
hop_status hop_sweep_read(hop_recipe **list, int64_t *count, const hop_json *root, hop_error *err);

typedef struct hop_sweep_options {
    const char *database; /* what is unfinished is kept in `database`.d */
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
    bool entered; /* all have rows; false: it was stopped, or failed, before */
} hop_sweep_result;

bool hop_sweep_available(void); /* built with SQLite */
/* HOP_EUNKNOWN: built without SQLite. HOP_ESTOPPED; HOP_EIO, HOP_EFORMAT: the database cannot be written, or
 * is none of ours. On ranks above 0 the result is empty. */
hop_status hop_sweep_run(const hop_recipe *list, int64_t count, const hop_sweep_options *o,
                         hop_sweep_result *result, hop_error *err);

/* What a database holds of a run. */
typedef struct hop_sweep_outcome {
    uint64_t recipe;   /* XXH64 of the recipe's text, which names its directory */
    bool done, failed; /* neither: it waits, or is running, or the database does not know it */
    bool measured;     /* it ended with a last measurement: `last`; a failed run may have one, too */
    hop_measure last;
} hop_sweep_outcome;

/* Reads the outcomes of `count` runs into out[count]; also while another process writes. No row is changed.
 * `database` NULL: there is none yet, and all runs wait.
 * HOP_EIO: there is no such database; HOP_EFORMAT: it is none of ours; HOP_EUNKNOWN: built without SQLite;
 * HOP_ENOMEM, HOP_ESTOPPED. */
hop_status hop_sweep_look(hop_sweep_outcome *out, const hop_recipe *list, int64_t count, const char *database,
                          const hop_progress *progress, hop_error *err);

#ifdef __cplusplus
}
#endif
#endif
