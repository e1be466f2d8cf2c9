/* Runs CaDiCaL as a child process: formula on its standard input, answer through a pipe, proof in a file.
 *
 * A process and not the library: the library's C interface cannot write proofs, and a child can be stopped at
 * any moment. Whoever kills this process should not have to clean up after it: the child dies with it, and
 * the formula lies in a file that has lost its name before the child starts. Only a proof needs names, in a
 * fresh directory beside where it will be, so that a finished one is moved there in one step. */
#include "solver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define PROGRAM       "cadical"
#define PATH_MAX_HERE 1024

typedef struct child {
    pid_t pid;
    int out; /* its standard output */
} child;

/* ---- processes ----------------------------------------------------------------------------- */

static int finish(child *c)
{
    int status = 0;
    close(c->out);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

/* What a new process is given, and how it says that it could not begin. */
typedef struct birth {
    pid_t parent;
    int in, out, trouble; /* in: -1 for nothing to read; trouble takes an errno */
    char *const *argv;
} birth;

/* The child, from fork to exec: only calls that are safe there. Descriptors are first moved away from 0..2,
 * where they lie if the caller has closed those. */
static _Noreturn void become(const birth *b)
{
    int in = b->in < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : b->in;
    int trouble = fcntl(b->trouble, F_DUPFD_CLOEXEC, 3), out = fcntl(b->out, F_DUPFD_CLOEXEC, 3);
    in = fcntl(in, F_DUPFD_CLOEXEC, 3);
    int nowhere = fcntl(open("/dev/null", O_WRONLY | O_CLOEXEC), F_DUPFD_CLOEXEC, 3);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != b->parent) _exit(1); /* it died before that */
#endif
    signal(SIGPIPE, SIG_DFL); /* the caller may ignore it; a solver that nobody listens to should end */
    if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(nowhere, 2) == 2) execvp(PROGRAM, b->argv);
    int why = errno;
    ssize_t told = write(trouble, &why, sizeof why);
    _exit(told == sizeof why ? 1 : 2);
}

