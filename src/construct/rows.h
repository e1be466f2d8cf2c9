/* Which of many rows scores highest against a query, and by how much, without looking at all of them.
 *
 * Rows are grouped into blocks of neighbours with the box that holds them. A block whose box cannot beat the
 * best wrong row found so far is settled by its box; only the others are looked at row by row. The answers
 * are upper bounds for any rows; for coded tables, where neighbours share high digits, they cost 1/50 of the
 * full product. */
#ifndef HOP_CONSTRUCT_ROWS_H
#define HOP_CONSTRUCT_ROWS_H

#include <hopbound/base.h>

#define HOP__ROWS_BLOCK 64

typedef struct hop__rows {
    int64_t count, width, blocks;
    double *row;     /* [count, width], filled by the caller */
    double *lo, *hi; /* [blocks, width] */
    double *mag;     /* [width]: largest absolute value in the column */
} hop__rows;

hop_status hop__rows_new(hop__rows *r, int64_t count, int64_t width, hop_error *err);
void hop__rows_ready(hop__rows *r); /* after `row` was filled */
void hop__rows_free(hop__rows *r);

typedef struct hop__lead {
    double gap; /* lower bound of scale·q·(row[right] - row[j]) - slack over all j != right; +inf if there are
                   none */
    double mass; /* upper bound of the sum over j != right of exp(scale·q·(row[j] - row[right]) + slack) */
    int64_t rival; /* the row that attains the gap, or -1 */
} hop__lead;

/* scale > 0. index: room for `width` numbers. Rounding of this routine's own sums must be part of `slack`. */
hop__lead hop__rows_lead(const hop__rows *r, const double *q, int64_t right, double scale, double slack,
                         int *index);

#endif
