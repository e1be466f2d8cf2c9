/* hopbound/mixers.h - token mixers: one const table each, one registry line each.
 *
 * A mixer is a rule that lets position t use earlier positions. It declares its parameters and the size of
 * the state that crosses a cut of the sequence, and computes the same function in two forms: forward (a whole
 * sequence) and step (a token at a time, from a state). The laws in tests/test_mixers.c loop over the
 * registry, so a mixer is tested the day it is listed.
 */
#ifndef HOPBOUND_MIXERS_H
#define HOPBOUND_MIXERS_H

#include <hopbound/base.h>
#include <hopbound/kernels.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_mixer_config {
    int64_t d_model;
    int64_t heads, kv_heads, head_dim;
    double rope_theta; /* 0: none */
    double scale;      /* 0: head_dim^(-1/2) */
} hop_mixer_config;

/* A parameter tensor: rank 1 or 2, row-major; `name` is what follows "mixer." in the weight file. */
typedef struct hop_param {
    const char *name;
    int64_t shape[2]; /* [n] is {n, 0} */
} hop_param;

#define HOP_MIXER_MAX_PARAMS 16

/* What forward works on. Rows below `first` need no output (the last layer of a network that is read only at
 * the end computes one row); `y` holds rows first .. tokens-1. */
typedef struct hop_mixer_io {
    float *y;       /* [tokens - first, d_model] */
    const float *x; /* [tokens, d_model] */
    int64_t tokens, first;
    int bits; /* cut activations to that many significant bits; 0: do not */
    hop_arena *scratch;
    hop_pool *pool;
} hop_mixer_io;

typedef struct hop_mixer_ops {
    const char *name;     /* as in configs: "full" */
    const char *equation; /* one line, for people */
    bool recurrent;       /* the state's size does not depend on t */
    /* The parameters, in the order they are laid out; returns how many. Sizes are checked to be sane before. */
    int (*params)(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS]);
    void (*init)(float *const *params, const hop_mixer_config *c, hop_rng *rng);
    /* Numbers that cross the cut after t tokens. */
    int64_t (*state_floats)(const hop_mixer_config *c, int64_t t);
    size_t (*scratch)(const hop_mixer_config *c, int64_t tokens, int threads); /* bytes forward needs */
    void (*forward)(const hop_mixer_config *c, const float *const *params, const hop_mixer_io *io);
    /* Token t (0-based): reads the first state_floats(t) floats of `state`, writes state_floats(t+1) of them.
     * scratch: step_scratch(c, t) bytes, from the arena. */
    size_t (*step_scratch)(const hop_mixer_config *c, int64_t t);
    void (*step)(const hop_mixer_config *c, const float *const *params, float *state, int64_t t, const hop_mixer_io *io);
} hop_mixer_ops;

const hop_mixer_ops *hop_mixer_find(const char *name); /* NULL: unknown */
const hop_mixer_ops *hop_mixer_at(int index);          /* NULL past the end */

#ifdef __cplusplus
}
#endif
#endif
