/* P6 over the reals. Sizes are so large that everything is kept as its logarithm to base 2, and the
 * conditions are solved rather than tested, so that almost every point is feasible. A point has
 *
 *     z[0]            log2 m
 *     z[1]            log2 x_0
 *     z[1+l]          ln y_l,  y_l = log2(N_{l-1}/s_l)                             l = 1 .. L-1
 *     z[L+l-1]        logit of the share of n_{l-1}·s_{l-1}·y_l that Δ_l takes     l = 2 .. L-1
 *
 * Then x_l is the least that image l allows, n_{l-1} follows from the share, and n_{L-1} is the least that
 * the end allows. All depends on |W| = n_1 .. n_{L-1}, which comes out last: the least fixed point is
 * approached from below, and where there is none (m too small) there are no sizes. With fixed sizes z has x_0
 * and y_l only. */
#include "p6_search.h"

#include <math.h>

#define NOWHERE 1e12

static double add_log(double a, double b) /* log2(2^a + 2^b) */
{
    double most = fmax(a, b), least = fmin(a, b);
    return least == -INFINITY ? most : most + log2(1 + exp2(least - most));
}

static double entropy(double y) /* h(2^-y) */
{
    double r = exp2(-y);
    return r * y - (1 - r) * log1p(-r) * 1.4426950408889634074;
}

int hop__p6_dims(const hop__p6_ground *g)
{
    return g->fixed ? g->hops : 2 * g->hops - 1;
}

/* The point's own numbers, wherever they stand in z. */
static double log_x0(const hop__p6_ground *g, const double *z)
{
    return fmax(0, fmin(z[g->fixed ? 0 : 1], g->fixed ? g->sizes[0] : z[0]));
}

static double log_ratio(const hop__p6_ground *g, const double *z, int l)
{
    return exp(fmin(z[g->fixed ? l : 1 + l], 20)) + 1e-9;
}

static double log_share(const hop__p6_ground *g, const double *z, int l)
{
    double t = z[g->hops + l - 1];
    return -log2(1 + exp(-t));
}

/* Follows the conditions for a |W|. Returns false, with how much is missing, when an image cannot hold. */
typedef struct walk {
    double delta, table, tokens; /* log2 of Δ_l, N_{l-1}, T_l */
    double reach;                /* log2 of s_{l-1} */
    double lacks;
} walk;

static bool walk_step(walk *w, const hop__p6_ground *g, const double *z, int l, hop__p6_place *p)
{
    int L = g->hops;
    double y = log_ratio(g, z, l), bits = w->reach + log2(y); /* of s_{l-1}·y_l */
    if (l > 1) {
        p->sizes[l - 1] = g->fixed ? g->sizes[l - 1] : fmax(1, w->delta - bits - log_share(g, z, l));
        bits += p->sizes[l - 1];
        w->table += p->sizes[l - 1];
    }
    if (w->delta >= bits) {
        w->lacks = w->delta - bits;
        return false;
    }
    double left = w->delta == -INFINITY ? bits : bits + log2(-expm1((w->delta - bits) * M_LN2));
    y = fmin(y, w->table); /* s_l >= 1 */
    double x = fmax(0, w->table + log2(entropy(y)) - left);
    p->ratio[l] = exp2(-y);
    w->reach = w->table - y;
    double a = l < L - 1 ? log2((double)l * (L - l)) + w->table + g->reply
               : L > 2   ? add_log(log2(L - 2) + w->table + g->reply, g->state[L - 1])
                         : g->state[L - 1];
    double b = g->reply + log2(L - l) + w->tokens;
    w->delta = add_log(add_log(add_log(x + w->delta, g->states_to[l]), x + a), add_log(b, 0));
    w->tokens = add_log(w->tokens, w->table) + x;
    return true;
}

/* log2 of the least |W| that the conditions ask for when they are given `given`; when fixed, what the end
 * lacks. */
static double walk_all(const hop__p6_ground *g, const double *z, double given, hop__p6_place *p)
{
    int L = g->hops;
    p->sizes[0] = g->fixed ? g->sizes[0] : fmax(1, z[0]);
    p->x0 = log_x0(g, z);
    walk w = {
        .delta = g->state[0], .table = p->sizes[0], .tokens = add_log(given, 0) + p->x0, .reach = p->x0};
    for (int l = 1; l < L; l++)
        if (!walk_step(&w, g, z, l, p)) return NOWHERE + w.lacks;
    double last = w.delta - w.reach - log2(p->sizes[0] + given);
    if (g->fixed) return last - g->sizes[L - 1];
    p->sizes[L - 1] = fmax(1, last);
    double product = 0;
    for (int l = 1; l < L; l++) product += p->sizes[l];
    return product;
}

double hop__p6_height(const hop__p6_ground *g, const double *z, hop__p6_place *p)
{
    double given = 0;
    if (g->fixed) {
        for (int l = 1; l < g->hops; l++) given += g->sizes[l];
        return walk_all(g, z, given, p);
    }
    given = g->hops - 1;
    for (int i = 0; i < 300; i++) {
        double wants = walk_all(g, z, given, p);
        if (wants >= NOWHERE || !(wants < 1e7)) return wants >= NOWHERE ? wants : NOWHERE - 1;
        if (wants <= given + 1e-12 * (1 + given)) {
            double length = 0, table = 0;
            for (int l = 0; l < g->hops; l++)
                table += p->sizes[l], length = l ? add_log(length, table) : table;
            return length;
        }
        /* Approached from below; a third of the way further each few steps saves most of them. */
        given = i % 4 == 3 ? wants + (wants - given) : wants;
    }
    return NOWHERE - 2;
}

void hop__p6_start(const hop__p6_ground *g, int number, double *z)
{
    static const double ratios[] = {3, 5, 9}, excess[] = {1, 3}, shares[] = {0, 1.5};
    double y = ratios[number % 3];
    double x0 = fmax(0, g->state[0] - log2(y) + excess[number / 3 % 2]);
    int L = g->hops;
    for (int l = 1; l < L; l++) z[g->fixed ? l : 1 + l] = log(y);
    z[g->fixed ? 0 : 1] = x0;
    if (g->fixed) return;
    for (int l = 2; l < L; l++) z[L + l - 1] = shares[number / 6];
    hop__p6_place p;
    z[0] = fmax(4, x0);
    while (z[0] < 1e6 && hop__p6_height(g, z, &p) >= NOWHERE - 2) z[0] *= 1.1;
}
