/* The audit as one JSON object. */
#include "audit.h"

#include <math.h>
#include <string.h>

static void text_or_null(hop_json_writer *w, const char *key, const char *s)
{
    hop_json_string(w, key, s && *s ? s : NULL);
}

static void write_counts(hop_json_writer *w, const hop_hf_plan *p)
{
    static const char letters[] = {
#define LETTER(c, text) c,
        HOP_HF_LETTER_LIST(LETTER)
#undef LETTER
    };
    hop_json_key(w, "counts");
    hop_json_begin_object(w);
    for (size_t i = 0; i < sizeof letters; i++) {
        int64_t n = hop_hf_count(p, letters[i]);
        if (n) hop_json_integer(w, (const char[2]){letters[i], 0}, n);
    }
    hop_json_end_object(w);
}

static void write_attention(hop_json_writer *w, const char *key, const hop_hf_attention *a,
                            const precision *cache)
{
    bool mla = strcmp(a->kind, "mla") == 0;
    hop_json_key(w, key);
    if (!a->kind[0]) {
        hop_json_put_null(w);
        return;
    }
    hop_json_begin_object(w);
    hop_json_string(w, "kind", a->kind);
    hop_json_integer(w, "heads", a->heads);
    if (!mla) hop_json_integer(w, "kv_heads", a->kv_heads);
    hop_json_integer(w, mla ? "qk_head_dim" : "head_dim", a->qk_dim);
    if (mla || a->v_dim != a->qk_dim) hop_json_integer(w, "v_head_dim", a->v_dim);
    if (a->reply_dim > a->v_dim) hop_json_integer(w, "reply_dim", a->reply_dim);
    hop_json_known(w, "cache_elems_per_token", a->cache_elems, a->cache_elems > 0);
    hop_json_string(w, "cache_dtype", cache->dtype);
    hop_json_string(w, "cache_dtype_is", cache->how);
    hop_json_end_object(w);
}

static void write_linear(hop_json_writer *w, const audit *u)
{
    const hop_hf_linear *l = &u->plan.linear;
    hop_json_key(w, "linear");
    if (!l->kind[0]) {
        hop_json_put_null(w);
        return;
    }
    hop_json_begin_object(w);
    hop_json_string(w, "kind", l->kind);
    if (l->shape[0]) hop_json_integers(w, "state_shape", l->shape, 3);
    bool known = audit_state_bytes(u) >= 0; /* else layers differ, and bytes_per_layer tells */
    hop_json_known(w, "recurrent_elems", l->recurrent_elems, known);
    hop_json_known(w, "conv_elems", l->conv_elems, known);
    if (l->recurrent_elems) {
        char dtype[80];
        bool declared = strcmp(u->state.how, "declared") == 0;
        snprintf(dtype, sizeof dtype, declared ? "%s" : "%s (%s)", u->state.dtype, u->state.how);
        hop_json_string(w, "state_dtype", dtype);
        text_or_null(w, "state_dtype_declared_by", l->declared_by);
    }
    hop_json_string(w, "conv_dtype", u->conv.dtype);
    hop_json_string(w, "conv_dtype_is", u->conv.how);
    hop_json_known(w, "bytes_fp32_state_16bit_conv", 4 * l->recurrent_elems + 2 * l->conv_elems, known);
    hop_json_known(w, "bytes_all_16bit", 2 * (l->recurrent_elems + l->conv_elems), known);
    if (l->window) hop_json_integer(w, "effective_window", l->window);
    hop_json_end_object(w);
}

static void write_notes(hop_json_writer *w, const char *key, const hop_hf_note *notes, int count)
{
    hop_json_key(w, key);
    hop_json_begin_array(w);
    for (int i = 0; i < count; i++) hop_json_put_string(w, notes[i].text);
    hop_json_end_array(w);
}

static void write_bytes(hop_json_writer *w, const audit *u)
{
    int64_t state = audit_state_bytes(u), total = audit_total_bytes(u, u->n), row = audit_row_bytes(u);
    hop_json_known(w, "state_bytes_per_layer", state, state >= 0);
    hop_json_known(w, "cache_bytes_per_token", row, row >= 0);
    hop_json_key(w, "bytes_per_layer");
    hop_json_begin_array(w);
    for (int64_t i = 0; i < u->plan.count; i++) {
        int64_t bytes = audit_layer_bytes(u, &u->layers[i], u->n);
        if (bytes >= 0)
            hop_json_put_int(w, bytes);
        else
            hop_json_put_null(w);
    }
    hop_json_end_array(w);
    hop_json_known(w, "bytes_total", total, total >= 0);
}

/* ---- hops ---------------------------------------------------------------------------------- */

