/* What the tokens of a class may hold, as a set that contains every vector they can have, in any input:
 *
 *     mid + sum over terms of one of the term's rows, give or take rad.
 *
 * A term is a finite table. Which row applies is decided by variables, things that an input determines: where
 * in its class the token stands, what w is, what the chain of look-ups has reached. So "the code of the
 * value, whatever the value is" is a term with a row for each value, and linear maps act on it row by row.
 * What is not kept as a table is in the box rad, where all rounding goes, too.
 *
 * Everything is in real numbers: mid and rows are doubles, and whatever is lost in computing them is added to
 * rad. A coordinate whose values are all multiples of 2^grid and not rounded (rad 0) says so: sums of such
 * numbers that stay below 2^24 units are exact in float32, in any order, with or without fused multiply-add.
 */
#ifndef HOP_PROVE_SET_H
#define HOP_PROVE_SET_H

#include "interval.h"
#include "memory.h"

#include <limits.h>

#define HOP__TERM_VARS  4
#define HOP__MOST_TERMS 512
#define HOP__MOST_ROWS  ((int64_t)1 << 22)
#define HOP__MOST_CELLS ((int64_t)1 << 26) /* of a table */
#define HOP__NO_GRID    INT_MIN
#define HOP__ANY_GRID   INT_MAX /* zero is a multiple of everything */
#define HOP__LARGEST    1e37    /* where float32 ends, with room for sums of a few such terms */
#define HOP__MOST_SUM   50000   /* terms of a sum; HOP_DOT_ERROR holds up to twice as many */

typedef struct hop__term {
    int vars, var[HOP__TERM_VARS];
    int64_t values[HOP__TERM_VARS];    /* of each variable */
    int64_t classes[HOP__TERM_VARS];   /* values that the rows tell apart */
    const int32_t *of[HOP__TERM_VARS]; /* class of each value */
    int64_t rows;                      /* product of the classes, the last variable running fastest */
    int64_t first, count;              /* columns that it fills, one after the other; 0 in all others .. */
    double *cell;                      /* .. [rows, count]: see hop__term_at */
    bool mixture;                      /* not one of the rows but any weighted mean of them */
} hop__term;

typedef struct hop__set {
    int64_t width;
    double *mid, *rad; /* [width] */
    double *rel; /* [width]: and give or take so much of mid and rows themselves. Keys that are 0 but for one
                    number are exactly that, and so are registers that a layer adds 0 to: maps and recurrences
                    make it, linear maps and the residual stream keep it, and for all others it is folded */
    double *mag; /* [width]: no value is larger in absolute value */
    double *least,
        *most; /* [width]: no value is beyond these; often all that mid and rad cannot say is "not below 0" */
    int *grid; /* [width] */
    int terms, room;
    hop__term *term; /* [room] */
} hop__set;

/* Does a term fill column c? */
static inline bool hop__term_fills(const hop__term *t, int64_t c)
{
    return c >= t->first && c - t->first < t->count;
}

/* Row r, from column t->first on: t->count numbers. */
static inline double *hop__term_row(const hop__term *t, int64_t r)
{
    return t->cell + r * t->count;
}

/* What row r has in column c, whichever that is. */
static inline double hop__term_at(const hop__term *t, int64_t r, int64_t c)
{
    return hop__term_fills(t, c) ? t->cell[r * t->count + c - t->first] : 0;
}

/* Where that is kept; column c must be one that the term fills. */
static inline double *hop__term_cell(hop__term *t, int64_t r, int64_t c)
{
    return &t->cell[r * t->count + c - t->first];
}

hop__set *hop__set_new(hop__memory *m, int64_t width); /* zero */
void hop__set_unbound(hop__set *s); /* forgets least and most: whoever changes mid, rad or rows must */
/* Room for `terms` terms at least; HOP_EDOMAIN beyond HOP__MOST_TERMS. */
bool hop__set_reserve(hop__memory *m, hop__set *s, int terms);
/* A table over one variable and all columns; of NULL: every value has its own row. Returned rows are to be
 * filled; then hop__set_canonical. */
hop__term *hop__set_add_term(hop__memory *m, hop__set *s, int var, int64_t values, const int32_t *of,
                             int64_t classes);
/* One more term with these variables and classes, which fills columns first .. first + count - 1, with zeros
 * as yet; the same with the columns of `like`. */
hop__term *hop__set_term_over(hop__memory *m, hop__set *s, const hop__term *like, int64_t first,
                              int64_t count);
hop__term *hop__set_term_like(hop__memory *m, hop__set *s, const hop__term *like);
/* Equal rows become one, what does not vary goes to mid, terms over the same variables are added up; mag and
 * grid are computed. Every set is made canonical by what makes it. Terms over the same variables that have no column
 * in common stay apart where one table would be much larger than the two: what the heads of a state read is
 * a small table each, and together one with a row for every case of every head. */
void hop__set_canonical(hop__memory *m, hop__set *s);
/* All terms over the same variables become one, where they are not too large for that. */
void hop__set_join_alike(hop__memory *m, hop__set *s);

