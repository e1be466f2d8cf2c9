/* P6 as a landscape over the reals, in logarithms to base 2. */
#ifndef HOP_BOUNDS_P6_SEARCH_H
#define HOP_BOUNDS_P6_SEARCH_H

#include "p6.h"

#define HOP__P6_DIMS (2 * HOP__P6_MOST_HOPS - 1)

/* The given: sizes too when they are fixed. */
typedef struct hop__p6_ground {
    int hops;
    bool whole;
    double reply, state[HOP__P6_MOST_HOPS + 1]; /* log2 of M, A_e */
    double states_to[HOP__P6_MOST_HOPS];        /* of A_0 + .. + A_e */
    bool fixed;
    double sizes[HOP__P6_MOST_HOPS]; /* fixed: log2 of m, n_1, .. */
    double entry;                    /* about log2 log2 N; hop__p6_estimate_entry */
} hop__p6_ground;

/* Where a point leads to: log2 of everything. */
typedef struct hop__p6_place {
    double sizes[HOP__P6_MOST_HOPS], x0;
    double ratio[HOP__P6_MOST_HOPS]; /* (s_l - 1)/N_{l-1} */
} hop__p6_place;

void hop__p6_estimate_entry(hop__p6_ground *g); /* not for fixed sizes */
int hop__p6_dims(const hop__p6_ground *g);
/* log2 of the length; when fixed, log2 of what the end lacks (below 0: it holds). Large where there is
 * nothing. */
double hop__p6_height(const hop__p6_ground *g, const double *z, hop__p6_place *place);
/* A point to start from, one of hop__p6_starts. */
#define HOP__P6_STARTS 8
void hop__p6_start(const hop__p6_ground *g, int number, double *z);

/* Integers near the place, with the sizes as small as they go; false: none hold. */
bool hop__p6_round(hop__p6_numbers *p, const hop__p6_place *from);

/* An image of k of N values: what the checker takes for log2 C(N, k), and log2(N/k), bits that an address has in it
 * too few. Where k is a small part of N the first is k·log2(3N/k), since enclosures of N^N would lose it. */
#define HOP__P6_SMALL_PART 40 /* by so many bits; the two then hardly differ */
void hop__p6_image(arb_t choices, arb_t each, const fmpz_t k, const fmpz_t table, slong prec);

/* At fixed sizes: x near the place, as a start. */
void hop__p6_start_x(hop__p6_numbers *p, const hop__p6_place *place);
/* At fixed sizes: from the x that p has to some, with their s, that hold; false: none found. */
bool hop__p6_fit(hop__p6_numbers *p);
/* On the way through the hops: before hop l, N_{l-1}, n_{l-1}·s_{l-1} (x_0 for l = 1), T_l; of all tables above, a share of
 * 2^-g_l each, and of those together one of 2^-d_l; their sum, which the image has. At last delta is Δ_L. */
typedef struct hop__p6_walk {
    fmpz_t table, addresses, tokens, joint, each, delta;
} hop__p6_walk;

void hop__p6_walk_init(hop__p6_walk *w, const hop__p6_numbers *p);
void hop__p6_walk_step(hop__p6_walk *w, const hop__p6_numbers *p, int l); /* needs x_l, s_l */
void hop__p6_walk_clear(hop__p6_walk *w);

/* Nelder and Mead's simplex from `z`, with edges of `step`; z receives the lowest point. */
typedef double hop__height_fn(const void *ctx, const double *z);
double hop__simplex(hop__height_fn *f, const void *ctx, double *z, int dims, double step, int evaluations);

#endif
