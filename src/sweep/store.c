/* The store that is an SQLite database: a row a run, a row a measurement (docs/FORMATS.md). This is
 * libhopbound-sqlite, the only file that sees sqlite3.h; it sees of libhopbound what everybody may.
 *
 * Its log is written ahead (WAL), so that others read while this process writes, and every call is a
 * transaction of its own: a killed sweep leaves rows that are whole. */
#include <hopbound/sqlite.h>

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define APPLICATION 0x686f7062 /* "hopb" */
#define WAIT_MS     20000      /* for another process that reads or writes */
/* A look-up goes down two trees, some hundred instructions of SQLite's machine; making the tables takes some
 * thousand. Whatever needs more is no database of ours. */
#define STEPS_AT_ONCE 1000
#define MOST_STEPS    1000000
#define MOST_BYTES    (1 << 24) /* of a value, a row, or a statement */

typedef struct database {
    hop_store base; /* first: a hop_store * is one of these */
    sqlite3 *db;
    int64_t steps; /* of the statement that runs */
    char path[512];
} database;

static const char SCHEMA[] =
    "CREATE TABLE IF NOT EXISTS runs("
    " id INTEGER PRIMARY KEY, recipe TEXT NOT NULL UNIQUE,"
    " pattern TEXT NOT NULL, mixer TEXT NOT NULL, task TEXT NOT NULL, hops INTEGER, m INTEGER, table_size "
    "INTEGER,"
    " tokens INTEGER NOT NULL, d_model INTEGER NOT NULL, heads INTEGER NOT NULL, seed INTEGER NOT NULL,"
    " status TEXT NOT NULL, reason TEXT, steps INTEGER, loss REAL, accuracy REAL, low REAL, high REAL, "
    "chance REAL,"
    " ceiling REAL, seconds REAL, tokens_per_second REAL, began TEXT, ended TEXT);"
    "CREATE TABLE IF NOT EXISTS measurements("
    " run INTEGER NOT NULL REFERENCES runs(id), step INTEGER NOT NULL, last INTEGER NOT NULL, loss REAL,"
    " instances INTEGER, correct INTEGER, accuracy REAL, low REAL, high REAL, answers REAL, chance REAL,"
    " seconds REAL, tokens_per_second REAL, PRIMARY KEY(run, step, last)) WITHOUT ROWID;"
    "CREATE TEMP TABLE claimed(id INTEGER PRIMARY KEY);";

static hop_status broken(const database *s, hop_error *err)
{
    int code = sqlite3_errcode(s->db);
    if (code == SQLITE_INTERRUPT)
        return hop_fail(err, HOP_EFORMAT, "%s: a look-up takes too long: is not laid out as a sweep's",
                        s->path);
    return hop_fail(err, code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? HOP_EFORMAT : HOP_EIO, "%s: %s",
                    s->path, sqlite3_errmsg(s->db));
}

static hop_status execute(database *s, const char *sql, hop_error *err)
{
    s->steps = 0;
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HOP_OK : broken(s, err);
}

/* ---- statements ------------------------------------------------------------------------------- */

static hop_status prepare(database *s, sqlite3_stmt **q, const char *sql, hop_error *err)
{
    s->steps = 0;
    return sqlite3_prepare_v2(s->db, sql, -1, q, NULL) == SQLITE_OK ? HOP_OK : broken(s, err);
}

/* Runs it to its end. */
static hop_status finish(database *s, sqlite3_stmt *q, hop_error *err)
{
    hop_status got = sqlite3_step(q) == SQLITE_DONE ? HOP_OK : broken(s, err);
    sqlite3_finalize(q);
    return got;
}

/* NULL where there is no number. */
static void bind_real(sqlite3_stmt *q, int at, double x)
{
    if (isfinite(x))
        sqlite3_bind_double(q, at, x);
    else
        sqlite3_bind_null(q, at);
}

static void bind_text(sqlite3_stmt *q, int at, const char *text)
{
    sqlite3_bind_text(q, at, text, -1, SQLITE_TRANSIENT);
}

static void bind_known(sqlite3_stmt *q, int at, int64_t x, bool known)
{
    if (known)
        sqlite3_bind_int64(q, at, x);
    else
        sqlite3_bind_null(q, at);
}

/* ---- opening ---------------------------------------------------------------------------------- */

static int too_many_steps(void *ctx)
{
    database *s = ctx;
    return (s->steps += STEPS_AT_ONCE) > MOST_STEPS;
}

