/* The residual stream of the chain-of-thought network, shared by its construction only: the proof reads the
 * file. */
#ifndef HOP_CONSTRUCT_COT_H
#define HOP_CONSTRUCT_COT_H

#include "analysis.h"

/* Stage l = 0 .. L of the chain: the token at position n-1+l. Its answer is the number of the pair (w_l,
 * i_l), an address of z_{l+1}; at l = 0 it is i_0, at l = L it is i_L. */
static inline int64_t hop__stage_position(const hop_funccomp *t, int l)
{
    return t->length - 1 + l;
}

/* Does stage l's answer have a digit of w in it? */
static inline bool hop__stage_has_digit(const hop_funccomp *t, int l)
{
    return l >= 1 && l < t->hops;
}

/* Values that z_l's entries may have. */
static inline int64_t hop__stage_values(const hop_funccomp *t, int l)
{
    return l == 0 ? t->m : t->size[l - 1];
}

#endif
