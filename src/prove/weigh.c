/* Recurrences. Unrolled, each is a weighted sum of the values of all tokens so far:
 *
 *     o_T = sum over j <= T of a_Tj v_j,   a_Tj = scale · sum_c q_Tc d_c(j, T) k_jc,
 *
 * d(j, T) being what is left of the state that j wrote when T reads it: the decays of the tokens after j and,
 * for delta rules, their corrections, I + E with |E| at most a token's `turn`: they move what was written to
 * other coordinates, so that a_Tj may be off by |q||k_j| (product of 1 + turn, minus 1) even where no
 * coordinate of q meets one of k_j; where no two keys meet, corrections change nothing (see `slack`). Here
 * that sum is bounded, not the recurrence. One token of each class of queries is followed exactly, the one
 * that weighs most; all others go into the box with the sum of their weights, in absolute values and before
 * anything cancels. So does rounding: every form (token by token, in chunks, cut anywhere) adds up the same
 * products, and what it loses is relative to the sum of their absolute values.
 *
 * Where all numbers lie on a grid and all these absolute values together stay below 2^24 of its units,
 * nothing is rounded at all in any form. */
#include "weigh.h"

#include <string.h>

#define CHUNK 256 /* no form sums logarithms of decays over more tokens */

/* One head of a class. */
typedef struct reader {
    const hop__shape *s;
    int a;
    int64_t head;
    hop__set *q;        /* joined; NULL: all ones */
    hop__set *const *k; /* of the classes; NULL: not seen (or all ones: see s->k) */
    hop__set *const *v;
    double turned; /* product over all tokens of 1 + turn; 1 where keys do not meet */
    double
        slack; /* where they do not: what corrections change values by at most, relative to the largest .. */
    double faint; /* .. and in absolute terms; else 0 */
} reader;

/* A query whose largest weight is below this reads nothing: all its weights go into the box. */
#define BLIND 0x1p-40

/* What is summed up for one class of queries. */
typedef struct tally {
    double rest[HOP__MOST_CLASSES]; /* weights of all but the one followed, at the most over the queries */
    double all[HOP__MOST_CLASSES];
    double blind[HOP__MOST_CLASSES]; /* weights of queries that read nothing, at the most */
    int64_t nonzero;                 /* tokens of any weight */
} tally;

static float up(double x)
{
    float f = (float)x;
    return (double)f < x ? nextafterf(f, INFINITY) : f;
}

/* ---- weights in absolute values ------------------------------------------------------------------ */

/* [rows, keys] of a set by its only term, or by its places; what else varies is in the bound. */
static float *absolute_rows(hop__memory *m, const hop__set *x, const hop__term *t, int64_t rows)
{
    float *out = hop__take(m, rows * x->width, sizeof *out);
    double *more = hop__take(m, x->width, sizeof *more);
    for (int i = 0; more && i < x->terms; i++) {
        if (&x->term[i] == t) continue;
        for (int64_t c = 0; c < x->width; c++) {
            double most = 0;
            for (int64_t r = 0; r < x->term[i].rows; r++)
                most = ival_most(most, fabs(x->term[i].row[r * x->width + c]));
            more[c] += most;
        }
    }
    for (int64_t r = 0; out && more && r < rows; r++)
        for (int64_t c = 0; c < x->width; c++) {
            double mid = x->mid[c] + (t ? t->row[r * x->width + c] : 0),
                   sum = (fabs(mid) + more[c]) * (1 + x->rel[c]) + x->rad[c];
            out[r * x->width + c] = sum == 0 ? 0 : up(sum * (1 + 0x1p-45));
        }
    return out;
}

/* The queries' absolute rows against those of a class. */
typedef struct weights {
    const float *q; /* [cases, keys]; NULL: ones */
    const float *k; /* [rows, keys]; NULL: ones */
    int64_t keys, rows;
    const double *length; /* [rows]: of the keys; NULL: nothing turns them */
    double turned;        /* 1 + how far they may be turned */
    double mag;           /* of the class's values */
    bool faint;           /* products may vanish in float32 */
    hop__places places;
} weights;

