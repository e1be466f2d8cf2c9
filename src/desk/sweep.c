/* The verb sweep: many trainings, on one machine or over ranks, with their results in a store. */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <hopbound/ask_sweep.h>

HOP_RECORD_TABLE(hop_sweep_answer, HOP_SWEEP_ANSWER, "how the runs ended")

typedef struct sweep_args {
    hop_request ask;
    hop_opt_value output, jobs, keep, retry, part, picture, show;
} sweep_args;

typedef struct sweeping {
    const sweep_args *args;
    hop_transport *ranks;
    hop_recipe *list;
    int64_t count;
    double began;
} sweeping;

/* clang-format off */
#define AT(member) offsetof(sweep_args, member)
static const hop_opt OPTIONS[] = {
    {"output", 'o', HOP_OPT_TEXT, AT(output), "DB", .required = true, .use = HOP_OPT_READS,
     .help = "the SQLite database: made, or continued; what is unfinished stands in DB.d"},
    {"jobs", 'j', HOP_OPT_INT, AT(jobs), "N", NULL, 1, 4096, .initial_help = "as many as --threads",
     .help = "runs at a time, which share --threads; under mpirun a rank has one"},
    {"keep", 0, HOP_OPT_FLAG, AT(keep), .help = "leave the networks of runs that are done in DB.d"},
    {"retry", 0, HOP_OPT_FLAG, AT(retry), .help = "try again what failed"},
    {"part", 0, HOP_OPT_TEXT, AT(part), "K/N",
     .help = "only every N-th run, from the K-th on, K from 1 to N: for job arrays, each with a database of its own"},
    {"picture", 0, HOP_OPT_TEXT, AT(picture), "FILE.svg", .use = HOP_OPT_WRITES,
     .help = "draw accuracy against the size of the table, a curve a plan: before the first run and after the last"},
    {"show", 0, HOP_OPT_FLAG, AT(show),
     .help = "train nothing: say, and with --picture draw, what the database holds; also while a sweep runs"},
    {0},
};
/* clang-format on */

/* ---- the runs ------------------------------------------------------------------------------- */

static hop_status read_runs(sweeping *w, hop_error *err)
{
    hop_json_doc doc = {0};
    const char *path = hop_request_operand(&w->args->ask, 0);
    hop_status s = hop_json_read(&doc, path, err);
    if (s != HOP_OK) return s;
    s = hop_sweep_read(&w->list, &w->count, doc.root, &w->args->ask.progress, err);
    hop_json_free(&doc);
    return s == HOP_OK ? HOP_OK : hop_fail_in(err, s, path);
}

/* Keeps only those of --part. */
static hop_status take_part(sweeping *w, hop_error *err)
{
    const char *part = w->args->part.text;
    long long k = 0, n = 0;
    char rest;
    if (!part) return HOP_OK;
    if (sscanf(part, "%lld/%lld%c", &k, &n, &rest) != 2 || k < 1 || n < k || n > HOP_MAX_SWEEP)
        return hop_fail(err, HOP_EUSAGE, "--part: \"%.40s\" is not K/N with K from 1 to N", part);
    int64_t kept = 0;
    for (int64_t i = k - 1; i < w->count; i += n) w->list[kept++] = w->list[i];
    w->count = kept;
    return HOP_OK;
}

static void tell_ended(void *ctx, const hop_recipe *r, const hop_measure *m, const char *reason)
{
    const sweeping *w = ctx;
    hop_text line = {0};
    hop_text_printf(&line, "%s (L %s), ", r->pattern, r->mixer);
    hop_sizes_say(&line, &r->task);
    hop_text_printf(&line, ", seed %lld: ", (long long)r->seed);
    if (*reason)
        hop_text_printf(&line, "failed: %s", reason);
    else
        hop_text_printf(&line, "accuracy %.2f %% (%.2f to %.2f), %lld steps, %.0f s", 100 * m->accuracy,
                        100 * m->low, 100 * m->high, (long long)m->step, m->seconds);
    hop__news(&w->args->ask, &line);
}