/* Files come from strangers, and a schema can hold programs: views that never end under the names of our
 * tables, triggers, columns that are computed. Nothing of the kind runs, and every statement is bounded. */
static void be_careful(database *s)
{
    static const int off[] = {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                              SQLITE_DBCONFIG_TRUSTED_SCHEMA};
    for (size_t i = 0; i < sizeof off / sizeof off[0]; i++) sqlite3_db_config(s->db, off[i], 0, (int *)NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, MOST_BYTES);
    sqlite3_progress_handler(s->db, STEPS_AT_ONCE, too_many_steps, s);
    sqlite3_busy_timeout(s->db, WAIT_MS);
}

/* One number from one statement; a failure is -1. */
static int64_t ask(database *s, const char *sql, hop_error *err)
{
    sqlite3_stmt *q = NULL;
    int64_t answer = -1;
    if (prepare(s, &q, sql, err) != HOP_OK) return -1;
    if (sqlite3_step(q) == SQLITE_ROW)
        answer = sqlite3_column_int64(q, 0);
    else
        broken(s, err);
    sqlite3_finalize(q);
    return answer;
}

/* A database that holds something else is refused, and one whose tables are none. An empty one may become
 * ours. */
static hop_status check_ours(database *s, hop_error *err)
{
    int64_t used = ask(s, "SELECT EXISTS(SELECT 1 FROM sqlite_master)", err);
    int64_t mark = used < 0 ? -1 : ask(s, "SELECT application_id FROM pragma_application_id", err);
    if (used < 0 || mark < 0) return err->status;
    if (used == 0) return HOP_OK;
    if (mark != APPLICATION)
        return hop_fail(err, HOP_EFORMAT, "%s: is a database of something else", s->path);
    int64_t other = ask(s,
                        "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE name IN ('runs', 'measurements')"
                        " AND (type <> 'table' OR NOT rootpage))"
                        " OR EXISTS(SELECT 1 FROM pragma_table_xinfo('runs') WHERE hidden)"
                        " OR EXISTS(SELECT 1 FROM pragma_table_xinfo('measurements') WHERE hidden)",
                        err);
    if (other > 0)
        return hop_fail(err, HOP_EFORMAT, "%s: its runs or measurements are not the tables of a sweep",
                        s->path);
    return other < 0 ? err->status : HOP_OK;
}

/* SQLite would write through a link to nothing, make an empty file ours, and wait at a pipe. */
static hop_status check_path(const char *path, bool fresh, hop_error *err)
{
    struct stat st, link;
    bool linked = lstat(path, &link) == 0 && S_ISLNK(link.st_mode), there = stat(path, &st) == 0;
    if (there && S_ISDIR(st.st_mode)) return hop_fail(err, HOP_EIO, "%s: is a directory", path);
    if (there && !S_ISREG(st.st_mode)) return hop_fail(err, HOP_EIO, "%s: is not a file", path);
    if (fresh && linked && (!there || st.st_size == 0))
        return hop_fail(err, HOP_EIO, "%s: is a link to a file that is %s", path,
                        there ? "empty" : "not there");
    return HOP_OK;
}