enum { CASES = 32 };

/* The smallest of n numbers that is not 0. */
static double least_nonzero(const float *x, int64_t n)
{
    double least = INFINITY;
    for (int64_t i = 0; x && i < n; i++)
        if (x[i] > 0 && x[i] < least) least = x[i];
    return x ? least : 1;
}

/* out [n, rows] = sum_c |q||k| of queries first .. first+n-1. */
static void weigh(const weights *x, int64_t first, int64_t n, float *out, hop_pool *pool)
{
    if (x->q && x->k) {
        hop_gemm(out, x->rows, (hop_mat){x->q + first * x->keys, x->keys, 1}, (hop_mat){x->k, 1, x->keys}, n,
                 x->rows, x->keys, false, pool);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t r = 0; r < x->rows; r++) {
            double sum = 0;
            for (int64_t c = 0; c < x->keys; c++)
                sum += (x->q ? x->q[(first + i) * x->keys + c] : 1.0) * (x->k ? x->k[r * x->keys + c] : 1.0);
            out[i * x->rows + r] = sum == 0 ? 0 : up(sum);
        }
}

static double length_of(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * x[i];
    return sqrt(sum) * (1 + 1e-9);
}

/* What such a sum is at the most for a query of this length, for row j. */
static double weight_bound(const weights *x, float sum, double length, int64_t j)
{
    double moved = x->length ? length * x->length[j] * (x->turned - 1) : 0;
    if (sum == 0 && !x->faint) return moved;
    return sum * (1 + 2 * HOP_DOT_ERROR((double)x->keys)) + (double)x->keys * 0x1p-120 + moved;
}

/* ---- the one that is followed ------------------------------------------------------------------- */

/* log of the decay of coordinate c that class p's tokens have at most and at least. */
static ival class_decay(const hop__shape *s, int p, int64_t head, int64_t c)
{
    if (!s->f_keys) return (ival){0, 0};
    ival f = hop__set_range(s->f[p], s->f_keys == 1 ? head : head * s->keys + c);
    return (ival){f.lo >= 1  ? 0
                  : f.lo > 0 ? ival_down(log(f.lo)) - 0x1p-50
                             : -INFINITY,
                  f.hi < 1 ? ival_up(log(f.hi)) + 0x1p-50 : 0};
}

/* What is left at class a of what the token at `from` wrote: positions from+1 .. that of the reader. */
static ival decay_between(const reader *r, int64_t from, int64_t c)
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
    return (ival){lo == -INFINITY ? 0 : ival_down(exp(lo) * (1 - 1e-12)),
                  hi == 0 ? 1 : fmin(1, ival_up(exp(hi) * (1 + 1e-12)))};
}

static ival widened(const hop__set *s, int64_t c, ival x)
{
    if (s->rel[c] > 0) x = ival_widen(x, ival_up(s->rel[c] * ival_mag(x)));
    return ival_widen(x, s->rad[c]);
}

