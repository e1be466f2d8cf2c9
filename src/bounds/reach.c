/* How many hops: the most that are proved possible, the fewest that are proved impossible. */
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

static int64_t code_bits_at(int hops, int64_t n)
{
    fmpz_t length;
    fmpz_init_set_si(length, n);
    int64_t bits = n && hops ? hop__most_code_bits(hops, length) : hops;
    fmpz_clear(length);
    return bits;
}

/* What `able` hops would take, and by which way. */
static void say_able(hop_reach *r, bool linear, bool cut)
{
    char text[400] = "";
    int used = 0;
    if (r->able_by_layers == 0 && cut)
        used = snprintf(text, sizeof text, "no hop fits the length: one takes 4 tokens");
    else if (r->able_by_layers == 0)
        used = snprintf(text, sizeof text,
                        "no hop is proved possible: that takes two full layers, or one and a linear one");
    else if (r->able == 0)
        used = snprintf(text, sizeof text, "no hop is proved possible at these widths");
    else
        used = snprintf(
            text, sizeof text,
            "%d hop%s possible by P1: a full layer for each and %s; head dimension >= %lld, p >= %lld",
            r->able, r->able > 1 ? "s are" : " is", linear ? "one linear layer" : "one more",
            (long long)r->needs_dim, (long long)r->needs_bits);
    if (r->able < r->able_by_layers)
        snprintf(text + used, sizeof text - (size_t)used,
                 "; the layers would do for %d at head dimension >= %lld, p >= %lld", r->able_by_layers,
                 (long long)r->needs_dim, (long long)r->needs_bits);
    else if (cut && r->able)
        snprintf(text + used, sizeof text - (size_t)used, "; more do not fit the length");
    r->why_able = strdup(text);
}

static void find_able(hop_reach *r, const hop_arch *a, int64_t n, bool widths)
{
    bool linear;
    int64_t able = hop__able_hops(a, NULL, &linear);
    int fit = hops_that_fit(n);
    bool cut = able > fit;
    if (cut) able = fit;
    r->able_by_layers = (int)able;
    hop__need most = hop__need_of((int)able, code_bits_at((int)able, n));
    r->needs_dim = most.dim, r->needs_bits = most.bits;
    for (; able > 0 && widths; able--) {
        hop__need need = hop__need_of((int)able, code_bits_at((int)able, n));
        if (hop__able_hops(a, &need, &linear) >= able) break;
    }
    r->able = (int)able;
    if (able) strcpy(r->able_by, "P1");
    say_able(r, linear, cut);
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
            snprintf(text, sizeof text, "%d hop%s impossible by %s from n = %s on", q.hops,
                     q.hops > 1 ? "s are" : " is", by->id, by->speaks_from);
            r->unable = q.hops;
            snprintf(r->unable_by, sizeof r->unable_by, "%s", by->id);
            r->why_unable = strdup(text);
        }
        hop_bounds_free(b);
    }
    if (s == HOP_OK && !r->unable)
        r->why_unable =
            strdup(base->n ? "no theorem speaks at this length" : "no theorem speaks of this pattern");
    return s;
}

hop_status hop_reach_find(hop_reach *r, const hop_arch *a, int64_t n, bool widths,
                          const hop_progress *progress, hop_error *err)
{
    *r = (hop_reach){0};
    hop_status s = hop__arch_check(a, err);
    if (s != HOP_OK) return s;
    if (n < 0) return hop_fail(err, HOP_EDOMAIN, "n: below 0");
    hop__shape shape;
    hop__shape_init(&shape, a);
    int64_t full = shape.full;
    hop__shape_clear(&shape);
    find_able(r, a, n, widths);
    hop_question q = {.arch = a, .n = n, .progress = progress};
    s = find_unable(r, &q, full, err);
    if (s == HOP_OK && (!r->why_able || !r->why_unable))
        s = hop_fail(err, HOP_ENOMEM, "bounds: out of memory");
    if (s != HOP_OK) hop_reach_free(r);
    return s;
}

void hop_reach_free(hop_reach *r)
{
    free(r->why_able);
    free(r->why_unable);
    *r = (hop_reach){0};
}
