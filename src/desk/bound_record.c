/* What `bound` has found, as its records. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bound.h"

HOP_RECORD_TABLE(hop_bound_hypothesis, HOP_BOUND_HYPOTHESIS, "a condition of a theorem")
HOP_RECORD_TABLE(hop_bound_certificate, HOP_BOUND_CERTIFICATE, "integers that show an impossibility")
HOP_RECORD_TABLE(hop_bound_result, HOP_BOUND_RESULT, "what one theorem says")
HOP_RECORD_TABLE(hop_bound_reach, HOP_BOUND_REACH, "how many hops")
HOP_RECORD_TABLE(hop_bound_point, HOP_BOUND_POINT, "a point of P3's curve")
HOP_RECORD_TABLE(hop_bound_answer, HOP_BOUND_ANSWER, "every theorem for a layer pattern")

#define CURVE_STEPS 20

static int length_of(const char *const *list, int most)
{
    int n = 0;
    while (list && n < most && list[n]) n++;
    return n;
}

static hop_texts list_of(hop_keep *k, const char *const *list, int most)
{
    int count = length_of(list, most);
    const char **copy = list ? hop_keep_bytes(k, (size_t)count + 1, sizeof *copy) : NULL;
    for (int i = 0; copy && i < count; i++) copy[i] = hop_keep_text(k, list[i]);
    return (hop_texts){copy, count};
}

/* A number where it fits one, as the records' digits are. */
static void put_digits(hop_json_writer *w, const char *text)
{
    if (strlen(text) <= 18)
        hop_json_put_int(w, strtoll(text, NULL, 10));
    else
        hop_json_put_string(w, text);
}

static const char *kept_json(hop_keep *k, hop_json_writer *w)
{
    return hop_keep_grown(k, &w->text);
}

/* What the proof chooses: {"t": 14, ..}. */
const char *hop__bound_integers(hop_keep *k, const hop_certificate *c)
{
    hop_json_writer w = {0};
    if (!c) return NULL;
    hop_json_begin_object(&w);
    for (int i = 0; c->integers && c->integers[i]; i++) {
        hop_json_key(&w, c->names[i]);
        put_digits(&w, c->integers[i]);
    }
    hop_json_end_object(&w);
    return kept_json(k, &w);
}

/* s, kap, E, D, G and the lines: (a, u, w) is u + w p up to p = a/G. */
static const char *lines_json(hop_keep *k, const hop_certificate *c)
{
    static const char *const names[] = {"s", "kap", "E", "D", "G"};
    hop_json_writer w = {0};
    if (!c->lines) return NULL;
    hop_json_begin_object(&w);
    for (int i = 0; i < 5; i++) {
        hop_json_key(&w, names[i]);
        put_digits(&w, c->lines[i]);
    }
    hop_json_key(&w, "levels");
    hop_json_begin_array(&w);
    for (int i = 5; c->lines[i]; i += 3) {
        hop_json_begin_array(&w);
        for (int j = 0; j < 3; j++) put_digits(&w, c->lines[i + j]);
        hop_json_end_array(&w);
    }
    hop_json_end_array(&w);
    hop_json_end_object(&w);
    return kept_json(k, &w);
}

static const hop_bound_certificate *certificate_of(hop_keep *k, const hop_certificate *c)
{
    hop_bound_certificate *out = c ? hop_keep_bytes(k, 1, sizeof *out) : NULL;
    if (!out) return NULL;
    *out = (hop_bound_certificate){.by = hop_keep_text(k, c->by),
                                   .m = hop_keep_text(k, c->m),
                                   .fan = list_of(k, c->fan, INT32_MAX),
                                   .M = hop_keep_text(k, c->reply),
                                   .A = list_of(k, c->state, INT32_MAX),
                                   .integers = hop__bound_integers(k, c),
                                   .lines = lines_json(k, c),
                                   .has = hop_keep_text(k, c->has),
                                   .needs = hop_keep_text(k, c->needs),
                                   .text = hop_keep_text(k, c->text)};
    return out;
}

static void fill_result(hop_keep *k, hop_bound_result *out, const hop_bound *r, int hops)
{
    hop_bound_hypothesis *h = hop_keep_bytes(k, (size_t)r->hypothesis_count + 1, sizeof *h);
    for (int i = 0; h && i < r->hypothesis_count; i++)
        h[i] = (hop_bound_hypothesis){hop_keep_text(k, r->hypotheses[i].text), r->hypotheses[i].met};
    *out = (hop_bound_result){.id = hop_keep_text(k, r->id),
                              .statement = hop_keep_text(k, r->statement),
                              .published = r->published,
                              .applies = r->applies,
                              .verdict = r->answer,
                              .speaks_from_n = hop_keep_text(k, r->speaks_from),
                              .log10_n = r->log10_n,
                              .needs = hop_keep_said(k, r->needs),
                              .has = hop_keep_said(k, r->has),
                              .has_bits = r->has_bits,
                              .needs_bits = r->needs_bits,
                              .parameters = hop__bound_integers(k, r->certificate),
                              .why = hop_keep_said(k, r->why),
                              .sizes = list_of(k, r->sizes, hops),
                              .x = list_of(k, r->x, hops),
                              .s = list_of(k, r->s, hops - 1),
                              .machine_checked =
                                  r->answer == HOP_ANSWER_IMPOSSIBLE ? r->certificate != NULL : HOP_NO_FLAG,
                              .certificate = certificate_of(k, r->certificate)};
    out->hypotheses.at = h;
    out->hypotheses.count = r->hypothesis_count;
}

