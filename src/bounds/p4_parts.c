/* P4': one full layer, two hops, by an expected image instead of P4's popular class. What is chosen: x_0
 * parts of q values, as many starts, x_1 draws of z_1; p4_parts_verify.c has the inequality. m = x_0·q, and
 * n_1 is the least that serves. Neither of P4 and P4' contains the other. */
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
    double starts = z[0], q = z[1], draws = z[2];
    p->lambda = draws / q;
    p->delta = before / (starts * q);
    double phi = hop__lines_phi(&g->lines, p->lambda, p->delta), values = starts * q * phi;
    if (!(phi > 0)) return HOP__NOWHERE * (1 + p->delta - phi);
    double once = starts * M + draws * after + before;
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

void hop__p4_parts(hop__case *c, hop_bound *b)
{
    static const char *const names[] = {"x_0", "q", "x_1"};
    static const hop__count theorem = {.hops = 2,
                                       .choices = 3,
                                       .free = 3,
                                       .names = names,
                                       .last = 1,
                                       .height = height,
                                       .start = start,
                                       .verify = hop__p4_parts_verify};
    const hop__shape *s = &c->shape;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 2, "at least two hops");
    hop__suppose(c, b, s->full == 1, hop__say(c, "one full layer, %s", hop__say_here(c, s->full)));
    if (!b->applies) return;
    b->needs = "(n_1+1) x_0 M + x_1 A_1 + A_0 >= n_1 x_0 q Phi log2(m n_1)";
    b->has = hop__say_bits(c);
    hop__count_speak(c, b, &theorem);
}
