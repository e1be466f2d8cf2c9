/* The audit of one model as its records. */
#include "audit.h"

#include <math.h>
#include <string.h>

HOP_RECORD_TABLE(hop_audit_attention, HOP_AUDIT_ATTENTION, "softmax attention of one layer")
HOP_RECORD_TABLE(hop_audit_linear, HOP_AUDIT_LINEAR, "the recurrence of one layer")
HOP_RECORD_TABLE(hop_audit_letter, HOP_AUDIT_LETTER, "layers of one letter")
HOP_RECORD_TABLE(hop_audit_own, HOP_AUDIT_OWN, "what the theorems say at the sizes of a network's own task")
HOP_RECORD_TABLE(hop_audit_result, HOP_AUDIT_RESULT, "what one theorem says")
HOP_RECORD_TABLE(hop_audit_hops, HOP_AUDIT_HOPS, "how many hops")
HOP_RECORD_TABLE(hop_audit_answer, HOP_AUDIT_ANSWER,
                 "a model's layers, what they keep, and how many hops they make")

const char *const hop_audit_how_words[] = {"declared", "assumed", "given", NULL};

/* ---- the pattern --------------------------------------------------------------------------- */

#define LONGEST_PERIOD 64

/* How often the first `period` letters stand one behind the other. */
static size_t repeats(const char *s, size_t length, size_t period)
{
    size_t n = 1;
    while ((n + 1) * period <= length && memcmp(s, s + n * period, period) == 0) n++;
    return n;
}

const char *hop__audit_plan(hop_keep *k, const char *s)
{
    hop_text t = {0};
    for (size_t length = strlen(s); length > 0;) {
        size_t best = 0, period = 1, times = 1;
        for (size_t p = 1; p <= length / 2 && p <= LONGEST_PERIOD; p++) {
            size_t n = repeats(s, length, p), cost = p + 4;
            if (n < 2 || n * p <= cost + best) continue;
            best = n * p - cost;
            period = p;
            times = n;
        }
        if (times > 1)
            hop_text_printf(&t, "(%.*s)x%zu", (int)period, s, times);
        else
            hop_text_addn(&t, s, 1);
        s += times * period;
        length -= times * period;
    }
    return hop_keep_grown(k, &t);
}

static const char *short_pattern(hop_keep *k, const char *pattern)
{
    hop_text t = {0};
    hop_hf_short(pattern, &t);
    return hop_keep_grown(k, &t);
}

/* What the layers of one letter keep, but for those that read rows that another layer keeps. */
static hop_audit_letter letter_of(hop_keep *k, const hop_audit *u, char letter, const char *means)
{
    hop_audit_letter out = {
        .letter = hop_keep_printf(k, "%c", letter), .means = means, .least_bytes = INT64_MAX};
    for (int64_t i = 0; i < u->plan.count; i++) {
        const hop_audit_layer *l = &u->layers[i];
        int64_t bytes = hop_audit_layer_bytes(u, l, u->n);
        if (l->letter != letter) continue;
        out.layers++;
        out.borrowing += l->borrows;
        if (l->borrows) continue;
        if (bytes < out.least_bytes) out.least_bytes = bytes;
        if (bytes > out.most_bytes) out.most_bytes = bytes;
    }
    bool is = out.least_bytes >= 0 && out.layers > out.borrowing;
    out.least_bytes = hop_known(out.least_bytes, is), out.most_bytes = hop_known(out.most_bytes, is);
    return out;
}

