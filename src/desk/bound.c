/* The verb bound: every theorem for a layer pattern. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bound.h"

#define MOST_TOKENS 1000000000000000000

static const char *const UNKNOWNS[] = {
#define UNKNOWN(id, name, least, most, help) name,
    HOP_UNKNOWN_LIST(UNKNOWN)
#undef UNKNOWN
        NULL};

static const char *const CITED[] = {"text", "latex", NULL};

/* clang-format off */
#define AT(member) offsetof(bound_args, member)
static const hop_opt OPTIONS[] = {
    {"hops", 0, HOP_OPT_TEXT, AT(hops), "L", "2",
     .help = "functions to compose, 1 to 64; auto finds the most that are possible and the fewest that are "
             "not"},
    {"n", 0, HOP_OPT_INT, AT(n), "N", NULL, 1, MOST_TOKENS, .initial_help = "any",
     .help = "length of the prompt; the sizes that say most at that length are searched"},
    {"m", 0, HOP_OPT_INT, AT(m), "M", NULL, 2, MOST_TOKENS, .initial_help = "searched",
     .help = "entries of the first function: ask about these sizes only"},
    {"fan", 0, HOP_OPT_LIST, AT(fan), "N1,..", NULL, 2, MOST_TOKENS, .initial_help = "searched",
     .help = "with --m: how many times larger each next function is: L-1 numbers, or one that is repeated"},
    {"curve", 0, HOP_OPT_FLAG, AT(curve),
     .help = "P3's accuracy ceiling over state bits, for patterns without full layers"},
    {"solve", 0, HOP_OPT_CHOICE, AT(solve), "WHAT", NULL, .choices = UNKNOWNS,
     .help = "only the value of this at which the verdict changes, all else as given: the length, state bits of a "
             "linear layer, numbers in a head, bits of a number, or full layers among as many, spread evenly"},
    {"exit-code", 0, HOP_OPT_FLAG, AT(exit_code),
     .help = "the verdict is the exit code: 0 possible, 10 impossible, 30 open; needs --hops L and --n or --m"},
    {"certificate", 0, HOP_OPT_TEXT, AT(certificate), "FILE",
     .help = "write the integers that show the verdict impossible, for `check`"},
    {"cite", 0, HOP_OPT_CHOICE, AT(cite), "FORM", NULL, .choices = CITED,
     .help = "only a paragraph to quote, with every hypothesis, sizes, what the proof chooses and both sides: text or latex"},
    {"coq", 0, HOP_OPT_TEXT, AT(coq), "FILE.v",
     .help = "write it as a theorem, for coqc and the development in proofs/"},
    {0},
};
/* clang-format on */

/* ---- the question ---------------------------------------------------------------------------- */

/* 1 .. 64, or 0 for auto. */
static hop_status read_hops(const char *text, int *out, hop_error *err)
{
    char *end = NULL;
    *out = 0;
    if (strcmp(text, "auto") == 0) return HOP_OK;
    errno = 0;
    long v = strtol(text, &end, 10);
    bool starts = (*text >= '0' && *text <= '9') || *text == '-';
    if (!starts || *end)
        return hop_fail(err, HOP_EUSAGE, "--hops: \"%.60s\" is not an integer, nor auto", text);
    if (errno || v < 1 || v > HOP_MAX_HOPS)
        return hop_fail(err, HOP_EUSAGE, "--hops: %.60s is outside 1..%d", text, HOP_MAX_HOPS);
    *out = (int)v;
    return HOP_OK;
}

