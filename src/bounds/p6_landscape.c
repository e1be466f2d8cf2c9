/* P6 over the reals. Sizes are so large that everything is kept as its logarithm to base 2, and the
 * conditions are solved rather than tested, so that almost every point is feasible: x_l is the least that
 * image l allows, n_{l-1} follows from the share of its addresses' bits that d_l + g_l may take, and n_{L-1} is the
 * least that the end allows. All depends on |W| = n_1 .. n_{L-1}, which comes out last: the least fixed point
 * is approached from below, and where there is none there are no sizes.
 *
 * Coordinates are chosen so that a good point has small ones. How |W| enters every condition decides how fast
 * the ratios r_l = s_l/N_{l-1} must fall: x_1 .. x_l being of the order of N_0·r_l/x_0,
 *
 *     the end asks for     r_{L-2} <= r_{L-1}·log2 N/M
 *     image l asks for     r_{l-2} <= r_{l-1}·y_l/((L-l+1)·M·n_l .. n_{L-1}),     y_l = log2(1/r_l)
 *     image 2 asks for     m >= M·n_2 .. n_{L-1}·x_0/(r_1·y_2)
 *     a_l makes            n_l >= l·(L-l)·M/(r_{l-1}·y_{l+1})
 *
 * and a coordinate is how much more than this there is:
 *
 *     z[0], z[1]      log2 of m and of x_0 over what is asked (x_0·y_1 >= A_0)
 *     z[2]            ln y_{L-1}
 *     z[1+k]          log2 of the slack of r_{L-k}, k = 2 .. L-1
 *     z[L+l-1]        logit of the share of d_l + g_l, l = 2 .. L-1
 *
 * P7G differs in what image 1 has, M·|W| + x_0·A_1, so that x_0 is measured by M·|W| instead of A_0 and
 * y_1 from A_1 on, in image 2 (L-1 times as much), and in the terms that follow from the one full layer more.
 *
 * With fixed sizes z has log2 x_0 and ln y_1 .. ln y_{L-1} only. */
#include "p6_search.h"

#include <math.h>

#define NOWHERE 1e12

static double add_log(double a, double b) /* log2(2^a + 2^b) */
{
    double most = fmax(a, b), least = fmin(a, b);
    return least == -INFINITY ? most : most + log2(1 + exp2(least - most));
}

static double log_entropy(double y) /* log2 of h(2^-y), or of what hop__p6_image has in its place */
{
    if (y > HOP__P6_SMALL_PART - 1) return log2(y + 1.5849625007211561815) - y;
    double r = exp2(-y);
    return log2(r * y - (1 - r) * log1p(-r) * 1.4426950408889634074);
}

int hop__p6_dims(const hop__p6_ground *g)
{
    return g->fixed ? g->hops : 2 * g->hops - 1;
}

/* A point's own numbers: log2 of m, x_0 and the shares, y_l itself. */
typedef struct point {
    double m, x0, y[HOP__P6_MOST_HOPS], share[HOP__P6_MOST_HOPS + 1];
} point;

static void place_fixed(const hop__p6_ground *g, const double *z, point *p)
{
    p->m = g->sizes[0];
    p->x0 = fmax(0, fmin(z[0], p->m));
    for (int l = 1; l < g->hops; l++) p->y[l] = exp(fmin(z[l], 20)) + 1e-9;
}

static void place(const hop__p6_ground *g, const double *z, double given, point *p)
{
    int L = g->hops;
    double fans = 0; /* log2 of n_l .. n_{L-1} */
    for (int l = 2; l < L; l++) p->share[l] = -log2(1 + exp(-z[L + l - 1]));
    p->y[L - 1] = exp(fmin(z[2], 20)) + 1e-9;
    if (L > 2) p->y[L - 2] = fmax(0.01, p->y[L - 1] + fmax(0, g->reply - g->entry) + z[3]);
    for (int l = L - 1; l >= 2; l--) {
        double factor = g->whole || l < L - 1 ? (double)l * (L - l) : L - 2;
        double bits =
            l < L - 1 ? log2(p->y[l + 1]) + p->share[l + 1] : g->entry; /* of an address, for Δ_{l+1} */
        fans += fmax(1, log2(factor) + g->reply + p->y[l - 1] - bits);
        if (l > 2)
            p->y[l - 2] =
                fmax(0.01, p->y[l - 1] - log2(p->y[l]) + log2(L - l + 1) + g->reply + fans + z[L - l + 3]);
    }
    p->x0 = fmax(0, (g->whole ? g->reply + given : g->state[0]) - log2(p->y[1]) + z[1]);
    if (g->whole) p->y[1] += exp2(g->state[1]);
    double asked = (g->whole ? log2(L - 1) : 0) + g->reply + fans + p->x0;
    p->m = fmax(1, asked + p->y[1] - (L > 2 ? log2(p->y[2]) : g->entry) + z[0]);
    p->x0 = fmin(p->x0, p->m);
}

/* Follows the conditions for a |W|. Returns false, with how much is missing, when an image cannot hold. */
typedef struct walk {
    double joint, each, delta; /* log2 of d_l, g_l, their sum */
    double table, tokens;      /* of N_{l-1}, T_l */
    double reach, chosen;      /* of s_{l-1}, x_0 .. x_{l-1} */
    double lacks;
} walk;