/* The errno with which the child could not begin; 0 when it did, and its end of the pipe closed in exec. */
static int trouble_of(int pipe)
{
    int why = 0;
    ssize_t got;
    do got = read(pipe, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    return got == sizeof why ? why : 0;
}

static hop_status start(child *c, int in, char *const *argv, hop_error *err)
{
    int out[2], trouble[2], why;
    if (pipe2(out, O_CLOEXEC) != 0) return hop_fail(err, HOP_EIO, PROGRAM ": pipe: %s", strerror(errno));
    if (pipe2(trouble, O_CLOEXEC) != 0) {
        why = errno;
        close(out[0]);
        close(out[1]);
        return hop_fail(err, HOP_EIO, PROGRAM ": pipe: %s", strerror(why));
    }
    const birth b = {.parent = getpid(), .in = in, .out = out[1], .trouble = trouble[1], .argv = argv};
    c->pid = fork();
    if (c->pid == 0) become(&b);
    why = errno;
    close(out[1]);
    close(trouble[1]);
    if (c->pid > 0) why = trouble_of(trouble[0]);
    close(trouble[0]);
    c->out = out[0];
    if (!why) return HOP_OK;
    if (c->pid > 0)
        finish(c);
    else
        close(c->out);
    return hop_fail(err, HOP_EIO, PROGRAM " %s: install the Debian package cadical",
                    why == ENOENT ? "not found" : strerror(why));
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
    int formula;                                                                /* -1 when there is none */
    char dir[PATH_MAX_HERE], cnf[PATH_MAX_HERE + 16], drat[PATH_MAX_HERE + 16]; /* with a proof */
} workplace;

/* Without a proof: a file in the system's directory for such, that has no name any more. */
static hop_status open_nameless(workplace *w, hop_error *err)
{
    const char *tmp = getenv("TMPDIR");
    char path[PATH_MAX_HERE];
    int length = snprintf(path, sizeof path, "%s/hopbound-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    bool fits = length > 0 && (size_t)length < sizeof path;
    w->formula = fits ? mkostemp(path, O_CLOEXEC) : -1;
    if (w->formula >= 0) {
        unlink(path);
        return HOP_OK;
    }
    return hop_fail(err, HOP_EIO, "%.200s: cannot make a file: %s", path,
                    strerror(fits ? errno : ENAMETOOLONG));
}

static hop_status open_beside(workplace *w, const char *proof, hop_error *err)
{
    const char *slash = strrchr(proof, '/');
    int length = snprintf(w->dir, sizeof w->dir, "%.*s/.exact-XXXXXX", slash ? (int)(slash - proof) : 1,
                          slash ? proof : ".");
    bool fits = length > 0 && (size_t)length < sizeof w->dir;
    if (!fits || !mkdtemp(w->dir)) {
        hop_status s = hop_fail(err, HOP_EIO, "%.200s: cannot make a directory: %s", w->dir,
                                strerror(fits ? errno : ENAMETOOLONG));
        w->dir[0] = 0;
        return s;
    }
    snprintf(w->cnf, sizeof w->cnf, "%s/cnf", w->dir);
    snprintf(w->drat, sizeof w->drat, "%s/drat", w->dir);
    w->formula = open(w->cnf, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return w->formula >= 0 ? HOP_OK : hop_fail(err, HOP_EIO, "%.200s: %s", w->cnf, strerror(errno));
}

static void workplace_close(const workplace *w)
{
    if (w->formula >= 0) close(w->formula);
    if (!w->dir[0]) return;
    unlink(w->cnf);
    unlink(w->drat);
    rmdir(w->dir);
}

/* Leaves the descriptor at the formula's beginning. */
static hop_status write_formula(const workplace *w, const hop__cnf *f, hop_error *err)
{
    int copy = fcntl(w->formula, F_DUPFD_CLOEXEC, 3), why;
    FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
    bool ok = out && hop__cnf_write(f, out);
    why = errno;
    if (!out && copy >= 0) close(copy);
    if (out && fclose(out) != 0 && ok) {
        ok = false;
        why = errno;
    }
    if (ok && lseek(w->formula, 0, SEEK_SET) != 0) {
        ok = false;
        why = errno;
    }
    return ok ? HOP_OK : hop_fail(err, HOP_EIO, "the formula's file: %s", strerror(why));
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
    char seed[40], limit[24], drat[sizeof w->drat];
    double left = o->deadline > 0 ? o->deadline - hop_now() : 0;
    memcpy(drat, w->drat, sizeof drat);
    snprintf(seed, sizeof seed, "--seed=%llu", (unsigned long long)(o->seed % 2000000000));
    snprintf(limit, sizeof limit, "%.0f",
             left > 1 ? left + 1 : 2.0); /* ends it where it does not die with its parent */
    char *argv[10] = {(char *)"cadical", (char *)"-q", (char *)"--no-binary", seed};
    int count = 4;
    if (o->deadline > 0) {
        argv[count++] = (char *)"-t";
        argv[count++] = limit;
    }
    argv[count++] = (char *)"-";
    if (o->proof) argv[count++] = drat;
    child c;
    hop_text text = {0};
    bool late;
    hop_status s = start(&c, w->formula, argv, err);
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
    workplace w = {.formula = -1};
    *answer = HOP__SAT_UNKNOWN;
    *model = NULL;
    if (f->failed || f->comment.failed) return hop_fail(err, HOP_ENOMEM, "no memory for the formula");
    if (o->deadline > 0 && hop_now() > o->deadline) return HOP_OK;
    hop_status s = o->proof ? open_beside(&w, o->proof, err) : open_nameless(&w, err);
    if (s == HOP_OK) s = write_formula(&w, f, err);
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
    hop_status s = start(&c, -1, argv, err);
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
