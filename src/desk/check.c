/* The verb check: confirms or rejects a witness, a proof or a certificate, by code that shares nothing with what made
 * it. */
#include <hopbound/ask_check.h>

#include <hopbound/check.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "desk.h"

HOP_RECORD_TABLE(hop_check_line, HOP_CHECK_LINE, "a certificate")
HOP_RECORD_TABLE(hop_check_answer, HOP_CHECK_ANSWER, "a verdict on a claim")

/* What is checked, and the network or the formula that was given with it. */
typedef struct check_args {
    const char *file, *beside;
} check_args;

/* ---- files --------------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* PREFIX.cnf of PREFIX.drat. */
static hop_status check_proof(const check_args *a, const hop_check_options *o, hop_check *c, hop_error *err)
{
    char formula[4096];
    int stem = (int)strlen(a->file) - (int)strlen(".drat");
    snprintf(formula, sizeof formula, "%.*s.cnf", stem, a->file);
    return hop_check_drat(c, a->file, a->beside ? a->beside : formula, o, err);
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

/* JSON that begins with the protocols of `exact`. */
static bool is_protocols(const char *path)
{
    char start[64] = "";
    struct stat at;
    FILE *f = stat(path, &at) == 0 && S_ISREG(at.st_mode) ? fopen(path, "rb") : NULL;
    if (!f) return false;
    size_t got = fread(start, 1, sizeof start - 1, f), at_key = strspn(start, " \t\r\n{");
    fclose(f);
    return got > at_key && strncmp(start + at_key, "\"protocols\"", 11) == 0;
}

static hop_status check_protocols(const check_args *a, const hop_check_options *o, hop_check *c,
                                  hop_error *err)
{
    (void)o;
    return hop_check_protocols(c, a->file, err);
}

/* Without DIR the network is looked for where the witness lies. */
static hop_status check_witness(const check_args *a, const hop_check_options *o, hop_check *c, hop_error *err)
{
    char dir[4096] = ".", config[4096];
    const char *slash = strrchr(a->file, '/');
    if (slash) snprintf(dir, sizeof dir, "%.*s", slash == a->file ? 1 : (int)(slash - a->file), a->file);
    if (!a->beside && hop_path_join(config, sizeof config, dir, "config.json", err) == HOP_OK &&
        hop_is_there(a->file) && !hop_is_there(config))
        return hop_fail(err, HOP_EIO,
                        "%.200s: no network lies beside it; which one is it against? check FILE DIR",
                        a->file);
    return hop_check_witness(c, a->file, a->beside ? a->beside : dir, o, err);
}

/* ---- certificates ------------------------------------------------------------------------------- */

/* Lines as they are read, in memory that grows. */
typedef struct lines {
    hop_keep *keep;
    hop_check_line *at;
    int64_t count, room;
} lines;

static void add_line(void *ctx, int64_t line, const hop_check *c)
{
    lines *l = ctx;
    if (l->count == l->room) {
        hop_check_line *more = hop_keep_bytes(l->keep, 2 * (size_t)l->room + 16, sizeof *more);
        if (!more) return;
        if (l->count) memcpy(more, l->at, (size_t)l->count * sizeof *more);
        l->at = more, l->room = 2 * l->room + 16;
    }
    l->at[l->count++] =
        (hop_check_line){line, hop_keep_text(l->keep, c->by), c->valid, hop_keep_said(l->keep, c->why)};
}

static hop_status check_certificates(const check_args *a, const hop_check_options *o, hop_check *c,
                                     hop_error *err)
{
    hop_check_options each = *o;
    each.each = add_line;
    return hop_check_certificates(c, a->file, &each, err);
}

/* ---- the verb ------------------------------------------------------------------------------------ */

static hop_status ask_check(hop_response *response, const void *request, hop_error *err)
{
    const hop_request *q = request;
    const check_args a = {hop_request_operand(q, 0), hop_request_operand(q, 1)};
    hop_keep *k = &response->memory;
    lines read = {.keep = k};
    hop_check c = {0};
    hop_check_options o = {.progress = &q->progress, .ctx = &read};
    hop_status s = hop__pool(&o.pool, q, err);
    if (s != HOP_OK) return s;
    double began = hop_now();
    s = (ends_in(a.file, ".drat") ? check_proof
         : is_certificate(a.file) ? check_certificates
         : is_protocols(a.file)   ? check_protocols
                                  : check_witness)(&a, &o, &c, err);
    hop_pool_free(o.pool);
    if (s != HOP_OK) return s;
    hop_check_answer *out = hop_response_begin(response, &hop_check_answer_record, err);
    if (!out) return HOP_ENOMEM;
    *out = (hop_check_answer){.valid = c.valid,
                              .why = hop_keep_said(k, c.why),
                              .rounding = c.rounding,
                              .kind = hop_keep_text(k, c.kind),
                              .margin = c.margin,
                              .spread = c.spread,
                              .passes = c.passes,
                              .file = hop_keep_text(k, a.file),
                              .seconds = hop_now() - began};
    out->certificates.at = read.at;
    out->certificates.count = read.count;
    response->exit = c.valid ? HOP_EXIT_DONE : c.rounding ? HOP_EXIT_UNDECIDED : HOP_EXIT_FAILED;
    if (!c.valid) response->complaint = hop_keep_printf(k, "%.200s: %s", a.file, c.why);
    return hop_response_end(response, err);
}

/* clang-format off */
static const hop_opt_group GROUPS[] = {
    {0},
};
static const hop_example EXAMPLES[] = {
    {"hopbound check witness.json net",
     "Confirmed (exit 0), rejected with the reason (exit 1), or hanging on rounding (exit 30)."},
    {"hopbound exact --hops 1 --m 2 --state-bits 1 --proof p && hopbound check p/NAME.drat",
     "Every cell that is impossible leaves a proof that its formula has no solution."},
    {"hopbound exact --hops 1 --m 2 --state-bits 2 --protocol p.json && hopbound check p.json",
     "Protocols that were found, played on every input."},
    {"hopbound bound --hops 2 --pattern \"L F L\" --dim 8 --state 64 --certificate b.cert && hopbound check b.cert",
     "The integers that show a verdict, and the theorem of proofs/ that stands behind them."},
    {0},
};
const hop_verb hop__verb_check = {
    .name = "check",
    .summary = "confirms or rejects a witness, a proof, a certificate or a protocol, independently of what made it",
    .operand = "FILE",
    .operand_help = "a witness that `refute` wrote, a proof (.drat) that `exact --proof` wrote, protocols that `exact --protocol` wrote, or "
                    "certificates that `bound --certificate` wrote",
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
        "Protocols (docs/FORMATS.md) are played on every input: each table has an index for what its player knows and none for "
        "anything else, and a message that is longer than its bits rejects it.\n\n"
        "A certificate of a bound (proofs/CERTIFICATE.md) is checked in integers, by the algorithm that proofs/Check.v "
        "proves sound: that it is valid is a theorem about all networks of these widths, and the answer says which one, in "
        "which file.\n\n"
        "Exit 0: valid. Exit 1: rejected, with the reason. Exit 30: hangs on rounding.",
    .groups = GROUPS,
    .examples = EXAMPLES,
    .answer = &hop_check_answer_record,
    .rows = "certificates",
    .request_size = sizeof(hop_request),
    .ask = ask_check,
};
/* clang-format on */