/* The exact weight of the token at `position` of class p for query row i, without scale. */
static ival followed_weight(const reader *r, int p, int64_t position, int64_t i, double *parts)
{
    const hop__shape *s = r->s;
    const hop__set *k = s->k ? r->k[p] : NULL;
    const hop__term *tq = r->q && r->q->terms ? &r->q->term[0] : NULL;
    ival sum = {0, 0};
    for (int64_t c = 0; c < s->keys; c++) {
        ival x = {1, 1}, y = {1, 1};
        if (r->q) {
            x = ival_point(r->q->mid[c]);
            if (tq) x = ival_add(x, ival_point(tq->row[i * s->keys + c]));
            x = widened(r->q, c, x);
        }
        if (x.lo == 0 && x.hi == 0) continue;
        if (k) {
            y = ival_point(k->mid[c]);
            for (int t = 0; t < k->terms; t++) {
                const hop__term *u = &k->term[t];
                ival part = {INFINITY, -INFINITY};
                if (u->vars == 1 && u->var[0] == HOP__POS && !u->mixture)
                    part = ival_point(u->row[u->of[0][position - s->w->facts.class[p].start] * s->keys + c]);
                else
                    for (int64_t n = 0; n < u->rows; n++)
                        part = ival_hull(part, ival_point(u->row[n * s->keys + c]));
                y = ival_add(y, part);
            }
            y = widened(k, c, y);
        }
        if (y.lo == 0 && y.hi == 0) continue;
        sum = ival_add(sum, ival_mul(ival_mul(x, y), decay_between(r, position, c)));
        if (parts) *parts += ival_mag(x) * ival_mag(y) * (1 + 1e-9);
    }
    return sum;
}

/* ---- a class of queries --------------------------------------------------------------------------- */

static double value_mag(const reader *r, int p)
{
    double most = 0;
    for (int64_t e = 0; e < r->s->values; e++) most = ival_most(most, r->v[p]->mag[e]);
    return most;
}

static bool weights_of(const reader *r, int p, const float *q, double least, weights *x)
{
    hop__memory *m = r->s->w->m;
    const hop__class *c = &r->s->w->facts.class[p];
    *x = (weights){.q = q, .keys = r->s->keys, .mag = value_mag(r, p)};
    if (r->s->k) {
        if (!hop__places_of(m, c, r->k[p], &x->places)) return false;
        x->k = absolute_rows(m, r->k[p], x->places.term, x->places.rows);
        double *length = r->turned > 1 ? hop__take(m, x->places.rows, sizeof *length) : NULL;
        for (int64_t j = 0; length && m->status == HOP_OK && j < x->places.rows; j++)
            length[j] = length_of(x->k + j * x->keys, x->keys);
        x->length = length, x->turned = r->turned;
    } else {
        hop__set *nothing = hop__set_new(m, 1);
        if (!nothing || !hop__places_of(m, c, nothing, &x->places)) return false;
    }
    x->rows = x->places.rows;
    if (m->status != HOP_OK) return false;
    double product = least * least_nonzero(x->k, x->rows * x->keys);
    x->faint = !(product >= 0x1p-120); /* no numbers but zeros: infinity, not faint */
    return true;
}

/* Adds class p's tokens to what query i has so far. */
typedef struct running {
    double best, followed, of[HOP__MOST_CLASSES];
    int64_t nonzero, target;
    int at; /* class of the one followed, -1: none */
} running;

static void add_class(running *s, int p, const weights *x, const float *row, double length)
{
    for (int64_t j = 0; j < x->rows; j++) {
        double w = weight_bound(x, row[j], length, j);
        if (w == 0) continue;
        s->nonzero += x->places.count[j];
        if (x->places.count[j] == 1 && w * x->mag > s->best) {
            if (s->at >= 0) s->of[s->at] += s->followed;
            s->best = w * x->mag, s->at = p, s->followed = w, s->target = x->places.first[j];
        } else {
            s->of[p] += w * (double)x->places.count[j];
        }
    }
}

/* Sums the weights of all tokens for every query; target[i]: the token that counts most (times its values),
 * or -1: none, or so little that it is not followed. */
