/* Who asks whom in the encoder. The construction writes it down as weights, the proof follows it through the
 * layers. */
#ifndef HOP_CONSTRUCT_ENCODER_H
#define HOP_CONSTRUCT_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum hop__asks {
    HOP__ASKS_NOBODY, /* what it hears does not matter */
    HOP__ASKS_ONE,    /* the only token of z_0 or w */
    HOP__ASKS_SELF,   /* itself, so as to keep what it has */
    HOP__ASKS_ENTRY,  /* the entry of `target` at the address that its value and a digit of w name */
} hop__asks;

/* What the tokens of one player do in one layer. */
typedef struct hop__errand {
    hop__asks asks;
    int target;
    bool adopts; /* the value that it hears becomes its own */
} hop__errand;

int hop__encoder_rounds(int hops); /* ceil(log2 hops) */
/* Layers 0 .. rounds+1; players -1 .. hops. */
hop__errand hop__encoder_errand(int hops, int64_t layer, int player);

#endif
