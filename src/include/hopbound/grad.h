/* hopbound/grad.h - gradients of a network: a few whole sequences forward and backward, by one thread, in
 * memory of its own. Who trains has one for each worker (the batch is the thread axis) and adds up what they
 * found.
 *
 *     hop_grad *g;
 *     hop_grad_new(&g, m, 1, 128, &err);
 *     hop_grad_forward(g, tokens, 1, count, &err);
 *     hop_grad_logits(g, &last, 1, logits);                  row of the last token
 *     .. dlogits[v] = softmax(logits)[v] - (v == answer) ..
 *     hop_grad_dlogits(g, &last, 1, dlogits, dblock);
 *     hop_grad_backward(g, dblock);                          dblock: floats of the model's layout
 *
 * The weights are the model's block (hop_model_block), which may be changed between two passes. Gradients are
 * added to `dblock`, a block of the same layout, in an order that depends on the shapes only.
 */
#ifndef HOPBOUND_GRAD_H
#define HOPBOUND_GRAD_H

#include <hopbound/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_grad hop_grad;

/* The model's matrices once more, as products read them: laid out once after every change of the weights, by
 * the kernels selected then, and read by all workers' passes. No bit depends on it. */
typedef struct hop_packed hop_packed;
hop_status hop_packed_new(hop_packed **out, const hop_model *m, hop_error *err); /* HOP_ENOMEM */
void hop_packed_free(hop_packed *l);
void hop_packed_update(hop_packed *l, hop_pool *pool);

/* For at most so many sequences at once, of at most so many tokens; keeps `m`. HOP_EDOMAIN: layers are drawn
 * from a seed. HOP_ERANGE: more tokens than the network has positions. HOP_ENOMEM. */
hop_status hop_grad_new(hop_grad **out, const hop_model *m, int64_t sequences, int64_t tokens,
                        hop_error *err);
void hop_grad_free(hop_grad *g);
/* What it holds, which the system has only promised until the first pass. */
size_t hop_grad_bytes(const hop_grad *g);
/* From now on passes read `l`, of the same model and updated at least once; NULL: the weights as they lie.
 * Once more after other kernels were selected, and `l` updated by them. */
void hop_grad_use(hop_grad *g, const hop_packed *l);

/* From now on the last layer computes its output for tokens from `first` on only, which saves much of it when
 * nobody reads the others; 0: for all. Rows before it of the last stream hold nothing then. Beyond the last
 * token it means the last token. */
void hop_grad_last_from(hop_grad *g, int64_t first);

/* tokens [sequences, count] through all layers; keeps what backward reads. The streams have the bits of
 * hop_forward_hidden but where that takes a long sequence in pieces, or is left with fewer than four rows for
 * a product: there they agree within the kernels' rounding. HOP_ERANGE: a token, a length or a number of
 * sequences that it does not take. */
hop_status hop_grad_forward(hop_grad *g, const int32_t *tokens, int64_t sequences, int64_t count,
                            hop_error *err);

/* The residual stream after `layer` blocks, [sequences * count, d_model]; 0: the tables' sum. */
const float *hop_grad_stream(const hop_grad *g, int64_t layer);
/* The loss's gradient there: zero after forward; callers add to it before backward, which uses it up. After
 * backward that of stream 0 is the gradient at the embeddings. Rows that are zero up to some token in all
 * sequences cost little in the layer before. */
float *hop_grad_dstream(hop_grad *g, int64_t layer);

/* Logits of chosen rows (row = sequence * count + token): [rows, vocab], through final norm and head. */
void hop_grad_logits(hop_grad *g, const int64_t *row, int64_t rows, float *logits);
/* Adds to the head's and the norm's gradients, and to that of the last stream. */
void hop_grad_dlogits(hop_grad *g, const int64_t *row, int64_t rows, const float *dlogits, float *dblock);
/* All layers from the last down, and the tables; once after a forward. */
void hop_grad_backward(hop_grad *g, float *dblock);

#ifdef __cplusplus
}
#endif
#endif
