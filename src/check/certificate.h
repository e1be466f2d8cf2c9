/* A certificate (proofs/CERTIFICATE.md) as this room reads it, and the checkers of proofs/Check.v. */
#ifndef HOP_CHECK_CERTIFICATE_H
#define HOP_CHECK_CERTIFICATE_H

#include <stdbool.h>

#include <flint/fmpz.h>

/* A list of integers, somebody else's. */
typedef struct hop__integers {
    const fmpz *of;
    long count;
} hop__integers;

/* How one sees that x draws take many values. */
typedef struct hop__way {
    bool climbs;         /* else by lines */
    hop__integers first; /* lines: s, kap, E, D, G */
    hop__integers steps; /* triples: (a, u, w) of a line, (f, a, b) of a climb */
} hop__way;

/* What a theorem compares in the end: bits < times log2 base. */
typedef struct hop__sides {
    fmpz bits, base, times;
} hop__sides;

/* "No network of these widths solves the task at these sizes." */
typedef struct hop__bound_claim {
    const fmpz *m, *reply;
    hop__integers fan, state; /* n_1 .. n_{L-1}; A_0 .. A_F */
    hop__integers given;      /* the theorem's integers, without the way */
    hop__way way;
    hop__sides *sides; /* filled by the checker; NULL: nobody asks */
} hop__bound_claim;

typedef struct hop__bound_rule {
    const char *by;                           /* as the certificate calls it */
    const char *file;                         /* of proofs/, which has the theorem .. */
    const char *theorem;                      /* .. of this name */
    int hops;                                 /* fans that it takes and 1; 0: any number */
    int full;                                 /* full layers; -1: as the integers say */
    int given;                                /* integers; -1: x_0, and two a hop */
    bool way;                                 /* and a way */
    bool nothing_first;                       /* A_0 is 0 */
    bool (*holds)(const hop__bound_claim *c); /* the checker, to which all of this is known */
} hop__bound_rule;

const hop__bound_rule *hop__rule_called(const char *by); /* NULL: there is none */

/* Do x draws from any class of at least q^t/2^A functions on t places take Y values (place, value)?
 * check_spread of proofs/Check.v. */
bool hop__spreads(const fmpz *A, const fmpz *t, const fmpz *q, const fmpz *x, const fmpz *Y,
                  const hop__way *way);

/* ---- integers in formulas ------------------------------------------------------------------------ */

/* Results that live until they are dropped. As in Coq, nothing is negative: a - b is 0 where b is larger.
 * A formula has less than 64 of them, or that many for each of HOP_MAX_HOPS hops. */
#define HOP__TERMS 4096
typedef struct hop__terms {
    int used; /* 0 at first */
    fmpz of[HOP__TERMS];
} hop__terms;

const fmpz *hop__term_plus(hop__terms *t, const fmpz *a, const fmpz *b);
const fmpz *hop__term_less(hop__terms *t, const fmpz *a, const fmpz *b);
const fmpz *hop__term_times(hop__terms *t, const fmpz *a, const fmpz *b);
const fmpz *hop__term_number(hop__terms *t, unsigned long n);
void hop__terms_drop(hop__terms *t, int down_to); /* all but the first so many */

/* 2^X < b^l */
bool hop__bits_below(const fmpz *X, const fmpz *b, const fmpz *l);

#endif
