/* The model as the theorems see it, and what they say, as JSON and in plain words. */
#include "audit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STATE_BITS ((int64_t)1 << 60)

/* ---- layers -------------------------------------------------------------------------------- */

/* Bits of the rows that a window keeps; -1: there is no window, or it holds more than can be counted. */
static int64_t window_bits(const audit *u, const audit_layer *l)
{
    int64_t row = l->row * u->cache.bytes * 8;
    if (!l->window || (row && l->window > MOST_STATE_BITS / row)) return -1;
    return l->window * row;
}

static void add_layer(audit_hops *h, hop_layer_kind kind, const audit_layer *l, int64_t state_bits)
{
    hop_arch_layer new = {.kind = kind, .repeat = 1, .number_bits = h->bits, .state_bits = state_bits};
    if (kind == HOP_LAYER_FULL || kind == HOP_LAYER_BOTH) {
        new.heads = l->heads;
        new.dim = l->v_dim;
        h->full++;
    }
    if (kind == HOP_LAYER_LINEAR || kind == HOP_LAYER_BOTH) h->linear++;
    if (kind == HOP_LAYER_OTHER) h->other++;
    h->layers[h->arch.count++] = new;
}

static void see_layer(audit_hops *h, const audit *u, const audit_layer *l)
{
    int64_t state = (l->state * u->state.bytes + l->conv * u->conv.bytes) * 8, window = window_bits(u, l);
    bool covers = l->window && u->n && l->window >= u->n;
    switch (l->letter) {
    case 'F':
    case 'C': add_layer(h, HOP_LAYER_FULL, l, 0); break;
    case 'L': add_layer(h, HOP_LAYER_LINEAR, l, state); break;
    case 'S':
        if (l->sparse || (window < 0 && !covers)) {
            add_layer(h, HOP_LAYER_OTHER, l, 0);
            h->layers[h->arch.count - 1].block = l->sparse ? u->plan.sparse_block : 0;
        } else {
            add_layer(h, covers ? HOP_LAYER_FULL : HOP_LAYER_LINEAR, l, covers ? 0 : window);
        }
        break;
    case 'H':
        if (u->plan.in_sequence) {
            add_layer(h, HOP_LAYER_FULL, l, 0);
            add_layer(h, HOP_LAYER_LINEAR, l, state);
        } else {
            add_layer(h, HOP_LAYER_BOTH, l, state);
        }
        break;
    case 'h':
        if (window < 0 && !covers)
            add_layer(h, HOP_LAYER_OTHER, l, 0);
        else
            add_layer(h, covers ? HOP_LAYER_BOTH : HOP_LAYER_LINEAR, l, covers ? state : state + window);
        break;
    default: add_layer(h, HOP_LAYER_LOCAL, l, 0); break;
    }
}

/* ---- asking -------------------------------------------------------------------------------- */

static const hop_bound *result(const hop_bounds *b, const char *id)
{
    for (int i = 0; b && i < b->count; i++)
        if (strcmp(b->results[i].id, id) == 0) return &b->results[i];
    return NULL;
}

/* The most hops that the layers make at the widths they have. */
static hop_status find_able(audit_hops *h, const hop_question *base, hop_error *err)
{
    hop_status s = HOP_OK;
    for (int hops = h->reach.able; hops > 0 && s == HOP_OK && !h->able; hops--) {
        hop_question q = *base;
        hop_bounds *b = NULL;
        q.hops = hops;
        s = hop_bounds_new(&b, &q, err);
        const hop_bound *p1 = result(b, "P1");
        if (s == HOP_OK && p1 && p1->answer == HOP_ANSWER_POSSIBLE) {
            h->able = hops;
            h->able_why = strdup(p1->why);
            if (!h->able_why) s = hop_fail(err, HOP_ENOMEM, "out of memory");
        }
        hop_bounds_free(b);
    }
    return s;
}

/* What the layers could do. The search for what is impossible is the long part, and `bounds` has it already:
 * a layer of unknown kind at the end, which does P1 no harm, keeps every other theorem silent. */
static hop_status find_reach(audit_hops *h, const hop_question *q, hop_error *err)
{
    hop_arch longer = {.layers = h->layers, .count = h->arch.count + 1};
    h->layers[h->arch.count] = (hop_arch_layer){.kind = HOP_LAYER_OTHER, .repeat = 1, .number_bits = h->bits};
    return hop_reach_find(&h->reach, &longer, q->n, false, q->progress, err);
}