/* Sets share the classes of values (hop__term.of) with those they were made from: this makes it own them. */
void hop__set_own(hop__memory *m, hop__set *s);
hop__set *hop__set_copy(hop__memory *m, const hop__set *x); /* of a set that is canonical */
/* Terms over the same variables are one in what is taken. */
hop__set *hop__set_columns(hop__memory *m, const hop__set *x, int64_t from, int64_t width);
hop__set *hop__set_gather(hop__memory *m, const hop__set *x, const int64_t *column, int64_t width);
hop__set *hop__set_beside(hop__memory *m, const hop__set *const *sets,
                          int count); /* columns one after the other */
/* x + y as float32 adds them. */
hop__set *hop__set_add(hop__memory *m, const hop__set *x, const hop__set *y);
/* The same for those who know of rel: where it can, the sum has it, too. */
hop__set *hop__set_add_relative(hop__memory *m, const hop__set *x, const hop__set *y);

/* Rows of a matrix of weights: y = x wᵀ + bias, bias NULL or [out]. Error: any order of summation. */
typedef struct hop__matrix {
    const float *w, *bias;
    int64_t out, in;
    int64_t row_step, col_step; /* element (i, j) is w[i * row_step + j * col_step] */
    double later;               /* units that others round a product more: HOP_FOREIGN_UNITS; 0: none */
} hop__matrix;
hop__set *hop__set_linear(hop__memory *m, const hop__set *x, hop__matrix w);
/* The same without rel, with x's terms, row for row; lost [out]: the part of rad that is rounding, not x's box. */
hop__set *hop__set_linear_rows(hop__memory *m, const hop__set *x, hop__matrix w, double *lost);

/* x with rel as a part of rad; x itself where there is none. */
hop__set *hop__set_folded(hop__memory *m, hop__set *x);

/* Any function of each block of `in` columns, with `out` results: fn is given intervals and returns intervals
 * that contain every float32 result. */
typedef void hop__block_fn(const void *arg, int64_t block, const ival *x, ival *y);
typedef struct hop__blocks {
    int64_t count, in, out;
    hop__block_fn *fn;
    const void *arg;
} hop__blocks;
hop__set *hop__set_map(hop__memory *m, const hop__set *x, hop__blocks b);
/* What rows may be off goes into rel where that says more: for those who know of it. */
hop__set *hop__set_map_relative(hop__memory *m, const hop__set *x, hop__blocks b);

/* x, each number rounded to so many significant bits, 1 to 23; 0: x itself. Numbers of a grid that have no
 * more bits stay as they are. */
hop__set *hop__set_rounded(hop__memory *m, hop__set *x, int bits);
/* x, and what it becomes where it crosses from player to player; round: see hop__crossing; 0: x itself. */
hop__set *hop__set_crossed(hop__memory *m, hop__set *x, double round);
/* What rounding a number of this magnitude may change it by. */
double hop__cut_error(int bits, double mag);
/* Has no multiple of 2^grid up to mag more bits? */
bool hop__cut_exact(int bits, int grid, double mag);

/* x, with classes of a variable taken together whose rows differ by little beside rad, which grows by as
 * much. */
hop__set *hop__set_merged(hop__memory *m, hop__set *x);

/* All terms that vary become one, over all their variables; NULL (and no status) when it would be too large.
 * Mixtures cannot be joined. */
hop__set *hop__set_joined(hop__memory *m, const hop__set *x);
/* What is left when a variable has this value. */
void hop__set_fix(hop__memory *m, hop__set *s, int var, int64_t value);
/* A term's range goes into the box. */
void hop__set_drop_term(hop__set *s, int t);
/* Everything that column c may be; the same of all columns; what term t adds to one. */
ival hop__set_range(const hop__set *s, int64_t c);
void hop__set_ranges(const hop__set *s, ival *out); /* [width] */
double hop__set_largest(const hop__set *s);         /* no number of any column is larger */
ival hop__set_term_range(const hop__set *s, int t, int64_t c);
/* Is a sum of multiples of 2^grid exact in any order when their absolute values are `mag` together? */
bool hop__exact_sum(int grid, double mag);
/* Which class of its k-th variable a row belongs to. */
int64_t hop__term_class(const hop__term *t, int k, int64_t row);

/* What x is in those rows of a term `by` that `where` [by->rows] marks, and 0 in the others. Takes x. */
hop__set *hop__set_where(hop__memory *m, hop__set *x, const hop__term *by, const bool *where);

/* ---- numbers --------------------------------------------------------------------------------- */

/* The exponent of the lowest bit of x; HOP__ANY_GRID for 0. */
int hop__low_bit(double x);
/* Rounded to float32: x itself if it is one exactly, else widened by half a unit in the last place;
 * anything at all where it may be infinite, so that 0 times it is no number. */
ival hop__float(ival x);
/* A product, rounded so. */
ival hop__times(ival a, ival b);

#endif
