/* What the verbs share: common options, sizes of the task, errors, standard output. */
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const char *const ISA_NAMES[] = {"ref", "scalar", "avx2", "avx512", NULL};

const opt COMMON_OPTIONS[] = {
    {.name = "json",
     .kind = OPT_FLAG,
     .at = offsetof(common_args, json),
     .help = "print exactly one JSON object"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPT_FLAG,
     .at = offsetof(common_args, quiet),
     .help = "no progress and no notes on standard error"},
    {.name = "seed",
     .kind = OPT_INT,
     .at = offsetof(common_args, seed),
     .initial = "0",
     .min = 0,
     .max = INT64_MAX,
     .metavar = "N",
     .help = "of everything random; same seed, same bits, whatever --threads is"},
    {.name = "threads",
     .kind = OPT_INT,
     .at = offsetof(common_args, threads),
     .initial = "0",
     .min = 0,
     .max = 4096,
     .metavar = "N",
     .help = "threads to use; 0 is one per core"},
    {.name = "isa",
     .kind = OPT_CHOICE,
     .at = offsetof(common_args, isa),
     .choices = ISA_NAMES,
     .initial_help = "the best this machine has",
     .metavar = "NAME",
     .help = "which kernels to use"},
    {.name = "help",
     .letter = 'h',
     .kind = OPT_FLAG,
     .at = offsetof(common_args, help),
     .help = "explain this verb"},
    {.name = NULL                                      },
};

/* ---- sizes --------------------------------------------------------------------------------- */

static const char *const TASK_NAMES[] = {"funccomp", NULL};

#define DEFAULT_HOPS 2
#define DEFAULT_M    8
#define DEFAULT_FAN  4

const opt SIZE_OPTIONS[] = {
    {.name = "task",
     .kind = OPT_CHOICE,
     .at = offsetof(size_args, task),
     .initial = "funccomp",
     .choices = TASK_NAMES,
     .metavar = "NAME",
     .help = "the task"},
    {.name = "hops",
     .kind = OPT_INT,
     .at = offsetof(size_args, hops),
     .initial_help = "2",
     .min = 1,
     .max = HOP_MAX_HOPS - 1,
     .metavar = "L",
     .help = "functions to compose"},
    {.name = "m",
     .kind = OPT_INT,
     .at = offsetof(size_args, m),
     .initial_help = "8",
     .min = 2,
     .max = (int64_t)1 << 31,
     .metavar = "M",
     .help = "entries of the first function"},
    {.name = "fan",
     .kind = OPT_LIST,
     .at = offsetof(size_args, fan),
     .initial_help = "4 each",
     .min = 2,
     .max = (int64_t)1 << 31,
     .metavar = "N1,..",
     .help = "how many times larger each next function is: L-1 numbers, "
             "or one that is repeated"},
    {.name = NULL                       },
};

bool sizes_given(const size_args *s)
{
    return s->hops.given || s->m.given || s->fan.given;
}

int sizes_from_options(const common_args *a, const size_args *s, const hop_funccomp *base, hop_funccomp *out)
{
    int64_t fan[HOP_MAX_HOPS], m = s->m.given ? s->m.integer : base ? base->m : DEFAULT_M;
    int hops = s->hops.given ? (int)s->hops.integer : base ? base->hops : DEFAULT_HOPS;
    bool repeat = s->fan.given && s->fan.count == 1;
    if (s->fan.given && !repeat && s->fan.count != hops - 1)
        return fail(a, EXIT_USAGE, "--fan: %d numbers where %d hops need %d", s->fan.count, hops, hops - 1);
    for (int l = 0; l < hops - 1; l++)
        fan[l] = s->fan.given                 ? s->fan.list[repeat ? 0 : l]
                 : base && base->hops == hops ? base->fan[l + 1]
                                              : DEFAULT_FAN;
    hop_error err = {0};
    if (hop_funccomp_init(out, hops, m, fan, &err) != HOP_OK)
        return fail(a, EXIT_USAGE, "sizes: %s", err.text);
    return EXIT_DONE;
}

