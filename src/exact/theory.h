/* What the finite theorems say of a cell. */
#ifndef HOPBOUND_EXACT_THEORY_H
#define HOPBOUND_EXACT_THEORY_H

#include <hopbound/exact.h>

/* Each impossible or silent. Exact: the sizes of a hop_exact_game are small enough for integers. */
hop_answer hop__exact_p2(const hop_exact_game *g, hop_bits b);
hop_answer hop__exact_p4(const hop_exact_game *g, hop_bits b);
hop_answer hop__exact_p5(const hop_exact_game *g, hop_bits b);

#endif
