/* Inside the room: look-ups by products of one-hot parts. */
#ifndef HOP_CONSTRUCT_MAP_H
#define HOP_CONSTRUCT_MAP_H

#include "construct.h"

/* Entries of z_e by their two parts: w-digit (1 where there is none) and i. */
int64_t hop__map_digits(const hop_funccomp *t, int e);
int64_t hop__map_inner(const hop_funccomp *t, int e);
int64_t hop__map_keys(const hop_funccomp *t, int e); /* one number for z_0, an entry each for the others */
void hop__map_fill(hop_model *m, const hop_funccomp *t, int e, const char *side); /* "q", "k" */

#endif
