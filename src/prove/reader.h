/* A head of a recurrence as one class reads it: what the files weigh_*.c share. */
#ifndef HOP_PROVE_READER_H
#define HOP_PROVE_READER_H

#include "weigh.h"

typedef struct hop__reader {
    const hop__reading_shape *s;
    int a;
    int64_t head;
    hop__set *q;        /* joined; NULL: all ones */
    hop__set *const *k; /* of the classes; NULL: not seen (or all ones: see s->k) */
    hop__set *const *v;
    double growth; /* product over all tokens of 1 + turn; 1 where keys do not meet */
    double slack;  /* where they do not: what corrections change values by at most, relative to the largest */
    double amp;    /* what an error in the state may grow to */
    double *head_gain; /* how far what is read may be off as a whole; NULL: it must not */
} hop__reader;

/* A query whose largest weight is below this reads nothing: all its weights go into the box. */
#define HOP__BLIND 0x1p-40

/* What is summed up for one class of queries. */
typedef struct hop__tally {
    double rest[HOP__MOST_CLASSES]; /* weights of all but the one followed, at the most over the queries */
    double all[HOP__MOST_CLASSES];
    double blind[HOP__MOST_CLASSES]; /* weights of queries that read nothing, at the most */
    int64_t nonzero;                 /* tokens of any weight */
} hop__tally;

/* weigh_sum.c */
/* [rows, keys] of a set by its only term, or by its places; what else varies is in the bound. */
float *hop__absolute_rows(hop__memory *m, const hop__set *x, const hop__term *t, int64_t rows);
/* Sums the weights of all tokens for every query; target[i]: the token that counts most (times its values),
 * or -1: none, or so little that it is not followed. */
bool hop__add_up(const hop__reader *r, int64_t cases, const float *q, hop__tally *t, int64_t *target);

/* weigh_one.c */
/* All queries' weights of the tokens they look at, as one interval; *aside: what products beside the largest
 * add up to in any of them, in absolute values. */
ival hop__followed_weights(const hop__reader *r, int64_t cases, const int64_t *target, double *aside);
/* Where nothing decays or turns and no weight is below 0: the least weight that a token gives itself, else
 * -1. *ratio: the absolute values of a weight's products together are at most so many times the weight. */
double hop__own_weight(const hop__reader *r, int64_t cases, double *ratio);

/* weigh_error.c */
/* The largest length of a query times that of a key. */
double hop__reader_lengths(const hop__reader *r);
/* The product of 1 + turn over all tokens seen behind position `from`. */
double hop__reader_turns(const hop__reader *r, int64_t from);
/* What all forms lose, for a query that t->nonzero tokens have any weight for. */
hop__charge hop__reader_charge(const hop__reader *r, const hop__tally *t);
/* The same of the product that counts, relative to it, where all others are next to nothing: see there. */
double hop__near_error(const hop__reader *r);
/* Is nothing rounded, whatever the form? */
bool hop__reading_is_exact(const hop__reader *r, const hop__tally *t, int64_t e);
/* r->growth and r->amp; where keys do not meet: r->slack, and r->growth is 1. */
void hop__find_turns(hop__reader *r);

/* weigh_head.c: everything that class r->a may read of the head. */
hop__set *hop__read_head(hop__reader *r);

#endif
