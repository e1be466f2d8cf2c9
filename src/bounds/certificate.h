/* Certificates: from integers that a search found to a line that the checker has accepted. */
#ifndef HOP_BOUNDS_CERTIFICATE_H
#define HOP_BOUNDS_CERTIFICATE_H

#include "levels.h"
#include "room.h"

#define HOP__PROOF_INTEGERS 16

/* What a theorem's checker takes beside sizes and widths. */
typedef struct hop__proof {
    const char *by;
    const char *const *names; /* [count] */
    int count;
    fmpz of[HOP__PROOF_INTEGERS];
    const hop__levels *levels; /* NULL: none */
} hop__proof;

void hop__proof_clear(hop__proof *p);

/* Does the checker accept these integers at these sizes, `count` of them, with fans of 2 for more hops? Then b
 * has the certificate. */
bool hop__certify(hop__case *c, hop_bound *b, const hop__proof *p, const fmpz *sizes, int count);

#endif
