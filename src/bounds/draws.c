/* The lines of lemma 3 for Poisson draws, as a guess. For a b below 1/e the function 1 - e^-v + b·v·ln v is convex,
 * concave and convex again, and the best line is the one that touches it on both sides, at v_0 < 1 < v_1: one
 * line for each v_0. What a line gives at (λ, δ) is concave in b, so the best is found by halving. For x draws
 * levels.c has the line itself. */
#include "draws.h"

#include <math.h>

#define FIRST 0x1p-9 /* -ln v_0 of the first line and of the last */
#define LAST  24.0

typedef struct touch {
    double v1, a, b, c;
} touch;

/* The line with the same slope at v0 and v1, and by how much it passes below the second point. */
static double slanted(double v0, double v1, touch *t)
{
    t->v1 = v1;
    t->b = (exp(-v0) - exp(-v1)) / log(v1 / v0);
    t->a = exp(-v0) + t->b * (log(v0) + 1);
    t->c = t->a * v0 - (1 - exp(-v0)) - t->b * v0 * log(v0);
    return 1 - exp(-v1) + t->b * v1 * log(v1) - t->a * v1 + t->c;
}

static touch touch_twice(double v0)
{
    touch t;
    double low = 1, high = 64;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (slanted(v0, middle, &t) > 0)
            low = middle;
        else
            high = middle;
    }
    slanted(v0, high, &t);
    return t;
}

static double place_of(double i)
{
    return exp(-FIRST * exp(i / (HOP__LINES - 1) * log(LAST / FIRST)));
}

void hop__lines_init(hop__lines *t)
{
    for (int i = 0; i < HOP__LINES; i++) {
        double v0 = place_of(i);
        touch at = touch_twice(v0);
        t->at[i].v0 = v0, t->besides[i].v1 = at.v1, t->at[i].a = at.a, t->at[i].b = at.b, t->at[i].c = at.c;
        t->besides[i].more0 = exp(-v0) * v0 * v0 / 2, t->besides[i].more1 = exp(-at.v1) * at.v1 * at.v1 / 2;
    }
}

static double given_by(const hop__lines *t, int i, double lambda, double weight)
{
    return lambda * (t->at[i].a - t->at[i].b * weight) - t->at[i].c;
}

/* Halving without a branch, which nobody could foretell: this is half of the time of a search. */
static int best_line(const hop__lines *t, double lambda, double weight)
{
    _Static_assert((HOP__LINES & (HOP__LINES - 1)) == 0, "halves are whole");
    int low = 0;
    for (int half = HOP__LINES / 2; half > 0; half /= 2) {
        bool rises = given_by(t, low + half - 1, lambda, weight) < given_by(t, low + half, lambda, weight);
        low += half & -(int)rises;
    }
    return low;
}

/* The law that is worst for Poisson draws, asked about x draws: a little more than the worst for these. */
double hop__lines_phi(const hop__lines *t, double draws, double q, double delta)
{
    double lambda = draws / q, weight = log(lambda) + delta * M_LN2;
    int i = best_line(t, lambda, weight);
    double share = (lambda - t->at[i].v0) / (t->besides[i].v1 - t->at[i].v0);
    share = fmin(1, fmax(0, share));
    double more = (1 - share) * t->besides[i].more0 + share * t->besides[i].more1;
    return given_by(t, i, lambda, weight) + more / draws + 1e-5;
}

void hop__lines_touch(const hop__lines *t, double lambda, double delta, double *v0, double *v1)
{
    int i = best_line(t, lambda, log(lambda) + delta * M_LN2);
    *v0 = t->at[i].v0, *v1 = t->besides[i].v1;
}