/* Two claims: what the layers could do at widths that are named, and what they can at those they have. */
static void write_reach(hop_json_writer *w, const audit *u, const audit_hops *h)
{
    const hop_reach *r = &h->reach;
    bool covered = !audit_uncovered(u, h);
    hop_json_known(w, "able", h->by_states ? h->by_states : h->able, covered);
    text_or_null(w, "able_by", h->by_states ? "P10" : h->able ? r->able_by : NULL);
    text_or_null(w, "why_able", h->by_states ? h->by_states_why : h->able_why);
    hop_json_known(w, "tables_held_up_to", h->held, h->held > 0);
    hop_json_known(w, "able_if_wide", r->able, covered);
    hop_json_known(w, "needs_dim", r->needs_dim, r->able > 0);
    hop_json_known(w, "needs_bits", r->needs_bits, r->able > 0);
    hop_json_string(w, "why_able_if_wide", r->why_able);
    hop_json_known(w, "unable", r->unable, r->unable > 0);
    text_or_null(w, "unable_by", r->unable_by);
    hop_json_string(w, "why_unable", r->why_unable);
    hop_json_number(w, "unable_ids", r->unable ? h->unable_ids : INFINITY);
    hop_json_key(w, "unable_within_vocabulary");
    if (r->unable && u->plan.vocabulary)
        hop_json_put_bool(w, !audit_beyond(u, h->unable_ids));
    else
        hop_json_put_null(w);
}

/* Without a length a theorem says from where on it speaks, which is no verdict. */
static void write_results(hop_json_writer *w, const hop_bounds *b, int hops, int64_t n)
{
    hop_json_key(w, "results");
    hop_json_begin_array(w);
    for (int i = 0; b && i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        hop_json_begin_object(w);
        hop_json_string(w, "id", r->id);
        bool speaks = n || r->answer != HOP_ANSWER_IMPOSSIBLE;
        hop_json_string(w, "verdict", hop_answer_name(speaks ? r->answer : HOP_ANSWER_SILENT));
        hop_json_boolean(w, "applies", r->applies);
        text_or_null(w, "speaks_from_n", r->speaks_from);
        hop_json_number(w, "log10_n", r->log10_n);
        hop_json_string(w, "needs", r->needs);
        hop_json_string(w, "has", r->has);
        hop_json_string(w, "why", r->why);
        hop_json_number(w, "ids", r->speaks_from ? audit_ids(r, hops) : INFINITY);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

/* A network of this program, at the sizes of its own task. */
static void write_own(hop_json_writer *w, const audit_own *own)
{
    const hop_funccomp *t = &own->task.funccomp;
    if (!own->known) return;
    hop_json_key(w, "own");
    hop_json_begin_object(w);
    hop_json_integer(w, "hops", t->hops);
    hop_json_integer(w, "m", t->m);
    hop_json_integers(w, "fan", t->fan + 1, t->hops - 1);
    hop_json_string(w, "verdict", own->by[0] ? hop_answer_name(own->answer) : "open");
    text_or_null(w, "by", own->by);
    text_or_null(w, "why", own->why);
    hop_json_end_object(w);
}

static void write_hops(hop_json_writer *w, const audit *u, const audit_hops *h)
{
    hop_text lines[AUDIT_MAX_LINES] = {{0}};
    int count = audit_hops_say(lines, u, h);
    hop_json_key(w, "hops");
    if (!h->layers) {
        hop_json_put_null(w);
        return;
    }
    hop_json_begin_object(w);
    hop_json_integer(w, "bits", h->bits);
    hop_json_integer(w, "full_layers", h->full);
    hop_json_integer(w, "linear_layers", h->linear);
    hop_json_integer(w, "other_layers", h->other);
    write_reach(w, u, h);
    hop_json_known(w, "asked", h->asked, h->asked > 0);
    write_own(w, &u->own);
    write_results(w, h->bounds, h->asked, u->n);
    write_supposed(w);
    hop_json_key(w, "words");
    hop_json_begin_array(w);
    for (int i = 0; i < count; i++) {
        hop_json_put_string(w, hop_text_in(&w->text, &lines[i]));
        hop_text_free(&lines[i]);
    }
    hop_json_end_array(w);
    hop_json_end_object(w);
}

/* ---- the whole ----------------------------------------------------------------------------- */

int audit_print_json(const audit_args *a, const audit *u, const audit_hops *h)
{
    const hop_hf_plan *p = &u->plan;
    hop_json_writer w = {0};
    hop_json_begin_object(&w);
    hop_json_string(&w, "model_type", p->model_type);
    hop_json_integer(&w, "layers", p->count);
    if (p->loops > 1) hop_json_integer(&w, "loops", p->loops);
    hop_json_string(&w, "source", p->source);
    hop_json_string(&w, "pattern", p->pattern);
    hop_json_string(&w, "pattern_short", u->compressed.s);
    write_counts(&w, p);
    text_or_null(&w, "dtype", p->dtype);
    hop_json_known(&w, "hidden_size", p->hidden, p->hidden > 0);
    hop_json_known(&w, "vocabulary", p->vocabulary, p->vocabulary > 0);
    hop_json_known(&w, "context", p->context, p->context > 0);
    write_attention(&w, "attention", &p->attention, &u->cache);
    if (p->sliding.kind[0]) write_attention(&w, "attention_sliding", &p->sliding, &u->cache);
    hop_json_known(&w, "window", p->window, p->window > 0);
    hop_json_known(&w, "index_topk", p->index_topk, p->index_topk > 0);
    write_linear(&w, u);
    text_or_null(&w, "remark", p->remark);
    hop_json_known(&w, "n", u->n, u->n > 0);
    write_bytes(&w, u);
    write_notes(&w, "declared", p->declared, p->declared_count);
    write_notes(&w, "assumed", p->assumed, p->assumed_count);
    write_hops(&w, u, h);
    hop_json_end_object(&w);
    int code = print_json(&a->common, &w);
    hop_text_free(&w.text);
    return code;
}
