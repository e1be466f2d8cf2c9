/* P8: two full layers, three hops, linear layers anywhere. What is chosen: n_1 = κq and n_2 = νq, x draws of
 * z_2, g tokens of z_1 that may differ and x_1 functions z_1; p8_verify.c has the inequality. m is the least
 * that serves. */
#include "count.h"

#include <math.h>

enum { KAPPA, Q, NU, X, G, X1 };

/* log2 of what is needed over what is there, at this m; sets x_1, λ and δ. */
static double excess(const hop__ground *g, hop__point *p, double m, double table_1, double table_2)
{
    double *z = p->z, M = g->reply, rows = z[KAPPA] * z[Q], window = fmin(z[G], m);
    double x1 = g->state[0] > 0 ? ceil(m * exp2(-g->state[0] / window) * (1 - 1e-12)) : m;
    z[X1] = x1 = fmax(1, x1);
    p->lambda = z[X] / z[Q];
    p->delta = (g->state[0] + rows * z[NU] * M + g->state[1] * x1) / (rows * x1);
    double phi = hop__lines_phi(&g->lines, p->lambda, p->delta);
    if (!(phi > 0)) return 1e6 * (1 + p->delta - phi);
    double gain = z[NU] * rows * x1 * z[Q] * phi * log2(table_2);
    double costs = g->state[0] + g->state[1] + z[X] * x1 * (g->state[1] + g->state[2]) +
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

static double height(const hop__ground *g, hop__point *p)
{
    double *z = p->z;
    if (g->fixed) return height_at(g, p);
    double low = 1, high = 2, fan = p->sizes[1] = hop__product(z[KAPPA], z[Q]),
           next = p->sizes[2] = hop__product(z[NU], z[Q]);
    if (fan < 2 || next < 2) return HOP__NOWHERE * 3;
    double most = floor(exp2(p->limit) / (1 + fan * (1 + g->tail * next)));
    if (most < 0x1p60 && (most < 2 || excess(g, p, most, most * fan, most * fan * next) >= 0))
        return INFINITY;
    while (high < 0x1p200 && excess(g, p, high, high * fan, high * fan * next) >= 0) low = high, high *= 2;
    if (high >= 0x1p200)
        return HOP__NOWHERE * (1 + fmax(0, excess(g, p, high, high * fan, high * fan * next)));
    while (high - low > fmax(1, 0x1p-50 * high)) {
        double middle = floor((low + high) / 2);
        if (excess(g, p, middle, middle * fan, middle * fan * next) < 0)
            high = middle;
        else
            low = middle;
    }
    excess(g, p, p->sizes[0] = high, high * fan, high * fan * next);
    z[G] = fmin(z[G], high);
    return hop__log2_length(g, p, 3);
}

/* λ = 0.4, ν·M/x_1 and A_1/n_1 near 0.85, q·Φ near 3M/log N. */
static void start(const hop__ground *g, int number, double *z)
{
    double entry = 20 * (1 + number % 3), widest = fmax(g->state[0], g->state[1]);
    z[Q] = ceil(12 * g->reply / entry);
    z[X] = ceil(0.4 * z[Q]);
    z[KAPPA] = ceil(1.2 * g->state[1] / z[Q]);
    z[NU] = ceil(number < 3 ? g->reply / entry * 3 : sqrt(g->reply));
    z[G] = ceil(number % 2 ? 4 * widest + 1 : 10 * (g->state[0] + 1));
}

void hop__p8(hop__case *c, hop_bound *b)
{
    static const char *const names[] = {"kappa", "q", "nu", "x", "g", "x_1"};
    static const hop__count theorem = {.hops = 3,
                                       .choices = 6,
                                       .free = 5,
                                       .names = names,
                                       .last = 0,
                                       .height = height,
                                       .start = start,
                                       .verify = hop__p8_verify};
    const hop__shape *s = &c->shape;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 3, "at least three hops");
    hop__suppose(c, b, s->full == 2, hop__say(c, "two full layers, %s", hop__say_here(c, s->full)));
    if (!b->applies) return;
    b->needs =
        "M (x N_1 + x_1 g + m-g + 1 + kq nu (1+x_1)) + x x_1 (A_1+A_2) + .. >= nu kq x_1 q Phi log2 N_2";
    b->has = hop__say_bits(c);
    hop__count_speak(c, b, &theorem);
}
