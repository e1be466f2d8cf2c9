/* P9: two full layers, three hops, no linear layer before the first. What is chosen: u values of w_1, t parts
 * for each with q values, t sets of σ starts; then (a) groups of γ values of w_2, or (b) x draws of z_2. The
 * inequalities are in p9_verify.c. m = σt, n_1 makes room for the parts, n_2 is the least that serves. */
#include "count.h"

#include <math.h>

/* Where w_1 and the parts find room. */
static void set_first_sizes(const hop__ground *g, hop__point *p)
{
    double *z = p->z;
    if (g->fixed) {
        p->sizes[0] = g->sizes[0], p->sizes[1] = g->sizes[1], p->sizes[2] = g->sizes[2];
        z[0] = fmin(z[0], g->sizes[1]);
        z[1] = fmin(z[1], g->sizes[0]);
        z[2] = fmin(z[2], floor(g->sizes[0] / z[1]));
        z[3] = fmax(1, fmin(z[3], floor(g->sizes[0] * g->sizes[1] / (z[0] * z[1]))));
        return;
    }
    p->sizes[0] = fmax(2, hop__product(z[1], z[2]));
    p->sizes[1] = fmax(fmax(2, z[0]), ceil(hop__product(hop__product(z[0], z[1]), z[3]) / p->sizes[0]));
}

/* `values` entries a value of w_2, each worth log2 N_2 bits but for `states`; `each` is paid for a value of
 * w_2, `once` once. */
static double height_of(const hop__ground *g, hop__point *p, double gamma, double values, double states,
                        double each, double once)
{
    double table = p->sizes[0] * p->sizes[1];
    if (g->fixed) {
        double fan = floor(g->sizes[2] / gamma) * gamma;
        double gain = fan * (values * log2(table * g->sizes[2]) - states);
        if (table < p->z[0] * p->z[1] * p->z[3] || fan < 1) return HOP__NOWHERE * 2;
        return gain > 0 ? log2((fan * each + once) / gain) : HOP__NOWHERE - gain;
    }
    double groups = hop__least_root(values * gamma, table * gamma, (each + states) * gamma, once, 1);
    p->sizes[2] = fmax(2, groups * gamma);
    return isfinite(groups) ? hop__log2_length(g, p, 3) : HOP__NOWHERE * (1 + each / values);
}

static double once_paid(const hop__ground *g, const hop__point *p)
{
    double s = p->z[1] * p->z[2], u = p->z[0];
    return g->reply * (u * s * p->z[3] + p->sizes[0] * p->sizes[1] - u * s + p->sizes[0] + s) + g->state[1];
}

/* What the states of block 1 add to the labels of all starts. */
static double carried(const hop__ground *g, double starts)
{
    return g->state[1] == 0 ? 0 : fmin(starts * g->state[1], g->state[1] + starts * g->reply);
}

static double height_a(const hop__ground *g, hop__point *p)
{
    double *z = p->z, M = g->reply, last = g->state[2];
    if (g->fixed) z[4] = fmin(z[4], g->sizes[2]);
    if (last == 0) z[4] = 1;
    set_first_sizes(g, p);
    double u = z[0], t = z[1], s = t * z[2], delta = (u * z[4] * M + carried(g, s)) / (u * s);
    if (delta > 600) return HOP__NOWHERE * (1 + delta);
    double values = u * t * z[3] * exp2(-delta);
    p->lambda = 0;
    return height_of(g, p, z[4], values, values * last / z[4], M * u * (1 + t), once_paid(g, p));
}

static double height_b(const hop__ground *g, hop__point *p)
{
    double *z = p->z, M = g->reply;
    set_first_sizes(g, p);
    double u = z[0], t = z[1], s = t * z[2], x = z[4];
    p->lambda = x / z[3];
    p->delta = (u * M + carried(g, s)) / (u * s);
    double phi = hop__lines_phi(&g->lines, p->lambda, p->delta);
    if (!(phi > 0)) return HOP__NOWHERE * (1 + p->delta - phi);
    return height_of(g, p, 1, u * t * z[3] * phi, 0, M * u * (1 + t) + g->state[2] * t * x, once_paid(g, p));
}

/* Near δ = 0.7, and q a few times M/log N. */
static void start(const hop__ground *g, int number, double *z)
{
    double entry = 10 * (1 + number % 3);
    z[4] = ceil(g->state[2] / entry * (number < 3 ? 2 : 1) + 0.5);
    z[3] = ceil(5 * g->reply / entry);
    z[1] = ceil(sqrt(z[4] * g->reply * (number + 1)));
    z[2] = ceil(1.4 * z[4] * g->reply / z[1]);
    z[0] = ceil(carried(g, z[1] * z[2]) / (z[1] * z[2]) + 0.5);
}

static void start_b(const hop__ground *g, int number, double *z)
{
    hop__ground narrow = *g;
    narrow.state[2] = 0;
    start(&narrow, number, z);
    z[4] = ceil(1.5 * z[3]);
}

void hop__p9(hop__case *c, hop_bound *b)
{
    static const char *const of_groups[] = {"u", "t", "sigma", "q", "gamma"};
    static const char *const of_draws[] = {"u", "t", "sigma", "q", "x"};
    static const hop__count groups = {.hops = 3,
                                      .choices = 5,
                                      .free = 5,
                                      .names = of_groups,
                                      .last = 2,
                                      .height = height_a,
                                      .start = start,
                                      .verify = hop__p9_groups_verify};
    static const hop__count draws = {.hops = 3,
                                     .choices = 5,
                                     .free = 5,
                                     .names = of_draws,
                                     .last = 2,
                                     .height = height_b,
                                     .start = start_b,
                                     .verify = hop__p9_draws_verify};
    const hop__shape *s = &c->shape;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 3, "at least three hops");
    hop__suppose(c, b, s->full == 2, hop__say(c, "two full layers, %s", hop__say_here(c, s->full)));
    hop__suppose_nothing_first(c, b);
    if (!b->applies) return;
    b->needs = "M (u s q + N_1 - u s + m + s + u n_2 (1+t)) + A_1 >= e u t q 2^-delta (gamma log2 N_2 - A_2)";
    b->has = hop__say_bits(c);
    hop_bound other = *b;
    hop__count_speak(c, b, &groups);
    if (fmpz_is_zero(&s->state[2]) || c->stopped) return; /* draws share the states of block 2 only */
    other.needs = "M (u s q + N_1 - u s + m + s + u n_2 (1+t)) + A_2 n_2 t x + A_1 >= n_2 u t q Phi log2 N_2";
    hop__count_speak(c, &other, &draws);
    bool decided = c->by_sizes && other.answer != b->answer;
    if (decided ? other.answer == HOP_ANSWER_IMPOSSIBLE : other.log10_n < b->log10_n) *b = other;
}
