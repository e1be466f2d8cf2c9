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
        double given = own * hop__set_range(r->v[r->a], e).lo * HOP__BELOW;
        if (!above) continue;
        y->least[e] = given - lost[e] * HOP__ABOVE;
        if (share < 0.5) y->least[e] = ival_most(y->least[e], given * (1 - share) * HOP__BELOW - faint);
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
        double rel = off[e] / least * HOP__ABOVE;
        if (off[e] == 0) continue;
        if (t && rel > 0 && rel < 0.5)
            y->rel[e] = rel;
        else
            y->rad[e] = ival_up(y->rad[e] + off[e]);
    }
    hop__set_canonical(m, y);
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
    hop__set_canonical(m, one);
    return where_seen(m, one, tq, target);
}

/* What a class reads, on its way. */
typedef struct reading {
    hop__reader *r;
    const hop__term *tq; /* the queries' table; NULL: one query */
    int64_t cases, seeing, *target;
    hop__tally t;
    hop__charge made;
    hop__look_up look_up;
    bool sees, some;      /* something is followed; but not by all queries */
    double mid, off;      /* the weight of what is followed, and what it may be off */
    double larger;        /* everything else, relative to a weight that head_gains */
    double near, aside;   /* see hop__near_error and hop__followed_weights */
    double bonus;         /* what the own token's weight may be multiplied with */
    double *lost, *apart; /* [values] */
} reading;

/* Which token each query follows, if that is a look-up of the task. */
static bool find_look_up(reading *x)
{
    const hop__reader *r = x->r;
    const hop__facts *f = &r->s->w->facts;
    const hop__class *own = &f->class[r->a];
    bool past = true;
    x->look_up = (hop__look_up){.rule = HOP__RULE_NONE, .source = -1};
    for (int64_t i = 0; i < x->cases; i++)
        x->seeing += x->target[i] >= 0, past = past && x->target[i] <= own->start;
    if (past && x->seeing > 0) x->look_up = hop__facts_look_up(r->s->w->m, f, r->a, x->tq, x->target);
    if (r->s->bonus && x->look_up.source == r->a) x->look_up.rule = HOP__RULE_NONE;
    if (x->look_up.rule == HOP__RULE_SELF && own->count > 1) x->look_up.rule = HOP__RULE_NONE;
    x->sees = x->look_up.rule != HOP__RULE_NONE, x->some = x->sees && x->seeing < x->cases;
    if (x->sees && r->a == r->s->w->answering) {
        r->s->w->margin.player = f->class[x->look_up.source].player;
        r->s->w->margin.addresses += x->seeing;
    }
    return r->s->w->m->status == HOP_OK;
}

/* The weight of what is followed. All values of the token are read with one weight: what it may be off, they
 * are off alike. Where that may head_gain, the set is of what is read over that factor, whose least makes
 * everything else the larger. */
static void find_weight(reading *x)
{
    const hop__reader *r = x->r;
    const hop__reading_shape *s = r->s;
    int64_t first = s->w->facts.length;
    x->larger = 1;
    if (!x->sees) return;
    for (int64_t i = 0; i < x->cases; i++)
        first = x->target[i] >= 0 && x->target[i] < first ? x->target[i] : first;
    ival weight = hop__followed_weights(r, x->cases, x->target, &x->aside);
    const double *own = s->own[x->look_up.source];
    double more = (r->growth > 1 ? hop__reader_turns(r, first) : 1) * (1 + (own ? own[r->head] : 0)) - 1;
    if (more > 0) weight = ival_widen(weight, hop__reader_lengths(r) * more * HOP__ABOVE);
    weight = ival_scale(weight, s->scale);
    x->mid = ival_is_point(weight) ? weight.lo : ival_mid(weight), x->off = ival_rad(weight);
    double head_gain = r->head_gain && x->mid > 0 ? x->off / x->mid * HOP__ABOVE : 0;
    if (head_gain > 0 && head_gain <= HOP__MOST_HEAD_GAIN)
        *r->head_gain = head_gain, x->off = 0, x->larger = 1 / (1 - head_gain) * HOP__ABOVE;
}

/* Absolute products that add up to value e: of all tokens, of those not followed, of queries that read
 * nothing. */
typedef struct sums {
    double all, rest, blind, value, weights;
} sums;

static sums sums_of(const reading *x, int64_t e)
{
    const hop__reader *r = x->r;
    sums y = {0};
    double scale = fabs(r->s->scale) * HOP__ABOVE;
    for (int p = 0; p < r->s->w->facts.classes; p++) {
        if (!r->v[p]) continue;
        double own = (p == r->a ? x->bonus : 1) * r->v[p]->mag[e] * scale;
        y.value = ival_most(y.value, r->v[p]->mag[e]), y.weights += x->t.all[p] * scale;
        y.rest += (x->sees ? x->t.rest[p] : x->t.all[p]) * own;
        y.all += x->t.all[p] * own;
        y.blind += x->t.blind[p] * own;
    }
    return y;
}