static bool walk_step(walk *w, const hop__p6_ground *g, const point *at, int l, hop__p6_place *p)
{
    int L = g->hops;
    double y = at->y[l], bits = w->reach + log2(y); /* of s_{l-1}·y_l */
    if (l > 1) {
        p->sizes[l - 1] = g->fixed ? g->sizes[l - 1] : fmax(1, w->delta - bits - at->share[l]);
        bits += p->sizes[l - 1];
        w->table += p->sizes[l - 1];
    }
    if (w->delta >= bits) {
        w->lacks = w->delta - bits;
        return false;
    }
    double left = w->delta == -INFINITY ? bits : bits + log2(-expm1((w->delta - bits) * M_LN2));
    y = fmin(y, w->table); /* s_l >= 1 */
    double x = fmax(
        0, add_log(g->whole ? -1 : 0, w->table + log_entropy(y) -
                                          left)); /* it will be rounded up; P7G finds more with half of it */
    p->ratio[l] = -y;
    w->reach = w->table - y;
    bool last = !g->whole && l == L - 1;
    double a = !last   ? log2((double)l * (L - l)) + w->table + g->reply
               : L > 2 ? add_log(log2(L - 2) + w->table + g->reply, g->state[l])
                       : g->state[l];
    double b = g->reply + log2(L - l) + w->tokens;
    double old = add_log(log2(L - l) + w->each, x + w->joint);
    w->chosen += x;
    if (g->whole) old = add_log(old, w->chosen + g->state[l + 1]);
    if (!g->whole && l == 1 && L > 2) {
        w->joint = g->state[1];
        w->each = add_log(w->each, g->reply + add_log(x + w->table, w->tokens));
    } else {
        w->joint = add_log(add_log(add_log(old, g->states_to[l - last]), x + a), add_log(b, 0));
        w->each = -INFINITY;
    }
    w->delta = add_log(w->joint, w->each);
    w->tokens = add_log(w->tokens, w->table) + x;
    return true;
}

/* log2 of the least |W| that the conditions ask for when they are given `given`; when fixed, what the end
 * lacks. */
static double walk_all(const hop__p6_ground *g, const point *at, double given, hop__p6_place *p)
{
    int L = g->hops;
    p->sizes[0] = at->m;
    p->x0 = at->x0;
    walk w = {.joint = g->whole ? p->x0 + g->state[1] : -INFINITY,
              .each = g->whole ? g->reply + given : g->state[0],
              .table = p->sizes[0],
              .tokens = add_log(given, 0) + p->x0,
              .reach = p->x0,
              .chosen = p->x0};
    w.delta = add_log(w.joint, w.each);
    for (int l = 1; l < L; l++)
        if (!walk_step(&w, g, at, l, p)) return NOWHERE + w.lacks;
    double last = w.delta - w.reach - log2(p->sizes[0] + given);
    if (g->fixed) return last - g->sizes[L - 1];
    p->sizes[L - 1] = fmax(1, last);
    double product = 0;
    for (int l = 1; l < L; l++) product += p->sizes[l];
    return product;
}

static double length_of(const hop__p6_ground *g, const hop__p6_place *p)
{
    double table = p->sizes[0], length = table;
    for (int l = 1; l < g->hops; l++) {
        table += p->sizes[l];
        length = add_log(length, table);
    }
    return length;
}

/* The least |W| that asks for no more than itself, by Steffensen's method from below. */
double hop__p6_height(const hop__p6_ground *g, const double *z, hop__p6_place *p)
{
    double given = g->hops - 1, before = 0, change = 0;
    point at = {0};
    if (g->fixed) {
        place_fixed(g, z, &at);
        given = 0;
        for (int l = 1; l < g->hops; l++) given += g->sizes[l];
        return walk_all(g, &at, given, p);
    }
    for (int i = 0; i < 100; i++) {
        place(g, z, given, &at);
        double wants = walk_all(g, &at, given, p);
        if (wants >= NOWHERE) return wants;
        if (!(wants < 1e7)) return NOWHERE - 1;
        change = wants - given;
        if (fabs(change) <= 1e-11 * (1 + given)) return length_of(g, p);
        double rate = i % 2 ? change / before : 0; /* of the approach, every second step */
        before = change;
        given = wants + (rate > 0 && rate < 0.999 ? change * rate / (1 - rate) : 0);
    }
    return NOWHERE - 2;
}

/* log2 of log2 N is known only when a point is; nothing depends on its being right. */
void hop__p6_estimate_entry(hop__p6_ground *g)
{
    double z[HOP__P6_DIMS];
    hop__p6_place ignored;
    g->entry = 6;
    for (int i = 0; i < 6; i++) {
        hop__p6_start(g, 2, z);
        double h = hop__p6_height(g, z, &ignored);
        if (h < NOWHERE - 2) g->entry = log2(h);
    }
}

/* A slack for everything, shares that grow with l or not, and the best m above. */
void hop__p6_start(const hop__p6_ground *g, int number, double *z)
{
    int L = g->hops;
    double slack = 1.5 * (1 + number % 4), best = INFINITY, at = 0;
    hop__p6_place ignored;
    if (g->fixed) {
        double first = g->whole ? g->reply : g->state[0];
        for (int l = 1; g->whole && l < L; l++) first += g->sizes[l];
        z[0] = fmin(g->sizes[0], fmax(0, first - 1 + slack));
        for (int l = 1; l < L; l++) z[l] = log(number < 4 ? 1.5 : 4);
        return;
    }
    z[1] = slack;
    z[2] = log(1.3);
    for (int k = 3; k <= L; k++) z[k] = slack + 2 * (k - 3); /* the further from the end, the more */
    for (int l = 2; l < L; l++) z[L + l - 1] = number < 4 ? 0 : -1.1 * (L - 1 - l);
    for (z[0] = -4; z[0] < 200; z[0] += 0.5) {
        double h = hop__p6_height(g, z, &ignored);
        if (h < best) best = h, at = z[0];
        if (best < NOWHERE - 2 && z[0] > at + 8) break;
    }
    z[0] = at;
}
