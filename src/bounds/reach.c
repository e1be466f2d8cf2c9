/* How many hops: the most that are possible with all fewer, the fewest that are impossible. */
#include "room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hops that fit n tokens at all: the shortest prompt of L hops has 2^(L+1). */
static int hops_that_fit(int64_t n)
{
    int hops = 0;
    while (hops < HOP_MAX_HOPS - 2 && n >> (hops + 2)) hops++;
    return n ? hops : HOP_MAX_HOPS;
}

/* The bits of that many hops at the length; without one, at the shortest prompt. */
static hop__bits bits_at(int hops, int64_t n)
{
    hop__bits bits = {.code = hops,
                      .stream = 4 * (int64_t)hops - 1,
                      .first = 1,
                      .registers = 1 + (int64_t)hops * (hops - 1) / 2,
                      .log2_n = hops + 1};
    fmpz_t length;
    fmpz_init_set_si(length, n);
    if (n && hops) bits = hop__most_bits(hops, length);
    fmpz_clear(length);
    return bits;
}

static hop__need need_at(int hops, int64_t n)
{
    return hop__need_of(hops, bits_at(hops, n));
}

/* Are there states that can be read as tables? */
static bool has_tables(const hop_arch *a)
{
    for (int64_t i = 0; i < a->count; i++)
        if (a->layers[i].rows > 0) return true;
    return false;
}

/* Why nothing is possible whatever the widths; P10 was asked at a length and at the widths that there are. */
static void say_none(hop_text *out, const hop_arch *a, const hop_reach *r, int64_t n, bool widths)
{
    hop__hybrid hybrid;
    hop__hybrid_init(&hybrid, a);
    if (r->fit == 0)
        hop_text_printf(out, "no task fits %lld token%s: one hop takes 4", (long long)n, n > 1 ? "s" : "");
    else if (hybrid.full == 0 && has_tables(a) && !(widths && n))
        hop_text_add(out,
                     "by P1 no hop: it takes a full layer; by P10 as many as the states hold tables for, "
                     "which depends on widths and length");
    else if (hybrid.full == 0 && has_tables(a))
        hop_text_add(out,
                     "no hop is proved possible: P1 takes a full layer, and P10 states that hold the table "
                     "of a hop; here they are too small for those of this length, or too narrow");
    else if (hybrid.full == 0 && hybrid.linear > 0)
        hop_text_add(
            out,
            "no hop is proved possible: P1 takes a full layer, and P10 states that hold whole tables behind "
            "one-hot keys, which is known of gdn, kda, deltanet and mamba2, and of linear attention with a "
            "product "
            "of maps");
    else
        hop_text_add(out, "no hop is proved possible: that takes two full layers, or one and a linear one");
    hop__hybrid_clear(&hybrid);
}

/* What `able` hops take, by which way, and what keeps more from being possible. */
static void say_able(hop_reach *r, const hop_arch *a, int64_t n, bool linear, bool widths)
{
    hop_text t = {0};
    int next = r->able + 1;
    hop__need need, more = need_at(next, n);
    bool ignored;
    hop__p1_able(a, r->able, bits_at(r->able, n), &need, &ignored);
    if (r->able_by_layers == 0) {
        say_none(&t, a, r, n, widths);
    } else if (r->able == 0) {
        hop_text_add(&t, "no hop is proved possible: one is short of ");
        hop__say_shortage(&t, a, 1, &more);
    } else {
        hop_text_printf(&t, "%d hop%s possible by P1: %d full layer%s and one %s; ", r->able,
                        r->able > 1 ? "s are" : " is", r->able, r->able > 1 ? "s" : "",
                        linear ? "linear" : "more");
        hop__say_need(&t, &need);
        if (!a->width) hop_text_add(&t, " (not counted)");
    }
    if (r->able && r->able < r->able_by_layers) {
        hop_text_printf(&t, "; %d hops are short of ", next);
        hop__say_shortage(&t, a, next, &more);
    } else if (r->able && r->able == r->fit) {
        hop_text_add(&t, "; more do not fit the length");
    }
    if (!t.failed) r->why_able = strdup(t.s);
    hop_text_free(&t);
}

/* P10's hops, which are more than P1's. */
static void say_by_state(hop_reach *r, const hop_arch *a, int64_t n, int hops)
{
    hop_text t = {0};
    hop__need need = need_at(hops, n);
    r->able = hops;
    if (r->able_by_layers < hops) r->able_by_layers = hops;
    strcpy(r->able_by, "P10");
    r->needs_dim = need.key, r->needs_bits = need.bits, r->needs_width = need.width;
    hop_text_printf(&t,
                    "%d hop%s possible by P10: every hop by a full layer or by a state that holds its table",
                    hops, hops > 1 ? "s are" : " is");
    if (!a->width) hop_text_add(&t, " (the residual width is not counted)");
    if (hops == r->fit) hop_text_add(&t, "; more do not fit the length");
    if (!t.failed) r->why_able = strdup(t.s);
    hop_text_free(&t);
}

