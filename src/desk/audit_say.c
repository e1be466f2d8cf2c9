/* What the theorems say of a model, in plain words. */
#include "audit.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#define MOST_LINES 10

/* "5 sliding windows" */
static void say_kind(hop_text *t, int64_t n, hop_audit_kind kind)
{
    static const char *const words[][2] = {
#define WORDS(name, one, many) {one, many},
        HOP_AUDIT_KIND_LIST(WORDS)
#undef WORDS
    };
    hop_text_printf(t, "%s %s", hop_say_count(n).s, words[kind][n != 1]);
}

/* ---- the layers ---------------------------------------------------------------------------- */

/* "(the window of 2,048 covers the prompt)" */
static void say_covered(hop_text *t, const hop_audit *u, const hop_audit_seen *h)
{
    int64_t covered = h->counts[HOP_AUDIT_COVERED];
    if (!covered) return;
    hop_text_add(t, " (");
    if (covered < h->full) hop_text_printf(t, "in %s of them ", hop_say_count(covered).s);
    hop_text_printf(t, "the window of %s covers the prompt)", hop_say_count(u->plan.window).s);
}

/* "12 full-attention layers of 48, 36 recurrent layers" */
static void say_layers(hop_text *t, const hop_audit *u, const hop_audit_seen *h)
{
    int64_t cross = h->counts[HOP_AUDIT_CROSS];
    if (h->full > cross && cross) hop_text_printf(t, "%s full and ", hop_say_count(h->full - cross).s);
    if (h->full)
        say_kind(t, cross ? cross : h->full, cross ? HOP_AUDIT_CROSS : HOP_AUDIT_FULL);
    else
        hop_text_add(t, "No full-attention layer in ");
    hop_text_printf(t, "%s%s", h->full ? " of " : "", hop_say_count(u->plan.count).s);
    say_covered(t, u, h);
    for (hop_audit_kind k = HOP_AUDIT_BESIDE; k < HOP_AUDIT_KINDS; k++) {
        if (!h->counts[k] || k == HOP_AUDIT_COVERED) continue;
        hop_text_add(t, ", ");
        say_kind(t, h->counts[k], k);
    }
}

/* ---- what is impossible -------------------------------------------------------------------- */

/* "y T2 no 13-hop composition once n reaches 10^34525; silent at 262,144 tokens.", for after a "b" or "B".
 * What takes more ids than the vocabulary has cannot be put to the model, which is said. */
static void say_theorem(hop_text *t, const hop_audit *u, int64_t hops, const hop_bound *b)
{
    hop_text_printf(t, "y %s no %lld-hop composition once n reaches %s", b->id, (long long)hops,
                    hop_say_digits(b->speaks_from).s);
    if (hop_audit_beyond(u, hop_audit_ids(b, (int)hops)))
        hop_text_printf(t, ", with more ids than the %s of its vocabulary",
                        hop_say_count(u->plan.vocabulary).s);
    if (u->n)
        hop_text_printf(t, "%s%s", b->answer == HOP_ANSWER_IMPOSSIBLE ? ", as it does at " : "; silent at ",
                        hop_say_things(u->n, "token").s);
    hop_text_add(t, ".");
}

static void say_unable(hop_text *t, const hop_audit *u, const hop_audit_seen *h)
{
    const hop_reach *r = &h->reach;
    hop_text_printf(t, "At %s", hop_say_things(u->n, "token").s);
    if (!r->unable) {
        hop_text_add(t, " no number of hops is proved impossible.");
        return;
    }
    hop_text_printf(t, " %d hop%s proved impossible (%s, %s)", r->unable, r->unable == 1 ? " is" : "s are",
                    r->unable_by, hop_proof_name(r->machine_checked));
    if (hop_audit_beyond(u, h->unable_ids)) {
        hop_text_add(t, " with tables of ");
        if (h->unable_ids < 1e15)
            hop_text_add(t, hop_say_count((int64_t)h->unable_ids).s);
        else
            hop_text_printf(t, "10^%.4g", log10(h->unable_ids));
        hop_text_printf(t, " ids; its vocabulary has %s, so that no such prompt can be put to it",
                        hop_say_count(u->plan.vocabulary).s);
    }
    hop_text_add(t, ".");
}

/* ---- what is possible ---------------------------------------------------------------------- */

/* Layers that carry, before the full layer of that number, counted from 0, and after the one before it. */
static bool say_carriers(hop_text *t, const hop_audit_seen *h, int64_t full)
{
    int64_t counts[HOP_AUDIT_KINDS] = {0}, seen = 0;
    bool any = false;
    for (int64_t i = 0; i < h->arch.count && seen <= full; i++) {
        hop_layer_kind kind = h->layers[i].kind;
        bool linear = kind == HOP_LAYER_LINEAR && !h->layers[i].forgets;
        if (linear && seen == full) counts[h->kinds[i]]++;
        seen += kind == HOP_LAYER_FULL || kind == HOP_LAYER_BOTH;
    }
    for (hop_audit_kind k = 0; k < HOP_AUDIT_KINDS; k++) {
        if (!counts[k]) continue;
        if (any) hop_text_add(t, " and ");
        say_kind(t, counts[k], k);
        any = true;
    }
    return any;
}

