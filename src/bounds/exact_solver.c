/* Runs CaDiCaL as a child process: formula in a file, answer through a pipe, proof in a file.
 *
 * A process and not the library: the library's C interface cannot write proofs, and a child can be stopped at
 * any moment. Everything lies in a fresh directory that is removed at the end, in the proof's directory when
 * a proof is wanted, so that a finished proof is moved to its name in one step. */
#include "exact_solver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define PROGRAM       "cadical"
#define PATH_MAX_HERE 1024

typedef struct child {
    pid_t pid;
    int out; /* its standard output */
} child;

/* ---- processes ----------------------------------------------------------------------------- */

static hop_status start(child *c, char *const *argv, hop_error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return hop_fail(err, HOP_EIO, PROGRAM ": pipe: %s", strerror(errno));
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t defaults;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attr);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE); /* the caller may ignore it; a solver that nobody listens to should end */
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawnp(&c->pid, PROGRAM, &files, &attr, argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    c->out = ends[0];
    if (!failed) return HOP_OK;
    close(ends[0]);
    return hop_fail(err, HOP_EIO, PROGRAM " %s: install the Debian package cadical",
                    failed == ENOENT ? "not found" : strerror(failed));
}

/* What the child printed, until it closed its output. HOP_ESTOPPED when the progress says stop; `late` when
 * the deadline passed. In both cases it is killed. */
static hop_status listen_to(const child *c, const hop__solve *o, hop_text *text, bool *late)
{
    const double began = hop_now();
    char buffer[65536];
    hop_status s = HOP_OK;
    *late = false;
    for (;;) {
        struct pollfd p = {.fd = c->out, .events = POLLIN};
        int ready = poll(&p, 1, 100);
        ssize_t got = ready > 0 ? read(c->out, buffer, sizeof buffer) : -1;
        if (got == 0) break;
        if (got > 0) hop_text_addn(text, buffer, (size_t)got);
        double now = hop_now();
        *late = o->deadline > 0 && now > o->deadline;
        if (!hop_progress_tick(o->progress, o->what, now - began, 0)) s = HOP_ESTOPPED;
        if (*late || s != HOP_OK || text->failed) {
            kill(c->pid, SIGKILL);
            break;
        }
    }
    return text->failed ? HOP_ENOMEM : s;
}

static int finish(child *c)
{
    int status = 0;
    close(c->out);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

/* ---- answers ------------------------------------------------------------------------------- */

/* The "v" lines. False when a variable is out of range or one is missing. */
static bool read_model(const char *text, int vars, signed char *model)
{
    int seen = 0;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line[0] != 'v') continue;
        char *at = (char *)(uintptr_t)line + 1, *end;
        for (;; at = end) {
            while (*at == ' ') at++;
            if (*at == '\n' || !*at) break;
            long v = strtol(at, &end, 10);
            if (end == at || v > vars || -v > vars) return false;
            if (v) seen += model[labs(v)] == 0;
            if (v) model[labs(v)] = v > 0 ? 1 : -1;
        }
    }
    return seen == vars;
}

static hop_status understand(int status, const char *text, int vars, hop__sat *answer, signed char **model,
                             hop_error *err)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool yes = code == 10 && text && strstr(text, "s SATISFIABLE");
    bool no = code == 20 && text && strstr(text, "s UNSATISFIABLE");
    *answer = yes ? HOP__SAT_YES : no ? HOP__SAT_NO : HOP__SAT_UNKNOWN;
    if (WIFSIGNALED(status)) return hop_fail(err, HOP_EIO, PROGRAM ": ended by signal %d", WTERMSIG(status));
    if (!yes && !no && code != 0) return hop_fail(err, HOP_EIO, PROGRAM ": failed with exit code %d", code);
    if (!yes) return HOP_OK;
    *model = calloc((size_t)vars + 1, 1);
    if (!*model) return hop_fail(err, HOP_ENOMEM, PROGRAM ": no memory for the model");
    if (read_model(text, vars, *model)) return HOP_OK;
    free(*model);
    *model = NULL;
    return hop_fail(err, HOP_EFORMAT, PROGRAM ": its model cannot be read");
}

/* ---- files --------------------------------------------------------------------------------- */

typedef struct workplace {
    char dir[PATH_MAX_HERE], cnf[PATH_MAX_HERE + 16], drat[PATH_MAX_HERE + 16];
} workplace;

