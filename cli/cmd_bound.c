/* hopbound bound: every theorem for a layer pattern. */
#include "bound.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS 1000000000000000000

static const char *const UNKNOWNS[] = {
#define UNKNOWN(id, name, least, most, help) name,
    HOP_UNKNOWN_LIST(UNKNOWN)
#undef UNKNOWN
        NULL};

/* clang-format off */
#define AT(member) offsetof(bound_args, member)
static const opt OPTIONS[] = {
    {"hops", 0, OPT_TEXT, AT(hops), "L", "2",
     .help = "functions to compose, 1 to 64; auto finds the most that are possible and the fewest that are "
             "not"},
    {"n", 0, OPT_INT, AT(n), "N", NULL, 1, MOST_TOKENS, .initial_help = "any",
     .help = "length of the prompt; the sizes that say most at that length are searched"},
    {"m", 0, OPT_INT, AT(m), "M", NULL, 2, MOST_TOKENS, .initial_help = "searched",
     .help = "entries of the first function: ask about these sizes only"},
    {"fan", 0, OPT_LIST, AT(fan), "N1,..", NULL, 2, MOST_TOKENS, .initial_help = "searched",
     .help = "with --m: how many times larger each next function is: L-1 numbers, or one that is repeated"},
    {"curve", 0, OPT_FLAG, AT(curve),
     .help = "P3's accuracy ceiling over state bits, for patterns without full layers"},
    {"solve", 0, OPT_CHOICE, AT(solve), "WHAT", NULL, .choices = UNKNOWNS,
     .help = "only the value of this at which the verdict changes, all else as given: the length, state bits of a "
             "linear layer, numbers in a head, bits of a number, or full layers among as many, spread evenly"},
    {"exit-code", 0, OPT_FLAG, AT(exit_code),
     .help = "the verdict is the exit code: 0 possible, 10 impossible, 30 open; needs --hops L and --n or --m"},
    {0},
};
/* clang-format on */

/* ---- the question ---------------------------------------------------------------------------- */

/* 1 .. 64, or 0 for auto. */
static int read_hops(const common_args *a, const char *text, int *out)
{
    char *end = NULL;
    *out = 0;
    if (strcmp(text, "auto") == 0) return EXIT_DONE;
    errno = 0;
    long v = strtol(text, &end, 10);
    bool starts = (*text >= '0' && *text <= '9') || *text == '-';
    if (!starts || *end) return fail(a, EXIT_USAGE, "--hops: \"%.60s\" is not an integer, nor auto", text);
    if (errno || v < 1 || v > HOP_MAX_HOPS)
        return fail(a, EXIT_USAGE, "--hops: %.60s is outside 1..%d", text, HOP_MAX_HOPS);
    *out = (int)v;
    return EXIT_DONE;
}

