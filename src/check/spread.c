/* check_spread of proofs/Check.v: that draws spread, from lines or step by step. */
#include "certificate.h"
#include "powers.h"

/* ---- integers in formulas ------------------------------------------------------------------------ */

static fmpz *next(hop__terms *t)
{
    if (t->used == HOP__TERMS) flint_abort(); /* a formula has a fixed number of terms */
    fmpz *out = &t->of[t->used++];
    fmpz_init(out);
    return out;
}

const fmpz *hop__term_plus(hop__terms *t, const fmpz *a, const fmpz *b)
{
    fmpz *out = next(t);
    fmpz_add(out, a, b);
    return out;
}

const fmpz *hop__term_less(hop__terms *t, const fmpz *a, const fmpz *b)
{
    fmpz *out = next(t);
    if (fmpz_cmp(a, b) > 0) fmpz_sub(out, a, b);
    return out;
}

const fmpz *hop__term_times(hop__terms *t, const fmpz *a, const fmpz *b)
{
    fmpz *out = next(t);
    fmpz_mul(out, a, b);
    return out;
}

const fmpz *hop__term_number(hop__terms *t, unsigned long n)
{
    fmpz *out = next(t);
    fmpz_set_ui(out, n);
    return out;
}

void hop__terms_drop(hop__terms *t, int down_to)
{
    while (t->used > down_to) fmpz_clear(&t->of[--t->used]);
}

bool hop__bits_below(const fmpz *X, const fmpz *b, const fmpz *l)
{
    return hop__products_less(X, NULL, 0, &(hop__power){b, l}, 1);
}

/* ---- step by step ---------------------------------------------------------------------------------- */

/* A + 1 bits, and t places of q values. */
typedef struct climb {
    const fmpz *bits, *places, *values, *all;
} climb;

/* Weight a for what was seen, b for what is new, of all t·q: then a draw brings f + 1 new ones. */
static bool step_holds(const climb *c, const fmpz *seen, const fmpz *step, hop__terms *t)
{
    const fmpz *f = step, *a = step + 1, *b = step + 2;
    if (fmpz_cmp(a, b) > 0 || fmpz_cmp(f, c->places) > 0) return false;
    const fmpz *weight =
        hop__term_plus(t, hop__term_times(t, a, c->all), hop__term_times(t, hop__term_less(t, b, a), seen));
    const hop__power left[] = {{weight, c->places}},
                     right[] = {{c->all, c->places}, {a, f}, {b, hop__term_less(t, c->places, f)}};
    return hop__products_less(c->bits, left, 1, right, 3);
}

static bool climbs(const climb *c, const fmpz *Y, hop__integers steps)
{
    hop__terms t;
    t.used = 0;
    fmpz_t seen;
    fmpz_init(seen);
    bool holds = true;
    for (long i = 0; holds && i < steps.count; i += 3) {
        holds = step_holds(c, seen, &steps.of[i], &t);
        fmpz_add(seen, seen, &steps.of[i]);
        fmpz_add_ui(seen, seen, 1);
        hop__terms_drop(&t, 0);
    }
    holds = holds && fmpz_cmp(Y, seen) <= 0;
    fmpz_clear(seen);
    return holds;
}

/* ---- by lines ----------------------------------------------------------------------------------------- */

typedef struct lines {
    const fmpz *s, *kap, *E, *D, *G; /* of the certificate */
    const fmpz *x, *t;
} lines;

/* u + w·p <= s·(1 - (1-p)^x) at p = a/G */
static bool line_holds(const lines *c, const fmpz *u, const fmpz *w, const fmpz *a, hop__terms *t)
{
    if (fmpz_is_zero(a) && fmpz_is_zero(u)) return true;
    const fmpz *k = hop__term_plus(t, hop__term_times(t, u, c->G), hop__term_times(t, w, a)),
               *one = hop__term_number(t, 1), *all = hop__term_times(t, c->s, c->G),
               *none = hop__term_number(t, 0);
    if (fmpz_cmp(k, all) > 0) return false;
    const hop__power left[] = {{all, one}, {hop__term_less(t, c->G, a), c->x}},
                     right[] = {{c->G, c->x}, {hop__term_less(t, all, k), one}};
    return hop__products_less(none, left, 2, right, 2);
}

