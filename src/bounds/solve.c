/* The value at which the verdict changes: one number of the question is moved, all others stay. More state,
 * wider heads, more bits and more full layers make a plan no worse, a longer prompt no better; so a bisection
 * finds the last value that is proved impossible and the first that is proved possible. What is said of
 * either was evaluated at that value and at its neighbour. */
#include "room.h"

#include <hopbound/model.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEARCHED 1 /* P6 of more full layers begins beyond 10^18 tokens, where nothing is asked */

typedef struct solver {
    const hop_solve_question *q;
    hop_error *err;
    hop_status status;
    char by[8]; /* who gave the last verdict that was looked for */
} solver;

static const struct unknown {
    const char *name;
    int64_t least, most;
} unknowns[] = {
#define UNKNOWN(id, name, least, most, help) {name, least, most},
    HOP_UNKNOWN_LIST(UNKNOWN)
#undef UNKNOWN
};

const char *hop_unknown_name(hop_unknown u)
{
    return unknowns[u].name;
}

/* As many layers as before, `full` of them full, the others linear; a linear one first where there is any. */
static hop_status set_full(hop_config *c, const hop_solve_question *q, int64_t full, hop_error *err)
{
    int64_t layers = c->pattern.layers;
    hop_text t = {0};
    for (int64_t i = 0; i < layers; i++)
        hop_text_add(&t, full && (i + 1) * full / layers > i * full / layers ? "F" : "L");
    hop_status s = t.s && !t.failed ? HOP_OK : hop_fail(err, HOP_ENOMEM, "out of memory");
    hop_pattern_free(&c->pattern);
    if (s == HOP_OK) s = hop_pattern_parse(&c->pattern, t.s, q->mixer, err);
    hop_text_free(&t);
    return s;
}

static hop_status arch_at(hop_arch *arch, const hop_solve_question *q, int64_t value, hop_error *err)
{
    hop_config c;
    hop_arch_options o = q->options;
    hop_status s = hop_config_copy(&c, q->config, err);
    if (s != HOP_OK) return s;
    if (q->unknown == HOP_UNKNOWN_DIM) {
        c.head_dim = value;
        if (q->width_follows) c.d_model = c.heads * value;
    }
    if (q->unknown == HOP_UNKNOWN_BITS) o.number_bits = value;
    if (q->unknown == HOP_UNKNOWN_STATE) o.declared = false, o.state_bits = value;
    if (q->unknown == HOP_UNKNOWN_FULL) s = set_full(&c, q, value, err);
    if (s == HOP_OK) s = hop_arch_new(arch, &c, &o, err);
    hop_config_free(&c);
    return s;
}

/* The layers and one of unknown kind behind them, which does P1 no harm and keeps every other theorem silent:
 * the search for what is impossible is the long part. */
static hop_status for_p1(hop_arch *arch, hop_error *err)
{
    hop_arch_layer *longer = hop_alloc((size_t)(arch->count + 1) * sizeof *longer);
    if (!longer) return hop_fail(err, HOP_ENOMEM, "out of memory");
    memcpy(longer, arch->layers, (size_t)arch->count * sizeof *longer);
    longer[arch->count] = (hop_arch_layer){.kind = HOP_LAYER_OTHER, .repeat = 1, .number_bits = 1};
    hop_free((void *)arch->layers);
    arch->layers = longer, arch->count++;
    return HOP_OK;
}

/* Does some theorem give this answer at the value? */
static bool says(solver *v, hop_answer answer, int64_t value)
{
    hop_arch arch = {0};
    hop_bounds *b = NULL;
    if (v->status != HOP_OK) return false;
    bool length = v->q->unknown == HOP_UNKNOWN_N;
    hop_question q = {.arch = &arch,
                      .hops = v->q->hops,
                      .n = length ? value : v->q->n,
                      .m = length ? 0 : v->q->m,
                      .fan = v->q->fan,
                      .progress = v->q->progress,
                      .searched = SEARCHED};
    v->status = arch_at(&arch, v->q, value, v->err);
    if (v->status == HOP_OK && answer == HOP_ANSWER_POSSIBLE) v->status = for_p1(&arch, v->err);
    if (v->status == HOP_OK) v->status = hop_bounds_new(&b, &q, v->err);
    bool found = false;
    for (int i = 0; b && i < b->count && !found; i++) {
        found = b->results[i].answer == answer;
        if (found) snprintf(v->by, sizeof v->by, "%s", b->results[i].id);
    }
    hop_bounds_free(b);
    hop_arch_free(&arch);
    return found;
}

