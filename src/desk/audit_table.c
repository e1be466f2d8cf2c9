/* Many models side by side: one row each, at a common length. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "audit.h"

#include <hopbound/over.h>

#define COMMON_N      32768
#define MOST_SEARCHED 7
#define SEARCHED      5 /* full layers up to which P6 is searched for, in the time of a table; one model: 7 */

typedef struct table {
    hop_keep *keep;
    audit_files files;
    hop_model_row *rows;
    hop_model_refused *refused;
    int64_t row_count, refused_count;
} table;

/* ---- a row --------------------------------------------------------------------------------------- */

static hop_status fill_row(hop_keep *k, hop_model_row *r, const char *path, const hop_audit *u,
                           const hop_audit_seen *h, hop_error *err)
{
    const char *uncovered = hop_audit_uncovered(u, h);
    int64_t total = hop_audit_total_bytes(u, u->n), states = hop_audit_all_states(u);
    bool own = u->own_known && u->own_answer == HOP_ANSWER_POSSIBLE, ids = u->plan.vocabulary > 0;
    char outgrown[32];
    double outgrown_log10 = INFINITY;
    int hops = 0;
    const hop_bound *first = hop_audit_first(h, &hops);
    hop_status s = hop_tables_outgrow(&h->arch, outgrown, &outgrown_log10, err);
    if (s != HOP_OK) return s;
    *r = (hop_model_row){.model = hop__audit_name(k, path),
                         .path = path,
                         .model_type = hop__audit_plain(k, u->plan.model_type, strlen(u->plan.model_type)),
                         .plan = hop__audit_plan(k, u->plan.pattern),
                         .layers = u->plan.count,
                         .full_layers = h->full,
                         .linear_layers = h->linear,
                         .context = hop_known(u->plan.context, u->plan.context > 0),
                         .n = u->n,
                         .kv_bytes = hop_known(total - states, total >= 0),
                         .state_bytes = states,
                         .hops_possible = hop_known(h->by_states ? h->by_states : h->able, !uncovered),
                         .hops_that_fit = h->reach.fit,
                         .hops_not_counted = uncovered,
                         .hops_possible_at_own_sizes = hop_known(u->own.funccomp.hops, own),
                         .impossible_at_n = first ? first->answer == HOP_ANSWER_IMPOSSIBLE : HOP_NO_FLAG,
                         .hops_impossible = hop_known(hops, first),
                         .impossible_from_n = hop_keep_text(k, first ? first->speaks_from : NULL),
                         .impossible_log10_n = first ? first->log10_n : INFINITY,
                         .impossible_by = hop_keep_text(k, first ? first->id : NULL),
                         .machine_checked = first ? first->certificate != NULL : HOP_NO_FLAG,
                         .tables_held_up_to = hop_known(h->held, h->held > 0),
                         .tables_outgrow_states_at = hop_keep_text(k, outgrown),
                         .tables_outgrow_log10_n = outgrown[0] ? outgrown_log10 : INFINITY,
                         .vocabulary = hop_known(u->plan.vocabulary, ids),
                         .impossible_beyond_vocabulary =
                             ids && first ? hop_audit_beyond(u, hop_audit_ids(first, hops)) : HOP_NO_FLAG,
                         .tables_outgrow_beyond_vocabulary =
                             ids && outgrown[0] ? hop_audit_beyond(u, pow(10, outgrown_log10) - 2)
                                                : HOP_NO_FLAG};
    return HOP_OK;
}

static hop_status read_file(table *t, const audit_file *f, const hop_audit_options *o, hop_error *err)
{
    hop_audit u;
    hop_audit_seen h = {0};
    hop_error why = {0};
    hop_status s = hop_audit_read(&u, f->path, o, &why);
    if (hop__audit_is_stray(f, s)) {
        t->refused[t->refused_count++] = (hop_model_refused){f->path, hop_keep_text(t->keep, why.text)};
        return HOP_OK;
    }
    if (s == HOP_OK) s = hop_audit_see(&h, &u, o, &why);
    if (s == HOP_OK) s = fill_row(t->keep, &t->rows[t->row_count++], f->path, &u, &h, &why);
    hop_audit_seen_free(&h);
    hop_audit_free(&u);
    if (s != HOP_OK && err) *err = why;
    return s;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static hop_status find_files(table *t, const hop_texts *paths, hop_error *err)
{
    hop_status s = hop__audit_files(&t->files, t->keep, paths, err);
    t->rows = hop_keep_bytes(t->keep, (size_t)t->files.count + 1, sizeof *t->rows);
    t->refused = hop_keep_bytes(t->keep, (size_t)t->files.count + 1, sizeof *t->refused);
    if (s == HOP_OK && t->keep->failed) s = hop_fail(err, HOP_ENOMEM, "out of memory");
    return s;
}

/* What a table has no time for. */
static const char *remark_on(hop_keep *k, const table *t)
{
    bool deep = false;
    for (int64_t i = 0; i < t->row_count; i++)
        deep = deep || (t->rows[i].full_layers > SEARCHED && t->rows[i].full_layers <= MOST_SEARCHED);
    if (!deep) return NULL;
    return hop_keep_printf(
        k,
        "For %d or %d full layers `audit` of one model searches for sizes (P6) that a table has "
        "no time for.",
        SEARCHED + 1, MOST_SEARCHED);
}

/* The page draws hops against length, too. */
static hop_status write_report(const audit_args *a, const hop_models_answer *m, const hop_audit_options *o,
                               hop_error *err)
{
    hop_text page = {0};
    hop_response over = {0};
    hop_status s = hop__audit_over(&over, a, o, err);
    if (s == HOP_OK && hop_report_models(&page, m, over.data) != HOP_OK)
        s = hop_fail(err, HOP_ENOMEM, "out of memory");
    if (s == HOP_OK) s = hop_file_write(a->report.text, page.s, page.len, err);
    hop_response_free(&over);
    hop_text_free(&page);
    return s;
}

hop_status hop__audit_table(hop_response *response, const audit_args *a, const hop_audit_options *o,
                            hop_error *err)
{
    hop_audit_options at = *o;
    table t = {.keep = &response->memory};
    hop_models_answer *out = hop_response_begin(response, &hop_models_answer_record, err);
    at.searched = SEARCHED;
    if (!at.n) at.n = COMMON_N;
    hop_status s = out ? find_files(&t, &a->ask.operands, err) : HOP_ENOMEM;
    for (int i = 0; s == HOP_OK && i < t.files.count; i++) {
        s = read_file(&t, &t.files.at[i], &at, err);
        if (s == HOP_OK && !hop_progress_tick(o->progress, "models", i + 1, t.files.count))
            s = hop_fail(err, HOP_ESTOPPED, "stopped");
    }
    if (s != HOP_OK) return s;
    *out = (hop_models_answer){.n = at.n,
                               .remark = remark_on(t.keep, &t),
                               .model = HOP_BOUNDS_MODEL,
                               .idealised = HOP_BOUNDS_IDEALISED};
    out->models.at = t.rows, out->models.count = t.row_count;
    out->refused.at = t.refused, out->refused.count = t.refused_count;
    s = hop_response_end(response, err);
    if (s == HOP_OK && a->report.text) s = write_report(a, out, o, err);
    return s;
}
