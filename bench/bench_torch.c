/* bench_torch.c - PyTorch as a child process that is asked for steps through a pipe and dies with this one.
 * The settings are the fastest found for Debian's python3-torch: OpenBLAS takes new processors for old ones
 * (CORETYPE), its pthread flavour fights torch's OpenMP threads, torch takes AVX2 unless told, and memory
 * that is given back faults. It gets the vectors that ours have: AVX-512, or else AVX2. */
#include "bench_train.h"

#include <hopbound/kernels.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

extern const char *const hop__bench_scripts[]; /* by tools/embed.c */

static void settings(int threads)
{
    char n[16];
    snprintf(n, sizeof n, "%d", threads);
    setenv("OMP_NUM_THREADS", n, 1), setenv("OPENBLAS_NUM_THREADS", n, 1);
#if defined(__x86_64__) && defined(__GNUC__)
    const bool wide = hop_kernels_selected() == HOP_ISA_AVX512, amd = __builtin_cpu_is("amd");
    setenv("OPENBLAS_CORETYPE", wide ? "SkylakeX" : amd ? "Zen" : "Haswell", 1);
    setenv("ATEN_CPU_CAPABILITY", wide ? "avx512" : "avx2", 1);
    setenv("LD_LIBRARY_PATH", "/usr/lib/x86_64-linux-gnu/openblas-openmp", 1);
#endif
    setenv("OMP_PROC_BIND", "true", 1), setenv("OMP_PLACES", "cores", 1);
    setenv("MALLOC_MMAP_MAX_", "0", 1), setenv("MALLOC_TRIM_THRESHOLD_", "20000000000", 1);
    setenv("MALLOC_TOP_PAD_", "268435456", 1), setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 1);
}

static _Noreturn void become(const char *python, int in, int out, int threads)
{
    char n[16];
    snprintf(n, sizeof n, "%d", threads);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    settings(threads);
    int nowhere = open("/dev/null", O_WRONLY);
    if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(nowhere, 2) == 2)
        execlp(python, python, "-c", hop__bench_scripts[1], n, (char *)NULL);
    _exit(1);
}

/* A line of its answer, without its end. HOP_EIO when there is none, HOP_ESTOPPED when the progress says so.
 */
static hop_status line_of(const hop_bench_torch *t, hop_text *line, const hop_progress *progress)
{
    const double began = hop_now();
    for (;;) {
        struct pollfd p = {.fd = t->out, .events = POLLIN};
        char c;
        int ready = poll(&p, 1, 100);
        if (!hop_progress_tick(progress, "PyTorch's step", hop_now() - began, 0)) return HOP_ESTOPPED;
        if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
        while (ready > 0) {
            ssize_t got = read(t->out, &c, 1);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return HOP_EIO;
            if (c == '\n') return line->failed ? HOP_ENOMEM : HOP_OK;
            hop_text_addn(line, &c, 1);
            ready = poll(&p, 1, 0);
        }
        if (ready < 0 && errno != EINTR) return HOP_EIO;
    }
}

static hop_status open_one(hop_bench_torch *t, const char *python, int threads, hop_error *err)
{
    int in[2], out[2];
    *t = (hop_bench_torch){.pid = -1, .in = -1, .out = -1};
    if (pipe(in) != 0) return hop_fail(err, HOP_EIO, "pipe: %s", strerror(errno));
    if (pipe(out) != 0) {
        close(in[0]), close(in[1]);
        return hop_fail(err, HOP_EIO, "pipe: %s", strerror(errno));
    }
    fcntl(in[1], F_SETFD, FD_CLOEXEC), fcntl(out[0], F_SETFD, FD_CLOEXEC);
    t->pid = (int)fork();
    if (t->pid == 0) become(python, in[0], out[1], threads);
    close(in[0]), close(out[1]);
    t->in = in[1], t->out = out[0];
    hop_text line = {0};
    hop_status s = t->pid < 0 ? HOP_EIO : line_of(t, &line, NULL);
    const char *text = line.s ? line.s : "";
    if (s == HOP_OK && strncmp(text, "ready ", 6) == 0)
        snprintf(t->version, sizeof t->version, "%s", text + 6);
    else
        s = hop_fail(err, HOP_EIO,
                     "torch: %s %s: install the Debian packages python3-torch and libopenblas0-openmp",
                     python, strcmp(text, "none") == 0 ? "has no torch" : "does not answer");
    hop_text_free(&line);
    if (s != HOP_OK) hop_bench_torch_close(t);
    return s;
}

/* Debian's, unless another one is named: the first in the path may be one that packages do not install for.
 */
hop_status hop_bench_torch_open(hop_bench_torch *t, int threads, hop_error *err)
{
    const char *named = getenv("HOPBOUND_PYTHON"), *debian = "/usr/bin/python3";
    return open_one(t, named ? named : access(debian, X_OK) == 0 ? debian : "python3", threads, err);
}

hop_status hop_bench_torch_run(hop_bench_torch *t, const char *mixer, int64_t d, double seconds, double *took,
                               int *count, int max, const hop_progress *progress, hop_error *err)
{
    char ask[96];
    int n = snprintf(ask, sizeof ask, "%s %d %g\n", mixer, (int)d, seconds);
    struct sigaction old, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, &old); /* a peer that died is an error like any other */
    ssize_t sent = write(t->in, ask, (size_t)n);
    sigaction(SIGPIPE, &old, NULL);
    hop_text line = {0};
    hop_status s = sent == n ? line_of(t, &line, progress) : HOP_EIO;
    *count = 0;
    for (char *at = line.s, *end; s == HOP_OK && at && *at && *count < max; at = end) {
        took[*count] = strtod(at, &end);
        if (end == at) break;
        ++*count;
    }
    hop_text_free(&line);
    if (s == HOP_OK && *count > 0) return HOP_OK;
    return s == HOP_ESTOPPED ? s : hop_fail(err, HOP_EIO, "torch: python ended in the middle of a step");
}

void hop_bench_torch_close(hop_bench_torch *t)
{
    if (t->in >= 0) close(t->in);
    if (t->out >= 0) close(t->out);
    if (t->pid > 0) {
        kill((pid_t)t->pid, SIGKILL);
        while (waitpid((pid_t)t->pid, NULL, 0) < 0 && errno == EINTR) {}
    }
    *t = (hop_bench_torch){.pid = -1, .in = -1, .out = -1};
}