static bool add_up(const reader *r, int64_t cases, const float *q, tally *t, int64_t *target)
{
    double scale = fabs(r->s->scale);
    const hop__facts *f = &r->s->w->facts;
    hop__memory *m = r->s->w->m;
    weights *x = hop__take(m, f->classes, sizeof *x);
    running *sums = hop__take(m, CASES, sizeof *sums);
    int64_t most = 1;
    double least = least_nonzero(q, cases * r->s->keys);
    for (int p = 0; p < f->classes; p++) {
        if (!r->v[p] || m->status != HOP_OK) continue;
        if (!weights_of(r, p, q, least, &x[p])) return false;
        most = x[p].rows > most ? x[p].rows : most;
    }
    float *room = hop__take(m, CASES * most, sizeof *room);
    if (m->status != HOP_OK) return false;
    for (int64_t first = 0; first < cases; first += CASES) {
        int64_t n = cases - first < CASES ? cases - first : CASES;
        for (int64_t i = 0; i < n; i++) sums[i] = (running){.target = -1, .at = -1};
        for (int p = 0; p < f->classes; p++) {
            /* without values nothing is read, unless corrections write there */
            if (!r->v[p] || (x[p].mag == 0 && !(r->slack > 0) && !(r->faint > 0))) continue;
            weigh(&x[p], first, n, room, r->s->w->pool);
            for (int64_t i = 0; i < n; i++)
                add_class(&sums[i], p, &x[p], room + i * x[p].rows,
                          x[p].length ? length_of(q + (first + i) * r->s->keys, r->s->keys) : 0);
        }
        for (int64_t i = 0; i < n; i++) {
            running *u = &sums[i];
            if (u->at >= 0 && !(u->followed * scale >= BLIND))
                u->of[u->at] += u->followed, u->at = -1, u->target = -1;
            target[first + i] = u->target;
            for (int p = 0; p < f->classes; p++) {
                t->rest[p] = ival_most(t->rest[p], u->of[p] * (1 + 1e-9));
                if (u->at < 0) t->blind[p] = ival_most(t->blind[p], u->of[p] * (1 + 1e-9));
                t->all[p] = ival_most(t->all[p], (u->of[p] + (p == u->at ? u->followed : 0)) * (1 + 1e-9));
            }
            t->nonzero = u->nonzero > t->nonzero ? u->nonzero : t->nonzero;
        }
    }
    return true;
}

/* The largest length of a query times that of a key. */
static double lengths(const reader *r)
{
    double q = 0, k = 0;
    for (int64_t c = 0; c < r->s->keys; c++) q += r->q->mag[c] * r->q->mag[c];
    for (int p = 0; p < r->s->w->facts.classes; p++) {
        double square = 0;
        for (int64_t c = 0; r->v[p] && c < r->s->keys; c++) square += r->k[p]->mag[c] * r->k[p]->mag[c];
        k = ival_most(k, square);
    }
    return sqrt(q) * sqrt(k) * (1 + 1e-9);
}

/* Tokens seen that turn anything. */
static double turning(const reader *r)
{
    const hop__facts *f = &r->s->w->facts;
    double count = 0;
    for (int p = 0; r->s->turn && p < f->classes; p++)
        if (r->v[p] && hop__set_range(r->s->turn[p], r->head).hi > 0) count += (double)f->class[p].count;
    return count;
}

/* The product of 1 + turn over all tokens seen behind position `from`. */
static double turns(const reader *r, int64_t from)
{
    const hop__facts *f = &r->s->w->facts;
    double sum = 0;
    for (int p = 0; p < f->classes; p++) {
        if (!r->v[p]) continue;
        int64_t start = f->class[p].start, end = start + f->class[p].count,
                low = start > from ? start : from + 1;
        double turn = r->s->turn ? hop__set_range(r->s->turn[p], r->head).hi : 0;
        if (end > low) sum += (double)(end - low) * log1p(fmax(0, turn)) * (1 + 1e-9);
    }
    return sum == 0 ? 1 : ival_up(exp(sum) * (1 + 1e-9));
}

/* Relative rounding of a state's numbers on their way through n tokens: in the game it crosses as many cuts
 * as there are classes; with fewer bits it is cut after every token. */
static double rounded_states(const hop__walk *w, double n)
{
    return w->message * (double)w->facts.classes + hop__cut_error(w->bits, 1) * n;
}

