/* Theorems that are one inequality over integers which the proof chooses: P4', P7, P8, P9. What is searched
 * is in doubles that are integers; what is found becomes a certificate, or is nothing. */
#ifndef HOP_BOUNDS_COUNT_H
#define HOP_BOUNDS_COUNT_H

#include "certificate.h"

#define HOP__CHOICES    6
#define HOP__COUNT_HOPS 3

/* What was found. */
typedef struct hop__chosen {
    const fmpz *reply, *state;   /* M; A_0, A_1, .. */
    fmpz sizes[HOP__COUNT_HOPS]; /* m, n_1, .. */
    fmpz of[HOP__CHOICES];       /* the theorem's own integers */
    const hop__lines *lines;
} hop__chosen;

/* ---- the search --------------------------------------------------------------------------------- */

/* The given, for guesses. */
typedef struct hop__ground {
    double reply, state[HOP__COUNT_HOPS]; /* M; A_0, A_1, .. */
    double tail; /* the prompt has N_0 + .. + N_{L-2} + tail·N_{L-1} + 2 tokens: more hops are fans of 2 */
    bool fixed;  /* sizes are given */
    double sizes[HOP__COUNT_HOPS];
    hop__lines lines;
} hop__ground;

/* A point: integers, and what follows from them. */
typedef struct hop__point {
    double z[HOP__CHOICES];
    double sizes[HOP__COUNT_HOPS];
    bool
        exact; /* draws are counted as the certificate will, which takes ten times as long; else from above */
    double limit; /* above this height nothing is of interest */
} hop__point;

typedef struct hop__count {
    int hops, choices; /* of the choices the first `free` are searched, the others follow */
    int free;
    bool draws;
    int last; /* the size that is raised when rounding was too hopeful */
    /* Puts z within its range. Returns log2 of the length of the shortest prompt that it shows to be
     * impossible, with its sizes; at fixed sizes log2 of what is needed over what is there, below 0 when it
     * holds. Large where there is nothing. */
    double (*height)(const hop__ground *g, hop__point *p);
    void (*start)(const hop__ground *g, int number, double *z); /* one of HOP__STARTS */
    /* The certificate; with draws, `levels` are there to be filled. False: there is none. */
    bool (*prove)(hop__proof *out, hop__levels *levels, const hop__chosen *c);
} hop__count;

#define HOP__STARTS  6
#define HOP__NOWHERE 1e12

/* The shortest prompt found, or a proof at the sizes that are asked for; into b, with its certificate. */
void hop__count_speak(hop__case *c, hop_bound *b, const hop__count *theorem);

/* The least integer e >= least with e·(a·log2(c·e) - d) > k, for a, c, k > 0; infinite when it has more than
 * 2^1000 digits or so. */
double hop__least_root(double a, double c, double d, double k, double least);
/* The product of two integers, not rounded down. */
double hop__product(double a, double b);
/* log2 of the length of p's sizes. */
double hop__log2_length(const hop__ground *g, const hop__point *p, int hops);

/* Of q values, how many x draws have: guessed, a little above or as a certificate shows it. Not above 0: none. */
double hop__draws_phi(const hop__ground *g, const hop__point *p, double draws, double q, double delta);
/* x·t < 2^x, which the checker asks of draws at t places: how much log2 of it is missing; 0: it holds. */
double hop__draws_missing(double draws, double places);
/* Y with (Y-1)·2^(bits/places) < all: the most values that some label is sure to leave. */
void hop__values_left(fmpz_t out, const fmpz *all, const fmpz *bits, const fmpz *places);
/* The lines of a certificate, and the values that they show. */
bool hop__draws_prove(hop__levels *l, fmpz_t values, const hop__chosen *c, const fmpz *bits,
                      const fmpz *places, const fmpz *q, const fmpz *draws);

#endif
