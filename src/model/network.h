/* The inside of a network, shared by the files of this room. */
#ifndef HOP_MODEL_NETWORK_H
#define HOP_MODEL_NETWORK_H

#include <hopbound/model.h>

/* One block's weights; NULL where the config has none. */
typedef struct hop__layer {
    const hop_mixer_ops *ops;
    const float *mixer[HOP_MIXER_MAX_PARAMS];
    const float *norm1, *norm1_bias, *norm2, *norm2_bias;
    const float *gate, *up, *up_bias, *down, *down_bias;
    int64_t first_weight; /* in hop_model.weights */
} hop__layer;

struct hop_model {
    hop_config config;
    hop_weight *weights; /* in file order: tables, layers, read-out */
    int64_t weight_count, floats;
    int64_t tail_weight; /* the first weight after the layers */
    float *data;
    hop__layer *layers;
    const float *tokens, *positions, *norm, *norm_bias, *head;
};

/* layout.c: names, shapes and offsets from the config; data is allocated, zero. */
hop_status hop__layout(hop_model *m, hop_error *err);

/* block.c: the parts of a block that look at one token only. */

/* y = norm(x) row by row, cut; returns x itself when there is no norm. */
const float *hop__norm(const hop_model *m, float *y, const float *x, const float *weight, const float *bias,
                       int64_t rows, int bits);
/* x += y, then x += mlp(norm(x)). scratch: hop__finish_floats(m, rows). */
void hop__finish(const hop_model *m, const hop__layer *l, float *x, const float *y, int64_t rows, int bits,
                 float *scratch);
size_t hop__finish_floats(const hop_model *m, int64_t rows);
/* x = token row + position row. work: [d_model] */
void hop__embed(const hop_model *m, float *x, int32_t token, int64_t position, int bits, float *work);
/* logits [rows, vocab] of x [rows, d_model]; work: [rows, d_model]. */
void hop__read_out(const hop_model *m, float *logits, const float *x, int64_t rows, int bits, float *work,
                   hop_pool *pool);
/* HOP_ERANGE naming the token or the length that the network does not take. */
hop_status hop__check_token(const hop_model *m, int32_t token, int64_t position, hop_error *err);

#endif
