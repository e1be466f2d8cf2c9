/* The best line below f(v) = 1 - (1 - v/x)^x, and chords of f that do its work with integers. A chord on
 * [p', p''] lies below f, which is concave; it serves if it lies nowhere below the line, moved down by a little,
 * so that chords are made as long as that allows: short where the line touches, long elsewhere. */
#include "levels.h"

#include <math.h>

#define PRECISION 320
#define LEAST_DELTA \
    1e-6 /* with no entropy missing the law is one atom, and the line that touches there alone */

/* ---- the line that touches twice ------------------------------------------------------------------- */

/* f(v) and f'(v) */
static double taken(double v, double x, double *slope)
{
    double l = log1p(-v / x);
    *slope = exp((x - 1) * l);
    return -expm1(x * l);
}

/* What must be 0 at the two points: the difference of the line's heights there, and the missing entropy of the
 * law with these atoms and the mean λ. */
static void misses(const hop__law *at, double x, double lambda, double weight, double out[2])
{
    double s0, s1, f0 = taken(at->v0, x, &s0), f1 = taken(at->v1, x, &s1), l0 = log(at->v0), l1 = log(at->v1);
    double b = (s0 - s1) / (l1 - l0), a = s0 + b * (l0 + 1), share = (lambda - at->v0) / (at->v1 - at->v0);
    out[0] = (f1 - a * at->v1 + b * at->v1 * l1) - (f0 - a * at->v0 + b * at->v0 * l0);
    out[1] = (1 - share) * at->v0 * l0 + share * at->v1 * l1 - lambda * weight;
}

/* One step in the logarithms of both points, with differences for derivatives. */
static bool newton(hop__law *at, double x, double lambda, double weight)
{
    double m[2], m0[2], m1[2], h = 1e-6;
    hop__law near0 = *at, near1 = *at;
    near0.v0 *= 1 + h, near1.v1 *= 1 + h;
    misses(at, x, lambda, weight, m);
    misses(&near0, x, lambda, weight, m0);
    misses(&near1, x, lambda, weight, m1);
    double a = (m0[0] - m[0]) / h, b = (m1[0] - m[0]) / h, c = (m0[1] - m[1]) / h, d = (m1[1] - m[1]) / h;
    double det = a * d - b * c, by0 = (b * m[1] - d * m[0]) / det, by1 = (c * m[0] - a * m[1]) / det;
    if (!isfinite(by0) || !isfinite(by1)) return false;
    at->v0 *= exp(fmax(-1, fmin(1, by0)));
    at->v1 *= exp(fmax(-0.5, fmin(0.5, by1)));
    return at->v0 > 0 && at->v0 < lambda && at->v1 > lambda && at->v1 < x;
}

bool hop__law_find(hop__law *law, const hop__lines *lines, double draws, double q, double delta)
{
    if (draws < 2 || q < 2) return false;
    delta = fmax(delta, LEAST_DELTA);
    double lambda = draws / q, weight = log(lambda) + delta * M_LN2, before = INFINITY;
    hop__lines_touch(lines, lambda, delta, &law->v0, &law->v1);
    law->v0 = fmin(law->v0, lambda * (1 - 1e-6));
    law->v1 = fmin(fmax(law->v1, lambda * (1 + 1e-6)), (lambda + draws) / 2);
    bool done = false;
    for (int i = 0; i < 30 && !done; i++) {
        double v0 = law->v0, v1 = law->v1;
        if (!newton(law, draws, lambda, weight)) return false;
        double moved = fabs(law->v0 / v0 - 1) + fabs(law->v1 / v1 - 1);
        done = moved < 1e-7 || (moved < 1e-5 && moved >= before); /* Phi is right to its square */
        before = moved;
    }
    if (!done) return false;
    double s0, s1, f0 = taken(law->v0, draws, &s0);
    taken(law->v1, draws, &s1);
    law->b = (s0 - s1) / log(law->v1 / law->v0);
    law->a = s0 + law->b * (log(law->v0) + 1);
    law->c = law->a * law->v0 - law->b * law->v0 * log(law->v0) - f0;
    law->phi = lambda * (law->a - law->b * weight) - law->c;
    return law->b > 0 && law->c > 0 && law->phi > 0 && law->phi < fmin(1, lambda);
}

