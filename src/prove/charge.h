/* What an operation's arithmetic loses, read off its programs (hopbound/arith.h): every form's, line by line.
 *
 * A quantity x of a program has an exact value, that of the same program in real numbers over the numbers
 * that the operation is given, and a majorant X >= |x|: the same with absolute values, and sums in place of
 * differences. What a kernel forms differs from x by at most rel · X + abs. Each primitive charges its
 * rounding to rel and what is lost below the normal numbers to abs, and demands that whatever it forms is
 * finite, in any order of its sums, whatever that is multiplied with later. */
#ifndef HOP_PROVE_CHARGE_H
#define HOP_PROVE_CHARGE_H

#include "set.h"

#include <hopbound/arith.h>

typedef struct hop__num {
    ival range;      /* of x */
    double mag;      /* the largest X */
    double rel, abs; /* what is formed is x, give or take rel X + abs .. */
    double top, low; /* .. at most `top` in absolute value, and not below `low` */
    bool own;        /* X is |x|: nothing was added up */
    bool one; /* a decay so near to 1 that adding 0 to what it decays leaves that as it is: see charge.c */
    int grid; /* x is a multiple of 2^grid */
} hop__num;

/* A number that is given, as it is. */
hop__num hop__num_given(ival range, int grid);

/* near.c: so often is one product of a query, a key and a value rounded on its way into what is read, where it meets
 * no other to speak of and decays are exactly 1: in the token's own unit or in a later one. Infinity: nothing is said. */
double hop__product_units(const hop_arith *p);

/* One input of a program, by its name. */
typedef struct hop__given {
    const char *name;
    hop__num num;
} hop__given;
#define HOP__MOST_GIVEN 12
#define HOP__MOST_FORMS 4

struct hop__reading;

/* A recurrence over tokens: what decides how much its forms lose. */
typedef struct hop__recurrence {
    const hop_arith *form[HOP__MOST_FORMS]; /* its programs, the step form first; NULL ends */
    hop__given given[HOP__MOST_GIVEN];      /* all but S and m */
    int count;
    double keys, values; /* numbers of a key and of a value */
    double tokens;       /* rows of the recurrence until it is read */
    double active;       /* of these, such as write or turn anything that is read */
    double growth;       /* what tokens may enlarge a state by, all together; 1: none does */
    double amp;          /* what an error in the state may grow to on its way */
    double round; /* relative rounding of a state's numbers where they cross, or are cut to fewer bits .. */
    double crossings; /* .. and what all such roundings make together, in relative terms */
    int bits;         /* 0: none but float32's */
    /* Is shown each form as it was read, where everything fits; NULL: nobody looks. */
    void (*look)(void *ctx, const struct hop__reading *x);
    void *ctx;
} hop__recurrence;

typedef struct hop__charge {
    double rel; /* of the sum of absolute products that is read .. */
    double abs; /* .. and whatever these are */
    bool fits;  /* everything that any form forms is finite; else rel and abs say nothing */
} hop__charge;

/* Looks its programs up; false: m says why. */
bool hop__recurrence_open(hop__memory *m, hop__recurrence *r, const hop_program *const *forms);
/* All forms, and any mixture of them. */
hop__charge hop__recurrence_charge(const hop__recurrence *r);
/* Where queries, keys and values that meet are multiples of 2^q, 2^k and 2^v: does everything that any form
 * makes of them lie on a grid that float32 has? */
bool hop__recurrence_on_grids(hop__recurrence r, int q, int k, int v);

/* A line of which more is known than its operands tell: it lies in here, and but for abs what is formed is off by no
 * more than so much of it. */
typedef struct hop__known {
    int line;
    ival within;
    double rel; /* infinity: no more than the operands tell; else the line's X is |x| */
} hop__known;
#define HOP__MOST_KNOWN 2

/* A program as it is read by others: v [p->count], inputs filled in. size: of the axes; terms: of a sum along
 * J that are not 0. False: something may not be finite. carry and add: what a FADE charges to the state where
 * it adds anything, and to what is added; drift: to the state whether or not, if that keeps what it is. */
typedef struct hop__reading {
    const hop_arith *p;
    double size[HOP_AXES], terms, tokens, round;
    hop__num v[HOP_ARITH_LINES];
    hop__known known[HOP__MOST_KNOWN];
    int knows; /* of these */
    double carry, add, drift;
    bool keeps; /* the decay is `one`, or 1 */
    bool fits;
} hop__reading;
void hop__reading_know(hop__reading *r, const char *line, ival within, double rel);
void hop__reading_run(hop__reading *r);

#endif