static hop_status workplace_open(workplace *w, const char *proof, hop_error *err)
{
    const char *tmp = getenv("TMPDIR"), *slash = proof ? strrchr(proof, '/') : NULL;
    int length;
    if (slash)
        length = snprintf(w->dir, sizeof w->dir, "%.*s/.exact-XXXXXX", (int)(slash - proof), proof);
    else
        length = snprintf(w->dir, sizeof w->dir, "%s/hopbound-XXXXXX",
                          proof         ? "."
                          : tmp && *tmp ? tmp
                                        : "/tmp");
    if (length < 0 || (size_t)length >= sizeof w->dir || !mkdtemp(w->dir)) {
        int why = errno;
        w->cnf[0] = 0;
        return hop_fail(err, HOP_EIO, "%.200s: cannot make a directory: %s", w->dir, strerror(why));
    }
    snprintf(w->cnf, sizeof w->cnf, "%s/cnf", w->dir);
    snprintf(w->drat, sizeof w->drat, "%s/drat", w->dir);
    return HOP_OK;
}

static void workplace_close(const workplace *w)
{
    unlink(w->cnf);
    unlink(w->drat);
    rmdir(w->dir);
}

static hop_status write_formula(const workplace *w, const hop__cnf *f, hop_error *err)
{
    FILE *out = fopen(w->cnf, "we");
    bool ok = out && hop__cnf_write(f, out);
    int why = errno;
    if (out && fclose(out) != 0 && ok) {
        ok = false;
        why = errno;
    }
    return ok ? HOP_OK : hop_fail(err, HOP_EIO, "%.200s: %s", w->cnf, strerror(why));
}

static hop_status keep_proof(const workplace *w, const char *proof, hop_error *err)
{
    char path[PATH_MAX_HERE + 16];
    snprintf(path, sizeof path, "%s.cnf", proof);
    if (rename(w->cnf, path) != 0) return hop_fail(err, HOP_EIO, "%.200s: %s", path, strerror(errno));
    snprintf(path, sizeof path, "%s.drat", proof);
    if (rename(w->drat, path) != 0) return hop_fail(err, HOP_EIO, "%.200s: %s", path, strerror(errno));
    return HOP_OK;
}

/* ---- public -------------------------------------------------------------------------------- */

static hop_status solve_in(const workplace *w, const hop__solve *o, const hop__cnf *f, hop__sat *answer,
                           signed char **model, hop_error *err)
{
    char seed[40], limit[24], cnf[sizeof w->cnf], drat[sizeof w->drat];
    double left = o->deadline > 0 ? o->deadline - hop_now() : 0;
    memcpy(cnf, w->cnf, sizeof cnf);
    memcpy(drat, w->drat, sizeof drat);
    snprintf(seed, sizeof seed, "--seed=%llu", (unsigned long long)(o->seed % 2000000000));
    snprintf(limit, sizeof limit, "%.0f",
             left > 1 ? left + 1 : 2.0); /* ends a child whose parent was killed */
    char *argv[10] = {(char *)"cadical", (char *)"-q", (char *)"--no-binary", seed};
    int count = 4;
    if (o->deadline > 0) {
        argv[count++] = (char *)"-t";
        argv[count++] = limit;
    }
    argv[count++] = cnf;
    if (o->proof) argv[count++] = drat;
    child c;
    hop_text text = {0};
    bool late;
    hop_status s = start(&c, argv, err);
    if (s != HOP_OK) return s;
    s = listen_to(&c, o, &text, &late);
    int status = finish(&c);
    if (s != HOP_OK)
        s = hop_fail(err, s, PROGRAM ": %s", hop_status_text(s));
    else if (!late)
        s = understand(status, text.s, f->vars, answer, model, err);
    hop_text_free(&text);
    return s;
}

hop_status hop__solver_run(const hop__solve *o, const hop__cnf *f, hop__sat *answer, signed char **model,
                           hop_error *err)
{
    workplace w;
    *answer = HOP__SAT_UNKNOWN;
    *model = NULL;
    if (f->failed || f->comment.failed) return hop_fail(err, HOP_ENOMEM, "no memory for the formula");
    if (o->deadline > 0 && hop_now() > o->deadline) return HOP_OK;
    hop_status s = workplace_open(&w, o->proof, err);
    if (s != HOP_OK) return s;
    s = write_formula(&w, f, err);
    if (s == HOP_OK) s = solve_in(&w, o, f, answer, model, err);
    if (s == HOP_OK && *answer == HOP__SAT_NO && o->proof) s = keep_proof(&w, o->proof, err);
    workplace_close(&w);
    return s;
}

hop_status hop__solver_version(char *out, size_t size, hop_error *err)
{
    char *argv[] = {(char *)"cadical", (char *)"--version", NULL};
    const hop__solve o = {.what = "asking for the solver's version"};
    child c;
    hop_text text = {0};
    bool late;
    hop_status s = start(&c, argv, err);
    if (s != HOP_OK) return s;
    s = listen_to(&c, &o, &text, &late);
    int status = finish(&c);
    if (s == HOP_OK && status == 0 && text.s)
        snprintf(out, size, PROGRAM " %.*s", (int)strcspn(text.s, "\n"), text.s);
    else
        s = hop_fail(err, HOP_EIO, PROGRAM ": does not say its version");
    hop_text_free(&text);
    return s;
}
