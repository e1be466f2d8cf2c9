/* How a linear layer is made to carry: which tensors of a mixer are query, key, value and output, and which
 * constants make it hold and write. A line a mixer, in wiring.c. */
#ifndef HOP_CONSTRUCT_WIRING_H
#define HOP_CONSTRUCT_WIRING_H

#include "shaped.h"

#define HOP__FAR  200.0f /* sigmoid, softplus and exp of ±FAR are 0, 1 or FAR exactly in float32 */
#define HOP__OPEN 4.0f   /* of a gate that is a SiLU: SiLU(4) = 3.93 */

typedef struct hop__constant {
    const char *tensor;
    float value;
} hop__constant;

struct hop__site;

/* What a projection makes, and the rows of a matrix that make it. */
typedef enum hop__role { HOP__QUERY, HOP__KEY, HOP__VALUE } hop__role;
typedef struct hop__place {
    const hop_weight *w; /* NULL: it has no such matrix */
    int64_t row;
} hop__place;

typedef struct hop__wiring {
    const char *mixer;
    const char *query, *key, *value, *out;
    float weight; /* of the flags in query and key */
    float gain;   /* of the output */
    int extra;    /* channels of `inner` that hold no bit of the value */
    hop__constant constants[3];
    void (*special)(const struct hop__site *s, int64_t tokens);
    int64_t (*row)(const struct hop__site *s, hop__role role); /* where query, key and value begin; NULL: 0 */
    bool dressed;       /* works with its convolutions, gates and norms, and with any heads, too */
    const char *opened; /* the gate that is a SiLU, and closed at 0; others are a half there */
    bool all_heads;     /* its norm is over all heads together */
    bool scaled;        /* queries are divided by the root of head_dim */
} hop__wiring;

/* A linear layer on its way. */
typedef struct hop__site {
    hop_model *m;
    int64_t layer;
    const hop__fields *f; /* f->bits: of what is carried, f->reg: where it goes */
    const hop__wiring *w;
    hop_mixer_config c;
    bool pairs; /* values pass an activation: a bit travels as SiLU(x) - SiLU(-x) = x */
} hop__site;

const hop__wiring *hop__wiring_of(const char *mixer); /* NULL: none is known */
/* The layer's own sizes, the smallest; an option that the mixer does not take is left alone. */
hop_status hop__linear_sizes(hop_config *c, int64_t layer, const hop_mixer_ops *ops, const hop__fields *f,
                             const hop__wiring *w, hop_error *err);

hop__site hop__site_at(hop_model *m, const hop__fields *f, int64_t layer);
const hop_weight *hop__site_tensor(const hop__site *s, const char *name); /* NULL: it has none */
/* What decays, and what is the same for all tokens. */
void hop__site_constants(const hop__site *s);
hop__place hop__site_place(const hop__site *s, hop__role role);
/* The bits of a token's value in the value head that begins at number `first` of all heads' values. */
void hop__site_value(const hop__site *s, int64_t first);
/* From the value head that begins at column `first` of the output's input to the register, times `gain`. */
void hop__site_write(const hop__site *s, int64_t first, float gain);
/* What the output of one head is to be multiplied by so that bits arrive as ±1. */
float hop__site_gain(const hop__site *s);
/* Convolutions look at the token itself; norms multiply by 1. */
void hop__site_dress(const hop__site *s);
/* The gates of the value head that begins at column `first` are open; one: the column of the constant. */
void hop__site_open(const hop__site *s, int64_t first, int one);
int64_t hop__site_value_width(const hop__site *s); /* numbers of a value head */

#endif