/* The theorem that speaks of the shortest length, if it speaks of this one. */
static hop_status find_unable(audit_hops *h, int64_t n, hop_error *err)
{
    const hop_bound *best = NULL;
    for (int i = 0; n && h->bounds && i < h->bounds->count; i++) {
        const hop_bound *b = &h->bounds->results[i];
        if (b->answer == HOP_ANSWER_IMPOSSIBLE && (!best || b->log10_n < best->log10_n)) best = b;
    }
    free(h->reach.why_unable);
    h->reach.why_unable = strdup(best ? best->why
                                 : n  ? "no theorem speaks at this length"
                                      : "no length is given");
    if (!h->reach.why_unable) return hop_fail(err, HOP_ENOMEM, "out of memory");
    h->reach.unable = best ? h->asked : 0;
    snprintf(h->reach.unable_by, sizeof h->reach.unable_by, "%s", best ? best->id : "");
    return HOP_OK;
}

hop_status audit_hops_find(audit_hops *h, const audit *u, const audit_args *a, hop_error *err)
{
    *h = (audit_hops){.bits = a->bits.integer};
    h->layers = calloc(2 * (size_t)u->plan.count + 1, sizeof *h->layers);
    if (!h->layers) return hop_fail(err, HOP_ENOMEM, "out of memory");
    h->arch.layers = h->layers;
    for (int64_t i = 0; i < u->plan.count; i++) see_layer(h, u, &u->layers[i]);
    hop_question q = {.arch = &h->arch, .n = u->n, .progress = &a->common.progress};
    hop_status s = find_reach(h, &q, err);
    if (s == HOP_OK) s = find_able(h, &q, err);
    /* The first number of hops of which T1 or T2 speaks. */
    int64_t asked = h->full + (h->linear > 0);
    if (asked < 1) asked = 1;
    if (s == HOP_OK && asked <= HOP_MAX_HOPS) {
        q.hops = h->asked = (int)asked;
        s = hop_bounds_new(&h->bounds, &q, err);
    }
    if (s == HOP_OK) s = find_unable(h, u->n, err);
    if (s != HOP_OK) audit_hops_free(h);
    return s;
}

void audit_hops_free(audit_hops *h)
{
    hop_bounds_free(h->bounds);
    hop_reach_free(&h->reach);
    free(h->able_why);
    free(h->layers);
    *h = (audit_hops){0};
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void optional(hop_json_writer *w, const char *key, const char *s)
{
    hop_json_key(w, key);
    if (s && *s)
        hop_json_put_string(w, s);
    else
        hop_json_put_null(w);
}

static void number_or_null(hop_json_writer *w, const char *key, int64_t v)
{
    hop_json_key(w, key);
    if (v)
        hop_json_put_int(w, v);
    else
        hop_json_put_null(w);
}

/* Two claims: what the layers could do at widths that are named, and what they can at those they have. */
static void write_reach(hop_json_writer *w, const audit_hops *h)
{
    const hop_reach *r = &h->reach;
    hop_json_integer(w, "able", h->able);
    optional(w, "able_by", h->able ? r->able_by : NULL);
    optional(w, "why_able", h->able_why);
    hop_json_integer(w, "able_if_wide", r->able);
    number_or_null(w, "needs_dim", r->able ? r->needs_dim : 0);
    number_or_null(w, "needs_bits", r->able ? r->needs_bits : 0);
    hop_json_string(w, "why_able_if_wide", r->why_able);
    number_or_null(w, "unable", r->unable);
    optional(w, "unable_by", r->unable_by);
    hop_json_string(w, "why_unable", r->why_unable);
}

/* Without a length a theorem says from where on it speaks, which is no verdict. */
static void write_results(hop_json_writer *w, const hop_bounds *b, int64_t n)
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
        optional(w, "speaks_from_n", r->speaks_from);
        hop_json_string(w, "needs", r->needs);
        hop_json_string(w, "has", r->has);
        hop_json_string(w, "why", r->why);
        hop_json_end_object(w);
    }
    hop_json_end_array(w);
}

void audit_hops_write(hop_json_writer *w, const audit *u, const audit_hops *h)
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
    write_reach(w, h);
    number_or_null(w, "asked", h->asked);
    write_results(w, h->bounds, u->n);
    hop_json_key(w, "words");
    hop_json_begin_array(w);
    for (int i = 0; i < count; i++) {
        hop_json_put_string(w, lines[i].s ? lines[i].s : "");
        hop_text_free(&lines[i]);
    }
    hop_json_end_array(w);
    hop_json_end_object(w);
}

/* ---- words --------------------------------------------------------------------------------- */

void say_count(hop_text *out, int64_t v)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v);
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) hop_text_add(out, ",");
        hop_text_addn(out, &digits[i], 1);
    }
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* Linear layers before the first full one. */
static int64_t linear_before(const audit_hops *h)
{
    int64_t before = 0;
    for (int64_t i = 0; i < h->arch.count; i++) {
        hop_layer_kind kind = h->layers[i].kind;
        if (kind == HOP_LAYER_FULL || kind == HOP_LAYER_BOTH) break;
        before += kind == HOP_LAYER_LINEAR;
    }
    return before;
}

