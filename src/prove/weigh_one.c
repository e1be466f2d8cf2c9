/* The exact weight of one token: of the one that is followed, and of the token itself. */
#include "reader.h"

/* log of the decay of coordinate c that class p's tokens have at most and at least. */
static ival class_decay(const hop__reading_shape *s, int p, int64_t head, int64_t c)
{
    if (!s->f_keys) return (ival){0, 0};
    ival f = hop__set_range(s->f[p], s->f_keys == 1 ? head : head * s->keys + c);
    return (ival){f.lo >= 1  ? 0
                  : f.lo > 0 ? ival_down(log(f.lo)) - 0x1p-50
                             : -INFINITY,
                  f.hi < 1 ? ival_up(log(f.hi)) + 0x1p-50 : 0};
}

/* What is left at class a of what the token at `from` wrote: positions from+1 .. that of the reader. */
static ival decay_between(const hop__reader *r, int64_t from, int64_t c)
{
    const hop__facts *f = &r->s->w->facts;
    if (!r->s->f_keys) return (ival){1, 1};
    double lo = 0, hi = 0;
    int64_t first = f->class[r->a].start, last = first + f->class[r->a].count - 1;
    for (int p = 0; p < f->classes; p++) {
        int64_t start = f->class[p].start,
                end = start + f->class[p].count; /* tokens of p in (from, last] and (from, first] */
        int64_t low = start > from + 1 ? start : from + 1;
        int64_t most = (end < last + 1 ? end : last + 1) - low,
                least = (end < first + 1 ? end : first + 1) - low;
        if (most <= 0) continue;
        ival d = class_decay(r->s, p, r->head, c);
        if (r->s->bonus && p == r->a) least = 0; /* it reads before its own decay */
        if (least < 0) least = 0;
        if (d.lo < 0) lo += (double)most * d.lo;
        if (least > 0) hi += (double)least * d.hi;
    }
    return (ival){lo == -INFINITY ? 0 : ival_down(exp(lo) * HOP__BELOW),
                  hi == 0 ? 1 : ival_least(1, ival_up(exp(hi) * HOP__ABOVE))};
}

static ival widened(const hop__set *s, int64_t c, ival x)
{
    if (s->rel[c] > 0) x = ival_widen(x, ival_up(s->rel[c] * ival_mag(x)));
    return ival_widen(x, s->rad[c]);
}

/* The products that a weight is the sum of, in absolute values. */
typedef struct products {
    double sum, largest;
} products;

/* The exact weight of the token at `position` of class p for query row i, without scale. */
static ival followed_weight(const hop__reader *r, int p, int64_t position, int64_t i, products *parts)
{
    const hop__reading_shape *s = r->s;
    const hop__set *k = s->k ? r->k[p] : NULL;
    const hop__term *tq = r->q && r->q->terms ? &r->q->term[0] : NULL;
    ival sum = {0, 0};
    for (int64_t c = 0; c < s->keys; c++) {
        ival x = {1, 1}, y = {1, 1};
        if (r->q) {
            x = ival_point(r->q->mid[c]);
            if (tq) x = ival_add(x, ival_point(hop__term_at(tq, i, c)));
            x = widened(r->q, c, x);
        }
        if (x.lo == 0 && x.hi == 0) continue;
        if (k) {
            y = ival_point(k->mid[c]);
            for (int t = 0; t < k->terms; t++) {
                const hop__term *u = &k->term[t];
                ival part;
                if (u->vars == 1 && u->var[0] == HOP__POS && !u->mixture)
                    part = ival_point(hop__term_at(u, u->of[0][position - s->w->facts.class[p].start], c));
                else
                    part = hop__set_term_range(k, t, c);
                y = ival_add(y, part);
            }
            y = widened(k, c, y);
        }
        if (y.lo == 0 && y.hi == 0) continue;
        sum = ival_add(sum, ival_mul(ival_mul(x, y), decay_between(r, position, c)));
        if (!parts) continue;
        double product = ival_mag(x) * ival_mag(y) * HOP__ABOVE;
        parts->sum += product, parts->largest = ival_most(parts->largest, product);
    }
    return sum;
}

ival hop__followed_weights(const hop__reader *r, int64_t cases, const int64_t *target, double *aside)
{
    const hop__facts *f = &r->s->w->facts;
    ival all = {INFINITY, -INFINITY};
    *aside = 0;
    for (int64_t i = 0; i < cases; i++) {
        int p = 0;
        if (target[i] < 0) continue;
        while (target[i] < f->class[p].start || target[i] >= f->class[p].start + f->class[p].count) p++;
        products parts = {0};
        all = ival_hull(all, followed_weight(r, p, target[i], i, &parts));
        *aside = ival_most(*aside, (parts.sum - parts.largest) * HOP__ABOVE + 0x1p-50 * parts.sum);
    }
    return all;
}

/* Do rows of places tell all that positions decide? Not where several tables are left that were too large to
 * be one. */
static bool one_table_of_places(const hop__set *k)
{
    int tables = 0;
    for (int t = 0; t < k->terms; t++)
        tables += k->term[t].vars == 1 && k->term[t].var[0] == HOP__POS && !k->term[t].mixture;
    return tables <= 1;
}

/* Where nothing decays or turns and no weight is below 0: the least weight that a token gives itself, else
 * -1. *ratio: the absolute values of a weight's products together are at most so many times the weight. */
double hop__own_weight(const hop__reader *r, int64_t cases, double *ratio)
{
    const hop__reading_shape *s = r->s;
    const hop__facts *f = &s->w->facts;
    double least = INFINITY, work = 0;
    *ratio = 1;
    if (s->f_keys || s->turn || s->bonus || s->exps || !r->q || !s->k || s->scale < 0) return -1;
    hop__places places[HOP__MOST_CLASSES];
    for (int p = 0; p < f->classes; p++) {
        if (!r->v[p]) continue;
        if (!one_table_of_places(r->k[p])) return -1;
        if (!hop__places_of(s->w->m, &f->class[p], r -> k[p], &places[p])) return -1;
        work += (double)cases * (double)places[p].rows * (double)s->keys;
    }
    if (work > 1e7) return -1;
    for (int p = 0; p < f->classes; p++)
        for (int64_t j = 0; r->v[p] && j < places[p].rows; j++)
            for (int64_t i = 0; i < cases; i++) {
                products parts = {0};
                double low = followed_weight(r, p, places[p].first[j], i, &parts).lo;
                if (!(low >= 0)) return -1;
                if (parts.sum > 0) *ratio = ival_most(*ratio, parts.sum / low * HOP__ABOVE);
                if (p == r->a) least = ival_least(least, low * s->scale);
            }
    return least;
}
