/* hopbound sweep: many trainings, on one machine or over ranks, with their results in a database. */
#include "learnt.h"
#include "outside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct sweep_args {
    common_args common;
    hop_opt_value output, jobs, keep, retry, part, picture, show;
} sweep_args;

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

/* ---- the runs ----------------------------------------------------------------------------------- */

static int read_runs(const sweep_args *a, hop_recipe **list, int64_t *count)
{
    hop_json_doc doc = {0};
    hop_error err = {0};
    hop_status s = hop_json_read(&doc, a->common.operand, &err);
    if (s != HOP_OK) return fail_error(&a->common, &err);
    s = hop_sweep_read(list, count, doc.root, &err);
    hop_json_free(&doc);
    if (s == HOP_OK) return EXIT_DONE;
    hop_fail_in(&err, s, a->common.operand);
    return fail_error(&a->common, &err);
}

/* Keeps only those of --part. */
static int take_part(const sweep_args *a, hop_recipe *list, int64_t *count)
{
    long long k = 0, n = 0;
    char rest;
    if (!a->part.text) return EXIT_DONE;
    if (sscanf(a->part.text, "%lld/%lld%c", &k, &n, &rest) != 2 || k < 1 || n < k || n > HOP_MAX_SWEEP)
        return fail(&a->common, EXIT_USAGE, "--part: \"%.40s\" is not K/N with K from 1 to N", a->part.text);
    int64_t kept = 0;
    for (int64_t i = k - 1; i < *count; i += n) list[kept++] = list[i];
    *count = kept;
    return EXIT_DONE;
}

/* ---- what is said ---------------------------------------------------------------------------------- */

static void say_ended(void *ctx, const hop_recipe *r, const hop_measure *m, const char *reason)
{
    const sweep_args *a = ctx;
    hop_text line = {0};
    if (a->common.quiet.flag) return;
    terminal_clear();
    hop_text_printf(&line, "%s (L %s), ", r->pattern, r->mixer);
    hop_sizes_say(&line, &r->task);
    hop_text_printf(&line, ", seed %lld: ", (long long)r->seed);
    if (*reason)
        hop_text_printf(&line, "failed: %s", reason);
    else
        hop_text_printf(&line, "accuracy %.2f %% (%.2f to %.2f), %lld steps, %.0f s", 100 * m->accuracy,
                        100 * m->low, 100 * m->high, (long long)m->step, m->seconds);
    if (line.s) hop_plain(line.s);
    fprintf(stderr, "%s\n", line.s ? line.s : "");
    hop_text_free(&line);
}

static int report(const sweep_args *a, const hop_sweep_result *r, double seconds)
{
    if (a->common.json.flag) {
        hop_json_writer w = {0};
        hop_json_begin_object(&w);
        hop_json_integer(&w, "runs", r->runs);
        hop_json_integer(&w, "done", r->done);
        hop_json_integer(&w, "failed", r->failed);
        hop_json_integer(&w, "skipped", r->skipped);
        hop_json_number(&w, "seconds", seconds);
        hop_json_string(&w, "database", a->output.text);
        if (a->picture.text) hop_json_string(&w, "picture", a->picture.text);
        hop_json_end_object(&w);
        return print_json(&a->common, &w);
    }
    hop_text out = {0};
    hop_text_printf(&out, "%lld run%s: %lld done, %lld failed (%lld of them ended before); ",
                    (long long)r->runs, r->runs == 1 ? "" : "s", (long long)r->done, (long long)r->failed,
                    (long long)r->skipped);
    hop_text_name(&out, a->output.text);
    if (a->picture.text) hop_text_add(&out, ", ");
    if (a->picture.text) hop_text_name(&out, a->picture.text);
    hop_text_add(&out, "\n");
    return print_text(&a->common, &out);
}

/* ---- what stands in the database -------------------------------------------------------------------- */

/* Reads it and draws it. `fresh`: there may be none yet. On failure there are no rows. */
static hop_status look(const sweep_args *a, const hop_recipe *list, int64_t count, bool fresh,
                       sweep_rows *rows, hop_error *err)
{
    hop_sweep_outcome *outcomes = calloc((size_t)count + 1, sizeof *outcomes);
    if (!outcomes) return hop_fail(err, HOP_ENOMEM, "%lld runs: out of memory", (long long)count);
    const hop_progress *progress = terminal_stopped() ? NULL : &a->common.progress;
    hop_store *store = NULL;
    hop_status s = !fresh || access(a->output.text, F_OK) == 0
                       ? sweep_store()(&store, a->output.text, HOP_STORE_LOOK, err)
                       : HOP_OK;
    if (s == HOP_OK) s = hop_sweep_look(outcomes, list, count, store, progress, err);
    if (store) store->close(store);
    if (s == HOP_OK) s = sweep_rows_make(rows, list, outcomes, count, err);
    if (s == HOP_OK && a->picture.text) s = sweep_picture(rows, a->picture.text, err);
    if (s != HOP_OK) sweep_rows_free(rows);
    free(outcomes);
    return s;
}