/* Relative error of any form: for every token that counts an addition and the products on its way; for every
 * token at all a decay, which is an exp and a product; and in exponents the rounding of each logarithm and of
 * their sums in a chunk. What went through corrections was summed up once more in each. */
static double scan_error(const reader *r, const tally *t)
{
    const hop__shape *s = r->s;
    const hop__class *c = &s->w->facts.class[r->a];
    double n = (double)(c->start + c->count) * s->steps, chunk = fmin(n, CHUNK);
    double e = 8 * ((double)s->keys + s->steps * ((double)t->nonzero + turning(r)) + 16) * HOP_UNIT_ROUNDOFF;
    if (s->f_keys || s->exps)
        e += (n + 16) * (HOP_EXP_ERROR + 4 * HOP_UNIT_ROUNDOFF) +
             4 * (chunk * chunk + n) * s->log_decay * HOP_UNIT_ROUNDOFF;
    double cross = rounded_states(s->w, n) * (1 + s->stabiliser);
    return 1.1 * (e + cross * exp(cross)) * (1 + log(r->turned));
}

/* ---- keys that do not meet ------------------------------------------------------------------------ */

/* For each coordinate the two largest of all tokens' keys, in absolute values. */
static bool add_largest(const reader *r, int p, double *first, double *second)
{
    const hop__shape *s = r->s;
    hop__memory *m = s->w->m;
    hop__places places;
    const hop__set *k = hop__set_columns(m, s->plain[p], r->head * s->keys, s->keys);
    if (!k || !hop__places_of(m, &s->w->facts.class[p], k, &places)) return false;
    const float *rows = absolute_rows(m, k, places.term, places.rows);
    for (int64_t j = 0; rows && j < places.rows; j++)
        for (int64_t c = 0; c < s->keys; c++) {
            double x = rows[j * s->keys + c];
            if (!(x <= first[c])) {
                second[c] = places.count[j] > 1 ? x : first[c];
                first[c] = x;
            } else if (!(x <= second[c])) {
                second[c] = x;
            }
        }
    return m->status == HOP_OK;
}

/* A delta rule writes u_t = v_t - (what the state has at k_t). The state is a sum of decayed beta_j k_j u_j,
 * so that |u_t - v_t| <= g · sum over j < t of |u_j|, g = the most that two tokens' keys have in common,
 * sum_c |k_tc||beta_j k_jc|; hence |u_t - v_t| <= |v| (e^(n g) - 1), v the largest value. At any coordinate
 * one of two tokens has no more than the second largest there: g <= beta · sum_c first_c second_c. Every form
 * adds up these same products, so that its rounding is a part of g; what products lose below the normal
 * numbers, where keys were divided by decays down to 2^-32, is `faint`. */
static void find_slack(reader *r)
{
    const hop__shape *s = r->s;
    const hop__facts *f = &s->w->facts;
    hop__memory *m = s->w->m;
    double *first = hop__take(m, s->keys, sizeof *first), *second = hop__take(m, s->keys, sizeof *second);
    double meet = 0, n = 0, largest = 1;
    if (!s->plain || s->steps > 1 || m->status != HOP_OK) return;
    for (int p = 0; p < f->classes; p++) {
        if (!r->v[p]) continue;
        if (!add_largest(r, p, first, second)) return;
        n += (double)f->class[p].count;
    }
    for (int64_t c = 0; c < s->keys; c++) {
        meet += first[c] * second[c];
        largest = ival_most(largest, first[c]);
    }
    meet *= fmax(1, s->most_beta) * (1 + 1e-6);
    if (!(n * meet <= 0x1p-20) || !(largest <= 0x1p10)) return;
    /* Rounding makes g at most twice as large, which is in `slack`; where it may do more, nothing is said. */
    double turned = r->turned;
    r->turned = 1;
    if (!(scan_error(r, &(tally){.nonzero = (int64_t)n}) < 0.5)) {
        r->turned = turned;
        return;
    }
    r->slack = 2 * n * meet;
    r->faint = n * (double)s->keys * 0x1p-100 * fmax(1, s->most_beta) * largest;
}

