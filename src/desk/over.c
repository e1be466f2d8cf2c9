/* Hops against length. What is possible is asked at every length; from which length on hops are impossible the theorems
 * say once for an architecture, whatever the length. */
#include "over.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Full layers up to which P6 is searched for, in the time of a table of models. */
#define SEARCHED 5

/* ---- possible -------------------------------------------------------------------------------- */

hop_status hop__over_able(over_able *out, over_view *v, const over_subject *s, int64_t n, hop_error *err)
{
    hop_reach r = {0};
    *v = (over_view){0};
    *out = (over_able){0};
    hop_status got = s->look(v, s->of, n, err);
    if (got == HOP_OK) got = hop_reach_possible(&r, &v->arch, n, true, err);
    if (got != HOP_OK) return got;
    out->fit = r.fit;
    out->why_not = v->tied ? "layers share their weights" : r.able == 0 ? v->uncovered : NULL;
    out->known = !out->why_not;
    out->hops = out->known ? r.able : 0;
    memcpy(out->by, r.able_by, sizeof out->by);
    hop_reach_free(&r);
    return HOP_OK;
}

/* ---- impossible ------------------------------------------------------------------------------ */

/* Theorems speak of as many hops as there are full layers, where nothing carries before the first, and of one more;
 * what they say of fewer or more begins no earlier. */
static hop_status find_bounds(over_subject *s, const over_view *v, const hop_progress *progress,
                              hop_error *err)
{
    hop_status got = HOP_OK;
    if (s->bounds[0] && s->stage == v->stage) return HOP_OK;
    s->stage = v->stage;
    for (int i = 0; got == HOP_OK && i < 2; i++) {
        int64_t hops = v->full ? v->full + i : 1;
        hop_bounds_free(s->bounds[i]);
        s->bounds[i] = NULL;
        if (hops > HOP_MAX_HOPS || (i && !v->full)) continue;
        s->hops[i] = (int)hops;
        hop_question q = {.arch = &v->arch, .hops = (int)hops, .searched = SEARCHED, .progress = progress};
        got = hop_bounds_new(&s->bounds[i], &q, err);
    }
    return got;
}

/* Does it speak of n tokens? Lengths of more than 18 digits are beyond every one that can be asked for. */
static bool speaks_at(const hop_bound *b, int64_t n)
{
    return strncmp(b->speaks_from, "10^", 3) != 0 && strtoll(b->speaks_from, NULL, 10) <= n;
}

