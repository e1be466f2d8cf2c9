/* hopbound VERB ARGS: finds the verb, reads its options, runs it, and makes sure that what it printed
 * arrived. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(name) +1
enum { VERB_COUNT = 0 VERB_LIST(COUNT, COUNT, COUNT) };
#undef COUNT
static verb ANSWERED[VERB_COUNT];
static const verb *VERBS[VERB_COUNT];

static void gather_verbs(void)
{
    int count = 0;
#define RUN(name) VERBS[count++] = &verb_##name;
#define ASK(name)                                                       \
    ANSWERED[count] = answered_verb(hop_verb_find(#name), show_##name); \
    VERBS[count] = &ANSWERED[count], count++;
#define PAGE(name) ASK(name) ANSWERED[count - 1].page = page_##name;
    VERB_LIST(RUN, ASK, PAGE)
#undef RUN
#undef ASK
#undef PAGE
}

const verb *const *all_verbs(size_t *count)
{
    *count = VERB_COUNT;
    return VERBS;
}

static const verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(VERBS[i]->name, name) == 0) return VERBS[i];
    return NULL;
}

static int unknown_verb(const char *name)
{
    const char *names[VERB_COUNT];
    for (size_t i = 0; i < VERB_COUNT; i++) names[i] = VERBS[i]->name;
    const char *meant = hop_closest_name(name, names, VERB_COUNT);
    char shown[64];
    snprintf(shown, sizeof shown, "%.60s", name);
    hop_plain(shown);
    if (meant)
        fprintf(stderr, "hopbound: %s: unknown verb; did you mean %s?\n", shown, meant);
    else
        fprintf(stderr, "hopbound: %s: unknown verb; `hopbound --help` lists them\n", shown);
    return EXIT_USAGE;
}

static void unknown_option(const char *name)
{
    char shown[64];
    snprintf(shown, sizeof shown, "%.60s", name);
    hop_plain(shown);
    fprintf(stderr, "hopbound: %s: unknown option; `hopbound --help` explains\n", shown);
}

/* Standard streams that were closed would be given to the next file that is opened, and what is printed would
 * land in it. Reading end of /dev/null: writing to it still fails, as it should. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)!open("/dev/null", O_RDONLY);
}

/* ---- without a verb ------------------------------------------------------------------------ */

/* The hidden --man prints the page of a verb, or with no verb that of the program: the build installs them.
 */
static int print_man(const common_args *a, const char *name)
{
    hop_text out = {0};
    const verb *v = name ? find_verb(name) : NULL;
    if (name && !v) return unknown_verb(name);
    if (v)
        man_verb(&out, v);
    else
        man_all(&out, VERBS, VERB_COUNT);
    return print_text(a, &out);
}

/* The hidden --answers prints what verbs answer with --json, as docs/JSON.md has it. */
static void print_answers(hop_text *out)
{
    size_t count;
    const hop_verb *const *verbs = hop_verbs(&count);
    for (size_t i = 0; i < count; i++) hop_verb_doc(out, verbs[i]);
}

static int without_verb(int argc, char **argv)
{
    static const verb nameless = {.name = "help"};
    const common_args a = {.verb = &nameless};
    const char *first = argc > 1 ? argv[1] : "";
    hop_text out = {0};
    if (strcmp(first, "--man") == 0) return print_man(&a, argc > 2 ? argv[2] : NULL);
    if (strcmp(first, "--answers") == 0) {
        print_answers(&out);
    } else if (strcmp(first, "help") == 0 && argc > 2) {
        const verb *v = find_verb(argv[2]);
        if (!v) return unknown_verb(argv[2]);
        help_verb(&out, v);
    } else if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
        hop_text_add(&out, "hopbound " HOP_VERSION "\n");
    else if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
        help_all(&out, VERBS, VERB_COUNT);
    else if (*first)
        unknown_option(first);
    else
        fprintf(stderr, "hopbound: no verb: `hopbound --help` lists them\n");
    return out.len ? print_text(&a, &out) : EXIT_USAGE;
}

/* ---- with one ------------------------------------------------------------------------------ */

int choose_kernels(const verb *v, const hop_opt_value *given)
{
    const common_args a = {.verb = v};
    hop_isa isa = (hop_isa)given->choice;
    const char *env = getenv("HOPBOUND_ISA");
    hop_error err = {0};
    if (!given->given) {
        if (!env || !*env) return EXIT_DONE;
        if (!hop_isa_from_name(env, &isa))
            return fail(&a, EXIT_USAGE,
                        "HOPBOUND_ISA: unknown name \"%.60s\" (known: ref, scalar, avx2, avx512)", env);
    }
    return hop_kernels_select(isa, &err) == HOP_OK ? EXIT_DONE : fail_error(&a, &err);
}

static int run_verb(const verb *v, common_args *a, int argc, char **argv)
{
    hop_error err = {0};
    a->verb = v;
    if (!options_parse(v, a, argc, argv, &a->operand_count, &err)) return fail(a, EXIT_USAGE, "%s", err.text);
    a->operands = argv;
    a->operand = a->operand_count ? argv[0] : NULL;
    a->second = a->operand_count > 1 ? argv[1] : NULL;
    if (a->help.flag) {
        hop_text out = {0};
        help_verb(&out, v);
        return print_text(a, &out);
    }
    if (v->operand && v->operand[0] != '[' && !a->operand)
        return fail(a, EXIT_USAGE, "%s: missing; `hopbound %s --help` explains", v->operand, v->name);
    const hop_opt *missing = hop_opt_missing(v->groups, a);
    if (missing) return fail(a, EXIT_USAGE, "--%s: missing", missing->name);
    if (!options_apart(v, a, a->operands, a->operand_count, &err)) return fail(a, EXIT_USAGE, "%s", err.text);
    int code = choose_kernels(v, &a->isa);
    if (code != EXIT_DONE) return code;

    a->progress = terminal_start(v->name, a->quiet.flag);
    code = v->run(a);
    terminal_clear();
    return code;
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    gather_verbs();
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is a write error, which is reported */
    if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0) return without_verb(argc, argv);
    const verb *v = find_verb(argv[1]);
    if (!v) return unknown_verb(argv[1]);
    if (v->asks) return answer_verb(v, argc - 2, argv + 2);
    common_args *args = calloc(1, v->args_size);
    if (!args) {
        fprintf(stderr, "hopbound: %s: out of memory\n", v->name);
        return EXIT_FAILED;
    }
    int code = run_verb(v, args, argc - 2, argv + 2);
    free(args);
    return code;
}