/* No product of scale, query, key and value, in part or whole, is larger: forms multiply them in different
 * orders, and chunks divide keys by decays down to 2^-32. What falls below the normal numbers on the way is
 * multiplied by at most this much. */
static double largest_product(const reader *r, int64_t e)
{
    const hop__shape *s = r->s;
    double q = 1, k = fmax(1, s->raw), v = 1;
    for (int64_t c = 0; r->q && c < s->keys; c++) q = ival_most(q, r->q->mag[c]);
    for (int p = 0; p < s->w->facts.classes; p++) {
        if (!r->v[p]) continue;
        for (int64_t c = 0; s->k && c < s->keys; c++) k = ival_most(k, r->k[p]->mag[c]);
        v = ival_most(v, r->v[p]->mag[e]);
    }
    return q * k * v * fmax(1, fabs(s->scale)) * (s->f_keys > 1 || s->f_keys == s->keys ? 0x1p33 : 1);
}

/* Is nothing rounded, whatever the form? The sum of absolute products in units of the grid must stay below
 * 2^24. */
static bool exact(const reader *r, const tally *t, int64_t e)
{
    const hop__shape *s = r->s;
    if (s->f_keys || s->exps || s->turn || s->bonus || !s->k || !r->q || s->w->message > 0 || s->w->bits > 0)
        return false;
    int grid = HOP__ANY_GRID;
    double sum = 0;
    for (int64_t c = 0; c < s->keys; c++) {
        if (r->q->grid[c] == HOP__NO_GRID) return false;
        for (int p = 0; p < s->w->facts.classes; p++) {
            if (!r->v[p] || r->q->mag[c] == 0 || r->k[p]->mag[c] == 0) continue;
            if (r->k[p]->grid[c] == HOP__NO_GRID) return false;
            int g = r->q->grid[c] + r->k[p]->grid[c];
            grid = g < grid ? g : grid;
        }
    }
    int values = HOP__ANY_GRID;
    for (int p = 0; p < s->w->facts.classes; p++) {
        if (!r->v[p] || t->all[p] == 0 || r->v[p]->mag[e] == 0) continue;
        if (r->v[p]->grid[e] == HOP__NO_GRID) return false;
        values = r->v[p]->grid[e] < values ? r->v[p]->grid[e] : values;
        sum += t->all[p] * r->v[p]->mag[e];
    }
    if (grid == HOP__ANY_GRID || values == HOP__ANY_GRID || sum == 0) return true;
    grid += values + hop__low_bit((double)(float)s->scale);
    return grid > -140 && grid < 100 && sum * fabs(s->scale) * (1 + 1e-9) < ldexp(1.0, 24 + grid);
}

/* All queries' weights of the tokens they look at, as one interval. */
static ival followed_weights(const reader *r, int64_t cases, const int64_t *target)
{
    const hop__facts *f = &r->s->w->facts;
    ival all = {INFINITY, -INFINITY};
    for (int64_t i = 0; i < cases; i++) {
        int p = 0;
        if (target[i] < 0) continue;
        while (target[i] < f->class[p].start || target[i] >= f->class[p].start + f->class[p].count) p++;
        all = ival_hull(all, followed_weight(r, p, target[i], i, NULL));
    }
    return all;
}

/* Where nothing decays or turns and no weight is below 0: the least weight that a token gives itself, else
 * -1. *ratio: the absolute values of a weight's products together are at most so many times the weight. */