/* Fewer hops may have longer codes, and longer tables, which states need not hold: so each number of hops is
 * asked for, up to the first for which nothing is known. */
static void most_with_all_fewer(const hop_arch *a, int64_t n, int layers, int fit, int *by_p1, int *by_any)
{
    hop__need need;
    bool linear;
    *by_p1 = *by_any = 0;
    for (int hops = 1; hops <= fit; hops++) {
        bool p1 = hops <= layers && hop__p1_able(a, hops, bits_at(hops, n), &need, &linear);
        if (!p1 && !(n && hop__state_able(a, hops, n))) return;
        *by_any = hops;
        if (p1) *by_p1 = hops;
    }
}

void hop__find_able(hop_reach *r, const hop_arch *a, int64_t n, bool widths)
{
    bool linear;
    int64_t able = hop__able_hops(a, &(hop__need){0}, &linear);
    r->fit = hops_that_fit(n);
    if (able > r->fit) able = r->fit;
    r->able_by_layers = (int)able;
    hop__need need = {0};
    int by_p1 = (int)able, by_any = (int)able;
    if (widths) most_with_all_fewer(a, n, (int)able, r->fit, &by_p1, &by_any);
    r->able = by_p1;
    if (by_p1) strcpy(r->able_by, "P1");
    if (by_any > by_p1) {
        say_by_state(r, a, n, by_any);
        return;
    }
    able = by_p1;
    if (able && widths) hop__p1_able(a, by_p1, bits_at(by_p1, n), &need, &linear);
    if (!able || !widths) need = need_at(able ? (int)able : r->able_by_layers, n);
    r->needs_dim = need.key, r->needs_bits = need.bits, r->needs_width = need.width;
    say_able(r, a, n, linear, widths);
}

/* ---- what is impossible ------------------------------------------------------------------------ */

/* The theorem that says impossible from the shortest length on; NULL: none does. */
static const hop_bound *strongest(const hop_bounds *b)
{
    const hop_bound *best = NULL;
    for (int i = 0; i < b->count; i++)
        if (b->results[i].answer == HOP_ANSWER_IMPOSSIBLE && b->results[i].speaks_from &&
            (!best || b->results[i].log10_n < best->log10_n))
            best = &b->results[i];
    return best;
}

/* No theorem speaks of fewer hops than there are full layers, and with more than one hop beyond them only T2
 * can gain, whose gaps may then be deeper: at lengths that nobody asks for. */
static hop_status find_unable(hop_reach *r, const hop_question *base, int64_t full, hop_error *err)
{
    hop_status s = HOP_OK;
    int64_t first = full > 1 ? full : 1, last = full + (base->n ? 1 : 2);
    for (int64_t hops = first; s == HOP_OK && !r->unable && hops <= last && hops <= HOP_MAX_HOPS; hops++) {
        hop_question q = *base;
        hop_bounds *b = NULL;
        q.hops = (int)hops;
        s = hop_bounds_new(&b, &q, err);
        const hop_bound *by = s == HOP_OK ? strongest(b) : NULL;
        if (by) {
            char text[300];
            snprintf(text, sizeof text, "%d hop%s impossible by %s from n = %s on, %s", q.hops,
                     q.hops > 1 ? "s are" : " is", by->id, by->speaks_from,
                     hop_proof_name(by->certificate != NULL));
            r->unable = q.hops;
            r->machine_checked = by->certificate != NULL;
            snprintf(r->unable_by, sizeof r->unable_by, "%s", by->id);
            r->why_unable = strdup(text);
        }
        hop_bounds_free(b);
    }
    if (s == HOP_OK && !r->unable)
        r->why_unable = strdup(r->fit == 0 ? "nothing to ask for at this length"
                               : base->n   ? "no theorem speaks at this length"
                                           : "no theorem speaks of this pattern");
    return s;
}

hop_status hop_reach_possible(hop_reach *r, const hop_arch *a, int64_t n, bool widths, hop_error *err)
{
    *r = (hop_reach){0};
    hop_status s = hop__arch_check(a, err);
    if (s != HOP_OK) return s;
    if (n < 0) return hop_fail(err, HOP_EDOMAIN, "n: below 0");
    hop__find_able(r, a, n, widths);
    if (!r->why_able) {
        hop_reach_free(r);
        return hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    }
    return HOP_OK;
}

hop_status hop_reach_find(hop_reach *r, const hop_arch *a, int64_t n, bool widths,
                          const hop_progress *progress, hop_error *err)
{
    hop_status s = hop_reach_possible(r, a, n, widths, err);
    if (s != HOP_OK) return s;
    hop__hybrid hybrid;
    hop__hybrid_init(&hybrid, a);
    int64_t full = hybrid.full;
    hop__hybrid_clear(&hybrid);
    hop_question q = {.arch = a, .n = n, .progress = progress};
    s = find_unable(r, &q, full, err);
    if (s == HOP_OK && !r->why_unable) s = hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    if (s != HOP_OK) hop_reach_free(r);
    return s;
}

void hop_reach_free(hop_reach *r)
{
    free(r->why_able);
    free(r->why_unable);
    *r = (hop_reach){0};
}
