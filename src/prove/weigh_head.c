/* What a class reads of one head: the value of the token that it follows, and all others in the box. */
#include "reader.h"

/* A sum of weights that are not below 0, of values that are not: at least what the own token gives, but for
 * what is lost; and that is at most `error` times the absolute products, which are at most so many times the
 * sum itself. */
static void bound_below(const hop__reader *r, hop__set *y, double own, const double *lost, double share,
                        double faint)
{
    for (int64_t e = 0; e < r->s->values; e++) {
        bool above = true;
        for (int p = 0; p < r->s->w->facts.classes; p++)
            if (r->v[p]) above = above && hop__set_range(r->v[p], e).lo >= 0;
        double given = own * hop__set_range(r->v[r->a], e).lo * (1 - 1e-9);
        if (!above) continue;
        y->least[e] = given - lost[e] * (1 + 1e-9);
        if (share < 0.5) y->least[e] = fmax(y->least[e], given * (1 - share) * (1 - 1e-9) - faint);
    }
}

/* y is 0 where nothing is read, which `sees` tells (one column, 1 or 0); what is read may be off by off[e],
 * which says nothing of those zeros: so it becomes rel where that is possible, for the norm of a head that
 * reads nothing magnifies whatever it may be off. A 0 that is read is no such zero: relative to it, nothing
 * is little. */
static void spare_zeros(hop__memory *m, hop__set *y, const hop__set *sees, const double *off)
{
    const hop__set *both[2] = {y, sees}, *beside = hop__set_beside(m, both, 2);
    const hop__set *joined = beside ? hop__set_joined(m, beside) : NULL;
    const hop__term *t = joined && joined->terms ? &joined->term[0] : NULL;
    for (int64_t e = 0; m->status == HOP_OK && e < y->width; e++) {
        double least = INFINITY;
        for (int64_t i = 0; t && i < t->rows; i++) {
            if (joined->mid[y->width] + hop__term_at(t, i, y->width) == 0) continue;
            least = ival_least(least, fabs(joined->mid[e] + hop__term_at(t, i, e)));
        }
        if (joined) least -= 2 * (joined->rad[e] - y->rad[e]); /* what joining has lost */
        double rel = off[e] / least * (1 + 0x1p-40);
        if (off[e] == 0) continue;
        if (t && rel > 0 && rel < 0.5)
            y->rel[e] = rel;
        else
            y->rad[e] = ival_up(y->rad[e] + off[e]);
    }
    hop__set_tidy(m, y);
}

/* x where `target` says that something is read, and nothing where it is -1. Takes x. */
static hop__set *where_seen(hop__memory *m, hop__set *x, const hop__term *tq, const int64_t *target)
{
    bool *sees = x ? hop__take(m, tq->rows, sizeof *sees) : NULL;
    for (int64_t i = 0; sees && i < tq->rows; i++) sees[i] = target[i] >= 0;
    return sees ? hop__set_where(m, x, tq, sees) : NULL;
}

/* 1 where anything is read, and 0 elsewhere. */
static hop__set *seeing_ones(hop__memory *m, const hop__term *tq, const int64_t *target)
{
    hop__set *one = hop__set_new(m, 1);
    if (one) one->mid[0] = 1;
    hop__set_tidy(m, one);
    return where_seen(m, one, tq, target);
}