/* n, or m and fan; `fan` is memory for the latter. */
static hop_status read_sizes(const bound_args *b, int64_t *fan, hop_question *q, hop_error *err)
{
    if (b->n.given && (b->m.given || b->fan.given))
        return hop_fail(err, HOP_EUSAGE, "--n: a length or sizes (--m, --fan), not both");
    if (b->fan.given && !b->m.given) return hop_fail(err, HOP_EUSAGE, "--fan: needs --m");
    q->n = b->n.given ? b->n.integer : 0;
    if (!b->m.given) return HOP_OK;
    if (!q->hops) return hop_fail(err, HOP_EUSAGE, "--m: --hops auto takes a length, --n, not sizes");
    if (b->fan.given && q->hops == 1)
        return hop_fail(err, HOP_EUSAGE, "--fan: one hop has one function, --m");
    bool repeat = b->fan.given && b->fan.count == 1;
    int count = b->fan.given ? b->fan.count : 0;
    if (!repeat && count != q->hops - 1)
        return hop_fail(err, HOP_EUSAGE, "--fan: %d number%s where %d hops need %d", count,
                        count == 1 ? "" : "s", q->hops, q->hops - 1);
    for (int l = 0; l < q->hops - 1; l++) fan[l] = b->fan.list[repeat ? 0 : l];
    q->m = b->m.integer;
    q->fan = fan;
    return HOP_OK;
}

/* Is there one verdict to be had? */
static hop_status check_exit_code(const bound_args *args, hop_error *err)
{
    if (args->solve.given && args->arch.like.given)
        return hop_fail(err, HOP_EUSAGE, "--solve: not with --like, whose model is as it is");
    if (args->cite.given && (args->solve.given || args->curve.flag || strcmp(args->hops.text, "auto") == 0))
        return hop_fail(err, HOP_EUSAGE, "--cite: not with --%s",
                        args->solve.given  ? "solve"
                        : args->curve.flag ? "curve"
                                           : "hops auto");
    if (!args->exit_code.flag) return HOP_OK;
    if (args->solve.given) return hop_fail(err, HOP_EUSAGE, "--exit-code: --solve has no one verdict");
    if (strcmp(args->hops.text, "auto") == 0)
        return hop_fail(err, HOP_EUSAGE, "--exit-code: needs a number of --hops, not auto");
    if (!args->n.given && !args->m.given)
        return hop_fail(err, HOP_EUSAGE, "--exit-code: needs a length, --n, or sizes, --m and --fan");
    return HOP_OK;
}

static hop_status check_curve(const bound_facts *b, hop_error *err)
{
    if (b->arch->full || b->arch->other)
        return hop_fail(err, HOP_EUSAGE,
                        "--curve: the pattern has layers that are not linear: P3 gives no ceiling");
    if (isnan(b->bounds->accuracy_ceiling) && b->question.m)
        return hop_fail(err, HOP_EUSAGE, "--curve: the last function has 2^63 entries or more");
    if (isnan(b->bounds->accuracy_ceiling))
        return hop_fail(err, HOP_EUSAGE,
                        "--curve: needs a length that holds the task (--n) or sizes (--m, --fan)");
    return HOP_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* --exit-code: the claim is that the hops are possible. */
static hop_exit verdict_code(const bound_facts *b)
{
    const char *by, *verdict = hop__bound_verdict(b, &by);
    return strcmp(verdict, "possible") == 0 ? HOP_EXIT_DONE
           : by                             ? HOP_EXIT_COUNTEREXAMPLE
                                            : HOP_EXIT_UNDECIDED;
}

/* --certificate and --coq: the verdict as a file that others check. */
static hop_status write_proof(const bound_args *args, const bound_facts *b, hop_error *err)
{
    const hop_bound *by = hop_bounds_first(b->bounds, HOP_FIRST_CERTIFIED);
    hop_text line = {0}, coq = {0};
    hop_status s = HOP_OK;
    if (!by || !by->certificate)
        return hop_fail(err, HOP_EUNDECIDED, "--%s: no machine-checked theorem says impossible here",
                        args->coq.given ? "coq" : "certificate");
    hop_text_printf(&line, "%s\n", by->certificate->text);
    hop_certificate_coq(&coq, by->certificate);
    if (line.failed || coq.failed) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK && args->certificate.given)
        s = hop_file_write(args->certificate.text, line.s, line.len, err);
    if (s == HOP_OK && args->coq.given) s = hop_file_write(args->coq.text, coq.s, coq.len, err);
    hop_text_free(&line), hop_text_free(&coq);
    return s;
}

