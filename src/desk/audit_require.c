/* Do these models make so many hops at a length? A sentence each, and one exit code. */
#include <string.h>
#include "audit.h"

HOP_RECORD_TABLE(hop_required_row, HOP_REQUIRED_ROW, "does a model make so many hops")
HOP_RECORD_TABLE(hop_required_answer, HOP_REQUIRED_ANSWER, "do these models make so many hops at a length")

typedef struct verdict {
    hop_answer answer;
    const hop_bound *by; /* NULL: open */
    const hop_bounds *bounds;
} verdict;

/* "8 hops are possible at 131072 tokens, by P1: .." */
static const char *say(hop_keep *k, const verdict *v, int hops, const hop_audit *u, int fit)
{
    const char *are = hops > 1 ? "s are" : " is", *word = hop_plan_verdict_words[v->answer];
    const hop_bound *later = hop_bounds_first(v->bounds, HOP_FIRST_SILENT);
    long long n = (long long)u->n;
    if (fit < hops)
        return hop_keep_printf(k, "%d hop%s cannot be posed within %lld tokens: the shortest prompt has 2^%d",
                               hops, hops > 1 ? "s" : "", n, hops + 1);
    if (v->by && v->answer == HOP_ANSWER_IMPOSSIBLE && v->by->speaks_from)
        return hop_keep_printf(k, "%d hop%s impossible at %lld tokens, by %s, from n = %s on", hops, are, n,
                               v->by->id, v->by->speaks_from);
    if (v->by) return hop_keep_printf(k, "%d hop%s %s at %lld tokens, by %s", hops, are, word, n, v->by->id);
    if (u->plan.tied)
        return hop_keep_printf(k, "%d hop%s open at %lld tokens: layers share their weights", hops, are, n);
    if (later)
        return hop_keep_printf(k, "%d hop%s open at %lld tokens; impossible from n = %s on, by %s", hops, are,
                               n, later->speaks_from, later->id);
    return hop_keep_printf(k, "%d hop%s open at %lld tokens", hops, are, n);
}

/* Possible is said of layers with weights of their own. */
static verdict verdict_of(const hop_audit *u, const hop_bounds *b)
{
    const hop_bound *yes = u->plan.tied ? NULL : hop_bounds_first(b, HOP_FIRST_POSSIBLE),
                    *no = hop_bounds_first(b, HOP_FIRST_CERTIFIED);
    return (verdict){yes  ? HOP_ANSWER_POSSIBLE
                     : no ? HOP_ANSWER_IMPOSSIBLE
                          : HOP_ANSWER_SILENT,
                     yes ? yes : no, b};
}

static hop_status judge(hop_keep *k, hop_required_row *row, const char *path, const hop_audit *u,
                        const hop_audit_options *o, int hops, hop_error *err)
{
    hop_audit_seen h;
    hop_reach r = {0};
    hop_bounds *b = NULL;
    if (!u->n) return hop_fail(err, HOP_EUSAGE, "--n: missing: the file gives no context length");
    hop_status s = hop_audit_layers(&h, u, o, err);
    if (s != HOP_OK) return s;
    const hop_question q = {.arch = &h.arch, .hops = hops, .n = u->n, .progress = o->progress};
    s = hop_reach_possible(&r, &h.arch, u->n, true, err);
    if (s == HOP_OK) s = hop_bounds_new(&b, &q, err);
    if (s == HOP_OK) {
        verdict v = verdict_of(u, b);
        *row = (hop_required_row){
            .model = path ? hop__audit_name(k, path) : "config",
            .path = hop_keep_text(k, path),
            .n = u->n,
            .verdict = v.answer,
            .by = hop_keep_text(k, v.by ? v.by->id : NULL),
            .machine_checked = v.answer == HOP_ANSWER_IMPOSSIBLE ? v.by->certificate != NULL : HOP_NO_FLAG,
            .answer = say(k, &v, hops, u, r.fit)};
    }
    hop_bounds_free(b);
    hop_reach_free(&r);
    hop_audit_seen_free(&h);
    return s;
}

/* The worst: impossible, then open. */
static hop_exit code_of(const hop_required_answer *a)
{
    hop_exit code = HOP_EXIT_DONE;
    for (int64_t i = 0; i < a->models.count; i++) {
        if (a->models.at[i].verdict == HOP_ANSWER_IMPOSSIBLE) return HOP_EXIT_COUNTEREXAMPLE;
        if (a->models.at[i].verdict == HOP_ANSWER_SILENT) code = HOP_EXIT_UNDECIDED;
    }
    return code;
}

static hop_status judge_file(hop_required_answer *out, hop_keep *k, const audit_file *f,
                             hop_required_row *rows, hop_model_refused *refused, const hop_audit_options *o,
                             hop_error *err)
{
    hop_audit u;
    hop_error why = {0};
    hop_status s = hop_audit_read(&u, f->path, o, &why);
    if (hop__audit_is_stray(f, s)) {
        refused[out->refused.count++] = (hop_model_refused){f->path, hop_keep_text(k, why.text)};
        return HOP_OK;
    }
    if (s == HOP_OK) s = judge(k, &rows[out->models.count++], f->path, &u, o, (int)out->hops, &why);
    hop_audit_free(&u);
    if (s != HOP_OK && err) *err = why;
    return s;
}

hop_status hop__audit_require(hop_response *response, const audit_args *a, const hop_audit_options *o,
                              hop_error *err)
{
    hop_keep *k = &response->memory;
    hop_audit_options sizes = *o;
    hop_required_answer *out = hop_response_begin(response, &hop_required_answer_record, err);
    audit_files files = {0};
    if (!out) return HOP_ENOMEM;
    sizes.plan_only = true; /* the theorems are asked here */
    hop_status s = a->config.text ? HOP_OK : hop__audit_files(&files, k, &a->ask.operands, err);
    if (s != HOP_OK) return s;
    hop_required_row *rows = hop_keep_bytes(k, (size_t)files.count + 1, sizeof *rows);
    hop_model_refused *refused = hop_keep_bytes(k, (size_t)files.count + 1, sizeof *refused);
    if (!rows || !refused) return hop_fail(err, HOP_ENOMEM, "out of memory");
    *out = (hop_required_answer){
        .hops = a->require_hops.integer, .model = HOP_BOUNDS_MODEL, .idealised = HOP_BOUNDS_IDEALISED};
    out->models.at = rows, out->refused.at = refused;
    if (a->config.text) {
        hop_audit u;
        s = hop__audit_config(&u, a, &sizes, err);
        if (s == HOP_OK) s = judge(k, &rows[out->models.count++], NULL, &u, &sizes, (int)out->hops, err);
        hop_audit_free(&u);
    }
    for (int i = 0; s == HOP_OK && i < files.count; i++)
        s = judge_file(out, k, &files.at[i], rows, refused, &sizes, err);
    if (s == HOP_OK) response->exit = code_of(out);
    return s == HOP_OK ? hop_response_end(response, err) : s;
}