/* n, or m and fan; `fan` is memory for the latter. */
static int read_sizes(const bound_args *b, int64_t *fan, hop_question *q)
{
    const common_args *a = &b->common;
    if (b->n.given && (b->m.given || b->fan.given))
        return fail(a, EXIT_USAGE, "--n: a length or sizes (--m, --fan), not both");
    if (b->fan.given && !b->m.given) return fail(a, EXIT_USAGE, "--fan: needs --m");
    q->n = b->n.given ? b->n.integer : 0;
    if (!b->m.given) return EXIT_DONE;
    if (!q->hops) return fail(a, EXIT_USAGE, "--m: --hops auto takes a length, --n, not sizes");
    if (b->fan.given && q->hops == 1) return fail(a, EXIT_USAGE, "--fan: one hop has one function, --m");
    bool repeat = b->fan.given && b->fan.count == 1;
    int count = b->fan.given ? b->fan.count : 0;
    if (!repeat && count != q->hops - 1)
        return fail(a, EXIT_USAGE, "--fan: %d number%s where %d hops need %d", count, count == 1 ? "" : "s",
                    q->hops, q->hops - 1);
    for (int l = 0; l < q->hops - 1; l++) fan[l] = b->fan.list[repeat ? 0 : l];
    q->m = b->m.integer;
    q->fan = fan;
    return EXIT_DONE;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int check_curve(const common_args *a, const bound_answer *b)
{
    if (b->arch->full || b->arch->other)
        return fail(a, EXIT_USAGE,
                    "--curve: the pattern has layers that are not linear: P3 gives no ceiling");
    if (isnan(b->bounds->accuracy_ceiling) && b->question.m)
        return fail(a, EXIT_USAGE, "--curve: the last function has 2^63 entries or more");
    if (isnan(b->bounds->accuracy_ceiling))
        return fail(a, EXIT_USAGE, "--curve: needs a length that holds the task (--n) or sizes (--m, --fan)");
    return EXIT_DONE;
}

/* --exit-code: the claim is that the hops are possible. */
static int verdict_code(const bound_answer *b)
{
    const char *by, *verdict = bound_verdict(b, &by);
    return strcmp(verdict, "possible") == 0 ? EXIT_DONE : by ? EXIT_COUNTEREXAMPLE : EXIT_UNDECIDED;
}

/* Is there one verdict to be had? */
static int check_exit_code(const bound_args *args)
{
    const common_args *a = &args->common;
    if (!args->exit_code.flag) return EXIT_DONE;
    if (args->solve.given) return fail(a, EXIT_USAGE, "--exit-code: --solve has no one verdict");
    if (strcmp(args->hops.text, "auto") == 0)
        return fail(a, EXIT_USAGE, "--exit-code: needs a number of --hops, not auto");
    if (!args->n.given && !args->m.given)
        return fail(a, EXIT_USAGE, "--exit-code: needs a length, --n, or sizes, --m and --fan");
    return EXIT_DONE;
}

static int answer(const bound_args *args, bound_answer *b)
{
    const common_args *a = &args->common;
    hop_error err = {0};
    hop_status s = HOP_OK;
    b->automatic = b->question.hops == 0;
    if (b->automatic) {
        s = hop_reach_find(&b->reach, &b->arch->arch, b->question.n, b->question.n > 0, &a->progress, &err);
        if (s == HOP_OK) s = hop_tables_outgrow(&b->arch->arch, b->outgrown, &b->outgrown_log10, &err);
        if (s == HOP_OK) s = hop_tables_held(&b->arch->arch, &b->held, &err);
        int next = b->reach.able < b->reach.fit ? b->reach.able + 1 : b->reach.able;
        b->question.hops = b->reach.unable ? b->reach.unable : next > 0 ? next : 1;
    }
    if (s == HOP_OK) s = hop_bounds_new(&b->bounds, &b->question, &err);
    if (s != HOP_OK) return fail_error(a, &err);
    int code = b->curve ? check_curve(a, b) : EXIT_DONE;
    if (code == EXIT_DONE) code = bound_show(a, b);
    return code == EXIT_DONE && args->exit_code.flag ? verdict_code(b) : code;
}

static int cmd_bound(common_args *common)
{
    const bound_args *args = (const bound_args *)common;
    architecture arch = {0};
    int64_t fan[HOP_MAX_HOPS];
    bound_answer b = {.arch = &arch, .curve = args->curve.flag};
    int code = check_exit_code(args);
    if (code == EXIT_DONE) code = read_hops(common, args->hops.text, &b.question.hops);
    if (code == EXIT_DONE) code = read_sizes(args, fan, &b.question);
    if (code == EXIT_DONE) code = architecture_from_options(common, &args->arch, &arch);
    if (code == EXIT_DONE && args->solve.given) {
        architecture_free(&arch);
        return bound_solve(args, &b.question);
    }
    if (code == EXIT_DONE) {
        b.question.arch = &arch.arch;
        b.question.progress = &common->progress;
        code = answer(args, &b);
    }
    hop_bounds_free(b.bounds);
    hop_reach_free(&b.reach);
    architecture_free(&arch);
    return code;
}

/* clang-format off */
static const opt_group GROUPS[] = {
    ARCH_GROUP(bound_args, arch),
    {.title = "Question", .opts = OPTIONS},
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound bound --hops 2 --pattern \"L F L\" --heads 1 --dim 8 --bits 16 --mixer linear",
     "One full layer between two linear ones: two hops are impossible from n = 18818 on."},
    {"hopbound bound --hops 3 --pattern \"L F L F L\" --heads 1 --dim 8 --bits 16 --mixer linear",
     "Three hops: P8 with its sizes, from n = 9241157864 on; T2 begins at 10^34524.5."},
    {"hopbound bound --hops auto --pattern \"(gdn^3 full)^2\" --heads 4 --dim 64 --n 100000",
     "What is possible, what is not, what is open and what can be posed at all, at that length."},
    {"hopbound bound --hops 8 --pattern \"(gdn^3 F)^12\" --heads 16 --dim 128 --n 128k --solve full",
     "How many full layers do 8 hops take at 131072 tokens?"},
    {"hopbound bound --hops 2 --pattern \"L^2\" --dim 8 --n 1000 --curve",
     "Without full layers: how often it can be right, over state bits."},
    {0},
};
const verb verb_bound = {
    .name = "bound",
    .summary = "says what a layer pattern can and cannot do: every theorem, with numbers",
    .description =
        "Evaluates the published theorems T1, T2, T5, T6 and the finite ones P1 to P10 for a pattern of "
        "layers. For each: its hypotheses, what it needs and what the pattern has, the length n from which it "
        "speaks, and a verdict. Impossible at n: some sizes of the task whose prompt has at most n tokens "
        "cannot be solved, for any weights of networks that are " HOP_BOUNDS_MODEL ". Possible at n: every such size is solved by weights that are "
        "known: those of `build full`, `build hybrid` or `build mixed`, or, where the linear layer comes after the first full "
        "one, as docs/BOUNDS.md tells; heads, states, p and --d-model are counted, and it is supposed that "
        HOP_BOUNDS_IDEALISED ". A hop costs a full layer (P1), or linear layers whose states hold its "
        "table (P10): gdn, kda, deltanet and mamba2 layers share a table among them, a linear one holds it alone. Silent: it says nothing, which is no evidence. With --m and "
        "--fan these sizes alone are meant. With neither, impossible means from the n that is given on, "
        "possible up to the n that is given.\n\n"
        "The first line is the answer, in words; the last ones say what the symbols mean. Open: no theorem here "
        "says possible, none says impossible. With --exit-code the verdict is the exit code: 0 possible, 10 "
        "impossible, 30 open; without it an answer of any kind is exit 0.\n\n"
        "Everything claimed is decided with integers or in ball arithmetic. A length of more than 18 digits "
        "is printed as a power of ten. P6 is searched for up to 7 full layers, P7G for up to 5.",
    .colours = true,
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(bound_args),
    .run = cmd_bound,
};
/* clang-format on */
