/* P7: two full layers, two hops, no linear layer before the first. What is chosen: t parts of q values each,
 * t groups of s starts, and e groups of g values of w. With ts <= m, tq <= m, eg <= n_1, δ = gM/(ts) + A_1 and
 * Y = ⌈tq/2^δ⌉, two hops are impossible if
 *
 *     e·Y·(g·log2(m·n_1) - A_2)  >  M·(tsq + m + eg(t+1)) + A_1.
 *
 * m = max(ts, tq) and n_1 = eg, e the least that serves. More hops contain two: the later functions hand on
 * what they get. */
#include "count.h"

#include <math.h>

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
    double delta = gamma * M / (sigma * t) + after, values = ceil(t * q * exp2(-delta) * (1 - 1e-12));
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

static bool prove(hop__proof *out, hop__levels *levels, const hop__chosen *c)
{
    (void)levels;
    static const char *const names[] = {"t", "s", "q", "g", "e", "Y"};
    const fmpz *t = &c->of[0], *s = &c->of[1], *q = &c->of[2], *g = &c->of[3];
    fmpz_t starts, all, bits;
    fmpz_init(starts), fmpz_init(all), fmpz_init(bits);
    out->by = "P7", out->names = names, out->count = 6;
    for (int k = 0; k < 4; k++) fmpz_set(&out->of[k], &c->of[k]);
    fmpz_fdiv_q(&out->of[4], &c->sizes[1], g);
    fmpz_mul(starts, t, s);
    fmpz_mul(all, t, q);
    fmpz_mul(bits, g, c->reply);
    fmpz_addmul(bits, starts, &c->state[1]);
    hop__values_left(&out->of[5], all, bits, starts);
    fmpz_clear(starts), fmpz_clear(all), fmpz_clear(bits);
    return true;
}

void hop__p7(hop__case *c, hop_bound *b)
{
    static const hop__count theorem = {
        .hops = 2, .choices = 4, .free = 4, .last = 1, .height = height, .start = start, .prove = prove};
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 2, "at least two hops");
    hop__suppose(c, b, s->full == 2, hop__say(c, "two full layers, %s", hop__say_here(c, s->full)));
    hop__suppose_nothing_first(c, b);
    if (!b->applies) return;
    b->needs = "M (t s q + m + e g (t+1)) + A_1 >= e Y (g log2 N_1 - A_2)";
    b->has = hop__say_bits(c);
    hop__count_speak(c, b, &theorem);
}
