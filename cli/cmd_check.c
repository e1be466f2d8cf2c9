/* hopbound check: confirms or rejects a witness, a proof or a certificate, by code that shares nothing with
 * what made it. */
#include "cli.h"

#include <string.h>
#include <sys/stat.h>

typedef struct check_args {
    common_args common;
} check_args;

/* ---- reports ------------------------------------------------------------------------------------- */

/* "certificates": one a line, as they are read. */
static void add_certificate(void *ctx, int64_t line, const hop_check *c)
{
    hop_json_writer *w = ctx;
    hop_json_begin_object(w);
    hop_json_integer(w, "line", line);
    hop_json_string(w, "by", c->by[0] ? c->by : NULL);
    hop_json_boolean(w, "valid", c->valid);
    hop_json_string(w, "why", c->why);
    hop_json_end_object(w);
}

/* The rest of the object. */
static int report_json(const common_args *a, const hop_check *c, double seconds, hop_json_writer *w)
{
    hop_json_boolean(w, "valid", c->valid);
    hop_json_string(w, "why", c->why);
    hop_json_boolean(w, "rounding", c->rounding);
    hop_json_string(w, "kind", c->kind[0] ? c->kind : NULL);
    hop_json_number(w, "margin", c->margin);
    hop_json_number(w, "spread", c->spread);
    hop_json_integer(w, "passes", c->passes);
    hop_json_string(w, "file", a->operand);
    hop_json_number(w, "seconds", seconds);
    hop_json_end_object(w);
    return print_json(a, w);
}

static int report_text(const common_args *a, const hop_check *c, double seconds)
{
    hop_text out = {0};
    hop_text_name(&out, a->operand);
    hop_text_printf(&out, ": valid: %s\n", c->why);
    if (strcmp(c->kind, "bound") == 0 && c->passes > 1)
        hop_text_printf(&out, "  the last of %lld certificates, all of them valid\n", (long long)c->passes);
    if (strcmp(c->kind, "drat") != 0 && strcmp(c->kind, "bound") != 0)
        hop_text_printf(
            &out, "  %lld passes, %.2f s; the answer is %.4g above the next, which rounding moves by %.2g\n",
            (long long)c->passes, seconds, c->margin, c->spread);
    return print_text(a, &out);
}

/* Rejected: one line on standard error, and with --json the object as well. */
static int report(const common_args *a, const hop_check *c, double seconds, hop_json_writer *w)
{
    exit_code code = c->valid ? EXIT_DONE : c->rounding ? EXIT_UNDECIDED : EXIT_FAILED;
    if (a->json.flag && report_json(a, c, seconds, w) != EXIT_DONE) return EXIT_FAILED;
    if (!c->valid) return fail(a, code, "%.200s: %s", a->operand, c->why);
    return a->json.flag ? (int)code : report_text(a, c, seconds);
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

/* By its name, or by its first word; a witness is JSON. */
static bool is_certificate(const char *path)
{
    char start[12] = "";
    struct stat at; /* looked at before it is opened: a pipe would wait, and lose what it gave */
    if (ends_in(path, ".cert")) return true;
    FILE *f = stat(path, &at) == 0 && S_ISREG(at.st_mode) ? fopen(path, "rb") : NULL;
    if (!f) return false;
    size_t got = fread(start, 1, sizeof start - 1, f);
    fclose(f);
    return got > 0 && (start[0] == '#' || strncmp(start, "impossible", 10) == 0);
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

static int check_certificates(const common_args *a, const hop_check_options *o, hop_check *c, hop_error *err)
{
    hop_check_options each = *o;
    hop_json_writer *w = o->ctx;
    each.each = add_certificate;
    hop_json_key(w, "certificates");
    hop_json_begin_array(w);
    int status = hop_check_certificates(c, a->operand, &each, err);
    hop_json_end_array(w);
    return status;
}

static int cmd_check(common_args *a)
{
    hop_check c;
    hop_error err = {0};
    hop_json_writer w = {0};
    hop_check_options o = {.progress = &a->progress, .ctx = &w};
    int code = pool_open(a, &o.pool);
    if (code != EXIT_DONE) return code;
    double began = hop_now();
    hop_json_begin_object(&w);
    hop_status s = (ends_in(a->operand, ".drat")  ? check_proof
                    : is_certificate(a->operand) ? check_certificates
                                                 : check_witness)(a, &o, &c, &err);
    hop_pool_free(o.pool);
    code = s == HOP_OK ? report(a, &c, hop_now() - began, &w) : fail_error(a, &err);
    hop_text_free(&w.text);
    return code;
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    COMMON_GROUP,
    {0},
};
static const example EXAMPLES[] = {
    {"hopbound check witness.json net",
     "Confirmed (exit 0), rejected with the reason (exit 1), or hanging on rounding (exit 30)."},
    {"hopbound exact --hops 1 --m 2 --state-bits 1 --proof p && hopbound check p/NAME.drat",
     "Every cell that is impossible leaves a proof that its formula has no solution."},
    {"hopbound bound --hops 2 --pattern \"L F L\" --dim 8 --state 64 --certificate b.cert && hopbound check b.cert",
     "The integers that show a verdict, and the theorem of proofs/ that stands behind them."},
    {0},
};
const verb verb_check = {
    .name = "check",
    .summary = "confirms or rejects a witness, a proof or a certificate, independently of what made it",
    .operand = "FILE",
    .operand_help = "a witness that `refute` wrote, a proof (.drat) that `exact --proof` wrote, or certificates that `bound "
                    "--certificate` wrote",
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
        "A certificate of a bound (proofs/CERTIFICATE.md) is checked in integers, by the algorithm that proofs/Check.v "
        "proves sound: that it is valid is a theorem about all networks of these widths, and the answer says which one, in "
        "which file.\n\n"
        "Exit 0: valid. Exit 1: rejected, with the reason. Exit 30: hangs on rounding.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .args_size = sizeof(check_args),
    .run = cmd_check,
};
/* clang-format on */
