/* What the theorems say of a model, in plain words. */
#include "audit.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

void say_count(hop_text *out, int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    say_digits(out, digits);
}

void say_digits(hop_text *out, const char *number)
{
    size_t n = strlen(number);
    bool whole = strspn(number, "0123456789") == n;
    for (size_t i = 0; i < n; i++) {
        if (whole && i && (n - i) % 3 == 0) hop_text_add(out, ",");
        hop_text_addn(out, &number[i], 1);
    }
}

void say_things(hop_text *out, int64_t n, const char *thing)
{
    say_count(out, n);
    hop_text_printf(out, " %s%s", thing, n == 1 ? "" : "s");
}

/* "5 sliding windows" */
static void say_kind(hop_text *t, int64_t n, audit_kind kind)
{
    static const char *const words[][2] = {
#define WORDS(name, one, many) {one, many},
        AUDIT_KIND_LIST(WORDS)
#undef WORDS
    };
    say_count(t, n);
    hop_text_printf(t, " %s", words[kind][n != 1]);
}

/* ---- the layers ---------------------------------------------------------------------------- */

/* "(the window of 2,048 covers the prompt)" */
static void say_covered(hop_text *t, const audit *u, const audit_hops *h)
{
    int64_t covered = h->counts[AUDIT_COVERED];
    if (!covered) return;
    hop_text_add(t, " (");
    if (covered < h->full) {
        hop_text_add(t, "in ");
        say_count(t, covered);
        hop_text_add(t, " of them ");
    }
    hop_text_add(t, "the window of ");
    say_count(t, u->plan.window);
    hop_text_add(t, " covers the prompt)");
}

/* "12 full-attention layers of 48, 36 recurrent layers" */
static void say_layers(hop_text *t, const audit *u, const audit_hops *h)
{
    int64_t cross = h->counts[AUDIT_CROSS];
    if (!h->full)
        hop_text_add(t, "No full-attention layer in ");
    else if (cross) {
        if (h->full > cross) {
            say_count(t, h->full - cross);
            hop_text_add(t, " full and ");
        }
        say_kind(t, cross, AUDIT_CROSS);
    } else {
        say_kind(t, h->full, AUDIT_FULL);
    }
    if (h->full) hop_text_add(t, " of ");
    say_count(t, u->plan.count);
    say_covered(t, u, h);
    if (h->counts[AUDIT_BESIDE]) {
        hop_text_add(t, ", ");
        say_kind(t, h->counts[AUDIT_BESIDE], AUDIT_BESIDE);
    }
    for (audit_kind k = AUDIT_COVERED + 1; k < AUDIT_KINDS; k++) {
        if (!h->counts[k]) continue;
        hop_text_add(t, ", ");
        say_kind(t, h->counts[k], k);
    }
}

/* ---- what is impossible -------------------------------------------------------------------- */

static bool has_length(const hop_bound *b)
{
    return b && b->applies && b->speaks_from && b->answer != HOP_ANSWER_POSSIBLE;
}

/* "82,837,554", or "10^12.3" */
static void say_ids(hop_text *t, double ids)
{
    if (ids < 1e15)
        say_count(t, (int64_t)ids);
    else
        hop_text_printf(t, "10^%.4g", log10(ids));
}

/* "y T2 no 13-hop composition once n reaches 10^34525; silent at 262,144 tokens.", for after a "b" or "B".
 * What takes more ids than the vocabulary has cannot be put to the model, which is said. */
static void say_theorem(hop_text *t, const audit *u, int hops, const hop_bound *b)
{
    hop_text_printf(t, "y %s no %d-hop composition once n reaches ", b->id, hops);
    say_digits(t, b->speaks_from);
    if (audit_beyond(u, audit_ids(b, hops))) {
        hop_text_add(t, ", with more ids than the ");
        say_count(t, u->plan.vocabulary);
        hop_text_add(t, " of its vocabulary");
    }
    if (u->n) {
        hop_text_add(t, b->answer == HOP_ANSWER_IMPOSSIBLE ? ", as it does at " : "; silent at ");
        say_things(t, u->n, "token");
    }
    hop_text_add(t, ".");
}

