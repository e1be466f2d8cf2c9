/* What the verbs share: common options, errors, standard output. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const ISA_NAMES[] = {"ref", "scalar", "avx2", "avx512", NULL};

/* clang-format off */
#define AT(member) offsetof(common_args, member)
const hop_opt COMMON_OPTIONS[] = {
    {"json", 0, HOP_OPT_FLAG, AT(json), .help = "print exactly one JSON object"},
    {"quiet", 'q', HOP_OPT_FLAG, AT(quiet), .help = "no progress and no notes on standard error"},
    {"seed", 0, HOP_OPT_INT, AT(seed), "N", "0", 0, INT64_MAX,
     .help = "of everything random; same seed, same bits, whatever --threads is"},
    {"threads", 0, HOP_OPT_INT, AT(threads), "N", "0", 0, 4096, .help = "threads to use; 0 is one per core"},
    {"isa", 0, HOP_OPT_CHOICE, AT(isa), "NAME", .choices = ISA_NAMES, .initial_help = "the best this machine has",
     .help = "which kernels to use"},
    {"help", 'h', HOP_OPT_FLAG, AT(help), .help = "explain this verb"},
    {0},
};
/* clang-format on */

/* ---- errors -------------------------------------------------------------------------------- */

int fail(const common_args *a, exit_code code, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    hop_plain(text); /* names may hold anything; the line stays one line */
    terminal_clear();
    fprintf(stderr, "hopbound: %s: %s\n", a->verb->name, text);
    return (int)code;
}

int fail_stopped(const common_args *a)
{
    return fail(a, EXIT_FAILED, "stopped: by a signal");
}

int fail_error(const common_args *a, const hop_error *err)
{
    const char *more = err->status == HOP_ESTOPPED ? strchr(err->text, ';') : NULL; /* how it goes on */
    if (more) return fail(a, EXIT_FAILED, "stopped: by a signal%s", more);
    if (err->status == HOP_ESTOPPED || terminal_stopped()) return fail_stopped(a);
    return fail(a, EXIT_FAILED, "%s", err->text[0] ? err->text : hop_status_text(err->status));
}

/* ---- output -------------------------------------------------------------------------------- */

void add_words(hop_text *out, const char *text, int at, int indent, int width)
{
    while (*text) {
        if (*text == '\n') {
            hop_text_printf(out, "\n%*s", text[1] == '\n' ? 0 : indent, "");
            at = indent;
            text++;
            continue;
        }
        int word = (int)strcspn(text, " \n");
        if (at > indent && at + word > width) {
            hop_text_printf(out, "\n%*s", indent, "");
            at = indent;
        }
        hop_text_addn(out, text, (size_t)word);
        at += word;
        text += word;
        if (*text == ' ') {
            text++;
            if (at + 1 + (int)strcspn(text, " \n") <= width) {
                hop_text_add(out, " ");
                at++;
            } else {
                hop_text_printf(out, "\n%*s", indent, "");
                at = indent;
            }
        }
    }
}

int print_text(const common_args *a, hop_text *t)
{
    int code = EXIT_DONE;
    terminal_clear();
    errno = 0;
    if (t->s && !a->json.flag) hop_plain_lines(t->s);
    if (a->verb->colours && !a->json.flag && !a->help.flag && terminal_colours()) terminal_paint(t);
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

void print_answer(char out[ANSWER_SIZE], int64_t answer)
{
    snprintf(out, ANSWER_SIZE, answer < 0 ? "no token (no number, or silence)" : "%lld", (long long)answer);
}

int pool_open(const common_args *a, hop_pool **pool)
{
    *pool = hop_pool_new((int)a->threads.integer);
    if (!*pool)
        return fail(a, EXIT_FAILED, "--threads: cannot start %lld threads", (long long)a->threads.integer);
    return EXIT_DONE;
}
