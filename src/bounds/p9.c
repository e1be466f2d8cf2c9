/* P9: two full layers, three hops, no linear layer before the first. What is chosen: u values of w_1, t parts
 * for each with q values, t groups of s starts; then (a) e groups of g values of w_2, or (b) x draws of z_2. With
 * ts <= m, u <= n_1, utq <= N_1 and a_1 = min(ts·A_1, A_1 + ts·M), three hops are impossible if
 *
 * (a) eg <= n_2, Y = ⌈utq/2^δ⌉, δ = (ugM + a_1)/(uts), and
 *     e·Y·(g·log2 N_2 - A_2)  >  M·(utsq + N_1 - uts + m + ts + u·eg·(1+t)) + A_1;
 * (b) uM + a_1 <= a·s, draws from a class of a share 2^-a take Y values at ut places, and
 *     n_2·Y·log2 N_2  >  M·(utsq + N_1 - uts + m + ts + u·n_2·(1+t)) + A_1 + A_2·n_2·t·x.
 *
 * m = ts, n_1 makes room for the parts, n_2 is the least that serves. */
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
    double values = ceil(u * t * z[3] * exp2(-delta) * (1 - 1e-12));
    return height_of(g, p, z[4], values, values * last / z[4], M * u * (1 + t), once_paid(g, p));
}

static double height_b(const hop__ground *g, hop__point *p)
{
    double *z = p->z, M = g->reply;
    set_first_sizes(g, p);
    double u = z[0], t = z[1], s = t * z[2], x = z[4];
    double bits = ceil((u * M + carried(g, s)) / z[2]), delta = bits / (u * t);
    double phi = hop__draws_phi(g, p, x, z[3], delta), missing = hop__draws_missing(x, u * t);
    if (missing > 0) return HOP__NOWHERE * (2 + missing);
    if (!(phi > 0)) return HOP__NOWHERE * (1 + delta - phi);
    double values = floor(u * t * z[3] * phi);
    return height_of(g, p, 1, fmax(values, 1e-3), 0, M * u * (1 + t) + g->state[2] * t * x, once_paid(g, p));
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

/* u·g·M + a_1, with g NULL for 1; `starts` becomes t·s. */
static void label_bits(fmpz_t bits, fmpz_t starts, const hop__chosen *c, const fmpz *g)
{
    const fmpz *u = &c->of[0], *between = &c->state[1];
    fmpz_t each;
    fmpz_init(each);
    fmpz_mul(starts, &c->of[1], &c->of[2]);
    fmpz_mul(bits, starts, between);
    fmpz_set(each, between);
    fmpz_addmul(each, starts, c->reply);
    if (fmpz_cmp(each, bits) < 0) fmpz_set(bits, each);
    fmpz_mul(each, u, c->reply);
    if (g) fmpz_mul(each, each, g);
    fmpz_add(bits, bits, each);
    fmpz_clear(each);
}

static bool prove_groups(hop__proof *out, hop__levels *levels, const hop__chosen *c)
{
    (void)levels;
    static const char *const names[] = {"u", "t", "s", "q", "g", "e", "Y"};
    fmpz_t starts, all, bits;
    fmpz_init(starts), fmpz_init(all), fmpz_init(bits);
    out->by = "P9", out->names = names, out->count = 7;
    for (int k = 0; k < 5; k++) fmpz_set(&out->of[k], &c->of[k]);
    fmpz_fdiv_q(&out->of[5], &c->sizes[2], &c->of[4]);
    label_bits(bits, starts, c, &c->of[4]);
    fmpz_mul(starts, starts, &c->of[0]);
    fmpz_mul(all, &c->of[0], &c->of[1]);
    fmpz_mul(all, all, &c->of[3]);
    hop__values_left(&out->of[6], all, bits, starts);
    fmpz_clear(starts), fmpz_clear(all), fmpz_clear(bits);
    return true;
}

static bool prove_draws(hop__proof *out, hop__levels *levels, const hop__chosen *c)
{
    static const char *const names[] = {"u", "t", "s", "q", "x", "a", "Y"};
    fmpz_t starts, bits, places;
    fmpz_init(starts), fmpz_init(bits), fmpz_init(places);
    out->by = "P9b", out->names = names, out->count = 7;
    for (int k = 0; k < 5; k++) fmpz_set(&out->of[k], &c->of[k]);
    label_bits(bits, starts, c, NULL);
    fmpz_cdiv_q(&out->of[5], bits, &c->of[2]);
    fmpz_mul(places, &c->of[0], &c->of[1]);
    bool good = hop__draws_prove(levels, &out->of[6], c, &out->of[5], places, &c->of[3], &c->of[4]);
    fmpz_clear(starts), fmpz_clear(bits), fmpz_clear(places);
    return good;
}

void hop__p9(hop__case *c, hop_bound *b)
{
    static const hop__count groups = {.hops = 3,
                                      .choices = 5,
                                      .free = 5,
                                      .last = 2,
                                      .height = height_a,
                                      .start = start,
                                      .prove = prove_groups};
    static const hop__count draws = {.hops = 3,
                                     .choices = 5,
                                     .free = 5,
                                     .draws = true,
                                     .last = 2,
                                     .height = height_b,
                                     .start = start_b,
                                     .prove = prove_draws};
    const hop__hybrid *s = &c->hybrid;
    hop__suppose_known_mixers(c, b);
    hop__suppose(c, b, c->hops >= 3, "at least three hops");
    hop__suppose(c, b, s->full == 2, hop__say(c, "two full layers, %s", hop__say_here(c, s->full)));
    hop__suppose_nothing_first(c, b);
    if (!b->applies) return;
    b->needs = "M (u t s q + N_1 - u t s + m + t s + u e g (1+t)) + A_1 >= e Y (g log2 N_2 - A_2)";
    b->has = hop__say_bits(c);
    hop_bound other = *b;
    hop__count_speak(c, b, &groups);
    if (fmpz_is_zero(&s->state[2]) || c->stopped) return; /* draws share the states of block 2 only */
    other.needs = "M (u t s q + N_1 - u t s + m + t s + u n_2 (1+t)) + A_2 n_2 t x + A_1 >= n_2 Y log2 N_2";
    hop__count_speak(c, &other, &draws);
    bool decided = c->by_sizes && other.answer != b->answer;
    if (decided ? other.answer == HOP_ANSWER_IMPOSSIBLE : other.log10_n < b->log10_n) *b = other;
}
