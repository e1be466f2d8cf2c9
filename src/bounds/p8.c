/* P8: two full layers, three hops, linear layers anywhere. What is chosen: κq <= n_1 rows and νq <= n_2
 * columns, x draws of z_2, g <= m tokens of z_1 that may differ and x_1 <= ⌈m/2^(A_0/g)⌉ functions z_1. If the
 * draws, from a class of a share 2^-(A_0 + κqνM + J + 1), J = x_1·A_1, take S values at κq·x_1 places, three
 * hops are impossible if
 *
 *     ν·S·log2 N_2  >  A_0 + A_1 + (J+1) + x·(J+2) + x·x_1·A_2 + M·(x·N_1 + x_1·g + m-g + 1 + κqν·(1 + x_1)).
 *
 * m is the least that serves. */
#include "count.h"

#include <math.h>

enum { KAPPA, Q, NU, X, G, X1 };

/* log2 of what is needed over what is there, at this m; sets x_1. */
static double excess(const hop__ground *g, hop__point *p, double m, double table_1, double table_2)
{
    double *z = p->z, M = g->reply, rows = z[KAPPA] * z[Q], window = fmin(z[G], m);
    double x1 = g->state[0] > 0 ? ceil(m * exp2(-g->state[0] / window) * (1 - 1e-12)) : m;
    z[X1] = x1 = fmax(1, x1);
    double labels = x1 * g->state[1], places = rows * x1; /* J, and where values are taken */
    double delta = (g->state[0] + rows * z[NU] * M + labels + 1) / places;
    double phi = hop__draws_phi(g, p, z[X], z[Q], delta), missing = hop__draws_missing(z[X], places);
    if (!(phi > 0)) return 1e6 * (1 + delta - phi);
    if (missing > 0) return 1e6 * (2 + missing);
    double gain = z[NU] * floor(places * z[Q] * phi) * log2(table_2);
    double costs = g->state[0] + g->state[1] + labels + 1 + z[X] * (labels + 2) + z[X] * x1 * g->state[2] +
                   M * (z[X] * table_1 + (m - window) + x1 * window + 1 + rows * z[NU] * (1 + x1));
    return log2(costs / gain);
}

/* At given sizes: a q that κ or ν fills them with loses nothing to rounding, so both such neighbours are
 * tried. */
static double height_at(const hop__ground *g, hop__point *p)
{
    const double *sizes = g->sizes, q = fmin(p->z[Q], fmin(sizes[1], sizes[2]));
    const double table = sizes[0] * sizes[1];
    const double tries[] = {q, floor(sizes[1] / ceil(sizes[1] / q)), floor(sizes[2] / ceil(sizes[2] / q))};
    hop__point best = *p;
    double lowest = INFINITY;
    for (int k = 0; k < 3; k++) {
        hop__point trial = *p;
        double *z = trial.z;
        z[Q] = tries[k];
        z[KAPPA] = k ? floor(sizes[1] / z[Q]) : fmin(z[KAPPA], floor(sizes[1] / z[Q]));
        z[NU] = fmin(z[NU] * (k ? q / z[Q] : 1), sizes[2] / z[Q]);
        z[NU] = fmax(1, k == 2 ? round(z[NU]) : floor(z[NU]));
        if (z[NU] * z[Q] > sizes[2]) z[NU] -= 1;
        z[G] = fmin(z[G], sizes[0]);
        double h = excess(g, &trial, sizes[0], table, table * sizes[2]);
        if (h < lowest) lowest = h, best = trial;
    }
    *p = best;
    return lowest;
}