/* kap·E^(t·w) < (u + D)·(E+1)^(t·w) */
static bool weight_holds(const lines *c, const fmpz *u, const fmpz *w, hop__terms *t)
{
    const fmpz *one = hop__term_number(t, 1), *none = hop__term_number(t, 0),
               *times = hop__term_times(t, c->t, w);
    const hop__power left[] = {{c->kap, one}, {c->E, times}},
                     right[] = {{hop__term_plus(t, u, c->D), one}, {hop__term_plus(t, c->E, one), times}};
    return hop__products_less(none, left, 2, right, 2);
}

static bool levels_hold(const lines *c, hop__integers steps)
{
    const fmpz zero = 0, *before = &zero;
    hop__terms t;
    t.used = 0;
    bool holds = true;
    for (long i = 0; holds && i < steps.count; i += 3) {
        const fmpz *a = &steps.of[i], *u = a + 1, *w = a + 2;
        holds = fmpz_cmp(before, a) <= 0 && fmpz_cmp(a, c->G) <= 0 && line_holds(c, u, w, before, &t) &&
                line_holds(c, u, w, a, &t) && weight_holds(c, u, w, &t);
        before = a;
        hop__terms_drop(&t, 0);
    }
    return holds && fmpz_cmp(c->G, before) <= 0;
}

/* The last inequality, A bits: E^t·(E+1)^(t·e) 2^A < (q·kap·t)^t·E^(t·e), e = s·Y - (E - K), K = t·q·D. */
static bool sum_holds(const lines *c, const fmpz *A, const fmpz *q, const fmpz *Y, hop__terms *t)
{
    const fmpz *K = hop__term_times(t, hop__term_times(t, c->t, q), c->D), *sY = hop__term_times(t, c->s, Y),
               *left_over = hop__term_less(t, c->E, K);
    if (fmpz_cmp(K, c->E) > 0 || fmpz_cmp(left_over, sY) > 0) return false;
    const fmpz *te = hop__term_times(t, c->t, hop__term_less(t, sY, left_over)),
               *base = hop__term_times(t, hop__term_times(t, q, c->kap), c->t);
    const hop__power left[] = {{c->E, c->t}, {hop__term_plus(t, c->E, hop__term_number(t, 1)), te}},
                     right[] = {{base, c->t}, {c->E, te}};
    return hop__products_less(A, left, 2, right, 2);
}

bool hop__spreads(const fmpz *A, const fmpz *t, const fmpz *q, const fmpz *x, const fmpz *Y,
                  const hop__way *way)
{
    hop__terms terms;
    bool holds;
    terms.used = 0;
    if (way->climbs) {
        climb c = {hop__term_plus(&terms, A, hop__term_number(&terms, 1)), t, q,
                   hop__term_times(&terms, t, q)};
        holds = fmpz_cmp_si(x, way->steps.count / 3) == 0 && climbs(&c, Y, way->steps);
    } else {
        const fmpz *f = way->first.of;
        lines c = {f, f + 1, f + 2, f + 3, f + 4, x, t};
        holds = fmpz_sgn(c.kap) > 0 && fmpz_sgn(t) > 0 && fmpz_sgn(c.E) > 0 && fmpz_sgn(c.G) > 0 &&
                fmpz_sgn(Y) > 0 && way->steps.count > 0 &&
                fmpz_cmp_ui(x, fmpz_bits(hop__term_times(&terms, x, t))) >= 0 && /* x·t < 2^x */
                sum_holds(&c, A, q, Y, &terms) && levels_hold(&c, way->steps);
    }
    hop__terms_drop(&terms, 0);
    return holds;
}
