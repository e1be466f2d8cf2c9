/* What the encoder's proof knows of the tokens between two layers.
 *
 * Every token matters, and what a token holds depends on three things: its place, w, and its value (at first
 * its own token, later the result it has composed). Boxes for all combinations would be far too many, so each
 * player's tokens are described from several sides at once:
 *
 * - place j: a box for the player's token j, whatever its value and w;
 * - value u: a box for a token whose value is u, wherever it stands and whatever w;
 * - digit (g, d): a box for any token of the player when w_g = d.
 *
 * Each box holds for all inputs, so a token with value u when w_g = d lies in the intersection of two of
 * them. One coordinate at a time, the sides are enough: reg depends on the value, wd on w's digits one by
 * one, adr on a digit or on the place. Coordinates that no layer writes simply keep the boxes they have from
 * the tables.
 *
 * Boxes are stored as floats, rounded outwards. All of them stay below HOP__LARGEST or a.overflow is set
 * (hop__rounding is told of every sum of magnitudes), so that infinities and NaN do not occur in a proof that
 * goes through. */
#ifndef HOP_CONSTRUCT_ENCODER_PROOF_H
#define HOP_CONSTRUCT_ENCODER_PROOF_H

#include "analysis.h"
#include "encoder.h"

typedef struct hop__side {
    float lo, hi;
} hop__side;

/* The tokens of one player. */
typedef struct hop__crowd {
    int64_t places, values;
    hop__side *box; /* [places + values + digit_rows, d] */
    ival *hull;     /* [d]: all tokens of the player; and [d] of scratch */
} hop__crowd;

typedef struct hop__encoder {
    hop__analysis a;    /* model, sizes, matrices of the layer, overflow, hints; any: hull of all tokens */
    int64_t digit_rows; /* digits of w: n_1 + .. + n_{L-1} of them, */
    int64_t digit_first[HOP_MAX_HOPS + 1]; /* w_g's from digit_first[g] to digit_first[g+1] */
    hop__crowd crowd[HOP_MAX_HOPS + 1];    /* of player p at p + 1 */
    double mass[HOP_MAX_HOPS + 1]; /* wrong mass of the player's tokens in the current layer, at most */
} hop__encoder;

#define HOP__ENCODER_BYTES ((int64_t)1 << 32) /* boxes of one moment; more is declined */

/* ---- encoder_proof_views.c ------------------------------------------------------------------ */

hop_status hop__encoder_start(hop__encoder *e, hop_error *err);
void hop__encoder_finish(hop__encoder *e);
hop_status hop__crowd_new(hop__crowd *c, const hop__encoder *e, int64_t places, int64_t values,
                          hop_error *err);
void hop__crowd_free(hop__crowd *c);
/* Row numbers: place j is row j. */
int64_t hop__row_of_value(const hop__crowd *c, int64_t u);
int64_t hop__row_of_digit(const hop__encoder *e, const hop__crowd *c, int g, int64_t d);
int64_t hop__crowd_rows(const hop__encoder *e, const hop__crowd *c);
void hop__crowd_load(const hop__encoder *e, const hop__crowd *c, int64_t row, ival *x); /* x: [d] */
void hop__crowd_store(const hop__encoder *e, hop__crowd *c, int64_t row, const ival *x);
/* x becomes its intersection with the row. */
void hop__crowd_meet(const hop__encoder *e, const hop__crowd *c, int64_t row, ival *x);
/* All rows are filled: finds the hull, and makes the sides learn from each other through it. */
void hop__crowd_settle(const hop__encoder *e, hop__crowd *c);
/* Sides: 0 places, 1 values, 1 + g digits of w_g. */
int hop__side_of_row(const hop__encoder *e, const hop__crowd *c, int64_t row);
void hop__encoder_any(hop__encoder *e); /* a.any from the crowds */

/* ---- encoder_proof_lead.c ------------------------------------------------------------------- */

/* Rows to be told apart, as intervals, and in blocks of neighbours with the box that holds them. */
typedef struct hop__boxes {
    int64_t count, width, blocks;
    ival *row, *block; /* [count, width], filled by the caller; [blocks, width] */
    double *mag;       /* [width]: largest absolute value in the column */
} hop__boxes;

hop_status hop__boxes_new(hop__boxes *r, int64_t count, int64_t width, hop_error *err);
void hop__boxes_ready(hop__boxes *r); /* after `row` was filled */
void hop__boxes_free(hop__boxes *r);

typedef struct hop__contest {
    const hop__boxes *boxes;
    const ival *q;    /* [width] */
    const int *index; /* the n coordinates that count; elsewhere q or all rows are zero */
    int n;
    double scale, slack; /* scale > 0; slack: also for the rounding of this routine's own sums */
} hop__contest;

/* Least scale·q·(row[right] - row[j]) - slack over all j != right; +inf if there are none. *mass: at least
 * the sum of exp of minus these. */
double hop__contest_lead(const hop__contest *c, int64_t right, double *mass);

/* ---- the steps of a layer ------------------------------------------------------------------- */

/* encoder_proof_ask.c: e->mass, and gap, mass and addresses into `margin`. */
hop_status hop__encoder_scores(hop__encoder *e, int64_t layer, hop_margin *margin, hop_error *err);
/* Right logit minus best wrong one, at least. */
hop_status hop__encoder_readout(hop__encoder *e, double *margin, hop_error *err);
/* encoder_proof_write.c: the crowds after the layer; clip margin and code error into `margin`. */
hop_status hop__encoder_write(hop__encoder *e, int64_t layer, hop_margin *margin, hop_error *err);

#endif
