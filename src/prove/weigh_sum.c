/* The weights of all tokens for every query, in absolute values, and which token weighs most. */
#include "reader.h"

static float up(double x)
{
    float f = (float)x;
    return (double)f < x ? nextafterf(f, INFINITY) : f;
}

/* [rows, keys] of a set by its only term, or by its places; what else varies is in the bound. */
float *hop__absolute_rows(hop__memory *m, const hop__set *x, const hop__term *t, int64_t rows)
{
    float *out = hop__take(m, rows * x->width, sizeof *out);
    double *more = hop__take(m, x->width, sizeof *more);
    for (int i = 0; more && i < x->terms; i++) {
        if (&x->term[i] == t) continue;
        const hop__term *u = &x->term[i];
        for (int64_t c = u->first; c < u->first + u->count; c++) {
            double most = 0;
            for (int64_t r = 0; r < u->rows; r++) most = ival_most(most, fabs(hop__term_at(u, r, c)));
            more[c] += most;
        }
    }
    for (int64_t r = 0; out && more && r < rows; r++)
        for (int64_t c = 0; c < x->width; c++) {
            double mid = x->mid[c] + (t ? hop__term_at(t, r, c) : 0),
                   sum = (fabs(mid) + more[c]) * (1 + x->rel[c]) + x->rad[c];
            out[r * x->width + c] = sum == 0 ? 0 : up(sum * HOP__ABOVE);
        }
    return out;
}

/* ---- a class of keys ----------------------------------------------------------------------- */

/* The queries' absolute rows against those of a class. */
typedef struct weights {
    const float *q; /* [cases, keys]; NULL: ones */
    const float *k; /* [rows, keys]; NULL: ones */
    int64_t keys, rows;
    const double *length; /* [rows]: of the keys; NULL: nothing turns them */
    double growth;        /* 1 + how far they may be turned */
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
    return sqrt(sum) * HOP__ABOVE;
}

/* What such a sum is at the most for a query of this length, for row j. */
static double weight_bound(const weights *x, float sum, double length, int64_t j)
{
    double moved = x->length ? length * x->length[j] * (x->growth - 1) : 0;
    if (sum == 0 && !x->faint) return moved;
    return sum * (1 + 2 * HOP_DOT_ERROR((double)x->keys)) + (double)x->keys * 0x1p-120 + moved;
}

static double value_mag(const hop__reader *r, int p)
{
    double most = 0;
    for (int64_t e = 0; e < r->s->values; e++) most = ival_most(most, r->v[p]->mag[e]);
    return most;
}

static bool weights_of(const hop__reader *r, int p, const float *q, double least, weights *x)
{
    hop__memory *m = r->s->w->m;
    const hop__class *c = &r->s->w->facts.class[p];
    *x = (weights){.q = q, .keys = r->s->keys, .mag = value_mag(r, p)};
    if (r->s->k) {
        if (!hop__places_of(m, c, r->k[p], &x->places)) return false;
        x->k = hop__absolute_rows(m, r->k[p], x->places.term, x->places.rows);
        double *length = r->growth > 1 ? hop__take(m, x->places.rows, sizeof *length) : NULL;
        for (int64_t j = 0; length && m->status == HOP_OK && j < x->places.rows; j++)
            length[j] = length_of(x->k + j * x->keys, x->keys);
        x->length = length, x->growth = r->growth;
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

/* ---- all of them --------------------------------------------------------------------------- */

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
bool hop__add_up(const hop__reader *r, int64_t cases, const float *q, hop__tally *t, int64_t *target)
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
            if (!r->v[p] || (x[p].mag == 0 && !(r->slack > 0))) continue;
            weigh(&x[p], first, n, room, r->s->w->pool);
            for (int64_t i = 0; i < n; i++)
                add_class(&sums[i], p, &x[p], room + i * x[p].rows,
                          x[p].length ? length_of(q + (first + i) * r->s->keys, r->s->keys) : 0);
        }
        for (int64_t i = 0; i < n; i++) {
            running *u = &sums[i];
            if (u->at >= 0 && !(u->followed * scale >= HOP__BLIND))
                u->of[u->at] += u->followed, u->at = -1, u->target = -1;
            target[first + i] = u->target;
            for (int p = 0; p < f->classes; p++) {
                t->rest[p] = ival_most(t->rest[p], u->of[p] * HOP__ABOVE);
                if (u->at < 0) t->blind[p] = ival_most(t->blind[p], u->of[p] * HOP__ABOVE);
                t->all[p] = ival_most(t->all[p], (u->of[p] + (p == u->at ? u->followed : 0)) * HOP__ABOVE);
            }
            t->nonzero = u->nonzero > t->nonzero ? u->nonzero : t->nonzero;
        }
    }
    return true;
}