static double own_weight(const reader *r, int64_t cases, double *ratio)
{
    const hop__shape *s = r->s;
    const hop__facts *f = &s->w->facts;
    double least = INFINITY, work = 0;
    *ratio = 1;
    if (s->f_keys || s->turn || s->bonus || s->exps || !r->q || !s->k || s->scale < 0) return -1;
    hop__places places[HOP__MOST_CLASSES];
    for (int p = 0; p < f->classes; p++) {
        if (!r->v[p]) continue;
        if (!hop__places_of(s->w->m, &f->class[p], r -> k[p], &places[p])) return -1;
        work += (double)cases * (double)places[p].rows * (double)s->keys;
    }
    if (work > 1e7) return -1;
    for (int p = 0; p < f->classes; p++)
        for (int64_t j = 0; r->v[p] && j < places[p].rows; j++)
            for (int64_t i = 0; i < cases; i++) {
                double parts = 0, low = followed_weight(r, p, places[p].first[j], i, &parts).lo;
                if (!(low >= 0)) return -1;
                if (parts > 0) *ratio = ival_most(*ratio, parts / low * (1 + 1e-9));
                if (p == r->a) least = ival_least(least, low * s->scale);
            }
    return least;
}

/* A sum of weights that are not below 0, of values that are not: at least what the own token gives, but for
 * what is lost; and that is at most `error` times the absolute products, which are at most so many times the
 * sum itself. */
static void bound_below(const reader *r, hop__set *y, double own, const double *lost, double share,
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
            const double *row = t->row + i * joined->width;
            if (joined->mid[y->width] + row[y->width] == 0) continue;
            least = ival_least(least, fabs(joined->mid[e] + row[e]));
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

static hop__set *read_head(reader *r)
{
    const hop__shape *s = r->s;
    const hop__facts *f = &s->w->facts;
    hop__memory *m = s->w->m;
    const hop__term *tq = r->q && r->q->terms ? &r->q->term[0] : NULL;
    int64_t cases = tq ? tq->rows : 1;
    int64_t *target = hop__take(m, cases, sizeof *target);
    double *lost = hop__take(m, s->values, sizeof *lost), *apart = hop__take(m, s->values, sizeof *apart);
    const float *q = r->q ? absolute_rows(m, r->q, tq, cases) : NULL;
    tally t = {.nonzero = 0};
    r->turned = turns(r, -1);
    if (r->turned > 1) find_slack(r);
    if (m->status != HOP_OK || !add_up(r, cases, q, &t, target)) return NULL;
    hop__sight sight = {.rule = HOP__RULE_NONE, .source = -1};
    int64_t seeing = 0;
    bool past = true;
    for (int64_t i = 0; i < cases; i++)
        seeing += target[i] >= 0, past = past && target[i] <= f->class[r->a].start;
    if (past && seeing > 0) sight = hop__facts_sight(m, f, r->a, tq, target);
    if (s->bonus && sight.rule != HOP__RULE_NONE && sight.source == r->a) sight.rule = HOP__RULE_NONE;
    if (sight.rule == HOP__RULE_SELF && f->class[r->a].count > 1) sight.rule = HOP__RULE_NONE;
    bool sees = sight.rule != HOP__RULE_NONE, some = sees && seeing < cases;
    double scale = fabs(s->scale), error = scan_error(r, &t), bonus = 1;
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
        weight = followed_weights(r, cases, target);
        const double *own = s->own[sight.source];
        double more = (r->turned > 1 ? turns(r, first) : 1) * (1 + (own ? own[r->head] : 0)) - 1;
        if (more > 0) weight = ival_widen(weight, lengths(r) * more * (1 + 1e-9));
        weight = ival_scale(weight, s->scale);
    }
    double mid = sees ? ival_mid(weight) : 0, off = sees ? ival_rad(weight) : 0, faint = 0;
    if (sees && ival_is_point(weight)) mid = weight.lo, off = 0;
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
        double most = largest_product(r, e) * bonus * r->turned,
               terms = (double)(f->class[r->a].start + f->class[r->a].count) * s->steps + (double)s->keys + 8;
        if (!(most * terms < HOP__LARGEST)) m->overflow = true;
        bool right = sum == 0 || exact(r, &t, e);
        /* below the normal numbers, and what a state that crosses loses there */
        double low = (0x1p-146 + rounded_states(s->w, terms) * 0x1p-126) * terms * most;
        lost[e] = right ? 0 : error * sum + low;
        if (value > 0) lost[e] += (r->slack * value + r->faint * fmax(1, value)) * all * scale * (1 + 1e-6);
        faint = ival_most(faint, low);
        double mag = y->mag[e], read = y->rad[e] * fabs(mid) + off * mag, box = rest + lost[e];
        if (mid != 1 && mid != 0) read += 0x1p-50 * fabs(mid) * mag;
        if (some && !right) { /* rounding is relative to what is summed up: of nothing, next to nothing */
            double none = lost[e] - error * sum + error * faded;
            read += (lost[e] - none) * (1 + 1e-9), box = rest + fmax(none, low);
        }
        y->rad[e] = some ? 0 : read, apart[e] = some ? ival_up(read * (1 + 1e-12)) : 0;
        y->mid[e] *= mid;
        if (!(box + y->rad[e] <= 0)) y->rad[e] = ival_up(y->rad[e] * (1 + 1e-12) + box);
        for (int n = 0; n < y->terms; n++)
            for (int64_t k = 0; k < y->term[n].rows; k++) y->term[n].row[k * s->values + e] *= mid;
    }
    hop__set_tidy(m, y);
    if (some && m->status == HOP_OK) spare_zeros(m, y, ones, apart);
    double ratio, own = m->status == HOP_OK ? own_weight(r, cases, &ratio) : -1;
    if (own > 0) bound_below(r, y, own, lost, error * ratio, faint);
    if (r->a == s->w->answering && !sees && m->status == HOP_OK) {
        double largest = 0;
        for (int64_t e = 0; e < s->values; e++) largest = ival_most(largest, y->mag[e]);
        if (largest > BLIND)
            hop__blame(s->w,
                       "layer %lld, recurrence: no single token is what the last one reads from the state",
                       (long long)s->w->layer);
    }
    return m->status == HOP_OK ? y : NULL;
}