/* ---- chords ------------------------------------------------------------------------------------------ */

/* In p = v/x: α·p - β·p·ln p - C; everything in doubles that are integers. */
typedef struct chords {
    double x, alpha, beta, s, grid; /* s: what f is multiplied with; G */
} chords;

static double f_at(const chords *c, double place)
{
    return place >= c->grid ? 1 : -expm1(c->x * log1p(-place / c->grid));
}

/* The chord of s·f from place to place, rounded down; returns how far down the line must be for it. */
static double chord(const chords *c, double from, double to, double *u, double *w)
{
    double f0 = c->s * f_at(c, from), f1 = c->s * f_at(c, to);
    double margin = 1e-4 + 1e-14 * c->s;
    *w = fmax(0, floor((f1 - f0) / (to - from) * c->grid * (1 - 1e-13)));
    *u = from == 0 ? 0 : floor(fmin(f0 - *w * (from / c->grid), f1 - *w * (to / c->grid)) - margin);
    if (*u <= 0 || from == 0) {
        *u = 0;
        *w = floor(f1 * (c->grid / to) * (1 - 1e-13) - margin);
    }
    return c->beta * exp((c->alpha - *w / c->s) / c->beta - 1) - *u / c->s;
}

/* The farthest end of a chord from here that asks for no more than `most`; at least the next place. */
static double farthest(const chords *c, double from, double most, double step)
{
    double u, w, low = fmin(c->grid, from + 1), high = fmin(c->grid, from + step);
    while (high < c->grid && chord(c, from, high, &u, &w) <= most) {
        low = high;
        high = fmin(c->grid, from + 2 * (high - from));
    }
    if (high >= c->grid && chord(c, from, c->grid, &u, &w) <= most) return c->grid;
    for (int i = 0; i < 12 && high - low > 1; i++) {
        double middle = floor((low + high) / 2);
        if (chord(c, from, middle, &u, &w) <= most)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Chords over all of [0, 1]; returns what they ask for, or a large number when there are too many. */
static double lay_chords(hop__levels *l, const chords *c, double most)
{
    double asked = -INFINITY, at = 0, step = fmax(1, floor(c->grid / c->x / 16));
    l->count = 0;
    while (at < c->grid) {
        if (l->count == HOP__MOST_LEVELS) return INFINITY;
        double u, w, to = farthest(c, at, most, step);
        asked = fmax(asked, chord(c, at, to, &u, &w));
        if (!(w < 0x1p53) || !(u >= 0)) return INFINITY;
        fmpz *level = &l->of[3 * l->count++];
        fmpz_set_d(level, to), fmpz_set_d(level + 1, u), fmpz_set_d(level + 2, w);
        step = fmax(1, floor((to - at) / 2));
        at = to;
    }
    return asked;
}

/* ---- the rest of the certificate ----------------------------------------------------------------------- */

/* kap: the least (u + D)·(1 + 1/E)^(t·w), a little less. */
static bool set_kap(hop__levels *l, const fmpz *t)
{
    arb_t g, y, least;
    fmpz_t f;
    arb_init(g), arb_init(y), arb_init(least), fmpz_init(f);
    arb_set_fmpz(g, &l->first[2]);
    arb_inv(g, g, PRECISION);
    arb_log1p(g, g, PRECISION);
    arb_mul_fmpz(g, g, t, PRECISION);
    for (int i = 0; i < l->count; i++) {
        arb_mul_fmpz(y, g, &l->of[3 * i + 2], PRECISION);
        arb_exp(y, y, PRECISION);
        fmpz_add(f, &l->of[3 * i + 1], &l->first[3]);
        arb_mul_fmpz(y, y, f, PRECISION);
        if (i == 0 || arb_lt(y, least)) arb_set(least, y);
    }
    arb_set_ui(y, 1);
    arb_mul_2exp_si(y, y, -80);
    arb_mul(y, y, least, PRECISION);
    arb_sub(least, least, y, PRECISION);
    arb_floor(least, least, PRECISION);
    bool good = arb_get_unique_fmpz(&l->first[1], least) && fmpz_sgn(&l->first[1]) > 0;
    arb_clear(g), arb_clear(y), arb_clear(least), fmpz_clear(f);
    return good;
}

/* (e + E - K)/s, where e = (t·ln(q·kap·t) - t·ln E - A·ln 2) / (t·ln(1 + 1/E)), K = t·q·D */
static void values_shown(arb_t out, const hop__levels *l, const fmpz *A, const fmpz *t, const fmpz *q)
{
    arb_t g, y;
    fmpz_t f;
    arb_init(g), arb_init(y), fmpz_init(f);
    fmpz_mul(f, q, &l->first[1]);
    fmpz_mul(f, f, t);
    arb_fmpz_div_fmpz(out, f, &l->first[2], PRECISION);
    arb_log(out, out, PRECISION);
    arb_mul_fmpz(out, out, t, PRECISION);
    arb_const_log2(y, PRECISION);
    arb_submul_fmpz(out, y, A, PRECISION);
    arb_set_fmpz(g, &l->first[2]);
    arb_inv(g, g, PRECISION);
    arb_log1p(g, g, PRECISION);
    arb_mul_fmpz(g, g, t, PRECISION);
    arb_div(out, out, g, PRECISION);
    fmpz_mul(f, t, q);
    fmpz_mul(f, f, &l->first[3]);
    fmpz_sub(f, &l->first[2], f);
    arb_add_fmpz(out, out, f, PRECISION);
    arb_div_fmpz(out, out, &l->first[0], PRECISION);
    arb_clear(g), arb_clear(y), fmpz_clear(f);
}

void hop__levels_clear(hop__levels *l)
{
    for (int i = 0; i < 5; i++) fmpz_clear(&l->first[i]);
    for (int i = 0; i < 3 * HOP__MOST_LEVELS; i++) fmpz_clear(&l->of[i]);
    l->count = 0;
}

bool hop__levels_find(hop__levels *l, fmpz_t Y, const hop__law *law, const fmpz *A, const fmpz *t,
                      const fmpz *q, const fmpz *x)
{
    double draws = fmpz_get_d(x), scale = 1e8;
    chords c = {
        .x = draws, .alpha = draws * (law->a - law->b * log(draws)), .beta = law->b * draws, .s = scale};
    c.grid = exp2(fmin(48, fmax(27, ceil(log2(draws / law->v0)) + 16)));
    double down = lay_chords(l, &c, law->c + HOP__LEVELS_LOSS);
    if (!(down < 1) || !(law->c + HOP__LEVELS_LOSS > 0)) return false;
    fmpz_set_d(&l->first[0], c.s);
    fmpz_set_d(&l->first[3], fmax(1, ceil(c.s * fmax(down, law->c))));
    fmpz_set_d(&l->first[4], c.grid);
    arb_t y;
    arb_init(y);
    arb_set_d(y, c.beta * c.s); /* E = s·t·β */
    arb_mul_fmpz(y, y, t, PRECISION);
    arb_floor(y, y, PRECISION);
    bool good = arb_get_unique_fmpz(&l->first[2], y) && fmpz_sgn(&l->first[2]) > 0 && set_kap(l, t);
    if (good) {
        values_shown(y, l, A, t, q);
        double shown = arf_get_d(arb_midref(y), ARF_RND_DOWN);
        double error = c.beta * fmpz_get_d(t) * c.s * shown * 0x1p-123; /* of enclosures in 128 bits */
        arb_t less;
        arb_init(less);
        arb_set_d(less, fmax(1e-6, error));
        arb_sub(y, y, less, PRECISION);
        arb_floor(y, y, PRECISION);
        good = shown > 1 && arb_get_unique_fmpz(Y, y) && fmpz_sgn(Y) > 0;
        arb_clear(less);
    }
    arb_clear(y);
    return good;
}
