/* Integers that make an inequality hold at the shortest prompt: descent by factors, smaller and smaller, of
 * any of the integers at once, from several starts; then from where it ended, shaken. What is found becomes
 * a certificate. */
#include "count.h"

#include <math.h>
#include <string.h>

#define MOST_HEIGHTS 300000 /* that are asked for, all starts together */
#define PATIENCE     90000  /* of them that lead nowhere, once all starts are tried */

double hop__least_root(double a, double c, double d, double k, double least)
{
    double zero = exp2(d / a) / c, rest = k / (a * zero) * M_LN2; /* y·ln y = rest, e = y·zero */
    if (!(zero < 1e300) || !(rest < 1e300)) {
        if (!(d / a < 0)) return INFINITY;
        zero = 1e-300 / c, rest = INFINITY;
    }
    double e;
    if (rest < 1e300) {
        double y = 1 + rest;
        for (int i = 0; i < 60; i++) {
            double ln = log(y), step = (y * ln - rest) / (ln + 1);
            y -= step;
            if (step <= 1e-16 * y) break;
        }
        e = floor(y * zero) + 1;
    } else {
        e = k / fmax(-d, 1e-300); /* the logarithm counts for nothing */
        for (int i = 0; i < 60; i++) e = k / (a * log2(c * e) - d);
        e = floor(e) + 1;
    }
    return e > least ? e : least;
}

double hop__product(double a, double b)
{
    return a * b < 0x1p53 ? a * b : nextafter(a * b, INFINITY);
}

double hop__log2_length(const hop__ground *g, const hop__point *p, int hops)
{
    double table = 1, tokens = 2;
    for (int l = 0; l < hops; l++) {
        table *= p->sizes[l];
        tokens += l == hops - 1 ? g->tail * table : table;
    }
    return log2(tokens);
}

double hop__draws_phi(const hop__ground *g, const hop__point *p, double draws, double q, double delta)
{
    hop__law law;
    if (!p->exact) return hop__lines_phi(&g->lines, draws, q, delta);
    return hop__law_find(&law, &g->lines, draws, q, delta) ? law.phi - 1.1 * HOP__LEVELS_LOSS : 0;
}

double hop__draws_missing(double draws, double places)
{
    return fmax(0, log2(draws) + log2(places) + 1e-9 - draws);
}

/* ---- descent ------------------------------------------------------------------------------------ */

typedef struct seeker {
    const hop__count *theorem;
    const hop__ground *ground;
    hop__case *c;
    int left; /* heights that may still be asked for */
    hop__point best;
    double lowest;
} seeker;

static bool going_on(seeker *s)
{
    if (!hop_progress_tick(s->c->q->progress, "sizes", MOST_HEIGHTS - s->left, MOST_HEIGHTS))
        s->c->stopped = true;
    return !s->c->stopped && s->left > 0 && !(s->ground->fixed && s->lowest < -1e-9);
}

/* A guess first: most points are worse even by it. */
static double height_of(seeker *s, hop__point *p)
{
    s->left--;
    p->exact = false;
    double h = s->theorem->height(s->ground, p);
    if (s->theorem->draws && h < p->limit) {
        p->exact = true;
        h = s->theorem->height(s->ground, p);
    }
    if (h < s->lowest) {
        s->lowest = h;
        s->best = *p;
    }
    return h;
}

/* z in the direction, a base-3 number of -1, 0, +1, by a factor, but at least by 1. */
static void move(double *z, int dims, int direction, double by)
{
    for (int i = 0; i < dims; i++, direction /= 3) {
        double to = direction % 3 == 1 ? floor(z[i] * by) : ceil(z[i] / by);
        if (to == z[i]) to += direction % 3 == 1 ? 1 : -1;
        if (direction % 3) z[i] = fmax(1, to);
    }
}

/* Steps in every direction while one leads down. */
static void descend_by(seeker *s, hop__point *at, double *height, double by)
{
    int dims = s->theorem->free, directions = (int)pow(3, dims);
    for (bool better = true; better && going_on(s);) {
        better = false;
        for (int d = 1; d < directions && s->left > 0; d++)
            for (int repeat = 0; repeat < 8; repeat++) {
                hop__point trial = *at;
                trial.limit = *height;
                move(trial.z, dims, d, by);
                double h = height_of(s, &trial);
                if (!(h < *height)) break;
                *at = trial;
                *height = h;
                better = true;
            }
    }
}

static void descend(seeker *s, const double *z, double widest)
{
    hop__point at = {.limit = INFINITY};
    memcpy(at.z, z, sizeof at.z);
    double height = height_of(s, &at);
    for (double by = widest; by > 1.001; by = 1 + (by - 1) / 2) descend_by(s, &at, &height, by);
    descend_by(s, &at, &height, 1);
}