/* A query that is too many things is taken as a box. */
static hop__set *one_query(hop__memory *m, const hop__set *q)
{
    hop__set *joined = hop__set_joined(m, q), *box = joined ? NULL : hop__set_columns(m, q, 0, q->width);
    while (box && box->terms) hop__set_drop_term(box, 0);
    if (box) hop__set_tidy(m, box);
    return joined ? joined : box;
}

void hop__weigh(const hop__shape *s, hop__set **y)
{
    const hop__facts *f = &s->w->facts;
    hop__memory *m = s->w->m;
    int64_t share = s->heads / s->q_heads;
    hop__set **heads = hop__take(m, s->heads * f->classes, sizeof *heads);
    for (int64_t h = 0; m->status == HOP_OK && h < s->heads; h++) {
        hop__sets k = {0}, v = {0};
        for (int p = 0; p < f->classes; p++) {
            if (s->k) k[p] = hop__set_columns(m, s->k[p], h * s->keys, s->keys);
            v[p] = hop__set_columns(m, s->v[p], h * s->values, s->values);
        }
        for (int a = 0; m->status == HOP_OK && a < f->classes; a++) {
            hop__sets va = {0};
            for (int p = 0; p < f->classes; p++) va[p] = hop__sees(f, a, p, false) ? v[p] : NULL;
            reader r = {.s = s, .a = a, .head = h, .k = k, .v = va};
            if (s->q) {
                hop__set *q = hop__set_columns(m, s->q[a], h / share * s->keys, s->keys);
                r.q = q ? one_query(m, q) : NULL;
                if (!r.q) return;
            }
            heads[a * s->heads + h] = read_head(&r);
        }
    }
    for (int a = 0; m->status == HOP_OK && a < f->classes; a++)
        y[a] = hop__set_beside(m, (const hop__set *const *)heads + a * s->heads, (int)s->heads);
}