/* "12 full-attention layers of 48, 36 with a bounded state" */
static void say_layers(hop_text *t, const audit *u, const audit_hops *h)
{
    int64_t local = h->arch.count - h->full - h->linear - h->other;
    for (int64_t i = 0; i < h->arch.count; i++) local += h->layers[i].kind == HOP_LAYER_BOTH;
    if (h->full)
        hop_text_printf(t, "%lld full-attention layer%s of %lld", (long long)h->full, plural(h->full),
                        (long long)u->plan.count);
    else
        hop_text_printf(t, "No full-attention layer in %lld", (long long)u->plan.count);
    if (h->linear)
        hop_text_printf(t, ", %lld with a bounded state (recurrence, convolution or window)",
                        (long long)h->linear);
    if (h->other)
        hop_text_printf(t, ", %lld that pick or compress tokens, which no theorem here covers",
                        (long long)h->other);
    if (local > 0) hop_text_printf(t, ", %lld that mix no tokens", (long long)local);
}

static bool has_length(const hop_bound *b)
{
    return b && b->applies && b->speaks_from && b->answer != HOP_ANSWER_POSSIBLE;
}

/* "y T2 no 13-hop composition once n reaches 10^34525; silent at 262,144 tokens.", for after a "b" or "B" */
static void say_theorem(hop_text *t, const audit *u, const audit_hops *h, const hop_bound *b)
{
    hop_text_printf(t, "y %s no %d-hop composition once n reaches %s", b->id, h->asked, b->speaks_from);
    if (u->n) {
        hop_text_add(t, b->answer == HOP_ANSWER_IMPOSSIBLE ? ", as it does at " : "; silent at ");
        say_count(t, u->n);
        hop_text_add(t, " tokens");
    }
    hop_text_add(t, ".");
}

/* The one of ours that speaks first. */
static const hop_bound *first_of_ours(const audit_hops *h)
{
    const hop_bound *best = NULL;
    for (int i = 0; h->bounds && i < h->bounds->count; i++) {
        const hop_bound *b = &h->bounds->results[i];
        if (!b->published && has_length(b) && (!best || b->log10_n < best->log10_n)) best = b;
    }
    return best;
}

static void say_able(hop_text *t, const audit *u, const audit_hops *h)
{
    const hop_reach *r = &h->reach;
    int64_t dim = 0, before = linear_before(h);
    for (int64_t i = 0; i < h->arch.count; i++)
        if (h->layers[i].dim > dim) dim = h->layers[i].dim;
    if (!r->able) {
        hop_text_add(t, "No hop is proved possible: that takes two full layers, or one and a linear layer.");
        return;
    }
    if (r->able == h->full && before)
        hop_text_printf(t, "%lld linear layer%s before the first full one: ", (long long)before,
                        plural(before));
    hop_text_printf(t, "%d hop%s possible (%s)", r->able, r->able == 1 ? " is" : "s are", r->able_by);
    if (u->n == 0) { /* P1 says up to which length */
        hop_text_printf(t, "; at this model's widths %d: %s.", h->able, h->able ? h->able_why : "none");
        return;
    }
    hop_text_printf(t, " with head dimension >= %lld and p >= %lld; here they are %lld and %lld",
                    (long long)r->needs_dim, (long long)r->needs_bits, (long long)dim, (long long)h->bits);
    if (h->able < r->able)
        hop_text_printf(t, ", by which %d hop%s proved", h->able, h->able == 1 ? " is" : "s are");
    if (r->able < h->full - 1) hop_text_add(t, "; more do not fit the length");
    hop_text_add(t, ".");
}

static void say_unable(hop_text *t, const audit *u, const audit_hops *h)
{
    hop_text_add(t, "At ");
    say_count(t, u->n);
    if (h->reach.unable)
        hop_text_printf(t, " tokens %d hop%s proved impossible (%s).", h->reach.unable,
                        h->reach.unable == 1 ? " is" : "s are", h->reach.unable_by);
    else
        hop_text_add(t, " tokens no number of hops is proved impossible.");
}

int audit_hops_say(hop_text lines[AUDIT_MAX_LINES], const audit *u, const audit_hops *h)
{
    if (!h->layers) return 0;
    int n = 0;
    const hop_bound *published = result(h->bounds, h->linear ? "T2" : "T1"), *ours = first_of_ours(h);
    say_layers(&lines[n], u, h);
    if (has_length(published)) {
        hop_text_add(&lines[n], ": b");
        say_theorem(&lines[n++], u, h, published);
    } else {
        hop_text_add(&lines[n++], ".");
    }
    if (ours) {
        hop_text_add(&lines[n], "B");
        say_theorem(&lines[n++], u, h, ours);
    }
    say_able(&lines[n++], u, h);
    if (u->n)
        say_unable(&lines[n++], u, h);
    else
        hop_text_add(&lines[n++], "The file gives no context length: --n judges the model at one.");
    if (!h->asked)
        hop_text_printf(&lines[n++], "What is impossible is not asked beyond %d hops.", HOP_MAX_HOPS);
    return n;
}
