/* P4': one full layer, two hops, by an expected image instead of P4's popular class. What is chosen: t parts
 * of q values, t groups of s starts, x draws of z_1. If these take S values (place, value) at all starts, and
 * (Y-1)·s < S, two hops are impossible if
 *
 *     n_1·Y·log2(m·n_1)  >  (n_1+1)·t·M + x·A_1 + A_0.
 *
 * m = t·q, s = ⌊m/t⌋, and n_1 is the least that serves. Neither of P4 and P4' contains the other. */
#include "count.h"

#include <math.h>

/* Is every n_1 that serves so large that the prompt is longer than p->limit? The least one is a root, which
 * takes ten logarithms; this takes two, and most points that are tried are too long. By 1e-9 on the safe side
 * of rounding: what is not told here is found out there. */
static bool too_long(const hop__ground *g, const hop__point *p, double values, double each, double once)
{
    double m = p->sizes[0], most = (exp2(p->limit) - 2 - m) / (g->tail * m) * (1 + 1e-9);
    return most < 1e300 && (most < 2 || most * (values * log2(m * most) - each) < once * (1 - 1e-9));
}

static double height(const hop__ground *g, hop__point *p)
{
    double *z = p->z, M = g->reply, before = g->state[0], after = g->state[1];
    if (g->fixed) {
        z[0] = fmin(z[0], g->sizes[0]);
        z[1] = fmin(z[1], floor(g->sizes[0] / z[0]));
    }
    double starts = z[0], q = z[1], draws = z[2], group = g->fixed ? floor(g->sizes[0] / starts) : q;
    double delta = before / (starts * group), missing = hop__draws_missing(draws, starts * group);
    double phi = hop__draws_phi(g, p, draws, q, delta);
    if (missing > 0) return HOP__NOWHERE * (2 + missing);
    if (!(phi > 0)) return HOP__NOWHERE * (1 + delta - phi);
    double values = ceil(starts * q * phi * (1 - 1e-12)), once = starts * M + draws * after + before;
    if (g->fixed)
        return log2((g->sizes[1] * starts * M + once) /
                    (g->sizes[1] * values * log2(g->sizes[0] * g->sizes[1])));
    p->sizes[0] = fmax(2, hop__product(starts, q));
    if (too_long(g, p, values, starts * M, once)) return INFINITY;
    p->sizes[1] = hop__least_root(values, p->sizes[0], starts * M, once, 2);
    return isfinite(p->sizes[1]) ? hop__log2_length(g, p, 2) : HOP__NOWHERE * (1 + M / (q * phi));
}

/* As many addresses as state bits, or more; a few M/log N values a part. */
static void start(const hop__ground *g, int number, double *z)
{
    z[1] = ceil((1 + number % 3) * g->reply / 8);
    z[0] = ceil((number < 3 ? 1.0 : 4.0) * (1 + g->state[0]) / z[1]);
    z[2] = z[1];
}

static bool prove(hop__proof *out, hop__levels *levels, const hop__chosen *c)
{
    static const char *const names[] = {"t", "s", "q", "x", "S", "Y"};
    const fmpz *t = &c->of[0], *q = &c->of[1], *x = &c->of[2];
    fmpz *s = &out->of[1], *values = &out->of[4], *most = &out->of[5];
    fmpz_t places;
    out->by = "P4'", out->names = names, out->count = 6;
    fmpz_init(places);
    fmpz_set(&out->of[0], t), fmpz_set(&out->of[2], q), fmpz_set(&out->of[3], x);
    fmpz_fdiv_q(s, &c->sizes[0], t);
    fmpz_mul(places, t, s);
    bool good = fmpz_sgn(s) > 0 && hop__draws_prove(levels, values, c, &c->state[0], places, q, x);
    if (good) {
        fmpz_sub_ui(most, values, 1);
        fmpz_fdiv_q(most, most, s);
        fmpz_add_ui(most, most, 1);
    }
    fmpz_clear(places);
    return good;
}

void hop__p4_parts(hop__case *c, hop_bound *b)
{
    static const hop__count theorem = {.hops = 2,
                                       .choices = 3,
                                       .free = 3,
                                       .draws = true,
                                       .last = 1,
                                       .height = height,
                                       .start = start,
                                       .prove = prove};
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 2, "at least two hops");
    hop__suppose(c, b, s->full == 1, hop__say(c, "one full layer, %s", hop__say_here(c, s->full)));
    if (!b->applies) return;
    b->needs = "(n_1+1) t M + x A_1 + A_0 >= n_1 Y log2(m n_1)";
    b->has = hop__say_bits(c);
    hop__count_speak(c, b, &theorem);
}