typedef struct range {
    int64_t least, most;
} range;

/* A prompt of L hops has 2^(L+1) tokens at least. */
static range range_of(const hop_solve_question *q)
{
    range r = {unknowns[q->unknown].least, unknowns[q->unknown].most};
    if (q->unknown == HOP_UNKNOWN_FULL) r.most = q->config->pattern.layers;
    if (q->unknown == HOP_UNKNOWN_N) r.least = q->hops < 58 ? (int64_t)1 << (q->hops + 1) : r.most;
    return r;
}

/* The last value, from the least on, that has the answer (or with `lacks` that has it not); -1: the first
 * already differs; `most`: all of them. */
static int64_t last_with(solver *v, hop_answer answer, bool lacks)
{
    range r = range_of(v->q);
    int64_t good = r.least, step = 1, bad;
    if (says(v, answer, good) == lacks) return -1;
    if (says(v, answer, r.most) != lacks) return r.most;
    bad = r.most;
    while (bad - good > 1 && v->status == HOP_OK) { /* in steps that double, then by halves */
        int64_t half = good + (bad - good) / 2,
                next = bad == r.most && step < half - good ? good + step : half;
        if (says(v, answer, next) != lacks)
            good = next, step *= 2;
        else
            bad = next;
    }
    return good;
}

/* Along n the theorems say themselves from where on they speak. */
static void solve_length(hop_solution *out, solver *v)
{
    hop_arch arch = {0};
    hop_bounds *b = NULL;
    const hop_bound *best = NULL;
    hop_question q = {.arch = &arch, .hops = v->q->hops, .progress = v->q->progress};
    v->status = arch_at(&arch, v->q, 0, v->err);
    if (v->status == HOP_OK) v->status = hop_bounds_new(&b, &q, v->err);
    for (int i = 0; b && i < b->count; i++) {
        const hop_bound *r = &b->results[i];
        if (r->answer == HOP_ANSWER_IMPOSSIBLE && r->speaks_from && (!best || r->log10_n < best->log10_n))
            best = r;
    }
    if (best) {
        snprintf(out->impossible_from, sizeof out->impossible_from, "%s", best->speaks_from);
        snprintf(out->impossible_by, sizeof out->impossible_by, "%s", best->id);
        if (best->log10_n < 18) out->impossible = strtoll(best->speaks_from, NULL, 10);
    }
    hop_bounds_free(b);
    hop_arch_free(&arch);
    out->possible = last_with(v, HOP_ANSWER_POSSIBLE, false);
    out->possible_everywhere = out->possible == range_of(v->q).most;
}

/* Along all others what is impossible comes first. */
static void solve_width(hop_solution *out, solver *v)
{
    range r = range_of(v->q);
    int64_t lacking = last_with(v, HOP_ANSWER_POSSIBLE, true);
    out->impossible = last_with(v, HOP_ANSWER_IMPOSSIBLE, false);
    out->possible = lacking == r.most ? -1 : lacking < 0 ? r.least : lacking + 1;
    out->possible_everywhere = lacking < 0;
    out->impossible_everywhere = out->impossible == r.most;
    if (out->impossible >= 0 && says(v, HOP_ANSWER_IMPOSSIBLE, out->impossible))
        memcpy(out->impossible_by, v->by, sizeof v->by);
}

hop_status hop_solve(hop_solution *out, const hop_solve_question *q, hop_error *err)
{
    solver v = {.q = q, .err = err};
    *out = (hop_solution){.impossible = -1, .possible = -1};
    if (q->unknown != HOP_UNKNOWN_N && !q->n && !q->m)
        return hop_fail(err, HOP_EDOMAIN, "a length or sizes are needed");
    if (q->unknown == HOP_UNKNOWN_N)
        solve_length(out, &v);
    else
        solve_width(out, &v);
    if (out->possible >= 0 && says(&v, HOP_ANSWER_POSSIBLE, out->possible))
        memcpy(out->possible_by, v.by, sizeof v.by);
    return v.status;
}
