/* The sizes of P6 and of P7G, which is about one full layer more: what is searched, what is verified. */
#ifndef HOP_BOUNDS_P6_H
#define HOP_BOUNDS_P6_H

#include "room.h"

#define HOP__P7G_MOST_HOPS 5 /* its numbers grow faster: searched in a second */
#define HOP__P6_MOST_HOPS  8 /* beyond, the numbers have millions of digits */

typedef struct hop__p6_numbers {
    int hops;                      /* L >= 2 */
    bool whole;                    /* L full layers, P7G; else L-1, P6 */
    const fmpz *state;             /* A_0 .. A_{L-1}; whole: .. A_L */
    const fmpz *reply;             /* M */
    fmpz sizes[HOP__P6_MOST_HOPS]; /* [L]: m, n_1 .. n_{L-1} */
    fmpz x[HOP__P6_MOST_HOPS];     /* [L]: x_0 .. x_{L-1} */
    fmpz s[HOP__P6_MOST_HOPS];     /* [L]: s[l] is s_l, l = 1 .. L-1; s[0] is not used */
} hop__p6_numbers;

void hop__p6_init(hop__p6_numbers *p, int hops, bool whole, const fmpz *state, const fmpz *reply);
void hop__p6_clear(hop__p6_numbers *p);
void hop__p6_set(hop__p6_numbers *to, const hop__p6_numbers *from);

/* Do these integers satisfy every condition of P6? True only when all are certain. When not, `why` (may be
 * NULL) receives the condition: "image 2", "end", "sizes". */
bool hop__p6_verify(const hop__p6_numbers *p, char why[32]);
/* The same for P7G. */
bool hop__p7g_verify(const hop__p6_numbers *p, char why[32]);
/* Whichever it is about. */
bool hop__p6_holds(const hop__p6_numbers *p);

/* Searches and writes the answer down: at any sizes, or at those asked for. */
void hop__p6_speak(hop__case *c, hop_bound *b, bool whole);

/* The shortest prompt that the search finds; false when it finds none, or the progress said stop. What comes
 * out has passed hop__p6_holds. */
bool hop__p6_search(hop__p6_numbers *p, const hop_progress *progress, bool *stopped);
/* The same at p's sizes, which stay; what p has as x (1 or more, else ignored) is one of the starts. */
bool hop__p6_search_fixed(hop__p6_numbers *p, const hop_progress *progress, bool *stopped);

#endif