int sizes_of_network(const common_args *a, const size_args *s, const hop_model *m, hop_funccomp *out,
                     bool *known)
{
    const char *text = hop_model_config(m)->task_json;
    hop_error err = {0};
    hop_json_doc doc = {0};
    hop_funccomp own;
    *known = true;
    if (!text || !*text) {
        *known = sizes_given(s);
        return *known ? sizes_from_options(a, s, NULL, out) : EXIT_DONE;
    }
    hop_status got = hop_json_parse(&doc, text, strlen(text), &err);
    if (got == HOP_OK) got = hop_funccomp_read(&own, doc.root, &err);
    hop_json_free(&doc);
    if (got != HOP_OK) return fail(a, EXIT_FAILED, "%s: its task: %s", a->operand, err.text);
    return sizes_from_options(a, s, &own, out);
}

void sizes_print(hop_text *out, const hop_funccomp *t)
{
    hop_text_printf(out, "hops %d, m %lld", t->hops, (long long)t->m);
    for (int l = 1; l < t->hops; l++)
        hop_text_printf(out, "%s%lld", l > 1 ? "," : ", fan ", (long long)t->fan[l]);
}

/* ---- errors -------------------------------------------------------------------------------- */

int fail(const common_args *a, exit_code code, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 32 || *p == 127)
            *p = ' '; /* names may hold anything; the line stays one line */
    terminal_clear();
    fprintf(stderr, "hopbound: %s: %s\n", a->verb->name, text);
    return code;
}

int fail_stopped(const common_args *a)
{
    return fail(a, EXIT_FAILED, "stopped: by a signal");
}

int fail_error(const common_args *a, const hop_error *err)
{
    if (err->status == HOP_ESTOPPED || terminal_stopped()) return fail_stopped(a);
    return fail(a, EXIT_FAILED, "%s", err->text[0] ? err->text : hop_status_text(err->status));
}

/* ---- output -------------------------------------------------------------------------------- */

int print_text(const common_args *a, hop_text *t)
{
    int code = EXIT_DONE;
    terminal_clear();
    errno = 0;
    if (t->failed)
        code = fail(a, EXIT_FAILED, "standard output: out of memory");
    else if (t->len && (fwrite(t->s, 1, t->len, stdout) != t->len || fflush(stdout) != 0))
        code = fail(a, EXIT_FAILED, "standard output: %s", strerror(errno));
    hop_text_free(t);
    return code;
}

int print_json(const common_args *a, hop_json_writer *w)
{
    hop_text_add(&w->text, "\n");
    return print_text(a, &w->text);
}

hop_status sink_open(sink *s, const char *path, hop_error *err)
{
    *s = (sink){.path = path};
    if (path) return hop_output_open(&s->file, path, err);
    if (isatty(STDOUT_FILENO)) terminal_mute(); /* the lines themselves show how far it is */
    return HOP_OK;
}

bool sink_write(sink *s, hop_text *t)
{
    if (t->failed) {
        s->error = ENOMEM;
    } else if (s->path) {
        hop_output_write(&s->file, t->s, t->len);
        if (s->file.failed != HOP_OK && !s->error) s->error = errno;
    } else if (t->len && fwrite(t->s, 1, t->len, stdout) != t->len) {
        s->error = errno;
    }
    t->len = 0;
    return s->error == 0;
}

hop_status sink_close(sink *s, bool keep, hop_error *err)
{
    if (s->path && keep && !s->error) return hop_output_commit(&s->file, err);
    if (s->path) hop_output_abort(&s->file);
    if (!s->path && !s->error && fflush(stdout) != 0) s->error = errno;
    if (s->error && keep)
        return hop_fail(err, HOP_EIO, "%s: %s", s->path ? s->path : "standard output", strerror(s->error));
    return HOP_OK;
}

int pool_open(const common_args *a, hop_pool **pool)
{
    *pool = hop_pool_new((int)a->threads.integer);
    if (!*pool)
        return fail(a, EXIT_FAILED, "--threads: cannot start %lld threads", (long long)a->threads.integer);
    return EXIT_DONE;
}