/* --hops auto: what can be reached; the question becomes one about the hops that say most of it. */
static hop_status find_reach(bound_facts *b, const hop_progress *progress, hop_error *err)
{
    hop_status s = hop_reach_find(&b->reach, &b->arch->arch, b->question.n, b->question.n > 0, progress, err);
    if (s == HOP_OK) s = hop_tables_outgrow(&b->arch->arch, b->outgrown, &b->outgrown_log10, err);
    if (s == HOP_OK) s = hop_tables_held(&b->arch->arch, &b->held, err);
    int next = b->reach.able < b->reach.fit ? b->reach.able + 1 : b->reach.able;
    b->question.hops = b->reach.unable ? b->reach.unable : next > 0 ? next : 1;
    return s;
}

static hop_status find(hop_response *out, const bound_args *args, bound_facts *b, hop_error *err)
{
    hop_status s = HOP_OK;
    b->automatic = b->question.hops == 0;
    if (b->automatic) s = find_reach(b, &args->ask.progress, err);
    if (s == HOP_OK) s = hop_bounds_new(&b->bounds, &b->question, err);
    if (s == HOP_OK && args->curve.flag) s = check_curve(b, err);
    if (s == HOP_OK && (args->certificate.given || args->coq.given)) s = write_proof(args, b, err);
    if (s == HOP_OK)
        s = args->cite.given ? hop__bound_cite(out, b, args->cite.choice == 1, err)
                             : hop__bound_record(out, b, args->curve.flag, err);
    if (s == HOP_OK && args->exit_code.flag) out->exit = verdict_code(b);
    return s;
}

static hop_status ask_bound(hop_response *out, const void *request, hop_error *err)
{
    const bound_args *args = request;
    architecture arch = {0};
    int64_t fan[HOP_MAX_HOPS];
    bound_facts b = {.arch = &arch};
    hop_status s = check_exit_code(args, err);
    if (s == HOP_OK) s = read_hops(args->hops.text, &b.question.hops, err);
    if (s == HOP_OK) s = read_sizes(args, fan, &b.question, err);
    if (s == HOP_OK) s = hop__architecture(&arch, &args->arch, b.question.n, err);
    b.question.arch = &arch.arch;
    b.question.progress = &args->ask.progress;
    if (s == HOP_OK)
        s = args->solve.given ? hop__bound_solve(out, args, &b.question, err) : find(out, args, &b, err);
    hop_bounds_free(b.bounds);
    hop_reach_free(&b.reach);
    hop__architecture_free(&arch);
    return s;
}

/* clang-format off */
static const hop_other OTHERS[] = {
    {&hop_solve_answer_record, "With `--solve`"}, {&hop_cite_answer_record, "With `--cite`"}, {0}};
static const hop_opt_group GROUPS[] = {
    ARCH_GROUP(bound_args, arch),
    {.title = "Question", .opts = OPTIONS},
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound bound --hops 2 --pattern \"L F L\" --heads 1 --dim 8 --bits 16 --mixer linear",
     "One full layer between two linear ones: two hops are impossible from n = 18755 on."},
    {"hopbound bound --hops 3 --pattern \"L F L F L\" --heads 1 --dim 8 --bits 16 --mixer linear",
     "Three hops: P8 with its sizes, from n = 9166097730 on; T2 begins at 10^34524.5."},
    {"hopbound bound --hops auto --pattern \"(gdn^3 full)^2\" --heads 4 --dim 64 --n 100000",
     "What is possible, what is not, what is open and what can be posed at all, at that length."},
    {"hopbound bound --hops 8 --pattern \"(gdn^3 F)^12\" --heads 16 --dim 128 --n 128k --solve full",
     "How many full layers do 8 hops take at 131072 tokens?"},
    {"hopbound bound --hops 2 --pattern \"L F L\" --heads 1 --dim 8 --bits 16 --mixer linear --n 40000 --cite latex",
     "The verdict as a theorem for a paper, with all that it supposes."},
    {"hopbound bound --like config.json --hops 16 --n 128k",
     "Every theorem, of the model that this file is of."},
    {"hopbound bound --hops 2 --pattern \"L^2\" --dim 8 --n 1000 --curve",
     "Without full layers: how often it can be right, over state bits."},
    {0},
};
const hop_verb hop__verb_bound = {
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
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_bound_answer_record,
    .others = OTHERS,
    .rows = "results",
    .request_size = sizeof(bound_args),
    .ask = ask_bound,
};
/* clang-format on */