/* What rounding makes of these: relative to all of them, or to the one that counts. Others, as they are computed, are
 * at most 5/4 of what they are; with what decays of next to 1 add to that, 3.5 times them is enough. */
static double rounding_of(const reading *x, const sums *s)
{
    double all = x->made.rel * s->all, aside = x->aside * fabs(x->r->s->scale) * s->value;
    if (!(x->sees && x->made.fits && x->made.rel < 0.25 && x->near < 1)) return all;
    double others = 4 * (s->rest + aside) + x->r->slack * s->value * s->weights;
    return ival_least(all, (x->near * s->all + others) * HOP__ABOVE);
}

/* Value e of y, which is the token's that is followed: times its weight, give or take all others and what is
 * lost. */
static void weigh_value(reading *x, hop__set *y, int64_t e)
{
    const sums s = sums_of(x, e);
    bool right = s.all == 0 || hop__reading_is_exact(x->r, &x->t, e);
    double rounded = rounding_of(x, &s), lost = right ? 0 : rounded + x->made.abs;
    if (s.value > 0) lost += x->r->slack * s.value * s.weights * HOP__ABOVE;
    double mag = y->mag[e], read = y->rad[e] * fabs(x->mid) + x->off * mag, box = s.rest + lost;
    if (x->mid != 1 && x->mid != 0) read += 0x1p-50 * fabs(x->mid) * mag;
    if (x->some && !right) { /* rounding is relative to what is summed up: of nothing, next to nothing */
        double none = lost - rounded + x->made.rel * s.blind;
        read += (lost - none) * HOP__ABOVE, box = s.rest + ival_most(none, x->made.abs);
    }
    x->lost[e] = lost;
    read *= x->larger, box *= x->larger;
    y->rad[e] = x->some ? 0 : read, x->apart[e] = x->some ? ival_up(read * HOP__ABOVE) : 0;
    y->mid[e] *= x->mid;
    if (!(box + y->rad[e] <= 0)) y->rad[e] = ival_up(y->rad[e] * HOP__ABOVE + box);
    for (int n = 0; n < y->terms; n++)
        for (int64_t k = 0; hop__term_fills(&y->term[n], e) && k < y->term[n].rows; k++)
            *hop__term_cell(&y->term[n], k, e) *= x->mid;
}

static void blame(const reading *x, const hop__set *y)
{
    const hop__analysis *w = x->r->s->w;
    double largest = 0;
    if (x->r->a != w->answering || x->sees) return;
    for (int64_t e = 0; e < y->width; e++) largest = ival_most(largest, y->mag[e]);
    if (largest > HOP__BLIND)
        hop__blame(x->r->s->w,
                   "layer %lld, recurrence: no single token is what the last one reads from the state",
                   (long long)w->layer);
}

static double largest_bonus(const hop__reader *r)
{
    const hop__reading_shape *s = r->s;
    double bonus = 1;
    for (int64_t c = 0; s->bonus && c < s->keys; c++)
        bonus = ival_most(bonus, fabs((double)s->bonus[r->head * s->keys + c]));
    return bonus;
}

hop__set *hop__read_head(hop__reader *r)
{
    const hop__reading_shape *s = r->s;
    hop__memory *m = s->w->m;
    reading x = {.r = r, .tq = r->q && r->q->terms ? &r->q->term[0] : NULL, .bonus = largest_bonus(r)};
    x.cases = x.tq ? x.tq->rows : 1;
    x.target = hop__take(m, x.cases, sizeof *x.target);
    x.lost = hop__take(m, s->values, sizeof *x.lost), x.apart = hop__take(m, s->values, sizeof *x.apart);
    const float *q = r->q ? hop__absolute_rows(m, r->q, x.tq, x.cases) : NULL;
    if (m->status == HOP_OK) hop__find_turns(r);
    if (m->status != HOP_OK || !hop__add_up(r, x.cases, q, &x.t, x.target) || !find_look_up(&x)) return NULL;
    x.made = hop__reader_charge(r, &x.t), x.near = hop__near_error(r);
    if (!x.made.fits) m->overflow = true;
    hop__set *y = x.sees ? hop__facts_seen(m, &s->w->facts, r->a, x.look_up, r->v[x.look_up.source])
                         : hop__set_new(m, s->values);
    const hop__set *ones = x.some ? seeing_ones(m, x.tq, x.target) : NULL;
    if (x.some) y = where_seen(m, y, x.tq, x.target);
    if (!y || (x.some && !ones)) return NULL;
    find_weight(&x);
    for (int64_t e = 0; e < s->values; e++) weigh_value(&x, y, e);
    hop__set_canonical(m, y);
    if (x.some && m->status == HOP_OK) spare_zeros(m, y, ones, x.apart);
    double ratio, own = m->status == HOP_OK ? hop__own_weight(r, x.cases, &ratio) : -1;
    if (own > 0) bound_below(r, y, own, x.lost, x.made.rel * ratio, x.made.abs);
    if (m->status == HOP_OK) blame(&x, y);
    return m->status == HOP_OK ? y : NULL;
}
