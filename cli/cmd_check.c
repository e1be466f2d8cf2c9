/* hopbound check: confirms or rejects a witness or a proof, by code that shares nothing with what made it. */
#include "cli.h"

#include <string.h>

typedef struct check_args {
    common_args common;
} check_args;

/* ---- reports ------------------------------------------------------------------------------------- */

static int report_json(const common_args *a, const hop_check *c, double seconds)
{
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_boolean(&w, "valid", c->valid);
    hop_json_string(&w, "why", c->why);
    hop_json_boolean(&w, "rounding", c->rounding);
    hop_json_string(&w, "kind", c->kind[0] ? c->kind : NULL);
    hop_json_number(&w, "margin", c->margin);
    hop_json_number(&w, "spread", c->spread);
    hop_json_integer(&w, "passes", c->passes);
    hop_json_string(&w, "file", a->operand);
    hop_json_number(&w, "seconds", seconds);
    hop_json_end_object(&w);
    return print_json(a, &w);
}

static int report_text(const common_args *a, const hop_check *c, double seconds)
{
    hop_text out = {0};
    hop_text_name(&out, a->operand);
    hop_text_printf(&out, ": valid: %s\n", c->why);
    if (strcmp(c->kind, "drat") != 0)
        hop_text_printf(
            &out, "  %lld passes, %.2f s; the answer is %.4g above the next, which rounding moves by %.2g\n",
            (long long)c->passes, seconds, c->margin, c->spread);
    return print_text(a, &out);
}

/* Rejected: one line on standard error, and with --json the object as well. */
static int report(const common_args *a, const hop_check *c, double seconds)
{
    int code = c->valid ? EXIT_DONE : c->rounding ? EXIT_UNDECIDED : EXIT_FAILED;
    if (a->json.flag && report_json(a, c, seconds) != EXIT_DONE) return EXIT_FAILED;
    if (!c->valid) return fail(a, code, "%.200s: %s", a->operand, c->why);
    return a->json.flag ? code : report_text(a, c, seconds);
}

/* ---- files --------------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* PREFIX.cnf of PREFIX.drat. */
static int check_proof(const common_args *a, const hop_check_options *o, hop_check *c, hop_error *err)
{
    char formula[4096];
    int stem = (int)strlen(a->operand) - (int)strlen(".drat");
    snprintf(formula, sizeof formula, "%.*s.cnf", stem, a->operand);
    return hop_check_drat(c, a->operand, a->second ? a->second : formula, o, err);
}

/* Without DIR the network is looked for where the witness lies. */
static int check_witness(const common_args *a, const hop_check_options *o, hop_check *c, hop_error *err)
{
    char dir[4096] = ".", config[4096];
    const char *slash = strrchr(a->operand, '/');
    if (slash)
        snprintf(dir, sizeof dir, "%.*s", slash == a->operand ? 1 : (int)(slash - a->operand), a->operand);
    if (!a->second && hop_path_join(config, sizeof config, dir, "config.json", err) == HOP_OK &&
        hop_is_there(a->operand) && !hop_is_there(config))
        return hop_fail(err, HOP_EIO,
                        "%.200s: no network lies beside it; which one is it against? check FILE DIR", a->operand);
    return hop_check_witness(c, a->operand, a->second ? a->second : dir, o, err);
}

static int cmd_check(common_args *a)
{
    hop_check c;
    hop_error err = {0};
    hop_check_options o = {.progress = &a->progress};
    int code = pool_open(a, &o.pool);
    if (code != EXIT_DONE) return code;
    double began = hop_now();
    hop_status s = (ends_in(a->operand, ".drat") ? check_proof : check_witness)(a, &o, &c, &err);
    hop_pool_free(o.pool);
    return s == HOP_OK ? report(a, &c, hop_now() - began) : fail_error(a, &err);
}

/* clang-format off */
static const opt_group GROUPS[] = {
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound check witness.json net",
     "Confirmed (exit 0), rejected with the reason (exit 1), or hanging on rounding (exit 30)."},
    {"hopbound exact --hops 1 --m 2 --state-bits 1 --proof p && hopbound check p/NAME.drat",
     "Every cell that is impossible leaves a proof that its formula has no solution."},
    {0},
};
const verb verb_check = {
    .name = "check",
    .summary = "confirms or rejects a witness or a proof, independently of what made it",
    .operand = "FILE",
    .operand_help = "a witness that `refute` wrote, or a proof (.drat) that `exact --proof` wrote",
    .second = "[DIR]",
    .second_help = "the network that the witness is against, where it does not lie in the same directory; of a proof, "
                   "the formula, where it is not PREFIX.cnf beside PREFIX.drat",
    .description =
        "A witness is read strictly: hashes of the network's files, sizes, lengths and ranges of the prompts, where they "
        "differ; the right answers are computed anew from the task's definition. Then each prompt is run by a forward "
        "pass in double precision that is written from the equations and shares no code with the kernels, the mixers or "
        "the model; once more with every number rounded to float32; and several times with numbers moved by as much as "
        "float32 arithmetic may move them in any order of summation. The witness is confirmed when all of these agree, by "
        "a margin that is large beside what rounding moves. Where they do not, the outcome hangs on rounding: neither "
        "confirmed nor rejected. An arithmetic of few bits that the witness declares is run bit by bit.\n\n"
        "A proof is checked clause by clause (RUP and RAT).\n\n"
        "Exit 0: valid. Exit 1: rejected, with the reason. Exit 30: hangs on rounding.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(check_args),
    .run = cmd_check,
};
/* clang-format on */