/* The least m that serves, between one that does not, or 1, and one that does. */
static double least_m(const hop__ground *g, hop__point *p, double low, double high)
{
    double fan = p->sizes[1], next = p->sizes[2];
    while (high - low > fmax(1, 0x1p-50 * high)) {
        double middle = floor((low + high) / 2);
        if (excess(g, p, middle, middle * fan, middle * fan * next) < 0)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static double height(const hop__ground *g, hop__point *p)
{
    double *z = p->z;
    if (g->fixed) return height_at(g, p);
    double low = 1, high = 2, by = 2, fan = p->sizes[1] = hop__product(z[KAPPA], z[Q]),
           next = p->sizes[2] = hop__product(z[NU], z[Q]);
    double missing = hop__draws_missing(z[X], fan);
    if (fan < 2 || next < 2 || missing > 0) return HOP__NOWHERE * (3 + missing);
    double most = floor(exp2(p->limit) / (1 + fan * (1 + g->tail * next)));
    double end = exp2(fmin(200, z[X] - log2(z[X] * fan))); /* beyond, there may be too many places */
    if (end < 2) return HOP__NOWHERE * 4;
    if (most < 0x1p60 && (most < 2 || excess(g, p, most, most * fan, most * fan * next) >= 0))
        return INFINITY;
    if (p->exact && p->sizes[0] > 3) { /* what was guessed is a little too small */
        low = p->sizes[0] - 1, high = p->sizes[0], by = 1 + 0x1p-16;
        if (excess(g, p, low, low * fan, low * fan * next) < 0) low = 1;
    }
    while (high < end && excess(g, p, high, high * fan, high * fan * next) >= 0) {
        low = high, high = ceil(high * by);
        by = fmin(2, 1 + 4 * (by - 1));
    }
    if (high >= end) return HOP__NOWHERE * (1 + fmax(0, excess(g, p, low, low * fan, low * fan * next)));
    high = p->sizes[0] = least_m(g, p, low, high);
    excess(g, p, high, high * fan, high * fan * next);
    z[G] = fmin(z[G], high);
    return hop__log2_length(g, p, 3);
}

/* λ = 0.4, ν·M/x_1 and A_1/n_1 near 0.85, q·Φ near 3M/log N. */
static void start(const hop__ground *g, int number, double *z)
{
    double entry = 20 * (1 + number % 3), widest = fmax(g->state[0], g->state[1]);
    z[Q] = ceil(12 * g->reply / entry);
    z[X] = fmax(ceil(0.4 * z[Q]), 40); /* or there are too many places for x·t < 2^x */
    z[KAPPA] = ceil(1.2 * g->state[1] / z[Q]);
    z[NU] = ceil(number < 3 ? g->reply / entry * 3 : sqrt(g->reply));
    z[G] = ceil(number % 2 ? 4 * widest + 1 : 10 * (g->state[0] + 1));
}

static bool prove(hop__proof *out, hop__levels *levels, const hop__chosen *c)
{
    static const char *const names[] = {"g", "k", "q", "nu", "x_1", "x", "S"};
    static const int order[] = {G, KAPPA, Q, NU, X1, X};
    const fmpz *q = &c->of[Q], *x1 = &c->of[X1];
    fmpz_t places, bits;
    fmpz_init(places), fmpz_init(bits);
    out->by = "P8", out->names = names, out->count = 7;
    for (int k = 0; k < 6; k++) fmpz_set(&out->of[k], &c->of[order[k]]);
    fmpz_mul(places, &c->of[KAPPA], q);
    fmpz_mul(bits, places, &c->of[NU]);
    fmpz_mul(bits, bits, c->reply);
    fmpz_add(bits, bits, &c->state[0]);
    fmpz_addmul(bits, x1, &c->state[1]);
    fmpz_add_ui(bits, bits, 1);
    fmpz_mul(places, places, x1);
    bool good = hop__draws_prove(levels, &out->of[6], c, bits, places, q, &c->of[X]);
    fmpz_clear(places), fmpz_clear(bits);
    return good;
}

void hop__p8(hop__case *c, hop_bound *b)
{
    static const hop__count theorem = {.hops = 3,
                                       .choices = 6,
                                       .free = 5,
                                       .draws = true,
                                       .last = 2, /* a larger m costs more than it brings */
                                       .height = height,
                                       .start = start,
                                       .prove = prove};
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 3, "at least three hops");
    hop__suppose(c, b, s->full == 2, hop__say(c, "two full layers, %s", hop__say_here(c, s->full)));
    if (!b->applies) return;
    b->needs = "M (x N_1 + x_1 g + m-g + 1 + kq nu (1+x_1)) + x x_1 (A_1+A_2) + .. >= nu S log2 N_2";
    b->has = hop__say_bits(c);
    hop__count_speak(c, b, &theorem);
}