/* The one of ours that speaks first. */
static const hop_bound *first_of_ours(const hop_bounds *all)
{
    const hop_bound *best = NULL;
    for (int i = 0; all && i < all->count; i++) {
        const hop_bound *b = &all->results[i];
        if (!b->published && has_length(b) && (!best || b->log10_n < best->log10_n)) best = b;
    }
    return best;
}

static void say_unable(hop_text *t, const audit *u, const audit_hops *h)
{
    hop_text_add(t, "At ");
    say_things(t, u->n, "token");
    if (h->reach.unable)
        hop_text_printf(t, " %d hop%s proved impossible (%s, %s)", h->reach.unable,
                        h->reach.unable == 1 ? " is" : "s are", h->reach.unable_by,
                        hop_proof_name(h->reach.machine_checked));
    else
        hop_text_add(t, " no number of hops is proved impossible");
    if (h->reach.unable && audit_beyond(u, h->unable_ids)) {
        hop_text_add(t, " with tables of ");
        say_ids(t, h->unable_ids);
        hop_text_add(t, " ids; its vocabulary has ");
        say_count(t, u->plan.vocabulary);
        hop_text_add(t, ", so that no such prompt can be put to it");
    }
    hop_text_add(t, ".");
}

/* ---- what is possible ---------------------------------------------------------------------- */

/* Layers that carry, before the full layer of that number, counted from 0, and after the one before it. */
static bool say_carriers(hop_text *t, const audit_hops *h, int64_t full)
{
    int64_t counts[AUDIT_KINDS] = {0}, seen = 0;
    bool any = false;
    for (int64_t i = 0; i < h->arch.count && seen <= full; i++) {
        hop_layer_kind kind = h->layers[i].kind;
        bool linear = kind == HOP_LAYER_LINEAR && !h->layers[i].forgets;
        if (linear && seen == full) counts[h->kinds[i]]++;
        seen += kind == HOP_LAYER_FULL || kind == HOP_LAYER_BOTH;
    }
    for (audit_kind k = 0; k < AUDIT_KINDS; k++) {
        if (!counts[k]) continue;
        if (any) hop_text_add(t, " and ");
        say_kind(t, counts[k], k);
        any = true;
    }
    return any;
}

/* "here they are 192 for keys, 128 for values, and 32", of the widest layer */
static void say_widths(hop_text *t, const audit_hops *h)
{
    int64_t keys = 0, values = 0;
    for (int64_t i = 0; i < h->arch.count; i++) {
        const hop_arch_layer *l = &h->layers[i];
        if (l->kind != HOP_LAYER_FULL && l->kind != HOP_LAYER_BOTH) continue;
        int64_t least = l->dim < l->key_dim ? l->dim : l->key_dim;
        if (least <= (keys < values ? keys : values)) continue;
        keys = l->key_dim, values = l->dim;
    }
    hop_text_add(t, "; here they are ");
    say_count(t, keys);
    if (keys != values) {
        hop_text_add(t, " for keys, ");
        say_count(t, values);
        hop_text_add(t, " for values,");
    }
    hop_text_printf(t, " and %lld", (long long)h->bits);
}

/* P1 makes none: why, unless P10 makes some at this length; where there is none, up to which it does. */
static void say_unable_by_layers(hop_text *t, const audit_hops *h)
{
    const char *why = h->reach.why_able;
    hop_text_printf(t, "%c%s", toupper((unsigned char)why[0]), why + 1);
    if (h->held) {
        hop_text_add(t, "; here the states hold the table of one up to ");
        say_things(t, h->held, "token");
    }
    hop_text_add(t, ".");
}