/* The fewest hops that are impossible at n; or, `later`, what is first at longer prompts only. NULL: none. */
static const hop_bound *find_unable(const over_subject *s, int64_t n, bool later, int *hops)
{
    const hop_bound *best = NULL;
    for (int i = 0; i < 2; i++) {
        const hop_bound *b = hop_bounds_first(s->bounds[i], HOP_FIRST_SPEAKS);
        if (!b || speaks_at(b, n) == later || (best && !(later && b->log10_n < best->log10_n))) continue;
        *hops = s->hops[i];
        best = b;
    }
    return best;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static hop_status fill_point(hop_keep *k, hop_over_point *p, over_subject *s, over_view *v, int64_t n,
                             const hop_progress *progress, hop_error *err)
{
    over_able a;
    int unable = 0;
    hop_status got = hop__over_able(&a, v, s, n, err);
    if (got == HOP_OK) got = find_bounds(s, v, progress, err);
    if (got != HOP_OK) return got;
    const hop_bound *no = find_unable(s, n, false, &unable);
    int last = no && unable - 1 < a.fit ? unable - 1 : a.fit;
    bool open = a.known && last > a.hops;
    *p = (hop_over_point){.name = s->name,
                          .n = n,
                          .hops_that_fit = a.fit,
                          .hops_possible = hop_known(a.hops, a.known),
                          .possible_by = a.hops ? hop_keep_text(k, a.by) : NULL,
                          .all_that_fit = a.known && a.hops == a.fit,
                          .hops_impossible = hop_known(unable, no),
                          .impossible_by = no ? hop_keep_text(k, no->id) : NULL,
                          .machine_checked = no ? no->certificate != NULL : HOP_NO_FLAG,
                          .open_from = hop_known(a.hops + 1, open),
                          .open_to = hop_known(last, open),
                          .kv_bytes = v->kv_bytes,
                          .state_bytes = v->state_bytes};
    return HOP_OK;
}

#define LONGEST ((int64_t)1 << 40)

/* The longest prompt that fits, whose bytes never fall with n. */
static hop_status find_longest(hop_over_curve *c, over_subject *s, int64_t budget, hop_error *err)
{
    int64_t low = 0, high = LONGEST;
    while (low < high) {
        over_view v = {0};
        int64_t n = low + (high - low + 1) / 2;
        hop_status got = s->look(&v, s->of, n, err);
        if (got != HOP_OK) return got;
        if (v.kv_bytes == HOP_NO_COUNT && n == 1) return HOP_OK; /* not even of one token */
        bool fits =
            v.kv_bytes != HOP_NO_COUNT && v.state_bytes <= budget && v.kv_bytes <= budget - v.state_bytes;
        if (fits)
            low = n;
        else
            high = n - 1;
    }
    c->any_length = low == LONGEST;
    c->longest = hop_known(low, !c->any_length);
    return HOP_OK;
}

static hop_status fill_curve(hop_keep *k, hop_over_curve *c, hop_over_point *points, over_subject *s,
                             const over_question *q, hop_error *err)
{
    over_view v;
    over_able a;
    int hops = 0;
    hop_status got = HOP_OK;
    for (int i = 0; got == HOP_OK && i < q->lengths.count; i++)
        got = fill_point(k, &points[i], s, &v, q->lengths.at[i], q->progress, err);
    int64_t last = q->lengths.at[q->lengths.count - 1];
    if (got == HOP_OK) got = hop__over_able(&a, &v, s, last, err);
    if (got != HOP_OK) return got;
    const hop_bound *later = find_unable(s, last, true, &hops);
    *c = (hop_over_curve){.name = s->name,
                          .plan = s->plan,
                          .path = s->path,
                          .all_that_fit_up_to = HOP_NO_COUNT,
                          .longest = HOP_NO_COUNT,
                          .not_counted = a.why_not,
                          .later_hops = hop_known(hops, later),
                          .later_from_n = later ? hop_keep_text(k, later->speaks_from) : NULL,
                          .later_by = later ? hop_keep_text(k, later->id) : NULL};
    return q->budget ? find_longest(c, s, q->budget, err) : HOP_OK;
}

static hop_status fill(hop_keep *k, hop_over_answer *out, const over_question *q, hop_error *err)
{
    int lengths = q->lengths.count;
    int64_t *ns = hop_keep_bytes(k, (size_t)lengths, sizeof *ns);
    hop_over_point *points = hop_keep_bytes(k, (size_t)(lengths * q->count) + 1, sizeof *points);
    hop_over_curve *curves = hop_keep_bytes(k, (size_t)q->count + 1, sizeof *curves);
    if (!ns || !points || !curves) return hop_fail(err, HOP_ENOMEM, "out of memory");
    memcpy(ns, q->lengths.at, (size_t)lengths * sizeof *ns);
    *out = (hop_over_answer){.lengths = {ns, lengths},
                             .differ_at = HOP_NO_COUNT,
                             .model = HOP_BOUNDS_MODEL,
                             .idealised = HOP_BOUNDS_IDEALISED};
    out->points.at = points, out->curves.at = curves;
    hop_status s = HOP_OK;
    for (int i = 0; s == HOP_OK && i < q->count; i++) {
        s = fill_curve(k, &curves[i], points + (size_t)i * (size_t)lengths, &q->subjects[i], q, err);
        if (s == HOP_OK && !hop_progress_tick(q->progress, "hops against length", i + 1, q->count))
            s = hop_fail(err, HOP_ESTOPPED, "stopped");
    }
    out->points.count = (int64_t)lengths * q->count, out->curves.count = q->count;
    return s == HOP_OK ? hop__over_differ(k, out, curves, q, err) : s;
}

static hop_status draw(const char *path, const hop_over_answer *a, hop_error *err)
{
    hop_text picture = {0};
    hop_status s = hop_report_over_svg(&picture, a, true);
    s = s == HOP_OK ? hop_file_write(path, picture.s, picture.len, err) : hop_fail(err, s, "out of memory");
    hop_text_free(&picture);
    return s;
}

hop_status hop__over(hop_response *response, const over_question *q, hop_error *err)
{
    hop_over_answer *out = hop_response_begin(response, &hop_over_answer_record, err);
    hop_status s = out ? fill(&response->memory, out, q, err) : HOP_ENOMEM;
    for (int i = 0; i < q->count; i++)
        for (int b = 0; b < 2; b++) {
            hop_bounds_free(q->subjects[i].bounds[b]);
            q->subjects[i].bounds[b] = NULL;
        }
    if (s == HOP_OK) s = hop_response_end(response, err);
    if (s == HOP_OK && q->picture) s = draw(q->picture, out, err);
    return s;
}