static void fill_letters(hop_keep *k, hop_audit_answer *out, const hop_audit *u)
{
    static const struct {
        char letter;
        const char *means;
    } all[] = {
#define LETTER(c, means) {c, means},
        HOP_HF_LETTER_LIST(LETTER)
#undef LETTER
    };
    enum { ALL = sizeof all / sizeof *all };
    hop_audit_letter *letters = hop_keep_bytes(k, ALL, sizeof *letters);
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    for (size_t i = 0; letters && i < ALL; i++) {
        if (!hop_hf_count(&u->plan, all[i].letter)) continue;
        letters[out->letters.count] = letter_of(k, u, all[i].letter, all[i].means);
        hop_json_integer(&w, (const char[2]){all[i].letter, 0}, letters[out->letters.count++].layers);
    }
    hop_json_end_object(&w);
    out->letters.at = letters;
    out->counts = hop_keep_grown(k, &w.text);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static const hop_audit_attention *attention_of(hop_keep *k, const hop_hf_attention *a,
                                               const hop_audit_precision *cache)
{
    bool mla = strcmp(a->kind, "mla") == 0;
    hop_audit_attention *out = a->kind[0] ? hop_keep_bytes(k, 1, sizeof *out) : NULL;
    if (!out) return NULL;
    *out = (hop_audit_attention){.kind = hop_keep_text(k, a->kind),
                                 .heads = a->heads,
                                 .kv_heads = hop_known(a->kv_heads, !mla),
                                 .head_dim = hop_known(a->qk_dim, !mla),
                                 .qk_head_dim = hop_known(a->qk_dim, mla),
                                 .v_head_dim = hop_known(a->v_dim, mla || a->v_dim != a->qk_dim),
                                 .reply_dim = hop_known(a->reply_dim, a->reply_dim > a->v_dim),
                                 .cache_elems_per_token = hop_known(a->cache_elems, a->cache_elems > 0),
                                 .cache_dtype = hop_keep_text(k, cache->dtype),
                                 .cache_dtype_is = cache->how};
    return out;
}

static hop_counts integers(hop_keep *k, const int64_t *list, int64_t count)
{
    int64_t *copy = hop_keep_bytes(k, (size_t)count + 1, sizeof *copy);
    if (copy) memcpy(copy, list, (size_t)count * sizeof *copy);
    return (hop_counts){copy, count};
}

static const hop_audit_linear *linear_of(hop_keep *k, const hop_audit *u)
{
    const hop_hf_linear *l = &u->plan.linear;
    hop_audit_linear *out = l->kind[0] ? hop_keep_bytes(k, 1, sizeof *out) : NULL;
    bool same = hop_audit_state_bytes(u) >= 0; /* else layers differ, and bytes_per_layer tells */
    bool declared = u->state.how == HOP_AUDIT_DECLARED;
    if (!out) return NULL;
    *out = (hop_audit_linear){.kind = hop_keep_text(k, l->kind),
                              .recurrent_elems = hop_known(l->recurrent_elems, same),
                              .conv_elems = hop_known(l->conv_elems, same),
                              .state_dtype_is = u->state.how,
                              .conv_dtype = hop_keep_text(k, u->conv.dtype),
                              .conv_dtype_is = u->conv.how,
                              .bytes_fp32_state_16bit_conv =
                                  hop_known(4 * l->recurrent_elems + 2 * l->conv_elems, same),
                              .bytes_all_16bit = hop_known(2 * (l->recurrent_elems + l->conv_elems), same),
                              .effective_window = hop_known(l->window, l->window > 0)};
    if (l->shape[0]) out->state_shape = integers(k, l->shape, 3);
    if (!l->recurrent_elems) return out;
    out->state_dtype =
        hop_keep_printf(k, declared ? "%s" : "%s (%s)", u->state.dtype, hop_audit_how_words[u->state.how]);
    out->state_dtype_declared_by = hop_keep_text(k, l->declared_by);
    return out;
}

/* The shortest sliding window, and whether some are chunks. */
static void fill_windows(hop_audit_answer *out, const hop_hf_plan *p)
{
    out->window_least = HOP_NO_COUNT;
    for (int64_t i = 0; i < p->count; i++) {
        const hop_hf_layer *l = &p->layers[i];
        out->window_chunks = out->window_chunks || l->chunked;
        if (!l->window || l->chunked) continue;
        if (out->window_least == HOP_NO_COUNT || l->window < out->window_least) out->window_least = l->window;
    }
}

/* The most that a layer keeps of a token to pick by. */
static int64_t index_of(const hop_audit *u)
{
    int64_t most = 0;
    for (int64_t i = 0; i < u->plan.count; i++)
        if (u->layers[i].index > most) most = u->layers[i].index;
    return hop_known(most, most > 0);
}

static void fill_bytes(hop_keep *k, hop_audit_answer *out, const hop_audit *u)
{
    int64_t state = hop_audit_state_bytes(u), total = hop_audit_total_bytes(u, u->n),
            row = hop_audit_row_bytes(u);
    int64_t *bytes = hop_keep_bytes(k, (size_t)u->plan.count + 1, sizeof *bytes);
    for (int64_t i = 0; bytes && i < u->plan.count; i++) {
        bytes[i] = hop_audit_layer_bytes(u, &u->layers[i], u->n);
        bytes[i] = hop_known(bytes[i], bytes[i] >= 0);
    }
    out->state_bytes_per_layer = hop_known(state, state >= 0);
    out->cache_bytes_per_token = hop_known(row, row >= 0);
    out->bytes_per_layer = (hop_counts){bytes, u->plan.count};
    out->bytes_total = hop_known(total, total >= 0);
}

static hop_texts notes_of(hop_keep *k, const hop_hf_note *notes, int count)
{
    const char **out = hop_keep_bytes(k, (size_t)count + 1, sizeof *out);
    for (int i = 0; out && i < count; i++) out[i] = hop_keep_said(k, notes[i].text);
    return (hop_texts){out, count};
}

/* ---- hops ---------------------------------------------------------------------------------- */

static const hop_audit_own *own_of(hop_keep *k, const hop_audit *u)
{
    const hop_funccomp *t = &u->own.funccomp;
    hop_audit_own *out = u->own_known ? hop_keep_bytes(k, 1, sizeof *out) : NULL;
    if (out)
        *out = (hop_audit_own){.hops = t->hops,
                               .m = t->m,
                               .fan = integers(k, t->fan + 1, t->hops - 1),
                               .verdict = u->own_answer,
                               .by = hop_keep_text(k, u->own_by),
                               .why = hop_keep_text(k, u->own_why)};
    return out;
}

/* Without a length a theorem says from where on it speaks, which is no verdict. */
static void fill_results(hop_keep *k, hop_audit_hops *out, const hop_bounds *b, int hops, int64_t n)
{
    hop_audit_result *rows = b ? hop_keep_bytes(k, (size_t)b->count, sizeof *rows) : NULL;
    for (int i = 0; rows && i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        bool no = r->answer == HOP_ANSWER_IMPOSSIBLE;
        rows[i] = (hop_audit_result){.id = hop_keep_text(k, r->id),
                                     .verdict = no && !n ? HOP_ANSWER_SILENT : r->answer,
                                     .applies = r->applies,
                                     .machine_checked = no && n ? r->certificate != NULL : HOP_NO_FLAG,
                                     .speaks_from_n = hop_keep_text(k, r->speaks_from),
                                     .log10_n = r->log10_n,
                                     .needs = hop_keep_said(k, r->needs),
                                     .has = hop_keep_said(k, r->has),
                                     .has_bits = r->has_bits,
                                     .needs_bits = r->needs_bits,
                                     .why = hop_keep_said(k, r->why),
                                     .ids = r->speaks_from ? hop_audit_ids(r, hops) : INFINITY};
    }
    out->results.at = rows;
    out->results.count = rows ? b->count : 0;
}

/* Two claims: what the layers could do at widths that are named, and what they can at those they have. */
static const hop_audit_hops *hops_of(hop_keep *k, const hop_audit *u, const hop_audit_seen *h)
{
    const hop_reach *r = &h->reach;
    bool covered = !hop_audit_uncovered(u, h), can = r->able > 0, cannot = r->unable > 0;
    hop_audit_hops *out = hop_keep_bytes(k, 1, sizeof *out);
    if (!out) return NULL;
    *out =
        (hop_audit_hops){.bits = h->bits,
                         .full_layers = h->full,
                         .linear_layers = h->linear,
                         .other_layers = h->other,
                         .able = hop_known(h->by_states ? h->by_states : h->able, covered),
                         .able_by = hop_keep_text(k, h->by_states ? "P10"
                                                     : h->able    ? r->able_by
                                                                  : NULL),
                         .why_able = hop_keep_text(k, h->by_states ? h->by_states_why : h->able_why),
                         .tables_held_up_to = hop_known(h->held, h->held > 0),
                         .able_if_wide = hop_known(r->able, covered),
                         .needs_dim = hop_known(r->needs_dim, can),
                         .needs_bits = hop_known(r->needs_bits, can),
                         .why_able_if_wide = hop_keep_text(k, r->why_able),
                         .unable = hop_known(r->unable, cannot),
                         .unable_by = hop_keep_text(k, r->unable_by),
                         .machine_checked = cannot ? r->machine_checked : HOP_NO_FLAG,
                         .why_unable = hop_keep_text(k, r->why_unable),
                         .unable_ids = cannot ? h->unable_ids : INFINITY,
                         .unable_within_vocabulary =
                             cannot && u->plan.vocabulary ? !hop_audit_beyond(u, h->unable_ids) : HOP_NO_FLAG,
                         .asked = hop_known(h->asked, h->asked > 0),
                         .own = own_of(k, u),
                         .model = HOP_BOUNDS_MODEL,
                         .idealised = HOP_BOUNDS_IDEALISED,
                         .words = hop__audit_say(k, u, h)};
    fill_results(k, out, h->bounds, h->asked, u->n);
    return out;
}

/* ---- the whole ----------------------------------------------------------------------------- */

hop_status hop__audit_record(hop_response *response, const char *path, const hop_audit *u,
                             const hop_audit_seen *h, hop_error *err)
{
    hop_keep *k = &response->memory;
    const hop_hf_plan *p = &u->plan;
    hop_audit_answer *out = hop_response_begin(response, &hop_audit_answer_record, err);
    if (!out) return HOP_ENOMEM;
    *out = (hop_audit_answer){.path = hop_keep_text(k, path),
                              .model_type = hop_keep_said(k, p->model_type),
                              .layers = p->count,
                              .loops = hop_known(p->loops, p->loops > 1),
                              .source = hop_keep_said(k, p->source),
                              .pattern = hop_keep_said(k, p->pattern),
                              .pattern_short = short_pattern(k, p->pattern),
                              .plan = hop__audit_plan(k, p->pattern),
                              .dtype = hop_keep_text(k, p->dtype),
                              .hidden_size = hop_known(p->hidden, p->hidden > 0),
                              .vocabulary = hop_known(p->vocabulary, p->vocabulary > 0),
                              .context = hop_known(p->context, p->context > 0),
                              .attention = attention_of(k, &p->attention, &u->cache),
                              .attention_sliding = attention_of(k, &p->sliding, &u->cache),
                              .window = hop_known(p->window, p->window > 0),
                              .index_topk = hop_known(p->index_topk, p->index_topk > 0),
                              .index_topk_all = p->topk_tokens && u->n && u->n <= p->index_topk,
                              .index_elems_per_token = index_of(u),
                              .linear = linear_of(k, u),
                              .remark = hop_keep_text(k, p->remark),
                              .n = hop_known(u->n, u->n > 0),
                              .n_from = u->n ? u->n_from : NULL,
                              .declared = notes_of(k, p->declared, p->declared_count),
                              .assumed = notes_of(k, p->assumed, p->assumed_count),
                              .hops = h ? hops_of(k, u, h) : NULL};
    fill_letters(k, out, u);
    fill_windows(out, p);
    fill_bytes(k, out, u);
    return hop_response_end(response, err);
}