hop__set *hop__read_head(hop__reader *r)
{
    const hop__shape *s = r->s;
    const hop__facts *f = &s->w->facts;
    hop__memory *m = s->w->m;
    const hop__term *tq = r->q && r->q->terms ? &r->q->term[0] : NULL;
    int64_t cases = tq ? tq->rows : 1;
    int64_t *target = hop__take(m, cases, sizeof *target);
    double *lost = hop__take(m, s->values, sizeof *lost), *apart = hop__take(m, s->values, sizeof *apart);
    const float *q = r->q ? hop__absolute_rows(m, r->q, tq, cases) : NULL;
    hop__tally t = {.nonzero = 0};
    r->turned = hop__reader_turns(r, -1);
    if (r->turned > 1) hop__find_slack(r);
    if (m->status != HOP_OK || !hop__add_up(r, cases, q, &t, target)) return NULL;
    hop__sight sight = {.rule = HOP__RULE_NONE, .source = -1};
    int64_t seeing = 0;
    bool past = true;
    for (int64_t i = 0; i < cases; i++)
        seeing += target[i] >= 0, past = past && target[i] <= f->class[r->a].start;
    if (past && seeing > 0) sight = hop__facts_sight(m, f, r->a, tq, target);
    if (s->bonus && sight.rule != HOP__RULE_NONE && sight.source == r->a) sight.rule = HOP__RULE_NONE;
    if (sight.rule == HOP__RULE_SELF && f->class[r->a].count > 1) sight.rule = HOP__RULE_NONE;
    bool sees = sight.rule != HOP__RULE_NONE, some = sees && seeing < cases;
    double scale = fabs(s->scale), error = hop__scan_error(r, &t), near = hop__near_error(r), aside = 0,
           bonus = 1;
    for (int64_t c = 0; s->bonus && c < s->keys; c++)
        bonus = ival_most(bonus, fabs((double)s->bonus[r->head * s->keys + c]));
    hop__set *y = sees ? hop__facts_seen(m, f, r->a, sight, r->v[sight.source]) : hop__set_new(m, s->values);
    const hop__set *ones = some ? seeing_ones(m, tq, target) : NULL;
    if (some) y = where_seen(m, y, tq, target);
    if (!y || (some && !ones)) return NULL;
    ival weight = {0, 0};
    if (sees && r->a == s->w->answering) {
        s->w->margin.player = f->class[sight.source].player;
        s->w->margin.addresses += seeing;
    }
    if (sees) {
        int64_t first = f->length;
        for (int64_t i = 0; i < cases; i++) first = target[i] >= 0 && target[i] < first ? target[i] : first;
        weight = hop__followed_weights(r, cases, target, &aside);
        const double *own = s->own[sight.source];
        double more = (r->turned > 1 ? hop__reader_turns(r, first) : 1) * (1 + (own ? own[r->head] : 0)) - 1;
        if (more > 0) weight = ival_widen(weight, hop__reader_lengths(r) * more * (1 + 1e-9));
        weight = ival_scale(weight, s->scale);
    }
    double mid = sees ? ival_mid(weight) : 0, off = sees ? ival_rad(weight) : 0, faint = 0;
    if (sees && ival_is_point(weight)) mid = weight.lo, off = 0;
    /* All values of the token are read with one weight: what it may be off, they are off alike. The set is
     * then of what is read over that factor, whose least makes everything else the larger. */
    double swing = r->swing && mid > 0 ? off / mid * (1 + 0x1p-40) : 0, larger = 1;
    if (swing > 0 && swing <= HOP__MOST_SWING)
        *r->swing = swing, off = 0, larger = 1 / (1 - swing) * (1 + 0x1p-40);
    for (int64_t e = 0; e < s->values; e++) {
        double rest = 0, sum = 0, faded = 0, value = 0, all = 0;
        for (int p = 0; p < f->classes; p++) {
            if (!r->v[p]) continue;
            value = ival_most(value, r->v[p]->mag[e]), all += t.all[p];
            double own = p == r->a ? bonus : 1;
            rest += (sees ? t.rest[p] : t.all[p]) * r->v[p]->mag[e] * own;
            sum += t.all[p] * r->v[p]->mag[e] * own;
            faded += t.blind[p] * r->v[p]->mag[e] * own;
        }
        rest *= scale * (1 + 1e-9), sum *= scale * (1 + 1e-9), faded *= scale * (1 + 1e-9);
        double most = hop__largest_product(r, e) * bonus * r->turned,
               terms = (double)(f->class[r->a].start + f->class[r->a].count) * s->steps + (double)s->keys + 8;
        if (!(most * terms < HOP__LARGEST)) m->overflow = true;
        bool right = sum == 0 || hop__reading_is_exact(r, &t, e);
        /* below the normal numbers, and what a state that crosses loses there */
        double low = (0x1p-146 + hop__rounded_states(s->w, terms) * 0x1p-126) * terms * most;
        double rounded = error * sum;
        if (sees && error < 0.5) /* others, as they are computed, are at most 3/2 of what they are */
            rounded = fmin(rounded, near * sum + 3 * (rest + aside * scale * value));
        lost[e] = right ? 0 : rounded + low;
        if (value > 0) lost[e] += (r->slack * value + r->faint * fmax(1, value)) * all * scale * (1 + 1e-6);
        faint = ival_most(faint, low);
        double mag = y->mag[e], read = y->rad[e] * fabs(mid) + off * mag, box = rest + lost[e];
        if (mid != 1 && mid != 0) read += 0x1p-50 * fabs(mid) * mag;
        if (some && !right) { /* rounding is relative to what is summed up: of nothing, next to nothing */
            double none = lost[e] - rounded + error * faded;
            read += (lost[e] - none) * (1 + 1e-9), box = rest + fmax(none, low);
        }
        read *= larger, box *= larger;
        y->rad[e] = some ? 0 : read, apart[e] = some ? ival_up(read * (1 + 1e-12)) : 0;
        y->mid[e] *= mid;
        if (!(box + y->rad[e] <= 0)) y->rad[e] = ival_up(y->rad[e] * (1 + 1e-12) + box);
        for (int n = 0; n < y->terms; n++)
            for (int64_t k = 0; hop__term_fills(&y->term[n], e) && k < y->term[n].rows; k++)
                *hop__term_cell(&y->term[n], k, e) *= mid;
    }
    hop__set_tidy(m, y);
    if (some && m->status == HOP_OK) spare_zeros(m, y, ones, apart);
    double ratio, own = m->status == HOP_OK ? hop__own_weight(r, cases, &ratio) : -1;
    if (own > 0) bound_below(r, y, own, lost, error * ratio, faint);
    if (r->a == s->w->answering && !sees && m->status == HOP_OK) {
        double largest = 0;
        for (int64_t e = 0; e < s->values; e++) largest = ival_most(largest, y->mag[e]);
        if (largest > HOP__BLIND)
            hop__blame(s->w,
                       "layer %lld, recurrence: no single token is what the last one reads from the state",
                       (long long)s->w->layer);
    }
    return m->status == HOP_OK ? y : NULL;
}