/* A hash of the two: the same integers every time. */
static double noise(uint64_t i, uint64_t k)
{
    uint64_t x = (i * 31 + k + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (double)((x ^ (x >> 32)) & 0xFFFFFF) / 0x800000 - 1;
}

/* `first`: a start of its own, if it has one. */
static void search(seeker *s, const double *first)
{
    double z[HOP__CHOICES] = {0};
    for (int i = first[0] > 0 ? -1 : 0; i < HOP__STARTS && going_on(s); i++) {
        if (i < 0)
            memcpy(z, first, sizeof z);
        else
            s->theorem->start(s->ground, i, z);
        int kept = s->left, share = MOST_HEIGHTS / 2 / HOP__STARTS;
        s->left = share;
        descend(s, z, 4);
        s->left = kept - (share - s->left);
    }
    int found = s->left; /* when the best was found, or the starts were done */
    int patience = s->theorem->draws ? PATIENCE / 2 : PATIENCE;
    double before = s->lowest;
    for (int i = 0; s->lowest < HOP__NOWHERE && found - s->left < patience && going_on(s); i++) {
        double far = i % 3 == 0 ? 0.4 : i % 3 == 1 ? 0.15 : 0.05;
        for (int k = 0; k < s->theorem->free; k++)
            z[k] = fmax(1, round(s->best.z[k] * exp(far * noise((uint64_t)i, (uint64_t)k))));
        descend(s, z, 1 + far / 4);
        if (s->lowest < before) found = s->left, before = s->lowest;
    }
}

/* ---- what is found becomes a certificate ------------------------------------------------------------ */

/* all/2^(bits/places), a little less, so that the checker's enclosures see it. */
typedef struct left_case {
    const fmpz *all, *bits, *places;
} left_case;

static void values_left(arb_t out, const void *ctx, slong prec)
{
    const left_case *c = ctx;
    arb_t two;
    arb_init(two);
    arb_fmpz_div_fmpz(out, c->bits, c->places, prec + 64);
    arb_neg(out, out);
    arb_set_ui(two, 2);
    arb_pow(out, two, out, prec + 64);
    arb_mul_fmpz(out, out, c->all, prec + 64);
    arb_mul_2exp_si(two, out, -100);
    arb_sub(out, out, two, prec + 64);
    arb_clear(two);
}

void hop__values_left(fmpz_t out, const fmpz *all, const fmpz *bits, const fmpz *places)
{
    fmpz_t most;
    fmpz_init(most);
    fmpz_mul_ui(most, places, fmpz_bits(all));
    left_case c = {all, bits, places};
    if (fmpz_cmp(bits, most) >= 0 || !hop__ceiling(out, values_left, &c)) fmpz_one(out);
    fmpz_clear(most);
}

bool hop__draws_prove(hop__levels *l, fmpz_t values, const hop__chosen *c, const fmpz *bits,
                      const fmpz *places, const fmpz *q, const fmpz *draws)
{
    hop__law law;
    double delta = exp2(hop__to_log2(bits) - hop__to_log2(places));
    return hop__law_find(&law, c->lines, fmpz_get_d(draws), fmpz_get_d(q), delta) &&
           hop__levels_find(l, values, &law, bits, places, q, draws);
}

static void chosen_clear(hop__chosen *v)
{
    for (int l = 0; l < HOP__COUNT_HOPS; l++) fmpz_clear(&v->sizes[l]);
    for (int k = 0; k < HOP__CHOICES; k++) fmpz_clear(&v->of[k]);
}

static bool certified(const seeker *s, const hop__chosen *v, hop_bound *b)
{
    hop__proof proof = {0};
    hop__levels levels = {.count = 0};
    bool good = s->theorem->prove(&proof, &levels, v);
    if (s->theorem->draws) proof.levels = &levels;
    good = good && hop__certify(s->c, b, &proof, v->sizes, s->theorem->hops);
    hop__proof_clear(&proof);
    if (s->theorem->draws) hop__levels_clear(&levels);
    return good;
}

/* The point as integers that hold; where sizes are free, the last grows a little until they do. */
static bool settle(const seeker *s, hop__chosen *v, hop_bound *b)
{
    const hop__count *t = s->theorem;
    const hop__point *p = &s->best;
    if (!(s->lowest < HOP__NOWHERE)) return false;
    for (int l = 0; l < t->hops; l++)
        if (s->ground->fixed)
            fmpz_set(&v->sizes[l], &s->c->sizes[l]);
        else
            fmpz_set_d(&v->sizes[l], p->sizes[l]);
    for (int k = 0; k < t->choices; k++) fmpz_set_d(&v->of[k], p->z[k]);
    if (certified(s, v, b)) return true;
    for (int i = 0; i < 30 && !s->ground->fixed; i++) {
        fmpz_t more;
        fmpz_init(more);
        hop__scaled(more, &v->sizes[t->last], 2 * i - 50.0);
        fmpz_add(&v->sizes[t->last], &v->sizes[t->last], more);
        fmpz_clear(more);
        if (certified(s, v, b)) return true;
    }
    return false;
}

/* z: where to start, besides the theorem's own starts, and where it ends. */
static bool find(hop__case *c, hop_bound *b, const hop__count *t, hop__ground *g, hop__chosen *v,
                 double z[HOP__CHOICES])
{
    seeker s = {.theorem = t, .ground = g, .c = c, .left = MOST_HEIGHTS, .lowest = INFINITY};
    search(&s, z);
    memcpy(z, s.best.z, sizeof s.best.z);
    return !c->stopped && settle(&s, v, b);
}

void hop__count_speak(hop__case *c, hop_bound *b, const hop__count *t)
{
    const hop__hybrid *s = &c->hybrid;
    hop__ground g = {.reply = fmpz_get_d(&s->reply), .tail = exp2(c->hops - t->hops + 1) - 1};
    hop__chosen v = {.reply = &s->reply, .state = s->state, .lines = &g.lines};
    for (int e = 0; e <= s->full; e++) g.state[e] = fmpz_get_d(&s->state[e]);
    double z[HOP__CHOICES] = {0};
    hop__lines_init(&g.lines);
    if (find(c, b, t, &g, &v, z))
        hop__speak_at(c, b, v.sizes, t->hops);
    else
        b->why = "the search found no sizes that can be verified";
    if (c->by_sizes && !c->stopped) {
        g.fixed = true;
        for (int l = 0; l < t->hops; l++) g.sizes[l] = fmpz_get_d(&c->sizes[l]);
        hop__speak_here(c, b, find(c, b, t, &g, &v, z));
    }
    chosen_clear(&v);
}
