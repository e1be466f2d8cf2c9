/* A verb that the library answers: the question from the command line, the answer as JSON, as rows for other
 * programs, or in words for people. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli.h"
#include "outside.h"

static const char *const FORMATS[] = {"text", "json", "csv", "markdown", NULL};

/* clang-format off */
#define AT(member) offsetof(program_args, member)
static const hop_opt PROGRAM_OPTIONS[] = {
    {"json", 0, HOP_OPT_FLAG, AT(json), .help = "print exactly one JSON object"},
    {"quiet", 'q', HOP_OPT_FLAG, AT(quiet), .help = "no progress and no notes on standard error; `build` says nothing"},
    {"isa", 0, HOP_OPT_CHOICE, AT(isa), "NAME", .choices = ISA_NAMES, .initial_help = "the best this machine has",
     .help = "which kernels to use"},
    {"help", 'h', HOP_OPT_FLAG, AT(help), .help = "explain this verb"},
    {0},
};
static const hop_opt FORMAT_OPTIONS[] = {
    {"format", 0, HOP_OPT_CHOICE, AT(format), "NAME", "text", .choices = FORMATS,
     .help = "text for people; json as --json; the rows of the answer as csv or markdown"},
    {0},
};
/* clang-format on */

enum { MOST_GROUPS = 8, FORMAT_TEXT = 0, FORMAT_JSON = 1, FORMAT_CSV = 2, FORMAT_MARKDOWN = 3 };

static size_t program_at(const hop_verb *v)
{
    size_t unit = sizeof(hop_opt_value);
    return (v->request_size + unit - 1) / unit * unit;
}

