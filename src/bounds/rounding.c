/* Do codes survive float32? The rounding lemma of docs/BOUNDS.md section 16, with the constants that are
 * derived there: what P1 and P10 call possible is right in float32 at lengths at which nothing can be built
 * and proved, for sums in any order, with or without fused multiply-add. Every number here is an upper
 * bound, whose constants leave room for far more than doubles lose.
 *
 * A code of b bits takes a prompt of at least 4 and of more than 2^(0.77 b) tokens, and a longer one only
 * helps: so a code that is short enough is read rightly at every length. Where the lemma does not hold,
 * nothing is said. */
#include "room.h"

#include <math.h>

#define UNIT         0x1p-24 /* of float32 */
#define LEAST_DIGIT  0.77    /* w bits of a digit: more than 2^(0.77 w) values */
#define SUMS         1.05    /* k numbers of [0, 1] add up to k^1.05 at the most, in any order */
#define STATE_OFF    0x1p-17 /* of a bit that is read behind a norm, but for what grows with the code .. */
#define MAPS_OFF     0x1p-12 /* .. and of one that is read by a product of maps, .. */
#define MAPS_BITS    15      /* .. whose addresses, of at most 2048 entries, have so many bits */
#define MOST_SUMMED  50      /* log2 of tokens, all of whose next to nothing in a state is added up; .. */
#define MOST_CARRIED 100     /* .. of those beside whom every mixer hands z_0 on: `based` weighs it 1000 n */

/* The logarithm of the shortest prompt whose codes have b bits. */
static double least_length(int64_t bits)
{
    return fmax(log(4.0), LEAST_DIGIT * (double)bits * log(2.0));
}

/* What is rounded where b + 2 products are added up, against the largest of them, with room to spare. */
static double sums_of(int64_t bits)
{
    return 12 * (double)(bits + 2) * (double)(bits + 2) * UNIT;
}

/* The part of the right token's lead that is lost, where an address is off by `off` a bit. */
static double lead_lost(int64_t bits, double off)
{
    return off + 8 * UNIT + sums_of(bits);
}

/* What all wrong tokens weigh against the right one, in any order; falls with the length while less than
 * 0.45 of the lead is lost. */
static double wrong_mass(int64_t bits, double lost)
{
    double length = least_length(bits);
    if (!(lost < 0.45)) return INFINITY;
    return 1.001 * exp(-2 * (1 - lost) * (log(4.0) + length + 1) + SUMS * length);
}

double hop__look_up_error(int64_t bits, double off)
{
    return 4 * wrong_mass(bits, lead_lost(bits, off)) + 4 * UNIT;
}

bool hop__codes_are_clipped(int64_t bits, int64_t p)
{
    double unit = ldexp(1, p < 32 ? -(int)(p - 8) : -24); /* of what crosses between players */
    for (int64_t b = 1; b <= bits; b++) {
        double mass = wrong_mass(b, lead_lost(b, 0) + unit);
        if (!(5 * mass + 2 * unit + 0x1p-10 * (1 - unit) <= 0.5 * (1 - unit))) return false;
    }
    return true;
}

/* What one look-up leaves, and what the next may find: a number that is kept by both. */
static double kept(int64_t bits, double least)
{
    double off = 2 * fmax(hop__look_up_error(bits, 0), least);
    return hop__look_up_error(bits, off) <= off && off <= 0.25 ? off : INFINITY;
}

double hop__register_error(hop__registers_of by, int64_t bits)
{
    double state = STATE_OFF + (double)(bits + 16) * UNIT;
    return kept(bits, by == HOP__BY_STATES ? state : by == HOP__BY_MAPS ? MAPS_OFF : 0);
}

bool hop__is_carried(hop__bits bits)
{
    return bits.log2_n <= MOST_CARRIED;
}

bool hop__codes_are_kept(hop__registers_of by, hop__bits bits)
{
    if (by == HOP__BY_STATES && !(bits.log2_n <= MOST_SUMMED)) return false;
    for (int64_t b = 1; b <= bits.code; b++) {
        double off = hop__register_error(by, b);
        if (!(off <= 0.25)) return false;
        if (by == HOP__BY_STATES && !((double)(b + 2) * off + sums_of(b) <= 0.1)) return false;
        double asked = (double)((b < MAPS_BITS ? b : MAPS_BITS) + 2);
        if (by == HOP__BY_MAPS && !(asked * off <= 0.25)) return false;
    }
    return true;
}