static hop_status begin(database *s, hop_error *err)
{
    char mark[64];
    hop_status got = check_ours(s, err);
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d", APPLICATION);
    if (got == HOP_OK) got = execute(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", err);
    if (got == HOP_OK) got = execute(s, mark, err);
    return got == HOP_OK ? execute(s, SCHEMA, err) : got;
}

/* An empty file is one that `begin` makes ours; to a reader it lacks the tables. */
static hop_status begin_read(database *s, hop_error *err)
{
    sqlite3_stmt *q = NULL;
    hop_status got = check_ours(s, err);
    if (got == HOP_OK) got = prepare(s, &q, "SELECT 1 FROM runs, measurements", err);
    sqlite3_finalize(q);
    return got;
}

/* ---- runs --------------------------------------------------------------------------------------- */

static const char *const STATUS[] = {"waiting", "running", "done", "failed"};

static hop_status insert(database *s, const hop_recipe *r, const char *text, hop_error *err)
{
    sqlite3_stmt *q = NULL;
    hop_status got = prepare(
        s, &q,
        "INSERT OR IGNORE INTO runs(recipe, pattern, mixer, task, hops, m, table_size, tokens, d_model,"
        " heads, seed, status) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting')",
        err);
    if (got != HOP_OK) return got;
    bool funccomp = r->task.kind == HOP_TASK_FUNCCOMP, khop = r->task.kind == HOP_TASK_KHOP;
    bind_text(q, 1, text);
    bind_text(q, 2, r->pattern);
    bind_text(q, 3, r->mixer);
    bind_text(q, 4, hop_task_name(r->task.kind));
    bind_known(q, 5, funccomp ? r->task.funccomp.hops : khop ? r->task.khop.hops : 0, funccomp || khop);
    bind_known(q, 6, funccomp ? r->task.funccomp.m : 0, funccomp);
    bind_known(q, 7, funccomp ? r->task.funccomp.vocab : 0, funccomp);
    sqlite3_bind_int64(q, 8, r->task.length);
    sqlite3_bind_int64(q, 9, r->d_model);
    sqlite3_bind_int64(q, 10, r->heads);
    sqlite3_bind_int64(q, 11, (int64_t)r->seed);
    return finish(s, q, err);
}

/* Notes that this sweep knows the row; `again`: that it did before. */
static hop_status claim(database *s, int64_t id, bool *again, hop_error *err)
{
    sqlite3_stmt *q = NULL;
    hop_status got = prepare(s, &q, "INSERT OR IGNORE INTO claimed VALUES(?)", err);
    if (got != HOP_OK) return got;
    sqlite3_bind_int64(q, 1, id);
    got = finish(s, q, err);
    *again = sqlite3_changes(s->db) == 0;
    return got;
}

static hop_status store_find(hop_store *base, const hop_recipe *r, const char *text, hop_store_row *run,
                             hop_error *err)
{
    database *s = (database *)base;
    sqlite3_stmt *q = NULL;
    hop_status got = insert(s, r, text, err);
    if (got == HOP_OK) got = prepare(s, &q, "SELECT id, status FROM runs WHERE recipe = ?", err);
    if (got != HOP_OK) return got;
    bind_text(q, 1, text);
    *run = (hop_store_row){.status = HOP_ROW_WAITING};
    if (sqlite3_step(q) == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(q, 1);
        run->id = sqlite3_column_int64(q, 0);
        for (int i = HOP_ROW_WAITING; word && i <= HOP_ROW_FAILED; i++)
            if (strcmp(word, STATUS[i]) == 0) run->status = (hop_row_status)i;
    } else {
        got = broken(s, err);
    }
    sqlite3_finalize(q);
    return got == HOP_OK ? claim(s, run->id, &run->again, err) : got;
}

static hop_status set_status(database *s, int64_t id, const char *sql, hop_error *err)
{
    sqlite3_stmt *q = NULL;
    hop_status got = prepare(s, &q, sql, err);
    if (got != HOP_OK) return got;
    sqlite3_bind_int64(q, 1, id);
    return finish(s, q, err);
}

static hop_status store_begin(hop_store *base, int64_t id, hop_error *err)
{
    database *s = (database *)base;
    return set_status(
        s, id,
        "UPDATE runs SET status = 'running', reason = NULL, began = coalesce(began, datetime('now')),"
        " ended = NULL WHERE id = ?",
        err);
}

static hop_status store_measure(hop_store *base, int64_t id, const hop_measure *m, hop_error *err)
{
    database *s = (database *)base;
    sqlite3_stmt *q = NULL;
    hop_status got = prepare(
        s, &q, "INSERT OR REPLACE INTO measurements VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", err);
    if (got != HOP_OK) return got;
    const double reals[] = {m->accuracy,         m->low, m->high, m->answers, m->chance, m->seconds,
                            m->tokens_per_second};
    sqlite3_bind_int64(q, 1, id);
    sqlite3_bind_int64(q, 2, m->step);
    sqlite3_bind_int64(q, 3, m->last);
    bind_real(q, 4, m->loss);
    sqlite3_bind_int64(q, 5, m->instances);
    sqlite3_bind_int64(q, 6, m->correct);
    for (int i = 0; i < 7; i++) bind_real(q, 7 + i, reals[i]);
    return finish(s, q, err);
}

static hop_status store_end(hop_store *base, int64_t id, const hop_measure *m, const char *reason,
                            hop_error *err)
{
    database *s = (database *)base;
    sqlite3_stmt *q = NULL;
    if (!reason) return set_status(s, id, "UPDATE runs SET status = 'waiting' WHERE id = ?", err);
    hop_status got = prepare(
        s, &q,
        "UPDATE runs SET status = ?, reason = ?, steps = ?, loss = ?, accuracy = ?, low = ?, high = ?,"
        " chance = ?, ceiling = ?, seconds = ?, tokens_per_second = ?, ended = datetime('now')"
        " WHERE id = ?",
        err);
    if (got != HOP_OK) return got;
    bool done = !*reason;
    const double reals[] = {m->loss,   m->accuracy, m->low,     m->high,
                            m->chance, m->ceiling,  m->seconds, m->tokens_per_second};
    bind_text(q, 1, STATUS[done ? HOP_ROW_DONE : HOP_ROW_FAILED]);
    if (done)
        sqlite3_bind_null(q, 2);
    else
        bind_text(q, 2, reason);
    sqlite3_bind_int64(q, 3, m->step);
    for (int i = 0; i < 8; i++) bind_real(q, 4 + i, reals[i]);
    sqlite3_bind_int64(q, 12, id);
    return finish(s, q, err);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static double real_at(sqlite3_stmt *q, int at)
{
    return sqlite3_column_type(q, at) == SQLITE_NULL ? NAN : sqlite3_column_double(q, at);
}

static void read_outcome(sqlite3_stmt *q, hop_sweep_outcome *out)
{
    const char *word = (const char *)sqlite3_column_text(q, 0);
    out->done = word && strcmp(word, STATUS[HOP_ROW_DONE]) == 0;
    out->failed = word && strcmp(word, STATUS[HOP_ROW_FAILED]) == 0;
    out->measured = (out->done || out->failed) && sqlite3_column_type(q, 1) != SQLITE_NULL;
    if (!out->measured) return;
    out->last = (hop_measure){.step = sqlite3_column_int64(q, 1),
                              .instances = sqlite3_column_int64(q, 2),
                              .correct = sqlite3_column_int64(q, 3),
                              .loss = real_at(q, 4),
                              .accuracy = real_at(q, 5),
                              .low = real_at(q, 6),
                              .high = real_at(q, 7),
                              .answers = real_at(q, 8),
                              .chance = real_at(q, 9),
                              .seconds = real_at(q, 10),
                              .tokens_per_second = real_at(q, 11),
                              .ceiling = real_at(q, 12),
                              .last = true};
}

static hop_status store_look(hop_store *base, const char *text, hop_sweep_outcome *out, hop_error *err)
{
    database *s = (database *)base;
    sqlite3_stmt *q = NULL;
    hop_status got = prepare(
        s, &q,
        "SELECT r.status, m.step, m.instances, m.correct, m.loss, m.accuracy, m.low, m.high, m.answers,"
        " m.chance, m.seconds, m.tokens_per_second, r.ceiling"
        " FROM runs r LEFT JOIN measurements m ON m.run = r.id AND m.last = 1 WHERE r.recipe = ?"
        " ORDER BY m.step DESC LIMIT 1",
        err);
    if (got != HOP_OK) return got;
    bind_text(q, 1, text);
    int row = sqlite3_step(q);
    if (row == SQLITE_ROW)
        read_outcome(q, out);
    else if (row != SQLITE_DONE)
        got = broken(s, err);
    sqlite3_finalize(q);
    return got;
}

/* ---- the store ---------------------------------------------------------------------------------- */

static void store_close(hop_store *base)
{
    sqlite3_close(((database *)base)->db);
    free(base);
}

static hop_status open_file(database *s, const char *path, hop_store_use use, hop_error *err)
{
    /* Also to look, for a connection with SQLITE_OPEN_READONLY, if it is the last to close, leaves the log's
     * files behind. */
    int flags = SQLITE_OPEN_READWRITE | (use == HOP_STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
    snprintf(s->path, sizeof s->path, "%.500s", path);
    if (sqlite3_open_v2(path, &s->db, flags, NULL) != SQLITE_OK) return broken(s, err);
    be_careful(s);
    return use == HOP_STORE_WRITE ? begin(s, err) : begin_read(s, err);
}

hop_status hop_store_sqlite(hop_store **out, const char *path, hop_store_use use, hop_error *err)
{
    *out = NULL;
    hop_error why = {0}; /* the caller may not want any, and check_ours reads it */
    hop_status got = check_path(path, use == HOP_STORE_WRITE, err);
    if (got != HOP_OK) return got;
    database *s = calloc(1, sizeof *s);
    if (!s) return hop_fail(err, HOP_ENOMEM, "%s: out of memory", path);
    s->base = (hop_store){store_find, store_begin, store_measure, store_end, store_look, store_close};
    got = open_file(s, path, use, &why);
    if (got != HOP_OK && err) *err = why;
    if (got == HOP_OK)
        *out = &s->base;
    else
        store_close(&s->base);
    return got;
}
