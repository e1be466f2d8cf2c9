/* Where curves part. What is possible at a length is so at every shorter one, so a curve follows the hops that fit up to
 * some length, which bisection finds, and falls from there on: the first of these ends is where curves first differ,
 * unless all end there alike. */
#include <stdlib.h>
#include <string.h>
#include "over.h"

#define MOST_NAMES 6

typedef struct group {
    int hops;
    hop_text names;
    int count;
} group;

/* ---- the end of what fits -------------------------------------------------------------------- */

/* The longest prompt at which the curve has all hops that fit, of those up to the last length. */
static hop_status find_end(int64_t *end, const over_subject *s, const hop_over_point *points,
                           const over_lengths *n, hop_error *err)
{
    int at = 0;
    while (at < n->count && points[at].all_that_fit) at++;
    int64_t yes = at ? n->at[at - 1] : 3, no = at < n->count ? n->at[at] : yes + 1; /* no hop fits 3 tokens */
    hop_status got = HOP_OK;
    while (got == HOP_OK && no - yes > 1) {
        int64_t half = yes + (no - yes) / 2;
        over_view v;
        over_able a;
        got = hop__over_able(&a, &v, s, half, err);
        if (a.known && a.hops == a.fit)
            yes = half;
        else
            no = half;
    }
    *end = yes;
    return got;
}

/* ---- words ------------------------------------------------------------------------------------- */

static void add_name(group *g, const char *name)
{
    if (g->count++ < MOST_NAMES) hop_text_printf(&g->names, "%s%s", g->names.len ? ", " : "", name);
}

static int by_hops(const void *a, const void *b)
{
    return ((const group *)b)->hops - ((const group *)a)->hops;
}

/* "16 hops by a, b; 15 by c"; returns how many numbers of hops there are. */
static hop_status say_hops(hop_text *t, int *kinds, const over_question *q, const bool *counted, int64_t n,
                           hop_error *err)
{
    group groups[HOP_MAX_HOPS + 1] = {{0}};
    hop_status got = HOP_OK;
    *kinds = 0;
    for (int i = 0; got == HOP_OK && i < q->count; i++) {
        over_view v;
        over_able a;
        int g = 0;
        if (!counted[i]) continue;
        got = hop__over_able(&a, &v, &q->subjects[i], n, err);
        if (got != HOP_OK) break;
        while (g < *kinds && groups[g].hops != a.hops) g++;
        if (g == *kinds) groups[(*kinds)++].hops = a.hops;
        add_name(&groups[g], q->subjects[i].name);
    }
    qsort(groups, (size_t)*kinds, sizeof *groups, by_hops);
    for (int g = 0; g < *kinds; g++) {
        int more = groups[g].count - MOST_NAMES;
        hop_text_printf(t, "%s%d%s by %s", g ? "; " : "", groups[g].hops,
                        g                     ? ""
                        : groups[g].hops == 1 ? " hop"
                                              : " hops",
                        hop_text_in(t, &groups[g].names));
        if (more > 0) hop_text_printf(t, " and %d more", more);
        hop_text_free(&groups[g].names);
    }
    return got;
}

/* All alike up to `end` tokens, no longer at the next length. */
static hop_status say_first(hop_text *t, hop_over_answer *out, const over_question *q, const bool *counted,
                            int64_t end, hop_error *err)
{
    hop_text hops = {0};
    int kinds;
    hop_status got = say_hops(&hops, &kinds, q, counted, end + 1, err);
    if (got == HOP_OK && kinds > 1) {
        out->differ_at = end + 1;
        hop_text_printf(t, "They first differ in what is possible at n = %s: %s.", hop_say_count(end + 1).s,
                        hop_text_in(t, &hops));
        if (end > 3)
            hop_text_printf(t, " Up to %s as many hops as fit are possible for each.",
                            hop_say_things(end, "token").s);
    }
    hop_text_free(&hops);
    return got;
}

/* They part later than where all of them cease to have what fits: at the first of the lengths, made narrow. */
static hop_status say_later(hop_text *t, hop_over_answer *out, const over_question *q, const bool *counted,
                            int64_t end, hop_error *err)
{
    int64_t same = end + 1, other = 0;
    hop_status got = HOP_OK;
    for (int i = 0; got == HOP_OK && i < q->lengths.count && !other; i++) {
        int kinds;
        hop_text hops = {0};
        if (q->lengths.at[i] <= same) continue;
        got = say_hops(&hops, &kinds, q, counted, q->lengths.at[i], err);
        if (kinds > 1)
            other = q->lengths.at[i];
        else
            same = q->lengths.at[i];
        hop_text_free(&hops);
    }
    if (got != HOP_OK) return got;
    int64_t last = q->lengths.at[q->lengths.count - 1];
    if (!other) {
        hop_text_printf(t,
                        "They do not differ in the hops that are possible at any of the lengths, up to %s.",
                        hop_say_things(last, "token").s);
        return HOP_OK;
    }
    hop_text hops = {0};
    while (got == HOP_OK && other - same > 1) {
        int kinds;
        int64_t half = same + (other - same) / 2;
        hop_text_free(&hops);
        got = say_hops(&hops, &kinds, q, counted, half, err);
        if (kinds > 1)
            other = half;
        else
            same = half;
    }
    int kinds;
    hop_text_free(&hops);
    if (got == HOP_OK) got = say_hops(&hops, &kinds, q, counted, other, err);
    out->differ_at = other;
    hop_text_printf(t,
                    "They part in what is possible at n = %s: %s; with a token less it is the same for all.",
                    hop_say_count(other).s, hop_text_in(t, &hops));
    hop_text_free(&hops);
    return got;
}

/* ---- the whole --------------------------------------------------------------------------------- */

/* Curves of which no theorem says how many hops are possible are compared with none. */
static int find_counted(bool *counted, const hop_over_answer *out, int count, int lengths)
{
    int compared = 0;
    for (int i = 0; i < count; i++) {
        counted[i] = true;
        for (int k = 0; k < lengths; k++)
            if (out->points.at[i * lengths + k].hops_possible == HOP_NO_COUNT) counted[i] = false;
        compared += counted[i];
    }
    return compared;
}

hop_status hop__over_differ(hop_keep *k, hop_over_answer *out, hop_over_curve *curves, const over_question *q,
                            hop_error *err)
{
    int lengths = q->lengths.count;
    int64_t first = INT64_MAX, last = q->lengths.at[lengths - 1];
    bool *counted = hop_keep_bytes(k, (size_t)q->count + 1, sizeof *counted);
    if (!counted) return hop_fail(err, HOP_ENOMEM, "out of memory");
    int compared = find_counted(counted, out, q->count, lengths);
    hop_status s = HOP_OK;
    for (int i = 0; s == HOP_OK && i < q->count; i++) {
        int64_t end;
        if (!counted[i]) continue;
        s = find_end(&end, &q->subjects[i], &out->points.at[i * lengths], &q->lengths, err);
        curves[i].all_that_fit_up_to = hop_known(end, end > 3);
        if (end < first) first = end;
    }
    if (s != HOP_OK || compared < 2) return s;
    hop_text t = {0};
    if (first >= last)
        hop_text_printf(&t,
                        "They do not differ in the hops that are possible: up to %s as many as fit are "
                        "possible for each.",
                        hop_say_things(last, "token").s);
    else
        s = say_first(&t, out, q, counted, first, err);
    if (s == HOP_OK && !t.len) s = say_later(&t, out, q, counted, first, err);
    out->differ = hop_keep_grown(k, &t);
    return s;
}