static void say_able(hop_text *t, const audit *u, const audit_hops *h)
{
    const hop_reach *r = &h->reach;
    if (!r->able) {
        say_unable_by_layers(t, h);
        return;
    }
    if (r->able == h->full) { /* a layer that carries saves a full one */
        if (say_carriers(t, h, 0))
            hop_text_add(t, " before the first full one: ");
        else if (say_carriers(t, h, 1))
            hop_text_add(t, " between the first two full ones: ");
    }
    hop_text_printf(t, "%d hop%s possible (%s)", r->able, r->able == 1 ? " is" : "s are", r->able_by);
    if (u->n == 0) { /* P1 says up to which length */
        hop_text_printf(t, "; at this model's widths %d: %s.", h->able, h->able ? h->able_why : "none");
        return;
    }
    hop_text_add(t, " with head dimension >= ");
    say_count(t, r->needs_dim);
    hop_text_printf(t, " and p >= %lld", (long long)r->needs_bits);
    say_widths(t, h);
    if (h->able == 0)
        hop_text_printf(t, ", and no hop is known to be possible: %s", h->narrow_why ? h->narrow_why : "");
    else if (h->able < r->able)
        hop_text_printf(t, ", and %d hop%s possible: %s", h->able, h->able == 1 ? " is" : "s are",
                        h->narrow_why ? h->narrow_why : "");
    if (r->able < h->full - 1) hop_text_add(t, "; more do not fit the length");
    hop_text_add(t, ".");
}

/* "14 hops are possible by P10: ..; the states alone hold the table of a hop up to 73,730 tokens." */
static void say_states(hop_text *t, const audit_hops *h)
{
    hop_text_add(t, h->by_states_why);
    if (h->held) {
        hop_text_add(t, "; the states alone hold the table of a hop up to ");
        say_things(t, h->held, "token");
    }
    hop_text_add(t, ".");
}

/* "At the sizes of its own task (hops 2, m 6, fan 4) 2 hops are possible (P10): .." */
static void say_own(hop_text *t, const audit_own *own)
{
    int hops = own->task.funccomp.hops;
    hop_text_add(t, "At the sizes of its own task (");
    hop_sizes_say(t, &own->task);
    hop_text_printf(t, ") %d hop%s ", hops, hops > 1 ? "s are" : " is");
    if (!own->by[0]) {
        hop_text_add(t, "open: no theorem says possible, none impossible");
    } else {
        const char *colon = strstr(own->why, ": ");
        hop_text_printf(t, "%s in one pass (%s)%s", hop_answer_name(own->answer), own->by,
                        colon ? colon : "");
    }
    hop_text_add(t, "; whether its weights do it, `prove` says.");
}

/* ---- all of it ----------------------------------------------------------------------------- */

int audit_hops_say(hop_text lines[AUDIT_MAX_LINES], const audit *u, const audit_hops *h)
{
    if (!h->layers) return 0;
    int n = 0;
    const hop_bound *published = audit_result(h->bounds, h->linear ? "T2" : "T1"),
                    *ours = first_of_ours(h->bounds), *fewer = first_of_ours(h->fewer);
    say_layers(&lines[n], u, h);
    if (has_length(published)) {
        hop_text_add(&lines[n], ": b");
        say_theorem(&lines[n++], u, h->asked, published);
    } else {
        hop_text_add(&lines[n++], ".");
    }
    if (ours) {
        hop_text_add(&lines[n], "B");
        say_theorem(&lines[n++], u, h->asked, ours);
    }
    if (fewer) {
        hop_text_add(&lines[n], "B");
        say_theorem(&lines[n++], u, (int)h->full, fewer);
    }
    if (h->reach.able || !h->by_states) say_able(&lines[n++], u, h);
    if (h->by_states) say_states(&lines[n++], h);
    if (u->own.known) say_own(&lines[n++], &u->own);
    if (h->reach.able || h->by_states || h->held)
        hop_text_printf(&lines[n++], "%s: %s.", h->by_states || h->held ? "P1 and P10 idealise" : "P1 idealises",
                        HOP_BOUNDS_IDEALISED);
    if (u->n)
        say_unable(&lines[n++], u, h);
    else
        hop_text_add(&lines[n++], "The file gives no context length: --n judges the model at one.");
    if (has_length(published) || ours || fewer)
        hop_text_printf(&lines[n++], "Impossible is said of any weights of networks that are %s.",
                        HOP_BOUNDS_MODEL);
    if (!h->asked)
        hop_text_printf(&lines[n++], "What is impossible is not asked beyond %d hops.", HOP_MAX_HOPS);
    return n;
}
