/* delta_parts.h - what deltanet, gdn, kda and deltaproduct share: q, k, v with short convolutions, L2 on q
 * and k, beta, the scan, the normalised and gated output. A mixer's file adds its decay.
 *
 * State: [heads, K, V], then the inputs that the convolutions of q, k, v remember. With n steps a token, k, v
 * and beta of a token lie step by step, [T, n, heads, ..], which is a sequence of T·n tokens to the scan. */
#ifndef HOP_MIXERS_DELTA_PARTS_H
#define HOP_MIXERS_DELTA_PARTS_H

#include "parts.h"

/* Parameters; a mixer's own start at HOP__D_OWN. */
enum {
    HOP__D_Q,
    HOP__D_K,
    HOP__D_V,
    HOP__D_BETA,
    HOP__D_Q_CONV,
    HOP__D_K_CONV,
    HOP__D_V_CONV,
    HOP__D_GATE, /* one matrix; kda, whose gate is of low rank, has none here */
    HOP__D_NORM,
    HOP__D_OUT,
    HOP__D_OWN
};

/* Buffers; likewise. */
enum {
    HOP__DB_RAW,
    HOP__DB_Q,
    HOP__DB_K,
    HOP__DB_V,
    HOP__DB_BETA,
    HOP__DB_G,
    HOP__DB_O,
    HOP__DB_Z,
    HOP__DB_WORK,
    HOP__DB_OWN
};

typedef struct hop__delta {
    int64_t key_heads, beta_heads;
    int64_t steps;
    bool low_rank_gate;
    hop_gate gate;
} hop__delta;

int64_t hop__delta_key_width(const hop_mixer_config *c, const hop__delta *d);
int64_t hop__delta_value_width(const hop_mixer_config *c);

void hop__delta_params(hop_param *out, const hop_mixer_config *c, const hop__delta *d);
void hop__delta_init(float *const *w, const hop_mixer_config *c, const hop__delta *d, hop_rng *rng);
int64_t hop__delta_state(const hop_mixer_config *c, const hop__delta *d);
void hop__delta_buffers(int64_t *floats, const hop_mixer_config *c, const hop__delta *d, int64_t tokens,
                        int threads);

/* q, k, v, beta into their buffers. */
void hop__delta_inputs(const hop__mix *m, const hop__delta *d);
/* A log decay in place of `g` [rows, heads, dim]: -exp(A_log[head]) softplus(g). */
void hop__delta_decay(const hop__mix *m, float *g, const float *a_log, int64_t rows, int64_t heads,
                      int64_t dim);
/* o from q, k, v, beta and, as d->gate says, g; the state moves on. */
void hop__delta_scan(const hop__mix *m, const hop__delta *d);
/* y from o: norm, then the gate, then the projection. The gate's input: the buffer Z if `act` is to be used.
 */
void hop__delta_output(const hop__mix *m, const hop__delta *d, hop__act act);

#endif