/* From where states hold the table of a hop to where none fits them; NaN: one of the two is not known. */
static double factor_of(const bound_facts *b)
{
    return b->held && b->outgrown[0] ? pow(10, b->outgrown_log10) / (double)b->held : NAN;
}

static hop_counts between(hop_keep *k, const hop_reach *r)
{
    int64_t *ends = hop_keep_bytes(k, 2, sizeof *ends);
    bool any = hop__bound_most_open(r) > r->able;
    if (ends)
        ends[0] = r->able + 1, ends[1] = hop__bound_is_bounded(r) ? hop__bound_most_open(r) : HOP_NO_COUNT;
    return (hop_counts){ends, any ? 2 : 0};
}

static const hop_bound_reach *reach_of(hop_keep *k, const bound_facts *b)
{
    const hop_reach *r = &b->reach;
    hop_bound_reach *out = b->automatic ? hop_keep_bytes(k, 1, sizeof *out) : NULL;
    if (!out) return NULL;
    *out = (hop_bound_reach){.able = r->able,
                             .able_by_layers = r->able_by_layers,
                             .unable = hop_known(r->unable, r->unable > 0),
                             .posed = hop_known(r->fit, r->fit < HOP_MAX_HOPS),
                             .between = between(k, r),
                             .able_by = hop_keep_said(k, r->able_by),
                             .unable_by = hop_keep_said(k, r->unable_by),
                             .needs_dim = r->needs_dim,
                             .needs_bits = r->needs_bits,
                             .needs_width = r->needs_width,
                             .why_able = hop_keep_text(k, r->why_able),
                             .why_unable = hop_keep_text(k, r->why_unable),
                             .tables_held_up_to = hop_known(b->held, b->held > 0),
                             .tables_outgrow_states_at = hop_keep_text(k, b->outgrown),
                             .tables_outgrow_log10_n = b->outgrown_log10,
                             .tables_factor = factor_of(b)};
    return out;
}

/* From no state to as much as P2 asks for, in equal steps. State bits may be more than 64-bit integers hold. */
static void fill_curve(hop_keep *k, hop_bound_answer *out, int64_t table)
{
    double enough = ceil((double)table * log2((double)table)), ceiling = 0;
    hop_bound_point *points = hop_keep_bytes(k, CURVE_STEPS + 1, sizeof *points);
    while (hop_accuracy_ceiling(&ceiling, table, enough, NULL) == HOP_OK && ceiling < 1)
        enough = ceil(nextafter(enough, INFINITY)); /* the double was below */
    for (int i = 0; points && i <= CURVE_STEPS; i++) {
        double bits = i == CURVE_STEPS ? enough : floor(enough * i / CURVE_STEPS);
        if (hop_accuracy_ceiling(&ceiling, table, bits, NULL) == HOP_OK)
            points[out->curve.count++] = (hop_bound_point){bits, ceiling};
    }
    out->curve.at = points;
}

hop_status hop__bound_record(hop_response *response, const bound_facts *b, bool curve, hop_error *err)
{
    hop_keep *k = &response->memory;
    const hop_question *q = &b->question;
    hop_bound_answer *out = hop_response_begin(response, &hop_bound_answer_record, err);
    hop_bound_result *results = hop_keep_bytes(k, (size_t)b->bounds->count, sizeof *results);
    int64_t *fan = q->m ? hop_keep_bytes(k, HOP_MAX_HOPS, sizeof *fan) : NULL;
    hop_text line = {0};
    if (!out || !results || (q->m && !fan)) return hop_fail(err, HOP_ENOMEM, "out of memory");
    const char *by = NULL, *verdict = hop__bound_is_asked(b) ? hop__bound_verdict(b, &by) : NULL;
    hop__bound_say(&line, b);
    for (int i = 0; fan && i < q->hops - 1; i++) fan[i] = q->fan[i];
    for (int i = 0; i < b->bounds->count; i++) fill_result(k, &results[i], &b->bounds->results[i], q->hops);
    *out = (hop_bound_answer){.hops = q->hops,
                              .pattern = hop_keep_text(k, b->arch->pattern.s),
                              .full_layers = b->arch->full,
                              .linear_layers = b->arch->linear,
                              .n = hop_known(q->n, q->n > 0),
                              .m = hop_known(q->m, q->m > 0),
                              .fan = {fan, q->hops - 1},
                              .verdict = verdict,
                              .by = hop_keep_text(k, by),
                              .answer = hop_keep_grown(k, &line),
                              .reach = reach_of(k, b),
                              .accuracy_ceiling = b->bounds->accuracy_ceiling,
                              .ceiling_table = hop_known(b->bounds->table, b->bounds->table > 0),
                              .model = HOP_BOUNDS_MODEL,
                              .idealised = HOP_BOUNDS_IDEALISED};
    out->results.at = results;
    out->results.count = b->bounds->count;
    if (curve) fill_curve(k, out, b->bounds->table);
    return hop_response_end(response, err);
}