/* ---- what stands in the store --------------------------------------------------------------- */

/* Reads it and draws it. `fresh`: there may be none yet. On failure there are no rows. */
static hop_status look(const sweeping *w, bool fresh, const hop_progress *progress, sweep_rows *rows,
                       hop_error *err)
{
    const sweep_args *a = w->args;
    hop_sweep_outcome *outcomes = calloc((size_t)w->count + 1, sizeof *outcomes);
    if (!outcomes) return hop_fail(err, HOP_ENOMEM, "%lld runs: out of memory", (long long)w->count);
    hop_store *store = NULL;
    hop_status s = !fresh || access(a->output.text, F_OK) == 0
                       ? a->ask.front->store(&store, a->output.text, HOP_STORE_LOOK, err)
                       : HOP_OK;
    if (s == HOP_OK) s = hop_sweep_look(outcomes, w->list, w->count, store, progress, err);
    if (store) store->close(store);
    if (s == HOP_OK) s = hop__sweep_rows(rows, w->list, outcomes, w->count, err);
    if (s == HOP_OK && a->picture.text) s = hop__sweep_picture(rows, a->picture.text, err);
    if (s != HOP_OK) hop__sweep_rows_free(rows);
    free(outcomes);
    return s;
}

static hop_status record(hop_response *out, const sweeping *w, const hop_sweep_result *r,
                         const sweep_rows *rows, hop_error *err)
{
    hop_keep *k = &out->memory;
    hop_sweep_answer *a = hop_response_begin(out, &hop_sweep_answer_record, err);
    if (!a) return HOP_ENOMEM;
    *a = (hop_sweep_answer){.runs = r->runs,
                            .done = r->done,
                            .failed = r->failed,
                            .skipped = r->skipped,
                            .seconds = hop_now() - w->began,
                            .database = hop_keep_text(k, w->args->output.text),
                            .picture = hop_keep_text(k, w->args->picture.text)};
    out->complaint = hop_learnt_bug(k, rows->rows, rows->count);
    if (out->complaint) out->exit = HOP_EXIT_FAILED;
    return hop_response_end(out, err);
}

static hop_status show(hop_response *out, const sweeping *w, hop_error *err)
{
    sweep_rows rows = {0};
    hop_status s = look(w, false, &w->args->ask.progress, &rows, err);
    const hop_sweep_result r = {rows.runs, rows.done, rows.failed, rows.done + rows.failed, true};
    if (s == HOP_OK) s = record(out, w, &r, &rows, err);
    hop__sweep_rows_free(&rows);
    return s;
}

/* ---- the verb ------------------------------------------------------------------------------- */

/* Rank 0, after `ended` from the training: the rows are read even if nobody draws them, for P3's ceiling. */
static hop_status finish(hop_response *out, const sweeping *w, const hop_sweep_result *result,
                         hop_status ended, hop_error *err)
{
    sweep_rows rows = {0};
    if (!result->entered) return ended;
    hop_status s = look(w, true, ended == HOP_OK ? &w->args->ask.progress : NULL, &rows, err);
    if (s == HOP_OK && ended == HOP_OK) s = record(out, w, result, &rows, err);
    if (s == HOP_OK && ended != HOP_OK)
        s = hop_fail(err, ended, "stopped: on request; the same command continues");
    hop__sweep_rows_free(&rows);
    return s;
}

static hop_status sweep(hop_response *out, const sweeping *w, hop_error *err)
{
    const sweep_args *a = w->args;
    hop_sweep_result result;
    const hop_sweep_options o = {.database = a->output.text,
                                 .open = a->ask.front->store,
                                 .jobs = a->jobs.given ? (int)a->jobs.integer : 0,
                                 .threads = (int)a->ask.threads.integer,
                                 .keep = a->keep.flag,
                                 .retry = a->retry.flag,
                                 .progress = &a->ask.progress,
                                 .ranks = w->ranks,
                                 .ended = tell_ended,
                                 .ctx = (void *)(uintptr_t)w};
    hop_status s = hop_sweep_run(w->list, w->count, &o, &result, err);
    out->apart = s != HOP_OK && s != HOP_ESTOPPED;
    if (out->apart) return s;
    if (w->ranks->rank == 0) return finish(out, w, &result, s, err);
    out->exit = hop__exit(s); /* rank 0 says why */
    return HOP_OK;
}