static int show(const sweep_args *a, const hop_recipe *list, int64_t count)
{
    sweep_rows rows = {0};
    hop_error err = {0};
    double began = hop_now();
    if (look(a, list, count, false, &rows, &err) != HOP_OK) return fail_error(&a->common, &err);
    const hop_sweep_result r = {rows.runs, rows.done, rows.failed, rows.done + rows.failed, true};
    int code = report(a, &r, hop_now() - began);
    if (code == EXIT_DONE) code = learnt_check(&a->common, rows.rows, rows.count);
    sweep_rows_free(&rows);
    return code;
}

/* What cannot be drawn should be known before hours of training. */
static int draw_first(const sweep_args *a, const hop_recipe *list, int64_t count)
{
    sweep_rows rows = {0};
    hop_error err = {0};
    hop_status s = a->picture.text ? look(a, list, count, true, &rows, &err) : HOP_OK;
    sweep_rows_free(&rows);
    return s == HOP_OK ? EXIT_DONE : fail_error(&a->common, &err);
}

/* ---- the verb ---------------------------------------------------------------------------------------- */

/* Rank 0, after `s` from the training: the rows are read even if nobody draws them, for P3's ceiling. */
static int finish(const sweep_args *a, const hop_recipe *list, int64_t count, const hop_sweep_result *result,
                  double began, hop_status s)
{
    const common_args *c = &a->common;
    sweep_rows rows = {0};
    hop_error err = {0};
    if (!result->entered) return fail_stopped(c);
    if (look(a, list, count, true, &rows, &err) != HOP_OK) return fail_error(c, &err);
    int code = s == HOP_OK ? report(a, result, hop_now() - began)
                           : fail(c, EXIT_FAILED, "stopped: by a signal; the same command continues");
    if (code == EXIT_DONE) code = learnt_check(c, rows.rows, rows.count);
    sweep_rows_free(&rows);
    return code;
}

static int sweep(const sweep_args *a, hop_transport *ranks, const hop_recipe *list, int64_t count,
                 hop_status *s)
{
    const common_args *c = &a->common;
    hop_sweep_result result;
    hop_error err = {0};
    double began = hop_now();
    const hop_sweep_options o = {.database = a->output.text,
                                 .open = sweep_store(),
                                 .jobs = a->jobs.given ? (int)a->jobs.integer : 0,
                                 .threads = (int)c->threads.integer,
                                 .keep = a->keep.flag,
                                 .retry = a->retry.flag,
                                 .progress = &c->progress,
                                 .ranks = ranks,
                                 .ended = say_ended,
                                 .ctx = (void *)(uintptr_t)a};
    *s = hop_sweep_run(list, count, &o, &result, &err);
    if (*s != HOP_OK && *s != HOP_ESTOPPED) return fail_error(c, &err);
    if (ranks->rank > 0) return *s == HOP_OK ? EXIT_DONE : EXIT_FAILED; /* rank 0 says why */
    return finish(a, list, count, &result, began, *s);
}

/* Reads the runs and draws what stands, if that is asked for: what is wrong is known before the training. */
static int prepare(const sweep_args *a, hop_recipe **list, int64_t *count, bool draws)
{
    int code = read_runs(a, list, count);
    if (code == EXIT_DONE) code = take_part(a, *list, count);
    return code == EXIT_DONE && draws ? draw_first(a, *list, *count) : code;
}

static int cmd_sweep(common_args *common)
{
    const sweep_args *a = (const sweep_args *)common;
    hop_transport *ranks;
    hop_recipe *list = NULL;
    int64_t count = 0;
    hop_error err = {0};
    hop_status s = HOP_OK;
    if (!sweep_store()) return fail(common, EXIT_FAILED, "built without SQLite");
    if (ranks_open(&ranks, &err) != HOP_OK) return fail_error(common, &err);
    ranks->stopped = terminal_stopped;
    if (ranks->rank > 0) terminal_mute();
    int64_t said = EXIT_DONE; /* what is wrong everywhere is said once */
    if (ranks->rank == 0) said = prepare(a, &list, &count, !a->show.flag);
    if (ranks->broadcast(ranks, &said, &err) != HOP_OK) return fail_error(common, &err);
    int code = (int)said;
    if (code == EXIT_DONE && ranks->rank > 0) code = prepare(a, &list, &count, false);
    if (code == EXIT_DONE && a->show.flag)
        code = ranks->rank == 0 ? show(a, list, count) : EXIT_DONE;
    else if (code == EXIT_DONE)
        code = sweep(a, ranks, list, count, &s);
    free(list);
    hop_transport_close(ranks, s == HOP_ESTOPPED && terminal_stopped() ? HOP_TRANSPORT_LEAVE
                               : s == HOP_OK || s == HOP_ESTOPPED      ? 0
                                                                       : code);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {.title = "Options", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
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
const verb verb_sweep = {
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
    .args_size = sizeof(sweep_args),
    .run = cmd_sweep,
};
/* clang-format on */