/* "here they are 192 for keys, 128 for values, and 32", of the widest layer */
static void say_widths(hop_text *t, const hop_audit_seen *h)
{
    int64_t keys = 0, values = 0;
    for (int64_t i = 0; i < h->arch.count; i++) {
        const hop_arch_layer *l = &h->layers[i];
        if (l->kind != HOP_LAYER_FULL && l->kind != HOP_LAYER_BOTH) continue;
        int64_t least = l->dim < l->key_dim ? l->dim : l->key_dim;
        if (least <= (keys < values ? keys : values)) continue;
        keys = l->key_dim, values = l->dim;
    }
    hop_text_printf(t, "; here they are %s", hop_say_count(keys).s);
    if (keys != values) hop_text_printf(t, " for keys, %s for values,", hop_say_count(values).s);
    hop_text_printf(t, " and %lld", (long long)h->bits);
}

/* P1 makes none: why, unless P10 makes some at this length; where there is none, up to which it does. */
static void say_unable_by_layers(hop_text *t, const hop_audit_seen *h)
{
    const char *why = h->reach.why_able;
    hop_text_printf(t, "%c%s", toupper((unsigned char)why[0]), why + 1);
    if (h->held)
        hop_text_printf(t, "; here the states hold the table of one up to %s",
                        hop_say_things(h->held, "token").s);
    hop_text_add(t, ".");
}

static void say_able(hop_text *t, const hop_audit *u, const hop_audit_seen *h)
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
    hop_text_printf(t, " with head dimension >= %s and p >= %lld", hop_say_count(r->needs_dim).s,
                    (long long)r->needs_bits);
    say_widths(t, h);
    if (h->able == 0)
        hop_text_printf(t, ", and no hop is known to be possible: %s", h->narrow_why ? h->narrow_why : "");
    else if (h->able < r->able)
        hop_text_printf(t, ", and %d hop%s possible: %s", h->able, h->able == 1 ? " is" : "s are",
                        h->narrow_why ? h->narrow_why : "");
    hop_text_add(t, r->able < h->full - 1 ? "; more do not fit the length." : ".");
}

/* "14 hops are possible by P10: ..; the states alone hold the table of a hop up to 73,730 tokens." */
static void say_states(hop_text *t, const hop_audit_seen *h)
{
    hop_text_add(t, h->by_states_why);
    if (h->held)
        hop_text_printf(t, "; the states alone hold the table of a hop up to %s",
                        hop_say_things(h->held, "token").s);
    hop_text_add(t, ".");
}

/* "At the sizes of its own task (hops 2, m 6, fan 4) 2 hops are possible (P10): .." */
static void say_own(hop_text *t, const hop_audit *u)
{
    int hops = u->own.funccomp.hops;
    const char *colon = strstr(u->own_why, ": ");
    hop_text_add(t, "At the sizes of its own task (");
    hop_sizes_say(t, &u->own);
    hop_text_printf(t, ") %d hop%s ", hops, hops > 1 ? "s are" : " is");
    if (u->own_by[0])
        hop_text_printf(t, "%s in one pass (%s)%s", hop_answer_name(u->own_answer), u->own_by,
                        colon ? colon : "");
    else
        hop_text_add(t, "open: no theorem says possible, none impossible");
    hop_text_add(t, "; whether its weights do it, `prove` says.");
}

/* ---- all of it ----------------------------------------------------------------------------- */

hop_texts hop__audit_say(hop_keep *k, const hop_audit *u, const hop_audit_seen *h)
{
    hop_text lines[MOST_LINES] = {{0}};
    const char **out = hop_keep_bytes(k, MOST_LINES, sizeof *out);
    int n = 0;
    const hop_bound *published = hop_audit_theorem(h->bounds, h->linear ? "T2" : "T1"),
                    *ours = hop_bounds_first(h->bounds, HOP_FIRST_FINITE),
                    *fewer = hop_bounds_first(h->fewer, HOP_FIRST_FINITE);
    if (published && !(published->applies && published->speaks_from)) published = NULL;
    say_layers(&lines[n], u, h);
    hop_text_add(&lines[n], published ? ": b" : ".");
    if (published) say_theorem(&lines[n], u, h->asked, published);
    n++;
    if (ours) hop_text_add(&lines[n], "B"), say_theorem(&lines[n++], u, h->asked, ours);
    if (fewer) hop_text_add(&lines[n], "B"), say_theorem(&lines[n++], u, h->full, fewer);
    if (h->reach.able || !h->by_states) say_able(&lines[n++], u, h);
    if (h->by_states) say_states(&lines[n++], h);
    if (u->own_known) say_own(&lines[n++], u);
    if (h->reach.able || h->by_states || h->held)
        hop_text_printf(&lines[n++], "%s: %s.",
                        h->by_states || h->held ? "P1 and P10 idealise" : "P1 idealises",
                        HOP_BOUNDS_IDEALISED);
    if (u->n)
        say_unable(&lines[n++], u, h);
    else
        hop_text_add(&lines[n++], "The file gives no context length: --n judges the model at one.");
    if (published || ours || fewer)
        hop_text_printf(&lines[n++], "Impossible is said of any weights of networks that are %s.",
                        HOP_BOUNDS_MODEL);
    if (!h->asked)
        hop_text_printf(&lines[n++], "What is impossible is not asked beyond %d hops.", HOP_MAX_HOPS);
    for (int i = 0; i < n; i++) {
        const char *line = hop_keep_grown(k, &lines[i]);
        if (out) out[i] = line;
    }
    return (hop_texts){out, n};
}
