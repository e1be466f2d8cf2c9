/* A recurrence as a weighted sum over the tokens so far: the one shape that all of them are brought to. */
#ifndef HOP_PROVE_WEIGH_H
#define HOP_PROVE_WEIGH_H

#include "charge.h"
#include "analysis.h"

/* A recurrence brought to one shape: every head has keys and decays of its own. */
typedef struct hop__reading_shape {
    hop__analysis *w;
    int64_t heads, keys, values; /* heads; numbers in a key and in a value */
    int64_t q_heads;             /* consecutive heads share a query */
    double scale;
    hop__set *const *q; /* [q_heads, keys]; NULL: 1 */
    hop__set *const *k; /* [heads, keys]; NULL: 1 */
    hop__set *const *v; /* [heads, values] */
    hop__set *const *f; /* decays, 0 to 1: [heads, keys], or [heads] .. */
    int64_t f_keys;     /* .. as keys or 1 say; 0: none */
    hop__set *const
        *turn; /* [heads]: how far from its decay a token may turn the state, relative; NULL: not */
    hop__set *const
        *plain; /* delta rules of one step a token: [heads, keys], keys without beta; NULL: unknown */
    double most_beta;
    const double
        *own[HOP__MOST_CLASSES]; /* [heads]: how far it may turn what it has just written; NULL: not */
    double steps;                /* rows of the recurrence that a token is */
    hop__recurrence made;        /* how it is computed: its programs and what they are given */
    const float
        *bonus; /* [heads, keys]: the own token's weight in place of 1, before its decay; NULL: none */
    bool exps;  /* weights come from exponentials */
    hop__head_gain *head_gain; /* [classes]: room for how far what is read may head_gain; NULL: it must not */
    double stabiliser; /* mlstm: the largest |m|, an exponent that is rounded where it crosses; else 0 */
} hop__reading_shape;

/* y [classes, heads * values]: everything that the recurrence may put out. */
void hop__weigh(const hop__reading_shape *s, hop__set **y);

#endif
