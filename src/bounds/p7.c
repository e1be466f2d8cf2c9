/* P7: two full layers, two hops, no linear layer before the first. What is chosen: t parts of q values each,
 * t sets of σ starts, and groups of γ values of w; p7_verify.c has the inequality. m = max(σt, tq) and n_1 =
 * eγ, e the least that serves. More hops contain two: the later functions hand on what they get. */
#include "count.h"

#include <math.h>

static const char *const names[] = {"t", "sigma", "q", "gamma"};

static double height(const hop__ground *g, hop__point *p)
{
    double *z = p->z, M = g->reply, after = g->state[1], last = g->state[2];
    if (g->fixed) {
        z[0] = fmin(z[0], g->sizes[0]);
        z[1] = fmin(z[1], floor(g->sizes[0] / z[0]));
        z[2] = fmin(z[2], floor(g->sizes[0] / z[0]));
        z[3] = fmin(z[3], g->sizes[1]);
    }
    if (last == 0) z[3] = 1; /* groups share the states of block 2 only */
    double t = z[0], sigma = z[1], q = z[2], gamma = z[3];
    double delta = gamma * M / (sigma * t) + after, values = t * q * exp2(-delta);
    double once = M * (sigma * t * q + (g->fixed ? g->sizes[0] : fmax(sigma * t, t * q))) + after;
    if (delta > 600) return HOP__NOWHERE * (1 + delta);
    if (g->fixed) {
        double groups = floor(g->sizes[1] / gamma);
        double gain = groups * values * (gamma * log2(g->sizes[0] * g->sizes[1]) - last);
        double costs = once + M * groups * gamma * (t + 1);
        return gain > 0 ? log2(costs / gain) : HOP__NOWHERE - gain;
    }
    p->sizes[0] = fmax(2, hop__product(t, fmax(sigma, q)));
    double groups =
        hop__least_root(values * gamma, p->sizes[0] * gamma, M * gamma * (t + 1) + values * last, once, 1);
    p->sizes[1] = fmax(2, groups * gamma);
    return isfinite(groups) ? hop__log2_length(g, p, 2) : HOP__NOWHERE * (1 + M * t / values);
}

/* Near tq = σt, δ = 0.7, at which q is a few times M/log N. */
static void start(const hop__ground *g, int number, double *z)
{
    double entry = 8 * (1 + number % 3);
    z[3] = ceil(g->state[2] / entry * (number < 3 ? 2 : 1) + 0.5);
    z[2] = ceil(4 * g->reply / entry * exp2(g->state[1]) + (number < 3 ? 0 : g->state[2] / entry));
    z[0] = ceil(sqrt(z[3] * g->reply * (number + 1)));
    z[1] = ceil(1.4 * z[3] * g->reply / z[0]);
}

void hop__p7(hop__case *c, hop_bound *b)
{
    static const hop__count theorem = {.hops = 2,
                                       .choices = 4,
                                       .free = 4,
                                       .names = names,
                                       .last = 1,
                                       .height = height,
                                       .start = start,
                                       .verify = hop__p7_verify};
    const hop__shape *s = &c->shape;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 2, "at least two hops");
    hop__suppose(c, b, s->full == 2, hop__say(c, "two full layers, %s", hop__say_here(c, s->full)));
    hop__suppose_nothing_first(c, b);
    if (!b->applies) return;
    b->needs = "M (sigma t q + m + e gamma (t+1)) + A_1 >= e t q 2^-delta (gamma log2 N_1 - A_2)";
    b->has = hop__say_bits(c);
    hop__count_speak(c, b, &theorem);
}