/* Reads the runs and draws what stands, if that is asked for: what cannot be drawn should be known before hours of
 * training. */
static hop_status prepare(sweeping *w, bool draws, hop_error *err)
{
    sweep_rows rows = {0};
    hop_status s = read_runs(w, err);
    if (s == HOP_OK) s = take_part(w, err);
    if (s == HOP_OK && draws && w->args->picture.text) s = look(w, true, &w->args->ask.progress, &rows, err);
    hop__sweep_rows_free(&rows);
    return s;
}

/* What is wrong everywhere is said once. */
static hop_status ask_sweep(hop_response *out, const void *request, hop_error *err)
{
    const sweep_args *a = request;
    sweeping w = {.args = a, .began = hop_now()};
    hop_transport *own;
    if (!a->ask.front->store) return hop_fail(err, HOP_EIO, "no store for the results: built without SQLite");
    w.ranks = hop__ranks(&a->ask, &own, err);
    if (!w.ranks) return HOP_ENOMEM;
    const bool first = w.ranks->rank == 0;
    hop_status s = first ? prepare(&w, !a->show.flag, err) : HOP_OK;
    int64_t said = hop__exit(s);
    hop_status got = w.ranks->broadcast(w.ranks, &said, s == HOP_OK ? err : NULL);
    out->exit = (hop_exit)said;
    if (s == HOP_OK) s = got;
    if (s == HOP_OK && !said && !first) s = prepare(&w, false, err);
    if (s == HOP_OK && !said && !a->show.flag)
        s = sweep(out, &w, err);
    else if (s == HOP_OK && !said && first)
        s = show(out, &w, err);
    free(w.list);
    hop_transport_close(own, 0);
    return s;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound sweep grid.json -o runs.db --jobs 2",
     "Two trainings at a time; after ^C the same command continues."},
    {"mpirun -n 17 hopbound sweep grid.json -o runs.db --threads 1",
     "Sixteen ranks train, rank 0 gives out runs and writes."},
    {"hopbound sweep grid.json --part 3/100 -o runs-3.db",
     "The third of a hundred jobs of an array."},
    {"hopbound sweep grid.json -o runs.db --show --picture runs.svg",
     "Draws what is done so far, and trains nothing."},
    {0},
};
const hop_verb hop__verb_sweep = {
    .name = "sweep",
    .summary = "trains many networks, a grid or a list, and keeps the results in a database",
    .operand = "FILE",
    .operand_help = "a JSON object: \"base\", a recipe as `train --config` takes it; \"grid\", an object of keys with "
                    "lists of values, or a list of such objects; \"runs\", a list of recipes",
    .description =
        "A run is a recipe of `train`. The runs are all combinations of each grid's values, then those of the list, each "
        "over what \"base\" says. The database has a row for every run, with its status (waiting, running, done, "
        "failed), and a row for every measurement, and can be read while it grows. A run that fails is a row with its "
        "reason, and the others go on; the sweep itself has then done what it should, and exits with 0: `failed` counts "
        "them. One process at a time sweeps into a database.\n\n"
        "Started again, it skips runs that are done or failed and resumes those that were interrupted, to the bits that "
        "they would have had. Which runs there are is decided by FILE alone: runs may be added to it.\n\n"
        "The picture has a chart for every task and number of hops, and a curve for every plan: the mean over the seeds, "
        "with a bar from the worst to the best; chance; and P3's ceiling for networks of linear layers only. A run above "
        "that ceiling by five standard deviations would be a bug: the sweep says so, and exits with 1.\n\n"
        "Under mpirun the ranks above 0 take runs from rank 0, which alone writes.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_sweep_answer_record,
    .ranks = true,
    .request_size = sizeof(sweep_args),
    .ask = ask_sweep,
};
/* clang-format on */