/* The verb with the options of every verb and the program's. The tables live as long as the program. */
verb answered_verb(const hop_verb *v, void (*show)(hop_text *out, const hop_response *r))
{
    static hop_opt_group tables[32][MOST_GROUPS];
    static int used;
    hop_opt_group *groups = tables[used++];
    int count = 0;
    for (; v->groups[count].opts; count++) groups[count] = v->groups[count];
    groups[count++] = (hop_opt_group){"Common options", hop_request_options, 0, NULL};
    groups[count++] = (hop_opt_group){"Output", PROGRAM_OPTIONS, program_at(v), NULL};
    const hop_opt_group *own; /* what is written has formats of its own */
    if (!hop_opt_find(v->groups, "format", 6, &own))
        groups[count++] = (hop_opt_group){"Format", FORMAT_OPTIONS, program_at(v), NULL};
    return (verb){.name = v->name,
                  .summary = v->summary,
                  .operand = v->operand,
                  .operand_help = v->operand_help,
                  .second = v->second,
                  .second_help = v->second_help,
                  .description = v->description,
                  .groups = groups,
                  .examples = v->examples,
                  .colours = true,
                  .args_size = program_at(v) + sizeof(program_args),
                  .asks = v,
                  .show = show};
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int print_answer_as(const verb *v, const program_args *p, const hop_response *r)
{
    const common_args a = {.verb = v, .json = {.flag = p->json.flag || p->format.choice == FORMAT_JSON}};
    hop_text out = {0};
    if (!r->record) return EXIT_DONE; /* it is written */
    if (a.json.flag) {
        hop_json_writer w = {0};
        hop_record_json(&w, r->record, r->data);
        return print_json(&a, &w);
    }
    if (p->format.choice == FORMAT_TEXT && v->asks->of_files && p->quiet.flag) return EXIT_DONE;
    if (p->format.choice == FORMAT_TEXT)
        v->show(&out, r);
    else if (p->format.choice == FORMAT_MARKDOWN && v->page)
        v->page(&out, r);
    else if (!hop_record_rows(&out, r->record, r->data, v->asks->rows,
                              p->format.choice == FORMAT_CSV ? HOP_FORMAT_CSV : HOP_FORMAT_MARKDOWN))
        return fail(&a, EXIT_USAGE, "--format: %s: this answer has no rows", FORMATS[p->format.choice]);
    return print_text(&a, &out);
}

static int fail_answer(const verb *v, const hop_error *err)
{
    const common_args a = {.verb = v};
    if (err->status == HOP_EUSAGE) return fail(&a, EXIT_USAGE, "%s", err->text);
    if (err->status == HOP_EUNDECIDED) return fail(&a, EXIT_UNDECIDED, "%s", err->text);
    return fail_error(&a, err);
}

/* Lines show themselves how far it is. */
static bool print_lines(void *muted, const char *text, size_t length)
{
    bool *done = muted;
    if (!text) return fflush(stdout) == 0;
    if (!*done && isatty(STDOUT_FILENO)) terminal_mute();
    *done = true;
    errno = 0;
    return fwrite(text, 1, length, stdout) == length;
}

/* Beside an answer that a program reads nobody reads news. */
static void print_news(const char *line)
{
    terminal_clear();
    fprintf(stderr, "%s\n", line);
}

/* The rank that this process is, of a verb that ranks ask together. What rank 0 says the others do not say again. */
static int open_ranks(const verb *v, hop_transport **ranks)
{
    const common_args a = {.verb = v};
    hop_error err = {0};
    if (!v->asks->ranks) return EXIT_DONE;
    if (ranks_open(ranks, &err) != HOP_OK) return fail_error(&a, &err);
    (*ranks)->stopped = terminal_stopped;
    if ((*ranks)->rank > 0) terminal_mute();
    return EXIT_DONE;
}

/* A signal comes from the launcher, which ends all ranks and says why. */
static void close_ranks(hop_transport *ranks, int code, bool apart)
{
    hop_transport_close(ranks, code != EXIT_DONE && terminal_stopped() ? HOP_TRANSPORT_LEAVE
                               : apart                                 ? code
                                                                       : 0);
}

static int ask(const verb *v, hop_request *q, const program_args *p)
{
    hop_response r = {0};
    hop_error err = {0};
    bool muted = false;
    hop_front front = {.json = p->json.flag, .lines = print_lines, .ctx = &muted, .store = sweep_store()};
    if (!p->quiet.flag && !p->json.flag) front.news = print_news;
    q->progress = terminal_start(v->name, p->quiet.flag);
    q->front = &front;
    int opened = open_ranks(v, &front.ranks);
    if (opened != EXIT_DONE) return opened;
    hop_status s = v->asks->ask(&r, q, &err);
    int code = s == HOP_OK ? print_answer_as(v, p, &r) : fail_answer(v, &err);
    if (code == EXIT_DONE && s == HOP_OK) code = (int)r.exit;
    if (s == HOP_OK && r.note && !p->quiet.flag)
        fail(&(const common_args){.verb = v}, EXIT_DONE, "note: %s", r.note);
    if (s == HOP_OK && r.complaint) fail(&(const common_args){.verb = v}, (exit_code)code, "%s", r.complaint);
    close_ranks(front.ranks, code, r.apart);
    hop_response_free(&r);
    terminal_clear();
    return code;
}

/* ---- the question ---------------------------------------------------------------------------- */

/* Rows are asked for: so is the answer that has them. */
static void ask_for_rows(const verb *v, hop_request *q, const program_args *p)
{
    const char *flag = v->asks->rows_flag;
    const hop_opt_group *g = NULL;
    bool rows = p->format.choice == FORMAT_CSV || (p->format.choice == FORMAT_MARKDOWN && !v->page);
    const hop_opt *o = flag && rows ? hop_opt_find(v->groups, flag, strlen(flag), &g) : NULL;
    if (o) hop_opt_at(g, o, q)->flag = true;
}

static int read_question(const verb *v, hop_request *q, int argc, char **argv)
{
    const common_args a = {.verb = v};
    const program_args *p = (const void *)((char *)q + program_at(v->asks));
    hop_error err = {0};
    int operands = 0;
    if (!options_parse(v, q, argc, argv, &operands, &err)) return fail(&a, EXIT_USAGE, "%s", err.text);
    q->operands = (hop_texts){(const char *const *)argv, operands};
    if (p->help.flag) return EXIT_DONE;
    if (v->operand && v->operand[0] != '[' && !operands)
        return fail(&a, EXIT_USAGE, "%s: missing; `hopbound %s --help` explains", v->operand, v->name);
    const hop_opt *missing = hop_opt_missing(v->groups, q);
    if (missing) return fail(&a, EXIT_USAGE, "--%s: missing", missing->name);
    if (p->format.choice > FORMAT_JSON && !v->asks->rows)
        return fail(&a, EXIT_USAGE, "--format: %s: this answer has no rows", FORMATS[p->format.choice]);
    if (!options_apart(v, q, argv, operands, &err)) return fail(&a, EXIT_USAGE, "%s", err.text);
    ask_for_rows(v, q, p);
    return choose_kernels(v, &p->isa);
}

int answer_verb(const verb *v, int argc, char **argv)
{
    hop_request *q = calloc(1, v->args_size);
    const common_args a = {.verb = v, .help = {.flag = true}};
    if (!q) return fail(&a, EXIT_FAILED, "out of memory");
    const program_args *p = (const void *)((char *)q + program_at(v->asks));
    int code = read_question(v, q, argc, argv);
    if (code == EXIT_DONE && p->help.flag) {
        hop_text out = {0};
        help_verb(&out, v);
        code = print_text(&a, &out);
    } else if (code == EXIT_DONE) {
        code = ask(v, q, p);
    }
    free(q);
    return code;
}
