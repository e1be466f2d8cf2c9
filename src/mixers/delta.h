/* delta.h - what deltanet, gdn, kda and deltaproduct share: q, k, v with short convolutions, L2 on q and k,
 * beta, the scan, the normalised and gated output. A mixer's file adds its decay.
 *
 * State: [heads, K, V], then the inputs that the convolutions of q, k, v remember. With n steps a token, k, v
 * and beta of a token lie step by step. */
#ifndef HOP_MIXERS_DELTA_H
#define HOP_MIXERS_DELTA_H

#include "build.h"

typedef struct hop__delta {
    int64_t key_heads, beta_heads, steps;
    bool low_rank_gate; /* kda's gate is two matrices of its own */
} hop__delta;

/* q_proj .. o_proj; a mixer's own come behind them. Returns how many. */
int hop__delta_params(hop_param *out, const hop_mixer_config *c, const hop__delta *d);
/* q, k, v and beta of the scan. */
void hop__delta_inputs(hop_builder *b, const hop__delta *d, hop__scan *s);
/* a_proj, A_log and dt_bias: one decay a head, -exp(A_log) softplus(Wa x + dt_bias) .. */
void hop__delta_decay_params(hop_param *out, int *n, const hop_mixer_config *c);
void hop__delta_decay_init(
    const hop_mixer_weights *w); /* .. with A uniform in (0, 16], and the convolutions */
void hop__delta_decay(hop_builder *b, hop__scan *s);
/* o, normalised; then gated by g_proj, and the output. */
hop__val hop__delta_read(hop_builder *b, const hop__scan *s);
void hop__delta_output(hop_builder *b, hop__val o);
/* Behind the convolutions' SiLU keys can be one-hot; without it they cannot. */
hop_mixer_table hop__delta_table(const hop_mixer_config *c, const hop__delta *d);

#endif
