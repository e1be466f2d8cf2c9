/* attention_parts.h - what full, window and sparse share: four projections, RoPE, the key-value cache, and
 * softmax attention over all keys or the last `window` of them. A cache row is [k | v], 2 * kv_width floats.
 */
#ifndef HOP_MIXERS_ATTENTION_PARTS_H
#define HOP_MIXERS_ATTENTION_PARTS_H

#include <hopbound/mixers.h>

enum { HOP__WQ, HOP__WK, HOP__WV, HOP__WO, HOP__ATTENTION_PARAMS };

int64_t hop__q_width(const hop_mixer_config *c);  /* heads * head_dim */
int64_t hop__kv_width(const hop_mixer_config *c); /* kv_heads * head_dim */
double hop__attention_scale(const hop_mixer_config *c);

int hop__attention_params(const hop_mixer_config *c, hop_param out[HOP_MIXER_MAX_PARAMS]);
void hop__attention_init(float *const *w, const hop_mixer_config *c, hop_rng *rng);
hop_status hop__attention_causal_only(const hop_mixer_config *c, const char *name, hop_error *err);

/* Keys and values `kv_stride` apart; no window. */
hop_attn hop__attention_shape(const hop_mixer_config *c, int64_t tokens, int64_t first, int64_t kv_stride,
                              int bits);
/* Floats that hop_attn_forward needs for that shape, cut or not, whichever is more. */
size_t hop__attention_work(const hop_mixer_config *c, int64_t tokens, int64_t first, int threads);

/* q [tokens - first, q_width], k and v [tokens, kv_width] from io->x, whose row 0 stands at `position`;
 * rotated and cut. `steady`: a row's bits do not depend on how many rows there are (slower for one row). */
typedef struct hop__qkv {
    float *q, *k, *v;
} hop__qkv;
void hop__attention_project(const hop__qkv *out, const hop_mixer_config *c, const float *const *w,
                            const hop_mixer_io *io, int64_t position, bool steady);
/* y = Wo o, cut. */
void hop__attention_output(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io,
                           const float *o, bool steady);

/* The whole of full (window = 0) and window. */
size_t hop__attention_scratch(const hop_mixer_config *c, int64_t tokens, int64_t first, int threads);
void hop__attention_forward(const hop_mixer_config *c, const float *const *w, const hop_mixer_io *io,
                            int64_t window);
/* Token at `position` goes to row `row` of the cache, which then holds `rows` rows, all of them seen; their
 * order does not matter. */
void hop__attention_step(const hop_mixer_config *c, const float *const *w, float *cache,
                         const int64_t row_rows[2], int64_t position, const hop_mixer_io *io);

#endif
